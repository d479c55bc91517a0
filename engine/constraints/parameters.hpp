// The numbers that rows and their laws go by, each with its unit and what it does. Found by experiment
// (docs/experiments) unless a line says why; none is tuned to a scene. Numbers of friction.hpp and contact_function.hpp
// stand beside their laws.
#pragma once

namespace axion::constraints {

// Axes of joints and tendons (axis_laws.hpp, soft_laws.hpp).
struct AxisParameters {
  // h(d + hk/2) over the inertia of an axis with its armature, z₀: from here on backward Euler is blended in.
  static constexpr double kSoft = 4;
  // Of the sum of each piece's mobility: the least of a path through space whose pulls on a body cancel.
  static constexpr double kLeastMobility = 1e-6;
  // rad, by which a step turns a joint back from beyond its limit at most.
  static constexpr double kGreatestRecovery = 0.5;
  // Of the product of three unit axes: nearer to gimbal lock than this, rates of hinges are bounded.
  static constexpr double kLeastDeterminant = 1e-2;
};

// Contacts (contact_rows.hpp, contact_rebounds.hpp, blocked_contacts.hpp, adhesion.hpp).
struct ContactParameters {
  // m/s or rad/s: the bias of a row that pushes nothing.
  static constexpr double kOutOfReach = 1e6;
  // Of (J M⁻¹ Jᵀ)_nn: the greatest compliance of a rigid contact.
  static constexpr double kGreatestCompliance = 1e-2;
  // Of the least speed of an impact: an impulse that changes less is what a converged solve leaves of an open contact.
  static constexpr double kLeastMeeting = 0.01;
  // Of the overlap: a hinge that opens less of it by a radian blocks it, as does a joint that moves the contact's point
  // along the normal by less than this share of the arm.
  static constexpr double kBlockedTurn = 1e-2, kBlockedShare = 1e-4;
  // m: adhesion pulls at gaps up to this one, as bodies rest at gaps of the tolerance, with some noise.
  static constexpr double kAdhesionReach = 1e-3;
};

// Contacts that give way, and what is told of overlaps (giving_contacts.hpp). Shares of contact_margin.
struct OverlapParameters {
  // Overlap that is told of, and the gap of joints that are open; what is told of may give way from the second on.
  static constexpr double kDeep = 0.1, kMayGive = 0.095;
  // Depth that a contact which gives way keeps under its load.
  static constexpr double kGivingDepth = 0.01;
};

// Which overlaps a motion of the joints opens (stuck_contacts.hpp).
struct StuckParameters {
  // Sweeps of the ascent at most; m/s that a sweep changes of any row where it ends.
  static constexpr int kSweeps = 100;
  static constexpr double kSettled = 1e-3;
  // C of a pair: one alone is opened by motions of up to 4 m/s.
  static constexpr double kCost = 8;
  // m/s: a contact that opens no faster is stuck.
  static constexpr double kOpens = 0.5;
  // rad or m: a limit that is nearer holds.
  static constexpr double kReached = 1e-4;
  // m/s: a row that unit rates move by less is moved by none.
  static constexpr double kLeastMoved = 1e-4;
};

// Locks that are eased (eased_locks.hpp).
struct EasedLockParameters {
  // Of depenetration_velocity, or of 1 m/s where that is more: how fast what is apart is brought together.
  static constexpr double kFastestPull = 2.5;
};

// Forces of a step that differ from the forces of the step before (force_steps.hpp).
struct ForceStepParameters {
  // Of 9.81 m/s² times h: a body that moves no faster rests on others.
  static constexpr double kAtRest = 1e-3;
};

// The weights of BLENDED (geometric_stiffness.hpp).
struct BlendParameters {
  // A weight k_b below this is none, whatever rounding makes of it.
  static constexpr double kNoWeight = 1.9;
  // Of a body's least moment of inertia: added to the support of an axis, and over it what locked axes give.
  static constexpr double kLeastSupport = 1e-2, kLockedGive = 1e-3;
};

// Contacts and limits that give by solref and solimp (soft_laws.hpp).
struct SoftLawParameters {
  // Of its depth: where a deep contact stands that has no push.
  static constexpr double kTouching = 1e-6;
  // m: an impedance that rises over less is the mean of its two ends, as MuJoCo's is (mjMINVAL).
  static constexpr double kLeastWidth = 1e-15;
};

// Activations of muscles (activations.hpp).
struct MuscleParameters {
  // Of the time constant of a rise: at an activation of zero, and how much more at one. As MuJoCo has it,
  // after Millard.
  static constexpr double kRestTime = 0.5, kActiveTime = 1.5;
};

// Fluids (fluid_forces.hpp).
struct FluidParameters {
  // Rounds in which an ellipsoid's drag and lift are found anew at the velocity that they lead to.
  static constexpr int kLiftRounds = 3;
};

}  // namespace axion::constraints
