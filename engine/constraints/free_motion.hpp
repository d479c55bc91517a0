// Bodies at the start of a step: world inertia, and the free velocity ũ that they would have without constraints.
//
//   ũ = u⁻ + h M̃⁻¹ f_ext,   M̃ = GᵀMG = diag(m 1, R I Rᵀ)
//
// f_ext holds gravity, gravity compensation, drag, external wrenches and the efforts of motors at sites and of those
// whose axis has no row or is a tendon's.
// The gyroscopic torque is here for the modes that treat it as a torque, and in the rotation map for SPLIT. Forces act
// for body_force_step and joint_force_step (force_steps.hpp), which are h but after a state was set; of these the time
// that the last step owed with its own wrench and controls.
//
// In: the state, wrenches, controls, force steps. Out: I_world, I_inverse, v_tilde, omega_tilde. Cost: linear in bodies
// and axes. Source: seeds, section Kinematics and dynamics.
#pragma once

#include "engine/constraints/fluid_forces.hpp"
#include "engine/constraints/joint_rows.hpp"
#include "engine/constraints/motor_forces.hpp"
#include "engine/constraints/rotation_map.hpp"
#include "engine/constraints/tendon_rows.hpp"
#include "engine/model/body_joints.hpp"
#include "engine/model/step_settings.hpp"

