// Piles at large steps: a converged step leaves nothing through each other that it does not name, and says how deep.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "engine/collide/find_contacts.hpp"
#include "engine/math/mat3.hpp"
#include "engine/model/shape_pairs.hpp"
#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"
#include "tests/support/validation.hpp"

namespace axion::large_step_pile_test {
namespace {

using testing::Validation;

// Balls and boxes in turns, turned and shifted a little, in loose layers of 25 that fall on a plane and each other.
model::SceneSpec falling_heap(int count) {
  model::SceneSpec scene;
  scene.shapes = {testing::ground_plane(0.5)};
  unsigned seed = 12345;
  const auto noise = [&] { return seed = seed * 1664525u + 1013904223u, (seed >> 8) / double(1 << 24) - 0.5; };
  for (int i = 0; i < count; ++i) {
    const std::string name = "body" + std::to_string(i);
    model::BodySpec body = testing::solid_box(name, 1 + 0.5 * (i % 3), {0.1, 0.1, 0.1}, {});
    for (int k = 0; k < 2; ++k) body.X_WB.position[k] = 0.3 * ((k == 0 ? i : i / 5) % 5 - 2) + 0.06 * noise();
    body.X_WB.position[2] = 0.2 + 0.3 * (i / 25);
    const double x = noise(), y = noise(), z = noise(), w = std::sqrt(1 - x * x - y * y - z * z);
    body.X_WB.rotation = {w, x, y, z};
    scene.bodies.push_back(body);
    scene.shapes.push_back(i % 2 == 0 ? testing::sphere_shape(name, i, 0.1, 0.5)
                                      : testing::box_shape(name, i, {0.1, 0.1, 0.1}, 0.5));
  }
  return scene;
}

template <typename Real>
collide::ShapePose<Real> pose_of(const testing::SingleWorld<Real>& world, const model::ShapeData<Real>& shape) {
  const auto& w = world.world();
  if (shape.body < 0) return {shape.p_CS, math::to_matrix(shape.q_CS)};
  const math::Quat<Real>& q = w.q[shape.body];
  return {w.x[shape.body] + math::rotate(q, shape.p_CS), math::to_matrix(q * shape.q_CS)};
}

// Overlaps in the poses that a step made: the deepest, and the deepest of a pair that has no contact in the step.
struct Overlap {
  double deepest = 0, unnamed = 0;
};

// The numbers of all pairs that may touch.
template <typename Real>
std::vector<int> pairs_of(const model::ModelView<Real>& m) {
  std::vector<int> pairs;
  if (model::lists_pairs(m)) {
    for (int i = 0; i < m.pair_count; ++i) pairs.push_back(i);
    return pairs;
  }
  for (int a = 0; a < m.shape_count; ++a) {
    for (int b = a + 1; b < m.shape_count; ++b) {
      if (const int pair = model::pair_number(m, a, b); pair >= 0) pairs.push_back(pair);
    }
  }
  return pairs;
}

template <typename Real>
Overlap overlap_of(const testing::SingleWorld<Real>& world) {
  const model::ModelView<Real> m = world.model();
  const auto& w = world.world();
  Overlap overlap;
  for (const int i : pairs_of(m)) {
    const model::PairData<Real> pair = model::pair_data(m, i);
    const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
    collide::ContactPoint<Real> points[collide::kMaxPairContacts];
    const int found = collide::collide_pair(collide::shape_of(m, a), pose_of(world, a), collide::shape_of(m, b),
                                            pose_of(world, b), Real(0), points);
    double depth = 0;
    for (int k = 0; k < found; ++k) depth = std::max(depth, -double(points[k].gap));
    const bool named = std::any_of(w.contacts.begin(), w.contacts + world.record().contact_count,
                                   [&](const model::Contact<Real>& c) { return c.pair == i; });
    overlap.deepest = std::max(overlap.deepest, depth);
    if (!named) overlap.unnamed = std::max(overlap.unnamed, depth);
  }
  return overlap;
}

template <typename Real>
class LargeStepPile : public ::testing::Test {};
TYPED_TEST_SUITE(LargeStepPile, testing::Precisions, testing::PrecisionNames);

TYPED_TEST(LargeStepPile, names_every_overlap_that_a_converged_step_leaves_and_reports_the_deepest) {
  using Real = TypeParam;
  const Validation<Real> validation("falling pile");
  for (const double h : {0.05, 0.1}) {
    testing::SingleWorld<Real> world(falling_heap(150), model::make_options(model::Preset::kDefault), h);
    const double margin = world.settings().contact_margin;
    double unnamed = 0, unreported = 0, added = 0, before = 0;
    int converged = 0;
    const int steps = static_cast<int>(1.5 / h);
    for (int k = 0; k < steps; ++k) {
      world.step();
      const Overlap overlap = overlap_of(world);
      const double more = overlap.deepest - std::exchange(before, overlap.deepest);
      if (!world.converged()) continue;
      ++converged;
      added = std::max(added, more);
      unnamed = std::max(unnamed, overlap.unnamed);
      unreported = std::max(unreported, overlap.deepest - double(world.record().max_penetration));
    }
    // A tenth of the margin is what turning may bring about without being looked for. Faces of boxes that slide past
    // each other by their own size within a step are seen by the corners that they had before: 2 mm of bodies of 200
    // mm. Places of 2 m round by 1e-7 m in float32: the same bounds.
    const std::string name = "150 balls and boxes, " + std::to_string(static_cast<int>(1e3 * h)) + " ms: ";
    validation.at_most(name + "overlap without a contact after a converged step, m", unnamed, 0.3 * margin);
    validation.at_most(name + "overlap beyond max_penetration after a converged step, m", unreported, 0.3 * margin);
    // What turns by a radian in a step may end deeper than its contacts say, and has not converged then.
    validation.at_most(name + "overlap that a converged step adds, m", added, 0.6 * margin);
    validation.at_least(name + "steps converged", double(converged) / steps, 0.5);
  }
}

// Thin discs that spin fly at a thin wall. In the step in which one comes near, the plane of the contact that is made
// at first is not that of the contact by which it is stopped: the overlap that is told of is that in the result.
TYPED_TEST(LargeStepPile, reports_no_overlap_that_is_not_there) {
  using Real = TypeParam;
  const Validation<Real> validation("discs that spin at a wall");
  unsigned seed = 99;
  const auto draw = [&] { return seed = seed * 1664525u + 1013904223u, (seed >> 8) / double(1 << 24); };
  double overstated = 0;
  int stopped = 0;
  for (int k = 0; k < 150; ++k) {
    model::SceneSpec scene;
    scene.gravity = {0, 0, 0};
    const model::Vec3d half{0.03 + 0.09 * draw(), 0.03 + 0.09 * draw(), 0.002};
    scene.bodies = {testing::solid_box("disc", 0.2, half, {-0.4, 0.013, 0.021})};
    model::ShapeSpec disc = testing::box_shape("disc", 0, half, 0.5);
    disc.kind = model::ShapeKind::kEllipsoid;
    scene.shapes = {testing::box_shape("wall", model::kWorldBody, {0.001, 1, 1}, 0.5), disc};
    testing::SingleWorld<Real> world(scene, model::make_options(model::Preset::kDefault), 0.02);
    auto& w = world.world();
    w.v[0] = {Real(4 + 20 * draw()), 0, 0};
    w.omega[0] = {Real(160 * draw() - 80), Real(160 * draw() - 80), Real(160 * draw() - 80)};
    for (int step = 0; step < 12; ++step) {
      world.step();
      stopped += world.record().contact_count;
      if (!world.converged()) continue;
      overstated = std::max(overstated, double(world.record().max_penetration) - overlap_of(world).deepest);
    }
  }
  validation.at_least("contacts", stopped, 100);
  validation.at_most("overlap told of beyond that in a converged step, m", overstated, 1e-3);
}

}  // namespace
}  // namespace axion::large_step_pile_test
