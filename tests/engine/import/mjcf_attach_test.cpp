// <attach>, and what refers to copies of <replicate>: the document means the same as one that is written out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "engine/model/fingerprint.hpp"

namespace axion::import::mjcf_attach_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Files = decltype(ImportOptions::assets);

ImportedScene imported(const std::string& xml, const Files& files = {}) {
  ImportOptions options;
  options.assets = files;
  Result<ImportedScene> result = import_mjcf(xml, options);
  if (!result.ok()) throw std::runtime_error(result.error().field + ": " + result.error().message + "\n" + xml);
  return std::move(result).value();
}

std::string refusal(const std::string& xml, const Files& files = {}) {
  ImportOptions options;
  options.assets = files;
  const Result<ImportedScene> result = import_mjcf(xml, options);
  return result.ok() ? "" : result.error().field + ": " + result.error().message;
}

template <typename Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

void expect_same(const ImportedScene& one, const ImportedScene& other) {
  EXPECT_EQ(model::fingerprint(one.scene), model::fingerprint(other.scene));
  EXPECT_EQ(names_of(one.scene.bodies), names_of(other.scene.bodies));
  EXPECT_EQ(names_of(one.scene.joints), names_of(other.scene.joints));
  EXPECT_EQ(names_of(one.scene.shapes), names_of(other.scene.shapes));
  EXPECT_EQ(names_of(one.scene.tendons), names_of(other.scene.tendons));
  EXPECT_EQ(names_of(one.scene.actuators), names_of(other.scene.actuators));
  EXPECT_EQ(names_of(one.scene.sensors), names_of(other.scene.sensors));
}

// An arm with classes, angles in radians, a tendon, an actuator and sensors, beside a body that is not attached.
constexpr const char* kArm = R"(<mujoco model="arm"><compiler angle="radian" eulerseq="zyx"/>
  <option gravity="0 0 1" timestep=".1"/>
  <default><geom density="500"/><joint damping="2"/><motor gear="3"/>
    <default class="wrist"><joint armature=".3" range="-.5 .5"/></default></default>
  <worldbody>
    <frame name="mount" pos="0 1 0" euler=".1 .2 .3"><body name="upper" pos="1 0 0">
      <joint name="shoulder" range="-1 1"/><geom name="tube" size=".1"/>
      <body name="hand" pos="0 0 1" childclass="wrist"><joint name="wrist"/><geom name="palm" size=".1"/>
        <site name="tip" pos="0 0 .2"/></body></body></frame>
    <body name="other"><joint name="lid"/><geom size=".1"/></body></worldbody>
  <contact><exclude body1="upper" body2="hand"/><exclude body1="upper" body2="other"/></contact>
  <tendon><fixed name="cable"><joint joint="shoulder" coef="1"/><joint joint="wrist" coef="-.5"/></fixed>
    <fixed name="both"><joint joint="shoulder" coef="1"/><joint joint="lid" coef="1"/></fixed></tendon>
  <equality><connect body1="hand" anchor="0 0 0"/><weld body1="upper" body2="other"/></equality>
  <actuator><motor name="pull" tendon="cable"/><motor name="turn" joint="shoulder"/><motor name="lift" joint="lid"/>
    <motor name="haul" tendon="both"/></actuator>
  <sensor><gyro name="imu" site="tip"/><jointpos name="angle" joint="wrist"/><jointpos name="gone" joint="lid"/>
    <actuatorfrc name="effort" actuator="pull"/><framepos name="where" objtype="body" objname="hand" reftype="body"
    refname="upper"/></sensor></mujoco>)";

std::string robot(const std::string& attach, const std::string& sections = "") {
  return R"(<mujoco><default><geom density="2000"/><joint damping="7"/></default>
    <asset><model name="arm" file="parts/arm.xml"/></asset>
    <worldbody><body name="trunk" pos="0 0 5" euler="0 90 0"><joint name="waist" range="-90 90"/><geom size=".1"/>)" +
         attach + "</body></worldbody>" + sections + "</mujoco>";
}

