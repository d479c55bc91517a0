#include "engine/import/mjcf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/support/published_model.hpp"

namespace axion::import::mjcf_test {
namespace {

using model::ActuatorKind;
using model::JointKind;
using model::kWorldBody;
using ::testing::HasSubstr;

constexpr double kDegree = 3.14159265358979323846 / 180;

ImportedScene imported(const std::string& xml, const ImportOptions& options = {}) {
  Result<ImportedScene> result = import_mjcf(xml, options);
  EXPECT_TRUE(result.ok()) << result.error().field << ": " << result.error().message << "\n" << xml;
  return result.ok() ? std::move(result).value() : ImportedScene{};
}

// A body on a hinge, with room for more of the document before and after it.
std::string arm(const std::string& joint = "<joint name='j'/>", const std::string& after = "",
                const std::string& before = "", const std::string& geom = "<geom name='g' size='.1'/>") {
  return "<mujoco>" + before + "<worldbody><body name='arm'>" + joint + geom + "</body></worldbody>" + after +
         "</mujoco>";
}

::testing::AssertionResult is_refused(const std::string& xml, const std::string& field, const std::string& piece) {
  const Result<ImportedScene> result = import_mjcf(xml);
  if (result.ok()) return ::testing::AssertionFailure() << "was accepted: " << xml;
  const Error& error = result.error();
  if (error.field != field || error.message.find(piece) == std::string::npos) {
    return ::testing::AssertionFailure() << "field \"" << error.field << "\", message: " << error.message;
  }
  return ::testing::AssertionSuccess();
}

class PublishedModel : public ::testing::TestWithParam<const char*> {};

TEST_P(PublishedModel, loads_without_error) {
  const std::string text = testing::published_model(GetParam());
  if (text.empty()) GTEST_SKIP() << GetParam() << " is not in " << AXION_MODELS_DIR;
  const ImportedScene scene = imported(text);
  EXPECT_FALSE(scene.scene.bodies.empty());
  for (const std::string& warning : scene.warnings) EXPECT_THAT(warning, HasSubstr("line "));
}

INSTANTIATE_TEST_SUITE_P(Mjcf, PublishedModel,
                         ::testing::Values("humanoid.xml", "humanoid_warp_benchmark.xml", "ant.xml", "hopper.xml",
                                           "half_cheetah.xml", "walker2d.xml"),
                         [](const auto& param) {
                           std::string name = param.param;
                           return name.substr(0, name.find('.'));
                         });

TEST(Mjcf, the_joints_of_a_body_become_one_joint_with_their_axes_in_order) {
  const ImportedScene s =
      imported(arm("<joint name='x' type='slide' axis='1 0 0'/>"
                   "<joint name='z' type='slide' axis='0 0 1' range='-1 2'/>"
                   "<joint name='y' axis='0 2 0' range='-90 45' ref='10' springref='20'/>"));
  ASSERT_EQ(s.scene.joints.size(), 1u);
  const model::JointSpec& joint = s.scene.joints[0];
  EXPECT_EQ(joint.name, "x+z+y");
  EXPECT_EQ(joint.kind, JointKind::kAxes);
  ASSERT_EQ(joint.axes.size(), 3u);
  EXPECT_EQ(joint.axes[0].kind, model::AxisKind::kSlide);
  EXPECT_DOUBLE_EQ(joint.axes[1].upper, 2);
  EXPECT_EQ(joint.axes[2].kind, model::AxisKind::kHinge);
  EXPECT_EQ(joint.axes[2].axis, (model::Vec3d{0, 1, 0}));
  EXPECT_DOUBLE_EQ(joint.axes[2].lower, -90 * kDegree);
  EXPECT_DOUBLE_EQ(joint.axes[2].reference, 10 * kDegree);
  EXPECT_DOUBLE_EQ(joint.axes[2].initial_position, 10 * kDegree);
  EXPECT_DOUBLE_EQ(joint.axes[2].spring_reference, 20 * kDegree);
  EXPECT_TRUE(joint.axes[2].limited);
  EXPECT_FALSE(joint.axes[0].limited);
}

TEST(Mjcf, a_body_without_a_joint_is_fixed_to_its_parent) {
  const ImportedScene s = imported(
      "<mujoco><worldbody><body><geom size='.1'/><body><geom size='.1'/></body></body>"
      "<body><freejoint/><geom size='.1'/></body></worldbody></mujoco>");
  ASSERT_EQ(s.scene.joints.size(), 3u);
  EXPECT_EQ(s.scene.joints[0].kind, JointKind::kFixed);
  EXPECT_EQ(s.scene.joints[0].parent, kWorldBody);
  EXPECT_EQ(s.scene.joints[1].kind, JointKind::kFixed);
  EXPECT_EQ(s.scene.joints[1].parent, 0);
  EXPECT_EQ(s.scene.joints[2].kind, JointKind::kFree);
}

TEST(Mjcf, unnamed_things_get_names_that_nothing_else_has) {
  const ImportedScene s = imported(
      "<mujoco><worldbody><geom type='plane' size='1 1 1'/>"
      "<body><joint/><geom size='.1'/></body>"
      "<body name='body0'><joint/><joint axis='1 0 0'/><geom name='geom1' size='.1'/></body>"
      "</worldbody></mujoco>");
  EXPECT_EQ(s.scene.bodies[0].name, "body0_");
  EXPECT_EQ(s.scene.bodies[1].name, "body0");
  EXPECT_EQ(s.scene.shapes[0].name, "geom0");
  EXPECT_EQ(s.scene.shapes[1].name, "geom1_");
  EXPECT_EQ(s.scene.joints[0].name, "joint0");
  EXPECT_EQ(s.scene.joints[1].name, "joint1+joint2");
}

TEST(Mjcf, included_files_are_spliced_in_where_they_are_named) {
  ImportOptions options;
  options.assets["parts/legs.xml"] =
      "<mujocoinclude><body name='leg'><joint/><include file='foot.xml'/></body>"
      "</mujocoinclude>";
  options.assets["foot.xml"] = "<x><geom name='foot' size='.1'/></x>";
  const ImportedScene s = imported("<mujoco><worldbody><include file='parts/legs.xml'/></worldbody></mujoco>", options);
  ASSERT_EQ(s.scene.bodies.size(), 1u);
  EXPECT_EQ(s.scene.bodies[0].name, "leg");
  EXPECT_EQ(s.scene.shapes[0].name, "foot");
}

TEST(Mjcf, errors_in_included_files_name_the_file_and_its_line) {
  ImportOptions options;
  options.assets["legs.xml"] = "<x>\n<body><joint/>\n<geom size='-1'/></body></x>";
  const Result<ImportedScene> result =
      import_mjcf("<mujoco><worldbody><include file='legs.xml'/></worldbody></mujoco>", options);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().field, "geom.size");
  EXPECT_THAT(result.error().message, HasSubstr("line 3 of legs.xml"));
  EXPECT_THAT(result.error().message, HasSubstr("\"-1\""));
}

TEST(Mjcf, the_three_affine_laws_of_a_general_actuator_are_recognised) {
  const auto law = [](const std::string& attributes) {
    return imported(arm("<joint name='j'/>", "<actuator><general joint='j' gear='2' " + attributes + "/></actuator>"))
        .scene.actuators.at(0);
  };
  EXPECT_EQ(law("gainprm='3'").kind, ActuatorKind::kMotor);
  EXPECT_DOUBLE_EQ(law("gainprm='3'").gear, 6);
  EXPECT_EQ(law("gainprm='3' biastype='affine' biasprm='0 -3 -.5'").kind, ActuatorKind::kPosition);
  EXPECT_DOUBLE_EQ(law("gainprm='3' biastype='affine' biasprm='0 -3 -.5'").kp, 3);
  EXPECT_DOUBLE_EQ(law("gainprm='3' biastype='affine' biasprm='0 -3 -.5'").kd, 0.5);
  EXPECT_EQ(law("gainprm='3' biastype='affine' biasprm='0 0 -3'").kind, ActuatorKind::kVelocity);
  const model::ActuatorSpec other_gain = law("gainprm='3' biastype='affine' biasprm='1 -2 -.5'");
  EXPECT_EQ(other_gain.kind, ActuatorKind::kPosition);
  EXPECT_DOUBLE_EQ(other_gain.kp, 2);
  EXPECT_DOUBLE_EQ(other_gain.kd, 0.5);
  EXPECT_DOUBLE_EQ(other_gain.control_gain, 1.5);
  EXPECT_DOUBLE_EQ(other_gain.control_offset, 0.5);
  const model::ActuatorSpec pushes = law("gainprm='3 7' biastype='affine' biasprm='4 2 -1'");
  EXPECT_EQ(pushes.kind, ActuatorKind::kAffine);
  EXPECT_EQ(pushes.gain, (std::array<double, 3>{3, 0, 0}));
  EXPECT_EQ(pushes.bias, (std::array<double, 3>{4, 2, -1}));
  EXPECT_EQ(law("gaintype='affine' gainprm='3 7'").gain, (std::array<double, 3>{3, 7, 0}));
  for (const char* other : {"biastype='user'", "dyntype='user'", "gaintype='muscle' biastype='affine'"}) {
    EXPECT_TRUE(
        is_refused(arm("<joint name='j'/>", std::string("<actuator><general joint='j' ") + other + "/></actuator>"),
                   "general", "not supported"));
  }
}

TEST(Mjcf, a_position_class_keeps_its_gains) {
  const ImportedScene s = imported(arm("<joint name='j'/>", "<actuator><position joint='j'/></actuator>",
                                       "<default><position kp='50' kv='2' ctrlrange='-1 1'/></default>"));
  EXPECT_EQ(s.scene.actuators[0].kind, ActuatorKind::kPosition);
  EXPECT_DOUBLE_EQ(s.scene.actuators[0].kp, 50);
  EXPECT_DOUBLE_EQ(s.scene.actuators[0].kd, 2);
  EXPECT_TRUE(s.scene.actuators[0].control_limited);
}

TEST(Mjcf, the_force_range_of_an_actuator_bounds_its_effort_before_gear) {
  const auto actuator = [](const std::string& attributes, const std::string& before = "") {
    return imported(arm("<joint name='j'/>", "<actuator><" + attributes + "/></actuator>", before))
        .scene.actuators.at(0);
  };
  const model::ActuatorSpec motor = actuator("motor joint='j' gear='5' ctrlrange='-1 2' forcerange='-3 .5'");
  EXPECT_DOUBLE_EQ(motor.control_lower, -1);
  EXPECT_DOUBLE_EQ(motor.control_upper, 2);
  EXPECT_TRUE(motor.effort_limited);
  EXPECT_DOUBLE_EQ(motor.effort_lower, -3);
  EXPECT_DOUBLE_EQ(motor.effort_upper, 0.5);
  const model::ActuatorSpec servo = actuator("position joint='j' kp='50' gear='2' forcerange='-4 4'");
  EXPECT_TRUE(servo.effort_limited);
  EXPECT_DOUBLE_EQ(servo.effort_upper, 4);
  // The gain of a general motor becomes part of its gear.
  const model::ActuatorSpec general = actuator("general joint='j' gear='2' gainprm='-4' forcerange='-8 2'");
  EXPECT_DOUBLE_EQ(general.gear, -8);
  EXPECT_DOUBLE_EQ(general.effort_lower, -0.5);
  EXPECT_DOUBLE_EQ(general.effort_upper, 2);
  EXPECT_FALSE(actuator("motor joint='j' forcerange='-3 3' forcelimited='false'").effort_limited);
  EXPECT_FALSE(actuator("motor joint='j'").effort_limited);
  const std::string manual = "<compiler autolimits='false'/>";
  EXPECT_TRUE(actuator("motor joint='j' forcerange='-3 3' forcelimited='true'", manual).effort_limited);
  EXPECT_TRUE(is_refused(arm("<joint name='j'/>", "<actuator><motor joint='j' forcerange='-3 3'/></actuator>", manual),
                         "motor.forcerange", "autolimits"));
  EXPECT_TRUE(is_refused(arm("<joint name='j'/>", "<actuator><motor joint='j' forcerange='3 -3'/></actuator>"),
                         "motor.forcerange", "smaller limit first"));
  EXPECT_TRUE(
      is_refused(arm("<joint name='j'/>", "<actuator><general joint='j' gainprm='0' forcerange='-3 3'/></actuator>"),
                 "general.forcerange", "no gain"));
}

TEST(Mjcf, dry_friction_of_hinges_and_slides_is_taken_over) {
  const std::string joints = "<joint name='s' type='slide' frictionloss='3'/><joint name='h' frictionloss='.25'/>";
  const ImportedScene s = imported(arm(joints));
  EXPECT_DOUBLE_EQ(s.scene.joints[0].axes[0].friction_loss, 3);
  EXPECT_DOUBLE_EQ(s.scene.joints[0].axes[1].friction_loss, 0.25);
  EXPECT_TRUE(s.warnings.empty());
  const ImportedScene off = imported(arm(joints, "", "<option><flag frictionloss='disable'/></option>"));
  EXPECT_DOUBLE_EQ(off.scene.joints[0].axes[0].friction_loss, 0);
}

TEST(Mjcf, flags_switch_off_what_they_name) {
  const ImportedScene s = imported(
      arm("<joint name='j' range='-1 1' stiffness='1' damping='2'/>",
          "<actuator><motor joint='j' ctrlrange='-1 1'/></actuator>",
          "<option><flag gravity='disable' limit='disable' contact='disable' passive='disable' clampctrl='disable' "
          "filterparent='disable'/></option><option gravity='0 0 -5' timestep='.01'/>"));
  EXPECT_EQ(s.scene.gravity, (model::Vec3d{0, 0, 0}));
  EXPECT_DOUBLE_EQ(s.scene.timestep, 0.01);
  EXPECT_FALSE(s.scene.filter_parent_child);
  EXPECT_FALSE(s.scene.joints[0].axes[0].limited);
  EXPECT_EQ(s.scene.joints[0].axes[0].stiffness, 0);
  EXPECT_EQ(s.scene.joints[0].axes[0].damping, 0);
  EXPECT_EQ(s.scene.shapes[0].contact_type, 0u);
  EXPECT_EQ(s.scene.shapes[0].contact_affinity, 0u);
  EXPECT_FALSE(s.scene.actuators[0].control_limited);
}

TEST(Mjcf, what_has_no_effect_on_motion_gives_no_warning) {
  const ImportedScene s = imported(
      arm("<joint name='j'/><site name='s'/><camera/><light/>", "<visual><map znear='1'/></visual>",
          "<custom><numeric name='n' data='1'/></custom><asset><texture name='t'/></asset><statistic extent='1'/>"
          "<size njmax='5'/>"));
  EXPECT_TRUE(s.warnings.empty()) << s.warnings.front();
}

TEST(Mjcf, what_is_understood_in_part_is_a_warning_with_element_line_and_attribute) {
  const auto warning = [](const std::string& xml) {
    const ImportedScene s = imported(xml);
    return s.warnings.empty() ? std::string("no warning") : s.warnings.front();
  };
  const std::string mixed = arm("<joint name='j'/>", "", "\n", "<geom name='g' size='.1' solref='.1 -1'/>");
  EXPECT_THAT(warning(mixed), HasSubstr("<geom name=\"g\"> (line 2): solref=\".1 -1\" is taken as 0.02 1"));
  EXPECT_THAT(warning(arm("<joint name='j'/>", "", "", "<geom size='.1' margin='-.1'/>")), HasSubstr("margin"));
  EXPECT_THAT(warning(arm("<joint name='j'/>", "", "<option integrator='RK4'/>")), HasSubstr("integrator=\"RK4\""));
  EXPECT_THAT(warning(arm("<joint name='j'/>", "<sensor><tactile geom='g' mesh='m'/></sensor>")),
              HasSubstr("this kind of sensor"));
  EXPECT_THAT(warning(arm("<joint name='j'/>", "<tendon><fixed name='t'><joint joint='j' coef='0'/></fixed></tendon>")),
              HasSubstr("<fixed name=\"t\"> (line 1) has no coefficient"));
}

TEST(Mjcf, softness_of_contacts_and_limits_is_read) {
  const ImportedScene s = imported(arm(
      "<joint name='j' range='-1 1' limited='true' solreflimit='.1 .5' solimplimit='.8 .9 .1' margin='.01' "
      "frictionloss='.1' solreffriction='.3 .6' solimpfriction='.2 .3 .4'/>",
      "<tendon><fixed name='t' solreflimit='.4 .5' margin='.2' solimpfriction='.1 .2'><joint joint='j' "
      "coef='1'/></fixed>"
      "</tendon>",
      "<option cone='elliptic' impratio='2' timestep='.003'><flag refsafe='enable'/></option>",
      "<geom name='g' size='.1' solref='-100 -2' solimp='.5 .6 .7 .4 3' solmix='2' margin='.2' gap='.1' condim='4'/>"));
  const model::ShapeSpec& shape = s.scene.shapes.back();
  EXPECT_EQ(shape.softness, (model::SoftnessSpec{{-100, -2}, {0.5, 0.6, 0.7, 0.4, 3}, 0.2}));
  EXPECT_EQ(shape.softness_mix, 2);
  EXPECT_EQ(shape.cone_dimension, 4);
  EXPECT_EQ(s.scene.joints.back().axes[0].limit_softness,
            (model::SoftnessSpec{{0.1, 0.5}, {0.8, 0.9, 0.1, 0.5, 2}, 0.01}));
  EXPECT_EQ(s.scene.joints.back().axes[0].friction_softness,
            (model::SoftnessSpec{{0.3, 0.6}, {0.2, 0.3, 0.4, 0.5, 2}, 0}));
  EXPECT_EQ(s.scene.tendons[0].limit_softness, (model::SoftnessSpec{{0.4, 0.5}, {0.9, 0.95, 0.001, 0.5, 2}, 0.2}));
  EXPECT_EQ(s.scene.tendons[0].friction_softness, (model::SoftnessSpec{{0.02, 1}, {0.1, 0.2, 0.001, 0.5, 2}, 0}));
  EXPECT_EQ(s.scene.softness_rule, (model::SoftnessRule{false, 2, 0.006}));
  const ImportedScene unsafe = imported(arm("<joint name='j'/>", "", "<option><flag refsafe='disable'/></option>"));
  EXPECT_EQ(unsafe.scene.softness_rule, (model::SoftnessRule{true, 1, 0}));
}

// In the geom's frame as the document gives it: MuJoCo 4.0 has (-0.5, 2.085, 0.05) at the centre of the mesh.
TEST(Mjcf, a_surface_velocity_goes_with_the_frame_of_its_geom) {
  const ImportedScene s = imported(R"(<mujoco>
    <asset><mesh name="m" vertex="0 0 0 2 0 0 0 1 0 2 1 0 0 0 .3 2 0 .3 0 1 .3 2 1 .3"/></asset>
    <worldbody><geom type="plane" size="1 1 1" surfacevel="0.5"/>
      <geom type="mesh" mesh="m" pos="1 2 3" surfacevel="0.5 0.1 0 0.1 0 2"/></worldbody></mujoco>)");
  EXPECT_TRUE(s.warnings.empty());
  EXPECT_EQ(s.scene.shapes[0].surface_velocity, (model::Vec3d{0.5, 0, 0}));
  EXPECT_EQ(s.scene.shapes[0].surface_angular_velocity, (model::Vec3d{0, 0, 0}));
  const model::ShapeSpec& mesh = s.scene.shapes[1];
  const model::Pose X_WS = model::to_pose(mesh.X_BS);
  const auto in_world = [&](const model::Vec3d& a) { return math::rotate(X_WS.rotation, model::to_vec3(a)); };
  EXPECT_LT(math::norm(X_WS.position - math::Vec3<double>{2, 2.5, 3.15}), 1e-9);
  EXPECT_LT(math::norm(in_world(mesh.surface_velocity) - math::Vec3<double>{-0.5, 2.085, 0.05}), 1e-9);
  EXPECT_LT(math::norm(in_world(mesh.surface_angular_velocity) - math::Vec3<double>{0.1, 0, 2}), 1e-9);
}

TEST(Mjcf, torsional_and_rolling_friction_are_read_where_a_geom_asks_for_either) {
  const auto shapes = [](const std::string& geoms) {
    const ImportedScene s = imported(arm("<joint name='j'/>", "", "", geoms));
    EXPECT_TRUE(s.warnings.empty()) << s.warnings.front();
    return s.scene.shapes;
  };
  const auto expect = [](const model::ShapeSpec& shape, int dimension, double torsional, double rolling) {
    EXPECT_EQ(shape.cone_dimension, dimension);
    EXPECT_EQ(shape.torsional_friction, torsional);
    EXPECT_EQ(shape.rolling_friction, rolling);
  };
  const auto six = shapes("<geom size='.1' condim='6' friction='.5 .02 .003'/><geom size='.1'/>");
  expect(six[six.size() - 2], 6, 0.02, 0.003);
  expect(six.back(), 3, 0.005, 0.0001);
  const auto four = shapes("<geom size='.1' condim='4' friction='.5 .02'/>");
  expect(four.back(), 4, 0.02, 0);
  const auto three = shapes("<geom size='.1' condim='3' friction='.5 .02 .003'/>");
  expect(three.back(), 3, 0, 0);
}

TEST(Mjcf, repeated_warnings_are_counted) {
  const ImportedScene s =
      imported(arm("<joint name='j'/>", "", "", "<geom size='.1' solref='.1 -1'/><geom size='.1' solref='.2 -1'/>"));
  ASSERT_EQ(s.warnings.size(), 1u);
  EXPECT_THAT(s.warnings[0], HasSubstr("1 more like it"));
}

TEST(Mjcf, armature_of_a_free_joint_is_a_body_without_weight_and_little_friction_is_left_out) {
  const auto ball = [](const char* numbers) {
    return std::string(
               "<mujoco><compiler settotalmass='100'/><worldbody><body name='b' pos='0 0 3'><joint type='free' ") +
           numbers + "/><geom size='1'/></body></worldbody></mujoco>";
  };
  const ImportedScene imported = import_mjcf(ball("armature='.5' frictionloss='6'"), {}).value();
  ASSERT_EQ(imported.scene.bodies.size(), 2u);
  const model::BodySpec& part = imported.scene.bodies[1];
  EXPECT_EQ(part.name, "b_armature");
  EXPECT_NEAR(imported.scene.bodies[0].mass, 100, 1e-9);
  EXPECT_EQ(part.mass, 0.5);  // which settotalmass does not scale
  EXPECT_EQ(part.I_Bcm, (std::array<double, 6>{0.5, 0.5, 0.5, 0, 0, 0}));
  EXPECT_EQ(part.gravity_compensation, 1);
  EXPECT_EQ(part.X_WB.position[2], 3);
  ASSERT_EQ(imported.scene.joints.size(), 2u);
  EXPECT_EQ(imported.scene.joints[1].kind, model::JointKind::kFixed);
  EXPECT_EQ(imported.scene.joints[1].parent, 0);
  EXPECT_EQ(imported.warnings.size(), 2u);
  // A hundredth of the weight is 9.8 N, of its moment at a radius of gyration of 0.77 m 7.6 N m.
  EXPECT_TRUE(imported.scene.tendons.empty());
  EXPECT_EQ(import_mjcf(ball("frictionloss='8'"), {}).value().scene.tendons.size(), 6u);
}

TEST(Mjcf, dry_friction_of_balls_and_free_joints_is_tendons_along_their_coordinates) {
  const std::string friction = "frictionloss='1' solreffriction='.3 .6' solimpfriction='.2 .3 .4'/>";
  const model::SceneSpec free = imported(arm("<joint name='j' type='free' " + friction)).scene;
  ASSERT_EQ(free.tendons.size(), 6u);
  EXPECT_EQ(free.tendons[1].name, "j_friction_y");
  EXPECT_EQ(free.tendons[5].name, "j_turning_friction_z");
  for (std::size_t k = 0; k < 6; ++k) {
    const model::TendonSpec& tendon = free.tendons[k];
    ASSERT_EQ(tendon.path.size(), 1u);
    EXPECT_EQ(tendon.path[0].kind, model::TendonPointKind::kWrench);
    EXPECT_EQ(tendon.path[0].has_side, k < 3);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(tendon.path[0].gear[i], i == k ? 1 : 0);
    EXPECT_EQ(tendon.friction_loss, 1);
    EXPECT_EQ(tendon.friction_softness.solref, (std::array<double, 2>{.3, .6}));
    EXPECT_NEAR(tendon.friction_softness.solimp[0], .2, 1e-12);  // of a sphere, which all directions move alike
  }
  const model::SceneSpec ball = imported(arm("<joint type='ball' " + friction)).scene;
  ASSERT_EQ(ball.tendons.size(), 3u);
  EXPECT_EQ(ball.tendons[2].path[0].gear, (std::array<double, 6>{0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(ball.tendons[2].path[0].side.body, 0);
  const ImportedScene off =
      imported(arm("<joint type='ball' " + friction, "", "<option><flag frictionloss='disable'/></option>"));
  EXPECT_TRUE(off.scene.tendons.empty());
  EXPECT_TRUE(is_refused(arm("<joint type='ball' frictionloss='-1'/>"), "joint.frictionloss", "negative"));
}

TEST(Mjcf, what_would_change_the_motion_is_an_error_unless_it_is_allowed) {
  const std::string j = "<joint name='j'/>";
  const struct {
    std::string xml;
    const char* field;
  } cases[] = {
      {arm(j, "<asset><mesh name='m' file='m.stl'/></asset>", "", "<geom size='.1'/><geom type='mesh' mesh='m'/>"),
       "geom.mesh"},
      {arm(j, "<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>", "",
           "<geom type='mesh' mesh='m' shellinertia='true'/>"),
       "geom.shellinertia"},
      {arm("<joint name='j' stiffness='3 0 1'/>"), "joint.stiffness"},
      {arm("<joint type='ball' damping='3 1'/>"), "joint.damping"},
      {arm(j, "<tendon><fixed stiffness='1 2'><joint joint='j' coef='1'/></fixed></tendon>"), "fixed.stiffness"},
      {arm(j, "<tendon><fixed springyield='1'><joint joint='j' coef='1'/></fixed></tendon>"), "fixed.springyield"},
      {arm(j, "<actuator><muscle joint='j'/></actuator>"), "muscle.lengthrange"},
      {arm(j, "<actuator><dcmotor joint='j' motorconst='1' resistance='1' cogging='1 4 0'/></actuator>"),
       "dcmotor.cogging"},
      {arm(j, "<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>", "<option density='1.2'/>",
           "<geom type='mesh' mesh='m' fluidshape='ellipsoid'/>"),
       "geom.fluidshape"},
      {arm(j, "", "<option><flag actuation='disable'/></option>"), "flag.actuation"},
      {arm(j, "", "<extension><plugin plugin='p'/></extension>"), "extension"},
  };
  for (const auto& c : cases) {
    EXPECT_TRUE(is_refused(c.xml, c.field, "not supported"));
    ImportOptions allow;
    allow.allow_unsupported = true;
    const ImportedScene s = imported(c.xml, allow);
    ASSERT_FALSE(s.warnings.empty()) << c.xml;
    EXPECT_THAT(s.warnings.front(), HasSubstr("left out"));
  }
}

TEST(Mjcf, a_free_joint_is_the_only_one_of_a_child_of_the_world) {
  EXPECT_TRUE(is_refused(arm("<freejoint/><joint/>"), "freejoint.type", "only one"));
  EXPECT_TRUE(is_refused(arm("<joint/><joint type='free'/>"), "joint.type", "only one"));
  EXPECT_TRUE(
      is_refused("<mujoco><worldbody><body><joint/><geom size='.1'/><body><freejoint/><geom size='.1'/></body>"
                 "</body></worldbody></mujoco>",
                 "freejoint", "child of the world"));
}

TEST(Mjcf, a_geom_that_touches_nothing_may_be_of_any_type) {
  const std::string none = " contype='0' conaffinity='0'/>";
  const ImportedScene s =
      imported(arm("<joint name='j'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>", "", "",
                   "<geom type='cylinder' size='.1 .1'" + none + "<geom type='mesh' mesh='m'" + none));
  EXPECT_TRUE(s.scene.shapes.empty());
  EXPECT_TRUE(s.warnings.empty());
  EXPECT_TRUE(
      is_refused(arm("<joint name='j'/>", "", "", "<geom type='mesh' mesh='m'" + none), "geom.mesh", "names no mesh"));
}

}  // namespace
}  // namespace axion::import::mjcf_test
