// Sweeps over the unilateral rows with the joints linearised once: what finds sticking, sliding and open contacts.
//
// Newton's full steps take eight to ten iterations, or cycle, where controls change at every step and a robot lies on
// many frictional contacts: the joints are almost linear then, and it is the active set that is looked for. With the
// joint tree's inverse V (joint_inverse.hpp) the velocities are u = u₀ + V Jᵀ(λ − λ₀), and each contact in turn is
// solved as if it were alone: nonlinear block Gauss-Seidel (Jean 1999; Acary and Brogliato 2008). A sweep costs a few
// per cent of a factorisation. It converges steadily where Newton cycles, and Newton finishes from there in one or two
// iterations. One contact: a projected normal step, then an exact 2×2 solve for sticking, or a projected step onto the
// cone where it does not stick. Limits and bounded rows: one projected step. What a sweep solves is the law of
// residual.hpp itself.
#pragma once

#include "engine/contact_solver/active_set_step.hpp"
#include "engine/problem/iterate.hpp"

namespace axion::solver {

// How to sweep: at most `count` times, until `tolerance`, with momentum up to `momentum`, from means or not; `again`
// with the factorisation that the last call in this step left, which serves as long as poses have hardly moved since.
template <typename Real>
struct SweepPlan {
  int count = 0;
  Real tolerance = Real(SweepParameters::kFirstTolerance);
  Real momentum = 1;
  bool means = false;
  Real proximal = Real(ActiveSetParameters::kProximal);  // of steps on the active set
  bool again = false;
  Real coarse = 0;     // tolerance of sweeps after SweepParameters::kLongSweeps, where that is more
  bool local = false;  // where there are many contacts: over those that are not settled yet
};

// Number: of one contact, or of one in each lane.
template <typename Number>
struct ContactImpulse {
  Number n, x, y;
};

// What solve_contact_alone divides by: the block's normal entry with the row's compliance, its greatest tangent
// eigenvalue and its tangent determinant, inverted; the last is zero where the tangents' block is singular.
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

// One contact alone: its block G of V, the inverses above, velocities v at its impulse `last`; v.n is its a.
template <typename Number>
AXION_HD AXION_INLINED inline ContactImpulse<Number> solve_contact_alone(const Number* G, const Number* inverse,
                                                                         const Number& mu,
                                                                         const ContactImpulse<Number>& v,
                                                                         const ContactImpulse<Number>& last) {
  const Number zero{}, n = greater<Number>(last.n - v.n * inverse[0], zero), dn = n - last.n, cone = mu * n;
  const Number vx = v.x + G[3] * dn, vy = v.y + G[6] * dn;
  const Number held_x = last.x - (G[8] * vx - G[5] * vy) * inverse[2];
  const Number held_y = last.y - (G[4] * vy - G[7] * vx) * inverse[2];
  const auto holds = (inverse[2] > zero) & (held_x * held_x + held_y * held_y <= cone * cone);
  if constexpr (std::is_same_v<std::remove_cv_t<decltype(holds)>, int>) {  // of one contact: nothing else is needed
    if (holds) return {n, held_x, held_y};
  }
  const Number x = last.x - vx * inverse[1], y = last.y - vy * inverse[1], size = lanes::root<Number>(x * x + y * y);
  const Number share = size > cone ? cone / size : lanes::constant<Number>(1);
  return {n, holds ? held_x : share * x, holds ? held_y : share * y};
}

// What else a sweep asks of a contact; tolerances are of its residuals' natural sizes, m/s.
template <typename Number>
struct ContactLaw {
  Number mu, scale_n, scale_t, tolerance_n, tolerance_t;
};

template <typename Number>
struct SweptContact {
  ContactImpulse<Number> next;
  decltype(Number{} > Number{}) moving;  // whether a natural residual was above its tolerance
};

template <typename Number>
AXION_HD AXION_INLINED inline SweptContact<Number> solve_swept_contact(const Number* G, const Number* inverse,
                                                                       const ContactLaw<Number>& law,
                                                                       const ContactImpulse<Number>& v,
                                                                       const ContactImpulse<Number>& last) {
  const Number normal = unilateral_residual<Number>(v.n, law.scale_n * last.n);
  const Number slip2 =
      constraints::friction_residual_squared<Number>({v.x, v.y}, {last.x, last.y}, law.mu * last.n, law.scale_t);
  const auto moving = (normal > law.tolerance_n) | (slip2 > law.tolerance_t * law.tolerance_t);
  return {solve_contact_alone(G, inverse, law.mu, v, last), static_cast<decltype(Number{} > Number{})>(moving)};
}

// start_velocity, row_compliance, start_impulse of each row. Needs `evaluate` at (v_plus, omega_plus, lambda). Where
// blocks are kept from the last round (`again`), one whose row has got another compliance is inverted anew.
template <typename Real, typename Team>
AXION_HD_CALL void note_rows(const Team& team, const Problem<Real>& p, bool again = false) {
  const auto note = [&](int row, Real compliance) {
    p.w.sweeps.row_compliance[row] = compliance, p.w.sweeps.start_impulse[row] = p.w.lambda[row];
    p.w.sweeps.start_velocity[row] = p.w.residual[row] - compliance * p.w.lambda[row];
  };
  team.for_each(p.m.limit_count, [&](int i) { note(p.limit_base() + i, Real(0)); });
  team.for_each(p.m.effort_count, [&](int i) { note(p.effort_base() + i, p.w.effort_compliance[i]); });
  team.for_each(p.contact_count, [&](int i) {
    const int row = p.contact_base() + 3 * i;
    const Real last = p.w.sweeps.row_compliance[row];
    note(row, constraints::normal_law(p.m, p.w, p.s, i, p.w.row_scale[row], p.w.lambda[row]).compliance);
    note(row + 1, Real(0));
    note(row + 2, Real(0));
    if (again && p.w.sweeps.row_compliance[row] != last) {
      invert_swept_block(p.w.sweeps.contact_block + 9 * i, p.w.sweeps.row_compliance[row], p.w.row_scale + row,
                         p.w.sweeps.contact_block_inverse + 3 * i);
    }
  });
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
  for (int k = 0; k < 9; ++k) kept[k] = G[k];
  invert_swept_block(G, p.w.sweeps.row_compliance[row], p.w.row_scale + row, p.w.sweeps.contact_block_inverse + 3 * i);
}

// All blocks at once, where `prepare` does not make them when they are needed.
template <typename Real, typename Team>
AXION_HD_CALL void note_all_blocks(const Team& team, const Problem<Real>& p) {
  const int single = p.contact_base() - p.limit_base();
  team.for_each(single + p.contact_count, [&](int i) {
    note_block<TreeVelocities>(p, p.limit_base() + (i < single ? i : single + 3 * (i - single)));
  });
}

// The block of the row or contact that begins with `row`, where it is not there yet.
template <typename Velocities, typename Real, typename Team>
AXION_HD inline void prepare_block(const Team& team, const Problem<Real>& p, int row) {
  const int units = Velocities::prepare(team, p, row);
  if (units > 0) team.for_each(units, [&](int k) { note_block<Velocities>(p, p.w.sweeps.push_unit[k]); });
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
  Velocities::push(team, p, row, 1, change);
  team.for_each(1, [&](int) { p.w.lambda[row] = next; });
  return residual > share * p.w.row_tolerance[row];
}

// The same of a contact.
template <typename Velocities, typename Real, typename Team>
AXION_HD_CALL bool sweep_contact(const Team& team, const Problem<Real>& p, int i, Real share) {
  const int row = p.contact_base() + 3 * i;
  const Real* lambda = p.w.lambda + row;
  const ContactImpulse<Real> last{lambda[0], lambda[1], lambda[2]};
  const Real v_n =
      p.w.sweeps.start_velocity[row] + Velocities::velocity(p, row) + p.w.sweeps.row_compliance[row] * last.n;
  if (v_n >= Real(0) && last.n == Real(0) && last.x == Real(0) && last.y == Real(0)) return false;
  prepare_block<Velocities>(team, p, row);
  const ContactImpulse<Real> v{v_n, p.w.sweeps.start_velocity[row + 1] + Velocities::velocity(p, row + 1),
                               p.w.sweeps.start_velocity[row + 2] + Velocities::velocity(p, row + 2)};
  const Real *scale = p.w.row_scale + row, *tolerance = p.w.row_tolerance + row;
  const ContactLaw<Real> law{p.w.contacts[i].friction, scale[0], scale[1], share * tolerance[0], share * tolerance[1]};
  const auto [next, moving] =
      solve_swept_contact(p.w.sweeps.contact_block + 9 * i, p.w.sweeps.contact_block_inverse + 3 * i, law, v, last);
  const Real change[3] = {next.n - last.n, next.x - last.x, next.y - last.y}, to[3] = {next.n, next.x, next.y};
  Velocities::push(team, p, row, 3, change);
  team.for_each(1, [&](int) { p.w.lambda[row] = to[0], p.w.lambda[row + 1] = to[1], p.w.lambda[row + 2] = to[2]; });
  return moving;
}

// last_impulse: impulses before the sweep.
template <typename Real, typename Team>
AXION_HD inline void note_sweep(const Team& team, const Problem<Real>& p) {
  team.for_each(p.row_count() - p.limit_base(),
                [&](int i) { p.w.sweeps.last_impulse[p.limit_base() + i] = p.w.lambda[p.limit_base() + i]; });
}

// Nesterov's momentum with restart (O'Donoghue and Candes 2015), in the norm of the rows' scales. A sweep has taken x
// to g, f = g − x; the next starts from g + m (g − g_last). Momentum starts anew where it points against what the sweep
// did, or where |f| grew. Velocities are affine in λ and follow by the same combination. swept_impulse: g_last.
template <typename Real>
struct Momentum {
  Real greatest;  // m is at most this
  int first = 0;  // sweep since which it has not started anew for another's sake
  Real theta = 1;
  Real size = 0;   // |f|² of the last sweep
  Real least = 0;  // and the least since momentum started anew
};

// m after a sweep with |f|² = size, which the next is compared with; `along` is f · (g − g_last), in the same norm.
template <typename Real>
AXION_HD inline Real next_coefficient(Momentum<Real>& momentum, Real size, Real along) {
  const bool grew = size > Real(SweepParameters::kMomentumGrowth) * momentum.size ||
                    size > Real(SweepParameters::kMomentumExcess) * momentum.least;
  if (along < Real(0) || grew) momentum.theta = 1, momentum.least = size;
  const Real next = (1 + std::sqrt(1 + 4 * momentum.theta * momentum.theta)) / 2;
  const Real m = (momentum.theta - 1) / next;
  momentum.theta = next;
  momentum.size = size;
  if (size < momentum.least) momentum.least = size;
  return m < momentum.greatest ? m : momentum.greatest;
}

// A quantity that is g after a sweep and was `last` after the one before, or one in each lane.
template <typename Number, typename Real>
AXION_HD AXION_INLINED inline Number extrapolated(Real m, const Number& g, const Number& last) {
  return g + m * (g - last);
}
template <typename Real>
AXION_HD inline void extrapolate(Real m, Real& value, Real& last) {
  const Real g = value;
  value = m != Real(0) ? extrapolated(m, g, last) : g;
  last = g;
}

// A row's part of the product of f with what its impulse has become since `last`: |f|² from the impulses before the
// sweep, f · (g − g_last) from swept_impulse.
template <typename Real>
AXION_HD inline Real sweep_product(const Problem<Real>& p, int row, const Real* last) {
  const Real f = p.w.lambda[row] - p.w.sweeps.last_impulse[row];
  return p.w.row_scale[row] * f * (p.w.lambda[row] - last[row]);
}

template <typename Real, typename Team>
AXION_HD inline void accelerate(const Team& team, const Problem<Real>& p, int sweep, Momentum<Real>& momentum) {
  const int base = p.limit_base(), count = p.row_count() - base;
  const auto sum_of = [&](const Real* last) {
    return team.template sum<Real>(count, [&](int k) { return sweep_product(p, base + k, last); });
  };
  const Real size = sum_of(p.w.sweeps.last_impulse);
  Real m = 0;
  if (sweep - momentum.first >= SweepParameters::kPlainSweeps) {
    m = next_coefficient(momentum, size, sum_of(p.w.sweeps.swept_impulse));
  } else {
    momentum.size = momentum.least = size;
  }
  team.for_each(count, [&](int k) { extrapolate(m, p.w.lambda[base + k], p.w.sweeps.swept_impulse[base + k]); });
  Real *v = p.w.sweeps.row_velocity, *v_last = p.w.sweeps.row_velocity_last;
  team.for_each(DelassusVelocities::size(p), [=](int i) { extrapolate(m, v[i], v_last[i]); });
}

// impulse_sum: the sum of a row's impulses over the sweeps of a mean, of which this is the first or not.
template <typename Real>
AXION_HD inline void add_row_to_mean(const Problem<Real>& p, int row, bool first) {
  p.w.sweeps.impulse_sum[row] = (first ? Real(0) : p.w.sweeps.impulse_sum[row]) + p.w.lambda[row];
}

template <typename Real, typename Team>
AXION_HD inline void add_to_mean(const Team& team, const Problem<Real>& p, bool first) {
  team.for_each(p.row_count() - p.limit_base(), [&](int k) { add_row_to_mean(p, p.limit_base() + k, first); });
}

// Moves impulses and velocities to the mean of the stretch; every law's impulses are a convex set.
template <typename Real, typename Team>
AXION_HD_CALL void move_to_mean(const Team& team, const Problem<Real>& p) {
  const auto move = [&](int row, int count) {
    Real change[3] = {};
    bool moves = false;
    for (int k = 0; k < count; ++k) {
      change[k] = p.w.sweeps.impulse_sum[row + k] / Real(SweepParameters::kMeanStretch) - p.w.lambda[row + k];
      moves = moves || change[k] != Real(0);
    }
    if (!moves) return;
    DelassusVelocities::push(team, p, row, count, change);
    team.for_each(count, [&](int k) { p.w.lambda[row + k] += change[k]; });
  };
  for (int row = p.limit_base(); row < p.contact_base(); ++row) move(row, 1);
  for (int i = 0; i < p.contact_count; ++i) move(p.contact_base() + 3 * i, 3);
}

// Right-hand side of the joint system at the iterate.
template <typename Real, typename Team>
AXION_HD inline void set_joint_rhs(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int b) {
    Real* rhs = body_unknowns(p, b);
    for (int k = 0; k < 3; ++k) rhs[k] = -p.w.g_linear[b][k], rhs[3 + k] = -p.w.g_angular[b][k];
    for (int k = 0; k < joint_row_count(p.m, p.m.bodies[b].joint); ++k) {
      rhs[6 + k] = -p.w.residual[node_row(p, p.m.joints[p.m.bodies[b].joint], k)];
    }
  });
}

