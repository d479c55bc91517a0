// Sweeps over the contacts of piles, where a column of the Delassus matrix for each row would be too long to store.
//
//   repeat until a sweep over all rows finds every row within its tolerance:
//     compute the bodies' velocities anew from the impulses
//     sweep over all rows; the list is every row above its tolerance, and every row that shares a body with one
//     sweep over the list, with momentum, for a stretch of sweeps (PileSweepParameters)
//
// Most places of a pile settle at once and a few take long, each at its own pace. A list lets the slow places sweep
// without the rest, and momentum that starts anew with each list suits that list. In float32 momentum amplifies the
// rounding error between impulses and velocities by 1/(1 − m); velocities computed anew remove that error, so that the
// sweep over all rows judges by the same numbers as residual.hpp.
//
// In: impulses in lambda, the joints factorised. Out: impulses in lambda. Cost: a sweep over a list is linear in its
// rows. Free bodies are swept by coloured groups of contacts (coloured_sweeps.hpp), all others a contact or row at a
// time (BlockSweeps, below). Called by sweep_round.hpp alone.
#pragma once

#include <limits>

#include "engine/contact_solver/momentum.hpp"
#include "engine/contact_solver/sweep_plan.hpp"
#include "engine/contact_solver/swept_units.hpp"

namespace axion::solver {

struct SweptList {
  int blocks, bodies;
};

// Visits one block after another, on velocities of the bodies; momentum in sums over the rows.
template <typename Real>
struct BlockSweeps {
  BodySpace<Real> u;
  ArrayView<Real> velocity_last;  // six a body, after the last sweep
  SweepHistory<Real> history;
  ArrayView<int> unsettled, listed_row;           // [nswept blocks]
  ArrayView<int> touched, listed_body;            // [nb]
  ArrayView<Real> change;                         // [nrow] of impulses since the round began
  const math::Vec3<Real>*du_linear, *du_angular;  // [nb] the answer of the joints alone
  int body_count;

  // Velocities from the impulses: their change since the sweeps began moves the bodies of each tree by its response.
  template <typename Team>
  AXION_HD_CALL void renew(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                           const Real* impulses) {
    const int base = laws.limit_base();
    team.for_each(laws.row_count() - base,
                  [&](int k) { change[base + k] = impulses[base + k] - system.start_impulse[base + k]; });
    team.for_each(body_count, [&](int b) {
      const Impulse<Real> sum = u.joints.gather(b, change);
      Real* f = u.joints.body_impulse(b);
      for (int k = 0; k < 3; ++k) f[k] = sum.linear[k], f[3 + k] = sum.angular[k];
    });
    team.for_each(body_count, [&](int b) {
      const int start = u.joints.tree_start(b);
      Real* v = u.body_velocity + 6 * b;
      for (int k = 0; k < 3; ++k) v[k] = du_linear[b][k], v[3 + k] = du_angular[b][k];
      for (int i = start; i < start + u.joints.tree_size(b); ++i) {
        const Real* f = u.joints.body_impulse(i);
        for (int c = 0; c < 6; ++c) {
          const Real* column = u.joints.column(i, c) + 6 * (b - start);
          for (int k = 0; k < 6; ++k) v[k] += column[k] * f[c];
        }
      }
    });
  }

  // A sweep over all blocks. Returns whether one was above `share` of its tolerance; `unsettled`: which.
  template <typename Team>
  AXION_HD_CALL bool sweep_all(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system, Real* impulses,
                               Real share, bool lifts) {
    Sweep<Real, BodySpace<Real>> sweep{laws, system, u, impulses, share, lifts};
    bool some = false;
    for (int block = 0; block < laws.unit_count(); ++block) {
      const bool moves = visit_row(team, sweep, laws.first_row(block));
      team.for_each(1, [&](int) { unsettled[block] = moves; });
      some |= moves;
    }
    return some;
  }

