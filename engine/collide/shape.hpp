// Shape and ShapePose: what the narrow phase knows of a shape; and the bounding sphere test before it.
//
// Sizes in metres. Plane: unused, the half space below its local z = 0; sphere: x radius; capsule and cylinder: x
// radius, y half length of the axis (local z); box: half extents; ellipsoid: semi-axes; mesh: x the depth of its origin
// below the nearest face of the hull, y the distance to the farthest vertex; height field: x and y half of its lengths,
// z the radius that holds it.
#pragma once

#include <limits>

#include "engine/math/mat3.hpp"
#include "engine/model/shape_kind.hpp"

namespace axion::collide {

// Vertices of a convex hull, in a mesh's shape frame, whose origin is inside: `stride` numbers x, then as many y and z.
// The stride is a multiple of kHullLanes; beyond `count` the first vertex is repeated.
inline constexpr int kHullLanes = 8;
template <typename Real>
struct Hull {
  const Real* x = nullptr;
  int stride = 0, count = 0;
};

// Of a height field the same three are its numbers (height_field.hpp), its columns and its rows.
template <typename Real>
struct Shape {
  model::ShapeKind kind;
  math::Vec3<Real> size;
  Hull<Real> hull = {};  // of a mesh or a height field
};

template <typename Real>
struct ShapePose {
  math::Vec3<Real> p_WS;  // the shape's origin
  math::Mat3<Real> R_WS;  // a rotation: shape axes to world axes
};

// Radius of the smallest sphere about the shape's origin that holds it. A plane has none; 0 is returned.
template <typename Real>
AXION_HD inline Real bounding_radius(const Shape<Real>& shape) {
  switch (shape.kind) {
    case model::ShapeKind::kSphere:
      return shape.size.x;
    case model::ShapeKind::kCapsule:
      return shape.size.x + shape.size.y;
    case model::ShapeKind::kBox:
      return math::norm(shape.size);
    case model::ShapeKind::kCylinder:
      return std::sqrt(shape.size.x * shape.size.x + shape.size.y * shape.size.y);
    case model::ShapeKind::kEllipsoid: {
      const Real xy = shape.size.x > shape.size.y ? shape.size.x : shape.size.y;
      return xy > shape.size.z ? xy : shape.size.z;
    }
    case model::ShapeKind::kMesh:
      return shape.size.y;
    case model::ShapeKind::kHeightField:
      return shape.size.z;
    case model::ShapeKind::kPlane:
      break;
  }
  return Real(0);
}

// False only if no contact of the two has a gap below the margin: bounding spheres, or a sphere against a plane.
// Rounding is allowed for. Two planes never touch. Non-finite distances (overflow) count as far away.
template <typename Real>
AXION_HD inline bool may_touch(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                               const ShapePose<Real>& X_WB, Real margin) {
  const bool a_is_plane = a.kind == model::ShapeKind::kPlane;
  const bool b_is_plane = b.kind == model::ShapeKind::kPlane;
  if (a_is_plane && b_is_plane) return false;
  const math::Vec3<Real> p_AB = X_WB.p_WS - X_WA.p_WS;
  const Real reach = bounding_radius(a) + bounding_radius(b) + margin;
  const Real length = math::norm(p_AB);
  Real distance = length;
  if (a_is_plane) distance = math::dot(X_WA.R_WS.column(2), p_AB);
  if (b_is_plane) distance = -math::dot(X_WB.R_WS.column(2), p_AB);
  const Real slack = Real(16) * std::numeric_limits<Real>::epsilon() * (std::abs(reach) + length);
  return distance - reach <= slack;
}

}  // namespace axion::collide
