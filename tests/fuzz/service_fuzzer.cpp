// The service in this process, called with a fuzzer's bytes as messages: parsing, conversion of requests, the registry,
// the scheduler, the engine. An input is a list of calls: | method, 1 | length, 2 | bytes |. In the bytes the names
// "models/0000000000000000" and "batches/0000000000000000" become those of a model and a batch that are there. A stream
// of answers stays open, and is read, while the calls after it are made; at the end of the input it is cancelled.
//
// A batch that no input can name is stepped once in a while and must go on as if nothing had happened.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/synchronization/notification.h"
#include "axion/v1/simulation.grpc.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/empty.pb.h"
#include "spdlog/spdlog.h"

#include "server/rpc/library_logs.hpp"
#include "server/server.hpp"

namespace {

using namespace axion;  // NOLINT(google-build-using-namespace)

constexpr const char* kScene =
    R"(<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body name="b" pos="0 0 1"><freejoint/><geom size=".1"/>
<body pos=".2 0 0"><joint name="j" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".05"/></body></body>
</worldbody><actuator><motor joint="j"/></actuator>
<keyframe><key name="k" qpos="0 0 1 1 0 0 0 0"/></keyframe></mujoco>)";
constexpr std::size_t kMaxCalls = 8;

// What no input may bring about.
void check(const grpc::Status& status) {
  const auto code = status.error_code();
  if (code == grpc::UNKNOWN || code == grpc::INTERNAL || code == grpc::UNAVAILABLE) std::abort();
  if (!status.ok() && status.error_message().empty()) std::abort();
}

// A call whose answers go on until it is cancelled, or the server ends it.
class Stream : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(grpc::GenericStub& stub, const std::string& method, const grpc::ByteBuffer& request) : request_(request) {
    stub.PrepareBidiStreamingCall(&context_, method, {}, this);
    StartWriteLast(&request_, {});
    StartRead(&response_);
    StartCall();
  }
  ~Stream() override {
    context_.TryCancel();
    done_.WaitForNotification();
    check(status_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (ok) StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    done_.Notify();
  }

  grpc::ClientContext context_;
  grpc::ByteBuffer request_, response_;
  grpc::Status status_;
  absl::Notification done_;
};

class Target {
 public:
  Target() {
    spdlog::set_level(spdlog::level::off);
    server::rpc::take_library_logs();
    server::Config config;
    config.listen = "127.0.0.1:0";
    config.metrics_listen = "";
    config.limits.max_worlds = 64;
    config.limits.max_message_bytes = 1 << 16;
    config.memory_limit = std::int64_t{1} << 30;
    auto engine = create_engine({.device = "cpu", .threads = 1, .memory_limit_bytes = 0}, nullptr);
    auto started = server::Server::start(config, std::move(engine).value());
    if (!started.ok()) std::abort();
    server_ = *std::move(started);
    channel_ = grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials());
    generic_ = std::make_unique<grpc::GenericStub>(channel_);
    stub_ = v1::Simulation::NewStub(channel_);
    const auto* service = v1::StepRequest::descriptor()->file()->FindServiceByName("Simulation");
    for (const bool streams : {false, true}) {  // streams last: inputs name methods by their place
      for (int i = 0; i < service->method_count(); ++i) {
        const auto* method = service->method(i);
        if (!method->client_streaming() && method->server_streaming() == streams) methods_.push_back(method);
      }
    }
    witness_ = make_batch();
  }

  void call(std::uint8_t method, std::string bytes) {
    if (batch_.empty()) batch_ = make_batch();
    absl::StrReplaceAll({{"models/0000000000000000", model_}, {"batches/0000000000000000", batch_}}, &bytes);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    const auto& called = *methods_[method % methods_.size()];
    const std::string& name = called.name();
    const std::string path = absl::StrCat("/axion.v1.Simulation/", name);
    if (called.server_streaming()) {
      streams_.push_back(std::make_unique<Stream>(*generic_, path, request));
      return;
    }
    grpc::ByteBuffer response;
    grpc::ClientContext context;
    grpc::Status status;
    absl::Notification done;
    generic_->UnaryCall(&context, path, {}, &request, &response, [&](grpc::Status outcome) {
      status = std::move(outcome);
      done.Notify();
    });
    done.WaitForNotification();
    check(status);
    if (name == "DeleteBatch" && status.ok()) batch_.clear();
  }

  // Streams end with their input. Once in a while the other batches go: their worlds count.
  void clean() {
    streams_.clear();
    if (++inputs_ % 64 != 0) return;
    grpc::ClientContext listing;
    v1::ListBatchesResponse batches;
    if (!stub_->ListBatches(&listing, {}, &batches).ok()) std::abort();
    for (const v1::Batch& batch : batches.batches()) {
      if (batch.name() != witness_) remove(batch.name());
    }
    batch_.clear();
    grpc::ClientContext context;
    v1::StepRequest request;
    request.set_batch(witness_);
    request.set_expected_step(steps_++);
    v1::StepResponse response;
    if (!stub_->Step(&context, request, &response).ok()) std::abort();
  }

 private:
  std::string make_batch() {
    grpc::ClientContext first, second;
    v1::CreateModelRequest scene;
    scene.set_mjcf(kScene);
    v1::Model model;
    if (!stub_->CreateModel(&first, scene, &model).ok()) std::abort();
    model_ = model.name();
    v1::CreateBatchRequest request;
    request.set_model(model_);
    request.set_world_count(2);
    v1::Batch batch;
    if (!stub_->CreateBatch(&second, request, &batch).ok()) return witness_;  // an input has taken all worlds
    return batch.name();
  }
  void remove(const std::string& name) {
    grpc::ClientContext context;
    v1::DeleteBatchRequest request;
    request.set_name(name);
    google::protobuf::Empty response;
    stub_->DeleteBatch(&context, request, &response);
  }

  std::unique_ptr<server::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<grpc::GenericStub> generic_;
  std::unique_ptr<v1::Simulation::Stub> stub_;
  std::vector<const google::protobuf::MethodDescriptor*> methods_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::string model_, batch_, witness_;
  std::int64_t inputs_ = 0, steps_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* const target = new Target;  // as long as the process: threads of gRPC's end with it
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (std::size_t calls = 0; calls < kMaxCalls && rest.size() >= 3; ++calls) {
    const auto method = static_cast<std::uint8_t>(rest[0]);
    const std::size_t length = static_cast<std::uint8_t>(rest[1]) + 256U * static_cast<std::uint8_t>(rest[2]);
    rest.remove_prefix(3);
    target->call(method, std::string(rest.substr(0, length)));
    rest.remove_prefix(std::min(length, rest.size()));
  }
  target->clean();
  return 0;
}
