// A server, assembled: engine, scheduler, service, health, reflection and metrics.
//
// Serving starts in start() and ends in drain() or the destructor. One thread at a time calls these.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/server.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "engine/engine.hpp"

#include "server/config.hpp"
#include "server/observe/metrics.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/schedule/registry.hpp"
#include "server/schedule/step_batcher.hpp"
#include "server/schedule/worker.hpp"

namespace axion::server {

// Version, revision, compiled backends.
observe::BuildInfo build_info();

class Server {
 public:
  // UNAVAILABLE if an address cannot be had. Health is SERVING once this returns.
  static absl::StatusOr<std::unique_ptr<Server>> start(const Config& config, std::unique_ptr<Engine> engine);
  // As drain without time.
  ~Server();

  // Where it listens, e.g. "127.0.0.1:8470"; with the port that was taken for port 0.
  const std::string& address() const { return address_; }
  schedule::StepBatcher& batcher() { return *batcher_; }
  const observe::Metrics& metrics() const { return metrics_; }

  // Health turns NOT_SERVING, nothing new is taken, work in hand is finished within `limit`, streams end. False if the
  // limit passed first; what was left has then been refused with UNAVAILABLE.
  bool drain(absl::Duration limit);

 private:
  Server(const Config& config, std::unique_ptr<Engine> engine);
  absl::Status listen(const Config& config);

  observe::Metrics metrics_;
  schedule::Registry registry_;
  std::unique_ptr<schedule::StepBatcher> batcher_;
  std::unique_ptr<schedule::Worker> compiler_;
  std::unique_ptr<rpc::SimulationService> service_;
  std::unique_ptr<grpc::Server> grpc_;
  std::string address_;
  bool drained_ = false;
};

}  // namespace axion::server
