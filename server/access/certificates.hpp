// Certificate, key and authority of clients, from files of PEM, checked before anybody uses them.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace axion::server::access {

struct TlsPaths {
  std::string certificate;  // chain, the server's own first; empty: no TLS
  std::string key;
  std::string client_ca;  // authorities of clients' certificates; empty: none is asked for
};

struct Certificates {
  std::string chain, key, client_ca;  // PEM
  absl::Time expires;                 // when the first of the chain and of the authorities in use does
};

// Reads and checks: readable, PEM, a key without a passphrase, that of the certificate, valid at `now`.
// INVALID_ARGUMENT names the flag and the path, "--tls_key=/x/key.pem: ...".
absl::StatusOr<Certificates> load_certificates(const TlsPaths& paths, absl::Time now);

}  // namespace axion::server::access
