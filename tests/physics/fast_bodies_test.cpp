// What would pass through a wall within one step is stopped, however it came to that speed; and contacts that no step
// closes are not in it. The bounds are of the bodies' sizes, a centimetre and more; float32 rounds places of metres by
// 1e-7 m, so that both precisions share them, and both have the same contacts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/model/shape_pairs.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::fast_bodies_test {
namespace {

using testing::Validation;

// A wall 20 mm thick at x = 0, or a heavy free plate of that size, and a bullet that starts 1.5 m before it.
model::SceneSpec wall_and_bullet(model::ShapeKind bullet, bool wall_moves) {
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  scene.bodies = {testing::solid_box("bullet", 0.1, {0.05, 0.05, 0.05}, {-1.5, 0.1, 0.2})};
  model::ShapeSpec shape;
  shape.name = "bullet", shape.body = 0, shape.kind = bullet, shape.friction = 0.3;
  const bool three = bullet == model::ShapeKind::kBox || bullet == model::ShapeKind::kEllipsoid;
  shape.size = three ? model::Vec3d{0.05, 0.04, 0.03} : model::Vec3d{0.03, 0.05, 0};
  model::ShapeSpec wall = testing::box_shape("wall", model::kWorldBody, {0.01, 2, 2}, 0.3);
  if (wall_moves) {
    scene.bodies.push_back(testing::solid_box("wall", 1000, {0.01, 2, 2}, {0, 0, 0}));
    wall.body = 1;
  }
  scene.shapes = {wall, shape};
  return scene;
}

template <typename Real>
class FastBodies : public ::testing::Test {};
TYPED_TEST_SUITE(FastBodies, testing::Precisions, testing::PrecisionNames);

struct Flight {
  double furthest = -1;  // of the bullet's centre beyond the wall's middle, m
  int unconverged = 0;
};

// Bullets of every shape against walls that stand or move; `push(world, k)` comes before step k. `turned`: the bullet
// turns by radians in a step, in which an ellipsoid's one contact is left behind, and what comes after it goes on.
template <typename Real, typename Push>
void fly(double h, int steps, bool turned, Flight& flight, Push&& push) {
  using model::ShapeKind;
  for (const auto kind :
       {ShapeKind::kSphere, ShapeKind::kCapsule, ShapeKind::kBox, ShapeKind::kCylinder, ShapeKind::kEllipsoid}) {
    if (turned && kind == ShapeKind::kEllipsoid) continue;
    for (const bool wall_moves : {false, true}) {
      testing::SingleWorld<Real> world(wall_and_bullet(kind, wall_moves), model::make_options(model::Preset::kDefault),
                                       h);
      for (int k = 0; k < steps; ++k) {
        push(world.world(), k);
        world.step();
        flight.unconverged += !world.converged();
        const double wall = wall_moves ? double(world.world().x[1].x) : 0;
        flight.furthest = std::max(flight.furthest, double(world.world().x[0].x) - wall);
      }
    }
  }
}

// The bullet's centre stays before the wall's face, at half its least thickness or more.
void expect_before_the_wall(const auto& validation, const Flight& flight) {
  validation.at_most("centre of the bullet beyond the wall's middle, m", flight.furthest, -0.01);
}

TYPED_TEST(FastBodies, do_not_tunnel) {
  Flight flight;
  for (const double speed : {5.0, 50.0, 400.0}) {
    for (const double h : {1e-3, 1e-2, 0.1}) {
      fly<TypeParam>(h, 3 + static_cast<int>(3 / (speed * h)), h > 0.05, flight, [&](auto& w, int k) {
        if (k > 0) return;
        w.v[0] = {TypeParam(speed), 0, 0}, w.omega[0] = {0, TypeParam(3), TypeParam(1)};
      });
    }
  }
  expect_before_the_wall(Validation<TypeParam>("bullet against a thin wall"), flight);
}

// From rest, by a force: nothing that is known before the step says that it will come to the wall.
TYPED_TEST(FastBodies, do_not_tunnel_when_a_force_drives_them_through_in_one_step) {
  Flight flight;
  for (const double h : {0.01, 0.1, 0.3}) {
    fly<TypeParam>(h, 3, false, flight, [&](auto& w, int k) {
      w.force[0] = {TypeParam(k == 0 ? 0.6 / (h * h) : 0), 0, 0};  // 3 m in the first step, which takes half of it
    });
  }
  EXPECT_EQ(flight.unconverged, 0);
  expect_before_the_wall(Validation<TypeParam>("pushed bullet against a thin wall"), flight);
}

// Its velocity carries a ball past another, though it closes their gap along the line of centres; a force turns it into
// the other. The pair is none until there is a result, and then it must be one.
TYPED_TEST(FastBodies, do_not_tunnel_when_a_force_turns_their_way_into_a_body) {
  const Validation<TypeParam> validation("ball turned into another");
  double furthest = -1;
  for (const double h : {0.01, 0.1}) {
    model::SceneSpec scene;
    scene.gravity = {0, 0, 0};
    scene.bodies = {testing::solid_box("ball", 0.1, {0.1, 0.1, 0.1}, {-0.5, 0, 0}),
                    testing::solid_box("other", 1000, {0.1, 0.1, 0.1}, {0, 0, 0})};
    scene.shapes = {testing::sphere_shape("ball", 0, 0.1, 0.3), testing::sphere_shape("other", 1, 0.1, 0.3)};
    testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), h);
    const double speed = 3 / h;  // 3 m in a step, along x and y
    world.world().v[0] = {TypeParam(speed), TypeParam(speed), 0};
    world.world().force[0] = {0, TypeParam(-0.2 * speed / h), 0};  // the first step takes half of it
    world.step();
    EXPECT_TRUE(world.converged());
    EXPECT_EQ(world.record().contact_count, 1);
    furthest = std::max(furthest, double(world.world().x[0].x) - double(world.world().x[1].x));
  }
  // A contact's compliance may take a hundredth of an impact, here of the 2.7 m that were left of the step
  // (contact_rows.hpp).
  validation.at_most("centre of the ball beyond the other's, m", furthest, -0.2 + 0.01 * 2.7);
}

