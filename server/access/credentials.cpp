#include "server/access/credentials.hpp"

#include <utility>

#include "absl/strings/str_cat.h"

namespace axion::server::access {
namespace {

std::vector<FileStamp> stamps_of(const std::vector<std::string>& paths) {
  std::vector<FileStamp> stamps;
  stamps.reserve(paths.size());
  for (const std::string& path : paths) stamps.push_back(stamp_of(path));
  return stamps;
}

}  // namespace

Credentials::Credentials(const CredentialOptions& options, std::function<void(const Reload&)> report)
    : options_(options), report_(std::move(report)) {}

Credentials::~Credentials() {
  stop_.set();
  if (thread_.joinable()) thread_.join();
}

absl::StatusOr<std::unique_ptr<Credentials>> Credentials::open(const CredentialOptions& options,
                                                               std::function<void(const Reload&)> report) {
  std::unique_ptr<Credentials> made(new Credentials(options, std::move(report)));
  if (made->has_tls()) {
    made->tls_watch_.paths = {options.tls.certificate, options.tls.key};
    if (made->asks_for_certificates()) made->tls_watch_.paths.push_back(options.tls.client_ca);
    made->tls_watch_.tried = stamps_of(made->tls_watch_.paths);
    if (absl::Status status = made->load_certificates_anew(); !status.ok()) return status;
  }
  if (made->asks_for_tokens()) {
    made->token_watch_.paths = {options.token_file};
    made->token_watch_.tried = stamps_of(made->token_watch_.paths);
    if (absl::Status status = made->load_tokens_anew(); !status.ok()) return status;
  }
  if (made->has_tls() || made->asks_for_tokens()) {
    made->thread_ = std::thread([watched = made.get()] {
      while (!watched->stop_.wait_for(watched->options_.interval)) watched->look();
    });
  }
  return made;
}

absl::Status Credentials::load_certificates_anew() {
  auto loaded = load_certificates(options_.tls, absl::Now());
  if (!loaded.ok()) return loaded.status();
  auto fresh = std::make_shared<const Certificates>(*std::move(loaded));
  absl::MutexLock lock(&mutex_);
  certificates_ = std::move(fresh);
  return absl::OkStatus();
}

absl::Status Credentials::load_tokens_anew() {
  const auto text = read_small_file(options_.token_file, TokenTable::kMaxFileBytes);
  absl::Status status = text.status();
  if (status.ok()) {
    const auto before = tokens();
    auto table = TokenTable::parse(*text, before.get());
    if (table.ok()) {
      auto fresh = std::make_shared<const TokenTable>(*std::move(table));
      absl::MutexLock lock(&mutex_);
      tokens_ = std::move(fresh);
      return absl::OkStatus();
    }
    status = table.status();
  }
  return absl::InvalidArgumentError(absl::StrCat("--token_file=", options_.token_file, ": ", status.message()));
}

bool Credentials::is_due(Watch& watch) {
  if (watch.paths.empty()) return false;
  std::vector<FileStamp> now = stamps_of(watch.paths);
  const bool steady = now == watch.seen;
  watch.seen = now;
  if (!steady || now == watch.tried) return false;
  watch.tried = std::move(now);
  return true;
}

void Credentials::look() {
  if (is_due(tls_watch_)) {
    absl::Status status = load_certificates_anew();
    report_({"tls", std::move(status), certificates()->expires});
  }
  if (is_due(token_watch_)) report_({"tokens", load_tokens_anew()});
}

std::shared_ptr<const Certificates> Credentials::certificates() const {
  absl::MutexLock lock(&mutex_);
  return certificates_;
}

std::shared_ptr<const TokenTable> Credentials::tokens() const {
  absl::MutexLock lock(&mutex_);
  return tokens_;
}

}  // namespace axion::server::access
