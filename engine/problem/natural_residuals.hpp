// How far a row's impulse is from its law, m/s or rad/s: natural residuals of rows of each kind, given what a row moves
// at. They read no array of the problem, so that the sweeps judge rows as residual.hpp does.
//
//   unilateral  |min(a, r λ)|        bounded  (r + c)|λ − proj(λ − v/(r + c))|        held  r|λ − clamp(λ − v/r)|
#pragma once

#include "engine/constraints/friction.hpp"
#include "engine/constraints/motor_forces.hpp"
#include "engine/lanes/number.hpp"
#include "engine/problem/problem_views.hpp"

namespace axion::solver {

// Where the impulse of a bounded row would go without its bounds, and where its bounds let it go.
template <typename Real>
struct BoundedImpulse {
  Real free, held;
};

template <typename Real>
AXION_HD inline BoundedImpulse<Real> bounded_impulse(const BoundedRow<Real>& row, Real residual) {
  const Real star = row.lambda - residual / (row.scale + row.compliance);
  return {star, constraints::clamp(star, row.lower, row.upper)};
}

// Natural residual of a bounded row whose residual is given.
template <typename Real>
AXION_HD inline Real effort_residual(const BoundedRow<Real>& row, Real residual) {
  const BoundedImpulse<Real> next = bounded_impulse(row, residual);
  if (next.held == next.free) return std::abs(residual);
  const Real off = row.lambda - next.held;
  return (row.scale + row.compliance) * std::abs(off);
}

// Natural residual of a ⟂ b ≥ 0, of one row or of one in each lane.
template <typename Number>
AXION_HD inline Number unilateral_residual(const Number& a, const Number& b) {
  return lanes::magnitude<Number>(a < b ? a : b);
}

// Bounds of a moment at the iterate, N m s.
template <typename Real>
struct MomentBounds {
  Real torsional, rolling;
};

// `contact_impulses`: λ of contacts, three each.
template <typename Real>
AXION_HD inline MomentBounds<Real> moment_bounds(const constraints::ContactMoment<Real>& moment,
                                                 ConstArray<Real> contact_impulses) {
  const Real normal = greater(contact_impulses[3 * moment.contact], Real(0));
  return {moment.torsional * normal, moment.rolling * normal};
}

// Natural residual of an impulse within ±bound along a row of velocity v and scale r.
template <typename Real>
AXION_HD inline Real held_residual(Real v, Real lambda, Real bound, Real r) {
  return r * std::abs(lambda - constraints::clamp(lambda - v / r, -bound, bound));
}

}  // namespace axion::solver
