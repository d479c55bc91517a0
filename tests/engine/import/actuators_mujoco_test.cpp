// The same actuators in C MuJoCo and here: what their curves, activations and transmissions do to a motion.
//
// MuJoCo runs with its fourth order integrator and steps of 0.1 ms and counts as exact; the activations of muscles are
// stepped by it as well. Errors are those of joint coordinates after 0.4 s under controls that change twice. They have
// to be small, and to fall with the step.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/engine/import/imported_world.hpp"
#include "tests/support/mujoco_model.hpp"

namespace axion::import::actuators_mujoco_test {
namespace {

constexpr int kHolds = 2;
constexpr double kHold = 0.2;  // s

struct Motion {
  std::vector<double> q, activation;
};

double control_of(int i, int hold) { return 0.3 + 0.2 * std::sin(1.0 + 2.0 * i + 1.7 * hold); }

Motion exact_motion(const std::string& xml) {
  const testing::MujocoModel m = testing::load_mujoco(xml);
  testing::MujocoData d(mj_makeData(m.get()));
  m->opt.integrator = mjINT_RK4;
  m->opt.timestep = 1e-4;
  for (int hold = 0; hold < kHolds; ++hold) {
    for (int i = 0; i < m->nu; ++i) d->ctrl[i] = control_of(i, hold);
    for (int k = 0; k < std::lround(kHold / m->opt.timestep); ++k) mj_step(m.get(), d.get());
  }
  return {{d->qpos, d->qpos + m->nq}, {d->act, d->act + m->na}};
}

Motion our_motion(const std::string& xml, double h) {
  World world(xml, h);
  for (int hold = 0; hold < kHolds; ++hold) {
    std::vector<double> control;
    for (std::size_t i = 0; i < world.get(Field::kActuatorForce).size(); ++i) {
      control.push_back(control_of(static_cast<int>(i), hold));
    }
    world.step(static_cast<int>(std::lround(kHold / h)), control);
  }
  return {world.get(Field::kJointPosition), world.get(Field::kActivation)};
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// Errors at h and at h/4, at most `error` and a share of the motion that is not mere standing still.
void expect_same(const std::string& xml, double h, double error) {
  const Motion exact = exact_motion(xml), coarse = our_motion(xml, h), fine = our_motion(xml, h / 4);
  const double first = difference(coarse.q, exact.q), second = difference(fine.q, exact.q);
  EXPECT_GT(difference(exact.q, World(xml, h).get(Field::kJointPosition)), 0.1) << "hardly moves";
  EXPECT_LT(first, error);
  EXPECT_LT(second, std::max(first / 2.5, 2e-5));
  EXPECT_LT(difference(fine.activation, exact.activation), 1e-4);
}

// Two links in a plane, without anything that may touch, and the rest of the document.
std::string leg(const std::string& rest, const std::string& joint = "") {
  return R"(<mujoco><option gravity='0 0 -3'/><default><geom contype='0' conaffinity='0'/></default><worldbody>
    <site name='w' pos='.1 0 .2'/>
    <body><joint name='hip' axis='0 1 0' damping='.3' armature='.01' )" +
         joint + R"(/><geom type='capsule' fromto='0 0 0 0 0 -.3' size='.02' mass='1'/>
      <site name='u' pos='.04 0 -.2'/>
      <body pos='0 0 -.3'><joint name='knee' axis='0 1 0' damping='.3' armature='.01'/>
        <geom type='capsule' fromto='0 0 0 0 0 -.3' size='.02' mass='.5'/><site name='l' pos='.05 0 -.1'/></body></body>
    </worldbody>)" +
         rest + "</mujoco>";
}

constexpr const char* kStrings = R"(<tendon><spatial name='t'><site site='u'/><site site='l'/></spatial>
  <spatial name='s'><site site='w'/><site site='u'/></spatial>
  <fixed name='f'><joint joint='hip' coef='.5'/><joint joint='knee' coef='-.3'/></fixed></tendon>)";

TEST(ActuatorsAgainstMujoco, muscles_on_strings_and_joints_move_a_leg_alike) {
  expect_same(leg(std::string(kStrings) +
                  "<actuator><muscle tendon='t' lengthrange='.17 .26' force='60'/>"
                  "<muscle tendon='s' lengthrange='.3 .5' force='40' timeconst='.02 .06' fpmax='2' vmax='3'/>"
                  "<muscle joint='hip' lengthrange='-1.5 1.5' force='3' lmin='.4' lmax='1.8' fvmax='1.6'/></actuator>"),
              0.004, 0.01);
}

TEST(ActuatorsAgainstMujoco, the_force_of_a_muscle_follows_from_what_it_moves) {
  expect_same(leg(std::string(kStrings) +
                  "<actuator><muscle tendon='t' lengthrange='.17 .26' scale='100'/><muscle tendon='f' "
                  "lengthrange='-1 1' scale='20'/><muscle joint='knee' lengthrange='-2 2' scale='100' gear='.5'/>"
                  "</actuator>"),
              0.004, 0.01);
}

