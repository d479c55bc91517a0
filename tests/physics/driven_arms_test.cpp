// Driven arms as published ones are built: stiff drives with effort limits on fingers that close loops with dry
// friction, and links of nearly no mass behind heavy armature. Nearly every step must converge, in both precisions, at
// a robot's own time step.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/import/mjcf.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::driven_arms_test {
namespace {

// Four drives with kp of 800 to 1500 and limits of 20 to 50 N m, armature and dry friction on every joint; each finger
// is a four-bar, so that three frictions and three limits meet in one freedom. Links of 20 to 50 g, armature up to 0.1
// kg m².
const char* const kGripper = R"(<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002"/>
  <default>
    <joint axis="0 0 1" armature="0.1" range="-3 3" frictionloss="1" damping="5"/>
    <general biastype="affine" ctrlrange="-2 2" gainprm="1500" biasprm="0 -1500 -150" forcerange="-50 50"/>
    <default class="finger"><joint axis="1 0 0" range="0 0.85" damping="0"/></default>
  </default>
  <worldbody>
    <body name="shoulder" pos="0 0 0.3">
      <inertial pos="0 0.03 -0.01" mass="2.4" diaginertia="0.006 0.005 0.003"/>
      <joint name="shoulder"/>
      <body name="upper" quat="1 -1 0 0">
        <inertial pos="0 -0.13 0.02" mass="1.9" diaginertia="0.0096 0.0094 0.002"/>
        <joint name="upper"/>
        <body name="fore" pos="0 -0.3 0" quat="1 1 0 0">
          <inertial pos="0.05 -0.02 0" mass="1.6" diaginertia="0.0035 0.0029 0.002"/>
          <joint name="fore" axis="1 0 0"/>
          <body name="palm" pos="0.08 0.1 0">
            <inertial pos="0 0 0.05" mass="0.54" diaginertia="0.0005 0.0003 0.0003"/>
            <joint name="wrist" axis="0 1 0"/>
            <body name="left_crank" pos="0 0.035 0.06">
              <inertial pos="0 0.02 0.015" mass="0.034" diaginertia="1.9e-5 1.8e-5 1.9e-6"/>
              <joint name="left_crank" class="finger" armature="0.005" damping="0.1"/>
              <body name="left_tip" pos="0 0.035 0.042">
                <inertial pos="0 -0.016 0.03" mass="0.048" diaginertia="1.9e-5 1.7e-5 3.6e-6"/>
                <joint name="left_tip" class="finger" axis="-1 0 0"/>
              </body>
            </body>
            <body name="left_rocker" pos="0 0.02 0.075">
              <inertial pos="0 0.022 0.026" mass="0.023" diaginertia="8.3e-6 6.1e-6 2.8e-6"/>
              <joint name="left_rocker" class="finger" stiffness="0.05" springref="2.6" damping="0.001"/>
            </body>
            <body name="right_crank" pos="0 -0.035 0.06">
              <inertial pos="0 -0.02 0.015" mass="0.034" diaginertia="1.9e-5 1.8e-5 1.9e-6"/>
              <joint name="right_crank" class="finger" axis="-1 0 0" armature="0.005" damping="0.1"/>
              <body name="right_tip" pos="0 -0.035 0.042">
                <inertial pos="0 0.016 0.03" mass="0.048" diaginertia="1.9e-5 1.7e-5 3.6e-6"/>
                <joint name="right_tip" class="finger"/>
              </body>
            </body>
            <body name="right_rocker" pos="0 -0.02 0.075">
              <inertial pos="0 -0.022 0.026" mass="0.023" diaginertia="8.3e-6 6.1e-6 2.8e-6"/>
              <joint name="right_rocker" class="finger" axis="-1 0 0" stiffness="0.05" springref="2.6" damping="0.001"/>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <connect body1="left_tip" body2="left_rocker" anchor="0 -0.015 0.015"/>
    <connect body1="right_tip" body2="right_rocker" anchor="0 0.015 0.015"/>
  </equality>
  <actuator>
    <general name="shoulder" joint="shoulder"/>
    <general name="upper" joint="upper"/>
    <general name="fore" joint="fore" gainprm="1000" biasprm="0 -1000 -100" forcerange="-30 30"/>
    <general name="wrist" joint="wrist" gainprm="800" biasprm="0 -800 -80" forcerange="-20 20"/>
  </actuator>
</mujoco>)";

