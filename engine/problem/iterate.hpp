// The iterate (u, λ) of Newton's method: copied, and moved along a direction.
//
//   (u, λ) += t (Δu, Δλ),   t ≤ kMaxRotation / (h max_b |Δω_b|), wheels left out
//
// A step that turns a body by more than kMaxRotation leaves the range in which the linearised rotation map holds. A
// wheel's spin moves no lock, so it is not bounded. In: the iterate, and a direction in du_linear, du_angular, dlambda.
// Out: the iterate. Cost: linear in bodies and rows.
#pragma once

#include "engine/problem/residual.hpp"

namespace axion::solver {

inline constexpr double kMaxRotation = 0.5;   // rad, of one Newton iteration
inline constexpr double kWheelOffset = 1e-6;  // m, of a wheel's centre of mass from its axle

template <typename Real, typename Team>
AXION_HD_CALL void copy_iterate(const Team& team, const Problem<Real>& p, math::Vec3<Real>* v, math::Vec3<Real>* omega,
                                Real* lambda, const math::Vec3<Real>* from_v, const math::Vec3<Real>* from_omega,
                                const Real* from_lambda) {
  team.for_each(p.m.body_count, [&](int b) { v[b] = from_v[b], omega[b] = from_omega[b]; });
  team.for_each(p.row_count(), [&](int i) { lambda[i] = from_lambda[i]; });
}

// (u, λ) += t (Δu, Δλ)
template <typename Real, typename Team>
AXION_HD inline void advance(const Team& team, const Problem<Real>& p, Real t) {
  team.for_each(p.m.body_count, [&](int b) {
    p.w.v_plus[b] += t * p.w.du_linear[b];
    p.w.omega_plus[b] += t * p.w.du_angular[b];
  });
  team.for_each(p.row_count(), [&](int i) { p.w.lambda[i] += t * p.w.dlambda[i]; });
}

// Whether a body is a wheel, whose turning at its joint moves nothing: one hinge through its centre of mass carries it,
// and it carries nothing. Its spin leaves no lock to linearise again; turns about other axes it shares with its parent.
template <typename Real>
AXION_HD inline bool is_wheel(const Problem<Real>& p, int b) {
  const model::BodyData<Real>& body = p.m.bodies[b];
  if (body.joint < 0 || body.child_joint_count > 0 || body.loop_count > 0) return false;
  const model::JointData<Real>& joint = p.m.joints[body.joint];
  if (joint.slide_count > 0 || joint.hinge_count != 1 || joint.is_ball) return false;
  const math::Vec3<Real> lever = math::cross(joint.hinge[0], joint.p_CA);
  return math::dot(lever, lever) <= Real(kWheelOffset * kWheelOffset);
}

// The greatest turn in a step by `omega`, rad. Where it is more than `bound` wheels do not count.
template <typename Real, typename Team, typename Omega>
AXION_HD inline Real greatest_turn(const Team& team, const Problem<Real>& p, Real bound, Omega&& omega) {
  return team.template max<Real>(p.m.body_count, [&](int b) {
    const Real turn = p.s.dt * math::norm(omega(b));
    return turn > bound && is_wheel(p, b) ? Real(0) : turn;
  });
}

// How far the Newton step turns a body at most, rad.
template <typename Real, typename Team>
AXION_HD inline Real step_turn(const Team& team, const Problem<Real>& p) {
  return p.s.dt * team.template max<Real>(p.m.body_count, [&](int b) { return math::norm(p.w.du_angular[b]); });
}

// The share of the Newton step that turns no body by more than kMaxRotation.
template <typename Real, typename Team>
AXION_HD inline Real rotation_bound(const Team& team, const Problem<Real>& p) {
  const Real greatest = greatest_turn(team, p, Real(kMaxRotation), [&](int b) { return p.w.du_angular[b]; });
  return greatest > Real(kMaxRotation) ? Real(kMaxRotation) / greatest : Real(1);
}

}  // namespace axion::solver
