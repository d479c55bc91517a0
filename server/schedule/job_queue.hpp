// A bounded, closable queue of work between many producers and one consumer.
//
// The bound counts what is admitted and not yet finished, not merely what has not been fetched: the consumer may fetch
// everything at once to choose among it. Refuses instead of blocking; a producer is a thread that must not wait.
#pragma once

#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {

template <typename T>
class JobQueue {
 public:
  explicit JobQueue(std::size_t capacity) : capacity_(capacity) {}

  // RESOURCE_EXHAUSTED when full, UNAVAILABLE when closed; `item` is moved from only on success.
  absl::Status push(T& item) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (closed_) return draining();
    if (admitted_ >= capacity_) return queue_full(capacity_, retry_delay_);
    ++admitted_;
    waiting_.push_back(std::move(item));
    return absl::OkStatus();
  }

  // Appends all that waits to `out`. Waits until there is something, the queue is closed, it is woken, or `timeout`.
  void fetch(std::vector<T>& out, absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (timeout > absl::ZeroDuration()) mutex_.AwaitWithTimeout(absl::Condition(this, &JobQueue::has_news), timeout);
    woken_ = false;
    out.insert(out.end(), std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
    waiting_.clear();
  }

  // The consumer is done with `count` items.
  void finished(std::size_t count) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    admitted_ -= count;
  }

  // Makes a waiting fetch return.
  void wake() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    woken_ = true;
  }

  void close() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
  }

  bool closed() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return closed_;
  }

  // Admitted and not finished.
  std::size_t depth() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return admitted_;
  }

  // What a refused producer is told.
  void set_retry_delay(absl::Duration delay) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    retry_delay_ = delay;
  }

 private:
  bool has_news() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !waiting_.empty() || closed_ || woken_; }

  const std::size_t capacity_;
  mutable absl::Mutex mutex_;
  std::vector<T> waiting_ ABSL_GUARDED_BY(mutex_);
  std::size_t admitted_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration retry_delay_ ABSL_GUARDED_BY(mutex_) = absl::Milliseconds(20);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace axion::server::schedule
