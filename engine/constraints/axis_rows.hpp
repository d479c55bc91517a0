// Axis rows, limits and effort rows: everything that acts along one joint coordinate s.
//
// Axis row. Armature a, damping d, spring k to s₀, position drive kp to s_t, velocity drive kd to ṡ_t, all implicit:
//   λ = α − β ṡ⁺,   one compliant row   J u + λ/β − α/β = 0
//   β = h²(kp + k) + h(kd + d) + a
//   α = h[kp(s_t − s⁻) + kd ṡ_t − k(s⁻ − s₀)] + a ṡ⁻
// by backward Euler; in a leapfrog by the trapezoidal rule as far as that can follow them (axis_laws.hpp, share_out). β
// = 0 means that no law depends on ṡ⁺: the row is then empty, and λ = 0. Else motors on the axis act by the row too, α
// += their impulse: they push armature as much as bodies, and a link of 1e-13 kg m² would leave with 5e7 rad/s for the
// row to take back. ṡ⁻ of the armature is the rate that the last step ended with, J(q⁻)u⁺ of its own row: impulses that
// armature gives to one step it takes from the next, where J(q⁺)u⁺ would lose a J̇u h each step (a joint of several
// axes then moves wrongly by O(1)). A leapfrog adds half of J̇u h, as it was in the last step, or (ṡ⁺ − ṡ⁻)/h would be
// wrong by its change, of first order.
//
// Limit. The nearer bound as a unilateral row: gap g = s − lower or upper − s, a = (g + off)/h + J u.
//
// Effort row. Dry friction (α = 0, β = ∞) and drives whose effort is limited: the same row with its impulse held within
// bounds, λ = proj_[l,u](λ − (J u + λ/β − α/β)/(r + 1/β)); the box form of friction in one dimension.
//
// Forces act for joint_force_step, which is h but after a state was set (force_steps.hpp). Jacobians are those at q⁻.
// In: the state, controls, force steps. Out: rows, axis_alpha, axis_beta, axis_impulse, effort_*. Cost: linear in axes.
#pragma once

#include "engine/constraints/axis_laws.hpp"
#include "engine/constraints/rotation_map.hpp"
#include "engine/lanes/number.hpp"

namespace axion::constraints {

// Joint rows at q⁻: row_start of locks and axes, lock_start_error, axis_position next to its last value, axis_rate
// where no step gave it.
template <typename Real, typename Team>
AXION_HD_CALL void start_joints(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  team.for_each(m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = m.joints[j];
    JointEvaluation<Real> e;
    if (w.state_is_new[0] != 0) {
      evaluate_joint(m, joint, w.x, w.q, w.axis_position, e);
    } else {  // the last step left the coordinates of these poses
      evaluate_joint<JointParts::kRows>(m, joint, w.x, w.q, w.axis_position, e);
    }
    for (int i = 0; i < joint.translation_lock_count + joint.rotation_lock_count; ++i) {
      w.row_start[joint.lock_start + i] = e.lock[i];
      w.lock_start_error[joint.lock_start + i] = e.error[i];
    }
    for (int k = 0; k < joint.axis_count; ++k) {
      const int axis = joint.axis_start + k;
      w.row_start[m.axis_base() + axis] = e.axis[k];
      w.axis_position[axis] = e.coordinate[k];
      if (w.state_is_new[0] == 0 && !joint.has_cone) continue;  // the axes of a cone are others each step
      w.axis_rate[axis] = row_velocity(e.axis[k], joint.child, joint.parent, w.v, w.omega);
    }
  });
  if (m.tendon_count > 0) start_tendons(team, m, w);
}

// The controls that a joint's drives follow in this step, of one actuator: the mean of the last step's and this one's
// by the times that either acts.
template <typename Real>
AXION_HD inline Real drive_control(const model::ModelView<Real>&, const model::WorldView<Real>& w,
                                   const model::ActuatorData<Real>& actuator, int joint) {
  const Real owed = w.constraints.joint_time_owed[joint], control = clamped_control(actuator, w.control);
  if (!(owed > 0)) return control;
  const Real share = owed / w.joint_force_step[joint];
  return control + share * (clamped_control(actuator, w.control_before) - control);
}

