// SolverOptions: every choice of the method that a batch can make, as plain data.
//
// A preset fills all of them; each may then be changed alone. `validate` refuses combinations that have no meaning and
// says why. The method, its equations and the reasons for the defaults are in engine/METHOD.md.
#pragma once

#include <cstdint>

#include "engine/base/result.hpp"

namespace axion::model {

enum class Precision : std::uint8_t { kFloat32, kFloat64 };

enum class Preset : std::uint8_t {
  kDefault,    // blended joints, split rotation, natural-map friction, direct solve along the tree
  kAxionSeed,  // J(q+), implicit gyroscopic term, Fischer-Burmeister, scalar W, Schur complement with Jacobi PCR
  kVelocity,   // rows at velocity level with Baumgarte's correction
};

// What a row asks for at the end of the step: the constraint itself, or its rate and a share of its error.
enum class ConstraintLevel : std::uint8_t { kPosition, kVelocity };

// Where the joint impulses act and how their rows are linearised.
enum class JointMode : std::uint8_t {
  kPrevious,    // impulses along J(q-), constraint at q+
  kCurrent,     // impulses along J(q+) of the iterate (backward Euler)
  kLinearised,  // row linearised at q-, with an error fraction
  kBlended,     // impulses along (1 - w) J(q-) + w J(q+), w from the geometric stiffness
};

enum class GyroscopicMode : std::uint8_t { kSplit, kImplicit, kExplicit };
enum class ContactFunction : std::uint8_t { kFischerBurmeister, kMinimumMap };
enum class FrictionModel : std::uint8_t { kScalarFixedPoint, kNaturalMap };
enum class LinearSolver : std::uint8_t {
  kAutomatic,    // kTreeDirect; kTreeKrylov in steps whose couplings exceed what the factorisation can hold
  kPcrJacobi,    // conjugate residuals on the Schur complement, diagonal preconditioner; symmetric systems only
  kTreeDirect,   // factorisation along the joint tree, loops and contacts between moving bodies as fill
  kPcrTree = 4,  // conjugate residuals, preconditioned by the factorisation of the tree; symmetric systems only
  kTreeKrylov,   // factorisation of a tree without fill, BiCGStab on the loops and contacts between bodies left out
  kDenseDirect,  // LU with pivoting of the whole system: small worlds, and an oracle
};

constexpr bool is_conjugate_residual(LinearSolver solver) {
  return solver == LinearSolver::kPcrJacobi || solver == LinearSolver::kPcrTree;
}

// How contacts and limits of joints give way.
enum class ContactSoftness : std::uint8_t {
  kRigid,  // not, but for contact_compliance and the springs of shapes
  kMjcf,   // by solref, solimp and margin, as MuJoCo's (impedance.hpp); restitution and springs of shapes have no part
};

struct SolverOptions {
  Preset preset = Preset::kDefault;
  Precision precision = Precision::kFloat32;

  ConstraintLevel constraint_level = ConstraintLevel::kPosition;
  JointMode joint_mode = JointMode::kBlended;  // at velocity level: kPrevious
  GyroscopicMode gyroscopic_mode = GyroscopicMode::kSplit;
  ContactFunction contact_function = ContactFunction::kFischerBurmeister;
  FrictionModel friction_model = FrictionModel::kNaturalMap;
  LinearSolver linear_solver = LinearSolver::kAutomatic;
  ContactSoftness contact_softness = ContactSoftness::kRigid;

  double tolerance = 1e-3;          // of g*dt, the velocity that gravity gives in one step
  int max_newton_iterations = 32;   // 1 .. 100, rounds of sweeps included
  int max_linear_iterations = 64;   // of PCR or BiCGStab, a Newton iteration, 1 .. 1000
  double linear_tolerance = 1e-10;  // their relative residual; at least 16 units in the last place
  bool line_search = true;          // one halving in later iterations; else full steps
  bool warm_start = true;
  // Half of the forces in the first step after a state is set, the other half with the next step's: second order in dt
  // with joint modes kPrevious and kBlended. Velocities that are read and set belong to the instant of the poses all
  // the same. The other modes never use it.
  bool half_step_start = true;

  double baumgarte = 0.2;               // 0 .. 1, share of an error that velocity level takes back in a step
  double depenetration_velocity = 1.0;  // m/s, the greatest speed at which overlap is pushed out
  // s; a joint beyond its limit comes back at its overlap over this, by at most half a radian in a step, or at
  // depenetration_velocity where that is faster.
  double limit_recovery_time = 0.05;
  double contact_compliance = 1e-7;  // m/N, capped at 1e-2 dt^2 of the contact's own inverse mass
  double contact_margin = 0.01;      // m; contacts are made this far ahead of touching, more at speed
  // m/s^2, or rad/s^2 of turning; an equality that no motion meets pulls what it holds with what would accelerate that
  // by this much in the reference configuration.
  double equality_pull = 5000;
};

// The options of a preset.
SolverOptions make_options(Preset preset);

// Refuses values out of range and combinations without meaning; the field is named relative to SolverOptions.
Status validate(const SolverOptions& options);

}  // namespace axion::model
