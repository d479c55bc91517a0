#include "server/observe/metrics.hpp"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "prometheus/text_serializer.h"
#include "spdlog/spdlog.h"

#include "server/observe/logging.hpp"
#include "server/observe/process_metrics.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::observe {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using Labels = prometheus::Labels;
using Bounds = Histogram::BucketBoundaries;

Gauge& gauge(prometheus::Registry& registry, const char* name, const char* help, const Labels& labels = {}) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

Counter& counter(prometheus::Registry& registry, const char* name, const char* help, const Labels& labels = {}) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
}

Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help, const Bounds& bounds,
                     const Labels& labels = {}) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(labels, bounds);
}

template <std::size_t Count>
Bounds bounds_of(const std::array<double, Count>& bounds) {
  return Bounds(bounds.begin(), bounds.end());
}

template <std::size_t Count>
void observe(Histogram& histogram, const BinnedCounts<Count>& binned) {
  histogram.ObserveMultiple(std::vector<double>(binned.counts.begin(), binned.counts.end()), binned.sum);
}

// From tens of microseconds (a held pose of a few worlds) to a minute (a long roll-out).
Bounds duration_bounds() { return {1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1, 3, 10, 30, 60}; }

Bounds world_bounds() { return {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 65536}; }

// Every reason that a refusal can have, so that each series exists from the start.
constexpr std::array kReasons{
    schedule::reason::kInvalidField,  schedule::reason::kMalformed,      schedule::reason::kNotFound,
    schedule::reason::kQueueFull,     schedule::reason::kLimitReached,   schedule::reason::kStepMismatch,
    schedule::reason::kInUse,         schedule::reason::kDraining,       schedule::reason::kCancelled,
    schedule::reason::kDeadline,      schedule::reason::kPrecondition,   schedule::reason::kUnsupported,
    schedule::reason::kTokenMissing,  schedule::reason::kTokenMalformed, schedule::reason::kTokenUnknown,
    schedule::reason::kDisabled,      schedule::reason::kGivenUp,        schedule::reason::kAnswerForgotten,
    schedule::reason::kRolledBack,    schedule::reason::kNoStore,        schedule::reason::kDiskFull,
    schedule::reason::kAssetsMissing, schedule::reason::kDamaged,        schedule::reason::kDeviceFault,
    schedule::reason::kInternal};

}  // namespace