// A stick that a step turns half across a wall, alone or among spheres far off: so many that pairs are in no list.
TYPED_TEST(FastBodies, that_turn_into_a_wall_do_so_alike_among_many_others) {
  const auto turn = [](int others) {
    model::SceneSpec scene = wall_and_bullet(model::ShapeKind::kCapsule, false);
    scene.bodies[0].X_WB.position = {-0.3, 0, 0};
    scene.shapes[1].size = {0.03, 0.5, 0};
    for (int i = 0; i < others; ++i) {
      const std::string name = "other" + std::to_string(i);
      scene.bodies.push_back(testing::solid_box(name, 1, {0.1, 0.1, 0.1}, {10.0 + i, 20, 0}));
      scene.shapes.push_back(testing::sphere_shape(name, i + 1, 0.1, 0.3));
    }
    testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), 0.01);
    world.world().omega[0] = {0, TypeParam(60), 0};
    world.step(5);
    EXPECT_EQ(model::lists_pairs(world.model()), others == 0);
    return world.world().x[0];
  };
  const auto alone = turn(0), among = turn(100);
  EXPECT_LT(alone.x, TypeParam(-0.3001));  // it was pushed off
  for (int k = 0; k < 3; ++k) EXPECT_EQ(among[k], alone[k]) << k;
}

// A plate of 2 mm, half a metre before a wall of 1 mm, spins by a radian and more in a step: no plane before the step
// says where it will be. It stays before the wall, or the step that let it through has not converged.
TYPED_TEST(FastBodies, that_spin_do_not_pass_a_thin_wall_in_a_step_that_converges) {
  for (const double spin : {0.0, 30.0, 80.0}) {
    for (const auto& [speed, h] : {std::pair{10.0, 0.05}, {50.0, 0.01}, {50.0, 0.002}, {20.0, 0.05}, {200.0, 0.01}}) {
      for (int start = 0; start < 6; ++start) {
        model::SceneSpec scene;
        scene.gravity = {0, 0, 0};
        scene.bodies = {testing::solid_box("plate", 1, {0.02, 0.05, 0.001}, {-0.5 - 0.07 * start, 0.013, 0.021})};
        scene.shapes = {testing::box_shape("wall", model::kWorldBody, {0.0005, 1, 1}, 0.3),
                        testing::box_shape("plate", 0, {0.02, 0.05, 0.001}, 0.3)};
        testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), h);
        auto& w = world.world();
        w.v[0] = {TypeParam(speed), 0, 0}, w.omega[0] = {0, TypeParam(spin), TypeParam(spin)};
        for (int k = 0; k < 3 + static_cast<int>(1.5 / (speed * h)); ++k) {
          const bool before = w.x[0].x < 0;
          world.step();
          if (before && w.x[0].x > 0) {
            EXPECT_FALSE(world.converged()) << speed << " m/s, " << h << " s, " << spin << " rad/s, start " << start;
          }
        }
      }
    }
  }
}

// Two balls 0.3 m apart fall past a wall: gravity moves both alike, and neither comes near the other or the wall.
TYPED_TEST(FastBodies, that_fall_side_by_side_are_no_contacts_even_in_large_steps) {
  model::SceneSpec scene;
  for (int i = 0; i < 2; ++i) {
    scene.bodies.push_back(testing::solid_box(i == 0 ? "left" : "right", 1, {0.1, 0.1, 0.1}, {0.3 * i, 0, 0}));
    model::ShapeSpec ball;
    ball.name = scene.bodies.back().name, ball.body = i, ball.kind = model::ShapeKind::kSphere, ball.size = {0.1, 0, 0};
    scene.shapes.push_back(ball);
  }
  scene.shapes.push_back(testing::box_shape("wall", model::kWorldBody, {5, 0.01, 5}, 0.3));
  scene.shapes.back().X_BS.position = {0, 0.2, 0};
  testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), 0.2);
  for (int k = 0; k < 3; ++k) {
    world.step();
    EXPECT_TRUE(world.converged());
    EXPECT_EQ(world.record().contact_count, 0);
  }
}

