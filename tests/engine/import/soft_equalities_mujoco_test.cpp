// Equalities that give way beside MuJoCo's. Joints and tendons off their polynomial: with the C library, coordinate
// by coordinate, both at 0.1 ms, where its first order has an error of about 1e-3 of the motion. Mocap bodies that
// pull and loops that come together: by numbers of MuJoCo 3.17 at 0.002 ms, as the library is from before it counted
// what turning alone accelerates an error by.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "engine/model/compile.hpp"
#include "tests/engine/import/imported_world.hpp"
#include "tests/support/mujoco_model.hpp"

namespace axion::import::soft_equalities_mujoco_test {
namespace {

constexpr double kStep = 1e-4;
constexpr int kSteps = 3000;

model::SolverOptions soft_options() {
  model::SolverOptions options;
  options.contact_softness = model::ContactSoftness::kMjcf, options.tolerance = 1e-8;
  return options;
}

std::string document(const std::string& bodies, const std::string& rest) {
  return "<mujoco><option timestep='0.0001'/><worldbody>" + bodies + "</worldbody>" + rest + "</mujoco>";
}

// The greatest difference of a coordinate, and the greatest way that one makes.
struct Difference {
  double worst, way;
};
Difference compare_motion(const std::string& xml) {
  testing::MujocoModel m = testing::load_mujoco(xml);
  testing::MujocoData d(mj_makeData(m.get()));
  World world(xml, kStep, soft_options());
  if (m->nkey > 0) mj_resetDataKeyframe(m.get(), d.get(), 0);
  const std::vector<double> start = world.get(Field::kJointPosition);
  Difference difference{0, 0};
  for (int step = 0; step < kSteps; step += 50) {
    world.step(50);
    for (int i = 0; i < 50; ++i) mj_step(m.get(), d.get());
    const std::vector<double> q = world.get(Field::kJointPosition);
    EXPECT_EQ(static_cast<int>(q.size()), m->nq);
    for (std::size_t k = 0; k < q.size(); ++k) {
      difference.worst = std::max(difference.worst, std::abs(q[k] - d->qpos[k]));
      difference.way = std::max(difference.way, std::abs(q[k] - start[k]));
    }
  }
  return difference;
}

void expect_alike(const std::string& xml) {
  const Difference difference = compare_motion(xml);
  EXPECT_GT(difference.way, 0.02) << xml;
  EXPECT_LT(difference.worst, 2e-3 * difference.way) << xml;
}

// The joint coordinates of MuJoCo 3.17 at 10, 50 and 200 ms.
using Reference = std::array<std::vector<double>, 3>;
void expect_motion(const std::string& xml, const Reference& reference, const std::vector<double>& mocap) {
  World world(xml, kStep, soft_options());
  if (!mocap.empty()) {
    ASSERT_TRUE(world.set_mocaps(mocap).ok());
  }
  const int times[] = {100, 400, 1500};  // steps from one to the next
  for (int i = 0; i < 3; ++i) {
    world.step(times[i]);
    const std::vector<double> q = world.get(Field::kJointPosition);
    for (std::size_t k = 0; k < q.size(); ++k) EXPECT_NEAR(q[k], reference[i][k], 1e-4) << xml << " " << i << " " << k;
  }
}

constexpr const char* kHand = R"(<body mocap='true' name='hand' pos='0 0 1'/><body name='box' pos='.3 0 1'><freejoint/>
    <geom type='box' size='.1 .05 .2' pos='.05 0 .02' density='300'/></body>)";
const std::vector<double> kThere{0.05, 0.03, 1.02, std::cos(0.2), 0, std::sin(0.2), 0};

TEST(SoftEqualities, a_mocap_body_pulls_by_a_weld_as_mujocos) {
  expect_motion(document(kHand, "<equality><weld body1='hand' body2='box'/></equality>"),
                {{{0.302360, 0.002711, 0.991285, 0.999942, 0.000368, 0.010693, -0.001084},
                  {0.318752, 0.021376, 0.930934, 0.990906, 0.000505, 0.134555, -0.000892},
                  {0.326305, 0.029985, 0.903022, 0.979423, -0.000017, 0.201819, 0.000099}}},
                kThere);
}

TEST(SoftEqualities, torquescale_weighs_turning_as_mujocos) {
  expect_motion(document(kHand, R"(<equality><weld body1='hand' body2='box' solref='.05 .4' solimp='.5 .8 .1'
      torquescale='.3'/></equality>)"),
                {{{0.302928, 0.003432, 0.989270, 0.999853, 0.001582, -0.012874, -0.011188},
                  {0.329615, 0.033768, 0.890491, 0.990751, 0.023509, -0.098689, -0.090116},
                  {0.327067, 0.030316, 0.901101, 0.898731, 0.098714, 0.423488, 0.056528}}},
                kThere);
}

TEST(SoftEqualities, a_mocap_body_pulls_by_a_connect_as_mujocos) {
  expect_motion(
      document(kHand, "<equality><connect body1='hand' body2='box' anchor='.2 0 .1' solref='.04 .7'/></equality>"),
      {{{0.304251, 0.000653, 0.996750, 0.999989, -0.000688, -0.001650, -0.004415},
        {0.348691, 0.007602, 0.959157, 0.998545, -0.007459, -0.009625, -0.052533},
        {0.310908, 0.032057, 0.897200, 0.965770, 0.025023, 0.256548, -0.029089}}},
      kThere);
}

TEST(SoftEqualities, a_loop_comes_together_as_mujocos) {
  expect_motion(document(R"(<body name='upper' pos='0 0 2'><joint axis='0 1 0' damping='.1'/>
      <geom type='capsule' fromto='0 0 0 .5 0 0' size='.03'/><body name='lower' pos='.5 0 0'>
      <joint axis='0 1 0' damping='.1'/><geom type='capsule' fromto='0 0 0 .5 0 0' size='.03'/></body></body>
      <body name='post' pos='1 0 2'/>)",
                         R"(<equality><connect body1='lower' body2='post' anchor='.5 0 0' solref='.03 1'/></equality>
      <keyframe><key qpos='.2 .1'/></keyframe>)"),
                {{{0.182029, 0.113111}, {0.019422, 0.211307}, {0.002924, -0.000113}}}, {});
}

