#include "server/rpc/task_exchange.hpp"

#include <cstring>
#include <utility>

#include "server/rpc/tensor.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/world_work.hpp"

namespace axion::server::rpc {
namespace {

void fill_real_tensor(DType real, const std::vector<double>& values, std::int64_t rows, std::int64_t width,
                      v1::Tensor& tensor) {
  const std::vector<std::int64_t> shape{rows, width};
  if (real == DType::kFloat64) return fill_tensor(values, shape, tensor);
  std::byte* at = make_tensor(DType::kFloat32, shape, tensor);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    std::memcpy(at + i * sizeof(float), &value, sizeof(value));
  }
}

void fill_levels(const std::vector<std::int32_t>& levels, std::size_t count, v1::TaskAnswer& answer) {
  if (levels.empty()) return;
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(count),
                                        static_cast<std::int64_t>(levels.size() / count)};
  std::byte* at = make_tensor(DType::kInt32, shape, *answer.mutable_level());
  std::memcpy(at, levels.data(), levels.size() * sizeof(levels[0]));
}

std::vector<double> doubles_of(const InputView& view, std::size_t rows, std::size_t width) {
  std::vector<double> values(rows * width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::byte* at = view.data + (i / width) * view.world_stride + (i % width) * size_of(view.dtype);
    float narrow = 0;
    if (view.dtype == DType::kFloat64) {
      std::memcpy(&values[i], at, sizeof(double));
    } else {
      std::memcpy(&narrow, at, sizeof(narrow));
      values[i] = narrow;
    }
  }
  return values;
}

template <typename T>
void spread(const std::vector<std::size_t>& rows, std::size_t count, std::vector<T>& values) {
  values.resize(count);
  for (std::size_t i = rows.size(); i-- > 0;) values[rows[i]] = values[i];  // a row never moves up
}

}  // namespace

double task_answer_bytes(const task::Task& task, std::int64_t count) {
  std::int64_t fields = 0;
  for (const int size : task.field_sizes) fields += size;
  if (!task.push.empty()) fields += 12 * std::int64_t(task.robot.p_BoBcm.size());  // wrenches
  return static_cast<double>(count) * 8.0 *
         static_cast<double>(2 * (task.observation_size + task.privileged_size) + std::int64_t(task.reward.size()) +
                             fields + task.action_size() + std::int64_t(task.action.rest.size()) + 8);
}

void fill_first_observations(const schedule::BatchHandle& batch, const std::vector<std::int32_t>& worlds,
                             v1::TaskAnswer& answer) {
  const auto size = static_cast<std::size_t>(batch.info.task->observation_size);
  const std::size_t count = schedule::world_count_of(worlds, batch);
  const auto other = static_cast<std::size_t>(batch.info.task->privileged_size);
  std::vector<double> observation(count * size), privileged(count * other);
  std::vector<std::int32_t> levels;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t world = schedule::world_at(worlds, i);
    batch.episodes->observation(world, std::span(observation).subspan(i * size, size));
    batch.episodes->privileged(world, std::span(privileged).subspan(i * other, other));
    batch.episodes->levels(world, levels);
  }
  fill_levels(levels, count, answer);
  if (other > 0) {
    fill_real_tensor(batch.info.real, privileged, static_cast<std::int64_t>(count), static_cast<std::int64_t>(other),
                     *answer.mutable_privileged_observation());
  }
  fill_real_tensor(batch.info.real, observation, static_cast<std::int64_t>(count), static_cast<std::int64_t>(size),
                   *answer.mutable_observation());
}

