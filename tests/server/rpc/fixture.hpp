// What tests of the service share: a whole server in this process on a port of its own, with the real engine.
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "axion/v1/simulation.grpc.pb.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

#include "server/server.hpp"

namespace axion::server::testing {

// A box on a leg above a floor: eight coordinates, one motor, one keyframe.
inline constexpr const char* kHopper = R"(<mujoco model="hopper">
  <option timestep="0.004"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1"/>
    <body name="trunk" pos="0 0 0.36">
      <freejoint/>
      <geom name="box" type="box" size=".2 .1 .05" mass="2"/>
      <body name="leg" pos="0.15 0 0">
        <joint name="hip" type="hinge" axis="0 1 0" range="-60 60" limited="true" damping="0.1"/>
        <geom name="shank" type="capsule" fromto="0 0 -0.05 0 0 -0.3" size="0.03" mass="0.3"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="hip" joint="hip" gear="10" ctrlrange="-1 1" ctrllimited="true"/></actuator>
  <keyframe><key name="up" qpos="0 0 1 1 0 0 0 0.2"/></keyframe>
</mujoco>)";

// The real engine with a hook before each launch, on the device's thread.
class HookedEngine final : public Engine {
 public:
  std::shared_ptr<std::atomic<bool>> failed;  // set: every launch fails as if the device did
  HookedEngine(std::unique_ptr<Engine> engine, std::function<void()> hook)
      : engine_(std::move(engine)), hook_(std::move(hook)) {}
  DeviceInfo device() const override { return engine_->device(); }
  Result<std::unique_ptr<Batch>> create_batch(const BatchSpec& spec) override { return engine_->create_batch(spec); }
  Result<StepStatistics> step(std::span<const StepRequest> requests) override {
    if (hook_) hook_();
    if (failed != nullptr && *failed) return Error{ErrorCode::kInternal, "", "The device fell off its bus."};
    return engine_->step(requests);
  }

 private:
  std::unique_ptr<Engine> engine_;
  std::function<void()> hook_;
};

// Holds the device's thread in the first launch.
struct LaunchGate {
  absl::Notification held, open;
  std::atomic<bool> first{true};
  std::function<void()> hook() {
    return [this] {
      if (!first.exchange(false)) return;
      held.Notify();
      open.WaitForNotification();
    };
  }
};

// The fields that a BadRequest in the details names.
inline std::vector<std::string> bad_fields(const grpc::Status& status) {
  std::vector<std::string> fields;
  google::rpc::Status wire;
  wire.ParseFromString(status.error_details());
  for (const auto& detail : wire.details()) {
    google::rpc::BadRequest bad;
    if (!detail.UnpackTo(&bad)) continue;
    for (const auto& violation : bad.field_violations()) fields.push_back(violation.field());
  }
  return fields;
}

// The first detail of that type, or an empty one.
template <typename Detail>
Detail detail_of(const grpc::Status& status) {
  google::rpc::Status wire;
  wire.ParseFromString(status.error_details());
  Detail found;
  for (const auto& detail : wire.details()) {
    if (detail.UnpackTo(&found)) break;
  }
  return found;
}

template <typename Real>
void fill(v1::Tensor& tensor, const std::vector<std::int64_t>& shape, const std::vector<Real>& values) {
  tensor.set_dtype(sizeof(Real) == 4 ? v1::DTYPE_FLOAT32 : v1::DTYPE_FLOAT64);
  tensor.mutable_shape()->Assign(shape.begin(), shape.end());
  tensor.set_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Real)));
}

template <typename Real>
std::vector<Real> values_of(const v1::Tensor& tensor) {
  std::vector<Real> values(tensor.data().size() / sizeof(Real));
  if (!values.empty()) std::memcpy(values.data(), tensor.data().data(), tensor.data().size());
  return values;
}

class ServerTest : public ::testing::Test {
 protected:
  void start(Config config = {}, std::function<void()> hook = {}, std::int64_t memory_limit = 0) {
    config.listen = "127.0.0.1:0";
    config.metrics_listen = "";
    auto engine = create_engine({.device = "cpu", .threads = 2, .memory_limit_bytes = memory_limit});
    ASSERT_TRUE(engine.ok());
    auto hooked = std::make_unique<HookedEngine>(std::move(engine).value(), std::move(hook));
    hooked->failed = device_failed;
    auto started = Server::start(config, std::move(hooked), [this] { ++times_given_up; });
    ASSERT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
    stub = connect();
  }

  const std::shared_ptr<std::atomic<bool>> device_failed = std::make_shared<std::atomic<bool>>(false);
  std::atomic<int> times_given_up{0};

  std::shared_ptr<grpc::Channel> channel() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    return grpc::CreateCustomChannel(server->address(), grpc::InsecureChannelCredentials(), arguments);
  }
  std::unique_ptr<v1::Simulation::Stub> connect() { return v1::Simulation::NewStub(channel()); }

  v1::Model create_model(const std::string& mjcf = kHopper) {
    grpc::ClientContext context;
    v1::CreateModelRequest request;
    request.set_mjcf(mjcf);
    v1::Model model;
    const grpc::Status status = stub->CreateModel(&context, request, &model);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return model;
  }
  v1::Batch create_batch(const std::string& model, int worlds,
                         const std::function<void(v1::CreateBatchRequest&)>& change = {}) {
    grpc::ClientContext context;
    v1::CreateBatchRequest request;
    request.set_model(model);
    request.set_world_count(worlds);
    if (change) change(request);
    v1::Batch batch;
    const grpc::Status status = stub->CreateBatch(&context, request, &batch);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return batch;
  }
  grpc::Status step(const v1::StepRequest& request, v1::StepResponse& response) {
    grpc::ClientContext context;
    return stub->Step(&context, request, &response);
  }
  // Every field of every world, as bytes.
  std::string state_of(const std::string& batch) {
    grpc::ClientContext context;
    v1::GetStateRequest request;
    request.set_batch(batch);
    v1::GetStateResponse response;
    EXPECT_TRUE(stub->GetState(&context, request, &response).ok());
    std::string bytes;
    for (const char* field : {"body_pose", "body_velocity", "joint_position", "joint_velocity", "joint_impulse",
                              "control", "contact_count", "outcome", "time", "step_index"}) {
      EXPECT_TRUE(response.fields().contains(field)) << field;
      bytes += response.fields().at(field).data();
    }
    return bytes;
  }

  // A unary call of any service with a message as bytes.
  grpc::Status raw_call(const std::string& method, const std::string& request, std::string& response) {
    grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> generic(channel());
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    const grpc::Slice slice(request);
    const grpc::ByteBuffer out(&slice, 1);
    auto call = generic.PrepareUnaryCall(&context, method, out, &queue);
    call->StartCall();
    grpc::ByteBuffer in;
    grpc::Status status;
    call->Finish(&in, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    std::vector<grpc::Slice> slices;
    if (status.ok() && in.Dump(&slices).ok()) {
      for (const auto& part : slices) response.append(reinterpret_cast<const char*>(part.begin()), part.size());
    }
    return status;
  }
  // grpc.health.v1: 1 is SERVING, 2 is NOT_SERVING.
  int health(const std::string& service = "") {
    std::string request;
    if (!service.empty()) request = std::string("\x0a") + static_cast<char>(service.size()) + service;
    std::string response;
    if (!raw_call("/grpc.health.v1.Health/Check", request, response).ok() || response.size() != 2) return -1;
    return response[1];
  }

  std::unique_ptr<Server> server;
  std::unique_ptr<v1::Simulation::Stub> stub;
};

}  // namespace axion::server::testing
