// The law of a limit: 0 ≤ a ⟂ λ ≥ 0, of one row; a = J u + bias + compliance λ.
//
//   natural residual   |min(a, r λ)|
//   alone              λ⁺ = max(0, λ − a / (mobility + compliance))
//   Newton             a complementarity function of a and r λ (contact_function.hpp)
//
// The normal row of a contact obeys it too. Cost: a few operations; one root and two quotients where linearised.
#pragma once

#include "engine/laws/contact_function.hpp"
#include "engine/laws/unit_law.hpp"

namespace axion::laws {

// Natural residual of a ⟂ b ≥ 0, of one row or of one in each lane.
template <typename Number>
AXION_HD inline Number unilateral_residual(const Number& a, const Number& b) {
  return lanes::magnitude<Number>(a < b ? a : b);
}

template <typename Real>
struct Limit {
  static constexpr int kRows = 1;
  static constexpr bool kFollows = false, kWaits = true;
  static constexpr int kUnknowns = kFirstRow;

  Real scale;

  AXION_HD bool idle(Real v, Real last) const { return v >= Real(0) && last == Real(0); }
  AXION_HD Real solve_alone(Real mobility, Real v, Real last) const { return greater(last - v / mobility, Real(0)); }
  AXION_HD bool exceeds(Real v, Real last, const Real* tolerance, Real share) const {
    return unilateral_residual(v, scale * last) > share * tolerance[0];
  }
  AXION_HD void project(Real* lambda) const { lambda[0] = greater(lambda[0], Real(0)); }

  template <typename Held, typename Tangents>
  AXION_HD int unknowns(const Real* lambda, Real, Held&&, Tangents&&) const {
    return lambda[0] > Real(0) ? kFirstRow : 0;
  }
  AXION_HD StepEnd<Real> end_of_step(int, bool, const Real* lambda, const Real* x) const {
    if (!(x[0] < Real(0))) return {};
    return {(Real(0) - lambda[0]) / x[0], ActiveBound::kImpulse};
  }
  AXION_HD Real bound_met(Real) const { return 0; }

  AXION_HD LinearisedRow<Real> linearise(model::ContactFunction function, Real a, Real lambda, Real compliance,
                                         Real proximal) const {
    const Complementarity<Real> f = complementarity(function, a, scale * lambda);
    return {f.phi_over_alpha, scale * f.beta_over_alpha + proximal + compliance};
  }
};

}  // namespace axion::laws
