// What a server is told to be, from flags.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/access_config.hpp"
#include "server/schedule/limits.hpp"

namespace axion::server {

struct Config {
  std::string listen = "127.0.0.1:8470";          // host:port; port 0 takes a free one
  std::string metrics_listen = "127.0.0.1:9470";  // host:port; port 0 takes a free one; empty: no metrics page
  std::string advertise_address;                  // host:port; empty: not told
  std::string device = "auto";                    // "auto", "cpu", "cuda:<index>"
  int threads = 0;                                // 0: as process_processors
  absl::Duration max_batch_delay = absl::ZeroDuration();
  absl::Duration drain_timeout = absl::Seconds(30);
  std::int64_t memory_limit = 0;                              // bytes; 0: what the process may have
  std::string state_dir;                                      // empty: nothing is kept
  absl::Duration checkpoint_interval = absl::ZeroDuration();  // 0: at the end alone
  std::string trace_endpoint;                                 // host:port of a collector; empty: no traces
  std::string log_level = "info", log_format = "text";
  schedule::Limits limits;
  AccessConfig access;
};

// INVALID_ARGUMENT names the flag and its value.
absl::Status validate(const Config& config);

// Reads the flags of the command line, after absl::ParseCommandLine.
absl::StatusOr<Config> config_from_flags();

}  // namespace axion::server