  // listed_row, listed_body: the blocks above their tolerance and those that share a tree of bodies with them; the
  // bodies whose velocities these change. Or all of both. In their own order.
  template <typename Team>
  AXION_HD_CALL SweptList list(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>&, const Real*,
                               bool local) {
    const auto tree = [&](int b) { return u.joints.tree_start(b); };
    const auto touch = [&](int row) {
      const RowBodies on = u.geometry.bodies(row);
      touched[tree(on.a)] = 1;
      if (on.b >= 0) touched[tree(on.b)] = 1;
    };
    const auto is_touched = [&](int block) {
      const RowBodies on = u.geometry.bodies(laws.first_row(block));
      return touched[tree(on.a)] != 0 || (on.b >= 0 && touched[tree(on.b)] != 0);
    };
    team.for_each(body_count, [&](int b) { touched[b] = local ? 0 : 1; });
    team.for_each(1, [&](int) {
      for (int block = 0; block < laws.unit_count(); ++block) {
        if (unsettled[block] != 0) touch(laws.first_row(block));
      }
    });
    const int blocks =
        team.filter(laws.unit_count(), is_touched, [&](int k, int place) { listed_row[place] = laws.first_row(k); });
    team.for_each(1, [&](int) {
      for (int k = 0; k < blocks; ++k) touch(listed_row[k]);
    });
    const int bodies = team.filter(
        body_count, [&](int b) { return touched[tree(b)] != 0; }, [&](int b, int place) { listed_body[place] = b; });
    return {blocks, bodies};
  }

  // Calls f(row) for the rows of the k-th listed block.
  template <typename F>
  AXION_HD void for_each_listed_row(const SweptLaws<Real>& laws, int k, F&& f) const {
    const int row = listed_row[k], count = laws.rows_from(row);
    for (int i = row; i < row + count; ++i) f(i);
  }

  // The start of momentum: no sweep came before, as velocities are renewed before a sweep over all blocks.
  template <typename Team>
  AXION_HD void begin(const Team& team, const SweptLaws<Real>& laws, const Real* impulses, const SweptList& list) {
    team.for_each(list.blocks, [&](int k) {
      for_each_listed_row(laws, k, [&](int row) { history.swept_impulse[row] = impulses[row]; });
    });
    team.for_each(list.bodies, [&](int k) {
      const int at = 6 * listed_body[k];
      for (int i = at; i < at + 6; ++i) velocity_last[i] = u.body_velocity[i];
    });
  }

  template <typename Team>
  AXION_HD_CALL bool sweep(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system, Real* impulses,
                           const SweptList& list, Real share, bool lifts) {
    team.for_each(list.blocks, [&](int k) {
      for_each_listed_row(laws, k, [&](int row) { history.last_impulse[row] = impulses[row]; });
    });
    Sweep<Real, BodySpace<Real>> sweep{laws, system, u, impulses, share, lifts};
    bool some = false;
    for (int k = 0; k < list.blocks; ++k) some |= visit_row(team, sweep, listed_row[k]);
    return some;
  }

  // Extrapolates impulses and velocities after a sweep. `means`: impulses are summed for a mean, of which this is the
  // first or not; impulse_sum: the sum.
  template <typename Team>
  AXION_HD_CALL void accelerate(const Team& team, const SweptLaws<Real>& laws, Real* impulses, const SweptList& list,
                                Momentum<Real>& momentum, bool means, bool first) {
    if (means) {
      team.for_each(list.blocks, [&](int k) {
        for_each_listed_row(laws, k, [&](int row) { add_row_to_mean(impulses, history, row, first); });
      });
    }
    const auto sum_of = [&](const Real* last) {
      return team.template sum<Real>(list.blocks, [&](int k) {
        Real sum = 0;
        for_each_listed_row(laws, k, [&](int row) { sum += sweep_product(laws, history, impulses, row, last); });
        return sum;
      });
    };
    const Real size = sum_of(history.last_impulse);
    const Real m = next_coefficient(momentum, size, sum_of(history.swept_impulse));
    team.for_each(list.blocks, [&](int k) {
      for_each_listed_row(laws, k, [&](int row) { extrapolate(m, impulses[row], history.swept_impulse[row]); });
    });
    team.for_each(list.bodies, [&](int k) {
      const int at = 6 * listed_body[k];
      for (int i = at; i < at + 6; ++i) extrapolate(m, u.body_velocity[i], velocity_last[i]);
    });
  }

