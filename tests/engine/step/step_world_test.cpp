// One step of one world: the same bits in whatever order its team runs, frozen when it leaves the finite numbers.
#include "engine/step/step_world.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "engine/import/mjcf.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion::step_world_test {
namespace {

model::SceneSpec quadruped() {
  std::ifstream file(std::string(AXION_SOURCE_DIR) + "/clients/examples/models/quadruped.xml");
  std::stringstream text;
  text << file.rdbuf();
  auto imported = import::import_mjcf(text.str());
  EXPECT_TRUE(imported.ok()) << imported.error().message;
  return imported.value().scene;
}

// The whole state of a world, as bytes.
template <typename Real>
std::string state_bytes(testing::SingleWorld<Real>& world) {
  std::string bytes;
  const ArraySlot* slot = model::slots(world.world()).data();
  for (const auto& array : model::declarations<model::WorldState, Real>()) {
    const auto* first = static_cast<const char*>(slot++->first());
    if (array.kind != model::FieldKind::kState) continue;
    // Contacts beyond their count are leftovers of earlier steps.
    if (array.template holds<model::Contact<Real>>() || array.template holds<model::ContactWarmStart<Real>>()) continue;
    bytes.append(first, array.bytes(world.model()));
  }
  return bytes;
}

template <typename Real, typename Team>
std::string run_quadruped(model::Preset preset, int steps) {
  testing::SingleWorld<Real> world(quadruped(), model::make_options(preset), 0.005);
  auto& w = world.world();
  unsigned seed = 7;
  for (int k = 0; k < steps; ++k) {
    for (int i = 0; i < world.model().control_count; ++i) {
      seed = seed * 1664525u + 1013904223u;
      w.control[i] = Real(0.5) * (Real(seed >> 8) / Real(1 << 23) - Real(1));
    }
    world.template step<Team>();
  }
  EXPECT_GT(world.record().contact_count, 0);
  return state_bytes(world);
}

// Free bodies among each other, whose contacts sweeps take by colours.
template <typename Real, typename Team>
std::string run_heap() {
  testing::SingleWorld<Real> world(testing::heap(27, 0.5), model::make_options(model::Preset::kDefault), 0.01);
  world.template step<Team>(20);
  EXPECT_GT(world.record().contact_count, 64);
  EXPECT_TRUE(world.converged());
  return state_bytes(world);
}

template <typename Real>
void compare_teams_on_heap() {
  const std::string forward = run_heap<Real, team::SerialTeam>();
  EXPECT_EQ(forward, (run_heap<Real, team::ReversedTeam>()));
  EXPECT_EQ(forward, (run_heap<Real, team::ShuffledTeam>()));
}

template <typename Real>
void compare_teams(model::Preset preset, int steps) {
  const std::string forward = run_quadruped<Real, team::SerialTeam>(preset, steps);
  EXPECT_EQ(forward, (run_quadruped<Real, team::ReversedTeam>(preset, steps)));
  EXPECT_EQ(forward, (run_quadruped<Real, team::ShuffledTeam>(preset, steps)));
}

TEST(StepWorld, gives_the_same_bits_in_any_order_of_its_team) {
  compare_teams<float>(model::Preset::kDefault, 200);
  compare_teams<double>(model::Preset::kDefault, 200);
}

TEST(StepWorld, gives_the_same_bits_of_a_heap_in_any_order_of_its_team) {
  compare_teams_on_heap<float>();
  compare_teams_on_heap<double>();
}

TEST(StepWorld, gives_the_same_bits_in_any_order_with_conjugate_residuals) {
  compare_teams<float>(model::Preset::kAxionSeed, 80);
  compare_teams<double>(model::Preset::kAxionSeed, 80);
}

TEST(StepWorld, freezes_at_the_last_finite_state) {
  testing::SingleWorld<float> world(testing::cube_on_plane(0.5), model::make_options(model::Preset::kDefault), 0.005);
  world.step(3);
  auto& w = world.world();
  const auto x = w.x[0];
  const auto steps = *w.step_index;
  w.force[0].x = std::numeric_limits<float>::infinity();
  world.step(2);
  EXPECT_NE(*w.outcome & step::kNonFiniteBit, 0u);
  EXPECT_EQ(w.x[0], x);
  EXPECT_EQ(*w.step_index, steps);
  EXPECT_TRUE(std::isfinite(w.v[0].x));
}

TEST(StepWorld, says_when_contacts_were_dropped_and_keeps_the_deepest) {
  testing::SingleWorld<double> world(testing::box_stack(1, 1), model::make_options(model::Preset::kDefault), 0.005);
  auto small = world.model();
  small.contact_capacity = 2;
  world.world().x[0].z -= 0.001;
  world.world().q[0] = math::exp_rotation(math::Vec3<double>{0.001, 0, 0});  // one edge is deeper
  testing::step_once(team::SerialTeam{}, small, world.world(), world.settings());
  EXPECT_NE(world.record().outcome & step::kContactOverflowBit, 0u);
  ASSERT_EQ(world.record().contact_count, 2);
  for (int i = 0; i < 2; ++i) EXPECT_LT(world.world().contacts[i].p_WA.y, 0);  // the edge that was turned down
}

TEST(StepWorld, seed_and_default_agree_where_both_converge) {
  testing::SingleWorld<double> a(testing::box_stack(2, 1), model::make_options(model::Preset::kDefault), 0.005);
  testing::SingleWorld<double> b(testing::box_stack(2, 1), model::make_options(model::Preset::kAxionSeed), 0.005);
  a.step(200);
  b.step(200);
  ASSERT_TRUE(a.converged() && b.converged());
  for (int i = 0; i < 2; ++i) EXPECT_LT(math::norm(a.world().x[i] - b.world().x[i]), 1e-5);
}

}  // namespace
}  // namespace axion::step_world_test
