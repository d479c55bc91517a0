// What contacts carry: heavy bodies on light ones, whatever the bound on the speed at which overlap is pushed out.
//
// A contact with compliance Σ sags by Σ times its force. That is no overlap to be recovered, so nothing bounds the
// force.
#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::loaded_contact_test {
namespace {

using testing::Validation;

constexpr double kGravity = 9.81;

model::SolverOptions options_of(double depenetration_velocity) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.depenetration_velocity = depenetration_velocity;
  return options;
}

// `top` kg on 1 kg on a plane, either a sphere of 0.1 m, or a capsule that lies along x.
model::SceneSpec round_stack(model::ShapeKind kind, double top) {
  model::SceneSpec scene;
  scene.shapes = {testing::ground_plane(0.8)};
  for (int i = 0; i < 2; ++i) {
    const std::string name = "body" + std::to_string(i);
    scene.bodies.push_back(testing::solid_box(name, i == 0 ? 1 : top, {0.1, 0.1, 0.1}, {0, 0, 0.1 + 0.2 * i}));
    model::ShapeSpec shape = testing::sphere_shape(name, i, 0.1, 0.8);
    shape.kind = kind;
    if (kind == model::ShapeKind::kCapsule) {
      shape.size = {0.1, 0.2, 0};
      shape.X_BS.rotation = {std::sqrt(0.5), 0, std::sqrt(0.5), 0};
    }
    scene.shapes.push_back(shape);
  }
  return scene;
}

struct Load {
  double sunk = 0;       // greatest, m
  double converged = 0;  // share of steps
};

// The last body of `scene` for `seconds`.
template <typename Real>
Load carry(const model::SceneSpec& scene, double depenetration_velocity, double h, double seconds) {
  testing::SingleWorld<Real> world(scene, options_of(depenetration_velocity), h);
  const int body = world.compiled().internal_body[scene.bodies.size() - 1];
  const double start = world.world().x[body].z;
  const int steps = static_cast<int>(seconds / h);
  Load load;
  for (int k = 0; k < steps; ++k) {
    world.step();
    load.sunk = std::max(load.sunk, start - double(world.world().x[body].z));
    load.converged += world.converged() ? 1.0 / steps : 0.0;
  }
  return load;
}

// Sag of two layers of `points` contacts each under `mass`, had they the whole compliance.
double static_sag(double mass, int points) {
  return 2 * model::make_options(model::Preset::kDefault).contact_compliance * mass * kGravity / points;
}

template <typename Real>
class HeavyOnLight : public ::testing::Test {};
TYPED_TEST_SUITE(HeavyOnLight, testing::Precisions, testing::PrecisionNames);

// Put down without sag, a mass on springs overshoots its sag at most by as much again.
TYPED_TEST(HeavyOnLight, sags_by_compliance_and_is_carried_whatever_it_weighs) {
  const Validation<TypeParam> validation("heavy on light");
  for (const double mass : {1e3, 11e3, 20e3}) {
    double worst = 0, converged = 1;
    for (const double h : {1e-3, 5e-3, 20e-3, 50e-3}) {
      const Load load = carry<TypeParam>(testing::box_stack(2, mass), 1, h, 0.4);
      worst = std::max(worst, load.sunk / static_sag(mass, 4)), converged = std::min(converged, load.converged);
    }
    const std::string name = std::to_string(static_cast<int>(mass)) + " kg on 1 kg, boxes, 1 to 50 ms: ";
    validation.at_most(name + "sunk, of the sag of its weight", worst, 2.0);
    validation.at_least(name + "steps converged", converged, 0.9);
  }
}

TYPED_TEST(HeavyOnLight, is_carried_by_round_bodies_too) {
  const Validation<TypeParam> validation("heavy on light");
  for (const double h : {1e-3, 5e-3}) {
    // Round bodies balance for as long as rounding lets them.
    const Load sphere = carry<TypeParam>(round_stack(model::ShapeKind::kSphere, 20e3), 1, h, 0.3);
    const Load capsule = carry<TypeParam>(round_stack(model::ShapeKind::kCapsule, 20e3), 1, h, 0.3);
    validation.at_most("20 t on 1 kg, spheres: sunk, of the sag of its weight", sphere.sunk / static_sag(20e3, 1), 2.0);
    validation.at_most("20 t on 1 kg, capsules: sunk, of the sag of its weight", capsule.sunk / static_sag(20e3, 1),
                       2.0);
  }
}

