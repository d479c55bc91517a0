// One step's nonlinear system, solved by non-smooth Newton with globalisation.
//
//   attempt with the joint mode asked for
//   if joints or dynamics failed: again with impulses along J(q⁺), then with linearised joints; the best result wins
//
// In: the problem with its contacts and rows at q⁻. Out: the iterate in v_plus, omega_plus, lambda, evaluated at its
// poses x_plus, q_plus; how far it came. Cost: that of its attempts (attempt.hpp); nearly always one. Source: seeds,
// section Numerical solution.
#pragma once

#include "engine/newton/attempt.hpp"
#include "engine/newton/calming.hpp"
#include "engine/newton/easing.hpp"
#include "engine/newton/giving.hpp"
#include "engine/newton/start.hpp"

namespace axion::solver {

template <typename Real>
struct NewtonResult {
  Real ratio = 0;  // the worst residual ratio; at most one: converged
  NewtonCounts counts;
  bool fallback = false;
  bool eased = false;  // joints beyond their limits are not pushed back
};

// How far the iterate turns any body beyond where u⁻ would, rad.
template <typename Real, typename Team>
AXION_HD inline Real turn_from_last(const Team& team, const model::ModelView<Real>& m, Real dt,
                                    ConstArray<math::Vec3<Real>> omega, ConstArray<math::Vec3<Real>> last) {
  return greatest_turn<Real>(team, m, dt, Real(AttemptParameters::kMostTurn),
                             [&](int b) { return omega[b] - last[b]; });
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
  if (turn_from_last<Real>(team, p.m, p.s.dt, p.w.omega_plus, p.w.omega) > Real(AttemptParameters::kMostTurn))
    return true;
  const Real locks =
      team.template max<Real>(p.m.lock_count, [&](int i) { return p.w.natural_residual[i] / p.w.row_tolerance[i]; });
  allow_moment_rounding(team, p, Real(1));
  const Real bodies =
      team.template max<Real>(2 * p.m.body_count, [&](int i) { return p.w.body_residual[i] / p.w.body_tolerance[i]; });
  return !(locks <= Real(AttemptParameters::kFailedRatio)) || !(bodies <= Real(AttemptParameters::kFailedRatio));
}

// What an attempt is worth beside those of other joint modes: its residual ratio, and what its poses leave of the
// locks, which the rows of LINEARISED do not ask for.
template <typename Real, typename Team>
AXION_HD inline Real rank_attempt(const Team& team, const Problem<Real>& p, Real ratio) {
  if (p.joint_mode != model::JointMode::kLinearised) return ratio;
  const Real poses = team.template max<Real>(p.m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = p.m.joints[j];
    if (constraints::gives_way<Real>(p.m, p.w, joint)) return Real(0);  // its locks do so by design
    constraints::JointEvaluation<Real> e;
    constraints::evaluate_joint<constraints::JointParts::kLocks>(p.m, joint, p.w.x_plus, p.w.q_plus, p.w.axis_position,
                                                                 e);
    Real worst = 0;
    for (int i = 0; i < joint.translation_lock_count + joint.rotation_lock_count; ++i) {
      worst = greater(worst, std::abs(e.error[i]) / (p.s.dt * p.s.velocity_tolerance));
    }
    return worst;
  });
  return greater(ratio, poses);
}

// Eases locks that no motion meets, where no joint mode solved the step and some start off, or where they hold what a
// limit or a contact pushes. Returns whether there are any: the step is then to be solved again.
template <typename Real, typename Team>
AXION_HD_RARE bool ease_unmet(const Team& team, const Problem<Real>& p, Real ratio) {
  const Real closing = fastest_closing(team, p);
  const bool unsolved = !(ratio <= Real(1));
  const bool pushed = (unsolved && is_pushed_back(team, p)) || pushes_in_vain(team, p);
  if (!(closing > Real(0)) && !pushed) return false;
  const Real least = Real(EasingParameters::kFailedSpeed);
  const auto opening = [&] {
    return team.template max<Real>(p.m.lock_count, [&](int i) { return p.w.natural_residual[i]; });
  };
  const bool failed = pushed || (unsolved && (closing > least || !(opening() <= least)));
  return (failed || calm_share<Real>(team, p.m.body_count, p.s, p.w.v, p.w.v_plus, p.w.v_tilde) < Real(1)) &&
         ease_locks(team, p, pushed);
}

