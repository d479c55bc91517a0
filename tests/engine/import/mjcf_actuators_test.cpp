// Motors at sites and activations of actuators: what a document asks for is what moves, by closed formulas.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/import/imported_world.hpp"

namespace axion::import::mjcf_actuators_test {
namespace {

// I of a ball of 1 kg and 0.1 m is 0.004 kg m².
TEST(MjcfSiteMotor, lifts_and_turns_what_its_site_is_on_in_the_axes_of_the_site) {
  World world(R"(<mujoco><worldbody><body pos='0 0 5'><freejoint/><geom size='.1' mass='1'/>
    <site name='rotor' euler='-90 0 0' pos='0 0 .3'/></body></worldbody>
    <actuator><motor site='rotor' gear='0 -9.81 0 0 -.002 0' ctrlrange='0 1'/></actuator></mujoco>)",
              0.01);
  world.step(100, {7});
  const std::vector<double> q = world.get(Field::kJointPosition), v = world.get(Field::kBodyVelocity);
  EXPECT_NEAR(q[2], 5, 1e-9);
  EXPECT_NEAR(v[2], 0, 1e-9);
  // y of the site is -z of the body: -9.81 N along y hold the weight.
  EXPECT_NEAR(v[5], 0.002 / 0.004, 1e-6);
  EXPECT_EQ(world.get(Field::kActuatorForce), std::vector<double>{1});
}

// Two free balls, the force along their connecting line: each of it and its reaction moves one of them by F t / m.
TEST(MjcfSiteMotor, pushes_back_at_its_reference) {
  World world(R"(<mujoco><option gravity='0 0 0'/><worldbody>
    <body><freejoint/><geom size='.1' mass='1'/><site name='a'/></body>
    <body pos='1 0 0'><freejoint/><geom size='.1' mass='2'/><site name='b'/></body></worldbody>
    <actuator><motor name='m' site='b' refsite='a' gear='.5 0 0 0 0 0'/></actuator>
    <sensor><actuatorpos actuator='m'/><actuatorvel actuator='m'/></sensor></mujoco>)",
              0.01);
  world.step(100, {4});
  const std::vector<double> v = world.get(Field::kBodyVelocity), read = world.get(Field::kSensorData);
  EXPECT_NEAR(v[0], -2, 1e-9);
  EXPECT_NEAR(v[6], 1, 1e-9);
  EXPECT_NEAR(read[0], 0.5 * (world.get(Field::kJointPosition)[7] - world.get(Field::kJointPosition)[0]), 1e-9);
  EXPECT_NEAR(read[1], 1.5, 1e-9);
}

// Between the branches of a tree, and between a branch and the trunk: all forces are inner ones.
TEST(MjcfSiteMotor, with_a_reference_gives_a_free_tree_no_momentum) {
  World world(R"(<mujoco><option gravity='0 0 0'/><worldbody><body name='trunk'><freejoint/><geom size='.1' mass='1'/>
    <site name='t' pos='.1 .2 0' euler='10 20 30'/>
    <body pos='.4 0 0'><joint axis='0 1 .3' damping='.1'/><geom size='.1' mass='.7' pos='.2 0 0'/>
      <site name='a' pos='.3 0 .1'/></body>
    <body pos='-.4 0 0'><joint axis='0 1 0' damping='.1'/><geom size='.1' mass='.5' pos='-.2 .1 0'/>
      <site name='b' pos='-.3 0 .1' euler='0 40 0'/></body></body></worldbody>
    <actuator><motor site='a' refsite='t' gear='1 .4 .3 .1 0 .2'/><motor site='a' refsite='b' gear='.5 -1 2 0 .1 0'/>
    </actuator><sensor><subtreelinvel body='trunk'/><subtreeangmom body='trunk'/></sensor></mujoco>)",
              0.001);
  world.step(400, {5, -5});
  for (const double momentum : world.get(Field::kSensorData)) EXPECT_NEAR(momentum, 0, 5e-3);
  EXPECT_GT(std::abs(world.get(Field::kJointPosition)[7]), 0.05);
}

