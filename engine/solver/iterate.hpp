// The iterate (u, λ) of Newton's method: copied, and moved along a direction.
#pragma once

#include "engine/solver/residual.hpp"

namespace axion::solver {

inline constexpr double kMaxRotation = 0.5;  // rad, of one Newton iteration

template <typename Real, typename Team>
AXION_HD_CALL void copy_iterate(const Team& team, const Problem<Real>& p, math::Vec3<Real>* v,
                                  math::Vec3<Real>* omega, Real* lambda, const math::Vec3<Real>* from_v,
                                  const math::Vec3<Real>* from_omega, const Real* from_lambda) {
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

// How far the Newton step turns a body at most, rad.
template <typename Real, typename Team>
AXION_HD inline Real step_turn(const Team& team, const Problem<Real>& p) {
  return p.s.dt * team.template max<Real>(p.m.body_count, [&](int b) { return math::norm(p.w.du_angular[b]); });
}

// The share of the Newton step that turns no body by more than kMaxRotation.
template <typename Real, typename Team>
AXION_HD inline Real rotation_bound(const Team& team, const Problem<Real>& p) {
  const Real greatest = step_turn(team, p);
  return greatest > Real(kMaxRotation) ? Real(kMaxRotation) / greatest : Real(1);
}

}  // namespace axion::solver
