// Gravity compensation, drag of free joints, contact pairs, affine actuators, equalities by sites and relative poses:
// what a document asks for is what moves, by closed formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/model/spec_math.hpp"
#include "tests/engine/import/imported_world.hpp"

namespace axion::import::mjcf_features_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr double kG = 9.81;

TEST(MjcfGravityCompensation, holds_up_the_share_of_the_weight_that_it_says) {
  for (const double share : {1.0, 0.25, -0.5}) {
    World world("<mujoco><worldbody><body gravcomp='" + std::to_string(share) +
                    "'><freejoint/><geom size='.1' pos='.3 .2 .1'/></body></worldbody></mujoco>",
                0.001);
    world.step(100);
    const std::vector<double> v = world.get(Field::kBodyVelocity);
    EXPECT_NEAR(v[2], -(1 - share) * kG * 0.1, 1e-9) << share;
    for (const int i : {0, 1, 3, 4, 5}) EXPECT_NEAR(v[i], 0, 1e-9) << share;
  }
}

// Two balls of 1 kg, 1 m apart, of which one floats: they fall at g/2 and turn by its lift.
TEST(MjcfGravityCompensation, of_a_welded_part_acts_at_that_parts_centre) {
  World world(R"(<mujoco><worldbody><body><freejoint/><geom size='.1' mass='1'/>
    <body pos='1 0 0' gravcomp='1'><geom size='.1' mass='1'/></body></body></worldbody></mujoco>)",
              1e-4);
  world.step(10);
  const std::vector<double> v = world.get(Field::kBodyVelocity);
  const double inertia = 2 * 0.4 * 0.01 + 2 * 0.25;
  EXPECT_NEAR(v[2], -kG / 2 * 1e-3, 1e-8);
  EXPECT_NEAR(v[4], -0.5 * kG / inertia * 1e-3, 1e-6);
}

TEST(MjcfGravityCompensation, does_nothing_without_gravity) {
  World world(
      "<mujoco><option gravity='0 0 0'/><worldbody><body gravcomp='1'><freejoint/><geom "
      "size='.1'/></body></worldbody></mujoco>",
      0.01);
  world.step(10);
  for (const double v : world.get(Field::kBodyVelocity)) EXPECT_EQ(v, 0);
}

// The mass of its armature is no part of what sensors weigh, as in MuJoCo.
TEST(MjcfFreeJoint, armature_is_in_no_centre_of_mass_and_no_weight) {
  World world(R"(<mujoco><worldbody><body name='b'><joint type='free' armature='.7'/><geom size='.1' mass='2'
    pos='.1 0 .3'/></body></worldbody><sensor><subtreecom body='b'/><e_potential/></sensor></mujoco>)",
              0.001);
  const std::vector<double> read = world.get(Field::kSensorData);
  ASSERT_EQ(read.size(), 4u);
  EXPECT_NEAR(read[0], 0.1, 1e-12);
  EXPECT_NEAR(read[2], 0.3, 1e-12);
  EXPECT_NEAR(read[3], 2 * kG * 0.3, 1e-12);
}

TEST(MjcfFreeJoint, damping_slows_motion_and_spin_as_an_exponential) {
  for (const double d : {0.5, 20.0}) {
    const double mass = 2, radius = 0.3, inertia = 0.4 * mass * radius * radius, t = 0.05;
    World world(
        "<mujoco><option gravity='0 0 0'/><worldbody><body><joint type='free' damping='" + std::to_string(d) +
            "'/><geom size='.3' mass='2'/></body></worldbody><keyframe><key qvel='1 2 -3 0 4 0'/></keyframe></mujoco>",
        1e-5);
    world.step(5000);
    const std::vector<double> v = world.get(Field::kBodyVelocity);
    const double slower = std::exp(-d * t / mass), spin = 4 * std::exp(-d * t / inertia);
    for (const int i : {0, 1, 2}) EXPECT_NEAR(v[i], (i < 2 ? i + 1 : -3) * slower, 2e-4) << d;
    EXPECT_NEAR(v[4], spin, 4e-4) << d;
  }
}

