// Soft contacts and limits beside closed formulas of their law, dv/dt + R f = -b v - k d r: depths at rest,
// oscillations, and that rigid batches pass over them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "engine/constraints/soft_laws.hpp"
#include "engine/model/shape_pairs.hpp"
#include "tests/engine/import/imported_world.hpp"
#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::mjcf_softness_test {
namespace {

using testing::Validation;

constexpr double kGravity = 9.81, kRadius = 0.1;

model::SolverOptions soft_options() {
  model::SolverOptions options = testing::exact_options();
  options.contact_softness = model::ContactSoftness::kMjcf;
  return options;
}

// A sphere on a plane whose contacts have one impedance at every depth.
model::SceneSpec soft_sphere(double time, double ratio, double impedance) {
  model::SceneSpec scene = testing::sphere_on_plane(kRadius, 0.5);
  scene.softness_rule.pyramidal = false;
  for (model::ShapeSpec& shape : scene.shapes) {
    shape.softness.solref = {time, ratio}, shape.softness.solimp = {impedance, impedance, 0.001, 0.5, 2};
  }
  return scene;
}

template <typename Real>
class MjcfSoftness : public ::testing::Test {};
TYPED_TEST_SUITE(MjcfSoftness, testing::Precisions, testing::PrecisionNames);

// At rest k d^2 r = -(1 - d) g, whatever the mass and the step.
TYPED_TEST(MjcfSoftness, a_sphere_rests_where_its_force_is_its_weight) {
  const Validation<TypeParam> validation("MJCF softness");
  for (const double d : {0.5, 0.9, 0.95}) {
    model::SceneSpec scene = soft_sphere(0.02, 1, d);
    scene.bodies[0].mass = 7;
    for (const double margin : {0.0, 0.03}) {
      for (auto& shape : scene.shapes) shape.softness.margin = margin / 2;
      const double k = 1 / (d * d * 0.02 * 0.02), depth = (1 - d) * kGravity / (k * d * d);
      for (const double h : {1e-3, 1.0 / 60}) {
        testing::SingleWorld<TypeParam> world(scene, soft_options(), h);
        world.step(static_cast<int>(3 / h));
        EXPECT_TRUE(world.converged());
        const double rest = kRadius + margin - depth;
        validation.at_most("depth of a sphere at rest, relative",
                           std::abs((rest - double(world.world().x[0].z)) / depth),
                           testing::allowed<TypeParam>(1e-7, 60 * testing::epsilon<float>() * kRadius / depth));
      }
    }
  }
}

// While it pushes: r'' + d b r' + k d^2 r = -(1 - d) g, with d b = 2/T and k d^2 = 1/(T Z)^2. Let go from a depth below
// that of rest. Halving the step takes the error to a quarter.
double greatest_error(double h) {
  const double time = 0.08, ratio = 0.25, d = 0.9, start = -0.008, duration = 0.06;
  const double omega = 1 / (time * ratio), decay = 1 / time, ringing = std::sqrt(omega * omega - decay * decay);
  const double rest = -(1 - d) * kGravity / (omega * omega);
  model::SceneSpec scene = soft_sphere(time, ratio, d);
  scene.bodies[0].X_WB.position[2] = kRadius + start;
  testing::SingleWorld<double> world(scene, soft_options(), h);
  double worst = 0;
  for (int k = 1; k * h <= duration; ++k) {
    world.step();
    const double t = k * h, swing = std::cos(ringing * t) + decay / ringing * std::sin(ringing * t);
    const double r = rest + (start - rest) * std::exp(-decay * t) * swing;
    if (r > rest) break;  // its force ends where it has come up to its margin
    worst = std::max(worst, std::abs(double(world.world().x[0].z) - kRadius - r));
  }
  return worst;
}

TEST(MjcfSoftness64, oscillates_as_its_law_says_to_second_order) {
  const Validation<double> validation("MJCF softness");
  const double coarse = greatest_error(1e-3), fine = greatest_error(5e-4);
  validation.at_most("error of an oscillation of 0.02 s at h 0.5 ms, m", fine, 2e-6);
  validation.at_least("ratio of errors when the step is halved", coarse / fine, 3.5);
}

// A pendulum of mass m and length l that leans on its lower limit: A m g l cos(angle) = -k d^2 r/(1 - d), A = 1/I.
TYPED_TEST(MjcfSoftness, a_limit_gives_way_by_the_moment_on_it) {
  const Validation<TypeParam> validation("MJCF softness");
  const double d = 0.8, time = 0.05, length = 0.5, lower = 0.3, I = 1.0 / 6 * 0.01 + length * length;
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("bob", 1, {0.05, 0.05, 0.05}, {length, 0, 1})};
  scene.bodies[0].I_Bcm = {0.01 / 6, 0.01 / 6, 0.01 / 6, 0, 0, 0};
  model::JointSpec joint;
  joint.name = "pivot", joint.kind = model::JointKind::kAxes, joint.child = 0;
  model::AxisSpec axis;
  axis.name = "pivot", axis.axis = {0, -1, 0}, axis.anchor = {-length, 0, 0}, axis.initial_position = lower + 0.1;
  axis.limited = true, axis.lower = lower, axis.upper = 2;
  axis.limit_softness.solref = {time, 1}, axis.limit_softness.solimp = {d, d, 0.1, 0.5, 2};
  joint.axes = {axis};
  scene.joints = {joint};
  const double k = 1 / (d * d * time * time), moment = kGravity * length / I;
  double r = 0;
  for (int i = 0; i < 100; ++i) r = -moment * std::cos(lower + r) * (1 - d) / (k * d * d);
  for (const double h : {1e-3, 1.0 / 60}) {
    testing::SingleWorld<TypeParam> world(scene, soft_options(), h);
    world.step(static_cast<int>(4 / h));
    EXPECT_TRUE(world.converged());
    validation.at_most("angle beyond a limit at rest, relative",
                       std::abs((double(world.world().axis_position[0]) - lower - r) / r),
                       testing::allowed<TypeParam>(1e-7, 60 * testing::epsilon<float>() / std::abs(r)));
  }
}

