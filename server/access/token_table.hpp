// The file of tokens: whose they are, as hashes.
//
//   # tenant  hash                     quotas, each optional
//   team-a    sha256:9f86d081884c...   max_worlds=4096 max_models=20 max_queue=64 max_memory=8GiB
//
// A token is 256 random bits (`axion token new` makes one), so its hash is plain SHA-256: a slow hash makes guessing
// dear where people choose the secret, and 2^256 cannot be guessed at any price. What the file says of a token
// authorises no caller.
//
// A tenant may have several tokens, so that one can be replaced while the other still works; its quotas are then the
// same on each of its lines. Errors name the line and never repeat it: it may be a token.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include "server/schedule/tenant.hpp"

namespace axion::server::access {

using Digest = std::array<std::uint8_t, 32>;

// SHA-256 of the token's bytes.
Digest digest_of(absl::string_view token);

// Whether both are the same, in a time that does not depend on where they differ.
bool same_digest(const Digest& a, const Digest& b);

class TokenTable {
 public:
  static constexpr std::size_t kMaxFileBytes = 16 << 20;
  static constexpr std::size_t kMaxLineBytes = 1024;

  // INVALID_ARGUMENT names the line. Tenants that `before` has keep what they have under way.
  static absl::StatusOr<TokenTable> parse(absl::string_view text, const TokenTable* before = nullptr);

  // The tenant whose token has that digest; none if there is none.
  std::shared_ptr<const schedule::Tenant> find(const Digest& digest) const;
  std::size_t size() const { return entries_.size(); }
  std::size_t tenant_count() const { return tenants_.size(); }

 private:
  struct Entry {
    Digest digest;
    std::shared_ptr<const schedule::Tenant> tenant;
    int line = 0;
  };
  absl::Status take_line(absl::string_view line, int number, const TokenTable* before);
  const Entry* entry_of(const Digest& digest) const;

  std::vector<Entry> entries_;
  // By the first bytes of the digest. A sender of a token chooses none of its digest's bytes, so that the time of
  // this look-up tells nothing; the whole digests are then compared by same_digest.
  std::unordered_multimap<std::uint64_t, std::size_t> index_;
  absl::flat_hash_map<std::string, std::pair<std::shared_ptr<const schedule::Tenant>, int>>
      tenants_;  // with its first line
};

}  // namespace axion::server::access
