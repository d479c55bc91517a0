#include "clients/cpp/client.hpp"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "absl/strings/match.h"
#include "clients/cpp/status.hpp"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace axion::client {
namespace {

// A status with google.rpc details, as the server sends it.
grpc::Status refusal(grpc::StatusCode code, const std::string& message,
                     const std::vector<const google::protobuf::Message*>& details) {
  google::rpc::Status status;
  status.set_code(code);
  status.set_message(message);
  for (const auto* detail : details) {
    status.add_details()->PackFrom(*detail);
  }
  return {code, message, status.SerializeAsString()};
}

// Answers as told: a batch of 4 worlds with 2 controls and one body; steps echo their control.
class FakeSimulation final : public v1::Simulation::Service {
 public:
  grpc::Status CreateBatch(grpc::ServerContext*, const v1::CreateBatchRequest* request, v1::Batch* batch) override {
    fill(batch);
    batch->set_model(request->model());
    return grpc::Status::OK;
  }
  grpc::Status GetBatch(grpc::ServerContext*, const v1::GetBatchRequest*, v1::Batch* batch) override {
    fill(batch);
    return grpc::Status::OK;
  }
  grpc::Status DeleteBatch(grpc::ServerContext*, const v1::DeleteBatchRequest* request,
                           google::protobuf::Empty*) override {
    const std::scoped_lock lock(mutex_);
    deleted_.push_back(request->name());
    return grpc::Status::OK;
  }
  grpc::Status ListModels(grpc::ServerContext*, const v1::ListModelsRequest* request,
                          v1::ListModelsResponse* response) override {
    const int page = request->page_token().empty() ? 0 : std::stoi(request->page_token());
    response->add_models()->set_name("models/" + std::to_string(page));
    response->set_next_page_token(page < 2 ? std::to_string(page + 1) : "");
    return grpc::Status::OK;
  }
  grpc::Status Step(grpc::ServerContext*, const v1::StepRequest* request, v1::StepResponse* response) override {
    {
      const std::scoped_lock lock(mutex_);
      step_ids_.push_back(request->request_id());
    }
    if (refuse_) {
      return refuse_();
    }
    answer(*request, response);
    return grpc::Status::OK;
  }
  grpc::Status StepStream(grpc::ServerContext*,
                          grpc::ServerReaderWriter<v1::StepResponse, v1::StepRequest>* stream) override {
    v1::StepRequest request;
    while (stream->Read(&request)) {
      if (request.request_id() == "refuse") {
        return {grpc::StatusCode::ABORTED, "expected_step 7, the worlds are at 3"};
      }
      if (absl::StartsWith(request.request_id(), "away") && ++times_away_ <= 2) {
        return {grpc::StatusCode::UNAVAILABLE, "shutting down"};
      }
      v1::StepResponse response;
      answer(request, &response);
      stream->Write(response);
    }
    return grpc::Status::OK;
  }
  grpc::Status GetState(grpc::ServerContext*, const v1::GetStateRequest* request,
                        v1::GetStateResponse* response) override {
    if (request->fields_size() == 1 && request->fields(0) == "snapshot") {
      response->add_snapshot("a");
      response->add_snapshot(std::string("\0b", 2));
    }
    return grpc::Status::OK;
  }
  grpc::Status Reset(grpc::ServerContext*, const v1::ResetRequest* request, v1::ResetResponse*) override {
    const std::scoped_lock lock(mutex_);
    state_ = request->state();
    step_ids_.push_back(request->request_id());
    return grpc::Status::OK;
  }
  grpc::Status SetState(grpc::ServerContext*, const v1::SetStateRequest* request, v1::SetStateResponse*) override {
    const std::scoped_lock lock(mutex_);
    state_ = request->state();
    return grpc::Status::OK;
  }

  std::vector<std::string> deleted() {
    const std::scoped_lock lock(mutex_);
    return deleted_;
  }
  std::vector<std::string> step_ids() {
    const std::scoped_lock lock(mutex_);
    return step_ids_;
  }
  v1::StateUpdate state() {
    const std::scoped_lock lock(mutex_);
    return state_;
  }
  void refuse(std::function<grpc::Status()> status) { refuse_ = std::move(status); }