// What the attached arm means, with everything said in place, in the trunk's degrees and order of Euler angles.
std::string arm_by_hand(const std::string& p, const std::string& mount) {
  return "<frame " + mount + "><body name='" + p + "upper' pos='1 0 0'><joint name='" + p +
         "shoulder' damping='2' range='-57.29577951308232 57.29577951308232'/><geom name='" + p +
         "tube' size='.1' density='500'/><body name='" + p + "hand' pos='0 0 1'><joint name='" + p +
         "wrist' damping='2' armature='.3' range='-28.64788975654116 28.64788975654116'/><geom name='" + p +
         "palm' size='.1' density='500'/><site name='" + p + "tip' pos='0 0 .2'/></body></body></frame>";
}

std::string sections_by_hand(const std::string& p) {
  return "<contact><exclude body1='" + p + "upper' body2='" + p + "hand'/></contact><tendon><fixed name='" + p +
         "cable'><joint joint='" + p + "shoulder' coef='1'/><joint joint='" + p +
         "wrist' coef='-.5'/></fixed></tendon><equality><connect body1='" + p +
         "hand' anchor='0 0 0'/></equality><actuator><motor name='" + p + "pull' tendon='" + p +
         "cable' gear='3'/><motor name='" + p + "turn' joint='" + p +
         "shoulder' gear='3'/></actuator><sensor><gyro name='" + p + "imu' site='" + p + "tip'/><jointpos name='" + p +
         "angle' joint='" + p + "wrist'/><actuatorfrc name='" + p + "effort' actuator='" + p +
         "pull'/><framepos name='" + p + "where' objtype='body' objname='" + p + "hand' reftype='body' refname='" + p +
         "upper'/></sensor>";
}

const Files kFiles{{"parts/arm.xml", kArm}};

TEST(MjcfAttach, a_body_comes_with_what_refers_to_it_alone_and_with_its_own_defaults_and_units) {
  const ImportedScene scene = imported(robot("<attach model='arm' body='upper' prefix='L_'/>"), kFiles);
  expect_same(scene, imported(robot(arm_by_hand("L_", ""), sections_by_hand("L_"))));
  EXPECT_EQ(scene.scene.sensors.size(), 4u);
  EXPECT_THAT(names_of(scene.scene.actuators), ElementsAre("L_pull", "L_turn"));
}

TEST(MjcfAttach, a_frame_keeps_its_pose_and_a_body_that_of_its_parent_alone) {
  // About z by 0.1, then about the new y by 0.2, then about the new x by 0.3.
  const std::string mount = "quat='0.9833474433 0.1435721750 0.1060205111 0.0342707986' pos='0 1 0'";
  const ImportedScene scene = imported(robot("<attach model='arm' frame='mount' prefix=''/>"), kFiles);
  const ImportedScene by_hand = imported(robot(arm_by_hand("", mount), sections_by_hand("")));
  EXPECT_EQ(names_of(scene.scene.bodies), names_of(by_hand.scene.bodies));
  for (std::size_t b = 0; b < by_hand.scene.bodies.size(); ++b) {
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(scene.scene.bodies[b].X_WB.position[i], by_hand.scene.bodies[b].X_WB.position[i], 1e-6) << b;
    }
  }
}

TEST(MjcfAttach, a_model_may_be_attached_more_than_once_and_in_a_replicate) {
  const std::string two =
      "<frame pos='0 2 0'><attach model='arm' body='upper' prefix='L_'/></frame>"
      "<attach model='arm' body='upper' prefix='R_'/>";
  expect_same(imported(robot(two), kFiles), imported(robot(arm_by_hand("L_", "pos='0 2 0'") + arm_by_hand("R_", ""),
                                                           sections_by_hand("L_") + sections_by_hand("R_"))));
  const std::string many =
      "<replicate count='2' offset='0 2 0' sep='-'><attach model='arm' body='upper' "
      "prefix='x'/></replicate>";
  const ImportedScene copies = imported(robot(many), kFiles);
  EXPECT_THAT(names_of(copies.scene.actuators), ElementsAre("xpull-0", "xturn-0", "xpull-1", "xturn-1"));
  EXPECT_EQ(copies.scene.tendons[1].terms[0].joint, 3);
}

