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
#include "engine/contact_solver/sweep_velocities.hpp"
#include "engine/lanes/pack.hpp"

namespace axion::solver {

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
AXION_HD inline constraints::Vec2<Real> tangent_velocity(const Problem<Real>& p, int row) {
  const Real *v = p.w.sweeps.row_velocity + (row - p.limit_base()), *r = p.w.sweeps.start_velocity + row;
  constraints::Vec2<Real> sum{r[1] + v[1], r[2] + v[2]};
  if (p.m.is_soft) {
    const Real* compliance = p.w.sweeps.row_compliance + row;
    sum.x += compliance[1] * p.w.lambda[row + 1], sum.y += compliance[2] * p.w.lambda[row + 2];
  }
  return sum;
}

template <typename Real>
AXION_HD inline ContactState state_of_contact(const Problem<Real>& p, int i, const HeldContacts& held) {
  const int row = p.contact_base() + 3 * i;
  const Real* lambda = p.w.lambda + row;
  if (!(lambda[0] > Real(0))) return kOpen;
  const Real within = Real(ActiveSetParameters::kStickingShare) * p.w.contacts[i].friction * lambda[0];
  if (!(within > Real(0))) return kFrictionless;
  const constraints::Vec2<Real> v = tangent_velocity(p, row);
  const Real along = lambda[1] * v.x + lambda[2] * v.y;
  const bool inside = lambda[1] * lambda[1] + lambda[2] * lambda[2] < within * within;
  return (inside || along > Real(0)) && !held.has(i) ? kSticks : kSlides;
}

// Of moments: what of them holds.
enum MomentState : int { kTurns, kHoldsTorsion, kHoldsRolling, kHoldsBoth };

// What is not within its bound turns on, with the impulse that it has.
template <typename Real>
AXION_HD_RARE MomentState state_of_moment(const Problem<Real>& p, int k, const HeldContacts& held) {
  const Real* lambda = p.w.lambda + p.moment_base() + 3 * k;
  if (held.has(p.contact_count + k)) return kTurns;
  const MomentBounds<Real> bound = moment_bounds(p, k);
  const Real torsional = Real(ActiveSetParameters::kStickingShare) * bound.torsional,
             rolling = Real(ActiveSetParameters::kStickingShare) * bound.rolling;
  const bool holds = std::abs(lambda[0]) < torsional,
             rests = lambda[1] * lambda[1] + lambda[2] * lambda[2] < rolling * rolling;
  return static_cast<MomentState>((holds ? kHoldsTorsion : 0) + (rests ? kHoldsRolling : 0));
}

// Notes the states of all contacts and moments.
template <typename Real, typename Team>
AXION_HD inline void note_states(const Team& team, const Problem<Real>& p, const HeldContacts& held) {
  int* states = p.w.sweeps.active_state;
  team.for_each(p.contact_count, [&](int i) { states[i] = state_of_contact(p, i, held); });
  if (p.moment_count == 0) return;
  team.for_each(p.moment_count, [&](int k) { states[p.contact_count + k] = state_of_moment(p, k, held); });
}

// How many unknowns there are: those of sticking contacts come first, by three; then single ones; then those of sliding
// contacts, by two. `all` is more than kMaxActiveRows where they are too many.
struct ActiveCount {
  int sticking, single, all;
};

// The part of the k-th unknown's own entry that is not of the Delassus operator: compliance, proximal term, and the
// turning of slip.
template <typename Real>
AXION_HD inline Real active_diagonal(const Problem<Real>& p, const Real* share, int k, Real proximal) {
  const int row = p.w.sweeps.active_row[k];
  if (p.w.sweeps.active_kind[k] != kSlidingAcross)
    return p.w.sweeps.row_compliance[row] + proximal * p.w.row_scale[row];
  const Real x = -share[k], y = share[k - 1];
  const constraints::Vec2<Real> v = tangent_velocity(p, row);
  // |v_t| |d|/λ_n, v_t along −d
  const Real turning = proximal * (x * x + y * y) * p.w.row_scale[row + 1] - (y * v.x - x * v.y) / p.w.lambda[row];
  return p.m.is_soft ? turning + (x * x + y * y) * p.w.sweeps.row_compliance[row + 1] : turning;
}

// The residual of the i-th active row, negative.
template <typename Real>
AXION_HD inline Real active_residual(const Problem<Real>& p, const Real* share, int i) {
  const int row = p.w.sweeps.active_row[i];
  const Real *v = p.w.sweeps.row_velocity + (row - p.limit_base()), *r = p.w.sweeps.start_velocity + row;
  if (p.w.sweeps.active_kind[i] != kSlidingAcross)
    return -(r[0] + v[0] + p.w.sweeps.row_compliance[row] * p.w.lambda[row]);
  const constraints::Vec2<Real> slip = tangent_velocity(p, row);
  return share[i] * slip.x - share[i - 1] * slip.y;
}

}  // namespace axion::solver