 private:
  static void add_field(v1::Batch* batch, const char* name, std::initializer_list<std::int64_t> shape) {
    v1::FieldInfo* field = batch->add_fields();
    field->set_name(name);
    for (const std::int64_t extent : shape) {
      field->add_shape(extent);
    }
  }
  static void fill(v1::Batch* batch) {
    batch->set_name("batches/b");
    batch->set_world_count(4);
    add_field(batch, "control", {2});
    add_field(batch, "body_pose", {1, 7});
    add_field(batch, "body_velocity", {1, 6});
    add_field(batch, "joint_position", {9});
  }
  static void answer(const v1::StepRequest& request, v1::StepResponse* response) {
    const int n = request.world_indices_size() > 0 ? request.world_indices_size() : 4;
    for (int i = 0; i < n; ++i) {
      response->add_time(0.5);
      response->add_step_index(100);
      response->add_outcome(i == 0 ? v1::OUTCOME_MAX_ITERATIONS : v1::OUTCOME_CONVERGED);
    }
    response->set_request_id(request.request_id());
    (*response->mutable_outputs())["control"] = request.control();
  }

  std::mutex mutex_;
  std::vector<std::string> deleted_, step_ids_;
  std::atomic<int> times_away_{0};
  v1::StateUpdate state_;
  std::function<grpc::Status()> refuse_;
};

class ClientTest : public testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&simulation_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    ASSERT_NE(port_, 0);
  }
  void TearDown() override { server_->Shutdown(); }
  Client client() const { return Client::connect("127.0.0.1:" + std::to_string(port_)); }

  FakeSimulation simulation_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

TEST_F(ClientTest, batch_deletes_its_worlds_at_the_end_of_its_scope) {
  {
    const auto batch = client().create_batch("models/m", 4);
    ASSERT_TRUE(batch.ok()) << batch.status();
    EXPECT_TRUE(simulation_.deleted().empty());
  }
  EXPECT_EQ(simulation_.deleted(), std::vector<std::string>{"batches/b"});
}

TEST_F(ClientTest, moved_batch_is_deleted_once) {
  {
    auto batch = client().create_batch("models/m", 4);
    ASSERT_TRUE(batch.ok());
    Batch first = *std::move(batch);
    Batch second = std::move(first);
    EXPECT_EQ(second.name(), "batches/b");
  }
  EXPECT_EQ(simulation_.deleted().size(), 1u);
}

TEST_F(ClientTest, released_and_found_batches_stay) {
  {
    auto batch = client().create_batch("models/m", 4);
    ASSERT_TRUE(batch.ok());
    batch->release();
    const auto found = client().get_batch("batches/b");
    ASSERT_TRUE(found.ok());
  }
  EXPECT_TRUE(simulation_.deleted().empty());
}

