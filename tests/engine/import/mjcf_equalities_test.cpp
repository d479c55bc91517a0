// What becomes of the <equality> section.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "engine/import/mjcf.hpp"
#include "engine/model/compile.hpp"
#include "engine/model/loop_joints.hpp"

namespace axion::import::mjcf_equalities_test {
namespace {

using model::JointKind;
using model::JointSpec;
using ::testing::HasSubstr;

// A four-bar but for its last joint: a crank and a rocker on the ground, a coupler on the crank, all 1 m long, the
// rocker turned by 90 degrees about y; besides a free ball. Keyframes have the coordinates of three hinges and the
// ball.
std::string linkage(const std::string& equality, const std::string& before = "") {
  return "<mujoco>" + before + R"(<worldbody>
  <body name="crank"><joint name="crank" axis="0 1 0"/><geom name="rod" size=".1" contype="0"/>
    <body name="coupler" pos="0 0 1"><joint name="coupler" axis="0 1 0"/><geom size=".1" contype="0"/></body></body>
  <body name="rocker" pos="1 0 0" euler="0 90 0"><joint name="rocker" axis="0 1 0"/><geom size=".1" contype="0"/></body>
  <body name="ball" pos="0 5 0"><freejoint/><geom size=".1"/></body>
  <body name="post" pos="0 0 3"><geom size=".1"/></body>
</worldbody><equality>)" +
         equality + R"(</equality><keyframe><key qpos="1 2 3 0 5 0 1 0 0 0"/></keyframe></mujoco>)";
}

ImportedScene imported(const std::string& xml, bool allow_unsupported = false) {
  ImportOptions options;
  options.allow_unsupported = allow_unsupported;
  Result<ImportedScene> result = import_mjcf(xml, options);
  EXPECT_TRUE(result.ok()) << result.error().field << ": " << result.error().message << "\n" << xml;
  return result.ok() ? std::move(result).value() : ImportedScene{};
}

// The joint that the only equality became.
JointSpec loop_of(const std::string& equality) {
  const ImportedScene s = imported(linkage(equality));
  const std::vector<bool> loops = model::find_loop_joints(s.scene);
  EXPECT_EQ(std::count(loops.begin(), loops.end(), true), 1) << equality;
  EXPECT_TRUE(!loops.empty() && loops.back()) << equality;
  const Result<model::CompiledModel> compiled = model::compile(s.scene);
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
  return s.scene.joints.empty() ? JointSpec{} : s.scene.joints.back();
}

void expect_near(const model::Vec3d& a, const model::Vec3d& b) {
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], 1e-9) << "component " << i;
}

void expect_refused(const std::string& equality, const std::string& field, const std::string& part) {
  const Result<ImportedScene> result = import_mjcf(linkage(equality));
  ASSERT_FALSE(result.ok()) << equality << " was accepted";
  EXPECT_EQ(result.error().field, field) << result.error().message;
  EXPECT_THAT(result.error().message, HasSubstr(part));
}

TEST(MjcfEqualities, a_connect_is_a_ball_at_its_anchor_in_the_first_body) {
  const JointSpec joint = loop_of("<connect name='pin' body1='rocker' body2='coupler' anchor='-1 0 0'/>");
  EXPECT_EQ(joint.name, "pin");
  EXPECT_EQ(joint.kind, JointKind::kBall);
  EXPECT_EQ(joint.child, 2);
  EXPECT_EQ(joint.parent, 1);
  expect_near(joint.anchor, {-1, 0, 0});
}

TEST(MjcfEqualities, the_world_is_the_parent_and_a_free_body_may_be_the_child) {
  const JointSpec free = loop_of("<connect body1='ball' body2='rocker' anchor='0 .5 0'/>");
  EXPECT_EQ(free.name, "connect0");
  EXPECT_EQ(free.child, 3);
  EXPECT_EQ(free.parent, 2);
  expect_near(free.anchor, {0, 0.5, 0});
  EXPECT_EQ(loop_of("<connect body1='ball' anchor='0 0 0'/>").parent, model::kWorldBody);
  const JointSpec world = loop_of("<connect body1='world' body2='rocker' anchor='1 0 2'/>");
  EXPECT_EQ(world.child, 2);
  EXPECT_EQ(world.parent, model::kWorldBody);
  expect_near(world.anchor, {-2, 0, 0});
  EXPECT_EQ(loop_of("<connect body1='rocker' anchor='1 0 2'/>").parent, model::kWorldBody);
}

