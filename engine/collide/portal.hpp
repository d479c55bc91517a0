// The way out of two convex cores that overlap: the face of their difference A − B that a ray from a point within it
// meets (Snethen 2008, Minkowski portal refinement).
//
// The first ray goes from the difference of the centres through the origin; then rays from the origin along the normal
// found, as long as they find a face that is less deep. Where that one is deep, the same is done from the least deep
// of directions all around. The result is a face of the difference; it is the least deep one, but for few overlaps
// that are deep beside the shapes (docs/experiments/0021-deep-overlaps.md). A bounded number of rounds. Used by the
// convex family only.
#pragma once

#include "engine/collide/gjk.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

template <typename Real>
struct Portal {
  Difference<Real> point[3];
  math::Vec3<Real> out;  // unit, outward normal
  Real depth;            // of the origin below the face
  bool found;
  bool is_plane;  // all three points are one of the face's plane, not corners of the face
};

// The farthest point of the difference along d.
template <typename Real>
AXION_HD inline Difference<Real> farthest_along(const ConvexPair<Real>& pair, const math::Vec3<Real>& d) {
  return nearest_along(pair, -d);
}

// Three points of the difference such that the ray from `from` along `ray` passes between them. False: none found.
template <typename Real>
AXION_HD inline bool discover_portal(const ConvexPair<Real>& pair, const math::Vec3<Real>& from,
                                     const math::Vec3<Real>& ray, Difference<Real>* point) {
  const Real tiny = Real(64) * std::numeric_limits<Real>::epsilon() * extent(pair);
  const auto seen = [&](int i) { return point[i].w() - from; };
  point[0] = farthest_along(pair, ray);
  math::Vec3<Real> side = math::cross(seen(0), ray), other{};
  if (!(math::norm(side) > tiny)) math::tangent_basis(ray, side, other);
  point[1] = farthest_along(pair, math::normalized(side));
  math::Vec3<Real> normal = math::cross(seen(0), seen(1));
  if (!(math::norm(normal) > tiny * tiny)) return false;
  if (math::dot(normal, ray) < Real(0)) {
    const Difference<Real> swapped = point[0];
    point[0] = point[1], point[1] = swapped, normal = -normal;
  }
  for (int round = 0; round < SearchParameters::kPortalRounds; ++round) {
    if (!(math::norm(normal) > tiny * tiny)) return false;
    point[2] = farthest_along(pair, math::normalized(normal));
    if (math::dot(math::cross(seen(0), seen(2)), ray) > Real(0)) {
      point[1] = point[2];
    } else if (math::dot(math::cross(seen(2), seen(1)), ray) > Real(0)) {
      point[0] = point[2];
    } else {
      return true;
    }
    normal = math::cross(seen(0), seen(1));
  }
  return true;
}

// Leads the portal outwards along the ray until it lies in the surface.
template <typename Real>
AXION_HD_CALL Portal<Real> find_portal(const ConvexPair<Real>& pair, const math::Vec3<Real>& from,
                                       const math::Vec3<Real>& ray) {
  constexpr Real kEpsilon = std::numeric_limits<Real>::epsilon();
  const Real tolerance = (sizeof(Real) == sizeof(float) ? Real(SearchParameters::kPortalRoundings) * kEpsilon
                                                        : Real(SearchParameters::kPortalDouble)) *
                         extent(pair);
  Portal<Real> portal{};
  Difference<Real>* point = portal.point;
  if (!discover_portal(pair, from, ray, point)) return portal;
  for (int round = 0; round < SearchParameters::kPortalRounds; ++round) {
    math::Vec3<Real> n = math::cross(point[1].w() - point[0].w(), point[2].w() - point[0].w());
    const Real length = math::norm(n);
    if (!(length > tiny_length<Real>())) return portal;
    n = ((math::dot(n, ray) < Real(0) ? Real(-1) : Real(1)) / length) * n;
    const Difference<Real> next = farthest_along(pair, n);
    portal.out = n, portal.depth = math::dot(n, next.w()), portal.found = true;
    if (portal.depth - math::dot(n, point[2].w()) <= tolerance) break;
    const math::Vec3<Real> side = math::cross(next.w() - from, ray);
    const auto beyond = [&](int i) { return math::dot(point[i].w() - from, side) < Real(0); };
    if (beyond(0)) {
      point[beyond(1) ? 0 : 2] = next;
    } else {
      point[beyond(2) ? 1 : 0] = next;
    }
  }
  return portal;
}

