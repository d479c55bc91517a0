// How far along a ray a shape's surface is: closed forms for each kind, and for meshes a walk over their hull's
// vertices.
//
// A ray that starts within a shape meets its surface from inside; a plane is met from above alone. Frames: p and the
// unit direction d are the shape's own. Returns the distance, or -1 where the ray misses. Pure; called by sensors.
#pragma once

#include <cmath>
#include <limits>

#include "engine/collide/ray_height_field.hpp"
#include "engine/collide/shape.hpp"

namespace axion::collide {

inline constexpr double kNoHit = -1;

// The nearer of two distances along a ray, where either may be none.
template <typename Real>
AXION_HD inline Real nearer_hit(Real a, Real b) {
  return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

// Roots of a t² + 2 b t + c, the smaller first; false where there are none.
template <typename Real>
AXION_HD inline bool solve_quadratic(Real a, Real b, Real c, Real& first, Real& second) {
  const Real d = b * b - a * c;
  if (!(d >= 0) || !(a > 0)) return false;
  const Real root = std::sqrt(d);
  first = (-b - root) / a, second = (-b + root) / a;
  return true;
}

template <typename Real>
AXION_HD inline Real ray_ellipsoid(const math::Vec3<Real>& radii, const math::Vec3<Real>& p,
                                   const math::Vec3<Real>& d) {
  const math::Vec3<Real> s{p.x / radii.x, p.y / radii.y, p.z / radii.z}, e{d.x / radii.x, d.y / radii.y, d.z / radii.z};
  Real t, u;
  if (!solve_quadratic(math::dot(e, e), math::dot(s, e), math::dot(s, s) - 1, t, u) || u < 0) return Real(kNoHit);
  return t >= 0 ? t : u;
}

// Of a cylinder's side, |z| at most `half`; `caps` half spheres at its ends, or flat ones.
template <typename Real>
AXION_HD inline Real ray_round_column(Real radius, Real half, bool caps, const math::Vec3<Real>& p,
                                      const math::Vec3<Real>& d) {
  Real best = Real(kNoHit), t[2];
  if (solve_quadratic(d.x * d.x + d.y * d.y, p.x * d.x + p.y * d.y, p.x * p.x + p.y * p.y - radius * radius, t[0],
                      t[1])) {
    for (int k = 0; k < 2; ++k) {
      if (t[k] >= 0 && std::abs(p.z + t[k] * d.z) <= half) best = nearer_hit(best, t[k]);
    }
  }
  for (int side = -1; side <= 1; side += 2) {
    const Real end = Real(side) * half;
    if (caps) {
      const math::Vec3<Real> s{p.x, p.y, p.z - end};
      if (!solve_quadratic(Real(1), math::dot(s, d), math::dot(s, s) - radius * radius, t[0], t[1])) continue;
      for (int k = 0; k < 2; ++k) {
        if (t[k] >= 0 && Real(side) * (s.z + t[k] * d.z) >= 0) best = nearer_hit(best, t[k]);
      }
      continue;
    }
    if (d.z == 0) continue;
    const Real at = (end - p.z) / d.z, x = p.x + at * d.x, y = p.y + at * d.y;
    if (at >= 0 && x * x + y * y <= radius * radius) best = nearer_hit(best, at);
  }
  return best;
}

template <typename Real>
AXION_HD inline Real ray_box(const math::Vec3<Real>& half, const math::Vec3<Real>& p, const math::Vec3<Real>& d) {
  Real enter = -std::numeric_limits<Real>::infinity(), leave = std::numeric_limits<Real>::infinity();
  for (int k = 0; k < 3; ++k) {
    if (d[k] == 0) {
      if (std::abs(p[k]) > half[k]) return Real(kNoHit);
      continue;
    }
    Real a = (-half[k] - p[k]) / d[k], b = (half[k] - p[k]) / d[k];
    if (a > b) {
      const Real swapped = a;
      a = b, b = swapped;
    }
    if (a > enter) enter = a;
    if (b < leave) leave = b;
  }
  if (enter > leave || leave < 0) return Real(kNoHit);
  return enter >= 0 ? enter : leave;
}

template <typename Real>
AXION_HD inline Real ray_plane(const math::Vec3<Real>& p, const math::Vec3<Real>& d) {
  return p.z >= 0 && d.z < 0 ? -p.z / d.z : Real(kNoHit);
}

// A point of a hull seen along the ray: across it x and y, and along it z.
template <typename Real>
AXION_HD inline math::Vec3<Real> seen_along(const Hull<Real>& hull, int i, const math::Vec3<Real>& p,
                                            const math::Vec3<Real>& d, const math::Vec3<Real>& e,
                                            const math::Vec3<Real>& f) {
  const math::Vec3<Real> v = math::Vec3<Real>{hull.x[i], hull.x[hull.stride + i], hull.x[2 * hull.stride + i]} - p;
  return {math::dot(v, e), math::dot(v, f), math::dot(v, d)};
}

template <typename Real>
AXION_HD inline Real turn_of(const math::Vec3<Real>& a, const math::Vec3<Real>& b) {
  return a.x * b.y - a.y * b.x;
}

// Where the line along z through the origin enters (sign 1) or leaves (sign -1) the hull, in `z`; false where it
// misses. The least height Σ λ h over convex combinations of vertices that lie on the line: from a triangle about the
// line, whose first corner is the inner point `centre`, a vertex below its plane takes the place of a corner until
// there is none. Each exchange lowers the height; vertices are few, and so are exchanges.
template <typename Real>
AXION_HD inline bool line_meets_hull(const Hull<Real>& hull, const math::Vec3<Real>& p, const math::Vec3<Real>& d,
                                     Real sign, Real& z) {
  using Vec = math::Vec3<Real>;
  Vec e, f, corner[3] = {};
  math::tangent_basis(d, e, f);
  corner[0] = {-math::dot(p, e), -math::dot(p, f), -math::dot(p, d)};  // the mesh's origin is within its hull
  // An edge of the outline that the line lies before, seen from the centre: outermost, then across.
  const auto farthest = [&](Real x, Real y) {
    int best = 0;
    Real most = -std::numeric_limits<Real>::infinity();
    for (int i = 0; i < hull.count; ++i) {
      const Vec v = seen_along(hull, i, p, d, e, f);
      if (x * v.x + y * v.y > most) most = x * v.x + y * v.y, best = i;
    }
    return best;
  };
  const int limit = 4 * hull.count + 8;
  Real x = -corner[0].x, y = -corner[0].y;
  if (x == 0 && y == 0) x = 1;
  const Real towards_x = x, towards_y = y;
  corner[1] = seen_along(hull, farthest(x, y), p, d, e, f);
  const auto side = [&](const Vec& v) { return towards_x * (v.y - corner[0].y) - towards_y * (v.x - corner[0].x); };
  const bool is_left = side(corner[1]) > 0;
  corner[2] = seen_along(hull, is_left ? farthest(y, -x) : farthest(-y, x), p, d, e, f);
  for (int k = 0; k < limit; ++k) {
    Vec &a = corner[is_left ? 2 : 1], &b = corner[is_left ? 1 : 2];  // b to the left
    const Real nx = b.y - a.y, ny = -(b.x - a.x);                    // outward of a → b, seen from the centre
    const Real edge = nx * a.x + ny * a.y;
    const Vec next = seen_along(hull, farthest(nx, ny), p, d, e, f);
    const Real gain = nx * next.x + ny * next.y - edge;
    const Real size = std::abs(nx) + std::abs(ny);
    if (!(gain > Real(8) * std::numeric_limits<Real>::epsilon() * size * (std::abs(a.x) + std::abs(a.y) + size))) {
      if (edge < 0) return false;  // the line is beyond the outline
      break;
    }
    (side(next) > 0 ? b : a) = next;
  }
  for (int k = 0; k < limit; ++k) {
    const Vec normal = math::cross(corner[1] - corner[0], corner[2] - corner[0]);
    if (normal.z == 0) break;
    const Real up = normal.z > 0 ? sign : -sign;
    int lowest = -1;
    Real depth = Real(-8) * std::numeric_limits<Real>::epsilon() * math::norm(normal) *
                 (math::norm(corner[0]) + math::norm(corner[1] - corner[0]));
    for (int i = 0; i < hull.count; ++i) {
      const Real h = up * math::dot(normal, seen_along(hull, i, p, d, e, f) - corner[0]);
      if (h < depth) depth = h, lowest = i;
    }
    if (lowest < 0) break;
    const Vec v = seen_along(hull, lowest, p, d, e, f);
    // The corner goes without which the triangle is about the line still and meets it lowest.
    int gone = 0;
    Real best = std::numeric_limits<Real>::infinity();
    for (int i = 0; i < 3; ++i) {
      const Vec &a = corner[(i + 1) % 3], &b = corner[(i + 2) % 3];
      const Real whole = turn_of(a - v, b - v), one = turn_of(a, b), two = turn_of(b, v), three = turn_of(v, a);
      const bool inside = whole > 0 ? one >= 0 && two >= 0 && three >= 0 : one <= 0 && two <= 0 && three <= 0;
      if (!inside || whole == 0) continue;
      const Real height = sign * (one * v.z + two * a.z + three * b.z) / whole;
      if (height < best) best = height, gone = i;
    }
    corner[gone] = v;
  }
  const Vec normal = math::cross(corner[1] - corner[0], corner[2] - corner[0]);
  z = normal.z == 0 ? corner[0].z : math::dot(normal, corner[0]) / normal.z;
  return true;
}

template <typename Real>
AXION_HD inline Real ray_hull(const Hull<Real>& hull, Real reach, const math::Vec3<Real>& p,
                              const math::Vec3<Real>& d) {
  const Real along = math::dot(p, d);
  if (math::dot(p, p) - along * along > reach * reach || (along > 0 && math::dot(p, p) > reach * reach)) {
    return Real(kNoHit);
  }
  Real enter, leave;
  if (!line_meets_hull(hull, p, d, Real(1), enter) || !line_meets_hull(hull, p, d, Real(-1), leave) || leave < 0) {
    return Real(kNoHit);
  }
  return enter >= 0 ? enter : leave;
}

template <typename Real>
AXION_HD_CALL Real cast_ray(const Shape<Real>& shape, const math::Vec3<Real>& p, const math::Vec3<Real>& d) {
  switch (shape.kind) {
    case model::ShapeKind::kPlane:
      return ray_plane(p, d);
    case model::ShapeKind::kSphere:
      return ray_ellipsoid({shape.size.x, shape.size.x, shape.size.x}, p, d);
    case model::ShapeKind::kCapsule:
      return ray_round_column(shape.size.x, shape.size.y, true, p, d);
    case model::ShapeKind::kCylinder:
      return ray_round_column(shape.size.x, shape.size.y, false, p, d);
    case model::ShapeKind::kBox:
      return ray_box(shape.size, p, d);
    case model::ShapeKind::kEllipsoid:
      return ray_ellipsoid(shape.size, p, d);
    case model::ShapeKind::kMesh:
      return ray_hull(shape.hull, shape.size.y, p, d);
    case model::ShapeKind::kHeightField:
      return ray_height_field(shape, p, d);
  }
  return Real(kNoHit);
}

}  // namespace axion::collide
