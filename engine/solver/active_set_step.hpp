// A Newton step on the rows that sweeps hold active, in the space of the Delassus matrix.
//
// Sweeps find which contacts stick, slide and open within a few passes; how fast the impulses then settle depends on how the
// contacts are coupled, and stiffly held legs on one trunk need hundreds of passes. With the active set held, what is left is
//   D_aa x = −(r + p λ)_a    sticking contacts: three rows; sliding: one, its column D_n + μ (d_x D_x + d_y D_y) along its present
//                            direction d of friction; limits off their stop and bounded rows at a bound: none
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

enum ActiveKind : int { kSingleRow, kStickingRow, kSlidingContact };

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
      if (lambda[1] * lambda[1] + lambda[2] * lambda[2] < within * within) {
        for (int k = 0; k < 3; ++k) add(row + k, kStickingRow);
      } else {
        add(row, kSlidingContact);
      }
    }
    p.w.active_count[0] = count;
  });
  return p.w.active_count[0];
}

// Column k of the active rows' matrix.
template <typename Real>
AXION_HD inline void fill_active_column(const Problem<Real>& p, int count, int k) {
  const int length = DelassusVelocities::size(p), base = p.limit_base(), row = p.w.active_row[k];
  const Real* column = p.w.delassus + (row - base) * length;
  Real* out = p.w.active_matrix + k;
  Real x = 0, y = 0;
  if (p.w.active_kind[k] == kSlidingContact) {  // friction grows with its normal, along where it points
    const Real* lambda = p.w.lambda + row;
    x = lambda[1] / lambda[0], y = lambda[2] / lambda[0];
  }
  for (int i = 0; i < count; ++i) {
    const Real* entry = column + (p.w.active_row[i] - base);
    Real value = entry[0];
    if (x != Real(0) || y != Real(0)) value += x * entry[length] + y * entry[2 * length];
    out[i * model::kActiveStride] = value;
  }
}

// Reduces [A | b] to [1 | x], but for the diagonal, by elimination above and below. Whole vectors of each row are combined from
// the pivot's on: what that does to entries left of the pivot is rounding of zeros.
template <typename Real, typename Team>
AXION_HD inline void eliminate(const Team& team, Real* A, int count) {
  constexpr int stride = model::kActiveStride, vector = model::kDelassusPadding;
  const int end = (count + vector) / vector * vector;
  for (int k = 0; k < count; ++k) {
    const Real* pivot = A + k * stride;
    const Real inverse = Real(1) / pivot[k];
    const int start = k / vector * vector;
    team.for_each(count, [=](int i) {
      if (i == k) return;
      Real* row = A + i * stride;
      const Real factor = row[k] * inverse;
      for (int j = start; j < end; j += vector) {
        for (int lane = 0; lane < vector; ++lane) row[j + lane] -= factor * pivot[j + lane];
      }
    });
  }
}

// Moves lambda and the velocities by one step. Returns whether there was one to make.
template <typename Real, typename Team>
AXION_HD_CALL bool step_active_set(const Team& team, const Problem<Real>& p) {
  const int count = list_active_rows(team, p), base = p.limit_base();
  if (count == 0 || count > model::kMaxActiveRows) return false;
  const int stride = model::kActiveStride;
  Real *A = p.w.active_matrix, *change = p.w.active_change;
  team.for_each(count, [&](int k) { fill_active_column(p, count, k); });
  team.for_each(count, [&](int i) {
    const int row = p.w.active_row[i];
    A[i * stride + i] += p.w.pcr_p[row] + active_proximal<Real>() * p.w.row_scale[row];
    A[i * stride + count] = -(p.w.pcr_r[row] + p.w.row_velocity[row - base] + p.w.pcr_p[row] * p.w.lambda[row]);
    for (int k = count + 1; k % model::kDelassusPadding != 0; ++k) A[i * stride + k] = 0;
  });
  eliminate(team, A, count);
  const int rows = p.row_count() - base;
  team.for_each(rows, [&](int r) { change[r] = p.w.lambda[base + r]; });
  team.for_each(count, [&](int i) {
    const int row = p.w.active_row[i];
    const Real x = A[i * stride + count] / A[i * stride + i];
    Real* lambda = p.w.lambda + row;
    if (p.w.active_kind[i] == kSlidingContact) {
      const Real share = greater(Real(0), Real(1) + x / lambda[0]);
      for (int k = 0; k < 3; ++k) lambda[k] *= share;
    } else {
      lambda[0] += x;
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
