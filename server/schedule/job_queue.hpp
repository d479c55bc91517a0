// A bounded, closable queue of work between many producers and one consumer, and who may do the work.
//
// The bound counts what is admitted and not yet finished, not merely what has not been fetched: the consumer may fetch
// everything at once to choose among it. Refuses instead of blocking; a producer is a thread that must not wait.
// Items may be of clients, by name, each of which has its share of the room (queue_shares.hpp).
//
// At most one thread owns the work at a time. The consumer does, except while it waits in a fetch with nothing left to
// do: then a producer may own it, do its item itself and release it. That wakes no thread, where a push wakes the
// consumer. What an owner wrote is seen by the next.
#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/schedule/failure.hpp"
#include "server/schedule/queue_shares.hpp"

namespace axion::server::schedule {

template <typename T>
class JobQueue {
 public:
  explicit JobQueue(std::size_t capacity) : shares_(capacity) {}

  // RESOURCE_EXHAUSTED when full, UNAVAILABLE when closed; `item` is moved from only on success.
  absl::Status push(T& item, const std::string& client = "") ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (absl::Status status = admit(client); !status.ok()) return status;
    waiting_.push_back(std::move(item));
    return absl::OkStatus();
  }

  // As push, except that where the consumer waits and has no reason to wake up, the caller becomes the owner: `owner`
  // is then true and `item` is admitted but still the caller's, who finishes it and releases the work.
  absl::Status push_or_own(T& item, const std::string& client, bool& owner) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (absl::Status status = admit(client); !status.ok()) return status;
    owner = offered_ && !lent_ && !has_news();
    if (owner) {
      lent_ = true;
    } else {
      waiting_.push_back(std::move(item));
    }
    return absl::OkStatus();
  }

  // Ends what push_or_own began. `left`: there is work in hand that the consumer must go on with.
  void release(bool left) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    lent_ = false;
    woken_ = woken_ || left;
  }

  // Appends all that waits to `out`. Waits until there is something, the queue closes, it is woken, or `timeout`.
  // The consumer owns the work when it calls and when this returns; between, while `out` is empty, others may own it
  // and leave work in `out`.
  void fetch(std::vector<T>& out, absl::Duration timeout) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (timeout > absl::ZeroDuration()) {
      offered_ = out.empty();
      if (!mutex_.AwaitWithTimeout(absl::Condition(this, &JobQueue::consumer_may_go_on), timeout)) {
        woken_ = true;  // from here on no producer becomes the owner, so that the consumer does
        mutex_.Await(absl::Condition(this, &JobQueue::consumer_may_go_on));
      }
      offered_ = false;
    }
    woken_ = false;
    out.insert(out.end(), std::make_move_iterator(waiting_.begin()), std::make_move_iterator(waiting_.end()));
    waiting_.clear();
  }

  // The consumer is done with an item of this client.
  void finished(const std::string& client = "") ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    shares_.give_back(client);
  }

  // Makes a waiting fetch return.
  void wake() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    woken_ = true;
  }

  void close() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    closed_ = woken_ = true;
  }

  bool closed() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return closed_;
  }

  // Admitted and not finished.
  std::size_t depth() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return shares_.total();
  }

  // What a refused producer is told.
  void set_retry_delay(absl::Duration delay) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    retry_delay_ = delay;
  }

 private:
  // Counts one more, if there is room.
  absl::Status admit(const std::string& client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (closed_) return draining();
    return shares_.take(client, retry_delay_);
  }
  bool has_news() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !waiting_.empty() || woken_; }
  bool consumer_may_go_on() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return has_news() && !lent_; }

  mutable absl::Mutex mutex_;
  std::vector<T> waiting_ ABSL_GUARDED_BY(mutex_);
  QueueShares shares_ ABSL_GUARDED_BY(mutex_);  // of what is admitted and not finished
  absl::Duration retry_delay_ ABSL_GUARDED_BY(mutex_) = absl::Milliseconds(20);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool woken_ ABSL_GUARDED_BY(mutex_) = false;
  bool offered_ ABSL_GUARDED_BY(mutex_) = false;  // the consumer waits with nothing left to do
  bool lent_ ABSL_GUARDED_BY(mutex_) = false;     // a producer owns the work
};

}  // namespace axion::server::schedule
