// Functions over Real keep the derivatives of a number that carries them: no cast to double, and no shortcut on a value
// of zero or one, that would drop one. Each case is at a value where such a shortcut would stand.
#include "tests/support/dual.hpp"

#include <gtest/gtest.h>

#include "engine/collide/capsule_box.hpp"
#include "engine/constraints/axis_rows.hpp"
#include "engine/problem/residual.hpp"
#include "engine/world/world_view.hpp"

namespace axion {
namespace {

using math::Quat;
using math::Vec3;
using testing::Dual;

TEST(Derivatives, sines_and_cosines_of_angles_of_any_size_change_with_the_angle) {
  for (const double angle : {0.0, 1e-9, 0.3, -0.7, 0.78539816339744828, 2.0, -5.5, 31.0, 4e4, -2.5e5, 1e9}) {
    const auto plain = math::sine_cosine(angle);
    const auto dual = math::sine_cosine(Dual<double>(angle, 1));
    EXPECT_EQ(dual.sine.value, plain.sine) << angle;
    EXPECT_EQ(dual.cosine.value, plain.cosine) << angle;
    EXPECT_NEAR(dual.sine.slope, plain.cosine, 1e-14) << angle;
    EXPECT_NEAR(dual.cosine.slope, -plain.sine, 1e-14) << angle;
  }
}

// Real numbers of the precision in which plain ones are carried in float64.
TEST(Derivatives, momentum_that_a_step_carries_changes_with_the_velocity) {
  using Real = Dual<float>;
  const Vec3<double> moments{0.4, 1.0, 1.3}, omega{3, -1, 2}, along{0.3, 0.9, -0.2};
  const Quat<double> q = math::exp_rotation(Vec3<double>{0.2, -0.4, 0.9});
  const Quat<double> q_plus = math::exp_rotation(Vec3<double>{0.25, -0.3, 0.8});
  Vec3<Real> moving;
  for (int k = 0; k < 3; ++k) moving[k] = {float(omega[k]), float(along[k])};
  const Vec3<Real> carried =
      constraints::carry_momentum(math::cast<Real>(q), math::cast<Real>(q_plus), math::cast<Real>(moments), moving);
  const double e = 1e-5;
  const Vec3<double> ahead = constraints::carry_momentum(q, q_plus, moments, omega + e * along);
  const Vec3<double> behind = constraints::carry_momentum(q, q_plus, moments, omega - e * along);
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(carried[k].slope, (ahead[k] - behind[k]) / (2 * e), 1e-5) << k;
}

TEST(Derivatives, a_body_of_three_equal_moments_turns_otherwise_when_one_of_them_changes) {
  using Real = Dual<double>;
  const Vec3<double> omega{30, -10, 20};
  const Quat<double> q = math::exp_rotation(Vec3<double>{0.2, -0.4, 0.9});
  const auto turned = [&](double moment) {
    return constraints::split_rotation(q, Vec3<double>{1, 1, moment}, omega, 0.01);
  };
  const Quat<Real> dual = constraints::split_rotation(math::cast<Real>(q), Vec3<Real>{1, 1, Real(1, 1)},
                                                      math::cast<Real>(omega), Real(0.01));
  const double e = 1e-6;
  EXPECT_NEAR(dual.x.slope, (turned(1 + e).x - turned(1 - e).x) / (2 * e), 1e-7);
  EXPECT_NEAR(dual.z.slope, (turned(1 + e).z - turned(1 - e).z) / (2 * e), 1e-7);
  EXPECT_GT(std::abs(dual.x.slope), 1e-3);
}

TEST(Derivatives, an_axis_that_is_all_backward_euler_changes_with_its_share) {
  const double h = 0.01, rate = 0.7;
  const constraints::AxisStep<double> law{{40, 3}, 0.2, h * (h * 40 + 3)};
  const constraints::AxisStep<Dual<double>> same{{40, 3}, 0.2, law.beta};
  const auto dual = constraints::share_out(same, Dual<double>(rate), Dual<double>(h), Dual<double>(h), {1, 1});
  EXPECT_EQ(dual.alpha.value, law.alpha);
  EXPECT_NEAR(dual.beta.value, law.beta, 1e-16);
  const auto below = constraints::share_out(law, rate, h, h, 0.5);  // linear in the share
  EXPECT_NEAR(dual.alpha.slope, (law.alpha - below.alpha) / 0.5, 1e-12);
  EXPECT_NEAR(dual.beta.slope, (law.beta - below.beta) / 0.5, 1e-12);
  EXPECT_GT(std::abs(dual.beta.slope), 1e-3);
}

TEST(Derivatives, an_impulse_of_zero_that_is_about_to_act_is_felt) {
  solver::Impulse<Dual<double>> sum;
  model::Row<Dual<double>> row{};
  row.l = {1, 2, 3};
  sum.add(row, Dual<double>(0, 1), true);
  EXPECT_EQ(sum.linear.y.value, 0);
  EXPECT_EQ(sum.linear.y.slope, 2);
}

// The axis is nearest to the box just where it leaves the slab of a face: moved along, it is so elsewhere.
TEST(Derivatives, the_nearest_point_of_a_capsule_moves_though_it_is_where_the_axis_crosses_a_face) {
  const auto nearest = [](auto y) {
    using Real = decltype(y);
    collide::CapsuleInBox<Real> c{};
    c.p = {1, y, 2}, c.u = {0.5, 0.5, 0.5}, c.half = 3, c.radius = 0.1, c.box = {1, 1, 1};
    return collide::nearest_parameter(c);
  };
  EXPECT_EQ(nearest(-2.0), 0);
  const double e = 1e-6, ahead = (nearest(-2.0 - e) - nearest(-2.0)) / -e,
               behind = (nearest(-2 + e) - nearest(-2.0)) / e;
  const double slope = nearest(Dual<double>(-2, 1)).slope;
  EXPECT_NEAR(slope, ahead, 1e-6) << "of the side on which the axis is beyond the face";
  EXPECT_LT(behind, ahead);
  EXPECT_LT(ahead, -0.5);
}

}  // namespace
}  // namespace axion