// A ball dropped from 0.5 m, in steps in which gravity alone would carry it through the floor.
TYPED_TEST(FastBodies, land_on_the_floor_in_large_steps) {
  const Validation<TypeParam> validation("ball dropped in large steps");
  double deepest = 0;
  for (const double h : {0.1, 0.2, 0.3, 0.5}) {
    for (const double height : {0.001, 0.05, 0.5}) {
      model::SceneSpec scene = testing::cube_on_plane(0.5);
      testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), h);
      const double rest = double(world.world().x[0].z);
      world.world().x[0].z += TypeParam(height);
      for (int k = 0; k < 8; ++k) {
        world.step();
        EXPECT_TRUE(world.converged());
        deepest = std::max(deepest, rest - double(world.world().x[0].z));
      }
    }
  }
  validation.at_most("depth below the floor, m", deepest, 1e-3);
}

// Slender and flat bodies that spin before the plane x = 0, out of the numbers of a seeded generator.
struct Spinner {
  model::ShapeKind kind;
  model::Vec3d half;  // m
};

double draw(std::uint64_t& state) {  // from -1 to 1
  state = state * 6364136223846793005U + 1442695040888963407U;
  return double(state >> 11U) * 0x1p-52 - 1;
}

template <typename Real>
testing::SingleWorld<Real> spin_at_plane(const Spinner& spinner, double h, double speed, double spin,
                                         std::uint64_t& state) {
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  scene.bodies = {testing::solid_box("spinner", 0.1, spinner.half, {-0.4, 0, 0})};
  model::ShapeSpec plane, shape;
  plane.name = "wall", plane.body = model::kWorldBody, plane.kind = model::ShapeKind::kPlane, plane.friction = 1;
  plane.X_BS.rotation = {std::sqrt(0.5), 0, -std::sqrt(0.5), 0};  // its normal is -x
  shape.name = "spinner", shape.body = 0, shape.kind = spinner.kind, shape.friction = 1, shape.size = spinner.half;
  scene.shapes = {plane, shape};
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), h);
  const auto three = [&] {
    const double x = draw(state), y = draw(state), z = draw(state);
    return math::Vec3<double>{x, y, z};
  };
  const math::Quat<double> q{draw(state), draw(state), draw(state), draw(state)};
  world.world().q[0] = math::cast<Real>(math::normalized(q));
  world.world().x[0].x = Real(-0.3 + 0.15 * draw(state));
  world.world().v[0] = math::cast<Real>((speed * (0.65 + 0.35 * draw(state))) * math::Vec3<double>{1, 0.1, 0.1});
  world.world().omega[0] = math::cast<Real>(spin * three());
  return world;
}

// How far a box or an ellipsoid of those half sizes is beyond the plane, m.
template <typename Real>
double depth_in_plane(const testing::SingleWorld<Real>& world, const Spinner& spinner) {
  const auto normal = math::rotate_inverse(math::cast<double>(world.world().q[0]), math::Vec3<double>{1, 0, 0});
  double sum = 0, square = 0;
  for (int k = 0; k < 3; ++k) {
    const double reach = spinner.half[std::size_t(k)] * std::abs(normal[k]);
    sum += reach, square += reach * reach;
  }
  const bool is_box = spinner.kind == model::ShapeKind::kBox;
  return double(world.world().x[0].x) + (is_box ? sum : std::sqrt(square));
}

// A step that converges deepens no overlap by more than turning may, half the margin of 10 mm and what float32 leaves.
TYPED_TEST(FastBodies, that_spin_do_not_sink_into_a_plane_in_a_step_that_converges) {
  std::uint64_t state = 11;
  int converged = 0, steps = 0;
  for (const Spinner& spinner : {Spinner{model::ShapeKind::kEllipsoid, {0.1, 0.05, 0.002}},
                                 Spinner{model::ShapeKind::kBox, {0.1, 0.002, 0.002}}}) {
    for (const auto& [h, speed, spin] : {std::array{0.01, 20.0, 60.0}, {0.02, 5.0, 100.0}, {0.005, 60.0, 300.0}}) {
      for (int flight = 0; flight < 3; ++flight) {
        auto world = spin_at_plane<TypeParam>(spinner, h, speed, spin, state);
        for (int k = 0; k < 15; ++k) {
          const double before = std::max(0.0, depth_in_plane(world, spinner));
          world.step();
          ++steps, converged += world.converged();
          if (world.converged()) {
            EXPECT_LT(depth_in_plane(world, spinner) - before, 0.0052)
                << "flight " << flight << ", step " << k << " of " << h << " s";
          }
        }
      }
    }
  }
  EXPECT_GT(converged, steps * 9 / 10);
}

}  // namespace
}  // namespace axion::fast_bodies_test
