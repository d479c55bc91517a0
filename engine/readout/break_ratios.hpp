// What joints carry beside the limits that a scene gives them: the field break_ratio.
//
// Of the locks of a joint, those of translations have the force F = Σ λ l/t and those of rotations the torque
// T = Σ λ k/t, about the anchor, t the time that forces act in the step. The ratio is the greatest of |F|/F_max and
// |T|/T_max over all steps since a reset or a new state. What acts along a joint's free axes is no part of it: motors,
// springs, limits. Nothing breaks by itself; what a passed limit means is up to clients. Cost: the locks of such
// joints.
#pragma once

#include "engine/model/user_layout.hpp"
#include "engine/problem/step_system.hpp"

namespace axion::readout {

// After a step that was accepted; needs its scratch.
template <typename Real, typename Team>
AXION_HD_RARE void note_break_ratios(const Team& team, const model::ModelView<Real>& m,
                                     const model::WorldView<Real>& w) {
  team.for_each(m.break_count, [&](int i) {
    const model::BreakData<Real>& limits = m.breaks[i];
    const model::JointData<Real>& joint = m.joints[limits.joint];
    math::Vec3<Real> force{}, torque{};
    const int turning = joint.lock_start + joint.translation_lock_count;
    for (int row = joint.lock_start; row < turning; ++row) force += w.lambda_joint[row] * w.row_force[row].l;
    for (int row = turning; row < turning + joint.rotation_lock_count; ++row) {
      torque += w.lambda_joint[row] * w.row_force[row].k_a;
    }
    const Real rate = 1 / w.joint_force_step[limits.joint];
    const Real of_force = limits.inverse_force * (rate * math::norm(force));
    const Real of_torque = limits.inverse_torque * (rate * math::norm(torque));
    Real& most = w.break_ratio[i];
    if (of_force > most) most = of_force;
    if (of_torque > most) most = of_torque;
  });
}

// Of a joint as users have it.
template <typename Real>
AXION_HD inline Real break_ratio_of(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                    const model::UserJoint& joint) {
  if (joint.kind == model::JointKind::kFree) return 0;
  for (int i = 0; i < m.break_count; ++i) {
    if (m.breaks[i].joint == joint.joint) return w.break_ratio[i];
  }
  return 0;
}

}  // namespace axion::readout
