#include "server/access_config.hpp"

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

ABSL_FLAG(
    std::string, tls_cert, "",
    "File of the server's certificate chain, PEM, its own first. Empty: no TLS. Loaded anew when it changes, like all "
    "files of credentials.");
ABSL_FLAG(std::string, tls_key, "", "File of the certificate's private key, PEM, without a passphrase.");
ABSL_FLAG(
    std::string, tls_client_ca, "",
    "File of authorities, PEM: only clients with a certificate of one of them may connect (mutual TLS). Empty: none is "
    "asked for.");
ABSL_FLAG(
    std::string, token_file, "",
    "File of hashed tokens and their tenants (axion token new makes a line); every call but health checks must carry a "
    "token then. Empty: none is asked for.");
ABSL_FLAG(bool, insecure, false,
          "Listen beyond this machine although clients are not authenticated or nothing is encrypted.");
ABSL_FLAG(std::string, reflection, "auto",
          "Whether gRPC's reflection describes the service: on, off or auto, which is off where tokens are asked for.");
ABSL_FLAG(
    std::vector<std::string>, disable_methods, {},
    "Methods and groups of them (info, models, batches, steps, state, snapshots) that are switched off, separated by "
    "commas.");
ABSL_FLAG(
    int, max_concurrent_calls, 256,
    "Most calls and streams of one connection at once; a client keeps further ones back. Others wait for as long as "
    "the server takes for all that are open.");
ABSL_FLAG(double, keepalive_seconds, 60,
          "How long a connection may be silent before the server asks whether it lives.");
ABSL_FLAG(double, keepalive_timeout_seconds, 20,
          "How long the answer to that may take before the connection is closed.");
ABSL_FLAG(double, min_ping_interval_seconds, 10,
          "How often a client may ask likewise; one that goes on asking more often is disconnected.");
ABSL_FLAG(
    double, max_connection_age_seconds, 0,
    "How long a connection may last before its client is asked to open another, so that load spreads and certificates "
    "are looked at again. 0: as long as it likes.");
ABSL_FLAG(double, max_connection_age_grace_seconds, 30, "How long calls under way may take to end after that.");

namespace axion::server {
namespace {

absl::Status wrong(absl::string_view flag, absl::string_view value, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", value, ": ", rule));
}

absl::Status check_seconds(absl::string_view flag, absl::Duration value, double low, double high) {
  const double seconds = absl::ToDoubleSeconds(value);
  if (seconds >= low && seconds <= high) return absl::OkStatus();
  return wrong(flag, absl::StrCat(seconds), absl::StrCat("must be from ", low, " to ", high));
}

}  // namespace

absl::Status validate(const AccessConfig& config) {
  const access::TlsPaths& tls = config.tls;
  absl::Status status;
  if (tls.certificate.empty() && !tls.key.empty())
    status.Update(wrong("tls_key", tls.key, "wants --tls_cert beside it"));
  if (!tls.certificate.empty() && tls.key.empty()) {
    status.Update(wrong("tls_cert", tls.certificate, "wants --tls_key beside it"));
  }
  if (tls.certificate.empty() && !tls.client_ca.empty()) {
    status.Update(wrong("tls_client_ca", tls.client_ca, "wants --tls_cert and --tls_key beside it"));
  }
  if (config.reflection != "auto" && config.reflection != "on" && config.reflection != "off") {
    status.Update(wrong("reflection", config.reflection, "must be on, off or auto"));
  }
  if (config.max_concurrent_calls < 1 || config.max_concurrent_calls > 1'000'000) {
    status.Update(
        wrong("max_concurrent_calls", absl::StrCat(config.max_concurrent_calls), "must be from 1 to 1000000"));
  }
  constexpr double kDay = 86400;  // gRPC counts milliseconds in an int: at most 24 days
  status.Update(check_seconds("keepalive_seconds", config.keepalive, 1, kDay));
  status.Update(check_seconds("keepalive_timeout_seconds", config.keepalive_timeout, 1, kDay));
  status.Update(check_seconds("min_ping_interval_seconds", config.min_ping_interval, 0, kDay));
  if (config.max_connection_age != absl::ZeroDuration()) {
    status.Update(check_seconds("max_connection_age_seconds", config.max_connection_age, 1, 20 * kDay));
  }
  status.Update(check_seconds("max_connection_age_grace_seconds", config.max_connection_age_grace, 0, 20 * kDay));
  return status;
}

absl::Status check_exposure(const AccessConfig& config, const std::string& listen, bool loopback) {
  if (loopback || config.insecure) return absl::OkStatus();
  std::string missing;
  if (config.tls.certificate.empty()) missing = "nothing is encrypted: give --tls_cert and --tls_key";
  if (!config.authenticates()) {
    absl::StrAppend(&missing, missing.empty() ? "" : "; ", "anybody may call: give --token_file or --tls_client_ca");
  }
  if (missing.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("--listen=", listen,
                                                    ": other machines can reach this address, and ", missing,
                                                    "; or say --insecure if its network keeps strangers out"));
}

AccessConfig access_from_flags() {
  AccessConfig config;
  config.tls = {absl::GetFlag(FLAGS_tls_cert), absl::GetFlag(FLAGS_tls_key), absl::GetFlag(FLAGS_tls_client_ca)};
  config.token_file = absl::GetFlag(FLAGS_token_file);
  config.insecure = absl::GetFlag(FLAGS_insecure);
  config.reflection = absl::GetFlag(FLAGS_reflection);
  config.disable_methods = absl::GetFlag(FLAGS_disable_methods);
  config.max_concurrent_calls = absl::GetFlag(FLAGS_max_concurrent_calls);
  config.keepalive = absl::Seconds(absl::GetFlag(FLAGS_keepalive_seconds));
  config.keepalive_timeout = absl::Seconds(absl::GetFlag(FLAGS_keepalive_timeout_seconds));
  config.min_ping_interval = absl::Seconds(absl::GetFlag(FLAGS_min_ping_interval_seconds));
  config.max_connection_age = absl::Seconds(absl::GetFlag(FLAGS_max_connection_age_seconds));
  config.max_connection_age_grace = absl::Seconds(absl::GetFlag(FLAGS_max_connection_age_grace_seconds));
  return config;
}

}  // namespace axion::server
