// Contacts with springs, and bodies that rebound, at both levels and in both precisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::contact_softness_test {
namespace {

using testing::Validation;

constexpr double kGravity = 9.81, kRadius = 0.1;

// A sphere of 1 kg whose lowest point is `height` above a plane.
model::SceneSpec ball_above_plane(double height) {
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("ball", 1, {0.1, 0.1, 0.1}, {0, 0, kRadius + height})};
  model::ShapeSpec ball;
  ball.name = "ball", ball.kind = model::ShapeKind::kSphere, ball.body = 0, ball.size = {kRadius, 0, 0};
  scene.shapes = {testing::ground_plane(0.5), ball};
  return scene;
}

model::SolverOptions velocity_options() {
  model::SolverOptions options = model::make_options(model::Preset::kVelocity);
  options.tolerance = 1e-11;
  options.contact_compliance = 0;
  return options;
}

template <typename Real>
class Contact : public ::testing::Test {};
TYPED_TEST_SUITE(Contact, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(Contact, with_a_spring_sags_by_the_weight_over_its_stiffness) {
  const Validation<TypeParam> validation("contact with a spring");
  model::SceneSpec scene = ball_above_plane(0.01);
  scene.shapes[0].contact_stiffness = 3e4;  // in series with the ball's: 2e4 N/m and 200 N s/m
  scene.shapes[0].contact_damping = 300;
  scene.shapes[1].contact_stiffness = 6e4, scene.shapes[1].contact_damping = 600;
  // float32: a place of 0.1 m rounds by ε/2 · 0.1 m, which is 1.2e-5 of the sag; a few tens of them add up until it
  // rests.
  const double rounding = 20 * testing::epsilon<float>() / 2 * kRadius / (kGravity / 2e4);
  for (const auto& options : {testing::exact_options(), velocity_options()}) {
    for (const double h : {1e-3, 1.0 / 60}) {
      testing::SingleWorld<TypeParam> world(scene, options, h);
      world.step(3000);
      EXPECT_TRUE(world.converged());
      validation.at_most("sag against mg/k, relative",
                         std::abs((kRadius - world.world().x[0].z) / (kGravity / 2e4) - 1),
                         testing::allowed<TypeParam>(1e-8, rounding));
    }
  }
}

// The peak after the first impact, above where the ball touches.
template <typename Real>
double rebound_height(double e, const model::SolverOptions& options, double h) {
  model::SceneSpec scene = ball_above_plane(1);
  scene.shapes[1].restitution = e;
  testing::SingleWorld<Real> world(scene, options, h);
  bool met = false;
  double peak = 0;
  for (int k = 0; k < static_cast<int>(1.5 / h); ++k) {
    const double before = world.world().v[0].z;
    world.step();
    EXPECT_TRUE(world.converged());
    const double after = world.world().v[0].z;
    if (met && before > 0 && after < 0) break;  // on the way down again
    met = met || (before < 0 && after > before);
    if (met) peak = std::max(peak, world.world().x[0].z - kRadius);
  }
  return peak;
}

// The bounds are of the step, which takes 0.1 ms to see the impact: 4e-4 m. float32 rounds the height by 6e-4 of it
// (resting_test.cpp).
TYPED_TEST(Contact, rebounds_to_the_square_of_its_restitution) {
  const Validation<TypeParam> validation("restitution");
  for (const auto& options : {velocity_options(), testing::exact_options()}) {
    for (const double e : {0.0, 0.3, 0.7, 1.0}) {
      validation.at_most("height after a fall of 1 m at h 1e-4 against e², m",
                         std::abs(rebound_height<TypeParam>(e, options, 1e-4) - e * e), 0.01 * std::max(e * e, 0.01));
    }
  }
}

// A height of 0.1 m rounds by 6e-9 m in float32: the bounds are the same in both precisions.
TYPED_TEST(Contact, that_rebounds_comes_to_rest) {
  const Validation<TypeParam> validation("rest after rebounds");
  model::SceneSpec scene = ball_above_plane(0.2);
  scene.shapes[1].restitution = 0.5;
  for (const double h : {1e-3, 1.0 / 60}) {
    testing::SingleWorld<TypeParam> world(scene, velocity_options(), h);
    world.step(static_cast<int>(5 / h));
    validation.at_most("speed after 5 s, m/s", std::abs(double(world.world().v[0].z)), 1e-5);
    validation.at_most("height after 5 s, m", std::abs(world.world().x[0].z - kRadius), 1e-5);
  }
}

}  // namespace
}  // namespace axion::contact_softness_test
