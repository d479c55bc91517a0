// One round of sweeps: the joints linearised and inverted, sweeps in the form that serves, and the iterate that they
// lead to.
//
//   note rows; linearise and factorise the joints, or reuse the factors of the last round
//   Δu₀ := answer of the joints alone, loops closed
//   sweep:  few rows        make_sweeps on velocities of rows (contact_sweeps.hpp)
//           free bodies     coloured groups (coloured_sweeps.hpp), but for soft contacts
//           else            blocks of rows on velocities of bodies (listed_sweeps.hpp)
//   Δu := Δu₀ + V Jᵀ Δλ; advance by the share of it that turns no body by more than kMaxRotation
//
// In: an iterate in v_plus, omega_plus, lambda, evaluated. Out: the next iterate, which the caller evaluates. Cost: one
// factorisation of the joints, contacts left out, and the sweeps. Called by newton/attempt.hpp alone.
#pragma once

#include "engine/contact_solver/coloured_sweeps.hpp"
#include "engine/contact_solver/contact_sweeps.hpp"
#include "engine/contact_solver/listed_sweeps.hpp"

namespace axion::solver {

// Where columns of D are too long. Returns how many sweeps were made.
template <typename Real, typename Team>
AXION_HD_CALL int sweep_many(const Team& team, const Problem<Real>& p, const SweptLaws<Real>& laws,
                             SweptSystem<Real>& system, const SweepPlan<Real>& plan) {
  Real* impulses = p.w.lambda;
  if (!laws.is_soft && contact_groups<Real>(p.m) > 0) {
    ColouredSweeps<Real> sweeps = coloured_sweeps(p);
    sweeps.start(team, laws, system, impulses);
    if (sweeps.all.colours >= 0) return sweep_where_needed(team, laws, system, impulses, plan, sweeps);
  }
  BlockSweeps<Real> sweeps = block_sweeps(p);
  if (!plan.reuse_factors) note_all_blocks(team, laws, system, sweeps.u);
  return sweep_where_needed(team, laws, system, impulses, plan, sweeps);
}

// Where they are short.
template <typename Real, typename Team>
AXION_HD_CALL int sweep_few(const Team& team, const Problem<Real>& p, const SweptLaws<Real>& laws,
                            SweptSystem<Real>& system, const SweepPlan<Real>& plan) {
  RowSpace<Real> u = row_space(p);
  if (!plan.reuse_factors) u.columns.forget(team);
  u.start(team, p.w.du_linear, p.w.du_angular);
  SweepHistory<Real> history = sweep_history<Real>(p.w);
  ActiveSet<Real> set = active_set(p);
  Real* impulses = p.w.lambda;
  return make_sweeps(team, laws, system, u, impulses, history, set, plan);
}

// Right-hand side of the joint system at the iterate.
template <typename Real, typename Team>
AXION_HD inline void set_joint_rhs(const Team& team, const Problem<Real>& p) {
  team.for_each(p.limit_base(), [&](int i) { p.w.row_rhs[i] = p.w.residual[i]; });
  team.for_each(p.m.body_count, [&](int b) {
    Real* rhs = body_unknowns(p, b);
    for (int k = 0; k < 3; ++k) rhs[k] = -p.w.g_linear[b][k], rhs[3 + k] = -p.w.g_angular[b][k];
    for (int k = 0; k < joint_row_count(p.m, p.m.bodies[b].joint); ++k) {
      rhs[6 + k] = -p.w.row_rhs[node_row(p, p.m.joints[p.m.bodies[b].joint], k)];
    }
  });
}

// Closes the loops in the answer that solve_joints left.
template <typename Real, typename Team>
AXION_HD inline void start_loops(const Team& team, const Problem<Real>& p) {
  const int first = p.m.loop_count > 0 ? p.m.joints[joint_of_loop(p.m, 0)].lock_start : p.m.joint_lock_count;
  team.for_each(p.m.lock_count - first, [&](int i) { p.w.dlambda[first + i] = 0; });
  close_loops(team, p);
}

template <typename Real>
struct SweepResult {
  Real share;  // of the way to where the sweeps ended, by the bound on turns
  int sweeps;
};

// From (v_plus, omega_plus, lambda), evaluated, to the iterate after the sweeps of `plan`, or towards it; the caller
// evaluates. One factorisation of the joints, contacts left out.
template <typename Real, typename Team>
AXION_HD_CALL SweepResult<Real> sweep_contacts(const Team& team, const Problem<Real>& p, const SweepPlan<Real>& plan) {
  note_rows(team, p, plan.reuse_factors);
  if (plan.reuse_factors) {
    set_joint_rhs(team, p);
    solve_joints_with_factors(team, p);
  } else {
    note_bodies(team, p);
    linearise_joints(team, p);
    solve_joints(team, p);
    if (has_loop_rows(p)) prepare_loops(team, p);
  }
  if (p.m.tendon_axis_count > 0) {  // those among the loops' rows get theirs from close_loops
    const int tendons = p.axis_base() + p.m.joint_axis_count;
    team.for_each(p.m.tendon_axis_count, [&](int i) { p.w.dlambda[tendons + i] = 0; });
  }
  if (has_loop_rows(p)) start_loops(team, p);
  int sweeps = 0;
  const SweptLaws<Real> laws = swept_laws(p);
  SweptSystem<Real> system = swept_system<Real>(p.w);
  if (delassus_serves<Real>(p.m, laws)) {
    sweeps = sweep_few(team, p, laws, system, plan);
  } else {
    if (!plan.reuse_factors) find_joint_response(team, p);
    sweeps = sweep_many(team, p, laws, system, plan);
  }
  team.for_each(p.row_count() - p.limit_base(), [&](int i) {
    const int row = p.limit_base() + i;
    p.w.dlambda[row] = p.w.lambda[row] - p.w.sweeps.start_impulse[row];
    p.w.lambda[row] = p.w.sweeps.start_impulse[row];
  });
  respond(team, p);
  if (has_loop_rows(p)) close_loops(team, p);
  const Real share = rotation_bound<Real>(team, p.m, p.s.dt, p.w.du_angular);
  advance<Real>(team, iterate_size(p), present_iterate<Real>(p.w), newton_direction<Real>(p.w), share);
  return {share, sweeps};
}

}  // namespace axion::solver
