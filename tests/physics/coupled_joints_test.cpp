// Equalities of joint coordinates and tendons against closed formulas, over long runs, and by all linear solvers.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::coupled_joints_test {
namespace {

using testing::allowed;
using testing::as_made;
using testing::exact_options;
using testing::Validation;

constexpr double kGravity = 9.81;

// Rods of 1 kg and 1 m hinged to the world about y at one end, side by side, lying along x.
model::SceneSpec rods(int count) {
  model::SceneSpec scene;
  for (int i = 0; i < count; ++i) {
    const std::string name = "rod" + std::to_string(i);
    scene.bodies.push_back(testing::solid_box(name, 1, {0.5, 0.05, 0.05}, {0.5, 1.0 * i, 0}));
    model::JointSpec joint;
    joint.name = name, joint.kind = model::JointKind::kAxes, joint.parent = model::kWorldBody, joint.child = i;
    joint.axes = {testing::hinge(name, {0, 1, 0}, {-0.5, 0, 0})};
    scene.joints.push_back(joint);
  }
  return scene;
}

double rod_inertia() { return (0.25 + 0.0025) / 3 + 0.25; }  // about its hinge, kg m^2

model::EqualitySpec equality(int first, int second, std::array<double, 5> polynomial) {
  model::EqualitySpec e;
  e.name = "e" + std::to_string(first) + std::to_string(second);
  e.first.joint = first, e.has_second = second >= 0, e.second.joint = second < 0 ? 0 : second;
  e.polynomial = polynomial;
  return e;
}

model::TendonSpec tendon(std::vector<double> coefficients) {
  model::TendonSpec t;
  t.name = "tendon";
  for (std::size_t i = 0; i < coefficients.size(); ++i) t.terms.push_back({static_cast<int>(i), 0, coefficients[i]});
  return t;
}

template <typename Real>
class CoupledJoints : public ::testing::Test {};
TYPED_TEST_SUITE(CoupledJoints, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(CoupledJoints, geared_rods_fall_as_the_sum_of_their_inertias_says) {
  using Real = TypeParam;
  // s_0 = -2 s_1: (4 I + I) s_1'' = M_1 - 2 M_0, and gravity turns both rods by m g / 2 about +y.
  model::SceneSpec scene = rods(2);
  scene.equalities = {equality(0, 1, {0, -2, 0, 0, 0})};
  const double h = 1e-3, moment = kGravity / 2, exact = (moment - 2 * moment) / (5 * rod_inertia());
  testing::SingleWorld<Real> world(scene, exact_options(), h);
  world.step();
  const double rate = world.read().omega_at_pose[1].y;
  const Validation<Real> row("geared rods");
  row.at_most("acceleration of a rod, relative", std::abs(rate / (h * exact) - 1), allowed<Real>(1e-5, 1e-4));
  EXPECT_NEAR(double(world.world().omega_at_pose[0].y), -2 * rate, allowed<Real>(1e-9, 1e-6));
}

TYPED_TEST(CoupledJoints, geared_rods_keep_their_energy_over_many_steps) {
  using Real = TypeParam;
  model::SceneSpec scene = rods(2);
  scene.equalities = {equality(0, 1, {0.1, 0.5, 0, 0, 0})};
  scene.joints[0].axes[0].initial_position = 0.1;
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), 1e-3);
  const double start = world.energy();
  double worst = 0, off = 0;
  bool converged = true;
  for (int i = 0; i < 10000; ++i) {
    world.step();
    converged = converged && world.converged();
    const auto& s = world.world().axis_position;
    off = std::max(off, std::abs(double(s[0]) - 0.1 - 0.5 * double(s[1])));
    if (i >= 9000) worst = std::max(worst, std::abs(world.energy() - start));
  }
  const Validation<Real> row("geared rods, 10000 steps");
  EXPECT_TRUE(converged);
  row.at_most("energy, of what falls", worst / kGravity, allowed<Real>(5e-3, 5e-3));
  row.at_most("gear, rad", off, allowed<Real>(1e-8, 1e-5));
}