// MuJoCo pulls at the muscle and sees where it comes to rest, to 5 % of the range, with limits that give way.
void expect_same_lengths(const std::string& xml) {
  const testing::MujocoModel m = testing::load_mujoco(xml);
  const model::SceneSpec s = imported(xml).scene;
  ASSERT_EQ(s.actuators.size(), 2u);
  for (std::size_t i = 0; i < s.actuators.size(); ++i) {
    const mjtNum* theirs = m->actuator_lengthrange + 2 * i;
    const model::MuscleSpec& ours = s.actuators[i].muscle;
    EXPECT_NEAR(ours.length_lower, theirs[0], 0.05 * (theirs[1] - theirs[0]));
    EXPECT_NEAR(ours.length_upper, theirs[1], 0.05 * (theirs[1] - theirs[0]));
  }
}

TEST(ActuatorsAgainstMujoco, the_lengths_of_a_muscle_follow_from_the_ranges_of_the_joints_that_it_crosses) {
  const std::string xml = R"(<mujoco><worldbody><site name='w' pos='.1 0 .1'/>
    <body><joint name='hip' axis='0 1 0' range='-50 40' limited='true' damping='1'/><geom size='.1' pos='0 0 -.2'/>
      <body pos='0 0 -.4'><joint name='knee' axis='0 1 0' range='5 100' limited='true' damping='1'/>
        <joint type='slide' axis='0 0 1' range='-.02 .03' limited='true' damping='5'/><geom size='.1' pos='0 0 -.2'/>
        <site name='l' pos='.03 0 -.2'/></body></body></worldbody>
    <tendon><spatial name='s'><site site='w'/><site site='l'/></spatial></tendon>
    <actuator><muscle tendon='s' force='1'/><muscle tendon='s' force='1' gear='-2'/></actuator></mujoco>)";
  expect_same_lengths(xml);
}

// It comes to rest where the string is shortest or longest; a ball turns about three axes.
TEST(ActuatorsAgainstMujoco, the_lengths_of_a_muscle_over_joints_without_a_range_are_those_of_all_their_turns) {
  const std::string xml = R"(<mujoco><worldbody><site name='w' pos='.3 0 .1'/>
    <body><joint name='hip' axis='0 1 0' damping='1'/><geom size='.1' pos='0 0 -.2'/><site name='m' pos='.05 .02 -.3'/>
      <body pos='0 0 -.4'><joint type='ball' damping='1'/><geom size='.1' pos='0 0 -.2'/>
        <site name='l' pos='.03 0 -.1'/></body></body></worldbody>
    <tendon><spatial name='s'><site site='w'/><site site='m'/></spatial>
      <spatial name='t'><site site='m'/><site site='l'/></spatial></tendon>
    <actuator><muscle tendon='s' force='1'/><muscle tendon='t' force='1'/></actuator></mujoco>)";
  expect_same_lengths(xml);
}

TEST(ActuatorsAgainstMujoco, gains_that_depend_on_length_and_rate_move_a_leg_alike) {
  expect_same(leg(std::string(kStrings) +
                  "<actuator><general joint='hip' gaintype='affine' gainprm='3 -4 -2'/>"
                  "<general joint='knee' biastype='affine' biasprm='.2 1.5 -.2' gainprm='2'/>"
                  "<general tendon='s' gaintype='affine' gainprm='20 -30 -5' biastype='affine' biasprm='1 2 -3' "
                  "gear='-1'/></actuator>"),
              0.004, 0.01);
}

TEST(ActuatorsAgainstMujoco, dampers_hold_back_as_much_as_they_are_told) {
  expect_same(leg("<actuator><motor joint='hip' gear='9'/><damper joint='knee' kv='2' ctrlrange='0 1'/>"
                  "<damper joint='hip' kv='1' ctrlrange='0 .4' forcelimited='true' "
                  "forcerange='-.4 .4'/></actuator>"),
              0.004, 0.01);
}

// It has no weight, so that a body falls slower by it, and turns where its centre is not at its origin.
TEST(ActuatorsAgainstMujoco, the_armature_of_a_free_joint_is_felt_by_all_that_hangs_on_it) {
  expect_same(R"(<mujoco><option gravity='0 0 -3'/><default><geom contype='0' conaffinity='0'/></default><worldbody>
    <body name='base' euler='20 30 0'><joint name='root' type='free' armature='.4'/>
      <geom type='box' size='.1 .2 .05' pos='.1 .05 0' mass='1'/>
      <body pos='.2 0 0'><joint name='hip' axis='0 1 0' damping='.1'/>
        <geom type='capsule' fromto='0 0 0 .1 0 -.3' size='.03' mass='.5'/></body></body></worldbody>
    <actuator><motor joint='hip' gear='4'/></actuator></mujoco>)",
              0.002, 0.01);
}

