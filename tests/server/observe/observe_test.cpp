// What is told of the server: lines of the log as JSON, counters of tenants, and what the process takes.
#include <map>
#include <string>

#include <unistd.h>

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "server/observe/log_json.hpp"
#include "server/observe/logging.hpp"
#include "server/observe/metrics.hpp"
#include "server/observe/process_metrics.hpp"

namespace axion::server::observe {
namespace {

TEST(LogLine, is_an_object_of_json_with_the_types_of_its_values) {
  EXPECT_EQ(
      json_of("time=2026-01-02T03:04:05.678+0000 level=info event=rpc code=OK duration_ms=1.500 drained=true n=-3\n"),
      R"({"time":"2026-01-02T03:04:05.678+0000","level":"info","event":"rpc","code":"OK","duration_ms":1.5,)"
      R"("drained":true,"n":-3})");
}

TEST(LogLine, says_in_json_what_a_client_sent_and_nothing_else) {
  // Quotes, a line's end, what looks like a key, UTF-8, and a byte that is none.
  const std::string sent = "a \"b\"\nevent=forged level=\\ \xc3\xa9 \xff";
  EXPECT_EQ(json_of(absl::StrCat("event=rpc message=", log_text(sent), " code=OK")),
            "{\"event\":\"rpc\",\"message\":\"a \\\"b\\\"\\nevent=forged level=\\\\ \xc3\xa9 "
            "\xef\xbf\xbd\",\"code\":\"OK\"}");
}

TEST(LogLine, that_is_no_key_and_value_is_kept_as_text) {
  EXPECT_EQ(json_of("level=warn two words"), R"({"level":"warn","text":"two words"})");
  EXPECT_EQ(json_of("key=\"never ends"), R"({"key":"\"never ends"})");
  EXPECT_EQ(json_of("big=1e999 empty= last=nan"), R"({"big":"1e999","empty":"","last":"nan"})");
}

// Values of a family's series by the label `key`, of those whose labels include `with`.
std::map<std::string, double> values_by(const Metrics& metrics, const std::string& family, const std::string& key) {
  std::map<std::string, double> values;
  for (const auto& found : metrics.registry()->Collect()) {
    if (found.name != family) continue;
    for (const auto& metric : found.metric) {
      for (const auto& label : metric.label) {
        if (label.name == key) values[label.value] += metric.counter.value;
      }
    }
  }
  return values;
}

TEST(TenantsCounters, are_each_ones_own_up_to_a_bound_and_shared_beyond_it) {
  Metrics metrics({"1", "2", {"cpu"}}, "cpu");
  metrics.on_rpc("Step", "OK", "", absl::Milliseconds(1), "");
  constexpr int kMore = 50;
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 1; i < Metrics::kMaxTenants + kMore; ++i) {
      metrics.on_rpc("Step", "NOT_FOUND", "NOT_FOUND", absl::Milliseconds(1), absl::StrCat("tenant", i));
      metrics.on_tenant_steps(absl::StrCat("tenant", i), 10);
    }
  }
  const auto calls = values_by(metrics, "axion_tenant_calls_total", "tenant");
  EXPECT_EQ(calls.size(), Metrics::kMaxTenants + 1);
  EXPECT_EQ(calls.at("-"), 1);  // who has no name
  EXPECT_EQ(calls.at("tenant1"), 2);
  EXPECT_EQ(calls.at("(other)"), 2 * kMore);
  const auto outcomes = values_by(metrics, "axion_tenant_calls_total", "outcome");
  EXPECT_EQ(outcomes.at("answered"), 1);
  EXPECT_EQ(outcomes.at("refused"), 2 * (Metrics::kMaxTenants + kMore - 1));
  EXPECT_EQ(values_by(metrics, "axion_tenant_world_steps_total", "tenant").at("(other)"), 20 * kMore);
}

TEST(Process, tells_what_it_takes_by_the_names_that_all_dashboards_ask_for) {
  std::map<std::string, double> values;
  for (const auto& family : process_metrics()) values[family.name] = family.metric.at(0).gauge.value;
  EXPECT_EQ(values.size(), 6U);
  EXPECT_GE(values.at("process_cpu_seconds_total"), 0);
  EXPECT_GT(values.at("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GT(values.at("process_virtual_memory_bytes"), values.at("process_resident_memory_bytes"));
  EXPECT_GE(values.at("process_open_fds"), 3);
  EXPECT_GE(values.at("process_max_fds"), values.at("process_open_fds"));
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  EXPECT_LE(values.at("process_start_time_seconds"), now + 2);  // the machine's start is told in whole seconds
  EXPECT_GT(values.at("process_start_time_seconds"), now - 3600);
  // A file more is one more.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (const auto& family : process_metrics()) {
    if (family.name != "process_open_fds") continue;
    EXPECT_EQ(family.metric.at(0).gauge.value, values.at(family.name) + 2);
  }
  close(ends[0]), close(ends[1]);
}

}  // namespace
}  // namespace axion::server::observe
