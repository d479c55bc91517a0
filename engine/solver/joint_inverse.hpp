// The inverse of the joint tree, contacts and limits left out: what velocity an impulse on one body gives to every other.
//
//   [M̂  −J_Fᵀ]   joint and axis rows only; factorised along the tree as in tree_solver.hpp, without any fill.
//   [J    C  ]
// From the node factors follow P_i (velocity of body i for an impulse on it while its parent stands still), T_i (velocity of i
// for one of its parent) and S_i (impulse on the parent for one on i), 6×6 each, and from the root outward
//   V_ij = T_i V_pj,  V_ji = V_jp S_i  (j before i in its tree),  V_ii = P_i + T_i V_pi.
// V is kept as one column of 6 n entries for each of the 6 n impulse components of a tree of n bodies, so that an impulse is
// applied by adding whole columns. Source: the recursion of the operational space inertia, Kreutz-Delgado et al. 1992.
// Called by contact_sweeps.hpp, after `linearise`, for models without loop joints.
#pragma once

#include "engine/solver/tree_solver.hpp"

namespace axion::solver {

inline constexpr int kBodyBlock = 36;

// Right-hand side and solution of a body's node: its velocity, then the rows of its joint.
template <typename Real>
AXION_HD inline Real* body_unknowns(const Problem<Real>& p, int b) {
  return p.w.node_rhs + node_of_body(p, b) * model::kNodeSize;
}

// Node b with its joint rows alone, right-hand side −g and −r; and both blocks to its parent.
template <typename Real>
AXION_HD_CALL void assemble_joint_node(const Problem<Real>& p, int b) {
  constexpr int stride = model::kNodeSize;
  Real* K = p.w.node + node_of_body(p, b) * model::kNodeStride;
  Real* rhs = body_unknowns(p, b);
  Real* upper = p.w.joint_upper + b * model::kCouplingStride;
  Real* lower = p.w.joint_lower + b * model::kCouplingStride;
  for (int i = 0; i < model::kNodeStride; ++i) K[i] = 0;
  for (int i = 0; i < model::kCouplingStride; ++i) upper[i] = lower[i] = 0;
  const Real mass = constraints::body_mass(p.m, p.w, b);
  for (int r = 0; r < 3; ++r) {
    K[r * stride + r] = mass;
    for (int c = 0; c < 3; ++c) K[(3 + r) * stride + 3 + c] = p.w.I_world[b](r, c) + p.w.K_geometric[b](r, c);
    rhs[r] = -p.w.g_linear[b][r], rhs[3 + r] = -p.w.g_angular[b][r];
  }
  const model::BodyData<Real>& body = p.m.bodies[b];
  if (body.joint < 0) return;
  const model::JointData<Real>& joint = p.m.joints[body.joint];
  for (int k = 0; k < joint_row_count(p.m, p.m.bodies[b].joint); ++k) {
    const int row = node_row(p, joint, k);
    const model::Row<Real>& force = impulse_row(p, row);
    rhs[6 + k] = -p.w.residual[row];
    K[(6 + k) * stride + 6 + k] = p.w.compliance[row];
    Real J[6], F[6], J_parent[6], F_parent[6];
    row_against(p.w.row[row], true, J);
    row_against(force, true, F);
    row_against(p.w.row[row], false, J_parent);
    row_against(force, false, F_parent);
    for (int c = 0; c < 6; ++c) {
      K[(6 + k) * stride + c] = J[c];
      K[c * stride + 6 + k] = -F[c];
      upper[(6 + k) * 6 + c] = J_parent[c];
      lower[c * model::kNodeSize + 6 + k] = -F_parent[c];
    }
  }
}

// rhs of the parent −= L K⁻¹ rhs of node i; `solved` says that rhs already is K⁻¹ rhs.
template <typename Real>
AXION_HD inline Real parent_share(const Problem<Real>& p, int i, int r) {
  const Real* lower = p.w.joint_lower + i * model::kCouplingStride + r * model::kNodeSize;
  const Real* z = body_unknowns(p, i);
  Real sum = 0;
  for (int c = 0; c < node_size(p, node_of_body(p, i)); ++c) sum += lower[c] * z[c];
  return sum;
}

// From solved nodes to du and the joint part of dlambda, root to leaves.
template <typename Real, typename Team>
AXION_HD_CALL void substitute_joints(const Team& team, const Problem<Real>& p) {
  for (int i = 0; i < p.m.body_count; ++i) {
    const int parent = p.m.bodies[i].parent;
    if (parent < 0) continue;
    Real* z = body_unknowns(p, i);
    const Real* x = body_unknowns(p, parent);
    team.for_each(node_size(p, node_of_body(p, i)), [&](int r) {
      const Real* Y = p.w.joint_upper + i * model::kCouplingStride + 6 * r;
      for (int c = 0; c < 6; ++c) z[r] -= Y[c] * x[c];
    });
  }
  team.for_each(p.m.body_count, [&](int b) {
    const Real* z = body_unknowns(p, b);
    p.w.du_linear[b] = {z[0], z[1], z[2]};
    p.w.du_angular[b] = {z[3], z[4], z[5]};
    if (p.m.bodies[b].joint < 0) return;
    const model::JointData<Real>& joint = p.m.joints[p.m.bodies[b].joint];
    for (int k = 0; k < joint_row_count(p.m, p.m.bodies[b].joint); ++k) p.w.dlambda[node_row(p, joint, k)] = z[6 + k];
  });
}

// Factorises and solves for −g and the joint residuals: du and the joint part of dlambda.
template <typename Real, typename Team>
AXION_HD_CALL void solve_joints(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int b) { assemble_joint_node(p, b); });
  for (int i = p.m.body_count - 1; i >= 0; --i) {
    const int size = node_size(p, node_of_body(p, i)), parent = p.m.bodies[i].parent;
    Real* K = p.w.node + node_of_body(p, i) * model::kNodeStride;
    Real* upper = p.w.joint_upper + i * model::kCouplingStride;
    factorise_node(team, p, node_of_body(p, i));
    team.for_each(parent < 0 ? 1 : 2, [&](int k) {
      if (k == 0) {
        solve_columns<1>(K, size, body_unknowns(p, i));
      } else {
        solve_columns<6>(K, size, upper);
      }
    });
    if (parent < 0) continue;
    team.for_each(6, [&](int r) {
      const Real* lower = p.w.joint_lower + i * model::kCouplingStride + r * model::kNodeSize;
      Real* target = p.w.node + node_of_body(p, parent) * model::kNodeStride + r * model::kNodeSize;
      for (int c = 0; c < size; ++c) {
        for (int t = 0; t < 6; ++t) target[t] -= lower[c] * upper[c * 6 + t];
      }
      body_unknowns(p, parent)[r] -= parent_share(p, i, r);
    });
  }
  substitute_joints(team, p);
}

