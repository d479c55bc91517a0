// Where Newton starts: at the last velocities, or half of them where they end in an impact.
#include <gtest/gtest.h>

#include "tests/engine/problem/newton_system.hpp"
#include "tests/support/validation.hpp"

namespace axion::newton_start_test {
namespace {

template <typename Real>
class NewtonStart : public ::testing::Test {};
TYPED_TEST_SUITE(NewtonStart, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(NewtonStart, is_at_the_last_velocities_or_half_of_them_before_an_impact_with_the_impulses_of_the_last_step) {
  testing::NewtonSystem<TypeParam> system(testing::sphere_on_plane(0.1, 0.5),
                                          model::make_options(model::Preset::kDefault), 1);
  const auto& p = system.problem();
  const auto& w = p.w;
  ASSERT_EQ(p.contact_count, 1);
  const TypeParam impulse = 3;
  w.warm_count[0] = 1;
  w.warm[0] = {w.contacts[0].pair, w.contacts[0].feature, impulse, 0, {}};
  const math::Vec3<TypeParam> omega{1, 2, 3};
  w.omega[0] = omega;
  for (const double gap : {0.0, 0.004, -0.002}) {
    for (const double depth : {-0.003, 0.0009, 0.0011, 0.05}) {  // a tenth of the margin is 1 mm
      w.contacts[0].gap = TypeParam(gap);
      w.v[0] = {2, 0, -TypeParam((gap + depth) / double(p.s.dt))};
      solver::start_at_last(team::SerialTeam{}, p);
      const TypeParam share = depth > 0.001 ? TypeParam(0.5) : TypeParam(1);
      for (int k = 0; k < 3; ++k) {
        EXPECT_EQ(w.v_plus[0][k], share * w.v[0][k]) << "gap " << gap << " depth " << depth << " component " << k;
        EXPECT_EQ(w.omega_plus[0][k], share * omega[k]) << "gap " << gap << " depth " << depth << " component " << k;
      }
      EXPECT_EQ(w.lambda[p.contact_base()], impulse);
    }
  }
}

}  // namespace
}  // namespace axion::newton_start_test
