// Time that cannot be set: what leases, deadlines and waits go by.
//
// The machine's clock may be set by hours, forwards or back, while a server runs. Leases must not run out for that, nor
// last for ever.
#pragma once

#include <chrono>

#include "absl/time/time.h"

namespace axion::server::schedule {

// The time of day. absl::Now takes it from the kernel every other second and goes by the processor's cycles between,
// so that for so long it does not see that the clock was set.
inline absl::Time time_of_day() { return absl::FromChrono(std::chrono::system_clock::now()); }

// The time of day when this was first asked for, and what has passed since. Any thread.
inline absl::Time steady_now() {
  struct Start {
    absl::Time wall = time_of_day();
    std::chrono::steady_clock::time_point steady = std::chrono::steady_clock::now();
  };
  static const Start start;
  return start.wall + absl::FromChrono(std::chrono::steady_clock::now() - start.steady);
}

// A steady time as the clock shows it now. What it was set by in less than a second is not told apart from the time
// between two looks.
inline absl::Time wall_time(absl::Time steady) {
  const absl::Duration ahead = time_of_day() - steady_now();
  return absl::AbsDuration(ahead) < absl::Seconds(1) ? steady : steady + ahead;
}
// A time that was read from the clock a moment ago.
inline absl::Time steady_time(absl::Time wall) { return wall + (steady_now() - time_of_day()); }

}  // namespace axion::server::schedule
