// Constraints that no motion can satisfy: no body is thrown, joints of trees hold, and the outcome says what gave way.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "engine/import/mjcf.hpp"
#include "tests/engine/import/imported_world.hpp"
#include "tests/physics/step_outcomes.hpp"
#include "tests/support/single_world.hpp"

namespace axion::infeasible_test {
namespace {

using step_outcomes::options, step_outcomes::Outcomes, step_outcomes::step_on;

using Vec3 = math::Vec3<double>;

// An arm of three links, 0.6 m long, under gravity, whose wrist is driven, and whose tip is to be where `lock` says.
std::string arm(const std::string& lock) {
  return R"(<mujoco><option timestep="0.0025"/><default><joint damping="1" armature="0.01"/>
    <geom contype="0" conaffinity="0"/></default><worldbody><site name="target" pos="0.5 0.7 0.4"/>
    <body name="upper" pos="0 0 0.4"><joint axis="0 0 1" range="-114 114"/>
      <geom type="capsule" size="0.04" fromto="0 0 0 0.3 0 0" mass="1.5"/>
      <body name="fore" pos="0.3 0 0"><joint axis="0 1 0" range="-100 100"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" mass="1"/>
        <body name="hand" pos="0.3 0 0"><joint name="wrist" axis="0 0 1" range="-100 100"/>
          <geom type="box" size="0.03 0.05 0.02" mass="0.4"/><site name="tip"/></body></body></body></worldbody>
    <equality>)" +
         lock + R"(</equality><actuator><position joint="wrist" kp="100"/></actuator></mujoco>)";
}

// Where the tip rests.
template <typename Real>
Vec3 expect_leans(const std::string& lock, bool soft) {
  const std::string name = lock + (soft ? " soft" : " rigid") + (sizeof(Real) == 4 ? " float32" : " float64");
  testing::SingleWorld<Real> world(import::imported(arm(lock)).scene, options(soft), 0.0025);
  const Outcomes r = step_on(world, 800);
  EXPECT_EQ(r.converged, r.steps) << name;
  EXPECT_GT(r.eased, 790) << name;
  EXPECT_LT(r.fastest, soft ? 14 : 6) << name;  // soft: by MuJoCo's law, as MuJoCo's arm
  EXPECT_LT(r.last_speed, 0.01) << name;
  EXPECT_LT(r.joint_error, 1e-5) << name;
  return world.carried(2, {0.6, 0, 0.4});
}

// The point of its reach that is next to the target; a weld turns it, too, and rests where soft ones rest, MuJoCo's
// law.
// Its weight bends the arm by some millimetres, as the pull is bounded.
TEST(UnreachableTarget, an_arm_leans_towards_it_and_rests_with_its_joints_whole) {
  const Vec3 shoulder{0, 0, 0.4}, way = Vec3{0.5, 0.7, 0.4} - shoulder,
                                  nearest = shoulder + (0.6 / math::norm(way)) * way;
  const std::string connect = R"(<connect site1="tip" site2="target"/>)",
                    weld = R"(<weld site1="tip" site2="target"/>)";
  const Vec3 turned = expect_leans<double>(weld, true);
  for (const bool soft : {false, true}) {
    EXPECT_LT(math::norm(expect_leans<float>(connect, soft) - nearest), 0.008) << soft;
    EXPECT_LT(math::norm(expect_leans<double>(connect, soft) - nearest), 0.008) << soft;
    EXPECT_LT(math::norm(expect_leans<float>(weld, soft) - turned), 0.004) << soft;
  }
  EXPECT_LT(math::norm(expect_leans<double>(weld, false) - turned), 0.004);
}

// A box that two targets 0.2 m apart want: equally hard, so that it rests in the middle.
TEST(UnreachableTarget, two_welds_that_pull_apart_share_what_they_lack) {
  const std::string xml = R"(<mujoco><option gravity="0 0 0"/><worldbody><site name="left" pos="-0.1 0 0"/>
    <site name="right" pos="0.1 0 0"/><body pos="-0.1 0 0"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2"
    contype="0" conaffinity="0"/><site name="box"/></body></worldbody><equality><weld site1="box" site2="left"/>
    <weld site1="box" site2="right"/></equality></mujoco>)";
  for (const bool soft : {false, true}) {
    testing::SingleWorld<float> world(import::imported(xml).scene, options(soft), 0.002);
    const Outcomes r = step_on(world, 1000);
    EXPECT_EQ(r.converged, r.steps) << soft;
    EXPECT_LT(r.fastest, 3) << soft;
    EXPECT_LT(math::norm(world.carried(0, {-0.1, 0, 0})), 1e-4) << soft;
  }
}

