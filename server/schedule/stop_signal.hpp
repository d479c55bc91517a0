// That a thread is to end, for threads that do something every so often.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace axion::server::schedule {

class StopSignal {
 public:
  void set() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  // True once it is set, false after `pause`. By time that cannot be set: an absl::Notification waits for a time of
  // day, which may have become hours.
  bool wait_for(absl::Duration pause) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, absl::ToChronoNanoseconds(pause), [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

}  // namespace axion::server::schedule
