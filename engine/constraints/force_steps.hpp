// The times that forces act in a step, and what one step owes to the next.
//
// Impulses along J(q⁻) make a leapfrog, whose velocities belong to the middle of a step: they are kicked at q⁻ by half
// a step of the forces of the step before and half a step of its own. From a state that was set, whose velocities
// belong to its instant, the first step takes half of the forces, and owes the other half, with the controls and
// wrenches that it was made with. A blended joint leaves the leapfrog by its weight w (geometric_stiffness.hpp) and
// then owes no more than (1 − w)/2: what is paid back acts in the step in which w is first seen. Debts only fall, so
// that weights that come and go do not shake the forces. What rests on others when a new wrench takes hold of it starts
// anew: half of the last wrench and half of the new one together may be within the cone of friction that the new one
// leaves.
//
// In: blending weights, the debts of the last step. Out: body_force_step, joint_force_step, the debts and times owed.
// Cost: linear in bodies and joints.
#pragma once

#include "engine/constraints/geometric_stiffness.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/math/constants.hpp"

namespace axion::constraints {

// Whether body b, whose wrench is another than in the last step, rests on others.
template <typename Real>
AXION_HD_CALL bool rests_under_new_wrench(const model::WorldView<Real>& w, int b, Real dt) {
  const Real most = Real(ForceStepParameters::kAtRest * math::kGravity) * dt;
  if (w.force[b] == w.force_before[b] && w.torque[b] == w.torque_before[b]) return false;
  if (!(math::dot(w.v[b], w.v[b]) < most * most) || !(math::dot(w.omega[b], w.omega[b]) < most * most)) return false;
  for (int i = 0; i < w.record->contact_count; ++i) {
    const bool touches = w.contacts[i].body_a == b || w.contacts[i].body_b == b;
    if (touches && w.lambda_contact[3 * i] > 0) return true;
  }
  return false;
}

// Blending weights, force steps and times owed. Needs start_joints and weigh_axes.
template <typename Real, typename Team>
AXION_HD_CALL void choose_force_steps(const Team& team, const model::ModelView<Real>& m,
                                      const model::WorldView<Real>& w, const model::StepSettings<Real>& s) {
  const bool blended = s.joint_mode == model::JointMode::kBlended;
  if (blended) blend_weights(team, m, w, s.dt);
  const bool is_new = w.state_is_new[0] != 0;
  const auto take = [&](Real weight, Real& debt, Real& owed, Real& time) {
    const Real before = is_new ? Real(0) : debt, most = s.half_step_start ? (1 - weight) / 2 : Real(0);
    debt = is_new || most < before ? most : before;
    owed = before * s.dt;
    time = (1 + before - debt) * s.dt;
  };
  team.for_each(m.body_count, [&](int b) {
    take(blended && !is_new ? blend_weight(w.constraints.stiffness_ratio[b]) : Real(0), w.body_force_debt[b],
         w.constraints.body_time_owed[b], w.body_force_step[b]);
    if (is_jointed(m.bodies[b]) || !(w.constraints.body_time_owed[b] > 0) || !rests_under_new_wrench(w, b, s.dt))
      return;
    w.body_force_step[b] -= w.constraints.body_time_owed[b];
    w.constraints.body_time_owed[b] = 0;
  });
  team.for_each(m.joint_count + m.spatial_count, [&](int j) {
    take(blended && !is_new ? w.blend[j] : Real(0), w.joint_force_debt[j], w.constraints.joint_time_owed[j],
         w.joint_force_step[j]);
  });
}

}  // namespace axion::constraints
