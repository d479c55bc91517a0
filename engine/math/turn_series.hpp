// The power series of sines and cosines of angles up to a radian: what rotations within a step need.
//
//   turn_series<n>(x) = Σ_k (−x)^k n!/(n + 2k)!,  0 ≤ x ≤ 1: n = 0: cos √x;  1: sin √x/√x;  2: 2(1 − cos √x)/x;  3:
//   6(√x − sin √x)/√x³ To rounding, without the cancellation and the division by a small angle of the closed forms, and
//   from products and sums alone, so that no library of a machine or device has a say in the bits.
#pragma once

#include "engine/base/macros.hpp"

namespace axion::math {

template <int n, int terms, typename Real>
AXION_HD_SMALL constexpr Real turn_series_of(Real x) {
  Real sum = 1;
  for (int k = terms - 1; k > 0; --k) {
    sum = Real(1) - (x * (Real(1) / Real((n + 2 * k - 1) * (n + 2 * k)))) * sum;
  }
  return sum;
}

// What is left out is below half a unit in the last place. Most turns of a step are small and need half of the terms.
template <int n, typename Real>
AXION_HD_SMALL constexpr Real turn_series(Real x) {
  constexpr bool kNarrow = sizeof(Real) == sizeof(float);
  if (x <= Real(1) / Real(64)) return turn_series_of < n, kNarrow ? 3 : 6 > (x);
  return turn_series_of < n, kNarrow ? 6 : 10 > (x);
}

}  // namespace axion::math
