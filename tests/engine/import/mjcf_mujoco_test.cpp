// What import_mjcf makes of a file, beside what MuJoCo itself makes of it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "engine/import/mjcf.hpp"
#include "tests/engine/import/mujoco_comparison.hpp"
#include "tests/support/mujoco_model.hpp"
#include "tests/support/published_model.hpp"

namespace axion::import::mjcf_mujoco_test {
namespace {

class PublishedModelInMujoco : public ::testing::TestWithParam<const char*> {};

TEST_P(PublishedModelInMujoco, masses_inertias_axes_and_poses_equal_those_of_mujoco) {
  const std::string text = testing::published_model(GetParam());
  if (text.empty()) GTEST_SKIP() << GetParam() << " is not in " << AXION_MODELS_DIR;
  Comparison(text).run();
}

// What MuJoCo writes of a file, with the six digits that it gives.
std::string saved_by_mujoco(const std::string& text) {
  const auto m = testing::load_mujoco(text);
  const std::string file = ::testing::TempDir() + "saved_" + std::to_string(::getpid()) + ".xml";
  char error[1000] = "";
  EXPECT_EQ(mj_saveLastXML(file.c_str(), m.get(), error, sizeof error), 1) << error;
  std::ifstream in(file);
  std::stringstream saved;
  saved << in.rdbuf();
  std::remove(file.c_str());
  return saved.str();
}

void expect_alike(double a, double b, const std::string& what) {
  EXPECT_NEAR(a, b, 2e-5 * std::max(std::abs(a), 0.01)) << what;
}
template <std::size_t N>
void expect_alike(const std::array<double, N>& a, const std::array<double, N>& b, const std::string& what) {
  for (std::size_t i = 0; i < N; ++i) expect_alike(a[i], b[i], what);
}

TEST_P(PublishedModelInMujoco, what_mujoco_writes_of_it_is_the_same_scene) {
  const std::string text = testing::published_model(GetParam());
  if (text.empty()) GTEST_SKIP() << GetParam() << " is not in " << AXION_MODELS_DIR;
  const auto made = import_mjcf(text), saved = import_mjcf(saved_by_mujoco(text));
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  const model::SceneSpec &a = made.value().scene, &b = saved.value().scene;
  ASSERT_EQ(a.bodies.size(), b.bodies.size());
  const auto total = [](const model::SceneSpec& scene) {
    double sum = 0;
    for (const model::BodySpec& body : scene.bodies) sum += body.mass;
    return sum;
  };
  // This MuJoCo does not write settotalmass; newer ones do.
  const double scale = text.find("settotalmass") == std::string::npos ? 1 : total(a) / total(b);
  for (std::size_t i = 0; i < a.bodies.size(); ++i) {
    expect_alike(a.bodies[i].mass, scale * b.bodies[i].mass, "mass");
    expect_alike(a.bodies[i].p_BoBcm, b.bodies[i].p_BoBcm, "centre of mass");
    for (std::size_t k = 0; k < 6; ++k) expect_alike(a.bodies[i].I_Bcm[k], scale * b.bodies[i].I_Bcm[k], "inertia");
    expect_alike(a.bodies[i].X_WB.position, b.bodies[i].X_WB.position, "position");
  }
  ASSERT_EQ(a.joints.size(), b.joints.size());
  for (std::size_t i = 0; i < a.joints.size(); ++i) {
    EXPECT_EQ(a.joints[i].kind, b.joints[i].kind);
    ASSERT_EQ(a.joints[i].axes.size(), b.joints[i].axes.size());
    for (std::size_t k = 0; k < a.joints[i].axes.size(); ++k) {
      const model::AxisSpec &x = a.joints[i].axes[k], &y = b.joints[i].axes[k];
      expect_alike(x.axis, y.axis, x.name + " axis");
      expect_alike(x.anchor, y.anchor, x.name + " anchor");
      EXPECT_EQ(x.limited, y.limited) << x.name;
      expect_alike(x.lower, y.lower, x.name + " range");
      expect_alike(x.upper, y.upper, x.name + " range");
      expect_alike(x.armature, y.armature, x.name + " armature");
      expect_alike(x.damping, y.damping, x.name + " damping");
      expect_alike(x.stiffness, y.stiffness, x.name + " stiffness");
    }
  }
  ASSERT_EQ(a.shapes.size(), b.shapes.size());
  for (std::size_t i = 0; i < a.shapes.size(); ++i) {
    expect_alike(a.shapes[i].size, b.shapes[i].size, a.shapes[i].name + " size");
    expect_alike(a.shapes[i].friction, b.shapes[i].friction, a.shapes[i].name + " friction");
    EXPECT_EQ(a.shapes[i].contact_type, b.shapes[i].contact_type);
    EXPECT_EQ(a.shapes[i].contact_affinity, b.shapes[i].contact_affinity);
  }
  ASSERT_EQ(a.actuators.size(), b.actuators.size());
  for (std::size_t i = 0; i < a.actuators.size(); ++i) {
    EXPECT_EQ(a.actuators[i].kind, b.actuators[i].kind);
    expect_alike(a.actuators[i].gear, b.actuators[i].gear, "gear");
    expect_alike(a.actuators[i].kp, b.actuators[i].kp, "kp");
    expect_alike(a.actuators[i].control_upper, b.actuators[i].control_upper, "control");
  }
  EXPECT_EQ(a.keyframes.size(), b.keyframes.size());
}

INSTANTIATE_TEST_SUITE_P(Mjcf, PublishedModelInMujoco,
                         ::testing::Values("humanoid.xml", "ant.xml", "hopper.xml", "half_cheetah.xml", "walker2d.xml",
                                           "nv_ant.xml"),
                         [](const auto& param) {
                           std::string name = param.param;
                           return name.substr(0, name.find('.'));
                         });

TEST(MjcfBesideMujoco, every_orientation_form_means_the_same) {
  for (const char* sequence : {"xyz", "zyx", "XYZ", "zXy", "xzx"}) {
    for (const char* angle : {"degree", "radian"}) {
      std::string bodies;
      int i = 0;
      for (const char* pose : {"euler='.3 .2 -1.1'", "quat='1 2 -3 .5'", "axisangle='1 -1 2 .7'", "zaxis='0 0 -2'",
                               "zaxis='1 2 -3'", "xyaxes='1 2 0 -1 1 1'", "zaxis='0 0 3'"}) {
        bodies += "<body name='b" + std::to_string(i++) + "' pos='.1 .2 .3' " + pose +
                  "><joint axis='1 2 3' pos='.1 0 .2' range='-1 .5' ref='.2' springref='.1' stiffness='2' "
                  "limited='true'/><geom type='box' size='.1 .2 .3' pos='.1 0 0' " +
                  pose + "/>";
      }
      for (; i > 0; --i) bodies += "</body>";
      const std::string compiler = std::string("<compiler angle='") + angle + "' eulerseq='" + sequence + "'/>";
      compare("<mujoco>" + compiler + "<worldbody>" + bodies + "</worldbody></mujoco>");
    }
  }
}

TEST(MjcfBesideMujoco, every_solid_has_the_same_mass_and_inertia) {
  std::string geoms;
  for (const char* type : {"capsule", "cylinder", "box", "ellipsoid"}) {
    const std::string t = std::string("<geom contype='0' conaffinity='0' type='") + type + "' ";
    geoms += t + "size='.1 .2 .3' pos='.1 .2 .3' euler='10 20 30'/>" + t + "size='.05' fromto='0 0 0 .1 .2 .3'/>" + t +
             "size='.1 .2 .3' mass='2.5'/>" + t + "size='.1 .2 .3' density='20'/>";
  }
  const std::string sphere = "<geom size='.1' pos='0 1 0'/><geom size='.2' mass='0'/>";
  compare("<mujoco><worldbody><body><freejoint/>" + geoms + sphere + "</body></worldbody></mujoco>");
}

TEST(MjcfBesideMujoco, defaults_are_inherited_attribute_by_attribute) {
  compare(R"(<mujoco>
    <compiler autolimits='true'/>
    <default>
      <geom type='capsule' size='.1 .2' density='500' friction='.5 .1 .1'/>
      <joint damping='1' armature='.1'/>
      <general ctrlrange='-1 1' gear='3'/>
      <default class='a'>
        <geom size='.05'/>
        <joint type='slide' axis='1 0 0' stiffness='5'/>
        <position kp='7'/>
        <default class='b'><geom type='box' size='.3 .2 .1'/><joint damping='3' range='-.1 .2'/></default>
      </default>
      <default class='c'><geom rgba='1 0 0 1' friction='.9'/><joint type='hinge' range='-20 30'/></default>
    </default>
    <worldbody>
      <body childclass='a' name='one'>
        <joint name='j1'/><geom/>
        <body name='two'><joint name='j2' class='b'/><geom class='c'/><geom/>
          <body name='three' childclass='b' euler='0 30 0'><joint name='j3'/><geom/>
            <body name='four'><joint name='j4' class='c'/><geom class='main' pos='0 0 1'/></body>
          </body>
        </body>
      </body>
    </worldbody>
    <actuator>
      <position joint='j1' class='a'/><motor joint='j2'/><velocity joint='j3' kv='4'/>
      <general joint='j4' biastype='affine' gainprm='5' biasprm='0 -5 -2' ctrlrange='0 2'/><position joint='j4' kp='9'/>
    </actuator></mujoco>)");
}

TEST(MjcfBesideMujoco, compiler_options_correct_masses_in_the_same_way) {
  const std::string body = R"(<worldbody><geom type='plane' size='1 1 1'/>
      <body><geom type='box' size='.1 .2 .3' mass='3'/></body>
      <body name='b' euler='10 20 30'><joint type='ball' pos='.1 .2 .3' damping='2' armature='.3'/>
        <inertial pos='.1 0 0' mass='.1' fullinertia='.02 .03 .04 .001 .002 .003'/>
        <geom size='.1' group='2'/><geom size='.2 .1' type='capsule' pos='0 0 1'/>
        <body name='w' pos='.5 0 0' euler='40 0 0'><geom type='box' size='.3 .1 .2'/></body>
      </body></worldbody>)";
  for (const char* compiler : {"", "inertiafromgeom='true'", "inertiafromgeom='true' inertiagrouprange='2 2'",
                               "inertiafromgeom='auto'", "boundmass='1'", "boundinertia='.035'", "settotalmass='5'",
                               "boundmass='4' settotalmass='3'", "balanceinertia='true' boundinertia='.025'"}) {
    compare(std::string("<mujoco><compiler ") + compiler + "/>" + body + "</mujoco>");
  }
  compare(R"(<mujoco><compiler balanceinertia='true'/><worldbody><body><joint/>
      <inertial pos='0 0 0' mass='1' diaginertia='1 1 3' euler='10 20 30'/></body></worldbody></mujoco>)");
}

TEST(MjcfBesideMujoco, keyframe_velocities_are_those_of_the_centre_of_mass) {
  compare(R"(<mujoco><option timestep='.001' gravity='1 2 -3'><flag filterparent='disable'/></option>
    <worldbody><body name='free'><freejoint/><geom size='.1' pos='.3 .2 .1'/>
      <body name='welded' pos='1 0 0'><geom size='.1'/></body>
      <body name='arm' pos='0 1 0'><joint type='slide' name='s'/><joint name='h'/><geom size='.1'/></body></body>
    </worldbody>
    <keyframe><key name='k' time='2' qpos='1 2 3 .5 .5 -.5 .5 .1 .2' qvel='1 2 3 4 5 6 7 8'/></keyframe></mujoco>)");
}

TEST(MjcfBesideMujoco, equalities_hold_the_same_points_of_the_same_bodies) {
  compare(R"(<mujoco><worldbody>
  <body name="crank" euler="10 20 30"><joint axis="0 1 0" frictionloss=".3"/><geom size=".1"/>
    <body name="coupler" pos="0 .2 1" euler="-40 5 0"><joint axis="0 1 0" ref="25"/><geom size=".1"/></body></body>
  <body name="rocker" pos="1 0 0" euler="0 90 0"><joint axis="0 1 0"/><joint axis="1 0 0"/><geom size=".1"/></body>
  <body name="ball" pos="0 5 0" euler="30 0 60"><freejoint/><geom size=".1"/></body>
</worldbody><equality>
  <connect body1="coupler" body2="rocker" anchor=".1 .2 .3"/>
  <connect body1="ball" body2="coupler" anchor="-.1 .2 .3"/>
  <connect body1="crank" anchor=".3 .2 .1"/>
  <weld body1="crank" body2="rocker" anchor=".5 0 .1"/>
  <weld body1="coupler" body2="ball" anchor=".5 0 .1"/>
</equality></mujoco>)");
}

TEST(MjcfBesideMujoco, pairs_have_the_same_geoms_friction_and_dimension) {
  const std::string xml = R"(<mujoco><default><pair condim="1"/></default><worldbody>
  <geom name="floor" type="plane" size="1 1 1" friction=".3" contype="0" conaffinity="0"/>
  <body><freejoint/><geom name="a" size=".1" friction=".7" contype="0" conaffinity="0"/>
    <geom name="tube" type="cylinder" size=".1 .1" contype="0" conaffinity="0" priority="1" friction=".2"/></body>
  <body pos="0 0 1"><freejoint/><geom name="b" size=".1" friction=".5"/></body></worldbody>
<contact><pair geom1="a" geom2="b" condim="3"/><pair geom1="tube" geom2="b" condim="3" friction=".1"/>
<pair geom1="floor" geom2="a"/>
<pair geom1="tube" geom2="floor" condim="3"/></contact></mujoco>)";
  const auto m = testing::load_mujoco(xml);
  const Result<ImportedScene> imported = import_mjcf(xml);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  const model::SceneSpec& scene = imported.value().scene;
  ASSERT_EQ(scene.contact_pairs.size(), static_cast<std::size_t>(m->npair));
  for (const model::ContactPairSpec& pair : scene.contact_pairs) {
    const std::string names[2] = {scene.shapes[pair.shape_a].name, scene.shapes[pair.shape_b].name};
    int found = 0;
    for (int i = 0; i < m->npair; ++i) {  // MuJoCo sorts them
      const std::string theirs[2] = {mj_id2name(m.get(), mjOBJ_GEOM, m->pair_geom1[i]),
                                     mj_id2name(m.get(), mjOBJ_GEOM, m->pair_geom2[i])};
      if (std::minmax(names[0], names[1]) != std::minmax(theirs[0], theirs[1])) continue;
      EXPECT_NEAR(pair.friction, m->pair_friction[5 * i], 1e-12) << names[0] << " " << names[1];
      EXPECT_EQ(pair.contact_dimension, m->pair_dim[i]) << names[0] << " " << names[1];
      ++found;
    }
    EXPECT_EQ(found, 1) << names[0] << " " << names[1];
  }
}

