// Contact margins grow with speed: what would pass through a wall within one step is found before and stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion {
namespace {

using testing::Validation;

// A wall 20 mm thick at x = 0, or a heavy free plate of that size, and a bullet that starts 1.5 m before it.
model::SceneSpec wall_and_bullet(model::ShapeKind bullet, bool wall_moves) {
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  scene.bodies = {testing::solid_box("bullet", 0.1, {0.05, 0.05, 0.05}, {-1.5, 0.1, 0.2})};
  model::ShapeSpec shape;
  shape.name = "bullet", shape.body = 0, shape.kind = bullet, shape.friction = 0.3;
  shape.size = bullet == model::ShapeKind::kBox ? model::Vec3d{0.05, 0.04, 0.03} : model::Vec3d{0.03, 0.05, 0};
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

TYPED_TEST(FastBodies, do_not_tunnel) {
  const Validation<TypeParam> validation("bullet against a thin wall");
  double furthest = -1;
  for (const auto kind : {model::ShapeKind::kSphere, model::ShapeKind::kCapsule, model::ShapeKind::kBox}) {
    for (const bool wall_moves : {false, true}) {
      for (const double speed : {5.0, 50.0, 400.0}) {
        for (const double h : {1e-3, 1e-2, 0.1}) {
          testing::SingleWorld<TypeParam> world(wall_and_bullet(kind, wall_moves),
                                                model::make_options(model::Preset::kDefault), h);
          world.world().v[0] = {TypeParam(speed), 0, 0};
          world.world().omega[0] = {0, TypeParam(3), TypeParam(1)};
          for (int k = 0; k < 3 + static_cast<int>(3 / (speed * h)); ++k) {
            world.step();
            const double wall = wall_moves ? double(world.world().x[1].x) : 0;
            furthest = std::max(furthest, double(world.world().x[0].x) - wall);
          }
        }
      }
    }
  }
  // Its centre stays before the wall's face, at half its least thickness or more.
  validation.at_most("centre of the bullet beyond the wall's middle, m", furthest, -0.01);
}

}  // namespace
}  // namespace axion
