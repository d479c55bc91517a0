// Checkpoints of all models and batches in the store, and their return when the server starts again.
//
// A batch is read by the device's owner between two of its requests and written by the thread that asks, so steps wait
// for the reading alone. A batch that has not changed since is not written again. One that is in the middle of a long
// request is read when that ends, and written by the pass that finds it read; a pass that lacks it is no whole one.
// What is deleted is deleted in the store before the client hears of it; what expires goes with the next pass.
//
// save_all is called by one thread at a time, restore_all before it; save_at_end by the device's thread at the end;
// forget_* by any thread that may wait for the disk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

#include "server/observe/metrics.hpp"
#include "server/rpc/batch_snapshot.hpp"
#include "server/schedule/batch_handle.hpp"
#include "server/schedule/job.hpp"
#include "server/schedule/registry.hpp"
#include "server/schedule/step_batcher.hpp"
#include "server/store/store.hpp"

namespace axion::server::rpc {

class Checkpoints {
 public:
  // All outlive it.
  Checkpoints(store::Store& store, schedule::Registry& registry, observe::Metrics& metrics,
              std::shared_ptr<schedule::MemoryBudget> memory);

  // Compiles the models and makes the batches that the store has. What cannot come back is logged and stays there.
  void restore_all(schedule::StepBatcher& batcher) ABSL_LOCKS_EXCLUDED(mutex_);
  // One pass over everything.
  void save_all(schedule::StepBatcher& batcher) ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes a pass that is under way end soon.
  void stop() { stopping_.set(); }
  // The last pass.
  void save_at_end(std::span<const std::shared_ptr<schedule::BatchHandle>> batches) ABSL_LOCKS_EXCLUDED(mutex_);
  // Of what has been deleted.
  void forget_batch(const std::string& tenant, const std::string& name) ABSL_LOCKS_EXCLUDED(mutex_);
  void forget_model(const std::string& tenant, const std::string& name) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // A batch being read, or read and not yet written.
  struct Reading {
    std::string tenant;
    std::uint64_t changes = 0;  // as it was read
    bool unchanged = false;     // since it was written last
    absl::StatusOr<SavedBatch> saved = absl::UnknownError("");
    absl::Notification done;
  };

  absl::Status restore_model(const store::Item& item);
  absl::Status restore_batch(const store::Item& item, schedule::StepBatcher& batcher);
  absl::Status save_models() ABSL_LOCKS_EXCLUDED(mutex_);
  std::shared_ptr<Reading> read(const std::shared_ptr<schedule::BatchHandle>& batch, schedule::StepBatcher& batcher)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status write(const std::string& name, const Reading& reading, bool at_end) ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes from the store what is not there any more.
  absl::Status sweep(store::Kind kind, const absl::flat_hash_set<std::string>& live) ABSL_LOCKS_EXCLUDED(mutex_);
  // `late`: batches that were busy for as long as the pass waited, and are not saved as they are now.
  void report(const absl::Status& status, const std::vector<std::string>& late, absl::Duration duration);

  store::Store& store_;
  schedule::Registry& registry_;
  observe::Metrics& metrics_;
  std::shared_ptr<schedule::MemoryBudget> memory_;
  schedule::CancelFlag stopping_;
  absl::flat_hash_map<std::string, std::shared_ptr<Reading>> readings_;  // of save_all alone
  bool restored_ = false;  // what the store has was looked at, so that what is not there has ended
  absl::flat_hash_set<std::string> unrestored_;  // stay in the store; set by restore_all

  absl::Mutex mutex_;  // held while an item is written or removed, so that nothing that was deleted comes back
  absl::flat_hash_set<std::string> saved_models_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, std::uint64_t> saved_changes_ ABSL_GUARDED_BY(mutex_);  // by batch, as written last
};

}  // namespace axion::server::rpc
