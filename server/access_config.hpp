// Flags of who may come in, how connections are kept, and what is switched off.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "server/access/certificates.hpp"

namespace axion::server {

struct AccessConfig {
  access::TlsPaths tls;
  std::string token_file;
  bool insecure = false;  // strangers may be let in from other machines
  std::string reflection = "auto";
  std::vector<std::string> disable_methods;
  int max_concurrent_calls = 256;  // of one connection
  absl::Duration keepalive = absl::Seconds(60), keepalive_timeout = absl::Seconds(20);
  absl::Duration min_ping_interval = absl::Seconds(10);
  absl::Duration max_connection_age = absl::ZeroDuration(), max_connection_age_grace = absl::Seconds(30);  // 0: none

  bool authenticates() const { return !token_file.empty() || !tls.client_ca.empty(); }
};

// INVALID_ARGUMENT names the flag and its value. Files are looked at when the server starts.
absl::Status validate(const AccessConfig& config);

// Whether a server may listen where machines other than this one reach it. FAILED_PRECONDITION says what is missing.
absl::Status check_exposure(const AccessConfig& config, const std::string& listen, bool loopback);

AccessConfig access_from_flags();

}  // namespace axion::server
