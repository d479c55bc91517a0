// The factorisation along the joint tree against one dense solve, in every joint mode, with loops and contacts between
// bodies.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/engine/problem/newton_system.hpp"

namespace axion::tree_solver_test {
namespace {

using model::JointMode;
using Team = team::SerialTeam;
using System = testing::NewtonSystem<double>;

constexpr JointMode kModes[] = {JointMode::kPrevious, JointMode::kCurrent, JointMode::kLinearised, JointMode::kBlended};

model::SolverOptions options_of(JointMode mode) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.joint_mode = mode;
  return options;
}

void expect_equal_to_dense(const model::SceneSpec& scene, double tolerance, unsigned seeds = 5) {
  for (const JointMode mode : kModes) {
    for (unsigned seed = 1; seed <= seeds; ++seed) {
      System system(scene, options_of(mode), seed);
      solver::solve_tree(Team{}, system.problem());
      const System::Vector exact = system.dense_solution();
      EXPECT_LT(system.difference(exact), tolerance) << "mode " << int(mode) << " seed " << seed;
    }
  }
}

TEST(TreeSolver, equals_the_dense_solve_of_branches_and_contacts_in_every_mode) {
  expect_equal_to_dense(testing::mixed_scene(), 1e-7);
}

TEST(TreeSolver, equals_the_dense_solve_of_a_stack) { expect_equal_to_dense(testing::box_stack(4, 10), 1e-7); }

TEST(TreeSolver, equals_the_dense_solve_of_a_ring) { expect_equal_to_dense(testing::ring_of_bars(6, false), 1e-7); }

TEST(TreeSolver, equals_the_dense_solve_of_two_loops_that_share_bodies) {
  expect_equal_to_dense(testing::ring_of_bars(6, true), 1e-7);
}

TEST(TreeSolver, velocities_of_a_loop_with_redundant_rows_equal_the_dense_solve) {
  for (const JointMode mode : kModes) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
      System system(testing::four_bar(), options_of(mode), seed);
      solver::solve_tree(Team{}, system.problem());
      const System::Vector exact = system.dense_solution();
      EXPECT_LT(system.velocity_difference(exact), 1e-7) << "mode " << int(mode) << " seed " << seed;
    }
  }
}

TEST(TreeSolver, equals_the_dense_solve_of_a_pile) { expect_equal_to_dense(testing::sphere_pile(3, 2, 0.1), 1e-6, 1); }

TEST(TreeSolver, bodies_that_fill_are_ordered_by_degree_children_first) {
  System pile(testing::sphere_pile(3, 3, 0.1), model::make_options(model::Preset::kDefault), 1);
  const auto& p = pile.problem();
  for (int b = 0; b < p.m.body_count; ++b) p.w.tree.body_rank[b] = p.w.tree.body_of_rank[b] = b;
  solver::fill_couplings(p, solver::mark_couplings(p, solver::Scope::kWhole));
  const int unordered = p.w.tree.coupling_count[0];
  solver::find_couplings(Team{}, p, solver::Scope::kWhole);
  EXPECT_LT(p.w.tree.coupling_count[0], unordered * 3 / 4);

  for (unsigned seed = 1; seed <= 3; ++seed) {
    System tree(testing::ring_of_bars(6, true), model::make_options(model::Preset::kDefault), seed);
    const auto& q = tree.problem();
    for (int b = 0; b < q.m.body_count; ++b) {
      EXPECT_EQ(q.w.tree.body_of_rank[q.w.tree.body_rank[b]], b);
      const int parent = q.m.bodies[b].parent;
      EXPECT_LT(parent < 0 ? -1 : q.w.tree.body_rank[parent], q.w.tree.body_rank[b]);
    }
  }
}

