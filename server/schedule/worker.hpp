// Threads for work that needs no device but is too long for a thread that serves the network: compiling scenes.
#pragma once

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
  // once draining. `task` is then not called. Tasks begin in the order in which they came, and end as they will.
  absl::Status submit(const std::string& client, std::function<void()> task) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes nothing new and finishes what waits.
  void drain() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void run() ABSL_LOCKS_EXCLUDED(mutex_);
  bool has_news() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return closed_ || !tasks_.empty(); }

  absl::Mutex mutex_;
  std::deque<std::pair<std::string, std::function<void()>>> tasks_ ABSL_GUARDED_BY(mutex_);
  QueueShares shares_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace axion::server::schedule