// Solves again while bodies are thrown. Where they are as fast without any push, what throws them is something else,
// and a step that was solved has its push again. Returns the worst residual ratio of the iterate that is left.
template <typename Real, typename Team>
AXION_HD_RARE Real calm_down(const Team& team, Problem<Real>& p, NewtonCounts& counts, Real ratio) {
  const auto gained = [&] { return greatest_gain<Real>(team, p.m.body_count, p.w.v, p.w.v_plus); };
  const Real thrown = gained(), least = Real(CalmingParameters::kLeastGain) * p.s.dt;
  const Real as_fast = thrown - greater(Real(CalmingParameters::kAsFast) * thrown, least);
  const bool was_solved = ratio <= Real(1);
  for (int k = 0; k < 4; ++k) {
    const Real share = calm_share<Real>(team, p.m.body_count, p.s, p.w.v, p.w.v_plus, p.w.v_tilde);
    const bool pushes_again = was_solved && p.s.push_share == Real(0) && gained() > as_fast;
    if (!pushes_again && !(share < Real(1) && p.s.push_share > Real(0))) return ratio;
    p.s.push_share = pushes_again ? Real(1) : (k < 2 ? share * p.s.push_share : Real(0));
    if (p.m.is_soft) constraints::soften_contacts(team, p.m, p.w, p.s, p.contact_count);
    if (p.m.lock_softness_count > 0) constraints::soften_locks(team, p.m, p.w, p.s);
    start_at_last(team, p);
    ratio = attempt(team, p, counts, false);
    if (pushes_again) break;
  }
  return ratio;
}

// Solves with contacts that give way, calmed where that would throw bodies; `again`: from no impulses of contacts.
// Returns the worst residual ratio of the iterate.
template <typename Real, typename Team>
AXION_HD_RARE Real attempt_giving(const Team& team, Problem<Real>& p, NewtonCounts& counts, bool again) {
  const auto& w = p.w;
  copy_iterate(team, iterate_size(p), present_iterate<Real>(p.w), Iterate<Real>{p.w.v, p.w.omega, p.w.lambda});
  if (again) team.for_each(3 * p.contact_count, [&](int i) { w.lambda[p.contact_base() + i] = 0; });
  const Real ratio = attempt(team, p, counts, false);
  return ratio <= Real(1) ? calm_down(team, p, counts, ratio) : ratio;
}

// Solves again with contacts that give way, such as are stuck; where others then stay deep, or nothing is solved, these
// without friction; and where nothing else solves the step all of them, if none that a motion opens sinks in. Where
// some gave way already, from no impulses of contacts. Returns the worst residual ratio of the iterate that is left: of
// the first in which nothing that a motion opens stays, else of the first that is solved, else of that which was.
template <typename Real, typename Team>
AXION_HD_RARE Real give_way(const Team& team, Problem<Real>& p, NewtonCounts& counts, Real ratio) {
  using model::Giving;
  const bool again = give_as_last(team, deep_contacts(p)), was_solved = ratio <= Real(1);
  Giving kept = p.s.giving;
  Real kept_share = p.s.push_share;
  const auto keep = [&] {
    kept = p.s.giving, kept_share = p.s.push_share;
    copy_iterate(team, iterate_size(p), kept_iterate<Real>(p.w), present_iterate<Real>(p.w));
  };
  keep();
  const Giving chain[3] = {Giving::kStuck, Giving::kStuckElseSmooth, Giving::kAll};
  bool is_solved = was_solved;
  for (int k = 0; k < 3 && !(chain[k] == Giving::kAll && is_solved); ++k) {
    p.s.giving = chain[k], p.s.push_share = 1;
    mark_giving(team, p);
    if (chain[k] == Giving::kStuck && !any_gives(team, deep_contacts(p))) continue;
    const Real its = attempt_giving(team, p, counts, again);
    if (!(its <= Real(1))) continue;
    if (chain[k] == Giving::kAll ? !any_sinks(team, deep_contacts(p)) : !any_stays(team, deep_contacts(p))) return its;
    if (chain[k] != Giving::kStuck) continue;
    keep();
    is_solved = true;
  }
  p.s.giving = kept, p.s.push_share = kept_share;
  mark_giving(team, p);
  copy_iterate(team, iterate_size(p), present_iterate<Real>(p.w), kept_iterate<Real>(p.w));
  return evaluate(team, p);
}

// Whether joints are pushed back from beyond their limits while a limit is not met at all, or, of an iterate that is
// not `solved`, any row of a joint. Contacts fail for reasons of their own.
template <typename Real, typename Team>
AXION_HD_RARE bool is_pushed_in_vain(const Team& team, const Problem<Real>& p, bool solved) {
  const Real unmet =
      team.template max<Real>(p.m.limit_count, [&](int i) { return p.w.natural_residual[p.limit_base() + i]; });
  if (!(unmet > Real(EasingParameters::kFailedSpeed))) {
    const auto ratio = [&](int i) { return p.w.natural_residual[i] / p.w.row_tolerance[i]; };
    if (solved || team.template max<Real>(p.contact_base(), ratio) <= Real(1)) return false;
  }
  return is_pushed_back(team, p);
}