// Links of 2e-9 to 1e-6 kg, each behind an armature of 0.75 kg m² and its motor, between limits.
const char* const kLight = R"(<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.005"/>
  <default><joint axis="0 1 0" armature="0.75" damping="1" range="-0.7 0.7"/></default>
  <worldbody>
    <body name="pan" pos="0 -0.6 0">
      <inertial pos="0 0 -0.1" mass="0.02" diaginertia="1e-3 1e-3 1e-4"/>
      <joint name="pan" axis="0 0 1"/>
      <body name="lift" pos="0.1 0 0">
        <inertial pos="0 0 0" mass="1e-6" diaginertia="1e-8 1e-8 5e-9"/>
        <joint name="lift"/>
        <body name="roll">
          <inertial pos="0.2 0 0" mass="5e-7" diaginertia="1e-9 8e-9 8e-9"/>
          <joint name="roll" axis="1 0 0"/>
          <body name="elbow" pos="0.4 0 0">
            <inertial pos="0 0 0" mass="1e-7" diaginertia="1e-10 2e-10 2e-10"/>
            <joint name="elbow"/>
            <body name="turn">
              <inertial pos="0.1 0 0.05" mass="2.3e-7" diaginertia="2e-10 2e-9 2e-9"/>
              <joint name="turn" axis="1 0 0"/>
              <body name="wrist" pos="0.1 0 0.3">
                <inertial pos="0 0 0" mass="2e-9" diaginertia="2e-13 6e-13 6e-13"/>
                <joint name="wrist" axis="0 0 1"/>
                <body name="hand">
                  <inertial pos="0.02 0 0.08" mass="2e-8" diaginertia="1e-10 1e-10 5e-11"/>
                  <joint name="hand" range="0 2.2"/>
                </body>
              </body>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="elbow" ctrlrange="-2 3"/>
    <motor joint="turn" ctrlrange="-20 -17"/>
    <motor joint="hand" ctrlrange="1 3"/>
    <motor joint="lift" ctrlrange="-18 -9"/>
  </actuator>
</mujoco>)";

struct Arm {
  const char* name;
  const char* mjcf;
  int hold;  // steps for which a control holds
};

template <typename Real>
class DrivenArms : public ::testing::Test {};
TYPED_TEST_SUITE(DrivenArms, testing::Precisions, testing::PrecisionNames);

// Random controls over their whole range.
template <typename Real>
void drive_at_random(const Arm& arm, int steps) {
  const auto imported = import::import_mjcf(arm.mjcf);
  if (!imported.ok()) {
    ADD_FAILURE() << arm.name << ": " << imported.error().message;
    return;
  }
  const model::SceneSpec& scene = imported.value().scene;
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), scene.timestep);
  const auto m = world.model();
  int converged = 0, fallbacks = 0, iterations = 0;
  double joint_error = 0;
  unsigned seed = 1;
  for (int k = 0; k < steps; ++k) {
    for (int i = 0; i < m.actuator_count && k % arm.hold == 0; ++i) {
      seed = seed * 1664525u + 1013904223u;
      const Real lower = m.actuators[i].lower, upper = m.actuators[i].upper;
      world.world().control[m.actuators[i].control] = lower + (upper - lower) * Real(seed >> 8) / Real(1 << 24);
    }
    world.step();
    converged += world.converged();
    fallbacks += (world.record().outcome & step::kFallbackBit) != 0;
    iterations += world.record().newton_iterations;
    joint_error = std::max(joint_error, double(world.record().max_joint_error));
  }
  const testing::Validation<Real> row("driven arms");
  const std::string name =
      std::string(arm.name) + ", a control for " + std::to_string(arm.hold) + (arm.hold == 1 ? " step: " : " steps: ");
  row.at_least(name + "steps converged", double(converged) / steps, 0.999);
  row.at_most(name + "Newton iterations a step", double(iterations) / steps, 4);
  EXPECT_EQ(fallbacks, 0) << arm.name;
  // Rounding of a pose in float32 is 1e-7 m on an arm of a metre; 1e-6 m is what the stop test grants at 2 ms.
  row.at_most(name + "joints together, m", joint_error, 2e-6);
}

TYPED_TEST(DrivenArms, with_closed_fingers_of_dry_joints_converge_in_nearly_every_step) {
  for (const int hold : {1, 25}) drive_at_random<TypeParam>({"gripper", kGripper, hold}, 1000);
}

TYPED_TEST(DrivenArms, of_nearly_massless_links_behind_armature_converge_in_nearly_every_step) {
  for (const int hold : {1, 25}) drive_at_random<TypeParam>({"light arm", kLight, hold}, 1000);
}

}  // namespace
}  // namespace axion::driven_arms_test
