// The generalised Jacobian against finite differences of the residual that `evaluate` reports, in float64, at random
// iterates: every kind of row, joint mode, constraint level, contact function and friction law.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/engine/problem/newton_system.hpp"
#include "tests/engine/problem/residual_functions.hpp"

namespace axion::jacobian_test {
namespace {

using model::JointMode;
using System = testing::NewtonSystem<double>;
using testing::Functions;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr double kStep = 1e-5;  // of the differences: m/s, rad/s, and N s times ten

// What the engine linearised: copied, because evaluating elsewhere overwrites it.
struct Linearised {
  Matrix J, F;
  Vector compliance, residual, gain, offset, g;
};

class Jacobian {
 public:
  // `blend`: the share of J(q⁺) in all joints' impulses, or those that their weights say. A weight comes with the
  // inertias that bodies turn with.
  Jacobian(const model::SceneSpec& scene, const model::SolverOptions& options, unsigned seed, double blend = -1)
      : system_(scene, options, seed) {
    for (int j = 0; j < problem().m.joint_count && blend >= 0; ++j) problem().w.blend[j] = blend;
    if (blend >= 0) constraints::supported_inertias(problem().m, problem().w, problem().s.dt);
    move_iterate(seed);
    functions_ = std::make_unique<Functions>(system_.problem());
    value_ = functions_->rows(system_.problem());
    linearise();
    difference();
  }

  System& system() { return system_; }
  const solver::Problem<double>& problem() { return system_.problem(); }

  // Locks and axes: the row itself, and the compliance but for its proximal part.
  void check_joint_rows() {
    const auto& p = problem();
    for (int i = 0; i < p.limit_base(); ++i) {
      const bool inert = i >= p.axis_base() && !(p.w.axis_beta[i - p.axis_base()] > 0);
      const double size = 1 + engine_.J.row(i).norm();
      EXPECT_LT((A_u_.row(i) - engine_.J.row(i)).norm(), 1e-6 * size) << "row " << i;
      const double proximal = engine_.compliance[i] - A_lambda_(i, i);
      EXPECT_LT((A_lambda_.row(i).cwiseAbs().sum() - std::abs(A_lambda_(i, i))), 1e-9) << "row " << i;
      if (inert) continue;
      EXPECT_GT(proximal, -1e-6 * engine_.compliance[i] - 1e-12) << "row " << i;
      EXPECT_LT(proximal, 1.01e-8 * p.w.row_scale[i] + 1e-6 * engine_.compliance[i] + 1e-12) << "row " << i;
    }
  }

  // Limits and efforts: the same row up to a factor, once the proximal part is taken away.
  void check_condensed_rows() {
    const auto& p = problem();
    for (int i = p.limit_base(); i < p.contact_base(); ++i) {
      const double prox = 1e-4 * p.w.row_scale[i];
      const double off = std::min(proportional_error(i, engine_.compliance[i] - prox),
                                  i < p.effort_base() ? 1.0 : proportional_error(i, engine_.compliance[i]));
      EXPECT_LT(off, 1e-6) << "row " << i;
    }
  }

  // Contacts: Δλ = −(e + G J Δu) is the differences' own Newton step for given Δu, with the proximal parts.
  void check_contacts() {
    const auto& p = problem();
    for (int c = 0; c < p.contact_count; ++c) {
      const int row = p.contact_base() + 3 * c;
      const double factor = normal_factor(row);
      Eigen::Matrix3d C = A_lambda_.block<3, 3>(row, row);
      Matrix D = A_u_.middleRows(row, 3);
      Eigen::Vector3d r = value_.segment<3>(row);
      C.row(0) *= factor, D.row(0) *= factor, r[0] *= factor;
      for (int k = 0; k < 3; ++k) C(k, k) += 1e-4 * p.w.row_scale[row + k];
      Matrix GJ = Matrix::Zero(3, D.cols());
      for (int k = 0; k < 3; ++k) {
        for (int l = 0; l < 3; ++l) GJ.row(k) += engine_.gain[9 * c + 3 * k + l] * engine_.J.row(row + l);
      }
      const Matrix exact = C.inverse() * D;
      const Eigen::Vector3d e = C.inverse() * r;
      EXPECT_LT((GJ - exact).norm(), 1e-5 * (exact.norm() + 1e-3)) << "contact " << c;
      EXPECT_LT((engine_.offset.segment<3>(3 * c) - e).norm(), 1e-5 * (e.norm() + 1e-6)) << "contact " << c;
    }
  }

