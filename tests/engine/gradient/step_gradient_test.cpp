// Gradients of steps beside differences of fourth order of what set_state and step make of the same numbers, scene by
// scene; closed formulas; and what has no exact derivative.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "engine/import/mjcf.hpp"
#include "tests/engine/gradient/loss.hpp"

namespace axion::testing::step_gradient_test {
namespace {

using model::SceneSpec;

SceneSpec mjcf(const std::string& bodies, const std::string& rest = "", const std::string& floor = "friction=\".5\"") {
  return take(import::import_mjcf("<mujoco><worldbody><geom type=\"plane\" size=\"9 9 .1\" " + floor + "/>" + bodies +
                                  "</worldbody>" + rest + "</mujoco>"))
      .scene;
}

// Slippery, as feet that stick are held across twice, by friction and by the root's joints, and such steps may end
// above the tolerance. All axes have damping and armature: of an axis on which nothing acts these are a branch of their
// own.
SceneSpec hopper() {
  return mjcf(
      R"(<body pos="0 0 1.25"><joint type="slide" axis="1 0 0" damping=".1" armature=".01"/>
      <joint type="slide" axis="0 0 1" damping=".1" armature=".01"/>
      <joint axis="0 1 0" damping=".1" armature=".01"/><geom type="capsule" size=".05" fromto="0 0 .2 0 0 -.2"/>
      <body pos="0 0 -.2"><joint name="thigh" axis="0 -1 0" damping="1" armature=".01" range="-150 5" limited="true"/>
      <geom type="capsule" size=".05" fromto="0 0 0 0 0 -.45"/>
      <body pos="0 0 -.45"><joint name="leg" axis="0 -1 0" damping="1" armature=".01" frictionloss=".1"/>
      <geom type="capsule" size=".04" fromto="0 0 0 0 0 -.5"/>
      <body pos="0 0 -.5"><joint name="foot" axis="0 -1 0" damping="1" armature=".01" stiffness="1"/>
      <geom type="sphere" size=".06" pos="-.13 0 0" friction=".3"/>
      <geom type="sphere" size=".06" pos=".26 0 0" friction=".3"/></body></body></body></body>)",
      R"(<actuator><motor joint="thigh" gear="20"/><motor joint="leg" gear="20"/><position joint="foot" kp="30"/>
      </actuator>)",
      "friction=\".2\"");
}

// All inputs that there are, beside state and control.
std::vector<std::string> all_inputs() {
  return {"mass_scale",         "friction_scale", "gain_scale",    "body_wrench",    "gravity",
          "body_mass",          "axis_damping",   "axis_armature", "axis_stiffness", "axis_spring_reference",
          "axis_friction_loss", "axis_lower",     "axis_upper",    "shape_friction", "shape_restitution",
          "actuator_gear",      "actuator_kp",    "actuator_kd"};
}

TEST(StepGradient, of_a_hopper_that_pushes_itself_off) {
  Loss f(hopper(), 6, 0.005, {Field::kJointPosition, Field::kJointVelocity, Field::kBodyPose, Field::kBodyVelocity});
  f.warm_up(27, {0.3, -0.5, 0.3});
  EXPECT_LT(f.worst_error({"friction_scale", "gravity", "body_mass", "axis_damping", "axis_stiffness",
                           "axis_friction_loss", "shape_friction", "actuator_gear", "actuator_kp"}),
            1e-6);
}

TEST(StepGradient, of_a_quadruped_on_its_feet) {
  Loss f(quadruped(), 4, 0.005, {Field::kJointPosition, Field::kBodyVelocity});
  f.warm_up(60, noise(12, 0.1, 3));
  EXPECT_LT(
      f.worst_error({"mass_scale", "friction_scale", "gain_scale", "gravity", "actuator_kp", "actuator_kd"}, 1e-3),
      1e-6);
}

TEST(StepGradient, of_a_box_that_slides) {
  Loss f(mjcf(R"(<body pos="0 0 .1"><freejoint/><geom type="box" size=".2 .15 .1" mass="2" friction=".5"/></body>)"),
         10, 0.005, {Field::kBodyPose, Field::kJointVelocity});
  f.warm_up(20, {});
  f.move({1.2, 0.4, 0, 0, 0, 0.3});
  EXPECT_LT(f.worst_error({"mass_scale", "friction_scale", "body_wrench", "gravity", "body_mass"}), 1e-6);
}

