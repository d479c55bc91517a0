// Files of scenes, kept by the digest of their bytes, each tenant's for itself.
//
// Thread safe. A model's record holds the assets that it was made with. An asset that no model or call holds goes when
// it has not been named for the models' ttl, or where memory is wanted, the least recently used first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/schedule/memory_budget.hpp"
#include "server/schedule/tenant.hpp"

namespace axion::server::schedule {

struct Asset {
  std::string digest;  // "sha256:" and 64 hexadecimal digits
  std::string bytes;
  MemoryHold memory;
};
using Assets = std::vector<std::shared_ptr<const Asset>>;

// What one takes besides its bytes.
inline constexpr std::int64_t kAssetOverhead = 512;

class AssetStore {
 public:
  explicit AssetStore(absl::Duration ttl) : ttl_(ttl) {}

  // None where the tenant has no such asset. Renews its time.
  std::shared_ptr<const Asset> find(const Tenant& tenant, absl::string_view digest, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds whole assets, whose bytes have their digests. Of an asset that is here already the old bytes stay.
  void add(const Tenant& tenant, std::vector<Asset> assets, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes away assets that nothing else holds until `bytes` are given back: of that tenant, or if it is none, first of
  // the one that has most of them. False: there was none.
  bool reclaim(const std::string* tenant, std::int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes away assets that no model holds and that no request has named for the ttl.
  void drop_expired(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // When to look next. InfiniteFuture if there is nothing to look for.
  absl::Time next_look() const ABSL_LOCKS_EXCLUDED(mutex_);

  std::int64_t count() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Entry {
    std::shared_ptr<const Asset> asset;
    absl::Time expire_time;
    std::uint64_t last_use = 0;  // the greater, the later
  };
  using Entries = std::map<std::pair<std::string, std::string>, Entry, std::less<>>;  // by tenant and digest

  // What was given back.
  std::int64_t reclaim_of(const std::string& tenant, std::int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void renew(Entry& entry, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    entry.expire_time = now + ttl_;
    entry.last_use = ++uses_;
  }

  const absl::Duration ttl_;
  mutable absl::Mutex mutex_;
  Entries entries_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time next_look_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace axion::server::schedule
