// Direct solve of the Newton system, ordered along the joint tree.
//
// Contacts and limits are eliminated into their bodies first (Δλ = −(e + G J Δu)). What is left couples nodes: a node is
// a body and the rows of the joint to its parent, at most 12 unknowns (u_i, λ_i),
//   K_i = [A_ii  −Fᵀ]   A_ii = M̂_i + Σ Jᵀ G J over its contacts and limits,
//         [J      C ]
// and node i meets an earlier body j < i through its joint (j the parent) or a contact. Eliminating nodes from the last
// body to the first follows the tree from its leaves, without fill for a tree that touches only the world; contacts
// between moving bodies add couplings, found symbolically once a step. General LU without pivoting: A_ii is dominated by
// the mass, so K_i is quasi-definite up to friction's unsymmetry; a pivot that vanishes is replaced and Newton's residual
// test decides. Source: Baraff 1996, "Linear-time dynamics using Lagrange multipliers".
#pragma once

#include "engine/base/assert.hpp"
#include "engine/solver/linearise.hpp"

namespace axion::solver {

template <typename Real>
AXION_HD inline int joint_row_count(const model::ModelView<Real>& m, int b) {
  const int j = m.bodies[b].joint;
  if (j < 0) return 0;
  return m.joints[j].translation_lock_count + m.joints[j].rotation_lock_count + m.joints[j].axis_count;
}

template <typename Real>
AXION_HD inline int node_size(const model::ModelView<Real>& m, int b) {
  return 6 + joint_row_count(m, b);
}

// The k-th joint row of a node: its index among all rows.
template <typename Real>
AXION_HD inline int node_row(const Problem<Real>& p, const model::JointData<Real>& joint, int k) {
  const int locks = joint.translation_lock_count + joint.rotation_lock_count;
  return k < locks ? joint.lock_start + k : p.axis_base() + joint.axis_start + (k - locks);
}

// A row as six numbers against one of its bodies.
template <typename Real>
AXION_HD inline void row_against(const model::Row<Real>& row, bool on_a, Real (&out)[6]) {
  const math::Vec3<Real>& k = on_a ? row.k_a : row.k_b;
  for (int i = 0; i < 3; ++i) {
    out[i] = on_a ? row.l[i] : -row.l[i];
    out[3 + i] = k[i];
  }
}

// Which bodies are coupled, with fill: coupling_index, coupling_start, coupling_body. Once a step, after the contacts.
template <typename Real, typename Team>
AXION_HD inline void find_couplings(const Team& team, const Problem<Real>& p) {
  const int nb = p.m.body_count;
  int* index = p.w.coupling_index;
  team.for_each(nb * nb, [&](int i) { index[i] = -1; });
  team.for_each(1, [&](int) {
    for (int b = 0; b < nb; ++b) {
      if (p.m.bodies[b].parent >= 0) index[b * nb + p.m.bodies[b].parent] = 0;
    }
    for (int i = 0; i < p.contact_count; ++i) {
      const int a = p.w.contacts[i].body_a, b = p.w.contacts[i].body_b;
      if (b >= 0) index[a > b ? a * nb + b : b * nb + a] = 0;
    }
    int count = 0;
    for (int i = nb - 1; i >= 0; --i) {
      p.w.coupling_start[i] = count;
      int first = -1;
      for (int j = i - 1; j >= 0; --j) {
        if (index[i * nb + j] < 0) continue;
        if (count == p.m.coupling_capacity) {  // an incomplete matrix still points Newton the right way
          index[i * nb + j] = -1;
          continue;
        }
        index[i * nb + j] = count;
        p.w.coupling_body[count++] = j;
        if (first < 0) {
          first = j;
        } else {
          index[first * nb + j] = 0;  // eliminating i couples what it meets
        }
      }
    }
    p.w.coupling_count[0] = count;
  });
}

// Couplings of node i are coupling_start[i] up to this.
template <typename Real>
AXION_HD inline int coupling_end(const Problem<Real>& p, int i) {
  return i == 0 ? p.w.coupling_count[0] : p.w.coupling_start[i - 1];
}

// block (6 x 6 in the first six rows and columns of a matrix with the given stride) += J_rowᵀ g J_column
template <typename Real>
AXION_HD inline void add_product(Real* block, int stride, const Real (&row)[6], Real g, const Real (&column)[6]) {
  for (int r = 0; r < 6; ++r) {
    const Real t = g * row[r];
    for (int c = 0; c < 6; ++c) block[r * stride + c] += t * column[c];
  }
}

// Adds Jᵀ G J of contact i, rows against one body and columns against another (or the same).
template <typename Real>
AXION_HD inline void add_contact(const Problem<Real>& p, int i, bool row_on_a, bool column_on_a, Real* block,
                                 int stride) {
  const model::Row<Real>* rows = p.w.row + p.contact_base() + 3 * i;
  const Real* G = p.w.contact_gain + 9 * i;
  Real J_row[3][6], J_column[3][6];
  for (int k = 0; k < 3; ++k) {
    row_against(rows[k], row_on_a, J_row[k]);
    row_against(rows[k], column_on_a, J_column[k]);
  }
  for (int k = 0; k < 3; ++k) {
    for (int l = 0; l < 3; ++l) {
      if (G[3 * k + l] != Real(0)) add_product(block, stride, J_row[k], G[3 * k + l], J_column[l]);
    }
  }
}

// Adds the limits of joint j.
template <typename Real>
AXION_HD inline void add_limits(const Problem<Real>& p, int j, bool row_on_child, bool column_on_child, Real* block,
                                int stride) {
  const model::JointData<Real>& joint = p.m.joints[j];
  for (int axis = joint.axis_start; axis < joint.axis_start + joint.axis_count; ++axis) {
    const int limit = p.m.axes[axis].limit;
    if (limit < 0) continue;
    const int row = p.limit_base() + limit;
    Real J_row[6], J_column[6];
    row_against(p.w.row[row], row_on_child, J_row);
    row_against(p.w.row[row], column_on_child, J_column);
    add_product(block, stride, J_row, Real(1) / p.w.compliance[row], J_column);
  }
}

// Right-hand side of a body: −g − Σ Jᵀe over its contacts and limits.
template <typename Real>
AXION_HD inline void body_rhs(const Problem<Real>& p, int b, Real* rhs) {
  Impulse<Real> sum;
  const model::BodyData<Real>& body = p.m.bodies[b];
  const auto add_limits_of = [&](int j, bool on_child) {
    const model::JointData<Real>& joint = p.m.joints[j];
    for (int axis = joint.axis_start; axis < joint.axis_start + joint.axis_count; ++axis) {
      const int limit = p.m.axes[axis].limit;
      if (limit < 0) continue;
      const int row = p.limit_base() + limit;
      sum.add(p.w.row[row], p.w.residual[row] / p.w.compliance[row], on_child);
    }
  };
  if (body.joint >= 0) add_limits_of(body.joint, true);
  for (int k = 0; k < body.child_joint_count; ++k) add_limits_of(p.m.child_joints[body.child_joint_start + k], false);
  for (int k = p.w.contact_start[b]; k < p.w.contact_start[b + 1]; ++k) {
    const int i = p.w.contact_list[k];
    for (int r = 0; r < 3; ++r) {
      sum.add(p.w.row[p.contact_base() + 3 * i + r], p.w.contact_offset[3 * i + r], p.w.contacts[i].body_a == b);
    }
  }
  for (int k = 0; k < 3; ++k) {
    rhs[k] = -(p.w.g_linear[b][k] + sum.linear[k]);
    rhs[3 + k] = -(p.w.g_angular[b][k] + sum.angular[k]);
  }
}

// K_b and its right-hand side.
template <typename Real>
AXION_HD inline void assemble_node(const Problem<Real>& p, int b) {
  AXION_ASSERT(node_size(p.m, b) <= model::kNodeSize);
  Real* K = p.w.node + b * model::kNodeStride;
  Real* rhs = p.w.node_rhs + b * model::kNodeSize;
  for (int i = 0; i < model::kNodeStride; ++i) K[i] = 0;
  const int stride = model::kNodeSize;
  const Real mass = constraints::body_mass(p.m, p.w, b);
  for (int r = 0; r < 3; ++r) {
    K[r * stride + r] = mass;
    for (int c = 0; c < 3; ++c) K[(3 + r) * stride + 3 + c] = p.w.I_world[b](r, c) + p.w.K_geometric[b](r, c);
  }
  body_rhs(p, b, rhs);
  for (int k = p.w.contact_start[b]; k < p.w.contact_start[b + 1]; ++k) {
    const bool on_a = p.w.contacts[p.w.contact_list[k]].body_a == b;
    add_contact(p, p.w.contact_list[k], on_a, on_a, K, stride);
  }
  const model::BodyData<Real>& body = p.m.bodies[b];
  for (int k = 0; k < body.child_joint_count; ++k) {
    add_limits(p, p.m.child_joints[body.child_joint_start + k], false, false, K, stride);
  }
  if (body.joint < 0) return;
  add_limits(p, body.joint, true, true, K, stride);
  const model::JointData<Real>& joint = p.m.joints[body.joint];
  for (int k = 0; k < joint_row_count(p.m, b); ++k) {
    const int row = node_row(p, joint, k);
    const bool is_axis = row >= p.axis_base();
    rhs[6 + k] = -p.w.residual[row];
    K[(6 + k) * stride + 6 + k] = p.w.compliance[row];
    Real J[6], F[6];
    row_against(p.w.row[row], true, J);
    row_against(is_axis ? p.w.row[row] : p.w.row_force[row], true, F);
    for (int c = 0; c < 6; ++c) {
      K[(6 + k) * stride + c] = J[c];
      K[c * stride + 6 + k] = -F[c];
    }
  }
}

// Both blocks between node i and body j of coupling `index`: upper (rows of i, columns u_j), lower (rows u_j, columns of i).
template <typename Real>
AXION_HD inline void assemble_coupling(const Problem<Real>& p, int i, int index) {
  const int j = p.w.coupling_body[index];
  Real* upper = p.w.coupling_upper + index * model::kCouplingStride;  // [12][6]
  Real* lower = p.w.coupling_lower + index * model::kCouplingStride;  // [6][12]
  for (int k = 0; k < model::kCouplingStride; ++k) upper[k] = lower[k] = 0;
  for (int k = p.w.contact_start[i]; k < p.w.contact_start[i + 1]; ++k) {
    const model::Contact<Real>& c = p.w.contacts[p.w.contact_list[k]];
    if (c.body_a != j && c.body_b != j) continue;
    const bool i_is_a = c.body_a == i;
    add_contact(p, p.w.contact_list[k], i_is_a, !i_is_a, upper, 6);
    add_contact(p, p.w.contact_list[k], !i_is_a, i_is_a, lower, model::kNodeSize);
  }
  if (p.m.bodies[i].parent != j) return;
  const int joint_index = p.m.bodies[i].joint;
  add_limits(p, joint_index, true, false, upper, 6);
  add_limits(p, joint_index, false, true, lower, model::kNodeSize);
  const model::JointData<Real>& joint = p.m.joints[joint_index];
  for (int k = 0; k < joint_row_count(p.m, i); ++k) {
    const int row = node_row(p, joint, k);
    const bool is_axis = row >= p.axis_base();
    Real J[6], F[6];
    row_against(p.w.row[row], false, J);
    row_against(is_axis ? p.w.row[row] : p.w.row_force[row], false, F);
    for (int c = 0; c < 6; ++c) {
      upper[(6 + k) * 6 + c] = J[c];
      lower[c * model::kNodeSize + 6 + k] = -F[c];
    }
  }
}

// K = L U in place, unit lower triangle; the diagonal of U is stored inverted.
template <typename Real, typename Team>
AXION_HD inline void factorise_node(const Team& team, Real* K, int size) {
  constexpr int stride = model::kNodeSize;
  for (int k = 0; k < size; ++k) {
    team.for_each(1, [&](int) {
      Real pivot = K[k * stride + k];
      const Real least = std::numeric_limits<Real>::min() * Real(1e6);
      if (std::abs(pivot) < least) pivot = pivot < 0 ? -least : least;
      K[k * stride + k] = Real(1) / pivot;
    });
    team.for_each(size - k - 1, [&](int i) {
      Real* row = K + (k + 1 + i) * stride;
      const Real factor = row[k] * K[k * stride + k];
      row[k] = factor;
      if (factor == Real(0)) return;
      for (int c = k + 1; c < size; ++c) row[c] -= factor * K[k * stride + c];
    });
  }
}

// Solves K Y = B in place for `width` columns side by side; rows of B are `width` apart. Zeros are many (a joint meets its
// parent through its own rows only) and skipped.
template <int width, typename Real>
AXION_HD inline void solve_columns(const Real* K, int size, Real* B) {
  constexpr int stride = model::kNodeSize;
  for (int r = 1; r < size; ++r) {
    for (int c = 0; c < r; ++c) {
      const Real factor = K[r * stride + c];
      if (factor == Real(0)) continue;
      for (int t = 0; t < width; ++t) B[r * width + t] -= factor * B[c * width + t];
    }
  }
  for (int r = size - 1; r >= 0; --r) {
    for (int c = r + 1; c < size; ++c) {
      const Real factor = K[r * stride + c];
      if (factor == Real(0)) continue;
      for (int t = 0; t < width; ++t) B[r * width + t] -= factor * B[c * width + t];
    }
    for (int t = 0; t < width; ++t) B[r * width + t] *= K[r * stride + r];
  }
}

// Where A_{p q} of two bodies is kept, and its stride.
template <typename Real>
struct Block {
  Real* data;
  int stride;
};

template <typename Real>
AXION_HD inline Block<Real> body_block(const Problem<Real>& p, int row, int column) {
  if (row == column) return {p.w.node + row * model::kNodeStride, model::kNodeSize};
  const int high = row > column ? row : column, low = row > column ? column : row;
  const int index = p.w.coupling_index[high * p.m.body_count + low];
  if (index < 0) return {nullptr, 0};
  if (row > column) return {p.w.coupling_upper + index * model::kCouplingStride, 6};
  return {p.w.coupling_lower + index * model::kCouplingStride, model::kNodeSize};
}

// Eliminates node i: Y_j = K⁻¹ U_j, then A_pq −= L_p Y_q and rhs_p −= L_p z for all p, q that it meets.
template <typename Real, typename Team>
AXION_HD inline void eliminate_node(const Team& team, const Problem<Real>& p, int i) {
  const int size = node_size(p.m, i), start = p.w.coupling_start[i], count = coupling_end(p, i) - start;
  Real* K = p.w.node + i * model::kNodeStride;
  Real* rhs = p.w.node_rhs + i * model::kNodeSize;
  factorise_node(team, K, size);
  team.for_each(count + 1, [&](int k) {
    if (k == count) {
      solve_columns<1>(K, size, rhs);
    } else {
      solve_columns<6>(K, size, p.w.coupling_upper + (start + k) * model::kCouplingStride);
    }
  });
  team.for_each(6 * count * count, [&](int k) {
    const int r = k % 6, row_index = start + (k / 6) / count, column_index = start + (k / 6) % count;
    const Block<Real> target = body_block(p, p.w.coupling_body[row_index], p.w.coupling_body[column_index]);
    if (target.data == nullptr) return;
    const Real* L = p.w.coupling_lower + row_index * model::kCouplingStride + r * model::kNodeSize;
    const Real* Y = p.w.coupling_upper + column_index * model::kCouplingStride;
    Real sum[6] = {};
    for (int c = 0; c < size; ++c) {
      if (L[c] == Real(0)) continue;
      for (int t = 0; t < 6; ++t) sum[t] += L[c] * Y[c * 6 + t];
    }
    for (int t = 0; t < 6; ++t) target.data[r * target.stride + t] -= sum[t];
  });
  team.for_each(6 * count, [&](int k) {
    const int index = start + k / 6, r = k % 6;
    const Real* L = p.w.coupling_lower + index * model::kCouplingStride + r * model::kNodeSize;
    Real sum = 0;
    for (int c = 0; c < size; ++c) sum += L[c] * rhs[c];
    p.w.node_rhs[p.w.coupling_body[index] * model::kNodeSize + r] -= sum;
  });
}

// Solves for du and dlambda. Returns the number of linear solves, one.
template <typename Real, typename Team>
AXION_HD inline int solve_tree(const Team& team, const Problem<Real>& p) {
  const int nb = p.m.body_count;
  team.for_each(nb, [&](int b) { assemble_node(p, b); });
  team.for_each(nb, [&](int i) {
    for (int k = p.w.coupling_start[i]; k < coupling_end(p, i); ++k) assemble_coupling(p, i, k);
  });
  for (int i = nb - 1; i >= 0; --i) eliminate_node(team, p, i);
  for (int i = 0; i < nb; ++i) {
    const int size = node_size(p.m, i), start = p.w.coupling_start[i], end = coupling_end(p, i);
    Real* z = p.w.node_rhs + i * model::kNodeSize;
    team.for_each(size, [&](int r) {
      for (int k = start; k < end; ++k) {
        const Real* Y = p.w.coupling_upper + k * model::kCouplingStride + 6 * r;
        const Real* x = p.w.node_rhs + p.w.coupling_body[k] * model::kNodeSize;
        for (int c = 0; c < 6; ++c) z[r] -= Y[c] * x[c];
      }
    });
  }
  team.for_each(nb, [&](int b) {
    const Real* z = p.w.node_rhs + b * model::kNodeSize;
    p.w.du_linear[b] = {z[0], z[1], z[2]};
    p.w.du_angular[b] = {z[3], z[4], z[5]};
    if (p.m.bodies[b].joint < 0) return;
    const model::JointData<Real>& joint = p.m.joints[p.m.bodies[b].joint];
    for (int k = 0; k < joint_row_count(p.m, b); ++k) p.w.dlambda[node_row(p, joint, k)] = z[6 + k];
  });
  team.for_each(p.m.limit_count, [&](int i) {
    const int row = p.limit_base() + i;
    const model::JointData<Real>& joint = p.m.joints[p.m.axes[p.m.limit_axis[i]].joint];
    const Real v = constraints::row_velocity(p.w.row[row], joint.child, joint.parent, p.w.du_linear, p.w.du_angular);
    p.w.dlambda[row] = -(p.w.residual[row] + v) / p.w.compliance[row];
  });
  team.for_each(p.contact_count, [&](int i) {
    const model::Contact<Real>& c = p.w.contacts[i];
    const int row = p.contact_base() + 3 * i;
    Real v[3];
    for (int k = 0; k < 3; ++k) {
      v[k] = constraints::row_velocity(p.w.row[row + k], c.body_a, c.body_b, p.w.du_linear, p.w.du_angular);
    }
    const Real* G = p.w.contact_gain + 9 * i;
    for (int k = 0; k < 3; ++k) {
      p.w.dlambda[row + k] = -(p.w.contact_offset[3 * i + k] + G[3 * k] * v[0] + G[3 * k + 1] * v[1] + G[3 * k + 2] * v[2]);
    }
  });
  return 1;
}

}  // namespace axion::solver
