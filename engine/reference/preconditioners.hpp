// Preconditioners of conjugate residuals: symmetric positive definite approximations of S⁻¹, S = J M̂⁻¹ Jᵀ + C.
//
//   PCR_JACOBI  the inverse of S's diagonal
//   PCR_TREE    the inverse of S's block over the rows in Scope::kTree (tree_nodes.hpp: joints of the tree, contacts
//               with the world, contacts on which bodies hang), exact, by the factorisation along the tree: with g = 0,
//               r = −x the Newton system in that scope says S_tree Δλ = x. For all other rows the inverses of S's
//               diagonal blocks: one block holds the rows of a joint that closes a loop, one those of a contact.
// Source: Saad 2003, Iterative Methods for Sparse Linear Systems, sections 10.2 and 14.1.
//
// In: the system as `linearise` left it, prepare_schur. Cost: PCR_JACOBI is linear in rows; PCR_TREE takes one
// factorisation of the tree, and a substitution through it for each application.
#pragma once

#include "engine/math/small_matrix.hpp"
#include "engine/reference/schur_operator.hpp"
#include "engine/tree/tree_solver.hpp"

namespace axion::solver {

// The inverse of the block of the joint that closes loop l. Its rows are locks: its axes are free.
template <typename Real>
AXION_HD inline void invert_loop_block(const Problem<Real>& p, int l) {
  const int j = joint_of_loop(p.m, l), size = joint_row_count(p.m, j);
  const model::JointData<Real>& joint = p.m.joints[j];
  Real* block = p.w.reference.loop_block + l * kNodeSize * kNodeSize;
  for (int r = 0; r < size; ++r) {
    for (int c = 0; c < size; ++c) {
      block[r * kNodeSize + c] =
          schur_entry(p, node_row(p, joint, r), node_row(p, joint, c), joint.child, joint.parent);
    }
  }
  math::invert_positive(block, size, kNodeSize);
}

template <typename Real>
AXION_HD inline void apply_loop_block(const Problem<Real>& p, int l, ConstArray<Real> x, OutArray<Real> y) {
  const int j = joint_of_loop(p.m, l), size = joint_row_count(p.m, j);
  const model::JointData<Real>& joint = p.m.joints[j];
  const Real* block = p.w.reference.loop_block + l * kNodeSize * kNodeSize;
  Real in[kNodeSize], out[kNodeSize];
  for (int k = 0; k < size; ++k) in[k] = x[node_row(p, joint, k)];
  math::multiply(block, size, kNodeSize, in, out);
  for (int k = 0; k < size; ++k) y[node_row(p, joint, k)] = out[k];
}

template <typename Real>
AXION_HD inline void invert_contact_block(const Problem<Real>& p, int i) {
  const int row = p.contact_base() + 3 * i;
  const model::Contact<Real>& c = p.w.contacts[i];
  Real* block = p.w.reference.contact_block + 9 * i;
  for (int r = 0; r < 3; ++r) {
    for (int k = 0; k < 3; ++k) block[3 * r + k] = schur_entry(p, row + r, row + k, c.body_a, c.body_b);
  }
  math::invert_positive(block, 3, 3);
}

template <typename Real>
AXION_HD inline void apply_contact_block(const Problem<Real>& p, int i, ConstArray<Real> x, OutArray<Real> y) {
  const int row = p.contact_base() + 3 * i;
  math::multiply(p.w.reference.contact_block + 9 * i, 3, 3, x + row, y + row);
}

// The block of S over the tree, factorised: contacts with the world are condensed by G = C⁻¹.
template <typename Real, typename Team>
AXION_HD inline void prepare_tree_preconditioner(const Team& team, const Problem<Real>& p) {
  team.for_each(p.block_count(), [&](int i) {
    if (!in_scope(p, i, Scope::kTree)) {
      invert_contact_block(p, i);
      return;
    }
    Real* G = p.w.contact_gain + 9 * i;
    for (int k = 0; k < 9; ++k)
      G[k] = k % 4 == 0 ? Real(1) / p.w.compliance[p.contact_base() + 3 * i + k / 4] : Real(0);
  });
  factorise_and_solve(team, p, Scope::kTree, TreeRhs<Real>{});
  team.for_each(p.m.loop_count, [&](int l) { invert_loop_block(p, l); });
}

template <typename Real, typename Team>
AXION_HD_CALL void apply_tree_preconditioner(const Team& team, const Problem<Real>& p, ConstArray<Real> x,
                                             OutArray<Real> y) {
  team.for_each(3 * p.block_count(), [&](int i) {
    p.w.contact_offset[i] = p.w.contact_gain[9 * (i / 3) + 4 * (i % 3)] * x[p.contact_base() + i];
  });
  const TreeRhs<Real> rhs{nullptr, nullptr, x, p.w.contact_offset};
  solve_with_factors(team, p, Scope::kTree, rhs);
  read_velocities(team, p, p.w.reference.answer_linear, p.w.reference.answer_angular);
  read_joint_impulses(team, p, Scope::kTree, y);
  read_condensed_impulses(team, p, Scope::kTree, rhs, p.w.reference.answer_linear, p.w.reference.answer_angular, y);
  team.for_each(p.row_count(), [&](int i) { y[i] = -y[i]; });
  team.for_each(p.m.loop_count, [&](int l) { apply_loop_block(p, l, x, y); });
  team.for_each(p.block_count(), [&](int i) {
    if (!in_scope(p, i, Scope::kTree)) apply_contact_block(p, i, x, y);
  });
}

// Needs prepare_schur.
template <typename Real, typename Team>
AXION_HD_CALL void prepare_preconditioner(const Team& team, const Problem<Real>& p) {
  if (p.s.linear_solver == model::LinearSolver::kPcrTree) {
    prepare_tree_preconditioner(team, p);
  } else {
    team.for_each(p.row_count(), [&](int i) { p.w.reference.diagonal_inverse[i] = Real(1) / schur_diagonal(p, i); });
  }
}

// y = approximately S⁻¹ x; uses answer_linear and answer_angular.
template <typename Real, typename Team>
AXION_HD_CALL void precondition(const Team& team, const Problem<Real>& p, ConstArray<Real> x, OutArray<Real> y) {
  if (p.s.linear_solver == model::LinearSolver::kPcrTree) {
    apply_tree_preconditioner(team, p, x, y);
  } else {
    team.for_each(p.row_count(), [&](int i) { y[i] = p.w.reference.diagonal_inverse[i] * x[i]; });
  }
}

}  // namespace axion::solver
