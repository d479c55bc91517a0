// CudaMemory: the worlds of a batch in device memory.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/backend/cuda/buffers.hpp"
#include "engine/backend/cuda/device_model.hpp"
#include "engine/backend/cuda/launch_plan.hpp"
#include "engine/backend/memory.hpp"
#include "engine/step/run_steps.hpp"
#include "engine/world/world_layout.hpp"

namespace axion::backend {

class CudaMemory : public BatchMemory {
 public:
  CudaMemory(int device, world::WorldBytes bytes, int world_count, Reservation reservation)
      : device_(device), world_bytes_(bytes), world_count_(world_count), reservation_(std::move(reservation)) {}

  // Allocates and zeroes; before anything else.
  Status allocate();

  std::int64_t bytes() const override { return reservation_.bytes(); }
  Status keep_tables(std::span<const std::byte> tables, std::int64_t) override;
  Status visit(std::span<const std::int32_t> worlds, Access access, const Visitor& visitor) override;
  StepStatistics launch_statistics(int) const override { return statistics_; }
  std::span<const std::int64_t> launch_step_indices(int rows) const override {
    return std::span<const std::int64_t>(step_indices_).first(rows);
  }

  std::size_t scratch_bytes() const { return world_bytes_.scratch; }
  std::byte* worlds() const { return worlds_.data(); }
  const std::byte* tables() const { return tables_.data(); }
  StepStatistics* row_statistics() const { return reinterpret_cast<StepStatistics*>(row_statistics_.data()); }
  // What a launch left behind, brought back by the engine: the step index with which the packet of each row begins, and
  // the sum over all rows.
  void keep_step_indices(const std::byte* packets, std::size_t packet_bytes, int first, int count) {
    for (int i = first; i < first + count; ++i) std::memcpy(&step_indices_[i], packets + i * packet_bytes, 8);
  }
  void keep_statistics(const StepStatistics& statistics) { statistics_ = statistics; }

 private:
  Status copy_worlds(std::span<const std::int32_t> worlds, bool to_device);

  int device_;
  world::WorldBytes world_bytes_;
  int world_count_;
  DeviceBuffer worlds_;
  DeviceBuffer tables_;
  std::int64_t table_bytes_ = 0;
  DeviceBuffer row_statistics_;  // [world_count] StepStatistics
  PinnedBuffer staging_;         // a few worlds on their way from or to the device
  StepStatistics statistics_;
  std::vector<std::int64_t> step_indices_;
  Reservation reservation_;
};

// With the model's arrays on the device.
template <typename Real>
class TypedCudaMemory final : public CudaMemory {
 public:
  TypedCudaMemory(int device, std::shared_ptr<const DeviceModel<Real>> model, world::WorldBytes bytes, int world_count,
                  Reservation reservation)
      : CudaMemory(device, bytes, world_count, std::move(reservation)), model_(std::move(model)) {}

  // Points a job at the device; inputs, outputs and indices are the engine's to place.
  void complete(step::StepJob<Real>& job) const {
    const int dense_unknowns = job.m.dense_unknowns, is_soft = job.m.is_soft;  // the batch's; all else is the model's
    job.m = model_->model();
    job.m.dense_unknowns = dense_unknowns, job.m.is_soft = is_soft;
    job.user = model_->user();
    job.worlds = worlds();
    if (job.own.data != nullptr) job.own.data = tables();
    job.statistics = row_statistics();
    job.step_index = nullptr;  // packets have it
  }

  // Of the batch's model, in the engine's shapes; made at the first launch.
  const std::vector<double>& clocks(const model::ModelView<Real>& m, const DeviceLimits& device,
                                    std::span<const BlockShape> shapes) {
    if (clocks_.empty()) clocks_ = verb_clocks(m, device, shapes);
    return clocks_;
  }
  // Made anew only where a launch has other near memory than the one before.
  const WorldPlaces& places(const model::ModelView<Real>& m, std::size_t near_bytes) {
    if (places_of_ != near_bytes) places_ = place_fields(m, near_bytes), places_of_ = near_bytes;
    return places_;
  }

 private:
  std::shared_ptr<const DeviceModel<Real>> model_;
  std::vector<double> clocks_;
  WorldPlaces places_{};
  std::optional<std::size_t> places_of_;
};

}  // namespace axion::backend
