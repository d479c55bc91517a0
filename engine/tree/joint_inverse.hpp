// The joint response V: the velocity that an impulse on one body gives to every other, contacts and limits left out.
//
//   [M̂  −J_Fᵀ]   joint and axis rows alone, factorised along the tree as in tree_solver.hpp, without any fill
//   [J   C   ]
//
// From the node factors follow, 6×6 each,
//   P_i   velocity of body i for an impulse on it while its parent stands still
//   T_i   velocity of body i for a velocity of its parent p
//   S_i   impulse on the parent for an impulse on body i
// and from the root outward, j before i in its tree,
//   V_ij = T_i V_pj,   V_ji = V_jp S_i,   V_ii = P_i + T_i V_pi
//
// V is kept as one column of 6 n entries for each of the 6 n impulse components of a tree of n bodies, so that an
// impulse is applied by adding whole columns. Few impulses need no V: they pass to the root by S and from there to all
// bodies by T.
//
// In: the system as linearise_joints left it. Out: node factors, transfer (P, T, S), joint_response (V), and with
// solve_joints the joints' own answer in du and dlambda. Cost: linear in bodies, 36 n² for V of a tree of n. Loop
// joints are no part of it (loop_response.hpp). Called by loop_response.hpp and contact_solver. Source: the recursion
// of the operational space inertia, Kreutz-Delgado et al. 1992.
#pragma once

#include "engine/tree/joint_threads.hpp"
#include "engine/tree/tree_assembly.hpp"

