// Files as MuJoCo 3.17 writes them, and what it allows that people do not write: they mean the same as what they were
// made from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "engine/model/compile.hpp"

namespace axion::import::mjcf_saved_test {
namespace {

using model::ActuatorKind;
using model::JointKind;
using model::kWorldBody;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ImportedScene imported(const std::string& xml, bool allow_unsupported = false) {
  ImportOptions options;
  options.allow_unsupported = allow_unsupported;
  Result<ImportedScene> result = import_mjcf(xml, options);
  if (!result.ok()) throw std::runtime_error(result.error().field + ": " + result.error().message + "\n" + xml);
  return std::move(result).value();
}

std::string refusal(const std::string& xml) {
  const Result<ImportedScene> result = import_mjcf(xml);
  return result.ok() ? "" : result.error().field + ": " + result.error().message;
}

std::string arm(const std::string& joint, const std::string& actuators = "", const std::string& before = "") {
  return "<mujoco><compiler angle='radian'/>" + before + "<worldbody><body name='arm'>" + joint +
         "<geom name='g' size='.1'/></body></worldbody><actuator>" + actuators + "</actuator></mujoco>";
}

model::CompiledModel compiled(const ImportedScene& scene) {
  Result<model::CompiledModel> result = model::compile(scene.scene);
  if (!result.ok()) throw std::runtime_error(result.error().field + ": " + result.error().message);
  return std::move(result).value();
}

TEST(SavedMjcf, general_actuators_are_the_short_forms_that_they_were_written_from) {
  const std::string joint = "<joint name='a' range='-1 2' limited='true'/>";
  const auto made = imported(arm(joint,
                                 "<motor joint='a' gear='3'/><position joint='a' kp='5' kv='1'/>"
                                 "<position joint='a' kp='5' inheritrange='1'/><velocity joint='a' kv='3'/>"));
  const auto saved = imported(arm(joint,
                                  "<general joint='a' gear='3'/>"
                                  "<general joint='a' input='pos' biastype='affine' gainprm='5' biasprm='0 -5 -1'/>"
                                  "<general joint='a' ctrlrange='-1 2' input='pos' biastype='affine' gainprm='5' "
                                  "biasprm='0 -5'/><general joint='a' input='vel' biastype='affine' gainprm='3' "
                                  "biasprm='0 0 -3' nsample='2' interp='linear'/>"));
  EXPECT_THAT(saved.warnings, IsEmpty());
  ASSERT_EQ(made.scene.actuators.size(), saved.scene.actuators.size());
  for (std::size_t i = 0; i < made.scene.actuators.size(); ++i) {
    const auto &a = made.scene.actuators[i], &b = saved.scene.actuators[i];
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.gear, b.gear);
    EXPECT_EQ(a.kp, b.kp);
    EXPECT_EQ(a.kd, b.kd);
    EXPECT_EQ(a.control_limited, b.control_limited);
    EXPECT_EQ(a.control_lower, b.control_lower);
    EXPECT_EQ(a.control_upper, b.control_upper);
  }
  EXPECT_THAT(refusal(arm(joint, "<general joint='a' input='voltage'/>")), HasSubstr("general.input"));
  EXPECT_THAT(refusal(arm(joint, "<motor joint='a' damping='.1 .2'/>")), HasSubstr("motor.damping"));
}

TEST(SavedMjcf, a_default_that_limits_joints_does_not_reach_a_free_joint) {
  const std::string limited = "<default><joint limited='true' range='-1 1'/></default>";
  const auto s = imported(arm("<joint type='free'/>", "", limited));
  EXPECT_EQ(s.scene.joints[0].kind, JointKind::kFree);
  EXPECT_THAT(s.warnings, IsEmpty());
  const auto ball = imported(arm("<joint type='ball' range='0 1'/>", "", limited));
  EXPECT_TRUE(ball.scene.joints[0].ball_limited);
}

TEST(SavedMjcf, defaults_of_actuators_that_no_drive_has_are_passed_over) {
  const std::string muscle =
      "<default><default class='m'><muscle force='10' timeconst='.01 .04'/></default>"
      "<default class='g'><general dyntype='muscle' gaintype='muscle' biastype='muscle' gainprm='.75 1.05 "
      "10'/></default>"
      "<default class='d'><damper kv='3'/><dcmotor/></default></default>";
  const std::string joint = "<joint name='a'/>";
  const auto s = imported(
      arm(joint, "<motor joint='a'/><motor joint='a' class='m'/><position joint='a' class='m' kp='2'/>", muscle));
  ASSERT_EQ(s.scene.actuators.size(), 3u);
  EXPECT_EQ(s.scene.actuators[1].kind, ActuatorKind::kMotor);
  EXPECT_EQ(s.scene.actuators[1].gear, 1);
  EXPECT_EQ(s.scene.actuators[2].kp, 2);
  EXPECT_THAT(refusal(arm(joint, "<general joint='a' class='m'/>", muscle)), HasSubstr("lengthrange"));
  EXPECT_THAT(refusal(arm(joint, "<position joint='a' class='d'/>", muscle)), HasSubstr("this kind of actuator"));
  EXPECT_THAT(refusal(arm(joint, "<general joint='a' class='g'/>", muscle)), HasSubstr("its law is neither"));
}

TEST(SavedMjcf, a_zero_quaternion_of_a_keyframe_is_no_rotation) {
  const auto s = imported(
      "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody>"
      "<keyframe><key qpos='1 2 3 0 0 0 0'/></keyframe></mujoco>");
  EXPECT_THAT(s.scene.keyframes[0].joint_position, ::testing::ElementsAre(1, 2, 3, 1, 0, 0, 0));
  ASSERT_EQ(s.warnings.size(), 1u);
  EXPECT_THAT(s.warnings[0], HasSubstr("zero quaternion at index 3"));
}

TEST(SavedMjcf, fromto_may_stand_beside_a_position_of_zero) {
  const auto geom = [](const std::string& pos) {
    return "<mujoco><worldbody><body><joint/><geom type='capsule' size='.1' fromto='0 0 1 0 0 2' " + pos +
           "/></body></worldbody></mujoco>";
  };
  EXPECT_EQ(imported(geom("pos='0 0 0'")).scene.shapes[0].X_BS.position[2], 1.5);
  EXPECT_THAT(refusal(geom("pos='0 0 .1'")), HasSubstr("given together with pos"));
}

TEST(SavedMjcf, numbers_beyond_the_greatest_are_that_where_more_would_change_nothing) {
  const auto s = imported(arm("<joint name='a' damping='1e11' frictionloss='3e9' armature='1e10' stiffness='2e9'/>"));
  const model::AxisSpec& axis = s.scene.joints[0].axes[0];
  for (const double number : {axis.damping, axis.friction_loss, axis.armature, axis.stiffness}) EXPECT_EQ(number, 1e9);
  EXPECT_EQ(s.warnings.size(), 4u);
  EXPECT_THAT(s.warnings[0], HasSubstr("taken as 1e9"));
}

TEST(SavedMjcf, attributes_that_describe_are_a_warning_and_misspelt_ones_an_error) {
  const auto s =
      imported(arm("<joint name='a' info='left' xml:id='7'/>", "", "<default><geom castshadow='false'/></default>"));
  EXPECT_EQ(s.warnings.size(), 2u);
  EXPECT_THAT(s.warnings[0], HasSubstr("cannot change the motion"));
  EXPECT_THAT(imported("<mujoco><compiler savecanonical='true' conflict='merge'/></mujoco>").warnings, IsEmpty());
  const std::string misspelt = arm("<joint name='a' dampening='1'/>");
  EXPECT_THAT(refusal(misspelt), HasSubstr("joint.dampening"));
  EXPECT_THAT(imported(misspelt, true).warnings, ::testing::ElementsAre(HasSubstr("dampening")));
}

TEST(SavedMjcf, the_geom_of_higher_priority_gives_the_friction_of_a_pair) {
  const auto friction = [](const std::string& floor, const std::string& ball) {
    const auto s = imported("<mujoco><worldbody><geom type='plane' size='1 1 1' " + floor +
                            "/><body><freejoint/><geom size='.1' " + ball + "/></body></worldbody></mujoco>");
    EXPECT_THAT(s.warnings, IsEmpty());
    return compiled(s).arrays.pairs.at(0).friction;
  };
  EXPECT_EQ(friction("friction='.9'", "friction='.1'"), .9);
  EXPECT_EQ(friction("friction='.9'", "friction='.1' priority='1'"), .1);
  EXPECT_EQ(friction("friction='.9' priority='2'", "friction='.1' priority='1'"), .9);
  EXPECT_EQ(friction("friction='.9' priority='-1'", "friction='.1'"), .1);
  EXPECT_EQ(friction("friction='.9' condim='1' priority='1'", "friction='.1'"), 0);
  EXPECT_EQ(friction("friction='.9' condim='1'", "friction='.1' priority='1'"), .1);
}

TEST(SavedMjcf, an_exclusion_is_between_the_bodies_that_it_names) {
  const auto s = imported(
      "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/><body name='base'><geom size='.1'/></body>"
      "<body name='a'><joint/><geom name='a' size='.1'/><body name='b'><geom name='b' size='.1'/></body></body>"
      "<body name='ball' pos='0 0 1'><freejoint/><geom name='ball' size='.1'/></body></worldbody>"
      "<contact><exclude body1='ball' body2='base'/><exclude body1='b' body2='ball'/></contact></mujoco>");
  EXPECT_THAT(s.warnings, IsEmpty());
  const model::CompiledModel model = compiled(s);
  std::vector<std::string> with_ball;
  for (const auto& pair : model.arrays.pairs) {
    const std::string a = s.scene.shapes[pair.shape_a].name, b = s.scene.shapes[pair.shape_b].name;
    if (a == "ball" || b == "ball") with_ball.push_back(a == "ball" ? b : a);
  }
  EXPECT_THAT(with_ball, ::testing::UnorderedElementsAre("floor", "a"));
}

// What the joints of a body are where one joint cannot be all of them.
TEST(SavedMjcf, joints_that_no_one_joint_can_be_become_a_chain) {
  const struct {
    const char* joints;
    std::vector<std::size_t> axes;  // of each joint of the chain; 0 for a ball
  } cases[] = {
      {"<joint name='a'/><joint name='b' pos='.3 0 0'/>", {1, 1}},
      {"<joint name='a'/><joint name='b' axis='1 0 0'/><joint name='c' axis='0 1 0'/><joint name='d'/>", {3, 1}},
      {"<joint name='a' type='slide'/><joint name='b'/><joint name='c' type='slide' axis='1 0 0'/>", {2, 1}},
      {"<joint name='a' type='ball'/><joint name='b' type='slide'/>", {0, 1}},
      {"<joint name='a' type='slide' axis='1 0 0'/><joint name='b' type='slide' axis='0 1 0'/>"
       "<joint name='c' type='slide'/><joint name='d' axis='1 0 0'/><joint name='e' axis='0 1 0'/><joint name='f'/>",
       {3, 3}}};
  for (const auto& c : cases) {
    const auto s =
        imported(std::string("<mujoco><worldbody><body name='base'><joint name='base'/><geom size='.1'/>"
                             "<body name='foot' pos='1 0 0'>") +
                 c.joints +
                 "<geom size='.1'/><body name='toe' pos='1 0 0'><joint name='toe'/><geom size='.1'/></body></body>"
                 "</body></worldbody><actuator><motor joint='b'/></actuator></mujoco>");
    ASSERT_EQ(s.scene.joints.size(), 2 + c.axes.size()) << c.joints;
    double mass = 0;
    int above = 0;
    for (std::size_t k = 0; k < c.axes.size(); ++k) {
      const model::JointSpec& joint = s.scene.joints[1 + k];
      EXPECT_EQ(joint.axes.size(), c.axes[k]) << c.joints;
      EXPECT_EQ(joint.parent, above);
      above = joint.child;
      mass += s.scene.bodies[joint.child].mass;
    }
    EXPECT_EQ(s.scene.bodies[above].name, "foot");
    EXPECT_EQ(s.scene.joints.back().parent, above);
    EXPECT_NEAR(mass, s.scene.bodies[0].mass, 1e-12);
    EXPECT_THAT(s.warnings, ::testing::ElementsAre(HasSubstr("1e-4 of its mass")));
    const model::ActuatorSpec& motor = s.scene.actuators[0];
    EXPECT_EQ(s.scene.joints[motor.joint].axes[motor.axis].name, "b");
    // Base and foot stay apart, as parent and child do; base and toe may touch.
    EXPECT_EQ(compiled(s).arrays.pairs.size(), 1u) << c.joints;
  }
  // What is welded to either end is kept apart as well; of a base that cannot move nothing is.
  const std::string chain =
      "<body name='foot' pos='1 0 0'><joint name='a'/><joint name='b' pos='.3 0 0'/><geom size='.1'/>"
      "<body name='sole'><geom size='.1'/></body></body>";
  const std::string base = "<geom size='.1'/><body name='plate'><geom size='.1'/></body>" + chain + "</body>";
  const auto pairs = [&](const std::string& joint) {
    return compiled(imported("<mujoco><worldbody><body name='base'>" + joint + base + "</worldbody></mujoco>"))
        .arrays.pairs.size();
  };
  EXPECT_EQ(pairs("<joint name='base'/>"), 0u);
  EXPECT_EQ(pairs(""), 4u);
  EXPECT_THAT(refusal("<mujoco><worldbody><body><joint/><freejoint/><geom size='.1'/></body></worldbody></mujoco>"),
              HasSubstr("only one"));
}

// Places and names are those that MuJoCo 3.17 gives.
TEST(SavedMjcf, frames_move_what_they_contain) {
  const auto s = imported(
      "<mujoco><default><default class='a'><geom size='.3'/></default></default><worldbody>"
      "<frame pos='1 2 3' euler='0 0 90' childclass='a'><body name='b' pos='1 0 0'><frame euler='90 0 0' pos='0 0 1'>"
      "<joint name='j' pos='.1 .2 .3' axis='0 0 1'/><geom pos='0 1 0'/>"
      "<geom type='capsule' size='.1' fromto='0 0 0 0 0 1'/></frame></body></frame></worldbody></mujoco>");
  using ::testing::DoubleNear;
  using ::testing::Pointwise;
  const model::BodySpec& body = s.scene.bodies.at(0);
  EXPECT_THAT(body.X_WB.position, Pointwise(DoubleNear(1e-9), {1., 3., 3.}));
  EXPECT_THAT(s.scene.joints[0].axes[0].anchor, Pointwise(DoubleNear(1e-9), {.1, -.3, 1.2}));
  EXPECT_THAT(s.scene.joints[0].axes[0].axis, Pointwise(DoubleNear(1e-9), {0., -1., 0.}));
  EXPECT_THAT(s.scene.shapes[0].X_BS.position, Pointwise(DoubleNear(1e-9), {0., 0., 2.}));
  EXPECT_EQ(s.scene.shapes[0].size[0], .3);
  EXPECT_THAT(s.scene.shapes[1].X_BS.position, Pointwise(DoubleNear(1e-9), {0., -.5, 1.}));
  EXPECT_THAT(refusal("<mujoco><worldbody><frame><joint/></frame></worldbody></mujoco>"),
              HasSubstr("is not an element"));
  EXPECT_THAT(
      refusal("<mujoco><worldbody><body><frame><inertial pos='0 0 0' mass='1'/></frame></body></worldbody></mujoco>"),
      HasSubstr("is not an element"));
}

TEST(SavedMjcf, replicates_are_copies_each_moved_from_the_last) {
  const auto s = imported(
      "<mujoco><worldbody><replicate count='3' offset='1 0 0' euler='0 0 90' sep='-'><body name='b' pos='0 1 0'>"
      "<joint name='j'/><geom name='g' size='.1' pos='.1 0 0'/></body></replicate>"
      "<replicate count='11' offset='.1 0 0'><geom name='h' size='.01'/></replicate>"
      "<replicate count='2' offset='1 0 0'><replicate count='2' offset='0 1 0' sep='_'><geom name='n' size='.1'/>"
      "</replicate></replicate></worldbody></mujoco>");
  using ::testing::DoubleNear;
  using ::testing::Pointwise;
  ASSERT_EQ(s.scene.bodies.size(), 3u);
  EXPECT_EQ(s.scene.bodies[2].name, "b-2");
  EXPECT_THAT(s.scene.bodies[1].X_WB.position, Pointwise(DoubleNear(1e-9), {0., 0., 0.}));
  EXPECT_THAT(s.scene.bodies[2].X_WB.position, Pointwise(DoubleNear(1e-9), {1., 0., 0.}));
  EXPECT_NEAR(s.scene.bodies[2].X_WB.rotation[3], 1, 1e-9);
  EXPECT_EQ(s.scene.joints[1].axes[0].name, "j-1");
  ASSERT_EQ(s.scene.shapes.size(), 11u + 4 + 3);
  EXPECT_EQ(s.scene.shapes[3].name, "h03");
  EXPECT_NEAR(s.scene.shapes[10].X_BS.position[0], 1, 1e-9);
  EXPECT_EQ(s.scene.shapes[12].name, "n_10");
  EXPECT_THAT(s.scene.shapes[12].X_BS.position, Pointwise(DoubleNear(1e-9), {0., 1., 0.}));
  EXPECT_EQ(s.scene.shapes[13].name, "n_01");
  std::string many = "<geom size='.1' contype='0' conaffinity='0'/>";
  for (int i = 0; i < 5; ++i) many = "<replicate count='16384'>" + many + "</replicate>";
  EXPECT_THAT(refusal("<mujoco><worldbody><body><joint/>" + many + "</body></worldbody></mujoco>"),
              HasSubstr("too many"));
  std::string nothing;
  for (int i = 0; i < 5; ++i) nothing = "<replicate count='16384'>" + nothing + "</replicate>";
  EXPECT_THAT(refusal("<mujoco><worldbody>" + nothing + "</worldbody></mujoco>"), HasSubstr("too many copies"));
  EXPECT_THAT(refusal("<mujoco><worldbody><replicate count='0'/></worldbody></mujoco>"), HasSubstr("replicate.count"));
}

TEST(SavedMjcf, drives_inherit_ranges_and_take_damping_ratios) {
  const auto two = [](const std::string& actuators) {
    return "<mujoco><worldbody><body name='p'><joint name='a' range='-60 90' armature='.1'/><geom size='.1' pos='.5 0 "
           "0' "
           "mass='2'/><body pos='1 0 0'><joint name='b' axis='0 1 0'/><geom type='box' size='.1 .2 .3' "
           "mass='3'/></body>"
           "</body></worldbody><actuator>" +
           actuators + "</actuator></mujoco>";
  };
  const auto s =
      imported(two("<position joint='a' kp='10' inheritrange='.5'/><position joint='a' kp='10' dampratio='1'/>"
                   "<position joint='a' kp='10' dampratio='.5' gear='2'/><position joint='b' kp='7' dampratio='2'/>"
                   "<general joint='b' gainprm='7' biastype='affine' biasprm='0 -7 2'/>"));
  const auto& u = s.scene.actuators;
  ASSERT_EQ(u.size(), 5u);
  EXPECT_TRUE(u[0].control_limited);
  EXPECT_NEAR(u[0].control_lower, -0.39269908, 1e-8);
  EXPECT_NEAR(u[0].control_upper, 0.91629786, 1e-8);
  EXPECT_FALSE(u[1].control_limited);
  EXPECT_NEAR(u[1].kd, 12.09628042, 1e-8);
  EXPECT_NEAR(u[2].kd, 3.02407011, 1e-8);
  EXPECT_NEAR(u[3].kd, 3.34664011, 1e-8);
  EXPECT_NEAR(u[4].kd, 3.34664011, 1e-8);
  EXPECT_THAT(refusal(two("<position joint='a' inheritrange='1' ctrlrange='0 1'/>")), HasSubstr("position.ctrlrange"));
  EXPECT_THAT(refusal(two("<position joint='b' inheritrange='1'/>")), HasSubstr("has a range"));
  EXPECT_THAT(refusal(two("<position joint='b' kv='1' dampratio='1'/>")), HasSubstr("together with kv"));
}

TEST(SavedMjcf, an_include_beside_the_file_is_found_by_its_name) {
  ImportOptions options;
  options.assets["common/arm.xml"] = arm("<joint name='a'/>");
  EXPECT_TRUE(import_mjcf("<mujoco><include file='./common/arm.xml'/></mujoco>", options).ok());
  EXPECT_FALSE(import_mjcf("<mujoco><include file='./arm.xml'/></mujoco>", options).ok());
}

TEST(SavedMjcf, the_force_range_of_a_joint_is_that_of_its_actuator) {
  const std::string joint = "<joint name='a' actuatorfrcrange='-3 5'/>";
  const auto limits = [&](const std::string& actuators) {
    const auto s = imported(arm(joint, actuators));
    const model::ActuatorSpec& u = s.scene.actuators.at(0);
    EXPECT_TRUE(u.effort_limited);
    return std::pair{u.effort_lower * u.gear, u.effort_upper * u.gear};
  };
  EXPECT_EQ(limits("<motor joint='a' gear='2'/>"), (std::pair{-3., 5.}));
  EXPECT_EQ(limits("<motor joint='a' gear='-2'/>"), (std::pair{5., -3.}));
  EXPECT_EQ(limits("<position joint='a' kp='9' forcerange='-1 10'/>"), (std::pair{-1., 5.}));
  EXPECT_THAT(imported(arm(joint)).warnings, IsEmpty());
  EXPECT_THAT(
      imported(arm("<joint name='a' actuatorfrcrange='-3 5' actuatorfrclimited='false'/>", "<motor joint='a'/>"))
          .scene.actuators[0]
          .effort_limited,
      false);
  EXPECT_THAT(refusal(arm(joint, "<motor joint='a'/><position joint='a'/>")), HasSubstr("together"));
  EXPECT_THAT(refusal(arm(joint, "<motor joint='a' forcerange='7 9'/>")), HasSubstr("no range of forces"));
}

}  // namespace
}  // namespace axion::import::mjcf_saved_test