Metrics::Metrics(const BuildInfo& build, const std::string& device)
    : registry_(std::make_shared<prometheus::Registry>()), device_(device) {
  prometheus::Registry& r = *registry_;
  gauge(r, "axion_build_info", "Build of the server; always 1.",
        {{"version", build.version}, {"revision", build.revision}, {"backends", absl::StrJoin(build.backends, ",")}})
      .Set(1);
  connections_ = &gauge(r, "axion_connections", "Connections of clients.");
  connections_refused_ =
      &counter(r, "axion_connections_refused_total", "Connections closed at once, at max_connections.");
  connections_cut_ = &counter(r, "axion_connections_cut_total",
                              "Connections cut, for memory that no request asked for or calls taken back at once.");
  log_lines_dropped_ = &counter(r, "axion_log_lines_dropped_total", "Lines of the log that could not be written.");
  worlds_ = &gauge(r, "axion_worlds", "Worlds resident on the device.", {{"device", device}});
  worlds_limit_ =
      &gauge(r, "axion_worlds_limit", "Most worlds that the server takes (--max_worlds).", {{"device", device}});
  device_healthy_ =
      &gauge(r, "axion_device_healthy", "1; 0 once the device has failed and the server ends.", {{"device", device}});
  device_healthy_->Set(1);
  batches_ = &gauge(r, "axion_batches", "Batches resident on the device.", {{"device", device}});
  models_ = &gauge(r, "axion_models", "Compiled models.");
  models_limit_ = &gauge(r, "axion_models_limit", "Most models that the server takes (--max_models).");
  queue_limit_ = &gauge(r, "axion_queue_depth_limit", "Most requests that the server admits (--max_queue).");
  connections_limit_ = &gauge(r, "axion_connections_limit", "Most connections that the server takes.");
  watches_limit_ = &gauge(r, "axion_watches_limit", "Most streams of Watch of a tenant (--max_watches).");
  auto& memory = prometheus::BuildGauge()
                     .Name("axion_device_memory_bytes")
                     .Help("Device memory: used by batches, and the capacity for them.")
                     .Register(r);
  auto& budget =
      prometheus::BuildGauge()
          .Name("axion_memory_bytes")
          .Help("The machine's memory that requests, answers, models and batches hold, and the limit for it.")
          .Register(r);
  budget_used_ = &budget.Add({{"kind", "used"}});
  budget_limit_ = &budget.Add({{"kind", "limit"}});
  memory_used_ = &memory.Add({{"device", device}, {"kind", "used"}});
  memory_capacity_ = &memory.Add({{"device", device}, {"kind", "capacity"}});

  launch_worlds_ = &histogram(r, "axion_launch_worlds", "Worlds in a launch.", world_bounds(), {{"device", device}});
  launch_duration_ = &histogram(r, "axion_launch_duration_seconds", "Time of a launch, from inputs to results.",
                                duration_bounds(), {{"device", device}});
  queue_depth_ = &gauge(r, "axion_queue_depth", "Requests admitted and not finished.");
  queue_wait_ = &histogram(r, "axion_queue_wait_seconds", "Time from admission of a request to its first launch.",
                           duration_bounds());
  credentials_reloads_ = &prometheus::BuildCounter()
                              .Name("axion_credentials_reloads_total")
                              .Help("Changed files of certificates (tls) and tokens, by what came of them.")
                              .Register(r);
  for (const char* what : {"tls", "tokens"}) {
    for (const char* result : {"loaded", "refused"}) credentials_reloads_->Add({{"what", what}, {"result", result}});
  }
  rejected_ = &prometheus::BuildCounter().Name("axion_rejected_total").Help("Calls refused, by reason.").Register(r);
  for (const absl::string_view reason : kReasons) {
    const std::string label = absl::AsciiStrToLower(reason);
    rejections_[label] = &rejected_->Add({{"reason", label}});
  }
  watches_ = &gauge(r, "axion_watches", "Streams of Watch that are open.");
  watch_frames_ = &counter(r, "axion_watch_frames_total", "Frames of worlds made for streams of Watch.");
  watch_frames_dropped_ = &counter(r, "axion_watch_frames_dropped_total",
                                   "Frames that were due and not made, as their client had not taken the one before.");
  rpc_duration_ = &prometheus::BuildHistogram()
                       .Name("axion_rpc_duration_seconds")
                       .Help("Time of a call in the server; of a StepStream, of each of its answers.")
                       .Register(r);
  tenant_calls_ = &prometheus::BuildCounter()
                       .Name("axion_tenant_calls_total")
                       .Help("Calls that ended, by tenant and whether they were answered or refused.")
                       .Register(r);
  tenant_steps_ = &prometheus::BuildCounter()
                       .Name("axion_tenant_world_steps_total")
                       .Help("Steps of single worlds that a tenant was answered, repeated answers included.")
                       .Register(r);
  auto& spans = prometheus::BuildCounter()
                    .Name("axion_trace_spans_total")
                    .Help("Spans of calls that were traced: taken by the collector, or dropped.")
                    .Register(r);
  trace_spans_ = {.exported = &spans.Add({{"result", "exported"}}), .dropped = &spans.Add({{"result", "dropped"}})};
  make_checkpoint_metrics();
  make_solver_metrics();
}

void Metrics::make_checkpoint_metrics() {
  prometheus::Registry& r = *registry_;
  checkpoint_time_ = &gauge(r, "axion_checkpoint_timestamp_seconds",
                            "When all models and batches were last saved, in seconds since 1970; 0: never.");
  old_checkpoint_time_ =
      &gauge(r, "axion_checkpoint_time_seconds", "The old name of axion_checkpoint_timestamp_seconds.");
  checkpoint_duration_ = &gauge(r, "axion_checkpoint_duration_seconds", "How long the latest checkpoint took.");
  checkpoint_failures_ = &counter(r, "axion_checkpoint_failures_total", "Checkpoints that could not be saved whole.");
  restored_ = &gauge(r, "axion_restored_batches", "Batches that came back from checkpoints when the server started.");
  restore_failures_ =
      &gauge(r, "axion_restore_failures", "Models and batches that could not come back, and stay in the store.");
}

void Metrics::on_checkpoint(CheckpointOutcome outcome, absl::Time now, absl::Duration duration) {
  checkpoint_duration_->Set(absl::ToDoubleSeconds(duration));
  if (outcome == CheckpointOutcome::kWhole) {
    checkpoint_time_->Set(absl::ToDoubleSeconds(now - absl::UnixEpoch()));
    old_checkpoint_time_->Set(checkpoint_time_->Value());
  } else if (outcome == CheckpointOutcome::kFailed) {
    checkpoint_failures_->Increment();
  }
}

void Metrics::on_restore(std::size_t batches, std::size_t failed) {
  restored_->Set(static_cast<double>(batches));
  restore_failures_->Set(static_cast<double>(failed));
}

