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
AXION_HD_RARE void note_moment_rows(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system,
                                    const Real* residual, const Real* impulses) {
  team.for_each(3 * laws.moment_count, [&](int i) {
    const int row = laws.moment_base() + i;
    system.row_compliance[row] = 0;
    system.start_impulse[row] = impulses[row], system.start_velocity[row] = residual[row];
  });
}

// start_velocity, row_compliance, start_impulse of each row. Needs `evaluate` at (v_plus, omega_plus, lambda). Where
// blocks are kept from the last round (`reuse_factors`), one whose row has got another compliance is inverted anew.
template <typename Real, typename Team>
AXION_HD_CALL void note_rows(const Team& team, const Problem<Real>& p, bool reuse_factors = false) {
  const SweptLaws<Real> laws = swept_laws(p);
  SweptSystem<Real> system = swept_system<Real>(p.w);
  const Real *residual = p.w.residual, *impulses = p.w.lambda;
  const auto note = [&](int row, Real compliance) {
    system.row_compliance[row] = compliance, system.start_impulse[row] = impulses[row];
    system.start_velocity[row] = residual[row] - compliance * impulses[row];
  };
  team.for_each(laws.limit_count(), [&](int i) {
    note(laws.limit_base() + i, laws.is_soft ? constraints::limit_law(p.m, p.w, p.s, i).compliance : Real(0));
  });
  team.for_each(laws.effort_count(), [&](int i) { note(laws.effort_base() + i, laws.effort_compliance[i]); });
  team.for_each(laws.contact_count, [&](int i) {
    const int row = laws.contact_base() + 3 * i;
    const Real last = system.row_compliance[row];
    note(row, constraints::normal_law(p.m, p.w, p.s, i, laws.row_scale[row], impulses[row]).compliance);
    const Real tangent = laws.is_soft ? system.contact_law[i].tangent_compliance : Real(0);
    note(row + 1, tangent);
    note(row + 2, tangent);
    if (reuse_factors && system.row_compliance[row] != last) {
      invert_swept_block(system.contact_block + 9 * i, system.row_compliance[row], laws.row_scale + row,
                         system.contact_block_inverse + 3 * i);
    }
  });
  if (laws.moment_count > 0) note_moment_rows(team, laws, system, residual, impulses);
}

// What the row or contact that begins with `row` is divided by, from its block of J V Jᵀ.
template <typename Real, typename Velocities>
AXION_HD inline void note_block(const SweptLaws<Real>& laws, SweptSystem<Real>& system, const Velocities& u, int row) {
  if (row < laws.contact_base()) {
    system.row_mobility[row] = greater(u.block(row, 0, 0), Real(SweepParameters::kLeastMobility) * laws.row_scale[row]);
    return;
  }
  const int i = (row - laws.contact_base()) / 3;
  Real G[9];  // all before any is stored: a GPU's compiler would else find the next one's place anew
  for (int k = 0; k < 9; ++k) G[k] = u.block(row, k / 3, k % 3);
  Real* kept = system.contact_block + 9 * i;
  if (laws.is_soft) G[4] += system.row_compliance[row + 1], G[8] += system.row_compliance[row + 2];
  for (int k = 0; k < 9; ++k) kept[k] = G[k];
  invert_swept_block(G, system.row_compliance[row], laws.row_scale + row, system.contact_block_inverse + 3 * i);
}

// All blocks at once, where `prepare` does not make them when they are needed.
template <typename Real, typename Team>
AXION_HD_CALL void note_all_blocks(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system,
                                   const BodySpace<Real>& u) {
  const int single = laws.contact_base() - laws.limit_base();
  team.for_each(single + laws.block_count(), [&](int i) {
    note_block(laws, system, u, laws.limit_base() + (i < single ? i : single + 3 * (i - single)));
  });
}

// The block of the row or contact that begins with `row`, where it is not there yet.
template <typename Real, typename Velocities, typename Team>
AXION_HD inline void prepare_block(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system,
                                   Velocities& u, const Real* impulses, int row) {
  const int blocks = u.prepare(team, laws, system, impulses, row);
  if (blocks > 0) team.for_each(blocks, [&](int k) { note_block(laws, system, u, u.prepared_row(k)); });
}

// One row with bounds on its impulse. Returns whether its natural residual was above `share` of its tolerance.
template <typename Real, typename Velocities, typename Team>
AXION_HD inline bool sweep_row(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system, Velocities& u,
                               Real* impulses, int row, Real share) {
  const Real last = impulses[row], v = system.start_velocity[row] + u.velocity(row) + system.row_compliance[row] * last;
  if (row < laws.effort_base() && v >= Real(0) && last == Real(0)) return false;
  prepare_block(team, laws, system, u, impulses, row);
  Real next = last - v / (system.row_mobility[row] + system.row_compliance[row]), residual;
  if (row < laws.effort_base()) {
    next = greater(next, Real(0));
    residual = unilateral_residual(v, laws.row_scale[row] * last);
  } else {
    const int effort = row - laws.effort_base();
    next = constraints::clamp(next, laws.effort_lower[effort], laws.effort_upper[effort]);
    residual = effort_residual(laws.bounded_row(effort, last), v);
  }
  const Real change[1] = {next - last};
  if (change[0] == Real(0)) return false;
  u.apply_impulses(team, row, 1, change);
  team.for_each(1, [&](int) { impulses[row] = next; });
  return residual > share * laws.row_tolerance[row];
}