TEST(MjcfEqualities, a_weld_is_a_fixed_joint_at_its_anchor_in_the_second_body) {
  const JointSpec joint = loop_of("<weld body1='coupler' body2='rocker' anchor='0 0 .5'/>");
  EXPECT_EQ(joint.kind, JointKind::kFixed);
  EXPECT_EQ(joint.name, "weld0");
  EXPECT_EQ(joint.child, 2);
  expect_near(joint.anchor, {0, 0, 0.5});
}

TEST(MjcfEqualities, a_relative_pose_is_held_where_it_is_not_that_of_the_reference_configuration) {
  EXPECT_FALSE(loop_of("<weld body1='coupler' body2='rocker' relpose='1 0 -1 .70710678 0 .70710678 0'/>").holds_pose);
  EXPECT_FALSE(loop_of("<weld body1='coupler' body2='rocker' relpose='7 7 7 0 0 0 0'/>").holds_pose);
  const JointSpec moved = loop_of("<weld body1='coupler' body2='rocker' relpose='1 0 -1.01 .70710678 0 .70710678 0'/>");
  EXPECT_TRUE(moved.holds_pose);
  expect_near(moved.X_PC.position, {1, 0, -1.01});
  const JointSpec turned = loop_of("<weld body1='coupler' body2='rocker' relpose='1 0 -1 2 0 0 0'/>");
  EXPECT_TRUE(turned.holds_pose);
  EXPECT_NEAR(turned.X_PC.rotation[0], 1, 1e-9);
  // With the world as its second body the joint is turned round.
  const JointSpec world = loop_of("<weld body1='ball' body2='world' relpose='0 -5 -1 1 0 0 0'/>");
  expect_near(world.X_PC.position, {0, 5, 1});
}

TEST(MjcfEqualities, a_weld_without_torque_is_a_connect) {
  EXPECT_EQ(loop_of("<weld body1='coupler' body2='rocker' torquescale='0'/>").kind, JointKind::kBall);
  EXPECT_EQ(loop_of("<weld body1='coupler' body2='rocker'/>").kind, JointKind::kFixed);
}

TEST(MjcfEqualities, those_that_are_inactive_or_switched_off_are_left_out) {
  for (const std::string& xml : {linkage("<connect body1='rocker' body2='coupler' anchor='0 0 0' active='false'/>"),
                                 linkage("<connect body1='rocker' body2='coupler' anchor='0 0 0'/>",
                                         "<default><equality active='false'/></default>"),
                                 linkage("<connect body1='rocker' body2='coupler' anchor='0 0 0'/>",
                                         "<option><flag equality='disable'/></option>"),
                                 linkage("<joint joint1='crank' active='false'/>")}) {
    const ImportedScene s = imported(xml);
    EXPECT_EQ(s.scene.joints.size(), 5u) << xml;
  }
  EXPECT_THAT(imported(linkage("<joint joint1='crank' active='false'/>")).warnings.at(0), HasSubstr("inactive"));
}

TEST(MjcfEqualities, a_coordinate_follows_another_from_the_reference_configuration) {
  const std::string joints = R"(<mujoco><worldbody>
    <body><joint name="a" ref="30"/><geom size=".1"/></body>
    <body pos="1 0 0"><joint name="b" type="slide" ref=".5"/><joint name="c" axis="0 1 0"/><geom size=".1"/></body>
  </worldbody>)";
  const ImportedScene s = imported(joints + R"(<tendon><fixed name="t"><joint joint="a" coef="2"/>
    <joint joint="b" coef="-1"/><joint joint="c" coef="0"/></fixed></tendon><equality>
    <joint name="e" joint1="a" joint2="b" polycoef=".1 2 3 4 5"/><joint joint1="b" polycoef=".2"/>
    <joint joint1="c" joint2="a"/><tendon tendon1="t"/></equality></mujoco>)");
  ASSERT_EQ(s.scene.equalities.size(), 4u);
  const auto value = [](const model::EqualitySpec& e, double x) {
    double sum = 0;
    for (int k = 4; k >= 0; --k) sum = sum * x + e.polynomial[k];
    return sum;
  };
  const double a0 = std::acos(-1) / 6, b0 = 0.5;
  EXPECT_EQ(s.scene.equalities[0].name, "e");
  EXPECT_EQ(s.scene.equalities[0].first.joint, 0);
  EXPECT_EQ(s.scene.equalities[0].second.joint, 1);
  for (const double b : {-1.0, 0.5, 0.9}) {
    const double d = b - b0;
    EXPECT_NEAR(value(s.scene.equalities[0], b), a0 + 0.1 + 2 * d + 3 * d * d + 4 * d * d * d + 5 * d * d * d * d,
                1e-12);
  }
  EXPECT_FALSE(s.scene.equalities[1].has_second);
  EXPECT_NEAR(s.scene.equalities[1].polynomial[0], b0 + 0.2, 1e-15);
  EXPECT_EQ(s.scene.equalities[2].first.axis, 1);
  EXPECT_NEAR(value(s.scene.equalities[2], 0.7), 0.7 - a0, 1e-15);
  ASSERT_EQ(s.scene.tendons.size(), 1u);
  ASSERT_EQ(s.scene.tendons[0].terms.size(), 2u);
  EXPECT_EQ(s.scene.equalities[3].first.tendon, 0);
  EXPECT_NEAR(s.scene.equalities[3].polynomial[0], 2 * a0 - b0, 1e-15);
  EXPECT_TRUE(model::compile(s.scene).ok());
}

