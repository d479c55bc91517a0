// Non-smooth Newton on the whole system, with globalisation and its record.
//
//   start at u⁻, or half of it before an impact, with matched impulses; where the merit is high sweeps over the
//   contacts find which stick, slide and open (contact_sweeps.hpp); then Newton: linearise, solve, update. A pile of
//   bodies without joints is left to sweeps altogether, unless they fail. The merit is the largest residual in
//   multiples of its tolerance. The best iterate is kept. At least one iteration. Newton's steps are full: on redundant
//   frictional contacts a search that insists on decrease ends in tiny steps. Where they do not lower the merit the
//   best iterate is taken up again, by cautious sweeps, then with a hundredfold proximal term; where it stalls, with a
//   tenth of it; without joints, as in a stack with the heaviest on top, that stays while the merit falls. Where rigid
//   contacts carry heavy bodies without joints, but for piles, Newton comes first, its proximal term by what each
//   carries (contact_proximal); it grows tenfold where the best iterate is taken up again, and has patience while it
//   finds the active set. A system that cannot sweep (may_sweep) searches as its full steps cycle: from the seventh
//   iteration of every sixteen on one halving where a full step does not decrease the merit; and from the eleventh on,
//   every other iteration with a hundredfold proximal term. An iterate that is not finite is taken back once, and the
//   attempt goes on with the positive part of the geometric stiffness. The rotation of a Newton step is held to half a
//   radian; wheels may spin (is_wheel). If joints or dynamics stay above kFallbackMerit the step is done again with
//   impulses along J(q⁺), then with linearised joints; the smallest residual wins, and the outcome says so. So it is
//   where a body turned by more than kMaxTurn beyond its last velocity. Source: seeds, section Numerical solution;
//   thresholds by experiment (engine/METHOD.md).
#pragma once

#include "engine/contact_solver/sweep_round.hpp"
#include "engine/model/find_contact.hpp"
#include "engine/newton/linear_solver.hpp"
#include "engine/newton/newton_scratch.hpp"

