// The dense elimination of a step on the active set, as a CPU makes it: by columns, with rows in vector registers.
//
// In: a matrix by columns of SweepSizes::kActiveStride, its right-hand side after the last. Out: the solution in the
// place of that. Cost: n³/3 operations. Called by active_set_step.hpp; threads of a GPU eliminate in
// active_set_threads.hpp.
#pragma once

#include "engine/contact_solver/parameters.hpp"
#include "engine/lanes/pack.hpp"
#include "engine/team/team.hpp"

namespace axion::solver {

// The lanes of a pack of rows from `start` on that lie beyond row k, or before it; zero in the other lanes.
template <bool beyond, int lanes, typename Real>
AXION_HD inline lanes::Pack<Real, lanes> rows_off(const lanes::Pack<Real, lanes>& a, int start, int k) {
  const lanes::Pack<Real, lanes> at = lanes::pack_of<lanes, 0, Real>([](auto i) { return Real(decltype(i)::value); });
  const Real limit = Real(k - start);
  if constexpr (beyond) {
    return at > limit ? a : lanes::Pack<Real, lanes>{};
  } else {
    return at < limit ? a : lanes::Pack<Real, lanes>{};
  }
}

// Subtracts the pivot column k and the next one from the columns after `second`, as far as b, by multipliers m and n,
// in the rows of `known` packs from `start` on, or in all where `known` is zero.
template <int lanes, int known, typename Real, typename Team>
AXION_HD inline void reduce_columns_by(const Team& team, Real* second, const Real* m, const Real* n, int k, int start,
                                       int count) {
  lanes::Pack<Real, lanes> of_m[known + 1], of_n[known + 1];  // in registers while the columns pass
  lanes::for_constants<known>([&](auto i) AXION_INLINED {
    of_m[i] = lanes::load_pack<lanes>(m + start + i * lanes), of_n[i] = lanes::load_pack<lanes>(n + start + i * lanes);
  });
  const Real next = m[k + 1];
  team.for_each(count - k - 1, [=](int j) {
    Real* column = second + (j + 1) * SweepSizes::kActiveStride;
    const Real x = column[k], y = column[k + 1] - x * next;
    lanes::for_constants<known>([&](auto i) AXION_INLINED {
      Real* at = column + start + i * lanes;
      lanes::store_pack<lanes>(at, lanes::load_pack<lanes>(at) - x * of_m[i] - y * of_n[i]);
    });
    for (int i = start; known == 0 && i < count; i += lanes) {
      lanes::store_pack<lanes>(column + i, lanes::load_pack<lanes>(column + i) - x * lanes::load_pack<lanes>(m + i) -
                                               y * lanes::load_pack<lanes>(n + i));
    }
  });
}

template <int lanes, typename Real, typename Team>
AXION_HD inline void reduce_columns(const Team& team, Real* second, const Real* m, const Real* n, int k, int start,
                                    int count) {
  if constexpr (!team::shares_singly<Team>()) {
    const int packs = (count - start + lanes - 1) / lanes;
    if (packs == 1) return reduce_columns_by<lanes, 1>(team, second, m, n, k, start, count);
    if (packs == 2) return reduce_columns_by<lanes, 2>(team, second, m, n, k, start, count);
    if (packs == 3) return reduce_columns_by<lanes, 3>(team, second, m, n, k, start, count);
    if (packs == 4) return reduce_columns_by<lanes, 4>(team, second, m, n, k, start, count);
  }
  reduce_columns_by<lanes, 0>(team, second, m, n, k, start, count);
}

// Solves A x = b, by elimination without pivoting: A by columns, b the column after the last, and x in its place. Two
// columns at a time, and rows by packs with the columns' multipliers m and n, which are zero down to their pivots;
// numbers beyond the last row take no part. What the next division needs is computed ahead of the pack that it is in,
// by the same operations: nothing waits for the pack to be stored.
template <typename Real, typename Team>
AXION_HD inline void solve_active_rows(const Team& team, Real* A, Real* m, Real* n, int count) {
  constexpr int stride = SweepSizes::kActiveStride, lanes = team::pack_lanes<Team, Real>(16);
  using Rows = lanes::Pack<Real, lanes>;
  for (int k = 0; k < count; k += 2) {
    const bool two = k + 1 < count;
    Real *first = A + k * stride, *second = first + stride;
    const Real inverse = Real(1) / first[k], factor = second[k];
    const Real next_inverse = two ? Real(1) / (second[k + 1] - factor * (first[k + 1] * inverse)) : Real(0);
    const int start = k / lanes * lanes, packs = (count - start + lanes - 1) / lanes;
    team.for_each(packs, [=](int pack) {
      const int i = start + pack * lanes;
      const Rows all = lanes::load_pack<lanes>(first + i) * inverse,
                 below = pack == 0 ? rows_off<true, lanes, Real>(all, i, k) : all;
      lanes::store_pack<lanes>(m + i, below);
      lanes::store_pack<lanes>(second + i, lanes::load_pack<lanes>(second + i) - factor * below);
    });
    if (!two) break;
    team.for_each(packs, [=](int pack) {
      const int i = start + pack * lanes;
      const Rows all = lanes::load_pack<lanes>(second + i) * next_inverse;
      lanes::store_pack<lanes>(n + i, i <= k + 1 ? rows_off<true, lanes, Real>(all, i, k + 1) : all);
    });
    reduce_columns<lanes>(team, second, m, n, k, start, count);
  }
  Real* b = A + count * stride;
  Real rest[2] = {b[count - 1], count > 1 ? b[count - 2] : Real(0)};  // of b in rows k and k - 1
  for (int k = count - 1; k >= 0; k -= 2) {
    const Real *last = A + k * stride, *next = k > 0 ? last - stride : last;
    const Real x = rest[0] / last[k], y = k > 0 ? (rest[1] - x * last[k - 1]) / next[k - 1] : Real(0);
    const auto left = [=](int row) { return row < 0 ? Real(0) : b[row] - x * last[row] - y * next[row]; };
    rest[0] = left(k - 2), rest[1] = left(k - 3);
    team.for_each((k - 1 + lanes - 1) / lanes, [=](int pack) {
      const int i = pack * lanes;
      const auto above = [=](const Real* column) {
        return rows_off<false, lanes, Real>(lanes::load_pack<lanes>(column + i), i, k - 1);
      };
      lanes::store_pack<lanes>(b + i, lanes::load_pack<lanes>(b + i) - x * above(last) - y * above(next));
    });
    team.for_each(1, [=](int) {
      b[k] = x;
      if (k > 0) b[k - 1] = y;
    });
  }
}

}  // namespace axion::solver
