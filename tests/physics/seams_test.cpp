// What slides or rolls over shapes of the world that stand side by side meets one surface, and what stands in its way
// stops it; and shapes pass each other where their gap ahead would close, but they do not overlap.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::seams_test {
namespace {

using model::ShapeKind;

constexpr double kTile = 0.5;  // length along x, m
constexpr int kTiles = 9;

enum class Mover { kBox, kMesh, kPuck, kWheel, kBall, kCapsule };
constexpr Mover kMovers[] = {Mover::kBox, Mover::kMesh, Mover::kPuck, Mover::kWheel, Mover::kBall, Mover::kCapsule};

bool rolls(Mover mover) { return mover >= Mover::kWheel; }
double radius_of(Mover mover) { return rolls(mover) ? 0.05 : 0.1; }

model::MeshSpec box_mesh(const std::string& name, double x, double y, double z) {
  model::MeshSpec mesh{name, {}};
  for (int i = 0; i < 8; ++i) {
    mesh.vertices.push_back({(i & 1) != 0 ? x : -x, (i & 2) != 0 ? y : -y, (i & 4) != 0 ? z : -z});
  }
  return mesh;
}

struct Road {
  bool meshes = false;
  bool mixed = false;  // every other one is a mesh
  double drop = 0;     // m, of each tile below the one before
  double crack = 0;    // m, between two of them
  double lip = 0;      // m, of the third tile above the others
};

model::SceneSpec road_scene(const Road& road, Mover mover) {
  const double friction = rolls(mover) ? 0.5 : 0, r = radius_of(mover);
  model::SceneSpec scene;
  scene.meshes = {box_mesh("tile", kTile / 2, 1, 0.1), box_mesh("cube", r, r, r)};
  for (int i = 0; i < kTiles; ++i) {
    model::ShapeSpec tile =
        testing::box_shape("tile" + std::to_string(i), model::kWorldBody, {kTile / 2, 1, 0.1}, friction);
    if (road.meshes || (road.mixed && i % 2 == 1)) tile.kind = ShapeKind::kMesh, tile.mesh = "tile";
    tile.X_BS.position = {i * (kTile + road.crack), 0, -0.1 - i * road.drop + (i == 2 ? road.lip : 0)};
    scene.shapes.push_back(tile);
  }
  model::ShapeSpec shape = testing::box_shape("mover", 0, {r, r, r}, friction);
  if (mover == Mover::kMesh) shape.kind = ShapeKind::kMesh, shape.mesh = "cube";
  if (mover == Mover::kPuck || mover == Mover::kWheel) shape.kind = ShapeKind::kCylinder, shape.size = {r, r, 0};
  if (mover == Mover::kBall) shape.kind = ShapeKind::kSphere, shape.size = {r, 0, 0};
  if (mover == Mover::kCapsule) shape.kind = ShapeKind::kCapsule, shape.size = {r, 0.05, 0};
  if (mover == Mover::kWheel || mover == Mover::kCapsule) shape.X_BS.rotation = {std::sqrt(0.5), std::sqrt(0.5), 0, 0};
  scene.bodies = {testing::solid_box("mover", 1, {r, r, r}, {0, 0.013, r})};
  scene.shapes.push_back(shape);
  return scene;
}

struct Ride {
  double slowest = INFINITY, fastest = -INFINITY, highest = -INFINITY, gained = -INFINITY;  // m/s, m, J
  int unconverged = 0;
};

// Of a mover that starts over the first tile at `speed`, until it is over the last or has had time for that.
template <typename Real>
Ride ride(const model::SceneSpec& scene, Mover mover, double speed, double h, bool soft,
          model::Preset preset = model::Preset::kDefault) {
  model::SolverOptions options = model::make_options(preset);
  if (soft) options.contact_softness = model::ContactSoftness::kMjcf;
  testing::SingleWorld<Real> world(scene, options, h);
  auto& w = world.world();
  const double r = radius_of(mover), start = double(w.x[0].z);
  w.v[0] = {Real(speed), 0, 0};
  if (rolls(mover)) w.omega[0] = {0, Real(speed / r), 0};
  const double energy = world.energy();
  Ride ride;
  for (int k = 0; k < static_cast<int>((kTiles - 1) * kTile / (speed * h)); ++k) {
    world.step();
    ride.slowest = std::min(ride.slowest, double(w.v[0].x));
    ride.fastest = std::max(ride.fastest, double(w.v[0].x));
    ride.highest = std::max(ride.highest, double(w.x[0].z) - start);
    ride.gained = std::max(ride.gained, world.energy() - energy);
    ride.unconverged += !world.converged();
  }
  return ride;
}

std::string name_of(Mover mover, double speed, double h, bool soft) {
  return "mover " + std::to_string(int(mover)) + " at " + std::to_string(speed) + " m/s, " + std::to_string(h) + " s" +
         (soft ? ", soft" : "");
}

template <typename Real>
class Seams : public ::testing::Test {};
TYPED_TEST_SUITE(Seams, testing::Precisions, testing::PrecisionNames);

// Speed is kept to 1 %: what paper says, that it is kept, and what a wheel's contact takes up where it passes from one
// plane to the next. Prints the least share of it that movers keep, rigid and soft.
template <typename Real>
void expect_as_one_surface(const Road& road, double speed, double h, model::Preset preset = model::Preset::kDefault) {
  constexpr const char* kNames[] = {"box", "mesh", "puck", "wheel", "ball", "capsule"};
  for (const Mover mover : kMovers) {
    double least[2];
    for (const bool soft : {false, true}) {
      const Ride found = ride<Real>(road_scene(road, mover), mover, speed, h, soft, preset);
      const double may = rolls(mover) && h > 0.015 ? 0.02 : 0.01;
      EXPECT_GT(found.slowest, (1 - may) * speed) << name_of(mover, speed, h, soft);
      EXPECT_LT(found.fastest, (1 + may) * speed) << name_of(mover, speed, h, soft);
      EXPECT_EQ(found.unconverged, 0) << name_of(mover, speed, h, soft);
      least[soft ? 1 : 0] = found.slowest / speed;
    }
    std::printf("%s at %g m/s, %g s keeps %.4f, soft %.4f\n", kNames[int(mover)], speed, h, least[0], least[1]);
  }
}

TYPED_TEST(Seams, of_level_boxes_stop_nothing) {
  expect_as_one_surface<TypeParam>({}, 0.7, 0.01);
  expect_as_one_surface<TypeParam>({}, 5, 0.002);
  expect_as_one_surface<TypeParam>({}, 3, 0.02);
}

TYPED_TEST(Seams, of_level_meshes_stop_nothing) {
  expect_as_one_surface<TypeParam>({.meshes = true}, 1, 0.01);
  expect_as_one_surface<TypeParam>({.meshes = true}, 5, 0.02);
}

TYPED_TEST(Seams, of_boxes_beside_meshes_stop_nothing) { expect_as_one_surface<TypeParam>({.mixed = true}, 2, 0.01); }

// Squares in rows, in bond or not, which a box crosses at an angle: over joints along both ways, and corners of three
// and four.
TYPED_TEST(Seams, between_rows_of_squares_stop_no_box) {
  constexpr double kSquare = 0.25;
  for (const bool in_bond : {false, true}) {
    for (const double h : {0.002, 0.02}) {
      model::SceneSpec scene = road_scene({}, Mover::kBox);
      scene.shapes.erase(scene.shapes.begin(), scene.shapes.end() - 1);
      for (int i = -2; i < 8; ++i) {
        for (int j = -2; j < 6; ++j) {
          const std::string name = "square" + std::to_string(i) + "_" + std::to_string(j);
          scene.shapes.push_back(testing::box_shape(name, model::kWorldBody, {kSquare / 2, kSquare / 2, 0.05}, 0));
          scene.shapes.back().X_BS.position = {(i + (in_bond && j % 2 != 0 ? 0.5 : 0)) * kSquare, j * kSquare, -0.05};
        }
      }
      testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), h);
      auto& v = world.world().v[0];
      v = {1, TypeParam(0.6), 0};
      for (int k = 0; k < static_cast<int>(1.4 / h); ++k) {
        world.step();
        ASSERT_NEAR(double(v.x), 1, 0.01) << h << (in_bond ? ", in bond" : "") << ", step " << k;
        ASSERT_NEAR(double(v.y), 0.6, 0.006) << h << (in_bond ? ", in bond" : "") << ", step " << k;
      }
    }
  }
}

