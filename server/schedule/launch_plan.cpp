#include "server/schedule/launch_plan.hpp"

#include <algorithm>

namespace axion::server::schedule {

void plan_stretch(const StepWork& work, BatchHandle& batch, std::int64_t steps_done, std::int64_t cap,
                  Stretch& stretch) {
  const std::int64_t remaining = work.step_count - steps_done;
  const std::int64_t every = work.record_every;
  std::int64_t count = std::min(remaining, cap);
  std::int64_t engine_every = 0;
  if (every > 0) {
    stretch.first_record = steps_done / every;
    const std::int64_t since_record = steps_done % every;
    if (since_record == 0 && count >= every) {
      count -= count % every;  // whole records
      engine_every = every;
      stretch.record_count = count / every;
    } else {
      count = std::min(count, every - since_record);  // up to the next record, which is then this stretch's last step
      stretch.record_count = (since_record + count == every) ? 1 : 0;
    }
  } else {
    stretch.record_count = (count == remaining) ? 1 : 0;
  }

  stretch.outputs.clear();
  if (stretch.record_count > 0) {
    for (OutputView view : work.outputs) {
      view.data += static_cast<std::size_t>(stretch.first_record) * view.record_stride;
      stretch.outputs.push_back(view);
    }
  }
  stretch.step_count = count;
  StepRequest& request = stretch.request;
  request.batch = batch.engine.get();
  request.world_indices = work.world_indices;
  request.step_count = static_cast<int>(count);
  request.control = work.control;
  if (request.control.data != nullptr) {
    request.control.data += static_cast<std::size_t>(steps_done) * request.control.step_stride;
  }
  request.body_wrench = work.body_wrench;
  request.record_every = static_cast<int>(engine_every);
  request.outputs = stretch.outputs;
}

std::int64_t LaunchPacer::cap(std::int64_t worlds, bool others_wait) const {
  if (seconds_per_world_step_ <= 0) return kFirstCap;
  const double slice = absl::ToDoubleSeconds(others_wait ? shared_slice_ : alone_slice_);
  const double steps = slice / (seconds_per_world_step_ * static_cast<double>(std::max<std::int64_t>(worlds, 1)));
  return static_cast<std::int64_t>(std::clamp(steps, 1.0, 1e6));
}

void LaunchPacer::measured(std::int64_t world_steps, absl::Duration duration) {
  if (world_steps <= 0) return;
  constexpr double kWeight = 0.25;  // of the newest: follows a change within a few launches, forgets a hiccup as fast
  const double seconds = absl::ToDoubleSeconds(duration);
  const double cost = seconds / static_cast<double>(world_steps);
  seconds_per_world_step_ += (seconds_per_world_step_ > 0 ? kWeight : 1.0) * (cost - seconds_per_world_step_);
  seconds_per_launch_ += (seconds_per_launch_ > 0 ? kWeight : 1.0) * (seconds - seconds_per_launch_);
}

absl::Duration LaunchPacer::retry_delay() const {
  return std::clamp(absl::Seconds(4 * seconds_per_launch_), absl::Milliseconds(5), absl::Seconds(1));
}

}  // namespace axion::server::schedule