TEST(MjcfFreeJoint, any_damping_is_stable_at_a_large_step) {
  for (const char* d : {"1", "1e3", "1e9"}) {
    World world(std::string("<mujoco><option gravity='0 0 0'/><worldbody><body><joint type='free' damping='") + d +
                    "'/><geom size='.1' pos='.5 0 0'/></body></worldbody><keyframe><key qvel='1 2 -3 5 4 "
                    "3'/></keyframe></mujoco>",
                0.05);
    double speed = 1e9;
    for (int i = 0; i < 20; ++i) {
      world.step(1);
      const std::vector<double> v = world.get(Field::kBodyVelocity);
      double now = 0;
      for (const double x : v) now = std::max(now, std::abs(x));
      speed = std::min(speed, 20.0);
      EXPECT_LT(now, speed) << d << " step " << i;
    }
  }
}

// A box that slides by gravity along the floor: its acceleration says by what friction.
double sliding_acceleration(const std::string& geom, const std::string& contact) {
  World world("<mujoco><option gravity='3 0 -9.81'/><worldbody><geom name='floor' type='plane' size='9 9 1' " + geom +
                  "/><body name='box' pos='0 0 .1'><freejoint/><geom name='box' type='box' size='.3 .3 .1' " + geom +
                  "/></body></worldbody><contact>" + contact + "</contact></mujoco>",
              0.002);
  world.step(200);
  const std::vector<double> v = world.get(Field::kBodyVelocity);
  EXPECT_NEAR(v[2], 0, 1e-3) << contact;
  return v[0] / 0.4;
}

TEST(MjcfPair, touches_with_its_own_friction_whatever_the_geoms_say) {
  const std::string apart = "contype='0' conaffinity='0'";
  for (const double friction : {0.1, 0.25}) {
    const std::string pair = "<pair geom1='floor' geom2='box' friction='" + std::to_string(friction) + " " +
                             std::to_string(friction) + "'/>";
    EXPECT_NEAR(sliding_acceleration(apart, pair), 3 - friction * kG, 0.02);
    EXPECT_NEAR(sliding_acceleration("friction='.9'", pair), 3 - friction * kG, 0.02);
    EXPECT_NEAR(sliding_acceleration("friction='.9'", pair + "<exclude body1='world' body2='box'/>"), 3 - friction * kG,
                0.02);
  }
  EXPECT_NEAR(sliding_acceleration("friction='.9'", "<pair geom1='box' geom2='floor' condim='1'/>"), 3, 0.02);
  EXPECT_NEAR(sliding_acceleration("friction='.2'", "<pair geom1='box' geom2='floor'/>"), 0, 0.01)
      << "a pair's own is 1";
}

TEST(MjcfPair, has_torsional_and_rolling_friction_of_its_own) {
  const auto pair = [](const std::string& attributes) {
    return imported(
        "<mujoco><worldbody><geom name='a' size='.1' condim='6' friction='1 .5 .5'/><body><freejoint/>"
        "<geom name='b' size='.1'/></body></worldbody><contact><pair geom1='a' geom2='b' " +
        attributes + "/></contact></mujoco>");
  };
  const ImportedScene own = pair("condim='6' friction='.8 .8 .02 .003 .003'");
  EXPECT_THAT(own.warnings, ::testing::IsEmpty());
  EXPECT_EQ(own.scene.contact_pairs[0].torsional_friction, 0.02);
  EXPECT_EQ(own.scene.contact_pairs[0].rolling_friction, 0.003);
  const ImportedScene usual = pair("condim='6'");
  EXPECT_EQ(usual.scene.contact_pairs[0].torsional_friction, 0.005);
  EXPECT_EQ(usual.scene.contact_pairs[0].rolling_friction, 0.0001);
  EXPECT_EQ(pair("condim='4'").scene.contact_pairs[0].rolling_friction, 0);
  EXPECT_EQ(pair("").scene.contact_pairs[0].torsional_friction, 0);
  EXPECT_THAT(pair("condim='6' friction='.8 .8 .02 .003 .004'").warnings, Contains(HasSubstr("fourth number")));
}

