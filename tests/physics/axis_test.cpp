// What acts along one joint coordinate: limits, velocity and position drives, armature.
#include <cmath>

#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::axis_test {
namespace {

using model::JointMode;
using testing::allowed;
using testing::as_made;
using testing::epsilon;
using testing::exact_options;
using testing::Validation;

constexpr double kGravity = 9.81;
constexpr std::pair<JointMode, const char*> kModes[] = {{JointMode::kCurrent, "CURRENT"},
                                                        {JointMode::kBlended, "DEFAULT"}};

// 1 kg on a rail along an axis.
model::SceneSpec slider(const model::Vec3d& axis) {
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("slider", 1, {0.1, 0.1, 0.1}, {0, 0, 0})};
  model::JointSpec joint;
  joint.name = "rail", joint.kind = model::JointKind::kAxes, joint.parent = model::kWorldBody, joint.child = 0;
  joint.axes = {testing::slide("rail", axis)};
  scene.joints = {joint};
  return scene;
}

template <typename Real>
class JointLimit : public ::testing::Test {};
TYPED_TEST_SUITE(JointLimit, testing::Precisions, testing::PrecisionNames);

// A horizontal rail with limits [0, 0.1] m and a push of ±10 N, from the middle: 0.1 s to the limit, then rest.
TYPED_TEST(JointLimit, stops_a_pushed_slider_and_returns_the_push) {
  using Real = TypeParam;
  model::SceneSpec scene = slider({1, 0, 0});
  scene.joints[0].axes[0].limited = true;
  scene.joints[0].axes[0].lower = 0, scene.joints[0].axes[0].upper = 0.1;
  scene.joints[0].axes[0].initial_position = 0.05;
  const double h = 1e-3;
  for (const auto& [mode, name] : kModes) {
    double violation = 0, speed = 0, place = 0, reaction = 0;
    for (const int side : {-1, 1}) {
      testing::SingleWorld<Real> world(scene, exact_options(mode), h);
      auto& w = world.world();
      w.force[0] = {Real(10 * side), 0, 0};
      for (int k = 0; k < 1000; ++k) {
        world.step();
        const double s = w.axis_position[0];
        violation = std::max({violation, -s, s - as_made<Real>(0.1)});
        if (k < 500) continue;
        speed = std::max(speed, std::abs(double(w.v[0].x)));
        place = std::max(place, std::abs(s - (side < 0 ? 0 : as_made<Real>(0.1))));
        // The limit's row comes after the axis's; its impulse pushes back into the range.
        reaction = std::max(reaction, std::abs(double(w.lambda_joint[6]) / as_made<Real>(h) - 10));
      }
    }
    // float32: the row asks for gap/h, and a gap at s = 0.1 m rounds by ε/2 · 0.1 m = 6e-9 m: 6e-6 m/s, and 6e-3 N in a
    // step of 1 ms on 1 kg. The stop test leaves 16ε m of a position row.
    const double rounding = epsilon<float>() / 2 * 0.1;
    const Validation<Real> row("joint limit");
    row.at_most(std::string(name) + ": |v| at the limit, m/s", speed, allowed<Real>(1e-12, rounding / h));
    row.at_most(std::string(name) + ": violation in any step, m", violation,
                allowed<Real>(1e-9, 16 * epsilon<float>()));
    row.at_most(std::string(name) + ": rest away from the limit, m", place, allowed<Real>(1e-9, 16 * epsilon<float>()));
    row.at_most(std::string(name) + ": reaction against 10 N, N", reaction, allowed<Real>(1e-6, rounding / (h * h)));
  }
}