TEST(StepGradient, of_a_four_bar) {
  const std::string bars =
      R"(<body pos="0 0 2"><joint axis="0 1 0" damping=".1"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 .5"/>
      <body pos="0 0 .5"><joint axis="0 1 0" damping=".2"/><geom type="capsule" size=".02" fromto="0 0 0 .6 0 .1"/>
      <body name="rod" pos=".6 0 .1"><joint axis="0 1 0" damping=".1"/>
      <geom type="capsule" size=".02" fromto="0 0 0 .1 0 -.6"/>
      </body></body></body>)";
  Loss f(mjcf(bars, R"(<equality><connect body1="rod" anchor=".1 0 -.6"/></equality>)"), 4, 0.005,
         {Field::kJointPosition, Field::kJointVelocity});
  f.warm_up(3, {});
  EXPECT_LT(f.worst_error({"mass_scale", "gravity", "axis_damping"}), 1e-6);
}

TEST(StepGradient, of_an_arm_on_tendons) {
  const std::string arm =
      R"(<body name="upper" pos="0 0 2"><joint name="a" axis="0 1 0" damping=".2" armature=".01"/>
      <geom type="capsule" size=".04" fromto="0 0 0 .5 0 0"/><site name="s1" pos=".3 0 .06"/>
      <body pos=".5 0 0"><joint name="b" axis="0 1 0" stiffness="3" damping=".05" armature=".01"/>
      <geom type="capsule" size=".03" fromto="0 0 0 .4 0 0"/><site name="s2" pos=".2 0 .05"/></body></body>
      <site name="s0" pos="0 0 2.3"/>)";
  const std::string rest =
      R"(<tendon><spatial name="rope" stiffness="40" damping="1"><site site="s0"/><site site="s1"/><site site="s2"/>
      </spatial><fixed name="t" stiffness="5" damping=".1"><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/>
      </fixed></tendon><actuator><motor tendon="rope" gear="-8"/><position joint="b" kp="20"/></actuator>)";
  Loss f(mjcf(arm, rest), 6, 0.005, {Field::kJointPosition, Field::kJointVelocity, Field::kBodyPose});
  f.warm_up(10, {0.4, 0.2});
  EXPECT_LT(f.worst_error(all_inputs()), 1e-6);
}

TEST(StepGradient, of_an_arm_at_its_limit) {
  const std::string arm =
      R"(<body pos="0 0 2"><joint name="a" axis="0 1 0" damping=".2" armature=".01" stiffness="2" range="-20 20"
      limited="true"/><geom type="capsule" size=".04" fromto="0 0 0 .5 0 0"/></body>)";
  Loss f(mjcf(arm, R"(<actuator><motor joint="a" gear="5"/></actuator>)"), 4, 0.005,
         {Field::kJointPosition, Field::kJointVelocity});
  f.warm_up(60, {3});
  const GradientAnswer found = f.gradient({"axis_lower", "axis_upper"});
  EXPECT_EQ(found.inputs[0][0], 0);
  EXPECT_GT(std::abs(found.inputs[1][0]), 0.1);
  EXPECT_LT(f.worst_error({"axis_lower", "axis_upper", "axis_spring_reference", "axis_stiffness", "gravity"}, 1e-6),
            1e-6);
}

TEST(StepGradient, of_an_arm_with_muscles) {
  const std::string arm =
      R"(<body pos="0 0 2"><joint name="hip" axis="0 1 0" damping=".1" armature=".01" frictionloss=".05"/>
      <geom type="capsule" size=".04" fromto="0 0 0 .4 0 0"/></body>)";
  const std::string rest =
      R"(<actuator><muscle joint="hip" lengthrange="-1.5 1.5" force="8"/>
      <muscle joint="hip" gear="-1" lengthrange="-1.5 1.5" force="6"/></actuator>)";
  Loss f(mjcf(arm, rest), 8, 0.005, {Field::kJointPosition, Field::kJointVelocity, Field::kActivation});
  f.warm_up(20, {0.6, 0.3});
  EXPECT_LT(f.worst_error({"mass_scale", "gain_scale", "body_mass", "axis_damping", "axis_friction_loss"}), 1e-6);
}

// Of small swings the angle is θ₀ cos ωt, ω² = g/l of a point mass: by θ₀, by its rate and by gravity.
TEST(StepGradient, of_a_pendulum_tends_to_its_closed_formula) {
  const double g = 9.81, l = 0.5, start = 1e-3, T = 0.7;
  for (const double dt : {0.01, 0.005}) {
    const int steps = static_cast<int>(std::lround(T / dt));
    SceneSpec scene = mjcf(R"(<body pos="0 0 2"><joint axis="0 1 0"/>
        <inertial pos="0 0 -.5" mass="2" diaginertia="1e-4 1e-4 1e-4"/></body>)");
    Linearised f(scene, 1, [&](BatchSpec& spec) { spec.dt = dt; });
    const std::vector<double> position{start}, velocity{0}, of_angle{1};
    StepGradientSpec spec;
    spec.step_count = steps;
    spec.start.joint_position = input(position, 1), spec.start.joint_velocity = input(velocity, 1);
    spec.fields = {{Field::kJointPosition, input(of_angle, 1)}};
    spec.inputs = {take(gradient_input_from_name("gravity"))}, spec.outputs = {Field::kJointPosition};
    const GradientAnswer found = gradient_of(*f.engine, *f.batch, spec);
    const double w = std::sqrt(g / l);
    EXPECT_EQ(found.outcome[0], GradientOutcome::kExact);
    EXPECT_NEAR(found.fields[0][0], start * std::cos(w * T), 2 * dt * start);
    EXPECT_NEAR(found.state[0], std::cos(w * T), 2 * dt);
    EXPECT_NEAR(found.state[1], std::sin(w * T) / w, dt);
    EXPECT_NEAR(found.inputs[0][2] / start, std::sin(w * T) * T * w / (2 * g), 2 * dt) << "gravity points down";
  }
}

