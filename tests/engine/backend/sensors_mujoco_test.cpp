// Sensors beside C MuJoCo's (sensors_comparison.hpp).
#include "tests/engine/backend/sensors_comparison.hpp"

namespace axion::testing::sensors_mujoco_test {
namespace {

// All kinds of joints, welds upon welds, masses of the world, frames of every kind.
constexpr const char* kEverything = R"(<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <option magnetic="0.2 -0.4 0.3" gravity="0.3 -0.2 -9.5"/>
  <default><default class="turned"><site euler="0.3 0.1 -0.4"/></default></default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 1" pos="0 0 -4"/>
    <site name="world_site" pos="1 2 3" euler="0.2 0.3 0.4"/>
    <camera name="world_camera" pos="0 1 2" xyaxes="0 1 0 0 0 1"/>
    <body name="pillar" pos="3 0 0"><geom name="pillar" type="box" size=".2 .3 1"/>
      <body name="shelf" pos="0 .5 0"><geom name="shelf" type="cylinder" size=".2 .4"/>
        <body name="door" pos="0 .3 0"><joint name="door" axis="0 0 1" armature=".2" stiffness="3" springref=".4"/>
          <geom name="door" type="ellipsoid" size=".1 .2 .4" pos=".1 0 0"/><site name="door_site" type="box"/></body>
        </body></body>
    <body name="base" pos="0 0 1" euler=".1 .2 .3"><freejoint name="free"/>
      <geom name="base" type="box" size=".3 .2 .1"/><geom name="head" size=".1" pos=".3 .1 .1"/>
      <site name="imu" pos=".1 .05 .1" euler="1 .2 .1"/><camera name="eye" pos=".3 0 0" euler=".2 .1 0"/>
      <body name="mast" pos="0 .1 .1" euler=".3 0 .2"><geom name="mast" type="capsule" size=".03 .2"/>
        <site name="mast_site" pos="0 0 .2" class="turned"/>
        <body name="flag" pos="0 0 .2" euler="0 .4 0">
        <inertial pos=".1 0 0" mass=".3" fullinertia=".02 .03 .025 .002 -.001 .003"/>
          <geom name="flag" type="box" size=".1 .01 .05" contype="0" conaffinity="0"/>
          <body name="tip" pos=".1 0 0">
        <joint name="tip" type="slide" axis="1 1 0" range="-.2 .5" limited="true" ref=".1" stiffness="20"/>
            <geom name="tip" type="capsule" fromto="0 0 0 .1 .1 .1" size=".02"/><site name="tip_site"/></body></body>
        </body>
      <body name="arm" pos="0 .2 0"><joint name="arm1" axis="1 0 0" range="-1 .6" limited="true" armature=".1"/>
        <joint name="arm2" axis="0 1 .2" pos="0 .05 0" damping=".1"/>
        <geom name="arm" type="capsule" size=".05 .2" pos="0 .2 0"/>
        <body name="hand" pos="0 .4 0" euler="0 0 .5"><joint name="hand" type="ball" pos="0 -.02 0" armature=".03"/>
          <geom name="palm" type="box" size=".05 .1 .02" pos="0 .1 0"/><geom name="thumb" size=".03" pos=".06 .05 0"/>
          <site name="grip" pos="0 .1 0" quat=".6 .1 .7 .2"/></body></body></body>
  </worldbody>
  <actuator>
    <motor name="m1" joint="arm1" gear="3"/><general name="m2" joint="arm1" gear="2" gainprm="5" forcerange="-4 3"/>
    <position name="p" joint="arm2" kp="7" gear="1.5" ctrlrange="-1 1"/><velocity name="v" joint="tip" kv="2"/>
    <general name="g" joint="door" gainprm="4" biastype="affine" biasprm=".5 -3 -.2" forcerange="-5 5"/>
  </actuator>
</mujoco>)";

TEST(SensorsBesideMujoco, all_joints_welds_and_frames_read_alike) { Comparison(kEverything).run(12); }

// Strings through space of every kind, and a sum of joint coordinates: about spheres and cylinders, within and without,
// over pulleys, with springs, limits, and actuators of each law. Side points
// without mean other things to this version of MuJoCo than to 4.0: tests/clients/python/import_mujoco_test.py has them.
constexpr const char* kStrings = R"(<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <option gravity="0.3 -0.2 -9.5"/>
  <worldbody>
    <site name="w0" pos="0 0 1.5"/><site name="w1" pos=".4 .1 1.3"/><site name="w2" pos="-.3 .2 1.2"/>
    <geom name="drum" type="cylinder" size=".08 .3" pos=".2 -.3 1" euler="1.3 .2 0"/>
    <site name="drum_side" pos="1.2 -.3 1"/><site name="drum_in" pos=".21 -.3 1"/>
    <body name="base" pos="0 0 1" euler=".1 .2 .3"><freejoint name="free"/>
      <geom name="base" type="box" size=".3 .2 .1"/><geom name="ball" type="sphere" size=".1" pos=".3 .1 .1"/>
      <site name="ball_in" pos=".32 .1 .1"/>
      <site name="b0" pos=".1 .05 .15"/><site name="b1" pos="-.3 .2 0"/><site name="b2" pos=".2 -.25 .2"/>
      <body name="arm" pos="0 .2 0"><joint name="arm1" axis="1 0 0"/><joint name="arm2" axis="0 1 .2" pos="0 .05 0"/>
        <geom name="arm" type="capsule" size=".05 .2" pos="0 .2 0"/>
        <geom name="axle" type="cylinder" size=".06 .1" pos="0 .4 0" euler="0 1.57 0"/>
        <site name="axle_side" pos="0 .41 -.02"/><site name="axle_in" pos="0 .39 .01"/><site name="a0" pos=".02 .1 .1"/>
        <body name="hand" pos="0 .4 0" euler="0 0 .5"><joint name="hand" type="ball"/>
          <geom name="palm" type="box" size=".05 .1 .02" pos="0 .1 0"/>
          <site name="h0" pos=".05 .2 0"/><site name="h1" pos="-.1 .15 .12"/></body></body></body>
    <body name="lift" pos="-.5 0 1"><joint name="lift" type="slide" axis="0 .2 1"/>
      <geom name="lift" type="sphere" size=".07"/><site name="l0" pos=".05 0 -.1"/></body>
  </worldbody>
  <tendon>
    <spatial name="straight" range="0 .6" stiffness="30" springlength=".1" damping=".2">
      <site site="w0"/><site site="b0"/><site site="h0"/></spatial>
    <spatial name="pulleys" stiffness="4" springlength=".3">
      <site site="w1"/><site site="b1"/><pulley divisor="2"/><site site="w2"/><site site="l0"/><site site="h1"/>
      <pulley divisor=".5"/><site site="a0"/><site site="b2"/></spatial>
    <spatial name="ball"><site site="b0"/><geom geom="ball"/><site site="h0"/></spatial>
    <spatial name="ball_side"><site site="w0"/><geom geom="ball"/><site site="b2"/></spatial>
    <spatial name="ball_in"><site site="w1"/><geom geom="ball" sidesite="ball_in"/><site site="h1"/></spatial>
    <spatial name="axle"><site site="a0"/><geom geom="axle"/><site site="h0"/></spatial>
    <spatial name="axle_side" range=".5 .7"><site site="b0"/><geom geom="axle"/><site site="h1"/>
    </spatial>
    <spatial name="axle_in"><site site="b1"/><geom geom="axle" sidesite="axle_in"/><site site="l0"/></spatial>
    <spatial name="drum"><site site="w1"/><geom geom="drum"/><site site="b2"/></spatial>
    <spatial name="drum_side"><site site="w2"/><geom geom="drum"/><site site="h0"/></spatial>
    <spatial name="drum_in"><site site="w0"/><geom geom="drum" sidesite="drum_in"/><site site="b2"/></spatial>
    <spatial name="long" damping=".3"><site site="w0"/><geom geom="ball"/><site site="a0"/><geom geom="axle"
     /><site site="h1"/><pulley divisor="3"/><site site="l0"/><geom geom="lift"/><site site="b1"/>
    </spatial>
    <fixed name="sum" stiffness="3" springlength=".4"><joint joint="arm1" coef="1.5"/><joint joint="lift" coef="-2"/>
    </fixed>
  </tendon>
  <actuator>
    <motor name="m" tendon="ball" gear="3"/><general name="m2" tendon="drum_side" gear="2" gainprm="5"/>
    <position name="p" tendon="long" kp="7" gear="1.5"/><velocity name="v" tendon="axle_side" kv="2"/>
    <general name="g" tendon="pulleys" gainprm="4" biastype="affine" biasprm=".5 -3 -.2" forcerange="-5 5"/>
    <position name="s" tendon="sum" kp="2"/>
  </actuator>
</mujoco>)";