// Force of each actuator at a position, a velocity and a control, before gear.
TEST(MjcfBesideMujoco, affine_laws_give_the_same_forces) {
  const std::string xml =
      R"(<mujoco><worldbody><body><joint name="j" type="slide" axis="1 0 0"/><geom size=".1"/></body></worldbody>
<actuator>
  <general joint="j" gear="3" gainprm="20" biastype="affine" biasprm="3 -10 -8"/>
  <general joint="j" gear="-2" gainprm="-4" biastype="affine" biasprm="1 0 -8"/>
  <general joint="j" gear="2" gainprm="5" biastype="affine" biasprm="2 0 0"/>
  <general joint="j" gainprm="0" biastype="affine" biasprm="0 -7 0"/>
  <general joint="j" gainprm="5" biastype="affine" biasprm="1 -5 -2"/>
  <general joint="j" gainprm="6" biastype="affine" biasprm="0 -6 0"/>
</actuator></mujoco>)";
  const auto m = testing::load_mujoco(xml);
  testing::MujocoData d(mj_makeData(m.get()));
  const double s = 0.3, rate = -0.7, control[6] = {1.5, -2, 0.4, 9, -0.3, 0.8};
  d->qpos[0] = s, d->qvel[0] = rate;
  mju_copy(d->ctrl, control, 6);
  mj_forward(m.get(), d.get());
  const Result<ImportedScene> imported = import_mjcf(xml);
  ASSERT_TRUE(imported.ok()) << imported.error().message;
  ASSERT_EQ(imported.value().scene.actuators.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    const model::ActuatorSpec& a = imported.value().scene.actuators[i];
    const double u = a.control_gain * control[i] + a.control_offset, length = a.gear * s, speed = a.gear * rate;
    double force = a.kind == model::ActuatorKind::kMotor ? u : 0;
    if (a.kind == model::ActuatorKind::kPosition) force = a.kp * (u - length) - a.kd * speed;
    if (a.kind == model::ActuatorKind::kVelocity) force = a.kd * (u - speed);
    EXPECT_NEAR(force, d->actuator_force[i], 1e-12) << i;
  }
}

TEST(MjcfBesideMujoco, force_ranges_bound_the_same_efforts) {
  compare(
      R"(<mujoco><compiler autolimits="true"/><default><default class="servo"><position forcerange="-7 8"/></default>
      </default><worldbody>
  <body><joint name="a"/><geom size=".1"/><body pos="0 0 1"><joint name="b" axis="0 1 0"/><geom size=".1"/></body>
  </body>
</worldbody><actuator>
  <motor joint="a" gear="3" forcerange="-2 5"/>
  <motor joint="a" gear="-3" ctrlrange="-1 1" forcerange="-2 .5"/>
  <general joint="b" gear="2" gainprm="4" forcerange="-2 5"/>
  <position class="servo" joint="b" kp="30" gear="2"/>
  <position class="servo" joint="b" kp="30" forcelimited="false"/>
  <velocity joint="a" kv="3" forcerange="-1 2"/>
</actuator></mujoco>)");
}

}  // namespace
}  // namespace axion::import::mjcf_mujoco_test
