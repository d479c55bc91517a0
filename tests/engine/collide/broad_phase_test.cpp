// Pairs from the grid are the pairs that the list of all of them gives, in its order, whatever the team; and how many
// shapes it looks at for that.
#include "engine/collide/find_contacts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "tests/engine/collide/random_heap.hpp"
#include "tests/support/validation.hpp"

namespace axion::broad_phase_test {
namespace {

using collide::Foresight;

template <typename Real>
class BroadPhase : public ::testing::Test {};
TYPED_TEST_SUITE(BroadPhase, testing::Precisions, testing::PrecisionNames);

template <typename Real>
testing::SingleWorld<Real> make_world(const model::SceneSpec& scene) {
  return {scene, model::make_options(model::Preset::kDefault), 0.05};
}

template <typename Real>
std::vector<std::uint32_t> listed(testing::SingleWorld<Real>& world, Foresight foresight) {
  const auto m = world.model();
  std::vector<std::uint32_t> result;
  for (int i = 0; i < m.shape_count; ++i) {
    for (int j = i + 1; j < m.shape_count; ++j) {
      const int pair = model::pair_number(m, i, j);
      if (pair < 0) continue;
      const auto shapes = model::pair_data(m, pair);
      if (collide::near_each_other(m, world.world(), shapes.shape_a, shapes.shape_b, world.settings(), foresight))
        result.push_back(pair);
    }
  }
  return result;
}

template <typename Team, typename Real>
std::vector<std::uint32_t> from_grid(const model::ModelView<Real>& m, testing::SingleWorld<Real>& world,
                                     Foresight foresight, std::size_t expected) {
  const int found = collide::pairs_from_grid(Team{}, m, world.world(), world.settings(), foresight);
  EXPECT_EQ(static_cast<std::size_t>(found), expected);
  const int kept = std::min(found, collide::active_pair_capacity(m));
  return {world.world().collide.pair_active.begin(), world.world().collide.pair_active + kept};
}

// Places the shapes of a world as it is now and compares, for both foresights and all teams. Returns how many pairs
// were near.
template <typename Real>
std::size_t expect_what_the_list_finds(testing::SingleWorld<Real>& world, const std::string& what) {
  const auto m = world.model();
  auto& w = world.world();
  EXPECT_TRUE(collide::uses_grid(m));
  std::size_t near = 0;
  for (int i = 0; i < m.shape_count; ++i) collide::place_shape(m, w, i, world.settings().dt);
  for (const auto foresight : {Foresight::kLast, Foresight::kLastAndSolved}) {
    for (int i = 0; i < m.shape_count && foresight == Foresight::kLastAndSolved; ++i) {
      collide::reach_as_solved(m, w, i, world.settings().dt);
    }
    const auto all = listed(world, foresight);
    near += all.size();
    std::vector<std::uint32_t> expected = all;
    expected.resize(std::min<std::size_t>(all.size(), collide::active_pair_capacity(m)));
    EXPECT_EQ(from_grid<team::SerialTeam>(m, world, foresight, all.size()), expected) << what;
    EXPECT_EQ(from_grid<team::ReversedTeam>(m, world, foresight, all.size()), expected) << what;
    EXPECT_EQ(from_grid<team::ShuffledTeam>(m, world, foresight, all.size()), expected) << what;
  }
  return near;
}

template <typename Real>
void draw_velocities(testing::SingleWorld<Real>& world, double speed, std::mt19937& random) {
  const auto draw = [&](double size) { return testing::random_vector<Real>(size, random); };
  auto& w = world.world();
  for (int b = 0; b < world.model().body_count; ++b) {
    w.v[b] = draw(speed), w.omega[b] = draw(1), w.v_plus[b] = draw(speed), w.omega_plus[b] = draw(1);
  }
}

TYPED_TEST(BroadPhase, finds_what_the_list_of_all_pairs_finds_in_its_order) {
  std::mt19937 random(7);
  std::size_t all = 0;
  for (int round = 0; round < 40; ++round) {
    auto world = make_world<TypeParam>(testing::random_heap(110, random));
    draw_velocities(world, round % 4 * 3.0, random);
    for (int b = 0; round == 39 && b < world.model().body_count; ++b) world.world().x[b] = {};  // all in one place
    all += expect_what_the_list_finds(world, "round " + std::to_string(round));
  }
  EXPECT_GT(all, 10000u);
}

// Bodies whose sizes are spread over `decades`, as dense at each size, among planes and blocks of the world.
model::SceneSpec many_sizes(int count, double decades, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  model::SceneSpec scene;
  for (int i = 0; i < count; ++i) {
    const double size = 0.5 * std::pow(10.0, -decades * unit(random));
    const double width = 30 * size;
    scene.bodies.push_back(testing::solid_box("b" + std::to_string(i), 1, {size, size, size},
                                              {width * unit(random), width * unit(random), width * unit(random)}));
    if (i % 30 == 7) {  // before, among and behind the others in the order of shapes
      model::ShapeSpec plane = testing::ground_plane(0.5);
      plane.name = "plane" + std::to_string(i), plane.X_BS.position = {unit(random), unit(random), unit(random)};
      plane.X_BS.rotation = {unit(random), unit(random), unit(random), unit(random)};
      scene.shapes.push_back(plane);
    }
    const std::string name = "s" + std::to_string(i);
    if (i % 9 == 4) {
      scene.shapes.push_back(testing::box_shape("w" + name, model::kWorldBody, {size, 20 * size, size}, 0.5));
      scene.shapes.back().X_BS.position = {width * unit(random), 0, width * unit(random)};
    }
    scene.shapes.push_back(i % 2 == 0
                               ? testing::sphere_shape(name, i, size, 0.5)
                               : testing::box_shape(name, i, {size, size * (0.1 + unit(random)), 2 * size}, 0.5));
    if (i % 5 == 1) scene.excludes.push_back({i / 2, i});
  }
  return scene;
}

TYPED_TEST(BroadPhase, finds_the_same_pairs_where_many_sizes_meet) {
  std::mt19937 random(11);
  std::size_t all = 0;
  for (const double decades : {0.0, 0.5, 2.0, 5.0}) {
    for (int round = 0; round < 4; ++round) {
      auto world = make_world<TypeParam>(many_sizes(150, decades, random));
      draw_velocities(world, 0.5 * round, random);
      all += expect_what_the_list_finds(world, "decades " + std::to_string(decades));
    }
  }
  EXPECT_GT(all, 10000u);
}

TYPED_TEST(BroadPhase, finds_the_same_pairs_wherever_shapes_are) {
  std::mt19937 random(13);
  using Vec3 = math::Vec3<TypeParam>;
  constexpr TypeParam kInfinity = std::numeric_limits<TypeParam>::infinity();
  constexpr TypeParam kNaN = std::numeric_limits<TypeParam>::quiet_NaN();
  int bodies = 100;  // as many as take the grid
  const auto compare = [&](const char* what, const std::function<void(model::WorldView<TypeParam>&, int)>& put) {
    auto world = make_world<TypeParam>(testing::random_heap(bodies, random));
    draw_velocities(world, 3, random);
    for (int b = 0; b < world.model().body_count; ++b) put(world.world(), b);
    return expect_what_the_list_finds(world, what);
  };
  const auto each = [&](const char* what,
                        TypeParam value) {  // in one component of one field of every 7th body, then of all
    using W = model::WorldView<TypeParam>;
    using Field = math::Vec3<TypeParam>* W::*;
    for (const Field field : {Field(&W::x), Field(&W::v), Field(&W::omega), Field(&W::v_plus), Field(&W::omega_plus)}) {
      for (int round = 0; round < 4; ++round) {
        compare(what, [&](auto& w, int b) { (w.*field)[b][round % 3] = round < 3 && b % 7 != 0 ? 0 : value; });
      }
    }
  };
  each("not a number", kNaN);
  each("infinite", kInfinity);
  each("infinite", -kInfinity);
  each("greatest", std::numeric_limits<TypeParam>::max());
  each("greatest", -std::numeric_limits<TypeParam>::max());
  each("great", TypeParam(0.24) * std::numeric_limits<TypeParam>::max());
  each("huge", TypeParam(1e20));
  each("far", TypeParam(-1e7));
  bodies = 120;
  const auto in_heaps = [](auto& w, int b) {
    w.x[b] = TypeParam(0.2) * w.x[b] + Vec3{b % 3 * TypeParam(1e3), 0, b % 2 * TypeParam(1e4)};
  };
  EXPECT_GT(compare("heaps far apart", in_heaps), 100u);
  EXPECT_GT(compare("in a plane", [](auto& w, int b) { w.x[b].z = 0; }), 100u);
  EXPECT_GT(compare("in a line", [](auto& w, int b) { w.x[b].x = w.x[b].y = 1; }), 100u);
  EXPECT_GT(compare("each further", [](auto& w, int b) { w.x[b] = {std::ldexp(TypeParam(1), b), 0, 0}; }), 100u);
  EXPECT_GT(compare("each faster", [](auto& w, int b) { w.v[b].y = std::ldexp(TypeParam(1), b - 20); }), 100u);
}

TYPED_TEST(BroadPhase, keeps_the_first_pairs_of_the_list_where_they_are_too_many) {
  std::mt19937 random(17);
  for (const double spread : {0.0, 0.3}) {
    auto world = make_world<TypeParam>(testing::random_heap(110, random));
    auto& w = world.world();
    draw_velocities(world, 0, random);
    for (int b = 0; b < world.model().body_count; ++b) w.x[b] = testing::random_vector<TypeParam>(spread, random);
    for (int i = 0; i < world.model().shape_count; ++i) collide::place_shape(world.model(), w, i, world.settings().dt);
    const auto all = listed(world, Foresight::kLast);
    for (const int capacity : {1, 17, 500, 1001}) {
      auto m = world.model();
      m.candidate_capacity = capacity;
      ASSERT_GT(all.size(), static_cast<std::size_t>(capacity));
      const std::vector<std::uint32_t> expected(all.begin(), all.begin() + capacity);
      EXPECT_EQ(from_grid<team::SerialTeam>(m, world, Foresight::kLast, all.size()), expected);
      EXPECT_EQ(from_grid<team::ShuffledTeam>(m, world, Foresight::kLast, all.size()), expected);
    }
  }
}

// Places that each shape looks at, on average, where most of them touch nothing: the list of pairs then does not grow
// with them.
template <typename Real>
double places_a_shape(model::SceneSpec scene) {
  for (std::size_t i = 100; i < scene.shapes.size(); ++i) {
    scene.shapes[i].contact_type = scene.shapes[i].contact_affinity = 0;
  }
  auto world = make_world<Real>(scene);
  const auto m = world.model();
  auto& w = world.world();
  EXPECT_TRUE(collide::uses_grid(m));
  for (int i = 0; i < m.shape_count; ++i) {
    collide::place_shape(m, w, i, world.settings().dt);
    collide::bound_shape(m, w, world.settings(), Foresight::kLast, i);
  }
  const auto grid = collide::build_grid(team::SerialTeam{}, m, w);
  long long places = 0;
  for (int i = 0; i < m.shape_count; ++i) {
    collide::for_each_place(m, w, grid, i, [&](int, std::uint32_t) { return ++places > 0; });
  }
  return double(places) / m.shape_count;
}

model::SceneSpec spheres_of(int count, const std::function<double(int)>& radius,
                            const std::function<model::Vec3d(int)>& position) {
  model::SceneSpec scene;
  for (int i = 0; i < count; ++i) {
    const double r = radius(i);
    scene.bodies.push_back(testing::solid_box("b" + std::to_string(i), 1, {r, r, r}, position(i)));
    scene.shapes.push_back(testing::sphere_shape("s" + std::to_string(i), i, r, 0.5));
  }
  return scene;
}

TYPED_TEST(BroadPhase, looks_at_as_many_shapes_however_many_there_are) {
  std::mt19937 random(19);
  std::uniform_real_distribution<double> unit(0, 1);
  const auto within = [&](double x, double y, double z) {
    const double a = unit(random), b = unit(random), c = unit(random);  // in this order whatever the compiler
    return model::Vec3d{x * a, y * b, z * c};
  };
  const auto one_size = [](int) { return 0.1; };
  for (const int count : {400, 3000}) {
    // One shape in each cube of its own size, as dense as a pile: 27 cells, in each one and what meets it by chance.
    const double side = 0.2 * std::cbrt(count), flat = 0.2 * std::sqrt(count), length = 0.2 * count;
    const auto in_cube = [&](int) { return within(side, side, side); };
    const auto in_two_heaps = [&](int i) {  // far apart, and one shape much further
      const model::Vec3d p = within(side, side, side);
      return model::Vec3d{p[0] + (i == 0 ? 1e6 : i % 2 * 1e4), p[1], p[2]};
    };
    EXPECT_LT(places_a_shape<TypeParam>(spheres_of(count, one_size, in_cube)), 60);
    EXPECT_LT(places_a_shape<TypeParam>(spheres_of(count, one_size, in_two_heaps)), 60);
    EXPECT_LT(places_a_shape<TypeParam>(spheres_of(count, one_size, [&](int) { return within(flat, flat, 0.01); })),
              60);
    EXPECT_LT(places_a_shape<TypeParam>(spheres_of(count, one_size, [&](int) { return within(length, 0.01, 0.01); })),
              60);
    EXPECT_LT(places_a_shape<TypeParam>(spheres_of(count, one_size, [&](int) { return within(0.01, 0.01, length); })),
              60);
    // One in a hundred is ten times as large: it has a thousand small ones in each of its cells, shared by a hundred.
    const auto two_sizes = [](int i) { return i % 100 == 0 ? 1.0 : 0.1; };
    EXPECT_LT(places_a_shape<TypeParam>(spheres_of(count, two_sizes, in_cube)), 400);
    // Each of sixteen sizes half the next.
    const auto sizes = [](int i) { return 0.1 * std::exp2(-(i % 16)); };
    EXPECT_LT(places_a_shape<TypeParam>(spheres_of(count, sizes, in_cube)), 150);
  }
}

}  // namespace
}  // namespace axion::broad_phase_test
