// The numbers that sweeps over contacts go by, each with what it does. Found by experiment (docs/experiments).
#pragma once

namespace axion::solver {

// Sweeps on the rows' own velocities (contact_sweeps.hpp). Tolerances are shares of a row's tolerance.
struct SweepParameters {
  // Least mobility of a row in the joints' response, relative to its own bodies' alone.
  static constexpr double kLeastMobility = 1e-6;
  // Where sweeps stop: in a first round; in later ones, where the remaining residual of the joints hardly adds to it;
  // and where the joints do not settle for the residual of the contacts.
  static constexpr double kFirstTolerance = 0.2, kFinalTolerance = 0.1, kFineTolerance = 0.02;
  // Momentum starts anew where |f|² grows by the first from a sweep to the next, or is the second of its least.
  static constexpr double kMomentumGrowth = 1.21, kMomentumExcess = 4;
  // Sweeps before the first that is accelerated.
  static constexpr int kPlainSweeps = 2;
  // Sweeps after which a system is hard to settle: the plan's coarse tolerance then applies.
  static constexpr int kLongSweeps = 24;
  // Sweeps, from the first of a round, in which what slides is lifted anew.
  static constexpr int kLiftedSweeps = 3;
  // Sweeps over which a mean is taken.
  static constexpr int kMeanStretch = 50;
  // The active set is first solved whole after this sweep, counted from zero; again after a pause of so many, which
  // grows by a factor each time; so often at most: where they cycle, momentum settles.
  static constexpr int kFirstActiveStep = 2, kActiveChains = 8;
  static constexpr double kActiveStepPause = 1, kActivePauseGrowth = 1.2;
};

// Steps on the active set (active_set_step.hpp, active_set_rows.hpp).
struct ActiveSetParameters {
  // Share of its cone that friction of a sticking contact stays within.
  static constexpr double kStickingShare = 0.999;
  // Steps in a chain, and contacts that a chain holds to slide, at most.
  static constexpr int kChain = 3, kMostHeld = 12;
  // Share of a step: bounds met within it of the first are met with the first.
  static constexpr double kTogether = 0.1;
  // Share of a step from which on sweeps should look again.
  static constexpr double kLongStep = 0.5;
  // Of each row's own entry, added to it: redundant contacts have no other pivot; and where directions that move little
  // have to settle, too.
  static constexpr double kProximal = 3e-5, kFineProximal = 1e-6;
};

// Sizes of the room's arrays (sweep_scratch.hpp), and of the packs in which contacts and columns are taken.
struct SweepSizes {
  // Order of the greatest Delassus matrix that a world keeps: 144 KiB in float32. Columns are padded to whole vectors.
  // Of models with torsional or rolling friction, whose contacts have twice the rows: 1 MiB.
  static constexpr int kMaxDelassusRows = 192, kMaxMomentRows = 512, kDelassusPadding = 16;
  // Columns of it that one passage through the tree makes where few rows need them (else kPushLanes, tree_scratch.hpp).
  static constexpr int kFewLanes = 4;
  // Rows of a step on the active set, and from column to column of its matrix, one more on a GPU (active_set_step.hpp).
  static constexpr int kMaxActiveRows = 63, kActiveStride = 64;
  // Contacts in a group of coloured contacts; numbers kept of each; colours, enough for a box that lies among boxes
  // with four contacts on a side; numbers of a body's velocity, linear, angular and two zeros.
  static constexpr int kGroupContacts = 16, kPackedFields = 74, kMaxColours = 64, kBodyNumbers = 8;
};

// Sweeps of piles (listed_sweeps.hpp).
struct PileSweepParameters {
  // A list is given groups of its own where so many times its contacts are no more than all.
  static constexpr int kListedShare = 4;
  // A stretch over a list takes so many sweeps at least, if it does not settle before, and until it has cost as much as
  // so many sweeps of all, but no more than the last.
  static constexpr int kShortStretch = 12, kStretchVisits = 2, kLongStretch = 100;
  // A mean is taken over so many sweeps, then twice as many and so on, up to so many times: circles have periods of
  // their own.
  static constexpr int kMeanUnit = 60, kMeanUnits = 4;
};

}  // namespace axion::solver
