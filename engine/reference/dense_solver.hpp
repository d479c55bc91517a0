// LU with partial pivoting of the whole Newton system, for small worlds and as an oracle.
//
//   [M̂  −Fᵀ] [Δu]     [g]
//   [J   C ] [Δλ] = − [r],   contacts Δλ + G J Δu = −e
// Assembled from the rows alone, without anything eliminated; rows are scaled to a greatest entry of one first. Only in
// batches that chose it: the matrix is scratch of dense_unknowns² numbers (model/batch_view.hpp).
// Source: Golub and Van Loan 2013, Matrix Computations, algorithm 3.4.1.
//
// In: the system as `linearise` left it. Out: du, dlambda. Cost: 2n³/3 for n unknowns.
#pragma once

#include "engine/base/assert.hpp"
#include "engine/math/small_matrix.hpp"
#include "engine/problem/linearise.hpp"
#include "engine/reference/reference_scratch.hpp"
#include "engine/tree/tree_assembly.hpp"

namespace axion::solver {

// Which way a row along a tendon or an equality points.
template <typename Real>
AXION_HD inline Real sign_of_tendon_row(const Problem<Real>& p, int row, int t) {
  return sign_along<Real>(p.m, p.w.limit_side, p.m.tendons[t].axis, row);
}

// Whether an axis row does anything; else it is its compliance alone.
template <typename Real>
AXION_HD inline bool is_empty_row(const Problem<Real>& p, int row) {
  const int axis = row - p.axis_base();
  return row >= p.axis_base() && row < p.limit_base() && !(p.w.axis_beta[axis] > 0);
}

// The same of a tendon or an equality.
template <typename Real>
AXION_HD_RARE void add_tendon_row(const Problem<Real>& p, int row, int t, Real factor, Real* line) {
  if (is_empty_row(p, row)) return;
  factor *= sign_of_tendon_row(p, row, t);
  constraints::for_each_term<Real>(p.m.tendons[t], [&](int k) {
    const model::TendonTermData<Real>& term = p.m.tendon_terms[k];
    for (int side = 0; side < 2; ++side) {
      const int b = side == 0 ? term.a : term.b;
      if (b < 0) continue;
      Real J[6];
      row_against(p.w.tendon_row[k], side == 0, J);
      for (int c = 0; c < 6; ++c) line[6 * b + c] += factor * J[c];
    }
  });
}

// What an impulse along a row of a tendon or an equality gives component k of body b.
template <typename Real>
AXION_HD_RARE Real tendon_impulse_on(const Problem<Real>& p, int row, int t, int b, int k) {
  if (is_empty_row(p, row)) return 0;
  Real sum = 0;
  constraints::for_each_term<Real>(p.m.tendons[t], [&](int term) {
    const model::TendonTermData<Real>& on = p.m.tendon_terms[term];
    for (int side = 0; side < 2; ++side) {
      if ((side == 0 ? on.a : on.b) != b) continue;
      Real F[6];
      row_against(p.w.tendon_force[term], side == 0, F);
      sum += F[k];
    }
  });
  return sign_of_tendon_row(p, row, t) * sum;
}

// line[6 body + ..] += factor · row, against both of its bodies.
template <typename Real>
AXION_HD inline void add_row(const Problem<Real>& p, int row, Real factor, Real* line) {
  const model::Row<Real>& J = p.w.row[row];
  int a, b;
  const int tendon = row < p.contact_base() ? find_tendon(p, row) : -1;
  if (tendon >= 0) return add_tendon_row(p, row, tendon, factor, line);
  bodies_of_row(p, row, a, b);
  for (int k = 0; k < 3; ++k) {
    line[6 * a + k] += factor * J.l[k];
    line[6 * a + 3 + k] += factor * J.k_a[k];
    if (b < 0) continue;
    line[6 * b + k] -= factor * J.l[k];
    line[6 * b + 3 + k] += factor * J.k_b[k];
  }
}

// Equation k (0 to 5) of body b.
template <typename Real>
AXION_HD inline void assemble_dynamics_line(const Problem<Real>& p, int b, int k, Real* line, Real& rhs) {
  rhs = k < 3 ? -p.w.g_linear[b][k] : -p.w.g_angular[b][k - 3];
  if (k < 3) line[6 * b + k] = matrix_mass(p, b);
  for (int c = 0; c < 3 && k >= 3; ++c) {
    line[6 * b + 3 + c] = p.w.I_world[b](k - 3, c) + p.w.K_geometric[b](k - 3, c);
  }
  for (int row = 0; row < p.row_count(); ++row) {
    int a, other;
    const int tendon = row < p.contact_base() ? find_tendon(p, row) : -1;
    bodies_of_row(p, row, a, other);
    if (tendon >= 0) {
      line[6 * p.m.body_count + row] = -tendon_impulse_on(p, row, tendon, b, k);
      continue;
    }
    if (a != b && other != b) continue;
    const model::Row<Real>& F = row < p.axis_base() ? p.w.row_force[row] : p.w.row[row];
    const Real entry = k >= 3 ? (a == b ? F.k_a : F.k_b)[k - 3] : (a == b ? F.l[k] : -F.l[k]);
    line[6 * p.m.body_count + row] = -entry;
  }
}

template <typename Real>
AXION_HD inline void assemble_row_line(const Problem<Real>& p, int row, Real* line, Real& rhs) {
  Real& diagonal = line[6 * p.m.body_count + row];
  if (row < p.contact_base()) {
    add_row(p, row, Real(1), line);
    diagonal = p.w.compliance[row];
    rhs = -p.w.row_rhs[row];
    return;
  }
  const int local = row - p.contact_base(), first = row - local % 3;
  for (int k = 0; k < 3; ++k) add_row(p, first + k, p.w.contact_gain[3 * local + k], line);
  diagonal = 1;
  rhs = -p.w.contact_offset[local];
}

// One line of the system, its greatest entry scaled to one.
template <typename Real>
AXION_HD inline void assemble_line(const Problem<Real>& p, int n, int i) {
  Real* line = p.w.reference.dense + std::size_t(i) * n;
  for (int c = 0; c < n; ++c) line[c] = 0;
  Real rhs = 0;
  if (i < 6 * p.m.body_count) {
    assemble_dynamics_line(p, i / 6, i % 6, line, rhs);
  } else {
    assemble_row_line(p, i - 6 * p.m.body_count, line, rhs);
  }
  Real greatest = 0;
  for (int c = 0; c < n; ++c) greatest = greater(greatest, std::abs(line[c]));
  const Real scale = greatest > Real(0) ? Real(1) / greatest : Real(1);
  for (int c = 0; c < n; ++c) line[c] *= scale;
  p.w.reference.dense_rhs[i] = scale * rhs;
}

// Brings the greatest entry of column k to its diagonal, then clears what is below.
template <typename Real, typename Team>
AXION_HD inline void eliminate_column(const Team& team, const Problem<Real>& p, int n, int k) {
  Real* A = p.w.reference.dense;
  Real* rhs = p.w.reference.dense_rhs;
  const auto at = [n](int r, int c) { return std::size_t(r) * n + c; };
  team.for_each(1, [&](int) {
    int best = k;
    for (int r = k + 1; r < n; ++r) {
      if (std::abs(A[at(r, k)]) > std::abs(A[at(best, k)])) best = r;
    }
    p.w.reference.dense_pivot[0] = best;
    const Real t = rhs[k];
    rhs[k] = rhs[best], rhs[best] = t;
  });
  team.for_each(n - k, [&](int i) {
    const int best = p.w.reference.dense_pivot[0], c = k + i;
    const Real t = A[at(k, c)];
    A[at(k, c)] = A[at(best, c)], A[at(best, c)] = t;
    if (c != k || std::abs(A[at(k, k)]) >= math::least_pivot<Real>()) return;
    A[at(k, k)] = A[at(k, k)] < 0 ? -math::least_pivot<Real>() : math::least_pivot<Real>();
  });
  team.for_each(n - k - 1, [&](int i) {
    const int r = k + 1 + i;
    if (A[at(r, k)] == Real(0)) return;
    const Real factor = A[at(r, k)] / A[at(k, k)];
    for (int c = k + 1; c < n; ++c) A[at(r, c)] -= factor * A[at(k, c)];
    rhs[r] -= factor * rhs[k];
  });
}

// Solves for du and dlambda. Returns the number of linear solves, one.
template <typename Real, typename Team>
AXION_HD_CALL int solve_dense(const Team& team, const Problem<Real>& p) {
  const int nu = 6 * p.m.body_count, n = nu + p.row_count();
  AXION_ASSERT(n <= p.m.dense_unknowns);
  Real* x = p.w.reference.dense_rhs;
  team.for_each(n, [&](int i) { assemble_line(p, n, i); });
  for (int k = 0; k < n; ++k) eliminate_column(team, p, n, k);
  for (int k = n - 1; k >= 0; --k) {
    const Real* A = p.w.reference.dense;
    team.for_each(1, [&](int) { x[k] /= A[std::size_t(k) * n + k]; });
    team.for_each(k, [&](int i) { x[i] -= A[std::size_t(i) * n + k] * x[k]; });
  }
  team.for_each(p.m.body_count, [&](int b) {
    p.w.du_linear[b] = {x[6 * b], x[6 * b + 1], x[6 * b + 2]};
    p.w.du_angular[b] = {x[6 * b + 3], x[6 * b + 4], x[6 * b + 5]};
  });
  team.for_each(p.row_count(), [&](int i) { p.w.dlambda[i] = x[nu + i]; });
  return 1;
}

}  // namespace axion::solver