TEST_F(ClientTest, step_takes_controls_for_one_world_for_all_or_for_each_step) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  const std::vector<float> row{1, 2};
  const std::vector<double> all(8, 0.5), sequence(24, 0.25);
  const struct {
    RealSpan control;
    std::string shape;
  } cases[] = {{row, "[4, 2]"}, {all, "[4, 2]"}, {sequence, "[4, 3, 2]"}};
  for (const auto& [control, shape] : cases) {
    const auto result = batch->step({.control = control, .step_count = 3});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(shape_text(*result->tensor("control")), shape);
  }
  const auto rows = batch->step({.control = row});
  ASSERT_TRUE(rows.ok());
  const auto echoed = rows->output<float>("control");
  ASSERT_TRUE(echoed.ok()) << echoed.status();
  EXPECT_EQ((std::vector<float>(echoed->begin(), echoed->end())), (std::vector<float>{1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST_F(ClientTest, controls_that_fit_no_shape_are_refused_before_they_are_sent) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  const std::vector<double> wrong(7);
  const auto result = batch->step({.control = wrong});
  ASSERT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(result.status().message(), "control: has 7 values; wants [2], [4, 2] or [4, 1, 2]");
}

TEST_F(ClientTest, step_returns_time_and_outcome_of_each_world) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  const auto result = batch->step({.worlds = {1, 3, 2}});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->world_count(), 3);
  EXPECT_EQ(result->time()[2], 0.5);
  EXPECT_EQ(result->step_index()[0], 100);
  EXPECT_EQ(result->worlds_with(v1::OUTCOME_CONVERGED), 2);
  EXPECT_EQ(result->output<float>("body_pose").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(ClientTest, refusal_keeps_its_fields_reason_and_delay) {
  simulation_.refuse([] {
    google::rpc::BadRequest bad;
    bad.add_field_violations()->set_field("control");
    bad.mutable_field_violations(0)->set_description("value nan at [0, 1]");
    google::rpc::ErrorInfo info;
    info.set_reason("NOT_FINITE");
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_nanos(250000000);
    return refusal(grpc::StatusCode::INVALID_ARGUMENT, "control is wrong", {&bad, &info, &retry});
  });
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  const absl::Status status = batch->step({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("control: value nan at [0, 1]"), std::string::npos) << status;
  const ErrorDetails details = details_of(status);
  ASSERT_EQ(details.field_violations.size(), 1u);
  EXPECT_EQ(details.field_violations[0].field, "control");
  EXPECT_EQ(details.reason, "NOT_FINITE");
  ASSERT_TRUE(details.retry_delay.has_value());
  EXPECT_EQ(*details.retry_delay, absl::Milliseconds(250));
}

TEST_F(ClientTest, details_that_cannot_be_read_do_not_hide_the_error) {
  simulation_.refuse([] { return grpc::Status(grpc::StatusCode::NOT_FOUND, "no batches/b", "\xff\xff"); });
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  const absl::Status status = batch->step({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(details_of(status).field_violations.empty());
}

TEST_F(ClientTest, a_step_is_made_again_under_its_id_while_the_server_is_unavailable_and_no_other_error_is) {
  const auto batch = *client().create_batch("models/1", 4);
  int refusals = 0;
  simulation_.refuse([&]() -> grpc::Status {
    if (++refusals == 1) return {grpc::StatusCode::UNAVAILABLE, "shutting down"};
    if (refusals == 2) return {grpc::StatusCode::CANCELLED, "CANCELLED"};  // as gRPC gives when it shuts down
    return grpc::Status::OK;
  });
  EXPECT_TRUE(batch.step({}).ok());
  auto ids = simulation_.step_ids();
  ASSERT_EQ(ids, std::vector<std::string>(3, ids.at(0)));
  EXPECT_EQ(ids[0].size(), 32u);
  EXPECT_TRUE(batch.step({}).ok() && batch.reset().ok());  // a reset is made once, as a step is
  EXPECT_NE(simulation_.step_ids().back(), ids[0]);
  EXPECT_EQ(simulation_.step_ids().back().size(), 32u);
  for (const auto code : {grpc::StatusCode::ABORTED, grpc::StatusCode::RESOURCE_EXHAUSTED, grpc::StatusCode::UNKNOWN}) {
    const std::size_t before = simulation_.step_ids().size();
    simulation_.refuse([code] { return grpc::Status(code, "no"); });
    EXPECT_FALSE(batch.step({}).ok());
    EXPECT_EQ(simulation_.step_ids().size(), before + 1);
  }
}

TEST_F(ClientTest, a_client_without_patience_makes_no_call_again) {
  ConnectOptions options;
  options.retry = absl::ZeroDuration();
  const auto batch = *Client::connect("127.0.0.1:" + std::to_string(port_), options).create_batch("models/1", 4);
  simulation_.refuse([] { return grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"); });
  EXPECT_EQ(batch.step({}).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(simulation_.step_ids(), std::vector<std::string>{""});
}

TEST_F(ClientTest, a_server_that_was_waited_for_in_vain_is_not_waited_for_again_until_it_answers) {
  ConnectOptions options;
  options.retry = absl::Milliseconds(200);
  const auto batch = *Client::connect("127.0.0.1:" + std::to_string(port_), options).create_batch("models/1", 4);
  const auto away = [] { return grpc::Status(grpc::StatusCode::UNAVAILABLE, "shutting down"); };
  simulation_.refuse(away);
  EXPECT_FALSE(batch.step({}).ok());
  const std::size_t waited = simulation_.step_ids().size();
  EXPECT_GT(waited, 1u);
  EXPECT_FALSE(batch.step({}).ok() || simulation_.step_ids().size() != waited + 1);
  simulation_.refuse([] { return grpc::Status::OK; });
  EXPECT_TRUE(batch.step({}).ok());
  simulation_.refuse(away);
  EXPECT_FALSE(batch.step({}).ok() || simulation_.step_ids().size() <= waited + 3);
}

TEST_F(ClientTest, pages_are_joined) {
  const auto models = client().list_models();
  ASSERT_TRUE(models.ok()) << models.status();
  ASSERT_EQ(models->size(), 3u);
  EXPECT_EQ((*models)[2].name(), "models/2");
}

TEST_F(ClientTest, stream_answers_in_order_with_requests_ahead) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  StepStream stream = batch->stream();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(stream.send({.request_id = std::to_string(i)}).ok());
  }
  EXPECT_EQ(stream.pending(), 20);
  for (int i = 0; i < 20; ++i) {
    const auto result = stream.receive();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->message().request_id(), std::to_string(i));
  }
  EXPECT_EQ(stream.receive().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(stream.finish().ok());
}

TEST_F(ClientTest, a_stream_is_opened_again_and_what_was_not_answered_sent_again) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  StepStream stream = batch->stream();
  const std::vector<std::string> ids = {"first", "away", "after", "last"};
  for (const std::string& id : ids) {
    ASSERT_TRUE(stream.send({.request_id = id}).ok());
  }
  for (const std::string& id : ids) {
    const auto result = stream.receive();
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->message().request_id(), id);
  }
  EXPECT_EQ(stream.pending(), 0);
  ASSERT_TRUE(stream.send({}).ok());
  EXPECT_FALSE(stream.receive()->message().request_id().empty());  // made by the client, so that it may be repeated
  EXPECT_TRUE(stream.finish().ok());
}

TEST_F(ClientTest, refused_request_ends_the_stream_after_the_answers_before_it) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  StepStream stream = batch->stream();
  for (const char* id : {"first", "refuse", "after"}) {
    ASSERT_TRUE(stream.send({.request_id = id}).ok());
  }
  EXPECT_TRUE(stream.receive().ok());
  const absl::Status status = stream.receive().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
  EXPECT_EQ(stream.send({}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ClientTest, abandoned_stream_does_not_hang) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  StepStream stream = batch->stream();
  ASSERT_TRUE(stream.send({}).ok());
}

TEST_F(ClientTest, state_is_sent_in_the_shape_of_its_field) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  const std::vector<double> poses(14, 1.0), positions(18, 0.0);
  const std::vector<std::int32_t> worlds{0, 2};
  ASSERT_TRUE(batch->set_state({.body_pose = poses}, worlds).ok());
  EXPECT_EQ(shape_text(simulation_.state().body_pose()), "[2, 1, 7]");
  ASSERT_TRUE(batch->set_state({.joint_position = positions}, worlds).ok());
  EXPECT_EQ(shape_text(simulation_.state().joint_position()), "[2, 9]");
  EXPECT_FALSE(simulation_.state().has_body_pose());
  EXPECT_EQ(batch->set_state({.joint_position = positions}).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ClientTest, snapshots_go_as_they_came) {
  const auto batch = client().create_batch("models/m", 4);
  ASSERT_TRUE(batch.ok());
  const auto state = batch->get_state({"snapshot"});
  ASSERT_TRUE(state.ok());
  const std::vector<std::string> snapshots(state->snapshot().begin(), state->snapshot().end());
  ASSERT_EQ(snapshots.size(), 2u);
  ASSERT_TRUE(batch->set_state({.snapshot = snapshots}, std::vector<std::int32_t>{3, 1}).ok());
  EXPECT_EQ(simulation_.state().snapshot(1), std::string("\0b", 2));
  EXPECT_FALSE(simulation_.state().has_body_pose());
  ASSERT_TRUE(batch->reset({}, "", {.snapshot = std::span(snapshots).first(1)}).ok());
  EXPECT_EQ(simulation_.state().snapshot_size(), 1);
}

TEST_F(ClientTest, absent_server_is_unavailable) {
  const Client absent = client();
  server_->Shutdown();
  EXPECT_EQ(absent.server_info().status().code(), absl::StatusCode::kUnavailable);
}

TEST(HoldControl, takes_the_positions_of_position_actuators_alone) {
  v1::Model model;
  model.set_name("models/m");
  model.add_joints()->set_position_start(0);
  model.add_joints()->set_position_start(7);
  const struct {
    v1::ActuatorKind kind;
    int axis;
    double gear;
  } actuators[] = {
      {v1::ACTUATOR_KIND_POSITION, 0, 1}, {v1::ACTUATOR_KIND_MOTOR, 0, 1}, {v1::ACTUATOR_KIND_POSITION, 1, 2}};
  for (const auto& [kind, axis, gear] : actuators) {
    v1::ActuatorSpec* actuator = model.add_actuators();
    actuator->set_kind(kind);
    actuator->set_joint(1);
    actuator->set_axis(axis);
    actuator->set_gear(gear);
  }
  v1::KeyframeSpec* stand = model.add_keyframes();
  stand->set_name("stand");
  for (const double value : {0., 0., 0., 1., 0., 0., 0., 0.3, 0.4}) {
    stand->add_joint_position(value);
  }
  const auto control = hold_control(model, "stand");
  ASSERT_TRUE(control.ok()) << control.status();
  EXPECT_EQ(*control, (std::vector<double>{0.3, 0.0, 0.8}));
  EXPECT_EQ(hold_control(model, "sit").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace axion::client
