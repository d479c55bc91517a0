// Sliding, sticking and resting, against closed formulas of backward Euler and of statics.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion {
namespace {

constexpr double kGravity = 9.81;
constexpr double kPi = 3.14159265358979323846;

model::SolverOptions exact_options() {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.tolerance = 1e-11;
  options.contact_compliance = 0;  // with it a corner that nearly lifts tilts the cube by 1e-7 rad
  return options;
}

// A cube thrown along a heading slows by exactly μ g h a step: x = v₀hN − h²μgN(N+1)/2.
TEST(SlidingCube, slows_alike_along_every_heading) {
  double worst_speed = 0, worst_position = 0, worst_lateral = 0;
  for (const double mu : {0.1, 0.3, 0.8}) {
    for (const double h : {2e-3, 1.0 / 60}) {
      for (int heading = 0; heading < 360; heading += 15) {
        const double angle = heading * kPi / 180, c = std::cos(angle), s = std::sin(angle);
        testing::SingleWorld<double> world(testing::cube_on_plane(mu), exact_options(), h);
        auto& w = world.world();
        world.step(20);  // at rest on its compliance first
        const auto start = w.x[0];
        w.v[0] = {3 * c, 3 * s, 0};
        const int n = static_cast<int>(0.2 / h);
        world.step(n);
        const double v = c * w.v[0].x + s * w.v[0].y, lateral = -s * w.v[0].x + c * w.v[0].y;
        const double x = c * (w.x[0].x - start.x) + s * (w.x[0].y - start.y);
        worst_speed = std::max(worst_speed, std::abs(v - (3 - mu * kGravity * h * n)));
        worst_position = std::max(worst_position, std::abs(x - (3 * h * n - h * h * mu * kGravity * n * (n + 1) / 2)));
        worst_lateral = std::max(worst_lateral, std::max(std::abs(lateral), std::abs(double(w.omega[0].z))));
      }
    }
  }
  std::printf("speed %.1e m/s, position %.1e m, lateral and yaw %.1e\n", worst_speed, worst_position, worst_lateral);
  EXPECT_LT(worst_lateral, 1e-8);
  EXPECT_LT(worst_speed, 1e-8);
  EXPECT_LT(worst_position, 1e-8);
}

TEST(PushedCube, sticks_below_the_cone_and_slides_at_the_analytic_rate_above) {
  const double mu = 0.5, h = 0.005;
  for (const double share : {0.2, 0.9, 0.99, 1.1}) {
    testing::SingleWorld<double> world(testing::cube_on_plane(mu), exact_options(), h);
    auto& w = world.world();
    world.step(50);
    const auto start = w.x[0];
    const double push = share * mu * kGravity;
    w.force[0] = {push * std::cos(0.5), push * std::sin(0.5), 0};
    const int n = 200;
    world.step(n);
    const double speed = std::hypot(w.v[0].x, w.v[0].y);
    std::printf("pushed with %.2f of the cone: speed %.3e m/s, moved %.1e m\n", share, speed,
                std::hypot(w.x[0].x - start.x, w.x[0].y - start.y));
    if (share < 1) {
      EXPECT_LT(speed, 1e-10);
      const double tangential = [&] {
        math::Vec3<double> f{};
        for (int i = 0; i < world.record().contact_count; ++i) {
          f += w.lambda_contact[3 * i + 1] * w.contacts[i].t1 + w.lambda_contact[3 * i + 2] * w.contacts[i].t2;
        }
        return math::norm(f) / h;
      }();
      EXPECT_NEAR(tangential, push, 1e-6);
    } else {
      EXPECT_NEAR(speed, (share - 1) * mu * kGravity * n * h, 1e-6);
    }
  }
}

template <typename Real>
void check_stack(double h, double force_tolerance) {
  model::SceneSpec scene = testing::box_stack(2, 100);
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), h);
  auto& w = world.world();
  world.step(static_cast<int>(2 / h));
  const auto start = w.x[1];
  double under_both = 0, under_top = 0, deepest = 0;
  for (int i = 0; i < world.record().contact_count; ++i) {
    (w.contacts[i].body_b < 0 ? under_both : under_top) += w.lambda_contact[3 * i] / h;
    deepest = std::max(deepest, -double(w.contact_gap[i]));
  }
  world.step(static_cast<int>(3 / h));
  const double drift = std::hypot(w.x[1].x - start.x, w.x[1].y - start.y);
  std::printf("h %.4f: forces %.7f of %.7f, %.7f of %.7f N; penetration %.1e m; drift %.1e m\n", h, under_both,
              101 * kGravity, under_top, 100 * kGravity, deepest, drift);
  EXPECT_NEAR(under_both / (101 * kGravity), 1, force_tolerance);
  EXPECT_NEAR(under_top / (100 * kGravity), 1, force_tolerance);
  EXPECT_LT(deepest, 5e-5);  // 250 N a corner on 1e-7 m/N, and the corners share unevenly
  EXPECT_LT(drift, 1e-5);
}

TEST(TwoBoxes, carry_their_weight_in_float64) {
  check_stack<double>(1e-3, 1e-4);
  check_stack<double>(1.0 / 60, 1e-4);
}

// float32 resolves 1e-7 of each impulse; a step's tolerance of g·dt/1000 bounds the force by 1e-3.
TEST(TwoBoxes, carry_their_weight_in_float32) {
  check_stack<float>(1e-3, 1e-3);
  check_stack<float>(1.0 / 60, 1e-3);
}

TEST(ThrownSphere, rolls_at_five_sevenths_of_its_speed) {
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("ball", 1, {0.1, 0.1, 0.1}, {0, 0, 0.1})};
  scene.bodies[0].I_Bcm = {0.004, 0.004, 0.004, 0, 0, 0};
  model::ShapeSpec ball;
  ball.name = "ball", ball.kind = model::ShapeKind::kSphere, ball.body = 0, ball.size = {0.1, 0, 0}, ball.friction = 0.5;
  scene.shapes = {testing::ground_plane(0.5), ball};
  testing::SingleWorld<double> world(scene, exact_options(), 1e-3);
  auto& w = world.world();
  w.v[0] = {2, 0, 0};
  double last = 2;
  int transition = 0;
  for (int k = 1; k <= 500; ++k) {
    world.step();
    EXPECT_LE(w.v[0].x, last + 1e-9);
    last = w.v[0].x;
    if (transition == 0 && std::abs(w.v[0].x - 0.1 * w.omega[0].y) < 1e-5) transition = k;
  }
  std::printf("speed %.6f of %.6f m/s, rolls from %.3f s of 0.1165 s\n", double(w.v[0].x), 10.0 / 7, transition * 1e-3);
  EXPECT_NEAR(w.v[0].x, 10.0 / 7, 1e-4);
  EXPECT_NEAR(transition * 1e-3, 0.1165, 2e-3);
}

TEST(BouncelessDrop, leaves_no_energy_and_no_overlap) {
  testing::SingleWorld<float> world(testing::box_stack(1, 1), model::make_options(model::Preset::kDefault), 0.005);
  auto& w = world.world();
  w.x[0].z += 1;
  double deepest = 0;
  for (int k = 0; k < 400; ++k) {
    world.step();
    deepest = std::max(deepest, double(world.record().max_penetration));
    ASSERT_TRUE(world.converged()) << "step " << k;
  }
  std::printf("deepest %.1e m, height %.6f m\n", deepest, double(w.x[0].z));
  EXPECT_NEAR(w.x[0].z, 0.1, 1e-5);
  EXPECT_LT(deepest, 1e-4);
}

}  // namespace
}  // namespace axion
