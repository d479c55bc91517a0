// Dry friction, effort limits and soft joints against closed answers, in both precisions.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::joint_effort_test {
namespace {

using testing::Validation;

constexpr double kGravity = 9.81;

model::SolverOptions whole_steps() {
  model::SolverOptions options = testing::exact_options();
  options.half_step_start =
      false;  // forces act from the first step, so that velocities are those of the closed formula
  return options;
}

template <typename Real>
class JointEffort : public ::testing::Test {};
TYPED_TEST_SUITE(JointEffort, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(JointEffort, dry_friction_holds_below_its_loss_and_slides_above) {
  const Validation<TypeParam> validation("dry friction of an axis");
  for (const double h : {1e-3, 1.0 / 60}) {
    const int steps = 200;
    testing::SingleWorld<TypeParam> held(testing::cart_on_rail(1, 5), whole_steps(), h),
        moved(testing::cart_on_rail(1, 5), whole_steps(), h);
    held.world().control[0] = TypeParam(4.999);
    moved.world().control[0] = TypeParam(-7);
    for (int k = 0; k < steps; ++k) {
      held.step(), moved.step();
      ASSERT_TRUE(held.converged() && moved.converged()) << "h " << h << " step " << k;
    }
    validation.at_most("speed under 0.9998 of the loss, m/s", std::abs(double(held.world().v[0].x)), 1e-12);
    const double speed = -2 * testing::as_made<TypeParam>(h) * steps;
    // float32: each step rounds its velocity once, and its tangent row at four units in the last place.
    validation.at_most("speed under 1.4 times the loss against (F − f)t/m, relative",
                       std::abs(moved.world().v[0].x / speed - 1), testing::allowed<TypeParam>(1e-10, 1e-5));
  }
}

TYPED_TEST(JointEffort, dry_friction_stops_a_coasting_axis_for_good) {
  const Validation<TypeParam> validation("coasting against dry friction");
  testing::SingleWorld<TypeParam> world(testing::cart_on_rail(1, 5), whole_steps(), 1e-3);
  world.world().v[0].x = 1;
  int stop = 0;
  for (int k = 1; k <= 400; ++k) {
    world.step();
    ASSERT_TRUE(world.converged());
    if (stop == 0 && std::abs(double(world.world().v[0].x)) < 1e-6) stop = k;
  }
  // The same in both precisions: what stops an axis is dry friction, which leaves no speed.
  validation.at_most("steps from m v₀/f to the stop", std::abs(stop - 200.0), 1);
  validation.at_most("speed after the stop, m/s", std::abs(double(world.world().v[0].x)), 1e-12);
}

// m v' = F − f(v) with f by Stribeck's curve, in steps of a hundredth of h by Heun's rule.
double stribeck_speed(double push, double loss, double at_rest, double v_s, double time, double h) {
  const auto rate = [&](double v) { return push - loss - (at_rest - loss) / (1 + v * v / (v_s * v_s)); };
  double v = 0;
  const int steps = static_cast<int>(std::lround(100 * time / h));
  for (int k = 0; k < steps; ++k) {
    const double first = rate(v), second = rate(v + h / 100 * first);
    v += h / 200 * (first + second);
  }
  return v;
}

TYPED_TEST(JointEffort, static_friction_holds_at_rest_and_falls_with_the_rate) {
  model::SceneSpec scene = testing::cart_on_rail(1, 5);
  scene.joints[0].axes[0].static_friction = 8, scene.joints[0].axes[0].stribeck_velocity = 0.05;
  double last = 0;
  for (const double h : {4e-3, 2e-3, 1e-3}) {
    testing::SingleWorld<TypeParam> held(scene, whole_steps(), h), moved(scene, whole_steps(), h);
    held.world().control[0] = TypeParam(7.999), moved.world().control[0] = TypeParam(8.5);
    const int steps = static_cast<int>(std::lround(0.4 / h));
    for (int k = 0; k < steps; ++k) {
      held.step(), moved.step();
      ASSERT_TRUE(held.converged() && moved.converged()) << "h " << h << " step " << k;
    }
    EXPECT_LE(std::abs(double(held.world().v[0].x)), 1e-12);
    const double error = std::abs(moved.world().v[0].x - stribeck_speed(8.5, 5, 8, 0.05, 0.4, h));
    EXPECT_LT(error, 10 * h);  // m/s: 3 N that fall over some 30 ms, seen up to a step late
    if (last > 0) {
      EXPECT_NEAR(error / last, 0.5, 0.1) << h;
    }
    last = error;
  }
}

// A mass on a spring whose other end moves slowly sticks up to static friction, then slips until the spring's force
// lies as far below the friction loss, again and again: in the frame of that end a slip begins and ends at one speed.
// Without static friction the force stays beside the loss.
TYPED_TEST(JointEffort, a_slow_pull_sticks_and_slips_where_friction_falls_with_the_rate) {
  constexpr double kPull = 0.02, kStiffness = 100, kLoss = 5, kRest = 8, h = 2e-3;  // m/s, N/m, N, s
  for (const double at_rest : {0.0, kRest}) {
    model::SceneSpec scene = testing::cart_on_rail(1, kLoss);
    scene.joints[0].axes[0].static_friction = at_rest, scene.joints[0].axes[0].stribeck_velocity = 0.005;
    scene.actuators[0].kind = model::ActuatorKind::kPosition, scene.actuators[0].kp = kStiffness;
    testing::SingleWorld<TypeParam> world(scene, whole_steps(), h);
    int slips = 0;
    bool moved = false;
    double greatest = 0, least = kRest;
    for (int k = 1; k <= 6000; ++k) {
      world.world().control[0] = TypeParam(kPull * h * k);
      world.step();
      ASSERT_TRUE(world.converged()) << k;
      const bool moves = std::abs(double(world.world().v[0].x)) > 1e-5;
      const double force = kStiffness * (kPull * h * k - double(world.world().x[0].x));
      greatest = std::max(greatest, force);
      if (moves || slips > 0) least = std::min(least, force);
      slips += moved && !moves;
      moved = moves;
    }
    EXPECT_NEAR(greatest, at_rest > 0 ? kRest : kLoss, 0.3);
    EXPECT_NEAR(least, at_rest > 0 ? 2 * kLoss - kRest : kLoss, 0.4);
    if (at_rest > 0) {
      EXPECT_EQ(slips, 3);  // after 4 s of rising force, then every 3 s
    }
  }
}

TYPED_TEST(JointEffort, a_drive_gives_its_limit_until_it_reaches_its_speed) {
  const Validation<TypeParam> validation("effort limit of a drive");
  model::SceneSpec scene = testing::cart_on_rail(1, 0);
  scene.joints[0].axes[0].axis = {0, 0, 1};
  model::ActuatorSpec& drive = scene.actuators[0];
  drive.kind = model::ActuatorKind::kVelocity, drive.gear = 2, drive.kd = 1e5;
  drive.effort_limited = true, drive.effort_lower = -8, drive.effort_upper = 10;
  testing::SingleWorld<TypeParam> world(scene, whole_steps(), 1e-3);
  world.world().control[0] = 2;  // gear ds/dt = 2
  world.step(50);
  ASSERT_TRUE(world.converged());
  // float32: 50 steps round a speed of 0.5 m/s by ε/2 each, at most 3e-6 of it.
  validation.at_most("speed under the limit against (2·10 − mg)t/m, relative",
                     std::abs(world.world().v[0].z / ((20 - kGravity) * 0.05) - 1),
                     testing::allowed<TypeParam>(1e-10, 1e-5));
  world.step(200);
  ASSERT_TRUE(world.converged());
  const int row = world.model().lock_count + world.model().axis_count + world.model().limit_count;
  // float32: the stop test leaves 4ε · 1 m/s of the drive's row, and a speed of 1 m/s rounds by ε/2: in a step 5e-4 N
  // on 1 kg.
  validation.at_most("speed once reached against 1 less the drive's droop, m/s",
                     std::abs(world.world().v[0].z - (1 - kGravity / 4e5)), testing::allowed<TypeParam>(1e-9, 1e-6));
  validation.at_most("effort once reached against mg, relative",
                     std::abs(world.world().lambda_joint[row] / (1e-3 * kGravity) - 1),
                     testing::allowed<TypeParam>(1e-9, 8 * testing::epsilon<float>() / (1e-3 * kGravity)));
}

TYPED_TEST(JointEffort, a_motor_gives_no_more_than_its_limit) {
  const Validation<TypeParam> validation("effort limit of a motor");
  model::SceneSpec scene = testing::cart_on_rail(1, 0);
  model::ActuatorSpec& motor = scene.actuators[0];
  motor.gear = 2, motor.effort_limited = true, motor.effort_lower = -3, motor.effort_upper = 4;
  for (const double control : {10.0, -10.0}) {
    testing::SingleWorld<TypeParam> world(scene, whole_steps(), 1e-3);
    world.world().control[0] = TypeParam(control);
    world.step(100);
    // float32: 100 steps round a speed of up to 0.8 m/s by ε/2 each, at most 6e-6 of it.
    const double force = control > 0 ? 8 : -6;
    validation.at_most("speed against gear · limit · t/m, relative", std::abs(world.world().v[0].x / (force * 0.1) - 1),
                       testing::allowed<TypeParam>(1e-10, 1e-5));
  }
}

// A body held by a soft weld sags by mg/k, whatever the level and mode.
TYPED_TEST(JointEffort, a_soft_weld_sags_by_its_spring) {
  const Validation<TypeParam> validation("soft weld");
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("weight", 1, {0.1, 0.1, 0.1}, {0, 0, 0})};
  model::JointSpec joint;
  joint.name = "bracket", joint.kind = model::JointKind::kFixed, joint.parent = model::kWorldBody, joint.child = 0;
  joint.lock_stiffness = 1e4, joint.lock_damping = 100;
  scene.joints = {joint};
  const auto sag = [&](const model::SolverOptions& options, double h) {
    testing::SingleWorld<TypeParam> world(scene, options, h);
    world.step(2000);
    EXPECT_TRUE(world.converged());
    return -double(world.world().x[0].z);
  };
  model::SolverOptions velocity = model::make_options(model::Preset::kVelocity);
  velocity.tolerance = 1e-11;
  // float32: the weld's force rounds by some ε of itself, and so does the sag, which is a place near zero.
  for (const double h : {1e-3, 1.0 / 60}) {
    for (const auto mode : {model::JointMode::kBlended, model::JointMode::kCurrent, model::JointMode::kLinearised}) {
      validation.at_most("sag at position level against mg/k, relative",
                         std::abs(sag(testing::exact_options(mode), h) / (kGravity / 1e4) - 1),
                         testing::allowed<TypeParam>(1e-9, 1e-5));
    }
    validation.at_most("sag at velocity level against mg/k, relative",
                       std::abs(sag(velocity, h) / (kGravity / 1e4) - 1), testing::allowed<TypeParam>(1e-9, 1e-5));
  }
}

}  // namespace
}  // namespace axion::joint_effort_test