// What acts along an axis as λ = α − β ṡ⁺, by backward Euler over the time h, with its law.
template <typename Real>
struct AxisStep {
  AxisLaw<Real> law;
  Real alpha, beta;
};

template <typename Real>
AXION_HD inline AxisStep<Real> step_joint(const Spring<Real>& spring, Real damping, Real s, Real h, Real dt) {
  return {
      {spring.stiffness, damping}, -h * spring.stiffness * (s - spring.rest), h * (dt * spring.stiffness + damping)};
}

// `rate` is ṡ⁻, about which curves are followed.
template <typename Real>
AXION_HD_RARE AxisStep<Real> step_curved(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                         const model::ActuatorData<Real>& actuator, Real s, Real rate, Real control,
                                         Real h, Real dt) {
  const CurvedEffort<Real> effort = effort_by_curves(m, w, actuator, s, rate, control);
  return {{effort.stiffness, effort.damping},
          h * (effort.force + effort.damping * rate),
          h * (dt * effort.stiffness + effort.damping)};
}

template <typename Real>
AXION_HD inline AxisStep<Real> step_drive(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                          const model::ActuatorData<Real>& actuator, Real s, Real rate, Real control,
                                          Real h, Real dt) {
  if (actuator.curves >= 0) return step_curved(m, w, actuator, s, rate, control, h, dt);
  const Real gain = w.gain_scale[actuator.control], gear = actuator.gear;
  if (actuator.kind == model::ActuatorKind::kPosition) {
    return {drive_law(actuator, w), h * gain * gear * actuator.kp * (control - gear * s),
            h * gain * gear * gear * (dt * actuator.kp + actuator.kd)};
  }
  return {drive_law(actuator, w), h * gain * gear * actuator.kd * control, h * gain * gear * gear * actuator.kd};
}

// The same with the share `weight` of backward Euler, the rest by the trapezoidal rule: that gives half a step's
// damping to ṡ⁻, here `rate`, and makes an armature of h²K/4 of a spring.
template <typename Real>
AXION_HD inline AxisStep<Real> share_out(const AxisStep<Real>& step, Real rate, Real h, Real dt, Real weight) {
  const Real even = 1 - weight;
  using lanes::vanishes;
  if (vanishes(even)) return step;
  const Real early = even / 2 * dt, lag = even / 4 * dt * dt * step.law.stiffness;
  return {step.law, step.alpha + (lag - early * step.law.damping) * rate,
          (h - early) * step.law.damping + weight * dt * h * step.law.stiffness + lag};
}

// Share of backward Euler on axis i, whose own law asks for `stiff` of it: joints that blend take it with them.
template <typename Real>
AXION_HD inline Real euler_share(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s, int i, Real stiff) {
  if (!s.half_step_start) return 1;
  const Real joint =
      s.joint_mode == model::JointMode::kBlended && w.state_is_new[0] == 0 ? w.blend[m.axes[i].joint] : Real(0);
  return stiff + (1 - stiff) * joint;
}

