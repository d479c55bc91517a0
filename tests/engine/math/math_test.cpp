// Vectors, matrices and quaternions: identities over random values, in both precisions.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "engine/math/mat3.hpp"
#include "engine/math/quat.hpp"
#include "engine/math/vec3.hpp"

namespace axion::math::math_test {
namespace {

constexpr int kSamples = 10000;

template <typename Real>
class Math : public ::testing::Test {
 protected:
  static constexpr Real kEpsilon = std::numeric_limits<Real>::epsilon();
  Vec3<Real> random_vector() { return {normal_(random_), normal_(random_), normal_(random_)}; }
  Mat3<Real> random_matrix() { return {{random_vector(), random_vector(), random_vector()}}; }
  Quat<Real> random_rotation() {
    return normalized(Quat<Real>{normal_(random_), normal_(random_), normal_(random_), normal_(random_)});
  }
  static Real greatest(const Mat3<Real>& A) {
    Real most = 0;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) most = std::max(most, std::abs(A(i, j)));
    }
    return most;
  }
  static Mat3<Real> difference(const Mat3<Real>& A, const Mat3<Real>& B) { return A + Real(-1) * B; }

 private:
  std::mt19937 random_{1};
  std::normal_distribution<Real> normal_;
};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Math, Reals);

TYPED_TEST(Math, vectors_are_constant_expressions) {
  using Vec = Vec3<TypeParam>;
  static_assert(Vec{1, 2, 3} + Vec{4, 5, 6} == Vec{5, 7, 9});
  static_assert(Vec{4, 5, 6} - Vec{1, 2, 3} == Vec{3, 3, 3});
  static_assert(-Vec{1, 2, 3} == Vec{-1, -2, -3});
  static_assert(TypeParam(2) * Vec{1, 2, 3} == Vec{1, 2, 3} * TypeParam(2));
  static_assert(dot(Vec{1, 2, 3}, Vec{4, -5, 6}) == 12);
  static_assert(cross(Vec{1, 0, 0}, Vec{0, 1, 0}) == Vec{0, 0, 1});
  static_assert(cross(Vec{0, 1, 0}, Vec{0, 0, 1}) == Vec{1, 0, 0});
  static_assert(scale(Vec{1, 2, 3}, Vec{4, 5, 6}) == Vec{4, 10, 18});
  static_assert(cast<TypeParam>(Vec3<double>{1, 2, 3}) == Vec{1, 2, 3});
  Vec v{1, 2, 3};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(v[i], TypeParam(i + 1));
  v[1] = 7, v += Vec{1, 1, 1}, v -= Vec{0, 0, 4}, v *= TypeParam(2);
  EXPECT_EQ(v, (Vec{4, 16, 0}));
}

TYPED_TEST(Math, cross_product_is_square_to_both_and_has_the_length_of_the_sine) {
  for (int i = 0; i < kSamples; ++i) {
    const auto a = this->random_vector(), b = this->random_vector(), c = cross(a, b);
    const TypeParam size = dot(a, a) * dot(b, b), bound = 16 * this->kEpsilon * size;
    EXPECT_LE(std::abs(dot(c, a)), 16 * this->kEpsilon * std::sqrt(size) * norm(a));
    EXPECT_NEAR(dot(c, c), size - dot(a, b) * dot(a, b), bound);
  }
}

TYPED_TEST(Math, tangent_basis_is_right_handed_and_orthonormal_for_every_normal) {
  for (int i = 0; i < kSamples + 6; ++i) {
    Vec3<TypeParam> n = normalized(this->random_vector());
    if (i < 6) n = {}, n[i % 3] = TypeParam(i < 3 ? 1 : -1);
    Vec3<TypeParam> t1, t2;
    tangent_basis(n, t1, t2);
    EXPECT_NEAR(norm(t1), 1, 8 * this->kEpsilon);
    EXPECT_NEAR(norm(t2), 1, 8 * this->kEpsilon);
    EXPECT_LE(std::abs(dot(n, t1)), 8 * this->kEpsilon);
    EXPECT_LE(norm(cross(t1, t2) - n), 16 * this->kEpsilon);
  }
}

