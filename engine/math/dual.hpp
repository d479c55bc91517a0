// Dual: a number and its derivatives along kDualLanes directions, for functions over Real whose derivatives are asked
// for.
//
// Include this before any header of the engine: its templates name functions of std, which are looked up where they
// stand. Comparisons are by value, so that a function takes the branch that it takes for the value alone, and has the
// value's own bits. Where a root has no derivative, at zero, it is zero. Cost: an operation on a value and one to three
// on a vector of its derivatives.
#pragma once

#include <cmath>
#include <compare>
#include <limits>
#include <type_traits>

#include "engine/base/macros.hpp"
#include "engine/base/vector.hpp"

namespace axion::math {

inline constexpr int kDualLanes = 8;

// Derivatives along each direction.
struct Slopes {
  using Lanes [[gnu::vector_size(kDualLanes * sizeof(double)), gnu::aligned(alignof(double))]] = double;

  Lanes lanes;

  double operator[](int i) const { return lanes[i]; }
  void set(int i, double value) { lanes[i] = value; }

  AXION_INLINED friend inline Slopes operator+(const Slopes& a, const Slopes& b) { return {a.lanes + b.lanes}; }
  AXION_INLINED friend inline Slopes operator-(const Slopes& a, const Slopes& b) { return {a.lanes - b.lanes}; }
  AXION_INLINED friend inline Slopes operator-(const Slopes& a) { return {-a.lanes}; }
  AXION_INLINED friend inline Slopes operator*(double s, const Slopes& a) { return {s * a.lanes}; }
  AXION_INLINED Slopes& operator+=(const Slopes& b) { return *this = *this + b; }
  AXION_INLINED Slopes& operator-=(const Slopes& b) { return *this = *this - b; }
};

struct Dual {
  double value;
  Slopes slope;

  Dual() = default;
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  constexpr Dual(Number x) : value(static_cast<double>(x)), slope{} {}
  constexpr Dual(double x, const Slopes& dx) : value(x), slope(dx) {}
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  constexpr explicit operator Number() const { return static_cast<Number>(value); }

  AXION_INLINED friend inline Dual operator+(const Dual& a, const Dual& b) {
    return {a.value + b.value, a.slope + b.slope};
  }
  AXION_INLINED friend inline Dual operator-(const Dual& a, const Dual& b) {
    return {a.value - b.value, a.slope - b.slope};
  }
  AXION_INLINED friend inline Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.value * b.slope + b.value * a.slope};
  }
  AXION_INLINED friend inline Dual operator/(const Dual& a, const Dual& b) {
    const double quotient = a.value / b.value, inverse = 1 / b.value;
    return {quotient, inverse * (a.slope - quotient * b.slope)};
  }
  AXION_INLINED friend inline Dual operator-(const Dual& a) { return {-a.value, -a.slope}; }
  AXION_INLINED Dual& operator+=(const Dual& b) { return *this = *this + b; }
  AXION_INLINED Dual& operator-=(const Dual& b) { return *this = *this - b; }
  AXION_INLINED Dual& operator*=(const Dual& b) { return *this = *this * b; }
  AXION_INLINED Dual& operator/=(const Dual& b) { return *this = *this / b; }
  friend constexpr bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend constexpr auto operator<=>(const Dual& a, const Dual& b) { return a.value <=> b.value; }
};

// The engine's questions to a number (lanes/number.hpp).
inline bool vanishes(const Dual& a) {
  bool none = a.value == 0;
  for (int i = 0; i < kDualLanes; ++i) none = none && a.slope[i] == 0;
  return none;
}
inline double plain_value(const Dual& a) { return a.value; }
inline Dual with_value(const Dual& a, double value) { return {value, a.slope}; }

}  // namespace axion::math

// What the engine asks of std where Real is a dual number.
namespace std {
template <>
struct numeric_limits<axion::math::Dual> : numeric_limits<double> {};
inline axion::math::Dual abs(const axion::math::Dual& a) { return a.value < 0 ? -a : a; }
inline axion::math::Dual sqrt(const axion::math::Dual& a) {
  const double root = std::sqrt(a.value);
  return {root, (root > 0 ? 0.5 / root : 0.0) * a.slope};
}
inline axion::math::Dual round(const axion::math::Dual& a) { return std::round(a.value); }
inline axion::math::Dual floor(const axion::math::Dual& a) { return std::floor(a.value); }
}  // namespace std
