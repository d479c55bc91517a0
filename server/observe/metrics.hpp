// Every metric of the server, served at /metrics.
//
// Names and labels are a public contract (README.md). No label has unbounded values: never a world, batch or client,
// and so many tenants. Thread safe. Histograms of a launch are binned where the solver ran and added with one call a
// launch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/net/listener.hpp"
#include "server/net/page_server.hpp"
#include "server/observe/traces.hpp"
#include "server/schedule/limits.hpp"
#include "server/schedule/memory_budget.hpp"
#include "server/schedule/observer.hpp"

namespace axion::server::observe {

struct BuildInfo {
  std::string version, revision;
  std::vector<std::string> backends;
};

// Of a pass over all models and batches.
enum class CheckpointOutcome {
  kWhole,
  kLacksBatches,  // some were in the middle of long requests, and are saved when these end
  kFailed,
};

class Metrics final : public schedule::Observer {
 public:
  // `device` is the label, e.g. "cpu".
  Metrics(const BuildInfo& build, const std::string& device);

  // Serves /metrics until destroyed, to `max_visitors` at once.
  void serve(net::Listener listener, std::size_t max_visitors);
  // The page, as it stands.
  std::string page() const;

  void on_launch(const schedule::LaunchReport& report) override;
  void on_queue_wait(absl::Duration wait) override;
  void on_queue_depth(std::int64_t jobs) override;
  void on_resources(const schedule::ResourceCounts& counts) override;
  void on_device_memory(std::int64_t used_bytes, std::int64_t capacity_bytes) override;
  void on_event(const std::string& line) override;

  // Connections of clients that are open, and how many more were turned away.
  void on_connections(std::size_t open, std::size_t turned_away);
  void on_connection_cut() { connections_cut_->Increment(); }

  // Streams of Watch that are open.
  void on_watches(std::size_t open) { watches_->Set(static_cast<double>(open)); }
  // A frame of one was made; how many more had been due since the one before.
  void on_watch_frame(std::int64_t dropped);

  // Says from then on what is held of the budget, and its limit.
  void watch_memory(std::shared_ptr<const schedule::MemoryBudget> memory);
  // A pass over all models and batches has ended: whether all was saved, and what it took.
  void on_checkpoint(CheckpointOutcome outcome, absl::Time now, absl::Duration duration);
  // At the start: batches that came back from checkpoints, and models and batches that could not.
  void on_restore(std::size_t batches, std::size_t failed);

  TraceExporter::Counters trace_counters() { return trace_spans_; }
  // A changed file of credentials, "tls" or "tokens", was loaded or refused.
  void on_credentials_reload(absl::string_view what, bool loaded);
  // The device failed, and nothing on it can be trusted any more.
  void on_device_fault() { device_healthy_->Set(0); }
  // What the server takes at most, beside the gauges of what it has.
  void on_limits(const schedule::Limits& limits, std::size_t connections);
  // When the certificate in use expires.
  void on_certificate_expiry(absl::Time expires);

  // A call has ended. `method` and `code` are from fixed lists; `reason` is empty unless the call was refused. `tenant`
  // has a series of its own if it is among the first kMaxTenants that called, and shares "(other)" else; without tokens
  // the one without a name is "-".
  static constexpr std::size_t kMaxTenants = 100;
  void on_rpc(absl::string_view method, absl::string_view code, absl::string_view reason, absl::Duration duration,
              absl::string_view tenant) ABSL_LOCKS_EXCLUDED(mutex_);
  // Steps of single worlds that a tenant was answered, repeated answers included.
  void on_tenant_steps(absl::string_view tenant, std::int64_t world_steps) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<prometheus::Registry>& registry() const { return registry_; }

 private:
  void make_checkpoint_metrics();
  void make_solver_metrics();
  struct TenantCounters {
    prometheus::Counter *answered, *refused, *world_steps;
  };
  TenantCounters& counters_of(absl::string_view tenant) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::shared_ptr<prometheus::Registry> registry_;
  const std::string device_;

  prometheus::Gauge *device_healthy_, *worlds_limit_, *models_limit_, *queue_limit_, *connections_limit_,
      *watches_limit_;
  prometheus::Gauge *connections_, *worlds_, *batches_, *models_, *queue_depth_, *max_penetration_, *max_overlap_,
      *max_equality_error_, *memory_used_, *memory_capacity_;
  prometheus::Gauge* watches_;
  prometheus::Counter *watch_frames_, *watch_frames_dropped_;
  prometheus::Gauge *budget_used_, *budget_limit_;
  std::shared_ptr<const schedule::MemoryBudget> budget_;
  prometheus::Gauge *checkpoint_time_, *old_checkpoint_time_, *checkpoint_duration_, *restored_, *restore_failures_;
  prometheus::Counter* checkpoint_failures_;
  prometheus::Counter *connections_refused_, *connections_cut_, *log_lines_dropped_, *world_steps_, *contact_overflows_;
  prometheus::Counter *converged_, *max_iterations_, *contact_overflow_, *non_finite_, *fallback_, *eased_, *overlap_;
  prometheus::Histogram *newton_iterations_, *linear_iterations_, *line_search_, *sweep_rounds_, *contact_sweeps_,
      *contacts_;
  std::vector<prometheus::Histogram*> residual_;  // by ResidualBlock
  prometheus::Histogram *launch_worlds_, *launch_duration_, *queue_wait_;

  prometheus::Family<prometheus::Counter>*rejected_, *credentials_reloads_, *tenant_calls_, *tenant_steps_;
  prometheus::Family<prometheus::Histogram>* rpc_duration_;
  absl::Mutex mutex_;
  std::map<std::pair<std::string, std::string>, prometheus::Histogram*> rpcs_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, prometheus::Counter*> rejections_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, TenantCounters, std::less<>> tenants_ ABSL_GUARDED_BY(mutex_);

  TraceExporter::Counters trace_spans_{};
  std::unique_ptr<net::PageServer> page_server_;  // reads all of the above
};

}  // namespace axion::server::observe
