// Tasks that the server computes (proto/axion/v1/task.proto): a step of learning is one call.
//
//   v1::CreateBatchRequest request;                              // .model, .world_count
//   *request.mutable_task() = task_of_json(text).value();        // the data that the Python client takes too
//   auto batch = client.create_batch(request).value();
//   auto first = batch.begin_episodes({.seeds = seeds}).value(); // view<float>(first.observation())
//   auto answer = batch.step_task({.action = action}).value();   // answer.observation<float>(), answer.reward()
//
// n is the number of worlds that a call is about, k the numbers of an observation, t the terms of the reward.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "axion/v1/task.pb.h"
#include "clients/cpp/step.hpp"

namespace axion::client {

struct TaskStepArguments {
  RealSpan action = {};                   // [n, actions] as Batch::info().task() says
  std::vector<std::string> outputs = {};  // names of fields
  std::vector<std::int32_t> worlds = {};  // empty: all
  RealSpan body_wrench = {};              // [n, nb, 6] force, then torque, world frame, held
  std::string request_id = {};            // a repeated one gets the first answer again; empty: one is made
};

struct EpisodeArguments {
  std::span<const std::int32_t> worlds = {};  // empty: all
  // [n]: the worlds' seeds from now on, whose first episodes begin. Empty: the next episodes of the seeds they have.
  std::span<const std::uint64_t> seeds = {};
  // [n, nq] and [n, nv] in the place of what the task draws.
  std::span<const double> joint_position = {};
  std::span<const double> joint_velocity = {};
};

// The answer to a step of a task: a StepResult, and what the task computes. Views are valid as long as the result is.
class TaskResult : public StepResult {
 public:
  explicit TaskResult(v1::StepResponse response) : StepResult(std::move(response)) {}

  // [n, k]; T is the batch's precision, else INVALID_ARGUMENT.
  template <typename T>
  absl::StatusOr<std::span<const T>> observation() const {
    return view<T>(task().observation());
  }
  // Of the episodes that final_rows names, [ended, k]; empty where none has ended.
  template <typename T>
  absl::StatusOr<std::span<const T>> final_observation() const {
    return final_rows().empty() ? std::span<const T>() : view<T>(task().final_observation());
  }
  // [n, p], of TaskSpec.privileged_observation; empty without it.
  template <typename T>
  absl::StatusOr<std::span<const T>> privileged_observation() const {
    return task().has_privileged_observation() ? view<T>(task().privileged_observation()) : std::span<const T>();
  }
  template <typename T>
  absl::StatusOr<std::span<const T>> final_privileged_observation() const {
    return task().has_final_privileged_observation() ? view<T>(task().final_privileged_observation())
                                                     : std::span<const T>();
  }
  // [n, curricula]; empty without curricula.
  absl::StatusOr<std::span<const std::int32_t>> level() const {
    return task().has_level() ? view<std::int32_t>(task().level()) : std::span<const std::int32_t>();
  }
  absl::StatusOr<std::span<const double>> reward() const { return view<double>(task().reward()); }  // [n]
  // [n, t], in the order of TaskInfo.reward_terms.
  absl::StatusOr<std::span<const double>> terms() const { return view<double>(task().terms()); }
  std::span<const bool> terminated() const { return span_of(task().terminated()); }            // [n]
  std::span<const bool> truncated() const { return span_of(task().truncated()); }              // [n]
  std::span<const std::int32_t> ended_by() const { return span_of(task().ended_by()); }        // [n], -1: it goes on
  std::span<const double> episode_return() const { return span_of(task().episode_return()); }  // [n]
  std::span<const std::int64_t> episode_length() const { return span_of(task().episode_length()); }  // [n], steps
  std::span<const std::int64_t> episode() const { return span_of(task().episode()); }                // [n]
  std::span<const std::int32_t> final_rows() const { return span_of(task().final_rows()); }          // with SAME_STEP
  const v1::TaskAnswer& task() const { return message().task(); }

 private:
  template <typename Repeated>
  static std::span<const typename Repeated::value_type> span_of(const Repeated& values) {
    return {values.data(), static_cast<std::size_t>(values.size())};
  }
};

// A task from JSON with the names of TaskSpec's fields. INVALID_ARGUMENT where one has no such name or is no number.
absl::StatusOr<v1::TaskSpec> task_of_json(std::string_view json);

// The message of a step of the task of `batch`. INVALID_ARGUMENT if it has none, or the number of actions does not fit.
absl::StatusOr<v1::StepRequest> make_task_step_request(const v1::Batch& batch, const TaskStepArguments& arguments);

}  // namespace axion::client
