// Quad: four numbers that a CPU adds and multiplies at once, lane by lane, so with the bits of scalars.
//
// g++'s vectoriser of straight-line code is off (engine/step/CMakeLists.txt), so what is four wide says so here. Devices run
// the plain loops. Loads and stores need no alignment.
#pragma once

#include "engine/base/macros.hpp"

namespace axion::math {

#if defined(__GNUC__) && !defined(__CUDACC__)

namespace detail {
template <typename Real>
struct QuadLanes;
template <>
struct QuadLanes<float> {
  using type [[gnu::vector_size(16)]] = float;
};
template <>
struct QuadLanes<double> {
  using type [[gnu::vector_size(32)]] = double;
};
}  // namespace detail

template <typename Real>
struct Quad {
  typename detail::QuadLanes<Real>::type lanes;

  static Quad load(const Real* from) {
    Quad q;
    __builtin_memcpy(&q.lanes, from, sizeof(q.lanes));
    return q;
  }
  void store(Real* to) const { __builtin_memcpy(to, &lanes, sizeof(lanes)); }
  Real operator[](int k) const { return lanes[k]; }
  // this += factor · other
  void add_product(Real factor, const Quad& other) { lanes += factor * other.lanes; }
};

#else

template <typename Real>
struct Quad {
  Real lanes[4];

  AXION_HD static Quad load(const Real* from) { return {{from[0], from[1], from[2], from[3]}}; }
  AXION_HD void store(Real* to) const {
    for (int k = 0; k < 4; ++k) to[k] = lanes[k];
  }
  AXION_HD Real operator[](int k) const { return lanes[k]; }
  AXION_HD void add_product(Real factor, const Quad& other) {
    for (int k = 0; k < 4; ++k) lanes[k] += factor * other.lanes[k];
  }
};

#endif

}  // namespace axion::math
