// Loops with more rows than they need, solved to what rounding allows: each step converges at any tolerance that is
// accepted.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::redundant_loop_test {
namespace {

using testing::allowed;
using testing::Validation;

using Point = model::Vec3d;

// Bars in the plane y = 0, joined at their ends.
struct Linkage {
  model::SceneSpec scene;
  double mass;

  int bar(const Point& from, const Point& to) {
    const double dx = to[0] - from[0], dz = to[2] - from[2], length = std::hypot(dx, dz), angle = std::atan2(-dz, dx);
    const std::string name = "bar" + std::to_string(scene.bodies.size());
    model::BodySpec body =
        testing::solid_box(name, mass, {length / 2, 0.03, 0.03}, {(from[0] + to[0]) / 2, 0, (from[2] + to[2]) / 2});
    body.X_WB.rotation = {std::cos(angle / 2), 0, std::sin(angle / 2), 0};
    scene.bodies.push_back(body);
    half.push_back(length / 2);
    return static_cast<int>(scene.bodies.size()) - 1;
  }
  // At the start (-1) or end (1) of the child.
  void hinge(int parent, int child, int end) {
    model::JointSpec joint;
    joint.name = "joint" + std::to_string(scene.joints.size()), joint.kind = model::JointKind::kAxes;
    joint.parent = parent, joint.child = child;
    joint.axes = {testing::hinge(joint.name, {0, 1, 0}, {end * half[child], 0, 0})};
    scene.joints.push_back(joint);
  }
  void weld(int parent, int child, int end) {
    hinge(parent, child, end);
    scene.joints.back().kind = model::JointKind::kFixed;
    scene.joints.back().axes.clear(), scene.joints.back().anchor = {end * half[child], 0, 0};
  }
  std::vector<double> half;
};

constexpr int kWorld = model::kWorldBody;

model::SceneSpec four_bar(double mass) {
  Linkage l{{}, mass, {}};
  const int crank = l.bar({0, 0, 0}, {0, 0, 0.3}), coupler = l.bar({0, 0, 0.3}, {1, 0, 0.8}),
            rocker = l.bar({1, 0, 0}, {1, 0, 0.8});
  l.hinge(kWorld, crank, -1), l.hinge(crank, coupler, -1), l.hinge(coupler, rocker, 1), l.hinge(kWorld, rocker, -1);
  return l.scene;
}

// Four bars on hinges; the last is welded to the first.
model::SceneSpec welded_ring(double mass) {
  Linkage l{{}, mass, {}};
  const int a = l.bar({0, 0, 0}, {0, 0, 1}), b = l.bar({0, 0, 1}, {1, 0, 1}), c = l.bar({1, 0, 0}, {1, 0, 1});
  const int d = l.bar({1, 0, 0}, {2, 0, 0.2});
  l.hinge(kWorld, a, -1), l.hinge(a, b, -1), l.hinge(b, c, 1), l.hinge(c, d, -1), l.weld(a, d, 1);
  return l.scene;
}

model::SceneSpec two_windows(double mass) {
  Linkage l{{}, mass, {}};
  int vertical[3], coupler[2];
  for (int i = 0; i < 3; ++i) vertical[i] = l.bar({1.0 * i, 0, 0}, {1.0 * i, 0, 1});
  for (int i = 0; i < 2; ++i) coupler[i] = l.bar({1.0 * i, 0, 1}, {1.0 * i + 1, 0, 1});
  for (int i = 0; i < 3; ++i) l.hinge(kWorld, vertical[i], -1);
  for (int i = 0; i < 2; ++i) l.hinge(vertical[i], coupler[i], -1), l.hinge(vertical[i + 1], coupler[i], 1);
  return l.scene;
}

// A door with two hinges on one line: five of its rows are there twice.
model::SceneSpec door(double mass) {
  model::SceneSpec scene;
  scene.bodies = {testing::solid_box("door", mass, {0.5, 0.02, 1}, {0.5, 0, 1})};
  for (int i = 0; i < 2; ++i) {
    model::JointSpec joint;
    joint.name = "hinge" + std::to_string(i), joint.kind = model::JointKind::kAxes, joint.parent = kWorld,
    joint.child = 0;
    joint.axes = {testing::hinge(joint.name, {0, 0, 1}, {-0.5, 0, 1.6 * i - 0.8})};
    scene.joints.push_back(joint);
  }
  return scene;
}

template <typename Real>
class RedundantLoop : public ::testing::Test {};
TYPED_TEST_SUITE(RedundantLoop, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(RedundantLoop, converges_at_every_tolerance_without_falling_back) {
  using Real = TypeParam;
  const Validation<Real> validation("redundant loops");
  struct Case {
    const char* name;
    model::SceneSpec (*make)(double);
  };
  for (const Case& c : {Case{"four-bar", four_bar}, Case{"ring with a weld", welded_ring},
                        Case{"two windows", two_windows}, Case{"door on two hinges", door}}) {
    for (const auto preset : {model::Preset::kDefault, model::Preset::kVelocity}) {
      double converged = 1, together = 0;
      int most = 0, fallbacks = 0;
      for (const double tolerance : {1e-3, 1e-6, 1e-9, 1e-12}) {
        for (const double h : {1e-3, 20e-3}) {
          model::SolverOptions options = model::make_options(preset);
          options.tolerance = tolerance;
          testing::SingleWorld<Real> world(c.make(h < 0.01 ? 1 : 30), options, h);
          for (int b = 0; b < world.model().body_count; ++b) world.world().omega[b].z = c.make == door ? 1 : 0;
          const int steps = static_cast<int>(1 / h);
          int count = 0;
          for (int k = 0; k < steps; ++k) {
            world.step();
            count += world.converged() ? 1 : 0;
            most = std::max(most, world.record().newton_iterations);
            fallbacks += (world.record().outcome & step::kFallbackBit) != 0 ? 1 : 0;
            if (tolerance < 1e-10) together = std::max(together, double(world.record().max_joint_error));
          }
          converged = std::min(converged, double(count) / steps);
        }
      }
      const std::string name = std::string(c.name) + (preset == model::Preset::kDefault ? "" : ", VELOCITY") + ": ";
      validation.at_least(name + "steps converged, tolerance 1e-3 to 1e-12", converged, 1.0);
      validation.at_most(name + "Newton iterations, most", most, allowed<Real>(8, 32));
      EXPECT_EQ(fallbacks, 0) << name;
      // Position level: 16ε of a metre. Velocity level leaves errors of h² (omega h)² of which it takes back a fifth a
      // step.
      if (preset != model::Preset::kDefault) continue;
      validation.at_most(name + "joints together at tolerance 1e-12, m", together, allowed<Real>(1e-14, 1e-5));
    }
  }
}

// Four bars, closed by a ball, with hinges that are parallel to so many rad only, as in files that give five digits: a
// motion opens the loop by that times its way, which no motion takes back.
model::SceneSpec skew_four_bar(double skew) {
  Linkage l{{}, 0.1, {}};
  const int crank = l.bar({0, 0, 0}, {0.06, 0, 0}), rod = l.bar({0.06, 0, 0}, {0.16, 0, -0.35}),
            rocker = l.bar({0.11, 0, -0.35}, {0.16, 0, -0.35});
  l.hinge(kWorld, crank, -1), l.hinge(crank, rod, -1), l.hinge(kWorld, rocker, -1), l.weld(rod, rocker, 1);
  model::SceneSpec scene = l.scene;
  scene.joints.back().kind = model::JointKind::kBall;
  const double turns[3][2] = {{1, -1}, {-1, 1}, {1, 2}};
  for (int j = 0; j < 3; ++j) {
    const double x = skew * turns[j][0], z = skew * turns[j][1], length = std::hypot(1, std::hypot(x, z));
    scene.joints[j].axes[0].axis = {x / length, 1 / length, z / length};
  }
  return scene;
}

TYPED_TEST(RedundantLoop, whose_hinges_are_parallel_to_some_digits_swings_without_being_thrown) {
  using Real = TypeParam;
  const Validation<Real> validation("loops that nearly depend");
  for (const double skew : {5e-6, 2e-5, 2e-4}) {
    for (const double h : {5e-4, 2e-3}) {
      testing::SingleWorld<TypeParam> world(skew_four_bar(skew), model::make_options(model::Preset::kDefault), h);
      const double start = world.energy();
      double most = start, open = 0;
      int converged = 0;
      const int steps = static_cast<int>(0.4 / h);
      for (int k = 0; k < steps; ++k) {
        world.step();
        converged += world.converged() ? 1 : 0;
        most = std::max(most, double(world.energy()));
        open = std::max(open, double(world.record().max_joint_error));
      }
      char name[64];
      std::snprintf(name, sizeof(name), "skew %g, step of %g s: ", skew, h);
      // In float64 locks are rigid to any load, and many of these steps do not converge.
      if constexpr (std::is_same_v<Real, float>) {
        validation.at_least(std::string(name) + "steps converged", double(converged) / steps, 0.99);
      }
      // Gravity has 0.3 J for its bars in all; rigid to any load they gained 70 J.
      validation.at_most(std::string(name) + "energy gained, J", most - start, 0.05);
      // What the skew opens as bars of 0.35 m turn, and no more.
      validation.at_most(std::string(name) + "open, m", open, 2 * skew + 2e-5);
    }
  }
}

}  // namespace
}  // namespace axion::redundant_loop_test
