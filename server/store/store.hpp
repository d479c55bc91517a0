// What a server keeps beyond its own end: snapshots that clients asked for, and checkpoints of its models and batches.
//
// One database in --state_dir, for one server at a time. An item is written in one transaction and is on the disk when
// put returns; the process may be killed at any moment. A put that fails leaves what was there before. What is read is
// compared with the checksum that was written beside it. The store knows names, tenants and bytes: what the bytes mean
// is the caller's (server/rpc). Thread safe; calls wait for the disk, so no thread that steps or serves makes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/store/database.hpp"

namespace axion::server::store {

// Of the tables. What an older one wrote is brought up when the store is opened; a newer one is refused.
inline constexpr int kSchemaVersion = 1;

// Numbers are part of the schema.
enum class Kind : int { kModel = 1, kBatch = 2, kSnapshot = 3 };

struct Item {
  Kind kind = Kind::kSnapshot;
  std::string name;    // unique within its kind
  std::string tenant;  // whose it is
  absl::Time create_time;
  std::string summary;             // what lists show of it
  std::vector<std::string> parts;  // the rest, in pieces that a database takes well
  std::int64_t sequence = 0;       // in the order of creation; set by the store
};

class Store {
 public:
  // FAILED_PRECONDITION, UNAVAILABLE or DATA_LOSS name the directory and say what to do. Makes it where it is absent,
  // readable by its owner alone.
  static absl::StatusOr<std::unique_ptr<Store>> open(const std::string& directory);

  // What scrambles the ids of resources: the same for all runs on this store.
  std::uint64_t key() const { return key_; }
  // Of the servers that opened this store, which one this is, from 1.
  std::uint64_t run() const { return run_; }
  // Whether the server before this one said that it ended with all saved.
  bool ended_well() const { return ended_well_; }
  // Says that this one may change what is kept, and so may end without saving it.
  absl::Status begin() ABSL_LOCKS_EXCLUDED(mutex_);
  // Says that this one has saved all: nothing is put from then on.
  absl::Status end_well() ABSL_LOCKS_EXCLUDED(mutex_);

  // In the place of an item of that kind and name, if there is one, or where it is to be `only_new`, ALREADY_EXISTS.
  // OUT_OF_RANGE, with the numbers, where it and what the tenant has of its kind besides pass `most_bytes`; 0: no such
  // limit.
  absl::Status put(const Item& item, std::int64_t most_bytes = 0, bool only_new = false) ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND, also for another tenant's; DATA_LOSS where its bytes are not what was written.
  absl::StatusOr<Item> get(Kind kind, absl::string_view tenant, absl::string_view name) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Bytes of its parts. As get.
  absl::StatusOr<std::int64_t> size_of(Kind kind, absl::string_view tenant, absl::string_view name) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Without their parts, in the order of creation, after that sequence. Of that tenant, or of all.
  absl::StatusOr<std::vector<Item>> list(Kind kind, const std::string* tenant, std::int64_t after,
                                         std::size_t limit) const ABSL_LOCKS_EXCLUDED(mutex_);
  // NOT_FOUND, also for another tenant's.
  absl::Status remove(Kind kind, absl::string_view tenant, absl::string_view name) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  explicit Store(Database database) : database_(std::move(database)) {}
  absl::Status check_schema() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // DATA_LOSS where they have not the columns that they were made with.
  absl::Status check_tables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status count_run() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status check_bytes(const Item& item, std::int64_t most_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::int64_t> setting(const char* name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status set(const char* name, std::int64_t value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::uint64_t key_ = 0, run_ = 0;
  bool ended_well_ = true;
  mutable absl::Mutex mutex_;
  mutable Database database_ ABSL_GUARDED_BY(mutex_);
};

// 32 bytes that change with any change of these: SHA-256.
std::string checksum(absl::string_view bytes);

}  // namespace axion::server::store