// Chains of steps on the active set between sweeps: when the next is made, in sweeps, how long to wait for the one
// after, and how many were made.
template <typename Real>
struct ActiveSetSteps {
  Real next = Real(SweepParameters::kFirstActiveStep), pause = Real(SweepParameters::kActiveStepPause);
  int made = 0;
};

// After a sweep. Returns whether the impulses are now other than what it left.
template <typename Real, typename Team>
AXION_HD inline bool try_active_set(const Team& team, const Problem<Real>& p, int sweep, Real proximal,
                                    Momentum<Real>& momentum, ActiveSetSteps<Real>& steps) {
  if (Real(sweep) < steps.next || steps.made == SweepParameters::kActiveChains) return false;
  steps.next = Real(sweep) + steps.pause;
  steps.pause *= Real(SweepParameters::kActivePauseGrowth);
  ++steps.made;
  if (!follow_active_set(team, p, proximal)) return false;
  momentum = {momentum.greatest, sweep};
  return true;
}

// A sweep as threads of a GPU make it: the same passes over the rows that have something to do, which threads look for
// together, and no address found twice. A GPU's compiler knows nothing of what a store to one array leaves alone.
template <typename Real, typename Team>
AXION_HD_CALL bool share_out_sweep(const Team& team, const Problem<Real>& p, Real share) {
  const int base = p.limit_base(), efforts = p.effort_base() - base, single = p.contact_base() - base;
  const int contacts = p.contact_count, length = DelassusVelocities::size(p);
  Real *lambda = p.w.lambda + base, *velocity = p.w.sweeps.row_velocity;
  const Real *r = p.w.sweeps.start_velocity + base, *compliance = p.w.sweeps.row_compliance + base,
             *tolerance = p.w.row_tolerance + base;
  const Real *scale = p.w.row_scale + base, *D = p.w.sweeps.delassus, *gain = p.w.sweeps.contact_block,
             *inverse = p.w.sweeps.contact_block_inverse;
  const int* known = p.w.sweeps.delassus_known;
  bool moving = false;
  for (int row = 0; row < single; ++row) {
    row = team.first(row, single, [=](int i) {
      return i >= efforts || lambda[i] != Real(0) || !(r[i] + velocity[i] + compliance[i] * lambda[i] >= Real(0));
    });
    if (row < single) moving |= sweep_row<DelassusVelocities>(team, p, base + row, share);
  }
  for (int i = 0; i < contacts; ++i) {
    const int row = single + 3 * i;
    const ContactImpulse<Real> last{lambda[row], lambda[row + 1], lambda[row + 2]};
    const ContactImpulse<Real> v{r[row] + velocity[row] + compliance[row] * last.n, r[row + 1] + velocity[row + 1],
                                 r[row + 2] + velocity[row + 2]};
    if (v.n >= Real(0) && last.n == Real(0) && last.x == Real(0) && last.y == Real(0)) continue;
    if (known[row] == 0) prepare_block<DelassusVelocities>(team, p, base + row);
    const ContactLaw<Real> law{p.w.contacts[i].friction, scale[row], scale[row + 1], share * tolerance[row],
                               share * tolerance[row + 1]};
    const SweptContact<Real> swept = solve_swept_contact(gain + 9 * i, inverse + 3 * i, law, v, last);
    const ContactImpulse<Real> next = swept.next;
    moving |= swept.moving;
    const Real n = next.n - last.n, x = next.x - last.x, y = next.y - last.y;
    const Real* column = D + row * length;
    team.for_each(length, [=](int k) {
      const Real *by_n = column + k, *by_x = by_n + length, *by_y = by_x + length;
      velocity[k] += *by_n * n + *by_x * x + *by_y * y;
      if (k < 3) lambda[row + k] = k == 0 ? next.n : k == 1 ? next.x : next.y;
    });
  }
  return moving;
}

