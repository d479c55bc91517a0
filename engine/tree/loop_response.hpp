// What loop joints, tendons and equalities add to the inverse of the joint tree, so that contacts, limits and efforts
// of closed mechanisms can be swept too.
//
// V, the response of the joint tree (joint_inverse.hpp), knows nothing of the joints that close loops. With their rows
// J_l, the directions F_l of their impulses and their compliances C_l the whole response to impulses f is
//
//   u = V f + U μ,   U = V F_lᵀ,   μ = −G⁻¹ (J_l V f),   G = J_l U + C_l
//
// G is small. Its rows may depend on each other (a planar mechanism in space), and its pivots are then their
// compliance, as in tree_solver.hpp. V itself is not needed where loops close: only steps whose rows fit in the
// Delassus matrix are swept.
//
// In: the factors that solve_joints left. Out: loop_columns (U), loop_gain (factors of G). Cost: 6 l passages through
// the tree for l loops, and (6 l)³/3. Called by sweep_velocities.hpp and sweep_round.hpp, after solve_joints.
#pragma once

#include "engine/tree/joint_inverse.hpp"

namespace axion::solver {

// Whether anything is to be added.
template <typename Real>
AXION_HD inline bool has_loop_rows(const Problem<Real>& p) {
  return p.m.closing_count > p.m.slack_tendon_count;
}

template <typename Real>
struct LoopResponse {
  int rows;                      // six a loop, then one a tendon or an equality; rows of the identity in G for none
  Real *columns, *gain, *lanes;  // U [rows][6 nb]; G's factors [rows][rows]; [kPushLanes][rows]
};

template <typename Real>
AXION_HD inline LoopResponse<Real> loop_response(const Problem<Real>& p) {
  return {loop_rows<Real>(p.m), p.w.tree.loop_columns, p.w.tree.loop_gain, p.w.tree.loop_impulse};
}

// The tendon or equality whose row is the k-th of all loops' rows, beyond those of joints.
template <typename Real>
AXION_HD inline int tendon_of_loops(const Problem<Real>& p, int k) {
  return k - 6 * p.m.loop_count + p.m.slack_tendon_count;
}

// The k-th of all loops' rows among all rows, or -1.
template <typename Real>
AXION_HD inline int row_of_loops(const Problem<Real>& p, int k) {
  if (k >= 6 * p.m.loop_count) {
    const int t = tendon_of_loops(p, k), axis = p.m.tendons[t].axis;
    return axis < 0 || p.w.axis_beta[axis] > 0 ? row_of_tendon(p, t) : -1;
  }
  const int j = joint_of_loop(p.m, k / 6);
  return k % 6 < joint_row_count(p.m, j) ? node_row(p, p.m.joints[j], k % 6) : -1;
}

// J u of tendon t, as loop_velocity has it.
template <typename Real>
AXION_HD_RARE Real tendon_velocity_of(const Problem<Real>& p, int t, const Real* u, int body_stride, int step) {
  Real sum = 0, J[6];
  constraints::for_each_term<Real>(p.m.tendons[t], [&](int k) {
    const model::TendonTermData<Real>& term = p.m.tendon_terms[k];
    for (int side = 0; side < 2; ++side) {
      const int b = side == 0 ? term.a : term.b;
      if (b < 0) continue;
      row_against(p.w.tendon_row[k], side == 0, J);
      for (int c = 0; c < 6; ++c) sum += J[c] * u[body_stride * b + step * c];
    }
  });
  return sum;
}

// Adds to an impulse on body b what an impulse along tendon t gives it.
template <typename Real>
AXION_HD_RARE void add_along_tendon(const Problem<Real>& p, int t, int b, Real lambda, Impulse<Real>& sum) {
  constraints::for_each_term<Real>(p.m.tendons[t], [&](int k) {
    const model::TendonTermData<Real>& term = p.m.tendon_terms[k];
    if (term.a == b) sum.add(p.w.tendon_force[k], lambda, true);
    if (term.b == b) sum.add(p.w.tendon_force[k], lambda, false);
  });
}

// J u of the k-th of all loops' rows, the six velocities of body b at u + body_stride b, `step` apart.
template <typename Real>
AXION_HD inline Real loop_velocity(const Problem<Real>& p, int k, const Real* u, int body_stride, int step) {
  const int row = row_of_loops(p, k);
  if (row < 0) return 0;
  if (k >= 6 * p.m.loop_count) return tendon_velocity_of(p, tendon_of_loops(p, k), u, body_stride, step);
  const model::JointData<Real>& joint = p.m.joints[joint_of_loop(p.m, k / 6)];
  Real sum = 0, J[6];
  for (int side = 0; side < 2; ++side) {
    const int b = side == 0 ? joint.child : joint.parent;
    if (b < 0) continue;
    row_against(p.w.row[row], side == 0, J);
    for (int c = 0; c < 6; ++c) sum += J[c] * u[body_stride * b + step * c];
  }
  return sum;
}

// x = −G⁻¹ m in place.
template <typename Real>
AXION_HD inline void solve_loops(const LoopResponse<Real>& loops, Real* m) {
  const int n = loops.rows;
  for (int r = 0; r < n; ++r) {
    for (int c = 0; c < r; ++c) m[r] -= loops.gain[r * n + c] * m[c];
  }
  for (int r = n - 1; r >= 0; --r) {
    for (int c = r + 1; c < n; ++c) m[r] -= loops.gain[r * n + c] * m[c];
    m[r] /= loops.gain[r * n + r];
  }
  for (int r = 0; r < n; ++r) m[r] = -m[r];
}

// L U without exchanges, in place; `least` is the least value of each pivot.
template <typename Real>
AXION_HD inline void factorise_loops(const Problem<Real>& p, const LoopResponse<Real>& loops) {
  const int n = loops.rows;
  Real* G = loops.gain;
  for (int k = 0; k < n; ++k) {
    const int row = row_of_loops(p, k);
    const Real least = row < 0 ? Real(1) : p.w.compliance[row];
    if (!(G[k * n + k] > least)) G[k * n + k] = least;
    for (int r = k + 1; r < n; ++r) {
      const Real factor = G[r * n + k] / G[k * n + k];
      G[r * n + k] = factor;
      for (int c = k + 1; c < n; ++c) G[r * n + c] -= factor * G[k * n + c];
    }
  }
}

// U and G, after solve_joints.
template <typename Real, typename Team>
AXION_HD_CALL void prepare_loops(const Team& team, const Problem<Real>& p) {
  const LoopResponse<Real> loops = loop_response(p);
  const int bodies = p.m.body_count, n = loops.rows;
  for (int k = 0; k < n; ++k) {
    const int row = row_of_loops(p, k);
    Real* column = loops.columns + std::size_t(k) * 6 * bodies;
    if (row < 0) {
      team.for_each(6 * bodies, [&](int i) { column[i] = 0; });
      continue;
    }
    team.for_each(bodies, [&](int b) {
      Impulse<Real> sum;
      if (k < 6 * p.m.loop_count) {
        const model::JointData<Real>& joint = p.m.joints[joint_of_loop(p.m, k / 6)];
        if (joint.child == b) sum.add(p.w.row_force[row], Real(1), true);
        if (joint.parent == b) sum.add(p.w.row_force[row], Real(1), false);
      } else {
        add_along_tendon(p, tendon_of_loops(p, k), b, Real(1), sum);
      }
      Real* f = body_unknowns(p, b);
      for (int c = 0; c < 3; ++c) f[c] = sum.linear[c], f[3 + c] = sum.angular[c];
    });
    pass_along_tree(team, p);
    team.for_each(bodies, [&](int b) {
      for (int c = 0; c < 6; ++c) column[6 * b + c] = p.w.tree.swept_response[kNodeSize * b + c];
    });
  }
  team.for_each(n * n, [&](int i) {
    const int r = i / n, c = i % n, row = row_of_loops(p, r);
    const Real own = r != c ? Real(0) : row < 0 ? Real(1) : p.w.compliance[row];
    loops.gain[i] = own + loop_velocity(p, r, loops.columns + std::size_t(c) * 6 * bodies, 6, 1);
  });
  team.for_each(1, [&](int) { factorise_loops(p, loops); });
}

// Adds to `lanes` velocities of all bodies, u [body][6][lanes], the effect of the loops' impulses on them.
template <int lanes, typename Real, typename Team>
AXION_HD_CALL void close_lanes(const Team& team, const Problem<Real>& p, Real* u) {
  const LoopResponse<Real> loops = loop_response(p);
  const int bodies = p.m.body_count, n = loops.rows;
  team.for_each(lanes * n, [&](int i) { loops.lanes[i] = loop_velocity(p, i % n, u + i / n, 6 * lanes, lanes); });
  team.for_each(lanes, [&](int lane) { solve_loops(loops, loops.lanes + lane * n); });
  team.for_each(6 * bodies * lanes, [&](int i) {
    const Real* mu = loops.lanes + i % lanes * n;
    Real sum = u[i];
    for (int k = 0; k < n; ++k) sum += loops.columns[std::size_t(k) * 6 * bodies + i / lanes] * mu[k];
    u[i] = sum;
  });
}

// Brings du and the joints' dlambda, the loops' with them, to where the loops' rows hold: r + J du + C dλ = 0.
template <typename Real, typename Team>
AXION_HD_CALL void close_loops(const Team& team, const Problem<Real>& p) {
  const LoopResponse<Real> loops = loop_response(p);
  Real* mu = loops.lanes;
  team.for_each(loops.rows, [&](int k) {
    const int row = row_of_loops(p, k);
    mu[k] = 0;
    if (row < 0) return;
    mu[k] = p.w.row_rhs[row] + p.w.compliance[row] * p.w.dlambda[row];
    if (k >= 6 * p.m.loop_count) {
      mu[k] += constraints::tendon_velocity<Real>(p.m, p.m.tendons[tendon_of_loops(p, k)], p.w.tendon_row,
                                                  p.w.du_linear, p.w.du_angular);
      return;
    }
    const model::JointData<Real>& joint = p.m.joints[joint_of_loop(p.m, k / 6)];
    mu[k] += constraints::row_velocity(p.w.row[row], joint.child, joint.parent, p.w.du_linear, p.w.du_angular);
  });
  team.for_each(1, [&](int) { solve_loops(loops, mu); });
  spread_impulses(team, p, [&](int b) {
    Impulse<Real> sum;
    model::for_each_loop_joint<Real>(p.m, b, [&](int j, bool on_child) {
      const int first = 6 * (j - joint_of_loop(p.m, 0));
      for (int k = 0; k < joint_row_count(p.m, j); ++k) {
        sum.add(p.w.row_force[node_row(p, p.m.joints[j], k)], mu[first + k], on_child);
      }
    });
    if (p.m.tendon_count > 0) {
      add_tendon_impulses(
          impulse_rows<Real>(p.m, p.w), b,
          [&](int t) {
            return t < p.m.slack_tendon_count ? Real(0) : mu[6 * p.m.loop_count + t - p.m.slack_tendon_count];
          },
          sum);
    }
    return sum;
  });
  team.for_each(loops.rows, [&](int k) {
    const int row = row_of_loops(p, k);
    if (row >= 0) p.w.dlambda[row] += mu[k];
  });
}

}  // namespace axion::solver
