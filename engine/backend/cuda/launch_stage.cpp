#include "engine/backend/cuda/launch_stage.hpp"

#include <algorithm>
#include <type_traits>

namespace axion::backend {
namespace {

std::size_t element_bytes(const step::JobInput& input) { return input.is_float64 ? sizeof(double) : sizeof(float); }

// Bytes of one record of a field.
template <typename Real>
std::size_t record_bytes(const step::StepJob<Real>& job, Field field) {
  const std::size_t real = sizeof(Real), nb = job.m.body_count;
  switch (field) {
    case Field::kBodyPose:
      return 7 * nb * real;
    case Field::kBodyVelocity:
      return 6 * nb * real;
    case Field::kJointPosition:
      return job.user.position_count * real;
    case Field::kJointVelocity:
      return job.user.velocity_count * real;
    case Field::kJointImpulse:
      return 6 * job.user.joint_count * real;
    case Field::kControl:
      return job.m.control_count * real;
    case Field::kContactCount:
    case Field::kOutcome:
      return 4;
    case Field::kTime:
    case Field::kStepIndex:
      return 8;
  }
  return 0;
}

int steps_of(const step::JobInput& input, int step_count) { return input.step_stride == 0 ? 1 : step_count; }

}  // namespace

Status LaunchStage::pack(Launch& launch, std::span<const JobGroup> narrow, std::span<const JobGroup> wide) {
  in_bytes_ = out_bytes_ = 0;
  group_count_ = 0;
  plan(launch.float32, narrow, narrow_);
  plan(launch.float64, wide, wide_);
  groups_ = add(in_bytes_, group_count_ * sizeof(StatisticsGroup));
  sums_ = add(out_bytes_, group_count_ * sizeof(StepStatistics));
  if (Status s = in_host_.reserve(in_bytes_); !s.ok()) return s;
  if (Status s = in_device_.reserve(in_bytes_); !s.ok()) return s;
  if (Status s = out_host_.reserve(out_bytes_); !s.ok()) return s;
  if (Status s = out_device_.reserve(out_bytes_); !s.ok()) return s;
  fill(launch.float32, narrow_);
  fill(launch.float64, wide_);
  return {};
}

template <typename Real>
void LaunchStage::plan(const std::vector<Launch::Item<Real>>& items, std::span<const JobGroup> groups, Table& table) {
  table.places.clear();
  table.groups.assign(groups.begin(), groups.end());
  table.row_starts.assign(1, 0);
  table.jobs = add(in_bytes_, items.size() * sizeof(step::StepJob<Real>));
  table.row_start = add(in_bytes_, (items.size() + 1) * sizeof(int));
  table.next_row = add(in_bytes_, groups.size() * sizeof(int));
  table.fields = add(in_bytes_, items.size() * sizeof(model::WorldPlaces));
  for (const auto& item : items) {
    table.places.push_back(plan_job(item.job));
    table.row_starts.push_back(table.row_starts.back() + item.job.world_count);
  }
}

template <typename Real>
LaunchStage::Place LaunchStage::plan_job(const step::StepJob<Real>& job) {
  Place place{};
  const std::size_t n = job.world_count;
  place.indices = add(in_bytes_, job.world_indices == nullptr ? 0 : n * sizeof(std::int32_t));
  place.control = add(in_bytes_, job.control.data == nullptr ? 0
                                                             : n * steps_of(job.control, job.step_count) *
                                                                   job.m.control_count * element_bytes(job.control));
  place.wrench = add(in_bytes_, job.wrench.data == nullptr ? 0 : n * 6 * job.m.body_count * element_bytes(job.wrench));
  place.step_index = add(out_bytes_, n * sizeof(std::int64_t));
  place.records = job.record_every > 0 ? job.step_count / job.record_every : 1;
  for (int k = 0; k < job.output_count; ++k) {
    // Records start at multiples of 8, so that reals of either size may be written to them.
    place.output_bytes[k] = record_bytes(job, job.outputs[k].field);
    place.caller[k] = job.outputs[k];
    place.outputs[k] = add(out_bytes_, n * place.records * model::align_up(place.output_bytes[k], sizeof(double)));
  }
  place.group = group_count_;
  place.group_count = (job.world_count + kStatisticsGroup - 1) / kStatisticsGroup;
  group_count_ += place.group_count;
  return place;
}

template <typename Real>
void LaunchStage::fill(std::vector<Launch::Item<Real>>& items, const Table& table) {
  std::copy(table.row_starts.begin(), table.row_starts.end(), at<int>(in_host_, table.row_start));
  for (int g = 0; g < static_cast<int>(table.groups.size()); ++g) fill_group(items, table, g);
}

template <typename Real>
void LaunchStage::fill_group(std::vector<Launch::Item<Real>>& items, const Table& table, int group) {
  const JobGroup& jobs = table.groups[group];
  at<int>(in_host_, table.next_row)[group] = table.row_starts[jobs.first];
  for (int i = jobs.first; i < jobs.first + jobs.count; ++i) {
    step::StepJob<Real>& job = items[i].job;
    auto* memory = static_cast<TypedCudaMemory<Real>*>(items[i].memory);
    at<model::WorldPlaces>(in_host_, table.fields)[i] = memory->places(job.m, jobs.shape.near_bytes);
    memory->complete(job);
    fill_job(job, table.places[i]);
    std::memcpy(in_host_.data() + table.jobs + i * sizeof(step::StepJob<Real>), &job, sizeof(step::StepJob<Real>));
  }
}

template <typename Real>
void LaunchStage::fill_job(step::StepJob<Real>& job, const Place& place) {
  static_assert(std::is_trivially_copyable_v<step::StepJob<Real>>);
  const int n = job.world_count;
  if (job.world_indices != nullptr) {
    std::memcpy(in_host_.data() + place.indices, job.world_indices, n * sizeof(std::int32_t));
    job.world_indices = at<const std::int32_t>(in_device_, place.indices);
  }
  fill_input(job.control, place.control, n, steps_of(job.control, job.step_count), job.m.control_count);
  fill_input(job.wrench, place.wrench, n, 1, 6 * job.m.body_count);
  job.step_index = at<std::int64_t>(out_device_, place.step_index);
  for (int k = 0; k < job.output_count; ++k) {
    const std::size_t stride = model::align_up(place.output_bytes[k], sizeof(double));
    job.outputs[k].data = out_device_.data() + place.outputs[k];
    job.outputs[k].record_stride = stride;
    job.outputs[k].world_stride = stride * place.records;
  }
  StatisticsGroup* groups = at<StatisticsGroup>(in_host_, groups_) + place.group;
  for (int g = 0; g < place.group_count; ++g) {
    const int first = g * kStatisticsGroup;
    groups[g] = {job.statistics + first, std::min(kStatisticsGroup, n - first)};
  }
}

void LaunchStage::fill_input(step::JobInput& input, std::size_t offset, int rows, int steps, int columns) {
  if (input.data == nullptr) return;
  const std::size_t bytes = columns * element_bytes(input);
  std::byte* to = in_host_.data() + offset;
  for (int i = 0; i < rows; ++i) {
    for (int t = 0; t < steps; ++t, to += bytes) {
      std::memcpy(to, input.data + i * input.world_stride + t * input.step_stride, bytes);
    }
  }
  input.data = in_device_.data() + offset;
  input.step_stride = input.step_stride == 0 ? 0 : bytes;
  input.world_stride = bytes * steps;
}

void LaunchStage::unpack(Launch& launch) const {
  unpack_table(launch.float32, narrow_);
  unpack_table(launch.float64, wide_);
}

template <typename Real>
void LaunchStage::unpack_table(std::vector<Launch::Item<Real>>& items, const Table& table) const {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Place& place = table.places[i];
    const int n = items[i].job.world_count;
    unpack_outputs(place, n);
    StepStatistics total;
    const StepStatistics* sums = at<const StepStatistics>(out_host_, sums_) + place.group;
    for (int g = 0; g < place.group_count; ++g) total.add(sums[g]);
    static_cast<CudaMemory*>(items[i].memory)->finish(total, at<const std::int64_t>(out_host_, place.step_index), n);
  }
}

