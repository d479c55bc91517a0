// Sweeps on the velocities of the rows: they find which contacts stick, slide and open; joints are linearised once.
//
//   repeat at most plan.count times, until no row is above plan.tolerance:
//     for each limit and bounded row, each contact, then each moment: solve it alone (swept_rows.hpp)
//     after the first sweeps, and at growing intervals: steps on the active rows as a whole (active_set_step.hpp)
//     else momentum (momentum.hpp); every kMeanStretch sweeps the mean of the impulses, where plan.averaged
//
// Newton's full steps take eight to ten iterations, or cycle, where controls change at every step and a robot lies on
// many frictional contacts: the joints are almost linear then, and the active set is the difficulty. With the joint
// response V (joint_inverse.hpp) velocities are u = u₀ + V Jᵀ(λ − λ₀), so that sweeps converge steadily to the step's
// own laws (residual.hpp), and Newton finishes in one or two iterations.
//
// In: the joints factorised, rows noted (note_rows), impulses in lambda. Out: impulses in lambda, row_velocity. Cost: a
// sweep takes a few per cent of a factorisation; a row's first change makes its column of the Delassus operator.
#pragma once

#include "engine/contact_solver/active_set_step.hpp"
#include "engine/contact_solver/momentum.hpp"
#include "engine/contact_solver/sweep_plan.hpp"
#include "engine/contact_solver/swept_rows.hpp"
#include "engine/problem/iterate.hpp"

namespace axion::solver {

// last_impulse: impulses before the sweep.
template <typename Real, typename Team>
AXION_HD inline void note_sweep(const Team& team, const Problem<Real>& p) {
  team.for_each(p.row_count() - p.limit_base(),
                [&](int i) { p.w.sweeps.last_impulse[p.limit_base() + i] = p.w.lambda[p.limit_base() + i]; });
}

template <typename Real, typename Team>
AXION_HD inline void accelerate(const Team& team, const Problem<Real>& p, int sweep, Momentum<Real>& momentum) {
  const int base = p.limit_base(), count = p.row_count() - base;
  const auto sum_of = [&](const Real* last) {
    return team.template sum<Real>(count, [&](int k) { return sweep_product(p, base + k, last); });
  };
  const Real size = sum_of(p.w.sweeps.last_impulse);
  Real m = 0;
  if (sweep - momentum.first >= SweepParameters::kPlainSweeps) {
    m = next_coefficient(momentum, size, sum_of(p.w.sweeps.swept_impulse));
  } else {
    momentum.size = momentum.least = size;
  }
  team.for_each(count, [&](int k) { extrapolate(m, p.w.lambda[base + k], p.w.sweeps.swept_impulse[base + k]); });
  Real *v = p.w.sweeps.row_velocity, *v_last = p.w.sweeps.row_velocity_last;
  team.for_each(RowSpace::size(p), [=](int i) { extrapolate(m, v[i], v_last[i]); });
}

// impulse_sum: the sum of a row's impulses over the sweeps of a mean, of which this is the first or not.
template <typename Real>
AXION_HD inline void add_row_to_mean(const Problem<Real>& p, int row, bool first) {
  p.w.sweeps.impulse_sum[row] = (first ? Real(0) : p.w.sweeps.impulse_sum[row]) + p.w.lambda[row];
}

template <typename Real, typename Team>
AXION_HD inline void add_to_mean(const Team& team, const Problem<Real>& p, bool first) {
  team.for_each(p.row_count() - p.limit_base(), [&](int k) { add_row_to_mean(p, p.limit_base() + k, first); });
}

// Moves impulses and velocities to the mean of the stretch; every law's impulses are a convex set.
template <typename Real, typename Team>
AXION_HD_CALL void move_to_mean(const Team& team, const Problem<Real>& p) {
  const auto move = [&](int row, int count) {
    Real change[3] = {};
    bool moves = false;
    for (int k = 0; k < count; ++k) {
      change[k] = p.w.sweeps.impulse_sum[row + k] / Real(SweepParameters::kMeanStretch) - p.w.lambda[row + k];
      moves = moves || change[k] != Real(0);
    }
    if (!moves) return;
    RowSpace::apply_impulses(team, p, row, count, change);
    team.for_each(count, [&](int k) { p.w.lambda[row + k] += change[k]; });
  };
  for (int row = p.limit_base(); row < p.contact_base(); ++row) move(row, 1);
  for (int i = 0; i < p.block_count(); ++i) move(p.contact_base() + 3 * i, 3);
}

// Right-hand side of the joint system at the iterate.
template <typename Real, typename Team>
AXION_HD inline void set_joint_rhs(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int b) {
    Real* rhs = body_unknowns(p, b);
    for (int k = 0; k < 3; ++k) rhs[k] = -p.w.g_linear[b][k], rhs[3 + k] = -p.w.g_angular[b][k];
    for (int k = 0; k < joint_row_count(p.m, p.m.bodies[b].joint); ++k) {
      rhs[6 + k] = -p.w.residual[node_row(p, p.m.joints[p.m.bodies[b].joint], k)];
    }
  });
}

// Chains of steps on the active set between sweeps: when the next is made, in sweeps, how long to wait for the one
// after, and how many were made.
template <typename Real>
struct ActiveSetSteps {
  Real next = Real(SweepParameters::kFirstActiveStep), pause = Real(SweepParameters::kActiveStepPause);
  int made = 0;
};

