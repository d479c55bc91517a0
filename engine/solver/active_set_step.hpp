// A Newton step on the rows that sweeps hold active, in the space of the Delassus matrix.
//
// Sweeps find which contacts stick, slide and open within a few passes; how fast the impulses then settle depends on how the
// contacts are coupled, and stiffly held legs on one trunk need hundreds of passes. With the active set held, what is left is
//   D_aa x = −(r + p λ)_a    sticking contacts: three rows; limits off their stop and bounded rows at a bound: none
//   sliding contacts: two unknowns, of the normal with friction along its present direction d, column D_n + μ (d·D_t), and of
//   friction across it, column t·D_t, t ⊥ d. Slip stays opposite to friction: t·v + t·D x + y |v_t|/(μ λ_n) = 0, as d turns
//   by y/(μ λ_n). With d held instead, slip that turns takes as many steps as sweeps.
// solved densely; then normals are kept from pulling and friction in its cone. Only a step that lowers what the next sweep
// finds is kept (contact_sweeps.hpp). Needs the columns of all active rows, which sweeps have made when their impulses changed.
#pragma once

#include "engine/solver/sweep_velocities.hpp"

namespace axion::solver {

inline constexpr double kStickingShare = 0.999;  // of its cone, that friction of a sticking contact stays within
template <typename Real>
AXION_HD constexpr Real active_proximal() {      // of each row's own entry: redundant contacts have no other pivot
  return sizeof(Real) == sizeof(float) ? Real(1e-5) : Real(1e-9);
}

enum ActiveKind : int { kSingleRow, kSlidingNormal, kSlidingAcross };

// The unknowns: active_row, active_kind. Returns how many there are, or kMaxActiveRows + 1 where they are too many.
template <typename Real, typename Team>
AXION_HD inline int list_active_rows(const Team& team, const Problem<Real>& p) {
  team.for_each(1, [&](int) {
    int count = 0;
    const auto add = [&](int row, ActiveKind kind) {
      if (count < model::kMaxActiveRows) p.w.active_row[count] = row, p.w.active_kind[count] = kind;
      ++count;
    };
    for (int row = p.limit_base(); row < p.effort_base(); ++row) {
      if (p.w.lambda[row] > Real(0)) add(row, kSingleRow);
    }
    for (int row = p.effort_base(); row < p.contact_base(); ++row) {
      const int e = row - p.effort_base();
      const Real lambda = p.w.lambda[row];
      if (lambda > p.w.effort_lower[e] && lambda < p.w.effort_upper[e]) add(row, kSingleRow);
    }
    for (int i = 0; i < p.contact_count; ++i) {
      const int row = p.contact_base() + 3 * i;
      const Real* lambda = p.w.lambda + row;
      if (!(lambda[0] > Real(0))) continue;
      const Real within = Real(kStickingShare) * p.w.contacts[i].friction * lambda[0];
      const Real* v = p.w.row_velocity + (row - p.limit_base());
      const Real along = lambda[1] * (p.w.pcr_r[row + 1] + v[1]) + lambda[2] * (p.w.pcr_r[row + 2] + v[2]);
      const bool inside = lambda[1] * lambda[1] + lambda[2] * lambda[2] < within * within;
      if (within > Real(0) && (inside || along > Real(0))) {
        for (int k = 0; k < 3; ++k) add(row + k, kSingleRow);
      } else {
        add(row, kSlidingNormal);
        if (within > Real(0)) add(row, kSlidingAcross);
      }
    }
    p.w.active_count[0] = count;
  });
  return p.w.active_count[0];
}

// Friction of a sliding contact over its normal's impulse. An unknown across it is in units of the normal's impulse too.
template <typename Real>
struct SlidingShare {
  Real x, y;
};

template <typename Real>
AXION_HD inline SlidingShare<Real> sliding_share(const Problem<Real>& p, int row) {
  const Real* lambda = p.w.lambda + row;
  return {lambda[1] / lambda[0], lambda[2] / lambda[0]};
}

// What the k-th unknown does to each active row, with its diagonal. By columns: A[k kActiveStride + i].
template <typename Real>
AXION_HD inline void fill_active_column(const Problem<Real>& p, int count, int k) {
  const int length = DelassusVelocities::size(p), base = p.limit_base(), row = p.w.active_row[k];
  const int kind = p.w.active_kind[k];
  const Real* column = p.w.delassus + (row - base) * length;
  Real* out = p.w.active_matrix + k * model::kActiveStride;
  Real n = 1, x = 0, y = 0;
  if (kind != kSingleRow) {
    const SlidingShare<Real> share = sliding_share(p, row);
    const bool across = kind == kSlidingAcross;
    n = across ? Real(0) : Real(1), x = across ? -share.y : share.x, y = across ? share.x : share.y;
  }
  const auto effect = [=](int on) { return n * column[on] + x * column[length + on] + y * column[2 * length + on]; };
  const int* rows = p.w.active_row;
  if (kind == kSingleRow) {
    for (int i = 0; i < count; ++i) out[i] = column[rows[i] - base];
  } else {
    for (int i = 0; i < count; ++i) out[i] = effect(rows[i] - base);
  }
  for (int i = 0; i < count; ++i) {
    if (p.w.active_kind[i] != kSlidingAcross) continue;
    const SlidingShare<Real> share = sliding_share(p, rows[i]);
    out[i] = share.x * effect(rows[i] - base + 2) - share.y * effect(rows[i] - base + 1);
  }
  if (kind == kSlidingAcross) {  // |v_t| |d|/λ_n, v_t along −d
    const Real vx = p.w.pcr_r[row + 1] + p.w.row_velocity[row - base + 1];
    const Real vy = p.w.pcr_r[row + 2] + p.w.row_velocity[row - base + 2];
    out[k] += active_proximal<Real>() * (x * x + y * y) * p.w.row_scale[row + 1] - (y * vx - x * vy) / p.w.lambda[row];
  } else {
    out[k] += p.w.pcr_p[row] + active_proximal<Real>() * p.w.row_scale[row];
  }
}

// What the i-th active row lacks.
template <typename Real>
AXION_HD inline Real active_residual(const Problem<Real>& p, int i) {
  const int row = p.w.active_row[i];
  const Real *v = p.w.row_velocity + (row - p.limit_base()), *r = p.w.pcr_r + row;
  if (p.w.active_kind[i] != kSlidingAcross) return -(r[0] + v[0] + p.w.pcr_p[row] * p.w.lambda[row]);
  const SlidingShare<Real> share = sliding_share(p, row);
  return share.y * (r[1] + v[1]) - share.x * (r[2] + v[2]);
}

// Solves A x = b, by elimination without pivoting: A by columns, b the column after the last, and x in its place. Whole
// vectors of rows from the pivot's on are combined with `multipliers`, which are zero down to the pivot.
template <typename Real, typename Team>
AXION_HD inline void solve_active_rows(const Team& team, Real* A, Real* multipliers, int count) {
  constexpr int stride = model::kActiveStride, vector = 8;
  for (int k = 0; k < count; ++k) {
    const Real* pivot = A + k * stride;
    const Real inverse = Real(1) / pivot[k];
    const int start = k / vector * vector;
    team.for_each((count - start + vector - 1) / vector, [=](int chunk) {
      for (int lane = 0; lane < vector; ++lane) {
        const int i = start + chunk * vector + lane;
        multipliers[i] = i > k && i < count ? pivot[i] * inverse : Real(0);
      }
    });
    team.for_each(count - k, [=](int j) {
      Real* column = A + (k + 1 + j) * stride;
      const Real factor = column[k];
      for (int i = start; i < count; i += vector) {
        for (int lane = 0; lane < vector; ++lane) column[i + lane] -= factor * multipliers[i + lane];
      }
    });
  }
  Real* b = A + count * stride;
  for (int k = count - 1; k >= 0; --k) {
    const Real *column = A + k * stride, x = b[k] / column[k];
    team.for_each(1, [=](int) { b[k] = x; });
    team.for_each(k, [=](int i) { b[i] -= x * column[i]; });
  }
}

// Moves lambda and the velocities by one step. Returns whether there was one to make.
template <typename Real, typename Team>
AXION_HD_CALL bool step_active_set(const Team& team, const Problem<Real>& p) {
  const int count = list_active_rows(team, p), base = p.limit_base();
  if (count == 0 || count > model::kMaxActiveRows) return false;
  Real *x = p.w.active_matrix + count * model::kActiveStride, *change = p.w.active_change;
  team.for_each(count, [&](int k) { fill_active_column(p, count, k); });
  team.for_each(count, [&](int i) { x[i] = active_residual(p, i); });
  solve_active_rows(team, p.w.active_matrix, change, count);
  const int rows = p.row_count() - base;
  team.for_each(rows, [&](int r) { change[r] = p.w.lambda[base + r]; });
  team.for_each(count, [&](int i) {
    const int row = p.w.active_row[i];
    Real* lambda = p.w.lambda + row;
    if (p.w.active_kind[i] == kSingleRow) {
      lambda[0] += x[i];
    } else if (p.w.active_kind[i] == kSlidingNormal) {
      const bool across = i + 1 < count && p.w.active_kind[i + 1] == kSlidingAcross;
      const Real y = across ? x[i + 1] / lambda[0] : Real(0);
      const Real share = greater(Real(0), Real(1) + x[i] / lambda[0]) / std::sqrt(Real(1) + y * y);
      const Real turned[2] = {lambda[1] - y * lambda[2], lambda[2] + y * lambda[1]};
      lambda[0] = greater(Real(0), lambda[0] + x[i]), lambda[1] = share * turned[0], lambda[2] = share * turned[1];
    }
  });
  team.for_each(p.m.limit_count, [&](int i) { p.w.lambda[base + i] = greater(p.w.lambda[base + i], Real(0)); });
  team.for_each(p.m.effort_count, [&](int e) {
    Real& lambda = p.w.lambda[p.effort_base() + e];
    lambda = constraints::clamp(lambda, p.w.effort_lower[e], p.w.effort_upper[e]);
  });
  team.for_each(p.contact_count, [&](int i) {
    Real* lambda = p.w.lambda + p.contact_base() + 3 * i;
    lambda[0] = greater(lambda[0], Real(0));
    const Real cone = p.w.contacts[i].friction * lambda[0];
    const Real size = std::sqrt(lambda[1] * lambda[1] + lambda[2] * lambda[2]);
    if (size > cone) lambda[1] *= cone / size, lambda[2] *= cone / size;
  });
  team.for_each(rows, [&](int r) { change[r] = p.w.lambda[base + r] - change[r]; });
  const int length = DelassusVelocities::size(p);
  for (int r = 0; r < rows; ++r) {
    const Real x = change[r];
    if (x == Real(0)) continue;
    const Real* column = p.w.delassus + r * length;
    Real* v = p.w.row_velocity;
    team.for_each(length, [=](int i) { v[i] += column[i] * x; });
  }
  return true;
}

}  // namespace axion::solver
