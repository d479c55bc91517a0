// One attempt at a step: iterations from the present iterate until it converges or they are used up.
//
//   evaluate; keep as best
//   repeat: sweep (a round), or linearise, solve, advance; evaluate; do as globalisation.hpp judges
//   return to the best iterate
//
// In: the problem with contacts, rows and joint mode, an iterate in v_plus, omega_plus, lambda. Out: the best iterate
// there, evaluated. Cost: an iteration is one factorisation of the system, or of the joints and up to 1,600 sweeps.
#pragma once

#include "engine/contact_solver/sweep_round.hpp"
#include "engine/newton/globalisation.hpp"
#include "engine/newton/linear_solver.hpp"
#include "engine/newton/start.hpp"
#include "engine/problem/residual.hpp"

namespace axion::solver {

struct NewtonCounts {
  int newton_iterations = 0;  // linearisations with a Newton step
  int linear_iterations = 0;  // of their linear solver, one for a direct solve
  int line_search_steps = 0;
  int sweep_rounds = 0;    // linearisations of the joints with sweeps over the contacts
  int contact_sweeps = 0;  // sweeps of all rounds

  AXION_HD void add(const NewtonCounts& other) {
    newton_iterations += other.newton_iterations, linear_iterations += other.linear_iterations;
    line_search_steps += other.line_search_steps;
    sweep_rounds += other.sweep_rounds, contact_sweeps += other.contact_sweeps;
  }
};

// Whether sweeps can look for the active set: something unilateral, trees that are not huge, the natural map's law, and
// where there are loops few enough of them, and rows that fit in the Delassus matrix.
template <typename Real>
AXION_HD inline bool may_sweep(const Problem<Real>& p) {
  if (p.m.closing_count > 0 && !(loops_fit(p.m) && delassus_serves<Real>(p.m, p.rows()))) return false;
  return p.row_count() > p.limit_base() && p.m.inverse_blocks > 0 && !symmetric_solver(p) &&
         p.s.friction_model == model::FrictionModel::kNaturalMap;
}

template <typename Real, typename Team>
AXION_HD inline Real keep_best(const Team& team, const IterateSize& size, const Iterate<Real>& best,
                               const Iterate<Real>& present, Real ratio) {
  copy_iterate(team, size, best, present);
  return ratio;
}

template <typename Real, typename Team>
AXION_HD inline Real return_to_best(const Team& team, const Problem<Real>& p) {
  copy_iterate(team, iterate_size(p), present_iterate<Real>(p.w), best_iterate<Real>(p.w));
  return evaluate(team, p);
}

// Whether a step is left to sweeps: no joints or tendons, so that nothing waits to be linearised anew and sweeps settle
// on the step's own solution; and more pairs of bodies touch than a tree of them would have. On a stack, which is a
// tree, Newton is exact without fill; among the hundreds of redundant contacts of a pile it seldom finds the way.
template <typename Real, typename Team>
AXION_HD inline bool is_pile(const Team& team, const model::ModelView<Real>& m,
                             ConstArray<model::Contact<Real>> contacts, int count) {
  if (m.joint_count + m.closing_count > 0) return false;
  const Real pairs = team.template sum<Real>(count, [&](int i) {
    const model::Contact<Real>*c = contacts + i, *last = c - 1;  // contacts of a pair follow each other
    const bool first = i == 0 || c->body_a != last->body_a || c->body_b != last->body_b;
    return c->body_b >= 0 && first ? Real(1) : Real(0);
  });
  return pairs >= Real(m.body_count);
}

// Whether rigid contacts carry more than a body's own weight on each. Without joints Newton then is exact at once but
// for the active set, while sweeps creep where heavy bodies stand on light ones.
template <typename Real, typename Team>
AXION_HD inline bool carries_loads(const Team& team, bool is_soft, const model::StepSettings<Real>& s,
                                   const IterateRows<Real>& rows) {
  if (is_soft) return false;
  const int base = rows.contact_base();
  const Real scale = team.template max<Real>(rows.contact_count, [&](int i) { return rows.row_scale[base + 3 * i]; });
  if (!(s.contact_compliance <= Real(LoadParameters::kRigid) * scale * s.dt * s.dt)) return false;
  const Real load = team.template max<Real>(
      rows.contact_count, [&](int i) { return rows.row_scale[base + 3 * i] * rows.lambda[base + 3 * i]; });
  return load > Real(LoadParameters::kHeavy) * s.dt;
}

template <typename Real, typename Team>
AXION_HD inline SystemTraits traits_of(const Team& team, const Problem<Real>& p) {
  SystemTraits traits;
  traits.may_sweep = may_sweep(p);
  traits.is_pile = traits.may_sweep && is_pile<Real>(team, p.m, p.w.contacts, p.contact_count);
  traits.has_no_joints = traits.may_sweep && p.m.joint_count + p.m.closing_count == 0;
  return traits;
}

// One round of sweeps; returns the ratio after it, and whether it went all the way.
template <typename Real, typename Team>
AXION_HD inline Verdict sweep_once(const Team& team, Problem<Real>& p, Globalisation<Real>& g, NewtonCounts& counts) {
  const SweepPlan<Real> plan = g.plan_sweeps();
  const SweepResult<Real> result = sweep_contacts(team, p, plan);
  g.note_sweeps(plan, step_turn<Real>(team, p.m, p.s.dt, p.w.du_angular));
  const Real ratio = evaluate(team, p);
  g.is_loaded = g.is_loaded || (g.traits.has_no_joints &&
                                carries_loads<Real>(team, p.m.is_soft != 0, p.s, iterate_rows<Real>(p.rows(), p.w)));
  ++counts.sweep_rounds;
  counts.contact_sweeps += result.sweeps;
  return g.judge(ratio, result.share == Real(1));
}

// Moves along the Newton direction from an iterate with `ratio`; returns the new ratio.
template <typename Real, typename Team>
AXION_HD inline Real take_step(const Team& team, const Problem<Real>& p, Real ratio, const NewtonPlan<Real>& plan,
                               NewtonCounts& counts) {
  const Real t = rotation_bound<Real>(team, p.m, p.s.dt, p.w.du_angular);
  advance<Real>(team, iterate_size(p), present_iterate<Real>(p.w), newton_direction<Real>(p.w), t);
  const Real next = evaluate(team, p);
  if (!p.s.line_search || !plan.may_search || next < ratio || next <= Real(1)) return next;
  advance<Real>(team, iterate_size(p), present_iterate<Real>(p.w), newton_direction<Real>(p.w), -t / 2);
  ++counts.line_search_steps;
  return evaluate(team, p);
}

// One Newton step, iteration k of the attempt.
template <typename Real, typename Team>
AXION_HD inline Verdict step_once(const Team& team, Problem<Real>& p, int k, Globalisation<Real>& g,
                                  NewtonCounts& counts) {
  const NewtonPlan<Real> plan = g.plan_newton(k);
  Real ratio = g.ratio;
  p.proximal_scale = plan.proximal_scale, p.load_proximal = plan.load_proximal;
  const bool is_scalar = p.s.friction_model == model::FrictionModel::kScalarFixedPoint && p.contact_count > 0;
  if (k == NewtonParameters::kHeldCompliance && is_scalar) {
    p.follows_slip = true;
    ratio = return_to_best(team, p);
  }
  linearise(team, p);
  counts.linear_iterations += solve_linear(team, p);
  restore_tangents(team, p);
  ratio = take_step(team, p, ratio, plan, counts);
  ++counts.newton_iterations;
  return g.judge(ratio, true);
}

// One attempt; returns the worst residual ratio of the iterate that it leaves. `resumed`: that it starts from is what
// came of this step with fewer contacts.
template <typename Real, typename Team>
AXION_HD_CALL Real attempt(const Team& team, Problem<Real>& p, NewtonCounts& counts, bool resumed) {
  const IterateSize size = iterate_size(p);
  const Iterate<Real> best = best_iterate<Real>(p.w), present = present_iterate<Real>(p.w);
  const Real first = keep_best(team, size, best, present, evaluate(team, p));
  Globalisation<Real> g{traits_of(team, p)};
  g.is_loaded =
      g.traits.has_no_joints && carries_loads<Real>(team, p.m.is_soft != 0, p.s, iterate_rows<Real>(p.rows(), p.w));
  g.start(first, resumed);
  p.exact_turning = true, p.follows_slip = false;
  for (int k = 0; k < p.s.max_newton_iterations; ++k) {
    const Verdict verdict = is_sweeping(g.state) ? sweep_once(team, p, g, counts) : step_once(team, p, k, g, counts);
    p.exact_turning = g.exact_turning;
    if (verdict == Verdict::kEnd) break;
    if (verdict == Verdict::kKeep) keep_best(team, size, best, present, g.ratio);
    if (verdict == Verdict::kTakeBest || verdict == Verdict::kTakeFinite) g.ratio = return_to_best(team, p);
  }
  return g.ratio <= g.best ? g.ratio : return_to_best(team, p);
}

}  // namespace axion::solver
