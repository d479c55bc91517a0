#include "engine/backend/cuda/cuda_memory.hpp"

namespace axion::backend {
namespace {

constexpr std::size_t kStagedBytes = std::size_t(8) << 20;

}  // namespace

Status CudaMemory::allocate() {
  step_indices_.resize(world_count_);
  if (Status s = worlds_.reserve(world_bytes_.world * world_count_); !s.ok()) return s;
  if (Status s = row_statistics_.reserve(sizeof(StepStatistics) * world_count_); !s.ok()) return s;
  const std::size_t staged = std::clamp<std::size_t>(kStagedBytes / world_bytes_.world, 1, world_count_);
  if (Status s = staging_.reserve(staged * world_bytes_.world); !s.ok()) return s;
  return cuda_status(cudaMemset(worlds_.data(), 0, worlds_.size()), "clear memory");
}

// Between the device and the staging memory, where worlds lie one after the other. Runs of neighbours go in one copy.
Status CudaMemory::copy_worlds(std::span<const std::int32_t> worlds, bool to_device) {
  const std::size_t stride = world_bytes_.world;
  for (std::size_t start = 0; start < worlds.size();) {
    std::size_t end = start + 1;
    while (end < worlds.size() && worlds[end] == worlds[end - 1] + 1) ++end;
    std::byte* device = worlds_.data() + worlds[start] * stride;
    std::byte* host = staging_.data() + start * stride;
    const std::size_t bytes = (end - start) * stride;
    const cudaError_t error = to_device ? cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice)
                                        : cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost);
    if (Status status = cuda_status(error, "copy the state of worlds"); !status.ok()) return status;
    start = end;
  }
  return {};
}

Status CudaMemory::keep_tables(std::span<const std::byte> tables, std::int64_t) {
  if (Status status = cuda_status(cudaSetDevice(device_), "select the device"); !status.ok()) return status;
  const auto bytes = static_cast<std::int64_t>(tables.size());
  if (bytes > table_bytes_) {
    if (!reservation_.grow(bytes - table_bytes_)) return no_room_for_tables(bytes);
    table_bytes_ = bytes;
    if (Status status = tables_.reserve(tables.size()); !status.ok()) return status;
  }
  if (tables.empty()) return {};
  const cudaError_t error = cudaMemcpy(tables_.data(), tables.data(), tables.size(), cudaMemcpyHostToDevice);
  return cuda_status(error, "copy the numbers of worlds");
}

Status CudaMemory::visit(std::span<const std::int32_t> worlds, Access access, const Visitor& visitor) {
  // The device is a setting of each thread, and the caller's thread may be new.
  if (Status status = cuda_status(cudaSetDevice(device_), "select the device"); !status.ok()) return status;
  const std::size_t capacity = staging_.size() / world_bytes_.world;
  for (std::size_t start = 0; start < worlds.size(); start += capacity) {
    const auto part = worlds.subspan(start, std::min(capacity, worlds.size() - start));
    if (Status status = copy_worlds(part, false); !status.ok()) return status;
    for (std::size_t i = 0; i < part.size(); ++i) {
      visitor(static_cast<int>(start + i), staging_.data() + i * world_bytes_.world);
    }
    if (access == Access::kRead) continue;
    if (Status status = copy_worlds(part, true); !status.ok()) return status;
  }
  return {};
}

}  // namespace axion::backend