void LaunchStage::unpack_outputs(const Place& place, int rows) const {
  for (int k = 0; k < step::kMaxJobOutputs && place.caller[k].data != nullptr; ++k) {
    const std::size_t stride = model::align_up(place.output_bytes[k], sizeof(double));
    const std::byte* from = out_host_.data() + place.outputs[k];
    for (int i = 0; i < rows; ++i) {
      for (int r = 0; r < place.records; ++r, from += stride) {
        std::memcpy(place.caller[k].data + i * place.caller[k].world_stride + r * place.caller[k].record_stride, from,
                    place.output_bytes[k]);
      }
    }
  }
}

template <typename Real>
ResidentLaunch<Real> LaunchStage::device_launch(int group) const {
  const Table& table = sizeof(Real) == sizeof(float) ? narrow_ : wide_;
  const auto [shape, first, count] = table.groups[group];
  ResidentLaunch<Real> launch{};
  launch.jobs = at<const step::StepJob<Real>>(in_device_, table.jobs) + first;
  launch.places = at<const model::WorldPlaces>(in_device_, table.fields) + first;
  launch.row_start = at<const int>(in_device_, table.row_start) + first;
  launch.next_row = at<int>(in_device_, table.next_row) + group;
  launch.job_count = count;
  launch.first_row = table.row_starts[first];
  launch.row_count = table.row_starts[first + count] - launch.first_row;
  return launch;
}

template ResidentLaunch<float> LaunchStage::device_launch(int) const;
template ResidentLaunch<double> LaunchStage::device_launch(int) const;

}  // namespace axion::backend