// A wall of tiles on a floor of tiles, neither with friction; a force along y presses the box against the wall. A
// second wall makes it a slot as wide as the box, whose lower corners are at the feet of both.
TYPED_TEST(Seams, of_walls_stop_no_box_that_is_pressed_against_them) {
  const double r = radius_of(Mover::kBox);
  for (const bool slot : {false, true}) {
    for (const bool meshes : {false, true}) {
      for (const double h : {0.002, 0.02}) {
        model::SceneSpec scene = road_scene({.meshes = meshes}, Mover::kBox);
        scene.gravity = {0, -3, -9.81};
        scene.bodies[0].X_WB.position = {0, 0, r};
        for (int i = 0; i < 2 * kTiles; ++i) {
          for (const int side : {-1, 1}) {
            if (side > 0 && !slot) continue;
            const std::string name = "wall" + std::to_string(side * (i + 1));
            scene.shapes.push_back(testing::box_shape(name, model::kWorldBody, {0.125, 0.05, 0.3}, 0));
            scene.shapes.back().X_BS.position = {i * 0.25, side * (r + 0.05), 0.3};
          }
        }
        testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), h);
        const auto& w = world.world();
        world.world().v[0] = {2, 0, 0};
        for (int k = 0; k < static_cast<int>(1.9 / h); ++k) {
          world.step();
          ASSERT_NEAR(double(w.v[0].x), 2, 0.02) << h << (meshes ? ", meshes" : "") << ", step " << k;
          ASSERT_GT(double(w.x[0].z), r - 1e-4) << h << (meshes ? ", meshes" : "") << ", step " << k;
          ASSERT_TRUE(world.converged()) << h << (meshes ? ", meshes" : "") << ", step " << k;
        }
      }
    }
  }
}

