#include "server/access/token_table.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "server/schedule/byte_size.hpp"

namespace axion::server::access {
namespace {

constexpr std::size_t kMaxNameBytes = 63;
constexpr std::int64_t kMaxQuota = 2'147'483'647;
constexpr absl::string_view kHashPrefix = "sha256:";

absl::Status at_line(int line, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", rule));
}

bool is_tenant_name(absl::string_view text) {
  if (text.empty() || text.size() > kMaxNameBytes || !absl::ascii_isalnum(static_cast<unsigned char>(text[0])))
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

bool parse_digest(absl::string_view text, Digest& digest) {
  if (!absl::ConsumePrefix(&text, kHashPrefix) || text.size() != 2 * digest.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = absl::ascii_tolower(static_cast<unsigned char>(text[i]));
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return false;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    digest[i / 2] = static_cast<std::uint8_t>(i % 2 == 0 ? digit << 4 : digest[i / 2] | digit);
  }
  return true;
}

// A word "max_worlds=4096" or "max_memory=8GiB" into the quota. What is wrong with it, or nothing.
absl::string_view take_quota(absl::string_view word, schedule::TenantQuota& quota) {
  const std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(word, absl::MaxSplits('=', 1));
  std::int64_t* value = parts.first == "max_worlds"           ? &quota.max_worlds
                        : parts.first == "max_models"         ? &quota.max_models
                        : parts.first == "max_batches"        ? &quota.max_batches
                        : parts.first == "max_queue"          ? &quota.max_queue
                        : parts.first == "max_memory"         ? &quota.max_memory
                        : parts.first == "max_snapshot_bytes" ? &quota.max_snapshot_bytes
                        : parts.first == "weight"             ? &quota.weight
                                                              : nullptr;
  if (value == nullptr) {
    return "after the hash come quotas alone: max_worlds=, max_models=, max_batches=, max_queue=, max_memory=, "
           "max_snapshot_bytes=, weight=";
  }
  if (*value != 0) return "a quota is given twice";
  if (value == &quota.max_memory || value == &quota.max_snapshot_bytes) {
    const auto bytes = schedule::bytes_of(parts.second);
    const bool begins = !parts.second.empty() && absl::ascii_isdigit(static_cast<unsigned char>(parts.second[0]));
    if (!bytes || *bytes < 1 || !begins)
      return "a quota of bytes must be a size above 0, as 8GiB, 512MiB or a number of bytes";
    *value = *bytes;
    return {};
  }
  // Signs and spaces are no part of a number here.
  const bool digits = !parts.second.empty() && std::all_of(parts.second.begin(), parts.second.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c));
  });
  if (!digits || !absl::SimpleAtoi(parts.second, value) || *value < 1 || *value > kMaxQuota) {
    return "a quota must be a whole number from 1 to 2147483647";
  }
  return {};
}

std::uint64_t index_key(const Digest& digest) {
  std::uint64_t key = 0;
  std::memcpy(&key, digest.data(), sizeof key);
  return key;
}

}  // namespace

Digest digest_of(absl::string_view token) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), digest.data());
  return digest;
}

bool same_digest(const Digest& a, const Digest& b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

absl::StatusOr<TokenTable> TokenTable::parse(absl::string_view text, const TokenTable* before) {
  if (text.size() > kMaxFileBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", text.size(), " bytes; a file of tokens has at most ", kMaxFileBytes));
  }
  TokenTable table;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (absl::Status status = table.take_line(line, number, before); !status.ok()) return status;
  }
  return table;
}

absl::Status TokenTable::take_line(absl::string_view line, int number, const TokenTable* before) {
  absl::ConsumeSuffix(&line, "\r");
  if (line.size() > kMaxLineBytes) return at_line(number, absl::StrCat("is longer than ", kMaxLineBytes, " bytes"));
  const std::vector<absl::string_view> words = absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.empty() || words.front().front() == '#') return absl::OkStatus();
  if (!is_tenant_name(words.front())) {
    return at_line(
        number,
        "begins with no name of a tenant: 1 to 63 letters, digits, '-', '_' or '.', the first a letter or digit");
  }
  Entry entry;
  entry.line = number;
  if (words.size() < 2 || !parse_digest(words[1], entry.digest)) {
    return at_line(number,
                   "after the tenant comes the token's hash, sha256: and 64 hexadecimal digits; a token itself "
                   "does not belong into this file");
  }
  if (const Entry* other = entry_of(entry.digest)) {
    return at_line(number, absl::StrCat("the hash is that of line ", other->line, " already"));
  }
  schedule::TenantQuota quota;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (const absl::string_view wrong = take_quota(words[i], quota); !wrong.empty()) return at_line(number, wrong);
  }
  const std::string name(words.front());
  const auto known = tenants_.find(name);
  if (known == tenants_.end()) {
    auto tenant = std::make_shared<schedule::Tenant>(schedule::Tenant{name, quota});
    if (before != nullptr) {
      if (const auto old = before->tenants_.find(name); old != before->tenants_.end())
        tenant->load = old->second.first->load;
    }
    entry.tenant = std::move(tenant);
    tenants_.emplace(name, std::pair{entry.tenant, number});
  } else if (known->second.first->quota != quota) {
    return at_line(number, absl::StrCat("the tenant has other quotas in line ", known->second.second,
                                        "; say the same on each of its lines"));
  } else {
    entry.tenant = known->second.first;
  }
  index_.emplace(index_key(entry.digest), entries_.size());
  entries_.push_back(std::move(entry));
  return absl::OkStatus();
}

const TokenTable::Entry* TokenTable::entry_of(const Digest& digest) const {
  const auto [first, last] = index_.equal_range(index_key(digest));
  for (auto it = first; it != last; ++it) {
    if (same_digest(entries_[it->second].digest, digest)) return &entries_[it->second];
  }
  return nullptr;
}

std::shared_ptr<const schedule::Tenant> TokenTable::find(const Digest& digest) const {
  const Entry* entry = entry_of(digest);
  return entry == nullptr ? nullptr : entry->tenant;
}

}  // namespace axion::server::access
