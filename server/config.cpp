#include "server/config.hpp"

#include <cstddef>

#include "absl/flags/flag.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "server/schedule/byte_size.hpp"

ABSL_FLAG(std::string, listen, "127.0.0.1:8470", "host:port of the gRPC service. Port 0 takes a free one.");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:9470",
          "host:port of the Prometheus page /metrics. Port 0 takes a free one. Empty: no page.");
ABSL_FLAG(std::string, device, "auto",
          "Where worlds are stepped: auto, cpu or cuda:<index>. auto takes a GPU where one is usable.");
ABSL_FLAG(int, threads, 0,
          "CPU threads that step worlds. 0: as many as it may run on, or as the control group's quota of processors, "
          "rounded up, where that is less.");
ABSL_FLAG(int, max_batch_delay_us, 0,
          "How long a launch waits for steps of batches that have none waiting yet, in microseconds. 0: not at all; "
          "what comes in during a launch still shares the next one.");
ABSL_FLAG(std::int64_t, max_message_bytes, 64 << 20, "Largest message in either direction, in bytes.");
ABSL_FLAG(std::int64_t, max_worlds, 65536, "Most worlds, of all batches together.");
ABSL_FLAG(std::int64_t, max_queue, 4096, "Most requests that are admitted and not finished.");
ABSL_FLAG(std::int64_t, max_models, 1024, "Most models held.");
ABSL_FLAG(std::int64_t, max_connections, 0,
          "Most connections of clients. 0: three quarters of what the limit of open files allows, at most 16384.");
ABSL_FLAG(std::int64_t, max_streams, 4096,
          "Most StepStreams that a tenant may have open; without tokens all have together.");
ABSL_FLAG(std::int64_t, max_watches, 64,
          "Most streams of Watch, viewers of batches, that a tenant may have open; without tokens all have together.");
ABSL_FLAG(std::string, advertise_address, "",
          "host:port at which clients reach this very server, told with each batch: for clients that find servers "
          "behind a name that stands for several. Empty: not told.");
ABSL_FLAG(double, drain_timeout_seconds, 30, "How long a drain (SIGTERM, SIGINT) may take to finish work in hand.");
ABSL_FLAG(absl::Duration, model_ttl, absl::Hours(24),
          "How long a model stays that no batch uses and no call names. inf: until it is deleted.");
ABSL_FLAG(
    absl::Duration, asset_idle_timeout, absl::Seconds(60),
    "How long an upload or a download of assets may stand still because its client sends or takes nothing. inf: as "
    "long as it likes.");
ABSL_FLAG(
    std::string, memory_limit, "0",
    "Memory of the machine that the server may take, for models, batches, requests, answers and the transport, for "
    "example 8GiB, 512MiB or bytes. 0: what the control group, the address space or the machine allows.");
ABSL_FLAG(
    std::string, state_dir, "",
    "Directory of snapshots and checkpoints, for one server at a time; made where it is absent. What it has of models "
    "and batches comes back at the start, and a drain saves all. Empty: nothing outlives the server.");
ABSL_FLAG(
    absl::Duration, checkpoint_interval, absl::ZeroDuration(),
    "How often all models and batches are saved in --state_dir while the server serves, for example 60s. 0: when it "
    "drains alone.");
ABSL_FLAG(std::string, log_level, "info", "trace, debug, info, warning, error or off.");
ABSL_FLAG(
    std::string, trace_endpoint, "",
    "host:port of a collector of OpenTelemetry (OTLP over gRPC, without TLS) that is told the spans of calls whose "
    "clients sample them by the header traceparent. Empty: none.");
ABSL_FLAG(std::string, log_format, "text", "text: a line of key=value an event. json: an object of JSON a line.");

namespace axion::server {
namespace {

absl::Status wrong(absl::string_view flag, absl::string_view value, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": ", rule));
}

absl::Status check_address(absl::string_view flag, const std::string& address) {
  const std::size_t colon = address.rfind(':');
  int port = -1;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return wrong(flag, address, "must be host:port with a port from 0 to 65535");
  }
  return absl::OkStatus();
}

absl::Status check_range(absl::string_view flag, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return wrong(flag, absl::StrCat(value), absl::StrCat("must be from ", low, " to ", high));
}

absl::Status check_device(const std::string& device) {
  int index = 0;
  constexpr absl::string_view kCuda = "cuda:";
  const bool cuda = device.compare(0, kCuda.size(), kCuda.data(), kCuda.size()) == 0 &&
                    absl::SimpleAtoi(device.substr(kCuda.size()), &index) && index >= 0;
  if (device == "auto" || device == "cpu" || cuda) return absl::OkStatus();
  return wrong("device", device, "must be auto, cpu or cuda:<index>");
}

}  // namespace

