// The law of an effort, a row whose impulse has bounds: dry friction of an axis, or a drive with an effort limit.
//
//   λ = clamp(λ*, lower, upper),  λ* = λ − v / (r + c)      v the row's residual, c its compliance
//   natural residual   |v| within the bounds, (r + c) |λ − clamp(λ*)| at them
//   alone              λ⁺ = clamp(λ − v / (mobility + c))
//   Newton             v within the bounds; at one a compliance so large that the row only says Δλ = bound − λ
//
// Bounds of impulses in N s or N m s. Cost: a few operations.
#pragma once

#include <cmath>

#include "engine/laws/unit_law.hpp"

namespace axion::laws {

// Where the impulse would go without its bounds, and where its bounds let it go.
template <typename Real>
struct BoundedImpulse {
  Real free, held;
};

template <typename Real>
struct BoundedEffort {
  static constexpr int kRows = 1;
  static constexpr bool kFollows = false, kWaits = false;
  static constexpr int kUnknowns = kFirstRow;

  Real scale, compliance, lower, upper;

  AXION_HD BoundedImpulse<Real> next_impulse(Real v, Real last) const {
    const Real star = last - v / (scale + compliance);
    return {star, clamp(star, lower, upper)};
  }
  AXION_HD Real natural_residual(Real v, Real last) const {
    const BoundedImpulse<Real> next = next_impulse(v, last);
    if (next.held == next.free) return std::abs(v);
    const Real off = last - next.held;
    return (scale + compliance) * std::abs(off);
  }

  AXION_HD bool idle(Real, Real) const { return false; }
  AXION_HD Real solve_alone(Real mobility, Real v, Real last) const { return clamp(last - v / mobility, lower, upper); }
  AXION_HD bool exceeds(Real v, Real last, const Real* tolerance, Real share) const {
    return natural_residual(v, last) > share * tolerance[0];
  }
  AXION_HD void project(Real* lambda) const { lambda[0] = clamp(lambda[0], lower, upper); }

  template <typename Held, typename Tangents>
  AXION_HD int unknowns(const Real* lambda, Real, Held&&, Tangents&&) const {
    return lambda[0] > lower && lambda[0] < upper ? kFirstRow : 0;
  }
  AXION_HD StepEnd<Real> end_of_step(int, bool, const Real* lambda, const Real* x) const {
    if (x[0] == Real(0)) return {};
    return {(bound_met(x[0]) - lambda[0]) / x[0], ActiveBound::kImpulse};
  }
  AXION_HD Real bound_met(Real x) const { return x < Real(0) ? lower : upper; }

  // A row without compliance takes a proximal one, for dry friction on axes that contacts hold too.
  AXION_HD LinearisedRow<Real> linearise(Real v, Real last, Real proximal) const {
    const BoundedImpulse<Real> next = next_impulse(v, last);
    if (next.held == next.free) return {v, compliance > proximal ? compliance : compliance + proximal};
    const Real gain = Real(kReleaseGain) * (scale + compliance);
    return {gain * (last - next.held), gain};
  }
};

}  // namespace axion::laws
