// What the calls of each connection came to since the last look, for whoever keeps the door.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace axion::server::net {

struct CallCounts {
  std::size_t asked = 0;       // calls whose first message came in whole
  std::size_t taken_back = 0;  // calls that the client ended before it had their answer
  std::size_t open = 0;        // calls that are under way now
};

// Messages that came in whole.
struct MessageCounts {
  std::uint64_t count = 0, bytes = 0;
};

// By the name of the connection, as connection_name() gives it.
using CallsByConnection = absl::flat_hash_map<std::string, CallCounts>;
using MessagesByConnection = absl::flat_hash_map<std::string, MessageCounts>;

// Thread-safe.
class CallTally {
 public:
  void on_message(const std::string& connection) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++calls_[connection].asked;
  }
  // Any message of a call came in whole, the first one too.
  void on_bytes(const std::string& connection, std::uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    MessageCounts& counts = messages_[connection];
    ++counts.count;
    counts.bytes += bytes;
  }
  void on_taken_back(const std::string& connection) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++calls_[connection].taken_back;
  }
  void on_open(const std::string& connection) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++calls_[connection].open;
  }
  void on_closed(const std::string& connection) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    --calls_[connection].open;
  }
  // What has been counted since the last time, and what is open.
  CallsByConnection take() ABSL_LOCKS_EXCLUDED(mutex_) {
    CallsByConnection taken;
    absl::MutexLock lock(&mutex_);
    taken.swap(calls_);
    for (const auto& [connection, counts] : taken) {
      if (counts.open > 0) calls_[connection].open = counts.open;
    }
    return taken;
  }
  // What on_bytes() has counted since the last time.
  MessagesByConnection take_messages() ABSL_LOCKS_EXCLUDED(mutex_) {
    MessagesByConnection taken;
    absl::MutexLock lock(&mutex_);
    taken.swap(messages_);
    return taken;
  }

 private:
  absl::Mutex mutex_;
  CallsByConnection calls_ ABSL_GUARDED_BY(mutex_);
  MessagesByConnection messages_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace axion::server::net