// A finger that is to follow another beyond its own limit.
TEST(UnreachableTarget, a_coupling_that_a_limit_holds_gives_way_and_the_limit_does_not) {
  const std::string xml = R"(<mujoco><option gravity="0 0 0"/><worldbody>
    <body name="a"><joint name="a" type="slide" axis="1 0 0" range="0 0.05" damping="5"/>
      <geom type="box" size="0.01 0.02 0.02" mass="0.1" contype="0" conaffinity="0"/></body>
    <body name="b" pos="0 0.1 0"><joint name="b" type="slide" axis="1 0 0" range="0 0.02" damping="5"/>
      <geom type="box" size="0.01 0.02 0.02" mass="0.1" contype="0" conaffinity="0"/></body></worldbody>
    <equality><joint joint1="a" joint2="b"/></equality></mujoco>)";
  import::ImportedScene scene = import::imported(xml);
  scene.scene.joints[0].axes[0].initial_position = 0.05, scene.scene.joints[1].axes[0].initial_position = 0.02;
  scene.scene.joints[0].axes[0].lower = 0.04;  // so that no motion meets it
  testing::SingleWorld<float> world(scene.scene, options(false), 0.002);
  for (int b = 0; b < 2; ++b) world.world().x[b].x = b == 0 ? 0.05F : 0.02F;
  const Outcomes r = step_on(world, 500);
  EXPECT_EQ(r.converged, r.steps);
  EXPECT_GT(r.eased, 490);
  EXPECT_LT(r.fastest, 2);
  EXPECT_NEAR(world.world().axis_position[0], 0.04, 1e-4);
  EXPECT_NEAR(world.world().axis_position[1], 0.02, 1e-4);
}

// A box whose target is 0.4 m below the floor that it stands on: the floor holds, whatever the impulse that a rigid
// weld could bring against it, but for a tenth of the margin of contacts.
TEST(UnreachableTarget, a_target_below_the_floor_does_not_pull_a_body_through_it) {
  const std::string xml = R"(<mujoco><worldbody><geom type="plane" size="5 5 1"/><body name="target" mocap="true"
    pos="0 0 -0.4"/><body name="box" pos="0 0 0.1"><freejoint/><geom type="box" size="0.05 0.05 0.02" mass="1"/>
    </body></worldbody><equality><weld body1="target" body2="box" relpose="0 0 0 1 0 0 0"/></equality></mujoco>)";
  const auto expect_held = [&](auto real) {
    testing::SingleWorld<decltype(real)> world(import::imported(xml).scene, options(false), 0.002);
    const Outcomes r = step_on(world, 300);
    EXPECT_EQ(r.converged, r.steps) << sizeof(real);
    EXPECT_EQ(r.eased, r.steps) << sizeof(real);
    EXPECT_EQ(r.overlap, 0) << sizeof(real);
    EXPECT_LT(r.fastest, 3) << sizeof(real);
    EXPECT_LT(r.last_speed, 1e-3) << sizeof(real);
    EXPECT_NEAR(double(world.world().x[0].z), 0.02, 1e-3) << sizeof(real);
  };
  expect_held(0.0F);
  expect_held(0.0);
}

// Two tendons that want the sum of two angles on different sides: neither is moved, and every step says so.
TEST(UnreachableTarget, limits_that_are_set_against_each_other_rest) {
  const std::string xml = R"(<mujoco><option gravity="0 0 0"/><default><joint damping="0.5" armature="0.01"/>
    <geom type="capsule" size="0.01" fromto="0 0 0 0.1 0 0" mass="0.1" contype="0" conaffinity="0"/></default>
    <worldbody><body><joint name="a" axis="0 1 0"/><geom/></body>
    <body pos="0 0.1 0"><joint name="b" axis="0 1 0"/><geom/></body></worldbody><tendon>
    <fixed limited="true" range="1 1.2"><joint joint="a" coef="1"/><joint joint="b" coef="1"/></fixed>
    <fixed limited="true" range="-1 -0.9"><joint joint="a" coef="1"/><joint joint="b" coef="1"/></fixed></tendon>
    </mujoco>)";
  const auto expect_rest = [&](auto real) {
    testing::SingleWorld<decltype(real)> world(import::imported(xml).scene, options(false), 0.002);
    const Outcomes r = step_on(world, 100);
    EXPECT_EQ(r.converged, r.steps) << sizeof(real);
    EXPECT_EQ(r.eased, r.steps) << sizeof(real);
    EXPECT_LT(r.fastest, 1e-3) << sizeof(real);
  };
  expect_rest(0.0F);
  expect_rest(0.0);
}

