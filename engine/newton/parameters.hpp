// The numbers that Newton's method and its globalisation go by, each with what it does. Found by experiment
// (docs/experiments); none is tuned to a scene.
#pragma once

#include "engine/math/constants.hpp"

namespace axion::solver {

// When an attempt sweeps, and how (globalisation.hpp).
struct SweepRoundParameters {
  // A step starts with sweeps over its contacts from this worst residual ratio on.
  static constexpr double kFirstRatio = 100;
  // Sweeps of a round at most, while the active set is looked for; and rounds before Newton has to lower the ratio.
  static constexpr int kSweeps = 200, kRounds = 10;
  // Of the ratio: the tolerance of many sweeps, as the joints have to settle, too.
  static constexpr double kCoarse = 3e-4;
  // A pile's first round: sweeps, their tolerance (no row is linearised anew after them), and their momentum (more is
  // hardly faster, and circles sooner).
  static constexpr int kPileSweeps = 800;
  static constexpr double kPileTolerance = 0.5, kPileMomentum = 0.9;
  // Cautious sweeps, from means: a pile's later rounds, and all rounds after a failure of Newton's steps.
  static constexpr int kCautiousSweeps = 1600;
  static constexpr double kCautiousMomentum = 0.8;
  // Rounds of a pile at least.
  static constexpr int kPileRounds = 8;
  // Share of the ratio before it that a slow round leaves: the next one looks closer.
  static constexpr double kSlowRound = 0.25;
  // The same of an idle round: without joints nothing is linearised anew, and it is Newton's turn.
  static constexpr double kIdleRound = 0.9;
  // Below this ratio times turn (rad) a round keeps the last round's factorisation of the joints.
  static constexpr double kReuse = 1;
};

// Newton's steps and their remedies (globalisation.hpp).
struct NewtonParameters {
  // Newton steps without a decrease before the best iterate is taken up again; and where rigid contacts carry loads.
  static constexpr int kWatchdogSteps = 2, kLoadedWatchdogSteps = 12;
  // Between these shares of the best ratio an iterate stalls; below the lower one it makes progress.
  static constexpr double kProgress = 0.9, kStalled = 1.1;
  // Multiples of the proximal term: damping, and easing where the ratio stalls.
  static constexpr double kDamped = 100, kEased = 0.1;
  // Systems that cannot sweep: of every kSearchPeriod iterations those from kSearchStart on may halve their step, and
  // from iteration kDampingStart on every other one is damped.
  static constexpr int kSearchPeriod = 16, kSearchStart = 6, kDampingStart = 10;
  // Iterations that hold the scalar friction law's W in every direction; later ones follow the slip.
  static constexpr int kHeldCompliance = 4;
};

// Rigid contacts which carry more than the bodies' own weight (attempt.hpp).
struct LoadParameters {
  // Of a row's inverse effective mass: contacts with less compliance are rigid.
  static constexpr double kRigid = 1e-7;
  // Multiples of 9.81 m/s² times dt, from which on an impulse times its row's inverse effective mass is a load.
  static constexpr double kHeavy = 3 * math::kGravity;
  // Shares of g dt that the proximal term times the impulse of those may be: at first, at most, and the factor between.
  static constexpr double kFirst = 1e-4, kMost = 1e-2, kGrowth = 10;
};

// Locks that no motion meets (easing.hpp).
struct EasingParameters {
  // Of a row's tolerance, over a step: a lock that is no further off at the start is met.
  static constexpr double kMet = 4;
  // m/s or rad/s: a step above its tolerance has failed where locks were to close, or go on opening, faster than this.
  static constexpr double kFailedSpeed = 0.1;
  // rad or m: a limit passed by more pushes its joint back against what holds that.
  static constexpr double kBeyond = 0.01;
  // An eased lock is tried rigid every so many steps, once a step closes it at this speed, m/s or rad/s.
  static constexpr int kTryEvery = 8;
  static constexpr double kTrySpeed = 1;
};

// Steps that would throw bodies (calming.hpp).
struct CalmingParameters {
  // m/s²; a body that gains less is not thrown.
  static constexpr double kLeastGain = 10 * math::kGravity;
  // Of what a body gains at most with all of the push: where bodies gain no less without it than by this share, the
  // push throws none.
  static constexpr double kAsFast = 0.1;
};

// Contacts that give way (giving.hpp).
struct GivingParameters {
  // s: an overlap that takes longer to part stays.
  static constexpr double kPartingTime = 0.2;
  // Of the contact margin: a contact that gives way and gets deeper by more in a step sinks in.
  static constexpr double kSinking = 1e-4;
  // Of what all loads give in a step: impulses of contacts that others press together.
  static constexpr double kPressed = 10;
};

// The start of a step (start.hpp) and the choice of another joint mode (newton.hpp).
struct AttemptParameters {
  // Of the contact margin: from this depth on a step starts at this share of u⁻.
  static constexpr double kImpactDepth = 0.1, kImpactShare = 0.5;
  // rad, of a step beyond the last velocity; no step that Newton can follow turns a body further.
  static constexpr double kMostTurn = 2;
  // The residual ratio of joints or dynamics above which another joint mode tries.
  static constexpr double kFailedRatio = 100;
};

}  // namespace axion::solver