TEST(StepGradient, of_several_steps_is_the_product_of_the_matrices_of_a_linearisation) {
  Loss f(quadruped(), 6, 0.005, {Field::kJointVelocity});
  f.warm_up(60, noise(12, 0.1, 3));
  const StepGradientSpec spec = f.complete({});
  const GradientAnswer found = gradient_of(f.engine(), f.batch(), spec);
  LinearisationSpec steps;
  steps.start = spec.start, steps.step_count = spec.step_count, steps.control = spec.control;
  const Answer lin = linearised(f.engine(), f.batch(), steps);
  std::vector<double> carry(lin.x), control(found.control.size());
  for (std::size_t t = 6; t-- > 0;) {
    for (std::size_t i = 0; i < lin.nv && t % 2 == 1; ++i) carry[lin.nv + i] += f.weight(0, t / 2 * lin.nv + i);
    std::vector<double> before(lin.x);
    for (std::size_t r = 0; r < lin.x; ++r) {
      for (std::size_t c = 0; c < lin.x; ++c) before[c] += lin.A[(t * lin.x + r) * lin.x + c] * carry[r];
      for (std::size_t u = 0; u < lin.nu; ++u) {
        control[t * lin.nu + u] += lin.B[(t * lin.x + r) * lin.nu + u] * carry[r];
      }
    }
    carry = before;
  }
  const auto expect_near = [](const std::vector<double>& a, const std::vector<double>& b) {
    double greatest = 0, off = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      greatest = std::max(greatest, std::abs(b[i])), off = std::max(off, std::abs(a[i] - b[i]));
    }
    EXPECT_LT(off, 1e-11 * greatest);
    EXPECT_GT(greatest, 0);
  };
  expect_near(found.state, carry);
  expect_near(found.control, control);
}

TEST(StepGradient, no_division_and_no_company_changes_a_bit) {
  Linearised f(quadruped(), 3);
  step(*f.engine, *f.batch, 60);
  const std::vector<double> control = noise(3 * 12, 0.1, 3);
  StepGradientSpec spec;
  spec.step_count = 3, spec.control = input(control, 12);
  const std::size_t nv = static_cast<std::size_t>(f.info().joint_velocity_count);
  const std::vector<double> of_rates = noise(static_cast<int>(3 * nv), 1, 4);
  spec.fields = {{Field::kJointVelocity, input(of_rates, static_cast<int>(nv))}};
  spec.inputs = {take(gradient_input_from_name("mass_scale")), take(gradient_input_from_name("body_mass"))};
  const auto before = take(f.batch->snapshots({}, {}));
  const GradientAnswer whole = gradient_of(*f.engine, *f.batch, spec);
  EXPECT_EQ(take(f.batch->snapshots({}, {})), before) << "nothing of the batch changes";
  EXPECT_EQ(gradient_of(*f.engine, *f.batch, spec, 1), whole);
  EXPECT_EQ(gradient_of(*f.engine, *f.batch, spec, 5), whole);
  const auto many = cpu_engine(5);
  const auto other = take(many->create_batch(tight_spec(f.batch->spec().model, 3)));
  StateUpdate state;
  state.snapshots.assign(before.begin(), before.end());
  check(other->set_state({}, state));
  EXPECT_EQ(gradient_of(*many, *other, spec), whole);
  spec.worlds = {2};
  spec.control.data += 2 * spec.control.world_stride, spec.fields[0].values.data += 2 * nv * sizeof(double);
  const GradientAnswer alone = gradient_of(*f.engine, *f.batch, spec);
  EXPECT_THAT(
      std::vector<double>(whole.state.end() - static_cast<std::ptrdiff_t>(alone.state.size()), whole.state.end()),
      ::testing::ElementsAreArray(alone.state));
}

