// What the tests know of shapes without the code under test: support functions, distances of points, random scenes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "engine/collide/collide_pair.hpp"
#include "engine/math/quat.hpp"

namespace axion::collide::oracle {

using model::ShapeKind;
using Vec = math::Vec3<double>;
using Mat = math::Mat3<double>;

// A shape in its place, in double precision whatever the precision under test.
struct Placed {
  Shape<double> shape;
  ShapePose<double> X;
};

// Greatest n · (p − origin of the shape) over the points p of the shape; a plane: infinite but along its normal.
inline double support(const Placed& a, const Vec& n) {
  const Vec local = math::transpose_times(a.X.R_WS, n);
  const Vec& size = a.shape.size;
  switch (a.shape.kind) {
    case ShapeKind::kSphere:
      return size.x * math::norm(n);
    case ShapeKind::kCapsule:
      return size.x * math::norm(n) + size.y * std::abs(local.z);
    case ShapeKind::kBox:
      return std::abs(local.x) * size.x + std::abs(local.y) * size.y + std::abs(local.z) * size.z;
    case ShapeKind::kPlane:
      break;
    default:
      break;
  }
  return local.z > 1 - 1e-5 ? 0 : INFINITY;
}

// How far a and b are apart along n (from b to a): a lower bound of their signed distance for every n.
inline double separation(const Placed& a, const Placed& b, const Vec& n) {
  return math::dot(n, a.X.p_WS - b.X.p_WS) - support(a, -n) - support(b, n);
}

// Signed distance of a point to a shape's surface, by the textbook formulas.
inline double point_distance(const Placed& a, const Vec& p_W) {
  const Vec p = math::transpose_times(a.X.R_WS, p_W - a.X.p_WS);
  const Vec& size = a.shape.size;
  if (a.shape.kind == ShapeKind::kPlane) return p.z;
  if (a.shape.kind == ShapeKind::kSphere) return math::norm(p) - size.x;
  if (a.shape.kind == ShapeKind::kCapsule) {
    return math::norm(Vec{p.x, p.y, std::max(0.0, std::abs(p.z) - size.y)}) - size.x;
  }
  const Vec q{std::abs(p.x) - size.x, std::abs(p.y) - size.y, std::abs(p.z) - size.z};
  return math::norm(Vec{std::max(q.x, 0.0), std::max(q.y, 0.0), std::max(q.z, 0.0)}) +
         std::min(std::max({q.x, q.y, q.z}), 0.0);
}

// Half edges of a shape that is a sum of segments and a ball: three of a box, one of a capsule, none of a sphere.
inline void add_half_edges(const Placed& a, std::vector<Vec>& edges) {
  const int count = a.shape.kind == ShapeKind::kBox ? 3 : (a.shape.kind == ShapeKind::kCapsule ? 1 : 0);
  const Vec size = count == 3 ? a.shape.size : Vec{0, 0, a.shape.size.y};
  for (int k = 3 - count; k < 3; ++k) edges.push_back(size[k] * a.X.R_WS.column(k));
}

// Signed distance of two shapes: the greatest separation over all directions. Their Minkowski difference is a sum of at
// most six segments ±e_k and a ball, and the direction is the normal of one of its features: a face, e_i × e_j; an
// edge, from it to the point d = p_a − p_b; a vertex, the same. All are tried, and a direction that is not the best can
// only give less.
inline double signed_distance(const Placed& a, const Placed& b) {
  if (b.shape.kind == ShapeKind::kPlane) return separation(a, b, b.X.R_WS.column(2));
  if (a.shape.kind == ShapeKind::kPlane) return separation(a, b, -a.X.R_WS.column(2));
  std::vector<Vec> edges;
  add_half_edges(a, edges), add_half_edges(b, edges);
  double best = separation(a, b, {1, 0, 0});  // of balls about one centre, and segments along one line, any across
  const auto attempt = [&](const Vec& n) {
    if (math::norm(n) > 1e-15) best = std::max(best, separation(a, b, math::normalized(n)));
  };
  const int count = static_cast<int>(edges.size());
  for (int i = 0; i < count; ++i) {
    Vec t1, t2;
    math::tangent_basis(math::normalized(edges[i]), t1, t2);
    attempt(t1);
    for (int j = 0; j < i; ++j) {
      const Vec n = math::cross(edges[i], edges[j]);
      attempt(n), attempt(-n);
    }
  }
  for (int signs = 0; signs < 1 << count; ++signs) {
    Vec from_vertex = a.X.p_WS - b.X.p_WS;
    for (int k = 0; k < count; ++k) from_vertex += (signs >> k & 1) != 0 ? edges[k] : -edges[k];
    attempt(from_vertex);
    for (const Vec& edge : edges) attempt(from_vertex - math::dot(from_vertex, edge) / math::dot(edge, edge) * edge);
  }
  return best;
}

inline math::Quat<double> random_rotation(std::mt19937& random) {
  std::normal_distribution<double> normal;
  return math::normalized(math::Quat<double>{normal(random), normal(random), normal(random), normal(random)});
}

// Bodies between 2 and 30 cm, long and flat ones among them.
inline Shape<double> random_shape(ShapeKind kind, std::mt19937& random) {
  std::uniform_real_distribution<double> exponent(0, 1);
  const auto length = [&] { return 0.02 * std::pow(15.0, exponent(random)); };
  return {kind, {length(), length(), length()}};
}

// Two shapes near each other: turned at random, or (a third each) nearly or exactly aligned, the difficult cases.
struct Scene {
  Placed a, b;
};

inline Scene random_scene(ShapeKind kind_a, ShapeKind kind_b, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  Scene scene{{random_shape(kind_a, random), {}}, {random_shape(kind_b, random), {}}};
  const math::Quat<double> q_a = random_rotation(random);
  math::Quat<double> q_b = random_rotation(random);
  const double alignment = uniform(random);
  if (alignment < 0.67) q_b = q_a;
  if (alignment > 0.33 && alignment < 0.67) {
    const double angle = std::pow(10.0, -6 + 5 * uniform(random));
    q_b = math::normalized(q_a * math::exp_rotation(angle * Vec{normal(random), normal(random), normal(random)}));
  }
  scene.a.X.R_WS = math::to_matrix(q_a);
  scene.b.X.R_WS = math::to_matrix(q_b);
  const Vec n = math::normalized(Vec{normal(random), normal(random), normal(random)});
  const double gap = -0.02 + 0.05 * uniform(random);
  if (kind_a == ShapeKind::kPlane || kind_b == ShapeKind::kPlane) {
    Placed& plane = kind_a == ShapeKind::kPlane ? scene.a : scene.b;
    Placed& other = kind_a == ShapeKind::kPlane ? scene.b : scene.a;
    const Vec up = plane.X.R_WS.column(2);
    other.X.p_WS = (support(other, -up) + gap) * up + 0.3 * math::cross(up, n);
    return scene;
  }
  // Apart along a random direction by the sum of the supports, so that about every scene is near touching.
  Vec along = n;
  if (uniform(random) < 0.5) along = scene.b.X.R_WS.column(static_cast<int>(3 * uniform(random)) % 3);
  scene.a.X.p_WS = (support(scene.a, -along) + support(scene.b, along) + gap) * along;
  scene.a.X.p_WS += 0.1 * uniform(random) * math::cross(along, n);
  return scene;
}

template <typename Real>
struct Contacts {
  ContactPoint<Real> points[kMaxPairContacts];
  int count = 0;
  Real least_gap() const {
    Real least = std::numeric_limits<Real>::infinity();
    for (int i = 0; i < count; ++i) least = std::min(least, points[i].gap);
    return least;
  }
};

template <typename Real>
Shape<Real> shape_as(const Placed& a) {
  return {a.shape.kind, math::cast<Real>(a.shape.size)};
}

template <typename Real>
ShapePose<Real> pose_as(const Placed& a) {
  return {math::cast<Real>(a.X.p_WS),
          {{math::cast<Real>(a.X.R_WS.row[0]), math::cast<Real>(a.X.R_WS.row[1]), math::cast<Real>(a.X.R_WS.row[2])}}};
}

template <typename Real>
Contacts<Real> collide(const Placed& a, const Placed& b, Real margin) {
  Contacts<Real> contacts;
  contacts.count =
      collide_pair(shape_as<Real>(a), pose_as<Real>(a), shape_as<Real>(b), pose_as<Real>(b), margin, contacts.points);
  return contacts;
}

}  // namespace axion::collide::oracle