TEST(MjcfPair, what_is_wrong_is_refused_by_name) {
  const auto with = [](const std::string& pair) {
    return "<mujoco><worldbody><geom name='a' size='.1'/><body><freejoint/><geom name='b' "
           "size='.1'/></body></worldbody><contact>" +
           pair + "</contact></mujoco>";
  };
  expect_refused(with("<pair geom1='a'/>"), "pair.geom2", "is required");
  expect_refused(with("<pair geom1='a' geom2='c'/>"), "pair.geom2", "does not exist");
  expect_refused(with("<pair geom1='a' geom2='b' friction='-1'/>"), "pair.friction", "must not be negative");
  expect_refused(with("<pair geom1='a' geom2='b' friction='nan'/>"), "pair.friction", "nan");
  expect_refused(with("<pair geom1='a' geom2='b' condim='2'/>"), "pair.condim", "1, 3, 4 or 6");
  expect_refused(with("<pair geom1='a' geom2='b'/><pair geom1='b' geom2='a' friction='.5'/>"), "pair.geom2",
                 "another law");
  expect_refused(with("<pair geom1='a' geom2='b' condim='4'/><pair geom1='b' geom2='a' condim='4' friction='1 1 .1'/>"),
                 "pair.geom2", "another law");
  const ImportedScene twice = imported(with("<pair geom1='a' geom2='b'/><pair geom1='b' geom2='a'/>"));
  EXPECT_EQ(twice.scene.contact_pairs.size(), 1u);
  EXPECT_THAT(twice.warnings, Contains(HasSubstr("second pair")));
}

// A cart of 2 kg on a slide, with gear 3.
std::string cart(const std::string& actuator) {
  return "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='slide' axis='1 0 0' ref='0'/><geom "
         "size='.1' mass='2'/>"
         "</body></worldbody><actuator><general joint='j' gear='3' " +
         actuator + "/></actuator></mujoco>";
}

TEST(MjcfActuator, an_affine_law_holds_where_its_force_is_zero) {
  // 20 u + 3 - 10 l - 8 dl/dt with l = 3 s
  World world(cart("gainprm='20' biastype='affine' biasprm='3 -10 -8'"), 0.005);
  world.step(4000, {0.5});
  EXPECT_NEAR(world.get(Field::kJointPosition)[0], (20 * 0.5 + 3) / 10 / 3, 1e-6);
}

TEST(MjcfActuator, an_affine_law_of_velocity_ends_at_its_speed) {
  World world(cart("gainprm='-4' biastype='affine' biasprm='1 0 -8' ctrlrange='-1 1'"), 0.005);
  world.step(2000, {7});  // clamped to 1
  EXPECT_NEAR(world.get(Field::kJointVelocity)[0], (-4.0 + 1) / 8 / 3, 1e-6);
}

TEST(MjcfActuator, a_constant_force_is_added_to_a_motors) {
  World world(cart("gainprm='5' biastype='affine' biasprm='2 0 0'"), 0.001);
  world.step(100, {-1});
  EXPECT_NEAR(world.get(Field::kJointVelocity)[0], 3 * (-5.0 + 2) / 2 * 0.1, 1e-9);
  World limited(cart("gainprm='5' biastype='affine' biasprm='2 0 0' forcerange='-1 1'"), 0.001);
  limited.step(100, {-1});
  EXPECT_NEAR(limited.get(Field::kJointVelocity)[0], 3 * -1.0 / 2 * 0.1, 1e-9);
}

// 2 s'' = 3 (5 u + 3 · 3 s): s = 15/27 u (cosh(t √13.5) − 1). And 2 s'' = 3 (5 u + 3 s'): s' = 5/3 u (exp(4.5 t) − 1).
TEST(MjcfActuator, a_law_that_pushes_away_does) {
  World by_place(cart("gainprm='5' biastype='affine' biasprm='0 3 0'"), 0.001);
  by_place.step(500, {0.2});
  EXPECT_NEAR(by_place.get(Field::kJointPosition)[0], 15.0 / 27 * 0.2 * (std::cosh(0.5 * std::sqrt(13.5)) - 1), 1e-4);
  World by_rate(cart("gainprm='5' biastype='affine' biasprm='0 0 1'"), 0.0001);
  by_rate.step(5000, {0.2});
  EXPECT_NEAR(by_rate.get(Field::kJointVelocity)[0], 5.0 / 3 * 0.2 * (std::exp(4.5 * 0.5) - 1), 2e-3);
}

