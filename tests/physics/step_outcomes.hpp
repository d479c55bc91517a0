// What a run of a scene came to, by the outcomes of its steps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tests/support/single_world.hpp"

namespace axion::step_outcomes {

inline model::SolverOptions options(bool soft) {
  model::SolverOptions o;
  if (soft) o.contact_softness = model::ContactSoftness::kMjcf;
  return o;
}

// What a run of a scene came to.
struct Outcomes {
  int steps = 0, converged = 0, eased = 0, overlap = 0;
  double fastest = 0, joint_error = 0, last_speed = 0;
};

template <typename Real>
Outcomes step_on(testing::SingleWorld<Real>& world, int steps) {
  Outcomes run;
  for (int i = 0; i < steps; ++i) {
    world.step();
    const std::uint32_t bits = world.record().outcome;
    ++run.steps, run.converged += (bits & step::kConvergedBit) != 0;
    run.eased += (bits & step::kEasedBit) != 0, run.overlap += (bits & step::kOverlapBit) != 0;
    run.joint_error = std::max(run.joint_error, double(world.record().max_joint_error));
    run.last_speed = 0;
    for (int b = 0; b < world.model().body_count; ++b) {
      run.last_speed = std::max(run.last_speed, double(math::norm(world.world().v[b])));
    }
    run.fastest = std::max(run.fastest, run.last_speed);
  }
  return run;
}

}  // namespace axion::step_outcomes
