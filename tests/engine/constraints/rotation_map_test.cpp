// The kinematic map: its derivative against finite differences, and what a free rotation keeps.
#include "engine/constraints/rotation_map.hpp"

#include <gtest/gtest.h>

#include <random>

namespace axion::constraints::rotation_map_test {
namespace {

using math::Mat3, math::Quat, math::Vec3;
using model::GyroscopicMode;

Vec3<double> random_vector(std::mt19937& random, double scale) {
  std::uniform_real_distribution<double> u(-scale, scale);
  return {u(random), u(random), u(random)};
}

// Rotation vector that takes a to b, for small differences.
Vec3<double> difference(const Quat<double>& b, const Quat<double>& a) {
  const Quat<double> d = b * math::conjugate(a);
  return (d.w < 0 ? -2.0 : 2.0) * d.vec();
}

class RotationMap : public ::testing::TestWithParam<GyroscopicMode> {};

TEST_P(RotationMap, derivative_equals_finite_differences) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 200; ++trial) {
    const Quat<double> q = math::exp_rotation(random_vector(random, 2.0));
    const Vec3<double> I{0.2 + 0.1 * (trial % 7), 0.5, 0.3 + 0.2 * (trial % 3)};
    const Vec3<double> omega = random_vector(random, trial % 2 == 0 ? 10.0 : 0.01);
    const double h = 0.02, eps = 1e-6;
    const Mat3<double> D = rotate_step_derivative(GetParam(), q, I, omega, h);
    for (int k = 0; k < 3; ++k) {
      Vec3<double> e{};
      e[k] = eps / h;
      const Vec3<double> slope = (0.5 / eps) * difference(rotate_step(GetParam(), q, I, omega + e, h),
                                                          rotate_step(GetParam(), q, I, omega - e, h));
      for (int i = 0; i < 3; ++i) EXPECT_NEAR(D(i, k), slope[i], 2e-8) << "trial " << trial;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, RotationMap, ::testing::Values(GyroscopicMode::kSplit, GyroscopicMode::kImplicit));

// L is kept by construction; energy is what the split may lose. A symmetric body turns exactly.
TEST(SplitRotation, turns_a_symmetric_body_exactly) {
  const Vec3<double> I{0.04, 0.04, 0.02}, omega_B{2, 4, 6};
  Quat<double> coarse{}, fine{};
  const auto advance = [&](Quat<double> q, Vec3<double> omega, double h, int steps) {
    const Vec3<double> L = math::rotate(q, math::scale(I, math::rotate_inverse(q, omega)));
    for (int k = 0; k < steps; ++k) {
      q = split_rotation(q, I, omega, h);
      const Vec3<double> L_B = math::rotate_inverse(q, L);
      omega = math::rotate(q, Vec3<double>{L_B.x / I.x, L_B.y / I.y, L_B.z / I.z});
    }
    return q;
  };
  coarse = advance({}, omega_B, 0.1, 10);
  fine = advance({}, omega_B, 0.001, 1000);
  // Kane, torque-free axisymmetric top at 1 s: w, x, y, z up to sign.
  const double sign = coarse.w < 0 ? 1 : -1;
  EXPECT_NEAR(sign * coarse.w, -0.304936389, 1e-8);
  EXPECT_NEAR(sign * coarse.x, 0.333018098, 1e-8);
  EXPECT_NEAR(sign * coarse.y, -0.137999998, 1e-8);
  EXPECT_NEAR(sign * coarse.z, -0.881515029, 1e-8);
  EXPECT_NEAR(std::abs(coarse.w * fine.w + math::dot(coarse.vec(), fine.vec())), 1.0, 1e-12);
}

TEST(ImplicitGyroscopicTerm, never_gains_energy_and_explicit_does) {
  const Vec3<double> I{1, 2, 3};
  const Quat<double> q{};
  const Vec3<double> omega{0.01, 10, 0.01};
  const auto energy = [&](const Vec3<double>& w) { return math::dot(w, math::scale(I, w)); };
  Vec3<double> implicit = omega + Vec3<double>{1, 0, 1}, explicit_omega = implicit;
  const double start = energy(implicit);
  implicit = gyroscopic_velocity(GyroscopicMode::kImplicit, q, I, implicit, 0.05);
  explicit_omega = gyroscopic_velocity(GyroscopicMode::kExplicit, q, I, explicit_omega, 0.05);
  EXPECT_LT(energy(implicit), start);
  EXPECT_GT(energy(explicit_omega), start);
}

}  // namespace
}  // namespace axion::constraints::rotation_map_test
