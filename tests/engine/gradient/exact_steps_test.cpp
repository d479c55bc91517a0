// Exact linearisations beside differences of fourth order, law by law; and which laws have none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "tests/engine/backend/linearising.hpp"

namespace axion::testing::exact_steps_test {
namespace {

using model::SceneSpec;

SceneSpec mjcf(const std::string& bodies, const std::string& rest = "") {
  return take(import::import_mjcf("<mujoco><worldbody><geom type=\"plane\" size=\"9 9 .1\" friction=\".6\"/>" + bodies +
                                  "</worldbody>" + rest + "</mujoco>"))
      .scene;
}

// A world in motion: where the scene has it, then stepped under `control`.
struct Moving : Linearised {
  explicit Moving(const SceneSpec& scene, std::vector<double> held = {}, int steps = 0, double dt = 0.005,
                  const std::function<void(BatchSpec&)>& change = {})
      : Linearised(scene, 1,
                   [&](BatchSpec& spec) {
                     spec.dt = dt;
                     if (change) change(spec);
                   }),
        control(std::move(held)) {
    if (steps > 0) testing::step(*engine, *batch, steps, control);
  }
  void move(const std::vector<double>& velocity) {
    StateUpdate state;
    state.joint_velocity = input(velocity, static_cast<int>(velocity.size()));
    const std::int32_t first = 0;
    check(batch->set_state({&first, 1}, state));
  }
  Answer answer(LinearisationMethod method, double difference) const {
    LinearisationSpec spec;
    spec.method = method, spec.difference = difference;
    if (!control.empty()) spec.control = input(control, static_cast<int>(control.size()));
    return linearised(*engine, *batch, spec);
  }

  std::vector<double> control;
};

// The worst error of exact matrices, of the greatest element of a block: of positions, rates or activations by the
// same or by controls. Differences of second order over d and 2d make one of fourth; their rounding is that of
// positions over d, so that d is great where no contact has to stay as it is. Columns at kinks are left out.
double worst_error(const Moving& f, double difference, int* kinks = nullptr) {
  const Answer exact = f.answer(LinearisationMethod::kExact, 1e-6);
  const Answer one = f.answer(LinearisationMethod::kDifferences, difference);
  const Answer two = f.answer(LinearisationMethod::kDifferences, 2 * difference);
  EXPECT_EQ(exact.method[0], LinearisationMethod::kExact) << name_of(exact.law[0]);
  EXPECT_EQ(one.method[0], LinearisationMethod::kDifferences);
  EXPECT_EQ(one.law[0], LawWithoutDerivative::kNone) << "exact matrices were not asked for";
  EXPECT_EQ(exact.position, one.position);
  EXPECT_EQ(exact.velocity, one.velocity);
  const std::size_t x = exact.x, nv = exact.nv, nu = exact.nu;
  const auto at = [&](const Answer& a, std::size_t r, std::size_t c) {
    return c < x ? a.A[r * x + c] : a.B[r * nu + c - x];
  };
  const std::size_t rows[] = {0, nv, 2 * nv, x}, columns[] = {0, nv, 2 * nv, x, x + nu};
  double worst = 0;
  for (int R = 0; R < 3; ++R) {
    for (int C = 0; C < 4; ++C) {
      double greatest = 1e-6, off = 0;
      for (std::size_t r = rows[R]; r < rows[R + 1]; ++r) {
        for (std::size_t c = columns[C]; c < columns[C + 1]; ++c) {
          if ((one.kink[c] | two.kink[c]) != 0) continue;
          const double expected = (4 * at(one, r, c) - at(two, r, c)) / 3;
          greatest = std::max(greatest, std::abs(expected));
          off = std::max(off, std::abs(expected - at(exact, r, c)));
        }
      }
      worst = std::max(worst, off / greatest);
    }
  }
  int at_kinks = 0;
  for (std::size_t c = 0; c < x + nu; ++c) at_kinks += one.kink[c] | two.kink[c];
  if (kinks == nullptr) {
    EXPECT_EQ(at_kinks, 0);
  } else {
    *kinks = at_kinks;
  }
  return worst;
}

TEST(ExactSteps, free_and_jointed_bodies_with_every_kind_of_joint_and_drive) {
  for (const bool half_step : {true, false}) {
    Moving f(robot(), {0.4, 0.3}, 0, 0.005, [&](BatchSpec& spec) { spec.options.half_step_start = half_step; });
    bend(*f.batch);
    f.move(noise(static_cast<int>(f.info().joint_velocity_count), 2, 5));
    EXPECT_LT(worst_error(f, 1e-4), 1e-8) << half_step;
  }
}

const char* const kArm =
    R"(<body pos="0 0 3"><joint name="a" axis="0 1 0" damping=".2" armature=".01" frictionloss=".3"/>
  <geom type="capsule" size=".04" fromto="0 0 0 .5 0 0"/><body pos=".5 0 0">
  <joint name="b" axis="0 0 1" range="-20 20" limited="true" stiffness="3" damping=".05"/>
  <geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"/><body pos=".4 0 0">
  <joint name="c" type="slide" axis="1 0 0" frictionloss=".1"/>
  <geom type="sphere" size=".05"/></body></body></body>)";

TEST(ExactSteps, limits_dry_friction_and_drives_within_and_at_their_bounds) {
  const std::string drives = R"(<actuator><position joint="a" kp="40" forcerange="-2 2"/>
    <velocity joint="b" kv="1"/><motor joint="c" gear="2" ctrlrange="-1 1" ctrllimited="true"/></actuator>)";
  const SceneSpec scene = mjcf(kArm, drives);
  for (const std::vector<double>& control : {std::vector<double>{0.02, 0.3, 0.2}, {3, 8, -0.4}, {-2, -8, 0.9}}) {
    for (const int steps : {1, 7, 30, 60}) {
      Moving f(scene, control, steps);
      int kinks = 0;
      EXPECT_LT(worst_error(f, 1e-3, &kinks), 1e-7) << control[0] << " after " << steps;
      EXPECT_LT(kinks, 4);
    }
  }
}