namespace axion::solver {

inline constexpr int kBodyBlock = 36;

// Right-hand side and solution of a body's node: its velocity, then the rows of its joint.
template <typename Real>
AXION_HD inline Real* body_unknowns(const Problem<Real>& p, int b) {
  return p.w.tree.node_rhs + node_of_body(p, b) * kNodeSize;
}

// Node b with its joint rows alone, right-hand side −g and −r; and both blocks to its parent.
template <typename Real>
AXION_HD_CALL void assemble_joint_node(const Problem<Real>& p, int b) {
  Real* K = p.w.tree.node + node_of_body(p, b) * kNodeStride;
  Real* rhs = body_unknowns(p, b);
  Real* upper = p.w.tree.joint_upper + b * kCouplingStride;
  Real* lower = p.w.tree.joint_lower + b * kCouplingStride;
  put_inertia(p, b, K);
  for (int i = 0; i < kCouplingStride; ++i) upper[i] = lower[i] = 0;
  for (int k = 6; k < kNodeSize; ++k) rhs[k] = 0;
  for (int r = 0; r < 3; ++r) {
    rhs[r] = -p.w.g_linear[b][r], rhs[3 + r] = -p.w.g_angular[b][r];
  }
  const model::BodyData<Real>& body = p.m.bodies[b];
  if (body.joint < 0) return;
  const model::JointData<Real>& joint = p.m.joints[body.joint];
  for (int k = 0; k < joint_row_count(p.m, p.m.bodies[b].joint); ++k) {
    const int row = node_row(p, joint, k);
    const NodeRow<Real> kept{&p.w.row[row], &impulse_row(p, row), p.w.compliance[row]};
    rhs[6 + k] = -p.w.row_rhs[row];
    put_joint_row(kept, k, K);
    couple_joint_row(kept, k, upper, lower);
  }
}

// The share of node i, solved, in row r of its parent's right-hand side.
template <typename Real>
AXION_HD inline Real parent_share(const Problem<Real>& p, int i, int r) {
  const Real* lower = p.w.tree.joint_lower + i * kCouplingStride + r * kNodeSize;
  const Real* z = body_unknowns(p, i);
  const int size = body_node_size(p, i);
  Real sum = 0;
  for (int c = 0; c < size; ++c) sum += lower[c] * z[c];
  return sum;
}

// The column of the joint response for component c of an impulse on body b: entry 6 (i − tree_start) + r is component r
// of the velocity of body i.
template <typename Real>
AXION_HD inline Real* response_column(const Problem<Real>& p, int b, int c) {
  const model::BodyData<Real>& body = p.m.bodies[b];
  return p.w.tree.joint_response + kBodyBlock * (body.inverse_start + (b - body.tree_start) * body.tree_size) +
         6 * body.tree_size * c;
}

// Z_i: velocity of body i and impulses of its joint for an impulse on it while its parent stands still; its first six
// rows are P_i. T_i: the same for a velocity of the parent. Both by columns of kNodeSize. S_i: rows of a panel's width.
template <typename Real>
AXION_HD inline Real* node_inverse(const Problem<Real>& p, int i) {
  return p.w.tree.transfer + kTransferStride * i;
}
template <typename Real>
AXION_HD inline Real* transfer_from_parent(const Problem<Real>& p, int i) {
  return node_inverse(p, i) + kHalfNode * kNodeSize;
}
template <typename Real>
AXION_HD inline Real* transfer_to_parent(const Problem<Real>& p, int i) {
  return transfer_from_parent(p, i) + kHalfNode * kNodeSize;
}

// f of the first `columns` columns of a matrix by rows of `width` numbers, each of `rows` numbers, one after the other.
template <typename Team, int rows, int columns, int width, typename Real, typename F>
AXION_HD inline void write_columns(const Real* from, Real* to, F&& f) {
  constexpr int lanes = team::pack_lanes<Team, Real>(width);
  if constexpr (lanes >= 4) {
    static_assert(rows % 4 == 0);
    lanes::for_constants<rows / 4 * (width / lanes)>([&](auto i) AXION_INLINED {
      constexpr int row = i % (rows / 4) * 4, first = i / (rows / 4) * lanes;
      const auto pack = [&](int r) AXION_INLINED { return lanes::load_pack<lanes>(from + width * (row + r) + first); };
      lanes::for_columns_of_four<lanes, Real>(pack(0), pack(1), pack(2), pack(3),
                                              [&](auto c, const lanes::Pack<Real, 4>& column) AXION_INLINED {
                                                if constexpr (first + c < columns)
                                                  lanes::store_pack<4>(to + rows * (first + c) + row, f(column));
                                              });
    });
  } else {
    for (int c = 0; c < columns; ++c) {
      for (int r = 0; r < rows; ++r) to[rows * c + r] = f(from[width * r + c]);
    }
  }
}

// Z_i, T_i and S_i from the factors of solve_joints.
template <typename Team, typename Real>
AXION_HD_CALL void invert_node(const Problem<Real>& p, int i) {
  constexpr int width = kPanelWidth, rows = kNodeSize;
  Real Y[kCouplingStride];
  for (int k = 0; k < kCouplingStride; ++k) Y[k] = 0;
  for (int c = 0; c < 6; ++c) Y[width * c + c] = 1;
  const int node = node_of_body(p, i), size = body_node_size(p, i);
  for (int part = 0; part < panel_packs<Team, Real>(); ++part) {
    solve_panel<Team>(p.w.tree.node + node * kNodeStride, size, Y, part, Real(0));
  }
  const auto same = [](const auto& x) AXION_INLINED { return x; };
  const auto negative = [](const auto& x) AXION_INLINED { return -x; };
  write_columns<Team, rows, kHalfNode, width>(Y, node_inverse(p, i), same);
  if (p.m.bodies[i].parent < 0) return;
  Real* S = transfer_to_parent(p, i);
  write_columns<Team, rows, kHalfNode, width>(p.w.tree.joint_upper + i * kCouplingStride, transfer_from_parent(p, i),
                                              negative);
  for (int k = 0; k < kHalfNode * width; ++k) S[k] = 0;
  subtract_product<Team, kHalfNode, kHalfNode>(p.w.tree.joint_lower + i * kCouplingStride, Y, S, width,
                                               static_cast<Real*>(nullptr), Real(0));
}

template <typename Real, typename Team>
AXION_HD inline void invert_nodes(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int i) { invert_node<Team>(p, i); });
}

