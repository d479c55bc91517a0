#include "engine/backend/cuda/launch_stage.hpp"

#include <algorithm>
#include <type_traits>

namespace axion::backend {
namespace {

// Bytes of one record of a field.
template <typename Real>
std::size_t record_bytes(const step::StepJob<Real>& job, Field field) {
  const FieldDescription& description = description_of(field);
  const auto count = [&]() -> std::size_t {
    switch (description.of) {
      case FieldOf::kWorld:
        return 1;
      case FieldOf::kBodies:
        return job.m.body_count;
      case FieldOf::kJointPositions:
        return job.user.position_count;
      case FieldOf::kJointVelocities:
        return job.user.velocity_count;
      case FieldOf::kJoints:
        return job.user.joint_count;
      case FieldOf::kControls:
        return job.m.control_count;
      case FieldOf::kActivations:
        return job.m.activation_count;
      case FieldOf::kMocaps:
        return job.m.mocap_count;
      case FieldOf::kSensors:
        return job.m.sensors.size;
    }
    return 0;
  };
  return count() * description.width * (description.is_real ? sizeof(Real) : size_of(description.dtype));
}

}  // namespace

Result<std::byte*> LaunchStage::reserve_values(std::size_t bytes) {
  if (Status s = values_.reserve(bytes); !s.ok()) return s.error();
  return values_.data();
}

Status LaunchStage::pack(Launch& launch, std::span<const JobGroup> narrow, std::span<const JobGroup> wide) {
  table_bytes_ = input_bytes_ = packet_bytes_ = 0;
  row_group_count_ = 0;
  plan(launch.float32, narrow, narrow_);
  plan(launch.float64, wide, wide_);
  result_bytes_ = packet_bytes_;
  for (Table* table : {&narrow_, &wide_}) {
    for (Place& place : table->places) place.sums = add(result_bytes_, place.group_count * sizeof(StepStatistics));
  }
  if (Status s = reserve(); !s.ok()) return s;
  if (++number_ == 0) number_ = 1;  // zero is what flags start at
  packed_.assign(table_bytes_, std::byte{});
  fill(launch.float32, narrow_);
  fill(launch.float64, wide_);
  return {};
}

Status LaunchStage::reserve() {
  if (Status s = tables_staging_.reserve(table_bytes_); !s.ok()) return s;
  if (Status s = tables_.reserve(table_bytes_); !s.ok()) return s;
  if (Status s = inputs_.reserve(input_bytes_); !s.ok()) return s;
  if (Status s = packets_.reserve(packet_bytes_); !s.ok()) return s;
  if (Status s = results_.reserve(result_bytes_); !s.ok()) return s;
  // Counters and flags are nought at first, and are left so that the next launch finds what it needs.
  const auto reserve_zero = [](auto& buffer, std::size_t bytes, auto&& clear) -> Status {
    const std::size_t before = buffer.size();
    if (Status s = buffer.reserve(bytes); !s.ok()) return s;
    return buffer.size() == before ? Status{} : cuda_status(clear(buffer), "clear memory");
  };
  const auto clear_device = [](DeviceBuffer& b) { return cudaMemset(b.data(), 0, b.size()); };
  const auto clear_host = [](PinnedBuffer& b) { return std::memset(b.data(), 0, b.size()), cudaSuccess; };
  if (Status s = reserve_zero(arrived_, row_group_count_ * sizeof(int), clear_device); !s.ok()) return s;
  if (Status s = reserve_zero(ready_, row_group_count_ * sizeof(unsigned), clear_host); !s.ok()) return s;
  return reserve_zero(taken_, sizeof taken_before_, clear_device);
}

Status LaunchStage::upload(cudaStream_t stream) {
  if (packed_ == uploaded_) return {};  // padding that differs costs a copy and nothing else
  uploaded_.clear();                    // what the device has is not known until the copy is under way
  std::memcpy(tables_staging_.data(), packed_.data(), table_bytes_);
  const cudaError_t error =
      cudaMemcpyAsync(tables_.data(), tables_staging_.data(), table_bytes_, cudaMemcpyHostToDevice, stream);
  if (Status s = cuda_status(error, "copy a launch"); !s.ok()) return s;
  uploaded_ = packed_;
  return {};
}

template <typename Real>
void LaunchStage::plan(const std::vector<Launch::Item<Real>>& items, std::span<const JobGroup> groups, Table& table) {
  table.places.clear();
  table.groups.assign(groups.begin(), groups.end());
  table.row_starts.assign(1, 0);
  table.jobs = add(table_bytes_, items.size() * sizeof(step::StepJob<Real>));
  table.row_start = add(table_bytes_, (items.size() + 1) * sizeof(int));
  table.fields = add(table_bytes_, items.size() * sizeof(WorldPlaces));
  table.results = add(table_bytes_, items.size() * sizeof(JobResults));
  for (const auto& item : items) {
    table.places.push_back(plan_job(item.job));
    table.row_starts.push_back(table.row_starts.back() + item.job.world_count);
  }
}

template <typename Real>
LaunchStage::Place LaunchStage::plan_job(const step::StepJob<Real>& job) {
  Place place{};
  const std::size_t n = job.world_count;
  place.indices = add(input_bytes_, job.world_indices == nullptr ? 0 : n * sizeof(std::int32_t));
  place.records = job.record_every > 0 ? job.step_count / job.record_every : 1;
  place.packet_bytes = sizeof(std::int64_t);
  for (int k = 0; k < job.output_count; ++k) {
    // Records start at multiples of 8, so that reals of either size may be written to them.
    place.output_bytes[k] = record_bytes(job, job.outputs[k].field);
    place.caller[k] = job.outputs[k];
    place.outputs[k] = place.packet_bytes;
    place.packet_bytes += place.records * world::align_up(place.output_bytes[k], sizeof(double));
  }
  place.packets = add(packet_bytes_, n * place.packet_bytes);
  place.first_group = row_group_count_;
  place.group_count = (job.world_count + kStatisticsGroup - 1) / kStatisticsGroup;
  row_group_count_ += place.group_count;
  return place;
}

template <typename Real>
void LaunchStage::fill(std::vector<Launch::Item<Real>>& items, const Table& table) {
  const auto put = [&](std::size_t offset, const auto& value) {
    static_assert(std::is_trivially_copyable_v<std::decay_t<decltype(value)>>);
    std::memcpy(packed_.data() + offset, &value, sizeof value);
  };
  std::memcpy(packed_.data() + table.row_start, table.row_starts.data(), table.row_starts.size() * sizeof(int));
  for (const JobGroup& group : table.groups) {
    for (int i = group.first; i < group.first + group.count; ++i) {
      step::StepJob<Real>& job = items[i].job;
      const Place& place = table.places[i];
      auto* memory = static_cast<TypedCudaMemory<Real>*>(items[i].memory);
      put(table.fields + i * sizeof(WorldPlaces), memory->places(job.m, group.shape.near_bytes));
      memory->complete(job);
      fill_job(job, place);
      put(table.jobs + i * sizeof(step::StepJob<Real>), job);
      put(table.results + i * sizeof(JobResults),
          JobResults{packets_.data() + place.packets, results_.data() + place.packets, place.packet_bytes,
                     at<StepStatistics>(results_, place.sums), std::size_t(place.first_group)});
    }
  }
}

template <typename Real>
void LaunchStage::fill_job(step::StepJob<Real>& job, const Place& place) {
  const int n = job.world_count;
  if (job.world_indices != nullptr) {
    std::memcpy(inputs_.data() + place.indices, job.world_indices, n * sizeof(std::int32_t));
    job.world_indices = at<const std::int32_t>(inputs_, place.indices);
  }
  for (int k = 0; k < job.output_count; ++k) {
    job.outputs[k].data = packets_.data() + place.packets + place.outputs[k];
    job.outputs[k].record_stride = world::align_up(place.output_bytes[k], sizeof(double));
    job.outputs[k].world_stride = place.packet_bytes;
  }
}

Status LaunchStage::unpack(Launch& launch, const Wait& wait) const {
  if (Status s = unpack_table(launch.float32, narrow_, wait); !s.ok()) return s;
  return unpack_table(launch.float64, wide_, wait);
}

template <typename Real>
Status LaunchStage::unpack_table(std::vector<Launch::Item<Real>>& items, const Table& table, const Wait& wait) const {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Place& place = table.places[i];
    auto* memory = static_cast<CudaMemory*>(items[i].memory);
    StepStatistics total;
    for (int g = 0; g < place.group_count; ++g) {
      if (Status s = wait(at<unsigned>(ready_, 0) + place.first_group + g, number_); !s.ok()) return s;
      const int first = g * kStatisticsGroup, count = std::min(kStatisticsGroup, items[i].job.world_count - first);
      unpack_rows(place, first, count);
      memory->keep_step_indices(results_.data() + place.packets, place.packet_bytes, first, count);
      total.add(at<const StepStatistics>(results_, place.sums)[g]);
    }
    memory->keep_statistics(total);
  }
  return {};
}

