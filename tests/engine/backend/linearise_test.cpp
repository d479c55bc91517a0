// Linearisations: the matrices of a step are the differences of states that are set and stepped. Closed formulas of
// pendulums and boxes are compared in tests/clients/python/linearise_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/math/quat.hpp"
#include "tests/engine/backend/linearising.hpp"

namespace axion::testing::linearise_test {
namespace {

using model::SceneSpec;
using Quat = math::Quat<double>;
using Vec = math::Vec3<double>;

// ---- Differences of the test's own: states that are set, stepped and read ----

Quat quaternion(const std::vector<double>& q, std::size_t i) { return {q[i], q[i + 1], q[i + 2], q[i + 3]}; }

// `position` moved by d along coordinate c of joint_velocity.
std::vector<double> moved(const ModelInfo& info, std::vector<double> position, std::size_t c, double d) {
  for (const JointInfo& joint : info.joints) {
    const int k = static_cast<int>(c) - joint.velocity_start;
    if (k < 0 || k >= joint.velocity_count) continue;
    const auto p = static_cast<std::size_t>(joint.position_start);
    if (joint.kind == model::JointKind::kAxes || (joint.kind == model::JointKind::kFree && k < 3)) {
      position[p + static_cast<std::size_t>(k)] += d;
      continue;
    }
    const bool is_free = joint.kind == model::JointKind::kFree;
    const std::size_t at = is_free ? p + 3 : p;
    const double sine = std::sin(d / 2);
    const Quat about{std::cos(d / 2), k % 3 == 0 ? sine : 0, k % 3 == 1 ? sine : 0, k % 3 == 2 ? sine : 0};
    const Quat before = quaternion(position, at), after = about * before;
    position[at] = after.w, position[at + 1] = after.x, position[at + 2] = after.y, position[at + 3] = after.z;
    if (!is_free) continue;
    const model::Vec3d& com = info.bodies[static_cast<std::size_t>(joint.child)].p_BoBcm;
    const Vec c_B{com[0], com[1], com[2]};
    const Vec shift = math::rotate(before, c_B) - math::rotate(after, c_B);
    for (int i = 0; i < 3; ++i) position[p + static_cast<std::size_t>(i)] += shift[i];
  }
  return position;
}

// to - from, along the coordinates of joint_velocity, of near positions.
std::vector<double> difference(const ModelInfo& info, const std::vector<double>& to, const std::vector<double>& from) {
  std::vector<double> change(static_cast<std::size_t>(info.joint_velocity_count));
  for (const JointInfo& joint : info.joints) {
    const auto p = static_cast<std::size_t>(joint.position_start), v = static_cast<std::size_t>(joint.velocity_start);
    if (joint.kind == model::JointKind::kAxes) {
      for (std::size_t k = 0; k < joint.axes.size(); ++k) change[v + k] = to[p + k] - from[p + k];
      continue;
    }
    const bool is_free = joint.kind == model::JointKind::kFree;
    const std::size_t at = is_free ? p + 3 : p, turn = is_free ? v + 3 : v;
    const Quat after = quaternion(to, at), before = quaternion(from, at), by = after * math::conjugate(before);
    const double sine = math::norm(by.vec()), angle = 2 * std::asin(sine);
    for (int i = 0; i < 3; ++i) change[turn + static_cast<std::size_t>(i)] = sine > 0 ? angle / sine * by.vec()[i] : 0;
    if (!is_free) continue;
    const model::Vec3d& com = info.bodies[static_cast<std::size_t>(joint.child)].p_BoBcm;
    const Vec c_B{com[0], com[1], com[2]};
    const Vec shift = math::rotate(after, c_B) - math::rotate(before, c_B);
    for (int i = 0; i < 3; ++i) {
      const auto k = static_cast<std::size_t>(i);
      change[v + k] = to[p + k] - from[p + k] + shift[i];
    }
  }
  return change;
}

// Greatest error of A, B, C and D of one world and step against differences of fourth order, of their size.
double error_of(Engine& engine, Batch& batch, int world, const Motion& at, const Answer& answer, std::size_t row) {
  const ModelInfo& info = batch.spec().model->info();
  const std::size_t nv = answer.nv, x = answer.x;
  double error = 0;
  const auto compare = [&](double found, double expected) {
    error = std::max(error, std::abs(found - expected) / (1 + std::abs(expected)));
  };
  for (std::size_t c = 0; c < x + answer.nu; ++c) {
    const double d = 1e-4;
    const auto side = [&](double by) {
      Motion motion = at;
      if (c < nv) {
        motion.position = moved(info, at.position, c, by);
      } else if (c < 2 * nv) {
        motion.velocity[c - nv] += by;
      } else if (c < x) {
        motion.activation[c - 2 * nv] += by;
      } else {
        motion.control[c - x] += by;
      }
      return stepped(engine, batch, world, motion);
    };
    const After a2 = side(-2 * d), a1 = side(-d), b1 = side(d), b2 = side(2 * d);
    const auto rate = [d](double one, double two) { return (8 * one - two) / (12 * d); };
    const std::vector<double> one = difference(info, b1.position, a1.position);
    const std::vector<double> two = difference(info, b2.position, a2.position);
    const bool of_state = c < x;
    const std::size_t width = of_state ? x : answer.nu, column = of_state ? c : c - x;
    const std::vector<double>&state = of_state ? answer.A : answer.B, &sensed = of_state ? answer.C : answer.D;
    const auto element = [&](std::size_t i) { return state[row * x * width + i * width + column]; };
    for (std::size_t i = 0; i < nv; ++i) {
      compare(element(i), rate(one[i], two[i]));
      compare(element(nv + i), rate(b1.velocity[i] - a1.velocity[i], b2.velocity[i] - a2.velocity[i]));
    }
    for (std::size_t i = 0; i < answer.na; ++i) {
      compare(element(2 * nv + i), rate(b1.activation[i] - a1.activation[i], b2.activation[i] - a2.activation[i]));
    }
    for (std::size_t i = 0; i < answer.ny; ++i) {
      compare(sensed[row * answer.ny * width + i * width + column],
              rate(b1.sensors[i] - a1.sensors[i], b2.sensors[i] - a2.sensors[i]));
    }
  }
  return error;
}

TEST(Linearise, matrices_are_those_of_states_that_are_set_and_stepped) {
  for (const bool half_step : {true, false}) {
    Linearised f(robot(), 1, [&](BatchSpec& spec) { spec.options.half_step_start = half_step; });
    bend(*f.batch);
    const std::vector<double> control{0.4, 0.3};
    LinearisationSpec spec;
    spec.control = input(control, 2);
    const Answer answer = linearised(*f.engine, *f.batch, spec);
    EXPECT_NE(answer.outcome[0] & kConverged, 0u);
    EXPECT_EQ(answer.method[0], LinearisationMethod::kExact);
    EXPECT_THAT(answer.kink, ::testing::Each(0));
    // A tolerance of 1e-11 leaves up to 5e-13 m/s, over 1e-6.
    const Motion at = f.motion(0, control);
    EXPECT_LT(error_of(*f.engine, *f.batch, 0, at, answer, 0), 5e-7) << half_step;
  }
}

TEST(Linearise, sensors_have_their_matrices) {
  Linearised f(robot_with_sensors());
  bend(*f.batch);
  const std::vector<double> control{0.4, 0.3};
  LinearisationSpec spec;
  spec.control = input(control, 2);
  spec.difference = 1e-5;  // accelerations are velocities over a step of 5 ms, and what the tolerance leaves likewise
  const Answer answer = linearised(*f.engine, *f.batch, spec);
  EXPECT_EQ(answer.ny, 9u);
  EXPECT_EQ(answer.method[0], LinearisationMethod::kExact);
  const Motion at = f.motion(0, control);
  EXPECT_THAT(answer.sensors,
              ::testing::Pointwise(::testing::DoubleNear(1e-9), stepped(*f.engine, *f.batch, 0, at).sensors));
  EXPECT_LT(error_of(*f.engine, *f.batch, 0, at, answer, 0), 1e-5);
}

TEST(Linearise, worlds_have_their_own_numbers_and_scales) {
  const std::vector<double> mass_scale{1, 1, 1, 1, 1.5, 0.5, 2, 1, 1, 1, 1, 1}, gain_scale{1, 1, 0.5, 2, 1, 1};
  const std::vector<double> gravity{0, 0, -9.81, 0, 0, -9.81, 1, 2, -3}, mass{3, 1, 1, 0.5, 3, 1, 1, 0.5, 4, 2, 1, 0.7};
  Linearised f(robot(), 3, [&](BatchSpec& spec) {
    spec.overrides.mass_scale = input(mass_scale, 4), spec.overrides.gain_scale = input(gain_scale, 2);
    spec.overrides.parameters = {{Parameter::kGravity, input(gravity, 3)}, {Parameter::kBodyMass, input(mass, 4)}};
  });
  bend(*f.batch);
  const std::vector<double> control{0.4, 0.3, 0.4, 0.3, 0.4, 0.3};
  LinearisationSpec spec;
  spec.worlds = {2, 0, 1}, spec.control = input(control, 2);
  const Answer answer = linearised(*f.engine, *f.batch, spec);
  const Motion at = f.motion(0, {0.4, 0.3});
  EXPECT_THAT(answer.method, ::testing::Each(LinearisationMethod::kExact));
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_LT(error_of(*f.engine, *f.batch, spec.worlds[row], at, answer, row), 5e-7) << row;
  }
}

TEST(Linearise, of_a_four_bar_the_coordinates_are_those_of_its_tree) {
  SceneSpec scene;
  const auto bar = [&](double px, double pz) {
    model::BodySpec body;
    body.name = "bar" + std::to_string(scene.bodies.size());
    body.mass = 1, body.X_WB.position = {px, 0, pz}, body.I_Bcm = {0.02, 0.02, 0.02, 0, 0, 0};
    scene.bodies.push_back(body);
  };
  bar(0, 0.5), bar(0.5, 1), bar(1, 0.5);
  const auto hinge = [&](int parent, int child, model::Vec3d anchor) {
    model::JointSpec joint;
    joint.name = "hinge" + std::to_string(scene.joints.size());
    joint.kind = model::JointKind::kAxes, joint.parent = parent, joint.child = child;
    model::AxisSpec axis;
    axis.name = joint.name, axis.axis = {0, 1, 0}, axis.anchor = anchor;
    joint.axes = {axis};
    scene.joints.push_back(joint);
  };
  hinge(model::kWorldBody, 0, {0, 0, -0.5}), hinge(0, 1, {-0.5, 0, 0}), hinge(model::kWorldBody, 2, {0, 0, -0.5});
  hinge(1, 2, {0, 0, 0.5});
  Linearised f(scene);
  EXPECT_EQ(f.info().joint_velocity_count, 3);
  // 1e-9: at 1e-11 a planar loop's redundant rows do not converge.
  LinearisationSpec spec;
  const Answer answer = linearised(*f.engine, *f.batch, spec);
  // Opened by an angle of the crank alone, the loop is closed within the step: crank and rocker end at the mean.
  for (const std::size_t c : {0u, 2u}) {
    EXPECT_NEAR(answer.A[0 * 6 + c], answer.A[2 * 6 + c], 1e-5);
  }
  // A change that keeps it closed, d(crank) = d(rocker) = -d(coupler), is kept.
  EXPECT_NEAR(answer.A[0] - answer.A[1] + answer.A[2], 1, 1e-3);
}

TEST(Linearise, steps_follow_each_other_along_the_trajectory) {
  Linearised f(robot());
  bend(*f.batch);
  const std::vector<double> control{0.4, 0.3, -0.2, 0.5, 0.1, -0.4};
  LinearisationSpec spec;
  spec.step_count = 3;
  spec.control = {reinterpret_cast<const std::byte*>(control.data()), DType::kFloat64, 6 * 8, 2 * 8};
  const Answer whole = linearised(*f.engine, *f.batch, spec);
  std::vector<double> position(whole.position.begin(), whole.position.begin() + 15);
  std::vector<double> velocity(whole.velocity.begin(), whole.velocity.begin() + 13);
  for (std::size_t t = 0; t < 3; ++t) {
    const std::vector<double> now{control[2 * t], control[2 * t + 1]};
    const auto at = [t](const std::vector<double>& all, std::size_t size, std::size_t step) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>((t + step) * size);
      return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(size));
    };
    LinearisationSpec one;
    one.start.joint_position = input(position, 15), one.start.joint_velocity = input(velocity, 13);
    one.control = input(now, 2);
    const Answer single = linearised(*f.engine, *f.batch, one);
    // A start is set and read before the first step, which rounds its quaternions.
    EXPECT_THAT(single.A, ::testing::Pointwise(::testing::DoubleNear(1e-6), at(whole.A, 26 * 26, 0))) << t;
    EXPECT_THAT(single.B, ::testing::Pointwise(::testing::DoubleNear(1e-6), at(whole.B, 26 * 2, 0))) << t;
    const After after = stepped(*f.engine, *f.batch, 0, {position, velocity, {}, now});
    EXPECT_EQ(after.position, at(whole.position, 15, 1)) << t;
    EXPECT_EQ(after.velocity, at(whole.velocity, 13, 1)) << t;
    position = after.position, velocity = after.velocity;
  }
}

}  // namespace
}  // namespace axion::testing::linearise_test
