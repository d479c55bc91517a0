// A review adds the contacts that a result breaks and no others, for results drawn at random.
#include "engine/collide/review_contacts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/collide/random_heap.hpp"
#include "tests/support/validation.hpp"

namespace axion::review_contacts_test {
namespace {

using Team = team::SerialTeam;

template <typename Real>
class ReviewContacts : public ::testing::Test {};
TYPED_TEST_SUITE(ReviewContacts, testing::Precisions, testing::PrecisionNames);

constexpr double kBall = 0.1;  // radius, m

// Balls strewn at random, so thinly that a step's contacts fit.
model::SceneSpec strewn_balls(int count, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  model::SceneSpec scene;
  for (int i = 0; i < count; ++i) {
    const std::string name = "ball" + std::to_string(i);
    scene.bodies.push_back(
        testing::solid_box(name, 1, {kBall, kBall, kBall}, {3 * unit(random), 3 * unit(random), 3 * unit(random)}));
    scene.shapes.push_back(testing::sphere_shape(name, i, kBall, 0.5));
  }
  return scene;
}

template <typename Real>
struct Searched {
  testing::SingleWorld<Real> world;
  collide::ContactSearch search;

  // Contacts are found along velocities of the size `last`; the result differs from them by `change`.
  Searched(const model::SceneSpec& scene, double last, double change, std::mt19937& random)
      : world(scene, model::make_options(model::Preset::kDefault), 0.05) {
    auto& w = world.world();
    for (int b = 0; b < world.model().body_count; ++b) {
      w.v[b] = testing::random_vector<Real>(last, random);
      w.v_plus[b] = w.v[b] + testing::random_vector<Real>(change, random);
      w.omega[b] = w.omega_plus[b] = {};
    }
    search = collide::find_contacts(Team{}, world.model(), w, world.settings());
  }
  bool review(int number) {
    return collide::review_contacts(Team{}, world.model(), world.world(), world.settings(), number, search);
  }
  bool has(int pair) { return model::find_contact(world.world().contacts, search.count, pair, 0u) >= 0; }
  Real gap_after(const model::Contact<Real>& c) {
    return model::gap_after(c, world.world().v_plus, world.world().omega_plus, world.settings().dt);
  }
};

// Whether two balls on their straight ways along the result come within `distance` of each other.
template <typename Real>
bool meet(Searched<Real>& s, const model::PairData<Real>& pair, double distance) {
  const auto& w = s.world.world();
  const double h = double(s.world.settings().dt);
  const int a = s.world.model().shapes[pair.shape_a].body, b = s.world.model().shapes[pair.shape_b].body;
  const auto d = math::cast<double>(w.x[a]) - math::cast<double>(w.x[b]);
  const auto travel = h * (math::cast<double>(w.v_plus[a]) - math::cast<double>(w.v_plus[b]));
  for (int k = 0; k <= 100; ++k) {
    if (math::norm(d + 0.01 * k * travel) < distance) return true;
  }
  return false;
}

TYPED_TEST(ReviewContacts, balls_that_the_result_sends_through_each_other_are_contacts_after_it) {
  std::mt19937 random(1);
  int meetings = 0, added = 0;
  for (int round = 0; round < 60; ++round) {
    Searched<TypeParam> s(strewn_balls(60, random), round % 3, round % 2 == 0 ? 20 : 2, random);
    const auto m = s.world.model();
    const int before = s.search.count;
    s.review(0);
    ASSERT_FALSE(s.search.overflow);
    added += s.search.count - before;
    for (int i = 0; i < m.pair_count; ++i) {
      if (!meet(s, m.pairs[i], 2 * kBall - 1e-4)) continue;
      ++meetings;
      EXPECT_TRUE(s.has(i)) << "round " << round << " pair " << i;
    }
  }
  EXPECT_GT(meetings, 300);
  EXPECT_GT(added, 200);
}

TYPED_TEST(ReviewContacts, contacts_stay_and_those_that_are_added_are_broken_by_the_result) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    Searched<TypeParam> s(strewn_balls(60, random), 1, round % 2 == 0 ? 20 : 0.5, random);
    const auto m = s.world.model();
    std::vector<bool> before(m.pair_count);
    for (int i = 0; i < m.pair_count; ++i) before[i] = s.has(i);
    const bool changed = s.review(0);
    bool more = false;
    for (int i = 0; i < m.pair_count; ++i) {
      EXPECT_FALSE(before[i] && !s.has(i)) << "round " << round << " pair " << i;
      more |= s.has(i) && !before[i];
    }
    EXPECT_EQ(changed, more);
    for (int k = 0; changed && k < s.search.count; ++k) {
      const auto& c = s.world.world().contacts[k];
      EXPECT_TRUE(before[c.pair] || s.gap_after(c) < 0) << "round " << round << " pair " << c.pair;
    }
    EXPECT_FALSE(s.review(1)) << "a second look at the same result";
  }
}

