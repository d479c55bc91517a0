#include "server/schedule/registry.hpp"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {
namespace {

constexpr int kDefaultPageSize = 50;
constexpr int kMaxPageSize = 1000;

// Equal content has equal hashes; the content itself is compared, too.
std::size_t content_hash(const std::string& tenant, const ModelContent& content) {
  return absl::HashOf(tenant, content.scene, content.warnings, content.visuals);
}

bool is_content(const ModelRecord& record, const std::string& tenant, const ModelContent& content) {
  return record.tenant == tenant && record.scene == content.scene && record.visuals == content.visuals &&
         record.source_warnings == content.warnings.size() &&
         std::equal(content.warnings.begin(), content.warnings.end(), record.warnings.begin());
}

// One page of a map in order of creation; `item` turns an entry into what the page holds, nothing if it is not the
// caller's. The token is the name of the last item, so a page stays right when items before it go.
template <typename T, typename Map, typename ItemOf>
absl::StatusOr<Page<T>> page_of(const Map& map, const ResourceIds& ids, int page_size, absl::string_view token,
                                const ItemOf& item) {
  if (page_size < 0) {
    return invalid_field("page_size", absl::StrCat("is ", page_size, "; it must not be negative"));
  }
  const int size = page_size == 0 ? kDefaultPageSize : std::min(page_size, kMaxPageSize);
  std::uint64_t after = 0;
  if (!token.empty()) {
    const auto sequence = ids.sequence_of(token);
    if (!sequence)
      return invalid_field("page_token", absl::StrCat("\"", shown(token), "\" was not given by this list"));
    after = *sequence;
  }
  Page<T> page;
  auto it = map.upper_bound(after);
  std::uint64_t last = after;
  for (; it != map.end(); ++it) {
    auto own = item(it->second);
    if (own == nullptr) continue;
    if (page.items.size() == static_cast<std::size_t>(size)) {
      page.next_token = ids.name_of(last);
      break;
    }
    page.items.push_back(std::move(own));
    last = it->first;
  }
  return page;
}

}  // namespace

Registry::Registry(const Limits& limits, Observer& observer, std::uint64_t key, std::uint64_t first_sequence)
    : limits_(limits),
      observer_(observer),
      model_ids_("models", key),
      batch_ids_("batches", key),
      assets_(limits.model_ttl),
      next_sequence_(first_sequence) {}

std::shared_ptr<const ModelRecord> Registry::find_request(const Tenant& tenant, absl::string_view request) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [sequence, entry] : models_) {
    if (entry.request != request || entry.record->tenant != tenant.name) continue;
    note_use(entry);
    return entry.record;
  }
  return nullptr;
}

std::shared_ptr<const ModelRecord> Registry::find_content(const Tenant& tenant, const ModelContent& content) {
  const std::size_t hash = content_hash(tenant.name, content);
  absl::MutexLock lock(&mutex_);
  return known_content(hash, tenant.name, content);
}

std::shared_ptr<const ModelRecord> Registry::known_content(std::size_t hash, const std::string& tenant,
                                                           const ModelContent& content) {
  const auto [first, last] = content_.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    ModelEntry& entry = models_.at(it->second);
    if (!is_content(*entry.record, tenant, content)) continue;
    note_use(entry);
    entry.assets = content.assets;
    entry.request = content.request;
    return entry.record;
  }
  return nullptr;
}

absl::StatusOr<std::shared_ptr<const ModelRecord>> Registry::add_model(const Tenant& tenant, ModelContent content,
                                                                       std::shared_ptr<const Model> model,
                                                                       absl::Time now, MemoryHold memory) {
  const std::size_t hash = content_hash(tenant.name, content);
  absl::MutexLock lock(&mutex_);
  if (auto record = known_content(hash, tenant.name, content)) return record;
  const std::int64_t quota = tenant.quota.max_models;
  if (const std::int64_t own = quota > 0 ? counts_locked(&tenant.name).models : 0;
      quota > 0 && own >= quota && !drop_least_used_model(&tenant.name)) {
    return limit_reached("max_models", absl::StrCat("max_models: the tenant holds ", own,
                                                    " models, its quota, and batches use them all; delete one first"));
  }
  if (static_cast<std::int64_t>(models_.size()) >= limits_.max_models && !drop_least_used_model(nullptr)) {
    return limit_reached("max_models", absl::StrCat("max_models: the server holds ", models_.size(),
                                                    " models, its limit, and batches use them all; delete one first"));
  }
  return list_model(next_sequence_++, tenant.name, std::move(content), std::move(model), now, std::move(memory));
}

