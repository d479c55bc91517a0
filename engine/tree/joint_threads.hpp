// Factorisation of the joint tree, and the inverses of its nodes (joint_inverse.hpp), as a warp of a GPU makes them: a
// thread has a column, in registers, of the matrix of one node at a time.
//
//   threads  0..5   columns of K for the body's velocity      18      the right-hand side
//            6..11  those of its joint's rows                 19..24  the unit vectors
//           12..17  U, the block to its parent                25..30  rows of L
//
// Each pivot's thread leaves its column of factors where all read it: U above the diagonal, the pivot's inverse, L
// below. The operations on each number, and their order, are those of joint_inverse.hpp, so that the bits are those of
// a CPU. Kept of a node (kNodeStride numbers) are the factors by columns of kNodeSize, then the block of 6 rows,
// kPanelWidth apart, from which its children take their shares, g in the column after the sixth. Of U it keeps T alone;
// of L the six columns of the joint's rows, in rows of kPanelWidth.
//
// In and out: as joint_inverse.hpp. Cost: a node is as many barriers as it has unknowns. Called by joint_inverse.hpp
// alone.
#pragma once

#include "engine/problem/body_matrix.hpp"
#include "engine/problem/impulses.hpp"
#include "engine/tree/node_pivots.hpp"

namespace axion::solver {

inline constexpr int kRowThreads = 6, kPanelThreads = 12, kRhsThread = 18, kUnitThreads = 19, kLowerThreads = 25,
                     kColumnThreads = 31;

// Numbers of a node's factors; in the workspace its L follows.
inline constexpr int kFactors = kNodeSize * kNodeSize;
static_assert(kWorkspace >= kFactors + 6 * kPanelWidth);

template <typename Real>
AXION_HD inline Real* child_block(const Problem<Real>& p, int b) {
  return p.w.tree.node + node_of_body(p, b) * kNodeStride + kFactors;
}

// Body b's block before its children take their shares, and its −g.
template <typename Real, typename Team>
AXION_HD inline void start_blocks(const Team& team, const Problem<Real>& p) {
  constexpr int columns = kRhsColumn + 1;
  team.for_each(columns * p.m.body_count, [&](int task) {
    const int b = task / columns, c = task % columns;
    Real* to = child_block(p, b) + c;
    const Real mass = matrix_mass(p, b);
    for (int r = 0; r < 3; ++r) {
      Real linear = r == c ? mass : Real(0), angular = 0;
      if (c == kRhsColumn) {
        linear = -p.w.g_linear[b][r], angular = -p.w.g_angular[b][r];
      } else if (c >= 3) {
        angular = p.w.I_world[b](r, c - 3) + p.w.K_geometric[b](r, c - 3);
      }
      to[kPanelWidth * r] = linear, to[kPanelWidth * (3 + r)] = angular;
    }
  });
}

// The thread's column, the part for the body's velocity and that for the joint's rows.
template <typename Real>
AXION_HD inline void load_column(const Problem<Real>& p, int b, int thread, Real (&a)[kNodeSize]) {
  const bool lower = thread >= kLowerThreads, rhs = thread == kRhsThread;
  const bool panel = thread >= kPanelThreads && thread < kRhsThread, velocity = thread < kRowThreads;
  const int unit = thread - kUnitThreads, own = thread - kRowThreads;
  const Real* block = child_block(p, b) + (rhs ? kRhsColumn : thread);
  lanes::for_constants<6>([&](auto r) {
    a[r] = velocity || rhs ? block[kPanelWidth * r] : (unit == r ? Real(1) : Real(0));
    a[6 + r] = own == r ? Real(1) : Real(0);
  });
  const int j = p.m.bodies[b].joint, count = joint_row_count(p.m, j);
  if (count == 0) return;
  const model::JointData<Real>& joint = p.m.joints[j];
  const int locks = joint.translation_lock_count + joint.rotation_lock_count,
            first_axis = p.axis_base() + joint.axis_start;
  if (own >= 0 && own < kRowThreads) {
    if (own >= count) return;
    const int row = node_row(p, joint, own);
    const model::Row<Real>& F = impulse_row(p, row);
    const Real compliance = p.w.compliance[row];
    lanes::for_constants<6>([&](auto r) {
      a[r] = -(r < 3 ? F.l[r % 3] : F.k_a[r % 3]);
      if (own == r) a[6 + r] = compliance;
    });
    return;
  }
  if (!(velocity || panel || rhs || lower)) return;
  const int c = panel ? thread - kPanelThreads : lower ? thread - kLowerThreads : thread;
  const int entry = velocity || c < 3 ? c : 3 + c, stride = rhs ? 1 : 9;  // of the nine numbers of a row
  const bool minus = rhs || (panel && c < 3) || (lower && c >= 3);
  const Real* axis = rhs ? p.w.row_rhs + first_axis : &p.w.row[first_axis].l.x + entry;
  const Real* lock =
      rhs ? p.w.row_rhs + joint.lock_start : &(lower ? p.w.row_force : p.w.row)[joint.lock_start].l.x + entry;
  lanes::for_constants<6>([&](auto k) {
    if (k >= count) return;
    const Real value = k < locks ? lock[stride * k] : axis[stride * (k - locks)];
    a[6 + k] = minus ? -value : value;
  });
}

// Eliminates the node's matrix and solves the columns from kPanelThreads on, those of `padded` unknowns.
template <int padded, typename Real, typename Meet>
AXION_HD inline void solve_columns(int thread, Real (&a)[kNodeSize], Real* factors, Meet&& meet) {
  constexpr int size = kNodeSize;
  lanes::for_constants<padded>([&](auto k) {
    if (thread == k) {
      const Real inverse = Real(1) / bounded_body_pivot(a[k]);
      Real column[size];
      lanes::for_constants<size>([&](auto r) { column[r] = r < k ? a[r] : (r == k ? inverse : a[r] * inverse); });
      lanes::for_constants<size / 4>([&](auto i) {
        store_four(factors + size * k + 4 * i, column[4 * i], column[4 * i + 1], column[4 * i + 2], column[4 * i + 3]);
      });
    }
    meet();
    Real column[size];
    lanes::for_constants<size / 4>([&](auto i) {
      if constexpr (4 * i + 3 > k && 4 * i < padded) load_four(factors + size * k + 4 * i, column + 4 * i);
    });
    lanes::for_constants<padded - 1 - k>([&](auto i) { a[k + 1 + i] = a[k + 1 + i] - column[k + 1 + i] * a[k]; });
  });
  lanes::for_constants<padded>([&](auto back) {
    constexpr int k = padded - 1 - decltype(back)::value;
    Real column[size];
    lanes::for_constants<k / 4 + 1>([&](auto i) { load_four(factors + size * k + 4 * i, column + 4 * i); });
    a[k] = column[k] * a[k];
    lanes::for_constants<k>([&](auto r) { a[r] = a[r] - column[r] * a[k]; });
  });
}

// Keeps the results in body b's solved columns: the solution of the right-hand side, Z, and where it has a parent T and
// S; and subtracts its share from the parent's block.
template <typename Real>
AXION_HD inline void keep_columns(const Problem<Real>& p, int b, int thread, const Real (&a)[kNodeSize],
                                  const Real* lower, Real* Z) {
  constexpr int size = kNodeSize, width = kPanelWidth;
  const int parent = p.m.bodies[b].parent;
  const bool panel = thread >= kPanelThreads && thread < kRhsThread, rhs = thread == kRhsThread;
  const bool unit = thread >= kUnitThreads && thread < kLowerThreads;
  if (!(unit || rhs || (panel && parent >= 0))) return;
  Real* to = rhs ? p.w.tree.node_rhs + node_of_body(p, b) * size
                 : Z + size * (unit ? thread - kUnitThreads : 6 + thread - kPanelThreads);
  lanes::for_constants<size / 4>([&](auto i) {
    const Real* v = a + 4 * i;
    store_four(to + 4 * i, panel ? -v[0] : v[0], panel ? -v[1] : v[1], panel ? -v[2] : v[2], panel ? -v[3] : v[3]);
  });
  if (parent < 0) return;
  Real* S = Z + 2 * 6 * size + (thread - kUnitThreads);
  Real* block = child_block(p, parent) + (thread - kPanelThreads);
  lanes::for_constants<6>([&](auto r) {
    Real row[8], sum = 0;
    load_four(lower + width * r, row), load_four(lower + width * r + 4, row + 4);
    lanes::for_constants<6>([&](auto k) { sum = sum + row[k] * a[6 + k]; });
    Real* at = (unit ? S : block) + width * r;
    *at = (unit ? Real(0) : *at) - sum;
  });
}

// Node b: factors, solution, Z, T, S.
template <typename Real, typename Team>
AXION_HD_CALL void reduce_node(const Team& team, const Problem<Real>& p, int b) {
  constexpr int width = kPanelWidth;
  const int node = node_of_body(p, b);
  const bool small = body_node_size(p, b) <= kHalfNode;
  Real *factors = workspace(p), *lower = factors + kFactors, *kept = p.w.tree.node + node * kNodeStride;
  Real *Z = p.w.tree.transfer + kTransferStride * b, *kept_lower = p.w.tree.joint_lower + b * kCouplingStride;
  team.together([&](int thread, auto&& meet) {
    Real a[kNodeSize] = {};
    const bool has_column = thread < kColumnThreads;
    if (has_column) load_column(p, b, thread, a);
    if (has_column && thread >= kLowerThreads) {
      const int at = width * (thread - kLowerThreads);
      store_four(lower + at, a[6], a[7], a[8], a[9]), store_four(lower + at + 4, a[10], a[11], Real(0), Real(0));
    }
    if (small) {
      solve_columns<kHalfNode>(thread, a, factors, meet);
    } else {
      solve_columns<kNodeSize>(thread, a, factors, meet);
    }
    keep_columns(p, b, thread, a, lower, Z);
  });
  team.for_each(kFactors / 4, [=](int i) {
    Real v[4];
    load_four(factors + 4 * i, v), store_four(kept + 4 * i, v[0], v[1], v[2], v[3]);
    if (i >= 6 * width / 4) return;
    load_four(lower + 4 * i, v), store_four(kept_lower + 4 * i, v[0], v[1], v[2], v[3]);
  });
}

// From solved nodes to all unknowns, root to leaves: z_i += T_i u_parent.
template <typename Real, typename Team>
AXION_HD inline void substitute_shared(const Team& team, const Problem<Real>& p) {
  constexpr int size = kNodeSize;
  for (int b = 0; b < p.m.body_count; ++b) {
    const int parent = p.m.bodies[b].parent;
    if (parent < 0) continue;
    Real* z = p.w.tree.node_rhs + node_of_body(p, b) * size;
    const Real* x = p.w.tree.node_rhs + node_of_body(p, parent) * size;
    const Real* T = p.w.tree.transfer + kTransferStride * b + 6 * size;
    team.for_each(size, [=](int r) {
      Real u[8], sum = z[r];
      load_four(x, u), load_four(x + 4, u + 4);
      lanes::for_constants<6>([&](auto c) { sum = sum + T[size * c + r] * u[c]; });
      z[r] = sum;
    });
  }
}

// Factorises, solves, inverts: all that solve_joints and invert_nodes do.
template <typename Real, typename Team>
AXION_HD_CALL void reduce_joints(const Team& team, const Problem<Real>& p) {
  start_blocks(team, p);
  for (int b = p.m.body_count - 1; b >= 0; --b) reduce_node(team, p, b);
  substitute_shared(team, p);
}

// Solves for the right-hand sides in node_rhs, with the factors of reduce_joints.
template <typename Real, typename Team>
AXION_HD_CALL void reduce_joints_with_factors(const Team& team, const Problem<Real>& p) {
  constexpr int size = kNodeSize;
  for (int b = p.m.body_count - 1; b >= 0; --b) {
    const int parent = p.m.bodies[b].parent, node = node_of_body(p, b);
    const Real *factors = p.w.tree.node + node * kNodeStride, *lower = p.w.tree.joint_lower + b * kCouplingStride;
    Real* z = p.w.tree.node_rhs + node * size;
    const int padded = padded_size(body_node_size(p, b));
    team.for_each(1, [=](int) {
      for (int k = 0; k < padded; ++k) {
        for (int r = k + 1; r < padded; ++r) z[r] = z[r] - factors[size * k + r] * z[k];
      }
      for (int k = padded - 1; k >= 0; --k) {
        z[k] = factors[size * k + k] * z[k];
        for (int r = 0; r < k; ++r) z[r] = z[r] - factors[size * k + r] * z[k];
      }
    });
    if (parent < 0) continue;
    Real* to = p.w.tree.node_rhs + node_of_body(p, parent) * size;
    team.for_each(6, [=](int r) {
      Real sum = 0;
      for (int c = 0; c < 6; ++c) sum += lower[kPanelWidth * r + c] * z[6 + c];
      to[r] -= sum;
    });
  }
  substitute_shared(team, p);
}

// push_lanes (joint_inverse.hpp), a thread having a row of a body and four lanes.
template <int lanes, typename Real, typename Team>
AXION_HD inline void push_four_lanes(const Team& team, const Problem<Real>& p, const int* touched, Real* f, Real* u) {
  constexpr int quads = lanes / 4, block = 6 * lanes, size = kNodeSize;
  const auto add_products = [](const Real(&factor)[6], const Real* from, Real(&sum)[4]) {
    lanes::for_constants<6>([&](auto c) {
      Real v[4];
      load_four(from + lanes * c, v);
      lanes::for_constants<4>([&](auto l) { sum[l] = sum[l] + factor[c] * v[l]; });
    });
  };
  const int bodies = p.m.body_count;
  const Real* transfer = p.w.tree.transfer;
  for (int i = bodies - 1; i >= 0; --i) {
    const int parent = p.m.bodies[i].parent;
    if (parent < 0 || touched[i] == 0) continue;
    const Real* S = transfer + kTransferStride * i + 2 * 6 * size;
    const Real* from = f + block * i;
    Real* to = f + block * parent;
    team.for_each(6 * quads, [=](int task) {
      const int r = task / quads, at = task % quads * 4;
      Real row[8], factor[6], sum[4];
      load_four(S + kPanelWidth * r, row), load_four(S + kPanelWidth * r + 4, row + 4);
      lanes::for_constants<6>([&](auto c) { factor[c] = row[c]; });
      load_four(to + lanes * r + at, sum);
      add_products(factor, from + at, sum);
      store_four(to + lanes * r + at, sum[0], sum[1], sum[2], sum[3]);
    });
  }
  for (int i = 0; i < bodies; ++i) {
    const int parent = p.m.bodies[i].parent;
    const bool moves = parent >= 0 && touched[p.m.bodies[i].tree_start] != 0, pushed = touched[i] != 0;
    const Real* Z = transfer + kTransferStride * i;
    const Real *impulse = f + block * i, *from = u + block * parent;
    Real* to = u + block * i;
    team.for_each(6 * quads, [=](int task) {
      const int r = task / quads, at = task % quads * 4;
      Real factor[6], sum[4] = {};
      if (pushed) {
        lanes::for_constants<6>([&](auto c) { factor[c] = Z[size * c + r]; });
        add_products(factor, impulse + at, sum);
      }
      if (moves) {
        lanes::for_constants<6>([&](auto c) { factor[c] = Z[size * (6 + c) + r]; });
        add_products(factor, from + at, sum);
      }
      store_four(to + lanes * r + at, sum[0], sum[1], sum[2], sum[3]);
    });
  }
}

// The passage of `respond` (joint_inverse.hpp) along the tree: impulses, in each body's node_rhs, to the roots, and
// from there velocities and impulses of joints, in swept_response.
template <typename Real, typename Team>
AXION_HD inline void pass_responses(const Team& team, const Problem<Real>& p) {
  constexpr int size = kNodeSize, width = kPanelWidth;
  const int bodies = p.m.body_count;
  const Real* transfer = p.w.tree.transfer;
  Real* response = p.w.tree.swept_response;
  team.together([&](int r, auto&& meet) {
    for (int i = bodies - 1; i >= 0; --i) {
      const int parent = p.m.bodies[i].parent;
      if (parent < 0) continue;
      const Real *f = p.w.tree.node_rhs + node_of_body(p, i) * size, *S = transfer + kTransferStride * i + 2 * 6 * size;
      Real* to = p.w.tree.node_rhs + node_of_body(p, parent) * size;
      if (r < 6) {
        Real v[8], factor[8], sum = to[r];
        load_four(f, v), load_four(f + 4, v + 4), load_four(S + width * r, factor),
            load_four(S + width * r + 4, factor + 4);
        lanes::for_constants<6>([&](auto c) { sum += factor[c] * v[c]; });
        to[r] = sum;
      }
      meet();
    }
    for (int i = 0; i < bodies; ++i) {
      const int parent = p.m.bodies[i].parent;
      const Real *f = p.w.tree.node_rhs + node_of_body(p, i) * size, *Z = transfer + kTransferStride * i;
      if (r < size) {
        Real v[8], sum = 0;
        load_four(f, v), load_four(f + 4, v + 4);
        lanes::for_constants<6>([&](auto c) { sum = sum + v[c] * Z[size * c + r]; });
        if (parent >= 0) {
          load_four(response + size * parent, v), load_four(response + size * parent + 4, v + 4);
          lanes::for_constants<6>([&](auto c) { sum = sum + v[c] * Z[size * (6 + c) + r]; });
        }
        response[size * i + r] = sum;
      }
      meet();
    }
  });
}

}  // namespace axion::solver