// A slide whose dry friction is greater than its load creeps: b v = R F, R = (1 - d)/d /m; past it, it accelerates by
// the rest: m dv/dt = F - loss.
TYPED_TEST(MjcfSoftness, dry_friction_creeps_within_its_bound) {
  const Validation<TypeParam> validation("MJCF softness");
  const double d = 0.8, time = 0.05, mass = 3, force = mass * kGravity;
  for (const double loss : {2 * force, 0.25 * force}) {
    model::SceneSpec scene;
    scene.bodies = {testing::solid_box("bob", mass, {0.05, 0.05, 0.05}, {0, 0, 1})};
    model::JointSpec joint;
    joint.name = "rail", joint.kind = model::JointKind::kAxes, joint.child = 0;
    model::AxisSpec axis;
    axis.name = "rail", axis.kind = model::AxisKind::kSlide, axis.axis = {0, 0, -1}, axis.friction_loss = loss;
    axis.friction_softness.solref = {time, 1}, axis.friction_softness.solimp = {d, d, 0.1, 0.5, 2};
    joint.axes = {axis};
    scene.joints = {joint};
    const double b = 2 / (d * time), creep = (1 - d) / d * kGravity / b;
    for (const double h : {1e-3, 1.0 / 60}) {
      testing::SingleWorld<TypeParam> world(scene, soft_options(), h);
      const int steps = static_cast<int>(2 / h);
      world.step(steps);
      EXPECT_TRUE(world.converged());
      const double speed = loss > force ? creep : (kGravity - loss / mass) * steps * h;
      const double error = std::abs(-double(world.world().v[0].z) - speed) / speed;
      validation.at_most(
          loss > force ? "speed of creeping dry friction, relative" : "speed past dry friction, relative", error,
          testing::allowed<TypeParam>(loss > force ? 1e-6 : 2e-2, loss > force ? 1e-3 : 2e-2));
    }
  }
}

// A cube that gravity presses sideways creeps on its four contacts: b v = (1 - d)/d g_x/4, whatever its mass.
TYPED_TEST(MjcfSoftness, friction_creeps_within_its_cone) {
  const Validation<TypeParam> validation("MJCF softness");
  const double d = 0.8, time = 0.05, sideways = 3;
  for (const double ratio : {1.0, 5.0}) {
    model::SceneSpec scene = testing::cube_on_plane(0.8);
    scene.gravity = {sideways, 0, -kGravity};
    scene.softness_rule.pyramidal = false, scene.softness_rule.impedance_ratio = ratio;
    for (auto& shape : scene.shapes) {
      shape.softness.solref = {time, 1}, shape.softness.solimp = {d, d, 0.001, 0.5, 2};
    }
    const double b = 2 / (d * time), speed = (1 - d) / d * sideways / 4 / b / ratio;
    for (const double h : {1e-3, 1.0 / 60}) {
      testing::SingleWorld<TypeParam> world(scene, soft_options(), h);
      world.step(static_cast<int>(3 / h));
      EXPECT_TRUE(world.converged());
      validation.at_most("speed of creeping friction, relative", std::abs(double(world.world().v[0].x) - speed) / speed,
                         testing::allowed<TypeParam>(1e-6, 1e-3));
    }
  }
}

