// What a connection has sent that is no whole message yet, and for how long.
//
// It is not told: gRPC keeps the bytes of a message until it is whole and says nothing meanwhile. It is what came in
// over the connection, less the messages that came in whole, less what HTTP/2, TLS and gRPC put around them. Never less
// than nothing, and more than there is where a client took back a call whose message was under way.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

#include "server/net/call_tally.hpp"

namespace axion::server::net {

// What has gone over a connection since it began, bytes.
struct Flow {
  std::uint64_t received = 0, sent = 0;
};

// Zero where the descriptor is no connection.
Flow flow_of(int descriptor);

class Unfinished {
 public:
  explicit Unfinished(absl::Time now) : last_(now) {}

  // `flow` as of now, `whole` since the last time.
  void update(const Flow& flow, const MessageCounts& whole, absl::Time now);

  std::uint64_t bytes() const { return bytes_; }
  // For how long they have lain there, each byte. Zero while they are few.
  double byte_seconds() const { return byte_seconds_; }
  // Bytes that came in between the last two updates.
  std::uint64_t fresh() const { return fresh_; }
  std::uint64_t received() const { return flow_.received; }

 private:
  Flow flow_;
  absl::Time last_;
  std::uint64_t bytes_ = 0, fresh_ = 0;
  double byte_seconds_ = 0;
};

}  // namespace axion::server::net
