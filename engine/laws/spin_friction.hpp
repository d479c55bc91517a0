// The law of torsional and rolling friction of a contact: three rows of angular velocities about n, t1 and t2.
//
//   torsional   |τ_n| ≤ μ_s λ_n      rolling   τ_t within the disc of radius μ_r λ_n      λ_n of the contact, as it is
//   natural residuals   r |τ_n − clamp(τ_n − v_n / r)|, and that of friction in the disc
//   active              torsional friction within its share of its bound: one unknown; rolling friction likewise: two.
//                       What is not within its bound turns on, with the impulse that it has
//   Newton              bounds at the iterate: how they follow the normal impulse is left out
//
// Bounds in N m s. Cost: some sixty operations.
#pragma once

#include "engine/laws/friction_disc.hpp"

namespace axion::laws {

inline constexpr double kMomentProximal = 1e-1;  // of (J M⁻¹ Jᵀ)_ii: spin friction is redundant beside normal impulses

template <typename Real>
struct SpinFriction {
  static constexpr int kRows = 3;
  static constexpr bool kFollows = true, kWaits = false;
  static constexpr int kUnknowns = kFirstRow | kTangentRows;

  Real torsional, rolling;  // bounds
  Real scale_n, scale_t;

  // Natural residual of the torsional row.
  AXION_HD Real torsional_residual(Real v, Real last) const {
    return scale_n * std::abs(last - clamp(last - v / scale_n, -torsional, torsional));
  }
  AXION_HD Real rolling_residual(Real v_x, Real v_y, Real x, Real y) const {
    return friction_residual<Real>({v_x, v_y}, {x, y}, rolling, scale_t);
  }

  AXION_HD bool idle(Real, const Triple<Real>& last) const {
    return !(torsional > Real(0)) && !(rolling > Real(0)) && last.n == Real(0) && last.x == Real(0) &&
           last.y == Real(0);
  }
  AXION_HD Triple<Real> solve_alone(const SweptBlock<Real>& block, const Triple<Real>& v,
                                    const Triple<Real>& last) const {
    const Real n = clamp(last.n - v.n * block.inverse[0], -torsional, torsional);
    return solve_disc_alone<Real>(block, n, rolling, v, last);
  }
  AXION_HD bool exceeds(const Triple<Real>& v, const Triple<Real>& last, const Real* tolerance, Real share) const {
    return torsional_residual(v.n, last.n) > share * tolerance[0] ||
           rolling_residual(v.x, v.y, last.x, last.y) > share * tolerance[1];
  }
  AXION_HD void project(Real* lambda) const {
    lambda[0] = clamp(lambda[0], -torsional, torsional);
    project_on_disc(rolling, lambda + 1);
  }

  template <typename Held, typename Tangents>
  AXION_HD int unknowns(const Real* lambda, Real within, Held&& held, Tangents&&) const {
    if (held()) return 0;
    const Real most = within * rolling;
    const bool holds = std::abs(lambda[0]) < within * torsional,
               rests = lambda[1] * lambda[1] + lambda[2] * lambda[2] < most * most;
    return (holds ? kFirstRow : 0) | (rests ? kTangentRows : 0);
  }
  AXION_HD StepEnd<Real> end_of_step(int part, bool, const Real* l, const Real* x) const {
    if (part == 0) {
      if (std::abs(l[0] + x[0]) <= torsional) return {};
      return {(bound_met(x[0]) - l[0]) / x[0], ActiveBound::kImpulse};
    }
    if (part == 2) return {};  // with part 1
    const Real most = rolling * rolling, a = x[0] * x[0] + x[1] * x[1];
    const Real b = l[0] * x[0] + l[1] * x[1], c = l[0] * l[0] + l[1] * l[1] - most;
    if (a + 2 * b + c <= Real(0)) return {};
    const Real root = std::sqrt(greater(b * b - a * c, Real(0)));
    return {b > Real(0) ? -c / (b + root) : (root - b) / a, ActiveBound::kCone};
  }
  AXION_HD Real bound_met(Real x) const { return x < Real(0) ? -torsional : torsional; }

  // A torsional impulse at its bound keeps it, as that of an effort row does.
  AXION_HD_RARE void linearise(const StepRules<Real>& rules, const LinearisedUnit<Real>& unit) const {
    const Real share = rules.proximal_scale * Real(kMomentProximal);
    const Real star = unit.lambda[0] - unit.residual[0] / scale_n, held = clamp(star, -torsional, torsional);
    unit.compliance[0] = held == star ? share * scale_n : Real(kReleaseGain) * scale_n;
    unit.rhs[0] = held == star ? unit.residual[0] : unit.compliance[0] * (unit.lambda[0] - held);
    FrictionBlock<Real> f = linearise_disc(rules, unit, Real(1), rolling, scale_t);
    f.coupling[0] = f.coupling[1] = 0;  // bounds are held
    put_friction(f, share * scale_t, rules.symmetric, unit);
  }
};

}  // namespace axion::laws
