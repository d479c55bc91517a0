// The Schur operator and its preconditioners against dense matrices built by Eigen, in float64.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/engine/problem/newton_system.hpp"

namespace axion::preconditioners_test {
namespace {

using model::LinearSolver;
using Team = team::SerialTeam;
using System = testing::NewtonSystem<double>;
using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

constexpr LinearSolver kKinds[] = {LinearSolver::kPcrJacobi, LinearSolver::kPcrTree};

model::SolverOptions options_of(LinearSolver solver) {
  model::SolverOptions options = model::make_options(model::Preset::kAxionSeed);
  options.linear_solver = solver;
  return options;
}

std::vector<model::SceneSpec> scenes() {
  return {testing::mixed_scene(), testing::box_stack(3, 5), testing::ring_of_bars(6, true),
          testing::pendulum_chain(5, 100)};
}

void prepare(const System& system) {
  solver::prepare_schur(Team{}, system.problem());
  solver::prepare_preconditioner(Team{}, system.problem());
}

// The preconditioner as a matrix, column by column.
Matrix preconditioner(const System& system) {
  const int n = system.row_count();
  std::vector<double> x(n, 0), y(n);
  Matrix P(n, n);
  for (int i = 0; i < n; ++i) {
    x[i] = 1;
    solver::precondition(Team{}, system.problem(), x.data(), y.data());
    P.col(i) = Eigen::Map<Vector>(y.data(), n);
    x[i] = 0;
  }
  return P;
}

// The part of a matrix on rows and columns of the same group.
Matrix restricted(const Matrix& A, const std::vector<int>& group) {
  Matrix B = Matrix::Zero(A.rows(), A.cols());
  for (int i = 0; i < A.rows(); ++i) {
    for (int k = 0; k < A.cols(); ++k) {
      if (group[i] == group[k]) B(i, k) = A(i, k);
    }
  }
  return B;
}

int joint_of(const solver::Problem<double>& p, int row) {
  if (row < p.axis_base()) return p.m.lock_joint[row];
  if (row < p.limit_base()) return p.m.axes[row - p.axis_base()].joint;
  if (row < p.effort_base()) return p.m.axes[p.m.limit_axis[row - p.limit_base()]].joint;
  return p.m.axes[p.m.efforts[row - p.effort_base()].axis].joint;
}

// One group for each joint, one for each contact; with `tree` all that is in the tree's scope is one.
std::vector<int> groups(const solver::Problem<double>& p) {
  std::vector<int> group;
  const int joints = p.m.joint_count, first_loop = joints - p.m.loop_count;
  for (int i = 0; i < p.row_count(); ++i) {
    const bool joint_row = i < p.contact_base();
    const int contact = (i - p.contact_base()) / 3;
    const bool in_tree = joint_row ? joint_of(p, i) < first_loop : solver::in_scope(p, contact, solver::Scope::kTree);
    group.push_back(in_tree ? -1 : joint_row ? joint_of(p, i) : joints + contact);
  }
  return group;
}

void expect_inverse(const Matrix& P, const Matrix& A, double tolerance) {
  const Matrix inverse = A.fullPivLu().inverse();
  const Vector scale = inverse.diagonal().cwiseSqrt();  // rows have different units and sizes
  const Matrix off = scale.cwiseInverse().asDiagonal() * (P - inverse) * scale.cwiseInverse().asDiagonal();
  EXPECT_LT(off.cwiseAbs().maxCoeff(), tolerance);
}

TEST(SchurOperator, equals_the_dense_schur_complement) {
  for (const model::SceneSpec& scene : scenes()) {
    System system(scene, options_of(LinearSolver::kPcrJacobi), 1);
    const Matrix S = system.schur();
    solver::prepare_schur(Team{}, system.problem());
    std::srand(7);
    for (int k = 0; k < 3; ++k) {
      const Vector x = Vector::Random(system.row_count());
      Vector y(system.row_count());
      solver::expand(Team{}, system.problem(), x.data());
      solver::contract(Team{}, system.problem(), x.data(), y.data());
      EXPECT_LT((y - S * x).norm(), 1e-12 * y.norm());
    }
  }
}

TEST(SchurOperator, is_symmetric_positive_definite) {
  for (const model::SceneSpec& scene : scenes()) {
    const Matrix S = System(scene, options_of(LinearSolver::kPcrJacobi), 1).schur();
    const Vector d = S.diagonal().cwiseSqrt().cwiseInverse();
    const Matrix scaled = d.asDiagonal() * S * d.asDiagonal();
    EXPECT_LT((scaled - scaled.transpose()).cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_GT(Eigen::SelfAdjointEigenSolver<Matrix>(scaled).eigenvalues().minCoeff(), 0);
  }
}

TEST(Preconditioners, jacobi_is_the_inverse_of_the_diagonal) {
  for (const model::SceneSpec& scene : scenes()) {
    System system(scene, options_of(LinearSolver::kPcrJacobi), 2);
    prepare(system);
    expect_inverse(preconditioner(system), system.schur().diagonal().asDiagonal(), 1e-12);
  }
}

TEST(Preconditioners, tree_is_the_inverse_of_the_tree_and_of_the_blocks_that_close_it) {
  for (const model::SceneSpec& scene : scenes()) {
    SCOPED_TRACE(scene.bodies.size());
    System system(scene, options_of(LinearSolver::kPcrTree), 2);
    prepare(system);
    expect_inverse(preconditioner(system), restricted(system.schur(), groups(system.problem())), 1e-6);
  }
}

TEST(Preconditioners, tree_is_the_whole_inverse_where_nothing_closes_the_tree) {
  System system(testing::pendulum_chain(5, 1000), options_of(LinearSolver::kPcrTree), 2);
  prepare(system);
  const Matrix PS = preconditioner(system) * system.schur();
  EXPECT_LT((PS - Matrix::Identity(PS.rows(), PS.cols())).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(Preconditioners, are_symmetric_positive_definite) {
  for (const LinearSolver kind : kKinds) {
    for (const model::SceneSpec& scene : scenes()) {
      System system(scene, options_of(kind), 3);
      prepare(system);
      const Matrix P = preconditioner(system);
      const Vector d = P.diagonal().cwiseSqrt().cwiseInverse();
      const Matrix scaled = d.asDiagonal() * P * d.asDiagonal();
      EXPECT_LT((scaled - scaled.transpose()).cwiseAbs().maxCoeff(), 1e-7) << "solver " << int(kind);
      const Matrix mean = 0.5 * (scaled + scaled.transpose());
      EXPECT_GT(Eigen::SelfAdjointEigenSolver<Matrix>(mean).eigenvalues().minCoeff(), 0) << "solver " << int(kind);
    }
  }
}

}  // namespace
}  // namespace axion::preconditioners_test