// A ball between two bodies, with springs; MuJoCo 2.2 takes such a joint's gear in the child's axes or the parent's.
TEST(ActuatorsAgainstMujoco, balls_have_springs_and_turn_by_motors_in_the_axes_of_child_and_parent) {
  expect_same(R"(<mujoco><option gravity='0 0 -3'/><default><geom contype='0' conaffinity='0'/></default><worldbody>
    <body><joint name='hip' axis='0 1 .2' damping='.2'/><geom type='capsule' fromto='0 0 0 .1 0 -.3' size='.02'/>
      <body pos='.1 0 -.3' euler='20 10 5'><joint name='b' type='ball' pos='.02 0 0' stiffness='2' damping='.05'/>
        <geom type='box' size='.05 .04 .15' pos='.03 .02 -.1'/></body></body></worldbody>
    <actuator><motor joint='b' gear='.8 -.3 .4'/><motor jointinparent='b' gear='-.2 .9 .1'/></actuator></mujoco>)",
              0.004, 0.01);
}

TEST(ActuatorsAgainstMujoco, drives_turn_balls_in_the_axes_of_child_and_parent) {
  expect_same(R"(<mujoco><option gravity='0 0 -3'/><default><geom contype='0' conaffinity='0'/></default><worldbody>
    <body><joint name='hip' axis='0 1 .2' damping='.2'/><geom type='capsule' fromto='0 0 0 .1 0 -.3' size='.02'/>
      <body pos='.1 0 -.3' euler='20 10 5'><joint name='b' type='ball' pos='.02 0 0' damping='.05'/>
        <geom type='box' size='.05 .04 .15' pos='.03 .02 -.1'/></body></body></worldbody>
    <actuator><position joint='b' gear='.8 -.3 .4' kp='6'/><velocity joint='b' gear='.2 1 0' kv='.3'/>
      <general jointinparent='b' gear='0 0 1' gainprm='2' biastype='affine' biasprm='.3 0 -.2'/></actuator></mujoco>)",
              0.004, 0.01);
}

// The ends of the leg as frames of each other, and one that has none and so no length.
TEST(ActuatorsAgainstMujoco, drives_pull_at_sites_alike) {
  expect_same(leg("<actuator><general site='l' refsite='w' gear='1 0 .5 0 .3 0' gainprm='20' biastype='affine' "
                  "biasprm='-1 -20 -2'/><position site='u' refsite='l' gear='0 0 2 0 0 0' kp='15'/>"
                  "<velocity site='l' gear='1 0 0 0 .1 0' kv='.4'/></actuator>"),
              0.004, 0.01);
}

TEST(ActuatorsAgainstMujoco, a_slider_crank_pushes_as_a_rod_would) {
  expect_same(leg("<actuator><motor cranksite='l' slidersite='w' cranklength='.55' gear='-7'/>"
                  "<general cranksite='u' slidersite='w' cranklength='.5' "
                  "gainprm='30' biastype='affine' biasprm='0 -30 -2'/></actuator>"),
              0.004, 0.01);
}

TEST(ActuatorsAgainstMujoco, springdampers_are_springs_and_dampers_of_what_moves_along_the_joint) {
  const std::string xml = R"(<mujoco><worldbody><body><joint name='a' axis='0 1 .2' springdamper='.3 .8'/>
    <geom type='capsule' fromto='0 0 0 .1 0 -.3' size='.02'/>
    <body pos='.1 0 -.3'><joint type='ball' springdamper='.2 1'/><geom type='box' size='.05 .04 .15' pos='.03 .02 0'/>
      <body pos='.1 0 -.3'><joint type='slide' axis='1 0 1' springdamper='.4 .5' armature='.2'/>
        <geom size='.05'/></body>
    </body></body></worldbody></mujoco>)";
  const testing::MujocoModel m = testing::load_mujoco(xml);
  const model::SceneSpec s = imported(xml).scene;
  const auto near = [](double ours, double theirs) { EXPECT_NEAR(ours, theirs, 1e-9 * theirs); };
  near(s.joints[0].axes[0].stiffness, m->jnt_stiffness[0]), near(s.joints[0].axes[0].damping, m->dof_damping[0]);
  near(s.joints[1].ball_stiffness, m->jnt_stiffness[1]), near(s.joints[1].ball_damping, m->dof_damping[1]);
  near(s.joints[2].axes[0].stiffness, m->jnt_stiffness[2]), near(s.joints[2].axes[0].damping, m->dof_damping[4]);
}

}  // namespace
}  // namespace axion::import::actuators_mujoco_test
