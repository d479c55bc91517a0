// Swept pairs are the pairs that the list of all of them gives, in its order, whatever the team.
#include "engine/collide/find_contacts.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/engine/collide/random_heap.hpp"
#include "tests/support/validation.hpp"

namespace axion {
namespace {

template <typename Real>
class BroadPhase : public ::testing::Test {};
TYPED_TEST_SUITE(BroadPhase, testing::Precisions, testing::PrecisionNames);

template <typename Real, typename Team>
std::vector<std::uint32_t> swept(testing::SingleWorld<Real>& world, collide::Foresight foresight) {
  const auto m = world.model();
  const int found = collide::sweep_pairs(Team{}, m, world.world(), world.settings(), foresight);
  EXPECT_LE(found, model::active_pair_capacity(m));
  return {world.world().pair_active, world.world().pair_active + found};
}

TYPED_TEST(BroadPhase, finds_what_the_list_of_all_pairs_finds_in_its_order) {
  std::mt19937 random(7);
  std::size_t all = 0;
  for (int round = 0; round < 40; ++round) {
    const double speed = round % 4 * 3.0;
    testing::SingleWorld<TypeParam> world(testing::random_heap(110, random), model::make_options(model::Preset::kDefault), 0.05);
    const auto m = world.model();
    auto& w = world.world();
    ASSERT_TRUE(model::sweeps_pairs(m));
    const auto draw = [&](double size) { return testing::random_vector<TypeParam>(size, random); };
    for (int b = 0; b < m.body_count; ++b) {
      w.v[b] = draw(speed), w.omega[b] = draw(1), w.v_plus[b] = draw(speed), w.omega_plus[b] = draw(1);
      if (round == 39) w.x[b] = {};  // all in one place
    }
    for (int i = 0; i < m.shape_count; ++i) collide::place_shape(m, w, i, world.settings().dt);
    for (const auto foresight : {collide::Foresight::kLast, collide::Foresight::kLastAndSolved}) {
      for (int i = 0; i < m.shape_count && foresight == collide::Foresight::kLastAndSolved; ++i) {
        collide::reach_as_solved(m, w, i, world.settings().dt);
      }
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