TEST(StepGradient, what_is_not_finite_stays_in_its_world) {
  Linearised f(robot(), 3);
  const std::size_t nv = static_cast<std::size_t>(f.info().joint_velocity_count);
  std::vector<double> of_rates(3 * nv, 1.0);
  of_rates[nv] = std::numeric_limits<double>::quiet_NaN();
  StepGradientSpec spec;
  spec.step_count = 2;
  spec.fields = {{Field::kJointVelocity, input(of_rates, static_cast<int>(nv))}};
  const GradientAnswer found = gradient_of(*f.engine, *f.batch, spec);
  EXPECT_THAT(found.outcome,
              ::testing::ElementsAre(GradientOutcome::kExact, GradientOutcome::kNonFinite, GradientOutcome::kExact));
  const std::size_t x = found.state.size() / 3;
  for (std::size_t i = 0; i < x; ++i) EXPECT_EQ(found.state[i], found.state[2 * x + i]);
  EXPECT_TRUE(std::isnan(found.state[x]));
}

// Damping of zero begins to act: the gradient by it is a difference to the side above, all others are exact.
TEST(StepGradient, of_an_axis_on_which_nothing_acts_is_a_difference_and_named) {
  Loss f(
      mjcf(R"(<body pos="0 0 2"><joint axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 .5 0 0"/></body>)"),
      6, 0.005, {Field::kJointVelocity});
  f.move({2});
  const GradientAnswer found = f.gradient({"axis_damping", "gravity"});
  EXPECT_EQ(found.law[0], LawWithoutDerivative::kIdleAxis);
  EXPECT_EQ(found.outcome[0], GradientOutcome::kInexact);
  const double expected = Loss::slope(
      [&](double by) { return f.value(f.start(), take(gradient_input_from_name("axis_damping")), 0, by); }, 1e-4);
  EXPECT_NEAR(found.inputs[0][0], expected, 1e-3 * std::abs(expected));
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(f.gradient({"gravity"}).inputs[0][k], found.inputs[1][k], 1e-12);
  EXPECT_EQ(f.gradient({"gravity"}).outcome[0], GradientOutcome::kExact);
}

// Each input of laws without an exact derivative by differences, beside differences of fourth order.
TEST(StepGradient, of_soft_contacts_is_a_difference_and_named) {
  Loss f(mjcf(R"(<body pos="0 0 .099"><freejoint/><geom type="sphere" size=".1" mass="2" friction=".5"/></body>)"), 4,
         0.005, {Field::kJointVelocity, Field::kBodyPose},
         [](BatchSpec& spec) { spec.options.contact_softness = model::ContactSoftness::kMjcf; });
  f.warm_up(20, {});
  f.move({1, 0, 0, 0, 0, 0});
  const std::vector<std::string> inputs{"mass_scale", "friction_scale", "body_wrench",
                                        "gravity",    "body_mass",      "shape_friction"};
  EXPECT_EQ(f.gradient(inputs).outcome[0], GradientOutcome::kInexact);
  EXPECT_LT(f.worst_error(inputs, 1e-4, LawWithoutDerivative::kSoftContact, 1e-4), 1e-4);
}

TEST(StepGradient, bad_requests_are_refused_by_field) {
  Linearised f(robot(), 2);
  const std::vector<double> numbers(200, 1.0);
  const auto refused = [&](const std::function<void(StepGradientSpec&)>& change) {
    StepGradientSpec spec;
    spec.step_count = 4;
    change(spec);
    GradientAnswer answer(f.info(), 2, spec);
    const auto made = step_gradient(*f.engine, *f.batch, spec, answer.views());
    return made.ok() ? std::string("it was taken") : made.error().field;
  };
  EXPECT_EQ(refused([](StepGradientSpec& spec) { spec.record_every = 3; }), "record_every");
  EXPECT_EQ(refused([](StepGradientSpec& spec) { spec.difference = 1; }), "difference");
  EXPECT_EQ(refused([](StepGradientSpec& spec) { spec.worlds = {1, 1}; }), "world_indices[1]");
  EXPECT_EQ(refused([](StepGradientSpec& spec) { spec.outputs = {Field::kTime}; }), "outputs");
  EXPECT_EQ(refused([&](StepGradientSpec& spec) {
              spec.fields = {{Field::kControl, input(numbers, 2)}};
            }),
            "output_gradients[control]");
  EXPECT_EQ(refused([](StepGradientSpec& spec) {
              spec.inputs = {take(gradient_input_from_name("gravity")), take(gradient_input_from_name("gravity"))};
            }),
            "inputs[1]");
  for (const char* name : {"weight", "body_inertia", "shape_size"}) {
    const auto input = gradient_input_from_name(name);
    ASSERT_FALSE(input.ok());
    EXPECT_EQ(input.error().field, "inputs");
    EXPECT_THAT(input.error().message, ::testing::HasSubstr(name == std::string("weight") ? "gravity" : name));
  }
}

}  // namespace
}  // namespace axion::testing::step_gradient_test
