// Direct solve of the Newton system, ordered along the joint tree.
//
// Contacts, limits and efforts are eliminated into their bodies first (tree_assembly.hpp). The remaining matrix is a
// sparse system of nodes (tree_nodes.hpp), each with at most 12 unknowns:
//
//   for node i from the last to the first:  K_i = L U;  Y_j = K_i⁻¹ U_ij;  A_pq −= L_pi Y_q,  b_p −= L_pi K_i⁻¹ b_i
//   for node i from the first to the last:  x_i = K_i⁻¹ b_i − Σ Y_j x_j
//
// for all p, q, j that node i meets. This follows the tree from its leaves, without fill for a tree that touches only
// the world. Contacts between moving bodies and loop joints add couplings, found symbolically once a step
// (tree_ordering.hpp). General LU without pivoting: A_ii is dominated by the mass, so K_i is quasi-definite up to
// friction's unsymmetry; a pivot that vanishes is replaced and Newton's residual test decides (node_pivots.hpp). Rows
// of a loop may depend on rows before them (a planar mechanism in space): their pivot then is their compliance, below
// which no pivot of a symmetric system can be, so that the compliance is its least value and rounding cannot hide it.
// Source: Baraff 1996, "Linear-time dynamics using Lagrange multipliers".
//
// In: the system as `linearise` left it, its couplings found (tree_ordering.hpp). Out: Δu in du_linear and du_angular,
// Δλ in dlambda. Cost: linear in bodies for a tree, one product of 6×12 by 12×6 for each pair of couplings of a node
// else; another right-hand side takes a substitution.
#pragma once

#include "engine/math/small_matrix.hpp"
#include "engine/problem/linearise.hpp"
#include "engine/tree/node_pivots.hpp"
#include "engine/tree/tree_assembly.hpp"
#include "engine/tree/tree_ordering.hpp"