// Contacts that no joint can open. A wheel that turns about the normal, a slider along the floor, a wheel whose axle
// meets the normal: each stands in the floor by 5 mm and moves as if there were none.
TEST(BlockedContact, has_no_impulse_and_counts_as_met) {
  const std::string joints[] = {R"(axis="0 0 1" damping="0.05")", R"(type="slide" axis="1 0 0" damping="0.5")",
                                R"(axis="1 0 0" damping="0.05")"};
  for (const std::string& joint : joints) {
    for (const bool soft : {false, true}) {
      const auto xml = [&](const char* floor) {
        return std::string("<mujoco><worldbody>") + floor + R"(<body pos="0 0 0.095"><joint name="j" )" + joint +
               R"(/><geom type="sphere" size="0.1" mass="2"/></body></worldbody><actuator><motor joint="j"/></actuator>
               </mujoco>)";
      };
      const auto compare = [&](auto real) {
        using Real = decltype(real);
        testing::SingleWorld<Real> in_floor(import::imported(xml(R"(<geom type="plane" size="1 1 1"/>)")).scene,
                                            options(soft), 0.002);
        testing::SingleWorld<Real> alone(import::imported(xml("")).scene, options(soft), 0.002);
        in_floor.world().control[0] = alone.world().control[0] = 1;
        const Outcomes r = step_on(in_floor, 300);
        step_on(alone, 300);
        EXPECT_EQ(r.converged, r.steps) << joint << soft << sizeof(Real);
        EXPECT_NEAR(in_floor.world().axis_position[0], alone.world().axis_position[0], 1e-5)  // of about a radian
            << joint << soft << sizeof(Real);
        EXPECT_EQ(r.overlap, r.steps) << "5 mm stay";
      };
      compare(0.0F);
      compare(0.0);
    }
  }
}

// A block between a floor and a ceiling that are 20 mm nearer than it is high, and one that rests.
TEST(Overlap, that_stays_is_told_of_and_rest_is_not) {
  const auto xml = [](const char* ceiling) {
    return std::string(
               R"(<mujoco><worldbody><geom type="plane" size="2 2 1"/><geom type="box" size="0.5 0.5 0.1" pos=")") +
           ceiling + R"("/><body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
           </worldbody></mujoco>)";
  };
  testing::SingleWorld<float> squeezed(import::imported(xml("0 0 0.28")).scene, options(false), 0.002);
  const Outcomes pressed = step_on(squeezed, 300);
  EXPECT_LT(pressed.fastest, 2);
  EXPECT_NE(squeezed.record().outcome & step::kOverlapBit, 0U);
  EXPECT_GT(squeezed.record().max_penetration, 0.009);
  testing::SingleWorld<float> resting(import::imported(xml("0 0 0.5")).scene, options(false), 0.002);
  EXPECT_EQ(step_on(resting, 300).overlap, 0);
}

// A heavy base that starts 300 mm in the floor comes out of it while a light arm on it whirls: the motor makes the arm
// fast, and not the push of the floor.
TEST(Overlap, parts_beside_an_arm_that_its_motor_makes_fast) {
  const char* xml = R"(<mujoco><worldbody><geom type="plane" size="2 2 1"/><body pos="0 0 0.1"><freejoint/>
    <geom type="box" size="0.4 0.4 0.4" mass="50"/><body pos="0 0 0.45"><joint name="arm" axis="0 0 1"/>
    <geom type="capsule" size="0.02" fromto="0 0 0 0.4 0 0" mass="0.2"/><body pos="0.4 0 0">
    <joint axis="0 0 1" damping="0.01"/><geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0" mass="0.05"/></body>
    </body></body></worldbody><actuator><motor joint="arm"/></actuator></mujoco>)";
  for (const bool soft : {false, true}) {
    testing::SingleWorld<float> world(import::imported(xml).scene, options(soft), 0.002);
    int converged = 0;
    for (int k = 0; k < 300; ++k) {
      world.world().control[0] = k / 150 % 2 == 0 ? 7.0F : -7.0F;
      world.step(), converged += world.converged();
    }
    EXPECT_LT(world.record().max_penetration, 0.002) << (soft ? "soft" : "rigid");
    EXPECT_GE(converged, 299) << (soft ? "soft" : "rigid");
  }
}

