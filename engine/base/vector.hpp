// Vectors of a CPU's registers, and loads of several numbers at once: the few operations that are written otherwise for
// each kind of processor.
//
// Vectors are those by which g++ and clang extend the language. A GPU's thread has none, and no code for it may name
// them; what it has is loads of 16 bytes. Rooms above use lanes/pack.hpp, which is written on this.
#pragma once

#include <cstring>

#include "engine/base/macros.hpp"

namespace axion {

// Bytes of a vector register of the instruction set that a file is compiled for; none on a GPU.
#if defined(__CUDACC__)
inline constexpr int kVectorBytes = 0;
#elif defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

// `count` numbers side by side.
template <typename Real, int count>
struct VectorOf {
#if !defined(__CUDACC__)
  using Type [[gnu::vector_size(count * sizeof(Real))]] = Real;
#endif
};
template <typename Real>
struct VectorOf<Real, 1> {
  using Type = Real;
};

// A vector whose lanes are those lanes of a and b, one after the other, that the indices say.
template <int... from, typename Vector>
AXION_HD AXION_INLINED inline auto shuffled(const Vector& a, const Vector& b) {
#if !defined(__CUDACC__)
  return __builtin_shufflevector(a, b, from...);
#endif
}

// Four numbers; `from`, or `to`, is aligned to 16 bytes.
template <typename Real>
AXION_HD inline void load_four(const Real* from, Real* to) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Real) == 4) {
    const float4 v = *reinterpret_cast<const float4*>(from);
    to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
  } else {
    const double2 low = *reinterpret_cast<const double2*>(from), high = *reinterpret_cast<const double2*>(from + 2);
    to[0] = low.x, to[1] = low.y, to[2] = high.x, to[3] = high.y;
  }
#else
  for (int i = 0; i < 4; ++i) to[i] = from[i];
#endif
}
template <typename Real>
AXION_HD inline void store_four(Real* to, Real a, Real b, Real c, Real d) {
#if defined(__CUDA_ARCH__)
  if constexpr (sizeof(Real) == 4) {
    *reinterpret_cast<float4*>(to) = {a, b, c, d};
  } else {
    *reinterpret_cast<double2*>(to) = {a, b}, *reinterpret_cast<double2*>(to + 2) = {c, d};
  }
#else
  to[0] = a, to[1] = b, to[2] = c, to[3] = d;
#endif
}

}  // namespace axion