TYPED_TEST(Math, matrix_product_transpose_and_vector_agree) {
  for (int i = 0; i < kSamples; ++i) {
    const auto A = this->random_matrix(), B = this->random_matrix();
    const auto v = this->random_vector();
    const TypeParam bound = 32 * this->kEpsilon * (1 + this->greatest(A)) * (1 + this->greatest(B)) * (1 + norm(v));
    EXPECT_LE(norm((A * B) * v - A * (B * v)), bound);
    EXPECT_LE(norm(transpose(A) * v - transpose_times(A, v)), bound);
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) {
        EXPECT_NEAR((A * B)(r, c), dot(A.row[r], B.column(c)), bound);
        EXPECT_EQ(transpose(A)(r, c), A(c, r));
      }
    }
  }
}

TYPED_TEST(Math, skew_outer_and_diagonal_do_what_they_say) {
  for (int i = 0; i < kSamples; ++i) {
    const auto a = this->random_vector(), b = this->random_vector(), v = this->random_vector();
    const TypeParam bound = 16 * this->kEpsilon * norm(a) * (1 + norm(b)) * norm(v);
    EXPECT_LE(norm(skew(a) * v - cross(a, v)), bound);
    EXPECT_LE(norm(outer(a, b) * v - dot(b, v) * a), bound);
    EXPECT_EQ((Mat3<TypeParam>::diagonal(a.x, a.y, a.z) * v), scale(a, v));
  }
}

TYPED_TEST(Math, inverse_undoes_regular_matrices) {
  double worst = 0;
  for (int i = 0; i < kSamples; ++i) {
    const auto A = this->random_matrix();
    const TypeParam d = determinant(A);
    EXPECT_NEAR(determinant(transpose(A)), d, 64 * this->kEpsilon * std::pow(1 + this->greatest(A), 3));
    if (std::abs(d) < TypeParam(0.05)) continue;
    const auto I = A * inverse(A), J = inverse(A) * A;
    const TypeParam condition = this->greatest(A) * this->greatest(inverse(A));
    const auto identity = Mat3<TypeParam>::identity();
    const double error =
        std::max(this->greatest(this->difference(I, identity)), this->greatest(this->difference(J, identity)));
    worst = std::max(worst, error / (condition * condition));
  }
  EXPECT_LE(worst, 32 * this->kEpsilon);
}

TYPED_TEST(Math, rotate_diagonal_is_the_product_with_the_diagonal) {
  for (int i = 0; i < kSamples; ++i) {
    const auto R = to_matrix(this->random_rotation());
    const auto d = this->random_vector();
    const auto expected = R * Mat3<TypeParam>::diagonal(d.x, d.y, d.z) * transpose(R);
    EXPECT_LE(this->greatest(this->difference(rotate_diagonal(R, d), expected)), 16 * this->kEpsilon * (1 + norm(d)));
  }
}

TYPED_TEST(Math, quaternion_matrix_and_rotation_agree) {
  for (int i = 0; i < kSamples; ++i) {
    const auto p = this->random_rotation(), q = this->random_rotation();
    const auto v = this->random_vector();
    const TypeParam bound = 32 * this->kEpsilon * norm(v);
    EXPECT_LE(norm(to_matrix(q) * v - rotate(q, v)), bound);
    EXPECT_LE(norm(rotate(p * q, v) - rotate(p, rotate(q, v))), bound);
    EXPECT_LE(norm(rotate_inverse(q, rotate(q, v)) - v), bound);
    EXPECT_NEAR(norm(rotate(q, v)), norm(v), bound);
    const auto R = to_matrix(q);
    EXPECT_LE(this->greatest(this->difference(R * transpose(R), Mat3<TypeParam>::identity())), 16 * this->kEpsilon);
    EXPECT_NEAR(determinant(R), 1, 16 * this->kEpsilon);
  }
}

TYPED_TEST(Math, exponential_turns_about_its_axis_by_its_angle) {
  using Vec = Vec3<TypeParam>;
  const TypeParam quarter = std::numbers::pi_v<TypeParam> / 2;
  EXPECT_LE(norm(rotate(exp_rotation(Vec{0, 0, quarter}), Vec{1, 0, 0}) - Vec{0, 1, 0}), 4 * this->kEpsilon);
  EXPECT_LE(norm(rotate(exp_rotation(Vec{quarter, 0, 0}), Vec{0, 1, 0}) - Vec{0, 0, 1}), 4 * this->kEpsilon);
  EXPECT_EQ(exp_rotation(Vec{}), (Quat<TypeParam>{1, 0, 0, 0}));
  for (int i = 0; i < kSamples; ++i) {
    const Vec r = this->random_vector(), v = this->random_vector();
    EXPECT_LE(norm(rotate(exp_rotation(r), r) - r), 32 * this->kEpsilon * norm(r));
    // Turning by r twice is turning by 2 r; turning back undoes it.
    const auto q = exp_rotation(r);
    EXPECT_LE(norm(rotate(q * q, v) - rotate(exp_rotation(TypeParam(2) * r), v)), 64 * this->kEpsilon * norm(v));
    EXPECT_LE(norm(rotate(exp_rotation(-r), rotate(q, v)) - v), 32 * this->kEpsilon * norm(v));
  }
}

