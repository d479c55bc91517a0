// Joints: closed formulas, conserved quantities, limits and drives.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion {
namespace {

using math::Vec3;

model::SolverOptions exact_options(model::JointMode mode = model::JointMode::kBlended) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.tolerance = 1e-10;
  options.joint_mode = mode;
  return options;
}

// A point on a ball joint: one step of backward Euler is x⁺ = normalize(x + hv + h²g), v⁺ = (x⁺ − x)/h.
TEST(PointPendulum, is_backward_euler_in_mode_current) {
  for (const double h : {0.01, 0.001}) {
    model::SceneSpec scene;
    scene.bodies = {testing::solid_box("bob", 1, {1e-4, 1e-4, 1e-4}, {1, 0, 0})};
    scene.bodies[0].I_Bcm = {1e-6, 1e-6, 1e-6, 0, 0, 0};
    model::JointSpec joint;
    joint.name = "ball", joint.kind = model::JointKind::kAxes, joint.parent = model::kWorldBody, joint.child = 0;
    joint.axes = {testing::hinge("swing", {0, 1, 0}, {-1, 0, 0})};
    scene.joints = {joint};
    model::SolverOptions options = exact_options(model::JointMode::kCurrent);
    options.tolerance = 1e-7;  // the bob's inertia is nearly none: the last digits of a step come slowly
    testing::SingleWorld<double> world(scene, options, h);
    const int n = static_cast<int>(std::lround(1 / h));
    double x = 1, z = 0, vx = 0, vz = 0;
    for (int k = 0; k < n; ++k) {
      const double px = x + h * vx, pz = z + h * vz - h * h * 9.81, r = std::hypot(px, pz);
      vx = (px / r - x) / h, vz = (pz / r - z) / h, x = px / r, z = pz / r;
    }
    int fallbacks = 0, unconverged = 0;
    for (int k = 0; k < n; ++k) {
      world.step();
      fallbacks += (world.record().outcome & step::kFallbackBit) != 0;
      unconverged += !world.converged();
    }
    EXPECT_EQ(fallbacks, 0);
    EXPECT_EQ(unconverged, 0);
    const Vec3<double>& p = world.world().x[0];
    std::printf("h %.3f: (%.9f, %.9f), exact step (%.9f, %.9f)\n", h, p.x, p.z, x, z);
    EXPECT_NEAR(p.x, x, 2e-6);  // the bob has an inertia of 1e-6 kg m², a millionth of its mass at 1 m
    EXPECT_NEAR(p.z, z, 2e-6);
  }
}

TEST(DoublePendulum, keeps_its_energy_in_mode_blended) {
  testing::SingleWorld<double> world(testing::pendulum_chain(2), exact_options(), 0.01);
  // Energy of SHAKE oscillates within O(h) of the exchange; what must not happen is a trend.
  double early = 0, late = 0;
  for (int k = 0; k < 10000; ++k) {
    world.step();
    if (k < 2000) early += world.energy() / 2000;
    if (k >= 8000) late += world.energy() / 2000;
  }
  std::printf("mean energy %.4f J early, %.4f J late, of 9.81 J exchanged\n", early, late);
  EXPECT_NEAR(late, early, 0.001 * 2 * 9.81);
}

TEST(FreeLinkage, keeps_momentum_without_gravity) {
  model::SceneSpec scene = testing::pendulum_chain(4);
  scene.joints.erase(scene.joints.begin());
  scene.gravity = {0, 0, 0};
  testing::SingleWorld<double> world(scene, exact_options(), 0.01);
  auto& w = world.world();
  const auto m = world.model();
  for (int b = 0; b < 4; ++b) w.v[b] = {0, 0, 0.5 * b}, w.omega[b] = {0, -0.5, 0};
  const auto momentum = [&] {
    Vec3<double> p{}, L{};
    for (int b = 0; b < m.body_count; ++b) {
      p += m.bodies[b].mass * w.v[b];
      L += math::cross(w.x[b], m.bodies[b].mass * w.v[b]);
      L += math::rotate(w.q[b], math::scale(m.bodies[b].inertia, math::rotate_inverse(w.q[b], w.omega[b])));
    }
    return std::pair{p, L};
  };
  world.step();
  const auto before = momentum();
  world.step(1000);
  const auto after = momentum();
  const double linear = math::norm(after.first - before.first), angular = math::norm(after.second - before.second);
  std::printf("linear %.1e of %.1f, angular %.1e of %.1f\n", linear, math::norm(before.first), angular,
              math::norm(before.second));
  EXPECT_LT(linear, 1e-9);
  EXPECT_LT(angular, 1e-6);
}

