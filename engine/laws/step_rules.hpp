// The settings of a step, and how an iteration of an attempt goes about it, as laws are linearised: numbers alone.
#pragma once

#include "engine/model/step_settings.hpp"

namespace axion::laws {

template <typename Real>
struct StepRules {
  const model::StepSettings<Real>& s;
  model::JointMode joint_mode;
  Real proximal_scale, load_proximal;
  bool follows_slip, exact_turning;
  bool symmetric, has_start_rows;  // whether the solver wants a symmetric matrix; joint rows are those at q⁻
};

}  // namespace axion::laws
