// One row or contact of a sweep: its velocity, its block of the Delassus operator, and its step alone.
//
//   v = start_velocity + (J u) + p λ
//   limit, bounded row   λ⁺ = clamp(λ − v / ((J V Jᵀ)_ii + p))
//   contact              swept_contact.hpp
//   u += V Jᵀ (λ⁺ − λ)
//
// `Velocities` is one of the forms of sweep_velocities.hpp. In: what note_rows wrote at the start of the round. Out:
// lambda and the velocities; whether the row's natural residual was above its share of the tolerance. Cost: that of
// Velocities::velocity and apply_impulses.
#pragma once

#include "engine/contact_solver/sweep_velocities.hpp"
#include "engine/contact_solver/swept_contact.hpp"

namespace axion::solver {

// start_velocity, row_compliance and start_impulse of the rows of moments, which are rigid.
template <typename Real, typename Team>
AXION_HD_RARE void note_moment_rows(const Team& team, const Problem<Real>& p) {
  team.for_each(3 * p.moment_count, [&](int i) {
    const int row = p.moment_base() + i;
    p.w.sweeps.row_compliance[row] = 0;
    p.w.sweeps.start_impulse[row] = p.w.lambda[row], p.w.sweeps.start_velocity[row] = p.w.residual[row];
  });
}

// start_velocity, row_compliance, start_impulse of each row. Needs `evaluate` at (v_plus, omega_plus, lambda). Where
// blocks are kept from the last round (`reuse_factors`), one whose row has got another compliance is inverted anew.
template <typename Real, typename Team>
AXION_HD_CALL void note_rows(const Team& team, const Problem<Real>& p, bool reuse_factors = false) {
  const auto note = [&](int row, Real compliance) {
    p.w.sweeps.row_compliance[row] = compliance, p.w.sweeps.start_impulse[row] = p.w.lambda[row];
    p.w.sweeps.start_velocity[row] = p.w.residual[row] - compliance * p.w.lambda[row];
  };
  team.for_each(p.m.limit_count, [&](int i) {
    note(p.limit_base() + i, p.m.is_soft ? constraints::limit_law(p.m, p.w, p.s, i).compliance : Real(0));
  });
  team.for_each(p.m.effort_count, [&](int i) { note(p.effort_base() + i, p.w.effort_compliance[i]); });
  team.for_each(p.contact_count, [&](int i) {
    const int row = p.contact_base() + 3 * i;
    const Real last = p.w.sweeps.row_compliance[row];
    note(row, constraints::normal_law(p.m, p.w, p.s, i, p.w.row_scale[row], p.w.lambda[row]).compliance);
    const Real tangent = p.m.is_soft ? p.w.contact_law[i].tangent_compliance : Real(0);
    note(row + 1, tangent);
    note(row + 2, tangent);
    if (reuse_factors && p.w.sweeps.row_compliance[row] != last) {
      invert_swept_block(p.w.sweeps.contact_block + 9 * i, p.w.sweeps.row_compliance[row], p.w.row_scale + row,
                         p.w.sweeps.contact_block_inverse + 3 * i);
    }
  });
  if (p.moment_count > 0) note_moment_rows(team, p);
}

// What the row or contact that begins with `row` is divided by, from its block of J V Jᵀ.
template <typename Velocities, typename Real>
AXION_HD inline void note_block(const Problem<Real>& p, int row) {
  if (row < p.contact_base()) {
    p.w.sweeps.row_mobility[row] =
        greater(Velocities::block(p, row, 0, 0), Real(SweepParameters::kLeastMobility) * p.w.row_scale[row]);
    return;
  }
  const int i = (row - p.contact_base()) / 3;
  Real G[9];  // all before any is stored: a GPU's compiler would else find the next one's place anew
  for (int k = 0; k < 9; ++k) G[k] = Velocities::block(p, row, k / 3, k % 3);
  Real* kept = p.w.sweeps.contact_block + 9 * i;
  if (p.m.is_soft) G[4] += p.w.sweeps.row_compliance[row + 1], G[8] += p.w.sweeps.row_compliance[row + 2];
  for (int k = 0; k < 9; ++k) kept[k] = G[k];
  invert_swept_block(G, p.w.sweeps.row_compliance[row], p.w.row_scale + row, p.w.sweeps.contact_block_inverse + 3 * i);
}

// All blocks at once, where `prepare` does not make them when they are needed.
template <typename Real, typename Team>
AXION_HD_CALL void note_all_blocks(const Team& team, const Problem<Real>& p) {
  const int single = p.contact_base() - p.limit_base();
  team.for_each(single + p.block_count(), [&](int i) {
    note_block<BodySpace>(p, p.limit_base() + (i < single ? i : single + 3 * (i - single)));
  });
}

// The block of the row or contact that begins with `row`, where it is not there yet.
template <typename Velocities, typename Real, typename Team>
AXION_HD inline void prepare_block(const Team& team, const Problem<Real>& p, int row) {
  const int blocks = Velocities::prepare(team, p, row);
  if (blocks > 0) team.for_each(blocks, [&](int k) { note_block<Velocities>(p, p.w.sweeps.push_block[k]); });
}

// One row with bounds on its impulse. Returns whether its natural residual was above `share` of its tolerance.
template <typename Velocities, typename Real, typename Team>
AXION_HD inline bool sweep_row(const Team& team, const Problem<Real>& p, int row, Real share) {
  const Real last = p.w.lambda[row],
             v = p.w.sweeps.start_velocity[row] + Velocities::velocity(p, row) + p.w.sweeps.row_compliance[row] * last;
  if (row < p.effort_base() && v >= Real(0) && last == Real(0)) return false;
  prepare_block<Velocities>(team, p, row);
  Real next = last - v / (p.w.sweeps.row_mobility[row] + p.w.sweeps.row_compliance[row]), residual;
  if (row < p.effort_base()) {
    next = greater(next, Real(0));
    residual = unilateral_residual(v, p.w.row_scale[row] * last);
  } else {
    const int effort = row - p.effort_base();
    next = constraints::clamp(next, p.w.effort_lower[effort], p.w.effort_upper[effort]);
    residual = effort_residual(p, effort, v);
  }
  const Real change[1] = {next - last};
  if (change[0] == Real(0)) return false;
  Velocities::apply_impulses(team, p, row, 1, change);
  team.for_each(1, [&](int) { p.w.lambda[row] = next; });
  return residual > share * p.w.row_tolerance[row];
}

// Whether sweep k of a round, counted from zero, lifts soft contacts anew.
template <typename Real>
AXION_HD inline bool lifts_in(const Problem<Real>& p, int k) {
  return p.m.is_soft != 0 && k < SweepParameters::kLiftedSweeps;
}

// Whether soft contact i would be lifted into one that pushes, though its velocity without an impulse, v, opens it.
template <typename Real>
AXION_HD inline bool slips_shut(const Problem<Real>& p, int i, const ContactImpulse<Real>& v) {
  const constraints::SoftContact<Real>& soft = p.w.contact_law[i];
  return v.n + soft.lift < soft.slip_lift * std::sqrt(v.x * v.x + v.y * v.y);
}

// Lifts soft contact i as it slides where its velocities are v at the impulse `last`; takes the change from v.
template <typename Real, typename Team>
AXION_HD_RARE void lift_contact(const Team& team, const Problem<Real>& p, int i, ContactImpulse<Real>& v,
                                const ContactImpulse<Real>& last) {
  const int row = p.contact_base() + 3 * i;
  constraints::SoftContact<Real>& soft = p.w.contact_law[i];
  const Real lift = lift_alone(soft, p.w.sweeps.contact_block + 9 * i, p.w.sweeps.row_compliance[row],
                               p.w.contacts[i].friction, v, last);
  const Real change = lift - soft.lift;
  v.n -= change;
  team.for_each(1, [&](int) {
    soft.lift = lift, soft.normal.bias -= change;
    p.w.sweeps.start_velocity[row] -= change;
  });
}

// The same of a contact; `lifts`: it is soft and lifted anew.
template <typename Velocities, typename Real, typename Team>
AXION_HD_CALL bool sweep_contact(const Team& team, const Problem<Real>& p, int i, Real share, bool lifts) {
  const int row = p.contact_base() + 3 * i;
  const Real* lambda = p.w.lambda + row;
  const ContactImpulse<Real> last{lambda[0], lambda[1], lambda[2]};
  const Real v_n =
      p.w.sweeps.start_velocity[row] + Velocities::velocity(p, row) + p.w.sweeps.row_compliance[row] * last.n;
  const bool idle = v_n >= Real(0) && last.n == Real(0) && last.x == Real(0) && last.y == Real(0);
  if (idle && !lifts) return false;
  const auto tangent = [&](int k) { return p.w.sweeps.start_velocity[row + k] + Velocities::velocity(p, row + k); };
  ContactImpulse<Real> v{v_n, tangent(1), tangent(2)};
  if (p.m.is_soft) {
    v.x += p.w.sweeps.row_compliance[row + 1] * last.x, v.y += p.w.sweeps.row_compliance[row + 2] * last.y;
    if (idle && !(lifts && slips_shut(p, i, v))) return false;
  }
  prepare_block<Velocities>(team, p, row);
  if (lifts) lift_contact(team, p, i, v, last);
  const Real *scale = p.w.row_scale + row, *tolerance = p.w.row_tolerance + row;
  const ContactLaw<Real> law{p.w.contacts[i].friction, scale[0], scale[1], share * tolerance[0], share * tolerance[1]};
  const auto [next, unsettled] =
      solve_swept_contact(p.w.sweeps.contact_block + 9 * i, p.w.sweeps.contact_block_inverse + 3 * i, law, v, last);
  const Real change[3] = {next.n - last.n, next.x - last.x, next.y - last.y}, to[3] = {next.n, next.x, next.y};
  Velocities::apply_impulses(team, p, row, 3, change);
  team.for_each(1, [&](int) { p.w.lambda[row] = to[0], p.w.lambda[row + 1] = to[1], p.w.lambda[row + 2] = to[2]; });
  return unsettled;
}

// The same of torsional and rolling friction k, with bounds by the contact's impulse as it is.
template <typename Velocities, typename Real, typename Team>
AXION_HD_RARE bool sweep_moment(const Team& team, const Problem<Real>& p, int k, Real share) {
  const int i = p.contact_count + k, row = p.moment_base() + 3 * k;
  const Real* lambda = p.w.lambda + row;
  const ContactImpulse<Real> last{lambda[0], lambda[1], lambda[2]};
  const MomentBounds<Real> bound = moment_bounds(p, k);
  if (!(bound.torsional > Real(0)) && !(bound.rolling > Real(0)) && last.n == Real(0) && last.x == Real(0) &&
      last.y == Real(0)) {
    return false;
  }
  prepare_block<Velocities>(team, p, row);
  const Real* start = p.w.sweeps.start_velocity + row;
  const ContactImpulse<Real> v{start[0] + Velocities::velocity(p, row), start[1] + Velocities::velocity(p, row + 1),
                               start[2] + Velocities::velocity(p, row + 2)};
  const ContactImpulse<Real> next =
      solve_moment_alone(p.w.sweeps.contact_block + 9 * i, p.w.sweeps.contact_block_inverse + 3 * i, bound, v, last);
  const Real change[3] = {next.n - last.n, next.x - last.x, next.y - last.y}, to[3] = {next.n, next.x, next.y};
  Velocities::apply_impulses(team, p, row, 3, change);
  const Real* tolerance = p.w.row_tolerance + row;
  const bool unsettled = held_residual(v.n, last.n, bound.torsional, p.w.row_scale[row]) > share * tolerance[0] ||
                         constraints::friction_residual<Real>({v.x, v.y}, {last.x, last.y}, bound.rolling,
                                                              p.w.row_scale[row + 1]) > share * tolerance[1];
  team.for_each(1, [&](int) { p.w.lambda[row] = to[0], p.w.lambda[row + 1] = to[1], p.w.lambda[row + 2] = to[2]; });
  return unsettled;
}

}  // namespace axion::solver
