// Joints that start beyond their limits: back within a tenth of a second, without violence, at any step. The bounds are
// of the method; an angle of 1 rad rounds by 6e-8 rad in float32, far below them, so that both precisions share them.
#include <algorithm>
#include <cmath>
#include <string>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::joint_limit_test {
namespace {

using testing::Validation;

constexpr double kStart = 0.9;  // rad beyond the limit

// A link of 0.4 m that hangs from a heavy trunk, or from the world, its hinge `kStart` above the upper limit.
model::SceneSpec link_beyond_limit(double mass, double armature, bool on_trunk) {
  model::SceneSpec scene;
  scene.gravity = {0, 0, 0};
  if (on_trunk) scene.bodies.push_back(testing::solid_box("trunk", 10, {0.2, 0.2, 0.2}, {-0.4, 0, 1}));
  const int link = static_cast<int>(scene.bodies.size());
  scene.bodies.push_back(testing::solid_box("link", mass, {0.2, 0.02, 0.02}, {0.2, 0, 1}));
  model::JointSpec joint;
  joint.name = "knee", joint.kind = model::JointKind::kAxes, joint.parent = on_trunk ? 0 : model::kWorldBody,
  joint.child = link;
  joint.axes = {testing::hinge("knee", {0, 1, 0}, {-0.2, 0, 0})};
  joint.axes[0].limited = true, joint.axes[0].lower = -2, joint.axes[0].upper = -kStart;
  joint.axes[0].armature = armature;
  scene.joints = {joint};
  return scene;
}

struct Return {
  double left = 0;     // rad beyond the limit after 0.1 s
  double fastest = 0;  // rad/s
  bool converged = true;
};

template <typename Real>
Return come_back(const model::SceneSpec& scene, const model::SolverOptions& options, double h) {
  testing::SingleWorld<Real> world(scene, options, h);
  Return result;
  for (int k = 0; k < static_cast<int>(std::lround(0.1 / h)); ++k) {
    world.step();
    result.converged &= world.converged() && (world.record().outcome & step::kFallbackBit) == 0;
    result.fastest = std::max(result.fastest, std::abs(double(world.world().axis_rate[0])));
  }
  result.left = double(world.world().axis_position[0]) + kStart;
  return result;
}

template <typename Real>
class Limit : public ::testing::Test {};
TYPED_TEST_SUITE(Limit, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(Limit, brings_a_joint_back_in_its_recovery_time_whatever_its_mass_and_armature) {
  const Validation<TypeParam> validation("joint limits");
  const model::SolverOptions options = model::make_options(model::Preset::kDefault);
  double left = 0, fastest = 0;
  for (const bool on_trunk : {false, true}) {
    for (const double mass : {1.0, 1e-3}) {
      for (const double armature : {0.0, 1.0}) {
        for (const double h : {1e-3, 5e-3, 20e-3, 50e-3, 100e-3}) {
          const Return result = come_back<TypeParam>(link_beyond_limit(mass, armature, on_trunk), options, h);
          // At 100 ms there is one step, which turns it by no more than half a radian.
          left = std::max(left, h < 0.1 ? result.left : result.left - kStart + 0.5);
          fastest = std::max(fastest, result.fastest * options.limit_recovery_time / kStart);
          EXPECT_TRUE(result.converged) << "mass " << mass << " armature " << armature << " h " << h << " trunk "
                                        << on_trunk;
        }
      }
    }
  }
  validation.at_most("0.9 rad beyond a limit: left after 0.1 s, rad", left, 0.01);
  validation.at_most("0.9 rad beyond a limit: speed, of overlap over recovery time", fastest, 1.01);
}

TYPED_TEST(Limit, takes_the_time_that_it_is_given) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.limit_recovery_time = 0.45;
  const Return slow = come_back<TypeParam>(link_beyond_limit(1, 0, false), options, 1e-3);
  EXPECT_NEAR(slow.left, kStart - 0.2, 2e-3);  // 2 rad/s for 0.1 s
  options.limit_recovery_time = 1e6;
  const Return slowest = come_back<TypeParam>(link_beyond_limit(1, 0, false), options, 1e-3);
  EXPECT_NEAR(slowest.left, kStart - 0.1, 2e-3);  // as fast as overlap is pushed out, 1 rad/s
  options.limit_recovery_time = 0;
  const Return at_once = come_back<TypeParam>(link_beyond_limit(1, 0, false), options, 50e-3);
  EXPECT_LT(at_once.left, 1e-3);  // in two steps of at most half a radian
}

TEST(LimitRecoveryTime, out_of_range_is_refused_by_its_name) {
  for (const double value : {-0.1, 2e6, std::nan("")}) {
    model::SolverOptions options = model::make_options(model::Preset::kDefault);
    options.limit_recovery_time = value;
    const Status status = model::validate(options);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().field, "limit_recovery_time");
  }
}

}  // namespace
}  // namespace axion::joint_limit_test
