// StepSettings: dt and solver options in the batch's precision, ready for the step code.
#pragma once

#include <cstdint>
#include <limits>

#include "engine/math/constants.hpp"
#include "engine/model/solver_options.hpp"

namespace axion::model {

// Which rigid contacts that may give way do (constraints/giving_contacts.hpp): stuck ones that did in the last step,
// all stuck ones, all stuck ones while the others have no friction, which may hold them, or all, stuck or not.
enum class Giving : std::uint8_t { kAsLast, kStuck, kStuckElseSmooth, kAll };

template <typename Real>
struct StepSettings {
  Real dt;
  double time_step;         // dt as it was asked, for the clock
  Real velocity_tolerance;  // m/s: the tolerance of the options, a share of g dt, as a velocity
  ConstraintLevel constraint_level;
  JointMode joint_mode;
  GyroscopicMode gyroscopic_mode;
  ContactFunction contact_function;
  FrictionModel friction_model;
  LinearSolver linear_solver;  // kAutomatic until a step knows its contacts (newton/linear_solver.hpp)
  int max_newton_iterations, max_linear_iterations;
  Real linear_tolerance;
  bool line_search, warm_start;
  bool half_step_start;  // where the joint mode has use for it
  Real baumgarte;
  Real depenetration_velocity, limit_recovery_time, contact_compliance, contact_margin, equality_pull;
  // Of the speeds at which overlap and eased locks are worked off, and joints are pushed back from beyond limits, in
  // this step.
  Real push_share = 1, limit_share = 1;
  Giving giving = Giving::kAsLast;
};

// `options` have been validated.
template <typename Real>
StepSettings<Real> make_step_settings(const SolverOptions& options, double dt) {
  StepSettings<Real> s{};
  s.dt = static_cast<Real>(dt);
  s.time_step = dt;
  s.velocity_tolerance = static_cast<Real>(options.tolerance * math::kGravity * dt);
  s.constraint_level = options.constraint_level;
  s.joint_mode = options.joint_mode, s.gyroscopic_mode = options.gyroscopic_mode;
  s.contact_function = options.contact_function, s.friction_model = options.friction_model;
  s.linear_solver = options.linear_solver;
  s.max_newton_iterations = options.max_newton_iterations;
  s.max_linear_iterations = options.max_linear_iterations;
  // Below that the residual shows only rounding.
  const double floor = 16.0 * std::numeric_limits<Real>::epsilon();
  s.linear_tolerance = static_cast<Real>(options.linear_tolerance > floor ? options.linear_tolerance : floor);
  s.line_search = options.line_search, s.warm_start = options.warm_start;
  s.half_step_start = options.half_step_start && options.constraint_level == ConstraintLevel::kPosition &&
                      (options.joint_mode == JointMode::kPrevious || options.joint_mode == JointMode::kBlended);
  s.baumgarte = static_cast<Real>(options.baumgarte);
  s.depenetration_velocity = static_cast<Real>(options.depenetration_velocity);
  s.limit_recovery_time = static_cast<Real>(options.limit_recovery_time);
  s.contact_compliance = static_cast<Real>(options.contact_compliance);
  s.contact_margin = static_cast<Real>(options.contact_margin);
  s.equality_pull = static_cast<Real>(options.equality_pull);
  return s;
}

}  // namespace axion::model
