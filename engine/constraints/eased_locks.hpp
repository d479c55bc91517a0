// Which locks give way in a step: springs, soft locks, and locks that cannot be met.
//
// A joint that closes a loop, or an equality, holds to its tolerance, or gives way by a law of soft_laws.hpp. Soft ones
// do so in every step of a batch whose contacts are soft; others while no motion meets them (newton/easing.hpp), which
// the world remembers in `eased`. Joints of trees never do.
#pragma once

#include "engine/constraints/parameters.hpp"
#include "engine/model/step_settings.hpp"
#include "engine/model/world_state.hpp"

namespace axion::constraints {

// m/s: how fast what is far apart, or deep in each other, may become by being brought back.
template <typename Real>
AXION_HD inline Real fastest_pull(const model::StepSettings<Real>& s) {
  return Real(EasedLockParameters::kFastestPull) *
         (s.depenetration_velocity > Real(1) ? s.depenetration_velocity : Real(1));
}

// Of JointData or of the TendonData of an equality: whether its locks go by lock_law in this step.
template <typename Real, typename Locked>
AXION_HD inline bool goes_by_law(const model::ModelView<Real>& m, const model::WorldView<Real>& w, const Locked& lock) {
  return lock.softness >= 0 && ((lock.is_soft && m.is_soft) || w.eased[lock.softness] > Real(0));
}

// Whether its locks give way, by such a law or as springs.
template <typename Real>
AXION_HD inline bool gives_way(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::JointData<Real>& joint) {
  return joint.lock_stiffness > 0 || goes_by_law(m, w, joint);
}
template <typename Real>
AXION_HD inline bool gives_way(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::TendonData<Real>& equality) {
  return equality.stiffness > 0 || goes_by_law(m, w, equality);
}

// How far off the worst of those is that were eased in the last step, m or rad; 0 where none was.
template <typename Real>
AXION_HD inline Real greatest_easing(const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  Real most = 0;
  for (int i = 0; i < m.lock_softness_count; ++i) most = w.eased[i] > most ? w.eased[i] : most;
  return most;
}

}  // namespace axion::constraints
