// The array that this room keeps when a step is solved: errors of the new poses.
#pragma once

#include "engine/model/world_state.hpp"

namespace axion::step {

using model::kJoints, model::Heat;

template <typename Real, typename Form = model::Placed>
struct StepScratch {
  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kEndOfStep>;

  Array<Real> anchor_error{"anchor_error", kJoints, Heat{178}};  // of the new poses, m
};

}  // namespace axion::step
