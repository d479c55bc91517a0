#include "server/access/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "server/access/watched_file.hpp"

namespace axion::server::access {
namespace {

constexpr std::size_t kMaxBytes = 4 << 20;  // a bundle of all public authorities has a quarter of a megabyte

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;

absl::Status wrong(absl::string_view flag, const std::string& path, absl::string_view rule) {
  ERR_clear_error();
  return absl::InvalidArgumentError(absl::StrCat("--", flag, "=", path, ": ", rule));
}

absl::StatusOr<std::string> read(absl::string_view flag, const std::string& path) {
  auto text = read_small_file(path, kMaxBytes);
  if (!text.ok()) return wrong(flag, path, text.status().message());
  return text;
}

Bio memory(const std::string& text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// All certificates of a file. None if one of them cannot be read.
std::vector<Certificate> certificates_of(const std::string& text) {
  std::vector<Certificate> all;
  const Bio bio = memory(text);
  while (X509* one = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) all.emplace_back(one);
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) all.clear();
  return all;
}

absl::Time time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

std::string shown(absl::Time time) { return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", time, absl::UTCTimeZone()); }

absl::Status check_dates(absl::string_view flag, const std::string& path, const X509* certificate, absl::Time now) {
  const absl::Time from = time_of(X509_get0_notBefore(certificate)), until = time_of(X509_get0_notAfter(certificate));
  if (until <= now) return wrong(flag, path, absl::StrCat("the certificate has expired, on ", shown(until)));
  if (from > now) return wrong(flag, path, absl::StrCat("the certificate is valid from ", shown(from), " on only"));
  return absl::OkStatus();
}

// A key with a passphrase is refused, not asked for at a terminal.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return 0;
}

absl::StatusOr<Key> key_of(const std::string& text, const std::string& path) {
  bool asked = false;
  const Bio bio = memory(text);
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, &asked));
  if (asked) return wrong("tls_key", path, "the key has a passphrase; give one without");
  if (key == nullptr) return wrong("tls_key", path, "has no private key in PEM");
  return key;
}

// The authorities that are valid now; at least one must be.
absl::Status check_authorities(const std::string& text, const std::string& path, absl::Time now, absl::Time& expires) {
  const std::vector<Certificate> authorities = certificates_of(text);
  if (authorities.empty()) return wrong("tls_client_ca", path, "has no certificates in PEM");
  absl::Status first;
  bool usable = false;
  for (const Certificate& authority : authorities) {
    const absl::Status status = check_dates("tls_client_ca", path, authority.get(), now);
    first.Update(status);
    if (!status.ok()) continue;
    usable = true;
    expires = std::min(expires, time_of(X509_get0_notAfter(authority.get())));
  }
  return usable ? absl::OkStatus() : first;
}

}  // namespace

absl::StatusOr<Certificates> load_certificates(const TlsPaths& paths, absl::Time now) {
  auto chain = read("tls_cert", paths.certificate);
  if (!chain.ok()) return chain.status();
  auto key_text = read("tls_key", paths.key);
  if (!key_text.ok()) return key_text.status();
  const std::vector<Certificate> certificates = certificates_of(*chain);
  if (certificates.empty()) return wrong("tls_cert", paths.certificate, "has no certificates in PEM");
  Certificates loaded;
  loaded.expires = absl::InfiniteFuture();
  for (const Certificate& certificate : certificates) {
    if (absl::Status status = check_dates("tls_cert", paths.certificate, certificate.get(), now); !status.ok())
      return status;
    loaded.expires = std::min(loaded.expires, time_of(X509_get0_notAfter(certificate.get())));
  }
  const auto key = key_of(*key_text, paths.key);
  if (!key.ok()) return key.status();
  if (X509_check_private_key(certificates.front().get(), key->get()) != 1) {
    return wrong("tls_key", paths.key,
                 absl::StrCat("is not the key of the first certificate in --tls_cert=", paths.certificate));
  }
  if (!paths.client_ca.empty()) {
    auto authorities = read("tls_client_ca", paths.client_ca);
    if (!authorities.ok()) return authorities.status();
    if (absl::Status status = check_authorities(*authorities, paths.client_ca, now, loaded.expires); !status.ok())
      return status;
    loaded.client_ca = *std::move(authorities);
  }
  loaded.chain = *std::move(chain);
  loaded.key = *std::move(key_text);
  return loaded;
}

}  // namespace axion::server::access
