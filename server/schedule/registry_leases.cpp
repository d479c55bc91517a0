// Leases of batches and models: renewed, and what becomes of leases that have run out.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

#include "server/schedule/registry.hpp"

namespace axion::server::schedule {

void Registry::touch(const BatchHandle& batch, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto it = entry_of(batch.info.name);
  if (it != batches_.end()) renew(it, now);
}

void Registry::renew(Batches::iterator it, absl::Time now) {
  BatchEntry& entry = it->second;
  const BatchInfo& info = entry.handle->info;
  const bool left = entry.streamed && entry.streams == 0;
  auto expiry = expiries_.extract({entry.expire_time, it->first});
  entry.expire_time = now + (left ? std::min(info.stream_ttl, info.idle_ttl) : info.idle_ttl);
  expiry.value().first = entry.expire_time;
  expiries_.insert(std::move(expiry));
}

Registry::Batches::iterator Registry::unlist(Batches::iterator it) {
  expiries_.erase({it->second.expire_time, it->first});
  worlds_ -= it->second.handle->info.world_count;
  return batches_.erase(it);
}

bool Registry::open_stream(const Tenant& tenant, absl::string_view name) {
  absl::MutexLock lock(&mutex_);
  const auto it = entry_of(name);
  if (it == batches_.end()) return false;
  if (!it->second.is_of(tenant) || it->second.handle->info.stream_ttl == absl::InfiniteDuration()) return false;
  ++it->second.streams;
  it->second.streamed = true;
  return true;
}

void Registry::close_stream(absl::string_view name, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto it = entry_of(name);
  if (it != batches_.end() && --it->second.streams == 0) renew(it, now);
}

absl::Time Registry::expire_time(const BatchHandle& batch) const {
  absl::MutexLock lock(&mutex_);
  const auto it = entry_of(batch.info.name);
  return it == batches_.end() ? absl::InfinitePast() : it->second.expire_time;
}

std::vector<std::shared_ptr<BatchHandle>> Registry::take_expired(absl::Time now) {
  if (limits_.model_ttl < absl::InfiniteDuration()) assets_.drop_expired(now);
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<BatchHandle>> expired;
  for (auto expiry = expiries_.begin(); expiry != expiries_.end() && expiry->first <= now;) {
    const auto it = batches_.find(expiry->second);
    ++expiry;  // the entry before it may go
    // Handles are given out under this mutex only, so a count of one cannot grow here.
    if (it->second.handle.use_count() != 1) continue;
    expired.push_back(it->second.handle);
    unlist(it);
  }
  if (limits_.model_ttl < absl::InfiniteDuration() && now >= next_look_at_models_) drop_expired_models(now);
  if (!expired.empty()) report();
  return expired;
}

absl::flat_hash_set<std::string> Registry::models_in_use() const {
  absl::flat_hash_set<std::string> in_use;
  for (const auto& item : batches_) in_use.insert(item.second.handle->info.model_name);
  return in_use;
}

bool Registry::drop_least_used_model(const std::string* tenant) {
  const absl::flat_hash_set<std::string> in_use = models_in_use();
  absl::flat_hash_map<std::string, std::int64_t> held;
  for (const auto& item : models_) ++held[item.second.record->tenant];
  auto least = models_.end();
  for (auto it = models_.begin(); it != models_.end(); ++it) {
    const ModelEntry& entry = it->second;
    const std::string& owner = entry.record->tenant;
    // Records are given out under this mutex only: a count of one cannot grow here.
    if ((tenant != nullptr && owner != *tenant) || entry.record.use_count() > 1) continue;
    if (in_use.contains(entry.record->name)) continue;
    const auto rank = [&](const ModelEntry& e) { return std::pair(-held.at(e.record->tenant), e.last_use); };
    if (least == models_.end() || rank(entry) < rank(least->second)) least = it;
  }
  if (least == models_.end()) return false;
  observer_.on_event(absl::StrCat("event=model_expired model=", least->second.record->name, " reason=max_models"));
  content_.erase(least->second.content);
  models_.erase(least);
  return true;
}

void Registry::drop_expired_models(absl::Time now) {
  next_look_at_models_ = now + std::min(limits_.model_ttl / 4, absl::Seconds(60));
  const absl::flat_hash_set<std::string> in_use = models_in_use();
  const std::size_t before = models_.size();
  for (auto it = models_.begin(); it != models_.end();) {
    ModelEntry& entry = it->second;
    if (std::exchange(entry.used, false) || in_use.contains(entry.record->name)) {
      entry.expire_time = now + limits_.model_ttl;
    }
    // Records are given out under this mutex only: a count of one cannot grow here.
    if (entry.expire_time > now || entry.record.use_count() > 1) {
      ++it;
      continue;
    }
    observer_.on_event(absl::StrCat("event=model_expired model=", entry.record->name,
                                    " model_ttl=", absl::FormatDuration(limits_.model_ttl)));
    content_.erase(entry.content);
    it = models_.erase(it);
  }
  if (models_.size() != before) report();
}

std::vector<std::shared_ptr<BatchHandle>> Registry::take_all() {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<BatchHandle>> all;
  for (auto& item : batches_) all.push_back(std::move(item.second.handle));
  batches_.clear();
  expiries_.clear();
  worlds_ = 0;
  ended_ = true;
  report();
  return all;
}

absl::Time Registry::next_expiry() const {
  const bool ends = limits_.model_ttl < absl::InfiniteDuration();
  const absl::Time look_at_assets = ends ? assets_.next_look() : absl::InfiniteFuture();
  absl::MutexLock lock(&mutex_);
  absl::Time next = expiries_.empty() ? look_at_assets : std::min(look_at_assets, expiries_.begin()->first);
  if (ends && !models_.empty()) next = std::min(next, next_look_at_models_);
  return next;
}

}  // namespace axion::server::schedule