// Solves again, with the factors of solve_joints, for impulses on the bodies in the first six of each node_rhs.
template <typename Real, typename Team>
AXION_HD_CALL void solve_joints_again(const Team& team, const Problem<Real>& p) {
  for (int i = p.m.body_count - 1; i >= 0; --i) {
    const int parent = p.m.bodies[i].parent;
    team.for_each(1, [&](int) {
      solve_columns<1>(p.w.node + node_of_body(p, i) * model::kNodeStride, node_size(p, node_of_body(p, i)),
                       body_unknowns(p, i));
    });
    if (parent < 0) continue;
    team.for_each(6, [&](int r) { body_unknowns(p, parent)[r] -= parent_share(p, i, r); });
  }
  substitute_joints(team, p);
}

// Entry r of the column of V that belongs to component c of an impulse on body b is at this + 6 (i − tree_start) + r for
// the velocity of body i.
template <typename Real>
AXION_HD inline Real* inverse_column(const Problem<Real>& p, int b, int c) {
  const model::BodyData<Real>& body = p.m.bodies[b];
  return p.w.inverse + kBodyBlock * (body.inverse_start + (b - body.tree_start) * body.tree_size) +
         6 * body.tree_size * c;
}

// P_i into V_ii and S_i into `transfer`.
template <typename Real>
AXION_HD_CALL void start_inverse(const Problem<Real>& p, int i) {
  const int size = node_size(p, node_of_body(p, i)), at = 6 * (i - p.m.bodies[i].tree_start);
  Real Z[model::kCouplingStride] = {};
  for (int c = 0; c < 6; ++c) Z[6 * c + c] = 1;
  solve_columns<6>(p.w.node + node_of_body(p, i) * model::kNodeStride, size, Z);
  for (int r = 0; r < 6; ++r) {
    const Real* lower = p.w.joint_lower + i * model::kCouplingStride + r * model::kNodeSize;
    for (int c = 0; c < 6; ++c) {
      inverse_column(p, i, c)[at + r] = Z[6 * r + c];
      Real sum = 0;
      for (int k = 6; k < size; ++k) sum -= lower[k] * Z[6 * k + c];
      p.w.transfer[kBodyBlock * i + 6 * r + c] = sum;
    }
  }
}

// V of every tree, after solve_joints.
template <typename Real, typename Team>
AXION_HD_CALL void invert_joints(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int i) { start_inverse(p, i); });
  for (int i = 0; i < p.m.body_count; ++i) {
    const int parent = p.m.bodies[i].parent, start = p.m.bodies[i].tree_start;
    if (parent < 0) continue;
    const int before = 6 * (i - start), at_parent = 6 * (parent - start);
    const Real* T = p.w.joint_upper + i * model::kCouplingStride;  // −T_i, its first six rows
    const Real* S = p.w.transfer + kBodyBlock * i;
    team.for_each(before + 6, [&](int k) {
      if (k < before) {  // row i of an earlier column
        Real* column = inverse_column(p, start + k / 6, k % 6);
        for (int r = 0; r < 6; ++r) {
          Real sum = 0;
          for (int c = 0; c < 6; ++c) sum -= T[6 * r + c] * column[at_parent + c];
          column[before + r] = sum;
        }
        return;
      }
      Real* column = inverse_column(p, i, k - before);
      const Real* from[6];
      for (int c = 0; c < 6; ++c) from[c] = inverse_column(p, parent, c);
      for (int x = 0; x < before; ++x) {
        Real sum = 0;
        for (int c = 0; c < 6; ++c) sum += from[c][x] * S[6 * c + (k - before)];
        column[x] = sum;
      }
      for (int r = 0; r < 6; ++r) {
        for (int c = 0; c < 6; ++c) column[before + r] -= T[6 * r + c] * column[at_parent + c];
      }
    });
  }
}

}  // namespace axion::solver
