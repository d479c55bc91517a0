// How an attempt at a step goes on after each of its iterations: by sweeps or by Newton's steps, from the present
// iterate or the best one, with which proximal term. All decisions are here; attempt.hpp carries them out.
//
// The measure is the worst residual ratio, the largest residual in multiples of its tolerance; an attempt has converged
// at one. Newton's steps are full: on redundant frictional contacts a search that insists on decrease ends in tiny
// steps. So the ratio may rise for some iterations, the best iterate is kept, and after some steps without a decrease
// it is taken up again with the next remedy (the watchdog technique, Chamberlain et al. 1982). States and transitions,
// which README.md shows as a table:
//
//   sweeping    rounds of sweeps look for the active set: which contacts stick, slide and open. The step of a pile (no
//               joints, more pairs that touch than a tree has) is left to them altogether, unless they fail
//   newton      linearise, solve, full step
//   recovering  after a failure of newton: rounds of cautious sweeps from the best iterate
//   retrying    newton after recovering, without progress so far
//   damping     after a failure of retrying: Newton's steps with a hundredfold proximal term
//   alternating systems that cannot sweep: Newton's steps, some with a search, some with damping, by their number
//
//   progress    (below 0.9 of the best ratio) forgets the remedies: sweeping, newton stay what they are, recovering
//               becomes sweeping, retrying and damping become newton
//   rounds over sweeping → newton, recovering → retrying
//   failure     (the watchdog) newton → recovering, retrying → damping, damping → damping; each from the best iterate.
//               Damping that fails from where it started would do so again, and the attempt ends
//
// Two remedies are beside these. Where the ratio stalls the next Newton step has a tenth of the proximal term; without
// joints, as in a stack with the heaviest on top, that stays while the ratio falls. Where rigid contacts carry heavy
// bodies without joints Newton comes first, with a proximal term by the load of each, and a longer watchdog; a failure
// of newton then makes that term tenfold, up to a bound, before recovering is tried. An iterate that is not finite is
// taken back once, and the attempt goes on in the same state with the positive part of the geometric stiffness.
//
// Source: seeds, section Numerical solution; the rest by experiment (docs/experiments).
//
// In: traits of the system, and the worst residual ratio after each iteration. Out: a plan for the next iteration, and
// a verdict on the present iterate. Cost: a few comparisons an iteration.
#pragma once

#include <cstdint>

#include "engine/base/macros.hpp"
#include "engine/contact_solver/sweep_plan.hpp"
#include "engine/newton/parameters.hpp"

namespace axion::solver {

enum class AttemptState : std::uint8_t { kSweeping, kNewton, kRecovering, kRetrying, kDamping, kAlternating };
enum class AttemptEvent : std::uint8_t { kProgress, kRoundsOver, kFailure };

AXION_HD constexpr bool is_sweeping(AttemptState state) {
  return state == AttemptState::kSweeping || state == AttemptState::kRecovering;
}

AXION_HD constexpr AttemptState next_state(AttemptState state, AttemptEvent event) {
  using enum AttemptState;
  if (state == kAlternating) return kAlternating;
  switch (event) {
    case AttemptEvent::kProgress:
      return is_sweeping(state) ? kSweeping : kNewton;
    case AttemptEvent::kRoundsOver:
      return state == kSweeping ? kNewton : kRetrying;
    case AttemptEvent::kFailure:
      return state == kNewton ? kRecovering : kDamping;
  }
  return state;
}

// What of a system decides how its attempts go.
struct SystemTraits {
  bool may_sweep = false;      // sweeps can look for its active set (attempt.hpp)
  bool is_pile = false;        // of those: the step is left to sweeps
  bool has_no_joints = false;  // of those
};

// One Newton step.
template <typename Real>
struct NewtonPlan {
  Real proximal_scale = 1;  // multiple of the proximal term
  Real load_proximal = 0;   // of g dt, LoadParameters
  bool may_search = false;  // whether a step that does not decrease the ratio is halved
};

// What comes after an iteration.
enum class Verdict : std::uint8_t {
  kGoOn,        // from the present iterate
  kKeep,        // the same, and it is the best so far
  kTakeBest,    // from the best iterate
  kTakeFinite,  // from the best iterate, in the same state, with the positive part of the geometric stiffness
  kEnd,         // converged, or not finite again
};

// Sweeps of a pile; the first round has none before it.
template <typename Real>
AXION_HD inline SweepPlan<Real> plan_pile_sweeps(int rounds_before) {
  using P = SweepRoundParameters;
  SweepPlan<Real> plan{.count = P::kPileSweeps, .tolerance = Real(P::kPileTolerance)};
  plan.local = true;
  plan.momentum = Real(P::kPileMomentum);
  if (rounds_before == 0) return plan;
  plan.count = P::kCautiousSweeps;
  plan.momentum = Real(P::kCautiousMomentum);
  plan.averaged = true;
  return plan;
}

// Sweeps after a failure of Newton's steps.
template <typename Real>
AXION_HD inline SweepPlan<Real> plan_cautious_sweeps() {
  using P = SweepRoundParameters;
  SweepPlan<Real> plan{.count = P::kCautiousSweeps, .tolerance = Real(SweepParameters::kFinalTolerance)};
  plan.momentum = Real(P::kCautiousMomentum);
  plan.averaged = true;
  return plan;
}

// Sweeps that look for the active set; closer after a round that hardly lowered the ratio.
template <typename Real>
AXION_HD inline SweepPlan<Real> plan_search_sweeps(int rounds_before, bool last_was_slow) {
  using P = SweepParameters;
  SweepPlan<Real> plan{.count = SweepRoundParameters::kSweeps};
  plan.tolerance = Real(rounds_before == 0 ? P::kFirstTolerance : P::kFinalTolerance);
  if (last_was_slow) plan.tolerance = Real(P::kFineTolerance), plan.proximal = Real(ActiveSetParameters::kFineProximal);
  return plan;
}

// The decisions of one attempt. Ratios that are passed to it are worst residual ratios.
template <typename Real>
struct Globalisation {
  SystemTraits traits;
  AttemptState state = AttemptState::kAlternating;
  bool is_loaded = false;    // rigid contacts carry loads, and there are no joints
  Real ratio = 0, best = 0;  // of the present iterate, and the least
  Real before = 0;           // of the iterate before the present one
  int failures = 0;          // Newton steps without a decrease since the best iterate
  int rounds = 0;            // of sweeps
  bool stalled = false;      // the last iteration was a Newton step and left the ratio as it was
  bool eased = false;        // a lower proximal term stays
  bool exhausted = false;    // damping started at the best iterate; from there it would fail in the same way again
  Real load_proximal = Real(LoadParameters::kFirst);
  bool has_factors = false;  // a round of sweeps left factors of the joints that may serve the next,
  Real turned = 0;           // bodies having turned so far since, rad
  bool exact_turning = true;

