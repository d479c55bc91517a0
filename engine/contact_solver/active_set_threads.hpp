// The step on the active set (active_set_step.hpp) as threads of a GPU share it out: an entry of the matrix at a time,
// where a CPU takes a column. Neighbouring threads have neighbouring rows of a column, which lie beside each other.
//
// The operations on each number, and so its bits, are those of a CPU: elimination by one column after another leaves in
// each entry what elimination by two at a time leaves. In, out and cost: as there. Called by active_set_step.hpp alone.
#pragma once

#include "engine/contact_solver/active_set_rows.hpp"

namespace axion::solver {

// Threads over a matrix: `rows` of them, a power of two, beside each other on a column; and as many columns at once as
// a warp has such rows.
struct ThreadTile {
  int shift, rows, columns;

  AXION_HD explicit ThreadTile(int count) {
    shift = 2 + (count > 4 ? 1 : 0) + (count > 8 ? 1 : 0) + (count > 16 ? 1 : 0) + (count > 32 ? 1 : 0);
    rows = 1 << shift;
    columns = shift < 5 ? 32 >> shift : 1;
  }
  AXION_HD int tasks() const { return rows * columns; }
  AXION_HD int row(int task) const { return task & (rows - 1); }
  AXION_HD int column(int task) const { return task >> shift; }
};

// The matrix, its k-th column at A + k stride, and the right-hand side after the last.
template <typename Real, typename Team>
AXION_HD inline void share_out_filling(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                       const RowSpace<Real>& u, const Real* impulses, const ActiveSet<Real>& set,
                                       const ActiveCount& active, const Real* share, Real proximal, Real* A,
                                       int stride) {
  const int count = active.all, sliding = active.sticking + active.single;
  const int length = u.length, base = laws.limit_base();
  const int *rows = set.row, *kinds = set.kind;
  const Real* delassus = u.columns.delassus;
  const ThreadTile tile(count);
  team.for_each(tile.tasks(), [=](int task) {
    const int i = tile.row(task);
    if (i >= count) return;
    const int on = rows[i] - base;
    const bool across = kinds[i] == kSlidingAcross;
    const Real along = across ? share[i - 1] : Real(0), over = across ? share[i] : Real(0);
    int k = tile.column(task);
    for (; k < sliding; k += tile.columns) {
      const Real* column = delassus + (rows[k] - base) * length + on;
      A[k * stride + i] = across ? along * column[2] - over * column[1] : column[0];
    }
    for (; k < count; k += tile.columns) {
      const Real* column = delassus + (rows[k] - base) * length + on;
      const bool turns = kinds[k] == kSlidingAcross;
      const Real x = turns ? -share[k] : share[k], y = share[turns ? k - 1 : k + 1];
      const auto effect = [&](int at) {
        if (turns) return x * column[length + at] + y * column[2 * length + at];
        return column[at] + x * column[length + at] + y * column[2 * length + at];
      };
      A[k * stride + i] = across ? along * effect(2) - over * effect(1) : effect(0);
    }
  });
  Real* b = A + count * stride;
  team.for_each(count, [&](int k) {
    A[k * stride + k] += active_diagonal(laws, system, u, impulses, set, share, k, proximal);
    b[k] = active_residual(laws, system, u, impulses, set, share, k);
  });
}

// Solves A x = b, by elimination without pivoting; x in the place of b. A warp suffices for the rows: `thread` of it.
template <typename Real, typename Meet>
AXION_HD inline void eliminate_in_a_warp(Real* A, int count, int stride, int thread, Meet&& meet) {
  ThreadTile tile(count);
  int row = tile.row(thread), first = tile.column(thread), halvings = 5 - tile.shift;
  Real* pivot = A;
  for (int left = count - 1; left > 0; --left, pivot += stride + 1) {
    if (tile.shift > 2 && 2 * left <= tile.rows) {
      tile = ThreadTile(left);
      row = tile.row(thread), first = tile.column(thread), halvings = 5 - tile.shift;
    }
    if (thread < 32 && row < left) {
      const Real m = pivot[1 + row] * (Real(1) / *pivot);
      Real* head = pivot + (1 + first) * stride;
      const int next = tile.columns * stride, turns = (left - first) >> halvings;
      AXION_UNROLLED
      for (int turn = 0; turn <= turns; ++turn, head += next) head[1 + row] = head[1 + row] - head[0] * m;
    }
    meet();
  }
  Real* b = A + count * stride;
  const Real* column = b - stride;
  Real own = thread < count ? b[thread] : Real(0);
  for (int k = count - 1; k >= 0; --k, column -= stride) {
    if (thread == k) b[k] = own / column[k];
    meet();
    if (thread < k) own = own - b[k] * column[thread];
  }
}

// The same for any number of rows.
template <typename Real, typename Team>
AXION_HD inline void share_out_elimination(const Team& team, Real* A, int count, int stride) {
  if (count <= 32) {  // blocks have no fewer threads
    team.together([=](int thread, auto&& meet) { eliminate_in_a_warp(A, count, stride, thread, meet); });
    return;
  }
  for (int k = 0; k + 1 < count; ++k) {
    Real* pivot = A + k * stride + k;
    const Real inverse = Real(1) / *pivot;
    const int left = count - 1 - k;
    team.for_each(left, [=](int i) {
      const Real m = pivot[1 + i] * inverse;
      Real* head = pivot + stride;
      AXION_UNROLLED
      for (int j = 0; j <= left; ++j, head += stride) head[1 + i] = head[1 + i] - head[0] * m;
    });
  }
  Real* b = A + count * stride;
  for (int k = count - 1; k >= 0; --k) {
    const Real* column = A + k * stride;
    const Real x = b[k] / column[k];
    team.for_each(k + 1, [=](int i) { b[i] = i == k ? x : b[i] - x * column[i]; });
  }
}

// Adds the effect of all changes of impulses to the velocities of all rows: a row a thread, each with its own sum, in
// the order of the rows that changed.
template <typename Real, typename Team>
AXION_HD inline void share_out_pushes(const Team& team, const SweptLaws<Real>& laws, RowSpace<Real>& u,
                                      ActiveSet<Real>& set, const Real* change) {
  const int base = laws.limit_base(), single = laws.single_count(), length = u.length;
  int* moved = set.changed;
  const int units = team.filter(
      laws.unit_count(),
      [&](int k) {
        const Real* by = change + (laws.first_row(k) - base);
        return by[0] != Real(0) || (k >= single && (by[1] != Real(0) || by[2] != Real(0)));
      },
      [&](int k, int place) { moved[place] = laws.first_row(k) - base; });
  Real* velocity = u.row_velocity;
  const Real* delassus = u.columns.delassus;
  team.for_each(length, [=](int i) {
    Real v = velocity[i];
    for (int k = 0; k < units; ++k) {
      const int at = moved[k];
      const Real *column = delassus + at * length + i, *by = change + at;
      v += at < single ? column[0] * by[0] : column[0] * by[0] + column[length] * by[1] + column[2 * length] * by[2];
    }
    velocity[i] = v;
  });
}

}  // namespace axion::solver
