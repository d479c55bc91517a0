// How a long step is cut into launches, so that what waits beside it is not held up.
//
// A launch lasts about as long as a slice. It is shared out among the tenants whose steps wait: each gets as much of it
// as it wants, or as much for its weight as any other (max-min fairness); and a tenant's part likewise among its steps.
// Where parts would be too small to be worth their launch, as many as it holds take part, by turns. Steps that are done
// in a small part of a slice, where others are not done in it, have every other launch to themselves: they else waited
// for the whole of a launch that the others fill, besides the one that they came in. What a launch does of a step is a
// stretch: some of its steps for all of its worlds or, where one step of all worlds is too long already, one step for
// some of them. The worlds go through the same steps with the same inputs however a step is cut, so the cut shows in no
// result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/time/time.h"

#include "engine/engine.hpp"

#include "server/schedule/job.hpp"

namespace axion::server::schedule {

struct Stretch {
  std::int64_t step_count = 0;
  std::size_t first_world = 0, world_count = 0;  // of those asked for, in their order
  std::int64_t first_record = 0;                 // records that earlier stretches wrote
  std::int64_t record_count = 0;                 // records that this one writes
  StepRequest request;                           // refers to what follows and to the step's inputs
  std::vector<OutputView> outputs;
  std::vector<std::int32_t> world_indices;  // where it is of some of the worlds
};

// Of a step of `steps` steps for `worlds` worlds: how much of it one launch may do.
struct Portion {
  std::int64_t steps = 1;
  std::size_t worlds = 1;  // 0: it has no part in this launch
};

// The next stretch of a job, at most `portion` long. `stretch.request` points into `stretch` and the job's work:
// neither may move while it is used.
void plan_stretch(const Job& job, const Portion& portion, Stretch& stretch);

// Seconds of `slice` for each of the jobs that want `demands` seconds: none gets more than it wants, nor more for its
// weight than another one that gets less than it wants. All of the slice is given where that much is wanted. No
// weights: 1.
std::vector<double> share_out(double slice, std::span<const double> demands, std::span<const double> weights = {});

// Keeps what a step of a world of each batch takes, and chooses portions so that a launch lasts as long as wanted.
class LaunchPacer {
 public:
  // World-steps in a batch's first launch, before anything is known of it.
  static constexpr std::int64_t kFirstWorldSteps = 4;
  LaunchPacer(absl::Duration shared_slice, absl::Duration alone_slice)
      : shared_slice_(shared_slice), alone_slice_(alone_slice) {}

  // The jobs that should have the next launch to themselves: jobs that a quarter of a shared slice is enough for, all
  // together, where some job is left over. Empty where there are none.
  std::vector<Job*> quick(std::span<Job* const> jobs) const;
  // A portion for each job of the next launch, first whose turn it is; a shorter launch if others wait, because they
  // wait for its end.
  std::vector<Portion> portions(std::span<Job* const> jobs, bool others_wait) const;
  // What a launch of these stretches lasted; keeps it with their batches.
  struct Part {
    BatchHandle* batch = nullptr;
    std::int64_t world_steps = 0;
  };
  void measured(std::span<const Part> parts, absl::Duration duration);
  // How long a refused caller should stay away.
  absl::Duration retry_delay() const;

 private:
  Portion portion_of(const Job& job, double share) const;

  absl::Duration shared_slice_, alone_slice_;
  double seconds_per_launch_ = 0;
};

}  // namespace axion::server::schedule