  // Dynamics: −F against impulses always; against velocities where no impulse turns with its body.
  void check_dynamics(bool against_velocities) {
    const double size = engine_.F.cwiseAbs().maxCoeff();
    EXPECT_LT((g_lambda_ + engine_.F.transpose()).cwiseAbs().maxCoeff(), 1e-6 * size);
    if (!against_velocities) return;
    const Matrix M = system_.mass();
    EXPECT_LT((g_u_ - M).cwiseAbs().maxCoeff(), 1e-6 * M.cwiseAbs().maxCoeff());
  }

 private:
  // A random iterate near the start, with impulses of the size of a step's.
  void move_iterate(unsigned seed) {
    std::mt19937 random(seed + 100);
    std::uniform_real_distribution<double> u(-1, 1);
    auto& p = system_.problem();
    for (int b = 0; b < p.m.body_count; ++b) {
      for (int k = 0; k < 3; ++k) p.w.v_plus[b][k] += 0.5 * u(random), p.w.omega_plus[b][k] += 0.5 * u(random);
    }
    for (int i = 0; i < p.row_count(); ++i) p.w.lambda[i] = 0.05 * u(random);
    for (int c = 0; c < p.contact_count; ++c) p.w.lambda[p.contact_base() + 3 * c] = 0.05 + 0.06 * u(random);
    solver::evaluate(team::SerialTeam{}, p);
  }

  void linearise() {
    const auto& p = problem();
    solver::linearise(team::SerialTeam{}, p);
    engine_.J = system_.rows(false), engine_.F = system_.rows(true);
    engine_.compliance = system_.compliance();
    engine_.residual = Eigen::Map<Vector>(p.w.row_rhs, p.row_count());
    engine_.gain = Eigen::Map<Vector>(p.w.contact_gain, 9 * p.contact_count);
    engine_.offset = Eigen::Map<Vector>(p.w.contact_offset, 3 * p.contact_count);
  }

  // Central differences of all rows and of the dynamics.
  void difference() {
    const auto& p = problem();
    const int nu = system_.velocity_count(), n = p.row_count();
    A_u_ = Matrix(n, nu), A_lambda_ = Matrix(n, n), g_u_ = Matrix(nu, nu), g_lambda_ = Matrix(nu, n);
    for (int i = 0; i < nu; ++i) {
      math::Vec3<double>& part = i % 6 < 3 ? p.w.v_plus[i / 6] : p.w.omega_plus[i / 6];
      column(part[i % 3], kStep, A_u_.col(i), g_u_.col(i));
    }
    for (int i = 0; i < n; ++i) column(p.w.lambda[i], kStep / 10, A_lambda_.col(i), g_lambda_.col(i));
  }

  template <typename Rows, typename Bodies>
  void column(double& variable, double step, Rows&& rows, Bodies&& bodies) {
    const double kept = variable;
    Vector value[2], g[2];
    for (int k = 0; k < 2; ++k) {
      variable = k == 0 ? kept - step : kept + step;
      solver::evaluate(team::SerialTeam{}, problem());
      value[k] = functions_->rows(problem());
      g[k] = testing::dynamics_residual(problem());
    }
    variable = kept;
    rows = (value[1] - value[0]) / (2 * step);
    bodies = (g[1] - g[0]) / (2 * step);
  }

  // How far (J, C, r) of the engine is from a multiple of the differences, relative.
  double proportional_error(int i, double compliance) {
    const int nu = static_cast<int>(A_u_.cols());
    Vector ours(nu + 2), theirs(nu + 2);
    ours << A_u_.row(i).transpose(), A_lambda_(i, i), value_[i];
    theirs << engine_.J.row(i).transpose(), compliance, engine_.residual[i];
    const double factor = ours.dot(theirs) / ours.squaredNorm();
    return (factor * ours - theirs).norm() / theirs.norm();
  }