namespace axion::solver {

inline constexpr int kSearchPeriod = 16, kSearchStart = 6;  // of every 16 iterations, those from the seventh on search
inline constexpr int kDampingStart = 10;                    // from the eleventh iteration on, every other one is damped
inline constexpr double kDampingGain = 100.0;               // by this multiple of the proximal term
inline constexpr int kHeldCompliance = 4;     // iterations that hold the scalar law's W in every direction
inline constexpr double kSweepMerit = 100.0;  // from this merit on a step starts with sweeps over its contacts
inline constexpr int kSweeps = 200;           // at most, in one linearisation of the joints
inline constexpr double kCoarse = 3e-4;       // of the merit: where many sweeps may stop, as joints have to settle, too
inline constexpr int kPileSweeps = 800;       // where a step is left to sweeps,
inline constexpr double kPileTolerance = 0.5;  // no row of a pile is linearised anew after them;
inline constexpr double kPileMomentum = 0.9;   // more is hardly faster, and circles sooner;
inline constexpr int kPatientSweeps = 1600;    // or cautious ones from means: next there, and after failures
inline constexpr int kPatientRounds = 8;       // there at most so often
inline constexpr int kSweepRounds = 10;        // before Newton has to lower the merit in place of them
inline constexpr double kSlowRound = 0.25;     // of the merit before it, that a round leaves: the next looks closer
inline constexpr double kIdleRound =
    0.9;  // of the merit before it: without joints nothing is linearised anew, Newton's turn
inline constexpr double kAgainMerit = 1.0;  // below this merit, times the turn since, sweeps keep their linearisation
inline constexpr double kCautiousMomentum = 0.8;  // of sweeps that follow a failure
inline constexpr double kStalledGain = 0.1;       // of the proximal term, where the merit stalls
inline constexpr double kRigid = 1e-7;            // of a row's scale: contacts with less compliance count as rigid;
inline constexpr double kHeavy = 3;  // of g h, from which impulse times scale on they count as heavily loaded;
inline constexpr double kLoadProximal = 1e-4;  // of g h, what the proximal term times the impulse of those may be,
inline constexpr double kLoadGrowth = 10;      // times as much each time that the best iterate is taken up again,
inline constexpr double kMostLoad = 1e-2;      // until it is so much
inline constexpr int kRigidPatience = 12;      // in place of kPatience where contacts are rigid
inline constexpr double kImpactDepth = 0.1;    // of the margin: from this depth on a step starts at half of u⁻
inline constexpr int kPatience = 2;      // Newton steps without a decrease before the best iterate is taken up again
inline constexpr double kMaxTurn = 2.0;  // rad, of a step beyond the last velocity
inline constexpr double kFallbackMerit = 100.0;

struct NewtonCounts {
  int iterations = 0, linear_iterations = 0, line_search_steps = 0;
};

template <typename Real>
struct NewtonResult {
  Real merit = 0;  // at most one: converged
  NewtonCounts counts;
  bool fallback = false;
};

// Moves along the Newton direction in iteration k; returns the new merit.
template <typename Real, typename Team>
AXION_HD inline Real take_step(const Team& team, const Problem<Real>& p, int k, Real merit, NewtonCounts& counts) {
  const Real t = rotation_bound(team, p);
  advance(team, p, t);
  const Real next = evaluate(team, p);
  const bool searching = p.s.line_search && k % kSearchPeriod >= kSearchStart;
  if (!searching || next < merit || next <= Real(1)) return next;
  advance(team, p, -t / 2);
  ++counts.line_search_steps;
  return evaluate(team, p);
}

// How far the iterate turns any body beyond where u⁻ would, rad.
template <typename Real, typename Team>
AXION_HD inline Real turn_from_last(const Team& team, const Problem<Real>& p, const math::Vec3<Real>* omega) {
  return greatest_turn(team, p, Real(kMaxTurn), [&](int b) { return omega[b] - p.w.omega[b]; });
}

// Whether sweeps can look for the active set: something unilateral, trees that are not huge, the natural map's law, and
// where there are loops few enough of them, and rows that fit in the Delassus matrix.
template <typename Real>
AXION_HD inline bool may_sweep(const Problem<Real>& p) {
  if (p.m.loop_count > 0 && !(loops_fit(p.m) && DelassusVelocities::serves(p))) return false;
  return p.row_count() > p.limit_base() && p.m.inverse_blocks > 0 && !symmetric_solver(p) &&
         p.s.friction_model == model::FrictionModel::kNaturalMap;
}

template <typename Real, typename Team>
AXION_HD inline Real keep_best(const Team& team, const Problem<Real>& p, Real merit) {
  const auto& w = p.w;
  copy_iterate(team, p, w.newton.best_v, w.newton.best_omega, w.newton.best_lambda, w.v_plus, w.omega_plus, w.lambda);
  return merit;
}

template <typename Real, typename Team>
AXION_HD inline Real return_to_best(const Team& team, const Problem<Real>& p) {
  const auto& w = p.w;
  copy_iterate(team, p, w.v_plus, w.omega_plus, w.lambda, w.newton.best_v, w.newton.best_omega, w.newton.best_lambda);
  return evaluate(team, p);
}

// Whether to leave a step to sweeps: no joints, so that nothing waits to be linearised anew and sweeps settle on the
// step's own solution; and more pairs of bodies touch than a tree of them would have. On a stack, which is a tree,
// Newton is exact without fill; among the hundreds of redundant contacts of a pile it seldom finds the way.
template <typename Real, typename Team>
AXION_HD inline bool leaves_to_sweeps(const Team& team, const Problem<Real>& p) {
  if (p.m.joint_count > 0) return false;
  const Real pairs = team.template sum<Real>(p.contact_count, [&](int i) {
    const model::Contact<Real>*c = p.w.contacts + i, *last = c - 1;  // contacts of a pair follow each other
    const bool first = i == 0 || c->body_a != last->body_a || c->body_b != last->body_b;
    return c->body_b >= 0 && first ? Real(1) : Real(0);
  });
  return pairs >= Real(p.m.body_count);
}

// Whether rigid contacts carry more than a body's own weight on each. Without joints Newton then is exact at once but
// for the active set, while sweeps creep where heavy bodies stand on light ones.
template <typename Real, typename Team>
AXION_HD inline bool is_rigid_and_loaded(const Team& team, const Problem<Real>& p) {
  const int base = p.contact_base();
  const Real scale = team.template max<Real>(p.contact_count, [&](int i) { return p.w.row_scale[base + 3 * i]; });
  if (!(p.s.contact_compliance <= Real(kRigid) * scale * p.s.dt * p.s.dt)) return false;
  const Real load = team.template max<Real>(
      p.contact_count, [&](int i) { return p.w.row_scale[base + 3 * i] * p.w.lambda[base + 3 * i]; });
  return load > Real(kHeavy * 9.81) * p.s.dt;
}

// Sweeps after `rounds` of them and `tried` remedies; `slow`: the last hardly lowered the merit.
template <typename Real>
AXION_HD inline SweepPlan<Real> plan_sweeps(bool settles, int rounds, int tried, bool slow) {
  const Real first = Real(kSweepTolerance), later = Real(kFinalTolerance);
  if (!settles && tried > 0) return {kPatientSweeps, later, Real(kCautiousMomentum), true};
  if (!settles && slow) return {kSweeps, Real(kFineTolerance), Real(1), false, Real(kFineProximal)};
  if (!settles) return {kSweeps, rounds == 0 ? first : later};
  if (rounds == 0) return {kPileSweeps, Real(kPileTolerance), Real(kPileMomentum)};
  return {kPatientSweeps, Real(kPileTolerance), Real(kCautiousMomentum), true};
}

// One attempt from v_plus, omega_plus, lambda. Leaves its best iterate in v_plus, omega_plus, lambda, evaluated.
template <typename Real, typename Team>
AXION_HD_CALL Real iterate(const Team& team, Problem<Real>& p, NewtonCounts& counts, bool resumed) {
  Real merit = evaluate(team, p);
  Real best = keep_best(team, p, merit);
  const bool able = may_sweep(p);
  const bool settles = able && leaves_to_sweeps(team, p);
  const bool jointless = able && p.m.joint_count == 0;
  bool rigid = jointless && is_rigid_and_loaded(team, p);
  bool sweeping = able && (settles || !rigid) && (resumed || merit > (settles ? Real(1) : Real(kSweepMerit)));
  int failures = 0, tried = 0;  // since the best iterate: Newton steps without a decrease, and remedies
  int rounds = 0;               // of sweeps
  bool stalled = false, factors_left = false;
  Real load_proximal = Real(kLoadProximal);
  bool eased = false;   // of those: whether the lower proximal term stays
  Real turned = 0;      // since those factors, rad
  Real before = merit;  // the last iteration
  p.exact_turning = true, p.follows_slip = false;
  for (int k = 0; k < p.s.max_newton_iterations; ++k) {
    const bool swept = sweeping;
    const Real last = merit;
    if (sweeping) {
      SweepPlan<Real> plan = plan_sweeps<Real>(settles, rounds, tried, rounds > 1 && merit > Real(kSlowRound) * before);
      ++rounds;
      if (!settles && tried == 0) plan.coarse = Real(kCoarse) * merit;
      plan.local = settles;
      plan.again = factors_left && merit * turned < Real(kAgainMerit);
      const bool whole = sweep_contacts(team, p, plan) == Real(1);
      turned = (plan.again ? turned : Real(0)) + step_turn(team, p);
      factors_left = true;
      merit = evaluate(team, p);
      rigid = rigid || (jointless && is_rigid_and_loaded(team, p));
      ++counts.linear_iterations;
      sweeping = merit < best / 2 || !whole || rounds <= (settles ? kPatientRounds : kSweepRounds);
      if (jointless && !settles && rounds > 1 && merit > Real(kIdleRound) * last) sweeping = false;
    } else {
      factors_left = false;
      const int damping = able ? tried - 1 : (k >= kDampingStart ? k % 2 : 0);
      eased = jointless && (eased || stalled);
      p.proximal_scale = stalled || eased ? Real(kStalledGain) : (damping <= 0 ? Real(1) : Real(kDampingGain));
      if (k == kHeldCompliance && p.s.friction_model == model::FrictionModel::kScalarFixedPoint &&
          p.contact_count > 0) {
        p.follows_slip = true;
        merit = return_to_best(team, p);
      }
      p.load_proximal = rigid && damping <= 0 ? load_proximal : Real(0);
      linearise(team, p);
      counts.linear_iterations += solve_linear(team, p);
      restore_tangents(team, p);
      merit = take_step(team, p, able ? 0 : k, merit, counts);
    }
    ++counts.iterations;
    before = last;
    if (!(merit == merit) && best == best && p.exact_turning) {
      p.exact_turning = factors_left = false;
      sweeping = swept;
      merit = return_to_best(team, p);
      continue;
    }
    if (merit <= Real(1) || !(merit == merit)) break;
    const bool lower = merit < best || !(best == best);
    stalled = able && !swept && merit > Real(0.9) * best && merit < Real(1.1) * best;
    if (!(merit > Real(0.9) * best)) failures = tried = 0;
    if (lower) best = keep_best(team, p, merit);
    if (swept || !lower) eased = false;
    const bool falling = !swept && merit < last / 2;  // on its way back from a worse iterate
    if (!lower && !stalled && !falling && able && !swept && ++failures > (rigid ? kRigidPatience : kPatience)) {
      merit = return_to_best(team, p);
      failures = 0;
      if (rigid && tried == 0 && load_proximal < Real(kMostLoad)) {
        load_proximal *= Real(kLoadGrowth);
        continue;
      }
      sweeping = tried == 0;
      ++tried;
    }
  }
  return merit <= best ? merit : return_to_best(team, p);
}

// Contact impulses of those among `kept` that are the same contacts, else zero.
template <typename Real, typename Team>
AXION_HD inline void match_impulses(const Team& team, const Problem<Real>& p, const model::ContactWarmStart<Real>* kept,
                                    int count) {
  team.for_each(p.contact_count, [&](int i) {
    const model::Contact<Real>& c = p.w.contacts[i];
    Real* lambda = p.w.lambda + p.contact_base() + 3 * i;
    lambda[0] = lambda[1] = lambda[2] = 0;
    const int last = model::find_contact(kept, count, c.pair, c.feature);
    if (last < 0) return;
    lambda[0] = kept[last].normal;
    lambda[1] = math::dot(kept[last].friction, c.t1);
    lambda[2] = math::dot(kept[last].friction, c.t2);
  });
}

// Matched impulses of the last step, or zero.
template <typename Real, typename Team>
AXION_HD inline void warm_start(const Team& team, const Problem<Real>& p) {
  const auto& w = p.w;
  team.for_each(p.contact_base(), [&](int i) { w.lambda[i] = p.s.warm_start ? w.lambda_joint[i] : Real(0); });
  match_impulses(team, p, w.warm, p.s.warm_start ? w.warm_count[0] : 0);
}

// The gap of contact i after a step at velocities (v, omega), m.
template <typename Real>
AXION_HD inline Real gap_at(const Problem<Real>& p, int i, const math::Vec3<Real>* v, const math::Vec3<Real>* omega) {
  const model::Contact<Real>& c = p.w.contacts[i];
  return c.gap + p.s.dt * constraints::row_velocity(p.w.row[p.contact_base() + 3 * i], c.body_a, c.body_b, v, omega);
}

// u⁰ = u⁻: with the matched impulses it satisfies the contacts' laws nearly as it did at the end of the last step,
// while ũ breaks them all, even where its largest residual is lower. Where it would run bodies into each other they are
// going to be stopped, in part: half of it then is nearer to what becomes of them, so that Newton linearises at less of
// a turn.
template <typename Real, typename Team>
AXION_HD inline void start_at_last(const Team& team, const Problem<Real>& p) {
  const auto& w = p.w;
  warm_start(team, p);
  copy_iterate(team, p, w.v_plus, w.omega_plus, w.lambda, w.v, w.omega, w.lambda);
  const Real depth = team.template max<Real>(p.contact_count, [&](int i) { return -gap_at(p, i, w.v, w.omega); });
  if (!(depth > Real(kImpactDepth) * p.s.contact_margin)) return;
  team.for_each(p.m.body_count,
                [&](int b) { w.v_plus[b] = Real(0.5) * w.v[b], w.omega_plus[b] = Real(0.5) * w.omega[b]; });
}

// Contact i with its impulse.
template <typename Real>
AXION_HD inline model::ContactWarmStart<Real> kept_contact(const Problem<Real>& p, int i, Real approach) {
  const model::Contact<Real>& c = p.w.contacts[i];
  const Real* lambda = p.w.lambda + p.contact_base() + 3 * i;
  return {c.pair, c.feature, lambda[0], approach, lambda[1] * c.t1 + lambda[2] * c.t2};
}

// The contacts of this solve with their impulses, for the next solve of the same step.
template <typename Real, typename Team>
AXION_HD inline void keep_contacts(const Team& team, const Problem<Real>& p) {
  team.for_each(p.contact_count, [&](int i) { p.w.newton.solved[i] = kept_contact(p, i, Real(0)); });
}

// What a joint mode needs before its first iteration; the weights of BLENDED are those that choose_force_steps found.
template <typename Real, typename Team>
AXION_HD inline void prepare_mode(const Team& team, const Problem<Real>& p) {
  if (p.joint_mode != model::JointMode::kLinearised) return;
  team.for_each(p.m.body_count, [&](int b) {
    p.w.K_geometric[b] = p.s.dt * model::positive_part(constraints::start_stiffness(p.m, p.w, b));
  });
}

// Whether another joint mode should try. Contacts that cycle do so in any mode, and a linearised joint would only add
// its own error to theirs, so joints and dynamics decide. So does a turn: poses repeat after a full one, so
// position-level rows have roots that whirl bodies round within a step; no step that Newton can follow turns so far
// from the last velocity.
template <typename Real, typename Team>
AXION_HD inline bool joints_failed(const Team& team, const Problem<Real>& p) {
  if (turn_from_last(team, p, p.w.omega_plus) > Real(kMaxTurn)) return true;
  const Real locks =
      team.template max<Real>(p.m.lock_count, [&](int i) { return p.w.natural_residual[i] / p.w.row_tolerance[i]; });
  const Real bodies =
      team.template max<Real>(2 * p.m.body_count, [&](int i) { return p.w.body_residual[i] / p.w.body_tolerance[i]; });
  return !(locks <= Real(kFallbackMerit)) || !(bodies <= Real(kFallbackMerit));
}

// What an attempt is worth beside those of other joint modes: its merit, and what its poses leave of the locks, which
// the rows of LINEARISED do not ask for.
template <typename Real, typename Team>
AXION_HD inline Real rank_attempt(const Team& team, const Problem<Real>& p, Real merit) {
  if (p.joint_mode != model::JointMode::kLinearised) return merit;
  const Real poses = team.template max<Real>(p.m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = p.m.joints[j];
    if (joint.lock_stiffness > 0) return Real(0);  // its locks give way by design
    constraints::JointEvaluation<Real> e;
    constraints::evaluate_joint<constraints::JointParts::kLocks>(p.m, joint, p.w.x_plus, p.w.q_plus, p.w.axis_position,
                                                                 e);
    Real worst = 0;
    for (int i = 0; i < joint.translation_lock_count + joint.rotation_lock_count; ++i) {
      worst = greater(worst, std::abs(e.error[i]) / (p.s.dt * p.s.tolerance));
    }
    return worst;
  });
  return greater(merit, poses);
}

