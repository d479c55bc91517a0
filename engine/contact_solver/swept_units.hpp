// One unit of a sweep: its velocity, its block of the Delassus operator, and its step alone.
//
//   v = start_velocity + (J u) + p λ
//   λ⁺ by the unit's law with all others held       nonlinear Gauss-Seidel
//   u += V Jᵀ (λ⁺ − λ)
//
// `Velocities` is one of the forms of sweep_velocities.hpp. In: what note_rows wrote at the start of the round. Out:
// lambda and the velocities; whether a natural residual of the unit was above its share of the tolerance. Cost: that
// of Velocities::velocity and apply_impulses. Source: Jean 1999; Acary and Brogliato 2008, section 13.3.
#pragma once

#include "engine/contact_solver/sweep_velocities.hpp"

namespace axion::solver {

// What laws of three rows divide by (laws::SweptBlock): the inverses of the block's normal entry with the row's
// compliance, of its greatest tangent eigenvalue and of its tangent determinant; the last is zero where the tangents'
// block is singular.
template <typename Real>
AXION_HD inline void invert_swept_block(const Real* G, Real compliance, const Real* scale, Real* inverse) {
  const Real half = (G[4] - G[8]) / 2, det = G[4] * G[8] - G[5] * G[7];
  const Real g_n = greater(G[0], Real(SweepParameters::kLeastMobility) * scale[0]);
  // Of an isotropic block, as between spheres, the difference is zero and the rest rounding of either sign.
  const Real greatest = (G[4] + G[8]) / 2 + std::sqrt(greater(half * half + G[5] * G[7], Real(0)));
  const Real g_t = greater(greatest, Real(SweepParameters::kLeastMobility) * scale[1]);
  const Real inverses[3] = {Real(1) / (g_n + compliance), Real(1) / g_t,
                            det > Real(SweepParameters::kLeastMobility) * g_t * g_t ? Real(1) / det : Real(0)};
  for (int k = 0; k < 3; ++k) inverse[k] = inverses[k];
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
  team.for_each(laws.limit_count(),
                [&](int i) { note(laws.limit_base() + i, constraints::limit_compliance(p.m, p.w, p.s, i)); });
  team.for_each(laws.effort_count(), [&](int i) { note(laws.effort_base() + i, laws.effort_compliance[i]); });
  team.for_each(laws.contact_count, [&](int i) {
    const int row = laws.contact_base() + 3 * i;
    const Real last = system.row_compliance[row];
    note(row, constraints::normal_law(p.m, p.w, p.s, i, laws.row_scale[row], impulses[row]).compliance);
    const Real tangent = constraints::tangent_law<Real>(p.m, p.w, i).compliance;
    note(row + 1, tangent);
    note(row + 2, tangent);
    if (reuse_factors && system.row_compliance[row] != last) {
      invert_swept_block(system.contact_block + 9 * i, system.row_compliance[row], laws.row_scale + row,
                         system.contact_block_inverse + 3 * i);
    }
  });
  if (laws.moment_count == 0) return;
  team.for_each(3 * laws.moment_count, [&](int i) { note(laws.moment_base() + i, Real(0)); });
}

// What the unit that begins with `row` is divided by, from its block of J V Jᵀ.
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
  G[4] += system.row_compliance[row + 1], G[8] += system.row_compliance[row + 2];
  for (int k = 0; k < 9; ++k) kept[k] = G[k];
  invert_swept_block(G, system.row_compliance[row], laws.row_scale + row, system.contact_block_inverse + 3 * i);
}

// All blocks at once, where `prepare` does not make them when they are needed.
template <typename Real, typename Team>
AXION_HD_CALL void note_all_blocks(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system,
                                   const BodySpace<Real>& u) {
  team.for_each(laws.unit_count(), [&](int k) { note_block(laws, system, u, laws.first_row(k)); });
}

// Whether sweep k of a round, counted from zero, lifts soft contacts anew.
template <typename Real>
AXION_HD inline bool lifts_in(const SweptLaws<Real>& laws, int k) {
  return laws.is_soft && k < SweepParameters::kLiftedSweeps;
}

// A sweep, or a visit of one unit: what it reads and writes.
template <typename Real, typename Velocities>
struct Sweep {
  const SweptLaws<Real>& laws;
  SweptSystem<Real>& system;
  Velocities& u;
  Real* impulses;
  Real share;  // of each row's tolerance
  bool lifts;  // whether soft contacts are lifted anew
};

// The addresses of a sweep's numbers, found once: a GPU's compiler does not know which arrays a store leaves unchanged.
template <typename Real>
struct SweptRows {
  Real* impulses;
  const Real *start, *compliance, *tolerance, *mobility, *block, *inverse;
  int contact_base;

  // Of the unit of three rows that begins with `row`.
  AXION_HD laws::SweptBlock<Real> block_of(int row) const {
    const int i = (row - contact_base) / 3;
    return {block + 9 * i, inverse + 3 * i};
  }
};

template <typename Real, typename Velocities>
AXION_HD inline SweptRows<Real> swept_rows(const Sweep<Real, Velocities>& sweep) {
  const SweptSystem<Real>& system = sweep.system;
  return {sweep.impulses,      system.start_velocity, system.row_compliance,        sweep.laws.row_tolerance,
          system.row_mobility, system.contact_block,  system.contact_block_inverse, sweep.laws.contact_base()};
}

