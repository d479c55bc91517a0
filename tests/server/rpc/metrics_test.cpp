// The public list of metrics: each is there, of its type and with its labels, and moves after a run.
#include <map>
#include <set>

#include "tests/server/rpc/fixture.hpp"

namespace axion::server::testing {
namespace {

struct Series {
  prometheus::MetricType type;
  std::set<std::string> labels;
  double total = 0;  // of all its metrics: values, or counts
};

class MetricsOfServer : public ServerTest {
 protected:
  std::map<std::string, Series> collect() {
    std::map<std::string, Series> all;
    for (const auto& family : server->metrics().registry()->Collect()) {
      Series series{.type = family.type, .labels = {}};
      for (const auto& metric : family.metric) {
        for (const auto& label : metric.label) series.labels.insert(label.name);
        series.total += metric.gauge.value + metric.counter.value + static_cast<double>(metric.histogram.sample_count);
      }
      all[family.name] = series;
    }
    return all;
  }
};

// These say what is, and it is the same again: the build, an empty queue, no overflow, no store.
const std::set<std::string> kStill{"axion_build_info",
                                   "axion_device_healthy",
                                   "axion_worlds_limit",
                                   "axion_memory_bytes",
                                   "axion_queue_depth",
                                   "axion_contact_overflows_total",
                                   "axion_max_overlap_meters",
                                   "axion_max_equality_error",
                                   "axion_connections_refused_total",
                                   "axion_connections_cut_total",
                                   "axion_log_lines_dropped_total",
                                   "axion_connections",
                                   "axion_checkpoint_time_seconds",
                                   "axion_checkpoint_timestamp_seconds",
                                   "axion_models_limit",
                                   "axion_trace_spans_total",
                                   "axion_queue_depth_limit",
                                   "axion_connections_limit",
                                   "axion_watches_limit",
                                   "axion_checkpoint_duration_seconds",
                                   "axion_restored_batches",
                                   "axion_restore_failures",
                                   "axion_checkpoint_failures_total",
                                   "axion_credentials_reloads_total",
                                   "axion_watches",
                                   "axion_watch_frames_total",
                                   "axion_watch_frames_dropped_total"};

TEST_F(MetricsOfServer, are_all_there_and_move) {
  using prometheus::MetricType;
  start();
  const auto before = collect();
  const std::string batch = create_batch(create_model().name(), 4).name();
  v1::StepRequest request;
  request.set_batch(batch);
  request.set_step_count(150);
  v1::StepResponse response;
  ASSERT_TRUE(step(request, response).ok());
  request.set_step_count(-1);
  EXPECT_FALSE(step(request, response).ok());
  const auto after = collect();
  const std::map<std::string, std::pair<MetricType, std::set<std::string>>> contract{
      {"axion_build_info", {MetricType::Gauge, {"version", "revision", "backends"}}},
      {"axion_connections", {MetricType::Gauge, {}}},
      {"axion_connections_refused_total", {MetricType::Counter, {}}},
      {"axion_connections_cut_total", {MetricType::Counter, {}}},
      {"axion_log_lines_dropped_total", {MetricType::Counter, {}}},
      {"axion_checkpoint_time_seconds", {MetricType::Gauge, {}}},
      {"axion_checkpoint_timestamp_seconds", {MetricType::Gauge, {}}},
      {"axion_models_limit", {MetricType::Gauge, {}}},
      {"axion_trace_spans_total", {MetricType::Counter, {"result"}}},
      {"axion_queue_depth_limit", {MetricType::Gauge, {}}},
      {"axion_connections_limit", {MetricType::Gauge, {}}},
      {"axion_watches_limit", {MetricType::Gauge, {}}},
      {"axion_tenant_calls_total", {MetricType::Counter, {"tenant", "outcome"}}},
      {"axion_tenant_world_steps_total", {MetricType::Counter, {"tenant"}}},
      {"axion_checkpoint_duration_seconds", {MetricType::Gauge, {}}},
      {"axion_restored_batches", {MetricType::Gauge, {}}},
      {"axion_restore_failures", {MetricType::Gauge, {}}},
      {"axion_checkpoint_failures_total", {MetricType::Counter, {}}},
      {"axion_credentials_reloads_total", {MetricType::Counter, {"what", "result"}}},
      {"axion_worlds", {MetricType::Gauge, {"device"}}},
      {"axion_worlds_limit", {MetricType::Gauge, {"device"}}},
      {"axion_device_healthy", {MetricType::Gauge, {"device"}}},
      {"axion_batches", {MetricType::Gauge, {"device"}}},
      {"axion_models", {MetricType::Gauge, {}}},
      {"axion_world_steps_total", {MetricType::Counter, {"device"}}},
      {"axion_step_outcomes_total", {MetricType::Counter, {"outcome"}}},
      {"axion_newton_iterations", {MetricType::Histogram, {}}},
      {"axion_linear_iterations", {MetricType::Histogram, {}}},
      {"axion_line_search_steps", {MetricType::Histogram, {}}},
      {"axion_sweep_rounds", {MetricType::Histogram, {}}},
      {"axion_contact_sweeps", {MetricType::Histogram, {}}},
      {"axion_newton_residual", {MetricType::Histogram, {"block"}}},
      {"axion_contacts", {MetricType::Histogram, {}}},
      {"axion_contact_overflows_total", {MetricType::Counter, {}}},
      {"axion_max_penetration_meters", {MetricType::Gauge, {}}},
      {"axion_max_overlap_meters", {MetricType::Gauge, {}}},
      {"axion_max_equality_error", {MetricType::Gauge, {}}},
      {"axion_launch_worlds", {MetricType::Histogram, {"device"}}},
      {"axion_launch_duration_seconds", {MetricType::Histogram, {"device"}}},
      {"axion_queue_depth", {MetricType::Gauge, {}}},
      {"axion_queue_wait_seconds", {MetricType::Histogram, {}}},
      {"axion_rejected_total", {MetricType::Counter, {"reason"}}},
      {"axion_rpc_duration_seconds", {MetricType::Histogram, {"method", "code"}}},
      {"axion_memory_bytes", {MetricType::Gauge, {"kind"}}},
      {"axion_device_memory_bytes", {MetricType::Gauge, {"device", "kind"}}},
      {"axion_watches", {MetricType::Gauge, {}}},
      {"axion_watch_frames_total", {MetricType::Counter, {}}},
      {"axion_watch_frames_dropped_total", {MetricType::Counter, {}}},
  };
  EXPECT_EQ(after.size(), contract.size());
  for (const auto& [name, expected] : contract) {
    ASSERT_TRUE(after.contains(name)) << name;
    EXPECT_EQ(after.at(name).type, expected.first) << name;
    EXPECT_EQ(after.at(name).labels, expected.second) << name;
    const auto earlier = before.find(name);
    if (!kStill.contains(name)) {
      EXPECT_GT(after.at(name).total, earlier == before.end() ? 0 : earlier->second.total) << name;
    }
  }
  EXPECT_EQ(after.at("axion_world_steps_total").total, 600);
  EXPECT_EQ(after.at("axion_tenant_world_steps_total").total, 600);
  EXPECT_EQ(after.at("axion_newton_iterations").total, 600);
}

}  // namespace
}  // namespace axion::server::testing
