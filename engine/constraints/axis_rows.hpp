// Axis rows, limits and effort rows: everything that acts along one joint coordinate s.
//
// Axis row. Armature a, damping d, spring k to s₀, position drive kp to s_t, velocity drive kd to ṡ_t, all implicit:
//   λ = α − β ṡ⁺,  β = h²(kp + k) + h(kd + d) + a,  α = h[kp(s_t − s⁻) + kd ṡ_t − k(s⁻ − s₀)] + a ṡ⁻
// as one compliant row J u + λ/β − α/β = 0. β = 0 means that nothing acts: the row is then empty, and λ = 0. Else motors on
// the axis, whose effort is τ, act by it too, α += hτ: they push armature as much as bodies, and a link of 1e-13 kg m² would leave
// with 5e7 rad/s for the row to take back.
// ṡ⁻ of the armature is the rate that the last step ended with, J(q⁻)u⁺ of its own row: what armature gives to one step
// it takes from the next, where J(q⁺)u⁺ would lose a J̇u h each step (a joint of several axes then moves wrongly by O(1)).
// Limit. The nearer bound as a unilateral row: gap g = s − lower or upper − s, a = (g + off)/h + J u.
// Effort row. Dry friction (α = 0, β = ∞) and drives whose effort is limited: the same row with its impulse held within
// bounds, λ = proj_[l,u](λ − (J u + λ/β − α/β)/(r + 1/β)); the box form of friction in one dimension.
// Forces act for joint_force_step, which is h but after a state was set (geometric_stiffness.hpp). Jacobians are those at q⁻.
#pragma once

#include "engine/constraints/free_motion.hpp"

namespace axion::constraints {

// Joint rows at q⁻: row_start of locks and axes, lock_start_error, axis_position next to its last value, axis_rate where
// no step gave it.
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
      w.row_start[m.lock_count + axis] = e.axis[k];
      w.axis_position[axis] = e.coordinate[k];
      if (w.state_is_new[0] == 0) continue;
      w.axis_rate[axis] = row_velocity(e.axis[k], joint.child, joint.parent, w.v, w.omega);
    }
  });
}

// What a position or velocity drive adds to α and β at coordinate s, acting for the time h.
template <typename Real>
struct Drive {
  Real alpha, beta;
};

template <typename Real>
AXION_HD inline Drive<Real> evaluate_drive(const model::ActuatorData<Real>& actuator, const model::WorldView<Real>& w,
                                           Real s, Real h, Real dt) {
  const Real gain = w.gain_scale[actuator.control], gear = actuator.gear;
  const Real control = clamped_control(actuator, w.control);
  if (actuator.kind == model::ActuatorKind::kPosition) {
    return {h * gain * gear * actuator.kp * (control - gear * s),
            h * gain * gear * gear * (dt * actuator.kp + actuator.kd)};
  }
  return {h * gain * gear * actuator.kd * control, h * gain * gear * gear * actuator.kd};
}

// alpha, beta and the row of every axis; needs start_joints.
template <typename Real, typename Team>
AXION_HD inline void build_axis_rows(const Team& team, const model::ModelView<Real>& m,
                                     const model::WorldView<Real>& w, const model::StepSettings<Real>& settings) {
  team.for_each(m.axis_count, [&](int i) {
    const model::AxisData<Real>& axis = m.axes[i];
    const Real h = w.joint_force_step[axis.joint], s = w.axis_position[i];
    Real beta = h * (settings.dt * axis.stiffness + axis.damping) + axis.armature;
    Real alpha = -h * axis.stiffness * (s - axis.spring_reference) + axis.armature * w.axis_rate[i];
    for (int k = 0; k < axis.actuator_count; ++k) {
      const model::ActuatorData<Real>& actuator = m.actuators[axis.actuator_start + k];
      if (actuator.kind == model::ActuatorKind::kMotor || actuator.effort_limited) continue;
      const Drive<Real> drive = evaluate_drive(actuator, w, s, h, settings.dt);
      alpha += drive.alpha, beta += drive.beta;
    }
    if (beta > 0) alpha += h * motor_effort(m, w, i);
    w.axis_alpha[i] = alpha;
    w.axis_beta[i] = beta;
    const int row = m.lock_count + i;
    w.row[row] = beta > 0 ? w.row_start[row] : model::Row<Real>{};
  });
}

// Rows and bounds of dry friction and of drives with effort limits; needs start_joints.
template <typename Real, typename Team>
AXION_HD inline void build_effort_rows(const Team& team, const model::ModelView<Real>& m,
                                       const model::WorldView<Real>& w, const model::StepSettings<Real>& settings) {
  const int base = m.lock_count + m.axis_count + m.limit_count;
  team.for_each(m.effort_count, [&](int i) {
    const model::EffortData<Real>& effort = m.efforts[i];
    const Real h = w.joint_force_step[m.axes[effort.axis].joint];
    w.row[base + i] = w.row_start[m.lock_count + effort.axis];
    w.effort_alpha[i] = w.effort_compliance[i] = 0;
    w.effort_lower[i] = -h * effort.friction_loss, w.effort_upper[i] = h * effort.friction_loss;
    if (effort.actuator < 0) return;
    const model::ActuatorData<Real>& actuator = m.actuators[effort.actuator];
    const Drive<Real> drive = evaluate_drive(actuator, w, w.axis_position[effort.axis], h, settings.dt);
    if (!(drive.beta > 0)) return;  // a drive without gain has the bounds 0 and 0 from above
    w.effort_alpha[i] = drive.alpha / drive.beta;
    w.effort_compliance[i] = Real(1) / drive.beta;
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
    if (w.limit_side[i] != side) w.lambda_joint[m.lock_count + m.axis_count + i] = 0;
    w.limit_side[i] = side;
    const model::Row<Real>& row = w.row_start[m.lock_count + axis];
    const Real sign = side < 0 ? Real(1) : Real(-1);
    w.row[m.lock_count + m.axis_count + i] = {sign * row.l, sign * row.k_a, sign * row.k_b};
  });
}

// Gap of a limit at q⁻, rad or m.
template <typename Real>
AXION_HD inline Real limit_gap(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  const int axis = m.limit_axis[i];
  return w.limit_side[i] < 0 ? w.axis_position[axis] - m.axes[axis].lower : m.axes[axis].upper - w.axis_position[axis];
}

}  // namespace axion::constraints
