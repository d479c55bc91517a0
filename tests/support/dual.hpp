// Dual<T>: a number and its derivative along one direction, for tests of what functions over Real do to derivatives.
//
// Include this before any header of the engine: its templates name functions of std, which are looked up where they
// stand. Comparisons are by value.
#pragma once

#include <cmath>
#include <compare>
#include <limits>
#include <type_traits>

namespace axion::testing {

template <typename T>
struct Dual {
  T value{}, slope{};

  constexpr Dual() = default;
  template <typename U>
  requires std::is_arithmetic_v<U>
  constexpr Dual(U x) : value(static_cast<T>(x)) {}
  constexpr Dual(T x, T dx) : value(x), slope(dx) {}
  template <typename U>
  requires std::is_arithmetic_v<U>
  constexpr explicit operator U() const { return static_cast<U>(value); }

  friend constexpr Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.slope + b.slope}; }
  friend constexpr Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.slope - b.slope}; }
  friend constexpr Dual operator*(Dual a, Dual b) { return {a.value * b.value, a.slope * b.value + a.value * b.slope}; }
  friend constexpr Dual operator/(Dual a, Dual b) {
    const T q = a.value / b.value;
    return {q, (a.slope - q * b.slope) / b.value};
  }
  friend constexpr Dual operator-(Dual a) { return {-a.value, -a.slope}; }
  constexpr Dual& operator+=(Dual b) { return *this = *this + b; }
  constexpr Dual& operator-=(Dual b) { return *this = *this - b; }
  constexpr Dual& operator*=(Dual b) { return *this = *this * b; }
  friend constexpr bool operator==(Dual a, Dual b) { return a.value == b.value; }
  friend constexpr auto operator<=>(Dual a, Dual b) { return a.value <=> b.value; }
};

// The engine's questions to a number (lanes/number.hpp).
template <typename T>
constexpr bool vanishes(const Dual<T>& a) {
  return a.value == T(0) && a.slope == T(0);
}
template <typename T>
constexpr double plain_value(const Dual<T>& a) {
  return static_cast<double>(a.value);
}
template <typename T>
constexpr Dual<T> with_value(const Dual<T>& a, double value) {
  return {static_cast<T>(value), a.slope};
}

}  // namespace axion::testing

// For tests alone: what the engine asks of std where Real is a dual number.
namespace std {
template <typename T>
struct numeric_limits<axion::testing::Dual<T>> : numeric_limits<T> {};
template <typename T>
axion::testing::Dual<T> abs(axion::testing::Dual<T> a) {
  return a.value < T(0) ? -a : a;
}
template <typename T>
axion::testing::Dual<T> sqrt(axion::testing::Dual<T> a) {
  const T root = std::sqrt(a.value);
  return {root, a.slope / (2 * root)};
}
}  // namespace std