// A sphere of 2 kg that does not turn slides over a plane at 3 m/s, a millimetre deep:
//   dv_z/dt = f/m - g,   dv_x/dt = -mu f/m,   f (A (1 + mu^2) + R') = (g - b v_z - k d r) + mu b v_x,   A = 1/m
// where R' is R (1 + mu^2) on a cone, 2 mu^2 (1 + mu^2) R on the edge of a pyramid, R = (1 - d)/d A. These are MuJoCo's
// forces to six digits. What slides is lifted: by three times as much as by the normal's own law.
TYPED_TEST(MjcfSoftness, what_slides_is_lifted) {
  const Validation<TypeParam> validation("MJCF softness");
  const double time = 0.02, d = 0.9, m = 2, duration = 4e-3, depth = 1e-3;
  const double k = 1 / (d * d * time * time), b = 2 / (d * time);
  for (const bool pyramidal : {false, true}) {
    for (const double mu : {0.5, 1.9}) {
      model::SceneSpec scene = soft_sphere(time, 1, d);
      scene.softness_rule.pyramidal = pyramidal;
      scene.bodies[0].mass = m, scene.bodies[0].I_Bcm = {1e4, 1e4, 1e4, 0, 0, 0};
      scene.bodies[0].X_WB.position[2] = kRadius - depth;
      for (auto& shape : scene.shapes) shape.friction = mu;
      const double slip = (1 - d) / d * (1 + mu * mu) * (pyramidal ? 2 * mu * mu : 1);
      double r = -depth, v_z = 0, v_x = 3;
      const int fine = 40000;
      for (int i = 0; i < fine; ++i) {
        const double h = duration / fine, push = kGravity - b * v_z - k * d * r;
        const double force = m * (push + mu * b * v_x) / (1 + mu * mu + slip);
        v_z += h * (force / m - kGravity), v_x -= h * mu * force / m, r += h * v_z;
      }
      ASSERT_GT(v_z, 0);
      const double h = 1e-5;
      testing::SingleWorld<TypeParam> world(scene, soft_options(), h);
      world.world().v[0].x = 3;
      world.step(static_cast<int>(std::lround(duration / h)));
      EXPECT_TRUE(world.converged());
      validation.at_most("speed at which a sphere that slides is lifted, relative",
                         std::abs(double(world.world().v[0].z) - v_z) / v_z, testing::allowed<TypeParam>(5e-3, 2e-2));
      validation.at_most("speed that a sphere loses as it slides, relative",
                         std::abs(double(world.world().v[0].x) - v_x) / (3 - v_x),
                         testing::allowed<TypeParam>(5e-3, 2e-2));
    }
  }
}

// The curve of solimp between its ends: MuJoCo's, of powers below and above the midpoint.
TEST(MjcfSoftness64, impedance_follows_its_curve) {
  for (const double p : {1.0, 1.3, 2.0, 3.5, 6.0}) {
    const double solref[] = {0.02, 1}, solimp[] = {0.4, 0.9, 0.01, 0.3, p};
    const model::ImpedanceData<double> law = model::make_impedance(solref, solimp, 0, 1, {});
    for (double x = 0; x < 1.2; x += 0.05) {
      double y = x < 0.3 ? std::pow(x, p) / std::pow(0.3, p - 1) : 1 - std::pow(1 - x, p) / std::pow(0.7, p - 1);
      if (x >= 1) y = 1;
      EXPECT_NEAR(constraints::impedance_at(law, 0.01 * x), 0.4 + 0.5 * y, 3e-6) << p << " " << x;
    }
  }
}

// Over a model of many shapes a pair's law is worked out from its two where it is needed.
TEST(MjcfSoftness64, of_pairs_that_no_list_has_is_that_of_listed_ones) {
  model::SceneSpec few = soft_sphere(0.03, 0.7, 0.8);
  few.shapes[1].softness_mix = 3, few.shapes[1].softness.solimp = {0.6, 0.9, 0.01, 0.4, 3};
  few.softness_rule.pyramidal = true, few.shapes[1].cone_dimension = 4, few.shapes[1].softness.margin = 0.01;
  model::SceneSpec many = few;
  for (int i = 0; i < 600; ++i) {
    many.bodies.push_back(testing::solid_box("b" + std::to_string(i), 1, {0.1, 0.1, 0.1}, {2.0 + i, 0, 5}));
    many.shapes.push_back(testing::sphere_shape("s" + std::to_string(i), i + 1, 0.1, 0.5));
  }
  const testing::SingleWorld<double> listed(few, soft_options(), 1e-3), unlisted(many, soft_options(), 1e-3);
  ASSERT_TRUE(model::lists_pairs(listed.model()));
  ASSERT_FALSE(model::lists_pairs(unlisted.model()));
  EXPECT_EQ(model::impedance_of_pair(listed.model(), 0), model::impedance_of_pair(unlisted.model(), 1));
}

