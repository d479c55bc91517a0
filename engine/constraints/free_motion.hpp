// Bodies at the start of a step: world inertia, and the free velocity ũ that they would have without constraints.
//
//   ũ = u⁻ + h M̃⁻¹ f_ext,  M̃ = GᵀMG = diag(m 1, R I Rᵀ)
// f_ext holds gravity, external wrenches and the efforts of motors whose axis has no row; the gyroscopic torque is here for the modes that treat
// it as a torque, and in the rotation map for SPLIT. Source: seeds, section Kinematics and dynamics.
// Forces act for body_force_step and joint_force_step (geometric_stiffness.hpp), which are h but after a state was set.
#pragma once

#include "engine/model/step_settings.hpp"
#include "engine/constraints/joint_rows.hpp"
#include "engine/constraints/rotation_map.hpp"

namespace axion::constraints {

template <typename Real>
AXION_HD inline Real body_mass(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int b) {
  return m.bodies[b].mass * w.mass_scale[b];
}

template <typename Real>
AXION_HD inline math::Vec3<Real> body_inertia(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int b) {
  return w.mass_scale[b] * m.bodies[b].inertia;
}

template <typename Real>
AXION_HD inline Real clamp(Real value, Real lower, Real upper) {
  return value < lower ? lower : (value > upper ? upper : value);
}

// The control of an actuator within its range.
template <typename Real>
AXION_HD inline Real clamped_control(const model::ActuatorData<Real>& actuator, const Real* control) {
  return clamp(control[actuator.control], actuator.lower, actuator.upper);
}

// Effort of the plain motors on an axis, N or N m.
template <typename Real>
AXION_HD inline Real motor_effort(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int axis) {
  Real effort = 0;
  for (int k = 0; k < m.axes[axis].actuator_count; ++k) {
    const model::ActuatorData<Real>& actuator = m.actuators[m.axes[axis].actuator_start + k];
    if (actuator.kind != model::ActuatorKind::kMotor) continue;
    const Real force = w.gain_scale[actuator.control] * clamped_control(actuator, w.control);
    effort += actuator.gear * clamp(force, actuator.effort_lower, actuator.effort_upper);
  }
  return effort;
}

// Of that, what acts on the bodies by itself: nothing where the axis row takes it (axis_rows.hpp). Needs axis_beta.
template <typename Real>
AXION_HD inline Real plain_motor_effort(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int axis) {
  return w.axis_beta[axis] > 0 ? Real(0) : motor_effort(m, w, axis);
}

// Adds the impulse of a joint's motors on one of its two bodies.
template <typename Real>
AXION_HD inline void add_motor_impulse(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int j,
                                      bool on_child, math::Vec3<Real>& linear, math::Vec3<Real>& angular) {
  const model::JointData<Real>& joint = m.joints[j];
  for (int k = 0; k < joint.axis_count; ++k) {
    const int axis = joint.axis_start + k;
    const Real impulse = w.joint_force_step[j] * plain_motor_effort(m, w, axis);
    const model::Row<Real>& row = w.row_start[m.lock_count + axis];
    linear += (on_child ? impulse : -impulse) * row.l;
    angular += impulse * (on_child ? row.k_a : row.k_b);
  }
}

// Needs row_start of the axes, axis_beta and the force steps. Writes I_world, I_inverse, v_tilde, omega_tilde.
template <typename Real, typename Team>
AXION_HD_CALL void free_motion(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s) {
  team.for_each(m.body_count, [&](int b) {
    const math::Mat3<Real> R = math::to_matrix(w.q[b]);
    const math::Vec3<Real> I = body_inertia(m, w, b);
    const Real mass = body_mass(m, w, b);
    w.I_world[b] = math::rotate_diagonal(R, I);
    w.I_inverse[b] = math::rotate_diagonal(R, math::Vec3<Real>{Real(1) / I.x, Real(1) / I.y, Real(1) / I.z});
    const Real h = w.body_force_step[b];
    math::Vec3<Real> linear = h * w.force[b], angular = h * w.torque[b];
    const model::BodyData<Real>& body = m.bodies[b];
    if (body.joint >= 0) add_motor_impulse(m, w, body.joint, true, linear, angular);
    for (int k = 0; k < body.child_joint_count; ++k) {
      add_motor_impulse(m, w, m.child_joints[body.child_joint_start + k], false, linear, angular);
    }
    w.v_tilde[b] = w.v[b] + h * m.gravity + (Real(1) / mass) * linear;
    w.omega_tilde[b] = gyroscopic_velocity(s.gyroscopic_mode, w.q[b], I, w.omega[b], s.dt) + w.I_inverse[b] * angular;
  });
}

}  // namespace axion::constraints