TEST(MjcfEqualities, what_a_loop_joint_cannot_be_is_refused_with_the_reason) {
  expect_refused("<joint joint1='crank' joint2='rocket'/>", "joint.joint2", "does not exist");
  expect_refused("<joint joint2='rocker'/>", "joint.joint1", "required");
  expect_refused("<joint joint1='crank' joint2='crank'/>", "joint", "another coordinate");
  expect_refused("<tendon tendon1='t'/>", "tendon.tendon1", "does not exist");
  expect_refused("<flex flex='f'/>", "flex", "rigid");
  expect_refused("<connect site1='a' site2='b'/>", "connect.site1", "does not exist");
  expect_refused("<connect body1='rocker' body2='coupler'/>", "connect.anchor", "required");
  expect_refused("<connect body2='coupler' anchor='0 0 0'/>", "connect.body1", "required");
  expect_refused("<connect body1='rocker' body2='cupler' anchor='0 0 0'/>", "connect.body2", "does not exist");
  expect_refused("<connect body1='rocker' body2='rocker' anchor='0 0 0'/>", "connect.body2", "another body");
  expect_refused("<connect body1='rocker' body2='coupler' anchor='0 0'/>", "connect.anchor", "0 0");
  expect_refused("<connect body1='rocker' body2='coupler' anchor='0 0 0' anker='1'/>", "connect.anker", "attribute");
  expect_refused(
      "<connect name='a' body1='rocker' body2='coupler' anchor='0 0 0'/><weld name='a' body1='rocker' body2='crank'/>",
      "weld.name", "second time");
  const ImportedScene allowed = imported(linkage("<flex flex='f'/>"), true);
  EXPECT_THAT(allowed.warnings.at(0), HasSubstr("left out"));
}

TEST(MjcfEqualities, what_is_understood_in_part_is_a_warning) {
  const auto warning = [](const std::string& equality) {
    const ImportedScene s = imported(linkage(equality));
    return s.warnings.empty() ? std::string("no warning") : s.warnings.front();
  };
  EXPECT_THAT(warning("<weld body1='post' body2='world'/>"), HasSubstr("no effect"));
  EXPECT_THAT(warning("<connect body1='rocker' body2='ball' anchor='0 0 0'/>"), HasSubstr("do not collide"));
  EXPECT_EQ(warning("<connect body1='rocker' body2='coupler' anchor='0 0 0'/>"), "no warning");
}

TEST(MjcfEqualities, say_how_soft_they_are) {
  const JointSpec weld =
      loop_of("<weld body1='rocker' body2='coupler' torquescale='5' solref='.1 .5' solimp='.5 .6'/>");
  EXPECT_TRUE(weld.is_soft);
  EXPECT_EQ(weld.turn_weight, 5);
  EXPECT_EQ(weld.softness.solref, (std::array<double, 2>{0.1, 0.5}));
  EXPECT_EQ(weld.softness.solimp, (std::array<double, 5>{0.5, 0.6, 0.001, 0.5, 2}));
  const ImportedScene s = imported(linkage("<joint joint1='crank' joint2='rocker' solref='-100 -2'/>"));
  EXPECT_TRUE(s.scene.equalities.at(0).is_soft);
  EXPECT_EQ(s.scene.equalities.at(0).softness.solref, (std::array<double, 2>{-100, -2}));
}

TEST(MjcfEqualities, names_of_equalities_do_not_rename_joints) {
  const ImportedScene s =
      imported(linkage("<connect name='crank' body1='rocker' body2='coupler' anchor='0 0 0'/>"
                       "<connect body1='rocker' body2='crank' anchor='0 0 0'/>"));
  ASSERT_EQ(s.scene.joints.size(), 7u);
  EXPECT_EQ(s.scene.joints[0].name, "crank");
  EXPECT_EQ(s.scene.joints[5].name, "crank_");
  EXPECT_EQ(s.scene.joints[6].name, "connect1");
}

}  // namespace
}  // namespace axion::import::mjcf_equalities_test
