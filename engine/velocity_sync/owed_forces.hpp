// The half step of forces that the last step still owes at the instant of its poses: laws of axes over the time that
// they owe, and the impulses that contacts give and the velocities that they hold.
//
//   axis      α, β over the time h_o = debt · h, by the controls of the last step
//   effort    within its bounds its law over h_o; at a bound the same share of its impulse
//   contact   nothing, presses and slides, or sticks (Touch), by its last impulse and its velocity
//   moment    likewise, torsional and rolling friction each
//
// In: a step that was accepted, with its scratch. Nothing of the state is written. Cost: linear in rows. For
// synchronise.hpp, which says how these forces are used.
#pragma once

#include "engine/constraints/adhesion.hpp"
#include "engine/constraints/axis_laws.hpp"
#include "engine/constraints/moving_surfaces.hpp"
#include "engine/math/constants.hpp"
#include "engine/problem/linearise.hpp"
#include "engine/velocity_sync/velocity_sync_scratch.hpp"

namespace axion::velocity_sync {

inline constexpr double kLeft =
    0.05;  // of 9.81 h: how fast bodies part that have left each other, or slip that do not stick;
inline constexpr double kStill = 1e-3;  // those that come to stick in this step may have all of their friction

template <typename Real>
AXION_HD_CALL Touch touch_of(const solver::Problem<Real>& p, int i) {
  const Real* lambda = p.w.lambda_contact + 3 * i;
  const Real most = Real(kLeft * math::kGravity) * p.s.dt, cone = Real(0.999) * p.w.contacts[i].friction * lambda[0];
  const auto speed = [&](int k) { return constraints::contact_velocity(p.m, p.w, i, k, p.w.v, p.w.omega); };
  if (!(lambda[0] > 0) || speed(0) > most) return Touch::kNone;
  const Real slip = std::sqrt(speed(1) * speed(1) + speed(2) * speed(2));
  const bool inside = lambda[1] * lambda[1] + lambda[2] * lambda[2] < cone * cone;
  return slip < (inside ? most : Real(kStill * math::kGravity) * p.s.dt) ? Touch::kSticks : Touch::kSlides;
}

// Touches of moment k: torsional, then rolling friction.
template <typename Real>
AXION_HD_RARE void note_touches_of_moment(const solver::Problem<Real>& p, int k) {
  const int row = p.moment_base() + 3 * k;
  const Real most = Real(kLeft * math::kGravity) * p.s.dt,
             normal = Real(0.999) * p.w.lambda_contact[3 * p.w.moments[k].contact];
  const bool presses = touch_of(p, p.w.moments[k].contact) != Touch::kNone;
  const auto speed = [&](int part) {
    return constraints::moment_velocity(p.m, p.w, k, p.contact_count + k, part, p.w.v, p.w.omega);
  };
  const auto touch = [&](Real impulse, Real bound, Real rate) {
    if (!presses || !(bound > Real(0))) return Touch::kNone;
    return rate < (impulse < bound ? most : Real(kStill * math::kGravity) * p.s.dt) ? Touch::kSticks : Touch::kSlides;
  };
  const Real* lambda = p.w.lambda + row;
  const Touch torsional = touch(std::abs(lambda[0]), p.w.moments[k].torsional * normal, std::abs(speed(0)));
  const Touch rolling = touch(std::sqrt(lambda[1] * lambda[1] + lambda[2] * lambda[2]), p.w.moments[k].rolling * normal,
                              std::sqrt(speed(1) * speed(1) + speed(2) * speed(2)));
  Touch* touches = p.w.velocity_sync.touch + 2 * (p.contact_count + k);
  touches[0] = torsional, touches[1] = rolling;
}

// Touches of all contacts and moments, kept as they are asked for many times.
template <typename Real, typename Team>
AXION_HD inline void note_touches(const Team& team, const solver::Problem<Real>& p) {
  team.for_each(p.contact_count, [&](int i) { p.w.velocity_sync.touch[2 * i] = touch_of(p, i); });
  if (p.moment_count > 0) team.for_each(p.moment_count, [&](int k) { note_touches_of_moment(p, k); });
}

// Adds to `sum` the impulse on body b over h, the time that it owes, of the laws of single bodies but gravity and
// fluids: adhesion, forces and springs of the body, motors at its sites, by the controls of the last step.
template <typename Real>
AXION_HD inline void add_owed_forces(const solver::Problem<Real>& p, int b, Real h, solver::Impulse<Real>& sum) {
  const auto& w = p.w;
  if (p.m.adhesion_count > 0) {
    constraints::add_adhesion(p.m, w, p.contact_count, b, h, w.control_before, sum.linear, sum.angular);
  }
  if (p.m.body_force_count == 0) return;
  constraints::add_body_forces(p.m, w, b, h, sum.linear, sum.angular);
  if (p.m.body_forces[b].stiffness > 0) {
    constraints::add_free_spring(p.m, w, b, h, p.s.dt, sum.linear, sum.angular);
  }
  if (p.m.site_uses != nullptr) {
    constraints::add_site_forces(p.m, w, b, h, w.control_before, sum.linear, sum.angular);
  }
}

template <typename Real>
AXION_HD inline Touch noted_touch(const solver::Problem<Real>& p, int i) {
  return p.w.velocity_sync.touch[2 * i];
}

// Of block i, a moment: whether either friction sticks.
template <typename Real>
AXION_HD inline bool moment_holds(const solver::Problem<Real>& p, int i) {
  const Touch* touch = p.w.velocity_sync.touch + 2 * i;
  return touch[0] == Touch::kSticks || touch[1] == Touch::kSticks;
}

// The share of the last step's impulses that its debt is.
template <typename Real>
AXION_HD inline Real owed_share(Real debt, Real time, Real dt) {
  return debt * dt / time;
}

// What acts along an axis over the time that it owes, at rate `rate`: alpha - beta times the rate at the end, and an
// impulse, which has alpha in it where beta is zero.
template <typename Real>
struct OwedAxis {
  Real alpha, beta, impulse;
};

template <typename Real>
AXION_HD inline OwedAxis<Real> owed_axis(const solver::Problem<Real>& p, int i, Real rate) {
  const auto& w = p.w;
  const model::AxisData<Real>& axis = p.m.axes[i];
  const Real dt = p.s.dt, h = w.joint_force_debt[axis.joint] * dt, s = w.axis_position[i];
  const constraints::Spring<Real> spring = constraints::spring_of_axis<Real>(p.m, i, s);
  Real alpha = -h * spring.stiffness * (s - spring.rest), beta = h * axis.damping;
  for (int k = axis.actuator_start; k < axis.actuator_start + axis.actuator_count; ++k) {
    const model::ActuatorData<Real>& actuator = p.m.actuators[k];
    if (actuator.kind == model::ActuatorKind::kMotor || actuator.effort_limited) continue;
    const auto drive = constraints::step_drive(p.m, w, actuator, s, rate,
                                               constraints::clamped_control(actuator, w.control_before), h, Real(0));
    alpha += drive.alpha, beta += drive.beta;
  }
  const Real lag = dt * dt / 4 * constraints::axis_law(p.m, w, i).stiffness;  // as constraints::share_out has it
  alpha += lag * rate + axis.armature * w.axis_rate[i];
  beta += lag + axis.armature;
  const Real impulse = h * constraints::motor_effort(p.m, w, i, w.control_before);
  return {alpha, beta, beta > 0 ? impulse : impulse + alpha};
}

// An effort row over the time that it owes: an impulse, and where `compliance` is not zero a row with that residual at
// rate zero.
template <typename Real>
struct OwedEffort {
  Real residual = 0, compliance = 0, impulse = 0;
};

// An effort within its bounds goes on by its law, one at a bound stays there.
template <typename Real>
AXION_HD inline OwedEffort<Real> owed_effort(const solver::Problem<Real>& p, int i, int e, Real rate) {
  const auto& w = p.w;
  const int j = p.m.axes[i].joint, row = p.effort_base() + e;
  const Real h = w.joint_force_debt[j] * p.s.dt, last = w.lambda_joint[row];
  const bool held = last > w.effort_lower[e] && last < w.effort_upper[e];
  if (!held || !(h > 0)) return {0, 0, owed_share(w.joint_force_debt[j], w.joint_force_step[j], p.s.dt) * last};
  if (p.m.efforts[e].actuator < 0) return {-rate, Real(laws::kContactProximal) * w.row_scale[row], 0};
  const model::ActuatorData<Real>& actuator = p.m.actuators[p.m.efforts[e].actuator];
  auto drive = constraints::step_drive(p.m, w, actuator, w.axis_position[i], rate,
                                       constraints::clamped_control(actuator, w.control_before), h, Real(0));
  const Real lag = p.s.dt * p.s.dt / 4 * drive.law.stiffness;
  drive.alpha += lag * rate, drive.beta += lag;
  if (!(drive.beta > 0)) return {};
  return {-drive.alpha / drive.beta, Real(1) / drive.beta, 0};
}

// Adds the share that body b owes of block i, a moment.
template <typename Real>
AXION_HD_RARE void add_owed_moment(const solver::Problem<Real>& p, int b, int i, Real share,
                                   solver::Impulse<Real>& sum) {
  const int row = p.contact_base() + 3 * i;
  for (int r = 0; r < 3; ++r) {
    if (p.w.velocity_sync.touch[2 * i + (r > 0 ? 1 : 0)] == Touch::kNone) continue;
    sum.add(p.w.row[row + r], share * p.w.lambda[row + r], p.w.contacts[i].body_a == b);
  }
}

// Adds what contacts give body b over the time that it owes. Needs note_touches.
template <typename Real>
AXION_HD inline void add_owed_contacts(const solver::Problem<Real>& p, int b, solver::Impulse<Real>& sum) {
  const auto& w = p.w;
  const Real share = owed_share(w.body_force_debt[b], w.body_force_step[b], p.s.dt);
  for (int k = w.contact_start[b]; k < w.contact_start[b + 1]; ++k) {
    const int i = w.contact_list[k], row = p.contact_base() + 3 * i;
    if (i >= p.contact_count) {
      add_owed_moment(p, b, i, share, sum);
      continue;
    }
    const Touch touch = noted_touch(p, i);
    if (touch == Touch::kNone) continue;
    for (int r = 0; r < (touch == Touch::kGlides ? 1 : 3); ++r)
      sum.add(w.row[row + r], share * w.lambda_contact[3 * i + r], w.contacts[i].body_a == b);
  }
}

// G of contact i, which gives -G J of a change of velocities: it keeps what velocities it holds, and friction of what
// slides goes with the normal impulse. Contacts give way by about kContactProximal of what they are asked for, in
// float32 free bodies by more.
// Of a moment, what of its two kinds of friction sticks is held.
template <typename Real>
AXION_HD inline void held_gains(const solver::Problem<Real>& p, int i, Touch touch, Real* G) {
  const auto& w = p.w;
  const int row = p.contact_base() + 3 * i;
  const bool coarse = p.m.joint_count + p.m.closing_count == 0 && std::numeric_limits<Real>::digits < 30;
  const Real give = coarse ? Real(1e-2) : Real(laws::kContactProximal);
  const auto gain = [&](int k) { return Real(1) / (give * w.row_scale[row + k]); };
  for (int k = 0; k < 9; ++k) G[k] = 0;
  if (i >= p.contact_count) {
    const Touch* noted = w.velocity_sync.touch + 2 * i;
    if (noted[0] == Touch::kSticks) G[0] = gain(0);
    if (noted[1] == Touch::kSticks) G[4] = gain(1), G[8] = gain(2);
    return;
  }
  if (touch == Touch::kNone) return;
  G[0] = gain(0);
  for (int k = 1; k < 3; ++k) {
    if (touch == Touch::kSticks) {
      G[4 * k] = gain(k);
    } else if (touch == Touch::kSlides) {
      G[3 * k] = w.lambda_contact[3 * i + k] / w.lambda_contact[3 * i] * G[0];
    }
  }
}

}  // namespace axion::velocity_sync
