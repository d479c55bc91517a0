// The array that this room keeps when a step is solved: errors of the new poses.
#pragma once

#include "engine/model/world_state.hpp"

namespace axion::step {

template <typename Real>
struct StepScratch {
  Real* anchor_error;  // [nj] of the new poses, m
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, StepScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  f(kEndOfStep, "anchor_error", w.anchor_error, m.joint_count);
}

}  // namespace axion::step
