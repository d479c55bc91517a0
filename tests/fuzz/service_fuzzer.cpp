// The service in this process, called with a fuzzer's bytes as messages: parsing, conversion of requests, the registry,
// the scheduler, the engine. An input is a list of calls: | method, 1 | length, 2 | bytes |. In the bytes the names
// "models/0000000000000000" and "batches/0000000000000000" become those of a model and a batch that are there.
//
// * A Watch stays open, and is read, while the calls after it are made; at the end of the input it is cancelled.
// * The bytes of a StepStream are | length, 2 | message | for each of its requests. At the end of the input it has to
//   end by itself; one whose last message is cut short is cancelled.
// * One number beyond the methods is a RestoreSnapshot of what is sound but for changes and sealed again, so that the
//   readers behind the checksums are reached: | kind, 1 | rest |, see changed_snapshot().
//
// A batch that no input can name is stepped once in a while and must go on as if nothing had happened.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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

#include "engine/base/hash.hpp"

#include "server/rpc/batch_snapshot.hpp"
#include "server/rpc/library_logs.hpp"
#include "server/server.hpp"
#include "server/store/store.hpp"

#include "tests/fuzz/edits.hpp"

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

grpc::ByteBuffer buffer_of(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return {&slice, 1};
}

// | length, 2 |, little-endian; taken off the front.
std::size_t take_length(std::string_view& bytes) {
  const std::size_t length = static_cast<std::uint8_t>(bytes[0]) + 256U * static_cast<std::uint8_t>(bytes[1]);
  bytes.remove_prefix(2);
  return length;
}

