// What the calls of each connection came to since the last look, for the acceptor.
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
using BytesByConnection = absl::flat_hash_map<std::string, std::uint64_t>;

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
  // An answer waits to be sent, and has been sent or given up.
  void on_answer(const std::string& connection, std::uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    waiting_[connection] += bytes;
  }
  void on_answered(const std::string& connection, std::uint64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto found = waiting_.find(connection);
    if ((found->second -= bytes) == 0) waiting_.erase(found);
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
  // Answers that wait now.
  BytesByConnection waiting() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return waiting_;
  }

 private:
  mutable absl::Mutex mutex_;
  CallsByConnection calls_ ABSL_GUARDED_BY(mutex_);
  MessagesByConnection messages_ ABSL_GUARDED_BY(mutex_);
  BytesByConnection waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace axion::server::net