TYPED_TEST(CoupledJoints, a_polynomial_holds_where_it_turns) {
  using Real = TypeParam;
  for (const double h : {1e-3, 5e-3, 0.02}) {
    model::SceneSpec scene = rods(2);
    scene.equalities = {equality(1, 0, {0.1, 0, 0.5, 0, 0})};
    scene.joints[1].axes[0].initial_position = 0.1;
    testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), h);
    double off = 0;
    for (int i = 0; i < static_cast<int>(2 / h); ++i) {
      world.step();
      ASSERT_TRUE(world.converged()) << "step " << i << " of " << h;
      const auto& s = world.world().axis_position;
      off = std::max(off, std::abs(double(s[1]) - 0.1 - 0.5 * double(s[0]) * double(s[0])));
    }
    const Validation<Real> row("s1 = 0.1 + 0.5 s0^2");
    row.at_most("h " + std::to_string(h) + ", rad", off, 1e-3 * kGravity * h * h + allowed<Real>(1e-12, 3e-6));
  }
}

TYPED_TEST(CoupledJoints, one_coordinate_is_held_at_a_constant) {
  using Real = TypeParam;
  model::SceneSpec scene = rods(1);
  scene.equalities = {equality(0, -1, {0.2, 0, 0, 0, 0})};
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), 0.005);
  world.step(200);
  EXPECT_NEAR(double(world.world().axis_position[0]), 0.2, allowed<Real>(1e-9, 1e-5));
  // The lock carries the rod's weight.
  const double torque = double(world.world().lambda_joint[world.compiled().arrays.joint_lock_count]) / 0.005;
  EXPECT_NEAR(torque, -kGravity / 2 * std::cos(0.2), 1e-3);
}

TYPED_TEST(CoupledJoints, a_coupling_that_starts_off_comes_together_without_a_jolt) {
  using Real = TypeParam;
  model::SceneSpec scene = rods(2);
  scene.gravity = {0, 0, 0};
  scene.equalities = {equality(0, 1, {0, 1, 0, 0, 0})};
  scene.joints[0].axes[0].initial_position = 0.3;
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), 0.002);
  double fastest = 0;
  for (int i = 0; i < 500; ++i) {
    world.step();
    for (int b = 0; b < 2; ++b) fastest = std::max(fastest, std::abs(double(world.world().omega[b].y)));
  }
  const auto& s = world.world().axis_position;
  EXPECT_NEAR(double(s[0]), double(s[1]), allowed<Real>(1e-9, 1e-5));
  EXPECT_LT(fastest, 0.3 / 0.05);
}

TYPED_TEST(CoupledJoints, a_tendon_at_its_limit_carries_the_weight) {
  using Real = TypeParam;
  // L = s_0 + 2 s_1 up to 0.6: the impulse per time T has M_0 = T and M_1 = 2 T, so that the rods stand where
  // cos s_1 = 2 cos s_0. Dampers bring them to rest.
  model::SceneSpec scene = rods(2);
  for (auto& joint : scene.joints) joint.axes[0].damping = 3;
  scene.tendons = {tendon({1, 2})};
  scene.tendons[0].limited = true, scene.tendons[0].lower = -10, scene.tendons[0].upper = 2;
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), 0.005);
  for (int i = 0; i < 4000; ++i) {
    world.step();
    ASSERT_TRUE(world.converged()) << i;
  }
  const auto& s = world.world().axis_position;
  const double load = double(world.world().lambda_joint[world.model().limit_base()]) / 0.005;
  const Validation<Real> row("tendon at its limit");
  row.at_most("length, rad", std::abs(double(s[0]) + 2 * double(s[1]) - 2), allowed<Real>(1e-6, 1e-4));
  row.at_most("load, N m", std::abs(load - kGravity / 2 * std::cos(double(s[0]))), allowed<Real>(1e-4, 2e-3));
  row.at_most("balance, N m", std::abs(2 * load - kGravity / 2 * std::cos(double(s[1]))), allowed<Real>(1e-4, 2e-3));
}