TEST(SensorsBesideMujoco, strings_read_alike) { Comparison(kStrings).run(60); }

// Chains of two and three slides and hinges with offsets, on which motors at sites act, with and without a reference,
// drives there, a string and a sum of coordinates.
constexpr const char* kPushed = R"(<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <worldbody>
    <site name="w0" pos="0 .3 1.5"/>
    <body name="cart" pos="0 0 1" euler=".1 .2 .3"><joint name="x" type="slide" axis="1 0 .2"/>
      <joint name="y" type="slide" axis=".3 1 0"/><joint name="z" type="slide" axis="0 .1 1"/>
      <geom type="box" size=".3 .2 .1"/><site name="c0" pos=".1 0 .1" euler=".3 .2 .1"/>
      <body name="wrist" pos="0 .2 0"><joint name="a" axis="1 0 0" pos="0 -.1 0"/>
        <joint name="b" axis="0 1 .2" pos="0 .05 .1" ref=".2"/><joint name="c" axis=".1 .2 1" pos=".05 .1 0"/>
        <geom type="capsule" size=".05 .2" pos="0 .2 0"/><site name="h0" pos=".05 .2 0" euler="1 .2 .3"/>
        <body pos="0 .4 .1"><joint name="p" type="slide" axis="0 1 1"/><joint name="q" type="slide" axis="1 .2 0"/>
          <joint name="r" axis="0 .3 1" pos=".1 0 0"/>
          <geom size=".1" pos=".1 .1 0"/><site name="t0" pos="0 .1 .2"/>
          <body pos=".1 0 0"><joint type="ball"/><geom size=".1" pos=".1 .1 0"/><site name="e0" pos=".1 .1 .2"/></body>
        </body></body></body>
  </worldbody>
  <tendon>
    <spatial name="string"><site site="w0"/><site site="h0"/><site site="e0"/></spatial>
    <fixed name="sum"><joint joint="b" coef="1.5"/><joint joint="q" coef="-2"/></fixed>
  </tendon>
  <actuator>
    <motor site="h0" gear="1 2 3 -1 .5 2"/><motor site="e0" gear="1 -2 0 0 .5 1"/>
    <motor site="t0" refsite="c0" gear="1 -.4 0 0 0 0"/><motor site="e0" refsite="h0" gear="0 0 0 1 .5 -2"/>
    <motor tendon="string" gear="2"/><motor tendon="string"/><position tendon="sum" kp="3"/><motor joint="a" gear="4"/>
  </actuator>
