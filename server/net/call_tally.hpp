// What the calls of each connection came to since the last look, for whoever keeps the door.
#pragma once

#include <cstddef>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace axion::server::net {

struct CallCounts {
  std::size_t asked = 0;       // messages that came in whole
  std::size_t taken_back = 0;  // calls that the client ended before it had their answer
};

// By the name of the connection, as connection_name() gives it.
using CallsByConnection = absl::flat_hash_map<std::string, CallCounts>;

// Thread-safe.
class CallTally {
 public:
  void on_message(const std::string& connection) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++calls_[connection].asked;
  }
  void on_taken_back(const std::string& connection) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++calls_[connection].taken_back;
  }
  // What has been counted since the last time.
  CallsByConnection take() ABSL_LOCKS_EXCLUDED(mutex_) {
    CallsByConnection taken;
    absl::MutexLock lock(&mutex_);
    taken.swap(calls_);
    return taken;
  }

 private:
  absl::Mutex mutex_;
  CallsByConnection calls_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace axion::server::net
