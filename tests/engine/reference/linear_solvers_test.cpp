// Every linear solver against one dense solve of the whole Newton system, in float64, on every shape of scene.
#include <gtest/gtest.h>

#include <cstdio>
#include <tuple>

#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/engine/problem/newton_system.hpp"

namespace axion::linear_solvers_test {
namespace {

using model::LinearSolver;
using Team = team::SerialTeam;
using System = testing::NewtonSystem<double>;

struct Scene {
  const char* name;
  model::SceneSpec (*make)();
};

const Scene kScenes[] = {
    {"mixed", [] { return testing::mixed_scene(); }},
    {"stack", [] { return testing::box_stack(4, 10); }},
    {"heavy chain", [] { return testing::pendulum_chain(6, 100); }},
    {"ring", [] { return testing::ring_of_bars(6, false); }},
    {"two loops", [] { return testing::ring_of_bars(6, true); }},
};

constexpr LinearSolver kSolvers[] = {LinearSolver::kAutomatic, LinearSolver::kPcrJacobi,  LinearSolver::kTreeDirect,
                                     LinearSolver::kPcrTree,   LinearSolver::kTreeKrylov, LinearSolver::kDenseDirect};

model::SolverOptions options_of(LinearSolver solver, bool symmetric) {
  model::SolverOptions options = model::make_options(symmetric ? model::Preset::kAxionSeed : model::Preset::kDefault);
  options.linear_solver = solver;
  options.max_linear_iterations = 1000;
  options.linear_tolerance = 1e-14;
  return options;
}

// Impulses are unique to the condition of the system, 1e5 to 1e8, times the rounding; velocities are better off.
void expect_equal_to_dense(const Scene& scene, LinearSolver solver, bool symmetric) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    System system(scene.make(), options_of(solver, symmetric), seed);
    const int iterations = solver::solve_linear(Team{}, system.problem());
    const System::Vector exact = system.dense_solution();
    const double du = system.velocity_difference(exact), dl = system.impulse_difference(exact);
    if (seed == 1)
      std::printf("%s, solver %d: %d iterations, %.1e %.1e\n", scene.name, int(solver), iterations, du, dl);
    EXPECT_LT(du, 1e-6) << scene.name << ", solver " << int(solver) << ", seed " << seed;
    EXPECT_LT(dl, 1e-5) << scene.name << ", solver " << int(solver) << ", seed " << seed;
  }
}

TEST(LinearSolvers, all_equal_the_dense_solve_of_symmetric_systems) {
  for (const Scene& scene : kScenes) {
    for (const LinearSolver solver : kSolvers) expect_equal_to_dense(scene, solver, true);
  }
}

TEST(LinearSolvers, all_that_take_unsymmetric_systems_equal_their_dense_solve) {
  for (const Scene& scene : kScenes) {
    for (const LinearSolver solver : kSolvers) {
      if (!model::is_conjugate_residual(solver)) expect_equal_to_dense(scene, solver, false);
    }
  }
}

TEST(LinearSolvers, all_give_the_velocities_of_a_loop_with_redundant_rows) {
  for (const LinearSolver solver : kSolvers) {
    System system(testing::four_bar(), options_of(solver, true), 1);
    const int iterations = solver::solve_linear(Team{}, system.problem());
    const System::Vector exact = system.dense_solution();
    std::printf("four-bar, solver %d: %d iterations, %.1e %.1e\n", int(solver), iterations,
                system.velocity_difference(exact), system.impulse_difference(exact));
    EXPECT_LT(system.velocity_difference(exact), 1e-6) << "solver " << int(solver);
  }
}

TEST(LinearSolvers, automatic_leaves_to_krylov_what_exceeds_the_factorisation) {
  System system(testing::box_stack(4, 10), options_of(LinearSolver::kAutomatic, false), 1);
  solver::Problem<double> p = system.problem();
  EXPECT_EQ(p.s.linear_solver, LinearSolver::kTreeDirect);
  p.s.linear_solver = LinearSolver::kAutomatic;
  p.m.coupling_capacity = 2;  // the stack has three
  solver::prepare_linear_solver(Team{}, p);
  EXPECT_EQ(p.s.linear_solver, LinearSolver::kTreeKrylov);
  solver::solve_linear(Team{}, p);
  EXPECT_LT(system.difference(system.dense_solution()), 1e-6);
}

template <typename AnyTeam>
std::vector<double> solved_by(LinearSolver solver, bool symmetric) {
  System system(testing::ring_of_bars(6, true), options_of(solver, symmetric), 2);
  auto p = system.problem();
  p.s.linear_solver = solver;
  solver::prepare_linear_solver(AnyTeam{}, p);
  solver::solve_linear(AnyTeam{}, p);
  const System::Vector x = system.solution();
  return {x.data(), x.data() + x.size()};
}

TEST(LinearSolvers, bits_do_not_depend_on_the_order_of_the_team) {
  for (const LinearSolver solver : kSolvers) {
    const bool symmetric = model::is_conjugate_residual(solver);
    const std::vector<double> forwards = solved_by<team::SerialTeam>(solver, symmetric);
    EXPECT_EQ(forwards, solved_by<team::ReversedTeam>(solver, symmetric)) << int(solver);
    EXPECT_EQ(forwards, solved_by<team::ShuffledTeam>(solver, symmetric)) << int(solver);
  }
}

}  // namespace
}  // namespace axion::linear_solvers_test
