// Heaps of cylinders, ellipsoids and hulls, for tests and programs that step them.
#pragma once

#include <cmath>
#include <random>
#include <string>

#include "engine/model/scene_spec.hpp"
#include "tests/support/scenes.hpp"

namespace axion::testing {

// Corners of a box and of a frustum, a cut ball: hulls of 8 to 40 vertices about 0.1 m wide.
inline model::MeshSpec hull_mesh(int which) {
  model::MeshSpec mesh{"hull" + std::to_string(which), {}};
  std::mt19937 random(static_cast<unsigned>(which) + 1);
  std::uniform_real_distribution<double> uniform(-1, 1);
  if (which % 3 == 0) {
    for (int k = 0; k < 8; ++k) {
      const double top = (k & 4) != 0 ? 0.7 : 1.0;
      mesh.vertices.push_back({(k & 1) != 0 ? 0.1 * top : -0.1 * top, (k & 2) != 0 ? 0.08 * top : -0.08 * top,
                               (k & 4) != 0 ? 0.06 : -0.06});
    }
  } else if (which % 3 == 1) {
    for (int k = 0; k < 40; ++k) {
      model::Vec3d p{uniform(random), uniform(random), uniform(random)};
      const double length = std::sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
      mesh.vertices.push_back({0.1 * p[0] / length, 0.1 * p[1] / length, std::max(-0.05, 0.08 * p[2] / length)});
    }
  } else {
    for (int k = 0; k < 6; ++k) {
      for (double z : {-0.05, 0.05})
        mesh.vertices.push_back({0.09 * std::cos(k * M_PI / 3), 0.09 * std::sin(k * M_PI / 3), z});
    }
  }
  return mesh;
}

inline model::ShapeSpec convex_shape(model::ShapeKind kind, int body) {
  model::ShapeSpec shape;
  shape.name = "shape" + std::to_string(body), shape.kind = kind, shape.body = body, shape.friction = 0.5;
  if (kind == model::ShapeKind::kCylinder) shape.size = {0.06 + 0.02 * (body % 3), 0.05 + 0.03 * (body % 2), 0};
  if (kind == model::ShapeKind::kEllipsoid) shape.size = {0.1, 0.07 + 0.01 * (body % 3), 0.06};
  if (kind == model::ShapeKind::kBox) shape.size = {0.09, 0.08, 0.06};
  if (kind == model::ShapeKind::kMesh) shape.mesh = "hull" + std::to_string(body % 3);
  return shape;
}

// `count` bodies of about 1 kg that fall on a plane in layers of nine between walls, each turned another way.
template <typename Kinds>
model::SceneSpec convex_heap(int count, const Kinds& kinds, int per_side = 3) {
  model::SceneSpec scene;
  scene.shapes = {ground_plane(0.5)};
  for (int k = 0; k < 3; ++k) scene.meshes.push_back(hull_mesh(k));
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const double wall = 0.125 * per_side + 0.02;
  for (int side = 0; side < 4; ++side) {
    model::ShapeSpec plane = ground_plane(0.1);
    plane.name = "wall" + std::to_string(side);
    const double angle = side * M_PI / 2;
    plane.X_BS.position = {-wall * std::cos(angle), -wall * std::sin(angle), 0};
    // The normal, z, turned to look inwards: about y, then about z.
    const double c = std::cos(angle / 2), s = std::sin(angle / 2), r = std::sqrt(0.5);
    plane.X_BS.rotation = {c * r, -s * r, c * r, s * r};
    scene.shapes.push_back(plane);
  }
  const int layer_size = per_side * per_side;
  for (int i = 0; i < count; ++i) {
    const double x = 0.25 * (i % per_side - 0.5 * (per_side - 1)),
                 y = 0.25 * (i / per_side % per_side - 0.5 * (per_side - 1));
    scene.bodies.push_back(solid_box("body" + std::to_string(i), 1 + 0.2 * (i % 3), {0.07, 0.07, 0.06},
                                     {x, y, 0.14 + 0.25 * (i / layer_size)}));
    scene.bodies.back().X_WB.rotation = {normal(random), normal(random), normal(random), normal(random)};
    scene.shapes.push_back(convex_shape(kinds[static_cast<std::size_t>(i) % kinds.size()], i));
  }
  return scene;
}

}  // namespace axion::testing
