// What one server will take. Every limit is named in the error that it causes.
#pragma once

#include <cstdint>

#include "absl/time/time.h"

namespace axion::server::schedule {

struct Limits {
  absl::Duration model_ttl = absl::InfiniteDuration();    // of a model that no call names and no batch uses
  absl::Duration asset_idle_timeout = absl::Seconds(60);  // of uploads and downloads whose client stands still
  std::int64_t max_message_bytes = 64 << 20;              // either direction
  std::int64_t max_worlds = 65536;                        // of all batches together
  std::int64_t max_models = 1024;
  std::int64_t max_queue = 4096;     // jobs admitted and not finished
  std::int64_t max_connections = 0;  // of clients; 0: what the limit of open files allows
  std::int64_t max_steps_per_request = 1'000'000;
  // Requests of one stream. Enough to hide a round trip, and little enough that hundreds of streams fit the queue; a
  // client that sends more is held back by flow control, not refused.
  std::int64_t max_stream_in_flight = 16;
  std::int64_t max_streams = 4096;  // streams of StepStream that a tenant may have open
  std::int64_t max_watches = 64;    // streams of Watch, likewise
};

}  // namespace axion::server::schedule
