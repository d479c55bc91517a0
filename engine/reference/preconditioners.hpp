// Preconditioners of conjugate residuals: symmetric positive definite approximations of S⁻¹, S = J M̂⁻¹ Jᵀ + C.
//
//   PCR_JACOBI  the inverse of S's diagonal
//   PCR_TREE    the inverse of S's block over the rows in Scope::kTree (tree_nodes.hpp: joints of the tree, contacts
//               with the world, contacts on which bodies hang), exact, by the factorisation along the tree: with g = 0,
//               r = −x the Newton system in that scope says S_tree Δλ = x. For all other rows the inverses of S's
//               diagonal blocks: one block holds the rows of a joint that closes a loop, one those of a contact.
// Source: Saad 2003, Iterative Methods for Sparse Linear Systems, sections 10.2 and 14.1.
#pragma once

#include "engine/math/small_matrix.hpp"
#include "engine/reference/schur_operator.hpp"
#include "engine/tree/tree_solver.hpp"

namespace axion::solver {

// The inverse of loop joint j's block at `block`, with the stride of a node. Its rows are locks: its axes are free.
template <typename Real>
AXION_HD inline void invert_joint_block(const Problem<Real>& p, int j, Real* block) {
  const model::JointData<Real>& joint = p.m.joints[j];
  const int size = joint_row_count(p.m, j);
  for (int r = 0; r < size; ++r) {
    for (int c = 0; c < size; ++c) {
      block[r * model::kNodeSize + c] =
          schur_entry(p, node_row(p, joint, r), node_row(p, joint, c), joint.child, joint.parent);
    }
  }
  math::invert_positive(block, size, model::kNodeSize);
}

template <typename Real>
AXION_HD inline void apply_joint_block(const Problem<Real>& p, int j, const Real* block, const Real* x, Real* y) {
  const model::JointData<Real>& joint = p.m.joints[j];
  Real in[model::kNodeSize], out[model::kNodeSize];
  const int size = joint_row_count(p.m, j);
  for (int k = 0; k < size; ++k) in[k] = x[node_row(p, joint, k)];
  math::multiply(block, size, model::kNodeSize, in, out);
  for (int k = 0; k < size; ++k) y[node_row(p, joint, k)] = out[k];
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
  if (p.s.linear_solver == model::LinearSolver::kPcrTree) {
    prepare_tree_preconditioner(team, p);
  } else {
    team.for_each(p.row_count(), [&](int i) { p.w.pcr_d[i] = Real(1) / schur_diagonal(p, i); });
  }
}

// y = approximately S⁻¹ x; uses pcr_v and pcr_w.
template <typename Real, typename Team>
AXION_HD_CALL void precondition(const Team& team, const Problem<Real>& p, const Real* x, Real* y) {
  if (p.s.linear_solver == model::LinearSolver::kPcrTree) {
    apply_tree_preconditioner(team, p, x, y);
  } else {
    team.for_each(p.row_count(), [&](int i) { y[i] = p.w.pcr_d[i] * x[i]; });
  }
}

}  // namespace axion::solver