  // What the engine's normal row is multiplied by.
  double normal_factor(int row) {
    const int nu = static_cast<int>(A_u_.cols());
    Vector ours(nu + 1), theirs(nu + 1);
    ours << A_u_.row(row).transpose(), A_lambda_(row, row);
    theirs << engine_.J.row(row).transpose(), engine_.compliance[row] - 1e-4 * problem().w.row_scale[row];
    const double factor = ours.dot(theirs) / ours.squaredNorm();
    EXPECT_LT((factor * ours - theirs).norm(), 1e-6 * theirs.norm()) << "row " << row;
    return factor;
  }

  System system_;
  std::unique_ptr<Functions> functions_;
  Linearised engine_;
  Vector value_;
  Matrix A_u_, A_lambda_, g_u_, g_lambda_;
};

struct Formulation {
  const char* name;
  JointMode mode;
  model::ConstraintLevel level;
};

constexpr Formulation kFormulations[] = {
    {"previous", JointMode::kPrevious, model::ConstraintLevel::kPosition},
    {"current", JointMode::kCurrent, model::ConstraintLevel::kPosition},
    {"linearised", JointMode::kLinearised, model::ConstraintLevel::kPosition},
    {"blended", JointMode::kBlended, model::ConstraintLevel::kPosition},
    {"velocity level", JointMode::kPrevious, model::ConstraintLevel::kVelocity},
};

model::SolverOptions options_of(const Formulation& f) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.joint_mode = f.mode, options.constraint_level = f.level;
  return options;
}

class JointJacobian : public ::testing::TestWithParam<testing::NamedJoint> {};

TEST_P(JointJacobian, equal_finite_differences_in_every_formulation) {
  for (const Formulation& f : kFormulations) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE(std::string(f.name) + ", seed " + std::to_string(seed));
      Jacobian jacobian(GetParam().scene, options_of(f), seed);
      ASSERT_GT(jacobian.problem().m.lock_count, 0);
      jacobian.check_joint_rows();
      jacobian.check_dynamics(f.mode == JointMode::kPrevious || f.mode == JointMode::kLinearised);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryKind, JointJacobian, ::testing::ValuesIn(testing::joints_of_every_kind()),
                         [](const auto& info) { return info.param.name; });

// Of joints that do not slide and whose hinges share their anchor: elsewhere an impulse's direction or arm hangs on
// both bodies.
bool anchors_are_fixed(const solver::Problem<double>& p) {
  for (int j = 0; j < p.m.joint_count; ++j) {
    const auto& joint = p.m.joints[j];
    if (joint.slide_count > 0 || math::norm(joint.offset[0]) > 0 || math::norm(joint.offset[1]) > 0) return false;
  }
  return true;
}

TEST(Jacobian, of_dynamics_equals_finite_differences_where_anchors_impulses_turn) {
  int tested = 0;
  for (const testing::NamedJoint& joint : testing::joints_of_every_kind()) {
    SCOPED_TRACE(joint.name);
    Jacobian jacobian(joint.scene, options_of(kFormulations[3]), 1, 0.7);
    if (!anchors_are_fixed(jacobian.problem())) continue;
    double turning = 0;
    for (int b = 0; b < jacobian.problem().m.body_count; ++b) {
      for (int k = 0; k < 3; ++k) turning += math::norm(jacobian.problem().w.K_geometric[b].row[k]);
    }
    EXPECT_GT(turning, 1e-6);
    jacobian.check_dynamics(true);
    ++tested;
  }
  EXPECT_GE(tested, 8);
}

// What is taken where the exact derivative led astray: a symmetric matrix without a negative eigenvalue.
TEST(Jacobian, without_exact_turning_adds_to_no_body_less_than_nothing) {
  bool unsymmetric = false;
  for (const testing::NamedJoint& joint : testing::joints_of_every_kind()) {
    SCOPED_TRACE(joint.name);
    Jacobian jacobian(joint.scene, options_of(kFormulations[3]), 1, 0.7);
    auto& p = jacobian.system().problem();
    const auto turning = [&](int b) {
      Eigen::Matrix3d K;
      for (int r = 0; r < 3; ++r) {
        for (int c = 0; c < 3; ++c) K(r, c) = p.w.K_geometric[b](r, c);
      }
      return K;
    };
    for (int b = 0; b < p.m.body_count; ++b) {
      unsymmetric |= (turning(b) - turning(b).transpose()).norm() > 1e-3 * turning(b).norm();
    }
    p.exact_turning = false;
    solver::evaluate(team::SerialTeam{}, p);
    solver::linearise(team::SerialTeam{}, p);
    for (int b = 0; b < p.m.body_count; ++b) {
      const Eigen::Matrix3d K = turning(b);
      EXPECT_LE((K - K.transpose()).norm(), 1e-14 * K.norm());
      EXPECT_GE(Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(K).eigenvalues().minCoeff(), -1e-14 * K.norm());
    }
  }
  EXPECT_TRUE(unsymmetric);
}

TEST(Jacobian, of_limits_and_bounded_efforts_equals_finite_differences) {
  bool free = false, held = false;
  for (unsigned seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Jacobian jacobian(testing::mixed_scene(), options_of(kFormulations[3]), seed);
    jacobian.check_joint_rows();
    jacobian.check_condensed_rows();
    const auto& p = jacobian.problem();
    for (int i = 0; i < p.m.effort_count; ++i) {
      const double lambda = p.w.lambda[p.effort_base() + i];
      (lambda < p.w.effort_lower[i] || lambda > p.w.effort_upper[i] ? held : free) = true;
    }
  }
  EXPECT_TRUE(free && held);
}

TEST(Jacobian, of_contacts_equals_finite_differences_for_both_functions_and_both_laws) {
  using model::ContactFunction, model::FrictionModel;
  for (const ContactFunction function : {ContactFunction::kFischerBurmeister, ContactFunction::kMinimumMap}) {
    for (const FrictionModel friction : {FrictionModel::kNaturalMap, FrictionModel::kScalarFixedPoint}) {
      for (unsigned seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE("function " + std::to_string(int(function)) + ", friction " + std::to_string(int(friction)) +
                     ", seed " + std::to_string(seed));
        model::SolverOptions options = options_of(kFormulations[3]);
        options.contact_function = function, options.friction_model = friction;
        Jacobian jacobian(testing::mixed_scene(), options, seed);
        ASSERT_GT(jacobian.problem().contact_count, 6);
        jacobian.check_contacts();
        jacobian.check_condensed_rows();
      }
    }
  }
}

TEST(Jacobian, of_soft_contacts_and_of_contacts_at_velocity_level_equals_finite_differences) {
  model::SceneSpec soft = testing::mixed_scene();
  for (auto& shape : soft.shapes) shape.contact_stiffness = 1e4, shape.contact_damping = 10;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Jacobian(soft, options_of(kFormulations[3]), seed).check_contacts();
    Jacobian(testing::mixed_scene(), options_of(kFormulations[4]), seed).check_contacts();
  }
}