void Metrics::make_solver_metrics() {
  prometheus::Registry& r = *registry_;
  world_steps_ = &counter(r, "axion_world_steps_total", "Steps of single worlds.", {{"device", device_}});
  auto& outcomes = prometheus::BuildCounter()
                       .Name("axion_step_outcomes_total")
                       .Help("World-steps by outcome; one may count in several.")
                       .Register(r);
  converged_ = &outcomes.Add({{"outcome", "converged"}});
  max_iterations_ = &outcomes.Add({{"outcome", "max_iterations"}});
  contact_overflow_ = &outcomes.Add({{"outcome", "contact_overflow"}});
  non_finite_ = &outcomes.Add({{"outcome", "non_finite"}});
  fallback_ = &outcomes.Add({{"outcome", "fallback"}});
  eased_ = &outcomes.Add({{"outcome", "eased"}});
  overlap_ = &outcomes.Add({{"outcome", "overlap"}});
  newton_iterations_ = &histogram(r, "axion_newton_iterations", "Linearisations with a Newton step of a world-step.",
                                  bounds_of(kNewtonIterationBounds));
  linear_iterations_ = &histogram(r, "axion_linear_iterations", "Iterations of the linear solver of a world-step.",
                                  bounds_of(kLinearIterationBounds));
  line_search_ =
      &histogram(r, "axion_line_search_steps", "Line-search steps of a world-step.", bounds_of(kLineSearchBounds));
  sweep_rounds_ = &histogram(r, "axion_sweep_rounds", "Rounds of sweeps over the contacts of a world-step.",
                             bounds_of(kSweepRoundBounds));
  contact_sweeps_ = &histogram(r, "axion_contact_sweeps", "Sweeps over the contacts of a world-step, of all rounds.",
                               bounds_of(kContactSweepBounds));
  auto& residual = prometheus::BuildHistogram()
                       .Name("axion_newton_residual")
                       .Help("Residual at the end of a world-step in multiples of the tolerance, by block.")
                       .Register(r);
  for (const char* block : {"dynamics", "joint", "contact", "friction", "control"}) {
    residual_.push_back(&residual.Add({{"block", block}}, bounds_of(kResidualBounds)));
  }
  contacts_ = &histogram(r, "axion_contacts", "Contacts of a world-step.", bounds_of(kContactBounds));
  contact_overflows_ = &counter(r, "axion_contact_overflows_total", "World-steps that dropped contacts.");
  max_penetration_ = &gauge(r, "axion_max_penetration_meters", "Greatest penetration in the latest launch.");
  max_overlap_ =
      &gauge(r, "axion_max_overlap_meters", "Greatest penetration of steps that ended OVERLAP in the latest launch.");
  max_equality_error_ = &gauge(r, "axion_max_equality_error",
                               "Greatest error (m or rad) of an equality that was eased in the latest launch.");
}

void Metrics::serve(net::Listener listener, std::size_t max_visitors) {
  const net::PageOptions options{
      .path = "/metrics", .content_type = "text/plain; version=0.0.4; charset=utf-8", .max_visitors = max_visitors};
  page_server_ = std::make_unique<net::PageServer>(std::move(listener), options, [this] { return page(); });
}

