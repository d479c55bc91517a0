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
#include "engine/contact_solver/swept_rows.hpp"

namespace axion::solver {

// Blocks of rows that are solved together: limits and bounded rows alone, contacts by three.
template <typename Real>
AXION_HD inline int row_block_count(const Problem<Real>& p) {
  return p.contact_base() - p.limit_base() + p.block_count();
}

template <typename Real>
AXION_HD inline int first_row_of_block(const Problem<Real>& p, int block) {
  const int single = p.contact_base() - p.limit_base();
  return p.limit_base() + (block < single ? block : single + 3 * (block - single));
}

struct SweptList {
  int blocks, bodies;
};

// Visits one block after another, on velocities of the bodies; momentum in sums over the rows.
struct BlockSweeps {
  template <typename Real, typename Team>
  AXION_HD static bool sweep_block(const Team& team, const Problem<Real>& p, int row, Real share, bool lifts) {
    if (row < p.contact_base()) return sweep_row<BodySpace>(team, p, row, share);
    if (row >= p.moment_base()) return sweep_moment<BodySpace>(team, p, (row - p.moment_base()) / 3, share);
    return sweep_contact<BodySpace>(team, p, (row - p.contact_base()) / 3, share, lifts);
  }

  // Velocities from the impulses: their change since the sweeps began moves the bodies of each tree by its response.
  template <typename Real, typename Team>
  AXION_HD_CALL static void renew(const Team& team, const Problem<Real>& p) {
    const int base = p.limit_base();
    team.for_each(p.row_count() - base,
                  [&](int k) { p.w.dlambda[base + k] = p.w.lambda[base + k] - p.w.sweeps.start_impulse[base + k]; });
    team.for_each(p.m.body_count, [&](int b) {
      const Impulse<Real> sum = gather_swept_impulse(p, b, p.w.dlambda);
      Real* f = body_unknowns(p, b);
      for (int k = 0; k < 3; ++k) f[k] = sum.linear[k], f[3 + k] = sum.angular[k];
    });
    team.for_each(p.m.body_count, [&](int b) {
      const int start = p.m.bodies[b].tree_start;
      Real* u = p.w.sweeps.body_velocity + 6 * b;
      for (int k = 0; k < 3; ++k) u[k] = p.w.du_linear[b][k], u[3 + k] = p.w.du_angular[b][k];
      for (int i = start; i < start + p.m.bodies[b].tree_size; ++i) {
        const Real* f = body_unknowns(p, i);
        for (int c = 0; c < 6; ++c) {
          const Real* column = response_column(p, i, c) + 6 * (b - start);
          for (int k = 0; k < 6; ++k) u[k] += column[k] * f[c];
        }
      }
    });
  }

  // A sweep over all blocks. Returns whether one was above `share` of its tolerance; block_unsettled: which.
  template <typename Real, typename Team>
  AXION_HD_CALL static bool sweep_all(const Team& team, const Problem<Real>& p, Real share, bool lifts) {
    bool unsettled = false;
    for (int block = 0; block < row_block_count(p); ++block) {
      const bool moves = sweep_block(team, p, first_row_of_block(p, block), share, lifts);
      team.for_each(1, [&](int) { p.w.sweeps.block_unsettled[block] = moves; });
      unsettled |= moves;
    }
    return unsettled;
  }

  // listed_row, listed_body: the blocks above their tolerance and those that share a tree of bodies with them; the
  // bodies whose velocities these change. Or all of both. In their own order.
  template <typename Real, typename Team>
  AXION_HD_CALL static SweptList list(const Team& team, const Problem<Real>& p, bool local) {
    const auto tree = [&](int b) { return p.m.bodies[b].tree_start; };
    const auto touch = [&](int row) {
      const RowBodies on = swept_bodies(p, row);
      p.w.sweeps.body_touched[tree(on.a)] = 1;
      if (on.b >= 0) p.w.sweeps.body_touched[tree(on.b)] = 1;
    };
    const auto touched = [&](int block) {
      const RowBodies on = swept_bodies(p, first_row_of_block(p, block));
      return p.w.sweeps.body_touched[tree(on.a)] != 0 || (on.b >= 0 && p.w.sweeps.body_touched[tree(on.b)] != 0);
    };
    team.for_each(p.m.body_count, [&](int b) { p.w.sweeps.body_touched[b] = local ? 0 : 1; });
    team.for_each(1, [&](int) {
      for (int block = 0; block < row_block_count(p); ++block) {
        if (p.w.sweeps.block_unsettled[block] != 0) touch(first_row_of_block(p, block));
      }
    });
    const int blocks = team.filter(row_block_count(p), touched,
                                   [&](int k, int place) { p.w.sweeps.listed_row[place] = first_row_of_block(p, k); });
    team.for_each(1, [&](int) {
      for (int k = 0; k < blocks; ++k) touch(p.w.sweeps.listed_row[k]);
    });
    const int bodies = team.filter(
        p.m.body_count, [&](int b) { return p.w.sweeps.body_touched[tree(b)] != 0; },
        [&](int b, int place) { p.w.sweeps.listed_body[place] = b; });
    return {blocks, bodies};
  }

  // Calls f(row) for the rows of the k-th listed block.
  template <typename Real, typename F>
  AXION_HD static void for_each_listed_row(const Problem<Real>& p, int k, F&& f) {
    const int row = p.w.sweeps.listed_row[k], count = swept_together(p, row);
    for (int i = row; i < row + count; ++i) f(i);
  }

