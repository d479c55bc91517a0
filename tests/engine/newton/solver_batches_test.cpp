// Batches of every linear solver through the engine's own interface: they step alike, and what a solver cannot take is
// refused when the batch is made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/model/solver_options.hpp"
#include "tests/engine/backend/scenes.hpp"
#include "tests/engine/newton/solver_scenes.hpp"

namespace axion::testing::solver_batches_test {
namespace {

using model::LinearSolver;
using ::testing::HasSubstr;

constexpr LinearSolver kSolvers[] = {LinearSolver::kAutomatic, LinearSolver::kPcrJacobi,  LinearSolver::kTreeDirect,
                                     LinearSolver::kPcrTree,   LinearSolver::kTreeKrylov, LinearSolver::kDenseDirect};

BatchSpec spec_of(const model::SceneSpec& scene, LinearSolver solver, model::Precision precision) {
  BatchSpec spec = batch_spec(compile_scene(scene), 3, precision);
  spec.options = model::make_options(model::Preset::kAxionSeed);
  spec.options.precision = precision;
  spec.options.linear_solver = solver;
  spec.options.max_linear_iterations = 1000;
  spec.options.tolerance = 1e-9;  // solvers then agree to what is left of the residual
  return spec;
}

std::vector<double> poses_after(Engine& engine, const BatchSpec& spec, int steps) {
  const auto batch = take(engine.create_batch(spec));
  step(engine, *batch, steps);
  return read(*batch, Field::kBodyPose);
}

// `first` are the poses of the first solver that came by.
void expect_same_poses(const std::vector<double>& poses, std::vector<double>& first, LinearSolver solver) {
  if (first.empty()) first = poses;
  double greatest = 0;
  for (std::size_t i = 0; i < poses.size(); ++i) greatest = std::max(greatest, std::abs(poses[i] - first[i]));
  EXPECT_LT(greatest, 1e-6) << "solver " << int(solver);
}

TEST(SolverBatches, of_all_solvers_move_alike) {
  std::vector<double> first;
  for (const LinearSolver solver : kSolvers) {
    const auto engine = cpu_engine(2);
    expect_same_poses(poses_after(*engine, spec_of(four_bar(), solver, model::Precision::kFloat64), 100), first,
                      solver);
  }
}

TEST(SolverBatches, of_all_solvers_of_the_default_formulation_move_alike) {
  std::vector<double> first;
  for (const LinearSolver solver : kSolvers) {
    if (model::is_conjugate_residual(solver)) continue;
    const auto engine = cpu_engine(1);
    BatchSpec spec = spec_of(mixed_scene(), solver, model::Precision::kFloat64);
    spec.options = model::make_options(model::Preset::kDefault);
    spec.options.precision = model::Precision::kFloat64;
    spec.options.linear_solver = solver;
    spec.options.tolerance = 1e-9;
    expect_same_poses(poses_after(*engine, spec, 40), first, solver);
  }
}

TEST(SolverBatches, of_all_solvers_step_in_single_precision) {
  for (const LinearSolver solver : kSolvers) {
    const auto engine = cpu_engine(1);
    BatchSpec spec = spec_of(ring_of_bars(6, true), solver, model::Precision::kFloat32);
    spec.options.tolerance = 1e-3;
    const auto batch = take(engine->create_batch(spec));
    step(*engine, *batch, 20);
    for (const double value : read(*batch, Field::kBodyPose)) ASSERT_LT(std::abs(value), 2) << "solver " << int(solver);
  }
}

TEST(SolverBatches, dense_is_refused_for_worlds_that_are_too_large) {
  const auto engine = cpu_engine(1);
  const auto made =
      engine->create_batch(spec_of(box_stack(30, 1), LinearSolver::kDenseDirect, model::Precision::kFloat32));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(made.error().field, "options.linear_solver");
  EXPECT_THAT(made.error().message, HasSubstr("DENSE_DIRECT"));
  EXPECT_THAT(made.error().message, HasSubstr("1284"));  // 30 bodies of 6, and 3 for each of 368 contacts
  EXPECT_TRUE(
      engine->create_batch(spec_of(box_stack(10, 1), LinearSolver::kDenseDirect, model::Precision::kFloat32)).ok());
}

}  // namespace
}  // namespace axion::testing::solver_batches_test
