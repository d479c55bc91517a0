// Sines, cosines and their inverses beside the C library's in long double, and at the ends of their ranges.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "engine/math/angle_functions.hpp"

namespace axion::math::angle_functions_test {
namespace {

constexpr int kSamples = 200000;
constexpr double kAllowedUnits = 3;

template <typename Real>
class AngleFunctions : public ::testing::Test {
 protected:
  // From 10^-decades to 10^decades, of either sign.
  Real number_of_any_size(double decades) {
    return static_cast<Real>((sign_(random_) < 0 ? -1 : 1) * std::pow(10.0, decades * sign_(random_)));
  }
  Real number_within_one() { return static_cast<Real>(sign_(random_)); }

  // How far a is from what it should be, in units in the last place of that.
  static double units(Real a, long double exact) {
    const Real near = std::abs(static_cast<Real>(exact));
    const Real unit = std::nextafter(near, std::numeric_limits<Real>::infinity()) - near;
    return static_cast<double>(std::abs(a - exact) / unit);
  }

 private:
  std::mt19937_64 random_{1};
  std::uniform_real_distribution<double> sign_{-1, 1};
};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(AngleFunctions, Reals);

TYPED_TEST(AngleFunctions, sine_and_cosine_are_exact_to_three_units) {
  double worst = 0;
  for (int i = 0; i < kSamples; ++i) {
    const TypeParam angle = this->number_of_any_size(4.9);
    const auto [sine, cosine] = sine_cosine(angle);
    worst = std::max(worst, this->units(sine, std::sin(static_cast<long double>(angle))));
    worst = std::max(worst, this->units(cosine, std::cos(static_cast<long double>(angle))));
  }
  EXPECT_LE(worst, kAllowedUnits);
}

TYPED_TEST(AngleFunctions, inverses_are_exact_to_three_units) {
  double worst = 0;
  for (int i = 0; i < kSamples; ++i) {
    const TypeParam y = this->number_of_any_size(3), x = this->number_within_one();
    worst = std::max(worst, this->units(arc_tangent(y, x), std::atan2((long double)y, (long double)x)));
    worst = std::max(worst, this->units(arc_cosine(x), std::acos(static_cast<long double>(x))));
  }
  EXPECT_LE(worst, kAllowedUnits);
}

TYPED_TEST(AngleFunctions, ends_of_the_ranges_are_what_the_c_library_says) {
  using Real = TypeParam;
  const Real pi = std::numbers::pi_v<Real>;
  EXPECT_EQ(arc_tangent(Real(0), Real(0)), 0);
  EXPECT_EQ(arc_tangent(Real(0), Real(2)), 0);
  EXPECT_EQ(arc_tangent(Real(0), Real(-2)), pi);
  EXPECT_EQ(arc_tangent(Real(1), Real(0)), pi / 2);
  EXPECT_EQ(arc_tangent(Real(-1), Real(0)), -pi / 2);
  EXPECT_EQ(arc_tangent(Real(-1), Real(-1)), -3 * pi / 4);
  EXPECT_EQ(arc_cosine(Real(1)), 0);
  EXPECT_EQ(arc_cosine(Real(-1)), pi);
  EXPECT_EQ(sine_cosine(Real(0)).sine, 0);
  EXPECT_EQ(sine_cosine(Real(0)).cosine, 1);
}

TYPED_TEST(AngleFunctions, a_far_angle_keeps_sine_and_cosine_on_the_circle) {
  for (const double angle : {1.1e5, -3e7, 1e12, 1e30}) {
    const auto [sine, cosine] = sine_cosine(static_cast<TypeParam>(angle));
    EXPECT_NEAR(sine * sine + cosine * cosine, 1, 8 * std::numeric_limits<TypeParam>::epsilon()) << angle;
  }
}

TYPED_TEST(AngleFunctions, what_is_not_finite_gives_no_number) {
  constexpr TypeParam kInfinity = std::numeric_limits<TypeParam>::infinity();
  constexpr TypeParam kNone = std::numeric_limits<TypeParam>::quiet_NaN();
  EXPECT_TRUE(std::isnan(sine_cosine(kInfinity).sine));
  EXPECT_TRUE(std::isnan(sine_cosine(kNone).cosine));
  EXPECT_TRUE(std::isnan(arc_tangent(kNone, TypeParam(1))));
  EXPECT_TRUE(std::isnan(arc_tangent(TypeParam(1), kNone)));
  EXPECT_TRUE(std::isnan(arc_cosine(TypeParam(1.5))));
}

}  // namespace
}  // namespace axion::math::angle_functions_test