// Sweeps on the rows' own velocities, with steps on the active set, until `plan` is done. Returns how many.
template <typename Real, typename Team>
AXION_HD_CALL int make_sweeps(const Team& team, const Problem<Real>& p, const SweepPlan<Real>& plan) {
  DelassusVelocities::start(team, p);
  Momentum<Real> momentum{plan.momentum};
  ActiveSetSteps<Real> steps;
  bool moving = true;
  int made = 0;
  for (; made < plan.count && moving; ++made) {
    note_sweep(team, p);
    moving = false;
    const Real tolerance = made >= SweepParameters::kLongSweeps ? greater(plan.tolerance, plan.coarse) : plan.tolerance;
    if constexpr (Team::kSharesByWarp) {
      moving = share_out_sweep(team, p, tolerance);
    } else {
      for (int row = p.limit_base(); row < p.contact_base(); ++row) {
        moving |= sweep_row<DelassusVelocities>(team, p, row, tolerance);
      }
      for (int i = 0; i < p.contact_count; ++i) moving |= sweep_contact<DelassusVelocities>(team, p, i, tolerance);
    }
    if (!moving || made + 1 == plan.count) continue;
    if (plan.means) add_to_mean(team, p, made % SweepParameters::kMeanStretch == 0);
    if (plan.means && (made + 1) % SweepParameters::kMeanStretch == 0) {
      move_to_mean(team, p);
      momentum.theta = 1;
    }
    if (try_active_set(team, p, made, plan.proximal, momentum, steps)) continue;
    accelerate(team, p, made, momentum);
  }
  return made;
}

}  // namespace axion::solver
