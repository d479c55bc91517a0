// Mocap bodies: what stands on them is where clients put it, and all else moves as if the document had them there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/model/spec_math.hpp"
#include "tests/engine/import/imported_world.hpp"

namespace axion::import::mjcf_mocaps_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kG = 9.81;
using Poses = std::vector<double>;

// A ball on a plate that clients place.
std::string scene(const std::string& plate, const std::string& mocap) {
  return "<mujoco><worldbody><body name='plate' " + mocap + " " + plate + R"(><geom type='box' size='1 1 .1'/>
      <site name='eye' pos='0 0 .2'/></body>
    <body name='ball' pos='0 0 1.2'><freejoint/><geom name='ball' size='.1' mass='1'/></body>
    </worldbody><sensor><framepos objtype='site' objname='eye'/><framezaxis objtype='site' objname='eye'/>
    <rangefinder site='eye'/></sensor></mujoco>)";
}

TEST(MjcfMocaps, a_body_stands_until_it_is_placed_and_what_lay_on_it_falls_when_it_is_gone) {
  World world(scene("pos='0 0 1'", "mocap='true'"), 0.002);
  EXPECT_THAT(world.get(Field::kMocapPose), ElementsAre(0, 0, 1, 1, 0, 0, 0));
  world.step(200);
  EXPECT_NEAR(world.get(Field::kBodyPose)[2], 1.2, 1e-4);
  EXPECT_THAT(world.get(Field::kMocapPose), ElementsAre(0, 0, 1, 1, 0, 0, 0));
  ASSERT_TRUE(world.set_mocaps({5, 0, 1, 1, 0, 0, 0}).ok());
  world.step(100);
  EXPECT_NEAR(world.get(Field::kBodyVelocity)[2], -kG * 0.2, kG * 0.0011);  // half a step of the last contact
}

// The step's own copies of tables have what strings through space have among joints.
TEST(MjcfMocaps, strings_and_drives_of_a_world_act_beside_a_body_as_without_it) {
  const auto scene = [](const std::string& mocap) {
    return "<mujoco><worldbody>" + mocap +
           "<site name='w' pos='1 0 2'/><body name='peg' pos='0 0 1'><joint type='free' frictionloss='3'/>"
           "<geom size='.1' mass='1'/><site name='s' pos='.1 0 0'/></body>"
           "<body name='arm' pos='3 0 1'><joint name='j' axis='0 1 0'/><geom size='.1' pos='.3 0 "
           "0'/></body></worldbody>"
           "<tendon><spatial stiffness='30' springlength='.5' frictionloss='1' limited='true' range='0 1.5'>"
           "<site site='w'/><site site='s'/></spatial></tendon>"
           "<actuator><position joint='j' kp='10' ctrllimited='true' ctrlrange='-1 1' forcerange='-2 2' "
           "forcelimited='true'/></actuator></mujoco>";
  };
  World with(scene("<body mocap='true' pos='9 9 9'><geom size='.1'/></body>"), 0.002), without(scene(""), 0.002);
  with.step(200, {0.5}), without.step(200, {0.5});
  EXPECT_EQ(with.get(Field::kJointPosition), without.get(Field::kJointPosition));
  EXPECT_GT(std::abs(with.get(Field::kJointPosition)[0]), 0.05);  // the string pulls the peg along
}

// A body that is placed has no velocity: a plate that is drawn away under a ball does not drag it along.
TEST(MjcfMocaps, what_lies_on_a_body_that_is_moved_along_its_face_stays) {
  World world(scene("pos='0 0 1'", "mocap='true'"), 0.002);
  world.step(100);
  for (int i = 1; i <= 100; ++i) world.step_with_mocaps(1, {0.005 * i, 0, 1, 1, 0, 0, 0});
  EXPECT_NEAR(world.get(Field::kBodyPose)[0], 0, 1e-6);
  EXPECT_NEAR(world.get(Field::kMocapPose)[0], 0.5, 1e-12);
}

// To the rounding with which poses are carried along.
TEST(MjcfMocaps, a_world_moves_as_one_whose_document_has_the_body_there) {
  const double c = std::cos(0.1), s = std::sin(0.1);
  World placed(scene("pos='3 -2 .4' quat='.5 .5 .5 .5'", "mocap='true'"), 0.002);
  World fixed(scene("pos='.2 .1 1' quat='" + std::to_string(c) + " " + std::to_string(s) + " 0 0'", ""), 0.002);
  ASSERT_TRUE(placed.set_mocaps({0.2, 0.1, 1, std::stod(std::to_string(c)), std::stod(std::to_string(s)), 0, 0}).ok());
  for (int i = 0; i < 300; ++i) placed.step(1), fixed.step(1);
  const Poses a = placed.get(Field::kBodyPose), b = fixed.get(Field::kBodyPose);
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-6) << k;
  EXPECT_GT(std::abs(a[1]), 0.05);  // it rolls down the plate
  const Poses sa = placed.get(Field::kSensorData), sb = fixed.get(Field::kSensorData);
  for (std::size_t k = 0; k < sa.size(); ++k) EXPECT_NEAR(sa[k], sb[k], 1e-6) << k;
}

