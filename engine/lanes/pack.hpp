// A pack: as many neighbouring numbers as one register of the processor holds, so that loops over the rows of small
// matrices are a few instructions. Everything done to packs is elementwise: how many lanes they have changes no bit.
//
// On a CPU lanes follow from the instruction set that a file is compiled for (vectors as g++ and clang extend the
// language by them), whatever its alignment; in CUDA a pack is one number, loaded as one (a memcpy there moves bytes,
// as it knows of no alignment), and threads share out the packs.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "engine/base/macros.hpp"

// A function or lambda whose arrays are to become registers: it must end up in its caller. AXION_UNROLLED is for loops
// over what follows at equal distances: in CUDA four turns at a time, whose loads go together.
#if defined(__CUDACC__)
#define AXION_INLINED
#define AXION_UNROLLED _Pragma("unroll 4")
#else
#define AXION_INLINED __attribute__((always_inline))
#define AXION_UNROLLED
#endif

namespace axion::lanes {

// Lanes of a pack, at most `most`; both powers of two.
template <typename Real>
AXION_HD constexpr int pack_lanes(int most) {
#if defined(__CUDACC__)
  return most < 1 ? most : 1;
#else
#if defined(__AVX512F__)
  constexpr int lanes = 64 / sizeof(Real);
#elif defined(__AVX__)
  constexpr int lanes = 32 / sizeof(Real);
#else
  constexpr int lanes = 16 / sizeof(Real);
#endif
  return lanes < most ? lanes : most;
#endif
}

// Whether a pack is one number, as in CUDA: what has rows of numbers is then shared out number by number.
template <typename Real>
AXION_HD constexpr bool shared_out_singly() {
  return pack_lanes<Real>(2) == 1;
}

// Whether the threads of a warp share out the work on one matrix (joint_threads.hpp, active_set_threads.hpp): in CUDA
// alone.
template <typename Real>
AXION_HD constexpr bool shared_out_to_threads() {
#if defined(__CUDACC__)
  return true;
#else
  return false;
#endif
}

namespace detail {
template <typename Real, int lanes>
struct PackType {
#if !defined(__CUDACC__)
  using Type [[gnu::vector_size(lanes * sizeof(Real))]] = Real;
#endif
};
template <typename Real>
struct PackType<Real, 1> {
  using Type = Real;
};
}  // namespace detail

template <typename Real, int lanes>
using Pack = typename detail::PackType<Real, lanes>::Type;

template <int lanes, typename Real>
AXION_HD inline Pack<Real, lanes> load_pack(const Real* from) {
#if defined(__CUDACC__)
  return *from;
#else
  Pack<Real, lanes> a;
  std::memcpy(&a, from, sizeof(a));
  return a;
#endif
}

template <int lanes, typename Real>
AXION_HD inline void store_pack(Real* to, const Pack<Real, lanes>& a) {
#if defined(__CUDACC__)
  *to = a;
#else
  std::memcpy(to, &a, sizeof(a));
#endif
}

// Four numbers at once, in CUDA by loads of 16 bytes; `from`, or `to`, is aligned to them.
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

// Numbers smaller than `least` become zero.
template <int lanes, typename Real>
AXION_HD inline Pack<Real, lanes> without_small(const Pack<Real, lanes>& a, Real least) {
  return a < least && a > -least ? Pack<Real, lanes>{} : a;
}

// The pack of f(std::integral_constant<int, i>) for i from `first` on.
template <int lanes, int first, typename Real, typename F>
AXION_HD AXION_INLINED inline Pack<Real, lanes> pack_of(F&& f) {
  return [&]<int... i>(std::integer_sequence<int, i...>) AXION_INLINED {
    return Pack<Real, lanes>{f(std::integral_constant<int, first + i>{})...};
  }
  (std::make_integer_sequence<int, lanes>{});
}

// The first `count` lanes; zero for the rest.
template <int count, int lanes, typename Real>
AXION_HD inline Pack<Real, lanes> first_lanes(Pack<Real, lanes> a) {
  if constexpr (lanes == 1) {
    return count > 0 ? a : Real(0);
  } else {
    for (int i = count > 0 ? count : 0; i < lanes; ++i) a[i] = 0;
    return a;
  }
}

// Stores no more than `count` lanes.
template <int count, int lanes, typename Real>
AXION_HD inline void store_first_lanes(Real* to, const Pack<Real, lanes>& a) {
  constexpr int stored = count < lanes ? count : lanes;
  if constexpr (stored > 0) {
#if defined(__CUDACC__)
    *to = a;
#else
    std::memcpy(to, &a, stored * sizeof(Real));
#endif
  }
}

template <int lanes, typename Real>
AXION_HD inline Real lane(const Pack<Real, lanes>& a, int i) {
  if constexpr (lanes == 1) {
    return a;
  } else {
    return a[i];
  }
}

// f(std::integral_constant<int, i>) for i from 0 to count − 1.
template <int count, typename F>
AXION_HD AXION_INLINED inline void for_constants(F&& f) {
  [&]<int... i>(std::integer_sequence<int, i...>) AXION_INLINED { (f(std::integral_constant<int, i>{}), ...); }
  (std::make_integer_sequence<int, count>{});
}

// Transposes every four lanes of four rows of four lanes or more; so never in CUDA.
template <int lanes, typename Real>
AXION_HD AXION_INLINED inline void transpose_fours(Pack<Real, lanes> (&rows)[4]) {
#if !defined(__CUDACC__)
  using Row = Pack<Real, lanes>;
  // Of every four lanes of x and y, or of their upper halves: x₀ y₀ x₁ y₁, and x₀ x₁ y₀ y₁.
  const auto woven = [](const Row& x, const Row& y, auto high) AXION_INLINED {
    return [&]<int... i>(std::integer_sequence<int, i...>) AXION_INLINED {
      return __builtin_shufflevector(x, y, (i / 4 * 4 + 2 * decltype(high)::value + i % 4 / 2 + i % 2 * lanes)...);
    }
    (std::make_integer_sequence<int, lanes>{});
  };
  const auto joined = [](const Row& x, const Row& y, auto high) AXION_INLINED {
    return [&]<int... i>(std::integer_sequence<int, i...>) AXION_INLINED {
      return __builtin_shufflevector(x, y, (i / 4 * 4 + 2 * decltype(high)::value + i % 2 + i % 4 / 2 * lanes)...);
    }
    (std::make_integer_sequence<int, lanes>{});
  };
  constexpr std::integral_constant<int, 0> low{};
  constexpr std::integral_constant<int, 1> high{};
  const Row ab = woven(rows[0], rows[1], low), cd = woven(rows[2], rows[3], low);
  const Row ab_high = woven(rows[0], rows[1], high), cd_high = woven(rows[2], rows[3], high);
  rows[0] = joined(ab, cd, low), rows[1] = joined(ab, cd, high);
  rows[2] = joined(ab_high, cd_high, low), rows[3] = joined(ab_high, cd_high, high);
#endif
}

// Lanes 4 part to 4 part + 3.
template <int part, int lanes, typename Real>
AXION_HD AXION_INLINED inline Pack<Real, 4> four_of(const Pack<Real, lanes>& a) {
#if !defined(__CUDACC__)
  return __builtin_shufflevector(a, a, 4 * part, 4 * part + 1, 4 * part + 2, 4 * part + 3);
#endif
}

// Calls store(std::integral_constant<int, i>, column) with each column i of four rows a, b, c, d, a pack each, of four
// lanes or more; so never in CUDA.
template <int lanes, typename Real, typename Store>
AXION_HD AXION_INLINED inline void for_columns_of_four(const Pack<Real, lanes>& a, const Pack<Real, lanes>& b,
                                                       const Pack<Real, lanes>& c, const Pack<Real, lanes>& d,
                                                       Store&& store) {
  Pack<Real, lanes> rows[4] = {a, b, c, d};
  transpose_fours<lanes, Real>(rows);
  for_constants<lanes>([&](auto i) AXION_INLINED { store(i, four_of<i / 4, lanes, Real>(rows[i % 4])); });
}

// Side by side: as many fours as `lanes` hold, the next `stride` after the one before.
template <int lanes, int stride, typename Real>
AXION_HD AXION_INLINED inline Pack<Real, lanes> join_fours(const Pack<Real, 4>* fours) {
#if !defined(__CUDACC__)
  if constexpr (lanes == 4) {
    return fours[0];
  } else {
    constexpr int half = lanes / 2;
    const Pack<Real, half> low = join_fours<half, stride, Real>(fours);
    const Pack<Real, half> high = join_fours<half, stride, Real>(fours + half / 4 * stride);
    return [&]<int... i>(std::integer_sequence<int, i...>) AXION_INLINED {
      return __builtin_shufflevector(low, high, i...);
    }
    (std::make_integer_sequence<int, lanes>{});
  }
#endif
}

// Four numbers of each lane, at(lane) being where they begin, aligned to 16 bytes: number k of all lanes in to[k].
template <int lanes, typename Real, typename At>
AXION_HD AXION_INLINED inline void load_fours(At&& at, Pack<Real, lanes> (&to)[4]) {
  if constexpr (lanes == 1) {
    load_four(at(0), to);
  } else if constexpr (lanes < 4) {
    for (int k = 0; k < 4; ++k) to[k] = pack_of<lanes, 0, Real>([&](auto i) AXION_INLINED { return at(i)[k]; });
  } else {
    Pack<Real, 4> fours[lanes];
    for_constants<lanes>([&](auto i) AXION_INLINED { fours[i] = load_pack<4>(at(i)); });
    for_constants<4>([&](auto k) AXION_INLINED { to[k] = join_fours<lanes, 4, Real>(fours + k); });
    transpose_fours<lanes, Real>(to);
  }
}

// The other way round; lanes one after the other.
template <int lanes, typename Real, typename At>
AXION_HD AXION_INLINED inline void store_fours(At&& at, const Pack<Real, lanes> (&from)[4]) {
  if constexpr (lanes == 1) {
    store_four(at(0), from[0], from[1], from[2], from[3]);
  } else if constexpr (lanes < 4) {
    for (int i = 0; i < lanes; ++i) {
      for (int k = 0; k < 4; ++k) at(i)[k] = from[k][i];
    }
  } else {
    for_columns_of_four<lanes, Real>(from[0], from[1], from[2], from[3],
                                     [&](auto i, const Pack<Real, 4>& four)
                                         AXION_INLINED { store_pack<4>(at(i), four); });
  }
}

}  // namespace axion::lanes
