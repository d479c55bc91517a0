// A pack: as many neighbouring numbers as one register of the processor holds, so that loops over the rows of small
// matrices are a few instructions. Everything done to packs is elementwise: how many lanes they have changes no bit.
//
// How long a pack is follows from the team (team/team.hpp): a CPU's threads compute with vectors (base/vector.hpp); a
// thread of a GPU with one number, and threads share out the packs.
//
// In and out: registers, and arrays without alignment unless said. Cost: an instruction or a few each.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "engine/base/macros.hpp"
#include "engine/base/vector.hpp"

namespace axion::lanes {

// Lanes of a pack in a register of so many bytes, at most `most`; both powers of two, or no bytes: one lane.
template <typename Real>
AXION_HD constexpr int pack_lanes(int bytes, int most) {
  const int lanes = bytes < int(sizeof(Real)) ? 1 : bytes / int(sizeof(Real));
  return lanes < most ? lanes : most;
}

template <typename Real, int lanes>
using Pack = typename VectorOf<Real, lanes>::Type;

template <int lanes, typename Real>
AXION_HD inline Pack<Real, lanes> load_pack(const Real* from) {
  if constexpr (lanes == 1) {
    return *from;
  } else {
    Pack<Real, lanes> a;
    std::memcpy(&a, from, sizeof(a));
    return a;
  }
}

template <int lanes, typename Real>
AXION_HD inline void store_pack(Real* to, const Pack<Real, lanes>& a) {
  if constexpr (lanes == 1) {
    *to = a;
  } else {
    std::memcpy(to, &a, sizeof(a));
  }
}

// Numbers smaller than `least` become zero; one that carries derivatives keeps them.
template <int lanes, typename Real>
AXION_HD inline Pack<Real, lanes> without_small(const Pack<Real, lanes>& a, Real least) {
  if constexpr (std::is_class_v<Real>) {
    return a < least && a > -least ? with_value(a, 0.0) : a;
  } else {
    return a < least && a > -least ? Pack<Real, lanes>{} : a;
  }
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
    if constexpr (lanes == 1) {
      *to = a;
    } else {
      std::memcpy(to, &a, stored * sizeof(Real));
    }
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

// Transposes every four lanes of four rows of four lanes or more.
template <int lanes, typename Real>
AXION_HD AXION_INLINED inline void transpose_fours(Pack<Real, lanes> (&rows)[4]) {
  using Row = Pack<Real, lanes>;
  // Of every four lanes of x and y, or of their upper halves: x₀ y₀ x₁ y₁, and x₀ x₁ y₀ y₁.
  const auto woven = [](const Row& x, const Row& y, auto high) AXION_INLINED {
    return [&]<int... i>(std::integer_sequence<int, i...>) AXION_INLINED {
      return shuffled<(i / 4 * 4 + 2 * decltype(high)::value + i % 4 / 2 + i % 2 * lanes)...>(x, y);
    }
    (std::make_integer_sequence<int, lanes>{});
  };
  const auto joined = [](const Row& x, const Row& y, auto high) AXION_INLINED {
    return [&]<int... i>(std::integer_sequence<int, i...>) AXION_INLINED {
      return shuffled<(i / 4 * 4 + 2 * decltype(high)::value + i % 2 + i % 4 / 2 * lanes)...>(x, y);
    }
    (std::make_integer_sequence<int, lanes>{});
  };
  constexpr std::integral_constant<int, 0> low{};
  constexpr std::integral_constant<int, 1> high{};
  const Row ab = woven(rows[0], rows[1], low), cd = woven(rows[2], rows[3], low);
  const Row ab_high = woven(rows[0], rows[1], high), cd_high = woven(rows[2], rows[3], high);
  rows[0] = joined(ab, cd, low), rows[1] = joined(ab, cd, high);
  rows[2] = joined(ab_high, cd_high, low), rows[3] = joined(ab_high, cd_high, high);
}

// Lanes 4 part to 4 part + 3.
template <int part, int lanes, typename Real>
AXION_HD AXION_INLINED inline Pack<Real, 4> four_of(const Pack<Real, lanes>& a) {
  return shuffled<4 * part, 4 * part + 1, 4 * part + 2, 4 * part + 3>(a, a);
}

// Calls store(std::integral_constant<int, i>, column) with each column i of four rows a, b, c, d, a pack each, of four
// lanes or more.
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
  if constexpr (lanes == 4) {
    return fours[0];
  } else {
    constexpr int half = lanes / 2;
    const Pack<Real, half> low = join_fours<half, stride, Real>(fours);
    const Pack<Real, half> high = join_fours<half, stride, Real>(fours + half / 4 * stride);
    return [&]<int... i>(std::integer_sequence<int, i...>) AXION_INLINED { return shuffled<i...>(low, high); }
    (std::make_integer_sequence<int, lanes>{});
  }
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