TYPED_TEST(CoupledJoints, a_tendon_spring_swings_at_its_frequency) {
  using Real = TypeParam;
  // Without gravity I s_0'' = -k (s_0 - 2 s_1), I s_1'' = 2 k (s_0 - 2 s_1): L swings at sqrt(5 k / I).
  model::SceneSpec scene = rods(2);
  scene.gravity = {0, 0, 0};
  scene.tendons = {tendon({1, -2})};
  scene.tendons[0].stiffness = 20;
  scene.joints[0].axes[0].initial_position = 0.1;
  const double h = 1e-3, omega = std::sqrt(5 * 20 / rod_inertia());
  testing::SingleWorld<Real> world(scene, exact_options(), h);
  double worst = 0;
  for (int i = 1; i <= 1000; ++i) {
    world.step();
    const auto& s = world.world().axis_position;
    worst = std::max(worst, std::abs(double(s[0]) - 2 * double(s[1]) - 0.1 * std::cos(omega * i * h)));
  }
  const Validation<Real> row("tendon spring");
  row.at_most("length against 0.1 cos, rad", worst, allowed<Real>(2e-4, 2e-4));
}

TYPED_TEST(CoupledJoints, a_tendon_damper_slows_down_as_an_exponential) {
  using Real = TypeParam;
  model::SceneSpec scene = rods(2);
  scene.gravity = {0, 0, 0};
  scene.tendons = {tendon({1, -2})};
  scene.tendons[0].damping = 0.1;
  const double h = 1e-3, rate = 5 * 0.1 / rod_inertia();
  testing::SingleWorld<Real> world(scene, exact_options(), h);
  auto& w = world.world();
  w.omega[0] = {0, Real(0.2), 0}, w.v[0] = {0, 0, Real(-0.1)};
  world.step(1000);
  const auto& read = world.read();
  const double left = double(read.omega_at_pose[0].y) - 2 * double(read.omega_at_pose[1].y);
  EXPECT_NEAR(left, 0.2 * std::exp(-rate), allowed<Real>(1e-6, 1e-5));
}

TYPED_TEST(CoupledJoints, dry_friction_of_a_tendon_holds_up_to_its_bound) {
  using Real = TypeParam;
  model::SceneSpec scene = rods(2);
  scene.gravity = {0, 0, 0};
  scene.tendons = {tendon({1, -2})};
  scene.tendons[0].friction_loss = 0.3;
  model::ActuatorSpec motor;
  motor.name = "motor", motor.joint = 0;
  scene.actuators = {motor};
  for (const double torque : {0.29, 0.4}) {
    testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), 1e-3);
    world.world().control[0] = Real(torque);
    world.step(100);
    const auto& read = world.read();
    const double slip = double(read.omega_at_pose[0].y) - 2 * double(read.omega_at_pose[1].y);
    // Held: both turn with L at rest, s_1 = s_0 / 2. Slipping: 0.3 against the slip on both.
    const double t = 0.1, I = rod_inertia();
    // s_0'' = (torque - T) / I, s_1'' = 2 T / I, T = torque / 5 < 0.3 while it holds
    const double T = std::min(torque / 5, 0.3);
    EXPECT_NEAR(slip, t * (torque - 5 * T) / I, allowed<Real>(1e-6, 1e-4));
    EXPECT_NEAR(double(read.omega_at_pose[1].y), t * 2 * T / I, allowed<Real>(1e-5, 1e-4));
  }
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), 1e-3);
  world.world().control[0] = Real(5);
  world.step(100);
  const auto& read = world.read();
  EXPECT_NEAR(double(read.omega_at_pose[0].y), 0.1 * (5 - 0.3) / rod_inertia(), 1e-3);
  EXPECT_NEAR(double(read.omega_at_pose[1].y), 0.1 * 2 * 0.3 / rod_inertia(), 1e-3);
}

TYPED_TEST(CoupledJoints, a_motor_on_a_tendon_turns_each_joint_by_its_coefficient) {
  using Real = TypeParam;
  model::SceneSpec scene = rods(2);
  scene.gravity = {0, 0, 0};
  scene.tendons = {tendon({0.5, -2})};
  model::ActuatorSpec motor;
  motor.name = "motor", motor.tendon = 0, motor.gear = 3;
  scene.actuators = {motor};
  for (const double armature : {0.0, 0.7}) {
    for (auto& joint : scene.joints) joint.axes[0].armature = armature;
    testing::SingleWorld<Real> world(scene, exact_options(), 1e-3);
    world.world().control[0] = Real(0.2);
    world.step(100);
    const auto& read = world.read();
    const double I = rod_inertia() + armature;
    EXPECT_NEAR(double(read.omega_at_pose[0].y), 0.1 * 0.5 * 3 * 0.2 / I, allowed<Real>(1e-7, 1e-5));
    EXPECT_NEAR(double(read.omega_at_pose[1].y), 0.1 * -2 * 3 * 0.2 / I, allowed<Real>(1e-7, 1e-5));
  }
}