namespace axion::constraints {

template <typename Real>
AXION_HD inline Real body_mass(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int b) {
  return m.bodies[b].mass * w.mass_scale[b];
}

template <typename Real>
AXION_HD inline math::Vec3<Real> body_inertia(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int b) {
  return w.mass_scale[b] * m.bodies[b].inertia;
}

// Whether a body has joints, its own, those of others or such that close loops.
template <typename Real>
AXION_HD inline bool is_jointed(const model::BodyData<Real>& body) {
  return body.joint >= 0 || body.child_joint_count > 0 || body.loop_count > 0;
}

// J M⁻¹ Jᵀ between two rows on the same bodies.
template <typename Real>
AXION_HD_SMALL inline Real row_product(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                       const model::Row<Real>& p, const model::Row<Real>& q, int a, int b) {
  Real s = math::dot(p.l, q.l) / body_mass(m, w, a) + math::dot(p.k_a, w.I_inverse[a] * q.k_a);
  if (b >= 0) s += math::dot(p.l, q.l) / body_mass(m, w, b) + math::dot(p.k_b, w.I_inverse[b] * q.k_b);
  return s;
}

// Effort of the plain motors on an axis under given controls, N or N m.
template <typename Real>
AXION_HD inline Real motor_effort(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int axis,
                                  ConstArray<Real> control) {
  Real effort = 0;
  for (int k = 0; k < m.axes[axis].actuator_count; ++k) {
    const model::ActuatorData<Real>& actuator = m.actuators[m.axes[axis].actuator_start + k];
    if (actuator.kind != model::ActuatorKind::kMotor) continue;
    effort += effort_of_motor(w, actuator, control);
  }
  if (m.axes[axis].actuator_count > 1) effort = clamp(effort, m.axes[axis].motors_lower, m.axes[axis].motors_upper);
  return effort;
}

// Impulse of the plain motors on an axis in this step, N s or N m s: what the last step owed, with its controls, and
// the rest.
template <typename Real>
AXION_HD inline Real motor_impulse(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int axis) {
  const int j = m.axes[axis].joint;
  const Real owed = w.constraints.joint_time_owed[j];
  const Real impulse = (w.joint_force_step[j] - owed) * motor_effort(m, w, axis, w.control);
  return owed > 0 ? impulse + owed * motor_effort(m, w, axis, w.control_before) : impulse;
}

// Adds the impulse along a joint's axes on one of its two bodies.
template <typename Real>
AXION_HD inline void add_axis_impulse(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int j,
                                      bool on_child, math::Vec3<Real>& linear, math::Vec3<Real>& angular) {
  const model::JointData<Real>& joint = m.joints[j];
  for (int k = 0; k < joint.axis_count; ++k) {
    const int axis = joint.axis_start + k;
    const Real impulse = w.axis_impulse[axis];
    const model::Row<Real>& row = w.row_start[m.axis_base() + axis];
    linear += (on_child ? impulse : -impulse) * row.l;
    angular += impulse * (on_child ? row.k_a : row.k_b);
  }
}

// Adds the impulses of a free joint's springs in the time h of a step dt: F = −k (p − p₀) at p, T = −k φ of the turn φ
// from q₀. As along an axis by the trapezoidal rule of the body alone, k / (1 + dt²k/4m), which no step makes unstable.
template <typename Real>
AXION_HD_RARE void add_free_spring(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int b, Real h,
                                   Real dt, math::Vec3<Real>& linear, math::Vec3<Real>& angular) {
  const model::BodyForceData<Real>& force = m.body_forces[b];
  const math::Vec3<Real> arm = math::rotate(w.q[b], force.p_drag), I = body_inertia(m, w, b);
  const Real least = I.x < I.y ? (I.x < I.z ? I.x : I.z) : (I.y < I.z ? I.y : I.z);
  const Real k = force.stiffness, lag = dt * dt / 4 * k;
  const math::Vec3<Real> F = (-h * k / (1 + lag / body_mass(m, w, b))) * ((w.x[b] - force.p_rest) + arm);
  math::Vec3<Real> a[3];
  Real s[3];
  turn_ball(true, force.q_rest, w.q[b], a, s);
  linear += F;
  angular += math::cross(arm, F) + (-h * k / (1 + lag / least) * s[0]) * a[0];
}

// Adds the impulses in the time h of what acts on a body besides its weight: gravity compensation, -g of the lifted
// mass at its centre, and drag at p, F = -h d (v + ω × p), T = -h d ω, solved for the body alone with the share θ of
// the velocities that it ends with: the trapezoidal rule where the body follows the drag, nearly backward Euler where
// it does not.
template <typename Real>
AXION_HD_CALL void add_body_forces(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int b, Real h,
                                   math::Vec3<Real>& linear, math::Vec3<Real>& angular) {
  const model::BodyForceData<Real>& force = m.body_forces[b];
  const math::Vec3<Real> lift = (-h * w.mass_scale[b]) * m.gravity;
  linear += force.lift_mass * lift;
  angular += math::cross(math::rotate(w.q[b], force.lift_moment), lift);
  if (!(force.drag > 0)) return;
  const Real hd = h * force.drag, mass = body_mass(m, w, b);
  const math::Vec3<Real> p = math::rotate(w.q[b], force.p_drag), I = body_inertia(m, w, b);
  const Real least = I.x < I.y ? (I.x < I.z ? I.x : I.z) : (I.y < I.z ? I.y : I.z);
  const Real z = hd * (1 / mass + (1 + math::dot(p, p)) / least), theta = z > 1 ? 1 - 1 / (2 * z) : Real(0.5);
  // With A = (I + θ h d)⁻¹:  Δω = A (p × F − h d ω),  (s + θ h d [p]ᵀA[p]) F = −h d (v + ω × p + θ h d p × A ω).
  const math::Mat3<Real> A =
      math::rotate_diagonal(math::to_matrix(w.q[b]),
                            math::Vec3<Real>{1 / (I.x + theta * hd), 1 / (I.y + theta * hd), 1 / (I.z + theta * hd)});
  const math::Mat3<Real> P = math::skew(p);
  const Real s = 1 + theta * hd / mass;  // S = s S', whose numbers are not large
  const math::Mat3<Real> S = math::Mat3<Real>::identity() + (-theta * hd / s) * (P * A * P);
  const math::Vec3<Real> speed = w.v[b] + math::cross(w.omega[b], p) + (theta * hd) * math::cross(p, A * w.omega[b]);
  const math::Vec3<Real> F = (-hd / s) * (math::inverse(S) * speed);
  const math::Vec3<Real> turned = A * (math::cross(p, F) - hd * w.omega[b]);
  linear += F;
  angular += math::rotate_diagonal(math::to_matrix(w.q[b]), I) * turned;
}

// The impulses of the fluid on body b in the time h, where all else but constraints leads it to v_free and omega_free.
template <typename Real>
AXION_HD_CALL FluidImpulse<Real> fluid_impulse_on(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                                  int b, Real h, const math::Vec3<Real>& v_free,
                                                  const math::Vec3<Real>& omega_free) {
  if (m.fluid_parts == nullptr || m.body_forces[b].fluid_part_count == 0) return {};
  const BodyMotion<Real> start{w.v[b], w.omega[b]}, free{v_free, omega_free};
  return fluid_impulse(m, b, h, w.q[b], body_mass(m, w, b), body_inertia(m, w, b), start, free);
}

// World inertias at q⁻ and their inverses.
template <typename Real, typename Team>
AXION_HD inline void turn_inertias(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  team.for_each(m.body_count, [&](int b) {
    const math::Mat3<Real> R = math::to_matrix(w.q[b]);
    const math::Vec3<Real> I = body_inertia(m, w, b);
    w.I_world[b] = math::rotate_diagonal(R, I);
    w.I_inverse[b] = math::rotate_diagonal(R, math::Vec3<Real>{Real(1) / I.x, Real(1) / I.y, Real(1) / I.z});
  });
}

// Needs turn_inertias, the force steps and axis_impulse. Writes v_tilde, omega_tilde.
template <typename Real, typename Team>
AXION_HD_CALL void free_motion(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::StepSettings<Real>& s) {
  team.for_each(m.body_count, [&](int b) {
    const math::Vec3<Real> I = body_inertia(m, w, b);
    const Real mass = body_mass(m, w, b);
    const Real h = w.body_force_step[b], owed = w.constraints.body_time_owed[b];
    math::Vec3<Real> linear = (h - owed) * w.force[b], angular = (h - owed) * w.torque[b];
    if (owed > 0) linear += owed * w.force_before[b], angular += owed * w.torque_before[b];
    model::for_each_tree_joint(m, b,
                               [&](int j, bool on_child) { add_axis_impulse(m, w, j, on_child, linear, angular); });
    if (m.side_count > 0) add_path_impulses(m, w, b, linear, angular);
    if (m.body_force_count > 0) {
      add_body_forces(m, w, b, h, linear, angular);
      if (m.body_forces[b].stiffness > 0) add_free_spring(m, w, b, h, s.dt, linear, angular);
      if (m.site_uses != nullptr) add_site_forces(m, w, b, h - owed, w.control, linear, angular);
      if (m.site_uses != nullptr && owed > 0) add_site_forces(m, w, b, owed, w.control_before, linear, angular);
    }
    w.v_tilde[b] = w.v[b] + h * m.gravity + (Real(1) / mass) * linear;
    w.omega_tilde[b] = gyroscopic_velocity(s.gyroscopic_mode, w.q[b], I, w.omega[b], s.dt) + w.I_inverse[b] * angular;
    if (m.fluid_parts == nullptr) return;
    const FluidImpulse<Real> fluid = fluid_impulse_on(m, w, b, h, w.v_tilde[b], w.omega_tilde[b]);
    w.v_tilde[b] += (Real(1) / mass) * fluid.linear;
    w.omega_tilde[b] += w.I_inverse[b] * fluid.angular;
  });
}

}  // namespace axion::constraints
