// Bodies that a joint or an equality is to hold together, and that a file's coordinates leave apart: they come together
// at the gap over limit_recovery_time, at 1 m/s or 1 rad/s at least, whatever the time step, and rest where they met.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/math/quat.hpp"
#include "tests/engine/import/imported_world.hpp"

namespace axion::open_loop_test {
namespace {

using import::World;

constexpr double kGap = 0.1, kRecovery = 0.05;  // m, and s by default

// Two balls of 1 and 3 kg that slide along x, 0.5 m apart, with sites that are to meet.
constexpr char kApart[] = R"(<mujoco><option gravity="0 0 0"/><worldbody>
  <body name="a"><joint type="slide" axis="1 0 0"/><geom size="0.05" mass="1"/><site name="a" pos="0.2 0 0"/></body>
  <body name="b" pos="0.5 0 0"><joint type="slide" axis="1 0 0"/><geom size="0.05" mass="3"/><site name="b"
    pos="-0.2 0 0"/></body>
  </worldbody><equality><connect site1="a" site2="b"/></equality></mujoco>)";

std::uint32_t outcome(World& world) {
  std::uint32_t bits = 0;
  const OutputView out{Field::kOutcome, reinterpret_cast<std::byte*>(&bits), 0, 0};
  EXPECT_TRUE(world.batch().get({}, {&out, 1}).ok());
  return bits;
}

TEST(OpenLoop, anchors_come_together_at_the_gap_over_the_recovery_time) {
  for (const double dt : {0.0005, 0.002, 0.01}) {
    World world(kApart, dt);
    double gap = kGap;
    const int steps = static_cast<int>(0.2 / dt);
    for (int i = 0; i < steps; ++i) {
      world.step(1);
      const double expected = std::max(0.0, gap - dt * std::max(1.0, gap / kRecovery));
      // A millimetre is a tenth of the contact margin, from which on a joint counts as open.
      const bool open = expected > 1e-3;
      ASSERT_EQ(outcome(world), open ? kMaxIterations : kConverged) << "dt " << dt << ", step " << i;
      const auto q = world.get(Field::kJointPosition);
      gap = kGap - (q[0] - q[1]);
      ASSERT_NEAR(gap, expected, 1e-6) << "dt " << dt << ", step " << i;
    }
    const auto q = world.get(Field::kJointPosition), v = world.get(Field::kJointVelocity);
    EXPECT_NEAR(q[0], 0.75 * kGap, 1e-6) << "the lighter one comes three quarters of the way";
    EXPECT_NEAR(q[1], -0.25 * kGap, 1e-6);
    EXPECT_NEAR(v[0], 0, 1e-6);
    EXPECT_NEAR(v[1], 0, 1e-6);
  }
}

// A link that is welded to the world and starts a radian off.
TEST(OpenLoop, a_weld_turns_back_at_its_angle_over_the_recovery_time) {
  const std::string xml = R"(<mujoco><option gravity="0 0 0"/><worldbody><site name="w"/>
    <body><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/><site name="b" euler="57.29578 0 0"/></body>
    </worldbody><equality><weld site1="b" site2="w"/></equality></mujoco>)";
  World world(xml, 0.002);
  const auto angle = [&] {
    const auto pose = world.get(Field::kBodyPose);
    return 2 * std::atan2(std::hypot(pose[4], pose[5], pose[6]), std::abs(pose[3]));
  };
  double fastest = 0;
  for (int i = 0; i < 200; ++i) {
    const double before = angle();
    world.step(1);
    ASSERT_EQ(outcome(world), kConverged) << "step " << i;
    fastest = std::max(fastest, (angle() - before) / 0.002);
  }
  // What is held near 0 is 2 sin of half the angle along each axis, whose slope here is 0.88.
  EXPECT_LE(fastest, 1.2 / kRecovery);
  EXPECT_GE(fastest, 0.8 / kRecovery);
  EXPECT_NEAR(angle(), 1.0, 1e-5) << "turned by the radian that it was off";
}