TYPED_TEST(CoupledJoints, drives_on_a_tendon_hold_length_and_speed) {
  using Real = TypeParam;
  for (const bool bounded : {false, true}) {
    model::SceneSpec scene = rods(2);
    scene.gravity = {0, 0, 0};
    for (auto& joint : scene.joints) joint.axes[0].damping = 0.5;
    scene.tendons = {tendon({1, -2})};
    model::ActuatorSpec drive;
    drive.name = "drive", drive.tendon = 0, drive.kind = model::ActuatorKind::kPosition, drive.kp = 50, drive.kd = 2;
    drive.effort_limited = bounded, drive.effort_lower = -30, drive.effort_upper = 30;
    scene.actuators = {drive};
    testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), 0.005);
    world.world().control[0] = Real(0.4);
    for (int i = 0; i < 1000; ++i) {
      world.step();
      ASSERT_TRUE(world.converged()) << i;
    }
    const auto& s = world.world().axis_position;
    EXPECT_NEAR(double(s[0]) - 2 * double(s[1]), 0.4, allowed<Real>(1e-6, 1e-4));
    EXPECT_NEAR(double(s[1]), -2 * double(s[0]), allowed<Real>(1e-6, 1e-4));  // forces are as 1 to -2
  }
}

TYPED_TEST(CoupledJoints, an_equality_of_tendons_holds_their_sums) {
  using Real = TypeParam;
  model::SceneSpec scene = rods(4);
  scene.tendons = {tendon({1, 1}), tendon({0.5, 0.5})};
  scene.tendons[1].name = "other", scene.tendons[1].terms[0].joint = 2, scene.tendons[1].terms[1].joint = 3;
  model::EqualitySpec e;
  e.name = "e", e.first.tendon = 0, e.has_second = true, e.second.tendon = 1, e.polynomial = {0, 3, 0, 0, 0};
  scene.equalities = {e};
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), 0.002);
  for (int i = 0; i < 1000; ++i) {
    world.step();
    ASSERT_TRUE(world.converged()) << i;
    const auto& s = world.world().axis_position;
    ASSERT_NEAR(double(s[0]) + double(s[1]), 1.5 * (double(s[2]) + double(s[3])), allowed<Real>(1e-7, 2e-5));
  }
}

// A palm on a slide with two fingers that carry a tip each, the second finger's angles those of the first, above a
// plane with a ball between the fingers: tendons, equalities, limits, contacts and drives in one tree.
model::SceneSpec gripper() {
  model::SceneSpec scene;
  scene.shapes = {testing::ground_plane(0.8)};
  const auto add = [&](const std::string& name, int parent, model::Vec3d at, model::Vec3d half, model::AxisSpec axis) {
    const int body = static_cast<int>(scene.bodies.size());
    scene.bodies.push_back(testing::solid_box(name, 0.2, half, at));
    model::JointSpec joint;
    joint.name = name, joint.kind = model::JointKind::kAxes, joint.parent = parent, joint.child = body;
    axis.damping = 0.01, axis.armature = 0.001;
    joint.axes = {axis};
    scene.joints.push_back(joint);
    scene.shapes.push_back(testing::box_shape(name, body, half, 0.8));
    return body;
  };
  const int palm = add("palm", model::kWorldBody, {0, 0, 0.36}, {0.1, 0.05, 0.02}, testing::slide("palm", {0, 0, 1}));
  for (const double side : {-1.0, 1.0}) {
    const std::string name = side < 0 ? "left" : "right";
    const int finger =
        add(name, palm, {side * 0.09, 0, 0.27}, {0.01, 0.03, 0.06}, testing::hinge(name, {0, side, 0}, {0, 0, 0.06}));
    add(name + "_tip", finger, {side * 0.09, 0, 0.15}, {0.01, 0.03, 0.06},
        testing::hinge(name + "_tip", {0, side, 0}, {0, 0, 0.06}));
  }
  model::BodySpec ball = testing::solid_box("ball", 0.3, {0.05, 0.05, 0.05}, {0, 0, 0.1});
  const int b = static_cast<int>(scene.bodies.size());
  scene.bodies.push_back(ball);
  scene.shapes.push_back(testing::box_shape("ball", b, {0.05, 0.05, 0.1}, 0.8));
  scene.equalities = {equality(3, 1, {0, 1, 0, 0, 0}), equality(4, 2, {0.1, 1, 0.3, 0, 0})};
  model::TendonSpec t = tendon({1, 1});
  t.terms[0].joint = 1, t.terms[1].joint = 2;
  t.limited = true, t.lower = -0.3, t.upper = 0.9, t.damping = 0.02, t.friction_loss = 0.01;
  scene.tendons = {t};
  model::ActuatorSpec close;
  close.name = "close", close.tendon = 0, close.kind = model::ActuatorKind::kPosition, close.kp = 20, close.kd = 0.5;
  close.effort_limited = true, close.effort_lower = -2, close.effort_upper = 2;
  model::ActuatorSpec lift;
  lift.name = "lift", lift.joint = 0, lift.kind = model::ActuatorKind::kPosition, lift.kp = 2000, lift.kd = 100;
  scene.actuators = {close, lift};
  return scene;
}