TEST(MjcfActuator, a_motor_has_no_use_for_inheritrange) {
  const ImportedScene s = imported(R"(<mujoco><default><position inheritrange='1'/></default><worldbody><body>
    <joint name='j' range='-20 30'/><geom size='.1'/></body></worldbody><actuator><motor joint='j'/></actuator>
    </mujoco>)");
  EXPECT_FALSE(s.scene.actuators.at(0).control_limited);
}

// Two balls of which one is held by a site to a site of the other, or of the world.
std::string held(const std::string& equality) {
  return R"(<mujoco><option gravity='0 0 0'/><worldbody><site name='post' pos='0 0 2' euler='0 0 90'/>
    <body name='a'><freejoint/><geom size='.1' mass='1'/><site name='right' pos='.2 0 0'/></body>
    <body name='b' pos='1 0 0'><freejoint/><geom size='.1' mass='1'/><frame pos='-.2 0 0'><site name='left'/></frame>
    </body>
  </worldbody><equality>)" +
         equality + "</equality></mujoco>";
}

math::Vec3<double> point(const std::vector<double>& pose, int body, const math::Vec3<double>& p) {
  const double* x = pose.data() + 7 * body;
  return math::Vec3<double>{x[0], x[1], x[2]} + math::rotate(math::Quat<double>{x[3], x[4], x[5], x[6]}, p);
}

TEST(MjcfSites, a_connect_draws_its_sites_together) {
  World world(held("<connect site1='right' site2='left'/>"), 0.005);
  world.step(600);
  const std::vector<double> pose = world.get(Field::kBodyPose);
  EXPECT_NEAR(math::norm(point(pose, 0, {0.2, 0, 0}) - point(pose, 1, {-0.2, 0, 0})), 0, 1e-5);
}

TEST(MjcfSites, a_connect_of_sites_that_meet_is_that_of_their_point) {
  const auto body = [](const std::string& equality) {
    return "<mujoco><worldbody><body name='a'><freejoint/><geom size='.1'/><site name='s' pos='.1 .2 .3'/></body>"
           "<body name='b' pos='1 0 0' euler='0 0 90'><freejoint/><geom size='.1'/><site name='t' pos='.2 .9 "
           ".3'/></body></worldbody>"
           "<equality>" +
           equality + "</equality></mujoco>";
  };
  const model::JointSpec a = imported(body("<connect site1='s' site2='t'/>")).scene.joints.back();
  const model::JointSpec b = imported(body("<connect body1='a' body2='b' anchor='.1 .2 .3'/>")).scene.joints.back();
  EXPECT_FALSE(a.holds_pose);
  EXPECT_FALSE(b.holds_pose);
  // One is anchored in b, the other in a; both hold the same point of the world.
  EXPECT_EQ(a.kind, b.kind);
}

TEST(MjcfSites, a_weld_lays_one_frame_on_the_other) {
  World world(held("<weld site1='post' site2='left'/>"), 0.005);
  world.step(1500);
  const std::vector<double> pose = world.get(Field::kBodyPose);
  EXPECT_NEAR(math::norm(point(pose, 1, {-0.2, 0, 0}) - math::Vec3<double>{0, 0, 2}), 0, 1e-5);
  const math::Vec3<double> x = point(pose, 1, {1, 0, 0}) - point(pose, 1, {0, 0, 0});
  EXPECT_NEAR(x.y, 1, 1e-5) << "its x axis is the post's, which points along y";
}

TEST(MjcfSites, a_weld_holds_its_relative_pose) {
  World world(held("<weld body1='a' body2='b' relpose='.6 .1 0 .7071067811865476 0 0 .7071067811865476'/>"), 0.005);
  world.step(600);
  const std::vector<double> pose = world.get(Field::kBodyPose);
  EXPECT_NEAR(math::norm(point(pose, 0, {0.6, 0.1, 0}) - point(pose, 1, {0, 0, 0})), 0, 1e-5);
  const math::Vec3<double> turned = point(pose, 1, {1, 0, 0}) - point(pose, 1, {0, 0, 0});
  const math::Vec3<double> wanted = point(pose, 0, {0, 1, 0}) - point(pose, 0, {0, 0, 0});
  EXPECT_NEAR(math::norm(turned - wanted), 0, 1e-5);
}

