// The program axiond from outside: SIGTERM in the middle of a stream.
#include <sys/wait.h>

#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "axion/v1/simulation.grpc.pb.h"
#include "tests/support/server_process.hpp"

namespace axion::end_to_end {
namespace {

constexpr const char* kPendulum = R"(<mujoco><worldbody><body name="rod"><joint name="pivot" type="hinge" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05"/></body></worldbody></mujoco>)";

std::string make_batch(v1::Simulation::Stub& stub, int worlds) {
  grpc::ClientContext model_context, batch_context;
  v1::CreateModelRequest model_request;
  model_request.set_mjcf(kPendulum);
  v1::Model model;
  EXPECT_TRUE(stub.CreateModel(&model_context, model_request, &model).ok());
  v1::CreateBatchRequest batch_request;
  batch_request.set_model(model.name());
  batch_request.set_world_count(worlds);
  v1::Batch batch;
  EXPECT_TRUE(stub.CreateBatch(&batch_context, batch_request, &batch).ok());
  return batch.name();
}

// Sends steps until the stream ends, kills the server after the first answer, and looks at how everything ends.
void terminate_during_stream(int drain_seconds, int steps_per_request) {
  testing::ServerProcess server(AXIOND_PATH, {"--drain_timeout_seconds=" + std::to_string(drain_seconds)});
  const auto stub = v1::Simulation::NewStub(grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  const std::string batch = make_batch(*stub, 16);
  grpc::ClientContext context;
  const auto stream = stub->StepStream(&context);
  std::thread writer([&] {
    v1::StepRequest request;
    request.set_batch(batch);
    request.set_step_count(steps_per_request);
    for (int i = 0; stream->Write(request); ++i) request.set_request_id(std::to_string(i + 1));
  });
  v1::StepResponse response;
  std::int64_t answers = 0;
  while (stream->Read(&response)) {
    ++answers;
    // In order and without a gap: each answer is the next one, whole.
    ASSERT_EQ(response.step_index(0), answers * steps_per_request);
    if (answers == 1) server.terminate();
  }
  writer.join();
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_GE(answers, 1);
  EXPECT_EQ(server.await("event=stopped", "drained="), "true");
  EXPECT_EQ(server.wait(), 0);
}

TEST(Drain, sigterm_during_a_stream_answers_what_is_pending_and_exits_zero) { terminate_during_stream(30, 10); }

// Returns once a request has made some of its steps: a frame between two of its launches shows them.
void wait_until_under_way(v1::Simulation::Stub& stub, const std::string& batch) {
  grpc::ClientContext context;
  v1::WatchRequest request;
  request.set_batch(batch);
  request.add_fields("time");
  request.set_rate(1000);
  const auto watch = stub.Watch(&context, request);
  v1::WatchResponse frame;
  do {
    ASSERT_TRUE(watch->Read(&frame));
  } while (frame.state().step_index(0) < 2);
  context.TryCancel();
  watch->Finish();
}

// ABORTED, not UNAVAILABLE: a client that makes an unavailable call again would make the steps twice that were begun.
TEST(Drain, sigterm_with_more_work_than_the_limit_allows_aborts_what_has_begun_and_exits_zero) {
  // The first request is quick so that there is an answer; those behind it would take minutes.
  testing::ServerProcess server(AXIOND_PATH, {"--drain_timeout_seconds=1"});
  const auto stub = v1::Simulation::NewStub(grpc::CreateChannel(server.address(), grpc::InsecureChannelCredentials()));
  const std::string batch = make_batch(*stub, 256);
  grpc::ClientContext context;
  const auto stream = stub->StepStream(&context);
  v1::StepRequest request;
  request.set_batch(batch);
  ASSERT_TRUE(stream->Write(request));
  request.set_step_count(1'000'000);
  ASSERT_TRUE(stream->Write(request));
  v1::StepResponse response;
  ASSERT_TRUE(stream->Read(&response));
  wait_until_under_way(*stub, batch);
  server.terminate();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(server.await("event=stopped", "drained="), "false");
  EXPECT_EQ(server.wait(), 0);  // where the limit did not hold, in minutes
}

TEST(Flags, a_wrong_flag_is_named_and_ends_with_failure) {
  const std::string command = std::string(AXIOND_PATH) + " --max_worlds=0 2>&1";
  std::FILE* output = popen(command.c_str(), "r");
  char line[256] = "";
  EXPECT_NE(std::fgets(line, sizeof line, output), nullptr);
  EXPECT_EQ(std::string(line), "axiond: --max_worlds=0: must be from 1 to 2147483647\n");
  EXPECT_EQ(WEXITSTATUS(pclose(output)), 1);
}

}  // namespace
}  // namespace axion::end_to_end
