// Which engine a device name means.
#include <algorithm>
#include <charconv>

#include "engine/backend/cpu/cpu_engine.hpp"
#include "engine/backend/cuda/launch_plan.hpp"
#include "engine/backend/text.hpp"
#ifdef AXION_WITH_CUDA
#include "engine/backend/cuda/cuda_engine.hpp"
#endif

namespace axion {
namespace {

constexpr int kMaxThreads = 1024;

// The index of "cuda:<index>", or -1.
int cuda_index(const std::string& device) {
  const std::string prefix = "cuda:";
  if (device.rfind(prefix, 0) != 0) return -1;
  int index = -1;
  const char* end = device.data() + device.size();
  const auto [rest, error] = std::from_chars(device.data() + prefix.size(), end, index);
  return error == std::errc() && rest == end && index >= 0 ? index : -1;
}

#ifndef AXION_WITH_CUDA
Result<std::unique_ptr<Engine>> create_cuda(const EngineOptions&, int) {
  return Error{ErrorCode::kFailedPrecondition, "device", "This build has no CUDA backend."};
}
#else
Result<std::unique_ptr<Engine>> create_cuda(const EngineOptions& options, int index) {
  return backend::create_cuda_engine(options, index);
}
#endif

}  // namespace

std::vector<std::string> compiled_backends() {
#ifdef AXION_WITH_CUDA
  return {"cpu", "cuda"};
#else
  return {"cpu"};
#endif
}

Result<std::unique_ptr<Engine>> create_engine(const EngineOptions& options, std::string* note) {
  using backend::text;
  if (note != nullptr) note->clear();
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return invalid_argument("threads", text("threads is ", options.threads, "; it must be within 0 and ", kMaxThreads,
                                            ", and 0 takes as many as this process may run on."));
  }
  if (options.memory_limit_bytes < 0) {
    return invalid_argument("memory_limit_bytes",
                            text("memory_limit_bytes is ", options.memory_limit_bytes, "; it must not be negative."));
  }
  constexpr auto kSizes = backend::kBlockThreads;
  if (options.block_threads != 0 && std::find(kSizes.begin(), kSizes.end(), options.block_threads) == kSizes.end()) {
    return invalid_argument("block_threads", text("block_threads is ", options.block_threads,
                                                  "; it must be 0, 32, 64, 128 or 256, and 0 leaves the choice."));
  }
  if (options.near_bytes < -1) {
    return invalid_argument(
        "near_bytes", text("near_bytes is ", options.near_bytes, "; it must be -1, which leaves the choice, or more."));
  }
  if (options.device == "cpu") return backend::create_cpu_engine(options);
  if (options.device == "auto") {
    Result<std::unique_ptr<Engine>> cuda = create_cuda(options, 0);
    if (cuda.ok()) return cuda;
    if (note != nullptr) *note = "The CPU steps the worlds: " + cuda.error().message;
    return backend::create_cpu_engine(options);
  }
  const int index = cuda_index(options.device);
  if (index >= 0) return create_cuda(options, index);
  return invalid_argument("device", text("device is \"", options.device, "\"; it must be auto, cpu or cuda:<index>."));
}

}  // namespace axion