// du and the joint part of dlambda, from node_rhs.
template <typename Real, typename Team>
AXION_HD inline void read_joint_solution(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int b) {
    const Real* z = body_unknowns(p, b);
    p.w.du_linear[b] = {z[0], z[1], z[2]};
    p.w.du_angular[b] = {z[3], z[4], z[5]};
    if (p.m.bodies[b].joint < 0) return;
    const model::JointData<Real>& joint = p.m.joints[p.m.bodies[b].joint];
    for (int k = 0; k < joint_row_count(p.m, p.m.bodies[b].joint); ++k) p.w.dlambda[node_row(p, joint, k)] = z[6 + k];
  });
}

// From solved nodes to du and the joint part of dlambda, root to leaves.
template <typename Real, typename Team>
AXION_HD_CALL void substitute_joints(const Team& team, const Problem<Real>& p) {
  constexpr int lanes = team::pack_lanes<Team, Real>(4);
  for (int i = 0; i < p.m.body_count; ++i) {
    const int parent = p.m.bodies[i].parent;
    if (parent < 0) continue;
    Real* z = body_unknowns(p, i);
    const Real* x = body_unknowns(p, parent);
    const Real* T = transfer_from_parent(p, i);
    team.for_each(kNodeSize / lanes, [=](int part) {
      lanes::Pack<Real, lanes> sum = lanes::load_pack<lanes>(z + lanes * part);
      for (int c = 0; c < 6; ++c) sum = sum + x[c] * lanes::load_pack<lanes>(T + kNodeSize * c + lanes * part);
      lanes::store_pack<lanes>(z + lanes * part, sum);
    });
  }
  read_joint_solution(team, p);
}

// Factorises, inverts the nodes, and solves for −g and the joint residuals: du and the joint part of dlambda.
template <typename Real, typename Team>
AXION_HD_CALL void solve_joints(const Team& team, const Problem<Real>& p) {
  if constexpr (Team::kSharesByWarp) {
    reduce_joints(team, p);
    read_joint_solution(team, p);
    return;
  } else {
    team.for_each(p.m.body_count, [&](int b) { assemble_joint_node(p, b); });
    for (int i = p.m.body_count - 1; i >= 0; --i) {
      const int size = body_node_size(p, i), parent = p.m.bodies[i].parent;
      Real* K = p.w.tree.node + node_of_body(p, i) * kNodeStride;
      Real* upper = p.w.tree.joint_upper + i * kCouplingStride;
      Real* z = body_unknowns(p, i);
      factorise_node(team, p, node_of_body(p, i));
      if (parent < 0) {
        team.for_each(1, [&](int) { solve_column(K, size, z); });
        continue;
      }
      team.for_each(kNodeSize, [&](int r) { upper[kPanelWidth * r + kRhsColumn] = z[r]; });
      team.for_each(panel_packs<Team, Real>(), [&](int part) { solve_panel<Team>(K, size, upper, part, Real(0)); });
      team.for_each(kNodeSize, [&](int r) { z[r] = upper[kPanelWidth * r + kRhsColumn]; });
      const Real* lower = p.w.tree.joint_lower + i * kCouplingStride;
      Real *parent_node = p.w.tree.node + node_of_body(p, parent) * kNodeStride, *parent_rhs = body_unknowns(p, parent);
      team.for_each(1, [&](int) {
        subtract_product<Team, kHalfNode, kHalfNode>(lower, upper, parent_node, kNodeSize, parent_rhs, Real(0));
      });
    }
    invert_nodes(team, p);
    substitute_joints(team, p);
  }
}

// Solves again, with the factors of solve_joints, for impulses on the bodies in the first six of each node_rhs.
template <typename Real, typename Team>
AXION_HD_CALL void solve_joints_with_factors(const Team& team, const Problem<Real>& p) {
  if constexpr (Team::kSharesByWarp) {
    reduce_joints_with_factors(team, p);
    read_joint_solution(team, p);
    return;
  } else {
    for (int i = p.m.body_count - 1; i >= 0; --i) {
      const int parent = p.m.bodies[i].parent;
      team.for_each(1, [&](int) {
        solve_column(p.w.tree.node + node_of_body(p, i) * kNodeStride, body_node_size(p, i), body_unknowns(p, i));
      });
      if (parent < 0) continue;
      team.for_each(6, [&](int r) { body_unknowns(p, parent)[r] -= parent_share(p, i, r); });
    }
    substitute_joints(team, p);
  }
}