TEST(MjcfSoftness64, is_passed_over_by_rigid_batches) {
  const model::SceneSpec usual = testing::sphere_on_plane(kRadius, 0.5);
  model::SceneSpec soft = soft_sphere(0.1, 0.2, 0.4);
  soft.shapes[1].softness.margin = 0.1;
  testing::SingleWorld<double> a(usual, testing::exact_options(), 1e-3), b(soft, testing::exact_options(), 1e-3);
  a.step(100), b.step(100);
  EXPECT_EQ(a.world().x[0].z, b.world().x[0].z);
  EXPECT_EQ(a.world().v[0].z, b.world().v[0].z);
}

// Two boxes and a third that the second's weight and its own press: each layer gives way by what it carries, with the
// mobilities of both its bodies.
TYPED_TEST(MjcfSoftness, a_stack_settles_at_the_sum_of_its_layers) {
  const Validation<TypeParam> validation("MJCF softness");
  const double d = 0.9, time = 0.02, k = 1 / (d * d * time * time);
  model::SceneSpec scene = testing::box_stack(3, 4);
  scene.softness_rule.pyramidal = false;
  for (auto& shape : scene.shapes) shape.softness.solimp = {d, d, 0.001, 0.5, 2};
  for (auto& body : scene.bodies) body.X_WB.position[0] = body.X_WB.position[1] = 0;
  testing::SingleWorld<TypeParam> world(scene, soft_options(), 5e-3);
  world.step(1000);
  EXPECT_TRUE(world.converged());
  const double masses[] = {1, 1, 4};
  double carried = 0, height[3], below[3];
  for (int i = 2; i >= 0; --i) {
    carried += masses[i] * kGravity;
    // of each box the mean of its mobilities is 1/m; four contacts share the load
    const double mobility = 1 / masses[i] + (i > 0 ? 1 / masses[i - 1] : 0);
    below[i] = carried / 4 * (1 - d) / d * mobility / (k * d);
  }
  double sum = 0;
  for (int i = 0; i < 3; ++i) sum += below[i], height[i] = 0.1 + 0.2 * i - sum;
  for (int i = 0; i < 3; ++i) {
    validation.at_most("sag of a stack of three boxes, relative",
                       std::abs(double(world.world().x[i].z) - height[i]) / sum,
                       testing::allowed<TypeParam>(1e-6, 0.01));
  }
}

// Two arms whose drives swing them through each other start 12 mm deep. Their push would throw the links, and is
// lessened; the contact, which goes apart as that begins, lets nothing further in all the same.
const char* const kCrossedArms = R"(<mujoco><option timestep="0.002"/><compiler autolimits="true"/>
  <default><geom type="capsule" size="0.03" solref="0.01 1" condim="1"/>
    <joint axis="0 0 1" damping="1" armature="0.01" range="-120 120"/></default>
  <worldbody>
    <body pos="-0.4 0 0.5" euler="0 0 -3"><joint name="a" armature="0.1"/>
      <geom fromto="0 0 0 0.225 0 0" mass="1.22"/>
      <body pos="0.225 0 0"><joint name="b"/><geom fromto="0 0 0 0.223 0 0" mass="1.13"/></body></body>
    <body pos="0.4 0 0.5" euler="0 0 176"><joint name="c" armature="0.1"/>
      <geom type="box" size="0.133 0.03 0.03" pos="0.133 0 0" mass="0.246"/>
      <body pos="0.267 0 0"><joint name="d"/><geom fromto="0 0 0 0.233 0 0" mass="0.98"/>
        <body pos="0.233 0 0"><joint name="e" axis="0 1 0" damping="0.2"/>
          <geom fromto="0 0 0 0.22 0 0" mass="1.64"/></body></body></body>
  </worldbody>
  <actuator><position joint="a" kp="20" kv="10"/><position joint="b" kp="400" kv="1"/>
    <position joint="c" kp="20" kv="1"/><position joint="d" kp="100" kv="1"/>
    <position joint="e" kp="400" kv="1"/></actuator></mujoco>)";

TYPED_TEST(MjcfSoftness, a_push_that_is_lessened_lets_nothing_further_in) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.contact_softness = model::ContactSoftness::kMjcf;
  const model::SceneSpec scene = import::imported(kCrossedArms).scene;
  testing::SingleWorld<TypeParam> world(scene, options, scene.timestep);
  const double controls[] = {0.43, 1.03, 0.41, -1, 0.36};
  for (int i = 0; i < 5; ++i) world.world().control[world.model().actuators[i].control] = TypeParam(controls[i]);
  double last = 0.012, deepest = 0;
  for (int k = 0; k < 60; ++k) {
    world.step();
    const double depth = world.record().max_penetration;
    if (world.converged()) {
      EXPECT_LT(depth, last + 0.001) << "step " << k;
    }
    last = depth, deepest = std::max(deepest, depth);
  }
  EXPECT_LT(deepest, 0.0125);
}

}  // namespace
}  // namespace axion::mjcf_softness_test