  // The start of momentum: no sweep came before, as velocities are renewed before a sweep over all blocks.
  template <typename Real, typename Team>
  AXION_HD static void begin(const Team& team, const Problem<Real>& p, const SweptList& list) {
    team.for_each(list.blocks, [&](int k) {
      for_each_listed_row(p, k, [&](int row) { p.w.sweeps.swept_impulse[row] = p.w.lambda[row]; });
    });
    team.for_each(list.bodies, [&](int k) {
      const int at = 6 * p.w.sweeps.listed_body[k];
      for (int i = at; i < at + 6; ++i) p.w.sweeps.body_velocity_last[i] = p.w.sweeps.body_velocity[i];
    });
  }

  template <typename Real, typename Team>
  AXION_HD_CALL static bool sweep(const Team& team, const Problem<Real>& p, const SweptList& list, Real share,
                                  bool lifts) {
    team.for_each(list.blocks, [&](int k) {
      for_each_listed_row(p, k, [&](int row) { p.w.sweeps.last_impulse[row] = p.w.lambda[row]; });
    });
    bool unsettled = false;
    for (int k = 0; k < list.blocks; ++k) unsettled |= sweep_block(team, p, p.w.sweeps.listed_row[k], share, lifts);
    return unsettled;
  }

  // Extrapolates impulses and velocities after a sweep. `means`: impulses are summed for a mean, of which this is the
  // first or not; impulse_sum: the sum.
  template <typename Real, typename Team>
  AXION_HD_CALL static void accelerate(const Team& team, const Problem<Real>& p, const SweptList& list,
                                       Momentum<Real>& momentum, bool means, bool first) {
    if (means) {
      team.for_each(list.blocks,
                    [&](int k) { for_each_listed_row(p, k, [&](int row) { add_row_to_mean(p, row, first); }); });
    }
    const auto sum_of = [&](const Real* last) {
      return team.template sum<Real>(list.blocks, [&](int k) {
        Real sum = 0;
        for_each_listed_row(p, k, [&](int row) { sum += sweep_product(p, row, last); });
        return sum;
      });
    };
    const Real size = sum_of(p.w.sweeps.last_impulse);
    const Real m = next_coefficient(momentum, size, sum_of(p.w.sweeps.swept_impulse));
    team.for_each(list.blocks, [&](int k) {
      for_each_listed_row(p, k, [&](int row) { extrapolate(m, p.w.lambda[row], p.w.sweeps.swept_impulse[row]); });
    });
    team.for_each(list.bodies, [&](int k) {
      const int at = 6 * p.w.sweeps.listed_body[k];
      for (int i = at; i < at + 6; ++i) extrapolate(m, p.w.sweeps.body_velocity[i], p.w.sweeps.body_velocity_last[i]);
    });
  }

  // Impulses to the mean of `count` sweeps; velocities are renewed next.
  template <typename Real, typename Team>
  AXION_HD static void move_to_mean(const Team& team, const Problem<Real>& p, const SweptList& list, int count) {
    team.for_each(list.blocks, [&](int k) {
      for_each_listed_row(p, k, [&](int row) { p.w.lambda[row] = p.w.sweeps.impulse_sum[row] / Real(count); });
    });
  }

  // Nothing to do: a sweep a row at a time changes the rows' own impulses.
  template <typename Real, typename Team>
  AXION_HD static void keep_impulses(const Team&, const Problem<Real>&, const SweptList&) {}
};

// Makes the sweeps that `plan` asks for; plan.count is a number of sweeps over all blocks, and a sweep over a list
// counts as its share of them. `sweeps` is the form in which they are made:
//   renew(team, p)                                  velocities from the impulses of the rows
//   sweep_all(team, p, share, lifts)                whether a block was above `share` of its tolerance
//   list(team, p, local)                            what a stretch is over: what that sweep found, or all
//   begin, sweep, accelerate, move_to_mean          a stretch
//   keep_impulses(team, p, list)                    its impulses to the rows
// Returns how many sweeps were made, of all blocks or of a list.
template <typename Sweeps, typename Real, typename Team>
AXION_HD_CALL int sweep_where_needed(const Team& team, const Problem<Real>& p, const SweepPlan<Real>& plan,
                                     const Sweeps& sweeps) {
  Momentum<Real> momentum{plan.momentum};
  const int blocks = row_block_count(p), enough = PileSweepParameters::kStretchVisits * blocks;
  int left = plan.count * blocks, done = 0;
  for (int stretch = 0; left > 0; ++stretch) {
    const bool is_long = (plan.count - SweepParameters::kLongSweeps) * blocks >= left;
    sweeps.renew(team, p);
    ++done;
    const Real tolerance = is_long ? greater(plan.tolerance, plan.coarse) : plan.tolerance;
    if (!sweeps.sweep_all(team, p, tolerance, lifts_in(p, done - 1))) return done;
    const auto list = sweeps.list(team, p, plan.local);
    sweeps.begin(team, p, list);
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
      unsettled = sweeps.sweep(team, p, list, share, lifts_in(p, done + made));
      sweeps.accelerate(team, p, list, momentum, plan.averaged, made == 0);
    }
    if (plan.averaged && made == means) {
      sweeps.move_to_mean(team, p, list, means);
      momentum.theta = 1;
    }
    sweeps.keep_impulses(team, p, list);
    left -= blocks + made * list.blocks;
    done += made;
  }
  return done;
}

}  // namespace axion::solver