TEST(MjcfSites, what_is_wrong_is_refused_by_name) {
  expect_refused(held("<connect site1='right'/>"), "connect.site2", "is required");
  expect_refused(held("<connect site1='right' site2='nowhere'/>"), "connect.site2", "does not exist");
  expect_refused(held("<connect site1='right' site2='left' anchor='0 0 0'/>"), "connect.anchor", "together with sites");
  expect_refused(held("<weld site1='right' site2='right'/>"), "weld.site2", "another body");
}

constexpr const char* kTwoArms = R"(<mujoco><compiler angle="radian"/><option gravity="0 0 0"/><worldbody>
  <body><joint name="a" ref=".3"/><geom size=".1" pos="1 0 0"/></body>
  <body pos="0 0 1"><joint name="b" damping="1"/><geom size=".1" pos="1 0 0"/></body></worldbody>)";

TEST(MjcfTendon, has_what_its_class_and_its_attributes_say) {
  const model::SceneSpec s =
      imported(std::string(kTwoArms) + R"(<default><default class="stiff"><tendon stiffness="2"/></default></default>
    <tendon><fixed name="t" class="stiff" damping="3" frictionloss="4" armature="5" range="-1 2">
      <joint joint="a" coef=".5"/>
      <joint joint="b" coef="-1"/><joint joint="a" coef="1"/></fixed>
    <fixed class="stiff" springlength=".7" limited="false" range="0 1"><joint joint="b" coef="1"/></fixed>
    </tendon></mujoco>)")
          .scene;
  ASSERT_EQ(s.tendons.size(), 2u);
  const model::TendonSpec& t = s.tendons[0];
  ASSERT_EQ(t.terms.size(), 2u);
  EXPECT_EQ(t.terms[0].coefficient, 1.5);
  EXPECT_EQ(t.terms[1].coefficient, -1);
  EXPECT_EQ(t.stiffness, 2);
  EXPECT_EQ(t.damping, 3);
  EXPECT_EQ(t.friction_loss, 4);
  EXPECT_EQ(t.armature, 5);
  EXPECT_NEAR(t.spring_reference, 0.45, 1e-15);  // its length in the reference configuration
  EXPECT_TRUE(t.limited);
  EXPECT_EQ(t.lower, -1);
  EXPECT_EQ(t.upper, 2);
  EXPECT_EQ(s.tendons[1].spring_reference, 0.7);
  EXPECT_FALSE(s.tendons[1].limited);
  EXPECT_FALSE(s.tendons[1].name.empty());
}

// A body on a slide with a site, a ball and a drum beside its way.
std::string with_path(const std::string& path, const std::string& more = "") {
  return R"(<mujoco><compiler angle="radian"/><worldbody><site name="w" pos="0 0 2"/><site name="w2" pos="1 0 0"/>
    <geom name="ball" size=".1" pos="0 0 1" contype="0" conaffinity="0"/>
    <geom name="drum" type="cylinder" size=".2 .5" pos="1 0 1" euler="0 1 0" contype="0" conaffinity="0"/>
    <geom name="box" type="box" size=".1 .1 .1" pos="3 0 1"/>
    <body><joint name="j" type="slide" axis="0 0 1" range="-1 1" limited="true"/><geom size=".1"/><site name="s"/>
    </body>
    </worldbody><tendon><spatial )" +
         path + "</spatial></tendon>" + more + "</mujoco>";
}

