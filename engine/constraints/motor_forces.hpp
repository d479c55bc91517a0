// Efforts of plain motors, and what those that act at a site of a body, as rotors do, exert on it.
//
//   F = e R f,  T = e R τ,  of effort e, on the site's body at the site; R turns from the site's axes to the world
// With a reference, R is that of the reference site, whose body gets −F there and −T. Force and reaction at two points
// are a couple, which the last body that both hang on takes up:
//   (p_reference − p_site) × F
// so that nothing acts on what both hang on. That is MuJoCo's definition of a site's transmission. The length along
// which it acts, 0 without a reference, is f · R⁻¹(p_site − p_reference) + τ · log(R⁻¹ R_site).
//
// The effort does not depend on the velocities that a step ends with: forces are those at the poses of its start.
// In: the state, controls. Cost: linear in the motors of a body.
#pragma once

#include "engine/math/angle_functions.hpp"
#include "engine/model/model_data.hpp"
#include "engine/model/world_state.hpp"

namespace axion::constraints {

template <typename Real>
AXION_HD inline Real clamp(Real value, Real lower, Real upper) {
  return value < lower ? lower : (value > upper ? upper : value);
}

// The control of an actuator within its range, or its activation, as its law takes it.
template <typename Real>
AXION_HD inline Real clamped_control(const model::ActuatorData<Real>& actuator, ConstArray<Real> control) {
  const Real clamped = clamp(control[actuator.input], actuator.lower, actuator.upper);
  return actuator.is_scaled ? actuator.control_gain * clamped + actuator.control_offset : clamped;
}

// Effort of a motor under given controls, with its gear, N or N m.
template <typename Real>
AXION_HD inline Real effort_of_motor(const model::WorldView<Real>& w, const model::ActuatorData<Real>& actuator,
                                     ConstArray<Real> control) {
  const Real force = w.gain_scale[actuator.control] * clamped_control(actuator, control);
  return actuator.gear * clamp(force, actuator.effort_lower, actuator.effort_upper);
}

// From the centre of mass of a body, or the origin of the world, to a point of it; world axes.
template <typename Real>
AXION_HD inline math::Vec3<Real> site_arm(ConstArray<math::Quat<Real>> q, int body, const math::Vec3<Real>& p) {
  return body < 0 ? p : math::rotate(q[body], p);
}

template <typename Real>
AXION_HD inline math::Vec3<Real> site_point(ConstArray<math::Vec3<Real>> x, ConstArray<math::Quat<Real>> q, int body,
                                            const math::Vec3<Real>& p) {
  return body < 0 ? p : x[body] + math::rotate(q[body], p);
}

// Adds what the motors at sites give body b in the time h under given controls: N s, N m s about its centre of mass.
template <typename Real>
AXION_HD_RARE void add_site_forces(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int b, Real h,
                                   ConstArray<Real> control, math::Vec3<Real>& linear, math::Vec3<Real>& angular) {
  const model::BodyForceData<Real>& body = m.body_forces[b];
  for (int k = body.site_use_start; k < body.site_use_start + body.site_use_count; ++k) {
    const model::SiteMotorData<Real>& motor = m.site_motors[m.site_uses[k].motor];
    const Real impulse = h * effort_of_motor(w, m.actuators[motor.actuator], control);
    const int axes = motor.has_reference ? motor.reference : motor.body;
    const math::Vec3<Real> F = impulse * site_arm(w.q, axes, motor.force);
    const math::Vec3<Real> T = impulse * site_arm(w.q, axes, motor.torque);
    switch (m.site_uses[k].role) {
      case model::SiteRole::kSite:
        linear += F;
        angular += T + math::cross(math::rotate(w.q[b], motor.p), F);
        break;
      case model::SiteRole::kReference:
        linear -= F;
        angular -= T + math::cross(math::rotate(w.q[b], motor.p_reference), F);
        break;
      case model::SiteRole::kCommon:
        angular += math::cross(
            site_point(w.x, w.q, motor.reference, motor.p_reference) - site_point(w.x, w.q, motor.body, motor.p), F);
        break;
    }
  }
}

// A coordinate and its rate.
template <typename Real>
struct SiteLength {
  Real length, rate;
};

// Of a body's centre of mass, and its turning; world axes.
template <typename Real>
struct BodyVelocity {
  math::Vec3<Real> v{}, omega{};
};

// Of a motor at a site at the present poses, before its gear, m/s or rad/s: that of the power, F·v + T·ω, while
// velocity(b) is the BodyVelocity of body b, not the world.
template <typename Real, typename F>
AXION_HD_RARE Real site_rate(const model::WorldView<Real>& w, const model::SiteMotorData<Real>& motor, F&& velocity) {
  if (motor.has_reference && motor.body == motor.reference) return 0;
  const int axes = motor.has_reference ? motor.reference : motor.body;
  const math::Vec3<Real> force = site_arm(w.q, axes, motor.force), torque = site_arm(w.q, axes, motor.torque);
  const auto power = [&](int body, const math::Vec3<Real>& p) {
    if (body < 0) return Real(0);
    const BodyVelocity<Real> at = velocity(body);
    return math::dot(force, at.v + math::cross(at.omega, math::rotate(w.q[body], p))) + math::dot(torque, at.omega);
  };
  Real rate = power(motor.body, motor.p);
  if (!motor.has_reference) return rate;
  rate -= power(motor.reference, motor.p_reference);
  if (motor.common < 0) return rate;
  const math::Vec3<Real> arm =
      site_point(w.x, w.q, motor.body, motor.p) - site_point(w.x, w.q, motor.reference, motor.p_reference);
  return rate - math::dot(velocity(motor.common).omega, math::cross(arm, force));
}

// The same and its length, m or rad, at the present state.
template <typename Real>
AXION_HD_RARE SiteLength<Real> site_length(const model::WorldView<Real>& w, const model::SiteMotorData<Real>& motor) {
  const auto velocity = [&](int b) { return BodyVelocity<Real>{w.v_at_pose[b], w.omega_at_pose[b]}; };
  SiteLength<Real> out{0, site_rate(w, motor, velocity)};
  if (!motor.has_reference) return out;
  const math::Vec3<Real> F = site_arm(w.q, motor.reference, motor.force),
                         T = site_arm(w.q, motor.reference, motor.torque);
  const math::Vec3<Real> arm =
      site_point(w.x, w.q, motor.body, motor.p) - site_point(w.x, w.q, motor.reference, motor.p_reference);
  const auto turned = [&](int body, const math::Quat<Real>& q) { return body < 0 ? q : w.q[body] * q; };
  const math::Quat<Real> q_R = turned(motor.reference, motor.q_reference);
  const math::Quat<Real> turn = math::normalized(math::conjugate(q_R) * turned(motor.body, motor.q));
  const math::Vec3<Real> half{turn.x, turn.y, turn.z};
  const Real sine = math::norm(half), sign = turn.w < 0 ? Real(-1) : Real(1);
  out.length = math::dot(F, arm);
  if (!(sine > 0)) return out;
  const Real angle = 2 * math::arc_tangent(sine, sign * turn.w);
  out.length += (sign * angle / sine) * math::dot(T, math::rotate(q_R, half));
  return out;
}

}  // namespace axion::constraints