// From a face to one that is less deep, by rays from the origin along its normal: the surface lies no farther along the
// ray than the face is deep, and the face met there no deeper than that.
template <typename Real>
AXION_HD inline void descend(const ConvexPair<Real>& pair, Real enough, Portal<Real>& best) {
  for (int k = 0; k < SearchParameters::kPortalRays && best.found && best.depth > enough; ++k) {
    const Portal<Real> next = find_portal(pair, math::Vec3<Real>{0, 0, 0}, best.out);
    if (!next.found || !(next.depth < best.depth)) break;
    const bool settled = next.depth > Real(PortalParameters::kSettled) * best.depth;
    best = next;
    if (settled) break;
  }
}

// A direction out of the difference, and how deep the origin is along it.
template <typename Real>
struct WayOut {
  math::Vec3<Real> n;
  Real depth;
};

// Keeps the `kept` least deep directions that are some way apart, so that each leads to a face of its own.
template <typename Real>
AXION_HD inline void keep_least(const WayOut<Real>& way, WayOut<Real>* kept) {
  int place = 0;  // of one near it, or of the deepest
  for (int k = 0; k < SearchParameters::kWaysOut; ++k) {
    if (math::dot(kept[k].n, way.n) > Real(PortalParameters::kSameWay)) {
      place = k;
      break;
    }
    if (kept[k].depth > kept[place].depth) place = k;
  }
  if (way.depth < kept[place].depth) kept[place] = way;
}

// Deep in each other bodies come apart in many ways, and that nearest to the line of their centres is seldom the
// shortest. The depth is known along any direction by one point of the difference: of the axes of both, and those
// midway between two and three of them, the least deep ones are followed down.
template <typename Real>
AXION_HD_CALL void look_around(const ConvexPair<Real>& pair, Portal<Real>& best) {
  WayOut<Real> kept[SearchParameters::kWaysOut];
  for (WayOut<Real>& way : kept) way = {{0, 0, 0}, std::numeric_limits<Real>::max()};
  for (int i = 0; i < 54; ++i) {
    const int of_b = i >= 27 ? 1 : 0, k = i - 27 * of_b;
    const int x = k % 3 - 1, y = k / 3 % 3 - 1, z = k / 9 - 1;
    const math::Vec3<Real> d{Real(x), Real(y), Real(z)};
    const Real length = math::norm(d);
    if (!(length > Real(0))) continue;
    const math::Vec3<Real> unit = (Real(1) / length) * d, n = of_b ? pair.R_AB * unit : unit;
    keep_least({n, math::dot(n, farthest_along(pair, n).w())}, kept);
  }
  for (const WayOut<Real>& way : kept) {
    if (!(math::norm(way.n) > Real(PortalParameters::kSameWay))) continue;
    Portal<Real> other = find_portal(pair, math::Vec3<Real>{0, 0, 0}, way.n);
    descend(pair, Real(0), other);
    if (other.found && other.depth < best.depth) best = other;
    if (!(way.depth < best.depth)) continue;  // the face met is deeper than what is known, as where faces are flush
    const Difference<Real> point = farthest_along(pair, way.n);
    best = {{point, point, point}, way.n, way.depth, true, true};
  }
}

// The face by which the cores come apart; not found where they have no volume in common.
template <typename Real>
AXION_HD inline Portal<Real> way_out(const ConvexPair<Real>& pair) {
  const Real size = extent(pair);
  math::Vec3<Real> from = -pair.p_AB;
  Real length = math::norm(from);
  if (!(length > Real(PortalParameters::kLeastRay) * size))
    from = {Real(PortalParameters::kLeastRay) * size, 0, 0}, length = math::norm(from);
  Portal<Real> best = find_portal(pair, from, -(Real(1) / length) * from);
  descend(pair, Real(PortalParameters::kEnough) * size, best);
  if (best.found && best.depth > pair.deep) look_around(pair, best);
  return best;
}

// The points of both surfaces that the origin's projection onto the portal gives.
template <typename Real>
AXION_HD inline Difference<Real> portal_points(const Portal<Real>& portal) {
  Simplex<Real> simplex{};
  math::Vec3<Real> w[3];
  const math::Vec3<Real> lift = portal.depth * portal.out;
  for (int i = 0; i < 3; ++i) simplex.point[i] = portal.point[i], w[i] = portal.point[i].w() - lift;
  simplex.count = 3;
  nearest_of_triangle(w[0], w[1], w[2], simplex.weight);
  return weighted(simplex);
}

}  // namespace axion::collide