// Balls at rest over the ground, within a step's fall and beyond; a far pair, one as near over the other. The ground is
// a plane, then a box.
TYPED_TEST(ReviewContacts,
           what_hangs_within_a_steps_fall_over_the_world_is_a_contact_at_once_and_two_that_fall_alike_are_not) {
  std::mt19937 random(7);
  const double fall = 0.05 * 0.05 * 9.81;
  for (const bool plane : {true, false}) {
    model::SceneSpec scene = strewn_balls(4, random);
    scene.bodies[0].X_WB.position = {0, 0, kBall + 0.9 * fall};
    scene.bodies[1].X_WB.position = {2, 0, kBall + 1.5 * fall};
    scene.bodies[2].X_WB.position = {4, 0, 5};
    scene.bodies[3].X_WB.position = {4, 0, 5 + 2 * kBall + 0.5 * fall};
    scene.shapes.push_back(plane ? testing::ground_plane(0.5)
                                 : testing::box_shape("ground", model::kWorldBody, {9, 9, 1}, 0.5));
    if (!plane) scene.shapes.back().X_BS.position = {0, 0, -1};
    Searched<TypeParam> s(scene, 0, 0, random);
    ASSERT_LT(double(s.world.settings().contact_margin), 0.45 * fall);  // else the margin decides
    ASSERT_EQ(s.search.count, 1) << (plane ? "plane" : "box");
    const auto& contact = s.world.world().contacts[0];
    EXPECT_EQ(contact.body_b, -1);
    EXPECT_NEAR(double(contact.gap), 0.9 * fall, 1e-6);
  }
}

TYPED_TEST(ReviewContacts, a_result_like_the_last_velocities_needs_none) {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    Searched<TypeParam> s(strewn_balls(60, random), 5, 0, random);
    EXPECT_FALSE(s.review(0));
  }
}

// The first ball is pushed through the second; a third is near the second, which leaves it.
TYPED_TEST(ReviewContacts, the_last_review_takes_all_candidates) {
  std::mt19937 random(4);
  model::SceneSpec scene = strewn_balls(3, random);
  for (int i = 0; i < 3; ++i) scene.bodies[i].X_WB.position = {i == 0 ? -0.5 : i == 1 ? 0 : 2 * kBall + 1e-3, 0, 0};
  for (const int number : {0, collide::ReviewParameters::kReviews - 1}) {
    Searched<TypeParam> s(scene, 0, 0, random);
    s.world.world().v_plus[0] = {8, 0, 0};  // 0.4 m in the step, 0.1 m into the second
    s.world.world().v[1] = s.world.world().v_plus[1] = {-1, 0, 0};
    ASSERT_EQ(collide::find_contacts(Team{}, s.world.model(), s.world.world(), s.world.settings()).count, 0);
    s.search.count = 0;
    EXPECT_TRUE(s.review(number));
    EXPECT_EQ(s.search.count, number == 0 ? 1 : 2);
  }
}

