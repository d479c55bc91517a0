// Bodies that come to rest on each other: forces of statics, penetration, drift.
#include <cmath>
#include <cstdio>

#include "tests/physics/exact_options.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::resting_test {
namespace {

using testing::allowed;
using testing::as_made;
using testing::epsilon;
using testing::Validation;

constexpr double kGravity = 9.81;

template <typename Real>
class TwoBoxes : public ::testing::Test {};
TYPED_TEST_SUITE(TwoBoxes, testing::Precisions, testing::PrecisionNames);

// The greatest of each figure in any step of 5 s, after 2 s in which the boxes settle; and of the forces' mean.
struct Resting {
  double force = 0, mean_force = 0, penetration = 0, drift = 0, corner_force = 0;
  void take_greatest(const Resting& r) {
    force = std::max(force, r.force), mean_force = std::max(mean_force, r.mean_force);
    penetration = std::max(penetration, r.penetration), drift = std::max(drift, r.drift);
    corner_force = std::max(corner_force, r.corner_force);
  }
};

// 100 kg on 1 kg on a plane.
template <typename Real>
Resting rest(const model::SolverOptions& options, double h) {
  testing::SingleWorld<Real> world(testing::box_stack(2, 100), options, h);
  auto& w = world.world();
  world.step(static_cast<int>(2 / h));
  const math::Vec3<Real> start[] = {w.x[0], w.x[1]};
  Resting worst;
  const int steps = static_cast<int>(5 / h);
  double sum_both = 0, sum_top = 0;
  for (int k = 0; k < steps; ++k) {
    world.step();
    double under_both = 0, under_top = 0;
    for (int i = 0; i < world.record().contact_count; ++i) {
      const double force = w.lambda_contact[3 * i] / as_made<Real>(h);
      (w.contacts[i].body_b < 0 ? under_both : under_top) += force;
      worst.corner_force = std::max(worst.corner_force, force);
      worst.penetration = std::max(worst.penetration, -double(w.contact_gap[i]));  // along the normal of the step
    }
    worst.force = std::max(
        {worst.force, std::abs(under_both / (101 * kGravity) - 1), std::abs(under_top / (100 * kGravity) - 1)});
    // What the gaps are in the poses that the step made.
    worst.penetration =
        std::max({worst.penetration, 0.1 - double(w.x[0].z), 0.2 - (double(w.x[1].z) - double(w.x[0].z))});
    sum_both += under_both / steps, sum_top += under_top / steps;
    for (int b = 0; b < 2; ++b) worst.drift = std::max(worst.drift, double(math::norm(w.x[b] - start[b])));
  }
  worst.mean_force = std::max(std::abs(sum_both / (101 * kGravity) - 1), std::abs(sum_top / (100 * kGravity) - 1));
  return worst;
}

TYPED_TEST(TwoBoxes, carry_the_weight_above_them_without_penetration_or_drift) {
  using Real = TypeParam;
  Resting worst;
  for (const double h : {1e-3, 1.0 / 60}) worst.take_greatest(rest<Real>(testing::exact_options(), h));
  // float32: heights of z = 0.3 m round by ε/2 · z, and rows at position level ask for the velocity that undoes it
  // within the step: ±ε z/h, which is a force of ε z/(g h²) of the weight above in single steps, 3.7e-3 at 1 ms. It has
  // no mean over N = 5000 steps: what is left is a whole change of velocity, 1/N of it, and the stop test's 4ε on the
  // light box between forces of a hundred times its weight, 8 corners · 4ε = 4e-6. Gaps round alike: 16ε m in the stop
  // test.
  const double in_a_step = epsilon<float>() * 0.3 / (kGravity * 1e-6);
  const Validation<Real> row("two boxes");
  row.at_most("normal forces against the weight above, every step, relative", worst.force,
              allowed<Real>(1e-6, in_a_step));
  row.at_most("the same, mean of 5 s", worst.mean_force, allowed<Real>(1e-6, in_a_step / 5000 + 32 * epsilon<float>()));
  row.at_most("penetration, m", worst.penetration, allowed<Real>(1e-6, 2e-6));
  row.at_most("drift in 5 s, m", worst.drift, allowed<Real>(1e-9, 2e-6));
}

// With the contact compliance of preset DEFAULT each corner sinks by it times its force; the answer is otherwise the
// same.
TYPED_TEST(TwoBoxes, sink_by_no_more_than_the_compliance_of_preset_default) {
  using Real = TypeParam;
  const model::SolverOptions options = model::make_options(model::Preset::kDefault);
  Resting worst;
  for (const double h : {1e-3, 1.0 / 60}) worst.take_greatest(rest<Real>(options, h));
  // float32: compliance takes the noise of position rows away (the test above says what it would be); the stop test's
  // rounding stays. The stop test itself may leave a thousandth of g·h, in either precision.
  const Validation<Real> row("two boxes");
  row.at_most("preset DEFAULT: normal forces against the weight above, every step, relative", worst.force,
              allowed<Real>(1e-6, 1e-3));
  row.at_most("preset DEFAULT: penetration, m, against compliance · greatest force on a corner", worst.penetration,
              1.01 * options.contact_compliance * worst.corner_force);
  // The first step carries half of the weight, the next all of it: the boxes sink by the other half's share as slowly
  // as the stop test lets them.
  row.at_most("preset DEFAULT: drift in 5 s, m", worst.drift, allowed<Real>(1e-8, 2e-6));
}

template <typename Real>
class Restitution : public ::testing::Test {};
TYPED_TEST_SUITE(Restitution, testing::Precisions, testing::PrecisionNames);

// Height that a sphere reaches again after it fell 1 m.
template <typename Real>
double rebound_height(double e, double h) {
  model::SceneSpec scene = testing::sphere_on_plane(0.1, 0.5);
  scene.bodies[0].X_WB.position[2] += 1;
  for (model::ShapeSpec& shape : scene.shapes) shape.restitution = e;
  testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kVelocity), h);
  auto& w = world.world();
  const double fall = std::sqrt(2 / kGravity);
  world.step(static_cast<int>((fall + 0.01) / h));  // it has met the ground
  double top = 0;
  for (int k = 0; k < static_cast<int>(fall / h); ++k) {
    world.step();
    top = std::max(top, double(w.x[0].z) - 0.1);
  }
  return top;
}

