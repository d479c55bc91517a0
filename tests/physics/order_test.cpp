// Order of accuracy in time: forces, controls, dampers, springs and drives against closed formulas; velocities at the
// instant of the poses; and what large steps may not do.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <type_traits>
#include <vector>

#include "tests/physics/exact_options.hpp"
#include "tests/support/fitted_order.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::order_test {
namespace {

using math::Vec3;
using testing::allowed;
using testing::as_made;
using testing::exact_options;
using testing::fitted_order;
using testing::Validation;

constexpr double kGravity = 9.81;

model::SceneSpec falling_box() {
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("box", 2, {0.1, 0.2, 0.3}, {0, 0, 0})};
  return scene;
}

template <typename Real>
class Order : public ::testing::Test {};
TYPED_TEST_SUITE(Order, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(Order, a_free_body_flies_along_the_parabola_at_any_step) {
  using Real = TypeParam;
  double place = 0, velocity = 0;
  for (const double h : {1e-3, 0.01, 0.05, 0.2}) {
    testing::SingleWorld<Real> world(falling_box(), exact_options(), h);
    auto& w = world.world();
    w.v[0] = {3, -1, 4};
    for (int n = 1; n <= static_cast<int>(std::lround(1 / h)); ++n) {
      world.step();
      world.read();
      const double t = n * as_made<Real>(h), g = as_made<Real>(kGravity);
      const Vec3<double> x{3 * t, -t, 4 * t - g * t * t / 2}, v{3, -1, 4 - g * t};
      place = std::max(place, math::norm(math::cast<double>(w.x[0]) - x));
      velocity = std::max(velocity, math::norm(math::cast<double>(w.v_at_pose[0]) - v));
    }
  }
  // float32: 1000 steps round a place of up to 3 m and a speed of up to 6 m/s by ε/2 each, and the speed's error adds
  // up again.
  const double rounding = 1000 * testing::epsilon<float>() * 6;
  const Validation<Real> row("free flight");
  row.at_most("place against the parabola, m", place, allowed<Real>(1e-11, rounding));
  row.at_most("velocity at the pose against v₀ + gt, m/s", velocity, allowed<Real>(1e-11, rounding));
}

// A force that begins after 0.1 s: it acts from that instant, and v and x are those of it.
template <typename Real>
void push(const model::SceneSpec& scene, const std::function<void(model::WorldView<Real>&, double)>& apply,
          const std::string& name) {
  double place = 0, velocity = 0;
  for (const double h : {1e-3, 0.01, 0.05}) {
    testing::SingleWorld<Real> world(scene, exact_options(), h);
    auto& w = world.world();
    apply(w, 0);
    world.step(static_cast<int>(std::lround(0.1 / h)));
    for (const double force : {5.0, -3.0}) {
      apply(w, force);
      const double x = w.x[0].x, v = world.read().v_at_pose[0].x;
      const int n = static_cast<int>(std::lround(0.5 / h));
      const double t = n * as_made<Real>(h);
      world.step(n);
      place = std::max(place, std::abs(double(w.x[0].x) - x - v * t - force * t * t / 4));
      velocity = std::max(velocity, std::abs(double(world.read().v_at_pose[0].x) - v - force * t / 2));
    }
  }
  const double rounding = 500 * testing::epsilon<float>() * 2;
  const Validation<Real> row("forces that begin");
  row.at_most(name + ": place against x + vt + Ft²/2m, m", place, allowed<Real>(1e-10, rounding));
  row.at_most(name + ": velocity at the pose against v + Ft/m, m/s", velocity, allowed<Real>(1e-10, rounding));
}

TYPED_TEST(Order, a_control_or_a_wrench_acts_from_the_instant_it_is_given) {
  using Real = TypeParam;
  using View = model::WorldView<Real>;
  push<Real>(
      testing::cart_on_rail(2), [](View& w, double f) { w.control[0] = Real(f); }, "motor");
  push<Real>(
      testing::cart_on_rail(2),
      [](View& w, double f) {
        w.force[0] = {Real(f), 0, 0};
      },
      "wrench on a cart");
  model::SceneSpec free = falling_box();
  free.gravity = {0, 0, 0};
  push<Real>(
      free,
      [](View& w, double f) {
        w.force[0] = {Real(f), 0, 0};
      },
      "wrench on a free body");
}

// The bounds hold in both precisions: what 320 steps of 2.5 ms round of 3 m is 1e-6 m, the errors are 1e-5 m and more
// there. Error of the place of a cart that starts at 0 with `speed` and is drawn by what `make` adds to it, after 0.8
// s.
template <typename Real>
double cart_error(double h, double speed, double exact, const std::function<void(model::SceneSpec&)>& make,
                  double control) {
  model::SceneSpec scene = testing::cart_on_rail(2);
  make(scene);
  testing::SingleWorld<Real> world(scene, exact_options(), h);
  world.world().v[0].x = Real(speed);
  world.world().control[0] = Real(control);
  world.step(static_cast<int>(std::lround(0.8 / h)));
  EXPECT_TRUE(world.converged());
  return std::abs(double(world.world().x[0].x) - exact);
}

template <typename Real>
void expect_second_order(const std::string& name, double speed, double exact,
                         const std::function<void(model::SceneSpec&)>& make, double control = 0) {
  const std::vector<double> steps{0.02, 0.01, 0.005, 0.0025};
  std::vector<double> errors;
  for (const double h : steps) errors.push_back(cart_error<Real>(h, speed, exact, make, control));
  const Validation<Real> row("order of an axis");
  row.at_least(name + ": order from 20 to 2.5 ms", fitted_order(steps, errors), 1.9);
  row.at_most(name + ": error at 20 ms, m", errors.front(), 5e-3);
}

template <typename Real>
class OrderOfAnAxis : public ::testing::Test {};
TYPED_TEST_SUITE(OrderOfAnAxis, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(OrderOfAnAxis, is_two_with_dampers_springs_armature_and_drives) {
  const double m = 2, t = 0.8;
  expect_second_order<TypeParam>("damper", 3, 3 * m / 4 * (1 - std::exp(-4 * t / m)),
                                 [](model::SceneSpec& s) { s.joints[0].axes[0].damping = 4; });
  const double omega = std::sqrt(50 / m);
  expect_second_order<TypeParam>("spring", 3, 3 / omega * std::sin(omega * t),
                                 [](model::SceneSpec& s) { s.joints[0].axes[0].stiffness = 50; });
  const double heavy = std::sqrt(50 / (m + 3));
  expect_second_order<TypeParam>("spring and armature", 3, 3 / heavy * std::sin(heavy * t), [](model::SceneSpec& s) {
    s.joints[0].axes[0].stiffness = 50, s.joints[0].axes[0].armature = 3;
  });
  // m ẍ = kp (1 − x) − kd ẋ from rest.
  const double kp = 100, kd = 10, decay = kd / (2 * m), turn = std::sqrt(kp / m - decay * decay);
  const double driven = 1 - std::exp(-decay * t) * (std::cos(turn * t) + decay / turn * std::sin(turn * t));
  for (const bool limited : {false, true}) {
    expect_second_order<TypeParam>(
        limited ? "position drive with an effort limit" : "position drive", 0, driven,
        [&](model::SceneSpec& s) {
          model::ActuatorSpec& drive = s.actuators[0];
          drive.kind = model::ActuatorKind::kPosition, drive.kp = kp, drive.kd = kd;
          if (limited) drive.effort_limited = true, drive.effort_lower = -1e3, drive.effort_upper = 1e3;
        },
        1);
  }
  // m ẋ' = kd (1 − ẋ) from rest.
  expect_second_order<TypeParam>(
      "velocity drive", 0, t - m / 6 * (1 - std::exp(-6 * t / m)),
      [](model::SceneSpec& s) { s.actuators[0].kind = model::ActuatorKind::kVelocity, s.actuators[0].kd = 6; }, 1);
}

template <typename Real>
class StiffAxis : public ::testing::Test {};
TYPED_TEST_SUITE(StiffAxis, testing::Precisions, testing::PrecisionNames);

// The bounds are of the method, and the same in both precisions.
// What is stiff against the step is damped at once, for every ratio of stiffness and damping; nothing ever grows.
TYPED_TEST(StiffAxis, never_swings_further_and_comes_to_rest_soon) {
  double furthest = 0, left = 0;
  for (const double h : {1e-3, 0.02, 0.3}) {
    for (const double k : {0.0, 1.0, 1e2, 1e4, 1e6, 1e9}) {
      for (const double d : {0.0, 1.0, 1e2, 1e4, 1e7}) {
        model::SceneSpec scene = testing::cart_on_rail(2);
        scene.joints[0].axes[0].stiffness = k, scene.joints[0].axes[0].damping = d;
        testing::SingleWorld<TypeParam> world(scene, exact_options(), h);
        world.world().x[0].x = 0.1;  // 0.1 m out of rest
        const double start = k / 2 * 0.01;
        for (int n = 0; n < 200; ++n) {
          world.step();
          // A spring's energy is exact to the share (h²k/4)/m that the trapezoidal rule gives its frequency.
          const double x = world.world().x[0].x, v = world.world().v[0].x, lag = h * h * k / 4;
          const double energy = k / 2 * x * x + v * v;
          if (start > 0 && lag < 0.02) furthest = std::max(furthest, energy / start - 1);
          furthest = std::max(furthest, std::abs(x) / 0.1 - 1);
        }
        const double z = h * (d + h * k / 2) / 2;
        if (k > 0 && z > 20 && h * k > d) left = std::max(left, std::abs(double(world.world().x[0].x)) / 0.1);
      }
    }
  }
  const Validation<TypeParam> row("stiff axis");
  row.at_most("swing or energy beyond the start, share", furthest, 0.15);
  row.at_most("left of the start after 200 steps where stiff, share", left, 1e-3);
}

template <typename Real>
class VelocityAtThePose : public ::testing::Test {};
TYPED_TEST_SUITE(VelocityAtThePose, testing::Precisions, testing::PrecisionNames);

// What rests reads no velocity, in the first step too; what has just hit a floor reads no rebound.
TYPED_TEST(VelocityAtThePose, of_what_rests_is_zero_and_an_impact_is_no_rebound) {
  const Validation<TypeParam> row("velocities that are read");
  for (const double h : {1e-3, 0.01, 0.05}) {
    testing::SingleWorld<TypeParam> world(testing::box_stack(3, 10), exact_options(), h);
    double resting = 0;
    for (int k = 0; k < 20; ++k) {
      world.step();
      for (int b = 0; b < 3; ++b) resting = std::max(resting, double(math::norm(world.read().v_at_pose[b])));
    }
    testing::SingleWorld<TypeParam> falling(testing::cube_on_plane(0.5), exact_options(), h);
    falling.world().x[0].z += 0.5;
    double rebound = 0;
    for (int k = 0; k < static_cast<int>(0.6 / h); ++k) {
      falling.step();
      rebound = std::max(rebound, double(falling.read().v_at_pose[0].z));
    }
    // float32: a place of 0.5 m rounds by ε/2, which a step takes back; impulses of 12 kg on 1 kg leave 8ε of theirs.
    const double rounding = testing::epsilon<float>() * (0.25 / h + 8 * 12 * kGravity * h);
    row.at_most("three boxes at rest: speed read, m/s", resting, allowed<TypeParam>(1e-9, rounding));
    row.at_most("rebound of a box that falls, in one step's gh", rebound / (kGravity * h), 0.1);
  }
}

// A double pendulum with dampers, armature and a motor whose control changes at every step: a client that reads the
// state and writes it back each step leaves the trajectory where it was.
TYPED_TEST(VelocityAtThePose, set_again_at_every_step_continues_with_second_order) {
  using Real = TypeParam;
  model::SceneSpec scene = testing::pendulum_chain(2);
  for (model::JointSpec& joint : scene.joints) joint.axes[0].damping = 0.3, joint.axes[0].armature = 0.2;
  model::ActuatorSpec motor;
  motor.name = "motor", motor.joint = 1;
  scene.actuators = {motor};
  const auto end = [&](double h, bool writes_back) {
    testing::SingleWorld<Real> world(scene, exact_options(), h);
    auto& w = world.world();
    for (int n = 0; n < static_cast<int>(std::lround(0.6 / h)); ++n) {
      w.control[0] = Real(4 * std::sin(7 * n * h));  // smooth, so that it has an order
      world.step();
      if (!writes_back) continue;
      world.read();
      for (int b = 0; b < 2; ++b) w.v[b] = w.v_at_pose[b], w.omega[b] = w.omega_at_pose[b];
      std::fill_n(w.lambda_joint.begin(), world.model().lock_count + world.model().axis_count, Real(0));
      w.state_is_new[0] = 1;
    }
    return math::cast<double>(w.x[world.compiled().internal_body[1]]);
  };
  const Vec3<double> exact = (1.0 / 3) * (4.0 * end(2.5e-4, false) - end(5e-4, false));  // extrapolated
  const std::vector<double> steps{0.02, 0.01, 0.005, 0.0025};
  const Validation<Real> row("reading and setting a state at every step");
  for (const bool writes_back : {false, true}) {
    std::vector<double> errors;
    for (const double h : steps) errors.push_back(math::norm(end(h, writes_back) - exact));
    const std::string name = writes_back ? "set again" : "left alone";
    // A control that is given at a step's start lags by half a step: its own first order is the client's.
    row.at_most(name + ": error at 2.5 ms, m", errors.back(), 1e-2);
  }
  double apart = 0;
  std::vector<double> differences;
  for (const double h : steps) differences.push_back(math::norm(end(h, false) - end(h, true)));
  apart = differences.back();
  // float32: 240 steps round places of 2 m by ε/2 · 2 m each, which is above what the method leaves and has no order.
  row.at_most("set again against left alone at 2.5 ms, m", apart,
              allowed<Real>(1e-6, 1e-6 + 240 * testing::epsilon<float>()));
  if constexpr (std::is_same_v<Real, float>) return;
  row.at_least("order of that from 20 to 2.5 ms", fitted_order(steps, differences), 1.9);
}

}  // namespace
}  // namespace axion::order_test
