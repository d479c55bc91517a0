// The iterate (u, λ) of Newton's method: copied, and moved along a direction.
//
//   (u, λ) += t (Δu, Δλ),   t ≤ kMaxRotation / (h max_b |Δω_b|), wheels left out
//
// A step that turns a body by more than kMaxRotation leaves the range in which the linearised rotation map holds. A
// wheel's spin moves no lock, so it is not bounded. In: the iterate, and a direction in du_linear, du_angular, dlambda.
// Out: the iterate. Cost: linear in bodies and rows.
#pragma once

#include "engine/problem/parameters.hpp"
#include "engine/problem/problem.hpp"

namespace axion::solver {

// Where an iterate stands: velocities of bodies and impulses of rows.
template <typename Real>
struct Iterate {
  OutArray<math::Vec3<Real>> v, omega;  // [nb]
  OutArray<Real> lambda;                // [nrow]
};

// A direction to move it along.
template <typename Real>
struct Direction {
  ConstArray<math::Vec3<Real>> v, omega;
  ConstArray<Real> lambda;
};

// How long both are.
struct IterateSize {
  int bodies, rows;
};

template <typename Real>
AXION_HD inline IterateSize iterate_size(const Problem<Real>& p) {
  return {p.m.body_count, p.row_count()};
}
template <typename Real>
AXION_HD inline Iterate<Real> present_iterate(const model::WorldView<Real>& w) {
  return {w.v_plus, w.omega_plus, w.lambda};
}
template <typename Real>
AXION_HD inline Direction<Real> newton_direction(const model::WorldView<Real>& w) {
  return {w.du_linear, w.du_angular, w.dlambda};
}

template <typename Real, typename Team>
AXION_HD_CALL void copy_iterate(const Team& team, const IterateSize& size, const Iterate<Real>& to,
                                const Iterate<Real>& from) {
  team.for_each(size.bodies, [&](int b) { to.v[b] = from.v[b], to.omega[b] = from.omega[b]; });
  team.for_each(size.rows, [&](int i) { to.lambda[i] = from.lambda[i]; });
}

// (u, λ) += t (Δu, Δλ)
template <typename Real, typename Team>
AXION_HD inline void advance(const Team& team, const IterateSize& size, const Iterate<Real>& iterate,
                             const Direction<Real>& direction, Real t) {
  team.for_each(size.bodies, [&](int b) {
    iterate.v[b] += t * direction.v[b];
    iterate.omega[b] += t * direction.omega[b];
  });
  team.for_each(size.rows, [&](int i) { iterate.lambda[i] += t * direction.lambda[i]; });
}

// Whether a body is a wheel, whose turning at its joint moves nothing: one hinge through its centre of mass carries it,
// and it carries nothing. Its spin leaves no lock to linearise again; turns about other axes it shares with its parent.
template <typename Real>
AXION_HD inline bool is_wheel(const model::ModelView<Real>& m, int b) {
  const model::BodyData<Real>& body = m.bodies[b];
  if (body.joint < 0 || body.child_joint_count > 0 || body.loop_count > 0) return false;
  const model::JointData<Real>& joint = m.joints[body.joint];
  if (joint.slide_count > 0 || joint.hinge_count != 1 || joint.is_ball) return false;
  const math::Vec3<Real> lever = math::cross(joint.hinge[0], joint.p_CA);
  return math::dot(lever, lever) <= Real(IterateParameters::kWheelOffset * IterateParameters::kWheelOffset);
}

// The greatest turn in a step by `omega`, rad. Where it is more than `bound` wheels do not count.
template <typename Real, typename Team, typename Omega>
AXION_HD inline Real greatest_turn(const Team& team, const model::ModelView<Real>& m, Real dt, Real bound,
                                   Omega&& omega) {
  return team.template max<Real>(m.body_count, [&](int b) {
    const Real turn = dt * math::norm(omega(b));
    return turn > bound && is_wheel(m, b) ? Real(0) : turn;
  });
}

// How far the Newton step turns a body at most, rad.
template <typename Real, typename Team>
AXION_HD inline Real step_turn(const Team& team, const model::ModelView<Real>& m, Real dt,
                               ConstArray<math::Vec3<Real>> du_angular) {
  return dt * team.template max<Real>(m.body_count, [&](int b) { return math::norm(du_angular[b]); });
}

// The share of the Newton step that turns no body by more than kMaxRotation.
template <typename Real, typename Team>
AXION_HD inline Real rotation_bound(const Team& team, const model::ModelView<Real>& m, Real dt,
                                    ConstArray<math::Vec3<Real>> du_angular) {
  const Real greatest =
      greatest_turn(team, m, dt, Real(IterateParameters::kMaxRotation), [&](int b) { return du_angular[b]; });
  return greatest > Real(IterateParameters::kMaxRotation) ? Real(IterateParameters::kMaxRotation) / greatest : Real(1);
}

}  // namespace axion::solver
