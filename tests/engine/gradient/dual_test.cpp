// Dual numbers beside plain numbers, whose bits their values have, and beside derivatives by hand.
#include "engine/math/dual.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/lanes/number.hpp"
#include "engine/math/angle_functions.hpp"

namespace axion::math {
namespace {

// x with slopes 1, 2, ... 8.
Dual moving(double x) {
  Dual a(x);
  for (int i = 0; i < kDualLanes; ++i) a.slope.set(i, i + 1);
  return a;
}

void expect(const Dual& found, double value, double slope) {
  EXPECT_EQ(found.value, value);
  for (int i = 0; i < kDualLanes; ++i)
    EXPECT_NEAR(found.slope[i], (i + 1) * slope, 1e-14 * (1 + std::abs((i + 1) * slope)));
}

TEST(Dual, operations_have_the_value_of_plain_numbers_and_the_slopes_of_calculus) {
  const double x = 0.7, y = -1.9;
  const Dual a = moving(x), b(y);
  expect(a + b, x + y, 1), expect(a - b, x - y, 1), expect(b - a, y - x, -1), expect(-a, -x, -1);
  expect(a * b, x * y, y), expect(a * a, x * x, 2 * x);
  expect(a / b, x / y, 1 / y), expect(b / a, y / x, -y / (x * x)), expect(a / a, 1, 0);
  expect(2 * a, 2 * x, 2), expect(1 - a, 1 - x, -1), expect(a / 3, x / 3, 1.0 / 3);
  expect(std::sqrt(a), std::sqrt(x), 0.5 / std::sqrt(x)), expect(std::abs(-a), x, 1), expect(std::abs(a), x, 1);
}

TEST(Dual, angles_and_their_functions_keep_slopes) {
  for (const double x : {-2.9, -0.4, 0.0, 0.3, 1.1, 2.0}) {
    const SineCosine<Dual> turn = sine_cosine(moving(x));
    expect(turn.sine, sine_cosine(x).sine, std::cos(x)), expect(turn.cosine, sine_cosine(x).cosine, -std::sin(x));
    const Dual angle = arc_tangent(turn.sine, turn.cosine);
    EXPECT_NEAR(angle.value, x, 1e-15);
    EXPECT_NEAR(angle.slope[0], 1, 1e-14);
  }
}

TEST(Dual, a_root_at_zero_and_a_rounded_number_have_no_slope) {
  expect(std::sqrt(moving(0)), 0, 0), expect(std::round(moving(2.4)), 2, 0), expect(std::floor(moving(2.4)), 2, 0);
}

TEST(Dual, it_vanishes_only_where_its_slopes_do_and_is_compared_by_value) {
  EXPECT_TRUE(vanishes(Dual(0)));
  Dual one(0);
  one.slope.set(kDualLanes - 1, 1e-300);
  EXPECT_FALSE(vanishes(one));
  EXPECT_TRUE(one == Dual(0) && one < 1 && one > -1);
  EXPECT_EQ(with_value(one, 4).slope[kDualLanes - 1], 1e-300);
}

}  // namespace
}  // namespace axion::math