// Solves again without pushing joints back from beyond their limits, where what holds them lets no step do so: two
// limits that a tendon or a loop sets against each other. Where contacts that give way have not solved the step, they
// do so then. Returns the worst residual ratio of the iterate that is left, the better of both.
template <typename Real, typename Team>
AXION_HD_RARE Real stop_pushing(const Team& team, Problem<Real>& p, NewtonResult<Real>& result) {
  copy_iterate(team, iterate_size(p), kept_iterate<Real>(p.w), present_iterate<Real>(p.w));
  p.s.limit_share = 0;
  start_at_last(team, p);
  Real ratio = attempt(team, p, result.counts, false);
  if (ratio <= Real(1) || ratio < result.ratio || !(result.ratio == result.ratio)) {
    result.eased = true;
  } else {
    copy_iterate(team, iterate_size(p), present_iterate<Real>(p.w), kept_iterate<Real>(p.w));
  }
  if (!(ratio <= Real(1)) && should_give_way(team, deep_contacts(p), ratio)) {
    ratio = give_way(team, p, result.counts, ratio);
    result.eased = result.eased || ratio <= Real(1);
  }
  if (result.eased) return ratio;
  p.s.limit_share = 1;
  return evaluate(team, p);
}

// Tries more robust joint modes while joints or dynamics fail; the best result wins.
template <typename Real, typename Team>
AXION_HD_CALL void fall_back(const Team& team, Problem<Real>& p, NewtonResult<Real>& result) {
  using model::JointMode;
  const auto& w = p.w;
  Real rank = rank_attempt(team, p, result.ratio);
  const JointMode asked = p.joint_mode;
  const JointMode chain[2] = {JointMode::kCurrent, JointMode::kLinearised};
  const bool may_fall_back = p.m.lock_count > 0 && p.s.constraint_level == model::ConstraintLevel::kPosition;
  for (int k = 0; k < 2 && may_fall_back; ++k) {
    if (!joints_failed(team, p)) break;
    const bool whirled =
        turn_from_last<Real>(team, p.m, p.s.dt, w.omega_plus, w.omega) > Real(AttemptParameters::kMostTurn);
    if (chain[k] == asked || asked == JointMode::kLinearised) continue;
    const JointMode last = p.joint_mode;
    copy_iterate(team, iterate_size(p), kept_iterate<Real>(p.w), present_iterate<Real>(p.w));
    p.joint_mode = chain[k];
    start_at_last(team, p);
    prepare_mode(team, p);
    const Real ratio = attempt(team, p, result.counts, false);
    const bool whirls =
        turn_from_last<Real>(team, p.m, p.s.dt, w.omega_plus, w.omega) > Real(AttemptParameters::kMostTurn);
    const Real its_rank = rank_attempt(team, p, ratio);
    if (whirls == whirled ? its_rank < rank || !(rank == rank) : whirled) {
      result.ratio = ratio, rank = its_rank;
      result.fallback = true;
      continue;
    }
    p.joint_mode = last;
    prepare_mode(team, p);
    copy_iterate(team, iterate_size(p), present_iterate<Real>(p.w), kept_iterate<Real>(p.w));
    evaluate(team, p);
  }
}

// Solves the step. Starts at u⁻ or, where the step was solved with other contacts, which `solved` counts, at what came
// of it.
template <typename Real, typename Team>
AXION_HD inline NewtonResult<Real> solve(const Team& team, Problem<Real>& p, int solved = -1) {
  NewtonResult<Real> result;
  const auto& w = p.w;
  if (solved < 0) {
    start_at_last(team, p);
  } else {
    match_impulses<Real>(team, p.rows(), w.contacts, {w.newton.solved, w.newton.solved_moment, solved}, w.lambda);
  }
  const model::JointMode asked = p.joint_mode;
  prepare_mode(team, p);
  result.ratio = attempt(team, p, result.counts, solved >= 0);
  fall_back(team, p, result);
  if (p.m.lock_softness_count > 0 && ease_unmet(team, p, result.ratio)) {
    p.joint_mode = asked, result.fallback = false;
    start_at_last(team, p);
    prepare_mode(team, p);
    result.ratio = attempt(team, p, result.counts, false);
    fall_back(team, p, result);
  }
  if (is_forced(team, p)) result.ratio = calm_down(team, p, result.counts, result.ratio);
  if (!p.m.is_soft && should_give_way(team, deep_contacts(p), result.ratio)) {
    result.ratio = give_way(team, p, result.counts, result.ratio);
  }
  if (!p.m.is_soft && is_pushed_in_vain(team, p, result.ratio <= Real(1))) {
    result.ratio = stop_pushing(team, p, result);
  }
  return result;
}

}  // namespace axion::solver