namespace axion::solver {

// Where the block of two nodes is kept, and its stride.
template <typename Real>
struct Block {
  Real* data;
  int stride;
};

template <typename Real>
AXION_HD inline Block<Real> node_block(const Problem<Real>& p, int row, int column) {
  if (row == column) return {p.w.tree.node + row * kNodeStride, kNodeSize};
  const int high = row > column ? row : column, low = row > column ? column : row;
  const int index = find_coupling(p, high, low);
  if (index < 0) return {nullptr, 0};
  if (row > column) return {p.w.tree.coupling_upper + index * kCouplingStride, kPanelWidth};
  return {p.w.tree.coupling_lower + index * kCouplingStride, kNodeSize};
}

// rhs_q −= L_q z for the nodes q that node i meets, z its own solved right-hand side.
template <typename Real, typename Team>
AXION_HD inline void pass_rhs(const Team& team, const Problem<Real>& p, int i) {
  const int size = node_size(p, i), start = p.w.tree.coupling_start[i], count = coupling_end(p, i) - start;
  const Real* z = p.w.tree.node_rhs + i * kNodeSize;
  team.for_each(6 * count, [&](int k) {
    const int index = start + k / 6, r = k % 6;
    const Real* L = p.w.tree.coupling_lower + index * kCouplingStride + r * kNodeSize;
    Real sum = 0;
    for (int c = 0; c < size; ++c) sum += L[c] * z[c];
    p.w.tree.node_rhs[p.w.tree.coupling_node[index] * kNodeSize + r] -= sum;
  });
}

// Y = K⁻¹ U for the panels of node i, and z = K⁻¹ rhs, which takes a free column of the first of them.
template <typename Real, typename Team>
AXION_HD inline void solve_panels(const Team& team, const Problem<Real>& p, int i) {
  constexpr int parts = panel_packs<Team, Real>();
  const int size = node_size(p, i), start = p.w.tree.coupling_start[i], count = coupling_end(p, i) - start;
  const Real* K = p.w.tree.node + i * kNodeStride;
  Real* rhs = p.w.tree.node_rhs + i * kNodeSize;
  if (count == 0) {
    team.for_each(1, [&](int) { solve_column(K, size, rhs); });
    return;
  }
  Real* first = p.w.tree.coupling_upper + start * kCouplingStride;
  team.for_each(kNodeSize, [&](int r) { first[kPanelWidth * r + kRhsColumn] = rhs[r]; });
  team.for_each(count * parts, [&](int k) {
    Real* Y = p.w.tree.coupling_upper + (start + k / parts) * kCouplingStride;
    solve_panel<Team>(K, size, Y, k % parts, least_factor<Real>());
  });
  team.for_each(kNodeSize, [&](int r) { rhs[r] = first[kPanelWidth * r + kRhsColumn]; });
}

// Eliminates node i: Y_j = K⁻¹ U_j, then A_pq −= L_p Y_q and rhs_p −= L_p z for all p, q that it meets.
template <typename Real, typename Team>
AXION_HD_CALL void eliminate_node(const Team& team, const Problem<Real>& p, int i) {
  constexpr int rows = product_rows<Team>(), tasks = 6 / rows;
  const int start = p.w.tree.coupling_start[i], count = coupling_end(p, i) - start;
  factorise_node(team, p, i);
  solve_panels(team, p, i);
  team.for_each(tasks * count * count, [&](int k) {
    const int r = k % tasks * rows, row_index = start + k / tasks / count, column_index = start + k / tasks % count;
    const int row_node = p.w.tree.coupling_node[row_index];
    const Block<Real> target = node_block(p, row_node, p.w.tree.coupling_node[column_index]);
    Real* rhs = column_index == start ? p.w.tree.node_rhs + row_node * kNodeSize + r : nullptr;
    subtract_product<Team, rows>(p.w.tree.coupling_lower + row_index * kCouplingStride + r * kNodeSize,
                                 p.w.tree.coupling_upper + column_index * kCouplingStride,
                                 target.data == nullptr ? nullptr : target.data + r * target.stride, target.stride, rhs,
                                 least_factor<Real>());
  });
}

// From the last nodes back to the first: node_rhs becomes the solution.
template <typename Real, typename Team>
AXION_HD_CALL void substitute_back(const Team& team, const Problem<Real>& p, Scope scope) {
  for (int i = first_node(p.m, scope); i < node_count(p.m); ++i) {
    const int size = node_size(p, i), start = p.w.tree.coupling_start[i], end = coupling_end(p, i);
    Real* z = p.w.tree.node_rhs + i * kNodeSize;
    team.for_each(size, [&](int r) {
      for (int k = start; k < end; ++k) {
        const Real* Y = p.w.tree.coupling_upper + k * kCouplingStride + kPanelWidth * r;
        const Real* x = p.w.tree.node_rhs + p.w.tree.coupling_node[k] * kNodeSize;
        for (int c = 0; c < 6; ++c) z[r] -= Y[c] * x[c];
      }
    });
  }
}

// Factorises the system in scope and solves it once; the solution is in node_rhs. Needs find_couplings of that scope.
template <typename Real, typename Team>
AXION_HD inline void factorise_and_solve(const Team& team, const Problem<Real>& p, Scope scope,
                                         const TreeRhs<Real>& rhs) {
  const int first = first_node(p.m, scope), count = node_count(p.m) - first;
  team.for_each(count, [&](int k) {
    assemble_node<Team>(p, scope, first + k);
    assemble_rhs(p, rhs, scope, first + k);
    for (int i = p.w.tree.coupling_start[first + k]; i < coupling_end(p, first + k); ++i) {
      assemble_coupling<Team>(p, scope, first + k, i);
    }
  });
  for (int i = node_count(p.m) - 1; i >= first; --i) eliminate_node(team, p, i);
  substitute_back(team, p, scope);
}

// Solves for another right-hand side with the factors that factorise_and_solve left.
template <typename Real, typename Team>
AXION_HD inline void solve_with_factors(const Team& team, const Problem<Real>& p, Scope scope,
                                        const TreeRhs<Real>& rhs) {
  const int first = first_node(p.m, scope), count = node_count(p.m) - first;
  team.for_each(count, [&](int k) { assemble_rhs(p, rhs, scope, first + k); });
  for (int i = node_count(p.m) - 1; i >= first; --i) {
    team.for_each(1, [&](int) {
      solve_column(p.w.tree.node + i * kNodeStride, node_size(p, i), p.w.tree.node_rhs + i * kNodeSize);
    });
    pass_rhs(team, p, i);
  }
  substitute_back(team, p, scope);
}

// Velocities of the bodies in node_rhs.
template <typename Real, typename Team>
AXION_HD inline void read_velocities(const Team& team, const Problem<Real>& p, OutArray<math::Vec3<Real>> v,
                                     OutArray<math::Vec3<Real>> omega) {
  team.for_each(p.m.body_count, [&](int b) {
    const Real* z = p.w.tree.node_rhs + node_of_body(p, b) * kNodeSize;
    v[b] = {z[0], z[1], z[2]};
    omega[b] = {z[3], z[4], z[5]};
  });
}

// Impulses of the joint rows that nodes in scope keep, from node_rhs.
template <typename Real, typename Team>
AXION_HD inline void read_joint_impulses(const Team& team, const Problem<Real>& p, Scope scope, OutArray<Real> x) {
  const int first = first_node(p.m, scope);
  team.for_each(node_count(p.m) - first, [&](int k) {
    const int node = first + k, j = joint_of_node(p, node);
    const Real* z = p.w.tree.node_rhs + node * kNodeSize + node_row_offset(p.m, node);
    if (is_tendon_node<Real>(p.m, node)) x[row_of_tendon(p, tendon_of_node(p.m, node))] = z[0];
    for (int i = 0; i < joint_row_count(p.m, j); ++i) x[node_row(p, p.m.joints[j], i)] = z[i];
  });
}

// Impulses of condensed tendons: Δλ = −(r + J Δu)/C; none where nothing acts.
template <typename Real, typename Team>
AXION_HD_CALL void read_condensed_tendons(const Team& team, const Problem<Real>& p, ConstArray<Real> residual,
                                          ConstArray<math::Vec3<Real>> v, ConstArray<math::Vec3<Real>> omega,
                                          OutArray<Real> x) {
  team.for_each(p.m.tendon_axis_count, [&](int t) {
    const model::TendonData<Real>& tendon = p.m.tendons[t];
    if (tendon.node >= 0) return;
    const int row = row_of_tendon(p, t);
    const Real velocity = constraints::tendon_velocity(p.m, tendon, p.w.tendon_row, v, omega);
    x[row] = acts_on_node(p, t) ? -(residual[row] + velocity) / p.w.compliance[row] : Real(0);
  });
}

// Impulses of axes, limits and efforts, which share what their node's row gave (in x), and of contacts in scope, which
// follow from the velocities.
template <typename Real, typename Team>
AXION_HD inline void read_condensed_impulses(const Team& team, const Problem<Real>& p, Scope scope,
                                             const TreeRhs<Real>& rhs, ConstArray<math::Vec3<Real>> v,
                                             ConstArray<math::Vec3<Real>> omega, OutArray<Real> x) {
  const auto velocity = [&](int row, int a, int b) { return constraints::row_velocity(p.w.row[row], a, b, v, omega); };
  if (p.m.condensed_count > 0 && scope == Scope::kWhole) read_condensed_tendons(team, p, rhs.row, v, omega, x);
  team.for_each(p.m.axis_count, [&](int i) {
    if (!has_condensed_rows(p, i)) return;
    const int axis_row = p.axis_base() + i;
    const CoordinateRow<Real> all = coordinate_row(p, i, rhs.row);
    const Real v = -(all.push + x[axis_row]) / all.gain;  // J Δu as the node's row has it: impulses add up to its own
    const Real own =
        p.w.axis_beta[i] > 0 ? v : Real(0);  // an axis on which nothing acts is a row of its compliance alone
    x[axis_row] = -(rhs.row[axis_row] + own) / p.w.compliance[axis_row];
    for_each_row_of_axis<Real>(p.m, p.w.limit_side, i,
                               [&](int row, Real sign) { x[row] = -(rhs.row[row] + sign * v) / p.w.compliance[row]; });
  });
  team.for_each(p.block_count(), [&](int i) {
    const model::Contact<Real>& c = p.w.contacts[i];
    if (!in_scope(p, i, scope)) return;
    const int row = p.contact_base() + 3 * i;
    Real s[3];
    for (int k = 0; k < 3; ++k) s[k] = velocity(row + k, c.body_a, c.body_b);
    const Real* G = p.w.contact_gain + 9 * i;
    for (int k = 0; k < 3; ++k) {
      x[row + k] = -(rhs.contact[3 * i + k] + G[3 * k] * s[0] + G[3 * k + 1] * s[1] + G[3 * k + 2] * s[2]);
    }
  });
}

// The velocity block of each body in K⁻¹, K the factorised system in Scope::kTree, to mobility[36 body], from the roots
// to the leaves. Source: Takahashi, Fagan and Chin 1973.
template <typename Real, typename Team>
AXION_HD inline void invert_tree_diagonal(const Team& team, const Problem<Real>& p, OutArray<Real> mobility) {
  for (int b = 0; b < p.m.body_count; ++b) {
    const int node = node_of_body(p, b), size = body_node_size(p, b);
    const int start = p.w.tree.coupling_start[node], count = coupling_end(p, node) - start;
    team.for_each(6, [&](int column) {
      Real y[kNodeSize] = {};
      y[column] = 1;
      solve_column(p.w.tree.node + node * kNodeStride, size, y);
      Real passed[6], moved[6] = {};
      if (count > 0) {  // the parent; a tree has no other
        const Real* L = p.w.tree.coupling_lower + start * kCouplingStride;
        for (int r = 0; r < 6; ++r) {
          passed[r] = 0;
          for (int c = 0; c < size; ++c) passed[r] += L[r * kNodeSize + c] * y[c];
        }
        math::multiply(mobility + 36 * body_of_node(p, p.w.tree.coupling_node[start]), 6, 6, passed, moved);
      }
      const Real* Y = p.w.tree.coupling_upper + start * kCouplingStride;
      for (int r = 0; r < 6; ++r) {
        Real sum = y[r];
        for (int c = 0; c < 6 && count > 0; ++c) sum += Y[kPanelWidth * r + c] * moved[c];
        mobility[36 * b + 6 * r + column] = sum;
      }
    });
  }
}

// The right-hand side of a Newton iteration.
template <typename Real>
AXION_HD inline TreeRhs<Real> newton_rhs(const Problem<Real>& p) {
  return {p.w.g_linear, p.w.g_angular, p.w.row_rhs, p.w.contact_offset};
}

// Solves for du and dlambda. Returns the number of linear solves, one.
template <typename Real, typename Team>
AXION_HD_CALL int solve_tree(const Team& team, const Problem<Real>& p) {
  const TreeRhs<Real> rhs = newton_rhs(p);
  factorise_and_solve(team, p, Scope::kWhole, rhs);
  read_velocities(team, p, p.w.du_linear, p.w.du_angular);
  read_joint_impulses(team, p, Scope::kWhole, p.w.dlambda);
  read_condensed_impulses(team, p, Scope::kWhole, rhs, p.w.du_linear, p.w.du_angular, p.w.dlambda);
  return 1;
}

}  // namespace axion::solver