// The first review finds a ball on its way through another; the second result stops it and sends a third through a
// fourth, which is looked for along that result alone. Both pairs are contacts then.
TYPED_TEST(ReviewContacts, what_a_review_found_stays_a_contact_wherever_the_next_result_goes) {
  std::mt19937 random(8);
  model::SceneSpec scene = strewn_balls(4, random);
  for (int i = 0; i < 4; ++i) scene.bodies[i].X_WB.position = {i % 2 == 0 ? -0.5 : 0, i < 2 ? 0.0 : 5.0, 0};
  Searched<TypeParam> s(scene, 0, 0, random);
  auto& w = s.world.world();
  for (int b = 0; b < 4; ++b) w.v[b] = w.v_plus[b] = {};
  s.search = collide::find_contacts(Team{}, s.world.model(), w, s.world.settings());
  ASSERT_EQ(s.search.count, 0);
  const int first = s.world.compiled().internal_body[0], third = s.world.compiled().internal_body[2];
  w.v_plus[first] = {8, 0, 0};  // 0.4 m in the step, 0.1 m into the second
  ASSERT_TRUE(s.review(0));
  ASSERT_EQ(s.search.count, 1);
  const model::Contact<TypeParam> found = w.contacts[0];
  w.v_plus[first] = {}, w.v_plus[third] = {8, 0, 0};
  ASSERT_TRUE(s.review(1));
  ASSERT_EQ(s.search.count, 2);
  EXPECT_TRUE(s.has(found.pair));
  EXPECT_NE(w.contacts[0].pair, w.contacts[1].pair);
  EXPECT_LT(w.contacts[0].pair, w.contacts[1].pair);
}

// A rod stands on end beside a block and turns by a radian: along straight lines it stays outside, in its poses it is
// inside.
TYPED_TEST(ReviewContacts, what_turns_into_something_is_a_contact_with_the_gap_of_those_poses) {
  std::mt19937 random(9);
  using Real = TypeParam;
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("rod", 1, {0.02, 0.02, 0.5}, {0, 0, 0})};
  scene.shapes = {testing::box_shape("rod", 0, {0.02, 0.02, 0.5}, 0.5),
                  testing::box_shape("block", model::kWorldBody, {0.1, 1, 0.085}, 0.5)};
  scene.shapes[1].X_BS.position = {0.35, 0, 0.135};
  Searched<Real> s(scene, 0, 0, random);
  auto& w = s.world.world();
  const Real h = s.world.settings().dt;
  w.v[0] = w.v_plus[0] = w.omega[0] = {}, w.omega_plus[0] = {0, Real(1) / h, 0};
  s.search = collide::find_contacts(Team{}, s.world.model(), w, s.world.settings());
  ASSERT_EQ(s.search.count, 0);
  w.x_plus[0] = w.x[0], w.q_plus[0] = {Real(std::cos(0.5)), 0, Real(std::sin(0.5)), 0};
  ASSERT_TRUE(s.review(0));
  ASSERT_GE(s.search.count, 1);
  Real deepest = 0;
  for (int i = 0; i < s.search.count; ++i) {
    EXPECT_LT(s.gap_after(w.contacts[i]), Real(0));
    deepest = std::max(deepest, -s.gap_after(w.contacts[i]));
  }
  EXPECT_GT(deepest, Real(0.005));
  // The one is read in the poses, the other along the contact's plane, which turns by the rest of the step: some 0.1 %
  // of the depth of 70 mm.
  EXPECT_NEAR(double(collide::solved_depth(Team{}, s.world.model(), w, s.world.settings(), s.search)), double(deepest),
              2e-4);
  EXPECT_FALSE(s.review(1)) << "a second look at the same result";
}

TYPED_TEST(ReviewContacts, an_overflow_is_not_forgotten) {
  std::mt19937 random(5);
  Searched<TypeParam> s(strewn_balls(2, random), 0, 0, random);
  s.world.world().x[0] = {0, 0, 0}, s.world.world().x[1] = {3, 0, 0};
  s.world.world().v_plus[0] = {-20, 0, 0};  // candidates are looked for again, and there are none
  s.search.overflow = true;
  EXPECT_FALSE(s.review(0));
  EXPECT_TRUE(s.search.overflow);
}

TYPED_TEST(ReviewContacts, what_is_not_finite_is_left_to_the_step) {
  std::mt19937 random(6);
  for (const double speed : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    Searched<TypeParam> s(strewn_balls(2, random), 0, 0, random);
    s.world.world().v_plus[0] = {TypeParam(speed), 0, 0};
    EXPECT_FALSE(s.review(0));
  }
}

}  // namespace
}  // namespace axion::review_contacts_test
