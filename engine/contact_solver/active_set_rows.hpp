// The unknowns of a step on the active set (active_set_step.hpp): which rows are active, their residuals, and what each
// adds to its own entry of the matrix.
//
// Which rows of a unit are unknowns is its law's to say (laws::Unknowns): all three of a contact that sticks; of one
// that slides the normal impulse with friction along its direction d, and friction across d; else each row off its
// bound.
//
// In: impulses in lambda, velocities of the rows in row_velocity. Cost: a few operations a row.
#pragma once

#include "engine/contact_solver/parameters.hpp"
#include "engine/contact_solver/row_space.hpp"
#include "engine/lanes/pack.hpp"

namespace axion::solver {

// The unknowns of a step, and what it is solved with.
template <typename Real>
struct ActiveSet {
  ArrayView<Real> matrix;                       // D of the active rows by columns, and right-hand side
  ArrayView<Real> workspace;                    // the same where a GPU has a matrix at hand [kWorkspace]
  ArrayView<Real> multiplier, multiplier_next;  // of elimination
  ArrayView<Real> share;                        // friction over the normal impulse, of sliding unknowns
  ArrayView<Real> cut;                          // share of a step that the bounds of an unknown cut off
  ArrayView<int> bound;                         // the bound that an unknown meets where the step ends (ActiveBound)
  ArrayView<Real> change;                       // impulses before the step, then what it changed of them
  ArrayView<int> row, kind, changed, state;
};

template <typename Real>
AXION_HD inline ActiveSet<Real> active_set(const Problem<Real>& p) {
  const auto& w = p.w.sweeps;
  return {w.active_matrix, workspace(p),  w.active_multiplier, w.active_multiplier_next,
          w.active_share,  w.active_cut,  w.active_bound,      w.active_change,
          w.active_row,    w.active_kind, w.active_changed,    w.active_state};
}

enum ActiveKind : int { kSingleRow, kSlidingNormal, kSlidingAcross };

// Units whose friction has met its cone in a chain of steps, and slides in the rest of it; as many as fit.
struct HeldUnits {
  int unit[ActiveSetParameters::kMostHeld];
  int count = 0;

  AXION_HD void add(int i) {
    if (count < ActiveSetParameters::kMostHeld) unit[count++] = i;
  }

  AXION_HD bool has(int i) const {
    for (int k = 0; k < count; ++k) {
      if (unit[k] == i) return true;
    }
    return false;
  }
};

// Velocities along t1 and t2 of the contact that begins with `row`, with what soft friction adds.
template <typename Real>
AXION_HD inline laws::Vec2<Real> tangent_velocity(const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                                  const RowSpace<Real>& u, const Real* impulses, int row) {
  const Real *v = u.row_velocity + (row - laws.limit_base()), *r = system.start_velocity + row;
  const Real* compliance = system.row_compliance + row;
  return {r[1] + v[1] + compliance[1] * impulses[row + 1], r[2] + v[2] + compliance[2] * impulses[row + 2]};
}

// Notes which rows of each unit are unknowns.
template <typename Real, typename Team>
AXION_HD inline void note_states(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                 const RowSpace<Real>& u, const Real* impulses, ActiveSet<Real>& set,
                                 const HeldUnits& held) {
  int* states = set.state;
  laws.for_each_unit(team, [&](const auto& units, int i) {
    const int row = units.row(i), unit = laws.unit_of_row(row);
    states[unit] = units.law(i, impulses)
                       .unknowns(
                           impulses + row, Real(ActiveSetParameters::kStickingShare), [&] { return held.has(unit); },
                           [&] { return tangent_velocity(laws, system, u, impulses, row); });
  });
}

// How many unknowns there are: of sticking contacts first, by three; then single ones; then of sliding contacts, by
// two. `all` is more than kMaxActiveRows where they are too many.
struct ActiveCount {
  int sticking, single, all;
};

// The unknowns: active_row, active_kind.
template <typename Real, typename Team>
AXION_HD inline ActiveCount list_active_rows(const Team& team, const SweptLaws<Real>& laws,
                                             const SweptSystem<Real>& system, const RowSpace<Real>& u,
                                             const Real* impulses, ActiveSet<Real>& set, const HeldUnits& held) {
  note_states(team, laws, system, u, impulses, set, held);
  const int *states = set.state, base = laws.limit_base();
  int *rows = set.row, *kinds = set.kind;
  const auto list_units = [&](int form, auto&& emit) {
    return team.filter(
        laws.unit_count(), [&](int k) { return (states[k] & form) != 0; },
        [&](int k, int place) { emit(laws.first_row(k), place); });
  };
  const int sticking = 3 * list_units(laws::kSticks, [&](int row, int place) {
                         for (int k = 3 * place; k < 3 * place + 3; ++k) rows[k] = row++, kinds[k] = kSingleRow;
                       });
  int single = team.filter(
      laws.row_count() - base,
      [&](int k) {
        const int unit = laws.unit_of_row(base + k);
        return ((states[unit] & laws::kOwnRows) >> (base + k - laws.first_row(unit)) & 1) != 0;
      },
      [&](int k, int place) { rows[sticking + place] = base + k, kinds[sticking + place] = kSingleRow; });
  const int first = sticking + single;
  single += list_units(laws::kNormalAlone,
                       [&](int row, int place) { rows[first + place] = row, kinds[first + place] = kSlidingNormal; });
  const int second = sticking + single;
  const int sliding = list_units(laws::kSlides, [&](int row, int place) {
    const int k = second + 2 * place;
    rows[k] = rows[k + 1] = row;
    kinds[k] = kSlidingNormal, kinds[k + 1] = kSlidingAcross;
  });
  return {sticking, single, second + 2 * sliding};
}

// The part of the k-th unknown's own entry that is not of the Delassus operator: compliance, proximal term, and the
// turning of slip.
template <typename Real>
AXION_HD inline Real active_diagonal(const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                     const RowSpace<Real>& u, const Real* impulses, const ActiveSet<Real>& set,
                                     const Real* share, int k, Real proximal) {
  const int row = set.row[k];
  if (set.kind[k] != kSlidingAcross) return system.row_compliance[row] + proximal * laws.row_scale[row];
  const Real x = -share[k], y = share[k - 1];
  const laws::Vec2<Real> v = tangent_velocity(laws, system, u, impulses, row);
  // |v_t| |d|/λ_n, v_t along −d
  const Real turning = proximal * (x * x + y * y) * laws.row_scale[row + 1] - (y * v.x - x * v.y) / impulses[row];
  return turning + (x * x + y * y) * system.row_compliance[row + 1];
}

// The residual of the i-th active row, negative.
template <typename Real>
AXION_HD inline Real active_residual(const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                     const RowSpace<Real>& u, const Real* impulses, const ActiveSet<Real>& set,
                                     const Real* share, int i) {
  const int row = set.row[i];
  const Real *v = u.row_velocity + (row - laws.limit_base()), *r = system.start_velocity + row;
  if (set.kind[i] != kSlidingAcross) return -(r[0] + v[0] + system.row_compliance[row] * impulses[row]);
  const laws::Vec2<Real> slip = tangent_velocity(laws, system, u, impulses, row);
  return share[i] * slip.x - share[i - 1] * slip.y;
}

}  // namespace axion::solver
