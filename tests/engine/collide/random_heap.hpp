// Worlds with enough shapes for pairs to be swept, drawn at random.
#pragma once

#include <random>
#include <string>

#include "tests/support/scenes.hpp"
#include "tests/support/single_world.hpp"

namespace axion::testing {

// `count` bodies of all shapes and many sizes, some with bits that keep them apart, a floor, and a block of the world.
inline model::SceneSpec random_heap(int count, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  model::SceneSpec scene;
  scene.shapes.push_back(ground_plane(0.5));
  for (int i = 0; i < count; ++i) {
    const double size = 0.05 + (i % 20 == 0 ? 0.6 : 0.15) * unit(random);
    scene.bodies.push_back(solid_box("b" + std::to_string(i), 1, {size, size, size},
                                     {4 * unit(random), 3 * unit(random), 6 * unit(random)}));
    model::ShapeSpec shape = box_shape("s" + std::to_string(i), i, {size, size / 2, size}, 0.5);
    shape.kind =
        i % 3 == 0 ? model::ShapeKind::kBox : (i % 3 == 1 ? model::ShapeKind::kSphere : model::ShapeKind::kCapsule);
    if (i % 7 == 0) shape.contact_affinity = 0;
    scene.shapes.push_back(shape);
    if (i == count / 2) scene.shapes.push_back(box_shape("block", model::kWorldBody, {0.5, 0.5, 2}, 0.5));
    if (i % 11 == 1) scene.excludes.push_back({i - 1, i});
  }
  return scene;
}

template <typename Real>
math::Vec3<Real> random_vector(double size, std::mt19937& random) {
  std::normal_distribution<double> normal;
  const double x = normal(random), y = normal(random), z = normal(random);  // in this order whatever the compiler
  return {Real(size * x), Real(size * y), Real(size * z)};
}

}  // namespace axion::testing