// The series for small angles meets the closed form: both are exact to rounding around the switch.
TYPED_TEST(Math, exponential_is_exact_for_small_angles) {
  double worst = 0;
  for (int i = 0; i < 2000; ++i) {
    const double angle = std::pow(10.0, -9 + 9.0 * i / 2000);
    const Vec3<double> axis = normalized(Vec3<double>{1, -2, 0.5});
    const auto r = cast<TypeParam>(angle * axis);
    const auto q = exp_rotation(r);
    const long double x = r.x, y = r.y, z = r.z, a = std::sqrt(x * x + y * y + z * z);
    worst = std::max(worst, double(std::abs(q.w - std::cos(a / 2))));
    worst = std::max(worst, double(std::abs(q.x - std::sin(a / 2) / a * x) / a));
    worst = std::max(worst, double(std::abs(q.y - std::sin(a / 2) / a * y) / a));
  }
  std::printf("  greatest error %.1e, %.1f roundings\n", worst, worst / this->kEpsilon);
  EXPECT_LE(worst, 2 * this->kEpsilon);
}

// Against Taylor's sum in long double with twice the terms, which at x = 1 is exact to 2⁻⁶⁴.
template <int n>
long double series(long double x) {
  long double sum = 1, term = 1;
  for (int k = 1; k <= 20; ++k) sum += term *= -x / ((n + 2 * k - 1) * (n + 2 * k));
  return sum;
}

template <int n, typename Real>
double series_error(Real x) {
  return std::abs(double(turn_series<n>(x) - series<n>(x)));
}

TYPED_TEST(Math, turn_series_are_exact_to_rounding_on_both_sides_of_their_switch) {
  double worst = 0;
  for (int i = 0; i <= 4096; ++i) {
    const TypeParam x = TypeParam(i) / 4096;  // 1/64, where the number of terms changes, is among them
    for (const TypeParam at : {x, std::nextafter(x, TypeParam(2)) > 1 ? x : std::nextafter(x, TypeParam(2))}) {
      worst = std::max({worst, series_error<0>(at), series_error<1>(at), series_error<2>(at), series_error<3>(at)});
    }
  }
  std::printf("  greatest error %.1e, %.2f roundings\n", worst, worst / this->kEpsilon);
  EXPECT_LE(worst, this->kEpsilon);  // half of one left out, and half of one of the last sum
  const long double root = std::sqrt(0.7L);
  EXPECT_NEAR(double(series<0>(0.7L)), double(std::cos(root)), 1e-16);
  EXPECT_NEAR(double(series<1>(0.7L)), double(std::sin(root) / root), 1e-16);
  EXPECT_NEAR(double(series<2>(0.7L)), double(2 * (1 - std::cos(root)) / 0.7L), 1e-16);
  EXPECT_NEAR(double(series<3>(0.7L)), double(6 * (root - std::sin(root)) / (0.7L * root)), 1e-16);
}

// A tiny rotation changes the quaternion by its first order, without loss: steps of a slow body add up.
TYPED_TEST(Math, normalising_a_quaternion_keeps_its_direction) {
  for (int i = 0; i < kSamples; ++i) {
    const auto q = this->random_rotation();
    const TypeParam s = std::pow(TypeParam(10), TypeParam(i % 11 - 5));
    const auto n = normalized(Quat<TypeParam>{s * q.w, s * q.x, s * q.y, s * q.z});
    EXPECT_NEAR(n.w, q.w, 4 * this->kEpsilon);
    EXPECT_LE(norm(n.vec() - q.vec()), 4 * this->kEpsilon);
  }
}

}  // namespace
}  // namespace axion::math::math_test
