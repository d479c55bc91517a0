// Bodies in a fluid: closed formulas of coasting, falling and drifting, in steps of the size that users take.
#include <cmath>
#include <string>

#include "tests/physics/exact_options.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::fluid_test {
namespace {

using testing::allowed;
using testing::Validation;

// A body that is a box of sides a, b and c, in a fluid, alone.
struct Box {
  double mass = 2, a = 0.3, b = 0.2, c = 0.1;

  model::BodySpec body() const {
    model::BodySpec spec;
    spec.name = "box", spec.mass = mass;
    spec.I_Bcm = {mass / 12 * (b * b + c * c), mass / 12 * (a * a + c * c), mass / 12 * (a * a + b * b), 0, 0, 0};
    return spec;
  }
  model::SceneSpec scene(const model::MediumSpec& medium, const model::Vec3d& gravity = {0, 0, 0}) const {
    model::SceneSpec scene;
    scene.gravity = gravity, scene.medium = medium;
    scene.bodies.push_back(body());
    model::JointSpec free;
    free.name = "free", free.kind = model::JointKind::kFree;
    scene.joints.push_back(free);
    return scene;
  }
};

template <typename Real>
class Fluid : public ::testing::Test {
 protected:
  static testing::SingleWorld<Real> world_of(const model::SceneSpec& scene, double dt) {
    return {scene, testing::exact_options(), dt};
  }
};
TYPED_TEST_SUITE(Fluid, testing::Precisions, testing::PrecisionNames);

// v' = -k v |v| has v = v0 / (1 + k v0 t).
TYPED_TEST(Fluid, a_coasting_box_slows_down_as_one_over_time) {
  const Box box;
  const double density = 1000, v0 = 3, spin = 4;
  const Validation<TypeParam> row("box coasting in water, 20 ms");
  const double area[3] = {box.b * box.c, box.a * box.c, box.a * box.b};
  for (int axis = 0; axis < 3; ++axis) {
    auto world = this->world_of(box.scene({.density = density}), 0.02);
    world.world().v[0][axis] = TypeParam(v0);
    world.step(50);
    const double exact = v0 / (1 + density * area[axis] / (2 * box.mass) * v0 * 1.0);
    const double speed = double(world.read().v_at_pose[0][axis]);
    row.at_most("velocity along " + std::string(1, "xyz"[axis]) + " after 1 s, relative error",
                std::abs(speed / exact - 1), allowed<TypeParam>(1e-12, 2e-5));
  }
  auto world = this->world_of(box.scene({.density = density}), 0.02);
  world.world().omega[0].z = TypeParam(spin);
  world.step(50);
  const double k = density / 64 * box.c * (std::pow(box.a, 4) + std::pow(box.b, 4)) / box.body().I_Bcm[2];
  row.at_most("spin about z after 1 s, relative error",
              std::abs(double(world.read().omega_at_pose[0].z) * (1 + k * spin) / spin - 1),
              allowed<TypeParam>(1e-12, 2e-5));
}

// m v' = -3 π μ d v.
TYPED_TEST(Fluid, syrup_stops_a_box_exponentially) {
  const Box box;
  const double viscosity = 2, mean = (box.a + box.b + box.c) / 3;
  const double rate = 3 * M_PI * viscosity * mean / box.mass;
  const Validation<TypeParam> row("box coasting in syrup");
  double errors[2];
  for (int k = 0; k < 2; ++k) {
    const double dt = 0.02 / (1 << k);
    auto world = this->world_of(box.scene({.viscosity = viscosity}), dt);
    world.world().v[0].y = 1;
    world.step(static_cast<int>(std::lround(0.4 / dt)));
    errors[k] = std::abs(double(world.read().v_at_pose[0].y) / std::exp(-0.4 * rate) - 1);
  }
  row.at_most("velocity after 0.4 s, relative error at 20 ms", errors[0], 1e-3);
  if (sizeof(TypeParam) == 8) row.at_least("order from 20 to 10 ms", std::log2(errors[0] / errors[1]), 1.9);
}

// The terminal velocity is that of the law at any step, where the body follows it (k h small) and where it does not.
TYPED_TEST(Fluid, a_falling_box_reaches_its_terminal_velocity_at_any_step) {
  const Box box;
  const Validation<TypeParam> row("box falling in a fluid");
  const auto falls = [&](const model::MediumSpec& medium, double dt) {
    auto world = this->world_of(box.scene(medium, {0, 0, -9.81}), dt);
    world.step(static_cast<int>(std::lround(20 / dt)));
    return -double(world.read().v_at_pose[0].z);
  };
  for (const double dt : {0.002, 0.02, 0.1}) {
    const std::string at = " at " + std::to_string(static_cast<int>(dt * 1000)) + " ms, relative error";
    const double quadratic = std::sqrt(2 * box.mass * 9.81 / (1000 * box.a * box.b));
    row.at_most("terminal velocity in water" + at, std::abs(falls({.density = 1000}, dt) / quadratic - 1),
                allowed<TypeParam>(1e-9, 1e-5));
    const double linear = box.mass * 9.81 / (3 * M_PI * 500 * (box.a + box.b + box.c) / 3);
    row.at_most("terminal velocity in pitch" + at, std::abs(falls({.viscosity = 500}, dt) / linear - 1),
                allowed<TypeParam>(1e-9, 1e-5));
  }
}

TYPED_TEST(Fluid, wind_carries_a_box_along) {
  const Validation<TypeParam> row("box in wind");
  auto world = this->world_of(Box{}.scene({.density = 1000, .viscosity = 10, .wind = {3, -2, 1}}), 0.02);
  world.step(2000);
  const auto v = math::cast<double>(world.read().v_at_pose[0]);
  row.at_most("velocity from the wind's after 40 s, m/s", math::norm(v - math::Vec3<double>{3, -2, 1}), 1e-3);
}

// A weld is resisted as its parts are, each where it is: the turning of two spheres on a rod is their orbits' drag.
TYPED_TEST(Fluid, a_dumbbell_of_welded_spheres_spins_down_by_the_drag_of_both) {
  const double r = 0.5, mass = 1, radius = 0.1, density = 1000, spin = 5;
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0}, scene.medium.density = density;
  for (int k = 0; k < 2; ++k) {
    model::BodySpec ball;
    ball.name = k == 0 ? "one" : "other", ball.mass = mass;
    ball.X_WB.position = {k == 0 ? -r : r, 0, 0};
    const double I = 0.4 * mass * radius * radius;
    ball.I_Bcm = {I, I, I, 0, 0, 0};
    scene.bodies.push_back(ball);
  }
  model::JointSpec free, weld;
  free.name = "free", free.kind = model::JointKind::kFree, free.child = 0;
  weld.name = "weld", weld.kind = model::JointKind::kFixed, weld.parent = 0, weld.child = 1;
  scene.joints = {free, weld};
  auto world = this->world_of(scene, 0.01);
  ASSERT_EQ(world.model().body_count, 1);
  world.world().omega[0].z = TypeParam(spin);
  world.step(100);
  const double side = radius * std::sqrt(2.4), I = 2 * mass * r * r + 0.8 * mass * radius * radius;
  // I ω' = -(2 ρ/2 side² r³ + 2 ρ/32 side⁵) ω².
  const double k = (density * side * side * r * r * r + density / 16 * std::pow(side, 5)) / I;
  const Validation<TypeParam> row("welded dumbbell in water, 10 ms");
  row.at_most("spin after 1 s, relative error",
              std::abs(double(world.read().omega_at_pose[0].z) * (1 + k * spin) / spin - 1),
              allowed<TypeParam>(1e-10, 2e-5));
}

// Whatever the fluid's numbers, it takes energy and never gives any.
TYPED_TEST(Fluid, drag_only_takes_energy) {
  for (const double density : {0.0, 1.0, 1e6}) {
    for (const double viscosity : {0.0, 1.0, 1e6}) {
      const Box cube{.a = 0.2, .b = 0.2, .c = 0.2};  // nothing but drag changes its energy
      auto world = this->world_of(cube.scene({.density = density, .viscosity = viscosity}), 0.05);
      world.world().v[0] = {1, 2, -3}, world.world().omega[0] = {5, 4, 3};
      double before = world.energy();
      for (int i = 0; i < 40; ++i) {
        world.step();
        ASSERT_LE(world.energy(), before * (1 + 1e-6) + 1e-30) << density << " " << viscosity << ", step " << i;
        before = world.energy();
      }
    }
  }
}

}  // namespace
}  // namespace axion::fluid_test
