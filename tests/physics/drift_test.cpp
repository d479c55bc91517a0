// Ten thousand steps of what holds, pulls or springs: nothing creeps away, and every step converges.
//
// Scenes are MJCF documents, stepped in float64. What rests must stay where it came to rest; what swings without
// friction must keep its energy; what is held must stay held. Bounds are some times what was measured, far below what
// could be seen.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/engine/import/imported_world.hpp"

namespace axion::drift_test {
namespace {

constexpr int kSteps = 10000;
constexpr double kPi = 3.14159265358979323846;
using import::World;
using Numbers = std::vector<double>;

std::string document(const std::string& bodies, const std::string& rest, const std::string& option = "") {
  return "<mujoco><compiler angle='radian' autolimits='true'/><option " + option + "/><worldbody>" + bodies +
         "</worldbody>" + rest + "</mujoco>";
}

// With the default tolerance bodies come to rest where a step's change is below it: what is left is not drift.
model::SolverOptions exact() {
  model::SolverOptions options;
  options.tolerance = 1e-8;
  return options;
}

model::SolverOptions soft() {
  model::SolverOptions options = exact();
  options.contact_softness = model::ContactSoftness::kMjcf;
  return options;
}

std::uint32_t outcome(World& world) {
  std::uint32_t bits = 0;
  const OutputView out{Field::kOutcome, reinterpret_cast<std::byte*>(&bits), 0, 0};
  EXPECT_TRUE(world.batch().get({}, {&out, 1}).ok());
  return bits;
}

// `steps` steps, all of which must converge without any remedy.
void run(World& world, int steps, const Numbers& control = {}) {
  world.step(steps, control);
  EXPECT_EQ(outcome(world), kConverged);
}

double greatest_difference(const Numbers& a, const Numbers& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// How far the bodies move in the last half of the steps.
double creep(World& world, const Numbers& control = {}) {
  run(world, kSteps / 2, control);
  const Numbers settled = world.get(Field::kBodyPose);
  double most = 0;
  for (int k = 0; k < 5; ++k) {
    run(world, kSteps / 10, control);
    most = std::max(most, greatest_difference(world.get(Field::kBodyPose), settled));
  }
  return most;
}

constexpr const char* kArm = R"(<body name='arm' pos='0 0 1'><joint name='j' axis='0 1 0' damping='.5'/>
    <geom type='capsule' fromto='0 0 0 .4 0 0' size='.03' mass='1'/>
    <site name='tip' pos='.4 0 0'/><site name='low' pos='.2 0 -.05'/></body><site name='wall' pos='.4 0 1.6'/>)";

TEST(Drift, an_arm_that_muscles_hold_does_not_creep) {
  World world(document(kArm, R"(<tendon><spatial name='t'><site site='wall'/><site site='tip'/></spatial></tendon>
      <actuator><muscle tendon='t' force='60' lengthrange='.3 1'/><muscle joint='j' force='4'
      lengthrange='-2 2'/></actuator>)"),
              0.002, exact());
  EXPECT_LT(creep(world, {0.4, 0.2}), 1e-9);
}

TEST(Drift, a_box_that_clings_to_a_ceiling_does_not_creep_down_or_along) {
  World world(document(R"(<geom type='box' size='1 1 .1' pos='0 0 1.1' euler='.2 0 0'/>
      <body name='b' pos='0 .0397 .904' euler='.2 0 0'>
     <freejoint/><geom type='box' size='.1 .1 .1' mass='.5'/></body>)",
                       "<actuator><adhesion body='b' ctrlrange='0 1' gain='40'/></actuator>"),
              0.002, exact());
  EXPECT_LT(creep(world, {1}), 1e-6);
}

TEST(Drift, a_load_on_a_slider_crank_hangs_where_it_is_held) {
  World world(document(R"(<body name='wheel' pos='0 0 1'><joint name='wheel' axis='0 1 0' damping='2'/>
      <geom type='cylinder' size='.2 .02' euler='1.5708 0 0' mass='2'/><geom size='.03' pos='.15 0 0' mass='1'/>
      <site name='crank' pos='.15 0 0'/></body><site name='slider' pos='-.6 0 1' euler='0 1.5708 0'/>)",
                       "<actuator><general slidersite='slider' cranksite='crank' cranklength='.5' gainprm='30' "
                       "biastype='affine' biasprm='0 -200 0'/></actuator>"),
              0.002, exact());
  EXPECT_LT(creep(world, {1}), 1e-9);
}

