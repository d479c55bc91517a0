// Motions with known answers: Richardson's R = 2x(h/2) − x(h) of the first order methods against the continuum, the discrete
// answers of backward Euler where they are known, and laws of statics on an incline.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion {
namespace {

using math::Vec3;
using model::JointMode;

model::SolverOptions exact_options(JointMode mode) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.tolerance = 1e-10;
  options.joint_mode = mode;
  return options;
}

// Two rods of 1 m, inertia about the centre as given, horizontal at rest. Centre of the second at a time.
Vec3<double> double_pendulum(JointMode mode, double last_mass, double inertia_per_mass, double gravity, double h,
                             double time) {
  model::SceneSpec scene = testing::pendulum_chain(2, last_mass);
  scene.gravity = {0, 0, -gravity};
  for (model::BodySpec& body : scene.bodies) {
    const double I = inertia_per_mass * body.mass;
    body.I_Bcm = {I, I, I, 0, 0, 0};
  }
  testing::SingleWorld<double> world(scene, exact_options(mode), h);
  world.step(static_cast<int>(std::lround(time / h)));
  return world.world().x[1];
}

struct Reference {
  double last_mass, inertia_per_mass, gravity, time, x, z;
};

class DoublePendulum : public ::testing::TestWithParam<JointMode> {};