TEST(Jacobian, of_mjcfs_soft_contacts_equals_finite_differences_for_both_laws) {
  using model::FrictionModel;
  model::SceneSpec soft = testing::mixed_scene();
  // Margins hold every contact and limit within its law: of those that push nothing there is nothing to differentiate.
  for (auto& shape : soft.shapes) shape.softness.solimp = {0.4, 0.8, 0.6, 0.5, 2}, shape.softness.margin = 0.3;
  for (auto& joint : soft.joints) {
    for (auto& axis : joint.axes) axis.limit_softness.solimp = {0.4, 0.8, 4, 0.5, 2}, axis.limit_softness.margin = 3;
  }
  for (const FrictionModel friction : {FrictionModel::kNaturalMap, FrictionModel::kScalarFixedPoint}) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
      SCOPED_TRACE("friction " + std::to_string(int(friction)) + ", seed " + std::to_string(seed));
      model::SolverOptions options = options_of(kFormulations[3]);
      options.friction_model = friction, options.contact_softness = model::ContactSoftness::kMjcf;
      Jacobian jacobian(soft, options, seed);
      ASSERT_GT(jacobian.problem().contact_count, 6);
      jacobian.check_contacts();
      jacobian.check_condensed_rows();
    }
  }
}

}  // namespace
}  // namespace axion::jacobian_test
