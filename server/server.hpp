// A server, assembled: engine, scheduler, service, health, reflection and metrics.
//
// Serving starts in start() and ends in drain() or the destructor. One thread at a time calls these.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

#include "engine/engine.hpp"

#include "server/access/credentials.hpp"
#include "server/config.hpp"
#include "server/net/acceptor.hpp"
#include "server/net/call_tally.hpp"
#include "server/observe/metrics.hpp"
#include "server/rpc/admission.hpp"
#include "server/rpc/checkpoints.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/rpc/wire_service.hpp"
#include "server/schedule/registry.hpp"
#include "server/schedule/step_batcher.hpp"
#include "server/schedule/ticker.hpp"
#include "server/schedule/worker.hpp"
#include "server/store/store.hpp"

namespace axion::server {

// Version, revision, compiled backends.
observe::BuildInfo build_info();

// Bytes of memory that a server of this configuration may take.
std::int64_t memory_limit_of(const Config& config);
// Threads that step worlds.
int threads_of(const Config& config);

class Server {
 public:
  // UNAVAILABLE if an address cannot be had, INVALID_ARGUMENT if a file of credentials is wrong, FAILED_PRECONDITION
  // if strangers could call from elsewhere, RESOURCE_EXHAUSTED if the limit of open files is too low;
  // FAILED_PRECONDITION, UNAVAILABLE or DATA_LOSS if the state's directory cannot be used. What it has of models and
  // batches is back once this returns. Health is SERVING once this returns. `on_give_up` is called
  // once, on a thread of the server's, when connections cannot be accepted for half a minute or the device has failed:
  // a new process may help, this one does not help itself.
  static absl::StatusOr<std::unique_ptr<Server>> start(const Config& config, std::unique_ptr<Engine> engine,
                                                       std::function<void()> on_give_up = {});
  // As drain without time.
  ~Server();

  // Where it listens, e.g. "127.0.0.1:8470"; with the port that was taken for port 0.
  const std::string& address() const { return address_; }
  // Likewise of the page of metrics; empty without one.
  const std::string& metrics_address() const { return metrics_address_; }
  schedule::StepBatcher& batcher() { return *batcher_; }
  const observe::Metrics& metrics() const { return metrics_; }

  // Health turns NOT_SERVING, nothing new is taken, work in hand is finished within `limit`, streams end. False if the
  // limit passed first; what was left has then been refused with UNAVAILABLE.
  bool drain(absl::Duration limit);
  // After a drain: scenes compile on whose callers have been refused. The destructor would wait for them.
  bool compiles_on() const { return compiles_on_; }

 private:
  Server(const Config& config, std::unique_ptr<Engine> engine, std::unique_ptr<store::Store> store);
  absl::Status check_access(const Config& config);
  absl::Status listen(const Config& config);
  absl::Status listen_for_scrapers(const std::string& address, std::size_t max_visitors);
  void accept_from(net::Listener listener, std::size_t max_connections, const Config& config);
  // Health is what both say.
  void set_accepting(bool accepting) ABSL_LOCKS_EXCLUDED(health_mutex_);
  void take_fault(const std::string& what);
  // Once: a new process may help, this one does not help itself.
  void give_up() ABSL_LOCKS_EXCLUDED(health_mutex_);
  void set_draining() ABSL_LOCKS_EXCLUDED(health_mutex_);
  void report_health() ABSL_EXCLUSIVE_LOCKS_REQUIRED(health_mutex_);

  observe::Metrics metrics_;
  std::unique_ptr<observe::TraceExporter> traces_;    // counts in the metrics; none: no call is traced
  std::unique_ptr<access::Credentials> credentials_;  // reports to the metrics
  std::unique_ptr<rpc::Admission> admission_;
  std::int64_t memory_limit_;                       // bytes of all
  std::shared_ptr<schedule::MemoryBudget> memory_;  // what the transport leaves of them
  std::unique_ptr<store::Store> store_;             // none: nothing is kept
  schedule::Registry registry_;
  std::unique_ptr<rpc::Checkpoints> checkpoints_;  // with a store
  std::unique_ptr<schedule::Worker> preparer_;     // outlives the batcher, whose long work it does
  std::unique_ptr<schedule::StepBatcher> batcher_;
  std::unique_ptr<schedule::Worker> compiler_, disk_;
  std::unique_ptr<rpc::SimulationService> service_;
  std::unique_ptr<rpc::WireService> wire_;
  net::CallTally calls_;                                                      // what the acceptor goes by
  std::shared_ptr<grpc::ServerCredentials> transport_;                        // TLS or none
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> entrance_;  // where gRPC takes accepted connections
  std::unique_ptr<grpc::Server> grpc_;
  std::unique_ptr<schedule::Ticker> checkpoint_ticker_;
  std::unique_ptr<net::Acceptor> acceptor_;
  std::function<void()> on_give_up_;
  std::string address_, metrics_address_;
  bool drained_ = false, compiles_on_ = false;
  absl::Notification no_more_models_;

  absl::Mutex health_mutex_;
  bool accepting_ ABSL_GUARDED_BY(health_mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(health_mutex_) = false;
  bool gave_up_ ABSL_GUARDED_BY(health_mutex_) = false;
};

}  // namespace axion::server