</mujoco>)";

TEST(SensorsBesideMujoco, what_motors_at_sites_and_strings_do_to_joints_reads_alike) { Comparison(kPushed).run(60); }

std::string without_contacts(std::string xml) {
  const std::size_t after = xml.find("<worldbody>");
  return xml.insert(after, "<option><flag contact=\"disable\" limit=\"disable\"/></option>\n");
}

// A step gives the accelerations at its start as far as it can follow the motion: the error falls with the step.
TEST(SensorsBesideMujoco, accelerations_and_forces_of_joints_and_welds_tend_to_the_same) {
  std::string xml = without_contacts(kEverything);
  // Armature of a ball resists the change of the rates in the child's axes there, in the world's here.
  const std::string armature = "armature=\".03\"";
  xml.erase(xml.find(armature), armature.size());
  Comparison coarse(xml, true, 1e-4), fine(xml, true, 1e-5);
  const double error = coarse.force_error(6), less = fine.force_error(6);
  EXPECT_LT(error, 2e-3) << coarse.worst();
  EXPECT_LT(less, 2e-4) << fine.worst();
}

TEST(SensorsBesideMujoco, accelerations_under_strings_tend_to_the_same) {
  const std::string xml = without_contacts(kStrings);
  Comparison coarse(xml, true, 1e-4), fine(xml, true, 1e-5);
  const double error = coarse.force_error(6), less = fine.force_error(6);
  EXPECT_LT(error, 5e-3) << coarse.worst();
  EXPECT_LT(less, 5e-4) << fine.worst();
}

TEST(SensorsBesideMujoco, published_robots_read_alike) {
  int found = 0;
  for (const char* file : {"humanoid.xml", "ant.xml", "half_cheetah.xml", "hopper.xml", "walker2d.xml", "nv_ant.xml"}) {
    const std::string xml = published_model(file);
    if (xml.empty()) continue;
    SCOPED_TRACE(file);
    ++found;
    Comparison(xml).run(5);
  }
  if (found == 0) GTEST_SKIP() << "no published models";
}

}  // namespace
}  // namespace axion::testing::sensors_mujoco_test
