// What the clients of a bounded queue hold of it.
//
// Of n clients that have items none may have more than one part in n + 1 of the room, so that one more client always
// finds some. Items of no client (an empty name) are bounded by the room alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

#include "server/schedule/failure.hpp"

namespace axion::server::schedule {

class QueueShares {
 public:
  explicit QueueShares(std::size_t capacity) : capacity_(capacity) {}

  // Counts one more item of the client. RESOURCE_EXHAUSTED where the queue or the client's share of it is full.
  absl::Status take(const std::string& client, absl::Duration retry_delay) {
    if (total_ >= capacity_) return queue_full(capacity_, retry_delay);
    if (!client.empty()) {
      const auto held = held_.find(client);
      const std::size_t clients = held_.size() + (held == held_.end() ? 1 : 0);
      const std::size_t share = std::max<std::size_t>(capacity_ / (clients + 1), 1);
      if (held != held_.end() && held->second >= share) return queue_share_full(share, capacity_, retry_delay);
      ++held_[client];
    }
    ++total_;
    return absl::OkStatus();
  }

  // One item less of the client.
  void give_back(const std::string& client) {
    --total_;
    if (client.empty()) return;
    const auto held = held_.find(client);
    if (--held->second == 0) held_.erase(held);
  }

  std::size_t total() const { return total_; }

 private:
  std::size_t capacity_, total_ = 0;
  absl::flat_hash_map<std::string, std::size_t> held_;
};

}  // namespace axion::server::schedule
