// The tree factorised once, BiCGStab on the links that it leaves out (closing_links.hpp); for every formulation.
//
//   [K    −F_cᵀ] [Δu, Δλ_tree]     [g, r]     K the system in Scope::kTree
//   [J_c   C_c ] [y          ] = − [r_c ]     y the impulses of the links
//
//   factorise K;  u₀ := −K⁻¹(g, r)
//   BiCGStab:  (C_c + J_c K⁻¹ F_cᵀ) y = −r_c − J_c u₀       a product is one substitution through the factors
//   (Δu, Δλ_tree) := −K⁻¹((g, r) − F_cᵀ y)
//
// Preconditioned from the left by one block a link, in which its two bodies move as the tree lets each of them move
// alone; so the residual that decides is an impulse. The smallest residual is kept, as BiCGStab's is not monotone.
//
// In: the system as `linearise` left it, its links found. Out: du, dlambda. Cost: two substitutions an iteration,
// linear in nodes. Source: van der Vorst 1992, BiCGStab; Takahashi, Fagan and Chin 1973 for the blocks of the inverse.
#pragma once

#include "engine/reference/closing_links.hpp"
#include "engine/tree/tree_solver.hpp"

namespace axion::solver {

inline constexpr int kKrylovWatchdog = 12;  // iterations without a smaller residual before it gives up

// answer_linear, answer_angular: what K answers to the impulses y of the links and to a system (g, r, e) with the given
// parts.
template <typename Real, typename Team>
AXION_HD inline void move_tree(const Team& team, const Problem<Real>& p, ConstArray<Real> y,
                               const TreeRhs<Real>& given) {
  team.for_each(p.m.body_count, [&](int b) {
    const Impulse<Real> sum = gather_links(p, b, y);
    p.w.reference.answer_linear[b] = (given.linear == nullptr ? math::Vec3<Real>{} : given.linear[b]) - sum.linear;
    p.w.reference.answer_angular[b] = (given.angular == nullptr ? math::Vec3<Real>{} : given.angular[b]) - sum.angular;
  });
  solve_with_factors(
      team, p, Scope::kTree,
      TreeRhs<Real>{p.w.reference.answer_linear, p.w.reference.answer_angular, given.row, given.contact});
  read_velocities(team, p, p.w.reference.answer_linear, p.w.reference.answer_angular);
}

// out = blocks (C_c + J_c K⁻¹ F_cᵀ) y
template <typename Real, typename Team>
AXION_HD inline void apply_links(const Team& team, const Problem<Real>& p, ConstArray<Real> y, OutArray<Real> out) {
  move_tree(team, p, y, TreeRhs<Real>{});
  contract_links(team, p, p.w.reference.answer_linear, p.w.reference.answer_angular, y, out);
}

// Solves for the links, right-hand side in link_residual; the solution is in link_best. Returns the iterations taken.
template <typename Real, typename Team>
AXION_HD inline int iterate_links(const Team& team, const Problem<Real>& p) {
  const int n = link_unknown_count(p);
  Real *r = p.w.reference.link_residual, *shadow = p.w.reference.link_shadow, *direction = p.w.reference.link_direction,
       *v = p.w.reference.link_ap, *t = p.w.reference.link_ar, *x = p.w.reference.link_impulse;
  Real* best_x = p.w.reference.link_best;
  const auto dot = [&](const Real* a, const Real* b) {
    return team.template sum<Real>(n, [&](int i) { return a[i] * b[i]; });
  };
  team.for_each(n, [&](int i) { shadow[i] = r[i], x[i] = best_x[i] = direction[i] = v[i] = t[i] = 0; });
  Real best = dot(r, r), rho = 1, alpha = 1, omega = 1;
  const Real goal = p.s.linear_tolerance * p.s.linear_tolerance * best;
  int iterations = 0, since_best = 0;
  while (iterations < p.s.max_linear_iterations && best > goal && since_best < kKrylovWatchdog) {
    const Real next = dot(shadow, r), beta = iterations == 0 ? Real(0) : (next / rho) * (alpha / omega);
    rho = next;
    team.for_each(n, [&](int i) { direction[i] = r[i] + beta * (direction[i] - omega * v[i]); });
    apply_links(team, p, direction, v);
    alpha = rho / dot(shadow, v);
    if (!(alpha - alpha == Real(0))) break;
    team.for_each(n, [&](int i) { r[i] -= alpha * v[i]; });
    apply_links(team, p, r, t);
    const Real tt = dot(t, t);
    omega = tt > Real(0) ? dot(t, r) / tt : Real(0);
    team.for_each(n, [&](int i) {
      x[i] += alpha * direction[i] + omega * r[i];
      r[i] -= omega * t[i];
    });
    ++iterations, ++since_best;
    const Real norm = dot(r, r);
    if (norm < best) {
      best = norm, since_best = 0;
      team.for_each(n, [&](int i) { best_x[i] = x[i]; });
    }
    if (!(norm == norm) || omega == Real(0)) break;
  }
  return iterations;
}

// Solves for du and dlambda. Returns the iterations taken, at least one.
template <typename Real, typename Team>
AXION_HD_CALL int solve_tree_krylov(const Team& team, const Problem<Real>& p) {
  const TreeRhs<Real> rhs = newton_rhs(p);
  const Real* y = p.w.reference.link_best;
  factorise_and_solve(team, p, Scope::kTree, rhs);
  read_velocities(team, p, p.w.reference.answer_linear, p.w.reference.answer_angular);
  invert_tree_diagonal(team, p, p.w.reference.body_mobility);
  assemble_links(team, p);
  invert_link_blocks(team, p);
  contract_links(team, p, p.w.reference.answer_linear, p.w.reference.answer_angular, nullptr,
                 p.w.reference.link_residual);
  team.for_each(link_unknown_count(p),
                [&](int i) { p.w.reference.link_residual[i] = -p.w.reference.link_residual[i]; });
  const int iterations = iterate_links(team, p);
  move_tree(team, p, y, rhs);
  team.for_each(p.m.body_count, [&](int b) {
    p.w.du_linear[b] = p.w.reference.answer_linear[b], p.w.du_angular[b] = p.w.reference.answer_angular[b];
  });
  read_joint_impulses(team, p, Scope::kTree, p.w.dlambda);
  if (p.m.tendon_count > 0) {
    team.for_each(p.m.tendon_count, [&](int t) { p.w.dlambda[row_of_tendon(p, t)] = y[6 * (p.m.loop_count + t)]; });
  }
  read_condensed_impulses(team, p, Scope::kWhole, rhs, p.w.du_linear, p.w.du_angular, p.w.dlambda);
  team.for_each(p.m.loop_count, [&](int l) {
    const int j = joint_of_loop(p.m, l);
    for (int k = 0; k < joint_row_count(p.m, j); ++k) p.w.dlambda[node_row(p, p.m.joints[j], k)] = y[6 * l + k];
  });
  return iterations > 0 ? iterations : 1;
}

}  // namespace axion::solver
