// Springs and limits of balls and free joints, and adhesion, by closed formulas.
#include <cmath>
#include <string>
#include <vector>

#include "tests/engine/import/imported_world.hpp"

namespace axion::import::mjcf_springs_test {
namespace {

// I of a ball of 1 kg and 0.1 m is 0.004 kg m²; turned about its centre by a spring of 0.1 N m/rad with ω = 5 rad/s it
// keeps its axis at any angle: φ = φ₀ cos ωt.
TEST(MjcfBall, a_spring_swings_it_about_the_axis_of_its_turn) {
  const double start = 2.0, axis[3] = {0.36, 0.48, 0.8};
  std::string q = std::to_string(std::cos(start / 2));
  for (const double n : axis) q += " " + std::to_string(n * std::sin(start / 2));
  std::vector<double> error;
  for (const int steps : {50, 100}) {
    World world(
        "<mujoco><option gravity='0 0 0'/><worldbody><body euler='30 20 10'><joint type='ball' "
        "stiffness='.1'/><geom size='.1' mass='1'/></body></worldbody><keyframe><key qpos='" +
            q + "'/></keyframe></mujoco>",
        0.5 / steps);
    world.step(steps);
    const std::vector<double> now = world.get(Field::kJointPosition);
    const double angle = start * std::cos(2.5);
    double most = 0;
    for (int k = 0; k < 3; ++k) {
      const double sign = now[0] < 0 ? -1 : 1;
      most = std::max(most, std::abs(sign * now[static_cast<std::size_t>(k + 1)] - axis[k] * std::sin(angle / 2)));
    }
    error.push_back(most);
  }
  EXPECT_LT(error[0], 2e-3);
  EXPECT_LT(error[1], error[0] / 3);  // second order
}

// Gravity pulls a rod aside that may turn by 40 degrees from where it points: it swings to there and rests.
TEST(MjcfBall, a_limit_holds_it_within_its_cone) {
  for (const double dt : {0.002, 0.01}) {
    World world(R"(<mujoco><option gravity='6 4 -1'/><worldbody><body><joint type='ball' range='0 40' damping='.05'/>
      <geom type='capsule' fromto='0 0 0 0 0 -.5' size='.03' mass='1'/></body></worldbody></mujoco>)",
                dt);
    double most = 0;
    const auto angle = [&] { return 2 * std::acos(std::abs(world.get(Field::kJointPosition)[0])); };
    for (int k = 0; k < 300; ++k) {
      world.step(static_cast<int>(std::lround(0.01 / dt)));
      most = std::max(most, angle());
    }
    const double limit = 40 * std::acos(-1.0) / 180;
    EXPECT_LT(most, limit + 1e-3) << dt;
    EXPECT_NEAR(angle(), limit, 1e-3) << dt;
  }
  expect_refused(
      "<mujoco><worldbody><body><joint type='ball' range='10 40'/><geom size='.1'/></body></worldbody>"
      "</mujoco>",
      "joint.range", "from 0");
}

// 1 kg on 25 N/m and 0.004 kg m² on 25 N m/rad: x = x₀ + d cos 5t about x₀, and the turn by ω = √(25/.004).
TEST(MjcfFreeJoint, springs_pull_it_back_to_the_reference_configuration) {
  std::vector<double> error;
  for (const int steps : {1000, 2000}) {
    World world(R"(<mujoco><option gravity='0 0 0'/><worldbody><body pos='1 2 3'><joint type='free' stiffness='25'/>
      <geom size='.1' mass='1'/></body></worldbody><keyframe><key qpos='1.5 2 2.8 1 .1 0 0'/></keyframe></mujoco>)",
                0.5 / steps);
    world.step(steps);
    const std::vector<double> q = world.get(Field::kJointPosition);
    EXPECT_NEAR(q[0], 1 + 0.5 * std::cos(2.5), 1e-5);
    EXPECT_NEAR(q[2], 3 - 0.2 * std::cos(2.5), 1e-5);
    const double start = 2 * std::atan(0.1), angle = start * std::cos(0.5 * std::sqrt(25 / 0.004));
    error.push_back(std::abs(q[4] - std::sin(angle / 2)));
  }
  EXPECT_LT(error[0], 1e-3);
  EXPECT_LT(error[1], error[0] / 3);  // second order
  World stiff(R"(<mujoco><worldbody><body><joint type='free' stiffness='1e8'/><geom size='.1' mass='1'/></body>
    </worldbody><keyframe><key qpos='0 0 .1 1 0 0 0'/></keyframe></mujoco>)",
              0.01);
  stiff.step(200);
  EXPECT_LT(std::abs(stiff.get(Field::kJointPosition)[2]), 0.11);  // it swings on and does not grow
}

// A ball of 1 kg under a board weighs 9.81 N: 30 N hold it up, and press it with 20.19 N; 5 N do not.
TEST(MjcfAdhesion, holds_what_it_presses_against) {
  const auto ball = [](double control) {
    World world(R"(<mujoco><worldbody><geom type='box' size='1 1 .1' pos='0 0 1.1'/>
      <body name='b' pos='0 0 .9'><freejoint/><geom size='.1' mass='1'/><site name='s' size='.2'/></body></worldbody>
      <actuator><adhesion body='b' gain='10' ctrlrange='0 4'/></actuator><sensor><touch site='s'/></sensor></mujoco>)",
                0.005);
    world.step(100, {control});
    return world;
  };
  const World held = ball(3), pressed = ball(7);  // as 4
  EXPECT_NEAR(held.get(Field::kJointPosition)[2], 0.9, 1e-4);
  EXPECT_NEAR(held.get(Field::kSensorData)[0], 30 - 9.81, 0.05);
  EXPECT_NEAR(held.get(Field::kBodyVelocity)[2], 0, 1e-3);
  EXPECT_NEAR(pressed.get(Field::kSensorData)[0], 40 - 9.81, 0.05);
  EXPECT_LT(ball(0.5).get(Field::kJointPosition)[2], 0.5);
}

// Whatever touches it: of two boxes, one on the other, the upper one is pressed down and the lower one up.
TEST(MjcfAdhesion, pulls_both_bodies_of_a_contact) {
  World world(R"(<mujoco><option gravity='0 0 0'/><worldbody>
    <body name='a'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>
    <body name='b' pos='0 0 .2'><freejoint/><geom type='box' size='.1 .1 .1' mass='2'/></body></worldbody>
    <actuator><adhesion body='a' ctrlrange='0 9'/></actuator></mujoco>)",
              0.005);
  world.step(100, {5});
  const std::vector<double> v = world.get(Field::kBodyVelocity);
  for (const double each : v) EXPECT_NEAR(each, 0, 1e-6);
  EXPECT_NEAR(world.get(Field::kJointPosition)[9], 0.2, 1e-5);
}

}  // namespace
}  // namespace axion::import::mjcf_springs_test
