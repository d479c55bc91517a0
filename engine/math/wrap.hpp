// The shortest path between two points about a sphere or an infinite cylinder, as a taut string takes it.
//
// The object is centred on the origin, a cylinder's axis is z. On a sphere the path lies in the plane of both points
// and the centre; about a cylinder its projection along the axis is that about a circle, and its height grows evenly
// with the length of that. Of the circle:
//
//   outside  where the segment between the points crosses it: two tangents and the arc between them, the shorter way
//            round; a side point, where the line through it and the centre parts the two points, has the path go
//            round on its side, also where the segment passes the circle on the other side
//   inside   where the side point is within the object: the string passes through, and where it would leave the
//            object it bends at the point c of the circle with |p₀ − c| + |c − p₁| least, without an arc
//
// Which of these holds is decided as MuJoCo 4.0 decides it, so that a model means the same here. Both attachments are
// the same point of the object in the second case. Points within the object do not wrap.
//
// In: points in the object's frame. Out: where the path meets and leaves the object, and the arc between. Cost:
// constant, some tens of products and roots; the bend of the second case some tens of those.
#pragma once

#include <limits>

#include "engine/math/angle_functions.hpp"
#include "engine/math/vec3.hpp"

namespace axion::math {

inline constexpr double kLeastLength = 1e-15;  // m: what is shorter has no direction

template <typename Real>
struct Vec2 {
  Real x, y;
};

template <typename Real>
AXION_HD_SMALL constexpr Real dot(const Vec2<Real>& a, const Vec2<Real>& b) {
  return a.x * b.x + a.y * b.y;
}
template <typename Real>
AXION_HD_SMALL constexpr Real cross(const Vec2<Real>& a, const Vec2<Real>& b) {
  return a.x * b.y - a.y * b.x;
}
template <typename Real>
AXION_HD_SMALL constexpr Vec2<Real> operator-(const Vec2<Real>& a, const Vec2<Real>& b) {
  return {a.x - b.x, a.y - b.y};
}
template <typename Real>
AXION_HD_SMALL constexpr Vec2<Real> along(const Vec2<Real>& a, Real t, const Vec2<Real>& b) {
  return {a.x + t * b.x, a.y + t * b.y};
}
template <typename Real>
AXION_HD_SMALL inline Vec2<Real> of_length(const Vec2<Real>& a, Real length) {
  const Real size = std::sqrt(dot(a, a));
  const Real s = size > 0 ? length / size : Real(0);
  return {s * a.x, s * a.y};
}

// Where a path meets and leaves a circle, and the arc between; no such path where `wraps` is not set.
template <typename Real>
struct CirclePath {
  bool wraps = false;
  Vec2<Real> meets{}, leaves{};
  Real arc = 0;
};

// Whether the segments ab and cd cross.
template <typename Real>
AXION_HD inline bool segments_cross(const Vec2<Real>& a, const Vec2<Real>& b, const Vec2<Real>& c,
                                    const Vec2<Real>& d) {
  const Vec2<Real> ab = b - a, cd = d - c, ca = a - c;
  const Real det = cross(ab, cd);
  if (std::abs(det) < Real(kLeastLength)) return false;
  const Real s = cross(cd, ca) / det, t = cross(ab, ca) / det;
  return s >= 0 && s <= 1 && t >= 0 && t <= 1;
}

// The tangent point of p, on the side that `turn`, 1 or -1, says: counterclockwise from p or clockwise.
template <typename Real>
AXION_HD inline Vec2<Real> tangent_point(const Vec2<Real>& p, Real radius, Real turn) {
  const Real square = dot(p, p), rest = square - radius * radius;
  const Real along_p = radius * radius / square, across = turn * radius * std::sqrt(rest > 0 ? rest : Real(0)) / square;
  return {along_p * p.x - across * p.y, along_p * p.y + across * p.x};
}

// About the outside of the circle; `side` is null, or the side point brought onto the circle.
template <typename Real>
AXION_HD_RARE CirclePath<Real> path_outside(const Vec2<Real>& p, const Vec2<Real>& q, const Vec2<Real>* side,
                                            Real radius) {
  CirclePath<Real> path;
  const Real square = radius * radius;
  const Vec2<Real> d = q - p;
  const Real length = dot(d, d);
  if (dot(p, p) < square || dot(q, q) < square || length < Real(kLeastLength)) return path;
  const Real t = -dot(d, p) / length;
  const Vec2<Real> nearest = along(p, t < 0 ? Real(0) : (t > 1 ? Real(1) : t), d);
  // The way round from p by the side point to q; none where it is on the way neither clockwise nor the other way.
  const Real to_side = side == nullptr ? Real(0) : cross(p, *side),
             from_side = side == nullptr ? Real(0) : cross(*side, q);
  const bool by_side = side != nullptr && to_side * from_side >= 0;
  const Real by = to_side > 0 || (to_side == 0 && from_side > 0) ? Real(1) : Real(-1);
  if (dot(nearest, nearest) > square && !(by_side && dot(*side, nearest) < 0)) return path;
  Real best = 0;
  for (int k = 0; k < 2; ++k) {  // from p clockwise about the centre, then the other way
    const Real turn = k == 0 ? Real(-1) : Real(1);
    if (by_side && turn != by) continue;
    const Vec2<Real> a = tangent_point(p, radius, turn), b = tangent_point(q, radius, -turn);
    const Vec2<Real> chord = a - b;
    Real merit = -dot(chord, chord);
    const bool crossed = !by_side && segments_cross(p, a, q, b);
    if (crossed) merit = -10000;
    if (k == 1 && !by_side && best > merit) return path;
    best = merit;
    Real angle = arc_tangent(std::abs(cross(a, b)), dot(a, b));
    if (turn * cross(a, b) < 0) angle = Real(2 * 3.14159265358979323846) - angle;
    path.wraps = !crossed;
    path.meets = a, path.leaves = b, path.arc = radius * angle;
  }
  return path;
}

// d|p − c|/dφ of a point c that goes round the circle, and its derivative.
template <typename Real>
struct BendSlope {
  Real first, second;
};
template <typename Real>
AXION_HD inline BendSlope<Real> bend_slope(const Vec2<Real>& p, const Vec2<Real>& c) {
  const Vec2<Real> d = c - p;
  const Real length = std::sqrt(dot(d, d)), first = cross(p, c) / length;
  return {first, (dot(p, c) - first * first) / length};
}

// Through the circle, bent at the point of it where the path is shortest. It is on the arc that both p and q see,
// where the length is convex, so that Newton's method within a bracket finds it.
template <typename Real>
AXION_HD_RARE CirclePath<Real> path_inside(const Vec2<Real>& p, const Vec2<Real>& q, Real radius) {
  CirclePath<Real> path;
  const Real square = radius * radius, pp = dot(p, p), qq = dot(q, q);
  if (pp <= square || qq <= square) return path;
  const Vec2<Real> d = q - p;
  const Real length = dot(d, d);
  if (length > Real(kLeastLength)) {
    const Real t = -dot(d, p) / length;
    const Vec2<Real> nearest = along(p, t, d);
    if (t > 0 && t < 1 && dot(nearest, nearest) <= square) return path;
  }
  if (dot(p, q) < (Real(kLeastLength) - 1) * std::sqrt(pp * qq)) return path;
  const Real turn = cross(p, q) < 0 ? Real(-1) : Real(1);  // from p to q
  const auto turned = [&](const Vec2<Real>& a, const Vec2<Real>& b) { return turn * cross(a, b); };
  // The arc that both see lies between the directions of p and q and between their tangent points.
  Vec2<Real> low = of_length(p, radius), high = of_length(q, radius);
  const Vec2<Real> seen_by_q = tangent_point(q, radius, -turn), seen_by_p = tangent_point(p, radius, turn);
  if (turned(low, seen_by_q) > 0) low = seen_by_q;
  if (turned(seen_by_p, high) > 0) high = seen_by_p;
  Vec2<Real> c = of_length(Vec2<Real>{low.x + high.x, low.y + high.y}, radius);
  for (int k = 0; k < 64; ++k) {
    const BendSlope<Real> a = bend_slope(p, c), b = bend_slope(q, c);
    const Real slope = turn * (a.first + b.first), change = slope / (a.second + b.second);
    if (std::abs(change) <= 8 * std::numeric_limits<Real>::epsilon()) break;
    if (slope > 0) {
      high = c;
    } else {
      low = c;
    }
    // A turn by −change, as far as its first two terms have it.
    const Vec2<Real> next = of_length(along(c, -turn * change, Vec2<Real>{-c.y, c.x}), radius);
    const bool within = a.second + b.second > 0 && turned(low, next) >= 0 && turned(next, high) >= 0;
    c = within ? next : of_length(Vec2<Real>{low.x + high.x, low.y + high.y}, radius);
  }
  path.wraps = true;
  path.meets = path.leaves = c;
  return path;
}

template <typename Real>
struct WrappedPath {
  bool wraps = false;
  Vec3<Real> meets{}, leaves{};
  Real arc = 0;
};

// Axes of the plane of both points and the centre; where these are on one line, of a plane that holds it.
template <typename Real>
AXION_HD inline void plane_of_path(const Vec3<Real>& p, const Vec3<Real>& q, Vec3<Real>& e, Vec3<Real>& f) {
  e = normalized(p);
  Vec3<Real> n = cross(p, q);
  if (!(norm(n) >= Real(kLeastLength))) {
    const Real x = std::abs(e.x), y = std::abs(e.y), z = std::abs(e.z);
    const int longest = x > y && x > z ? 0 : (y > z ? 1 : 2);
    Vec3<Real> other{1, 1, 1};
    other[longest] = 0;
    n = cross(e, other);
  }
  f = normalized(cross(normalized(n), e));
}

// `side` is null, or the side point in the object's frame.
template <typename Real>
AXION_HD_RARE WrappedPath<Real> wrap_path(const Vec3<Real>& p, const Vec3<Real>& q, const Vec3<Real>* side, Real radius,
                                          bool is_cylinder) {
  WrappedPath<Real> out;
  if (norm(p) < Real(kLeastLength) || norm(q) < Real(kLeastLength)) return out;
  Vec3<Real> e{1, 0, 0}, f{0, 1, 0};
  if (!is_cylinder) plane_of_path(p, q, e, f);
  const auto project = [&](const Vec3<Real>& a) { return Vec2<Real>{dot(e, a), dot(f, a)}; };
  const Vec2<Real> p2 = project(p), q2 = project(q);
  CirclePath<Real> path;
  Vec2<Real> beside{};
  if (side != nullptr) beside = project(*side);
  if (side != nullptr && norm(*side) < radius) {
    path = path_inside(p2, q2, radius);
  } else {
    beside = of_length(beside, radius);
    path = path_outside<Real>(p2, q2, side != nullptr ? &beside : nullptr, radius);
  }
  if (!path.wraps) return out;
  out.wraps = true, out.arc = path.arc;
  out.meets = path.meets.x * e + path.meets.y * f;
  out.leaves = path.leaves.x * e + path.leaves.y * f;
  if (!is_cylinder) return out;
  const Vec2<Real> to = p2 - path.meets, from = q2 - path.leaves;
  const Real before = std::sqrt(dot(to, to)), after = std::sqrt(dot(from, from)), all = before + path.arc + after;
  const Real rise = all > 0 ? (q.z - p.z) / all : Real(0);
  out.meets.z = p.z + rise * before;
  out.leaves.z = p.z + rise * (before + path.arc);
  const Real height = rise * path.arc;
  out.arc = std::sqrt(path.arc * path.arc + height * height);
  return out;
}

}  // namespace axion::math