absl::StatusOr<bool> TaskResponder::prepare(schedule::BatchHandle& batch, schedule::StepWork& work) {
  if (batch_ == nullptr) {
    batch_ = &batch;
    outputs_ = work.outputs;
    wrench_ = work.body_wrench, mocap_pose_ = work.mocap_pose;
    const std::size_t count = schedule::world_count_of(work.world_indices, batch);
    for (std::size_t i = 0; i < count; ++i) plan_.worlds.push_back(schedule::world_at(work.world_indices, i));
    const auto actions = static_cast<std::size_t>(batch.info.task->action_size());
    if (actions > 0) plan_.actions = doubles_of(work.action, count, actions);
  }
  const Status planned = batch.episodes->plan(*batch.engine, batch.changes, plan_);
  if (!planned.ok()) return schedule::from_engine(planned.error(), "task");
  const std::size_t stepping = plan_.stepping.size();
  const bool all = stepping == static_cast<std::size_t>(batch.info.world_count) && work.world_indices.empty();
  if (!all) work.world_indices = plan_.stepping_worlds;
  work.outputs = outputs_;
  work.outputs.insert(work.outputs.end(), plan_.views.begin(), plan_.views.end());
  const std::size_t controls = batch.info.task->action.rest.size();
  if (controls > 0) {
    work.control = {.data = reinterpret_cast<const std::byte*>(plan_.control.data()),
                    .dtype = DType::kFloat64,
                    .world_stride = controls * sizeof(double)};
  }
  take_inputs(work);
  return stepping > 0;
}

void TaskResponder::take_inputs(schedule::StepWork& work) {
  const std::size_t stepping = plan_.stepping.size();
  const auto of_stepping = [&](const InputView& given, std::size_t width, std::vector<double>& values) {
    const std::vector<double> all = doubles_of(given, plan_.worlds.size(), width);
    values.clear();
    for (const std::size_t row : plan_.stepping) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(row * width);
      values.insert(values.end(), from, from + static_cast<std::ptrdiff_t>(width));
    }
    return InputView{.data = reinterpret_cast<const std::byte*>(values.data()),
                     .dtype = DType::kFloat64,
                     .world_stride = width * sizeof(double)};
  };
  const auto width_of = [&](Field field) { return schedule::element_count(batch_->info.find(field)->shape); };
  const bool all = stepping == plan_.worlds.size();
  work.mocap_pose = mocap_pose_, work.body_wrench = wrench_;
  if (mocap_pose_.data != nullptr && !all) {
    work.mocap_pose = of_stepping(mocap_pose_, width_of(Field::kMocapPose), mocaps_);
  }
  if (wrench_.data == nullptr && plan_.wrench.empty()) return;
  if (all && plan_.wrench.empty()) return;
  const std::size_t width = width_of(Field::kBodyVelocity);
  if (wrench_.data == nullptr) {
    wrenches_ = plan_.wrench;
  } else {
    of_stepping(wrench_, width, wrenches_);
    for (std::size_t i = 0; i < plan_.wrench.size(); ++i) wrenches_[i] += plan_.wrench[i];
  }
  work.body_wrench = {.data = reinterpret_cast<const std::byte*>(wrenches_.data()),
                      .dtype = DType::kFloat64,
                      .world_stride = width * sizeof(double)};
}

void TaskResponder::spread_rows(schedule::StepAnswer& answer) const {
  const std::size_t count = plan_.worlds.size();
  if (plan_.stepping.size() == count) return;
  spread(plan_.stepping, count, answer.time);
  spread(plan_.stepping, count, answer.step_index);
  spread(plan_.stepping, count, answer.outcome);
  for (const OutputView& view : outputs_) {
    for (std::size_t i = plan_.stepping.size(); i-- > 0;) {
      if (plan_.stepping[i] == i) continue;
      std::memcpy(view.data + plan_.stepping[i] * view.world_stride, view.data + i * view.world_stride,
                  view.world_stride);
    }
  }
}