TEST(ExactSteps, dry_friction_that_falls_with_the_rate) {
  SceneSpec scene = mjcf(kArm, R"(<actuator><motor joint="a"/><motor joint="b"/><motor joint="c"/></actuator>)");
  for (model::JointSpec& joint : scene.joints) {
    for (model::AxisSpec& axis : joint.axes) axis.static_friction = 0.4, axis.stribeck_velocity = 0.5;
  }
  for (const int steps : {1, 10, 40}) {
    Moving f(scene, {1, 0.3, 0.2}, steps);
    int kinks = 0;
    EXPECT_LT(worst_error(f, 1e-3, &kinks), 1e-7) << steps;
    EXPECT_LT(kinks, 4);
  }
}

TEST(ExactSteps, a_push_on_a_limit_moves_nothing_and_an_effort_at_its_bound_takes_no_control) {
  Moving f(mjcf(kArm, R"(<actuator><position joint="a" kp="40" forcerange="-2 2"/><motor joint="b"/></actuator>)"),
           {3, 20}, 60);
  const Answer exact = f.answer(LinearisationMethod::kExact, 1e-6);
  for (std::size_t r = 0; r < exact.x; ++r) EXPECT_NEAR(exact.B[2 * r], 0, 1e-12) << "the drive is at its bound";
  EXPECT_NEAR(exact.B[2 * (exact.nv + 1) + 1], 0, 1e-8) << "the axis is at its limit";
}

// Of each a body that falls, one that rolls or slides and one that comes to rest.
TEST(ExactSteps, contacts_of_spheres_capsules_and_boxes_that_press_slide_and_stick) {
  for (const std::string shape : {"type=\"sphere\" size=\".1\"", "type=\"capsule\" size=\".1 .2\" euler=\"0 90 0\"",
                                  "type=\"box\" size=\".1 .2 .1\""}) {
    const SceneSpec scene =
        mjcf("<body pos=\"0 0 .1\"><freejoint/><geom mass=\"2\" friction=\".6\" " + shape + "/></body>");
    for (const double dt : {0.005, 0.02}) {
      Moving f(scene, {}, 40, dt);
      for (const std::vector<double>& velocity :
           {std::vector<double>{0, 0, 0, 0, 0, 0}, {1, 0.3, 0, 0, 0, 0}, {0.6, -2, 0, 0, 0, 0.7}}) {
        f.move(velocity);
        int kinks = 0;
        EXPECT_LT(worst_error(f, 1e-6, &kinks), 1e-6) << shape << " at " << velocity[0] << ", " << dt;
        EXPECT_LE(kinks, 6);
      }
    }
  }
}

TEST(ExactSteps, contacts_between_bodies_and_without_friction) {
  const SceneSpec scene = mjcf(R"(<body pos="0 0 .1"><freejoint/><geom type="box" size=".2 .2 .1" mass="3"/></body>
      <body pos=".03 .02 .25"><freejoint/><geom type="sphere" size=".05" mass="1" condim="1"/></body>
      <body pos="-.1 .05 .24"><freejoint/><geom type="capsule" size=".04 .05" euler="0 90 20" mass="1"/></body>)");
  Moving f(scene, {}, 30);
  f.move({0.9, 0.2, 0, 0, 0, 0.1, 0.4, 0.1, 0, 0, 0, 0, 0.7, 0.4, 0, 0, 0, 0});
  int kinks = 0;
  EXPECT_LT(worst_error(f, 1e-6, &kinks), 1e-6);
  EXPECT_LE(kinks, 8);
}

