// What the convex family knows of a shape: the farthest point of its core along a direction.
//
// A shape is its core, thickened by a ball: a sphere is a point, a capsule a segment, an ellipsoid the parallel surface
// within it, which exists up to its least radius of curvature; the other kinds are their own cores. The nearest points
// of thickened cores that overlap by less than the balls are still those of two sets apart, which is what makes normals
// exact and continuous where a gap closes. A cylinder has no such ball, and may be shrunk by a skin instead
// (convex_pairs.hpp). Used by the convex family only. All in the shape's own frame.
#pragma once

#include "engine/collide/geometry.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

// A point of a shape, and the name of what it is part of.
template <typename Real>
struct NamedPoint {
  math::Vec3<Real> p;
  int name;
};

// The vertex of a hull that is farthest along d; of equals the first. All are looked at, eight beside each other, so
// that no walk over the hull parts the threads of a warp and a CPU takes them as vectors.
template <typename Real>
AXION_HD inline int farthest_vertex(const Hull<Real>& hull, const math::Vec3<Real>& d) {
  constexpr int kLanes = kHullLanes;
  const Real *x = hull.x, *y = x + hull.stride, *z = y + hull.stride;
  Real most[kLanes];
  int at[kLanes];
  for (int l = 0; l < kLanes; ++l) most[l] = x[l] * d.x + y[l] * d.y + z[l] * d.z, at[l] = 0;
  for (int first = kLanes; first < hull.stride; first += kLanes) {
    for (int l = 0; l < kLanes; ++l) {
      const Real along = x[first + l] * d.x + y[first + l] * d.y + z[first + l] * d.z;
      at[l] = along > most[l] ? first : at[l];
      most[l] = along > most[l] ? along : most[l];
    }
  }
  int best = 0;
  for (int l = 1; l < kLanes; ++l) {
    const bool further = most[l] > most[best] || (most[l] == most[best] && at[l] + l < at[best] + best);
    best = further ? l : best;
  }
  return at[best] + best;
}

template <typename Real>
AXION_HD inline math::Vec3<Real> hull_vertex(const Hull<Real>& hull, int i) {
  return {hull.x[i], hull.x[hull.stride + i], hull.x[2 * hull.stride + i]};
}

// Radius of the ball that thickens a shape's core.
template <typename Real>
AXION_HD inline Real core_radius(const Shape<Real>& shape) {
  const math::Vec3<Real>& s = shape.size;
  if (shape.kind == model::ShapeKind::kSphere || shape.kind == model::ShapeKind::kCapsule) return s.x;
  if (shape.kind != model::ShapeKind::kEllipsoid) return Real(0);
  const Real least = s.x < s.y ? (s.x < s.z ? s.x : s.z) : (s.y < s.z ? s.y : s.z);
  const Real most = s.x > s.y ? (s.x > s.z ? s.x : s.z) : (s.y > s.z ? s.y : s.z);
  return Real(ConvexParameters::kEllipsoidBall) * (least / most) * least;
}

// Least of the sizes that a shape's kind has; a hull's is the depth of its centre.
template <typename Real>
AXION_HD inline Real least_size(const Shape<Real>& shape) {
  const math::Vec3<Real>& s = shape.size;
  const Real xy = s.x < s.y ? s.x : s.y;
  switch (shape.kind) {
    case model::ShapeKind::kBox:
    case model::ShapeKind::kEllipsoid:
      return xy < s.z ? xy : s.z;
    case model::ShapeKind::kCylinder:
      return xy;
    default:
      return s.x;
  }
}

// The point of the core that is farthest along d, which need not be a unit vector; a cylinder is shrunk by `skin` on
// all sides.
template <typename Real>
AXION_HD inline math::Vec3<Real> core_support(const Shape<Real>& shape, const math::Vec3<Real>& d, Real radius,
                                              Real skin) {
  const math::Vec3<Real>& s = shape.size;
  switch (shape.kind) {
    case model::ShapeKind::kCapsule:
      return {0, 0, d.z < Real(0) ? -s.y : s.y};
    case model::ShapeKind::kBox:
      return {d.x < Real(0) ? -s.x : s.x, d.y < Real(0) ? -s.y : s.y, d.z < Real(0) ? -s.z : s.z};
    case model::ShapeKind::kCylinder: {
      const Real across = std::sqrt(d.x * d.x + d.y * d.y), half = s.y - skin;
      const Real scale = across > tiny_length<Real>() ? (s.x - skin) / across : Real(0);
      return {scale * d.x, scale * d.y, d.z < Real(0) ? -half : half};
    }
    case model::ShapeKind::kEllipsoid: {
      const math::Vec3<Real> sd = math::scale(s, d);
      const Real length = math::norm(sd), unit = math::norm(d);
      if (!(length > tiny_length<Real>())) return {0, 0, s.z - radius};
      return (Real(1) / length) * math::scale(s, sd) - (radius / unit) * d;
    }
    case model::ShapeKind::kMesh:
      return hull_vertex(shape.hull, farthest_vertex(shape.hull, d));
    default:
      return {0, 0, 0};
  }
}

// Two shapes in the frame of the first, A. Directions are in A, too.
template <typename Real>
struct ConvexPair {
  Shape<Real> a, b;
  math::Vec3<Real> p_AB;
  math::Mat3<Real> R_AB;
  ShapePose<Real> X_WA;
  Real radius_a, radius_b;  // of the balls about the cores
  Real skin_a, skin_b;      // that cylinders are shrunk by
  Real deep;                // cores that overlap by more are looked at from all sides
};

// A point of the difference of two cores: one of each.
template <typename Real>
struct Difference {
  math::Vec3<Real> a, b;
  AXION_HD math::Vec3<Real> w() const { return a - b; }
};

// The point of the difference A − B that is farthest along −d.
template <typename Real>
AXION_HD_CALL Difference<Real> nearest_along(const ConvexPair<Real>& pair, const math::Vec3<Real>& d) {
  return {
      core_support(pair.a, -d, pair.radius_a, pair.skin_a),
      pair.p_AB + pair.R_AB * core_support(pair.b, math::transpose_times(pair.R_AB, d), pair.radius_b, pair.skin_b)};
}

}  // namespace axion::collide
