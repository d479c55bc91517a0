// The numbers that the system of a step goes by, each with its unit and what it does. Found by experiment
// (docs/experiments); none is tuned to a scene.
#pragma once

namespace axion::solver {

// Newton's steps (iterate.hpp).
struct IterateParameters {
  // rad: a step that turns a body by more leaves the range in which the linearised rotation map holds.
  static constexpr double kMaxRotation = 0.5;
  // m: a wheel's centre of mass is no further from its axle.
  static constexpr double kWheelOffset = 1e-6;
};

// Locks (equality_residual.hpp, row_residuals.hpp).
struct LockParameters {
  // m/s or rad/s, as fast as locks come together at least, whatever depenetration_velocity is: what steps leave of a
  // lock's error is far less in a step, and is taken back at once.
  static constexpr double kLeastRecovery = 1;
  // m/s² or rad/s²: what the force of a closing lock may give what it holds before the lock gives. Then m for each m/s²
  // beyond, or rad for rad/s², and at most this share of (J M⁻¹ Jᵀ)_ii.
  static constexpr double kRigidLoad = 5000, kStrain = 1e-9, kMostStrain = 1e-2;
};

// The least compliance of rows of joints (linearise.hpp).
struct JointProximalParameters {
  // Of (J M⁻¹ Jᵀ)_ii, in float32 and float64.
  static constexpr double kSingle = 1e-6, kDouble = 1e-8;
};

// Compliances of locks that close loops (linearise.hpp).
struct LoopParameters {
  // Of a row's tolerance: what a loop's compliance may take, and takes at most in float32, whose tolerance is that of
  // rounding.
  static constexpr double kBias = 0.1, kRoundedBias = 0.75;
  // m/s²: a load of the row's own inertia that would take all of the tolerance in float32; and the greatest compliance,
  // of (J M⁻¹ Jᵀ)_ii.
  static constexpr double kRoundedLoad = 5000, kMostGive = 1e-2;
};

// Geometric stiffness in the matrix (linearise.hpp).
struct TurningParameters {
  // Multiples of its own inertia that neighbours are taken to lend a body, or of the inertia that BLENDED finds
  // (supported_inertias).
  static constexpr double kLentInertia = 5, kSupportedInertia = 2;
};

}  // namespace axion::solver
