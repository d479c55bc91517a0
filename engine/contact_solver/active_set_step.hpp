// A Newton step on the rows that sweeps hold active, in the space of the Delassus operator.
//
// Sweeps find within a few passes which contacts stick, slide and open; how fast the impulses then settle depends on
// how the contacts are coupled, and stiffly held legs on one trunk need hundreds of passes. With the active set held,
//
//   D_aa x = −(r + p λ)_a              D = J V Jᵀ, rows and columns of the active set (active_set_rows.hpp)
//   sliding contact, along friction    column D_n + μ (d·D_t)
//   sliding contact, across it         column t·D_t, t ⊥ d, and row t·v + t·D x + y |v_t|/(μ λ_n) = 0: slip stays
//                                      opposite to friction, whose direction turns by y/(μ λ_n)
//
// is solved densely. With d held instead, slip that turns takes as many steps as sweeps. Redundant contacts leave
// directions in which a small velocity takes large impulses, so that the whole step often leads far out of the cones
// where solutions within them exist, and a cut by contact upsets all others. So a step is held to the share of it that
// keeps every law, as far as the first impulse that meets its bound. The next step of a chain goes on from there with
// that contact sliding or open, and with those that would meet their bounds within the next tenth.
//
// In: columns of D of all active rows, which sweeps have made when their impulses changed; lambda and row_velocity.
// Out: the same after the chain. Cost: n³/3 operations for n ≤ 63 unknowns a step, three steps a chain.
#pragma once

#include "engine/contact_solver/active_set_elimination.hpp"
#include "engine/contact_solver/active_set_threads.hpp"

