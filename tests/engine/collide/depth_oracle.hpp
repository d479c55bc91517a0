// The shortest way out of an overlap, by support functions alone.
//
// The depth of two convex bodies along a unit direction n is what must be moved along n to part them,
//   d(n) = h_A(-n) + h_B(n) - n . (p_A - p_B),
// and the depth is its least value over all directions. Of bodies that are hulls thickened by balls it is exact: the
// least over the faces of the hull of all differences of their vertices. Others are searched: directions all over the
// sphere, and from the best of them in steps that shrink, until they are 1e-5 rad.
#pragma once

#include "tests/engine/collide/fcl_oracle.hpp"

namespace axion::collide::depth_oracle {

using fcl_oracle::Body;
using fcl_oracle::Vec;
using model::ShapeKind;

inline double depth_along(const Body& a, const Body& b, const Vec& n) { return -fcl_oracle::separation(a, b, n); }

// Corners of the hull that a ball thickens to the body, relative to its origin; none: it is no such body.
inline std::vector<Vec> corners(const Body& body) {
  std::vector<Vec> points;
  if (body.kind == ShapeKind::kMesh) points = body.vertices;
  if (body.kind == ShapeKind::kSphere) points = {{0, 0, 0}};
  if (body.kind == ShapeKind::kCapsule) points = {{0, 0, -body.size.y}, {0, 0, body.size.y}};
  for (int i = 0; i < (body.kind == ShapeKind::kBox ? 8 : 0); ++i) {
    points.push_back(math::scale(body.size, {i & 1 ? 1.0 : -1.0, i & 2 ? 1.0 : -1.0, i & 4 ? 1.0 : -1.0}));
  }
  for (Vec& p : points) p = body.X.R_WS * p;
  return points;
}

inline double ball_radius(const Body& body) {
  return body.kind == ShapeKind::kSphere || body.kind == ShapeKind::kCapsule ? body.size.x : 0;
}

// Infinite where the hull has no inside or the origin is not in it, and where a body is none.
inline double depth_of_hulls(const Body& a, const Body& b) {
  std::vector<model::Vec3d> differences;
  for (const Vec& p : corners(a)) {
    for (const Vec& q : corners(b)) differences.push_back(model::to_spec(p - q));
  }
  if (differences.size() < 4) return INFINITY;
  const auto hull = model::convex_hull(differences, static_cast<int>(differences.size()));
  if (!hull.ok()) return INFINITY;
  double least = INFINITY;
  for (const auto& face : hull.value().faces) {
    const auto corner = [&](int i) { return model::to_vec3(hull.value().vertices[static_cast<std::size_t>(face[i])]); };
    const Vec n = math::cross(corner(1) - corner(0), corner(2) - corner(0));
    if (math::norm(n) > 0) least = std::min(least, depth_along(a, b, -math::normalized(n)));
  }
  const double radius = ball_radius(a) + ball_radius(b);
  return least > radius ? least : INFINITY;
}

inline double refine(const Body& a, const Body& b, Vec n) {
  double least = depth_along(a, b, n);
  for (double step = 0.05; step > 1e-5;) {
    Vec t1, t2;
    math::tangent_basis(n, t1, t2);
    bool better = false;
    for (int k = 0; k < 8; ++k) {
      const Vec m =
          math::normalized(n + step * (std::cos(k * M_PI / 4 + step) * t1 + std::sin(k * M_PI / 4 + step) * t2));
      const double depth = depth_along(a, b, m);
      if (depth < least) least = depth, n = m, better = true;
    }
    if (!better) step *= 0.6;
  }
  return least;
}

inline double depth_by_search(const Body& a, const Body& b) {
  constexpr int kDirections = 800, kRefined = 6;
  std::vector<std::pair<double, Vec>> found;
  for (int i = 0; i < kDirections; ++i) {
    const double z = 1 - (2 * i + 1.0) / kDirections, angle = i * 2.399963229728653, across = std::sqrt(1 - z * z);
    const Vec n{across * std::cos(angle), across * std::sin(angle), z};
    found.emplace_back(depth_along(a, b, n), n);
  }
  std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  double least = INFINITY;
  std::vector<Vec> tried;
  for (const auto& [depth, n] : found) {
    // Those of one valley lead to one end.
    if (std::any_of(tried.begin(), tried.end(), [&n = n](const Vec& m) { return math::dot(m, n) > 0.97; })) continue;
    tried.push_back(n);
    least = std::min(least, refine(a, b, n));
    if (tried.size() == kRefined) break;
  }
  return least;
}

inline double depth(const Body& a, const Body& b) {
  const double of_hulls = depth_of_hulls(a, b);
  return of_hulls < INFINITY ? of_hulls : depth_by_search(a, b);
}

// Moves a so that it is in b: along a random direction by a share of the way at which they would touch.
inline void overlap(Body& a, const Body& b, const Vec& direction, double share) {
  a.X.p_WS = b.X.p_WS + (share * (a.support(-direction) + b.support(direction))) * direction;
}

}  // namespace axion::collide::depth_oracle
