// Rays against shapes: hulls beside the closed forms of the same bodies, and distances beside points that are on no
// shape's surface but where the ray meets it.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "engine/collide/ray_shapes.hpp"

namespace axion::collide::ray_shapes_test {
namespace {

using Vec = math::Vec3<double>;
using model::ShapeKind;

struct Rays {
  std::mt19937 random{3};
  double uniform(double scale) { return std::uniform_real_distribution<double>(-scale, scale)(random); }
  Vec vector(double scale) { return {uniform(scale), uniform(scale), uniform(scale)}; }
  // Towards the shape's neighbourhood, from within and without.
  void next(Vec& p, Vec& d) {
    p = vector(3);
    d = math::normalized(vector(1) - 0.5 * p + vector(0.2));
  }
};

std::vector<double> hull_of(const std::vector<Vec>& points) {
  const std::size_t stride = (points.size() + kHullLanes - 1) / kHullLanes * kHullLanes;
  std::vector<double> numbers(3 * stride);
  for (std::size_t i = 0; i < stride; ++i) {
    const Vec& v = points[i < points.size() ? i : 0];
    for (int k = 0; k < 3; ++k) numbers[static_cast<std::size_t>(k) * stride + i] = v[k];
  }
  return numbers;
}

TEST(RayShapes, a_box_of_vertices_is_met_where_the_box_is) {
  const Vec half{0.7, 1.1, 0.4};
  std::vector<Vec> corners;
  for (int i = 0; i < 8; ++i) {
    corners.push_back({i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z});
  }
  const std::vector<double> numbers = hull_of(corners);
  const Shape<double> box{ShapeKind::kBox, half};
  const Shape<double> mesh{ShapeKind::kMesh, {0.4, math::norm(half), 0}, {numbers.data(), 8, 8}};
  Rays rays;
  int hits = 0;
  for (int k = 0; k < 20000; ++k) {
    Vec p, d;
    rays.next(p, d);
    const double expected = cast_ray(box, p, d);
    hits += expected >= 0;
    ASSERT_NEAR(cast_ray(mesh, p, d), expected, 1e-9) << "ray " << k;
  }
  EXPECT_GT(hits, 5000);
}

// Along axes the ray lies in planes of the hull's faces and edges.
TEST(RayShapes, rays_along_the_axes_of_a_box_of_vertices_end) {
  std::vector<Vec> corners;
  for (int i = 0; i < 8; ++i) corners.push_back({i & 1 ? 1. : -1., i & 2 ? 1. : -1., i & 4 ? 1. : -1.});
  const std::vector<double> numbers = hull_of(corners);
  const Shape<double> mesh{ShapeKind::kMesh, {1, std::sqrt(3.0), 0}, {numbers.data(), 8, 8}};
  EXPECT_NEAR(cast_ray(mesh, {0, 0, 3}, {0, 0, -1}), 2, 1e-12);
  EXPECT_NEAR(cast_ray(mesh, {0.5, 0.5, 3}, {0, 0, -1}), 2, 1e-12);
  EXPECT_NEAR(cast_ray(mesh, {0, 0, 0}, {0, 1, 0}), 1, 1e-12);
  EXPECT_EQ(cast_ray(mesh, {2, 0, 3}, {0, 0, -1}), -1);
  EXPECT_EQ(cast_ray(mesh, {0, 0, 3}, {0, 0, 1}), -1);
}

// Signed size of a point: below 0 inside.
double depth(const Shape<double>& s, const Vec& p) {
  const double across = std::sqrt(p.x * p.x + p.y * p.y);
  switch (s.kind) {
    case ShapeKind::kSphere:
      return math::norm(p) - s.size.x;
    case ShapeKind::kCapsule:
      return math::norm(Vec{p.x, p.y, p.z - std::clamp(p.z, -s.size.y, s.size.y)}) - s.size.x;
    case ShapeKind::kCylinder:
      return std::max(across - s.size.x, std::abs(p.z) - s.size.y);
    case ShapeKind::kEllipsoid:
      return math::norm(Vec{p.x / s.size.x, p.y / s.size.y, p.z / s.size.z}) - 1;
    case ShapeKind::kBox:
      return std::max({std::abs(p.x) - s.size.x, std::abs(p.y) - s.size.y, std::abs(p.z) - s.size.z});
    default:
      return p.z;
  }
}

TEST(RayShapes, a_ray_meets_every_kind_at_the_first_point_of_its_surface) {
  for (const Shape<double>& shape :
       {Shape<double>{ShapeKind::kSphere, {0.8, 0, 0}}, Shape<double>{ShapeKind::kCapsule, {0.4, 0.9, 0}},
        Shape<double>{ShapeKind::kCylinder, {0.6, 0.5, 0}}, Shape<double>{ShapeKind::kEllipsoid, {0.5, 0.9, 1.2}},
        Shape<double>{ShapeKind::kBox, {0.5, 0.9, 0.7}}}) {
    Rays rays;
    for (int k = 0; k < 3000; ++k) {
      Vec p, d;
      rays.next(p, d);
      const double at = cast_ray(shape, p, d), side = depth(shape, p) < 0 ? -1 : 1;
      if (at >= 0) {
        ASSERT_NEAR(depth(shape, p + at * d), 0, 1e-9);
      }
      const double end = at >= 0 ? at : 8;  // before it the ray stays on the side where it began
      for (int i = 1; i < 60; ++i) ASSERT_GT(side * depth(shape, p + (end * i / 60.0) * d), -1e-9);
    }
  }
}

TEST(RayShapes, a_plane_is_met_from_above_alone) {
  const Shape<double> plane{ShapeKind::kPlane, {}};
  EXPECT_NEAR(cast_ray(plane, {0, 0, 2}, {0, 0.6, -0.8}), 2.5, 1e-15);
  EXPECT_EQ(cast_ray(plane, {0, 0, 2}, {0, 0.6, 0.8}), -1);
  EXPECT_EQ(cast_ray(plane, {0, 0, -2}, {0, 0, 1}), -1);
  EXPECT_EQ(cast_ray(plane, {0, 0, 2}, {0, 1, 0}), -1);
}

}  // namespace
}  // namespace axion::collide::ray_shapes_test
