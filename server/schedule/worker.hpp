// Threads for work that needs no device but is too long for a thread that serves the network: compiling scenes.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/schedule/queue_shares.hpp"

namespace axion::server::schedule {

class Worker {
 public:
  // At most `max_queue` tasks wait or run, on that many threads; 0: half of the processors and at least two, so that a
  // long one holds up no others.
  explicit Worker(std::size_t max_queue, unsigned threads = 0);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // RESOURCE_EXHAUSTED when the queue is full, or a client has more than its share of it (as in JobQueue); UNAVAILABLE
  // once draining. `task` is then not called. Tasks begin in the order in which they came, and end as they will. One is
  // called once: with OK when its turn has come, or with UNAVAILABLE instead where a drain gave up before.
  using Task = std::function<void(const absl::Status& turn)>;
  absl::Status submit(const std::string& client, Task task) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes nothing new and finishes what waits. False if the limit passed first: what waited is then refused, and what
  // runs goes on; nobody should be told any more that it was done.
  bool drain(absl::Duration limit) ABSL_LOCKS_EXCLUDED(mutex_);
  bool gave_up() const { return gave_up_.load(); }

 private:
  void run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool has_news() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || !tasks_.empty(); }
  bool is_idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return shares_.total() == 0; }

  absl::Mutex mutex_;
  std::deque<std::pair<std::string, Task>> tasks_ ABSL_GUARDED_BY(mutex_);
  QueueShares shares_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> gave_up_{false};
  std::vector<std::thread> threads_;
};

}  // namespace axion::server::schedule
