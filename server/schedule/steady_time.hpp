// Time that nobody sets: what leases, deadlines and waits go by.
//
// The machine's clock may be set by hours, forwards or back, while a server runs. Leases must not run out for that, nor
// last for ever.
#pragma once

#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace axion::server::schedule {

// The time of day when this was first asked for, and what has passed since. Any thread.
inline absl::Time steady_now() {
  struct Start {
    absl::Time wall = absl::Now();
    std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();
  };
  static const Start start;
  return start.wall + absl::FromChrono(std::chrono::steady_clock::now() - start.steady);
}

// A steady time as the clock shows it now. What it was set by in less than a second is not told apart from the time
// between two looks.
inline absl::Time wall_time(absl::Time steady) {
  const absl::Duration ahead = absl::Now() - steady_now();
  return absl::AbsDuration(ahead) < absl::Seconds(1) ? steady : steady + ahead;
}
// A time that was read from the clock a moment ago.
inline absl::Time steady_time(absl::Time wall) { return wall + (steady_now() - absl::Now()); }

}  // namespace axion::server::schedule
