// Answers that a connection has been given and its client does not take.
//
// A client that reads nothing leaves the windows of HTTP/2 shut: its answers wait in this process for as long as it
// likes, however long the connection. One that is slow is no such client: bytes go out to it.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace axion::server::net {

class Unread {
 public:
  // `sent` over the connection since it began and taken by the other end, and what waits now, bytes.
  void update(std::uint64_t sent, std::uint64_t waiting, absl::Time now);

  // What waits of a client that has taken next to nothing for a while; 0 of one that takes its answers.
  std::uint64_t bytes() const { return is_stuck_ ? waiting_ : 0; }
  // For how long it has waited, each byte.
  double byte_seconds() const { return is_stuck_ ? byte_seconds_ : 0; }

 private:
  std::uint64_t waiting_ = 0, sent_then_ = 0;
  absl::Time then_ = absl::InfinitePast(), last_ = absl::InfinitePast();
  double byte_seconds_ = 0;
  bool is_stuck_ = false;
};

}  // namespace axion::server::net