TEST_P(DoublePendulum, extrapolates_to_the_continuum) {
  const Reference references[] = {{1000, 1.0 / 12, 9.81, 0.25, 1.457536007, -0.301721502},
                                  {1000, 1.0 / 12, 9.81, 0.5, 1.060768982, -1.057792265},
                                  {1, 1, 10, 0.5, 1.207161713, -0.801331888}};
  for (const Reference& r : references) {
    const double h = 1e-3;
    const auto at = [&](double step) {
      return double_pendulum(GetParam(), r.last_mass, r.inertia_per_mass, r.gravity, step, r.time);
    };
    const Vec3<double> coarse = at(h), fine = at(h / 2);
    const double x = 2 * fine.x - coarse.x, z = 2 * fine.z - coarse.z;
    std::printf("mass ratio %4.0f, t %.2f: error %.1e m at 1 ms, extrapolated %.1e m\n", r.last_mass, r.time,
                std::hypot(coarse.x - r.x, coarse.z - r.z), std::hypot(x - r.x, z - r.z));
    EXPECT_LT(std::hypot(x - r.x, z - r.z), 1e-4);
    EXPECT_LT(std::hypot(fine.x - r.x, fine.z - r.z), 0.6 * std::hypot(coarse.x - r.x, coarse.z - r.z));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, DoublePendulum, ::testing::Values(JointMode::kBlended, JointMode::kCurrent),
                         [](const auto& info) { return info.param == JointMode::kBlended ? "blended" : "current"; });

TEST(DoublePendulumOfUnequalMasses, is_ideal_backward_euler_in_mode_current) {
  const Vec3<double> early = double_pendulum(JointMode::kCurrent, 1000, 1.0 / 12, 9.81, 1e-3, 0.25);
  const Vec3<double> late = double_pendulum(JointMode::kCurrent, 1000, 1.0 / 12, 9.81, 1e-3, 0.5);
  std::printf("(%.9f, %.9f), (%.9f, %.9f)\n", early.x, early.z, late.x, late.z);
  EXPECT_NEAR(early.x, 1.457275666, 1e-6);
  EXPECT_NEAR(early.z, -0.302843883, 1e-6);
  EXPECT_NEAR(late.x, 1.059937797, 1e-6);
  EXPECT_NEAR(late.z, -1.058713722, 1e-6);
}

// On an incline given by the direction of gravity: sticks below the cone, slides at g(sinθ − μcosθ) above it.
TEST(CubeOnAnIncline, sticks_and_slides_by_the_angle_in_every_direction) {
  const double mu = 0.5, degree = 3.14159265358979323846 / 180;
  double creep = 0, error = 0;
  for (const double h : {1e-3, 1.0 / 60}) {
    for (const double theta : {20.0, 25.0, 26.5, 26.6, 27.0, 30.0}) {
      for (int azimuth = 0; azimuth < 360; azimuth += 45) {
        const double s = std::sin(theta * degree), c = std::cos(theta * degree), a = azimuth * degree;
        model::SceneSpec scene = testing::cube_on_plane(mu);
        scene.gravity = {9.81 * s * std::cos(a), 9.81 * s * std::sin(a), -9.81 * c};
        testing::SingleWorld<double> world(scene, exact_options(JointMode::kBlended), h);
        world.settings().contact_compliance = 0;
        const int n = static_cast<int>(1 / h);
        world.step(n);
        const double speed = math::norm(world.world().v[0]);
        const double exact = theta < 26.565 ? 0 : 9.81 * (s - mu * c) * n * h;
        if (exact == 0) {
          creep = std::max(creep, speed);
        } else {
          error = std::max(error, std::abs(speed / exact - 1));
        }
      }
    }
  }
  std::printf("creep %.1e m/s, sliding speed off by %.1e\n", creep, error);
  EXPECT_LT(creep, 1e-8);
  EXPECT_LT(error, 1e-4);
}

TEST(FreeBox, keeps_momentum_and_gains_no_energy) {
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  scene.bodies = {testing::solid_box("box", 1, {0.1, 0.2, 0.3}, {0, 0, 0})};
  testing::SingleWorld<double> world(scene, exact_options(JointMode::kBlended), 0.01);
  auto& w = world.world();
  w.omega[0] = {1, 2, 3};
  const auto momentum = [&] {
    return math::rotate(w.q[0], math::scale(world.model().bodies[0].inertia, math::rotate_inverse(w.q[0], w.omega[0])));
  };
  const Vec3<double> L = momentum();
  const double E = world.energy();
  double highest = 0;
  for (int k = 0; k < 500; ++k) {
    world.step();
    highest = std::max(highest, world.energy() / E - 1);
  }
  std::printf("momentum off by %.1e, energy at most %.1e above\n", math::norm(momentum() - L) / math::norm(L), highest);
  EXPECT_LT(math::norm(momentum() - L) / math::norm(L), 1e-12);
  EXPECT_LT(highest, 1e-3);  // the split's energy oscillates with h², without a trend
  EXPECT_NEAR(world.energy() / E, 1, 1e-3);
}

// A ball thrown at a tree of hinged links: contact and joints pass momentum on and lose none.
TEST(BallOnLinkage, keeps_the_momentum_of_the_whole) {
  model::SceneSpec scene = testing::pendulum_chain(3);
  scene.joints.erase(scene.joints.begin());
  scene.gravity = {0, 0, 0};
  for (int i = 0; i < 3; ++i) {
    model::ShapeSpec shape = testing::box_shape("rod" + std::to_string(i), i, {0.5, 0.05, 0.05}, 0.5);
    shape.contact_type = 1, shape.contact_affinity = 2;
    scene.shapes.push_back(shape);
  }
  scene.bodies.push_back(testing::solid_box("ball", 2, {0.1, 0.1, 0.1}, {1.3, 0, 1}));
  model::ShapeSpec ball;
  ball.name = "ball", ball.kind = model::ShapeKind::kSphere, ball.body = 3, ball.size = {0.1, 0, 0}, ball.friction = 0.5;
  ball.contact_type = 2, ball.contact_affinity = 1;
  scene.shapes.push_back(ball);
  testing::SingleWorld<double> world(scene, exact_options(JointMode::kBlended), 0.005);
  auto& w = world.world();
  w.v[3] = {0.3, 0, -3};
  const auto m = world.model();
  const auto momentum = [&] {
    Vec3<double> p{}, L{};
    for (int b = 0; b < m.body_count; ++b) {
      p += m.bodies[b].mass * w.v[b];
      L += math::cross(w.x[b], m.bodies[b].mass * w.v[b]) +
           math::rotate(w.q[b], math::scale(m.bodies[b].inertia, math::rotate_inverse(w.q[b], w.omega[b])));
    }
    return std::pair{p, L};
  };
  const auto before = momentum();
  int touched = 0;
  for (int k = 0; k < 200; ++k) {
    world.step();
    touched += world.record().contact_count > 0 && w.lambda_contact[0] > 0;
  }
  const auto after = momentum();
  const double linear = math::norm(after.first - before.first), angular = math::norm(after.second - before.second);
  std::printf("linear %.1e N s, angular %.1e N m s, %d steps in contact\n", linear, angular, touched);
  EXPECT_GT(touched, 0);
  EXPECT_LT(linear, 1e-9);
  EXPECT_LT(angular, 1e-6);
}

}  // namespace
}  // namespace axion
