// Tendons through space against closed formulas, over long runs, by all linear solvers, and their directions of pull
// against differences of their lengths.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "engine/constraints/axis_rows.hpp"
#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::spatial_tendons_test {
namespace {

using math::Vec3;
using testing::allowed;
using testing::exact_options;
using testing::Validation;

constexpr double kGravity = 9.81;

model::SolverOptions default_options() { return model::make_options(model::Preset::kDefault); }

model::TendonPointSpec site(int body, model::Vec3d p) {
  model::TendonPointSpec point;
  point.frame.body = body, point.frame.X_BF.position = p;
  return point;
}

model::TendonPointSpec pulley(double divisor) {
  model::TendonPointSpec point;
  point.kind = model::TendonPointKind::kPulley, point.divisor = divisor;
  return point;
}

model::TendonPointSpec object(model::TendonPointKind kind, int body, model::PoseSpec X, double radius) {
  model::TendonPointSpec point;
  point.kind = kind, point.frame = {body, X}, point.radius = radius;
  return point;
}

model::TendonSpec string_along(std::vector<model::TendonPointSpec> path) {
  model::TendonSpec t;
  t.name = "string", t.path = std::move(path);
  return t;
}

model::TendonSpec& at_most(model::TendonSpec& t, double length) {
  t.limited = true, t.lower = -1, t.upper = length;
  return t;
}

void add_body(model::SceneSpec& scene, double mass, model::Vec3d at, model::Vec3d half = {0.02, 0.02, 0.02}) {
  const int body = static_cast<int>(scene.bodies.size());
  scene.bodies.push_back(testing::solid_box("body" + std::to_string(body), mass, half, at));
  model::JointSpec joint;
  joint.name = "joint" + std::to_string(body), joint.kind = model::JointKind::kFree;
  joint.parent = model::kWorldBody, joint.child = body;
  scene.joints.push_back(joint);
}

// A body on a slide along z.
void add_load(model::SceneSpec& scene, double mass, model::Vec3d at) {
  add_body(scene, mass, at);
  model::JointSpec& joint = scene.joints.back();
  joint.kind = model::JointKind::kAxes, joint.axes = {testing::slide(joint.name, {0, 0, 1})};
}

template <typename Real>
double length(testing::SingleWorld<Real>& world, int tendon = 0) {
  const auto m = world.model();
  const auto& w = world.world();
  return double(constraints::measure_paths<Real>(m, w, m.tendons[tendon], {w.x, w.q}).first);
}

template <typename Real>
class SpatialTendons : public ::testing::Test {};
TYPED_TEST_SUITE(SpatialTendons, testing::Precisions, testing::PrecisionNames);

// A ball on a string of 0.5 m that starts at an angle from below, at rest.
model::SceneSpec pendulum(double angle) {
  model::SceneSpec scene;
  add_body(scene, 1, {0.5 * std::sin(angle), 0, -0.5 * std::cos(angle)}, {1e-3, 1e-3, 1e-3});
  scene.tendons = {string_along({site(model::kWorldBody, {0, 0, 0}), site(0, {0, 0, 0})})};
  at_most(scene.tendons[0], 0.5);
  return scene;
}

TYPED_TEST(SpatialTendons, a_pendulum_on_a_string_has_its_period) {
  using Real = TypeParam;
  const double angle = 0.2, h = 1e-3, swings = 5;
  testing::SingleWorld<Real> world(pendulum(angle), default_options(), h);
  const double exact = 2 * M_PI * std::sqrt(0.5 / kGravity) * (1 + angle * angle / 16 + 11 * std::pow(angle, 4) / 3072);
  double last = 0.1, crossed = 0;
  int crossings = 0;
  for (int i = 1; crossings < 2 * swings; ++i) {
    world.step();
    ASSERT_TRUE(world.converged()) << i;
    const double x = double(world.world().x[0].x);
    if ((x < 0) != (last < 0)) crossed = (i - 1 + last / (last - x)) * h, ++crossings;
    last = x;
  }
  const Validation<Real> row("pendulum on a string");
  row.at_most("period, relative", std::abs(crossed / (swings - 0.25) / exact - 1), allowed<Real>(1e-5, 1e-4));
}

TYPED_TEST(SpatialTendons, a_swinging_string_keeps_its_length_and_energy_over_many_steps) {
  using Real = TypeParam;
  const double h = 1e-3;
  testing::SingleWorld<Real> world(pendulum(1.5), default_options(), h);
  const double start = world.energy();
  double longest = 0, drift = 0;
  for (int i = 0; i < 10000; ++i) {
    world.step();
    ASSERT_TRUE(world.converged()) << i;
    longest = std::max(longest, length(world) - 0.5);
    if (i >= 9000) drift = std::max(drift, std::abs(world.energy() - start));
  }
  // A step goes along the tangent: h² v²/2L beyond, v² = 2 g L.
  const Validation<Real> row("swinging string, 10000 steps");
  row.at_most("beyond its length, of h^2 v^2/2L", longest / (h * h * kGravity), allowed<Real>(1.1, 2));
  row.at_most("energy, of what falls", drift / (kGravity * 0.5), 0.01);
}

TYPED_TEST(SpatialTendons, a_thrown_ball_is_caught_by_its_string_at_any_level) {
  using Real = TypeParam;
  for (const model::Preset preset : {model::Preset::kDefault, model::Preset::kVelocity, model::Preset::kAxionSeed}) {
    model::SceneSpec scene = pendulum(0);
    testing::SingleWorld<Real> world(scene, model::make_options(preset), 2e-3);
    world.world().v[0] = {Real(1.2), Real(0.3), Real(2.5)};
    double longest = 0;
    int slack = 0, converged = 0;
    const int steps = preset == model::Preset::kDefault ? 10000 : 2000;
    for (int i = 0; i < steps; ++i) {
      world.step();
      converged += world.converged();
      longest = std::max(longest, length(world) - 0.5);
      slack += length(world) < 0.49;
    }
    EXPECT_GE(converged, steps - steps / 500) << static_cast<int>(preset);
    EXPECT_GT(slack, 50);
    EXPECT_LT(longest, preset == model::Preset::kVelocity ? 1e-3 : 2e-4) << static_cast<int>(preset);
  }
}

// A load that hangs in a bight of the rope, and a counterweight on its end: L = 2 z + z'.
model::SceneSpec tackle(double load, double counter) {
  model::SceneSpec scene;
  add_load(scene, load, {0, 0, -1});
  add_load(scene, counter, {1, 0, -1});
  scene.tendons = {
      string_along({site(model::kWorldBody, {0, 0, 0}), site(0, {0, 0, 0}), site(model::kWorldBody, {0, 0, 0}),
                    site(model::kWorldBody, {1, 0, 0}), site(1, {0, 0, 0})})};
  at_most(scene.tendons[0], 4);
  return scene;
}

TYPED_TEST(SpatialTendons, a_tackle_of_two_to_one_balances_and_falls_as_it_should) {
  using Real = TypeParam;
  for (const double load : {2.0, 3.0}) {
    testing::SingleWorld<Real> world(tackle(load, 1), exact_options(), 1e-3);
    world.step(200);
    const double a = (load - 2) * kGravity / (load + 4), t = 0.2;
    const auto& read = world.read();
    EXPECT_TRUE(world.converged());
    EXPECT_NEAR(double(read.v_at_pose[0].z), -a * t, allowed<Real>(1e-8, 2e-5));
    EXPECT_NEAR(double(read.v_at_pose[1].z), 2 * a * t, allowed<Real>(1e-8, 4e-5));
    const double tension = double(world.world().lambda_joint[world.model().limit_base()]) / 1e-3;
    EXPECT_NEAR(tension, kGravity + 2 * a, allowed<Real>(1e-6, 0.02));
  }
}

TYPED_TEST(SpatialTendons, branches_behind_a_pulley_pull_by_its_divisor) {
  using Real = TypeParam;
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  add_body(scene, 1, {0, 0, -1});
  add_body(scene, 2, {1, 0, -1});
  add_body(scene, 4, {2, 0, -1});
  scene.tendons = {string_along({site(model::kWorldBody, {0, 0, 0}), site(0, {0, 0, 0}), pulley(2),
                                 site(model::kWorldBody, {1, 0, 0}), site(1, {0, 0, 0}), pulley(5),
                                 site(model::kWorldBody, {2, 0, 0}), site(2, {0, 0, 0})})};
  model::ActuatorSpec motor;
  motor.name = "motor", motor.tendon = 0, motor.gear = -3;
  scene.actuators = {motor};
  testing::SingleWorld<Real> world(scene, exact_options(), 1e-3);
  world.world().control[0] = Real(0.2);
  world.step(100);
  const auto& read = world.read();
  EXPECT_NEAR(length(world), 1 - 0.003 + 0.5 * (1 - 0.00075) + 0.2 * (1 - 0.00015), 1e-6);
  EXPECT_NEAR(double(read.v_at_pose[0].z), 0.06, allowed<Real>(1e-9, 1e-6));
  EXPECT_NEAR(double(read.v_at_pose[1].z), 0.06 / 2 / 2, allowed<Real>(1e-9, 1e-6));
  EXPECT_NEAR(double(read.v_at_pose[2].z), 0.06 / 5 / 4, allowed<Real>(1e-9, 1e-6));
}

// Two free boxes that strings join off their centres, one of them about a sphere on the first and a cylinder on the
// second: springs, dampers, friction, limits and motors.
model::SceneSpec joined_boxes() {
  using model::TendonPointKind;
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  add_body(scene, 1, {0, 0, 0}, {0.2, 0.1, 0.05});
  add_body(scene, 0.5, {0.6, 0.1, 0.1}, {0.1, 0.1, 0.1});
  model::TendonSpec spring = string_along({site(0, {0.2, 0.1, 0}), site(1, {-0.1, 0, 0.1})});
  spring.name = "spring", spring.stiffness = 40, spring.damping = 0.1, spring.spring_reference = 0.2;
  model::TendonSpec wrapped = string_along(
      {site(0, {-0.2, 0, 0.05}), object(TendonPointKind::kSphere, 0, {{0.05, 0, 0.1}, {1, 0, 0, 0}}, 0.1),
       site(0, {0.2, 0.02, 0.06}), object(TendonPointKind::kCylinder, 1, {{-0.1, 0, 0.1}, {0.8, 0.6, 0, 0}}, 0.06),
       site(1, {0.1, 0.05, 0.11})});
  wrapped.name = "wrapped", wrapped.friction_loss = 0.05, wrapped.armature = 0.2;
  model::TendonSpec limit = string_along({site(0, {0.2, -0.1, 0}), site(1, {-0.1, -0.1, 0})});
  limit.name = "limit", limit.limited = true, limit.lower = 0.25, limit.upper = 0.42;
  scene.tendons = {spring, wrapped, limit};
  model::ActuatorSpec drive;
  drive.name = "drive", drive.tendon = 1, drive.kind = model::ActuatorKind::kPosition, drive.kp = 30, drive.kd = 0.5;
  drive.effort_limited = true, drive.effort_lower = -3, drive.effort_upper = 3;
  model::ActuatorSpec motor;
  motor.name = "motor", motor.tendon = 2;
  scene.actuators = {drive, motor};
  return scene;
}

template <typename Real>
void start_boxes(testing::SingleWorld<Real>& world) {
  auto& w = world.world();
  w.v[0] = {Real(0.3), Real(-0.1), 0}, w.omega[0] = {1, Real(-0.5), 2}, w.omega[1] = {Real(-1), 1, Real(0.3)};
  w.control[0] = Real(0.9), w.control[1] = Real(-0.4);
}

TYPED_TEST(SpatialTendons, strings_between_free_bodies_keep_momentum) {
  using Real = TypeParam;
  for (const model::Preset preset : {model::Preset::kDefault, model::Preset::kVelocity, model::Preset::kAxionSeed}) {
    testing::SingleWorld<Real> world(joined_boxes(), model::make_options(preset), 2e-3);
    start_boxes(world);
    const auto start = world.momentum();
    int converged = 0;
    for (int i = 0; i < 1000; ++i) {
      world.step();
      converged += world.converged();
    }
    EXPECT_GE(converged, 990) << static_cast<int>(preset);
    const auto end = world.momentum();
    EXPECT_LT(math::norm(end.linear - start.linear), allowed<Real>(1e-3 * 9.81 * 2e-3, 1e-4))
        << static_cast<int>(preset);
    // Both ends of a string pull on one line. The gyroscopic terms of AXION_SEED keep no momentum.
    const double turned = math::norm(end.angular - start.angular) / math::norm(start.angular);
    EXPECT_LT(turned, preset == model::Preset::kAxionSeed ? 0.05 : 1e-4) << static_cast<int>(preset);
  }
}

// dL of each path by small motions of the bodies, against the rows of its pieces.
TYPED_TEST(SpatialTendons, pulls_are_the_gradient_of_the_length) {
  using Real = TypeParam;
  if constexpr (sizeof(Real) == 8) {
    testing::SingleWorld<Real> world(joined_boxes(), default_options(), 1e-3);
    start_boxes(world);
    const auto m = world.model();
    auto& w = world.world();
    for (int turn = 0; turn < 40; ++turn) {
      world.step(10);
      constraints::start_joints(team::SerialTeam{}, m, w);
      for (int t = 0; t < 3; ++t) {
        for (int b = 0; b < 2; ++b) {
          for (int k = 0; k < 6; ++k) {
            Vec3<Real> v[2] = {}, omega[2] = {};
            (k < 3 ? v[b][k] : omega[b][k - 3]) = 1;
            const Real rate = constraints::axis_velocity<Real>(m, w, m.tendons[t].axis, v, omega);
            const auto x = w.x[b];
            const auto q = w.q[b];
            const double e = 1e-6;
            const auto moved = [&](double by) {
              w.x[b] = x + by * v[b], w.q[b] = math::exp_rotation(by * omega[b]) * q;
              const double L = length(world, t);
              w.x[b] = x, w.q[b] = q;
              return L;
            };
            EXPECT_NEAR(rate, (moved(e) - moved(-e)) / (2 * e), 2e-8) << t << " " << b << " " << k << " at " << turn;
          }
        }
      }
    }
  }
}

TYPED_TEST(SpatialTendons, armature_damping_and_friction_act_along_the_string) {
  using Real = TypeParam;
  const auto hanging = [](auto&& change) {
    model::SceneSpec scene;
    add_body(scene, 2, {0, 0, -1});
    scene.tendons = {string_along({site(model::kWorldBody, {0, 0, 0}), site(0, {0, 0, 0})})};
    change(scene.tendons[0]);
    return scene;
  };
  const auto speed = [](const model::SceneSpec& scene, int steps) {
    testing::SingleWorld<Real> world(scene, exact_options(), 1e-3);
    for (int i = 0; i < steps; ++i) {
      world.step();
      EXPECT_TRUE(world.converged()) << i;
    }
    return -double(world.read().v_at_pose[0].z);
  };
  const double t = 0.1;
  EXPECT_NEAR(speed(hanging([](auto& s) { s.armature = 3; }), 100), kGravity * 2 / 5 * t, allowed<Real>(1e-8, 1e-5));
  EXPECT_NEAR(speed(hanging([](auto& s) { s.damping = 10; }), 100), 2 * kGravity / 10 * (1 - std::exp(-5 * t)),
              allowed<Real>(1e-4, 1e-4));
  EXPECT_NEAR(speed(hanging([](auto& s) { s.friction_loss = 5; }), 100), (kGravity - 2.5) * t,
              allowed<Real>(1e-8, 1e-5));
  EXPECT_NEAR(speed(hanging([](auto& s) { s.friction_loss = 20; }), 100), 0, 1e-6);
}

TYPED_TEST(SpatialTendons, a_spring_with_slack_pulls_beyond_it_alone) {
  using Real = TypeParam;
  // Without gravity a mass flies freely from 0.5 to 0.7 m and comes back half a period of the spring later.
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  add_body(scene, 2, {0, 0, -0.5});
  scene.tendons = {string_along({site(model::kWorldBody, {0, 0, 0}), site(0, {0, 0, 0})})};
  scene.tendons[0].stiffness = 50, scene.tendons[0].spring_reference = 0.4, scene.tendons[0].spring_slack = 0.3;
  const double h = 1e-3, omega = 5;
  testing::SingleWorld<Real> world(scene, exact_options(), h);
  world.world().v[0] = {0, 0, -1};
  double deepest = 0, back = 0;
  for (int i = 1; i <= 1200; ++i) {
    world.step();
    const double z = -double(world.world().x[0].z);
    deepest = std::max(deepest, z);
    if (back == 0 && i > 300 && z < 0.5) back = i * h;
  }
  EXPECT_NEAR(deepest, 0.7 + 1 / omega, 1e-3);
  EXPECT_NEAR(back, 0.4 + M_PI / omega, 3e-3);
}

TYPED_TEST(SpatialTendons, drives_on_a_string_hold_length_and_speed) {
  using Real = TypeParam;
  for (const bool bounded : {false, true}) {
    model::SceneSpec scene;
    add_body(scene, 2, {0, 0, -1});
    scene.tendons = {string_along({site(model::kWorldBody, {0, 0, 0}), site(0, {0, 0, 0})})};
    model::ActuatorSpec drive;
    drive.name = "drive", drive.tendon = 0, drive.kind = model::ActuatorKind::kPosition, drive.kp = 500, drive.kd = 40;
    drive.effort_limited = bounded, drive.effort_lower = -100, drive.effort_upper = 100;
    scene.actuators = {drive};
    testing::SingleWorld<Real> world(scene, default_options(), 0.01);
    world.world().control[0] = Real(0.8);
    for (int i = 0; i < 500; ++i) {
      world.step();
      ASSERT_TRUE(world.converged()) << i;
    }
    EXPECT_NEAR(length(world), 0.8 + 2 * kGravity / 500, allowed<Real>(1e-6, 1e-4));
  }
}

TYPED_TEST(SpatialTendons, an_equality_of_strings_holds_their_lengths) {
  using Real = TypeParam;
  // z' = 2 z: (M + 4 m) a = (M + 2 m) g.
  model::SceneSpec scene;
  add_load(scene, 3, {0, 0, -1});
  add_load(scene, 1, {1, 0, -2});
  scene.tendons = {string_along({site(model::kWorldBody, {0, 0, 0}), site(0, {0, 0, 0})}),
                   string_along({site(model::kWorldBody, {1, 0, 0}), site(1, {0, 0, 0})})};
  scene.tendons[1].name = "other";
  model::EqualitySpec e;
  e.name = "e", e.first.tendon = 1, e.has_second = true, e.second.tendon = 0, e.polynomial = {0, 2, 0, 0, 0};
  scene.equalities = {e};
  for (const model::Preset preset : {model::Preset::kDefault, model::Preset::kVelocity}) {
    testing::SingleWorld<Real> world(scene, model::make_options(preset), 1e-3);
    world.step(200);
    EXPECT_TRUE(world.converged());
    const auto& w = world.read();
    EXPECT_NEAR(double(w.x[1].z), 2 * double(w.x[0].z), allowed<Real>(1e-7, 1e-5));
    EXPECT_NEAR(double(w.v_at_pose[0].z), -5 * kGravity / 7 * 0.2, allowed<Real>(1e-6, 1e-4));
  }
}

TYPED_TEST(SpatialTendons, sites_at_one_place_and_straight_strings_leave_all_numbers_finite) {
  using Real = TypeParam;
  model::SceneSpec scene;
  add_body(scene, 1, {0, 0, 0});
  add_body(scene, 1, {0, 0, -1});
  // Of no length; of constant length; pulled from both sides alike.
  scene.tendons = {
      string_along({site(model::kWorldBody, {0, 0, 0}), site(0, {0, 0, 0})}),
      string_along({site(0, {0, 0, 0}), site(0, {0.1, 0, 0})}),
      string_along({site(model::kWorldBody, {-1, 0, -1}), site(1, {0, 0, 0}), site(model::kWorldBody, {1, 0, -1})})};
  const char* names[] = {"none", "constant", "both"};
  for (int t = 0; t < 3; ++t) {
    model::TendonSpec& s = scene.tendons[t];
    s.name = names[t], s.stiffness = 10, s.damping = 1, s.friction_loss = 0.5, s.armature = 0.1;
    s.limited = true, s.lower = -1, s.upper = 5;
    model::ActuatorSpec drive;
    drive.name = s.name, drive.tendon = t, drive.kind = model::ActuatorKind::kPosition, drive.kp = 5;
    drive.effort_limited = t == 1, drive.effort_lower = -1, drive.effort_upper = 1;
    scene.actuators.push_back(drive);
  }
  testing::SingleWorld<Real> world(scene, default_options(), 2e-3);
  int converged = 0;
  for (int i = 0; i < 200; ++i) {
    world.step();
    converged += world.converged();
    for (int b = 0; b < 2; ++b) ASSERT_TRUE(std::isfinite(double(world.read().v_at_pose[b].z))) << i;
  }
  EXPECT_GE(converged, 195);
}

TYPED_TEST(SpatialTendons, have_the_same_bits_whoever_shares_the_work_out) {
  using Real = TypeParam;
  const auto run = [](auto team) {
    testing::SingleWorld<Real> world(joined_boxes(), default_options(), 0.004);
    start_boxes(world);
    for (int i = 0; i < 150; ++i) world.template step<decltype(team)>();
    std::vector<double> bits;
    for (int b = 0; b < 2; ++b) {
      const auto &x = world.world().x[b], &w = world.world().omega[b];
      bits.insert(bits.end(), {double(x.x), double(x.y), double(x.z), double(w.x), double(w.y), double(w.z)});
    }
    return bits;
  };
  const std::vector<double> forwards = run(team::SerialTeam{});
  EXPECT_EQ(forwards, run(team::ReversedTeam{}));
  EXPECT_EQ(forwards, run(team::ShuffledTeam{}));
}

TYPED_TEST(SpatialTendons, all_linear_solvers_make_the_same_motion) {
  using Real = TypeParam;
  if constexpr (sizeof(Real) == 8) {
    const auto run = [](model::LinearSolver solver) {
      model::SolverOptions options = default_options();
      options.linear_solver = solver, options.tolerance = 1e-9, options.max_newton_iterations = 100;
      options.max_linear_iterations = 1000;
      testing::SingleWorld<Real> world(joined_boxes(), options, 0.004);
      start_boxes(world);
      world.step(60);
      return math::cast<double>(world.world().x[0]);
    };
    const auto tree = run(model::LinearSolver::kTreeDirect);
    EXPECT_LT(math::norm(tree - run(model::LinearSolver::kDenseDirect)), 1e-8);
    EXPECT_LT(math::norm(tree - run(model::LinearSolver::kTreeKrylov)), 1e-6);
  }
}

}  // namespace
}  // namespace axion::spatial_tendons_test