// Solves the step, falling back to more robust joint modes where their residual stays high. Starts at u⁻ or, where the
// step was solved with other contacts, which `solved` counts, at what came of it.
template <typename Real, typename Team>
AXION_HD inline NewtonResult<Real> solve(const Team& team, Problem<Real>& p, int solved = -1) {
  using model::JointMode;
  NewtonResult<Real> result;
  const auto& w = p.w;
  if (solved < 0) {
    start_at_last(team, p);
  } else {
    match_impulses(team, p, w.newton.solved, solved);
  }
  prepare_mode(team, p);
  result.merit = iterate(team, p, result.counts, solved >= 0);
  Real rank = rank_attempt(team, p, result.merit);
  const JointMode asked = p.joint_mode;
  const JointMode chain[2] = {JointMode::kCurrent, JointMode::kLinearised};
  const bool may_fall_back = p.m.lock_count > 0 && p.s.constraint_level == model::ConstraintLevel::kPosition;
  for (int k = 0; k < 2 && may_fall_back; ++k) {
    if (!joints_failed(team, p)) break;
    const bool whirled = turn_from_last(team, p, w.omega_plus) > Real(kMaxTurn);
    if (chain[k] == asked || asked == JointMode::kLinearised) continue;
    const JointMode last = p.joint_mode;
    copy_iterate(team, p, w.newton.kept_v, w.newton.kept_omega, w.newton.kept_lambda, w.v_plus, w.omega_plus, w.lambda);
    p.joint_mode = chain[k];
    start_at_last(team, p);
    prepare_mode(team, p);
    const Real merit = iterate(team, p, result.counts, false);
    const bool whirls = turn_from_last(team, p, w.omega_plus) > Real(kMaxTurn);
    const Real attempt = rank_attempt(team, p, merit);
    if (whirls == whirled ? attempt < rank || !(rank == rank) : whirled) {
      result.merit = merit, rank = attempt;
      result.fallback = true;
      continue;
    }
    p.joint_mode = last;
    prepare_mode(team, p);
    copy_iterate(team, p, w.v_plus, w.omega_plus, w.lambda, w.newton.kept_v, w.newton.kept_omega, w.newton.kept_lambda);
    evaluate(team, p);
  }
  return result;
}

}  // namespace axion::solver
