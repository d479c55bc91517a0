// Complementarity functions and friction laws against finite differences and the laws themselves.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/laws/contact_function.hpp"
#include "engine/laws/friction_disc.hpp"

namespace axion::laws::contact_laws_test {
namespace {

using model::ContactFunction;
using model::FrictionModel;

double fischer_burmeister_value(double a, double b) { return a + b - std::hypot(a, b); }

TEST(FischerBurmeister, row_is_the_linearisation_divided_by_alpha) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> u(-2, 2);
  for (int trial = 0; trial < 1000; ++trial) {
    const double a = u(random), b = u(random), eps = 1e-6;
    if (std::hypot(a, b) < 0.5) continue;  // curvature grows like 1/s: the difference quotient has eps² of it
    const double da = (fischer_burmeister_value(a + eps, b) - fischer_burmeister_value(a - eps, b)) / (2 * eps);
    const double db = (fischer_burmeister_value(a, b + eps) - fischer_burmeister_value(a, b - eps)) / (2 * eps);
    if (da < 0.05) continue;  // the quotient below would only test the difference quotient
    const auto f = fischer_burmeister(a, b);
    EXPECT_NEAR(f.beta_over_alpha * da, db, 1e-8);
    EXPECT_NEAR(f.phi_over_alpha * da, fischer_burmeister_value(a, b), 1e-8);
  }
}

TEST(FischerBurmeister, keeps_digits_where_one_argument_vanishes) {
  const auto f = fischer_burmeister(1e-7f, 1.0f);  // naive evaluation in float32 gives zero or a full unit
  EXPECT_NEAR(f.phi_over_alpha, 1e-7f, 1e-12f);
  EXPECT_TRUE(std::isfinite(fischer_burmeister(0.0, 0.0).phi_over_alpha));
}

TEST(ComplementarityFunctions, vanish_exactly_on_the_law) {
  for (const ContactFunction f : {ContactFunction::kFischerBurmeister, ContactFunction::kMinimumMap}) {
    EXPECT_EQ(complementarity(f, 0.0, 3.0).phi_over_alpha, 0.0);
    EXPECT_NEAR(complementarity(f, 3.0, 0.0).phi_over_alpha, 0.0, 1e-12);
    EXPECT_NE(complementarity(f, -1.0, 2.0).phi_over_alpha, 0.0);
    EXPECT_NE(complementarity(f, 1.0, 2.0).phi_over_alpha, 0.0);
  }
}

// The natural map's residual λ_f − proj(λ*), times r_t, at v and (λ_n, λ_f).
std::array<double, 2> natural_residual(Vec2<double> v, double lambda_n, Vec2<double> lambda, double mu, double r) {
  const double cone = mu * lambda_n, x = lambda.x - v.x / r, y = lambda.y - v.y / r, size = std::hypot(x, y);
  const double f = size > cone ? cone / size : 1.0;
  return {r * (lambda.x - f * x), r * (lambda.y - f * y)};
}

TEST(NaturalMap, block_equals_finite_differences_of_its_residual) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> u(-1, 1);
  int slips = 0, sticks = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const double mu = 0.6, r = 2.0, lambda_n = 1.5 + u(random), eps = 1e-6;
    const Vec2<double> v{u(random), u(random)}, lambda{u(random), u(random)};
    const double size = std::hypot(lambda.x - v.x / r, lambda.y - v.y / r);
    if (std::abs(size - mu * lambda_n) < 1e-3) continue;
    (size > mu * lambda_n ? slips : sticks) += 1;
    const FrictionBlock<double> f = friction_block(FrictionModel::kNaturalMap, v, lambda, mu, lambda_n, r, 0.0);
    const auto base = natural_residual(v, lambda_n, lambda, mu, r);
    for (int i = 0; i < 2; ++i) {
      EXPECT_NEAR(f.residual[i], base[i], 1e-12);
      const auto slope = [&](const auto& at) { return (at(eps)[i] - at(-eps)[i]) / (2 * eps); };
      EXPECT_NEAR(f.left[2 * i], slope([&](double e) {
                    return natural_residual({v.x + e, v.y}, lambda_n, lambda, mu, r);
                  }),
                  1e-8);
      EXPECT_NEAR(f.left[2 * i + 1], slope([&](double e) {
                    return natural_residual({v.x, v.y + e}, lambda_n, lambda, mu, r);
                  }),
                  1e-8);
      EXPECT_NEAR(f.coupling[i], slope([&](double e) { return natural_residual(v, lambda_n + e, lambda, mu, r); }),
                  1e-8);
      EXPECT_NEAR(f.compliance[2 * i], slope([&](double e) {
                    return natural_residual(v, lambda_n, {lambda.x + e, lambda.y}, mu, r);
                  }),
                  1e-8);
      EXPECT_NEAR(f.compliance[2 * i + 1], slope([&](double e) {
                    return natural_residual(v, lambda_n, {lambda.x, lambda.y + e}, mu, r);
                  }),
                  1e-8);
    }
  }
  EXPECT_GT(slips, 50);
  EXPECT_GT(sticks, 50);
}

TEST(ScalarFixedPoint, holds_at_slip_and_at_stick) {
  const double mu = 0.5, lambda_n = 2, r = 3, speed = 0.7;
  // Slip: λ_f = −c v/|v|, so v + W λ_f = 0 with W = |v|/c.
  const Vec2<double> v{speed * 0.6, speed * 0.8}, lambda{-mu * lambda_n * 0.6, -mu * lambda_n * 0.8};
  const auto slip = friction_block(FrictionModel::kScalarFixedPoint, v, lambda, mu, lambda_n, r, 0.0);
  EXPECT_NEAR(slip.residual[0], 0, 1e-12);
  EXPECT_NEAR(slip.compliance[0], speed / (mu * lambda_n), 1e-12);
  // Stick: no velocity, an impulse inside the cone, W = 0.
  const auto stick = friction_block(FrictionModel::kScalarFixedPoint, {0.0, 0.0}, {0.3, 0.1}, mu, lambda_n, r, 0.0);
  EXPECT_NEAR(stick.residual[0], 0, 1e-12);
  EXPECT_NEAR(stick.compliance[0], 0, 1e-12);
}

TEST(FrictionResidual, vanishes_on_the_law_and_only_there) {
  const double r = 2, cone = 1;
  EXPECT_NEAR(friction_residual<double>({0.7, 0}, {-1, 0}, cone, r), 0, 1e-15);   // slides at the cone
  EXPECT_NEAR(friction_residual<double>({0, 0}, {0.4, 0.2}, cone, r), 0, 1e-15);  // sticks inside it
  EXPECT_GT(friction_residual<double>({0.7, 0}, {-0.5, 0}, cone, r), 0.1);        // slides with too little
  EXPECT_GT(friction_residual<double>({0, 0}, {2, 0}, cone, r), 0.1);             // more than the cone
  EXPECT_GT(friction_residual<double>({0.7, 0}, {1, 0}, cone, r), 0.1);           // pushes along the slip
}

}  // namespace
}  // namespace axion::laws::contact_laws_test