TEST(MjcfSiteMotor, does_nothing_where_both_sites_are_on_one_body) {
  World world(R"(<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/><geom size='.1' mass='1'/>
    <site name='a'/><body pos='.3 0 0'><geom size='.1' mass='1'/><site name='b'/></body></body></worldbody>
    <actuator><motor site='b' refsite='a' gear='1 2 3 4 5 6'/></actuator></mujoco>)",
              0.01);
  world.step(10, {1});
  for (const double v : world.get(Field::kBodyVelocity)) EXPECT_EQ(v, 0);
}

TEST(MjcfSiteMotor, refuses_what_it_cannot_be) {
  const auto of = [](const std::string& actuator) {
    return "<mujoco><worldbody><body><joint name='j'/><geom size='.1'/><site name='s'/></body></worldbody><actuator>" +
           actuator + "</actuator></mujoco>";
  };
  imported(of("<motor site='s' gear='1 2 3 4 5 6'/>"));
  expect_refused(of("<motor site='t'/>"), "motor.site", "does not exist");
  expect_refused(of("<motor site='s' refsite='t'/>"), "motor.refsite", "does not exist");
  expect_refused(of("<motor joint='j' refsite='s'/>"), "motor.site", "is required");
  expect_refused(of("<motor site='s' joint='j'/>"), "motor.joint", "together with a site");
  expect_refused(of("<position site='s' kp='1' dampratio='1'/>"), "position.dampratio", "no length");
  expect_refused(of("<muscle site='s' lengthrange='0 1'/>"), "muscle.site", "a muscle has a length");
}

