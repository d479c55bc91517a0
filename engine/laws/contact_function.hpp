// Complementarity functions: φ(a, b) = 0 exactly where 0 ≤ a ⟂ b ≥ 0, both in m/s.
//
// Fischer-Burmeister φ = a + b − √(a² + b²), written without cancellation; or the minimum map φ = min(a, b).
// alpha = ∂φ/∂a, beta = ∂φ/∂b. A row is divided by alpha, an exact scaling of the Newton system:
//   J Δu + (r β/α + Σ̂) Δλ = −φ/α.
// Source: seeds, section Contact constraints; Fischer 1992.
//
// In: a and b of one row. Out: φ/α and β/α. Cost: one root, two quotients.
#pragma once

#include <cmath>

#include "engine/base/macros.hpp"
#include "engine/model/solver_options.hpp"

namespace axion::laws {

template <typename Real>
struct Complementarity {
  Real phi_over_alpha;
  Real beta_over_alpha;
};

inline constexpr double kAlphaFloor = 1e-8;

template <typename Real>
AXION_HD inline Complementarity<Real> fischer_burmeister(Real a, Real b) {
  const Real s = std::sqrt(a * a + b * b);
  Real alpha = Real(0.29289321881345248), beta = alpha, phi = 0;  // 1 - 1/√2 at the kink
  if (s >= Real(1e-20)) {
    phi = a + b > 0 ? Real(2) * a * b / (a + b + s) : a + b - s;
    alpha = a > 0 ? b * b / (s * (s + a)) : Real(1) - a / s;
    beta = b > 0 ? a * a / (s * (s + b)) : Real(1) - b / s;
  }
  if (alpha < Real(kAlphaFloor)) alpha = Real(kAlphaFloor);
  return {phi / alpha, beta / alpha};
}

template <typename Real>
AXION_HD inline Complementarity<Real> minimum_map(Real a, Real b) {
  if (a <= b) return {a, 0};
  return {b / Real(kAlphaFloor), Real(1) / Real(kAlphaFloor)};
}

template <typename Real>
AXION_HD inline Complementarity<Real> complementarity(model::ContactFunction function, Real a, Real b) {
  return function == model::ContactFunction::kFischerBurmeister ? fischer_burmeister(a, b) : minimum_map(a, b);
}

}  // namespace axion::laws