TEST(MjcfAttach, the_world_of_a_model_comes_whole) {
  const std::string lamp =
      "<mujoco><worldbody><geom name='foot' size='.1' pos='0 0 1'/><body name='b' pos='1 0 0'><joint/>"
      "<geom size='.1'/></body></worldbody></mujoco>";
  expect_same(imported("<mujoco><asset><model name='m' file='m.xml'/></asset><worldbody><frame pos='3 0 0'><attach "
                       "model='m' prefix='a/'/></frame></worldbody></mujoco>",
                       {{"m.xml", lamp}}),
              imported("<mujoco><worldbody><frame pos='3 0 0'><geom name='a/foot' size='.1' pos='0 0 1'/><body "
                       "name='a/b' pos='1 0 0'><joint/><geom size='.1'/></body></frame></worldbody></mujoco>"));
}

TEST(MjcfAttach, models_that_are_attached_attach_and_include_others_from_their_own_folders) {
  const Files files{
      {"sub/hand.xml",
       "<mujoco><default><geom size='.3'/></default><asset><model file='finger.xml'/></asset><worldbody>"
       "<body name='palm'><joint/><include file='nail.xml'/><attach model='finger' body='f' "
       "prefix='1'/></body></worldbody></mujoco>"},
      {"sub/nail.xml", "<mujoco><geom name='nail'/></mujoco>"},
      {"sub/finger.xml",
       "<mujoco model='finger'><default><geom size='.2' density='10'/></default><worldbody><body name='f'><joint "
       "name='j'/><geom name='g'/></body></worldbody><actuator><motor joint='j'/></actuator></mujoco>"}};
  expect_same(
      imported("<mujoco><asset><model name='hand' file='sub/hand.xml'/></asset><worldbody><attach model='hand' "
               "body='palm' prefix='R'/></worldbody></mujoco>",
               files),
      imported("<mujoco><worldbody><body name='Rpalm'><joint/><geom name='Rnail' size='.3'/><body name='R1f'>"
               "<joint name='R1j'/><geom name='R1g' size='.2' density='10'/></body></body></worldbody><actuator>"
               "<motor joint='R1j'/></actuator></mujoco>"));
}

TEST(MjcfAttach, meshes_are_found_by_the_folder_and_the_names_of_the_model) {
  const std::string corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
  const std::string part =
      "<mujoco><compiler meshdir='meshes'/><default><default class='c'><mesh scale='2 2 2'/></default>"
      "</default><asset><mesh file='wedge.obj' class='c'/></asset><worldbody><body name='b'>"
      "<freejoint/><geom type='mesh' mesh='wedge'/></body></worldbody></mujoco>";
  const ImportedScene scene = imported(
      "<mujoco><asset><model name='m' file='parts/p.xml'/></asset><worldbody><attach "
      "model='m' body='b' prefix='x_'/></worldbody></mujoco>",
      {{"parts/p.xml", part}, {"parts/meshes/wedge.obj", corners}});
  ASSERT_EQ(scene.scene.bodies.size(), 1u);
  EXPECT_NEAR(scene.scene.bodies[0].mass, 1000 * 8 / 6.0, 1e-6);
  EXPECT_EQ(scene.scene.meshes.at(0).name, "x_wedge");
}

TEST(MjcfAttach, keyframes_are_left_out_with_a_warning) {
  std::string with_key = kArm;
  with_key.insert(with_key.find("</mujoco>"), "<keyframe><key name='home'/></keyframe>");
  const ImportedScene scene =
      imported(robot("<attach model='arm' body='upper' prefix='L_'/>"), {{"parts/arm.xml", with_key}});
  EXPECT_THAT(scene.warnings, ElementsAre(HasSubstr("keyframes of attached models")));
}