TEST(MjcfTendon, a_path_has_its_points_in_their_order) {
  const model::SceneSpec s = imported(with_path(R"(name="t" stiffness="3" springlength=".5 .75" damping="2" range="0 1">
    <site site="w"/><geom geom="ball" sidesite="w2"/><site site="s"/><geom geom="drum"/><site site="w2"/>
    <pulley divisor="4"/><site site="s"/><site site="w"/>)"))
                                 .scene;
  ASSERT_EQ(s.tendons.size(), 1u);
  const model::TendonSpec& t = s.tendons[0];
  using enum model::TendonPointKind;
  const std::vector<model::TendonPointKind> kinds{kSite, kSphere, kSite, kCylinder, kSite, kPulley, kSite, kSite};
  ASSERT_EQ(t.path.size(), kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) EXPECT_EQ(t.path[i].kind, kinds[i]) << i;
  EXPECT_EQ(t.path[1].radius, 0.1);
  EXPECT_TRUE(t.path[1].has_side);
  EXPECT_EQ(t.path[1].side.X_BF.position[0], 1);
  EXPECT_FALSE(t.path[3].has_side);
  EXPECT_NEAR(t.path[3].frame.X_BF.rotation[2], std::sin(0.5), 1e-15);
  EXPECT_EQ(t.path[2].frame.body, 0);
  EXPECT_EQ(t.path[5].divisor, 4);
  EXPECT_EQ(t.spring_reference, 0.5);
  EXPECT_EQ(t.spring_slack, 0.25);
  EXPECT_EQ(t.damping, 2);
  EXPECT_TRUE(t.limited);
}

TEST(MjcfTendon, a_spring_without_a_length_rests_where_the_document_has_it) {
  const model::SceneSpec s =
      imported(with_path(R"(stiffness="3"><site site="w"/><site site="s"/><pulley divisor="4"/><site site="s"/>
    <site site="w2"/>)"))
          .scene;
  EXPECT_NEAR(s.tendons.at(0).spring_reference, 2 + 0.25, 1e-15);
}

TEST(MjcfTendon, what_is_wrong_with_a_path_is_refused_by_name) {
  const auto with = [](const std::string& path) { return with_path("name='t'>" + path); };
  expect_refused(with(""), "spatial", "has no site");
  expect_refused(with("<site site='w'/>"), "spatial", "without another");
  expect_refused(with("<site site='w'/><site site='nowhere'/>"), "site.site", "does not exist");
  expect_refused(with("<site site='w'/><geom geom='ball'/>"), "spatial", "between two sites");
  expect_refused(with("<geom geom='ball'/><site site='w'/><site site='s'/>"), "spatial", "between two sites");
  expect_refused(with("<site site='w'/><geom geom='ball'/><geom geom='drum'/><site site='s'/>"), "spatial",
                 "between two");
  expect_refused(with("<site site='w'/><geom geom='box'/><site site='s'/>"), "geom.geom", "a sphere or a cylinder");
  expect_refused(with("<site site='w'/><geom geom='nothing'/><site site='s'/>"), "geom.geom", "does not exist");
  expect_refused(with("<site site='w'/><geom geom='ball' sidesite='no'/><site site='s'/>"), "geom.sidesite",
                 "not exist");
  expect_refused(with("<site site='w'/><site site='s'/><pulley divisor='2'/>"), "spatial", "no site follows");
  expect_refused(with("<site site='w'/><site site='s'/><pulley divisor='0'/><site site='w'/><site site='s'/>"),
                 "pulley.divisor", "above 0");
  expect_refused(with("<site site='w'/><site site='s'/><pulley divisor='2'/><site site='w'/>"), "spatial", "without");
}

TEST(MjcfTendon, a_string_over_what_stands_still_is_left_out_and_nothing_may_ask_for_it) {
  const std::string string = "name='t'><site site='w'/><site site='w2'/>";
  const ImportedScene s = imported(with_path(string));
  EXPECT_TRUE(s.scene.tendons.empty());
  ASSERT_EQ(s.warnings.size(), 1u);
  EXPECT_THAT(s.warnings[0], ::testing::HasSubstr("leads over nothing that can move"));
  expect_refused(with_path(string, "<sensor><tendonpos tendon='t'/></sensor>"), "tendonpos.tendon", "moves nothing");
}

TEST(MjcfTendon, actuators_and_sensors_take_a_path) {
  World world(with_path(R"(name="t" damping="2"><site site="w"/><geom geom="ball"/><site site="s"/>)",
                        R"(<actuator><position name="p" tendon="t" kp="2000" kv="50"/></actuator>
    <sensor><tendonpos tendon="t"/><actuatorpos actuator="p"/><tendonvel tendon="t"/></sensor>)"),
              0.002);
  world.step(3000, {1.8});
  const std::vector<double> read = world.get(Field::kSensorData);
  EXPECT_NEAR(read[0], 1.8, 0.03);  // less what the weight takes
  EXPECT_EQ(read[1], read[0]);
  EXPECT_NEAR(read[2], 0, 1e-6);
  EXPECT_GT(world.get(Field::kJointPosition)[0], 0.1);
}

TEST(MjcfTendon, what_is_wrong_is_refused_by_name) {
  const auto with = [](const std::string& tendon) { return kTwoArms + ("<tendon>" + tendon + "</tendon></mujoco>"); };
  expect_refused(with("<fixed name='t'/>"), "fixed", "has no joint");
  expect_refused(with("<fixed><joint joint='c' coef='1'/></fixed>"), "joint.joint", "does not exist");
  expect_refused(with("<fixed><joint joint='a'/></fixed>"), "joint.coef", "required");
  expect_refused(with("<fixed range='1 0'><joint joint='a' coef='1'/></fixed>"), "fixed.range", "smaller");
  expect_refused(with("<fixed stiffness='-1'><joint joint='a' coef='1'/></fixed>"), "fixed.stiffness", "negative");
  expect_refused(with("<fixed name='t'><joint joint='a' coef='1'/></fixed><spatial name='t'/>"), "spatial.name",
                 "second time");
}

TEST(MjcfTendon, an_actuator_pulls_as_far_as_the_tendon_goes) {
  World world(std::string(kTwoArms) + R"(<tendon><fixed name="t" range="-.4 .4" limited="false" damping="1"
      actuatorfrcrange="-5 5"><joint joint="a" coef="2"/><joint joint="b" coef="1"/></fixed></tendon>
    <actuator><position tendon="t" kp="40" kv="4" inheritrange="1"/></actuator></mujoco>)",
              0.002);
  world.step(5000, {9});
  const std::vector<double> q = world.get(Field::kJointPosition);
  EXPECT_NEAR(2 * q[0] + q[1], 0.4, 1e-4);
}

TEST(SceneFields, new_ones_are_checked_by_name) {
  const model::SceneSpec good = imported(held("<connect site1='right' site2='left'/>")).scene;
  const auto field_of = [&](auto change) {
    model::SceneSpec scene = good;
    change(scene);
    const auto model = compile_model(scene);
    return model.ok() ? std::string() : model.error().field;
  };
  EXPECT_EQ(field_of([](auto&) {}), "");
  EXPECT_EQ(field_of([](auto& s) { s.bodies[0].gravity_compensation = NAN; }), "bodies[0].gravity_compensation");
  EXPECT_EQ(field_of([](auto& s) { s.joints[0].free_damping = -1; }), "joints[0].free_damping");
  EXPECT_EQ(field_of([](auto& s) { s.joints[2].free_damping = 1; }), "joints[2].free_damping");
  EXPECT_EQ(field_of([](auto& s) { s.joints[0].holds_pose = true; }), "joints[0].holds_pose");
  EXPECT_EQ(field_of([](auto& s) { s.joints[2].X_PC.rotation = {0, 0, 0, 0}; }), "joints[2].X_PC.rotation");
  EXPECT_EQ(field_of([](auto& s) { s.contact_pairs = {{0, 2}}; }), "contact_pairs[0].shape_b");
  EXPECT_EQ(field_of([](auto& s) { s.contact_pairs = {{0, 0}}; }), "contact_pairs[0].shape_b");
  EXPECT_EQ(field_of([](auto& s) { s.contact_pairs = {{0, 1}, {1, 0}}; }), "contact_pairs[1]");
  EXPECT_EQ(field_of([](auto& s) { s.contact_pairs = {{0, 1, -1}}; }), "contact_pairs[0].friction");
  EXPECT_EQ(field_of([](auto& s) { s.contact_pairs = {{0, 1, 1, 2}}; }), "contact_pairs[0].contact_dimension");
}

}  // namespace
}  // namespace axion::import::mjcf_features_test
