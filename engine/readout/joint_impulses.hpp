// What joints exert: the field joint_impulse, which sensors of forces read too.
//
// In: a step that was accepted, with its scratch. Out: joint_impulse and joint_angular_impulse of the state. Cost:
// linear in the rows of joints. Cannot fail.
#pragma once

#include "engine/constraints/constraint_rows.hpp"
#include "engine/problem/step_system.hpp"

namespace axion::readout {

// Calls add(row, impulse) with what tendons and equalities give the child of a joint by its axes; plain motors have
// theirs among the impulses of the axes.
template <typename Real, typename F>
AXION_HD_RARE void add_tendons_of_joint(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                        const model::JointData<Real>& joint, F&& add) {
  const int end = m.axis_term_start[joint.axis_start + joint.axis_count];
  for (int k = m.axis_term_start[joint.axis_start]; k < end; ++k) {
    const int term = m.axis_terms[k];
    const model::TendonData<Real>& tendon = m.tendons[m.tendon_terms[term].tendon];
    const model::Row<Real>& row = w.tendon_force[term];
    if (tendon.axis < 0) {
      add(row, w.lambda_joint[tendon.lock]);
      continue;
    }
    const model::AxisData<Real>& axis = m.axes[tendon.axis];
    add(row, w.lambda_joint[m.axis_base() + tendon.axis]);
    for (int e = 0; e < axis.effort_count; ++e) add(row, w.lambda_joint[m.effort_base() + axis.effort_start + e]);
    if (axis.limit < 0) continue;
    const Real lambda = w.lambda_joint[m.limit_base() + axis.limit];
    add(row, w.limit_side[axis.limit] < 0 ? lambda : -lambda);
  }
}

// What each joint did to its child in the step just made: locks, axes, limits, efforts and motors (by the axis row, or
// plain). Needs that step's scratch.
template <typename Real, typename Team>
AXION_HD inline void keep_joint_impulses(const Team& team, const model::ModelView<Real>& m,
                                         const model::WorldView<Real>& w) {
  team.for_each(m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = m.joints[j];
    math::Vec3<Real> impulse{}, angular_impulse{};
    const auto add = [&](const model::Row<Real>& row, Real lambda) {
      impulse += lambda * row.l;
      angular_impulse += lambda * row.k_a;
    };
    const int locks = joint.translation_lock_count + joint.rotation_lock_count;
    for (int i = joint.lock_start; i < joint.lock_start + locks; ++i) add(w.row_force[i], w.lambda_joint[i]);
    if (m.tendon_count > 0) add_tendons_of_joint(m, w, joint, add);
    for (int axis = joint.axis_start; axis < joint.axis_start + joint.axis_count; ++axis) {
      const model::Row<Real>& row = w.row_start[m.axis_base() + axis];
      add(row, w.lambda_joint[m.axis_base() + axis]);
      add(row, w.axis_impulse[axis]);
      const int first = m.effort_base() + m.axes[axis].effort_start;
      for (int k = 0; k < m.axes[axis].effort_count; ++k) add(row, w.lambda_joint[first + k]);
      const int limit = m.axes[axis].limit;
      if (limit < 0) continue;
      const Real lambda = w.lambda_joint[m.limit_base() + limit];
      add(row, w.limit_side[limit] < 0 ? lambda : -lambda);
    }
    w.joint_impulse[j] = impulse;
    w.joint_angular_impulse[j] = angular_impulse;
  });
}

}  // namespace axion::readout