TEST(MjcfAttach, what_cannot_be_attached_is_refused_by_name) {
  const auto says = [&](const std::string& attach, const Files& files, const std::string& text) {
    EXPECT_THAT(refusal(robot(attach), files), HasSubstr(text)) << attach;
  };
  says("<attach model='arm' body='upper' prefix='L_'/>", {}, "is of the file \"parts/arm.xml\", which is not among");
  says("<attach model='leg' body='upper' prefix='L_'/>", kFiles, "names a model that does not exist");
  says("<attach body='upper' prefix='L_'/>", kFiles, "attach.model");
  says("<attach model='arm' body='lower' prefix='L_'/>", kFiles, "attach.body: ");
  says("<attach model='arm' frame='upper' prefix='L_'/>", kFiles, "attach.frame: ");
  says("<attach model='arm' body='upper'/>", kFiles, "attach.prefix: ");
  says("<attach model='arm' body='upper' frame='mount' prefix=''/>", kFiles, "together with body");
  says("<attach model='arm' body='upper' prefix='L_' pos='1 2 3'/>", kFiles, "attach.pos");
  says("<attach model='arm' body='upper' prefix='L_'/><attach model='arm' body='upper' prefix='L_'/>", kFiles,
       "a second time");
  says("<attach model='arm' body='upper' prefix='L_'/>", {{"parts/arm.xml", "<robot/>"}}, "root of a MuJoCo document");
  says("<attach model='arm' body='upper' prefix='L_'/>", {{"parts/arm.xml", "<mujoco><worldbody>"}}, "parts/arm.xml");
  says("<attach model='arm' body='b' prefix='L_'/>",
       {{"parts/arm.xml", "<mujoco><worldbody><body name='b' poz='1 2 3'/></worldbody></mujoco>"}}, "body.poz");
  says("<attach model='arm' body='b' prefix='L_'/>",
       {{"parts/arm.xml",
         "<mujoco><default><geom sise='1'/></default><worldbody><body name='b'/></worldbody></mujoco>"}},
       "geom.sise");
}

// A document that attaches itself has no end; one that attaches the next twice, thirty deep, has 2^30 parts.
TEST(MjcfAttach, documents_that_attach_themselves_or_multiply_are_stopped) {
  const std::string self =
      "<mujoco><asset><model name='m' file='m.xml'/></asset><worldbody><body name='b'><joint/>"
      "<geom size='.1'/><attach model='m' body='b' prefix='x'/></body></worldbody></mujoco>";
  EXPECT_THAT(refusal(self, {{"m.xml", self}}), HasSubstr("documents deep"));
  Files files;
  std::string first;
  for (int i = 0; i < 15; ++i) {
    std::string twice;
    for (int k = 0; k < 8; ++k) twice += "<attach model='m' body='b' prefix='" + std::to_string(k) + "'/>";
    const std::string text = "<mujoco><asset><model name='m' file='" + std::to_string(i + 1) +
                             ".xml'/></asset><worldbody><body name='b'><joint/><geom size='.1'/>" + twice +
                             "</body></worldbody></mujoco>";
    (i == 0 ? first : files[std::to_string(i) + ".xml"]) = text;
  }
  files["15.xml"] = "<mujoco><worldbody><body name='b'><joint/><geom size='.1'/></body></worldbody></mujoco>";
  EXPECT_THAT(refusal(first, files), HasSubstr("too much"));
}

TEST(MjcfReplicate, what_refers_to_copies_is_copied_in_the_order_of_mujoco) {
  const ImportedScene scene = imported(R"(<mujoco><worldbody>
    <body name="base"><joint name="jb"/><geom size=".1"/></body>
    <replicate count="3" offset="1 0 0" sep="_"><body name="b" pos="0 0 1"><joint name="j"/><geom name="g" size=".1"/>
      <site name="s"/><body name="c" pos="0 0 1"><joint name="k"/><geom size=".1"/></body></body></replicate>
    </worldbody>
    <contact><exclude body1="b" body2="base"/></contact>
    <tendon><fixed name="t"><joint joint="j" coef="1"/><joint joint="k" coef="1"/></fixed></tendon>
    <equality><joint joint1="j" joint2="k"/></equality>
    <actuator><motor name="m1" joint="j"/><motor name="mb" joint="jb"/><motor name="m2" joint="k"/>
      <motor name="mt" tendon="t"/></actuator>
    <sensor><jointpos name="s1" joint="k"/><jointpos name="sb" joint="jb"/><gyro name="gy" site="s"/>
      <actuatorfrc name="af" actuator="m1"/><framepos name="fp" objtype="body" objname="c" reftype="body"
      refname="base"/></sensor></mujoco>)");
  EXPECT_THAT(scene.warnings, IsEmpty());
  EXPECT_THAT(names_of(scene.scene.actuators),
              ElementsAre("mb", "m1_0", "m2_0", "mt_0", "m1_1", "m2_1", "mt_1", "m1_2", "m2_2", "mt_2"));
  EXPECT_THAT(names_of(scene.scene.sensors), ElementsAre("sb", "s1_0", "gy_0", "af_0", "fp_0", "s1_1", "gy_1", "af_1",
                                                         "fp_1", "s1_2", "gy_2", "af_2", "fp_2"));
  EXPECT_THAT(names_of(scene.scene.tendons), ElementsAre("t_0", "t_1", "t_2"));
  EXPECT_EQ(scene.scene.equalities.size(), 3u);
  ASSERT_EQ(scene.scene.excludes.size(), 3u);
  EXPECT_EQ(scene.scene.excludes[2].body_a, 5);
  EXPECT_EQ(scene.scene.excludes[2].body_b, 0);
}

