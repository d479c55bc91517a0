// The result of a step taken over as the state of the world, if it is finite.
//
// In: the iterate at which Newton ended. Out: poses, velocities, coordinates and impulses of the state; penetration and
// joint error of the new state in the record. Cost: linear in bodies and rows. Cannot fail.
#pragma once

#include <type_traits>

#include "engine/collide/review_contacts.hpp"
#include "engine/constraints/activations.hpp"
#include "engine/constraints/contact_rebounds.hpp"
#include "engine/constraints/rotation_map.hpp"
#include "engine/newton/easing.hpp"
#include "engine/newton/start.hpp"
#include "engine/step/step_scratch.hpp"

namespace axion::step {

using constraints::OverlapParameters;

// contact_margin without what soft contacts add to it (suit_settings).
template <typename Real>
AXION_HD inline Real deep_margin(const model::ModelView<Real>& m, const model::StepSettings<Real>& s) {
  return m.is_soft ? s.contact_margin - m.soft_margin : s.contact_margin;
}

template <typename Real>
AXION_HD inline bool finite(const math::Vec3<Real>& a) {
  const Real s = a.x + a.y + a.z;
  return s - s == Real(0);
}

// Whether the whole iterate is finite.
template <typename Real, typename Team>
AXION_HD inline bool iterate_is_finite(const Team& team, const solver::Problem<Real>& p) {
  const Real bad_bodies = team.template max<Real>(p.m.body_count, [&](int b) {
    const bool ok =
        finite(p.w.x_plus[b]) && finite(p.w.v_plus[b]) && finite(p.w.omega_plus[b]) && finite(p.w.q_plus[b].vec());
    return ok ? Real(0) : Real(1);
  });
  const Real bad_rows = team.template max<Real>(
      p.row_count(), [&](int i) { return p.w.lambda[i] - p.w.lambda[i] == Real(0) ? Real(0) : Real(1); });
  return bad_bodies == Real(0) && bad_rows == Real(0);
}

// Orientation and angular velocity of body b after the step. Free bodies alone have rests; joints and contacts of
// others have tolerances far above rounding. A state that was set has no rests.
template <typename Real>
AXION_HD inline void accept_turning(const solver::Problem<Real>& p, int b) {
  const auto& w = p.w;
  const math::Vec3<Real>& inertia = p.m.bodies[b].inertia;
  const bool split = p.s.gyroscopic_mode == model::GyroscopicMode::kSplit;
  if (split && !std::is_same_v<constraints::Wide<Real>, Real> && !constraints::is_jointed(p.m.bodies[b])) {
    constraints::Turning<Real> start{w.q[b], w.q_rest[b], w.omega_plus[b], w.omega_rest[b]};
    if (w.state_is_new[0] != 0) start.q_rest = {0, 0, 0, 0}, start.omega_rest = {};
    const constraints::Turning<Real> end = constraints::turn_freely(start, inertia, p.s.dt);
    w.q[b] = end.q, w.q_rest[b] = end.q_rest, w.omega[b] = end.omega, w.omega_rest[b] = end.omega_rest;
    return;
  }
  const math::Vec3<Real> omega = w.omega_plus[b];
  w.omega[b] = split ? constraints::carry_momentum(w.q[b], w.q_plus[b], inertia, omega) : omega;
  w.q[b] = w.q_plus[b];
}

// State, coordinates and impulses after the step; penetration and joint error of the new state.
template <typename Real, typename Team>
AXION_HD_CALL void accept(const Team& team, const solver::Problem<Real>& p) {
  const auto& w = p.w;
  team.for_each(p.contact_count, [&](int i) {
    const int row = p.contact_base() + 3 * i;
    w.contact_gap[i] = model::gap_after(w.contacts[i], w.v_plus, w.omega_plus, p.s.dt);
    for (int k = 0; k < 3; ++k) w.lambda_contact[3 * i + k] = w.lambda[row + k];
    w.warm[i] = solver::kept_contact<Real>(w.contacts[i], w.lambda + p.contact_base() + 3 * i,
                                           constraints::impact_speed(p.m, w, p.s, i));
  });
  if (p.m.moment_capacity > 0)
    solver::keep_moments<Real>(team, p.rows(), w.contacts, w.moments, w.lambda, w.contact_moment);
  team.for_each(p.contact_base(), [&](int i) { w.lambda_joint[i] = w.lambda[i]; });
  team.for_each(p.m.axis_count, [&](int i) {
    w.axis_row_rate[i] = constraints::axis_velocity<Real>(p.m, w, i, w.v_plus, w.omega_plus);
    w.axis_rate[i] = w.axis_row_rate[i] + w.axis_bias[i];
  });
  team.for_each(p.m.body_count, [&](int b) {
    w.x[b] = w.x_plus[b], w.v[b] = w.v_plus[b];
    accept_turning(p, b);
    w.force_before[b] = w.force[b], w.torque_before[b] = w.torque[b];
  });
  team.for_each(p.m.control_count + p.m.activation_count, [&](int i) { w.control_before[i] = w.control[i]; });
  if (p.m.activation_count > 0) constraints::follow_controls(team, p.m, w, p.s.dt, false);
  team.for_each(p.m.joint_count, [&](int j) {
    constraints::JointEvaluation<Real> e;
    constraints::evaluate_joint<constraints::JointParts::kCoordinates>(p.m, p.m.joints[j], w.x, w.q, w.axis_position,
                                                                       e);
    for (int k = 0; k < p.m.joints[j].axis_count; ++k) w.axis_position[p.m.joints[j].axis_start + k] = e.coordinate[k];
    w.step.anchor_error[j] = e.anchor_error;
  });
  if (p.m.lock_softness_count > 0)
    solver::note_easing<Real>(team, p.m, p.s.dt, solver::lock_starts<Real>(p.w), solver::iterate_velocities<Real>(p.w),
                              p.w.eased);
  const Real joint_error = team.template max<Real>(p.m.joint_count, [&](int j) {
    return constraints::goes_by_law<Real>(p.m, w, p.m.joints[j]) ? Real(0) : w.step.anchor_error[j];
  });
  const Real least = Real(OverlapParameters::kDeep) * deep_margin(p.m, p.s);
  const Real penetration = team.template max<Real>(p.contact_count, [&](int i) {
    const Real depth = -w.contact_gap[i];
    if (depth < least) return depth;
    return collide::pair_is_read_in_result(p.m, w, p.s, model::pair_data(p.m, w.contacts[i].pair)) ? Real(0) : depth;
  });
  team.for_each(1, [&](int) {
    w.warm_count[0] = p.contact_count;
    w.state_is_new[0] = 0;
    w.record->max_joint_error = static_cast<float>(joint_error);
    w.record->max_penetration = static_cast<float>(penetration);
  });
}

}  // namespace axion::step