std::shared_ptr<const ModelRecord> Registry::list_model(std::uint64_t sequence, const std::string& tenant,
                                                        ModelContent content, std::shared_ptr<const Model> model,
                                                        absl::Time created, MemoryHold memory) {
  const std::size_t hash = content_hash(tenant, content);
  const std::size_t source_warnings = content.warnings.size();
  const std::vector<std::string>& own = model->info().warnings;  // follow from the scene: no part of content
  content.warnings.insert(content.warnings.end(), own.begin(), own.end());
  auto record = std::make_shared<const ModelRecord>(
      ModelRecord{model_ids_.name_of(sequence), std::move(model), std::move(content.warnings), created, tenant,
                  std::move(content.scene), source_warnings, std::move(memory), std::move(content.colors),
                  std::move(content.visuals)});
  const ModelEntry entry{record, content_.emplace(hash, sequence), std::move(content.assets),
                         std::move(content.request)};
  entry.last_use = ++uses_;
  models_.emplace(sequence, entry);
  report();
  return record;
}

absl::Status Registry::restore_model(const std::string& tenant, const std::string& name, ModelContent content,
                                     std::shared_ptr<const Model> model, absl::Time created, MemoryHold memory) {
  const auto sequence = model_ids_.sequence_of(name);
  if (!sequence) return invalid_field("name", absl::StrCat("\"", shown(name), "\" is no name of a model"));
  absl::MutexLock lock(&mutex_);
  if (models_.contains(*sequence)) return invalid_field("name", absl::StrCat("\"", name, "\" exists already"));
  list_model(*sequence, tenant, std::move(content), std::move(model), created, std::move(memory));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const ModelRecord>> Registry::find_model(const Tenant& tenant, absl::string_view field,
                                                                        absl::string_view name) const {
  absl::MutexLock lock(&mutex_);
  const ModelEntry* entry = model_of(tenant, name);
  if (entry == nullptr) return not_found(field, name);
  note_use(*entry);
  return entry->record;
}

const Registry::ModelEntry* Registry::model_of(const Tenant& tenant, absl::string_view name) const {
  const auto sequence = model_ids_.sequence_of(name);
  const auto it = sequence ? models_.find(*sequence) : models_.end();
  return it != models_.end() && it->second.record->tenant == tenant.name ? &it->second : nullptr;
}

absl::Status Registry::remove_model(const Tenant& tenant, absl::string_view name) {
  absl::MutexLock lock(&mutex_);
  const ModelEntry* entry = model_of(tenant, name);
  if (entry == nullptr) return not_found("name", name);
  const auto users = std::count_if(batches_.begin(), batches_.end(),
                                   [&](const auto& item) { return item.second.handle->info.model_name == name; });
  if (users > 0) {
    return make_failure(absl::StatusCode::kFailedPrecondition,
                        absl::StrCat("name: \"", name, "\" is used by ", users, " batches; delete them first"),
                        {.reason = std::string(reason::kInUse), .field = "name"});
  }
  content_.erase(entry->content);
  models_.erase(*model_ids_.sequence_of(name));
  report();
  return absl::OkStatus();
}

void Registry::withdraw_model(const Tenant& tenant, absl::string_view name) {
  {
    absl::MutexLock lock(&mutex_);
    const ModelEntry* entry = model_of(tenant, name);
    if (entry == nullptr || entry->found) return;
  }
  remove_model(tenant, name).IgnoreError();  // not what a batch has come to use meanwhile
}

absl::StatusOr<Page<const ModelRecord>> Registry::list_models(const Tenant& tenant, int page_size,
                                                              absl::string_view token) const {
  absl::MutexLock lock(&mutex_);
  return page_of<const ModelRecord>(models_, model_ids_, page_size, token, [&](const ModelEntry& entry) {
    return entry.record->tenant == tenant.name ? entry.record : nullptr;
  });
}

absl::StatusOr<WorldReservation> Registry::reserve_worlds(const Tenant& tenant, int count) {
  absl::MutexLock lock(&mutex_);
  const auto own = held_of_.find(tenant.name);
  const Held held = own == held_of_.end() ? Held{} : own->second;
  if (const std::int64_t quota = tenant.quota.max_worlds; quota > 0 && held.worlds + count > quota) {
    return limit_reached("max_worlds", absl::StrCat("world_count: ", count, " worlds beside the ", held.worlds,
                                                    " of the tenant pass its quota max_worlds = ", quota));
  }
  if (const std::int64_t quota = tenant.quota.max_batches; quota > 0 && held.batches >= quota) {
    return limit_reached("max_batches", absl::StrCat("max_batches: the tenant has ", held.batches,
                                                     " batches, its quota; delete one first"));
  }
  if (reserved_worlds_ + count > limits_.max_worlds) {
    return limit_reached("max_worlds", absl::StrCat("world_count: ", count, " worlds beside the ", reserved_worlds_,
                                                    " that exist pass the limit max_worlds = ", limits_.max_worlds));
  }
  return hold_worlds(tenant.name, count);
}

WorldReservation Registry::restore_worlds(const std::string& tenant, int count) {
  absl::MutexLock lock(&mutex_);
  return hold_worlds(tenant, count);
}

WorldReservation Registry::hold_worlds(const std::string& tenant, int count) {
  reserved_worlds_ += count;
  Held& held = held_of_[tenant];
  held.worlds += count, ++held.batches;
  // Only the deleter matters: it runs when the last holder of the reservation goes.
  return WorldReservation(std::shared_ptr<void>(
      this, [count, tenant](void* registry) { static_cast<Registry*>(registry)->release_worlds(tenant, count); }));
}

void Registry::release_worlds(const std::string& tenant, std::int64_t count) {
  absl::MutexLock lock(&mutex_);
  reserved_worlds_ -= count;
  const auto own = held_of_.find(tenant);
  own->second.worlds -= count;
  if (--own->second.batches == 0) held_of_.erase(own);
}

absl::Status Registry::add_batch(const std::shared_ptr<BatchHandle>& batch, absl::Time now) {
  const auto model = model_ids_.sequence_of(batch->info.model_name);
  absl::MutexLock lock(&mutex_);
  const auto of = model ? models_.find(*model) : models_.end();
  if (of == models_.end() || of->second.record->tenant != batch->info.tenant) {
    return not_found("model", batch->info.model_name);
  }
  std::uint64_t sequence = 0;
  if (batch->info.name.empty()) {
    sequence = next_sequence_++;
    batch->info.name = batch_ids_.name_of(sequence);
    batch->info.create_time = now;
  } else {
    const auto had = batch_ids_.sequence_of(batch->info.name);
    if (!had || batches_.contains(*had)) {
      return invalid_field("name",
                           absl::StrCat("\"", shown(batch->info.name), "\" cannot be the name of a batch here"));
    }
    sequence = *had;
  }
  const absl::Time expires = now + batch->info.idle_ttl;
  batches_.emplace(sequence, BatchEntry{batch, expires});
  expiries_.emplace(expires, sequence);
  worlds_ += batch->info.world_count;
  report();
  return absl::OkStatus();
}

Registry::Batches::iterator Registry::entry_of(absl::string_view name) {
  const auto sequence = batch_ids_.sequence_of(name);
  return sequence ? batches_.find(*sequence) : batches_.end();
}

Registry::Batches::const_iterator Registry::entry_of(absl::string_view name) const {
  const auto sequence = batch_ids_.sequence_of(name);
  return sequence ? batches_.find(*sequence) : batches_.end();
}

const Registry::BatchEntry* Registry::entry_of(const Tenant& tenant, absl::string_view name) const {
  const auto it = entry_of(name);
  return it != batches_.end() && it->second.is_of(tenant) ? &it->second : nullptr;
}

absl::Status Registry::no_batch(absl::string_view field, absl::string_view name) const {
  return ended_ ? draining() : not_found(field, name);
}

absl::StatusOr<std::shared_ptr<BatchHandle>> Registry::use_batch(const Tenant& tenant, absl::string_view field,
                                                                 absl::string_view name, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const auto it = entry_of(name);
  if (it == batches_.end() || !it->second.is_of(tenant)) return no_batch(field, name);
  renew(it, now);
  return it->second.handle;
}

absl::StatusOr<std::shared_ptr<BatchHandle>> Registry::find_batch(const Tenant& tenant, absl::string_view field,
                                                                  absl::string_view name) const {
  absl::MutexLock lock(&mutex_);
  const BatchEntry* entry = entry_of(tenant, name);
  if (entry == nullptr) return no_batch(field, name);
  return entry->handle;
}

absl::StatusOr<Page<BatchHandle>> Registry::list_batches(const Tenant& tenant, int page_size,
                                                         absl::string_view token) const {
  absl::MutexLock lock(&mutex_);
  return page_of<BatchHandle>(batches_, batch_ids_, page_size, token,
                              [&](const BatchEntry& entry) { return entry.is_of(tenant) ? entry.handle : nullptr; });
}

std::vector<std::shared_ptr<const ModelRecord>> Registry::all_models() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<const ModelRecord>> all;
  for (const auto& item : models_) all.push_back(item.second.record);
  return all;
}

