// Contacts of two faces, or of a face and an edge: the polygons of two shapes that look at each other along a normal,
// clipped to what they have in common (Sutherland, Hodgman 1974; box_face.hpp is the same for two boxes).
//
// A polygon lies above the plane square to the normal: x, y across it, z along it. That of a box is the face that looks
// most along the normal, that of a cylinder a cap as eight points or a line of its side, of a capsule its axis moved by
// its radius, of a hull the vertices farthest along eight directions about the normal, inclined by as much as the
// margin allows. Points of a polygon are points of the shape, those between them are within it: gaps over a polygon are
// never too small.
//
// Features name what crosses: a point of A's polygon, one of B's, or an edge of each, by the vertices of the shapes, so
// that they are found again in the next step. Used by convex_pairs.hpp only.
#pragma once

#include "engine/collide/convex_shape.hpp"
#include "engine/collide/parameters.hpp"
#include "engine/math/constants.hpp"

namespace axion::collide {

inline constexpr int kFacePoints = 8;
inline constexpr int kClippedPoints = 18;  // eight by eight is at most sixteen; rounding may add

// Features of a convex pair: what it is, then the names of the points of A and B, twelve bits each.
inline constexpr std::uint32_t kNearestFeature = 0;
AXION_HD constexpr std::uint32_t face_feature(int what, int name_a, int name_b) {
  return (std::uint32_t(what) << 24) | (std::uint32_t(name_a) << 12) | std::uint32_t(name_b);
}

template <typename Real>
struct Polygon {
  NamedPoint<Real> point[kFacePoints];
  int count = 0;
  AXION_HD void add(const math::Vec3<Real>& p, int name) { point[count++] = {p, name}; }
};

template <typename Real>
AXION_HD inline void box_polygon(const Shape<Real>& shape, const math::Vec3<Real>& n, Polygon<Real>& polygon) {
  int k = 0;
  for (int i = 1; i < 3; ++i) k = std::abs(n[i]) > std::abs(n[k]) ? i : k;
  const int u = k == 2 ? 0 : k + 1, v = k == 0 ? 2 : k - 1;
  for (int i = 0; i < 4; ++i) {
    const bool su = i == 1 || i == 2, sv = i >= 2;
    math::Vec3<Real> p{};
    p[k] = n[k] < Real(0) ? -shape.size[k] : shape.size[k];
    p[u] = su ? shape.size[u] : -shape.size[u];
    p[v] = sv ? shape.size[v] : -shape.size[v];
    polygon.add(p, (p.x > Real(0) ? 1 : 0) | (p.y > Real(0) ? 2 : 0) | (p.z > Real(0) ? 4 : 0));
  }
}

// The caps' points stay where they are in the shape, so that they are the same ones while it spins.
template <typename Real>
AXION_HD inline void cylinder_polygon(const Shape<Real>& shape, const math::Vec3<Real>& n, Polygon<Real>& polygon) {
  const Real r = shape.size.x, h = shape.size.y, across = std::sqrt(n.x * n.x + n.y * n.y);
  if (std::abs(n.z) > across) {
    constexpr Real kHalf = Real(math::kHalfRoot);
    const Real x[8] = {1, kHalf, 0, -kHalf, -1, -kHalf, 0, kHalf}, y[8] = {0, kHalf, 1, kHalf, 0, -kHalf, -1, -kHalf};
    const bool top = n.z > Real(0);
    for (int i = 0; i < 8; ++i) polygon.add({r * x[i], r * y[i], top ? h : -h}, (top ? 8 : 0) + i);
    return;
  }
  const math::Vec3<Real> side{r / across * n.x, r / across * n.y, 0};
  polygon.add({side.x, side.y, -h}, 16);
  polygon.add({side.x, side.y, h}, 17);
}

template <typename Real>
AXION_HD inline void hull_polygon(const Shape<Real>& shape, const math::Vec3<Real>& n, Real inclination,
                                  Polygon<Real>& polygon) {
  // Square to the normal and fixed in the shape, so that its own vertices are found however it is turned.
  math::Vec3<Real> t1, t2;
  math::tangent_basis(n, t1, t2);
  constexpr Real kNear = Real(math::kSineOf22_5), kFar = Real(math::kCosineOf22_5);
  const Real c[8] = {kFar, kNear, -kNear, -kFar, -kFar, -kNear, kNear, kFar};
  const Real s[8] = {kNear, kFar, kFar, kNear, -kNear, -kFar, -kFar, -kNear};
  for (int i = 0; i < 8; ++i) {
    const int vertex = farthest_vertex(shape.hull, n + (inclination * c[i]) * t1 + (inclination * s[i]) * t2);
    bool known = false;
    for (int k = 0; k < polygon.count; ++k) known = known || polygon.point[k].name == vertex;
    if (!known) polygon.add(hull_vertex(shape.hull, vertex), vertex);
  }
}

// Of the directions along which a hull's polygon is looked for, against the normal.
template <typename Real>
AXION_HD inline Real face_inclination(const Shape<Real>& shape, Real margin) {
  return clamp(margin / bounding_radius(shape), Real(ConvexParameters::kLeastInclination), Real(1));
}

// The polygon of a shape along n, unit, in its own frame.
template <typename Real>
AXION_HD inline Polygon<Real> face_polygon(const Shape<Real>& shape, const math::Vec3<Real>& n, Real inclination) {
  Polygon<Real> polygon;
  if (shape.kind == model::ShapeKind::kBox) box_polygon(shape, n, polygon);
  if (shape.kind == model::ShapeKind::kCylinder) cylinder_polygon(shape, n, polygon);
  if (shape.kind == model::ShapeKind::kMesh) hull_polygon(shape, n, inclination, polygon);
  if (shape.kind == model::ShapeKind::kCapsule && std::abs(n.z) < Real(ConvexParameters::kLying)) {
    polygon.add(shape.size.x * n - math::Vec3<Real>{0, 0, shape.size.y}, 0);
    polygon.add(shape.size.x * n + math::Vec3<Real>{0, 0, shape.size.y}, 1);
  }
  return polygon;
}

template <typename Real>
AXION_HD inline Real turn(const math::Vec3<Real>& a, const math::Vec3<Real>& b, const math::Vec3<Real>& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

// Twice the area of a polygon seen along the normal.
template <typename Real>
AXION_HD inline Real area(const Polygon<Real>& polygon) {
  Real sum = 0;
  for (int i = 2; i < polygon.count; ++i) sum += turn(polygon.point[0].p, polygon.point[i - 1].p, polygon.point[i].p);
  return sum;
}

// Height of a polygon at a point: of the triangle of its fan, or the place on its line, that the point is in.
template <typename Real>
AXION_HD inline Real height_at(const Polygon<Real>& polygon, const math::Vec3<Real>& at, Real least_area) {
  const math::Vec3<Real>& p = polygon.point[0].p;
  if (polygon.count == 2 || least_area <= Real(0)) {
    const math::Vec3<Real> q = polygon.point[polygon.count - 1].p;
    const Real x = q.x - p.x, y = q.y - p.y, length = x * x + y * y;
    const Real t = length > Real(0) ? clamp(((at.x - p.x) * x + (at.y - p.y) * y) / length, Real(0), Real(1)) : Real(0);
    return p.z + t * (q.z - p.z);
  }
  Real best = -std::numeric_limits<Real>::max(), height = p.z;
  for (int i = 2; i < polygon.count; ++i) {
    const math::Vec3<Real>&q = polygon.point[i - 1].p, &r = polygon.point[i].p;
    const Real whole = turn(p, q, r);
    if (!(whole > least_area)) continue;
    const Real wp = turn(at, q, r) / whole, wq = turn(at, r, p) / whole, wr = turn(at, p, q) / whole;
    const Real least = wp < wq ? (wp < wr ? wp : wr) : (wq < wr ? wq : wr);
    if (!(least > best)) continue;
    // Beyond the triangle, by the slack of a clip or of a sliver: the height of a point in it, which is within the
    // shape.
    const Real a = wp > Real(0) ? wp : Real(0), b = wq > Real(0) ? wq : Real(0), c = wr > Real(0) ? wr : Real(0);
    best = least, height = (a * p.z + b * q.z + c * r.z) / (a + b + c);
  }
  return height;
}

// What is left of the clipped polygon: points, and the line that the edge from each to the next lies on: an edge of the
// clipped polygon by the index of its first point, or, from kFacePoints on, one of the clipping polygon.
template <typename Real>
struct ClippedPolygon {
  math::Vec3<Real> point[kClippedPoints];
  int line[kClippedPoints];
  int count = 0;
  AXION_HD void add(const math::Vec3<Real>& p, int edge_line) {
    if (count == kClippedPoints) return;
    point[count] = p, line[count++] = edge_line;
  }
};

// Keeps what is to the left of the edge from p to q.
template <typename Real>
AXION_HD inline void clip_to_edge(const math::Vec3<Real>& p, const math::Vec3<Real>& q, int line, Real slack,
                                  ClippedPolygon<Real>& polygon) {
  const Real x = q.x - p.x, y = q.y - p.y, length = std::sqrt(x * x + y * y);
  if (!(length > tiny_length<Real>())) return;
  const auto outside = [&](const math::Vec3<Real>& a) { return (y * (a.x - p.x) - x * (a.y - p.y)) / length; };
  ClippedPolygon<Real> kept;
  for (int i = 0; i < polygon.count; ++i) {
    const int next = i + 1 == polygon.count ? 0 : i + 1;
    const math::Vec3<Real>&a = polygon.point[i], &b = polygon.point[next];
    const Real out_a = outside(a), out_b = outside(b);
    const bool a_in = out_a <= slack, b_in = out_b <= slack;
    if (a_in) kept.add(a, polygon.line[i]);
    if (a_in == b_in) continue;
    const math::Vec3<Real> crossing = a + clamp(out_a / (out_a - out_b), Real(0), Real(1)) * (b - a);
    kept.add(crossing, a_in ? kFacePoints + line : polygon.line[i]);
  }
  polygon = kept;
}

// Chooses up to `most` of the `count` points, corners of a polygon in turn whose x and y are places and z gaps: one
// after the other goes the corner that makes the least triangle with its neighbours, but never the deepest. Nearly
// equal ones count as equal, of which the first goes, so that bodies at rest keep theirs. Returns how many; their
// indices in `chosen`, which has room for all, in their order.
//
// Who carries a load near a corner that is left out tips over the edge between its neighbours, until that corner is the
// deepest and another is left out: it never comes to rest. So all stay that there is room for.
template <typename Real>
AXION_HD inline int choose_corners(const math::Vec3<Real>* point, int count, int most, int* chosen) {
  int deepest = 0;
  for (int i = 0; i < count; ++i) {
    chosen[i] = i;
    deepest = point[i].z < point[deepest].z ? i : deepest;
  }
  for (; count > most; --count) {
    int least = -1;
    Real least_area = std::numeric_limits<Real>::max();
    for (int k = 0; k < count; ++k) {
      if (chosen[k] == deepest) continue;
      const int before = chosen[k == 0 ? count - 1 : k - 1], after = chosen[k + 1 == count ? 0 : k + 1];
      const Real area = std::abs(turn(point[before], point[chosen[k]], point[after]));
      if (area < Real(ConvexParameters::kSmaller) * least_area) least = k, least_area = area;
    }
    for (int k = least < 0 ? 0 : least; k + 1 < count; ++k) chosen[k] = chosen[k + 1];
  }
  return count;
}

}  // namespace axion::collide