TEST(MjcfReplicate, a_prefix_has_no_say_in_names) {
  const ImportedScene scene = imported(R"(<mujoco><worldbody><replicate count="2" offset="9 0 0" prefix="A">
    <replicate count="2" offset="0 1 0" prefix="B" sep="_"><body name="b"><joint name="j"/><geom size=".1"/></body>
    </replicate></replicate></worldbody><actuator><motor name="m" joint="j"/></actuator></mujoco>)");
  EXPECT_THAT(names_of(scene.scene.bodies), ElementsAre("b_00", "b_10", "b_01", "b_11"));
  EXPECT_THAT(names_of(scene.scene.actuators), ElementsAre("m_00", "m_10", "m_01", "m_11"));
}

TEST(MjcfReplicate, references_follow_replicates_within_others) {
  const ImportedScene scene = imported(R"(<mujoco><worldbody><replicate count="2" offset="9 0 0" sep="a">
    <body name="p"><joint name="q"/><geom size=".1"/><replicate count="2" offset="0 1 0" sep="b"><body name="b"><joint
    name="j"/><geom size=".1"/></body></replicate></body></replicate></worldbody>
    <actuator><motor name="m" joint="j"/><motor name="o" joint="q"/></actuator></mujoco>)");
  EXPECT_THAT(names_of(scene.scene.actuators), ElementsAre("oa0", "mb0a0", "mb1a0", "oa1", "mb0a1", "mb1a1"));
  EXPECT_EQ(scene.scene.actuators[5].joint, 5);
}

// As MuJoCo 3.17 and 4.0 place them; three turns of (10, 20, 30) in a row are another than one of (30, 60, 90).
TEST(MjcfReplicate, copies_turn_by_multiples_of_each_angle) {
  const ImportedScene scene = imported(R"(<mujoco><compiler angle="degree"/><worldbody>
    <replicate count="4" euler="10 20 30" offset=".1 .2 -.3"><body pos="1 0 0" euler="5 6 7"><freejoint/>
    <geom size=".1"/></body></replicate></worldbody></mujoco>)");
  const double position[4][3] = {
      {1, 0, 0}, {0.9138, 0.7438, -0.5049}, {0.3678, 1.3917, -0.5402}, {-0.3024, 1.5609, -0.1121}};
  const double rotation[4][4] = {{0.9957, 0.0467, 0.0495, 0.0632},
                                 {0.9095, 0.1670, 0.1955, 0.3266},
                                 {0.7111, 0.3322, 0.2519, 0.5662},
                                 {0.4223, 0.4989, 0.2073, 0.7279}};
  ASSERT_EQ(scene.scene.bodies.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const model::PoseSpec& pose = scene.scene.bodies[i].X_WB;
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(pose.position[k], position[i][k], 1e-4) << i;
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(pose.rotation[k], rotation[i][k], 1e-4) << i;
  }
}

TEST(MjcfReplicate, copies_of_references_are_bounded) {
  std::string motors;
  for (int i = 0; i < 100; ++i) motors += "<motor joint='j'/>";
  EXPECT_THAT(refusal("<mujoco><worldbody><replicate count='16000'><body><joint name='j'/><geom size='.1'/></body>"
                      "</replicate></worldbody><actuator>" +
                      motors + "</actuator></mujoco>"),
              HasSubstr("too many copies"));
}

}  // namespace
}  // namespace axion::import::mjcf_attach_test
