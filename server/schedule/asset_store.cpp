#include "server/schedule/asset_store.hpp"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace axion::server::schedule {

// Assets are given out under the mutex only: where the store holds one alone, that cannot change while it is locked.
namespace {
bool is_held(const std::shared_ptr<const Asset>& asset) { return asset.use_count() > 1; }
}  // namespace

std::shared_ptr<const Asset> AssetStore::find(const Tenant& tenant, absl::string_view digest, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto it = entries_.find(std::pair(tenant.name, std::string(digest)));
  if (it == entries_.end()) return nullptr;
  renew(it->second, now);
  return it->second.asset;
}

void AssetStore::add(const Tenant& tenant, std::vector<Asset> assets, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  for (Asset& asset : assets) {
    Entry& entry = entries_[{tenant.name, asset.digest}];
    if (entry.asset == nullptr) entry.asset = std::make_shared<const Asset>(std::move(asset));
    renew(entry, now);
  }
}

std::int64_t AssetStore::reclaim_of(const std::string& tenant, std::int64_t bytes) {
  std::vector<Entries::iterator> free;
  for (auto it = entries_.lower_bound({tenant, ""}); it != entries_.end() && it->first.first == tenant; ++it) {
    if (!is_held(it->second.asset)) free.push_back(it);
  }
  std::sort(free.begin(), free.end(), [](auto a, auto b) { return a->second.last_use < b->second.last_use; });
  std::int64_t freed = 0;
  for (auto it = free.begin(); it != free.end() && freed < bytes; ++it) {
    freed += (*it)->second.asset->memory.bytes();
    entries_.erase(*it);
  }
  return freed;
}

bool AssetStore::reclaim(const std::string* tenant, std::int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  if (tenant != nullptr) return reclaim_of(*tenant, bytes) > 0;
  absl::flat_hash_map<std::string, std::int64_t> free;
  for (const auto& [key, entry] : entries_) {
    if (!is_held(entry.asset)) free[key.first] += entry.asset->memory.bytes();
  }
  std::vector<std::pair<std::int64_t, std::string>> owners;
  for (const auto& [owner, held] : free) owners.emplace_back(held, owner);
  std::sort(owners.rbegin(), owners.rend());
  std::int64_t freed = 0;
  for (auto it = owners.begin(); it != owners.end() && freed < bytes; ++it) {
    freed += reclaim_of(it->second, bytes - freed);
  }
  return freed > 0;
}

void AssetStore::drop_expired(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  if (now < next_look_) return;
  next_look_ = now + std::min(ttl_ / 4, absl::Seconds(60));
  for (auto& [key, entry] : entries_) {
    if (is_held(entry.asset)) entry.expire_time = now + ttl_;
  }
  std::erase_if(entries_, [&](const auto& item) { return item.second.expire_time <= now; });
}

absl::Time AssetStore::next_look() const {
  absl::MutexLock lock(&mutex_);
  return entries_.empty() ? absl::InfiniteFuture() : next_look_;
}

std::int64_t AssetStore::count() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<std::int64_t>(entries_.size());
}

}  // namespace axion::server::schedule