TYPED_TEST(Restitution, throws_a_dropped_sphere_back_to_the_square_of_its_coefficient) {
  using Real = TypeParam;
  const double h = 1e-4;
  // The same figures in float32: 4515 steps round a speed of 4.4 m/s by ε/2 each, at most 3e-4 of it and 6e-4 of the
  // height.
  const Validation<Real> row("restitution");
  row.at_most("e = 0: height of the rebound, m", rebound_height<Real>(0, h), 1e-4);
  for (const double e : {0.3, 0.6, 1.0}) {
    char name[80];
    std::snprintf(name, sizeof(name), "e = %.1f: height of the rebound against e² · 1 m, relative", e);
    row.at_most(name, std::abs(rebound_height<Real>(e, h) / (e * e) - 1), 0.01);
  }
}

template <typename Real>
class BouncelessDrop : public ::testing::Test {};
TYPED_TEST_SUITE(BouncelessDrop, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(BouncelessDrop, leaves_no_energy_and_no_overlap) {
  testing::SingleWorld<TypeParam> world(testing::box_stack(1, 1), model::make_options(model::Preset::kDefault), 0.005);
  auto& w = world.world();
  w.x[0].z += 1;
  double deepest = 0;
  for (int k = 0; k < 400; ++k) {
    world.step();
    deepest = std::max(deepest, double(world.record().max_penetration));
    ASSERT_TRUE(world.converged()) << "step " << k;
  }
  // The bounds are of the compliance of preset DEFAULT, the same in both precisions: a height of 0.1 m rounds by 6e-9
  // m.
  const Validation<TypeParam> row("drop without rebound");
  row.at_most("height after 2 s against that of rest, m", std::abs(double(w.x[0].z) - 0.1), 1e-5);
  row.at_most("deepest overlap in any step, m", deepest, 1e-4);
}

}  // namespace
}  // namespace axion::resting_test
