// Sines, cosines and their inverses from products, quotients and roots alone: the same bits on every machine and
// device, whatever its mathematical library is (those fuse multiplications with additions where the processor can, and
// differ).
//
// To three units in the last place of the result. Not finite in, not a number out.
#pragma once

#include <cmath>

#include "engine/lanes/number.hpp"
#include "engine/math/turn_series.hpp"

namespace axion::math {

template <typename Real>
struct SineCosine {
  Real sine, cosine;
};

namespace detail {

// Angles beyond are reduced by a remainder first, to the period as a double has it.
inline constexpr double kFarAngle = 1e5;

// x − n π/2 with the nearest n, and n mod 4; |x| ≤ kFarAngle. π/2 in three parts, n times the first two of them exact.
AXION_HD inline double within_quarter_turn(double x, int& quarter) {
  constexpr double kPart1 = 0x1.921fb544p+0, kPart2 = 0x1.0b4611a6p-34, kPart3 = 0x1.3198a2e037073p-69;
  const double n = std::floor(x * 0x1.45f306dc9c883p-1 + 0.5);
  quarter = static_cast<int>(n) & 3;
  return ((x - n * kPart1) - n * kPart2) - n * kPart3;
}

// atan z, |z| ≤ 1/8, from its series.
template <typename Real>
AXION_HD_SMALL constexpr Real small_arc_tangent(Real z) {
  constexpr int terms = sizeof(Real) == sizeof(float) ? 5 : 10;
  const Real square = z * z;
  Real sum = 0;
  for (int k = terms - 1; k > 0; --k) sum = square * (Real(1) / Real(2 * k + 1) - sum);
  return z - z * sum;
}

}  // namespace detail

// Of an angle of any size, rad. The angle is reduced as a plain double: a whole number of quarter turns is taken off
// it, so that the rest changes as the angle does.
template <typename Real>
AXION_HD inline SineCosine<Real> sine_cosine(Real angle) {
  using lanes::plain_value, lanes::with_value;
  double x = plain_value(angle);
  if (!(std::abs(x) <= detail::kFarAngle)) x = std::fmod(x, 0x1.921fb54442d18p+2);
  if (!(x == x)) return {with_value(angle, x), with_value(angle, x)};
  int quarter = 0;
  const Real r = with_value(angle, detail::within_quarter_turn(x, quarter)), square = r * r;
  const Real s = r * turn_series<1>(square), c = turn_series<0>(square);
  switch (quarter) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

// The angle of the vector (x, y), above −π and up to π, rad; 0 for the zero vector. The sign of a zero says nothing.
template <typename Real>
AXION_HD inline Real arc_tangent(Real y, Real x) {
  const Real far = std::abs(x), up = std::abs(y);
  const bool steep = up > far;
  const Real large = steep ? up : far, small = steep ? far : up;
  if (large == Real(0)) return Real(0);
  // The nearest quarter c of their quotient: atan(small/large) = atan c + atan((small − c large)/(large + c small)).
  const Real eighth = Real(8) * small;
  Real c = 0, base = 0;
  if (eighth > large) c = Real(0.25), base = Real(0.24497866312686415417);
  if (eighth > 3 * large) c = Real(0.5), base = Real(0.46364760900080611621);
  if (eighth > 5 * large) c = Real(0.75), base = Real(0.64350110879328438680);
  if (eighth > 7 * large) c = Real(1), base = Real(0.78539816339744830962);
  const Real rest = detail::small_arc_tangent((small - c * large) / (large + c * small));
  const Real within = base + rest;
  const Real right = steep ? Real(1.57079632679489661923) - within : within;
  const Real angle = x < Real(0) ? Real(3.14159265358979323846) - right : right;
  return y < Real(0) ? -angle : angle;
}

// From 0 to π, rad, for |cosine| ≤ 1.
template <typename Real>
AXION_HD inline Real arc_cosine(Real cosine) {
  return arc_tangent(std::sqrt((Real(1) - cosine) * (Real(1) + cosine)), cosine);
}

}  // namespace axion::math