TEST(Drift, a_top_on_a_ball_s_spring_keeps_its_energy) {
  World world(document(R"(<body><joint name='j' type='ball' stiffness='4'/>
      <geom type='box' size='.1 .2 .3' mass='1'/></body>)",
                       "<sensor><e_potential/><e_kinetic/></sensor><keyframe><key qpos='1 0 0 0' qvel='.6 .4 -.5'/>"
                       "</keyframe>",
                       "gravity='0 0 0'"),
              0.002, exact());
  const auto energy = [&] {
    const Numbers sensors = world.get(Field::kSensorData);
    return sensors[0] + sensors[1];
  };
  const double start = energy();
  double worst = 0;
  for (int k = 0; k < 500; ++k) {
    run(world, kSteps / 500);
    worst = std::max(worst, std::abs(energy() / start - 1));
  }
  EXPECT_GT(start, 0.01);
  EXPECT_LT(worst, 1e-2);
}

TEST(Drift, joints_with_springdampers_come_to_rest_at_their_references) {
  World world(
      document(R"(<body><joint name='a' axis='0 1 0' springdamper='.06 .4'/><geom size='.1' pos='.3 0 0' mass='1'/>
      <body pos='.3 0 0'><joint name='b' axis='0 1 0' springdamper='.04 1' springref='.3'/>
        <geom size='.1' pos='.3 0 0' mass='2'/></body></body>)",
               "<keyframe><key qpos='1 -1'/></keyframe>", "gravity='0 0 0'"),
      0.002, exact());
  run(world, kSteps);
  EXPECT_LT(greatest_difference(world.get(Field::kJointPosition), {0, 0.3}), 1e-9);
}

TEST(Drift, what_soft_equalities_hold_hangs_still) {
  const std::string two = R"(<body name='a' pos='0 0 2'><joint name='a' axis='0 1 0' damping='1'/>
      <geom type='capsule' fromto='0 0 0 .5 0 0' size='.03' mass='1'/></body>
      <body name='b' pos='0 .3 2'><joint name='b' axis='0 1 0' damping='1'/>
      <geom type='capsule' fromto='0 0 0 .4 0 0' size='.03' mass='1.5'/></body>)";
  const std::array<const char*, 4> held{
      "<equality><connect body1='a' body2='b' anchor='.2 .15 0'/></equality>",
      "<equality><weld body1='a' body2='b' solref='.05 1'/></equality>",
      "<equality><joint joint1='a' joint2='b' polycoef='0 .8 0 0 0' solref='.03 1'/></equality>",
      "<tendon><fixed name='s'><joint joint='a' coef='1'/></fixed><fixed name='t'><joint joint='b' coef='1'/></fixed>"
      "</tendon><equality><tendon tendon1='s' tendon2='t' polycoef='0 1 0 0 0'/></equality>"};
  for (const char* equality : held) {
    SCOPED_TRACE(equality);
    World world(document(two, equality), 0.002, soft());
    EXPECT_LT(creep(world), 1e-9);
  }
}

TEST(Drift, a_body_welded_to_a_mocap_body_follows_it_as_closely_at_the_end_as_at_first) {
  const std::string hand = R"(<body name='hand' mocap='true' pos='0 0 1'><geom size='.02' contype='0'
      conaffinity='0'/></body><body name='held' pos='0 0 1'><freejoint/><geom type='box' size='.1 .05 .05' mass='1'/>
      </body>)";
  for (const bool is_soft : {false, true}) {
    World world(document(hand, "<equality><weld body1='hand' body2='held'/></equality>"), 0.002,
                is_soft ? soft() : exact());
    constexpr int kRound = 1000;  // steps
    std::array<double, kSteps / kRound> off{};
    for (int step = 0; step < kSteps; ++step) {
      const double phase = 2 * kPi * (step + 1) / kRound, turn = 0.15 * std::sin(phase);
      const Numbers pose{0.2 * std::sin(phase), 0, 1 + 0.1 * std::sin(2 * phase), std::cos(turn), 0, std::sin(turn), 0};
      world.step_with_mocaps(1, pose);
      ASSERT_EQ(outcome(world), kConverged) << step;
      double& most = off[static_cast<std::size_t>(step / kRound)];
      most = std::max(most, greatest_difference(world.get(Field::kJointPosition), pose));
    }
    EXPECT_LT(off[1], is_soft ? 0.05 : 1e-3);
    EXPECT_LT(std::abs(off.back() - off[1]), 1e-3 * off[1] + 1e-9) << is_soft;
  }
}

}  // namespace
}  // namespace axion::drift_test
