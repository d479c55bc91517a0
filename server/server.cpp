#include "server/server.hpp"

#include <cstddef>
#include <exception>
#include <random>
#include <utility>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include "absl/strings/str_cat.h"

namespace axion::server {
namespace {

constexpr const char* kServiceName = "axion.v1.Simulation";
// How long finished answers may take to reach their clients once all work is done.
constexpr absl::Duration kFlushTime = absl::Seconds(1);
// Bytes of a call that may be under way unread, and of one frame. With gRPC's own 64 KiB and 16 KiB the two ends of an answer
// of megabytes wake each other dozens of times before it is through.
constexpr int kStreamWindowBytes = 16 << 20;
constexpr int kFrameBytes = 1 << 20;
// Scenes that may wait for the compiler.
constexpr std::size_t kCompileQueue = 64;

std::uint64_t random_key() {
  std::random_device source;
  return (static_cast<std::uint64_t>(source()) << 32) | source();
}

schedule::StepBatcherOptions batcher_options(const Config& config) {
  schedule::StepBatcherOptions options;
  options.max_queue = static_cast<std::size_t>(config.limits.max_queue);
  options.max_batch_delay = config.max_batch_delay;
  return options;
}

}  // namespace

observe::BuildInfo build_info() { return {AXION_VERSION, AXION_REVISION, compiled_backends()}; }

Server::Server(const Config& config, std::unique_ptr<Engine> engine)
    : metrics_(build_info(), engine->device().id), registry_(config.limits, metrics_, random_key()) {
  batcher_ = std::make_unique<schedule::StepBatcher>(std::move(engine), registry_, metrics_, batcher_options(config));
  compiler_ = std::make_unique<schedule::Worker>(kCompileQueue);
  service_ = std::make_unique<rpc::SimulationService>(
      rpc::ServiceParts{registry_, *batcher_, *compiler_, metrics_, config.limits, build_info()});
}

absl::StatusOr<std::unique_ptr<Server>> Server::start(const Config& config, std::unique_ptr<Engine> engine) {
  std::unique_ptr<Server> server(new Server(config, std::move(engine)));
  if (absl::Status status = server->listen(config); !status.ok()) return status;
  return server;
}

absl::Status Server::listen(const Config& config) {
  if (!config.metrics_listen.empty()) {
    try {
      metrics_.serve(config.metrics_listen);
    } catch (const std::exception& failure) {
      return absl::UnavailableError(
          absl::StrCat("--metrics_listen=", config.metrics_listen, ": cannot listen: ", failure.what()));
    }
  }
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(config.listen, grpc::InsecureServerCredentials(), &port);
  // Two servers on one port would share its clients; an address in use is an error instead.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kStreamWindowBytes);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kFrameBytes);
  builder.SetMaxReceiveMessageSize(static_cast<int>(config.limits.max_message_bytes));
  builder.SetMaxSendMessageSize(static_cast<int>(config.limits.max_message_bytes));
  builder.RegisterService(service_.get());
  grpc_ = builder.BuildAndStart();
  if (grpc_ == nullptr || port == 0) {
    return absl::UnavailableError(absl::StrCat("--listen=", config.listen, ": cannot listen there"));
  }
  address_ = absl::StrCat(config.listen.substr(0, config.listen.rfind(':')), ":", port);
  grpc_->GetHealthCheckService()->SetServingStatus(kServiceName, true);
  grpc_->GetHealthCheckService()->SetServingStatus(true);
  return absl::OkStatus();
}

bool Server::drain(absl::Duration limit) {
  if (drained_) return true;
  drained_ = true;
  batcher_->close();  // before the health says so: whoever reads NOT_SERVING is refused work
  if (grpc_ != nullptr) grpc_->GetHealthCheckService()->SetServingStatus(false);
  service_->begin_drain();
  // Scenes in hand are few and quick; from here on neither models nor work are taken.
  compiler_->drain();
  const bool in_time = batcher_->drain(limit);
  if (grpc_ != nullptr) {
    grpc_->Shutdown(absl::ToChronoTime(absl::Now() + kFlushTime));
    grpc_->Wait();
  }
  return in_time;
}

Server::~Server() { drain(absl::ZeroDuration()); }

}  // namespace axion::server
