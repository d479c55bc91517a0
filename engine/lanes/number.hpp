// Operations of formulas that are written once for a number and for a vector of numbers, one a lane: a constant, the
// root, the magnitude, and whether a number vanishes.
//
// Vectors are those of g++ and clang (lanes/pack.hpp); a comparison of them is a mask, and `mask ? a : b` takes each
// lane from the side that the mask names. Everything is done lane by lane, so a lane has the bits of the number alone.
#pragma once

#include <cmath>
#include <type_traits>

#include "engine/base/macros.hpp"

namespace axion::lanes {

namespace detail {
template <typename Number>
concept Lanes = requires(Number a) {
  a[0];
};

template <typename Number>
struct LaneOf {
  using Type = Number;
};
template <Lanes Number>
struct LaneOf<Number> {
  using Type = std::remove_cvref_t<decltype(std::declval<Number>()[0])>;
};
}  // namespace detail

// `value` in each lane.
template <typename Number>
AXION_HD constexpr Number constant(typename detail::LaneOf<Number>::Type value) {
  if constexpr (detail::Lanes<Number>) {
    return Number{} + value;
  } else {
    return value;
  }
}

// Whether a number is zero and nothing is lost where it is left out. A number that carries derivatives overloads it in
// a namespace of its own, to ask them too: formulas leave out only what vanishes.
template <typename Number>
AXION_HD constexpr bool vanishes(const Number& a) {
  return a == Number(0);
}

// The value of a number as a plain double, and a number of another value that changes as `a` does. A number that
// carries derivatives overloads both in a namespace of its own.
template <typename Number>
AXION_HD constexpr double plain_value(const Number& a) {
  return static_cast<double>(a);
}
template <typename Number>
AXION_HD constexpr Number with_value(const Number&, double value) {
  return static_cast<Number>(value);
}

template <typename Number>
AXION_HD inline Number root(Number a) {
  if constexpr (detail::Lanes<Number>) {
    for (unsigned i = 0; i < sizeof(Number) / sizeof(a[0]); ++i) a[i] = std::sqrt(a[i]);
    return a;
  } else {
    return std::sqrt(a);
  }
}

template <typename Number>
AXION_HD inline Number magnitude(const Number& a) {
  if constexpr (detail::Lanes<Number>) {
    return a < Number{} ? -a : a;
  } else {
    return std::abs(a);
  }
}

}  // namespace axion::lanes