// A call that sends its requests, and reads answers until the server ends it or it is cancelled.
class Stream : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  Stream(grpc::GenericStub& stub, const std::string& method, std::vector<grpc::ByteBuffer> requests, bool cancels)
      : requests_(std::move(requests)), cancels_(cancels) {
    stub.PrepareBidiStreamingCall(&context_, method, {}, this);
    write();
    StartRead(&response_);
    StartCall();
  }
  ~Stream() override {
    if (cancels_) context_.TryCancel();
    done_.WaitForNotification();
    check(status_);
  }

 private:
  void write() {
    if (written_ == requests_.size()) return StartWritesDone();
    StartWrite(&requests_[written_++]);
  }
  void OnWriteDone(bool ok) override {
    if (ok) write();
  }
  void OnReadDone(bool ok) override {
    if (ok) StartRead(&response_);
  }
  void OnDone(const grpc::Status& status) override {
    status_ = status;
    done_.Notify();
  }

  grpc::ClientContext context_;
  std::vector<grpc::ByteBuffer> requests_;
  std::size_t written_ = 0;
  grpc::ByteBuffer response_;
  const bool cancels_;
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
    for (const char* streaming : {"StepStream", "UploadAssets"}) {
      methods_.push_back(service->FindMethodByName(streaming));
    }
    witness_ = make_batch();
    saved_ = save();
  }

  void call(std::uint8_t method, std::string bytes) {
    if (batch_.empty()) batch_ = make_batch();
    if (method % (methods_.size() + 1) == methods_.size()) return restore(bytes);
    const auto& called = *methods_[method % (methods_.size() + 1)];
    const std::string& name = called.name();
    const std::string path = absl::StrCat("/axion.v1.Simulation/", name);
    if (called.client_streaming()) return step_stream(path, bytes);
    const grpc::ByteBuffer request = buffer_of(named(std::move(bytes)));
    if (called.server_streaming()) {
      streams_.push_back(std::make_unique<Stream>(*generic_, path, std::vector{request}, true));
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
  std::string named(std::string bytes) const {
    absl::StrReplaceAll({{"models/0000000000000000", model_}, {"batches/0000000000000000", batch_}}, &bytes);
    return bytes;
  }

  void step_stream(const std::string& path, std::string_view rest) {
    std::vector<grpc::ByteBuffer> requests;
    bool cut_short = false;
    while (rest.size() >= 2 && !cut_short) {
      const std::size_t length = take_length(rest);
      cut_short = length > rest.size();
      requests.push_back(buffer_of(named(std::string(rest.substr(0, length)))));
      rest.remove_prefix(std::min(length, rest.size()));
    }
    streams_.push_back(std::make_unique<Stream>(*generic_, path, std::move(requests), cut_short));
  }

  // Of a batch of two worlds that has made a few steps: its description, and its worlds.
  std::vector<std::string> save() {
    grpc::ClientContext first, second;
    v1::StepRequest step;
    step.set_batch(make_batch());
    step.set_request_id("remembered");
    step.set_step_count(3);
    v1::StepResponse stepped;
    if (!stub_->Step(&first, step, &stepped).ok()) std::abort();
    v1::SaveSnapshotRequest request;
    request.set_batch(step.batch());
    request.set_return_content(true);
    request.set_skip_store(true);
    v1::Snapshot snapshot;
    if (!stub_->SaveSnapshot(&second, request, &snapshot).ok()) std::abort();
    auto parts = server::rpc::parts_of_content(snapshot.content());
    if (!parts.ok()) std::abort();
    return *std::move(parts);
  }

  // By its kind the rest is edits of the description (0), a description (1), edits of the first world, sealed as the
  // engine seals it (2), a world as it is (3), or edits of all, lengths and number of parts included (4 and above).
  std::string changed_snapshot(std::string_view input) const {
    constexpr std::size_t kWorldSeal = 9, kSeal = 32;  // what ends a world, and the whole
    const int kind = static_cast<std::uint8_t>(input.front());
    input.remove_prefix(1);
    std::vector<std::string> parts = saved_;
    if (kind == 0) parts.front() = fuzz::edited(parts.front(), input);
    if (kind == 1) parts.front() = named(std::string(input));
    if (kind == 2 || kind == 3) {
      v1::StoredWorlds worlds;
      if (!worlds.ParseFromString(parts.at(1))) std::abort();
      std::string& world = *worlds.mutable_worlds(0);
      if (kind == 2) {
        const char last = world.back();
        world = fuzz::edited(world.substr(0, world.size() - kWorldSeal), input);
        Hash hash;
        hash.add(std::as_bytes(std::span(world)));
        const std::uint64_t sum = hash.value();
        world.append(reinterpret_cast<const char*>(&sum), sizeof sum);
        world.push_back(last);
      } else {
        world = std::string(input);
      }
      parts.at(1) = worlds.SerializeAsString();
    }
    std::string content = server::rpc::to_content(parts);
    if (kind <= 3) return content;
    content = fuzz::edited(content.substr(0, content.size() - kSeal), input);
    return content + server::store::checksum(content);
  }

  // What is taken steps on, whatever becomes of it.
  void restore(std::string_view input) {
    if (input.empty()) return;
    grpc::ClientContext first, second, third;
    v1::RestoreSnapshotRequest request;
    request.set_content(changed_snapshot(input));
    v1::Batch batch;
    const grpc::Status status = stub_->RestoreSnapshot(&first, request, &batch);
    check(status);
    if (!status.ok()) return;
    v1::StepRequest step;
    step.set_batch(batch.name());
    step.set_step_count(2);
    v1::StepResponse stepped;
    check(stub_->Step(&second, step, &stepped));
    v1::SaveSnapshotRequest again;
    again.set_batch(batch.name());
    again.set_return_content(true);
    again.set_skip_store(true);
    v1::Snapshot snapshot;
    check(stub_->SaveSnapshot(&third, again, &snapshot));
    remove(batch.name());
  }

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
  std::vector<std::string> saved_;  // parts of a sound snapshot
  std::string model_, batch_, witness_;
  std::int64_t inputs_ = 0, steps_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static auto* const target = new Target;  // as long as the process: threads of gRPC's end with it
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (std::size_t calls = 0; calls < kMaxCalls && rest.size() >= 3; ++calls) {
    const auto method = static_cast<std::uint8_t>(rest[0]);
    rest.remove_prefix(1);
    const std::size_t length = take_length(rest);
    target->call(method, std::string(rest.substr(0, length)));
    rest.remove_prefix(std::min(length, rest.size()));
  }
  target->clean();
  return 0;
}
