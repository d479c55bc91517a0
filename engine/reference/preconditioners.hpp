// Preconditioners of conjugate residuals: symmetric positive definite approximations of S⁻¹, S = J M̂⁻¹ Jᵀ + C.
//
//   PCR_JACOBI  the inverse of S's diagonal. PCR_BLOCK   the inverse of S's diagonal blocks: one block holds the rows
//   of a joint, one those of a contact. PCR_TREE    the inverse of S's block over the rows in Scope::kTree
//   (tree_nodes.hpp: joints of the tree, contacts with
//               the world, contacts on which bodies hang), exact, by the factorisation along the tree: with g = 0,
//               r = −x the Newton system in that scope says S_tree Δλ = x. Blocks as above for all other rows.
// A joint's block holds its first 12 rows (locks, axes, limits, efforts); what a joint has beyond that stands alone.
// Source: Saad 2003, Iterative Methods for Sparse Linear Systems, sections 10.2 and 14.1.
#pragma once

#include "engine/math/small_matrix.hpp"
#include "engine/reference/schur_operator.hpp"
#include "engine/tree/tree_solver.hpp"

namespace axion::solver {

// Calls f(k, row) for the rows of joint j in order.
template <typename Real, typename F>
AXION_HD inline void for_each_joint_row(const Problem<Real>& p, int j, F&& f) {
  const model::JointData<Real>& joint = p.m.joints[j];
  int count = joint_row_count(p.m, j);
  for (int k = 0; k < count; ++k) f(k, node_row(p, joint, k));
  for_each_condensed_row(p, joint, [&](int row) { f(count++, row); });
}

// The inverse of joint j's block at `block`, with the stride of a node.
template <typename Real>
AXION_HD inline void invert_joint_block(const Problem<Real>& p, int j, Real* block) {
  const model::JointData<Real>& joint = p.m.joints[j];
  int size = 0;
  for_each_joint_row(p, j, [&](int r, int row) {
    if (r >= model::kNodeSize) return;
    size = r + 1;
    for_each_joint_row(p, j, [&](int c, int column) {
      if (c >= model::kNodeSize) return;
      block[r * model::kNodeSize + c] = schur_entry(p, row, column, joint.child, joint.parent);
    });
  });
  math::invert_positive(block, size, model::kNodeSize);
}

template <typename Real>
AXION_HD inline void apply_joint_block(const Problem<Real>& p, int j, const Real* block, const Real* x, Real* y) {
  Real in[model::kNodeSize], out[model::kNodeSize];
  int size = 0;
  for_each_joint_row(p, j, [&](int k, int row) {
    if (k < model::kNodeSize) {
      in[k] = x[row];
      size = k + 1;
    } else {
      y[row] = x[row] / schur_diagonal(p, row);
    }
  });
  math::multiply(block, size, model::kNodeSize, in, out);
  for_each_joint_row(p, j, [&](int k, int row) {
    if (k < model::kNodeSize) y[row] = out[k];
  });
}

template <typename Real>
AXION_HD inline void invert_contact_block(const Problem<Real>& p, int i) {
  const int row = p.contact_base() + 3 * i;
  const model::Contact<Real>& c = p.w.contacts[i];
  Real* block = p.w.contact_block + 9 * i;
  for (int r = 0; r < 3; ++r) {
    for (int k = 0; k < 3; ++k) block[3 * r + k] = schur_entry(p, row + r, row + k, c.body_a, c.body_b);
  }
  math::invert_positive(block, 3, 3);
}

template <typename Real>
AXION_HD inline void apply_contact_block(const Problem<Real>& p, int i, const Real* x, Real* y) {
  const int row = p.contact_base() + 3 * i;
  math::multiply(p.w.contact_block + 9 * i, 3, 3, x + row, y + row);
}

// The block of S over the tree, factorised: contacts with the world are condensed by G = C⁻¹.
template <typename Real, typename Team>
AXION_HD inline void prepare_tree_preconditioner(const Team& team, const Problem<Real>& p) {
  team.for_each(p.contact_count, [&](int i) {
    if (!in_scope(p, i, Scope::kTree)) {
      invert_contact_block(p, i);
      return;
    }
    Real* G = p.w.contact_gain + 9 * i;
    for (int k = 0; k < 9; ++k)
      G[k] = k % 4 == 0 ? Real(1) / p.w.compliance[p.contact_base() + 3 * i + k / 4] : Real(0);
  });
  factorise_and_solve(team, p, Scope::kTree, TreeRhs<Real>{});
  // Loops are no nodes of the tree: their place among the nodes is free.
  team.for_each(p.m.loop_count,
                [&](int l) { invert_joint_block(p, joint_of_loop(p.m, l), p.w.node + l * model::kNodeStride); });
}

template <typename Real, typename Team>
AXION_HD_CALL void apply_tree_preconditioner(const Team& team, const Problem<Real>& p, const Real* x, Real* y) {
  team.for_each(3 * p.contact_count, [&](int i) {
    p.w.contact_offset[i] = p.w.contact_gain[9 * (i / 3) + 4 * (i % 3)] * x[p.contact_base() + i];
  });
  const TreeRhs<Real> rhs{nullptr, nullptr, x, p.w.contact_offset};
  solve_again(team, p, Scope::kTree, rhs);
  read_velocities(team, p, p.w.pcr_v, p.w.pcr_w);
  read_joint_impulses(team, p, Scope::kTree, y);
  read_condensed_impulses(team, p, Scope::kTree, rhs, p.w.pcr_v, p.w.pcr_w, y);
  team.for_each(p.row_count(), [&](int i) { y[i] = -y[i]; });
  team.for_each(p.m.loop_count,
                [&](int l) { apply_joint_block(p, joint_of_loop(p.m, l), p.w.node + l * model::kNodeStride, x, y); });
  team.for_each(p.contact_count, [&](int i) {
    if (!in_scope(p, i, Scope::kTree)) apply_contact_block(p, i, x, y);
  });
}

// Needs prepare_schur.
template <typename Real, typename Team>
AXION_HD_CALL void prepare_preconditioner(const Team& team, const Problem<Real>& p) {
  switch (p.s.linear_solver) {
    case model::LinearSolver::kPcrBlock:
      team.for_each(p.m.joint_count, [&](int j) { invert_joint_block(p, j, p.w.node + j * model::kNodeStride); });
      team.for_each(p.contact_count, [&](int i) { invert_contact_block(p, i); });
      return;
    case model::LinearSolver::kPcrTree:
      prepare_tree_preconditioner(team, p);
      return;
    default:
      team.for_each(p.row_count(), [&](int i) { p.w.pcr_d[i] = Real(1) / schur_diagonal(p, i); });
  }
}

// y = approximately S⁻¹ x; uses pcr_v and pcr_w.
template <typename Real, typename Team>
AXION_HD_CALL void precondition(const Team& team, const Problem<Real>& p, const Real* x, Real* y) {
  switch (p.s.linear_solver) {
    case model::LinearSolver::kPcrBlock:
      team.for_each(p.m.joint_count, [&](int j) { apply_joint_block(p, j, p.w.node + j * model::kNodeStride, x, y); });
      team.for_each(p.contact_count, [&](int i) { apply_contact_block(p, i, x, y); });
      return;
    case model::LinearSolver::kPcrTree:
      apply_tree_preconditioner(team, p, x, y);
      return;
    default:
      team.for_each(p.row_count(), [&](int i) { y[i] = p.w.pcr_d[i] * x[i]; });
  }
}

}  // namespace axion::solver