model::SceneSpec slider(bool limited) {
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("slider", 1, {0.1, 0.1, 0.1}, {0, 0, 1})};
  model::JointSpec joint;
  joint.name = "rail", joint.kind = model::JointKind::kAxes, joint.parent = model::kWorldBody, joint.child = 0;
  joint.axes = {testing::slide("rail", {0, 0, 1})};
  joint.axes[0].limited = limited, joint.axes[0].lower = -0.2, joint.axes[0].upper = 0.3;
  scene.joints = {joint};
  return scene;
}

TEST(JointLimit, holds_the_weight_without_violation) {
  testing::SingleWorld<double> world(slider(true), exact_options(), 1e-3);
  world.step(2000);
  auto& w = world.world();
  std::printf("s %.12f of -0.2, speed %.1e, reaction %.9f N\n", double(w.axis_position[0]), double(w.v[0].z),
              double(w.lambda_joint[6]) / 1e-3);
  EXPECT_NEAR(w.axis_position[0], -0.2, 1e-9);
  EXPECT_LT(std::abs(w.v[0].z), 1e-9);
  EXPECT_NEAR(w.lambda_joint[6] / 1e-3, 9.81, 1e-6);
}

TEST(VelocityActuator, lifts_at_its_speed) {
  model::SceneSpec scene = slider(false);
  model::ActuatorSpec actuator;
  actuator.name = "lift", actuator.kind = model::ActuatorKind::kVelocity, actuator.kd = 1e9;
  scene.actuators = {actuator};
  testing::SingleWorld<double> world(scene, exact_options(), 1e-3);
  world.world().control[0] = 1;
  world.step(1000);
  EXPECT_NEAR(world.world().axis_position[0], 1.0, 1e-6);
  EXPECT_NEAR(world.world().lambda_joint[5] / 1e-3, 9.81, 1e-5);
}

TEST(PositionActuator, holds_its_target_less_the_sag_of_its_gain) {
  model::SceneSpec scene = slider(false);
  model::ActuatorSpec actuator;
  actuator.name = "hold", actuator.kind = model::ActuatorKind::kPosition, actuator.kp = 1000, actuator.kd = 60;
  scene.actuators = {actuator};
  for (const double h : {1e-3, 0.05}) {  // implicit: stable at any step
    testing::SingleWorld<double> world(scene, exact_options(), h);
    world.world().control[0] = 0.1;
    world.step(static_cast<int>(3 / h));
    EXPECT_NEAR(world.world().axis_position[0], 0.1 - 9.81 / 1000, 1e-6) << "h " << h;
  }
}

// ½(I + a)ω̇ = τ: armature acts as inertia of the axis.
TEST(Armature, adds_to_the_inertia_of_its_axis) {
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
  model::SolverOptions options = exact_options();
  options.half_step_start = false;
  testing::SingleWorld<double> world(scene, options, 1e-3);
  world.world().control[0] = 0.25;
  world.step(1000);
  const double inertia = 2.0 / 3 * 0.01 + 0.5;
  EXPECT_NEAR(world.world().omega[0].z, 0.5 / inertia, 1e-8);
}

TEST(HeavyChain, holds_a_thousandfold_end_mass) {
  model::SceneSpec scene = testing::pendulum_chain(10, 1000);
  testing::SingleWorld<float> world(scene, model::make_options(model::Preset::kDefault), 0.01);
  double error = 0;
  int converged = 0;
  for (int k = 0; k < 300; ++k) {
    world.step();
    error = std::max(error, double(world.record().max_joint_error));
    converged += world.converged();
  }
  std::printf("joint error %.1e m, converged %d of 300\n", error, converged);
  EXPECT_LT(error, 1e-4);
  EXPECT_GE(converged, 297);
}

}  // namespace
}  // namespace axion