// The same for as many impulses at once as there are lanes: f [body][6][lanes] impulses on bodies, u [body][6][lanes]
// the velocities that they give to all. touched[i] is whether body i, or one that hangs on it, has an impulse; f of the
// other bodies is not read. f is used up.
template <int lanes, typename Real, typename Team>
AXION_HD_CALL void push_lanes(const Team& team, const Problem<Real>& p, const int* touched, Real* f, Real* u) {
  if constexpr (Team::kSharesByWarp) {
    push_four_lanes<lanes>(team, p, touched, f, u);
    return;
  } else {
    constexpr int width = team::pack_lanes<Team, Real>(lanes), parts = lanes / width, rows = product_rows<Team>(),
                  block = 6 * lanes;
    const auto add_products = [](const Real* factor, int step, const lanes::Pack<Real, width>(&from)[6],
                                 lanes::Pack<Real, width> sum) AXION_INLINED {
      lanes::for_constants<6>([&](auto c) AXION_INLINED { sum = sum + factor[step * c] * from[c]; });
      return sum;
    };
    const auto load_six = [](const Real* from, lanes::Pack<Real, width>(&to)[6]) AXION_INLINED {
      lanes::for_constants<6>([&](auto c) AXION_INLINED { to[c] = lanes::load_pack<width>(from + lanes * c); });
    };
    for (int i = p.m.body_count - 1; i >= 0; --i) {
      const int parent = p.m.bodies[i].parent;
      if (parent < 0 || touched[i] == 0) continue;
      const Real *S = transfer_to_parent(p, i), *from = f + block * i;
      Real* to = f + block * parent;
      team.for_each(6 / rows * parts, [=](int task) {
        const int first = task / parts * rows, at = task % parts * width;
        lanes::Pack<Real, width> impulse[6];
        load_six(from + at, impulse);
        lanes::for_constants<rows>([&](auto k) AXION_INLINED {
          Real* out = to + lanes * (first + k) + at;
          lanes::store_pack<width>(
              out, add_products(S + kPanelWidth * (first + k), 1, impulse, lanes::load_pack<width>(out)));
        });
      });
    }
    for (int i = 0; i < p.m.body_count; ++i) {
      const int parent = p.m.bodies[i].parent;
      const bool moves = touched[p.m.bodies[i].tree_start] != 0, pushed = touched[i] != 0;
      const Real *Z = node_inverse(p, i), *T = transfer_from_parent(p, i), *impulse = f + block * i,
                 *from = u + block * parent;
      Real* to = u + block * i;
      team.for_each(6 / rows * parts, [=](int task) {
        const int first = task / parts * rows, at = task % parts * width;
        lanes::Pack<Real, width> six[6], sum[rows] = {};
        if (pushed) {
          load_six(impulse + at, six);
          lanes::for_constants<rows>(
              [&](auto k) AXION_INLINED { sum[k] = add_products(Z + first + k, kNodeSize, six, sum[k]); });
        }
        if (moves && parent >= 0) {
          load_six(from + at, six);
          lanes::for_constants<rows>(
              [&](auto k) AXION_INLINED { sum[k] = add_products(T + first + k, kNodeSize, six, sum[k]); });
        }
        lanes::for_constants<rows>(
            [&](auto k) AXION_INLINED { lanes::store_pack<width>(to + lanes * (first + k) + at, sum[k]); });
      });
    }
  }
}

// The impulse along tendon t of its limit and efforts.
template <typename Real>
AXION_HD_RARE Real swept_impulse_along(const Problem<Real>& p, int t, ConstArray<Real> lambda) {
  Real sum = 0;
  if (p.m.tendons[t].axis < 0) return sum;
  for_each_row_of_axis<Real>(p.m, p.w.limit_side, p.m.tendons[t].axis,
                             [&](int row, Real sign) { sum += sign * lambda[row]; });
  return sum;
}

