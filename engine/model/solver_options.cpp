#include "engine/model/solver_options.hpp"

#include <cmath>
#include <string>

#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

Status check_range(const char* field, double value, double lower, double upper) {
  if (std::isfinite(value) && value >= lower && value <= upper) return {};
  return invalid_argument(field, std::string(field) + " is " + to_text(value) + ", must be from " + to_text(lower) +
                                     " to " + to_text(upper));
}

// Conjugate residuals need a symmetric operator; a friction law or joint mode without one is refused here.
Status check_symmetry(const SolverOptions& o) {
  if (!is_conjugate_residual(o.linear_solver)) return {};
  if (o.friction_model == FrictionModel::kNaturalMap) {
    return invalid_argument(
        "linear_solver",
        "conjugate residuals need a symmetric system: friction_model NATURAL_MAP is unsymmetric, use "
        "SCALAR_FIXED_POINT or linear_solver TREE_DIRECT");
  }
  if (o.constraint_level == ConstraintLevel::kVelocity) return {};  // impulses act along the rows themselves
  if (o.joint_mode == JointMode::kBlended || o.joint_mode == JointMode::kPrevious) {
    return invalid_argument("linear_solver",
                            "conjugate residuals need a symmetric system: joint modes PREVIOUS and BLENDED are "
                            "unsymmetric at position level, use CURRENT, LINEARISED or linear_solver TREE_DIRECT");
  }
  return {};
}

Status check_level(const SolverOptions& o) {
  if (o.constraint_level == ConstraintLevel::kPosition || o.joint_mode == JointMode::kPrevious) return {};
  return invalid_argument(
      "joint_mode", "constraint_level VELOCITY has rows at the start of the step only: joint_mode must be PREVIOUS");
}

}  // namespace

SolverOptions make_options(Preset preset) {
  SolverOptions options;
  options.preset = preset;
  if (preset == Preset::kAxionSeed) {
    options.joint_mode = JointMode::kCurrent;
    options.gyroscopic_mode = GyroscopicMode::kImplicit;
    options.contact_function = ContactFunction::kFischerBurmeister;
    options.friction_model = FrictionModel::kScalarFixedPoint;
    options.linear_solver = LinearSolver::kPcrJacobi;
    options.max_newton_iterations = 16;
    options.half_step_start = false;
  }
  if (preset == Preset::kVelocity) {
    options.constraint_level = ConstraintLevel::kVelocity;
    options.joint_mode = JointMode::kPrevious;
    options.half_step_start = false;
  }
  return options;
}

Status validate(const SolverOptions& o) {
  if (Status s = check_range("tolerance", o.tolerance, 1e-12, 1.0); !s.ok()) return s;
  if (Status s = check_range("max_newton_iterations", o.max_newton_iterations, 1, 100); !s.ok()) return s;
  if (Status s = check_range("max_linear_iterations", o.max_linear_iterations, 1, 1000); !s.ok()) return s;
  if (Status s = check_range("linear_tolerance", o.linear_tolerance, 1e-16, 1.0); !s.ok()) return s;
  if (Status s = check_range("depenetration_velocity", o.depenetration_velocity, 0.0, 1e6); !s.ok()) return s;
  if (Status s = check_range("limit_recovery_time", o.limit_recovery_time, 0.0, 1e6); !s.ok()) return s;
  if (Status s = check_range("contact_compliance", o.contact_compliance, 0.0, 1.0); !s.ok()) return s;
  if (Status s = check_range("contact_margin", o.contact_margin, 0.0, 10.0); !s.ok()) return s;
  if (Status s = check_range("equality_pull", o.equality_pull, 1.0, 1e9); !s.ok()) return s;
  if (Status s = check_range("baumgarte", o.baumgarte, 0.0, 1.0); !s.ok()) return s;
  if (Status s = check_level(o); !s.ok()) return s;
  return check_symmetry(o);
}

}  // namespace axion::model
