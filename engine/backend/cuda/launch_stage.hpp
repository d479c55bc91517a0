// LaunchStage: where a launch's requests and results lie, and how they cross between host and device.
//
//   tables   job records, places of fields, row starts, results of each job: in device memory. Packed anew for each
//   launch and
//            copied only if they are not those of the launch before: steps of the same requests copy nothing
//   values   controls and wrenches of all jobs, packed as they were checked (input_pass.hpp): pinned memory of the
//   host, which blocks
//            read when they need it
//   inputs   world indices of each job, likewise packets  of each row its step index and its outputs: device memory,
//   and pinned memory to which a block moves a row's
//            packet as soon as the row is done; behind them the sums of statistics of each group of rows
//   signals  counters in device memory; a flag for each group of rows in pinned memory, behind which its packets can be
//   read Used by the CUDA engine for one launch at a time. Buffers grow when a larger launch comes and are kept.
#pragma once

#include <cstring>
#include <functional>
#include <span>
#include <vector>

#include "engine/backend/cuda/buffers.hpp"
#include "engine/backend/cuda/cuda_memory.hpp"
#include "engine/backend/cuda/kernels.hpp"
#include "engine/backend/engine_core.hpp"

namespace axion::backend {

class LaunchStage {
 public:
  // Memory for the values of the next launch's inputs; the jobs that pack() takes point into it.
  Result<std::byte*> reserve_values(std::size_t bytes);
  // Packs the jobs, which lie in the order of their groups, and points them at the device. kResourceExhausted if they
  // do not fit; nothing has run then.
  Status pack(Launch& launch, std::span<const JobGroup> narrow, std::span<const JobGroup> wide);
  // Before the launch's grids, on their stream.
  Status upload(cudaStream_t stream);
  // One group's for the kernels. Scratch is the engine's.
  template <typename Real>
  ResidentLaunch<Real> device_launch(int group) const;
  // After that group's grid has been started.
  template <typename Real>
  void started(int group, int blocks);

  // Hands each job's results to its caller's memory and to its batch, group of rows by group of rows as they are done.
  // `wait` returns when the given flag has the launch's number; its error ends this.
  using Wait = std::function<Status(unsigned* flag, unsigned number)>;
  Status unpack(Launch& launch, const Wait& wait) const;
  int row_group_count() const { return row_group_count_; }

 private:
  // Where the parts of one job are, in bytes from the start of their buffers.
  struct Place {
    std::size_t indices;                             // inputs
    std::size_t packets, packet_bytes;               // of all its rows; of one
    std::size_t sums;                                // beside the packets, on the host
    std::size_t outputs[step::kMaxJobOutputs];       // in a packet
    std::size_t output_bytes[step::kMaxJobOutputs];  // of one record
    step::JobOutput caller[step::kMaxJobOutputs];    // host memory
    int records, first_group, group_count;
  };
  struct Table {  // of one precision
    std::size_t jobs = 0, fields = 0, results = 0, row_start = 0;
    std::vector<Place> places;
    std::vector<JobGroup> groups;
    std::vector<int> row_starts;
  };

  template <typename Real>
  void plan(const std::vector<Launch::Item<Real>>& items, std::span<const JobGroup> groups, Table& table);
  template <typename Real>
  Place plan_job(const step::StepJob<Real>& job);
  Status reserve();
  template <typename Real>
  void fill(std::vector<Launch::Item<Real>>& items, const Table& table);
  template <typename Real>
  void fill_job(step::StepJob<Real>& job, const Place& place);
  template <typename Real>
  Status unpack_table(std::vector<Launch::Item<Real>>& items, const Table& table, const Wait& wait) const;
  void unpack_rows(const Place& place, int first, int count) const;

  template <typename Real>
  const Table& table() const {
    return sizeof(Real) == sizeof(float) ? narrow_ : wide_;
  }
  // Of the grid that a group of jobs is: threads tell the groups of a precision apart.
  template <typename Real>
  std::size_t counter(int group) const {
    return group + (sizeof(Real) == sizeof(float) ? 0 : kBlockThreads.size());
  }
  static std::size_t add(std::size_t& end, std::size_t bytes) {
    const std::size_t offset = world::align_up(end, world::kFieldAlignment);
    end = offset + bytes;
    return offset;
  }
  template <typename T, typename Memory>
  static T* at(const Memory& memory, std::size_t offset) {
    return reinterpret_cast<T*>(memory.data() + offset);
  }

  std::size_t table_bytes_ = 0, input_bytes_ = 0, packet_bytes_ = 0, result_bytes_ = 0;
  int row_group_count_ = 0;
  Table narrow_, wide_;
  std::vector<std::byte> packed_, uploaded_;  // tables of this launch; what the device has
  PinnedBuffer tables_staging_;
  DeviceBuffer tables_;
  PinnedBuffer values_, inputs_;
  DeviceBuffer packets_;
  PinnedBuffer results_;  // packets, then sums
  DeviceBuffer arrived_;  // [row groups] int
  PinnedBuffer ready_;    // [row groups] unsigned
  DeviceBuffer taken_;    // [2 kBlockThreads] unsigned, one for each grid that a launch can have
  std::array<unsigned, 2 * kBlockThreads.size()> taken_before_{};
  unsigned number_ = 0;  // of this launch
};

}  // namespace axion::backend
