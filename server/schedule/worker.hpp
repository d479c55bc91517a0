// Threads for work that needs no device but is too long for a thread that serves the network: compiling scenes.
//
// Tasks begin by turns: of tenants, then of a tenant's clients. A caller, which is a tenant or where there are none a
// client, never has all threads: the last is left to another, who so waits for no task of this one. A task whose
// caller has gone, or whose deadline has passed, does not begin; while one runs, its thread says so between pieces of
// the work (engine/base/stop.hpp).
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/schedule/call.hpp"
#include "server/schedule/queue_shares.hpp"
#include "server/schedule/steady_time.hpp"
#include "server/schedule/turn_queue.hpp"

namespace axion::server::schedule {

struct WorkerOptions {
  std::size_t max_queue = 64;                      // tasks that wait or run
  unsigned threads = 2;                            // at least
  bool yields = false;                             // processors to whatever else wants them, steps above all
  std::function<absl::Time()> clock = steady_now;  // of deadlines
};

class Worker {
 public:
  explicit Worker(WorkerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // RESOURCE_EXHAUSTED when the queue is full, or a client has more than its share of it (as in JobQueue); UNAVAILABLE
  // once draining. `task` is then not called. One is called once: with OK when its turn has come, with why no call
  // waits for it, or with UNAVAILABLE where a drain gave up before.
  using Task = std::function<void(const absl::Status& turn)>;
  absl::Status submit(const Call& call, Task task) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes nothing new and finishes what waits. False if the limit passed first: what waited is then refused, and what
  // runs is to stop; no caller should be told any more that it was done.
  bool drain(absl::Duration limit) ABSL_LOCKS_EXCLUDED(mutex_);
  bool gave_up() const { return gave_up_.load(); }

 private:
  struct Item {
    Call call;
    Task task;
  };

  void run() ABSL_LOCKS_EXCLUDED(mutex_);
  void do_task(Item item, const absl::Status& turn) ABSL_LOCKS_EXCLUDED(mutex_);
  void do_gone() ABSL_LOCKS_EXCLUDED(mutex_);  // tasks that no caller waits for
  absl::Status gone(const Call& call) const { return abandoned(call, options_.clock()); }
  bool may_begin(const Item& item) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool is_idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return shares_.total() == 0; }

  const WorkerOptions options_;
  absl::Mutex mutex_;
  absl::CondVar news_;
  TurnQueue<Item> waiting_ ABSL_GUARDED_BY(mutex_);
  QueueShares shares_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, unsigned> running_ ABSL_GUARDED_BY(mutex_);  // by caller
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> gave_up_{false};
  std::vector<std::thread> threads_;
};

}  // namespace axion::server::schedule
