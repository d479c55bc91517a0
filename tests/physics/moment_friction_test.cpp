// Torsional and rolling friction of contacts against closed formulas: spins and rolls that slow down at constant rates
// and stop, slopes and loads below and above what friction holds, and bodies at rest that do not creep.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::moment_friction_test {
namespace {

using math::Vec3;
using testing::allowed;
using testing::as_made;
using testing::epsilon;
using testing::exact_options;
using testing::Validation;

constexpr double kGravity = 9.81, kRadius = 0.1;

model::SceneSpec ball(double torsional, double rolling, int cone_dimension = 6) {
  model::SceneSpec scene = testing::sphere_on_plane(kRadius, 0.8);
  for (model::ShapeSpec& shape : scene.shapes) {
    shape.cone_dimension = cone_dimension;
    shape.torsional_friction = torsional, shape.rolling_friction = rolling;
  }
  return scene;
}

// A plane that slopes down along x by `angle`, as gravity that leans.
void slope(model::SceneSpec& scene, double angle) {
  scene.gravity = {kGravity * std::sin(angle), 0, -kGravity * std::cos(angle)};
}

template <typename Real>
double size_of(const Vec3<Real>& v) {
  return math::norm(math::cast<double>(v));
}

template <typename Real>
class MomentFriction : public ::testing::Test {};
TYPED_TEST_SUITE(MomentFriction, testing::Precisions, testing::PrecisionNames);

// I dω/dt = −μ m g about the normal, until it stops.
TYPED_TEST(MomentFriction, a_spin_slows_by_the_torque_of_torsional_friction_and_stops) {
  const Validation<TypeParam> validation("torsional friction");
  constexpr double mu = 0.004, omega = 9, I = 0.4 * kRadius * kRadius, rate = mu * kGravity / I;
  for (const double step : {1e-3, 0.01, 1.0 / 60}) {
    const double h = as_made<TypeParam>(step);
    testing::SingleWorld<TypeParam> world(ball(mu, 0, 4), exact_options(), h);
    world.world().omega[0].z = TypeParam(omega);
    const double end = omega / rate;
    double worst = 0;
    for (int k = 1; (k + 1) * h < end; ++k) {
      world.step();
      worst = std::max(worst, std::abs(double(world.read().omega_at_pose[0].z) - (omega - rate * k * h)));
    }
    validation.at_most("rate of a spin that slows down, rad/s", worst,
                       allowed<TypeParam>(1e-9, 200 * epsilon<float>() * omega));
    world.step(static_cast<int>(1 / h));
    EXPECT_TRUE(world.converged());
    validation.at_most("rate after it has stopped, rad/s", size_of(world.world().omega[0]),
                       allowed<TypeParam>(1e-10, 1e-5 * kGravity * h));
    validation.at_most("distance of a spin from its place, m",
                       size_of(world.world().x[0] - Vec3<TypeParam>{0, 0, TypeParam(kRadius)}),
                       allowed<TypeParam>(1e-9, 1e-5));
  }
}

// (m + I/r²) dv/dt = −μ m g / r of a ball that rolls, in any direction.
TYPED_TEST(MomentFriction, a_rolling_ball_slows_by_rolling_friction_and_rests) {
  const Validation<TypeParam> validation("rolling friction");
  constexpr double mu = 0.01, speed = 0.6, decay = mu * kGravity / (1.4 * kRadius);
  for (const double degrees : {0.0, 37.0, 160.0}) {
    for (const double step : {1e-3, 0.01}) {
      const double h = as_made<TypeParam>(step), c = std::cos(degrees / 57.3), s = std::sin(degrees / 57.3);
      testing::SingleWorld<TypeParam> world(ball(0, mu), exact_options(), h);
      world.world().v[0] = {TypeParam(speed * c), TypeParam(speed * s), 0};
      world.world().omega[0] = {TypeParam(-speed * s / kRadius), TypeParam(speed * c / kRadius), 0};
      double worst = 0, t = 0;
      for (int k = 1; (k + 1) * h < speed / decay; ++k) {
        world.step();
        t = k * h;
        const auto x = math::cast<double>(world.world().x[0]), v = math::cast<double>(world.read().v_at_pose[0]);
        worst = std::max(worst, std::abs(c * v.x + s * v.y - (speed - decay * t)));
        worst = std::max(worst, std::abs(c * x.x + s * x.y - (speed * t - decay * t * t / 2)));
        worst = std::max(worst, std::abs(c * v.y - s * v.x));
      }
      validation.at_most("speed and place of a rolling ball, m/s or m", worst,
                         allowed<TypeParam>(1e-8, 500 * epsilon<float>()));
      world.step(static_cast<int>(1 / h));
      const Vec3<TypeParam> rest = world.world().x[0];
      world.step(static_cast<int>(1 / h));
      EXPECT_TRUE(world.converged());
      validation.at_most("creep of a ball that has rolled to rest, m", size_of(world.world().x[0] - rest),
                         allowed<TypeParam>(1e-11, 1e-6));
    }
  }
}

// A ball starts to roll where tan θ is more than μ/r, and then by the moment that is left.
TYPED_TEST(MomentFriction, a_ball_rests_on_a_slope_up_to_the_angle_of_rolling_friction) {
  const Validation<TypeParam> validation("rolling friction");
  constexpr double mu = 0.02;
  const double h = as_made<TypeParam>(0.005);
  for (const double share : {0.5, 0.98}) {
    model::SceneSpec scene = ball(0, mu);
    slope(scene, std::atan(share * mu / kRadius));
    testing::SingleWorld<TypeParam> world(scene, exact_options(), h);
    world.step(20);
    const Vec3<TypeParam> start = world.world().x[0];
    double worst = 0;
    for (int k = 0; k < 10000; ++k) {
      world.step();
      worst = std::max(worst, double(math::norm(world.world().v[0])));
    }
    EXPECT_TRUE(world.converged());
    validation.at_most("creep of a ball on a slope in 10^4 steps, m", size_of(world.world().x[0] - start),
                       allowed<TypeParam>(1e-10, 1e-6));
    validation.at_most("its speed as clients read it, m/s", size_of(world.read().v_at_pose[0]),
                       allowed<TypeParam>(1e-10, 1e-6));
  }
  const double angle = std::atan(1.5 * mu / kRadius);
  model::SceneSpec scene = ball(0, mu);
  slope(scene, angle);
  testing::SingleWorld<TypeParam> world(scene, exact_options(), h);
  const double expected = kGravity * (std::sin(angle) - mu / kRadius * std::cos(angle)) / 1.4;
  world.step(200);
  const double t = 200 * h;
  validation.at_most("place of a ball that rolls down against friction, relative",
                     std::abs(double(world.world().x[0].x) / (expected * t * t / 2) - 1),
                     allowed<TypeParam>(1e-6, 2e-4));
}

// A box of half side 5 cm, held between two fingers that press from either side with 20 N along x, half way up. Its
// centre of mass is off the axis of the fingers by `offset`, so that its weight turns it about that axis.
model::SceneSpec gripped_box(double offset, double torsional, int cone_dimension) {
  model::SceneSpec scene;
  constexpr double half = 0.05, finger = 0.02;
  scene.bodies = {testing::solid_box("box", 0.2, {half, half, half}, {0, 0, 1}),
                  testing::solid_box("left", 0.1, {finger, finger, finger}, {-half - finger, 0, 1}),
                  testing::solid_box("right", 0.1, {finger, finger, finger}, {half + finger, 0, 1})};
  scene.bodies[0].p_BoBcm = {0, offset, 0};
  scene.shapes = {testing::box_shape("box", 0, {half, half, half}, 1), testing::sphere_shape("left", 1, finger, 1),
                  testing::sphere_shape("right", 2, finger, 1)};
  for (model::ShapeSpec& shape : scene.shapes) {
    shape.cone_dimension = cone_dimension, shape.torsional_friction = torsional;
  }
  for (int finger_body : {1, 2}) {
    model::JointSpec joint;
    joint.name = finger_body == 1 ? "left" : "right";
    joint.kind = model::JointKind::kAxes, joint.parent = model::kWorldBody, joint.child = finger_body;
    joint.axes = {testing::slide(joint.name, {1, 0, 0})};
    scene.joints.push_back(joint);
  }
  return scene;
}

template <typename Real>
void squeeze(testing::SingleWorld<Real>& world) {
  for (int finger : {1, 2}) {
    const int b = world.compiled().internal_body[static_cast<std::size_t>(finger)];
    world.world().force[b].x = finger == 1 ? Real(20) : Real(-20);
  }
}

// Of the turn of the box since the start, that about the axis of the fingers.
template <typename Real>
double turn_about_fingers(const testing::SingleWorld<Real>& world) {
  const math::Quat<double> q = world.rotation(0);
  return 2 * std::atan2(q.x, q.w);
}

// 0.2 kg 2 cm off the axis weigh 0.039 N m; two contacts of 20 N with 5 mm hold 0.2 N m, with 0.5 mm 0.02 N m.
TYPED_TEST(MomentFriction, a_box_between_two_fingertips_turns_only_without_torsional_friction) {
  const Validation<TypeParam> validation("torsional friction");
  const double h = as_made<TypeParam>(0.005);
  const auto after = [&](double torsional, int cone_dimension, int steps, bool exact) {
    testing::SingleWorld<TypeParam> world(gripped_box(0.02, torsional, cone_dimension),
                                          exact ? exact_options() : model::SolverOptions{}, h);
    squeeze(world);
    world.step(steps);
    EXPECT_TRUE(world.converged());
    const int box = world.compiled().internal_body[0];
    EXPECT_LT(std::abs(double(world.world().x[box].z) - 1), 0.03);
    if (torsional > 0.001 && cone_dimension == 4) {
      validation.at_most("rate of a held box as clients read it, rad/s", size_of(world.read().omega_at_pose[box]),
                         1e-4);
    }
    return turn_about_fingers(world);
  };
  for (const bool exact : {false, true}) {
    EXPECT_LT(after(0.005, 3, 40, exact), -0.3) << "condim 3 has no torsional friction";
    EXPECT_LT(after(0.0005, 4, 40, exact), -0.1) << "too little";
    validation.at_most("turn of a held box after 10^4 steps, rad", std::abs(after(0.005, 4, 10000, exact)),
                       exact ? allowed<TypeParam>(1e-9, 1e-6) : 1e-6);
  }
}

// As a pendulum about the fingers, slowed by both torques: I dω/dt = m g d cos φ − 2 μ N.
TYPED_TEST(MomentFriction, a_box_swings_between_fingertips_against_the_torque_of_both) {
  constexpr double d = 0.02, m = 0.2, mu = 0.0005, half = 0.05;
  const double I = m * 2 * half * half / 3 + m * d * d, h = as_made<TypeParam>(1e-3);
  testing::SingleWorld<TypeParam> world(gripped_box(d, mu, 4), exact_options(), h);
  squeeze(world);
  double phi = 0, omega = 0;
  for (int k = 0; k < 100; ++k) {
    for (int i = 0; i < 100; ++i) {
      omega += h / 100 * (m * kGravity * d * std::cos(phi) - 2 * mu * 20) / I;
      phi += h / 100 * omega;
    }
  }
  world.step(100);
  EXPECT_NEAR(-turn_about_fingers(world), phi, 0.01 * phi);
}

// Friction takes energy and gives none, whatever spins, rolls and slides on whatever.
TYPED_TEST(MomentFriction, takes_energy_from_a_heap_that_tumbles) {
  model::SceneSpec scene = testing::heap(18, 0.5);
  for (model::ShapeSpec& shape : scene.shapes) {
    shape.cone_dimension = 6, shape.torsional_friction = 0.005, shape.rolling_friction = 0.002;
  }
  testing::SingleWorld<TypeParam> world(scene, model::make_options(model::Preset::kDefault), 0.005);
  world.step(50);
  double last = world.energy();
  for (int k = 0; k < 20; ++k) {
    world.step(10);
    const double now = world.energy();
    EXPECT_LE(now, last + 1e-3 * std::abs(last));
    last = now;
  }
}

// The greater of two shapes, all of the one with the greater priority, and a pair's own law.
TEST(MomentFrictionMix, is_that_of_mujoco) {
  const auto rate = [](const std::function<void(model::SceneSpec&)>& change) {
    model::SceneSpec scene = ball(0.004, 0, 4);
    change(scene);
    testing::SingleWorld<double> world(scene, exact_options(), 1e-3);
    world.world().omega[0].z = 9;
    world.step(100);
    return (9 - double(world.read().omega_at_pose[0].z)) / 0.1 * 0.4 * kRadius * kRadius / kGravity;
  };
  EXPECT_NEAR(rate([](model::SceneSpec&) {}), 0.004, 1e-9);
  EXPECT_NEAR(rate([](model::SceneSpec& s) { s.shapes[0].torsional_friction = 0.006; }), 0.006, 1e-9);
  EXPECT_NEAR(rate([](model::SceneSpec& s) { s.shapes[0].cone_dimension = 3; }), 0.004, 1e-9);
  EXPECT_NEAR(
      rate([](model::SceneSpec& s) { s.shapes[0].torsional_friction = 0.002, s.shapes[0].contact_priority = 1; }),
      0.002, 1e-9);
  EXPECT_NEAR(rate([](model::SceneSpec& s) { s.shapes[0].cone_dimension = s.shapes[1].cone_dimension = 3; }), 0, 1e-9);
  EXPECT_NEAR(rate([](model::SceneSpec& s) { s.shapes[0].contact_dimension = s.shapes[1].contact_dimension = 1; }), 0,
              1e-9);
  EXPECT_NEAR(rate([](model::SceneSpec& s) {
                model::ContactPairSpec pair;
                pair.shape_a = 0, pair.shape_b = 1, pair.cone_dimension = 4, pair.torsional_friction = 0.001;
                s.contact_pairs = {pair};
              }),
              0.001, 1e-9);
}

// Every choice of solver holds the same ball on its slope and slows the same spin.
TEST(MomentFrictionSolvers, every_linear_solver_and_law_gives_the_same_motion) {
  using namespace model;
  std::vector<std::pair<std::string, SolverOptions>> all;
  const auto add = [&](const char* name, Preset preset, const std::function<void(SolverOptions&)>& change) {
    SolverOptions options = make_options(preset);
    options.tolerance = 1e-6;
    change(options);
    all.emplace_back(name, options);
  };
  add("default", Preset::kDefault, [](SolverOptions&) {});
  add("dense", Preset::kDefault, [](SolverOptions& o) { o.linear_solver = LinearSolver::kDenseDirect; });
  add("tree", Preset::kDefault, [](SolverOptions& o) { o.linear_solver = LinearSolver::kTreeDirect; });
  add("krylov", Preset::kDefault, [](SolverOptions& o) { o.linear_solver = LinearSolver::kTreeKrylov; });
  add("scalar", Preset::kDefault, [](SolverOptions& o) { o.friction_model = FrictionModel::kScalarFixedPoint; });
  add("minimum", Preset::kDefault, [](SolverOptions& o) { o.contact_function = ContactFunction::kMinimumMap; });
  add("soft", Preset::kDefault, [](SolverOptions& o) { o.contact_softness = ContactSoftness::kMjcf; });
  add("seed", Preset::kAxionSeed, [](SolverOptions&) {});
  add("seed direct", Preset::kAxionSeed, [](SolverOptions& o) { o.linear_solver = LinearSolver::kTreeDirect; });
  add("seed tree", Preset::kAxionSeed, [](SolverOptions& o) { o.linear_solver = LinearSolver::kPcrTree; });
  add("velocity", Preset::kVelocity, [](SolverOptions&) {});
  for (const auto& [name, options] : all) {
    model::SceneSpec resting = ball(0.004, 0.02);
    slope(resting, std::atan(0.8 * 0.02 / kRadius));
    testing::SingleWorld<double> at_rest(resting, options, 0.005);
    at_rest.step(400);
    EXPECT_TRUE(at_rest.converged()) << name;
    const bool soft = options.contact_softness == ContactSoftness::kMjcf;  // sliding friction gives way
    EXPECT_LT(std::abs(at_rest.world().x[0].x), soft ? 0.01 : 2e-4) << name;
    EXPECT_LT(size_of(at_rest.world().omega[0]), 1e-4) << name;
    testing::SingleWorld<double> spinning(ball(0.004, 0.02), options, 0.005);
    spinning.world().omega[0].z = 9;
    spinning.step(100);
    EXPECT_TRUE(spinning.converged()) << name;
    const double end = options.half_step_start ? spinning.read().omega_at_pose[0].z : spinning.world().omega[0].z;
    const double expected = 9 - 0.004 * kGravity / (0.4 * kRadius * kRadius) * 0.5;
    EXPECT_NEAR(end, expected, soft ? 0.1 : 1e-3) << name;  // a ball that comes up to rest in its margin presses less
    testing::SingleWorld<double> held(gripped_box(0.02, 0.005, 4), options, 0.005);
    squeeze(held);
    held.step(200);
    EXPECT_TRUE(held.converged()) << name;
    EXPECT_LT(std::abs(turn_about_fingers(held)), 0.01) << name;
  }
}

}  // namespace
}  // namespace axion::moment_friction_test
