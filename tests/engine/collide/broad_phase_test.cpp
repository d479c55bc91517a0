// Swept pairs are the pairs that the list of all of them gives, in its order, whatever the team.
#include "engine/collide/find_contacts.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion {
namespace {

template <typename Real>
class BroadPhase : public ::testing::Test {};
TYPED_TEST_SUITE(BroadPhase, testing::Precisions, testing::PrecisionNames);

// `count` bodies of all shapes and many sizes, some with bits that keep them apart, a floor, and a block of the world.
model::SceneSpec random_heap(int count, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  model::SceneSpec scene;
  scene.shapes.push_back(testing::ground_plane(0.5));
  for (int i = 0; i < count; ++i) {
    const double size = 0.05 + (i % 20 == 0 ? 0.6 : 0.15) * unit(random);
    scene.bodies.push_back(testing::solid_box("b" + std::to_string(i), 1, {size, size, size},
                                              {4 * unit(random), 3 * unit(random), 6 * unit(random)}));
    model::ShapeSpec shape = testing::box_shape("s" + std::to_string(i), i, {size, size / 2, size}, 0.5);
    shape.kind = i % 3 == 0 ? model::ShapeKind::kBox : (i % 3 == 1 ? model::ShapeKind::kSphere : model::ShapeKind::kCapsule);
    if (i % 7 == 0) shape.contact_affinity = 0;
    scene.shapes.push_back(shape);
    if (i == count / 2) scene.shapes.push_back(testing::box_shape("block", model::kWorldBody, {0.5, 0.5, 2}, 0.5));
    if (i % 11 == 1) scene.excludes.push_back({i - 1, i});
  }
  return scene;
}

template <typename Real, typename Team>
std::vector<std::uint32_t> swept(testing::SingleWorld<Real>& world, collide::Foresight foresight) {
  const auto m = world.model();
  const int found = collide::sweep_pairs(Team{}, m, world.world(), world.settings(), foresight);
  EXPECT_LE(found, model::active_pair_capacity(m));
  return {world.world().pair_active, world.world().pair_active + found};
}

TYPED_TEST(BroadPhase, finds_what_the_list_of_all_pairs_finds_in_its_order) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::size_t all = 0;
  for (int round = 0; round < 40; ++round) {
    const double speed = round % 4 * 3.0;
    testing::SingleWorld<TypeParam> world(random_heap(110, random), model::make_options(model::Preset::kDefault), 0.05);
    const auto m = world.model();
    auto& w = world.world();
    ASSERT_TRUE(model::sweeps_pairs(m));
    const auto draw = [&](double size) {
      return math::Vec3<TypeParam>{TypeParam(size * normal(random)), TypeParam(size * normal(random)),
                                   TypeParam(size * normal(random))};
    };
    for (int b = 0; b < m.body_count; ++b) {
      w.v[b] = draw(speed), w.omega[b] = draw(1), w.v_plus[b] = draw(speed), w.omega_plus[b] = draw(1);
      if (round == 39) w.x[b] = {};  // all in one place
    }
    for (int i = 0; i < m.shape_count; ++i) collide::place_shape(m, w, i, world.settings().dt);
    for (const auto foresight : {collide::Foresight::kLast, collide::Foresight::kLastAndSolved}) {
      std::vector<std::uint32_t> expected;
      for (int i = 0; i < m.pair_count; ++i) {
        const auto& pair = m.pairs[i];
        if (collide::near_each_other(m, w, pair.shape_a, pair.shape_b, world.settings(), foresight)) expected.push_back(i);
      }
      all += expected.size();
      EXPECT_EQ((swept<TypeParam, team::SerialTeam>(world, foresight)), expected) << "round " << round;
      EXPECT_EQ((swept<TypeParam, team::ReversedTeam>(world, foresight)), expected) << "round " << round;
      EXPECT_EQ((swept<TypeParam, team::ShuffledTeam>(world, foresight)), expected) << "round " << round;
    }
  }
  EXPECT_GT(all, 10000u);
}

}  // namespace
}  // namespace axion