absl::Status TaskResponder::read_restarted(const std::vector<std::int32_t>& rows, schedule::StepAnswer& answer) const {
  if (rows.empty()) return absl::OkStatus();
  std::vector<std::int32_t> worlds;
  worlds.reserve(rows.size());
  for (const std::int32_t row : rows) worlds.push_back(plan_.worlds[static_cast<std::size_t>(row)]);
  std::vector<std::vector<std::byte>> places;
  std::vector<OutputView> views = outputs_;
  views.push_back({.field = Field::kTime, .data = reinterpret_cast<std::byte*>(answer.time.data()), .world_stride = 8});
  views.push_back(
      {.field = Field::kStepIndex, .data = reinterpret_cast<std::byte*>(answer.step_index.data()), .world_stride = 8});
  const std::vector<OutputView> targets = views;
  for (OutputView& view : views) {
    places.emplace_back(rows.size() * view.world_stride);
    view.data = places.back().data();
  }
  if (absl::Status status = schedule::read_fields(*batch_, worlds, views); !status.ok()) return status;
  for (std::size_t v = 0; v < views.size(); ++v) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t stride = targets[v].world_stride;
      std::memcpy(targets[v].data + static_cast<std::size_t>(rows[i]) * stride, views[v].data + i * stride, stride);
    }
  }
  return absl::OkStatus();
}

void TaskResponder::fill(const task::StepAnswer& answer) {
  v1::TaskAnswer& out = *response_.mutable_task();
  const task::Task& t = *batch_->info.task;
  const auto count = static_cast<std::int64_t>(plan_.worlds.size());
  fill_real_tensor(batch_->info.real, answer.observation, count, t.observation_size, *out.mutable_observation());
  if (t.privileged_size > 0) {
    fill_real_tensor(batch_->info.real, answer.privileged, count, t.privileged_size,
                     *out.mutable_privileged_observation());
  }
  fill_levels(answer.level, plan_.worlds.size(), out);
  fill_tensor(answer.reward, std::vector<std::int64_t>{count}, *out.mutable_reward());
  fill_tensor(answer.terms, std::vector<std::int64_t>{count, static_cast<std::int64_t>(t.reward.size())},
              *out.mutable_terms());
  out.mutable_terminated()->Assign(answer.terminated.begin(), answer.terminated.end());
  out.mutable_truncated()->Assign(answer.truncated.begin(), answer.truncated.end());
  out.mutable_ended_by()->Assign(answer.ended_by.begin(), answer.ended_by.end());
  out.mutable_episode_return()->Assign(answer.episode_return.begin(), answer.episode_return.end());
  out.mutable_episode_length()->Assign(answer.episode_length.begin(), answer.episode_length.end());
  out.mutable_episode()->Assign(answer.episode.begin(), answer.episode.end());
  if (answer.final_rows.empty()) return;
  out.mutable_final_rows()->Assign(answer.final_rows.begin(), answer.final_rows.end());
  fill_real_tensor(batch_->info.real, answer.final_observation, static_cast<std::int64_t>(answer.final_rows.size()),
                   t.observation_size, *out.mutable_final_observation());
  if (t.privileged_size == 0) return;
  fill_real_tensor(batch_->info.real, answer.final_privileged, static_cast<std::int64_t>(answer.final_rows.size()),
                   t.privileged_size, *out.mutable_final_privileged_observation());
}

absl::Status TaskResponder::complete(schedule::StepAnswer& answer) {
  task::StepAnswer made;
  absl::Status status = schedule::finish_task_step(*batch_, plan_, answer.outcome, made);
  if (!status.ok()) return status;
  spread_rows(answer);
  for (const std::int32_t row : made.restarted_rows) {
    const auto at = static_cast<std::size_t>(row);
    const bool stepped = made.terminated[at] != 0 || made.truncated[at] != 0;
    if (!stepped) answer.outcome[at] = 0;  // it began an episode in place of a step
  }
  status = read_restarted(made.restarted_rows, answer);
  if (status.ok()) fill(made);
  return status;
}

std::shared_ptr<const schedule::StepMemory> TaskResponder::succeed(schedule::StepAnswer answer, bool remember) {
  const absl::Status status = schedule::guarded([&] { return complete(answer); });
  if (status.ok()) return responder_->succeed(std::move(answer), remember);
  responder_->fail(status);
  return nullptr;
}

}  // namespace axion::server::rpc