TYPED_TEST(Seams, with_a_drop_of_micrometres_stop_nothing) {
  expect_as_one_surface<TypeParam>({.drop = 1e-5}, 1, 0.005);
  expect_as_one_surface<TypeParam>({.meshes = true, .drop = 3e-6}, 4, 0.02);
}

TYPED_TEST(Seams, stop_nothing_with_any_preset) {
  for (const model::Preset preset : {model::Preset::kAxionSeed, model::Preset::kVelocity}) {
    const Ride found = ride<TypeParam>(road_scene({}, Mover::kBox), Mover::kBox, 0.7, 0.01, false, preset);
    EXPECT_GT(found.slowest, 0.99 * 0.7) << int(preset);
    EXPECT_LT(found.fastest, 1.01 * 0.7) << int(preset);
  }
}

// No tile is beside the next one: what is ahead is passed because nothing of it is in the way.
TYPED_TEST(Seams, with_cracks_stop_no_box) {
  for (const double h : {0.002, 0.02}) {
    for (const Mover mover : {Mover::kBox, Mover::kMesh, Mover::kPuck}) {
      const Ride found = ride<TypeParam>(road_scene({.crack = 0.003}, mover), mover, 1, h, false);
      EXPECT_GT(found.slowest, 0.99) << name_of(mover, 1, h, false);
      EXPECT_LT(found.fastest, 1.01) << name_of(mover, 1, h, false);
    }
  }
}

// Down steps of a millimetre: none is thrown back, and none gains what it has not fallen for.
TYPED_TEST(Seams, with_a_drop_of_a_millimetre_throw_nothing_back) {
  const Road road{.drop = 1e-3};
  for (const Mover mover : kMovers) {
    for (const double h : {0.002, 0.01}) {
      const Ride found = ride<TypeParam>(road_scene(road, mover), mover, 1, h, false);
      EXPECT_GT(found.slowest, 0.9) << name_of(mover, 1, h, false);
      // Kinetic energy and height together never grow; a step's gravity acts half a step early.
      EXPECT_LT(found.gained, 9.81 * 9.81 * h * h + 1e-3) << name_of(mover, 1, h, false);
    }
  }
}