std::vector<std::shared_ptr<BatchHandle>> Registry::all_batches() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<BatchHandle>> all;
  for (const auto& item : batches_) all.push_back(item.second.handle);
  return all;
}

bool Registry::has_model(absl::string_view name) const {
  const auto sequence = model_ids_.sequence_of(name);
  absl::MutexLock lock(&mutex_);
  return sequence && models_.contains(*sequence);
}

bool Registry::has_batch(absl::string_view name) const {
  absl::MutexLock lock(&mutex_);
  return entry_of(name) != batches_.end();
}

bool Registry::remove_batch(const BatchHandle& batch) {
  absl::MutexLock lock(&mutex_);
  const auto it = entry_of(batch.info.name);
  if (it == batches_.end()) return false;
  unlist(it);
  report();
  return true;
}

absl::StatusOr<std::shared_ptr<BatchHandle>> Registry::created_by(const Tenant& tenant, absl::string_view request_id,
                                                                  std::uint64_t request_hash, absl::Time now) {
  absl::MutexLock lock(&mutex_);
  for (auto it = batches_.begin(); it != batches_.end(); ++it) {
    BatchEntry& entry = it->second;
    const BatchInfo& info = entry.handle->info;
    if (info.request_id != request_id || !entry.is_of(tenant)) continue;
    absl::Status same = check_same_request(request_id, info.request_hash, request_hash);
    if (!same.ok()) return same;
    renew(it, now);
    ++entry.hearers;
    return entry.handle;
  }
  return std::shared_ptr<BatchHandle>();
}

