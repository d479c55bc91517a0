// Which models and batches exist, under what names, and for how long.
//
// Thread safe. What a tenant made is its own: for every other it does not exist. Models are deduplicated by content,
// each tenant's for itself. A batch has a lease: when no call has named it for its idle_ttl and no job holds it,
// take_expired gives it to the device's thread, which destroys it. The registry never touches the engine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "engine/engine.hpp"

#include "server/schedule/asset_store.hpp"
#include "server/schedule/batch_handle.hpp"
#include "server/schedule/limits.hpp"
#include "server/schedule/memory_budget.hpp"
#include "server/schedule/observer.hpp"
#include "server/schedule/resource_ids.hpp"
#include "server/schedule/tenant.hpp"

namespace axion::server::schedule {

// Red, green, blue and opacity of shapes in their order; none of any: empty.
using ShapeColors = std::vector<std::optional<std::array<float, 4>>>;

struct ModelRecord {
  std::string name;
  std::shared_ptr<const Model> model;
  std::vector<std::string> warnings;
  absl::Time create_time;
  std::string tenant = {};          // whose it is
  std::string scene = {};           // bytes that stand for it: the first part of its content
  std::size_t source_warnings = 0;  // of the warnings, how many its content has besides
  MemoryHold memory = {};
  ShapeColors colors = {};
  std::string visuals = {};
};

// What a model is known by to add_model and find_content, and where the warnings that are no part of it begin.
struct ModelContent {
  std::string scene;                  // bytes that stand for the scene
  std::vector<std::string> warnings;  // of reading the source
  ShapeColors colors = {};            // which are among those bytes
  Assets assets = {};                 // which the model holds from now on; no part of what it is known by
  std::string visuals = {};           // bytes that say what it looks like
  std::string request = {};           // digest of the request that asked for it; no part of what it is known by
};

template <typename T>
struct Page {
  std::vector<std::shared_ptr<T>> items;
  std::string next_token;  // empty: the last page
};

class Registry {
 public:
  // `key` scrambles ids, of numbers from `first_sequence` on; `observer` outlives the registry.
  Registry(const Limits& limits, Observer& observer, std::uint64_t key, std::uint64_t first_sequence = 1);

