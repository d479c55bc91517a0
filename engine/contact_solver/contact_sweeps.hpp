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
  const auto move = [&](int row, int count) {
    Real change[3] = {};
    bool moves = false;
    for (int k = 0; k < count; ++k) {
      change[k] = history.impulse_sum[row + k] / Real(SweepParameters::kMeanStretch) - impulses[row + k];
      moves = moves || change[k] != Real(0);
    }
    if (!moves) return;
    u.apply_impulses(team, row, count, change);
    team.for_each(count, [&](int k) { impulses[row + k] += change[k]; });
  };
  for (int row = laws.limit_base(); row < laws.contact_base(); ++row) move(row, 1);
  for (int i = 0; i < laws.block_count(); ++i) move(laws.contact_base() + 3 * i, 3);
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

// A sweep over limits and bounded rows: those that may change are looked for with every address found once.
template <typename Real, typename Team>
AXION_HD inline bool sweep_single_rows(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system,
                                       RowSpace<Real>& u, Real* impulses, Real share) {
  const int base = laws.limit_base(), efforts = laws.effort_base() - base, single = laws.contact_base() - base;
  const Real *lambda = impulses + base, *velocity = u.row_velocity;
  const Real *start = system.start_velocity + base, *compliance = system.row_compliance + base;
  bool unsettled = false;
  for (int row = 0; row < single; ++row) {
    row = team.first(row, single, [=](int i) {
      return i >= efforts || lambda[i] != Real(0) || !(start[i] + velocity[i] + compliance[i] * lambda[i] >= Real(0));
    });
    if (row < single) unsettled |= sweep_row(team, laws, system, u, impulses, base + row, share);
  }
  return unsettled;
}

// A sweep over contacts as threads of a GPU make it, with every address found once: a GPU's compiler does not know
// which arrays a store leaves unchanged.
template <typename Real, typename Team>
AXION_HD_CALL bool share_out_contacts(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system,
                                      RowSpace<Real>& u, Real* impulses, Real share, bool lifts) {
  const int base = laws.limit_base(), single = laws.contact_base() - base;
  const int contacts = laws.contact_count, length = u.length;
  Real *lambda = impulses + base, *velocity = u.row_velocity;
  const Real *r = system.start_velocity + base, *compliance = system.row_compliance + base,
             *tolerance = laws.row_tolerance + base;
  const Real *scale = laws.row_scale + base, *delassus = u.columns.delassus, *gain = system.contact_block,
             *inverse = system.contact_block_inverse;
  const int* known = u.columns.known;
  bool unsettled = false;
  for (int i = 0; i < contacts; ++i) {
    const int row = single + 3 * i;
    const ContactImpulse<Real> last{lambda[row], lambda[row + 1], lambda[row + 2]};
    ContactImpulse<Real> v{r[row] + velocity[row] + compliance[row] * last.n, r[row + 1] + velocity[row + 1],
                           r[row + 2] + velocity[row + 2]};
    if (laws.is_soft) v.x += compliance[row + 1] * last.x, v.y += compliance[row + 2] * last.y;
    const bool idle = v.n >= Real(0) && last.n == Real(0) && last.x == Real(0) && last.y == Real(0);
    if (idle && !(lifts && slips_shut(system, i, v))) continue;
    if (known[row] == 0) prepare_block(team, laws, system, u, impulses, base + row);
    if (lifts) lift_contact(team, laws, system, i, v, last);
    const ContactLaw<Real> law{laws.contacts[i].friction, scale[row], scale[row + 1], share * tolerance[row],
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
    const bool lifts = lifts_in(laws, made);
    unsettled = sweep_single_rows(team, laws, system, u, impulses, tolerance);
    if constexpr (Team::kSharesByWarp) {
      unsettled |= share_out_contacts(team, laws, system, u, impulses, tolerance, lifts);
    } else {
      for (int i = 0; i < laws.contact_count; ++i)
        unsettled |= sweep_contact(team, laws, system, u, impulses, i, tolerance, lifts);
    }
    for (int k = 0; k < laws.moment_count; ++k)
      unsettled |= sweep_moment(team, laws, system, u, impulses, k, tolerance);
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
