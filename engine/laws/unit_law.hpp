// What the laws of units share. A unit is one row, or three of one place, whose impulses obey one law.
//
// A law is a struct of the numbers of one unit, or of a unit in each lane, with these functions:
//   idle(v, λ)                            whether the unit stays without an impulse; v: the velocity of its first row
//   solve_alone(block, v, λ)              its impulses with all others held; `block`: of J V Jᵀ, or a row's mobility
//   exceeds(v, λ, tolerance, share)       whether a natural residual is above its share of its row's tolerance
//   project(λ)                            moves impulses into the law's bounds
//   unknowns(λ, within, held, tangents)   which of its rows are unknowns of a step on the active set (Unknowns);
//                                         friction sticks within a share of its bound, if it is not held to slide
//   end_of_step(part, sticks, λ, x)       the bound that the unknown of its row `part` meets on the way of the step x
//   bound_met(x)                          the bound of its first row's impulse that the step x leads to
// What a law says to Newton's matrix (linearise) and to the stop test (natural residuals) stands in its file too.
// kFollows: its bounds are set by another unit's impulses, so that it comes after these. kWaits: most of its units
// are idle. Velocities are in m/s or rad/s, impulses in N s or N m s. Cost: none here.
#pragma once

#include "engine/constraints/motor_forces.hpp"
#include "engine/lanes/number.hpp"

namespace axion::laws {

// Numbers along n, t1 and t2, of a unit of three rows.
template <typename Number>
struct Triple {
  Number n, x, y;
};

// The impulse of a unit: a number, or three.
template <typename Law, typename Real>
AXION_HD inline auto impulse_of(const Real* lambda) {
  if constexpr (Law::kRows == 1) {
    return lambda[0];
  } else {
    return Triple<Real>{lambda[0], lambda[1], lambda[2]};
  }
}

// The rows of a unit that are unknowns: each by itself, row k by bit k; or one of the forms of a friction cone.
enum Unknowns : int {
  kFirstRow = 1,
  kTangentRows = 6,
  kOwnRows = 7,
  kNormalAlone = 8,  // of a cone without friction
  kSticks = 16,      // all three rows
  kSlides = 32       // the normal impulse with friction along its direction, and friction across it
};

// The bound that an unknown meets where a step ends: that of its row's impulse, or the friction cone.
enum class ActiveBound : int { kNone, kImpulse, kCone };

// Share of a step with which an unknown meets a bound, and which; a share above one: none.
template <typename Real>
struct StepEnd {
  Real share = 2;
  ActiveBound bound = ActiveBound::kNone;
};

// A linearised row J Δu + C Δλ = −r.
template <typename Real>
struct LinearisedRow {
  Real rhs, compliance;
};

inline constexpr double kReleaseGain = 1e8;  // compliance, in units of a row's scale, of one that keeps its impulse

template <typename Real>
AXION_HD inline Real greater(Real a, Real b) {
  return a > b ? a : b;
}

using constraints::clamp;

}  // namespace axion::laws