// The mobility of a body's centre is nothing where a hinge holds it: what softens its contacts is then a share of that
// of its rim. One of two links in a block, of which one only turns; without that they become 1e10 m/s fast.
TEST(Overlap, of_soft_links_that_turn_about_their_centres_throws_none) {
  const char* links[] = {
      R"(<mujoco><worldbody><geom type="box" size="0.08 0.04 0.03"/>
    <body pos="-0.0293 0 0.0535"><joint type="slide" axis="1 0 0"/>
      <geom type="box" size="0.0275 0.02 0.04" mass="0.1555"/></body>
    <body pos="0.0216 0 0.05"><joint axis="0 1 0"/><geom type="box" size="0.03 0.02 0.04" mass="0.1"/></body>
    </worldbody></mujoco>)",
      R"(<mujoco><worldbody><geom type="box" size="0.08 0.04 0.03"/>
    <body pos="0.0216 0 0.05"><joint axis="0 1 0"/><geom type="box" size="0.03 0.02 0.04" mass="0.1"/></body>
    </worldbody></mujoco>)"};
  const auto expect_calm = [&](const char* xml, auto real, double dt) {
    testing::SingleWorld<decltype(real)> world(import::imported(xml).scene, options(true), dt);
    const Outcomes run = step_on(world, 100);
    EXPECT_LT(run.fastest, 3) << xml << dt;
    EXPECT_GE(run.converged, 90) << xml << dt;
  };
  for (const char* xml : links) {
    for (const double dt : {0.002, 0.01}) expect_calm(xml, 0.0F, dt), expect_calm(xml, 0.0, dt);
  }
}

// What other contacts press together, where a motion could part it, is no solved step, however small its residual: a
// block in a gap that is 20 mm too low, free to leave it sideways.
TEST(Overlap, that_a_free_motion_could_open_is_no_solved_step) {
  const char* xml = R"(<mujoco><worldbody><geom type="plane" size="2 2 1"/><geom type="box" size="0.5 0.5 0.1"
    pos="0 0 0.28"/><body pos="0 0 0.1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/></body>
    </worldbody></mujoco>)";
  const auto expect_told = [&](auto real) {
    testing::SingleWorld<decltype(real)> world(import::imported(xml).scene, options(false), 0.002);
    for (int k = 0; k < 250; ++k) {
      world.step();
      if (k < 100) continue;  // by then what parts has parted
      EXPECT_GT(world.record().max_penetration, 0.005);
      EXPECT_NE(world.record().outcome & step::kOverlapBit, 0U);
      EXPECT_FALSE(world.converged());
    }
    EXPECT_LT(math::norm(world.world().v[0]), 0.1);
  };
  expect_told(0.0F), expect_told(0.0);
}

// Soft contacts give way by their law, however far: 1 kN drives a finger of 1 g through a block in one step, which is
// not solved.
TEST(Overlap, that_lets_soft_shapes_through_each_other_is_no_solved_step) {
  const char* xml = R"(<mujoco><option gravity="0 0 0"/><worldbody><geom type="box" size="0.1 0.1 0.1"/>
    <body pos="0 0 0.119"><joint name="f" type="slide" axis="0 0 1"/><geom type="box" size="0.02 0.02 0.02"
    mass="0.001"/></body></worldbody><actuator><motor joint="f"/></actuator></mujoco>)";
  const auto expect_told = [&](auto real) {
    testing::SingleWorld<decltype(real)> world(import::imported(xml).scene, options(true), 0.01);
    world.world().control[0] = -1000;
    world.step();
    EXPECT_LT(world.world().axis_position[0], -0.2);  // below the block
    EXPECT_FALSE(world.converged());
  };
  expect_told(0.0F), expect_told(0.0);
}

// A weld at a hand of 30 g bears an arm of 30 kg: what it gives to its load is small beside what it holds, the arm, not
// beside the hand alone.
TEST(Weld, at_a_light_hand_bears_a_heavy_arm) {
  const char* const xml = R"(<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
    <body name="target" mocap="true" pos="0.6447 0 0.461"/>
    <body pos="0 0 0.5"><joint axis="0 0 1" damping="1"/><geom type="box" size="0.1 0.05 0.05" mass="10"/>
      <body pos="0 0 0" euler="0 0.4 0"><joint axis="0 1 0" damping="1"/>
        <geom type="box" size="0.2 0.04 0.04" pos="0.2 0 0" mass="12"/>
        <body pos="0.4 0 0" euler="0 -0.8 0"><joint axis="0 1 0" damping="1"/>
          <geom type="box" size="0.15 0.03 0.03" pos="0.15 0 0" mass="8" contype="0" conaffinity="0"/>
          <body name="hand" pos="0.3 0 0"><joint type="hinge" axis="1 0 0" damping="0.01"/>
            <geom type="box" size="0.01 0.01 0.01" pos="0.05 0 0" mass="0.03" contype="0" conaffinity="0"/></body>
      </body></body></body></worldbody><equality><weld body1="target" body2="hand"/></equality></mujoco>)";
  testing::SingleWorld<float> world(import::imported(xml).scene, options(false), 0.0025);
  const Outcomes run = step_on(world, 300);
  EXPECT_EQ(run.converged, run.steps);
  EXPECT_EQ(run.eased, 0);
  EXPECT_LT(run.joint_error, 1e-5);
  EXPECT_LT(run.last_speed, 1e-3);
}

}  // namespace
}  // namespace axion::infeasible_test