TEST(TreeSolver, equals_the_dense_solve_of_many_springs_condensed_into_their_bodies) {
  const System system(testing::strung_scene(8, false), model::make_options(model::Preset::kDefault), 1);
  EXPECT_EQ(system.problem().m.condensed_count, 16);
  EXPECT_EQ(solver::node_count(system.problem().m), 6);
  expect_equal_to_dense(testing::strung_scene(8, false), 1e-7);
}

TEST(TreeSolver, few_springs_and_springs_with_limits_are_nodes) {
  for (const auto& scene : {testing::strung_scene(6, false), testing::strung_scene(8, true)}) {
    const System system(scene, model::make_options(model::Preset::kDefault), 1);
    EXPECT_EQ(system.problem().m.condensed_count, 0);
    expect_equal_to_dense(scene, 1e-7);
  }
}

// A limit that is never met makes a node of a spring, and changes nothing else.
TEST(TreeSolver, condensed_springs_move_as_those_that_are_nodes) {
  const model::SolverOptions options = model::make_options(model::Preset::kDefault);
  testing::SingleWorld<double> condensed(testing::strung_scene(8, false), options, 0.002);
  testing::SingleWorld<double> nodes(testing::strung_scene(8, true), options, 0.002);
  for (int k = 0; k < 200; ++k) {
    condensed.step(), nodes.step();
    ASSERT_TRUE(condensed.converged()) << k;
  }
  for (int b = 0; b < 6; ++b) {
    EXPECT_LT(math::norm(condensed.world().x[b] - nodes.world().x[b]), 1e-6) << b;
  }
}

TEST(TreeSolver, couplings_between_moving_bodies_take_part) {
  System system(testing::mixed_scene(), model::make_options(model::Preset::kDefault), 1);
  const auto& p = system.problem();
  int between_bodies = 0;
  for (int i = 0; i < p.contact_count; ++i) between_bodies += p.w.contacts[i].body_b >= 0;
  EXPECT_GT(between_bodies, 0);
  EXPECT_GT(p.w.tree.coupling_count[0], 4);  // more than the tree's four joints
}

TEST(TreeSolver, condensed_rows_of_limits_and_efforts_take_part) {
  System system(testing::mixed_scene(), model::make_options(model::Preset::kDefault), 1);
  const auto& p = system.problem();
  EXPECT_EQ(p.m.limit_count, 2);
  EXPECT_EQ(p.m.effort_count, 3);
  solver::solve_tree(Team{}, p);
  for (int i = p.limit_base(); i < p.contact_base(); ++i) EXPECT_NE(p.w.dlambda[i], 0) << i;
}

template <typename Real>
class FourBar : public ::testing::Test {};
using Precisions = ::testing::Types<double, float>;
TYPED_TEST_SUITE(FourBar, Precisions);

TYPED_TEST(FourBar, turns_and_stays_closed_although_its_rows_are_redundant) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  testing::SingleWorld<TypeParam> world(testing::four_bar(), options, 0.005);
  int unconverged = 0;
  double greatest_error = 0, greatest_impulse = 0, greatest_speed = 0;
  for (int k = 0; k < 2000; ++k) {
    world.step();
    unconverged += !world.converged();
    greatest_error = std::max(greatest_error, double(world.record().max_joint_error));
    greatest_speed = std::max(greatest_speed, double(math::norm(world.world().omega[0])));
    for (int i = 0; i < world.model().lock_count; ++i) {
      greatest_impulse = std::max(greatest_impulse, std::abs(double(world.world().lambda_joint[i])));
    }
  }
  std::printf("unconverged %d, joint error %.2e m, impulse %.3g N s, crank %.3g rad/s\n", unconverged, greatest_error,
              greatest_impulse, greatest_speed);
  EXPECT_EQ(unconverged, 0);
  EXPECT_LT(greatest_error, 5e-5);
  EXPECT_GT(greatest_speed, 1);
  EXPECT_LT(greatest_impulse, 5);  // the weight of 4.5 kg gives 0.2 a step: redundant rows do not wander off
}

}  // namespace
}  // namespace axion::tree_solver_test