template <typename Real>
class VelocityMotor : public ::testing::Test {};
TYPED_TEST_SUITE(VelocityMotor, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(VelocityMotor, lifts_at_its_speed_with_the_weight_as_its_force) {
  using Real = TypeParam;
  model::SceneSpec scene = slider({0, 0, 1});
  model::ActuatorSpec actuator;
  actuator.name = "lift", actuator.kind = model::ActuatorKind::kVelocity, actuator.kd = 1e9;
  scene.actuators = {actuator};
  const double h = 1e-3;
  for (const auto& [mode, name] : kModes) {
    testing::SingleWorld<Real> world(scene, exact_options(mode), h);
    auto& w = world.world();
    w.control[0] = 1;
    double force = 0, position = 0;
    for (int k = 1; k <= 1000; ++k) {
      world.step();
      position = std::max(position, std::abs(double(w.axis_position[0]) - k * as_made<Real>(h)));
      if (k > 10) force = std::max(force, std::abs(double(w.lambda_joint[5]) / as_made<Real>(h) - kGravity));
    }
    // A gain of 1e9 N s/m sags by mg/kd = 1e-8 m/s, and a little more in the step that starts. float32: speeds of 1 m/s
    // round by ε/2 · 1 m/s and the stop test leaves 4ε · 1 m/s of the row: 4ε/h = 5e-4 N on 1 kg. Positions of up to 1
    // m round by ε/2 in each of 1000 steps: 6e-5 m.
    const Validation<Real> row("velocity motor");
    row.at_most(std::string(name) + ": motor force against mg, every step, N", force,
                allowed<Real>(1e-6, 4.5 * epsilon<float>() / h));
    row.at_most(std::string(name) + ": position against t, every step, m", position,
                allowed<Real>(2e-8, 500 * epsilon<float>()));
  }
}

template <typename Real>
class PositionActuator : public ::testing::Test {};
TYPED_TEST_SUITE(PositionActuator, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(PositionActuator, holds_its_target_less_the_sag_of_its_gain) {
  model::SceneSpec scene = slider({0, 0, 1});
  model::ActuatorSpec actuator;
  actuator.name = "hold", actuator.kind = model::ActuatorKind::kPosition, actuator.kp = 1000, actuator.kd = 60;
  scene.actuators = {actuator};
  for (const double h : {1e-3, 0.05}) {  // implicit: stable at any step
    testing::SingleWorld<TypeParam> world(scene, exact_options(), h);
    world.world().control[0] = TypeParam(0.1);
    world.step(static_cast<int>(3 / h));
    // float32: a force of 9.81 N that rounds by 8ε moves the place by 1e-8 m, and a place of 0.1 m rounds by 6e-9 m in
    // a step: both are below the bound.
    const double place = double(world.world().axis_position[0]);
    Validation<TypeParam>("position drive")
        .at_most("place against target less mg/kp, m", std::abs(place - (0.1 - 9.81 / 1000)), 1e-6);
  }
}

template <typename Real>
class Armature : public ::testing::Test {};
TYPED_TEST_SUITE(Armature, testing::Precisions, testing::PrecisionNames);

// (I + a)ω̇ = τ: armature acts as inertia of the axis.
TYPED_TEST(Armature, adds_to_the_inertia_of_its_axis) {
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  scene.bodies = {testing::solid_box("rotor", 1, {0.1, 0.1, 0.1}, {0, 0, 0})};
  model::JointSpec joint;
  joint.name = "shaft", joint.kind = model::JointKind::kAxes, joint.parent = model::kWorldBody, joint.child = 0;
  joint.axes = {testing::hinge("shaft", {0, 0, 1}, {0, 0, 0})};
  joint.axes[0].armature = 0.5;
  scene.joints = {joint};
  model::ActuatorSpec motor;
  motor.name = "motor", motor.gear = 2;
  scene.actuators = {motor};
  testing::SingleWorld<TypeParam> world(scene, exact_options(JointMode::kCurrent), 1e-3);
  world.world().control[0] = TypeParam(0.25);
  world.step(1000);
  const double inertia = 2.0 / 3 * 0.01 + 0.5;
  // float32: 1000 steps round a rate of up to 1 rad/s by ε/2 each.
  const double rate = double(world.world().omega[0].z);
  Validation<TypeParam>("armature")
      .at_most("rate after 1 s against τt/(I + a), rad/s", std::abs(rate - 0.5 / inertia),
               allowed<TypeParam>(1e-8, 500 * epsilon<float>()));
}

}  // namespace
}  // namespace axion::axis_test
