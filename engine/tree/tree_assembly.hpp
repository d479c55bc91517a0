// Blocks and right-hand sides of the nodes of the factorisation along the joint tree.
//
//   body   K_i = [A_ii  −Fᵀ]   A_ii = M̂_i + Σ Jᵀ G J over its contacts
//                [J      C ]
//   loop   K_l = C, coupled to its bodies by −Fᵀ (their rows) and J (their columns); a tendon and an equality likewise,
//          each to all the bodies of its joints
// Contacts are condensed into the bodies, Δλ = −(e + G J Δu), and where they are many tendons likewise, G = 1/C; limits
// and efforts into the axis row of their coordinate, Δλ = −(r + J Δu)/C.
//
// In: the system as `linearise` left it. Out: node, node_rhs, coupling_upper, coupling_lower. Cost: linear in rows, a
// 6×6 block each.
#pragma once

#include "engine/base/assert.hpp"
#include "engine/problem/body_matrix.hpp"
#include "engine/problem/impulses.hpp"
#include "engine/tree/node_factors.hpp"
#include "engine/tree/parameters.hpp"
#include "engine/tree/tree_nodes.hpp"

namespace axion::solver {

// A right-hand side of a factorised system: K (Δu, Δλ) = −(g, r), e for the contacts. Null parts are zero.
template <typename Real>
struct TreeRhs {
  ConstArray<math::Vec3<Real>> linear, angular;  // [nb] g
  ConstArray<Real> row;                          // [nrow] r of joint rows, limits and efforts
  ConstArray<Real> contact;                      // [3 contact_count] e
};

// A row as six numbers against one of its bodies.
template <typename Real>
AXION_HD inline void row_against(const model::Row<Real>& row, bool on_a, Real (&out)[6]) {
  const math::Vec3<Real>& k = on_a ? row.k_a : row.k_b;
  for (int i = 0; i < 3; ++i) {
    out[i] = on_a ? row.l[i] : -row.l[i];
    out[3 + i] = k[i];
  }
}

// A pack of a row as six numbers against one of its bodies, the entries from `before` on; zero beyond them.
template <int lanes, int before, typename Real>
AXION_HD AXION_INLINED inline lanes::Pack<Real, lanes> row_pack(const model::Row<Real>& row, bool on_a) {
  const math::Vec3<Real>& k = on_a ? row.k_a : row.k_b;
  const Real sign = on_a ? Real(1) : Real(-1);
  return lanes::pack_of<lanes, before, Real>([&](auto i) AXION_INLINED {
    if constexpr (i < 3) {
      return sign * row.l[i];
    } else if constexpr (i < kHalfNode) {
      return k[i - 3];
    } else {
      return Real(0);
    }
  });
}

// block (6 x 6 in the first six rows and columns of a matrix with the given stride) += Σ_k J_kᵀ (Σ_l G_kl J_l), rows
// J_k against one body, columns J_l against another (or the same).
template <typename Team, int rows, typename Real>
AXION_HD inline void add_product(const model::Row<Real>* J, const Real* G, bool row_on_a, bool column_on_a, Real* block,
                                 int stride) {
  constexpr int lanes = team::pack_lanes<Team, Real>(kPanelWidth), parts = (kHalfNode + lanes - 1) / lanes;
  lanes::for_constants<parts>([&](auto part) AXION_INLINED {
    constexpr int before = lanes * part;
    lanes::Pack<Real, lanes> J_column[rows], GJ[rows];
    lanes::for_constants<rows>([&](auto l) AXION_INLINED { J_column[l] = row_pack<lanes, before>(J[l], column_on_a); });
    lanes::for_constants<rows>([&](auto k) AXION_INLINED {
      GJ[k] = G[rows * k] * J_column[0];
      lanes::for_constants<rows - 1>([&](auto l)
                                         AXION_INLINED { GJ[k] = GJ[k] + G[rows * k + l + 1] * J_column[l + 1]; });
    });
    for (int r = 0; r < 6; ++r) {
      auto sum = lanes::load_pack<lanes>(block + r * stride + before);
      lanes::for_constants<rows>([&](auto k) AXION_INLINED {
        const Real J_r = r >= 3 ? (row_on_a ? J[k].k_a : J[k].k_b)[r - 3] : row_on_a ? J[k].l[r] : -J[k].l[r];
        sum = sum + J_r * GJ[k];
      });
      lanes::store_pack<lanes>(block + r * stride + before, sum);
    }
  });
}

// Adds Jᵀ G J of contact i.
template <typename Team, typename Real>
AXION_HD inline void add_contact(const Problem<Real>& p, int i, bool row_on_a, bool column_on_a, Real* block,
                                 int stride) {
  add_product<Team, 3>(p.w.row + p.contact_base() + 3 * i, p.w.contact_gain + 9 * i, row_on_a, column_on_a, block,
                       stride);
}

// All that acts along one coordinate of a joint of the tree as one row, Δλ = −(push + gain J Δu) in sum: the axis row,
// and the limit and the efforts that are eliminated into it. Each has the same J but for its sign. Eliminated into the
// two bodies in place of that, armature and a limit that stops it would meet in one small number for the inertia of a
// light body.
template <typename Real>
struct CoordinateRow {
  Real gain, push;
};

template <typename Real>
AXION_HD inline bool has_condensed_rows(const Problem<Real>& p, int axis) {
  return p.m.axes[axis].limit >= 0 || p.m.axes[axis].effort_count > 0;
}

// residual: [nrow], or null for zero.
template <typename Real>
AXION_HD inline CoordinateRow<Real> coordinate_row(const Problem<Real>& p, int axis, ConstArray<Real> residual) {
  CoordinateRow<Real> sum{0, 0};
  const auto add = [&](int row, Real sign) {
    const Real gain = Real(1) / p.w.compliance[row];
    sum.gain += gain;
    if (residual != nullptr) sum.push += sign * gain * residual[row];
  };
  if (p.w.axis_beta[axis] > 0) add(p.axis_base() + axis, Real(1));
  for_each_row_of_axis<Real>(p.m, p.w.limit_side, axis, add);
  return sum;
}

// Jacobian and compliance of a row that a body's node keeps, and the impulse's direction.
template <typename Real>
struct NodeRow {
  ConstArray<model::Row<Real>> J, F;
  Real compliance;
};

template <typename Real>
AXION_HD inline NodeRow<Real> node_row_of_body(const Problem<Real>& p, int row) {
  if (row >= p.axis_base() && has_condensed_rows(p, row - p.axis_base())) {
    const model::Row<Real>* J = p.w.row_start + row;
    return {J, J, Real(1) / coordinate_row(p, row - p.axis_base(), static_cast<const Real*>(nullptr)).gain};
  }
  return {p.w.row + row, &impulse_row(p, row), p.w.compliance[row]};
}

// The right-hand side of a node's row.
template <typename Real>
AXION_HD inline Real node_row_rhs(const Problem<Real>& p, int row, ConstArray<Real> residual) {
  if (row >= p.axis_base() && has_condensed_rows(p, row - p.axis_base())) {
    const CoordinateRow<Real> all = coordinate_row(p, row - p.axis_base(), residual);
    return -all.push / all.gain;
  }
  return -residual[row];
}

// Right-hand side of a body's velocity: −g − Σ Jᵀe over its contacts.
template <typename Real>
AXION_HD inline void body_rhs(const Problem<Real>& p, const TreeRhs<Real>& given, Scope scope, int b, Real* rhs) {
  Impulse<Real> sum;
  for (int k = p.w.contact_start[b]; given.contact != nullptr && k < p.w.contact_start[b + 1]; ++k) {
    const int i = p.w.contact_list[k];
    const model::Contact<Real>& c = p.w.contacts[i];
    if (!in_scope(p, i, scope)) continue;
    for (int r = 0; r < 3; ++r) {
      sum.add(p.w.row[p.contact_base() + 3 * i + r], given.contact[3 * i + r], c.body_a == b);
    }
  }
  const math::Vec3<Real> linear = given.linear == nullptr ? math::Vec3<Real>{} : given.linear[b];
  const math::Vec3<Real> angular = given.angular == nullptr ? math::Vec3<Real>{} : given.angular[b];
  for (int k = 0; k < 3; ++k) {
    rhs[k] = -(linear[k] + sum.linear[k]);
    rhs[3 + k] = -(angular[k] + sum.angular[k]);
  }
}

// Whether anything acts along tendon t that its node holds; else its row is empty.
template <typename Real>
AXION_HD_RARE bool acts_on_node(const Problem<Real>& p, int t) {
  const int axis = p.m.tendons[t].axis;
  return axis < 0 || p.w.axis_beta[axis] > 0 || has_condensed_rows(p, axis);
}

// J and F of a tendon against one of its bodies, zero of a body on which it does not act.
template <typename Real>
struct TendonSides {
  Real J[6], F[6];
};

template <typename Real>
AXION_HD inline TendonSides<Real> tendon_against(const Problem<Real>& p, int t, int b) {
  TendonSides<Real> sum{};
  constraints::for_each_term<Real>(p.m.tendons[t], [&](int k) {
    const model::TendonTermData<Real>& term = p.m.tendon_terms[k];
    if (term.a != b && term.b != b) return;
    Real J[6], F[6];
    row_against(p.w.tendon_row[k], term.a == b, J);
    row_against(p.w.tendon_force[k], term.a == b, F);
    for (int c = 0; c < 6; ++c) sum.J[c] += J[c], sum.F[c] += F[c];
  });
  return sum;
}

// Calls f(t) for the condensed tendons that act on body b and along which something acts.
template <typename Real, typename F>
AXION_HD inline void for_each_condensed(const Problem<Real>& p, int b, F&& f) {
  for (int k = p.m.condensed_start[b]; k < p.m.condensed_start[b + 1]; ++k) {
    const int t = p.m.condensed_tendons[k];
    if (acts_on_node(p, t)) f(t);
  }
}

// rhs −= Σ Fᵀ r/C over the condensed tendons of body b.
template <typename Real>
AXION_HD_RARE void add_condensed_rhs(const Problem<Real>& p, int b, ConstArray<Real> residual, Real* rhs) {
  for_each_condensed(p, b, [&](int t) {
    const int row = row_of_tendon(p, t);
    const Real push = residual[row] / p.w.compliance[row];
    const TendonSides<Real> own = tendon_against(p, t, b);
    for (int r = 0; r < 6; ++r) rhs[r] -= own.F[r] * push;
  });
}

// block += Σ Fᵀ J/C over the condensed tendons of body b.
template <typename Real>
AXION_HD_RARE void add_condensed_block(const Problem<Real>& p, int b, Real* block, int stride) {
  for_each_condensed(p, b, [&](int t) {
    const Real gain = Real(1) / p.w.compliance[row_of_tendon(p, t)];
    const TendonSides<Real> own = tendon_against(p, t, b);
    for (int r = 0; r < 6; ++r) {
      for (int c = 0; c < 6; ++c) block[r * stride + c] += own.F[r] * gain * own.J[c];
    }
  });
}

// The same in both blocks between bodies i and j.
template <typename Real>
AXION_HD_RARE void couple_condensed(const Problem<Real>& p, int i, int j, Real* upper, Real* lower) {
  for_each_condensed(p, i, [&](int t) {
    const TendonSides<Real> other = tendon_against(p, t, j);
    Real size = 0;
    for (int c = 0; c < 6; ++c) size += std::abs(other.J[c]) + std::abs(other.F[c]);
    if (!(size > Real(0))) return;
    const Real gain = Real(1) / p.w.compliance[row_of_tendon(p, t)];
    const TendonSides<Real> own = tendon_against(p, t, i);
    for (int r = 0; r < 6; ++r) {
      for (int c = 0; c < 6; ++c) {
        upper[r * kPanelWidth + c] += own.F[r] * gain * other.J[c];
        lower[r * kNodeSize + c] += other.F[r] * gain * own.J[c];
      }
    }
  });
}

// node_rhs of one node; zero where the node has no unknown.
template <typename Real>
AXION_HD inline void assemble_rhs(const Problem<Real>& p, const TreeRhs<Real>& given, Scope scope, int node) {
  Real* rhs = p.w.tree.node_rhs + node * kNodeSize;
  const int offset = node_row_offset(p.m, node), j = joint_of_node(p, node);
  for (int k = 0; k < kNodeSize; ++k) rhs[k] = 0;
  if (is_tendon_node<Real>(p.m, node)) {
    const int t = tendon_of_node(p.m, node);
    if (given.row != nullptr && acts_on_node(p, t)) rhs[0] = node_row_rhs(p, row_of_tendon(p, t), given.row);
    return;
  }
  if (offset > 0) body_rhs(p, given, scope, body_of_node(p, node), rhs);
  if (offset > 0 && p.m.condensed_count > 0 && scope == Scope::kWhole && given.row != nullptr) {
    add_condensed_rhs(p, body_of_node(p, node), given.row, rhs);
  }
  for (int k = 0; given.row != nullptr && k < joint_row_count(p.m, j); ++k) {
    rhs[offset + k] = node_row_rhs(p, node_row(p, p.m.joints[j], k), given.row);
  }
}

// Fill shrinks with every node between by the ratio of a contact's compliance to that of its bodies: soon it is a
// subnormal number, which means nothing and costs a hundred times as much. Factors below this are zero, so that their
// products are normal numbers; the entries themselves are of the order of one, or of a body's mass.
template <typename Real>
AXION_HD constexpr Real least_factor() {
  return std::numeric_limits<Real>::digits > 30 ? Real(FactorParameters::kLeastFactorDouble)
                                                : Real(FactorParameters::kLeastFactorSingle);
}

// A node's matrix of zeros, with rows of the identity where it has no unknown (node_factors.hpp).
template <typename Real>
AXION_HD inline void clear_node(Real* K, int size) {
  for (int i = 0; i < kNodeSize * kNodeSize; ++i) K[i] = 0;
  for (int k = size; k < kNodeSize; ++k) K[k * kNodeSize + k] = 1;
}

// Compliance of the row that the node of tendon t keeps.
template <typename Real>
AXION_HD_RARE Real tendon_compliance(const Problem<Real>& p, int t) {
  const int axis = p.m.tendons[t].axis;
  if (axis >= 0 && has_condensed_rows(p, axis)) {
    return Real(1) / coordinate_row(p, axis, static_cast<const Real*>(nullptr)).gain;
  }
  return p.w.compliance[row_of_tendon(p, t)];
}

// K of a loop joint's node: its compliance.
template <typename Real>
AXION_HD inline void assemble_loop(const Problem<Real>& p, int node) {
  Real* K = p.w.tree.node + node * kNodeStride;
  const int j = joint_of_node(p, node);
  AXION_ASSERT(joint_row_count(p.m, j) <= 6);
  clear_node(K, joint_row_count(p.m, j));
  for (int k = 0; k < joint_row_count(p.m, j); ++k) {
    K[k * kNodeSize + k] = p.w.compliance[node_row(p, p.m.joints[j], k)];
  }
}

// K of a tendon's node: its compliance.
template <typename Real>
AXION_HD_RARE void assemble_tendon(const Problem<Real>& p, int node) {
  Real* K = p.w.tree.node + node * kNodeStride;
  clear_node(K, 1);
  K[0] = tendon_compliance(p, tendon_of_node(p.m, node));
}

// K of body b's node before its contacts and its joint.
template <typename Real>
AXION_HD inline void put_inertia(const Problem<Real>& p, int b, Real* K) {
  constexpr int stride = kNodeSize;
  clear_node(K, body_node_size(p, b));
  const Real mass = matrix_mass(p, b);
  for (int r = 0; r < 3; ++r) {
    K[r * stride + r] = mass;
    for (int c = 0; c < 3; ++c) K[(3 + r) * stride + 3 + c] = p.w.I_world[b](r, c) + p.w.K_geometric[b](r, c);
  }
}

// Row k of a joint in the node of its child.
template <typename Real>
AXION_HD inline void put_joint_row(const NodeRow<Real>& kept, int k, Real* K) {
  constexpr int stride = kNodeSize;
  K[(6 + k) * stride + 6 + k] = kept.compliance;
  Real J[6], F[6];
  row_against(*kept.J, true, J);
  row_against(*kept.F, true, F);
  for (int c = 0; c < 6; ++c) {
    K[(6 + k) * stride + c] = J[c];
    K[c * stride + 6 + k] = -F[c];
  }
}

// The same in both blocks between its child and its parent.
template <typename Real>
AXION_HD inline void couple_joint_row(const NodeRow<Real>& kept, int k, Real* upper, Real* lower) {
  Real J[6], F[6];
  row_against(*kept.J, false, J);
  row_against(*kept.F, false, F);
  for (int c = 0; c < 6; ++c) {
    upper[(6 + k) * kPanelWidth + c] = J[c];
    lower[c * kNodeSize + 6 + k] = -F[c];
  }
}

// K of a body's node.
template <typename Team, typename Real>
AXION_HD inline void assemble_body(const Problem<Real>& p, Scope scope, int node) {
  AXION_ASSERT(node_size(p, node) <= kNodeSize);
  const int b = body_of_node(p, node), stride = kNodeSize;
  Real* K = p.w.tree.node + node * kNodeStride;
  put_inertia(p, b, K);
  for (int k = p.w.contact_start[b]; k < p.w.contact_start[b + 1]; ++k) {
    const model::Contact<Real>& c = p.w.contacts[p.w.contact_list[k]];
    const bool on_a = c.body_a == b;
    if (in_scope(p, p.w.contact_list[k], scope)) add_contact<Team>(p, p.w.contact_list[k], on_a, on_a, K, stride);
  }
  if (p.m.condensed_count > 0 && scope == Scope::kWhole) add_condensed_block(p, b, K, stride);
  const model::BodyData<Real>& body = p.m.bodies[b];
  if (body.joint < 0) return;
  for (int k = 0; k < joint_row_count(p.m, body.joint); ++k) {
    put_joint_row(node_row_of_body(p, node_row(p, p.m.joints[body.joint], k)), k, K);
  }
}

template <typename Team, typename Real>
AXION_HD_CALL void assemble_node(const Problem<Real>& p, Scope scope, int node) {
  if (node < p.m.loop_count) {
    assemble_loop(p, node);
  } else if (node < p.m.closing_nodes()) {
    assemble_tendon(p, node);
  } else {
    assemble_body<Team>(p, scope, node);
  }
}

// Blocks between body i and body j of an earlier node: contacts, condensed tendons, and the joint whose parent j is.
template <typename Team, typename Real>
AXION_HD inline void couple_bodies(const Problem<Real>& p, Scope scope, int i, int j, Real* upper, Real* lower) {
  for (int k = p.w.contact_start[i]; k < p.w.contact_start[i + 1]; ++k) {
    const model::Contact<Real>& c = p.w.contacts[p.w.contact_list[k]];
    if ((c.body_a != j && c.body_b != j) || !in_scope(p, p.w.contact_list[k], scope)) continue;
    const bool i_is_a = c.body_a == i;
    add_contact<Team>(p, p.w.contact_list[k], i_is_a, !i_is_a, upper, kPanelWidth);
    add_contact<Team>(p, p.w.contact_list[k], !i_is_a, i_is_a, lower, kNodeSize);
  }
  if (p.m.condensed_count > 0 && scope == Scope::kWhole) couple_condensed(p, i, j, upper, lower);
  if (p.m.bodies[i].parent != j) return;
  const int joint = p.m.bodies[i].joint;
  for (int k = 0; k < joint_row_count(p.m, joint); ++k) {
    couple_joint_row(node_row_of_body(p, node_row(p, p.m.joints[joint], k)), k, upper, lower);
  }
}

// Blocks between body b and the multipliers of a loop.
template <typename Real>
AXION_HD inline void couple_loop(const Problem<Real>& p, int b, int loop, Real* upper, Real* lower) {
  const int j = joint_of_loop(p.m, loop);
  const model::JointData<Real>& joint = p.m.joints[j];
  if (joint.child != b && joint.parent != b) return;
  for (int k = 0; k < joint_row_count(p.m, j); ++k) {
    const int row = node_row(p, joint, k);
    Real J[6], F[6];
    row_against(p.w.row[row], joint.child == b, J);
    row_against(impulse_row(p, row), joint.child == b, F);
    for (int c = 0; c < 6; ++c) {
      upper[c * kPanelWidth + k] = -F[c];
      lower[k * kNodeSize + c] = J[c];
    }
  }
}

// Blocks between body b and the multiplier of tendon t.
template <typename Real>
AXION_HD_RARE void couple_tendon(const Problem<Real>& p, int b, int t, Real* upper, Real* lower) {
  if (!acts_on_node(p, t)) return;
  const TendonSides<Real> own = tendon_against(p, t, b);
  for (int c = 0; c < 6; ++c) {
    upper[c * kPanelWidth] -= own.F[c];
    lower[c] += own.J[c];
  }
}

// Both blocks of coupling `index` between node i and an earlier one: upper (rows of i, columns of its first six
// unknowns), lower (its first six rows, columns of i). Between two loops there is only fill.
template <typename Team, typename Real>
AXION_HD_CALL void assemble_coupling(const Problem<Real>& p, Scope scope, int i, int index) {
  const int j = p.w.tree.coupling_node[index], loops = p.m.closing_nodes();
  Real* upper = p.w.tree.coupling_upper + index * kCouplingStride;  // [12][8]
  Real* lower = p.w.tree.coupling_lower + index * kCouplingStride;  // [6][12]
  for (int k = 0; k < kCouplingStride; ++k) upper[k] = lower[k] = 0;
  if (j >= loops) {
    couple_bodies<Team>(p, scope, body_of_node(p, i), body_of_node(p, j), upper, lower);
  } else if (i >= loops && j >= p.m.loop_count) {
    couple_tendon(p, body_of_node(p, i), tendon_of_node(p.m, j), upper, lower);
  } else if (i >= loops) {
    couple_loop(p, body_of_node(p, i), j, upper, lower);
  }
  constexpr int lanes = team::pack_lanes<Team, Real>(kPanelWidth);
  for (int k = 0; k < 6 * kNodeSize; k += lanes) {
    lanes::store_pack<lanes>(lower + k,
                             lanes::without_small<lanes>(lanes::load_pack<lanes>(lower + k), least_factor<Real>()));
  }
}

}  // namespace axion::solver
