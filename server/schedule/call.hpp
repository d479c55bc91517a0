// The call that waits for a job or a task, and whether anybody still waits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

#include "server/schedule/tenant.hpp"

namespace axion::server::schedule {

// Set by the thread that learns that no caller waits for an answer any more; read by the one that works for it.
class CancelFlag {
 public:
  void set() { cancelled_.store(true, std::memory_order_relaxed); }
  bool is_set() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
};

// When a job was where, for a trace of its call: times of the batcher's clock. Written by the device's owner, and read
// once the job's sink has been called.
struct JobTimes {
  static constexpr std::size_t kMaxLaunches = 32;  // further ones lengthen the last
  struct Launch {
    absl::Time begin;
    absl::Time engine_begin = absl::InfiniteFuture(), engine_end = absl::InfiniteFuture();  // of a step alone
    absl::Time end = absl::InfiniteFuture();                                                // as the answer is made
  };
  absl::Time admitted = absl::InfiniteFuture();
  std::vector<Launch> launches;
  std::int64_t launch_count = 0;

  void add(const Launch& launch) {
    ++launch_count;
    if (launches.size() < kMaxLaunches) {
      launches.push_back(launch);
    } else {
      launches.back().engine_end = launch.engine_end;
      launches.back().end = launch.end;
    }
  }
};

struct Call {
  // Who calls, for shares of the queue: calls with the same name are one client, a connection. Empty: the server
  // itself.
  std::string client{};
  // Whose it is, for turns; the weight is how many of them it has for one of another.
  std::string tenant{};
  double weight = 1;
  absl::Time deadline = absl::InfiniteFuture();
  std::shared_ptr<const CancelFlag> cancel{};  // none: cannot be cancelled
  std::shared_ptr<JobTimes> times{};           // none: no trace is wanted
  bool lends_thread = false;                   // a short step may run within submit(), on the thread that calls it
};

// Whose turns the call takes.
inline void name_caller(const Tenant& tenant, Call& call) {
  call.tenant = tenant.name;
  call.weight = tenant.quota.weight > 0 ? static_cast<double>(tenant.quota.weight) : 1.0;
}

// Why no caller waits for a call any more, of whose steps so many were made, or OK.
absl::Status abandoned(const Call& call, absl::Time now, std::int64_t steps_done = 0);

}  // namespace axion::server::schedule
