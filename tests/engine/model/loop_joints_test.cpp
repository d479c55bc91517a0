// Which joints close loops, what welding makes of them, and what a compiled model has for them.
#include "engine/model/loop_joints.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/model/compile.hpp"
#include "engine/model/merge_welds.hpp"
#include "engine/model/spec_math.hpp"
#include "tests/engine/model/merged_scene.hpp"
#include "tests/engine/model/scene_builder.hpp"

namespace axion::model::loop_joints_test {
namespace {

using testing::axis;
using testing::body;
using testing::four_bar;
using testing::joint;

CompiledModel compiled(const SceneSpec& scene) {
  Result<CompiledModel> result = compile(scene);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return std::move(result).value();
}

TEST(LoopJoints, the_first_joint_of_a_body_carries_it_and_later_ones_close_loops) {
  EXPECT_EQ(find_loop_joints(four_bar()), (std::vector<bool>{false, false, false, true}));
  SceneSpec scene = four_bar();
  std::swap(scene.joints[2], scene.joints[3]);  // now the coupler carries the rocker, and the ground closes the loop
  EXPECT_EQ(find_loop_joints(scene), (std::vector<bool>{false, false, false, true}));
}

TEST(LoopJoints, a_joint_whose_parent_hangs_on_its_child_closes_a_loop) {
  SceneSpec ring;
  ring.bodies = {body("a", {0, 0, 0}), body("b", {1, 0, 0}), body("c", {0, 1, 0})};
  ring.joints = {joint("ab", JointKind::kBall, 0, 1), joint("bc", JointKind::kBall, 1, 2),
                 joint("ca", JointKind::kBall, 2, 0)};
  EXPECT_EQ(find_loop_joints(ring), (std::vector<bool>{false, false, true}));
}

TEST(LoopJoints, a_compiled_four_bar_has_the_rows_of_four_hinges_and_the_coordinates_of_three) {
  const CompiledModel model = compiled(four_bar());
  const ModelView<double> view = model.arrays.view();
  EXPECT_EQ(view.body_count, 3);
  EXPECT_EQ(view.joint_count, 4);
  EXPECT_EQ(view.loop_count, 1);
  EXPECT_EQ(view.lock_count, 4 * 5);
  EXPECT_EQ(view.effort_count, 0);
  EXPECT_EQ(model.closes_loop, (std::vector<bool>{false, false, false, true}));
  EXPECT_EQ(model.joint_of_scene[3], 3);  // loops come last
  const JointData<double>& loop = view.joints[3];
  const int coupler = model.internal_body[1], rocker = model.internal_body[2];
  EXPECT_EQ(loop.parent, coupler);
  EXPECT_EQ(loop.child, rocker);
  EXPECT_EQ(view.bodies[rocker].parent, -1);  // the ground carries it
  EXPECT_EQ(view.body_loops[view.bodies[rocker].loop_start], 3);
  EXPECT_EQ(view.body_loops[view.bodies[coupler].loop_start], ~3);
  EXPECT_EQ(view.bodies[model.internal_body[0]].loop_count, 0);
  // The anchor is one point, seen from both: the top of the rocker, the end of the coupler.
  EXPECT_NEAR(loop.p_PA.x, 1, 1e-12);
  EXPECT_NEAR(loop.p_PA.z, 0, 1e-12);
  EXPECT_NEAR(loop.p_CA.z, 1, 1e-12);
}

TEST(LoopJoints, dry_friction_and_bounded_drives_have_effort_rows_and_bounded_motors_none) {
  SceneSpec scene = four_bar();
  scene.joints[1].axes[0].friction_loss = 0.5;
  for (const ActuatorKind kind : {ActuatorKind::kMotor, ActuatorKind::kPosition}) {
    ActuatorSpec actuator;
    actuator.name = kind == ActuatorKind::kMotor ? "motor" : "servo";
    actuator.kind = kind;
    actuator.kp = kind == ActuatorKind::kMotor ? 0 : 10;
    actuator.effort_limited = true;
    actuator.effort_lower = -2, actuator.effort_upper = 3;
    scene.actuators.push_back(actuator);
  }
  const CompiledModel model = compiled(scene);
  const ModelView<double> view = model.arrays.view();
  ASSERT_EQ(view.effort_count, 2);
  int of_friction = 0;
  for (int e = 0; e < 2; ++e) of_friction += view.efforts[e].actuator < 0 && view.efforts[e].friction_loss == 0.5;
  EXPECT_EQ(of_friction, 1);
}

TEST(LoopJoints, a_compliant_weld_keeps_two_bodies_and_locks_six_directions) {
  SceneSpec scene;
  scene.bodies = {body("base", {0, 0, 0}), body("tip", {1, 0, 0})};
  scene.joints = {joint("base", JointKind::kFree, kWorldBody, 0), joint("weld", JointKind::kFixed, 0, 1)};
  EXPECT_EQ(compiled(scene).arrays.bodies.size(), 1u);
  scene.joints[1].lock_stiffness = 1e4, scene.joints[1].lock_damping = 5;
  const CompiledModel model = compiled(scene);
  ASSERT_EQ(model.arrays.bodies.size(), 2u);
  ASSERT_EQ(model.arrays.joints.size(), 1u);
  EXPECT_EQ(model.arrays.lock_count, 6);
  EXPECT_DOUBLE_EQ(model.arrays.joints[0].lock_stiffness, 1e4);
  EXPECT_DOUBLE_EQ(model.arrays.joints[0].lock_damping, 5);
}

TEST(LoopJoints, a_fixed_joint_that_closes_a_loop_stays_a_joint) {
  SceneSpec scene = four_bar();
  scene.joints[3] = joint("clamp", JointKind::kFixed, 1, 2);
  const CompiledModel model = compiled(scene);
  EXPECT_EQ(model.arrays.bodies.size(), 3u);
  EXPECT_EQ(model.arrays.lock_count, 3 * 5 + 6);
}

// A loop whose child is welded holds the body that the child became part of, at the same point of the world.
TEST(LoopJoints, a_loop_follows_its_child_into_a_weld) {
  SceneSpec scene = four_bar();
  scene.bodies.push_back(body("tip", {1, 0, 0.75}));
  scene.bodies[3].X_WB.rotation = {std::sqrt(0.5), 0, 0, std::sqrt(0.5)};  // its x is the world's y
  // First in the list, so that the order of joints does not make it the one that carries the rocker.
  JointSpec closure = joint("closure", JointKind::kAxes, 1, 3);
  closure.axes = {axis("closure", AxisKind::kHinge, {1, 0, 0})};
  closure.axes[0].anchor = {0, 0, 0.25};
  scene.joints = {joint("weld", JointKind::kFixed, 2, 3), closure, scene.joints[0], scene.joints[1], scene.joints[2]};
  const WeldedScene w = merged(scene);
  ASSERT_EQ(w.scene.joints.size(), 4u);
  EXPECT_EQ(w.scene.joints[0].name, "closure");
  EXPECT_EQ(w.closes_loop, (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(w.scene.joints[0].child, 2);
  expect_near(w.scene.joints[0].axes[0].anchor, {0, 0, 1});
  expect_near(w.scene.joints[0].axes[0].axis, {0, 1, 0});
  const CompiledModel model = compiled(scene);
  EXPECT_EQ(model.arrays.loop_count, 1);
  EXPECT_EQ(model.joint_of_scene[0], 3);
}

// As the document counts it: the lid is carried by its weld, so the hinge closes a loop and has no coordinate, also
// when the weld has left it the only joint of the two bodies.
TEST(LoopJoints, a_loop_stays_one_when_a_weld_takes_away_the_joint_that_carried_its_child) {
  SceneSpec scene;
  scene.bodies = {body("box", {0, 0, 0}), body("lid", {0, 0, 1}), body("door", {1, 0, 1})};
  scene.joints = {joint("weld", JointKind::kFixed, 0, 1), joint("hinge", JointKind::kAxes, 2, 1)};
  scene.joints[1].axes = {axis("hinge", AxisKind::kHinge, {0, 1, 0})};
  const WeldedScene w = merged(scene);
  EXPECT_EQ(w.closes_loop, (std::vector<bool>{true}));
  EXPECT_EQ(w.scene.joints[0].child, 0);
  const CompiledModel model = compiled(scene);
  EXPECT_EQ(model.arrays.loop_count, 1);
  EXPECT_EQ(model.arrays.bodies[model.internal_body[0]].joint, -1);
}

TEST(LoopJoints, a_loop_whose_child_became_part_of_the_world_is_turned_round) {
  SceneSpec scene = four_bar();
  scene.bodies.push_back(body("post", {1, 0, 2}));
  scene.joints[2] = joint("foundation", JointKind::kFixed, kWorldBody, 3);
  scene.joints[3] = joint("hang", JointKind::kAxes, 1, 2);
  scene.joints[3].axes = {axis("hang", AxisKind::kHinge, {0, 1, 0})};
  scene.joints.push_back(joint("closure", JointKind::kAxes, 2, 3));  // rocker (0, 0, 0) below the post
  scene.joints[4].axes = {axis("first", AxisKind::kHinge, {0, 1, 0}), axis("second", AxisKind::kHinge, {1, 0, 0})};
  scene.joints[4].axes[0].anchor = {0, 0, -1};
  scene.joints[4].axes[1].anchor = {0, 0, -2};
  const WeldedScene w = merged(scene);
  ASSERT_EQ(w.scene.joints.size(), 4u);
  const JointSpec& closure = w.scene.joints[3];
  EXPECT_EQ(closure.parent, kWorldBody);
  EXPECT_EQ(closure.child, 2);
  EXPECT_EQ(closure.axes[0].name, "second");
  expect_near(closure.axes[0].anchor, {0, 0, 0});
  expect_near(closure.axes[0].axis, {-1, 0, 0});
  expect_near(closure.axes[1].anchor, {0, 0, 1});
  expect_near(closure.axes[1].axis, {0, -1, 0});
  EXPECT_EQ(compiled(scene).arrays.loop_count, 1);
}

}  // namespace
}  // namespace axion::model::loop_joints_test
