// Snapshots over the wire: what GetState answers goes into any batch of any server, and nothing else does.
#include <gmock/gmock.h>

#include "tests/server/rpc/fixture.hpp"

namespace axion::server::testing {
namespace {

using grpc::StatusCode;
using ::testing::HasSubstr;

class ExactState : public ServerTest {
 protected:
  std::vector<std::string> snapshots(const std::string& batch, const std::vector<std::int32_t>& worlds = {}) {
    v1::GetStateResponse response;
    const grpc::Status status = get(batch, worlds, {"snapshot"}, response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.fields_size(), 0);
    EXPECT_EQ(response.time_size(), response.snapshot_size());
    return {response.snapshot().begin(), response.snapshot().end()};
  }
  grpc::Status get(const std::string& batch, const std::vector<std::int32_t>& worlds,
                   const std::vector<std::string>& fields, v1::GetStateResponse& response) {
    grpc::ClientContext context;
    v1::GetStateRequest request;
    request.set_batch(batch);
    request.mutable_world_indices()->Add(worlds.begin(), worlds.end());
    request.mutable_fields()->Add(fields.begin(), fields.end());
    return stub->GetState(&context, request, &response);
  }
  grpc::Status set(const std::string& batch, const std::vector<std::int32_t>& worlds,
                   const std::vector<std::string>& bytes) {
    grpc::ClientContext context;
    v1::SetStateRequest request;
    request.set_batch(batch);
    request.mutable_world_indices()->Add(worlds.begin(), worlds.end());
    request.mutable_state()->mutable_snapshot()->Add(bytes.begin(), bytes.end());
    v1::SetStateResponse response;
    return stub->SetState(&context, request, &response);
  }
  grpc::Status reset(const std::string& batch, const std::vector<std::string>& bytes,
                     const std::function<void(v1::ResetRequest&)>& change = {}) {
    grpc::ClientContext context;
    v1::ResetRequest request;
    request.set_batch(batch);
    request.mutable_state()->mutable_snapshot()->Add(bytes.begin(), bytes.end());
    if (change) change(request);
    v1::ResetResponse response;
    return stub->Reset(&context, request, &response);
  }
  v1::StepResponse run(const std::string& batch, int steps, double control) {
    v1::StepRequest request;
    request.set_batch(batch);
    request.set_step_count(steps);
    const int worlds = static_cast<int>(snapshots(batch).size());
    fill(*request.mutable_control(), {worlds, 1}, std::vector<double>(static_cast<std::size_t>(worlds), control));
    v1::StepResponse response;
    EXPECT_TRUE(step(request, response).ok());
    return response;
  }
  static void noisy(v1::CreateBatchRequest& request) {
    request.set_seed(5);
    request.mutable_initial_noise()->set_joint_position(0.2);
    request.mutable_initial_noise()->set_joint_velocity(0.5);
  }
};

TEST_F(ExactState, goes_on_with_the_same_bits_in_another_world_batch_and_server) {
  start();
  const v1::Batch first = create_batch(create_model().name(), 3, noisy);
  run(first.name(), 120, 0.3);  // lands
  const std::vector<std::string> taken = snapshots(first.name());
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_NE(taken[0], taken[1]);
  run(first.name(), 200, -0.5);
  const std::vector<std::string> later = snapshots(first.name());

  const v1::Batch second = create_batch(create_model().name(), 5);
  ASSERT_TRUE(set(second.name(), {4, 1}, {taken[0], taken[2]}).ok());
  EXPECT_THAT(snapshots(second.name(), {1, 4}), ::testing::ElementsAre(taken[2], taken[0]));
  run(second.name(), 200, -0.5);
  EXPECT_THAT(snapshots(second.name(), {1, 4}), ::testing::ElementsAre(later[2], later[0]));

  Config config;
  start(config);  // a new server, which knows nothing
  const v1::Batch third = create_batch(create_model().name(), 2);
  ASSERT_TRUE(reset(third.name(), {taken[1]}).ok());
  EXPECT_THAT(snapshots(third.name()), ::testing::ElementsAre(taken[1], taken[1]));
  const v1::StepResponse response = run(third.name(), 200, -0.5);
  EXPECT_EQ(response.step_index(0), 320);
  EXPECT_THAT(snapshots(third.name()), ::testing::ElementsAre(later[1], later[1]));
}

TEST_F(ExactState, a_world_that_starts_at_a_snapshot_gets_no_noise) {
  start();
  const v1::Batch batch = create_batch(create_model().name(), 2, noisy);
  const std::vector<std::string> start_state = snapshots(batch.name());
  run(batch.name(), 10, 0);
  ASSERT_TRUE(reset(batch.name(), start_state).ok());
  EXPECT_EQ(snapshots(batch.name()), start_state);
}

TEST_F(ExactState, the_outcome_of_the_last_request_travels) {
  start();
  // No more than one Newton iteration: some steps of the fall converge, those of the landing do not.
  const v1::Batch batch = create_batch(create_model().name(), 2, [](v1::CreateBatchRequest& request) {
    request.mutable_options()->set_max_newton_iterations(1);
  });
  const v1::StepResponse response = run(batch.name(), 150, 0.5);
  ASSERT_NE(response.outcome(0) & v1::OUTCOME_MAX_ITERATIONS, 0u);
  const std::vector<std::string> taken = snapshots(batch.name());
  ASSERT_TRUE(reset(batch.name(), {}).ok());
  ASSERT_TRUE(set(batch.name(), {1}, {taken[0]}).ok());
  v1::GetStateResponse state;
  ASSERT_TRUE(get(batch.name(), {1}, {"outcome"}, state).ok());
  EXPECT_EQ(values_of<std::uint32_t>(state.fields().at("outcome"))[0], response.outcome(0));
}

TEST_F(ExactState, all_fields_do_not_mean_snapshots_and_steps_do_not_record_them) {
  start();
  const v1::Batch batch = create_batch(create_model().name(), 2);
  v1::GetStateResponse all, both;
  ASSERT_TRUE(get(batch.name(), {}, {}, all).ok());
  EXPECT_EQ(all.snapshot_size(), 0);
  EXPECT_EQ(all.fields_size(), batch.fields_size());
  ASSERT_TRUE(get(batch.name(), {}, {"time", "snapshot"}, both).ok());
  EXPECT_EQ(both.snapshot_size(), 2);
  EXPECT_EQ(both.fields_size(), 1);
  v1::StepRequest request;
  request.set_batch(batch.name());
  request.add_outputs("snapshot");
  v1::StepResponse response;
  const grpc::Status status = step(request, response);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(bad_fields(status), ::testing::ElementsAre("outputs[0]"));
}

TEST_F(ExactState, bytes_that_are_no_snapshot_of_such_a_world_are_refused_by_field_and_row) {
  start();
  const v1::Model model = create_model();
  const v1::Batch batch = create_batch(model.name(), 2),
                  fine = create_batch(model.name(), 1, [](v1::CreateBatchRequest&r) {
                    r.mutable_options()->set_precision(v1::PRECISION_FLOAT64);
                  });
  run(batch.name(), 90, 0.2);
  const std::vector<std::string> before = snapshots(batch.name());
  const auto expect = [&](const grpc::Status& status, const char* field, const char* words) {
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT) << status.error_message();
    EXPECT_THAT(bad_fields(status), ::testing::ElementsAre(field));
    EXPECT_THAT(status.error_message(), HasSubstr(words));
    EXPECT_EQ(snapshots(batch.name()), before);
  };
  std::string damaged = before[1];
  damaged[damaged.size() / 2] ^= 4;
  expect(set(batch.name(), {}, {before[0], damaged}), "state.snapshot[1]", "damaged");
  expect(set(batch.name(), {}, {before[0], before[1].substr(0, 500)}), "state.snapshot[1]", "not whole");
  expect(set(batch.name(), {}, {""}), "state.snapshot[0]", "0 bytes");
  expect(set(batch.name(), {}, {snapshots(fine.name())[0]}), "state.snapshot[0]", "float64");
  expect(set(batch.name(), {}, {before[0], before[0], before[0]}), "state.snapshot", "3 values for 2 worlds");
  expect(reset(batch.name(), {damaged}), "state.snapshot[0]", "damaged");
  expect(reset(batch.name(), before, [](v1::ResetRequest& r) { r.set_keyframe("up"); }), "keyframe", "state.snapshot");
}

TEST_F(ExactState, more_snapshots_than_an_answer_can_hold_are_refused) {
  Config config;
  config.limits.max_message_bytes = 1 << 20;
  start(config);
  const v1::Batch batch = create_batch(create_model().name(), 5000);
  v1::GetStateResponse response;
  const grpc::Status status = get(batch.name(), {}, {"snapshot"}, response);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("max_message_bytes"));
  EXPECT_EQ(snapshots(batch.name(), {7, 8}).size(), 2u);
}

}  // namespace
}  // namespace axion::server::testing