std::string Metrics::page() const {
  const double missing = static_cast<double>(dropped_log_lines()) - log_lines_dropped_->Value();
  if (budget_ != nullptr) budget_used_->Set(static_cast<double>(budget_->used()));
  if (missing > 0) log_lines_dropped_->Increment(missing);
  std::vector<prometheus::MetricFamily> families = registry_->Collect();
  for (prometheus::MetricFamily& family : process_metrics()) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

void Metrics::watch_memory(std::shared_ptr<const schedule::MemoryBudget> memory) {
  budget_ = std::move(memory);
  budget_limit_->Set(static_cast<double>(budget_->limit()));
}

void Metrics::on_limits(const schedule::Limits& limits, std::size_t connections) {
  worlds_limit_->Set(static_cast<double>(limits.max_worlds));
  models_limit_->Set(static_cast<double>(limits.max_models));
  queue_limit_->Set(static_cast<double>(limits.max_queue));
  watches_limit_->Set(static_cast<double>(limits.max_watches));
  connections_limit_->Set(static_cast<double>(connections));
}

void Metrics::on_connections(std::size_t open, std::size_t turned_away) {
  connections_->Set(static_cast<double>(open));
  connections_refused_->Increment(static_cast<double>(turned_away));
}

void Metrics::on_watch_frame(std::int64_t dropped) {
  watch_frames_->Increment();
  if (dropped > 0) watch_frames_dropped_->Increment(static_cast<double>(dropped));
}

void Metrics::on_launch(const schedule::LaunchReport& report) {
  const StepStatistics& s = report.statistics;
  launch_worlds_->Observe(static_cast<double>(report.worlds));
  launch_duration_->Observe(absl::ToDoubleSeconds(report.duration));
  world_steps_->Increment(static_cast<double>(s.world_steps));
  converged_->Increment(static_cast<double>(s.converged));
  max_iterations_->Increment(static_cast<double>(s.max_iterations));
  contact_overflow_->Increment(static_cast<double>(s.contact_overflow));
  non_finite_->Increment(static_cast<double>(s.non_finite));
  fallback_->Increment(static_cast<double>(s.fallback));
  eased_->Increment(static_cast<double>(s.eased));
  overlap_->Increment(static_cast<double>(s.overlap));
  contact_overflows_->Increment(static_cast<double>(s.contact_overflow));
  observe(*newton_iterations_, s.newton_iterations);
  observe(*linear_iterations_, s.linear_iterations);
  observe(*line_search_, s.line_search_steps);
  observe(*sweep_rounds_, s.sweep_rounds);
  observe(*contact_sweeps_, s.contact_sweeps);
  for (std::size_t block = 0; block < residual_.size(); ++block) observe(*residual_[block], s.residual[block]);
  observe(*contacts_, s.contacts);
  max_penetration_->Set(s.max_penetration);
  max_overlap_->Set(s.max_overlap);
  max_equality_error_->Set(s.max_equality_error);
}

void Metrics::on_queue_wait(absl::Duration wait) { queue_wait_->Observe(absl::ToDoubleSeconds(wait)); }

void Metrics::on_queue_depth(std::int64_t jobs) { queue_depth_->Set(static_cast<double>(jobs)); }

void Metrics::on_resources(const schedule::ResourceCounts& counts) {
  worlds_->Set(static_cast<double>(counts.worlds));
  batches_->Set(static_cast<double>(counts.batches));
  models_->Set(static_cast<double>(counts.models));
}

void Metrics::on_device_memory(std::int64_t used_bytes, std::int64_t capacity_bytes) {
  memory_used_->Set(static_cast<double>(used_bytes));
  memory_capacity_->Set(static_cast<double>(capacity_bytes));
}

void Metrics::on_event(const std::string& line) { spdlog::info("{}", line); }

void Metrics::on_rpc(absl::string_view method, absl::string_view code, absl::string_view reason,
                     absl::Duration duration, absl::string_view tenant) {
  const std::pair<std::string, std::string> key{std::string(method), std::string(code)};
  absl::MutexLock lock(&mutex_);
  prometheus::Histogram*& histogram = rpcs_[key];
  if (histogram == nullptr) {
    histogram = &rpc_duration_->Add({{"method", key.first}, {"code", key.second}}, duration_bounds());
  }
  histogram->Observe(absl::ToDoubleSeconds(duration));
  const TenantCounters& of_tenant = counters_of(tenant);
  (reason.empty() ? of_tenant.answered : of_tenant.refused)->Increment();
  if (reason.empty()) return;
  const auto it = rejections_.find(absl::AsciiStrToLower(reason));
  if (it != rejections_.end()) it->second->Increment();
}

void Metrics::on_tenant_steps(absl::string_view tenant, std::int64_t world_steps) {
  absl::MutexLock lock(&mutex_);
  counters_of(tenant).world_steps->Increment(static_cast<double>(world_steps));
}

Metrics::TenantCounters& Metrics::counters_of(absl::string_view tenant) {
  if (tenant.empty()) tenant = "-";
  if (const auto known = tenants_.find(tenant); known != tenants_.end()) return known->second;
  // No name of a tenant ends so.
  if (tenants_.size() >= kMaxTenants && tenant != "(other)") return counters_of("(other)");
  const std::string name(tenant);
  const TenantCounters made{.answered = &tenant_calls_->Add({{"tenant", name}, {"outcome", "answered"}}),
                            .refused = &tenant_calls_->Add({{"tenant", name}, {"outcome", "refused"}}),
                            .world_steps = &tenant_steps_->Add({{"tenant", name}})};
  return tenants_.emplace(name, made).first->second;
}

void Metrics::on_credentials_reload(absl::string_view what, bool loaded) {
  credentials_reloads_->Add({{"what", std::string(what)}, {"result", loaded ? "loaded" : "refused"}}).Increment();
}

void Metrics::on_certificate_expiry(absl::Time expires) {
  const double seconds = absl::ToDoubleSeconds(expires - absl::UnixEpoch());
  gauge(*registry_, "axion_certificate_expiry_timestamp_seconds",
        "When the server's certificate, or the authority of its clients, expires, in seconds since 1970.")
      .Set(seconds);
  gauge(*registry_, "axion_certificate_expiry_seconds", "The old name of axion_certificate_expiry_timestamp_seconds.")
      .Set(seconds);
}

}  // namespace axion::server::observe
