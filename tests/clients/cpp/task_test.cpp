#include "clients/cpp/task.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/match.h"

namespace axion::client {
namespace {

v1::Batch batch_with_task() {
  v1::Batch batch;
  batch.set_name("batches/b");
  batch.set_world_count(3);
  batch.mutable_task()->set_action_size(2);
  return batch;
}

TEST(TaskClient, step_of_a_task_carries_its_action_and_no_count_of_steps) {
  const std::vector<float> action = {1, 2, 3, 4, 5, 6};
  const auto request = make_task_step_request(batch_with_task(), {.action = action, .outputs = {"time"}});
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_FALSE(request->has_step_count());
  EXPECT_FALSE(request->has_control());
  EXPECT_EQ(request->action().shape(0), 3);
  EXPECT_EQ(request->action().shape(1), 2);
  EXPECT_EQ((*view<float>(request->action()))[5], 6.0F);
  const auto some = make_task_step_request(batch_with_task(), {.action = std::vector<double>{1, 2}, .worlds = {2}});
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_EQ(some->action().shape(0), 1);
  EXPECT_EQ(some->world_indices(0), 2);
}

TEST(TaskClient, actions_that_do_not_fit_are_named) {
  const auto wrong = make_task_step_request(batch_with_task(), {.action = std::vector<float>(5)});
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(wrong.status().message(), "action: has 5 values")) << wrong.status();
  const auto none = make_task_step_request(v1::Batch(), {.action = std::vector<float>(6)});
  EXPECT_TRUE(absl::StrContains(none.status().message(), "has no task")) << none.status();
}

TEST(TaskClient, tasks_are_read_from_json_and_wrong_names_are_told) {
  const auto spec = task_of_json(R"({"observation": [{"quantity": {"field": "time"}}], "max_episode_steps": "50",
                                     "action": {"frame_skip": 4}})");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->max_episode_steps(), 50);
  EXPECT_EQ(spec->action().frame_skip(), 4);
  const auto wrong = task_of_json(R"({"observations": []})");
  EXPECT_EQ(wrong.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(wrong.status().message(), "observations")) << wrong.status();
}

TEST(TaskClient, answers_are_views_with_the_last_observations_of_those_that_ended) {
  v1::StepResponse response;
  v1::TaskAnswer& task = *response.mutable_task();
  *task.mutable_observation() = *make_tensor<float>(std::vector<float>{1, 2, 3, 4}, {2, 2}, "observation");
  *task.mutable_reward() = *make_tensor<double>(std::vector<double>{0.5, -1}, {2}, "reward");
  for (const bool ended : {false, true}) {
    task.add_terminated(ended);
    task.add_truncated(false);
  }
  const TaskResult before(response);
  EXPECT_TRUE(before.final_observation<float>()->empty());
  task.add_final_rows(1);
  *task.mutable_final_observation() = *make_tensor<float>(std::vector<float>{7, 8}, {1, 2}, "final_observation");
  const TaskResult result(response);
  EXPECT_EQ((*result.observation<float>())[3], 4.0F);
  EXPECT_EQ(result.observation<double>().status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ((*result.reward())[1], -1.0);
  EXPECT_TRUE(result.terminated()[1]);
  EXPECT_FALSE(result.truncated()[1]);
  EXPECT_EQ(result.final_rows()[0], 1);
  EXPECT_EQ((*result.final_observation<float>())[1], 8.0F);
  EXPECT_TRUE(result.privileged_observation<float>()->empty());
  EXPECT_TRUE(result.final_privileged_observation<float>()->empty());
  EXPECT_TRUE(result.level()->empty());
  *task.mutable_privileged_observation() = *make_tensor<float>(std::vector<float>{5, 6}, {2, 1}, "privileged");
  *task.mutable_final_privileged_observation() = *make_tensor<float>(std::vector<float>{9}, {1, 1}, "privileged");
  const TaskResult both(response);
  EXPECT_EQ((*both.privileged_observation<float>())[1], 6.0F);
  EXPECT_EQ((*both.final_privileged_observation<float>())[0], 9.0F);
}

}  // namespace
}  // namespace axion::client