  // Starts at an iterate with this ratio. `resumed`: it is what came of the step with fewer contacts.
  AXION_HD void start(Real first_ratio, bool resumed) {
    ratio = best = before = first_ratio;
    if (!traits.may_sweep) return;
    const Real least = traits.is_pile ? Real(1) : Real(SweepRoundParameters::kFirstRatio);
    const bool sweeps = (traits.is_pile || !is_loaded) && (resumed || ratio > least);
    state = sweeps ? AttemptState::kSweeping : AttemptState::kNewton;
  }

  AXION_HD SweepPlan<Real> plan_sweeps() const {
    using P = SweepRoundParameters;
    SweepPlan<Real> plan;
    if (traits.is_pile) {
      plan = plan_pile_sweeps<Real>(rounds);
    } else if (state == AttemptState::kRecovering) {
      plan = plan_cautious_sweeps<Real>();
    } else {
      plan = plan_search_sweeps<Real>(rounds, rounds > 1 && ratio > Real(P::kSlowRound) * before);
      plan.coarse = Real(P::kCoarse) * ratio;
    }
    plan.reuse_factors = has_factors && ratio * turned < Real(P::kReuse);
    return plan;
  }

  // After a round: its result, and how far it turned a body, rad.
  AXION_HD void note_sweeps(const SweepPlan<Real>& plan, Real turn) {
    ++rounds;
    turned = (plan.reuse_factors ? turned : Real(0)) + turn;
    has_factors = true;
  }

  // Iteration k of the attempt.
  AXION_HD NewtonPlan<Real> plan_newton(int k) {
    using P = NewtonParameters;
    has_factors = false;
    eased = traits.has_no_joints && (eased || stalled);
    const bool alternates = state == AttemptState::kAlternating;
    const bool damped = alternates ? k >= P::kDampingStart && k % 2 == 1 : state == AttemptState::kDamping;
    NewtonPlan<Real> plan;
    plan.proximal_scale = stalled || eased ? Real(P::kEased) : (damped ? Real(P::kDamped) : Real(1));
    plan.load_proximal = is_loaded && !damped ? load_proximal : Real(0);
    plan.may_search = alternates && k % P::kSearchPeriod >= P::kSearchStart;
    return plan;
  }

  // After an iteration to `next`; `whole`: a round's result was not cut short by the bound on turns.
  AXION_HD Verdict judge(Real next, bool whole) {
    const bool swept = is_sweeping(state);
    const Real last = ratio;
    ratio = next, before = last;
    if (!(ratio == ratio) && best == best && exact_turning) {
      exact_turning = has_factors = false;
      return Verdict::kTakeFinite;
    }
    if (ratio <= Real(1) || !(ratio == ratio)) return Verdict::kEnd;
    const bool rounds_over = swept && !sweeps_go_on(last, whole);
    const bool lower = ratio < best || !(best == best), progress = !(ratio > Real(NewtonParameters::kProgress) * best);
    stalled = traits.may_sweep && !swept && !progress && ratio < Real(NewtonParameters::kStalled) * best;
    if (progress) failures = 0, state = next_state(state, AttemptEvent::kProgress);
    if (rounds_over) state = next_state(state, AttemptEvent::kRoundsOver);
    if (lower) best = ratio, exhausted = false;
    if (swept || !lower) eased = false;
    if (lower) return Verdict::kKeep;
    const bool falling = ratio < last / 2;  // on its way back from a worse iterate
    if (!traits.may_sweep || swept || stalled || falling) return Verdict::kGoOn;
    if (++failures <= (is_loaded ? NewtonParameters::kLoadedWatchdogSteps : NewtonParameters::kWatchdogSteps)) {
      return Verdict::kGoOn;
    }
    failures = 0;
    if (state == AttemptState::kDamping && exhausted) return Verdict::kEnd;
    if (is_loaded && state == AttemptState::kNewton && load_proximal < Real(LoadParameters::kMost)) {
      load_proximal *= Real(LoadParameters::kGrowth);
    } else {
      state = next_state(state, AttemptEvent::kFailure);
      exhausted = state == AttemptState::kDamping;
    }
    return Verdict::kTakeBest;
  }

 private:
  AXION_HD bool sweeps_go_on(Real last, bool whole) const {
    using P = SweepRoundParameters;
    if (traits.has_no_joints && !traits.is_pile && rounds > 1 && ratio > Real(P::kIdleRound) * last) return false;
    return ratio < best / 2 || !whole || rounds <= (traits.is_pile ? P::kPileRounds : P::kRounds);
  }
};

}  // namespace axion::solver