TYPED_TEST(CoupledJoints, fingers_of_a_gripper_mirror_each_other_about_a_block) {
  using Real = TypeParam;
  testing::SingleWorld<Real> world(gripper(), model::make_options(model::Preset::kDefault), 0.004);
  int converged = 0;
  double off = 0;
  for (int i = 0; i < 750; ++i) {
    world.world().control[0] = Real(0.6), world.world().control[1] = Real(i < 350 ? 0 : 0.1);
    world.step();
    converged += world.converged();
    const auto& s = world.world().axis_position;
    off = std::max(off, std::abs(double(s[3]) - double(s[1])));
  }
  EXPECT_GE(converged, 740);
  EXPECT_LT(off, allowed<Real>(1e-6, 1e-4));
}

TYPED_TEST(CoupledJoints, have_the_same_bits_whoever_shares_the_work_out) {
  using Real = TypeParam;
  const auto run = [](auto team) {
    testing::SingleWorld<Real> world(gripper(), model::make_options(model::Preset::kDefault), 0.004);
    world.world().control[0] = Real(0.6);
    for (int i = 0; i < 150; ++i) world.template step<decltype(team)>();
    std::vector<double> bits;
    for (int b = 0; b < world.model().body_count; ++b) {
      const auto &x = world.world().x[b], &w = world.world().omega[b];
      bits.insert(bits.end(), {double(x.x), double(x.y), double(x.z), double(w.x), double(w.y), double(w.z)});
    }
    return bits;
  };
  const std::vector<double> forwards = run(team::SerialTeam{});
  EXPECT_EQ(forwards, run(team::ReversedTeam{}));
  EXPECT_EQ(forwards, run(team::ShuffledTeam{}));
}

TYPED_TEST(CoupledJoints, all_linear_solvers_make_the_same_motion) {
  using Real = TypeParam;
  if constexpr (sizeof(Real) == 8) {
    const auto run = [](model::LinearSolver solver) {
      model::SolverOptions options = model::make_options(model::Preset::kDefault);
      options.linear_solver = solver, options.tolerance = 1e-9, options.max_newton_iterations = 100;
      options.max_linear_iterations = 1000;
      testing::SingleWorld<Real> world(gripper(), options, 0.004);
      std::vector<double> out;
      for (int i = 0; i < 60; ++i) {
        world.world().control[0] = Real(0.6);
        world.step();
      }
      for (int k = 0; k < 5; ++k) out.push_back(double(world.world().axis_position[k]));
      return out;
    };
    const auto tree = run(model::LinearSolver::kTreeDirect), dense = run(model::LinearSolver::kDenseDirect),
               krylov = run(model::LinearSolver::kTreeKrylov);
    for (int k = 0; k < 5; ++k) {
      EXPECT_NEAR(tree[k], dense[k], 1e-8) << k;
      EXPECT_NEAR(tree[k], krylov[k], 1e-6) << k;
    }
  }
}

}  // namespace
}  // namespace axion::coupled_joints_test