void LaunchStage::unpack_rows(const Place& place, int first, int count) const {
  for (int i = first; i < first + count; ++i) {
    const std::byte* packet = results_.data() + place.packets + i * place.packet_bytes;
    for (int k = 0; k < step::kMaxJobOutputs && place.caller[k].data != nullptr; ++k) {
      const std::byte* from = packet + place.outputs[k];
      std::byte* to = place.caller[k].data + i * place.caller[k].world_stride;
      for (int r = 0; r < place.records; ++r) {
        std::memcpy(to, from, place.output_bytes[k]);
        from += world::align_up(place.output_bytes[k], sizeof(double)), to += place.caller[k].record_stride;
      }
    }
  }
}

template <typename Real>
ResidentLaunch<Real> LaunchStage::device_launch(int group) const {
  const Table& t = table<Real>();
  const auto [shape, first, count] = t.groups[group];
  ResidentLaunch<Real> launch{};
  launch.jobs = at<const step::StepJob<Real>>(tables_, t.jobs) + first;
  launch.places = at<const WorldPlaces>(tables_, t.fields) + first;
  launch.results = at<const JobResults>(tables_, t.results) + first;
  launch.row_start = at<const int>(tables_, t.row_start) + first;
  launch.job_count = count;
  launch.first_row = t.row_starts[first];
  launch.row_count = t.row_starts[first + count] - launch.first_row;
  launch.taken = at<unsigned>(taken_, 0) + counter<Real>(group);
  launch.taken_before = taken_before_[counter<Real>(group)];
  launch.arrived = at<int>(arrived_, 0);
  launch.ready = at<unsigned>(ready_, 0);
  launch.number = number_;
  return launch;
}

// Each block takes its rows, and one number more to learn that there are none.
template <typename Real>
void LaunchStage::started(int group, int blocks) {
  const Table& t = table<Real>();
  const JobGroup& jobs = t.groups[group];
  taken_before_[counter<Real>(group)] +=
      unsigned(t.row_starts[jobs.first + jobs.count] - t.row_starts[jobs.first] + blocks);
}

template ResidentLaunch<float> LaunchStage::device_launch(int) const;
template ResidentLaunch<double> LaunchStage::device_launch(int) const;
template void LaunchStage::started<float>(int, int);
template void LaunchStage::started<double>(int, int);

}  // namespace axion::backend
