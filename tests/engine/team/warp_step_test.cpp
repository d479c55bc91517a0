// Whole steps by a team that shares out work as a warp, to the bits of a team that packs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/step/run_steps.hpp"
#include "tests/engine/newton/solver_scenes.hpp"
#include "tests/engine/team/warp_team.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::testing::warp_step_test {
namespace {

template <typename Real>
class WarpStep : public ::testing::Test {};
TYPED_TEST_SUITE(WarpStep, testing::Precisions, testing::PrecisionNames);

// State of a world, array by array.
template <typename Real>
void expect_the_same_state(SingleWorld<Real>& a, SingleWorld<Real>& b, const std::string& name) {
  std::vector<std::vector<unsigned char>> arrays[2];
  SingleWorld<Real>* worlds[2] = {&a, &b};
  std::vector<std::string> names;
  for (int k = 0; k < 2; ++k) {
    const ArraySlot* slot = model::slots(worlds[k]->world()).data();
    for (const auto& array : model::declarations<model::WorldState, Real>()) {
      const auto* bytes = static_cast<const unsigned char*>(slot++->first());
      arrays[k].emplace_back(bytes, bytes + array.bytes(a.model()));
      names.emplace_back(array.name);
    }
  }
  for (std::size_t i = 0; i < arrays[0].size(); ++i) EXPECT_EQ(arrays[0][i], arrays[1][i]) << name << ", " << names[i];
}

template <typename Real>
int expect_the_same_steps(const model::SceneSpec& scene, const model::SolverOptions& options, double dt, int steps) {
  SingleWorld<Real> packed(scene, options, dt), shared(scene, options, dt);
  const WarpTeam warp(team::Order::kReversed);
  for (SingleWorld<Real>* world : {&packed, &shared}) {
    for (int b = 0; b < world->model().body_count; ++b) {
      world->world().omega[b] = {Real(0.4), Real(-0.2), Real(0.1 * b)};
    }
  }
  for (int k = 0; k < steps; ++k) {
    packed.step();
    packed.read();
    step::step_world(warp, shared.model(), shared.world(), shared.settings());
    velocity_sync::synchronise(warp, shared.model(), shared.world(), shared.settings());
  }
  expect_the_same_state(
      packed, shared,
      scene.bodies.front().name + std::to_string(scene.bodies.size()) + ", steps of " + std::to_string(dt));
  return warp.meetings;
}

TYPED_TEST(WarpStep, a_warp_steps_worlds_to_the_bits_of_a_thread) {
  for (const model::SceneSpec& scene : {mixed_scene(), box_stack(4, 10), four_bar(), ring_of_bars(6, false),
                                        heap(36, 0.5), pendulum_chain(6), sphere_pile(3, 2, 0.1)}) {
    for (const double dt : {0.002, 0.02}) {
      expect_the_same_steps<TypeParam>(scene, model::make_options(model::Preset::kDefault), dt, 3);
    }
  }
}

// With torsional and rolling friction, in sweeps on velocities of rows, of bodies, and by Newton's steps alone.
TYPED_TEST(WarpStep, with_torsional_and_rolling_friction) {
  for (model::SceneSpec scene :
       {mixed_scene(), box_stack(4, 10), heap(12, 0.5), heap(36, 0.5), sphere_pile(3, 2, 0.1)}) {
    for (model::ShapeSpec& shape : scene.shapes) {
      shape.cone_dimension = 6, shape.torsional_friction = 0.01, shape.rolling_friction = 0.003;
    }
    expect_the_same_steps<TypeParam>(scene, model::make_options(model::Preset::kDefault), 0.01, 3);
    expect_the_same_steps<TypeParam>(scene, model::make_options(model::Preset::kAxionSeed), 0.01, 3);
  }
}

TYPED_TEST(WarpStep, with_surfaces_that_move) {
  for (model::SceneSpec scene : {mixed_scene(), heap(12, 0.5), heap(36, 0.5)}) {
    for (model::ShapeSpec& shape : scene.shapes) {
      shape.surface_velocity = {0.7, -0.2, 0}, shape.surface_angular_velocity = {0, 0.5, 1};
    }
    expect_the_same_steps<TypeParam>(scene, model::make_options(model::Preset::kDefault), 0.01, 3);
    expect_the_same_steps<TypeParam>(scene, model::make_options(model::Preset::kAxionSeed), 0.01, 3);
  }
}

TYPED_TEST(WarpStep, whichever_way_joints_are_held) {
  using model::JointMode;
  for (const JointMode mode :
       {JointMode::kPrevious, JointMode::kCurrent, JointMode::kLinearised, JointMode::kBlended}) {
    model::SolverOptions options = model::make_options(model::Preset::kDefault);
    options.joint_mode = mode;
    EXPECT_GT(expect_the_same_steps<TypeParam>(mixed_scene(), options, 0.005, 12), 0) << "no warp was asked for";
  }
}

}  // namespace
}  // namespace axion::testing::warp_step_test
