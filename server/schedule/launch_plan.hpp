// How a long step is cut into launches, so that short ones beside it are not held up.
//
// A stretch is what one launch does of a job: some of its steps, with the views moved to where they belong. The worlds go
// through the same steps with the same inputs however a job is cut, so the cut shows in no result.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"

#include "engine/engine.hpp"

#include "server/schedule/job.hpp"

namespace axion::server::schedule {

struct Stretch {
  std::int64_t step_count = 0;
  std::int64_t first_record = 0;  // records that earlier stretches wrote
  std::int64_t record_count = 0;  // records that this one writes
  StepRequest request;            // outputs refer to `outputs`
  std::vector<OutputView> outputs;
};

// The next stretch of a step of which `steps_done` are done, at most `cap` >= 1 steps long. `stretch.request` points into
// `stretch` and `work`: neither may move while it is used.
void plan_stretch(const StepWork& work, BatchHandle& batch, std::int64_t steps_done, std::int64_t cap,
                  Stretch& stretch);

// Chooses how many steps a launch may take so that it lasts about as long as wanted, from what launches lasted before.
class LaunchPacer {
 public:
  // Until there is a measurement, launches are this short.
  static constexpr std::int64_t kFirstCap = 4;
  LaunchPacer(absl::Duration shared_slice, absl::Duration alone_slice)
      : shared_slice_(shared_slice), alone_slice_(alone_slice) {}

  // Steps for a launch of `worlds`; a shorter launch if others wait, because they wait for its end.
  std::int64_t cap(std::int64_t worlds, bool others_wait) const;
  void measured(std::int64_t world_steps, absl::Duration duration);
  // How long a refused caller should stay away.
  absl::Duration retry_delay() const;

 private:
  absl::Duration shared_slice_, alone_slice_;
  double seconds_per_world_step_ = 0;  // 0: no measurement yet
  double seconds_per_launch_ = 0;
};

}  // namespace axion::server::schedule