TYPED_TEST(HeavyOnLight, is_carried_whatever_bounds_the_speed_of_push_out) {
  const Validation<TypeParam> validation("heavy on light");
  for (const double speed : {0.05, 1e-3, 0.0}) {
    for (const double h : {1e-3, 5e-3, 20e-3}) {
      const Load load = carry<TypeParam>(testing::box_stack(2, 1e3), speed, h, 0.4);
      validation.at_most("1 t on 1 kg, slow push-out: sunk, of the sag of its weight", load.sunk / static_sag(1e3, 4),
                         2.2);
    }
  }
}

TYPED_TEST(HeavyOnLight, is_carried_at_velocity_level) {
  const Validation<TypeParam> validation("heavy on light");
  model::SolverOptions options = model::make_options(model::Preset::kVelocity);
  for (const double h : {1e-3, 5e-3}) {
    testing::SingleWorld<TypeParam> world(testing::box_stack(2, 20e3), options, h);
    world.step(static_cast<int>(1 / h));
    // Velocity level takes back Υ of an overlap in a step: its sag is 1/Υ of that.
    validation.at_most("VELOCITY: 20 t on 1 kg: sunk, of the sag of its weight",
                       (0.3 - double(world.world().x[1].z)) / (static_sag(20e3, 4) / options.baumgarte), 2.0);
  }
}

TYPED_TEST(HeavyOnLight, rests_where_overlap_is_not_pushed_out_at_all) {
  const Validation<TypeParam> validation("no push-out");
  for (const double h : {1e-3, 5e-3, 20e-3, 50e-3}) {
    testing::SingleWorld<TypeParam> world(testing::box_stack(1, 1), options_of(0), h);
    auto& w = world.world();
    world.step(static_cast<int>(1 / h));
    const double start = w.x[0].z;
    world.step(static_cast<int>(4 / h));
    validation.at_most("1 kg, depenetration_velocity 0: sunk in 4 s, m", start - double(w.x[0].z), 1e-8);
    validation.at_most("1 kg, depenetration_velocity 0: sag, m", 0.1 - start, 3e-7);
  }
}

// A spring holds its force, too: 200 kg on 20 kN/m sag by 98 mm.
TYPED_TEST(HeavyOnLight, is_carried_by_contacts_with_springs) {
  const Validation<TypeParam> validation("contact with a spring");
  model::SceneSpec scene = testing::sphere_on_plane(0.5, 0.5);
  scene.bodies[0].mass = 200;
  for (auto& shape : scene.shapes) shape.contact_stiffness = 4e4, shape.contact_damping = 3e3;
  for (const double h : {1e-3, 1.0 / 60}) {
    testing::SingleWorld<TypeParam> world(scene, options_of(1), h);
    world.step(static_cast<int>(4 / h));
    validation.at_most("200 kg on 20 kN/m: sag against mg/k, relative",
                       std::abs((0.5 - double(world.world().x[0].z)) / (200 * kGravity / 2e4) - 1), 5e-3);
  }
}

// Bodies part no faster than they may: from deep overlap, and when what pressed them together is gone.
TYPED_TEST(HeavyOnLight, lets_go_of_what_it_pressed_no_faster_than_overlap_is_pushed_out) {
  const Validation<TypeParam> validation("push-out");
  for (const double h : {1e-3, 5e-3}) {
    testing::SingleWorld<TypeParam> world(testing::box_stack(2, 10e3), options_of(1), h);
    auto& w = world.world();
    world.step(static_cast<int>(0.5 / h));
    w.x[1].z += 10;
    double fastest = 0;
    for (int k = 0; k < static_cast<int>(0.2 / h); ++k) {
      world.step();
      fastest = std::max(fastest, double(w.v[0].z));
    }
    validation.at_most("10 t taken off 1 kg: speed at which it is pushed out of its sag, m/s", fastest, 1.001);

    model::SceneSpec deep = testing::box_stack(1, 1);
    deep.bodies[0].X_WB.position[2] -= 0.08;
    testing::SingleWorld<TypeParam> sunken(deep, options_of(1), h);
    fastest = 0;
    for (int k = 0; k < static_cast<int>(0.2 / h); ++k) {
      sunken.step();
      fastest = std::max(fastest, double(sunken.world().v[0].z));
    }
    validation.at_most("1 kg 80 mm deep in the ground: speed, m/s", fastest, 1.001);
    validation.at_least("1 kg 80 mm deep in the ground: height after 0.2 s, m", double(sunken.world().x[0].z), 0.0999);
  }
}

}  // namespace
}  // namespace axion::loaded_contact_test