constexpr const char* kArms = R"(<body pos='0 0 1'><joint name='a' axis='0 1 0' damping='.05'/>
      <geom type='capsule' fromto='0 0 0 .4 0 0' size='.03'/></body>
    <body pos='0 1 1'><joint name='b' axis='0 1 0' damping='.05'/>
      <geom type='capsule' fromto='0 0 0 .6 0 0' size='.03'/></body>)";

TEST(SoftEqualities, joints_follow_each_other_as_mujocos) {
  expect_alike(
      document(kArms, R"(<equality><joint joint1='a' joint2='b' polycoef='.1 .5 .2 0 0' solref='.05 1'/></equality>
      <keyframe><key qpos='.3 -.1'/></keyframe>)"));
  expect_alike(document(kArms, R"(<equality><joint joint1='a' polycoef='.1 0 0 0 0' solimp='.3 .6 .2'/></equality>)"));
}

TEST(SoftEqualities, tendons_are_held_as_mujocos) {
  expect_alike(
      document(kArms, R"(<tendon><fixed name='t'><joint joint='a' coef='.7'/><joint joint='b' coef='-.4'/></fixed>
      </tendon><equality><tendon tendon1='t' polycoef='.2 0 0 0 0' solref='.05 .8'/></equality>)"));
}

// What a unit of force on a massless hand, welded to the last link of an arm, moves it by: that of the hand itself.
TEST(SoftEqualities, of_a_massless_hand_are_of_the_hand) {
  const std::string xml = document(R"(<body name='upper' pos='0 0 2'><joint axis='0 1 0' armature='.01'/>
      <geom type='capsule' fromto='0 0 0 .5 0 0' size='.03'/><body name='lower' pos='.5 0 0'>
      <joint axis='0 0 1'/><geom type='capsule' fromto='0 0 0 .1 .2 0' size='.03'/>
      <body name='wrist' pos='.1 .2 0'><joint axis='1 0 0'/><geom size='.02'/>
      <body name='hand' pos='.3 .1 0'><body name='finger'><joint type='slide'/><geom size='.01'/></body></body></body>
      </body></body><body name='goal' mocap='true'/>)",
                                   "<equality><weld body1='goal' body2='hand' torquescale='2'/></equality>");
  testing::MujocoModel m = testing::load_mujoco(xml);
  const mjtNum* given = m->body_invweight0 + 2 * mj_name2id(m.get(), mjOBJ_BODY, "hand");
  const Result<model::CompiledModel> compiled = model::compile(imported(xml).scene);
  ASSERT_TRUE(compiled.ok());
  const model::LockSoftness<double>& soft = compiled.value().arrays.lock_softness.at(0);
  EXPECT_NEAR(soft.translation.mobility, given[0], 1e-6 * given[0]);
  EXPECT_NEAR(soft.rotation.mobility, given[1], 1e-6 * given[1]);  // torquescale/2 is 1
}

// A rigid batch passes over it: the weld holds to rounding.
TEST(SoftEqualities, are_rigid_where_contacts_are) {
  World world(document(kHand, "<equality><weld body1='hand' body2='box' solref='.5 1' solimp='.1 .1'/></equality>"),
              0.002);
  world.step(500);
  EXPECT_NEAR(world.get(Field::kBodyPose)[2], 1, 1e-6);
}

}  // namespace
}  // namespace axion::import::soft_equalities_mujoco_test