// The block of the unit that begins with `row`, which is not there yet.
template <typename Real, typename Velocities, typename Team>
AXION_HD inline void prepare_block(const Team& team, Sweep<Real, Velocities>& sweep, int row) {
  const int blocks = sweep.u.prepare(team, sweep.laws, sweep.system, sweep.impulses, row);
  team.for_each(blocks, [&](int k) { note_block(sweep.laws, sweep.system, sweep.u, sweep.u.prepared_row(k)); });
}

// Whether a soft contact would be lifted into one that pushes, though its velocity without an impulse, v, opens it.
template <typename Real>
AXION_HD inline bool slips_shut(const constraints::SoftContact<Real>& soft, const laws::Triple<Real>& v) {
  return v.n + soft.lift < soft.slip_lift * std::sqrt(v.x * v.x + v.y * v.y);
}

// Lifts soft contact i as it slides where its velocities are v at the impulse `last`; takes the change from v.
template <typename Real, typename Team>
AXION_HD_RARE void lift_contact(const Team& team, const SweptLaws<Real>& laws, SweptSystem<Real>& system, int i,
                                laws::Triple<Real>& v, const laws::Triple<Real>& last) {
  const int row = laws.contact_base() + 3 * i;
  constraints::SoftContact<Real>& soft = system.contact_law[i];
  const Real lift = laws::lift_alone(soft, system.contact_block + 9 * i, system.row_compliance[row],
                                     laws.contacts[i].friction, v, last);
  const Real change = lift - soft.lift;
  v.n -= change;
  team.for_each(1, [&](int) {
    soft.lift = lift, soft.normal.bias -= change;
    system.start_velocity[row] -= change;
  });
}

// Visits the i-th unit of a run. `at`, `u`: of the sweep. Returns whether a natural residual was above its share of the
// tolerance.
template <typename Units, typename Moved, typename Real, typename Velocities, typename Team>
AXION_HD inline bool visit_unit(const Team& team, Sweep<Real, Velocities>& sweep, const SweptRows<Real>& at, Moved& u,
                                const Units& units, int i) {
  using Law = typename Units::Law;
  const int row = units.row(i);
  Real* lambda = at.impulses + row;
  const Law law = units.law(i, at.impulses);
  const auto velocity = [&](int k, Real last) {
    return at.start[row + k] + u.velocity(row + k) + at.compliance[row + k] * last;
  };
  const auto last = laws::impulse_of<Law>(lambda);
  if constexpr (Law::kRows == 1) {
    const Real v = velocity(0, last);
    if (law.idle(v, last)) return false;
    if (!u.has_block(row)) prepare_block(team, sweep, row);
    const Real next = law.solve_alone(at.mobility[row] + at.compliance[row], v, last);
    const Real change = next - last;
    if (change == Real(0)) return false;
    u.move(team, row, 1, &change, [=](int k) {
      if (k == 0) *lambda = next;
    });
    return law.exceeds(v, last, at.tolerance + row, sweep.share);
  } else {
    const Real v_n = velocity(0, last.n);
    const bool lifts = Units::kLifts && sweep.lifts, idle = law.idle(v_n, last);
    if (idle && !lifts) return false;
    laws::Triple<Real> v{v_n, velocity(1, last.x), velocity(2, last.y)};
    if (idle && !slips_shut(sweep.system.contact_law[i], v)) return false;
    if (!u.has_block(row)) prepare_block(team, sweep, row);
    if (lifts) lift_contact(team, sweep.laws, sweep.system, i, v, last);
    const laws::Triple<Real> next = law.solve_alone(at.block_of(row), v, last);
    const Real change[3] = {next.n - last.n, next.x - last.x, next.y - last.y};
    u.move(team, row, 3, change, [=](int k) {
      if (k < 3) lambda[k] = k == 0 ? next.n : k == 1 ? next.x : next.y;
    });
    return law.exceeds(v, last, at.tolerance + row, sweep.share);
  }
}

// Visits the unit that begins with `row`.
template <typename Real, typename Velocities, typename Team>
AXION_HD_CALL bool visit_row(const Team& team, Sweep<Real, Velocities>& sweep, int row) {
  const SweptRows<Real> at = swept_rows(sweep);
  auto&& u = sweep.u.moved();
  return sweep.laws.with_unit(row, [&](const auto& units, int i) { return visit_unit(team, sweep, at, u, units, i); });
}

// Visits all units of a run; of laws whose units are mostly idle the others are looked for.
template <typename Units, typename Real, typename Velocities, typename Team>
AXION_HD_CALL bool visit_units(const Team& team, Sweep<Real, Velocities>& sweep, const Units& run) {
  using Law = typename Units::Law;
  const Units units = run;
  const SweptRows<Real> at = swept_rows(sweep);
  auto&& u = sweep.u.moved();
  bool unsettled = false;
  for (int i = 0; i < units.count; ++i) {
    if constexpr (Law::kWaits) {
      i = team.first(i, units.count, [=](int k) {
        const int row = units.row(k);
        const Real last = at.impulses[row];
        return !units.law(k, at.impulses).idle(at.start[row] + u.velocity(row) + at.compliance[row] * last, last);
      });
      if (i == units.count) break;
    }
    unsettled |= visit_unit(team, sweep, at, u, units, i);
  }
  return unsettled;
}

}  // namespace axion::solver
