// The program axiond from outside: SIGTERM in the middle of a stream.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "axion/v1/simulation.grpc.pb.h"

extern char** environ;

namespace axion::end_to_end {
namespace {

constexpr const char* kPendulum = R"(<mujoco><worldbody><body name="rod"><joint name="pivot" type="hinge" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 -1" size="0.05"/></body></worldbody></mujoco>)";

// axiond as a child process, on a port that it chose.
class ServerProcess {
 public:
  explicit ServerProcess(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {AXIOND_PATH, "--listen=127.0.0.1:0", "--metrics_listen=", "--device=cpu"});
    std::vector<char*> arguments;
    for (std::string& flag : flags) arguments.push_back(flag.data());
    arguments.push_back(nullptr);
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    EXPECT_EQ(posix_spawn(&pid_, AXIOND_PATH, &actions, nullptr, arguments.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    log_ = fdopen(ends[0], "r");
    address_ = await("event=serving", "listen=");
  }
  ~ServerProcess() {
    if (!reaped_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    std::fclose(log_);
  }

  const std::string& address() const { return address_; }
  void terminate() const { kill(pid_, SIGTERM); }

  // Reads the log up to a line with `event`; the value after `key` in it.
  std::string await(const std::string& event, const std::string& key) {
    char line[4096];
    while (std::fgets(line, sizeof line, log_) != nullptr) {
      const std::string text(line);
      if (text.find(event) == std::string::npos) continue;
      const std::size_t at = text.find(key) + key.size();
      return text.substr(at, text.find_first_of(" \n", at) - at);
    }
    ADD_FAILURE() << "the server ended without " << event;
    return "";
  }

  // Its exit code; -1 if a signal ended it.
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    reaped_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = 0;
  std::FILE* log_ = nullptr;
  std::string address_;
  bool reaped_ = false;
};

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
  ServerProcess server({"--drain_timeout_seconds=" + std::to_string(drain_seconds)});
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
  std::chrono::steady_clock::time_point killed;
  std::int64_t answers = 0;
  while (stream->Read(&response)) {
    ++answers;
    // In order and without a gap: each answer is the next one, whole.
    ASSERT_EQ(response.step_index(0), answers * steps_per_request);
    if (answers == 1) {
      killed = std::chrono::steady_clock::now();
      server.terminate();
    }
  }
  writer.join();
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_GE(answers, 1);
  EXPECT_EQ(server.wait(), 0);
  // The limit, a second to deliver what is finished, and room for a loaded machine.
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(drain_seconds + 10));
}

TEST(Drain, sigterm_during_a_stream_answers_what_is_pending_and_exits_zero) { terminate_during_stream(30, 10); }

TEST(Drain, sigterm_with_more_work_than_the_limit_allows_ends_it_unavailable_and_exits_zero) {
  // The first request is quick so that there is an answer; those behind it would take minutes.
  ServerProcess server({"--drain_timeout_seconds=1"});
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
  const auto killed = std::chrono::steady_clock::now();
  server.terminate();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(server.await("event=stopped", "drained="), "false");
  EXPECT_EQ(server.wait(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(11));
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