absl::Status validate(const Config& config) {
  constexpr std::int64_t kLeastMemory = 128 << 20;
  constexpr std::int64_t kMaxInt = 2'147'483'647;
  absl::Status status = check_address("listen", config.listen);
  if (!config.metrics_listen.empty()) status.Update(check_address("metrics_listen", config.metrics_listen));
  if (!config.advertise_address.empty()) {
    status.Update(check_address("advertise_address", config.advertise_address));
  }
  if (!config.trace_endpoint.empty()) status.Update(check_address("trace_endpoint", config.trace_endpoint));
  status.Update(check_device(config.device));
  status.Update(check_range("threads", config.threads, 0, 1024));
  status.Update(check_range("max_batch_delay_us", absl::ToInt64Microseconds(config.max_batch_delay), 0, 1'000'000));
  // gRPC keeps message limits in an int.
  status.Update(check_range("max_message_bytes", config.limits.max_message_bytes, 4096, kMaxInt));
  status.Update(check_range("max_worlds", config.limits.max_worlds, 1, kMaxInt));
  status.Update(check_range("max_queue", config.limits.max_queue, 1, 1'000'000));
  status.Update(check_range("max_models", config.limits.max_models, 1, 1'000'000));
  status.Update(check_range("max_connections", config.limits.max_connections, 0, 1'000'000));
  status.Update(check_range("max_streams", config.limits.max_streams, 1, 1'000'000));
  status.Update(check_range("max_watches", config.limits.max_watches, 0, 1'000'000));
  if (config.limits.model_ttl < absl::Seconds(1)) {
    status.Update(wrong("model_ttl", absl::FormatDuration(config.limits.model_ttl), "must be at least 1s, or inf"));
  }
  if (config.limits.asset_idle_timeout < absl::Seconds(1)) {
    status.Update(wrong("asset_idle_timeout", absl::FormatDuration(config.limits.asset_idle_timeout),
                        "must be at least 1s, or inf"));
  }
  if (config.memory_limit != 0) {
    status.Update(check_range("memory_limit", config.memory_limit, kLeastMemory + 2 * config.limits.max_message_bytes,
                              std::int64_t{1} << 50));
  }
  status.Update(validate(config.access));
  if (const absl::Duration interval = config.checkpoint_interval; interval != absl::ZeroDuration()) {
    const std::string value = absl::FormatDuration(interval);
    if (interval < absl::Milliseconds(100) || interval > absl::Hours(24)) {
      status.Update(wrong("checkpoint_interval", value, "must be 0, or from 100ms to 24h"));
    }
    if (config.state_dir.empty()) status.Update(wrong("checkpoint_interval", value, "wants --state_dir beside it"));
  }
  const double drain = absl::ToDoubleSeconds(config.drain_timeout);
  if (!(drain >= 0 && drain <= 86400)) {
    status.Update(wrong("drain_timeout_seconds", absl::StrCat(drain), "must be from 0 to 86400"));
  }
  return status;
}

absl::StatusOr<Config> config_from_flags() {
  Config config;
  config.listen = absl::GetFlag(FLAGS_listen);
  config.metrics_listen = absl::GetFlag(FLAGS_metrics_listen);
  config.advertise_address = absl::GetFlag(FLAGS_advertise_address);
  config.device = absl::GetFlag(FLAGS_device);
  config.threads = absl::GetFlag(FLAGS_threads);
  config.max_batch_delay = absl::Microseconds(absl::GetFlag(FLAGS_max_batch_delay_us));
  config.limits.max_message_bytes = absl::GetFlag(FLAGS_max_message_bytes);
  config.limits.max_worlds = absl::GetFlag(FLAGS_max_worlds);
  config.limits.model_ttl = absl::GetFlag(FLAGS_model_ttl);
  config.limits.asset_idle_timeout = absl::GetFlag(FLAGS_asset_idle_timeout);
  config.limits.max_queue = absl::GetFlag(FLAGS_max_queue);
  config.limits.max_models = absl::GetFlag(FLAGS_max_models);
  config.limits.max_connections = absl::GetFlag(FLAGS_max_connections);
  config.limits.max_streams = absl::GetFlag(FLAGS_max_streams);
  config.limits.max_watches = absl::GetFlag(FLAGS_max_watches);
  config.drain_timeout = absl::Seconds(absl::GetFlag(FLAGS_drain_timeout_seconds));
  const auto memory_limit = schedule::bytes_of(absl::GetFlag(FLAGS_memory_limit));
  if (!memory_limit) {
    return wrong("memory_limit", absl::GetFlag(FLAGS_memory_limit),
                 "must be a size, as 8GiB, 512MiB or a number of bytes");
  }
  config.memory_limit = *memory_limit;
  config.state_dir = absl::GetFlag(FLAGS_state_dir);
  config.checkpoint_interval = absl::GetFlag(FLAGS_checkpoint_interval);
  config.access = access_from_flags();
  config.trace_endpoint = absl::GetFlag(FLAGS_trace_endpoint);
  config.log_level = absl::GetFlag(FLAGS_log_level);
  config.log_format = absl::GetFlag(FLAGS_log_format);
  if (absl::Status status = validate(config); !status.ok()) return status;
  return config;
}

}  // namespace axion::server
