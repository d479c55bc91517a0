// Stacks, pyramids and walls of boxes without compliance, which converge and stand whatever they weigh.
//
// A body that stands on a lighter one loads its contacts with many times what they meet in the lighter one, so that
// iterations on single contacts, and Newton's with a proximal term in units of a row's own inertia, creep
// (docs/experiments/0012-rigid-stacks.md). Tolerances of what stands: a contact may be left at a thousandth of g h, so
// a step leaves 1e-3 g h² of a gap, and a tower of n boxes leans by n times as much.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::rigid_stack_test {
namespace {

using testing::Validation;

constexpr double kGravity = 9.81;

struct Stack {
  int count = 10;
  double ratio = 2;     // of each box's weight to that of the one below
  double h = 1.0 / 60;  // s
  double friction = 0.5;
  double half = 0.1;  // m
  double offset = 0;  // of half, and rad, by which boxes are moved and turned about the vertical at most
};

// Numbers of -1 to 1 that look like chance.
double scatter(int i) { return 2 * std::fmod(0.5 + 0.618033988749895 * (i + 1), 1.0) - 1; }

void add_box(model::SceneSpec& scene, double mass, model::Vec3d half, model::Vec3d position, double turn,
             double friction) {
  const int i = static_cast<int>(scene.bodies.size());
  const std::string name = "box" + std::to_string(i);
  scene.bodies.push_back(testing::solid_box(name, mass, half, position));
  scene.bodies.back().X_WB.rotation = {std::cos(turn / 2), 0, 0, std::sin(turn / 2)};
  scene.shapes.push_back(testing::box_shape(name, i, half, friction));
}

model::SceneSpec scene_of(const Stack& s) {
  model::SceneSpec scene;
  scene.shapes = {testing::ground_plane(s.friction)};
  for (int i = 0; i < s.count; ++i) {
    const double x = s.half * s.offset * scatter(3 * i), y = s.half * s.offset * scatter(3 * i + 1);
    add_box(scene, std::pow(s.ratio, i), {s.half, s.half, s.half}, {x, y, s.half * (2 * i + 1)},
            s.offset * scatter(3 * i + 2), s.friction);
  }
  return scene;
}

// Rows of bricks, each shorter by a brick than the one below and `ratio` times as heavy: up to one brick, or a wall of
// eight.
model::SceneSpec bricks(int rows, double ratio, bool pyramid) {
  model::SceneSpec scene;
  scene.shapes = {testing::ground_plane(0.5)};
  for (int r = 0; r < rows; ++r) {
    const int count = (pyramid ? rows : 8) - r;
    for (int k = 0; k < count; ++k) {
      add_box(scene, std::pow(ratio, r), {0.1, 0.05, 0.05}, {0.202 * (k - 0.5 * (count - 1)), 0, 0.05 + 0.1 * r}, 0,
              0.5);
    }
  }
  return scene;
}

struct Standing {
  double converged = 0;  // share of steps
  double moved = 0;      // the furthest a body is from where it was, m
  double deepest = 0;    // penetration in any step, m
};

template <typename Real>
Standing stand(const model::SceneSpec& scene, double h, double seconds, double compliance = 0) {
  model::SolverOptions options = model::make_options(model::Preset::kDefault);
  options.contact_compliance = compliance;
  testing::SingleWorld<Real> world(scene, options, h);
  const int steps = static_cast<int>(std::lround(seconds / h));
  Standing result;
  for (int k = 0; k < steps; ++k) {
    world.step();
    result.converged += world.converged() ? 1.0 / steps : 0.0;
    result.deepest = std::max(result.deepest, double(world.record().max_penetration));
  }
  for (int b = 0; b < static_cast<int>(scene.bodies.size()); ++b) {
    const auto& p = scene.bodies[b].X_WB.position;
    const math::Vec3<double> start{p[0], p[1], p[2]};
    result.moved = std::max(result.moved, math::norm(world.carried(b, start) - start));
  }
  return result;
}

template <typename Real>
class RigidStack : public ::testing::Test {
 protected:
  // `name` of what stands for two seconds.
  void expect_stands(const std::string& name, const Standing& s, double h, int levels) {
    const Validation<Real> validation("rigid stacks");
    const double left = 1e-3 * kGravity * h * h + 16 * std::numeric_limits<Real>::epsilon();
    validation.at_least(name + ": steps converged", s.converged, 0.95);
    validation.at_most(name + ": moved, of what steps may leave", s.moved / (levels * levels * left), 1);
    validation.at_most(name + ": deepest overlap, of what steps may leave", s.deepest / left, 10);
  }
  void expect_stands(const std::string& name, const Stack& s) {
    expect_stands(name, stand<Real>(scene_of(s), s.h, std::max(2.0, 60 * s.h)), s.h, s.count);
  }
};
TYPED_TEST_SUITE(RigidStack, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(RigidStack, stands_whatever_each_box_weighs_beside_the_one_below) {
  for (const double ratio : {0.5, 1.0, 1.2, 1.5, 2.0, 3.0}) {
    for (const double offset : {0.0, 0.02}) {
      Stack s;
      s.ratio = ratio, s.offset = offset;
      this->expect_stands("ten boxes, ratio " + std::to_string(ratio), s);
    }
  }
}

TYPED_TEST(RigidStack, stands_at_any_time_step) {
  for (const double h : {5e-3, 10e-3, 1.0 / 30}) {
    for (const double ratio : {1.5, 3.0}) {
      Stack s;
      s.h = h, s.ratio = ratio, s.offset = 0.01;
      this->expect_stands("ten boxes, step " + std::to_string(h), s);
    }
  }
}

TYPED_TEST(RigidStack, stands_whatever_its_friction_height_and_size) {
  for (const double friction : {0.3, 1.0}) {
    Stack s;
    s.friction = friction, s.offset = 0.01;
    this->expect_stands("ten boxes, friction " + std::to_string(friction), s);
  }
  for (const int count : {5, 15, 20}) {
    Stack s;
    s.count = count, s.ratio = count == 20 ? 1.2 : 2, s.offset = 0.01;
    this->expect_stands(std::to_string(count) + " boxes", s);
  }
  for (const double half : {0.01, 0.5}) {
    Stack s;
    s.half = half, s.offset = 0.01;
    this->expect_stands("ten boxes of half side " + std::to_string(half), s);
  }
}

TYPED_TEST(RigidStack, stands_with_next_to_no_compliance_too) {
  Stack s;
  s.ratio = 3, s.offset = 0.02;
  this->expect_stands("ten boxes, compliance 1e-11 m/N", stand<TypeParam>(scene_of(s), s.h, 2, 1e-11), s.h, s.count);
}

TYPED_TEST(RigidStack, stands_as_a_pyramid_and_as_a_wall_of_bricks) {
  for (const double ratio : {1.0, 2.0}) {
    for (const bool pyramid : {false, true}) {
      const std::string name = std::string(pyramid ? "pyramid" : "wall") + " of bricks, ratio " + std::to_string(ratio);
      this->expect_stands(name, stand<TypeParam>(bricks(5, ratio, pyramid), 1.0 / 60, 1), 1.0 / 60, 5);
    }
  }
}

}  // namespace
}  // namespace axion::rigid_stack_test