// A drive at a site is one of a tendon that is a wrench; the actuator's own damping and armature are the tendon's.
TEST(MjcfSiteMotor, that_depends_on_motion_acts_along_a_wrench) {
  const auto scene = [](const std::string& actuator) {
    return imported(
               "<mujoco><worldbody><site name='w' pos='1 0 0'/><body name='b' pos='0 0 1'><joint name='j' type='ball'/>"
               "<geom size='.1'/><site name='s' pos='0 .2 0'/></body></worldbody><actuator>" +
               actuator + "</actuator></mujoco>")
        .scene;
  };
  const model::SceneSpec servo = scene("<position name='p' site='s' refsite='w' gear='1 2 3 4 5 6' kp='7' kv='8'/>");
  ASSERT_EQ(servo.tendons.size(), 1u);
  EXPECT_EQ(servo.tendons[0].name, "p_transmission");
  const model::TendonPointSpec& point = servo.tendons[0].path.at(0);
  EXPECT_EQ(point.kind, model::TendonPointKind::kWrench);
  EXPECT_EQ(point.gear, (std::array<double, 6>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(point.frame.body, 0);
  EXPECT_TRUE(point.has_side);
  EXPECT_EQ(point.side.body, model::kWorldBody);
  EXPECT_NEAR(servo.tendons[0].spring_reference, -1 + 2 * 0.2 + 3, 1e-12);
  EXPECT_EQ(servo.actuators[0].kind, model::ActuatorKind::kPosition);
  EXPECT_FALSE(servo.actuators[0].on_site);
  const model::SceneSpec damped = scene("<motor site='s' damping='2' armature='3'/>");
  EXPECT_EQ(damped.tendons.at(0).damping, 2);
  EXPECT_EQ(damped.tendons.at(0).armature, 3);
  EXPECT_EQ(scene("<position site='s' kp='2' kv='3'/>").actuators[0].kind, model::ActuatorKind::kVelocity);
  EXPECT_TRUE(scene("<motor site='s'/>").tendons.empty());
}

std::string with_range(const std::string& actuator) {
  return "<mujoco><worldbody><body><joint name='j' range='-30 60'/><geom size='.1' pos='.2 0 0'/></body></worldbody>"
         "<actuator>" +
         actuator + "</actuator></mujoco>";
}

std::string slider(const std::string& actuator, const std::string& rest = "") {
  return "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='slide' axis='1 0 0'/><geom size='.1' "
         "mass='1'/></body></worldbody><actuator>" +
         actuator + "</actuator>" + rest + "</mujoco>";
}

// w = u (1 - exp(-t/T)), at steps of a tenth of T and of three times T alike.
TEST(MjcfActivation, a_filter_follows_its_control_exactly_at_any_step) {
  for (const double dt : {0.005, 0.15}) {
    for (const char* kind : {"filter", "filterexact"}) {
      World world(slider("<general joint='j' dyntype='" + std::string(kind) + "' dynprm='.05' ctrlrange='-2 2'/>"), dt);
      world.step(3, {5});
      EXPECT_NEAR(world.get(Field::kActivation)[0], 2 * (1 - std::exp(-3 * dt / 0.05)), 1e-12) << kind << dt;
    }
  }
  World at_once(slider("<general joint='j' dyntype='filter' dynprm='0'/>"), 0.01);
  at_once.step(1, {5});
  EXPECT_EQ(at_once.get(Field::kActivation)[0], 5);
}

// x'' = g w with w = u (1 - exp(-t/T)): v = g u (t - T (1 - exp(-t/T))). The force of a step is that of its start.
TEST(MjcfActivation, the_force_is_that_of_the_activation) {
  const double T = 0.1, t = 0.5;
  std::vector<double> error;
  for (const int steps : {500, 1000}) {
    World world(slider("<general joint='j' dyntype='filter' dynprm='.1' gainprm='3'/>"), t / steps);
    world.step(steps, {2});
    error.push_back(world.get(Field::kJointVelocity)[0] - 6 * (t - T * (1 - std::exp(-t / T))));
  }
  EXPECT_NEAR(error[0], 0, 1e-2);
  EXPECT_NEAR(error[1] / error[0], 0.5, 0.3);  // at least of first order
}

TEST(MjcfActivation, an_integrator_moves_a_set_point_within_its_range) {
  World world(slider("<general joint='j' dyntype='integrator' gainprm='400' biastype='affine' biasprm='0 -400 -40' "
                     "actrange='-1 .3'/>"),
              0.01);
  world.step(20, {1});
  EXPECT_NEAR(world.get(Field::kActivation)[0], 0.2, 1e-12);
  world.step(200);
  EXPECT_EQ(world.get(Field::kActivation)[0], 0.3);
  EXPECT_NEAR(world.get(Field::kJointPosition)[0], 0.3, 1e-6);
}

TEST(MjcfActivation, is_state_of_keyframes_set_state_and_snapshots) {
  const std::string xml = slider(
      "<motor joint='j'/><position joint='j' kp='9' timeconst='.2'/><general joint='j' dyntype='integrator' "
      "actrange='-1 1'/>",
      "<keyframe><key act='.25 .5' ctrl='0 1 0'/></keyframe>");
  World world(xml, 0.01), other(xml, 0.01);
  EXPECT_EQ(world.get(Field::kActivation), (std::vector<double>{0.25, 0.5}));
  world.set_activation({-3, 7});
  EXPECT_EQ(world.get(Field::kActivation), (std::vector<double>{-3, 1}));  // the integrator has a range
  world.step(7);
  const std::string kept = world.snapshot();
  world.step(9);
  other.set_snapshot(kept);
  other.step(9);
  EXPECT_EQ(world.get(Field::kActivation), other.get(Field::kActivation));
  EXPECT_EQ(world.get(Field::kJointPosition), other.get(Field::kJointPosition));
}

TEST(MjcfActivation, what_is_not_offered_is_refused_by_name) {
  expect_refused(slider("<general joint='j' dyntype='user'/>"), "general", "its law");
  expect_refused(slider("<general joint='j' gaintype='user'/>"), "general", "its law");
  expect_refused(slider("<general joint='j' dyntype='filter' dynprm='-1'/>"), "general.dynprm", "negative");
  expect_refused(slider("<general joint='j' dyntype='filter' actrange='1 0'/>"), "general.actrange", "smaller");
  expect_refused(slider("<general joint='j' dyntype='filter'/>", "<keyframe><key act='1 2'/></keyframe>"), "key.act",
                 "1");
}

// A muscle's time is 10 ms (0.5 + 1.5 w) where it rises and 40 ms over that where it falls: from w' = (u - w)/T by
// quadrature, dt = T dw/(u - w).
TEST(MjcfActivation, of_a_muscle_follows_faster_upwards_and_at_any_step) {
  const auto time = [](double from, double to, double u, double seconds, bool rises) {
    double sum = 0;
    for (int k = 0; k < 20000; ++k) {
      const double w = from + (k + 0.5) / 20000 * (to - from), scale = 0.5 + 1.5 * w;
      sum += (rises ? seconds * scale : seconds / scale) / (u - w) * (to - from) / 20000;
    }
    return sum;
  };
  std::vector<double> error;
  for (const double dt : {0.002, 0.001}) {
    World world(slider("<muscle joint='j' lengthrange='-1 1' force='1'/>"), dt);
    world.step(static_cast<int>(std::lround(0.01 / dt)), {0.8});
    const double risen = world.get(Field::kActivation)[0];
    error.push_back(time(0, risen, 0.8, 0.01, true) - 0.01);
    world.step(static_cast<int>(std::lround(0.02 / dt)), {-3});  // as 0
    error.push_back(time(risen, world.get(Field::kActivation)[0], 0, 0.04, false) - 0.02);
  }
  EXPECT_NEAR(error[0], 0, 3e-4);
  EXPECT_NEAR(error[1], 0, 3e-4);
  for (const int k : {0, 1}) EXPECT_LT(std::abs(error[2 + k]), std::abs(error[k]) / 3);  // second order: a quarter
  World coarse(slider("<muscle joint='j' lengthrange='-1 1' force='1' tausmooth='.2'/>"), 0.3);
  coarse.step(1, {7});
  EXPECT_NEAR(coarse.get(Field::kActivation)[0], 1, 1e-3);
}

// w of the end of a step in place of that of its start: the force of a constant gain is a step ahead.
TEST(MjcfActivation, an_early_one_acts_in_the_step_in_which_its_control_does) {
  const std::string law = "<general joint='j' dyntype='filter' dynprm='.1' gainprm='3' actearly='";
  World late(slider(law + "false'/>"), 0.01), early(slider(law + "true'/>"), 0.01);
  late.step(1, {2}), early.step(1, {2});
  EXPECT_EQ(late.get(Field::kActivation), early.get(Field::kActivation));
  EXPECT_EQ(late.get(Field::kJointVelocity)[0], 0);
  EXPECT_GT(early.get(Field::kJointVelocity)[0], 0.5 * 0.01 * 6 * (1 - std::exp(-0.1)));
  late.step(1, {2}), early.step(1, {2});
  EXPECT_EQ(late.get(Field::kActivation), early.get(Field::kActivation));
}

// At rest on its ends: the force of the passive curve beyond its best length, and none of the active one below lmin.
TEST(MjcfMuscle, its_force_is_that_of_its_curves) {
  const auto force = [](double q, double activation) {
    World world(
        slider("<muscle joint='j' lengthrange='-1 2' range='.6 1.2' force='30' ctrlrange='0 1'/>",
               "<keyframe><key qpos='" + std::to_string(q) + "' act='" + std::to_string(activation) + "'/></keyframe>"),
        0.001);
    return world.get(Field::kActuatorForce)[0];
  };
  // L0 = 5 and L = .6 + (q + 1)/5: it is 1 at q = 1, 0.5 = lmin at -1.5 and 1.6 = lmax at 4; half-ways -.25 and 2.5.
  EXPECT_NEAR(force(1, 0.7), -30 * 0.7, 1e-9);
  EXPECT_NEAR(force(-1.5, 1), 0, 1e-9);
  EXPECT_NEAR(force(-0.25, 1), -30 * 0.5, 1e-9);
  EXPECT_NEAR(force(2.5, 0), -30 * 1.3 / 2, 1e-9);
  EXPECT_NEAR(force(4, 0), -30 * 1.3 * 1.5, 1e-9);
  EXPECT_NEAR(force(2.5, 0.2), -30 * (1.3 / 2 + 0.5 * 0.2), 1e-9);
  expect_refused(slider("<muscle joint='j' force='3'/>"), "muscle.lengthrange", "neither");
  expect_refused(slider("<muscle joint='j' force='3' range='2 1' lengthrange='0 1'/>"), "muscle.range", "smaller");
}

TEST(MjcfMuscle, lengths_follow_from_the_ranges_of_its_joints) {
  const std::string of_joint = with_range("<muscle joint='j' gear='-2' force='3'/>");
  const model::MuscleSpec muscle = imported(of_joint).scene.actuators.at(0).muscle;
  EXPECT_NEAR(muscle.length_lower, -2 * std::acos(-1.0) / 3, 1e-12);
  EXPECT_NEAR(muscle.length_upper, 2 * std::acos(-1.0) / 6, 1e-12);
}

std::string with_joint(const std::string& actuators, const std::string& defaults = "") {
  return "<mujoco><default>" + defaults +
         "</default><worldbody><body><joint name='j' range='-30 60'/><geom size='.1' "
         "pos='.2 0 0'/></body></worldbody><actuator>" +
         actuators + "</actuator></mujoco>";
}

// What MuJoCo 4.0 makes of the short forms, written as general actuators.
TEST(MjcfActuators, integrated_velocities_and_cylinders_are_the_general_actuators_that_they_stand_for) {
  const struct {
    std::string made, general, defaults;
  } cases[] = {
      {"<intvelocity joint='j' kp='5' kv='2' actrange='-1 2' ctrlrange='-3 3'/>",
       "<general joint='j' dyntype='integrator' gainprm='5' biastype='affine' biasprm='0 -5 -2' actrange='-1 2' "
       "ctrlrange='-3 3'/>",
       ""},
      {"<intvelocity joint='j' kp='5' inheritrange='.5'/>",
       "<general joint='j' dyntype='integrator' gainprm='5' biastype='affine' biasprm='0 -5 0' "
       "actrange='-.130899693899575 .654498469497874'/>",
       ""},
      {"<intvelocity joint='j' kp='5' dampratio='1'/>",
       "<general joint='j' dyntype='integrator' gainprm='5' biastype='affine' biasprm='0 -5 1'/>", ""},
      {"<intvelocity joint='j'/>",
       "<general joint='j' dyntype='integrator' gainprm='5' biastype='affine' biasprm='0 -5 0' actrange='-1 2'/>",
       "<intvelocity kp='5' actrange='-1 2'/>"},
      {"<cylinder joint='j'/>", "<general joint='j' dyntype='filter' biastype='affine'/>", ""},
      {"<cylinder joint='j' timeconst='.3' area='2' bias='1 -3 -4'/>",
       "<general joint='j' dyntype='filter' dynprm='.3' gainprm='2' biastype='affine' biasprm='1 -3 -4'/>", ""},
      {"<cylinder joint='j' diameter='2'/>",
       "<general joint='j' dyntype='filter' gainprm='3.14159265358979' biastype='affine'/>", ""},
      {"<cylinder joint='j'/>",
       "<general joint='j' dyntype='filter' dynprm='.2' gainprm='7' biastype='affine' biasprm='1 -2 -3'/>",
       "<general gainprm='7' biasprm='1 -2 -3' dynprm='.2'/>"},
  };
  for (const auto& c : cases) {
    const model::ActuatorSpec a = imported(with_joint(c.made, c.defaults)).scene.actuators.at(0),
                              b = imported(with_joint(c.general)).scene.actuators.at(0);
    EXPECT_EQ(a.kind, b.kind) << c.made;
    EXPECT_EQ(a.activation, b.activation) << c.made;
    EXPECT_EQ(a.control_limited, b.control_limited) << c.made;
    EXPECT_EQ(a.activation_limited, b.activation_limited) << c.made;
    const auto same = [&](double one, double other) {
      EXPECT_NEAR(one, other, 1e-12 * (1 + std::abs(other))) << c.made;
    };
    same(a.kp, b.kp), same(a.kd, b.kd), same(a.gear, b.gear);
    same(a.control_gain, b.control_gain), same(a.control_offset, b.control_offset);
    same(a.control_lower, b.control_lower), same(a.control_upper, b.control_upper);
    same(a.activation_time, b.activation_time);
    same(a.activation_lower, b.activation_lower), same(a.activation_upper, b.activation_upper);
  }
  expect_refused(with_joint("<intvelocity joint='j' timeconst='1'/>"), "intvelocity.timeconst", "not an attribute");
  expect_refused(with_joint("<cylinder joint='j' kp='1'/>"), "cylinder.kp", "not an attribute");
  expect_refused(with_joint("<velocity joint='j' kp='1'/>"), "velocity.kp", "not an attribute");
  expect_refused(with_joint("<intvelocity joint='j' inheritrange='1' actrange='0 1'/>"), "intvelocity.actrange",
                 "together");
}

// Of gear 2 an armature of 0.75 kg is 3 kg, beside 1 kg, and a damping of 0.5 is 2 N s/m: v = 4 (1 - exp(-t/2)) of 8 N.
TEST(MjcfActuators, armature_and_damping_are_felt_by_the_square_of_the_gear) {
  World world(slider("<motor joint='j' gear='2' armature='.75' damping='.5'/>"), 0.005);
  world.step(200, {4});
  EXPECT_NEAR(world.get(Field::kJointVelocity)[0], 4 * (1 - std::exp(-0.5)), 1e-5);
  expect_refused(slider("<motor joint='j' damping='.5 1'/>"), "motor.damping", "linear");
  expect_refused(slider("<motor joint='j' armature='-1'/>"), "motor.armature", "negative");
}

// 5 N and 2 N of motors of any gear are 3 N together, of 2 kg; 5 N and -4 N are 1 N. A drive beside them is refused.
TEST(MjcfActuators, the_force_range_of_a_joint_bounds_what_its_motors_do_together) {
  const auto document = [](const std::string& second) {
    return "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='slide' axis='1 0 0' "
           "actuatorfrcrange='-2 3'/><geom size='.1' mass='2'/></body></worldbody><actuator><motor joint='j' "
           "gear='2.5'/>" +
           second + "</actuator><sensor><jointactuatorfrc joint='j'/></sensor></mujoco>";
  };
  for (const auto& [other, force] : {std::pair{2.0, 3.0}, {-4.0, 1.0}, {-9.0, -2.0}}) {
    World world(document("<motor joint='j'/>"), 0.01);
    world.step(100, {2, other});
    EXPECT_NEAR(world.get(Field::kJointVelocity)[0], force / 2, 1e-9);
    EXPECT_EQ(world.get(Field::kSensorData)[0], force);
  }
  expect_refused(document("<position joint='j'/>"), "joint.actuatorfrcrange", "together");
}

// MuJoCo bounds it by joints; here the tendon's motor does the same to all of them, and the file's author is told.
TEST(MjcfActuators, a_force_range_of_a_joint_says_that_it_leaves_tendons_alone) {
  const auto document = [](const std::string& actuator) {
    return "<mujoco><worldbody><body><joint name='j' actuatorfrcrange='-2 3'/><geom size='.1'/></body></worldbody>"
           "<tendon><fixed name='t'><joint joint='j' coef='2'/></fixed></tendon><actuator>" +
           actuator + "</actuator></mujoco>";
  };
  const auto warnings = [&](const std::string& actuator) { return import_mjcf(document(actuator)).value().warnings; };
  EXPECT_EQ(warnings("<motor joint='j'/>").size(), 0u);
  const std::vector<std::string> of_tendon = warnings("<motor tendon='t'/>");
  ASSERT_EQ(of_tendon.size(), 1u);
  EXPECT_NE(of_tendon[0].find("actuatorfrcrange"), std::string::npos) << of_tendon[0];
  EXPECT_NE(of_tendon[0].find("tendons"), std::string::npos) << of_tendon[0];
}

// The set point integrates the control, 0.5 rad/s for a second; at rest the joint is where it is.
TEST(MjcfActuators, a_joint_follows_an_integrated_velocity) {
  World world(R"(<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' axis='0 0 1'/><geom size='.1'
    mass='1'/></body></worldbody><actuator><intvelocity joint='j' kp='500' kv='5' actrange='-2 .4'/></actuator>
    </mujoco>)",
              0.005);
  world.step(100, {0.5});
  EXPECT_NEAR(world.get(Field::kActivation)[0], 0.25, 1e-12);
  world.step(100, {0});
  EXPECT_NEAR(world.get(Field::kJointPosition)[0], 0.25, 1e-5);
  world.step(400, {0.5});
  EXPECT_NEAR(world.get(Field::kJointPosition)[0], 0.4, 1e-5);
}

}  // namespace
}  // namespace axion::import::mjcf_actuators_test