// A cube that is caught at its lower edge keeps 3/8 of its energy and turns about it: it rises by 3/8 v²/2g, 4.8 mm.
TYPED_TEST(Seams, with_a_lip_of_half_a_millimetre_stop_a_box) {
  for (const Mover mover : {Mover::kBox, Mover::kMesh}) {
    const Ride found = ride<TypeParam>(road_scene({.lip = 5e-4}, mover), mover, 0.5, 0.002, false);
    EXPECT_LT(found.slowest, 0.01) << name_of(mover, 0.5, 0.002, false);
    EXPECT_LT(found.highest, 4.8e-3) << name_of(mover, 0.5, 0.002, false);
  }
}

// A step of 0.1 m, of a box that stands on the tiles beside the way, stops whatever comes.
TYPED_TEST(Seams, under_a_wall_leave_it_a_wall) {
  for (const Mover mover : kMovers) {
    for (const double h : {0.002, 0.02}) {
      model::SceneSpec scene = road_scene({}, mover);
      scene.shapes.push_back(testing::box_shape("wall", model::kWorldBody, {0.1, 1, 0.05}, 0));
      scene.shapes.back().X_BS.position = {1.25, 0, 0.05};
      testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), h);
      const double r = radius_of(mover);
      world.world().v[0] = {2, 0, 0};
      if (rolls(mover)) world.world().omega[0] = {0, TypeParam(2 / r), 0};
      double furthest = 0;
      for (int k = 0; k < static_cast<int>(0.8 / h); ++k) {
        world.step();
        furthest = std::max(furthest, double(world.world().x[0].x));
      }
      EXPECT_LT(furthest, 1.15 - r + 1e-4) << name_of(mover, 2, h, false);
    }
  }
}

// Stairs of 0.2 m and a threshold of 10 mm, soft ones too: what slides into them stays before them.
TYPED_TEST(Seams, under_stairs_and_thresholds_leave_them_in_the_way) {
  for (const Mover mover : {Mover::kBox, Mover::kMesh, Mover::kPuck}) {
    for (const bool soft : {false, true}) {
      for (const double h : {0.002, 0.02}) {
        for (const double height : {0.01, 0.2}) {
          model::SceneSpec scene = road_scene({}, mover);
          for (int i = 0; i < 3; ++i) {
            const double half = height / 2 * (i + 1);
            scene.shapes.push_back(
                testing::box_shape("stair" + std::to_string(i), model::kWorldBody, {0.15, 1, half}, 0));
            scene.shapes.back().X_BS.position = {1.15 + 0.3 * i, 0, half};
          }
          model::SolverOptions options = model::make_options(model::Preset::kDefault);
          if (soft) options.contact_softness = model::ContactSoftness::kMjcf;
          testing::SingleWorld<TypeParam> world(scene, options, h);
          world.world().v[0] = {1, 0, 0};
          double furthest = 0;
          for (int k = 0; k < static_cast<int>(1.6 / h); ++k) {
            world.step();
            furthest = std::max(furthest, double(world.world().x[0].x));
          }
          // What is caught at its lower edge turns about it: of its energy 3/8 lift it by 19 mm, until its centre is
          // 79 mm before the edge. Soft contacts, of a time constant of 20 ms, give way by v t / e, 7 mm.
          const double before = height < radius_of(mover) ? 0.078 : radius_of(mover);
          EXPECT_LT(furthest, 1 - before + (soft ? 8e-3 : 1e-4)) << name_of(mover, 1, h, soft) << " " << height;
        }
      }
    }
  }
}

// Two free boxes pass side by side, flush, at 5 m/s: neither is turned or slowed.
TYPED_TEST(Seams, of_what_passes_flush_are_no_contacts) {
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  for (int i = 0; i < 2; ++i) {
    const std::string name = i == 0 ? "left" : "right";
    scene.bodies.push_back(testing::solid_box(name, 1, {0.1, 0.1, 0.1}, {i == 0 ? -0.53 : 0.53, 0.2 * i, 0}));
    scene.shapes.push_back(testing::box_shape(name, i, {0.1, 0.1, 0.1}, 0.5));
  }
  testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), 0.02);
  world.world().v[0] = {5, 0, 0}, world.world().v[1] = {-5, 0, 0};
  for (int k = 0; k < 12; ++k) {
    world.step();
    EXPECT_TRUE(world.converged()) << k;
    EXPECT_NEAR(double(world.world().v[0].x), 5, 0.01) << k;
  }
}

}  // namespace
}  // namespace axion::seams_test