// The impulse on body b of the swept rows, whose impulses are in `lambda`.
template <typename Real>
AXION_HD_CALL Impulse<Real> gather_swept_impulse(const Problem<Real>& p, int b, ConstArray<Real> lambda) {
  Impulse<Real> sum;
  model::for_each_tree_joint<Real>(p.m, b, [&](int j, bool on_child) {
    for_each_condensed_row<Real>(p.m, p.m.joints[j], [&](int row) { sum.add(p.w.row[row], lambda[row], on_child); });
  });
  if (p.m.tendon_axis_count > 0 && constraints::has_sides(p.m, b)) {
    add_tendon_impulses(
        impulse_rows<Real>(p.m, p.w), b, [&](int t) { return swept_impulse_along(p, t, lambda); }, sum);
  }
  add_contact_impulses(impulse_rows<Real>(p.m, p.w), b, lambda, sum);
  return sum;
}

// From impulses on bodies, in each node_rhs, to the velocities and joint impulses that they cause, in swept_response.
template <typename Real, typename Team>
AXION_HD inline void pass_along_tree(const Team& team, const Problem<Real>& p) {
  if constexpr (Team::kSharesByWarp) {
    pass_responses(team, p);
    return;
  } else {
    constexpr int lanes = team::pack_lanes<Team, Real>(4), rows = kNodeSize;
    for (int i = p.m.body_count - 1; i >= 0; --i) {
      const int parent = p.m.bodies[i].parent;
      if (parent < 0) continue;
      const Real *S = transfer_to_parent(p, i), *f = body_unknowns(p, i);
      Real* to = body_unknowns(p, parent);
      team.for_each(6, [=](int r) {
        Real sum = to[r];
        for (int c = 0; c < 6; ++c) sum += S[kPanelWidth * r + c] * f[c];
        to[r] = sum;
      });
    }
    for (int i = 0; i < p.m.body_count; ++i) {
      const int parent = p.m.bodies[i].parent;
      const Real *Z = node_inverse(p, i), *T = transfer_from_parent(p, i), *f = body_unknowns(p, i);
      const Real* from = p.w.tree.swept_response + rows * (parent < 0 ? i : parent);
      Real* x = p.w.tree.swept_response + rows * i;
      team.for_each(rows / lanes, [=](int part) {
        lanes::Pack<Real, lanes> sum{};
        for (int c = 0; c < 6; ++c) sum = sum + f[c] * lanes::load_pack<lanes>(Z + rows * c + lanes * part);
        for (int c = 0; c < 6 && parent >= 0; ++c)
          sum = sum + from[c] * lanes::load_pack<lanes>(T + rows * c + lanes * part);
        lanes::store_pack<lanes>(x + lanes * part, sum);
      });
    }
  }
}

// Adds to du, and to the joint part of dlambda, the response of the joint tree to impulses; impulse(b) is that on body
// b.
template <typename Real, typename Team, typename F>
AXION_HD_CALL void spread_impulses(const Team& team, const Problem<Real>& p, F&& impulse) {
  constexpr int rows = kNodeSize;
  team.for_each(p.m.body_count, [&](int b) {
    const Impulse<Real> sum = impulse(b);
    Real* f = body_unknowns(p, b);
    for (int k = 0; k < 3; ++k) f[k] = sum.linear[k], f[3 + k] = sum.angular[k];
  });
  pass_along_tree(team, p);
  team.for_each(p.m.body_count, [&](int b) {
    const Real* x = p.w.tree.swept_response + rows * b;
    for (int k = 0; k < 3; ++k) p.w.du_linear[b][k] += x[k], p.w.du_angular[b][k] += x[3 + k];
    if (p.m.bodies[b].joint < 0) return;
    const model::JointData<Real>& joint = p.m.joints[p.m.bodies[b].joint];
    for (int k = 0; k < joint_row_count(p.m, p.m.bodies[b].joint); ++k) p.w.dlambda[node_row(p, joint, k)] += x[6 + k];
  });
}

// The same for the swept rows' dlambda.
template <typename Real, typename Team>
AXION_HD_CALL void respond(const Team& team, const Problem<Real>& p) {
  spread_impulses(team, p, [&](int b) { return gather_swept_impulse(p, b, p.w.dlambda); });
}

