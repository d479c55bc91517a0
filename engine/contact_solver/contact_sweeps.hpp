// Sweeps on the velocities of the rows: they find which contacts stick, slide and open; joints are linearised once.
//
//   repeat at most plan.count times, until no row is above plan.tolerance:
//     for each unit, in the order of rows: solve it alone (swept_units.hpp)
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
#include "engine/contact_solver/swept_units.hpp"
#include "engine/problem/iterate.hpp"

namespace axion::solver {

// last_impulse: impulses before the sweep.
template <typename Real, typename Team>
AXION_HD inline void note_sweep(const Team& team, const SweptLaws<Real>& laws, const Real* impulses,
                                SweepHistory<Real>& history) {
  team.for_each(laws.row_count() - laws.limit_base(),
                [&](int i) { history.last_impulse[laws.limit_base() + i] = impulses[laws.limit_base() + i]; });
}

template <typename Real, typename Team>
AXION_HD inline void accelerate(const Team& team, const SweptLaws<Real>& laws, RowSpace<Real>& u, Real* impulses,
                                SweepHistory<Real>& history, int sweep, Momentum<Real>& momentum) {
  const int base = laws.limit_base(), count = laws.row_count() - base;
  const auto sum_of = [&](const Real* last) {
    return team.template sum<Real>(count,
                                   [&](int k) { return sweep_product(laws, history, impulses, base + k, last); });
  };
  const Real size = sum_of(history.last_impulse);
  Real m = 0;
  if (sweep - momentum.first >= SweepParameters::kPlainSweeps) {
    m = next_coefficient(momentum, size, sum_of(history.swept_impulse));
  } else {
    momentum.size = momentum.least = size;
  }
  team.for_each(count, [&](int k) { extrapolate(m, impulses[base + k], history.swept_impulse[base + k]); });
  Real *v = u.row_velocity, *v_last = u.row_velocity_last;
  team.for_each(u.length, [=](int i) { extrapolate(m, v[i], v_last[i]); });
}

// impulse_sum: the sum of a row's impulses over the sweeps of a mean, of which this is the first or not.
template <typename Real>
AXION_HD inline void add_row_to_mean(const Real* impulses, SweepHistory<Real>& history, int row, bool first) {
  history.impulse_sum[row] = (first ? Real(0) : history.impulse_sum[row]) + impulses[row];
}

template <typename Real, typename Team>
AXION_HD inline void add_to_mean(const Team& team, const SweptLaws<Real>& laws, const Real* impulses,
                                 SweepHistory<Real>& history, bool first) {
  team.for_each(laws.row_count() - laws.limit_base(),
                [&](int k) { add_row_to_mean(impulses, history, laws.limit_base() + k, first); });
}

// Moves impulses and velocities to the mean of the stretch; every law's impulses are a convex set.
template <typename Real, typename Team>
AXION_HD_CALL void move_to_mean(const Team& team, const SweptLaws<Real>& laws, const SweepHistory<Real>& history,
                                RowSpace<Real>& u, Real* impulses) {
  for (int unit = 0; unit < laws.unit_count(); ++unit) {
    const int row = laws.first_row(unit), count = laws.rows_from(row);
    Real change[3] = {};
    bool moves = false;
    for (int k = 0; k < count; ++k) {
      change[k] = history.impulse_sum[row + k] / Real(SweepParameters::kMeanStretch) - impulses[row + k];
      moves = moves || change[k] != Real(0);
    }
    if (!moves) continue;
    u.apply_impulses(team, row, count, change);
    team.for_each(count, [&](int k) { impulses[row + k] += change[k]; });
  }
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
AXION_HD inline bool try_active_set(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                    RowSpace<Real>& u, Real* impulses, ActiveSet<Real>& set, int sweep, Real proximal,
                                    Momentum<Real>& momentum, ActiveSetSteps<Real>& steps) {
  if (Real(sweep) < steps.next || steps.made == SweepParameters::kActiveChains) return false;
  steps.next = Real(sweep) + steps.pause;
  steps.pause *= Real(SweepParameters::kActivePauseGrowth);
  ++steps.made;
  if (!follow_active_set(team, laws, system, u, impulses, set, proximal)) return false;
  momentum = {momentum.greatest, sweep};
  return true;
}

// Sweeps on the rows' own velocities, with steps on the active set, until `plan` is done. Returns how many.
template <typename Real, typename Team>
AXION_HD_CALL int make_sweeps(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system,
                              RowSpace<Real>& u, Real* impulses, SweepHistory<Real>& history, ActiveSet<Real>& set,
                              const SweepPlan<Real>& plan) {
  Momentum<Real> momentum{plan.momentum};
  ActiveSetSteps<Real> steps;
  bool unsettled = true;
  int made = 0;
  for (; made < plan.count && unsettled; ++made) {
    note_sweep(team, laws, impulses, history);
    const Real tolerance = made >= SweepParameters::kLongSweeps ? greater(plan.tolerance, plan.coarse) : plan.tolerance;
    Sweep<Real, RowSpace<Real>> sweep{laws, system, u, impulses, tolerance, lifts_in(laws, made)};
    unsettled = false;
    laws.for_each_law([&](const auto& units) { unsettled |= visit_units(team, sweep, units); });
    if (!unsettled || made + 1 == plan.count) continue;
    if (plan.averaged) add_to_mean(team, laws, impulses, history, made % SweepParameters::kMeanStretch == 0);
    if (plan.averaged && (made + 1) % SweepParameters::kMeanStretch == 0) {
      move_to_mean(team, laws, history, u, impulses);
      momentum.theta = 1;
    }
    if (try_active_set(team, laws, system, u, impulses, set, made, plan.proximal, momentum, steps)) continue;
    accelerate(team, laws, u, impulses, history, made, momentum);
  }
  return made;
}

}  // namespace axion::solver