// axis_rate, axis_bias of armature. J(q⁻)u⁺ is half of J̇u h less than the mean of ds/dt over the step, by what J̇u was
// in the last step; a new state foresees it from where its velocities lead. The axes of a ball stand still in a step.
template <typename Real, typename Team>
AXION_HD_CALL void start_rates(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::StepSettings<Real>& s) {
  const bool is_new = w.state_is_new[0] != 0;
  if (is_new && s.half_step_start) {
    team.for_each(m.body_count, [&](int b) {
      const math::Vec3<Real> I = m.bodies[b].inertia;
      w.x_plus[b] = w.x[b] + s.dt * w.v[b];
      w.q_plus[b] = rotate_step(s.gyroscopic_mode, w.q[b], I, w.omega[b], s.dt);
      w.omega_plus[b] = s.gyroscopic_mode == model::GyroscopicMode::kSplit
                            ? carry_momentum(w.q[b], w.q_plus[b], I, w.omega[b])
                            : w.omega[b];
    });
  }
  team.for_each(m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = m.joints[j];
    JointEvaluation<Real> e;
    bool foreseen = false;
    for (int i = joint.axis_start; i < joint.axis_start + joint.axis_count; ++i) {
      w.axis_bias[i] = 0;
      if (!s.half_step_start || !(m.axes[i].armature > 0) || joint.has_cone) continue;
      const Real rate = row_velocity(w.row_start[m.axis_base() + i], joint.child, joint.parent, w.v, w.omega);
      if (!is_new) {
        w.axis_bias[i] = (rate - w.axis_row_rate[i]) / 2;
        continue;
      }
      if (!foreseen) evaluate_joint(m, joint, w.x_plus, w.q_plus, w.axis_position, e);
      foreseen = true;
      const Real next = row_velocity(e.axis[i - joint.axis_start], joint.child, joint.parent, w.v, w.omega_plus);
      w.axis_bias[i] = (next - rate) / 2;
    }
  });
  if (m.tendon_axis_count == 0) return;
  team.for_each(m.tendon_axis_count, [&](int t) {  // of a tendon at a new state none: its joints' armature has theirs
    const int i = m.joint_axis_count + t;
    const bool has_bias = s.half_step_start && m.axes[i].armature > 0 && !is_new;
    w.axis_bias[i] = has_bias ? (axis_velocity(m, w, i, w.v, w.omega) - w.axis_row_rate[i]) / 2 : Real(0);
  });
}

// alpha, beta, the row and axis_impulse of one axis. Motors of a tendon act by the axes of its joints.
template <bool kOfTendon, typename Real>
AXION_HD inline void build_axis_row(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                    const model::StepSettings<Real>& settings, int i) {
  const model::AxisData<Real>& axis = m.axes[i];
  const int row = m.axis_base() + i;
  const Real h = w.joint_force_step[axis.joint], s = w.axis_position[i];
  const Real weight = euler_share(m, w, settings, i, w.constraints.euler_share[i]);
  const Real rate = axis_velocity(m, w, i, w.v, w.omega);
  const AxisStep<Real> own =
      share_out(step_joint(spring_of_axis(m, i, s), axis.damping, s, h, settings.dt), rate, h, settings.dt, weight);
  Real beta = own.beta + axis.armature, alpha = own.alpha + axis.armature * (w.axis_rate[i] - w.axis_bias[i]);
  for (int k = 0; k < axis.actuator_count; ++k) {
    const model::ActuatorData<Real>& actuator = m.actuators[axis.actuator_start + k];
    if (actuator.kind == model::ActuatorKind::kMotor || actuator.effort_limited) continue;
    const Real control = drive_control(m, w, actuator, axis.joint);
    const AxisStep<Real> drive =
        share_out(step_drive(m, w, actuator, s, rate, control, h, settings.dt), rate, h, settings.dt, weight);
    alpha += drive.alpha, beta += drive.beta;
  }
  w.axis_alpha[i] = alpha;
  w.axis_beta[i] = beta;
  w.axis_impulse[i] = motor_impulse(m, w, i);
  if (!kOfTendon && m.tendon_axis_count > 0) w.axis_impulse[i] += impulse_of_tendons(m, w, i);
  if (beta > 0) {
    if (kOfTendon) return;
    w.axis_alpha[i] += w.axis_impulse[i];
    w.axis_impulse[i] = 0;
  } else if (settings.half_step_start || alpha != 0) {
    w.axis_impulse[i] += alpha;  // damping of the first half step, and curves that have no slope
  }
  if (!kOfTendon) w.row[row] = beta > 0 ? w.row_start[row] : model::Row<Real>{};
}