// A four-bar of a robot that floats: it closes without a push on the robot as a whole.
TEST(OpenLoop, a_loop_of_a_floating_robot_closes_and_keeps_its_momentum) {
  const std::string xml = R"(<mujoco><option gravity="0 0 0"/><worldbody><body name="base"><freejoint/>
    <geom type="box" size="0.2 0.1 0.05" mass="5"/>
    <body name="a" pos="0.2 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02"
      mass="0.5"/>
      <body name="b" pos="0 0 -0.3"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 -0.3 0 0" size="0.02"
        mass="0.3"/><site name="b" pos="-0.3 0 0"/></body></body>
    <body name="c" pos="-0.2 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02"
      mass="0.5"/><site name="c" pos="0 0 -0.3"/></body></body>
    </worldbody><contact><exclude body1="base" body2="a"/><exclude body1="base" body2="c"/></contact>
    <equality><connect site1="b" site2="c"/></equality></mujoco>)";
  World world(xml, 0.002);
  const double masses[] = {5, 0.5, 0.3, 0.5};
  const math::Vec3<double> offsets[] = {{0, 0, 0}, {0, 0, -0.15}, {-0.15, 0, 0}, {0, 0, -0.15}};
  const auto centre = [&](const std::vector<double>& pose) {
    math::Vec3<double> sum{0, 0, 0};
    for (int b = 0; b < 4; ++b) {
      const double* p = &pose[7 * b];
      sum +=
          masses[b] / 6.3 *
          (math::Vec3<double>{p[0], p[1], p[2]} + math::rotate(math::Quat<double>{p[3], p[4], p[5], p[6]}, offsets[b]));
    }
    return sum;
  };
  const std::vector<double> start = world.get(Field::kBodyPose);
  std::vector<double> last = start;
  double fastest = 0;
  for (int i = 0; i < 200; ++i) {
    world.step(1);
    ASSERT_EQ(outcome(world), i < 100 ? outcome(world) & (kConverged | kMaxIterations) : kConverged) << "step " << i;
    const std::vector<double> pose = world.get(Field::kBodyPose);
    for (int b = 0; b < 4; ++b) {
      const double* now = &pose[7 * b];
      const double* before = &last[7 * b];
      fastest = std::max(fastest, std::hypot(now[0] - before[0], now[1] - before[1], now[2] - before[2]) / 0.002);
    }
    EXPECT_NEAR(math::norm(centre(pose) - centre(start)), 0, 2e-6) << "the centre of mass, step " << i;
    last = pose;
  }
  EXPECT_LE(fastest, 1.5 * kGap / kRecovery);
  EXPECT_NE(last, start);
  for (const double v : world.get(Field::kBodyVelocity)) EXPECT_NEAR(v, 0, 0.05);
}

// The arm reaches 0.3 m. Out of reach a target is leant towards; within reach again it is met as if nothing had been.
TEST(OpenLoop, a_target_that_comes_back_within_reach_is_met_exactly) {
  const std::string link = R"(<joint/><geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0" mass="0.5"/>)";
  const std::string xml =
      R"(<mujoco><default><geom contype="0" conaffinity="0"/><joint axis="0 1 0" damping="0.5"/></default><worldbody>
    <body name="target" mocap="true" pos="0.3 0 0.3"><geom size="0.01"/></body><body pos="0 0 0.3">)" +
      link + R"(<body name="hand" pos="0.2 0 0">)" + link + R"(</body></body></worldbody>
    <equality><connect body1="target" body2="hand" anchor="0 0 0"/></equality></mujoco>)";
  World world(xml, 0.002);
  world.step_with_mocaps(500, {0.7, 0, 0.5, 1, 0, 0, 0});
  EXPECT_EQ(outcome(world), kConverged | kEased);
  EXPECT_GT(world.batch().statistics(0).value().max_equality_error, 0.1);
  world.step_with_mocaps(1000, {0.22, 0, 0.36, 1, 0, 0, 0});
  world.step_with_mocaps(1, {0.22, 0, 0.36, 1, 0, 0, 0});
  EXPECT_EQ(outcome(world), kConverged);
  EXPECT_EQ(world.batch().statistics(0).value().max_equality_error, 0);
  EXPECT_LT(world.batch().statistics(0).value().max_joint_error, 1e-6);
}

}  // namespace
}  // namespace axion::open_loop_test
