// Dense factors of one node of the factorisation along the joint tree, and solves with them.
//
// A node's matrix has kNodeSize columns a row, of which the first `padded`, 6 or 12, matter; those without an unknown
// are rows of the identity. Its factors are U, in place, and after it L by columns, factor L_rk at kNodeSize k + r,
// with the inverse of U's diagonal in place of its own ones: scalars written into rows that are read as vectors just
// after would stall. Entries below the diagonal of U mean nothing. Columns that are solved for come as panels of
// kPanelWidth, rows side by side. Called by tree_solver.hpp, tree_krylov.hpp and joint_inverse.hpp.
//
// In: a node's matrix, and panels of right-hand sides. Out: both in place. Cost: n³/3 for the factors with n = 6 or 12,
// n² a column.
#pragma once

#include "engine/lanes/pack.hpp"
#include "engine/team/team.hpp"
#include "engine/tree/tree_scratch.hpp"

namespace axion::solver {

inline constexpr int kHalfNode = 6;

// Unknowns that the factors of a node with `size` of them have.
AXION_HD constexpr int padded_size(int size) { return size <= kHalfNode ? kHalfNode : kNodeSize; }

// One row of K less its share of row k, and the factor.
template <typename Team, int padded, typename Real, typename Index>
AXION_HD AXION_INLINED inline void eliminate_row(Real* K, Index k, int r, Real inverse) {
  constexpr int stride = kNodeSize, lanes = team::pack_lanes<Team, Real>(4);
  Real* L = K + stride * stride;
  const Real factor = K[r * stride + k] * inverse;
  L[k * stride + r] = factor;
  for (int c = (k + 1) / lanes * lanes; c < padded; c += lanes) {
    const auto row = lanes::load_pack<lanes>(K + r * stride + c),
               pivot_row = lanes::load_pack<lanes>(K + k * stride + c);
    lanes::store_pack<lanes>(K + r * stride + c, row - factor * pivot_row);
  }
}

// K = L U without exchanges; bound(k, pivot) is the pivot that is used. Each pivot has code of its own. A
// team without vectors takes an entry of the remaining K at a time, and every thread the pivot's inverse.
template <int padded, typename Real, typename Team, typename Bound>
AXION_HD inline void factorise(const Team& team, Real* K, Bound&& bound) {
  constexpr int stride = kNodeSize;
  Real* L = K + stride * stride;
  const auto eliminate = [&](auto k) AXION_INLINED {
    if constexpr (team::shares_singly<Team>()) {
      constexpr int left = padded - 1 - decltype(k)::value;
      const Real inverse = Real(1) / bound(k, K[k * stride + k]);
      team.for_each(left > 0 ? left * left : 1, [&](int i) {
        if (i == 0) L[k * stride + k] = inverse;
        if constexpr (left > 0) {
          const int r = k + 1 + i / left, c = k + 1 + i % left;
          const Real factor = K[r * stride + k] * inverse;
          if (c == k + 1) L[k * stride + r] = factor;
          K[r * stride + c] = K[r * stride + c] - factor * K[k * stride + c];
        }
      });
    } else {
      team.for_each(1, [&](int) { L[k * stride + k] = Real(1) / bound(k, K[k * stride + k]); });
      const Real inverse = L[k * stride + k];
      team.for_each(padded - k - 1,
                    [&](int i) AXION_INLINED { eliminate_row<Team, padded>(K, k, k + 1 + i, inverse); });
    }
  };
  lanes::for_constants<padded>(eliminate);
}

// Solves K y = b in place, for as many columns as a pack has lanes.
template <int padded, int lanes, typename Real>
AXION_HD AXION_INLINED inline void solve_rows(const Real* K, lanes::Pack<Real, lanes> (&b)[padded]) {
  constexpr int stride = kNodeSize;
  const Real* L = K + stride * stride;
  lanes::for_constants<padded>([&](auto k) AXION_INLINED {
    lanes::for_constants<padded - k - 1>(
        [&](auto i) AXION_INLINED { b[k + 1 + i] = b[k + 1 + i] - L[k * stride + k + 1 + i] * b[k]; });
  });
  lanes::for_constants<padded>([&](auto i) AXION_INLINED {
    constexpr int k = padded - 1 - i;
    b[k] = L[k * stride + k] * b[k];
    lanes::for_constants<k>([&](auto r) AXION_INLINED { b[r] = b[r] - K[r * stride + k] * b[k]; });
  });
}

// Solves K Y = B in place for one pack of columns; rows of B are `width` apart. What is smaller than `least` becomes
// zero.
template <int padded, int lanes, int width, typename Real>
AXION_HD inline void solve_pack(const Real* K, Real* B, Real least) {
  lanes::Pack<Real, lanes> b[padded];
  lanes::for_constants<padded>([&](auto r) AXION_INLINED { b[r] = lanes::load_pack<lanes>(B + r * width); });
  solve_rows<padded, lanes>(K, b);
  lanes::for_constants<padded>(
      [&](auto r) AXION_INLINED { lanes::store_pack<lanes>(B + r * width, lanes::without_small<lanes>(b[r], least)); });
}

// Solves K y = b in place.
template <typename Real>
AXION_HD_CALL void solve_column(const Real* K, int size, Real* b) {
  if (size <= kHalfNode) {
    solve_pack<kHalfNode, 1, 1>(K, b, Real(0));
  } else {
    solve_pack<kNodeSize, 1, 1>(K, b, Real(0));
  }
}

// Packs of a panel.
template <typename Team, typename Real>
AXION_HD constexpr int panel_packs() {
  return kPanelWidth / team::pack_lanes<Team, Real>(kPanelWidth);
}

// Solves K Y = B in place for pack `part` of a panel. What is smaller than `least` becomes zero.
template <typename Team, typename Real>
AXION_HD_CALL void solve_panel(const Real* K, int size, Real* B, int part, Real least) {
  constexpr int lanes = team::pack_lanes<Team, Real>(kPanelWidth), width = kPanelWidth;
  if (size <= kHalfNode) {
    solve_pack<kHalfNode, lanes, width>(K, B + lanes * part, least);
  } else {
    solve_pack<kNodeSize, lanes, width>(K, B + lanes * part, least);
  }
}

// The column of a panel that a right-hand side may take.
inline constexpr int kRhsColumn = 6;

// block −= L Y for `rows` rows: L of 12 columns, those before `first` zero, Y a panel, block of 6 columns, rows
// `stride` apart, or none. Where rhs is given it loses L times the right-hand side's column of Y. Numbers smaller
// than `least` become zero, in as many columns of those rows as a panel has, however many a pack takes at once.
template <typename Team, int rows, int first = 0, typename Real>
AXION_HD inline void subtract_product(const Real* L, const Real* Y, Real* block, int stride, Real* rhs, Real least) {
  constexpr int lanes = team::pack_lanes<Team, Real>(kPanelWidth), parts = (kRhsColumn + lanes) / lanes;
  lanes::Pack<Real, lanes> sum[rows][parts] = {};
  for (int c = first; c < kNodeSize; ++c) {
    lanes::for_constants<parts>([&](auto part) AXION_INLINED {
      const auto y = lanes::load_pack<lanes>(Y + c * kPanelWidth + lanes * part);
      lanes::for_constants<rows>([&](auto r) AXION_INLINED { sum[r][part] = sum[r][part] + L[r * kNodeSize + c] * y; });
    });
  }
  lanes::for_constants<rows>([&](auto r) AXION_INLINED {
    constexpr int last = kRhsColumn / lanes;
    if (rhs != nullptr) rhs[r] -= lanes::lane<lanes, Real>(sum[r][last], kRhsColumn - lanes * last);
    if (block == nullptr) return;
    lanes::for_constants<kPanelWidth / lanes>([&](auto part) AXION_INLINED {
      constexpr int before = lanes * part;
      Real* at = block + r * stride + before;
      auto left = lanes::load_pack<lanes>(at);
      if constexpr (before < kHalfNode) {
        left = left - lanes::first_lanes<kHalfNode - before, lanes, Real>(sum[r][part]);
      }
      lanes::store_pack<lanes>(at, lanes::without_small<lanes>(left, least));
    });
  });
}

// Rows of a product that one call takes: all in registers of vectors, or one a thread.
template <typename Team>
AXION_HD constexpr int product_rows() {
  return team::shares_singly<Team>() ? 1 : kHalfNode;
}

}  // namespace axion::solver
