// Options of the cases with known answers: preset DEFAULT, solved to rounding.
#pragma once

#include "engine/model/solver_options.hpp"

namespace axion::testing {

// The stop test may ask for 1e-11 of g·h in float64; in float32 what rounding leaves of each row is always more, and
// takes its place. Without contact compliance, because the closed formulas know none (a corner that nearly lifts tilts
// a cube by 1e-7 rad with it).
inline model::SolverOptions exact_options(model::JointMode mode = model::JointMode::kBlended) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.tolerance = 1e-11;
  options.contact_compliance = 0;
  options.joint_mode = mode;
  return options;
}

}  // namespace axion::testing