std::shared_ptr<BatchHandle> Registry::unheard(const Tenant& tenant, absl::string_view name) {
  absl::MutexLock lock(&mutex_);
  const auto it = entry_of(name);
  if (it == batches_.end() || !it->second.is_of(tenant)) return nullptr;
  return --it->second.hearers == 0 ? it->second.handle : nullptr;
}

ResourceCounts Registry::counts_locked(const std::string* tenant) const {
  ResourceCounts counts;
  if (tenant == nullptr) {
    counts.models = static_cast<std::int64_t>(models_.size());
    counts.batches = static_cast<std::int64_t>(batches_.size());
    counts.worlds = worlds_;
    return counts;
  }
  counts.models = std::count_if(models_.begin(), models_.end(),
                                [&](const auto& item) { return item.second.record->tenant == *tenant; });
  for (const auto& item : batches_) {
    const BatchInfo& info = item.second.handle->info;
    if (info.tenant != *tenant) continue;
    ++counts.batches;
    counts.worlds += info.world_count;
  }
  return counts;
}

ResourceCounts Registry::counts(const Tenant& tenant) const {
  absl::MutexLock lock(&mutex_);
  return counts_locked(&tenant.name);
}

ResourceCounts Registry::counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_locked();
}

}  // namespace axion::server::schedule