TEST(ExactSteps, tendons_equalities_and_loops) {
  const std::string rest = R"(<tendon><fixed name="t" stiffness="5" damping=".1"><joint joint="a" coef="1"/>
      <joint joint="b" coef="-.5"/></fixed></tendon>
      <equality><joint joint1="b" joint2="c" polycoef="0 .2 0 0 0"/></equality>
      <actuator><motor tendon="t" gear="1"/></actuator>)";
  Moving f(mjcf(kArm, rest), {0.7}, 20);
  int kinks = 0;
  EXPECT_LT(worst_error(f, 1e-3, &kinks), 1e-7);
  EXPECT_LE(kinks, 2);
  const std::string four_bar =
      R"(<body pos="0 0 2"><joint axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 .5"/>
      <body pos="0 0 .5"><joint axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .6 0 .1"/>
      <body name="rod" pos=".6 0 .1"><joint axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .1 0 -.7"/>
      </body>      </body></body>)";
  Moving loop(mjcf(four_bar, R"(<equality><connect body1="rod" anchor=".1 0 -.7"/></equality>)"), {}, 3);
  const Answer exact = loop.answer(LinearisationMethod::kExact, 1e-6);
  if (exact.method[0] == LinearisationMethod::kExact) {
    EXPECT_LT(worst_error(loop, 1e-5), 1e-6);
  } else {
    EXPECT_EQ(exact.law[0], LawWithoutDerivative::kRemedy) << "redundant rows of a loop may end above the tolerance";
  }
}

// A body at rest that hangs by a point: what is zero for the body as it stands changes with where it stands.
TEST(ExactSteps, loops_at_rest_have_the_derivatives_of_what_is_zero) {
  Moving f(
      mjcf(R"(<body name="a" pos="0 0 1"><freejoint/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body>)",
           R"(<equality><connect body1="a" anchor="0 0 0"/></equality>)"));
  EXPECT_LT(worst_error(f, 1e-4), 1e-6);
}

TEST(ExactSteps, a_spring_of_a_ball_at_its_reference_is_answered_by_differences) {
  Moving f(mjcf(R"(<body pos="0 0 1"><joint type="ball" stiffness="3"/>
      <geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body>)"));
  EXPECT_EQ(f.answer(LinearisationMethod::kExact, 1e-6).law[0], LawWithoutDerivative::kOther);
  f.move({0.1, 0.2, 0.3});
  testing::step(*f.engine, *f.batch, 1);
  EXPECT_LT(worst_error(f, 1e-4), 1e-6);
}

TEST(ExactSteps, sensors_have_exact_matrices) {
  Moving f(robot_with_sensors(), {0.4, 0.3});
  bend(*f.batch);
  const Answer exact = f.answer(LinearisationMethod::kExact, 1e-6);
  const Answer one = f.answer(LinearisationMethod::kDifferences, 1e-4),
               two = f.answer(LinearisationMethod::kDifferences, 2e-4);
  ASSERT_EQ(exact.method[0], LinearisationMethod::kExact);
  EXPECT_EQ(exact.sensors, one.sensors);
  for (const auto& [found, first, second] :
       {std::tuple(&exact.C, &one.C, &two.C), std::tuple(&exact.D, &one.D, &two.D)}) {
    double greatest = 0, off = 0;
    for (std::size_t i = 0; i < found->size(); ++i) {
      const double expected = (4 * (*first)[i] - (*second)[i]) / 3;
      greatest = std::max(greatest, std::abs(expected)), off = std::max(off, std::abs(expected - (*found)[i]));
    }
    EXPECT_LT(off, 1e-8 * greatest);
    EXPECT_GT(greatest, 0);
  }
}

// Each scene, and the law in it that has no exact derivative; its matrices are made by differences.
TEST(ExactSteps, what_has_no_exact_derivative_is_named_and_answered_by_differences) {
  const auto ball = [](const std::string& geom) {
    return mjcf("<body pos=\"0 0 .1\"><freejoint/><geom mass=\"1\" " + geom + "/></body>");
  };
  const std::string sphere = "type=\"sphere\" size=\".1\"";
  const auto expect = [](const SceneSpec& scene, LawWithoutDerivative law,
                         const std::function<void(BatchSpec&)>& change) {
    Moving f(scene, {}, 20, 0.005, change);
    const Answer exact = f.answer(LinearisationMethod::kExact, 1e-6);
    EXPECT_EQ(exact.law[0], law) << name_of(exact.law[0]) << " for " << name_of(law);
    EXPECT_EQ(exact.method[0], LinearisationMethod::kDifferences);
    Answer asked = f.answer(LinearisationMethod::kDifferences, 1e-6);
    EXPECT_EQ(asked.law[0], LawWithoutDerivative::kNone);
    asked.law = exact.law;
    EXPECT_EQ(exact, asked);
  };
  expect(ball(sphere), LawWithoutDerivative::kSoftContact,
         [](BatchSpec& spec) { spec.options.contact_softness = model::ContactSoftness::kMjcf; });
  expect(ball(sphere + " condim=\"6\""), LawWithoutDerivative::kRollingFriction, {});
  expect(ball("type=\"cylinder\" size=\".1 .1\""), LawWithoutDerivative::kShape, {});
  expect(robot(), LawWithoutDerivative::kJointMode,
         [](BatchSpec& spec) { spec.options.joint_mode = model::JointMode::kCurrent; });
}

}  // namespace
}  // namespace axion::testing::exact_steps_test
