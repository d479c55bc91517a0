// Dry friction of joints and tendons, limits of tendons and of balls that give way, beside MuJoCo's, coordinate by
// coordinate. Both step by 0.1 ms, where MuJoCo's first order has an error of about 1e-3 of the motion.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/model/compile.hpp"
#include "tests/engine/import/imported_world.hpp"
#include "tests/support/mujoco_model.hpp"

namespace axion::import::soft_rows_mujoco_test {
namespace {

constexpr double kStep = 1e-4;
constexpr int kSteps = 3000;

// The greatest difference of a coordinate over 0.3 s as a share of the greatest way that one makes.
double difference_of(const std::string& xml, model::ContactSoftness softness = model::ContactSoftness::kMjcf) {
  testing::MujocoModel m = testing::load_mujoco(xml);
  testing::MujocoData d(mj_makeData(m.get()));
  mj_resetDataKeyframe(m.get(), d.get(), 0);
  model::SolverOptions options;
  options.contact_softness = softness, options.tolerance = 1e-8;
  World world(xml, kStep, options);
  const std::vector<double> start(d->qpos, d->qpos + m->nq);
  double worst = 0, way = 0;
  for (int step = 0; step < kSteps; step += 50) {
    world.step(50);
    for (int i = 0; i < 50; ++i) mj_step(m.get(), d.get());
    const std::vector<double> q = world.get(Field::kJointPosition);
    EXPECT_EQ(static_cast<int>(q.size()), m->nq);
    for (std::size_t k = 0; k < q.size(); ++k) {
      worst = std::max(worst, std::abs(q[k] - d->qpos[k]));
      way = std::max(way, std::abs(d->qpos[k] - start[k]));
    }
  }
  EXPECT_GT(way, 0.05);
  return worst / way;
}

std::string document(const std::string& bodies, const std::string& rest) {
  return "<mujoco><compiler angle='radian'/><option timestep='0.0001'/><worldbody>" + bodies + "</worldbody>" + rest +
         "</mujoco>";
}

// Two links whose joints have these attributes.
std::string arm(const std::string& shoulder, const std::string& elbow) {
  return "<body name='upper' pos='0 0 1'><joint name='shoulder' axis='0 1 0' " + shoulder +
         "/><geom type='capsule' size='.03' fromto='0 0 0 .3 0 0' mass='1'/>"
         "<body name='lower' pos='.3 0 0'><joint name='elbow' axis='0 1 .2' " +
         elbow +
         "/><geom type='capsule' size='.03' fromto='0 0 0 .2 .05 0' mass='.6'/><site name='tip' pos='.2 .05 "
         "0'/></body></body>";
}

TEST(SoftRows, dry_friction_of_joints_is_mujocos) {
  const std::string key = "<keyframe><key qpos='.3 -.5' qvel='1 -2'/></keyframe>";
  const std::string usual = document(arm("frictionloss='1.2'", "frictionloss='.4'"), key);
  const double soft = difference_of(usual);
  EXPECT_LT(soft, 3e-3);
  EXPECT_GT(difference_of(usual, model::ContactSoftness::kRigid), 3 * soft);  // ideal friction moves otherwise
  EXPECT_LT(difference_of(document(arm("frictionloss='2' solreffriction='.2 1' solimpfriction='.5 .8 .01'",
                                       "frictionloss='.3' solreffriction='-50 -20' solimpfriction='.3 .3'"),
                                   key)),
            3e-3);
}

TEST(SoftRows, dry_friction_and_limits_of_fixed_tendons_are_mujocos) {
  const std::string key = "<keyframe><key qpos='.3 -.5' qvel='1 -2'/></keyframe>", bodies = arm("", "");
  const auto tendon = [](const std::string& attributes) {
    return "<tendon><fixed " + attributes +
           "><joint joint='shoulder' coef='1'/><joint joint='elbow' coef='.7'/></fixed></tendon>";
  };
  EXPECT_LT(difference_of(document(bodies, tendon("frictionloss='.8'") + key)), 3e-3);
  EXPECT_LT(difference_of(document(bodies, tendon("range='-.4 .4' limited='true'") + key)), 3e-3);
  EXPECT_LT(difference_of(document(bodies, tendon("range='-.4 .4' limited='true' solreflimit='.05 .7' "
                                                  "solimplimit='.6 .9 .2' margin='.1'") +
                                               key)),
            3e-3);
}

// A long body, whose mobilities differ by direction, at the end of an arm, and one that is free.
TEST(SoftRows, dry_friction_of_balls_and_free_joints_is_mujocos) {
  const std::string body = "<geom type='box' size='.3 .05 .1' pos='.2 .03 .04' mass='1'/>";
  const std::string arm =
      "<body pos='0 0 1' euler='.2 .3 .4'><joint axis='0 1 .3'/><geom size='.1' pos='.2 0 0'/>"
      "<body pos='.4 0 0' euler='.5 -.2 1'><joint type='ball' ";
  const std::string key = "<keyframe><key qpos='.2 .8 .3 .2 .4' qvel='1 .5 -1 2'/></keyframe>";
  const std::string free = "<body pos='0 0 1' euler='.5 -.2 1'><joint type='free' ";
  const std::string flying = "<keyframe><key qvel='1 -.5 3 2 -1 1.5'/></keyframe>";
  for (const char* friction :
       {"frictionloss='.4'/>", "frictionloss='.3' solreffriction='.1 1' solimpfriction='.6 .8'/>",
        "frictionloss='.3' solimpfriction='.7 .7 0'/>"}) {
    SCOPED_TRACE(friction);
    EXPECT_LT(difference_of(document(arm + friction + body + "</body></body>", key)), 3e-3);
    EXPECT_LT(difference_of(document(free + friction + body + "</body>", flying)), 3e-3);
  }
  const std::string held = document(arm + "frictionloss='3'/>" + body + "</body></body>", key);
  EXPECT_LT(difference_of(held), 3e-3);
  EXPECT_GT(difference_of(held, model::ContactSoftness::kRigid), 6e-3);  // ideal friction does not creep
}

// MuJoCo leaves out what turning alone accelerates a length by, so that these are slow.
TEST(SoftRows, limits_of_tendons_through_space_are_mujocos) {
  const std::string key = "<keyframe><key qpos='.3 -.5'/></keyframe>";
  const std::string bodies =
      "<site name='above' pos='.1 0 1.4'/><site name='side' pos='.2 .3 .9'/>"
      "<geom name='post' type='sphere' size='.05' pos='.15 .1 1.2' contype='0' conaffinity='0'/>" +
      arm("damping='.5'", "damping='.3'");
  const auto difference = [&](const std::string& path, const std::string& longest) {
    return difference_of(document(bodies, "<tendon><spatial range='0 " + longest +
                                              "' limited='true' solreflimit='.05 1'>" + path + "</spatial></tendon>" +
                                              key));
  };
  EXPECT_LT(difference("<site site='tip'/><site site='above'/>", ".6"), 1e-2);
  EXPECT_LT(difference("<site site='tip'/><geom geom='post'/><site site='above'/><site site='side'/>", "1.2"), 1e-2);
}

// As close as a ball without armature, which is off by 0.02 after it has leant on its limit for 0.2 s.
TEST(SoftRows, a_ball_with_armature_stops_at_its_limit_as_mujocos) {
  const std::string body =
      "<body pos='0 0 1'><joint type='ball' range='0 .6' limited='true' armature='.01' damping='.02'/>"
      "<geom type='capsule' size='.03' fromto='0 0 0 .3 0 .05' mass='1'/></body>";
  const std::string key = "<keyframe><key qpos='.96 .2 .1 .1' qvel='.5 1 -.3'/></keyframe>";
  EXPECT_LT(difference_of(document(body, key)), 3e-2);
}

}  // namespace
}  // namespace axion::import::soft_rows_mujoco_test