// Whether sweep k of a round, counted from zero, lifts soft contacts anew.
template <typename Real>
AXION_HD inline bool lifts_in(const SweptLaws<Real>& laws, int k) {
  return laws.is_soft && k < SweepParameters::kLiftedSweeps;
}

// Whether soft contact i would be lifted into one that pushes, though its velocity without an impulse, v, opens it.
template <typename Real>
AXION_HD inline bool slips_shut(const SweptSystem<Real>& system, int i, const ContactImpulse<Real>& v) {
  const constraints::SoftContact<Real>& soft = system.contact_law[i];
  return v.n + soft.lift < soft.slip_lift * std::sqrt(v.x * v.x + v.y * v.y);
}

// Lifts soft contact i as it slides where its velocities are v at the impulse `last`; takes the change from v.
template <typename Real, typename Team>
AXION_HD_RARE void lift_contact(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system, int i,
                                ContactImpulse<Real>& v, const ContactImpulse<Real>& last) {
  const int row = laws.contact_base() + 3 * i;
  constraints::SoftContact<Real>& soft = system.contact_law[i];
  const Real lift =
      lift_alone(soft, system.contact_block + 9 * i, system.row_compliance[row], laws.contacts[i].friction, v, last);
  const Real change = lift - soft.lift;
  v.n -= change;
  team.for_each(1, [&](int) {
    soft.lift = lift, soft.normal.bias -= change;
    system.start_velocity[row] -= change;
  });
}

// The same of a contact; `lifts`: it is soft and lifted anew.
template <typename Real, typename Velocities, typename Team>
AXION_HD_CALL bool sweep_contact(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system,
                                 Velocities& u, Real* impulses, int i, Real share, bool lifts) {
  const int row = laws.contact_base() + 3 * i;
  const Real* lambda = impulses + row;
  const ContactImpulse<Real> last{lambda[0], lambda[1], lambda[2]};
  const Real v_n = system.start_velocity[row] + u.velocity(row) + system.row_compliance[row] * last.n;
  const bool idle = v_n >= Real(0) && last.n == Real(0) && last.x == Real(0) && last.y == Real(0);
  if (idle && !lifts) return false;
  const auto tangent = [&](int k) { return system.start_velocity[row + k] + u.velocity(row + k); };
  ContactImpulse<Real> v{v_n, tangent(1), tangent(2)};
  if (laws.is_soft) {
    v.x += system.row_compliance[row + 1] * last.x, v.y += system.row_compliance[row + 2] * last.y;
    if (idle && !(lifts && slips_shut(system, i, v))) return false;
  }
  prepare_block(team, laws, system, u, impulses, row);
  if (lifts) lift_contact(team, laws, system, i, v, last);
  const Real *scale = laws.row_scale + row, *tolerance = laws.row_tolerance + row;
  const ContactLaw<Real> law{laws.contacts[i].friction, scale[0], scale[1], share * tolerance[0], share * tolerance[1]};
  const auto [next, unsettled] =
      solve_swept_contact(system.contact_block + 9 * i, system.contact_block_inverse + 3 * i, law, v, last);
  const Real change[3] = {next.n - last.n, next.x - last.x, next.y - last.y}, to[3] = {next.n, next.x, next.y};
  u.apply_impulses(team, row, 3, change);
  team.for_each(1, [&](int) { impulses[row] = to[0], impulses[row + 1] = to[1], impulses[row + 2] = to[2]; });
  return unsettled;
}

// The same of torsional and rolling friction k, with bounds by the contact's impulse as it is.
template <typename Real, typename Velocities, typename Team>
AXION_HD_RARE bool sweep_moment(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system, Velocities& u,
                                Real* impulses, int k, Real share) {
  const int i = laws.contact_count + k, row = laws.moment_base() + 3 * k;
  const Real* lambda = impulses + row;
  const ContactImpulse<Real> last{lambda[0], lambda[1], lambda[2]};
  const MomentBounds<Real> bound = laws.bounds_of_moment(k, impulses);
  if (!(bound.torsional > Real(0)) && !(bound.rolling > Real(0)) && last.n == Real(0) && last.x == Real(0) &&
      last.y == Real(0)) {
    return false;
  }
  prepare_block(team, laws, system, u, impulses, row);
  const Real* start = system.start_velocity + row;
  const ContactImpulse<Real> v{start[0] + u.velocity(row), start[1] + u.velocity(row + 1),
                               start[2] + u.velocity(row + 2)};
  const ContactImpulse<Real> next =
      solve_moment_alone(system.contact_block + 9 * i, system.contact_block_inverse + 3 * i, bound, v, last);
  const Real change[3] = {next.n - last.n, next.x - last.x, next.y - last.y}, to[3] = {next.n, next.x, next.y};
  u.apply_impulses(team, row, 3, change);
  const Real* tolerance = laws.row_tolerance + row;
  const bool unsettled = held_residual(v.n, last.n, bound.torsional, laws.row_scale[row]) > share * tolerance[0] ||
                         constraints::friction_residual<Real>({v.x, v.y}, {last.x, last.y}, bound.rolling,
                                                              laws.row_scale[row + 1]) > share * tolerance[1];
  team.for_each(1, [&](int) { impulses[row] = to[0], impulses[row + 1] = to[1], impulses[row + 2] = to[2]; });
  return unsettled;
}

}  // namespace axion::solver