// Entries [0, count) of a column: the combination of six columns `length` apart that S says, its elements a panel's
// width apart. `count` is even.
template <typename Team, typename Real>
AXION_HD inline void combine_columns(const Real* from, int length, const Real* S, int count, Real* column) {
  Real s[6];
  for (int c = 0; c < 6; ++c) s[c] = S[kPanelWidth * c];
  const auto combine = [&](auto lanes, int x) AXION_INLINED {
    lanes::Pack<Real, lanes> sum = s[0] * lanes::load_pack<lanes>(from + x);
    lanes::for_constants<5>(
        [&](auto c) AXION_INLINED { sum = sum + s[c + 1] * lanes::load_pack<lanes>(from + (c + 1) * length + x); });
    lanes::store_pack<lanes>(column + x, sum);
  };
  constexpr int wide = team::pack_lanes<Team, Real>(8), narrow = team::pack_lanes<Team, Real>(2);
  int x = 0;
  for (; x + wide <= count; x += wide) combine(std::integral_constant<int, wide>{}, x);
  for (; x < count; x += narrow) combine(std::integral_constant<int, narrow>{}, x);
}

// Six entries of each of `columns` columns `length` apart: T times the six that are its parent's.
template <typename Team, int columns, typename Real>
AXION_HD inline void move_with_parent(const Real* T, const Real* parent, int length, Real* entry, int entry_length) {
  constexpr int lanes = team::pack_lanes<Team, Real>(kPanelWidth), parts = (kHalfNode + lanes - 1) / lanes;
  lanes::Pack<Real, lanes> t[kHalfNode][parts];
  lanes::for_constants<kHalfNode * parts>([&](auto i) AXION_INLINED {
    t[i / parts][i % parts] = lanes::load_pack<lanes>(T + kNodeSize * (i / parts) + lanes * (i % parts));
  });
  for (int k = 0; k < columns; ++k, parent += length, entry += entry_length) {
    lanes::for_constants<parts>([&](auto part) AXION_INLINED {
      lanes::Pack<Real, lanes> sum = parent[0] * t[0][part];
      lanes::for_constants<5>([&](auto c) AXION_INLINED { sum = sum + parent[c + 1] * t[c + 1][part]; });
      lanes::store_first_lanes<kHalfNode - lanes * part, lanes>(entry + lanes * part, sum);
    });
  }
}

// V of every tree, after invert_nodes. A thread with vectors takes the six columns of a body at a time, else one.
template <typename Real, typename Team>
AXION_HD_CALL void find_joint_response(const Team& team, const Problem<Real>& p) {
  constexpr int columns = product_rows<Team>();
  team.for_each(p.m.body_count, [&](int i) {
    const int at = 6 * (i - p.m.bodies[i].tree_start), length = 6 * p.m.bodies[i].tree_size;
    Real* response = response_column(p, i, 0) + at;
    for (int c = 0; c < 6; ++c) {
      for (int r = 0; r < 6; ++r) response[length * c + r] = node_inverse(p, i)[kNodeSize * c + r];
    }
  });
  for (int i = 0; i < p.m.body_count; ++i) {
    const int parent = p.m.bodies[i].parent, start = p.m.bodies[i].tree_start, length = 6 * p.m.bodies[i].tree_size;
    if (parent < 0) continue;
    const int before = 6 * (i - start), at_parent = 6 * (parent - start);
    Real* response = response_column(p, start, 0);
    const Real* T = transfer_from_parent(p, i);
    team.for_each((before + 6) / columns, [&](int task) {
      const int k = task * columns;
      Real* column = response + length * k;
      if (k < before) {
        move_with_parent<Team, columns>(T, column + at_parent, length, column + before, length);
        return;
      }
      for (int c = 0; c < columns; ++c) {
        combine_columns<Team>(response + length * at_parent, length, transfer_to_parent(p, i) + k + c - before, before,
                              column + length * c);
      }
      Real moved[columns][kHalfNode];
      move_with_parent<Team, columns>(T, column + at_parent, length, moved[0], kHalfNode);
      for (int c = 0; c < columns; ++c) {
        for (int r = 0; r < kHalfNode; ++r) column[length * c + before + r] += moved[c][r];
      }
    });
  }
}

}  // namespace axion::solver
