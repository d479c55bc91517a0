// The unknowns of a step on the active set (active_set_step.hpp): which rows are active, their residuals, and what each
// adds to its own entry of the matrix.
//
//   sticking contact       λ_n > 0 and |λ_t| below 0.999 of its cone, or friction that opposes no slip: three unknowns
//   limit, bounded row     off its bound: one unknown
//   moment                 torsional friction within 0.999 of its bound: one; rolling friction likewise: two
//   frictionless contact   λ_n > 0, cone of nothing: one unknown
//   sliding contact        else: two unknowns, the normal impulse with friction along d, and friction across d
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
  ArrayView<int> row, kind, changed, count, state;
};

template <typename Real>
AXION_HD inline ActiveSet<Real> active_set(const Problem<Real>& p) {
  const auto& w = p.w.sweeps;
  return {w.active_matrix, workspace(p),  w.active_multiplier, w.active_multiplier_next,
          w.active_share,  w.active_cut,  w.active_bound,      w.active_change,
          w.active_row,    w.active_kind, w.active_changed,    w.active_count,
          w.active_state};
}

enum ActiveKind : int { kSingleRow, kSlidingNormal, kSlidingAcross };

// Contacts whose friction has met its cone in a chain of steps, and slides in the rest of it; as many as fit.
struct HeldContacts {
  int contact[ActiveSetParameters::kMostHeld];
  int count = 0;

  AXION_HD void add(int i) {
    if (count < ActiveSetParameters::kMostHeld) contact[count++] = i;
  }

  AXION_HD bool has(int i) const {
    for (int k = 0; k < count; ++k) {
      if (contact[k] == i) return true;
    }
    return false;
  }
};

enum ContactState : int { kOpen, kFrictionless, kSticks, kSlides };

// Velocities along t1 and t2 of the contact that begins with `row`, with what soft friction adds.
template <typename Real>
AXION_HD inline constraints::Vec2<Real> tangent_velocity(const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                                         const RowSpace<Real>& u, const Real* impulses, int row) {
  const Real *v = u.row_velocity + (row - laws.limit_base()), *r = system.start_velocity + row;
  constraints::Vec2<Real> sum{r[1] + v[1], r[2] + v[2]};
  if (laws.is_soft) {
    const Real* compliance = system.row_compliance + row;
    sum.x += compliance[1] * impulses[row + 1], sum.y += compliance[2] * impulses[row + 2];
  }
  return sum;
}

template <typename Real>
AXION_HD inline ContactState state_of_contact(const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                              const RowSpace<Real>& u, const Real* impulses, int i,
                                              const HeldContacts& held) {
  const int row = laws.contact_base() + 3 * i;
  const Real* lambda = impulses + row;
  if (!(lambda[0] > Real(0))) return kOpen;
  const Real within = Real(ActiveSetParameters::kStickingShare) * laws.contacts[i].friction * lambda[0];
  if (!(within > Real(0))) return kFrictionless;
  const constraints::Vec2<Real> v = tangent_velocity(laws, system, u, impulses, row);
  const Real along = lambda[1] * v.x + lambda[2] * v.y;
  const bool inside = lambda[1] * lambda[1] + lambda[2] * lambda[2] < within * within;
  return (inside || along > Real(0)) && !held.has(i) ? kSticks : kSlides;
}

// Of moments: what of them holds.
enum MomentState : int { kTurns, kHoldsTorsion, kHoldsRolling, kHoldsBoth };

// What is not within its bound turns on, with the impulse that it has.
template <typename Real>
AXION_HD_RARE MomentState state_of_moment(const SweptLaws<Real>& laws, const Real* impulses, int k,
                                          const HeldContacts& held) {
  const Real* lambda = impulses + laws.moment_base() + 3 * k;
  if (held.has(laws.contact_count + k)) return kTurns;
  const MomentBounds<Real> bound = laws.bounds_of_moment(k, impulses);
  const Real torsional = Real(ActiveSetParameters::kStickingShare) * bound.torsional,
             rolling = Real(ActiveSetParameters::kStickingShare) * bound.rolling;
  const bool holds = std::abs(lambda[0]) < torsional,
             rests = lambda[1] * lambda[1] + lambda[2] * lambda[2] < rolling * rolling;
  return static_cast<MomentState>((holds ? kHoldsTorsion : 0) + (rests ? kHoldsRolling : 0));
}

// Notes the states of all contacts and moments.
template <typename Real, typename Team>
AXION_HD inline void note_states(const Team& team, const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                 const RowSpace<Real>& u, const Real* impulses, ActiveSet<Real>& set,
                                 const HeldContacts& held) {
  int* states = set.state;
  team.for_each(laws.contact_count, [&](int i) { states[i] = state_of_contact(laws, system, u, impulses, i, held); });
  if (laws.moment_count == 0) return;
  team.for_each(laws.moment_count,
                [&](int k) { states[laws.contact_count + k] = state_of_moment(laws, impulses, k, held); });
}

// How many unknowns there are: those of sticking contacts come first, by three; then single ones; then those of sliding
// contacts, by two. `all` is more than kMaxActiveRows where they are too many.
struct ActiveCount {
  int sticking, single, all;
};

// The part of the k-th unknown's own entry that is not of the Delassus operator: compliance, proximal term, and the
// turning of slip.
template <typename Real>
AXION_HD inline Real active_diagonal(const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                     const RowSpace<Real>& u, const Real* impulses, const ActiveSet<Real>& set,
                                     const Real* share, int k, Real proximal) {
  const int row = set.row[k];
  if (set.kind[k] != kSlidingAcross) return system.row_compliance[row] + proximal * laws.row_scale[row];
  const Real x = -share[k], y = share[k - 1];
  const constraints::Vec2<Real> v = tangent_velocity(laws, system, u, impulses, row);
  // |v_t| |d|/λ_n, v_t along −d
  const Real turning = proximal * (x * x + y * y) * laws.row_scale[row + 1] - (y * v.x - x * v.y) / impulses[row];
  return laws.is_soft ? turning + (x * x + y * y) * system.row_compliance[row + 1] : turning;
}

// The residual of the i-th active row, negative.
template <typename Real>
AXION_HD inline Real active_residual(const SweptLaws<Real>& laws, const SweptSystem<Real>& system,
                                     const RowSpace<Real>& u, const Real* impulses, const ActiveSet<Real>& set,
                                     const Real* share, int i) {
  const int row = set.row[i];
  const Real *v = u.row_velocity + (row - laws.limit_base()), *r = system.start_velocity + row;
  if (set.kind[i] != kSlidingAcross) return -(r[0] + v[0] + system.row_compliance[row] * impulses[row]);
  const constraints::Vec2<Real> slip = tangent_velocity(laws, system, u, impulses, row);
  return share[i] * slip.x - share[i - 1] * slip.y;
}

}  // namespace axion::solver