// After a sweep. Returns whether the impulses differ from those that it left.
template <typename Real, typename Team>
AXION_HD inline bool try_active_set(const Team& team, const Problem<Real>& p, int sweep, Real proximal,
                                    Momentum<Real>& momentum, ActiveSetSteps<Real>& steps) {
  if (Real(sweep) < steps.next || steps.made == SweepParameters::kActiveChains) return false;
  steps.next = Real(sweep) + steps.pause;
  steps.pause *= Real(SweepParameters::kActivePauseGrowth);
  ++steps.made;
  if (!follow_active_set(team, p, proximal)) return false;
  momentum = {momentum.greatest, sweep};
  return true;
}

// A sweep over limits and bounded rows: those that may change are looked for with every address found once.
template <typename Real, typename Team>
AXION_HD inline bool sweep_single_rows(const Team& team, const Problem<Real>& p, Real share) {
  const int base = p.limit_base(), efforts = p.effort_base() - base, single = p.contact_base() - base;
  const Real *lambda = p.w.lambda + base, *velocity = p.w.sweeps.row_velocity;
  const Real *start = p.w.sweeps.start_velocity + base, *compliance = p.w.sweeps.row_compliance + base;
  bool unsettled = false;
  for (int row = 0; row < single; ++row) {
    row = team.first(row, single, [=](int i) {
      return i >= efforts || lambda[i] != Real(0) || !(start[i] + velocity[i] + compliance[i] * lambda[i] >= Real(0));
    });
    if (row < single) unsettled |= sweep_row<RowSpace>(team, p, base + row, share);
  }
  return unsettled;
}

// A sweep over contacts as threads of a GPU make it, with every address found once: a GPU's compiler does not know
// which arrays a store leaves unchanged.
template <typename Real, typename Team>
AXION_HD_CALL bool share_out_contacts(const Team& team, const Problem<Real>& p, Real share, bool lifts) {
  const int base = p.limit_base(), single = p.contact_base() - base;
  const int contacts = p.contact_count, length = RowSpace::size(p);
  Real *lambda = p.w.lambda + base, *velocity = p.w.sweeps.row_velocity;
  const Real *r = p.w.sweeps.start_velocity + base, *compliance = p.w.sweeps.row_compliance + base,
             *tolerance = p.w.row_tolerance + base;
  const Real *scale = p.w.row_scale + base, *delassus = p.w.sweeps.delassus, *gain = p.w.sweeps.contact_block,
             *inverse = p.w.sweeps.contact_block_inverse;
  const int* known = p.w.sweeps.delassus_known;
  bool unsettled = false;
  for (int i = 0; i < contacts; ++i) {
    const int row = single + 3 * i;
    const ContactImpulse<Real> last{lambda[row], lambda[row + 1], lambda[row + 2]};
    ContactImpulse<Real> v{r[row] + velocity[row] + compliance[row] * last.n, r[row + 1] + velocity[row + 1],
                           r[row + 2] + velocity[row + 2]};
    if (p.m.is_soft) v.x += compliance[row + 1] * last.x, v.y += compliance[row + 2] * last.y;
    const bool idle = v.n >= Real(0) && last.n == Real(0) && last.x == Real(0) && last.y == Real(0);
    if (idle && !(lifts && slips_shut(p, i, v))) continue;
    if (known[row] == 0) prepare_block<RowSpace>(team, p, base + row);
    if (lifts) lift_contact(team, p, i, v, last);
    const ContactLaw<Real> law{p.w.contacts[i].friction, scale[row], scale[row + 1], share * tolerance[row],
                               share * tolerance[row + 1]};
    const SweptContact<Real> swept = solve_swept_contact(gain + 9 * i, inverse + 3 * i, law, v, last);
    const ContactImpulse<Real> next = swept.next;
    unsettled |= swept.unsettled;
    const Real n = next.n - last.n, x = next.x - last.x, y = next.y - last.y;
    const Real* column = delassus + row * length;
    team.for_each(length, [=](int k) {
      const Real *by_n = column + k, *by_x = by_n + length, *by_y = by_x + length;
      velocity[k] += *by_n * n + *by_x * x + *by_y * y;
      if (k < 3) lambda[row + k] = k == 0 ? next.n : k == 1 ? next.x : next.y;
    });
  }
  return unsettled;
}

// Sweeps on the rows' own velocities, with steps on the active set, until `plan` is done. Returns how many.
template <typename Real, typename Team>
AXION_HD_CALL int make_sweeps(const Team& team, const Problem<Real>& p, const SweepPlan<Real>& plan) {
  RowSpace::start(team, p);
  Momentum<Real> momentum{plan.momentum};
  ActiveSetSteps<Real> steps;
  bool unsettled = true;
  int made = 0;
  for (; made < plan.count && unsettled; ++made) {
    note_sweep(team, p);
    const Real tolerance = made >= SweepParameters::kLongSweeps ? greater(plan.tolerance, plan.coarse) : plan.tolerance;
    const bool lifts = lifts_in(p, made);
    unsettled = sweep_single_rows(team, p, tolerance);
    if constexpr (Team::kSharesByWarp) {
      unsettled |= share_out_contacts(team, p, tolerance, lifts);
    } else {
      for (int i = 0; i < p.contact_count; ++i) unsettled |= sweep_contact<RowSpace>(team, p, i, tolerance, lifts);
    }
    for (int k = 0; k < p.moment_count; ++k) unsettled |= sweep_moment<RowSpace>(team, p, k, tolerance);
    if (!unsettled || made + 1 == plan.count) continue;
    if (plan.averaged) add_to_mean(team, p, made % SweepParameters::kMeanStretch == 0);
    if (plan.averaged && (made + 1) % SweepParameters::kMeanStretch == 0) {
      move_to_mean(team, p);
      momentum.theta = 1;
    }
    if (try_active_set(team, p, made, plan.proximal, momentum, steps)) continue;
    accelerate(team, p, made, momentum);
  }
  return made;
}

}  // namespace axion::solver