  // ---- Models. The content is all that decides what the model is; equal content is one model. ----
  // What such a request of the tenant, by its digest, was last answered with; none if there is none.
  std::shared_ptr<const ModelRecord> find_request(const Tenant& tenant, absl::string_view request)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The assets and the request of the content take the place of what the model held.
  std::shared_ptr<const ModelRecord> find_content(const Tenant& tenant, const ModelContent& content)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The record that holds, if another call was first. RESOURCE_EXHAUSTED at max_models, the server's or the tenant's.
  // Its warnings are the content's and the model's own.
  absl::StatusOr<std::shared_ptr<const ModelRecord>> add_model(const Tenant& tenant, ModelContent content,
                                                               std::shared_ptr<const Model> model, absl::Time now,
                                                               MemoryHold memory = {}) ABSL_LOCKS_EXCLUDED(mutex_);
  // One that an earlier run of the server had, under its name and its tenant, whatever the limits say.
  absl::Status restore_model(const std::string& tenant, const std::string& name, ModelContent content,
                             std::shared_ptr<const Model> model, absl::Time created, MemoryHold memory = {})
      ABSL_LOCKS_EXCLUDED(mutex_);
  // `field` is where the request names it, for the error.
  absl::StatusOr<std::shared_ptr<const ModelRecord>> find_model(const Tenant& tenant, absl::string_view field,
                                                                absl::string_view name) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // FAILED_PRECONDITION while a batch uses it.
  absl::Status remove_model(const Tenant& tenant, absl::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of the call that has made it and failed afterwards: removes it unless another call has found it since.
  void withdraw_model(const Tenant& tenant, absl::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Page<const ModelRecord>> list_models(const Tenant& tenant, int page_size,
                                                      absl::string_view token) const ABSL_LOCKS_EXCLUDED(mutex_);

  AssetStore& assets() { return assets_; }

  // ---- Batches ----
  // For a batch. RESOURCE_EXHAUSTED when the worlds would pass max_worlds, the server's or the tenant's, or the batch
  // the tenant's max_batches.
  absl::StatusOr<WorldReservation> reserve_worlds(const Tenant& tenant, int count) ABSL_LOCKS_EXCLUDED(mutex_);
  // Worlds of a batch that an earlier run had, whatever the limits say.
  WorldReservation restore_worlds(const std::string& tenant, int count) ABSL_LOCKS_EXCLUDED(mutex_);
  // Names the batch, unless it brings the name that it had, and lists it for the tenant that its info names. NOT_FOUND
  // if its model was deleted meanwhile.
  absl::Status add_batch(const std::shared_ptr<BatchHandle>& batch, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Renews the lease.
  absl::StatusOr<std::shared_ptr<BatchHandle>> use_batch(const Tenant& tenant, absl::string_view field,
                                                         absl::string_view name, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Leaves the lease as it is.
  absl::StatusOr<std::shared_ptr<BatchHandle>> find_batch(const Tenant& tenant, absl::string_view field,
                                                          absl::string_view name) const ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Page<BatchHandle>> list_batches(const Tenant& tenant, int page_size, absl::string_view token) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The batch that such a request of the tenant has made; none if there is none. Renews its lease. Its caller is one
  // more who hears of the batch. INVALID_ARGUMENT where that request hashed otherwise.
  absl::StatusOr<std::shared_ptr<BatchHandle>> created_by(const Tenant& tenant, absl::string_view request_id,
                                                          std::uint64_t request_hash, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // One who was to hear of the batch, by add_batch or created_by, has not. Where no other has either it is returned,
  // and does not exist for its tenant from then on; the caller has it removed.
  std::shared_ptr<BatchHandle> unheard(const Tenant& tenant, absl::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  // All of them, of all tenants.
  std::vector<std::shared_ptr<const ModelRecord>> all_models() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::shared_ptr<BatchHandle>> all_batches() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool has_model(absl::string_view name) const ABSL_LOCKS_EXCLUDED(mutex_);
  bool has_batch(absl::string_view name) const ABSL_LOCKS_EXCLUDED(mutex_);
  // False if it was not listed any more.
  bool remove_batch(const BatchHandle& batch) ABSL_LOCKS_EXCLUDED(mutex_);
  // Work on it has ended: the lease starts anew.
  void touch(const BatchHandle& batch, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // A stream steps the batch from now on. False, and nothing to close, where its stream_ttl is infinite or there is no
  // such batch.
  bool open_stream(const Tenant& tenant, absl::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);
  // One of them has ended: the last leaves a lease of stream_ttl. Nothing where the batch is gone.
  void close_stream(absl::string_view name, absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Time expire_time(const BatchHandle& batch) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Unlists and returns the batches whose lease has run out and that no job holds.
  // Now and then drops models, too, that no batch uses and no call has named for model_ttl, and assets likewise.
  std::vector<std::shared_ptr<BatchHandle>> take_expired(absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);
  // Unlists and returns all batches, at the end: who asks for one from then on is told that the server drains,
  // UNAVAILABLE.
  std::vector<std::shared_ptr<BatchHandle>> take_all() ABSL_LOCKS_EXCLUDED(mutex_);
  // When to look for what has expired. InfiniteFuture if there is nothing.
  absl::Time next_expiry() const ABSL_LOCKS_EXCLUDED(mutex_);
  ResourceCounts counts() const ABSL_LOCKS_EXCLUDED(mutex_);  // of all tenants
  ResourceCounts counts(const Tenant& tenant) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct ModelEntry {
    std::shared_ptr<const ModelRecord> record;
    std::unordered_multimap<std::size_t, std::uint64_t>::iterator content;
    Assets assets;                                    // that it was made with last
    std::string request;                              // digest of the request that asked for it last
    mutable bool used = true;                         // since models were looked through last
    mutable bool found = false;                       // by anybody but the call that made it
    mutable std::uint64_t last_use = 0;               // the greater, the later
    absl::Time expire_time = absl::InfiniteFuture();  // set there
  };
  struct BatchEntry {
    std::shared_ptr<BatchHandle> handle;
    absl::Time expire_time;
    int streams = 0;        // open
    bool streamed = false;  // one was
    int hearers = 1;        // calls that are answered with it; none: it does not exist any more for its tenant

    bool is_of(const Tenant& tenant) const { return hearers > 0 && handle->info.tenant == tenant.name; }
  };

  // Reserved, or of batches that exist.
  struct Held {
    std::int64_t worlds = 0, batches = 0;
  };
  using Batches = std::map<std::uint64_t, BatchEntry>;

  void renew(Batches::iterator it, absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Batches::iterator unlist(Batches::iterator it) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void drop_expired_models(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of batches, by name.
  absl::flat_hash_set<std::string> models_in_use() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes away the model that was used least recently, of the models that no batch and no call has: of that tenant, or
  // if there is none, of the one that has most models. False: there is no such model.
  bool drop_least_used_model(const std::string* tenant) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void note_use(const ModelEntry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    entry.used = entry.found = true;
    entry.last_use = ++uses_;
  }
  // Of one tenant, or of all where none is given.
  ResourceCounts counts_locked(const std::string* tenant = nullptr) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void report() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { observer_.on_resources(counts_locked()); }
  absl::Status no_batch(absl::string_view field, absl::string_view name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // By the hash of its content.
  std::shared_ptr<const ModelRecord> known_content(std::size_t hash, const std::string& tenant,
                                                   const ModelContent& content) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const ModelRecord> list_model(std::uint64_t sequence, const std::string& tenant, ModelContent content,
                                                std::shared_ptr<const Model> model, absl::Time created,
                                                MemoryHold memory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  WorldReservation hold_worlds(const std::string& tenant, int count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void release_worlds(const std::string& tenant, std::int64_t count) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whosever it is.
  Batches::iterator entry_of(absl::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Batches::const_iterator entry_of(absl::string_view name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of this tenant alone; none otherwise.
  const BatchEntry* entry_of(const Tenant& tenant, absl::string_view name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  const ModelEntry* model_of(const Tenant& tenant, absl::string_view name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Limits limits_;
  Observer& observer_;
  const ResourceIds model_ids_, batch_ids_;

  AssetStore assets_;
  mutable absl::Mutex mutex_;
  std::uint64_t next_sequence_ ABSL_GUARDED_BY(mutex_);
  std::map<std::uint64_t, ModelEntry> models_ ABSL_GUARDED_BY(mutex_);
  mutable std::uint64_t uses_ ABSL_GUARDED_BY(mutex_) = 0;  // of models
  std::unordered_multimap<std::size_t, std::uint64_t> content_ ABSL_GUARDED_BY(mutex_);
  // There may be tens of thousands of batches, and the device's owner asks for what has expired all the time.
  Batches batches_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<absl::Time, std::uint64_t>> expiries_ ABSL_GUARDED_BY(mutex_);  // of them, by sequence
  std::int64_t worlds_ ABSL_GUARDED_BY(mutex_) = 0;                                  // of them
  absl::Time next_look_at_models_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::int64_t reserved_worlds_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<std::string, Held> held_of_ ABSL_GUARDED_BY(mutex_);  // by tenants that have any
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;                              // all batches were taken
};

}  // namespace axion::server::schedule
