#include "engine/model/solver_options.hpp"

#include <cmath>
#include <string>

namespace axion::model {
namespace {

Status check_range(const char* field, double value, double lower, double upper) {
  if (std::isfinite(value) && value >= lower && value <= upper) return {};
  return invalid_argument(field, std::string(field) + " is " + std::to_string(value) + ", must be from " +
                                     std::to_string(lower) + " to " + std::to_string(upper));
}

// Conjugate residuals need a symmetric operator; a friction law or joint mode without one is refused here.
Status check_symmetry(const SolverOptions& o) {
  if (o.linear_solver != LinearSolver::kPcrJacobi) return {};
  if (o.friction_model == FrictionModel::kNaturalMap) {
    return invalid_argument("linear_solver",
                            "PCR_JACOBI needs a symmetric system: friction_model NATURAL_MAP is unsymmetric, use "
                            "SCALAR_FIXED_POINT or linear_solver TREE_DIRECT");
  }
  if (o.joint_mode == JointMode::kBlended || o.joint_mode == JointMode::kPrevious) {
    return invalid_argument("linear_solver",
                            "PCR_JACOBI needs a symmetric system: joint modes PREVIOUS and BLENDED are unsymmetric, "
                            "use CURRENT, LINEARISED or linear_solver TREE_DIRECT");
  }
  return {};
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
  }
  return options;
}

Status validate(const SolverOptions& o) {
  if (Status s = check_range("tolerance", o.tolerance, 1e-12, 1.0); !s.ok()) return s;
  if (Status s = check_range("max_newton_iterations", o.max_newton_iterations, 1, 100); !s.ok()) return s;
  if (Status s = check_range("max_linear_iterations", o.max_linear_iterations, 1, 1000); !s.ok()) return s;
  if (Status s = check_range("linear_tolerance", o.linear_tolerance, 1e-16, 1.0); !s.ok()) return s;
  if (Status s = check_range("depenetration_velocity", o.depenetration_velocity, 0.0, 1e6); !s.ok()) return s;
  if (Status s = check_range("contact_compliance", o.contact_compliance, 0.0, 1.0); !s.ok()) return s;
  if (Status s = check_range("contact_margin", o.contact_margin, 0.0, 10.0); !s.ok()) return s;
  return check_symmetry(o);
}

}  // namespace axion::model
