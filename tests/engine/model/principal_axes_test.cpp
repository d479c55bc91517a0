// Principal axes and positive parts of symmetric matrices against Eigen, near and far from diagonal.
#include "engine/model/principal_axes.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>

#include "tests/support/validation.hpp"

namespace axion::principal_axes_test {
namespace {

template <typename Real>
class PrincipalAxes : public ::testing::Test {};
TYPED_TEST_SUITE(PrincipalAxes, testing::Precisions, testing::PrecisionNames);

template <typename Real>
Eigen::Matrix3d dense(const math::Mat3<Real>& A) {
  Eigen::Matrix3d result;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) result(i, k) = A(i, k);
  }
  return result;
}

// A symmetric matrix: eigenvalues alike or apart by up to six orders, its axes turned by little or much.
template <typename Real>
math::Mat3<Real> draw(std::mt19937& random, bool positive) {
  std::uniform_real_distribution<double> unit(-1, 1);
  const double turn = std::pow(10.0, 4 * (std::abs(unit(random)) - 1)), size = std::pow(10.0, 3 * unit(random));
  const Eigen::Vector3d axis(unit(random), unit(random), unit(random));
  const Eigen::Matrix3d R = Eigen::AngleAxisd(3 * turn, axis.normalized()).matrix();
  Eigen::Vector3d d;
  for (int i = 0; i < 3; ++i)
    d[i] = size * std::pow(10.0, -3 + 3 * unit(random)) * (!positive && unit(random) < 0 ? -1 : 1);
  if (unit(random) < -0.6) d[1] = d[0];
  const Eigen::Matrix3d A = R * d.asDiagonal() * R.transpose();
  math::Mat3<Real> result;
  for (int i = 0; i < 3; ++i) {
    for (int k = i; k < 3; ++k) result(i, k) = result(k, i) = Real(A(i, k));
  }
  return result;
}

TYPED_TEST(PrincipalAxes, turn_a_diagonal_into_the_matrix) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto A = draw<TypeParam>(random, false);
    math::Mat3<TypeParam> V;
    math::Vec3<TypeParam> d;
    model::symmetric_eigen(A, V, d);
    const Eigen::Matrix3d turned = dense(V) * Eigen::Vector3d(d.x, d.y, d.z).asDiagonal() * dense(V).transpose();
    const double rounding = 20 * testing::epsilon<TypeParam>();  // fifteen rotations, each rounds entries by ε/2 or so
    EXPECT_LE((turned - dense(A)).norm(), rounding * dense(A).norm()) << i;
    EXPECT_LE((dense(V) * dense(V).transpose() - Eigen::Matrix3d::Identity()).norm(), rounding) << i;
    EXPECT_GT(dense(V).determinant(), 0) << i;
  }
}

TYPED_TEST(PrincipalAxes, of_a_diagonal_matrix_are_its_own) {
  math::Mat3<TypeParam> V;
  math::Vec3<TypeParam> d;
  model::symmetric_eigen(math::Mat3<TypeParam>::diagonal(3, -1, 0), V, d);
  EXPECT_TRUE(V == math::Mat3<TypeParam>::identity());
  EXPECT_TRUE(d.x == 3 && d.y == -1 && d.z == 0);
}

TYPED_TEST(PrincipalAxes, positive_part_drops_negative_eigenvalues_and_nothing_else) {
  std::mt19937 random(2);
  // Fifteen rotations round there and back. Minors are products of elimination's pivots, which are no less than the
  // least eigenvalue: where that is far above rounding they are positive, and nearer to it either answer is right.
  int whole = 0, part = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto A = draw<TypeParam>(random, i % 2 == 0);
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(dense(A));
    const Eigen::Vector3d kept = solver.eigenvalues().cwiseMax(0);
    const Eigen::Matrix3d exact = solver.eigenvectors() * kept.asDiagonal() * solver.eigenvectors().transpose();
    const auto positive = model::positive_part(A);
    EXPECT_LE((dense(positive) - exact).norm(), 50 * testing::epsilon<TypeParam>() * dense(A).norm()) << i;
    const double least = solver.eigenvalues().minCoeff(), greatest = solver.eigenvalues().cwiseAbs().maxCoeff();
    if (least > 1e3 * testing::epsilon<TypeParam>() * greatest) {
      EXPECT_TRUE(positive == A) << i << ": the very bits";
    }
    whole += positive == A, part += least < -0.01 * greatest;
  }
  EXPECT_GT(whole, 500);
  EXPECT_GT(part, 300);
  EXPECT_TRUE(model::positive_part(math::Mat3<TypeParam>{}) == math::Mat3<TypeParam>{});
}

}  // namespace
}  // namespace axion::principal_axes_test
