// What the server shows of itself and asks of its clients: certificates and tokens, loaded anew when their files
// change.
//
// A thread looks at the files every second and loads what has changed once it has stayed the same for one look, so that
// a certificate and its key may be written one after the other. What is wrong with a new version is reported and the
// one in use stays: a typing error locks no client out, and takes no token back either.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "server/access/certificates.hpp"
#include "server/access/token_table.hpp"
#include "server/access/watched_file.hpp"
#include "server/schedule/stop_signal.hpp"

namespace axion::server::access {

struct CredentialOptions {
  TlsPaths tls;
  std::string token_file;  // empty: no token is asked for
  absl::Duration interval = absl::Seconds(1);
};

// That a changed file was loaded, or why not.
struct Reload {
  const char* what = "";  // "tls" or "tokens"
  absl::Status status;
  absl::Time expires = absl::InfiniteFuture();  // of certificates
};

class Credentials {
 public:
  // INVALID_ARGUMENT names the flag of the file. `report` is called on the thread that looks at the files.
  static absl::StatusOr<std::unique_ptr<Credentials>> open(const CredentialOptions& options,
                                                           std::function<void(const Reload&)> report);
  ~Credentials();
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;

  bool has_tls() const { return !options_.tls.certificate.empty(); }
  bool asks_for_certificates() const { return !options_.tls.client_ca.empty(); }
  bool asks_for_tokens() const { return !options_.token_file.empty(); }
  // None without TLS. Another object whenever something has changed.
  std::shared_ptr<const Certificates> certificates() const ABSL_LOCKS_EXCLUDED(mutex_);
  // None without tokens. Another object whenever something has changed.
  std::shared_ptr<const TokenTable> tokens() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // The versions of one group of files that are loaded together.
  struct Watch {
    std::vector<std::string> paths;
    std::vector<FileStamp> tried, seen;
  };

  Credentials(const CredentialOptions& options, std::function<void(const Reload&)> report);
  absl::Status load_certificates_anew() ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status load_tokens_anew() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the files differ from the versions tried last, and have not changed since the last look.
  static bool is_due(Watch& watch);
  void look();

  const CredentialOptions options_;
  const std::function<void(const Reload&)> report_;
  Watch tls_watch_, token_watch_;  // of the thread, once it runs

  mutable absl::Mutex mutex_;
  std::shared_ptr<const Certificates> certificates_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const TokenTable> tokens_ ABSL_GUARDED_BY(mutex_);

  schedule::StopSignal stop_;
  std::thread thread_;
};

}  // namespace axion::server::access