  // Impulses to the mean of `count` sweeps; velocities are renewed next.
  template <typename Team>
  AXION_HD void move_to_mean(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>&, Real* impulses,
                             const SweptList& list, int count) {
    team.for_each(list.blocks, [&](int k) {
      for_each_listed_row(laws, k, [&](int row) { impulses[row] = history.impulse_sum[row] / Real(count); });
    });
  }

  // Nothing to do: a sweep a row at a time changes the rows' own impulses.
  template <typename Team>
  AXION_HD void keep_impulses(const Team&, const SweptLaws<Real>&, const SweptSystem<Real>&, Real*, const SweptList&) {}
};

template <typename Real>
AXION_HD inline BlockSweeps<Real> block_sweeps(const Problem<Real>& p) {
  const auto& w = p.w.sweeps;
  return {body_space(p),     w.body_velocity_last, sweep_history<Real>(p.w),
          w.block_unsettled, w.listed_row,         w.body_touched,
          w.listed_body,     p.w.dlambda,          p.w.du_linear,
          p.w.du_angular,    p.m.body_count};
}

// Makes the sweeps that `plan` asks for; plan.count is a number of sweeps over all blocks, and a sweep over a list
// counts as its share of them. `sweeps` is the form in which they are made:
//   renew          velocities from the impulses of the rows
//   sweep_all      whether a block was above `share` of its tolerance
//   list           what a stretch is over: what that sweep found, or all
//   begin, sweep, accelerate, move_to_mean          a stretch
//   keep_impulses  its impulses to the rows
// Returns how many sweeps were made, of all blocks or of a list.
template <typename Sweeps, typename Real, typename Team>
AXION_HD_CALL int sweep_where_needed(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system,
                                     Real* impulses, const SweepPlan<Real>& plan, Sweeps& sweeps) {
  Momentum<Real> momentum{plan.momentum};
  const int blocks = laws.unit_count(), enough = PileSweepParameters::kStretchVisits * blocks;
  int left = plan.count * blocks, done = 0;
  for (int stretch = 0; left > 0; ++stretch) {
    const bool is_long = (plan.count - SweepParameters::kLongSweeps) * blocks >= left;
    sweeps.renew(team, laws, system, impulses);
    ++done;
    const Real tolerance = is_long ? greater(plan.tolerance, plan.coarse) : plan.tolerance;
    if (!sweeps.sweep_all(team, laws, system, impulses, tolerance, lifts_in(laws, done - 1))) return done;
    const auto list = sweeps.list(team, laws, system, impulses, plan.local);
    sweeps.begin(team, laws, impulses, list);
    momentum.size = momentum.least = std::numeric_limits<Real>::max();
    const int means =
        plan.averaged ? PileSweepParameters::kMeanUnit * (1 + stretch % PileSweepParameters::kMeanUnits) : 0;
    const auto goes_on = [&](int made) {
      if (plan.averaged) return made < means;
      if (!plan.local) return made < plan.count;
      return made < PileSweepParameters::kShortStretch ||
             (made < PileSweepParameters::kLongStretch && made * list.blocks < enough);
    };
    int made = 0;
    for (bool unsettled = true; unsettled && goes_on(made); ++made) {
      const Real share = made >= SweepParameters::kLongSweeps ? greater(plan.tolerance, plan.coarse) : plan.tolerance;
      unsettled = sweeps.sweep(team, laws, system, impulses, list, share, lifts_in(laws, done + made));
      sweeps.accelerate(team, laws, impulses, list, momentum, plan.averaged, made == 0);
    }
    if (plan.averaged && made == means) {
      sweeps.move_to_mean(team, laws, system, impulses, list, means);
      momentum.theta = 1;
    }
    sweeps.keep_impulses(team, laws, system, impulses, list);
    left -= blocks + made * list.blocks;
    done += made;
  }
  return done;
}

}  // namespace axion::solver
