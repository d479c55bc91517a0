// LaunchStage: all inputs of a launch packed for one copy to the device, all its results for one copy back.
//
//   in:  job records, places of fields, row starts, row counters, statistics groups | world indices, controls, wrenches of each job
//   out: sums of statistics | step indices and outputs of each job
// Used by the CUDA engine for one launch at a time. Buffers grow when a larger launch comes and are kept.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "engine/backend/cuda/buffers.hpp"
#include "engine/backend/cuda/cuda_memory.hpp"
#include "engine/backend/cuda/kernels.hpp"
#include "engine/backend/engine_core.hpp"

namespace axion::backend {

class LaunchStage {
 public:
  // Packs the jobs, which lie in the order of their groups, and points them at the device. kResourceExhausted if they do not
  // fit; nothing has run then.
  Status pack(Launch& launch, std::span<const JobGroup> narrow, std::span<const JobGroup> wide);
  // Hands each job's results to its caller's memory and to its batch.
  void unpack(Launch& launch) const;

  // One group's for the kernels, in device memory. Scratch is the engine's.
  template <typename Real>
  ResidentLaunch<Real> device_launch(int group) const;
  const StatisticsGroup* groups() const { return at<const StatisticsGroup>(in_device_, groups_); }
  StepStatistics* sums() const { return at<StepStatistics>(out_device_, sums_); }
  int group_count() const { return group_count_; }

  const PinnedBuffer& in_host() const { return in_host_; }
  const DeviceBuffer& in_device() const { return in_device_; }
  const PinnedBuffer& out_host() const { return out_host_; }
  const DeviceBuffer& out_device() const { return out_device_; }
  std::size_t in_bytes() const { return in_bytes_; }
  std::size_t out_bytes() const { return out_bytes_; }

 private:
  // Where the parts of one job are, in bytes from the start of `in` or `out`.
  struct Place {
    std::size_t indices, control, wrench, step_index;
    std::size_t outputs[step::kMaxJobOutputs];
    std::size_t output_bytes[step::kMaxJobOutputs];  // of one record
    step::JobOutput caller[step::kMaxJobOutputs];    // host memory
    int records, group, group_count;
  };
  struct Table {  // of one precision
    std::size_t jobs = 0, fields = 0, row_start = 0, next_row = 0;
    std::vector<Place> places;
    std::vector<JobGroup> groups;
    std::vector<int> row_starts;
  };

  template <typename Real>
  void plan(const std::vector<Launch::Item<Real>>& items, std::span<const JobGroup> groups, Table& table);
  template <typename Real>
  Place plan_job(const step::StepJob<Real>& job);
  template <typename Real>
  void fill(std::vector<Launch::Item<Real>>& items, const Table& table);
  template <typename Real>
  void fill_group(std::vector<Launch::Item<Real>>& items, const Table& table, int group);
  template <typename Real>
  void fill_job(step::StepJob<Real>& job, const Place& place);
  void fill_input(step::JobInput& input, std::size_t offset, int rows, int steps, int columns);
  template <typename Real>
  void unpack_table(std::vector<Launch::Item<Real>>& items, const Table& table) const;
  void unpack_outputs(const Place& place, int rows) const;

  static std::size_t add(std::size_t& end, std::size_t bytes) {
    const std::size_t offset = model::align_up(end, model::kFieldAlignment);
    end = offset + bytes;
    return offset;
  }
  template <typename T, typename Memory>
  static T* at(const Memory& memory, std::size_t offset) {
    return reinterpret_cast<T*>(memory.data() + offset);
  }

  PinnedBuffer in_host_, out_host_;
  DeviceBuffer in_device_, out_device_;
  std::size_t in_bytes_ = 0, out_bytes_ = 0, groups_ = 0, sums_ = 0;
  int group_count_ = 0;
  Table narrow_, wide_;
};

}  // namespace axion::backend
