#include "engine/model/merge_welds.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"
#include "tests/engine/model/merged_scene.hpp"
#include "tests/engine/model/scene_builder.hpp"

namespace axion::model::merge_welds_test {
namespace {

using testing::robot;

TEST(MergeWelds, bodies_and_joints_are_re_indexed_in_order) {
  const WeldedScene w = merged(robot());
  ASSERT_EQ(w.scene.bodies.size(), 4u);
  EXPECT_EQ(w.scene.bodies[0].name, "torso");
  EXPECT_EQ(w.scene.bodies[1].name, "arm");
  EXPECT_EQ(w.scene.bodies[2].name, "finger");
  EXPECT_EQ(w.scene.bodies[3].name, "flag");
  EXPECT_EQ(w.body_map, (std::vector<int>{0, 1, 1, 2, kWorldBody, 3}));
  ASSERT_EQ(w.scene.joints.size(), 4u);
  EXPECT_EQ(w.scene.joints[2].name, "grip");
  EXPECT_EQ(w.scene.joints[2].parent, 1);
  EXPECT_EQ(w.scene.joints[2].child, 2);
  EXPECT_EQ(w.scene.joints[3].parent, kWorldBody);
  EXPECT_EQ(w.scene.actuators[0].joint, 2);
  EXPECT_TRUE(validate_scene(w.scene).ok());
}

TEST(MergeWelds, mass_centre_and_inertia_add_up_by_the_parallel_axis_theorem) {
  const WeldedScene w = merged(robot());
  const BodySpec& arm = w.scene.bodies[1];
  EXPECT_DOUBLE_EQ(arm.mass, 3);
  // The hand is turned so that its x axis is the arm's y; its centre is at (0.5, 0.1, 0) in the arm.
  expect_near(arm.p_BoBcm, {0.5 / 3, 0.1 / 3, 0});
  // Turned, the hand's (0.4, 0.5, 0.6) about x y z becomes (0.6, 0.4, 0.5); the arm's is (0.8, 1.0, 1.2); the reduced
  // mass 2/3 kg at the distance d = (0.5, 0.1, 0) adds 2/3 (d² 1 − d dᵀ).
  const double mu = 2.0 / 3;
  EXPECT_NEAR(arm.I_Bcm[0], 0.8 + 0.6 + mu * 0.01, 1e-12);
  EXPECT_NEAR(arm.I_Bcm[1], 1.0 + 0.4 + mu * 0.25, 1e-12);
  EXPECT_NEAR(arm.I_Bcm[2], 1.2 + 0.5 + mu * 0.26, 1e-12);
  EXPECT_NEAR(arm.I_Bcm[3], -mu * 0.05, 1e-12);
  EXPECT_NEAR(arm.I_Bcm[4], 0, 1e-12);
  EXPECT_NEAR(arm.I_Bcm[5], 0, 1e-12);
}

TEST(MergeWelds, a_body_alone_keeps_its_numbers_bit_for_bit) {
  SceneSpec scene = robot();
  scene.bodies[0].I_Bcm = {0.1, 0.2, 0.25, 0.01, 0.02, 0.03};
  scene.bodies[0].X_WB.rotation = {0.1, 0.2, 0.3, 0.4};
  const WeldedScene w = merged(scene);
  EXPECT_EQ(w.scene.bodies[0].I_Bcm, scene.bodies[0].I_Bcm);
  EXPECT_EQ(w.scene.bodies[0].X_WB.rotation, scene.bodies[0].X_WB.rotation);
}

TEST(MergeWelds, shapes_stay_where_they_are_in_the_world) {
  SceneSpec scene = robot();
  scene.bodies[1].X_WB.rotation = {0.9, 0.1, -0.3, 0.2};
  const WeldedScene w = merged(scene);
  ASSERT_EQ(w.scene.shapes.size(), scene.shapes.size());
  for (std::size_t s = 0; s < scene.shapes.size(); ++s) {
    const auto in_world = [](const SceneSpec& of, const ShapeSpec& shape) {
      const Pose X_BS = to_pose(shape.X_BS);
      return shape.body == kWorldBody ? X_BS : to_pose(of.bodies[shape.body].X_WB) * X_BS;
    };
    const Pose before = in_world(scene, scene.shapes[s]), after = in_world(w.scene, w.scene.shapes[s]);
    expect_near(to_spec(before.position), to_spec(after.position));
    const Quatd p = to_spec(before.rotation), q = to_spec(after.rotation);
    EXPECT_NEAR(std::abs(p[0] * q[0] + p[1] * q[1] + p[2] * q[2] + p[3] * q[3]), 1, 1e-12) << scene.shapes[s].name;
  }
  EXPECT_EQ(w.scene.shapes[1].body, 1);
  EXPECT_EQ(w.scene.shapes[3].body, kWorldBody);
}

TEST(MergeWelds, welds_say_where_each_welded_frame_went) {
  const WeldedScene w = merged(robot());
  ASSERT_EQ(w.welds.size(), 2u);
  EXPECT_EQ(w.welds[0].name, "hand");
  EXPECT_EQ(w.welds[0].body, 1);
  expect_near(w.welds[0].X_BW.position, {0.5, 0, 0});
  EXPECT_EQ(w.welds[1].name, "post");
  EXPECT_EQ(w.welds[1].body, kWorldBody);
  expect_near(w.welds[1].X_BW.position, {3, 0, 0.5});
}

TEST(MergeWelds, exclusions_stay_with_the_bodies_that_they_name) {
  const SceneSpec scene = robot();
  const WeldedScene w = merged(scene);
  EXPECT_TRUE(
      w.scene.excludes.empty());  // each is about a body that is only a part, or about one that has others welded to it
  ASSERT_EQ(w.part_excludes.size(), scene.excludes.size());
  for (std::size_t i = 0; i < scene.excludes.size(); ++i) {
    EXPECT_EQ(w.part_excludes[i].body_a, scene.excludes[i].body_a);
    EXPECT_EQ(w.part_excludes[i].body_b, scene.excludes[i].body_b);
  }
  ASSERT_EQ(w.shape_part.size(), scene.shapes.size());
  for (std::size_t i = 0; i < scene.shapes.size(); ++i) EXPECT_EQ(w.shape_part[i], scene.shapes[i].body);
}

TEST(MergeWelds, exclusions_of_whole_bodies_follow_them) {
  SceneSpec scene = robot();
  scene.excludes = {{0, 5}};
  const WeldedScene w = merged(scene);
  ASSERT_EQ(w.scene.excludes.size(), 1u);
  EXPECT_EQ(w.scene.excludes[0].body_a, w.body_map[0]);
  EXPECT_EQ(w.scene.excludes[0].body_b, w.body_map[5]);
}

TEST(MergeWelds, a_chain_of_welds_in_any_order_is_one_body) {
  SceneSpec scene;
  scene.bodies = {testing::body("tip", {2, 0, 0}), testing::body("middle", {1, 0, 0}),
                  testing::body("root", {0, 0, 0})};
  scene.joints = {testing::joint("a", JointKind::kFixed, 1, 0), testing::joint("b", JointKind::kFixed, 2, 1)};
  const WeldedScene w = merged(scene);
  ASSERT_EQ(w.scene.bodies.size(), 1u);
  EXPECT_EQ(w.scene.bodies[0].name, "root");
  EXPECT_DOUBLE_EQ(w.scene.bodies[0].mass, 3);
  expect_near(w.scene.bodies[0].p_BoBcm, {1, 0, 0});
  expect_near(w.welds[0].X_BW.position, {2, 0, 0});
  EXPECT_EQ(w.body_map, (std::vector<int>{0, 0, 0}));
}

TEST(MergeWelds, a_keyframe_velocity_is_that_of_the_merged_centre_of_mass) {
  SceneSpec scene;
  scene.bodies = {testing::body("root", {0, 0, 0}), testing::body("load", {1, 0, 0})};
  scene.joints = {testing::joint("free", JointKind::kFree, kWorldBody, 0),
                  testing::joint("weld", JointKind::kFixed, 0, 1)};
  // Turned by 90 degrees about z, so that the centre moves from the origin to (0, 0.5, 0); spinning at 2 rad/s about z.
  const double c = std::sqrt(0.5);
  scene.keyframes = {{"spin", 0, {0, 0, 0, c, 0, 0, c}, {0, 0, 3, 0, 0, 2}}};
  const WeldedScene w = merged(scene);
  const std::vector<double>& v = w.scene.keyframes[0].joint_velocity;
  EXPECT_NEAR(v[0], -1, 1e-12);
  EXPECT_NEAR(v[1], 0, 1e-12);
  EXPECT_NEAR(v[2], 3, 1e-12);
  EXPECT_NEAR(v[5], 2, 1e-12);
}

TEST(MergeWelds, a_keyframe_velocity_of_a_ball_is_in_the_axes_of_what_its_parent_is_part_of) {
  const double c = std::sqrt(0.5);
  for (const int root : {kWorldBody, 0}) {
    SceneSpec scene;
    scene.bodies = {testing::body("root", {0, 0, 0}), testing::body("bracket", {1, 0, 0}),
                    testing::body("bob", {2, 0, 0})};
    scene.bodies[1].X_WB.rotation = {c, 0, 0, c};  // by 90 degrees about z
    scene.joints = {testing::joint("free", JointKind::kFree, kWorldBody, 0),
                    testing::joint("weld", JointKind::kFixed, root, 1), testing::joint("ball", JointKind::kBall, 1, 2)};
    scene.keyframes = {{"spin", 0, {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 2, 3, 4}}};
    const WeldedScene w = merged(scene);
    const std::vector<double>& v = w.scene.keyframes[0].joint_velocity;
    EXPECT_NEAR(v[6], -3, 1e-12) << root;
    EXPECT_NEAR(v[7], 2, 1e-12) << root;
    EXPECT_NEAR(v[8], 4, 1e-12) << root;
  }
}

TEST(MergeWelds, a_weld_that_cannot_turn_is_refused) {
  SceneSpec scene = robot();
  for (int b : {1, 2}) scene.bodies[b].I_Bcm = {};
  scene.bodies[2].mass = 0;
  const Result<WeldedScene> result = merge_welds(scene);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().field, "bodies[1].I_Bcm");
}

TEST(MergeWelds, an_invalid_scene_is_refused_with_its_field) {
  SceneSpec scene = robot();
  scene.bodies[2].mass = std::numeric_limits<double>::quiet_NaN();
  const Result<WeldedScene> result = merge_welds(scene);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().field, "bodies[2].mass");
}

TEST(MergeWelds, a_sensor_that_reads_no_tendon_may_name_one_that_there_is_not) {
  SceneSpec scene = robot();
  scene.sensors.resize(1);
  scene.sensors[0].name = "clock", scene.sensors[0].tendon = 1 << 20;
  EXPECT_TRUE(merged(scene).senses_tendon.empty());
}

}  // namespace
}  // namespace axion::model::merge_welds_test