namespace axion::solver {

// Friction of a sliding contact over its normal's impulse, at the place of its two unknowns; an unknown across it is in
// units of the normal's impulse too.
template <typename Real, typename Team>
AXION_HD inline void note_sliding_shares(const Team& team, const Real* impulses, const ActiveSet<Real>& set,
                                         const ActiveCount& count, Real* share) {
  const int first = count.sticking + count.single;
  team.for_each((count.all - first) / 2, [&](int i) {
    const int k = first + 2 * i;
    const Real* lambda = impulses + set.row[k];
    share[k] = lambda[1] / lambda[0], share[k + 1] = lambda[2] / lambda[0];
  });
}

// The active rows of a column: effect(lanes, row) is the effect of its unknown on `lanes` rows from `row` on,
// the first swept row being zero. The rows of a contact are taken four at once, where a register holds four; the fourth
// may be any other row, and is overwritten by the next.
template <typename Team, typename Real, typename Effect>
AXION_HD inline void fill_active_rows(const SweptLaws<Real>& laws, const ActiveSet<Real>& set, const ActiveCount& count,
                                      const Real* share, Real* out, Effect&& effect) {
  constexpr int lanes = team::pack_lanes<Team, Real>(4) == 4 ? 4 : 1;
  const int *rows = set.row, base = laws.limit_base(), single = count.sticking + count.single;
  const auto contact_rows = [&](int on, Real* to) AXION_INLINED {
    for (int k = 0; k < 3; k += lanes) {
      lanes::store_pack<lanes>(to + k, effect(std::integral_constant<int, lanes>{}, on + k));
    }
  };
  for (int i = 0; i < count.sticking; i += 3) contact_rows(rows[i] - base, out + i);
  for (int i = count.sticking; i < single; ++i) out[i] = effect(std::integral_constant<int, 1>{}, rows[i] - base);
  for (int i = single; i < count.all; i += 2) {
    Real of[4];
    contact_rows(rows[i] - base, of);
    out[i] = of[0], out[i + 1] = share[i] * of[2] - share[i + 1] * of[1];
  }
}

// From column to column of the active rows' matrix: whole vectors; for a warp as near each other as they can be, and
// odd, as columns that its threads have at once would else meet in one bank.
template <typename Team>
AXION_HD constexpr int active_stride(int count) {
  return Team::kSharesByWarp ? count | 1 : SweepSizes::kActiveStride;
}

// The effect of the k-th unknown on each active row, with its diagonal. By columns: A[k kActiveStride + i].
template <typename Team, typename Real>
AXION_HD inline void fill_active_column(const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                        const RowSpace<Real>& u, const Real* impulses, ActiveSet<Real>& set,
                                        const ActiveCount& count, const Real* share, int k, Real proximal) {
  const int length = u.length, base = laws.limit_base(), row = set.row[k];
  const Real* column = u.columns.delassus + (row - base) * length;
  Real* out = set.matrix + k * SweepSizes::kActiveStride;
  if (k < count.sticking + count.single) {
    fill_active_rows<Team>(laws, set, count, share, out,
                           [=](auto lanes, int on) AXION_INLINED { return lanes::load_pack<lanes>(column + on); });
    out[k] += active_diagonal(laws, system, u, impulses, set, share, k, proximal);
    return;
  }
  const Real *x_column = column + length, *y_column = x_column + length;
  if (set.kind[k] == kSlidingNormal) {
    const Real x = share[k], y = share[k + 1];
    fill_active_rows<Team>(laws, set, count, share, out, [=](auto lanes, int on) AXION_INLINED {
      return lanes::load_pack<lanes>(column + on) + x * lanes::load_pack<lanes>(x_column + on) +
             y * lanes::load_pack<lanes>(y_column + on);
    });
    out[k] += active_diagonal(laws, system, u, impulses, set, share, k, proximal);
    return;
  }
  const Real x = -share[k], y = share[k - 1];
  fill_active_rows<Team>(laws, set, count, share, out, [=](auto lanes, int on) AXION_INLINED {
    return x * lanes::load_pack<lanes>(x_column + on) + y * lanes::load_pack<lanes>(y_column + on);
  });
  out[k] += active_diagonal(laws, system, u, impulses, set, share, k, proximal);
}

// Where unknown k meets a bound on the way of the step x; a share above one: nowhere.
template <typename Real>
AXION_HD inline laws::StepEnd<Real> end_of_step(const SweptLaws<Real>& laws, const Real* impulses,
                                                const ActiveSet<Real>& set, const Real* x, int k) {
  const int row = set.row[k], kind = set.kind[k];
  if (kind == kSlidingAcross) return {};
  return laws.with_unit(row, [&](const auto& units, int i) {
    return units.law(i, impulses).end_of_step(row - units.row(i), kind == kSingleRow, impulses + row, x + k);
  });
}

// The result of a step on the active set.
template <typename Real>
struct ActiveStep {
  bool made = false;  // false where no row is active, too many rows are, or their system has no solution
  Real share = 0;     // of the solution's whole change of impulses, that every law allowed
};

// Moves the impulses of the active rows by `share` of their changes x. Of the first `stopped` unknowns those whose
// impulse meets its bound there are put exactly on it, so that rounding leaves no row just inside.
template <typename Real, typename Team>
AXION_HD_CALL void move_active_impulses(const Team& team, const SweptLaws<Real>& laws, Real* impulses,
                                        const ActiveSet<Real>& set, const Real* x, int count, Real share,
                                        const int* bound, int stopped) {
  team.for_each(count, [&](int i) {
    const int row = set.row[i], kind = set.kind[i];
    Real* lambda = impulses + row;
    const Real step = share * x[i];
    if (kind == kSingleRow) {
      lambda[0] += step;
    } else if (kind == kSlidingNormal) {
      const bool across = i + 1 < count && set.kind[i + 1] == kSlidingAcross;
      const Real y = across ? share * x[i + 1] / lambda[0] : Real(0);
      const Real gain = greater(Real(0), Real(1) + step / lambda[0]) / std::sqrt(Real(1) + y * y);
      const Real turned[2] = {lambda[1] - y * lambda[2], lambda[2] + y * lambda[1]};
      lambda[0] = greater(Real(0), lambda[0] + step), lambda[1] = gain * turned[0], lambda[2] = gain * turned[1];
    }
  });
  const auto put_on_bounds = [&](auto follows) {
    team.for_each(stopped, [&](int i) {
      if (bound[i] != static_cast<int>(laws::ActiveBound::kImpulse)) return;
      laws.with_unit(set.row[i], [&](const auto& units, int unit) {
        if constexpr (std::decay_t<decltype(units)>::Law::kFollows == std::decay_t<decltype(follows)>::value) {
          impulses[set.row[i]] = units.law(unit, impulses).bound_met(x[i]);
        }
      });
    });
  };
  put_on_bounds(std::false_type{});
  if (laws.has_followers()) put_on_bounds(std::true_type{});
  laws.for_each_unit(team, [&](const auto& units, int i) { units.law(i, impulses).project(impulses + units.row(i)); });
}

// Moves lambda and the velocities by one step, or the share of it that keeps every law.
template <typename Real, typename Team>
AXION_HD_CALL ActiveStep<Real> step_active_set(const Team& team, const SweptLaws<Real>& laws,
                                               const SweptSystem<Real>& system, RowSpace<Real>& u, Real* impulses,
                                               ActiveSet<Real>& set, HeldUnits& held,
                                               Real proximal = Real(ActiveSetParameters::kProximal)) {
  const ActiveCount active = list_active_rows(team, laws, system, u, impulses, set, held);
  const int count = active.all, base = laws.limit_base();
  if (count == 0 || count > SweepSizes::kMaxActiveRows) return {};
  const int stride = active_stride<Team>(count);
  const bool fits = Team::kSharesByWarp && (count + 1) * stride <= kWorkspace;
  Real *A = fits ? set.workspace + 0 : set.matrix + 0, *x = A + count * stride;
  Real *share = set.share, *cut = set.cut, *change = set.change;
  note_sliding_shares(team, impulses, set, active, share);
  if constexpr (Team::kSharesByWarp) {
    share_out_filling(team, laws, system, u, impulses, set, active, share, proximal, A, stride);
    share_out_elimination(team, A, count, stride);
  } else {
    team.for_each(count,
                  [&](int k) { fill_active_column<Team>(laws, system, u, impulses, set, active, share, k, proximal); });
    team.for_each(count, [&](int i) { x[i] = active_residual(laws, system, u, impulses, set, share, i); });
    Real *m = set.multiplier, *n = set.multiplier_next;
    solve_active_rows(team, A, m, n, count);
  }
  team.for_each(count, [&](int i) {
    const Real end = end_of_step(laws, impulses, set, x, i).share,
               whole = x[i] - x[i];  // zero, or NaN where there is no solution
    cut[i] = end < Real(1) ? Real(1) - end + whole : whole;
  });
  const Real most = team.template max<Real>(count, [&](int i) { return cut[i]; });
  if (!(most == most)) return {};
  const ActiveStep<Real> step{true, Real(1) - most};
  int* bound = set.bound;
  const int stopped = most > Real(0) ? count : 0;
  team.for_each(stopped, [&](int i) {
    const bool stops = cut[i] > Real(0) && cut[i] >= most - Real(ActiveSetParameters::kTogether);
    bound[i] = static_cast<int>(stops ? end_of_step(laws, impulses, set, x, i).bound : laws::ActiveBound::kNone);
  });
  for (int i = 0; i < stopped; ++i) {
    if (bound[i] == static_cast<int>(laws::ActiveBound::kCone)) held.add(laws.unit_of_row(set.row[i]));
  }
  const int rows = laws.row_count() - base;
  team.for_each(rows, [&](int r) { change[r] = impulses[base + r]; });
  move_active_impulses(team, laws, impulses, set, x, count, step.share, bound, stopped);
  team.for_each(rows, [&](int r) { change[r] = impulses[base + r] - change[r]; });
  if constexpr (Team::kSharesByWarp) {
    share_out_pushes(team, laws, u, set, change);
  } else {
    for (int unit = 0; unit < laws.unit_count(); ++unit) {
      const int row = laws.first_row(unit), rows = laws.rows_from(row);
      const Real* by = change + (row - base);
      if (by[0] != Real(0) || (rows == 3 && (by[1] != Real(0) || by[2] != Real(0)))) {
        u.apply_impulses(team, row, rows, by);
      }
    }
  }
  return step;
}

// Steps until one may be made in whole, or nearly. Returns whether the impulses differ from those that sweeps left.
template <typename Real, typename Team>
AXION_HD_CALL bool follow_active_set(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                     RowSpace<Real>& u, Real* impulses, ActiveSet<Real>& set, Real proximal) {
  HeldUnits held;
  for (int k = 0; k < ActiveSetParameters::kChain; ++k) {
    const ActiveStep<Real> step = step_active_set(team, laws, system, u, impulses, set, held, proximal);
    if (!step.made) return k > 0;
    if (step.share >= Real(ActiveSetParameters::kLongStep)) return true;
  }
  return true;
}

}  // namespace axion::solver