// The same of every axis; needs start_joints, turn_inertias and choose_force_steps.
template <typename Real, typename Team>
AXION_HD inline void build_axis_rows(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                     const model::StepSettings<Real>& settings) {
  start_rates(team, m, w, settings);
  if (m.tendon_axis_count > 0) {
    team.for_each(m.tendon_axis_count, [&](int t) { build_axis_row<true>(m, w, settings, m.joint_axis_count + t); });
  }
  team.for_each(m.joint_axis_count, [&](int i) { build_axis_row<false>(m, w, settings, i); });
}

// Rows and bounds of dry friction and of drives with effort limits; needs what build_axis_rows needs.
template <typename Real, typename Team>
AXION_HD inline void build_effort_rows(const Team& team, const model::ModelView<Real>& m,
                                       const model::WorldView<Real>& w, const model::StepSettings<Real>& settings) {
  const int base = m.effort_base();
  team.for_each(m.effort_count, [&](int i) {
    const model::EffortData<Real>& effort = m.efforts[i];
    const int j = m.axes[effort.axis].joint;
    const Real h = w.joint_force_step[j];
    const bool of_tendon = effort.axis >= m.joint_axis_count;  // its rows are those of its terms (tendon_rows.hpp)
    w.row[base + i] = of_tendon ? model::Row<Real>{} : w.row_start[m.axis_base() + effort.axis];
    w.effort_alpha[i] = w.effort_compliance[i] = 0;
    const Real friction = greatest_friction(m, w, effort);
    w.effort_lower[i] = -h * friction, w.effort_upper[i] = h * friction;
    if (effort.actuator < 0) return;
    const model::ActuatorData<Real>& actuator = m.actuators[effort.actuator];
    const Real rate = axis_velocity(m, w, effort.axis, w.v, w.omega);
    const AxisStep<Real> whole = step_drive(m, w, actuator, w.axis_position[effort.axis], rate,
                                            drive_control(m, w, actuator, j), h, settings.dt);
    const Real stiff = stiff_share(m, w, effort.axis, whole.law, settings.dt);
    AxisStep<Real> law = share_out(whole, rate, h, settings.dt, euler_share(m, w, settings, effort.axis, stiff));
    if (!(law.beta > 0)) law = whole;  // bounds want a row, in the first half step of a damper too
    if (!(law.beta > 0)) return;       // a drive without gain has the bounds 0 and 0 from above
    w.effort_alpha[i] = law.alpha / law.beta;
    w.effort_compliance[i] = Real(1) / law.beta;
    const Real p = h * actuator.gear * actuator.effort_lower, q = h * actuator.gear * actuator.effort_upper;
    w.effort_lower[i] = p < q ? p : q, w.effort_upper[i] = p < q ? q : p;
  });
}

// Signed rows of the limits; needs start_joints. A limit whose nearer side changed forgets its impulse.
template <typename Real, typename Team>
AXION_HD inline void build_limit_rows(const Team& team, const model::ModelView<Real>& m,
                                      const model::WorldView<Real>& w) {
  team.for_each(m.limit_count, [&](int i) {
    const int axis = m.limit_axis[i];
    const Real s = w.axis_position[axis];
    const int side = s - m.axes[axis].lower <= m.axes[axis].upper - s ? -1 : 1;
    if (w.limit_side[i] != side) w.lambda_joint[m.limit_base() + i] = 0;
    w.limit_side[i] = side;
    if (axis >= m.joint_axis_count) {
      w.row[m.limit_base() + i] = {};
      return;
    }
    const model::Row<Real>& row = w.row_start[m.axis_base() + axis];
    const Real sign = side < 0 ? Real(1) : Real(-1);
    w.row[m.limit_base() + i] = {sign * row.l, sign * row.k_a, sign * row.k_b};
  });
}

// Gap of a limit at q⁻, rad or m.
template <typename Real>
AXION_HD inline Real limit_gap(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  const int axis = m.limit_axis[i];
  return w.limit_side[i] < 0 ? w.axis_position[axis] - m.axes[axis].lower : m.axes[axis].upper - w.axis_position[axis];
}

}  // namespace axion::constraints