TEST(MjcfMocaps, sites_and_shapes_on_it_are_where_it_is) {
  World world(scene("pos='0 0 1'", "mocap='true'"), 0.002);
  ASSERT_TRUE(world.set_mocaps({2, 0, 1.2, std::sqrt(0.5), 0, -std::sqrt(0.5), 0}).ok());  // z is -x
  const Poses seen = world.get(Field::kSensorData);
  EXPECT_NEAR(seen[0], 1.8, 1e-12);
  EXPECT_NEAR(seen[2], 1.2, 1e-12);
  EXPECT_NEAR(seen[5], 0, 1e-12);
  EXPECT_NEAR(seen[3], -1, 1e-12);
  EXPECT_NEAR(seen[6], 1.7, 1e-9);  // the ball's surface
  const ShapePairQuery pair{0, 1};
  std::vector<double> distance(1), a(3), b(3);
  ASSERT_TRUE(world.batch().distances({}, {&pair, 1}, 10, {distance, a, b}).ok());
  EXPECT_NEAR(distance[0], 2 - 0.1 - 0.1, 1e-9);
}

constexpr const char* kWelded = R"(<mujoco><option gravity='0 0 0'/><worldbody>
    <body name='hand' mocap='true' pos='0 0 1'/>
    <body name='box' pos='.5 0 1'><freejoint/><geom type='box' size='.1 .2 .3'/></body></worldbody>
    <equality><weld body1='hand' body2='box'/></equality>
    <keyframe><key qpos='.5 1 1 1 0 0 0' mpos='0 1 1'/></keyframe></mujoco>)";

TEST(MjcfMocaps, a_weld_carries_a_body_along) {
  World world(kWelded, 0.002);
  const double turn = 0.5;
  for (int i = 1; i <= 200; ++i) {
    const double angle = turn * i / 200.0;
    world.step_with_mocaps(1, {0.001 * i, 1, 1, std::cos(angle / 2), 0, 0, std::sin(angle / 2)});
  }
  world.step(50);
  const Poses pose = world.get(Field::kBodyPose);
  EXPECT_NEAR(pose[0], 0.2 + 0.5 * std::cos(turn), 1e-5);
  EXPECT_NEAR(pose[1], 1 + 0.5 * std::sin(turn), 1e-5);
  EXPECT_NEAR(pose[3], std::cos(turn / 2), 1e-5);
}

TEST(MjcfMocaps, keyframes_and_resets_place_it_and_snapshots_carry_it) {
  World world(kWelded, 0.002);
  EXPECT_THAT(world.get(Field::kMocapPose), ElementsAre(0, 1, 1, 1, 0, 0, 0));
  world.step_with_mocaps(3, {0.01, 1, 1, 2, 0, 0, 0});
  EXPECT_THAT(world.get(Field::kMocapPose), ElementsAre(0.01, 1, 1, 1, 0, 0, 0));
  const std::string kept = world.snapshot();
  world.step(20);
  const Poses after = world.get(Field::kBodyPose);
  ASSERT_TRUE(world.batch().reset({}).ok());
  EXPECT_THAT(world.get(Field::kMocapPose), ElementsAre(0, 0, 1, 1, 0, 0, 0));
  world.set_snapshot(kept);
  world.step(20);
  EXPECT_EQ(world.get(Field::kBodyPose), after);
}

TEST(MjcfMocaps, a_pose_of_a_step_is_one_that_was_set) {
  World one(kWelded, 0.002), two(kWelded, 0.002);
  const Poses there{0.01, 1, 1, 1, 0, 0.01, 0};
  one.step_with_mocaps(7, there);
  ASSERT_TRUE(two.set_mocaps(there).ok());
  two.step(7);
  EXPECT_EQ(one.get(Field::kBodyPose), two.get(Field::kBodyPose));
}

TEST(MjcfMocaps, what_can_not_be_is_refused_or_fixed) {
  World world(kWelded, 0.002);
  EXPECT_EQ(world.set_mocaps({0, 0, 0, 0, 0, 0, 0}).error().field, "mocap_pose[0,0,3]");
  expect_refused("<mujoco><worldbody><body mocap='true'><freejoint/><geom size='.1'/></body></worldbody></mujoco>",
                 "body.mocap", "without joints");
  const ImportedScene s = imported(R"(<mujoco><worldbody><body mocap='true'><geom size='.1'/>
    <body><joint/><geom size='.1'/></body></body></worldbody></mujoco>)");
  EXPECT_THAT(s.warnings, Contains(HasSubstr("is taken as a fixed body")));
  model::SceneSpec hanging = s.scene;
  hanging.bodies[0].is_mocap = true;
  EXPECT_EQ(compile_model(hanging).error().field, "joints[1].parent");
  model::SceneSpec keys = imported(kWelded).scene;
  keys.keyframes[0].mocap_pose.pop_back();
  EXPECT_EQ(compile_model(keys).error().field, "keyframes[0].mocap_pose");
}

}  // namespace
}  // namespace axion::import::mjcf_mocaps_test
