// Contacts of two convex shapes that have no closed form together: one nearest point, or up to eight of faces.
//
// The direction of contact, the unit normal n from B to A, decides everything: the gap is the separation along it,
//   g = -(h_A(-n) + h_B(n)),  h the support functions of the whole shapes, which no direction makes greater than the
//   distance, and the least depth is minus its greatest value. Where the cores are apart n is the direction of their
//   nearest points (gjk.hpp). Where they overlap, it is that of the face of their difference by which they come apart
//   (portal.hpp). Cylinders among shapes that no ball thickens are shrunk by a skin while they touch, so that lines and
//   rims have a direction at a gap of nothing, too; apart it passes within a thousandth of their size to that of the
//   whole shapes. Then the polygons that look at each other give further points (convex_face.hpp). Called by
//   collide_pair alone; normals point from the second to the first.
#pragma once

#include "engine/collide/convex_face.hpp"
#include "engine/collide/parameters.hpp"
#include "engine/collide/portal.hpp"

namespace axion::collide {

// Direction of contact and the places of it, before they are moved to the surfaces; in A.
template <typename Real>
struct Approach {
  math::Vec3<Real> n;
  Difference<Real> points;
  bool near;  // false: farther apart than the margin
};

template <typename Real>
AXION_HD inline Approach<Real> approach_of(const Nearest<Real>& nearest) {
  return {(Real(1) / nearest.length) * nearest.v, weighted(nearest.simplex), true};
}

// Greatest separation of the cores along n is at most this.
template <typename Real>
AXION_HD inline Real core_separation(const ConvexPair<Real>& pair, const math::Vec3<Real>& n) {
  return math::dot(n, nearest_along(pair, n).w());
}

// Of the directions that the search for nearest points ended with, that along which the cores overlap least: the best
// that it looked at, and the normals of its last simplex, whose height says nothing of a direction where cores are
// flush. Returns how deep they are along it.
template <typename Real>
AXION_HD_RARE Real least_of_search(const ConvexPair<Real>& pair, const Nearest<Real>& nearest, math::Vec3<Real>& n) {
  Real least = std::numeric_limits<Real>::max();
  const auto look = [&](const math::Vec3<Real>& v) {
    const Real length = math::norm(v);
    if (!(length > tiny_length<Real>())) return;
    const math::Vec3<Real> unit = (Real(1) / length) * v;
    const Real depth = -core_separation(pair, unit);
    if (depth < least) least = depth, n = unit;
  };
  look(nearest.v);
  const Simplex<Real>& simplex = nearest.simplex;
  for (int left_out = 0; left_out < (simplex.count == 4 ? 4 : 1) && simplex.count >= 3; ++left_out) {
    math::Vec3<Real> w[3];
    for (int i = 0; i < 3; ++i) w[i] = simplex.point[simplex.count == 4 && i >= left_out ? i + 1 : i].w();
    const math::Vec3<Real> normal = math::cross(w[1] - w[0], w[2] - w[0]);
    look(normal), look(-normal);
  }
  return least;
}

// The nearest points of cores that are flush, once they are a little further apart: the face between them stays the
// same one, and nothing is at its edge by rounding.
template <typename Real>
AXION_HD_RARE Nearest<Real> nearest_when_parted(ConvexPair<Real> pair) {
  const Real length = math::norm(pair.p_AB);
  if (length > tiny_length<Real>()) pair.p_AB += (pair.deep / length) * pair.p_AB;
  return nearest_points(pair, extent(pair));
}

// Points of cores that overlap by `depth` along n, across from each other: the nearest ones once they are apart.
template <typename Real>
AXION_HD_RARE Difference<Real> points_across(ConvexPair<Real> pair, const math::Vec3<Real>& n, Real depth) {
  const math::Vec3<Real> away = (depth + Real(ConvexParameters::kParted) * extent(pair)) * n;
  pair.p_AB -= away;
  const Nearest<Real> nearest = nearest_points(pair, extent(pair));
  Difference<Real> points = nearest.length > Real(0) ? weighted(nearest.simplex) : nearest_along(pair, n);
  points.b += away;
  return points;
}

// Cores that overlap. Rays miss the way out where it is a face that the origin lies in but for rounding: no way is
// longer than that along any direction that is known.
template <typename Real>
AXION_HD inline Approach<Real> approach_from_within(const ConvexPair<Real>& pair, const Nearest<Real>& nearest) {
  const Portal<Real> portal = way_out(pair);
  if (portal.found) {
    math::Vec3<Real> n = -portal.out;
    const Real spare = portal.depth - Real(ConvexParameters::kSpare) * pair.deep;
    Real depth = spare;
    if (spare > Real(0)) depth = least_of_search(pair, nearest, n);
    if (spare > Real(0) && !(depth < spare)) depth = least_of_search(pair, nearest_when_parted(pair), n);
    if (depth < spare) return {n, points_across(pair, n, depth), true};
    if (portal.is_plane) return {-portal.out, points_across(pair, -portal.out, portal.depth), true};
    return {-portal.out, portal_points(portal), true};
  }
  // Flat cores, which have no inside: square to all that is known of them.
  const Difference<Real> points = weighted(nearest.simplex);
  const math::Vec3<Real> p = -pair.p_AB;
  math::Vec3<Real> axis = pair.a.kind == model::ShapeKind::kCapsule ? math::Vec3<Real>{0, 0, 1} : p;
  if (pair.a.kind == model::ShapeKind::kCapsule && pair.b.kind == model::ShapeKind::kCapsule) {
    const math::Vec3<Real> across = math::cross(axis, pair.R_AB.column(2));
    if (math::norm(across) > Real(ConvexParameters::kLeastSine)) {
      return {(math::dot(across, p) < Real(0) ? Real(-1) : Real(1)) / math::norm(across) * across, points, true};
    }
  }
  if (!(math::norm(axis) > tiny_length<Real>())) axis = {1, 0, 0};
  math::Vec3<Real> n, other;
  math::tangent_basis(math::normalized(axis), n, other);
  return {math::dot(n, p) < Real(0) ? -n : n, points, true};
}

// Greatest separation along n of the whole shapes is at most this.
template <typename Real>
AXION_HD inline Real separation_along(const ConvexPair<Real>& pair, const math::Vec3<Real>& n) {
  return core_separation(pair, n) - pair.radius_a - pair.radius_b;
}

// Shapes whose cores are whole, or thickened by balls.
template <typename Real>
AXION_HD inline Approach<Real> approach_of_cores(const ConvexPair<Real>& pair, Real near, Real far) {
  const Nearest<Real> nearest = nearest_points(pair, far);
  if (nearest.bound > far) return {{}, {}, false};
  if (!(nearest.length > Real(0)) || !(nearest.bound > Real(0))) return approach_from_within(pair, nearest);
  Approach<Real> approach = approach_of(nearest);
  if (nearest.length >= near || nearest.simplex.count == 3) return approach;
  // Nearly touching by an edge or a vertex: rounding turns the direction, which a face beside them keeps.
  const Portal<Real> portal = way_out(pair);
  if (!portal.found || math::dot(portal.out, approach.n) > Real(-ConvexParameters::kFaceBeside)) return approach;
  const Real share = (nearest.length / near) * (nearest.length / near);
  approach.n = math::normalized(share * approach.n - (Real(1) - share) * portal.out);
  return approach;
}

// Of two directions the one along which the shapes are farther apart; between them where that is little. Neither is the
// difference of points that are nearly the same, so that what counts as little is the rounding of separations.
template <typename Real>
AXION_HD inline math::Vec3<Real> better_of(const ConvexPair<Real>& pair, const math::Vec3<Real>& n,
                                           const math::Vec3<Real>& other) {
  const Real little = (Real(ConvexParameters::kLittleRoundings) * std::numeric_limits<Real>::epsilon() +
                       Real(ConvexParameters::kLittle)) *
                      extent(pair);
  const Real gain =
      separation_along(pair, other) - separation_along(pair, n) - Real(ConvexParameters::kNoGain) * little;
  if (!(gain > Real(0)) || !(math::dot(n, other) > Real(ConvexParameters::kWayBeside))) return n;
  const Real share = gain < little ? gain / little : Real(1);
  return math::normalized(share * other + (Real(1) - share) * n);
}

// With a cylinder, and no ball about either.
template <typename Real>
AXION_HD inline Approach<Real> approach_of_shrunk(ConvexPair<Real> pair, Real skin_a, Real skin_b, Real near,
                                                  Real far) {
  pair.skin_a = skin_a, pair.skin_b = skin_b;
  const Real skin = skin_a + skin_b;
  const Nearest<Real> shrunk = nearest_points(pair, far + Real(2) * skin);
  pair.skin_a = pair.skin_b = Real(0);
  if (shrunk.bound > far + Real(2) * skin) return {{}, {}, false};
  if (!(shrunk.length > Real(0))) return approach_from_within(pair, shrunk);
  Approach<Real> approach = approach_of(shrunk);
  Real separation = separation_along(pair, approach.n);
  // Of sides and caps the skin takes as much as it is thick; a rim it moves, and then the direction is not quite its
  // own.
  if (separation < near && shrunk.length - skin > separation + Real(ConvexParameters::kRim) * near) {
    const Portal<Real> portal = way_out(pair);
    if (portal.found) approach.n = better_of(pair, approach.n, -portal.out);
    separation = separation_along(pair, approach.n);
  }
  if (!(separation > Real(0))) return approach;
  const Nearest<Real> whole = nearest_points(pair, far);
  if (whole.bound > far) return {{}, {}, false};
  if (!(whole.length > Real(0)) || !(whole.bound > Real(0))) return approach;
  const Approach<Real> apart = approach_of(whole);
  if (whole.length >= near) return apart;
  const Real share = (whole.length / near) * (whole.length / near);
  approach.n = math::normalized(share * apart.n + (Real(1) - share) * approach.n);
  return approach;
}

// Points of the polygons of both shapes, in the frame of the normal: x and y places, z heights along it.
template <typename Real>
struct FacePair {
  Polygon<Real> a, b;
  math::Vec3<Real> n, t1, t2;
};

template <typename Real>
AXION_HD inline void into_plane(Polygon<Real>& polygon, const math::Vec3<Real>& origin, const math::Mat3<Real>& R,
                                const FacePair<Real>& faces) {
  for (int i = 0; i < polygon.count; ++i) {
    const math::Vec3<Real> p = origin + R * polygon.point[i].p;
    polygon.point[i].p = {math::dot(faces.t1, p), math::dot(faces.t2, p), math::dot(faces.n, p)};
  }
  if (area(polygon) >= Real(0)) return;
  for (int i = 0, k = polygon.count - 1; i < k; ++i, --k) {
    const NamedPoint<Real> swapped = polygon.point[i];
    polygon.point[i] = polygon.point[k], polygon.point[k] = swapped;
  }
}

template <typename Real>
AXION_HD inline ContactPoint<Real> contact_at(const ConvexPair<Real>& pair, const FacePair<Real>& faces, Real x, Real y,
                                              Real height_a, Real height_b, std::uint32_t feature) {
  const math::Vec3<Real> across = x * faces.t1 + y * faces.t2;
  const math::Mat3<Real>& R = pair.X_WA.R_WS;
  return {pair.X_WA.p_WS + R * (across + height_a * faces.n), pair.X_WA.p_WS + R * (across + height_b * faces.n),
          R * faces.n, height_a - height_b, feature};
}

// A place of the common polygon: its gap is the difference of the heights.
template <typename Real>
struct FaceContact {
  Real height_a, height_b;
  std::uint32_t feature;
};

// Two lines side by side: the ends of what they have in common. Crossing ones have none.
template <typename Real>
AXION_HD inline bool clip_line(const Polygon<Real>& line, ClippedPolygon<Real>& clipped) {
  const math::Vec3<Real>&p = line.point[0].p, &q = line.point[1].p;
  const math::Vec3<Real>&r = clipped.point[0], &s = clipped.point[1];
  const Real x = q.x - p.x, y = q.y - p.y, u = s.x - r.x, v = s.y - r.y;
  const Real lengths = std::sqrt((x * x + y * y) * (u * u + v * v));
  if (!(std::abs(x * v - y * u) < Real(ConvexParameters::kSideBySide) * lengths)) return false;
  const math::Vec3<Real> across{-y, x, 0};
  const bool same = x * u + y * v > Real(0);
  // Ends of `line`, as edges square to it: what is between them stays.
  clip_to_edge(p, p - across, same ? 0 : 1, Real(0), clipped);
  clip_to_edge(q, q + across, same ? 1 : 0, Real(0), clipped);
  return clipped.count >= 2;
}

// Adds up to eight contacts of the polygons; `nearest` is the first where they leave it out.
template <typename Real>
AXION_HD_CALL void add_faces(const ConvexPair<Real>& pair, FacePair<Real>& faces, const ContactPoint<Real>& nearest,
                             Real same, ContactList<Real>& list) {
  const Real area_a = area(faces.a), area_b = area(faces.b);
  const Real least_area =
      Real(ConvexParameters::kSliver) * same;  // of slivers; only a scale of lengths squared is needed
  const bool flat_a = area_a > least_area * same, flat_b = area_b > least_area * same;
  // The one that is clipped, and the one that clips, which has an area if any has.
  const bool b_clips = flat_b || !flat_a;
  const Polygon<Real>&clipped = b_clips ? faces.a : faces.b, &clipping = b_clips ? faces.b : faces.a;
  ClippedPolygon<Real> common;
  for (int i = 0; i < clipped.count; ++i) common.add(clipped.point[i].p, i);
  if (flat_a || flat_b) {
    for (int i = 0; i < clipping.count; ++i) {
      clip_to_edge(clipping.point[i].p, clipping.point[i + 1 == clipping.count ? 0 : i + 1].p, i,
                   Real(ConvexParameters::kClipSlack) * same, common);
    }
  } else if (clipped.count != 2 || clipping.count != 2 || !clip_line(clipping, common)) {
    common.count = 0;
  }
  math::Vec3<Real> place[kClippedPoints];
  FaceContact<Real> contact[kClippedPoints];
  int count = 0;
  Real least = std::numeric_limits<Real>::max();
  for (int i = 0; i < common.count; ++i) {
    const math::Vec3<Real>& p = common.point[i];
    const Real other = height_at(clipping, p, flat_a || flat_b ? least_area * same : Real(0));
    const Real gap = b_clips ? p.z - other : other - p.z;
    if (!(gap < list.margin)) continue;
    bool known = false;
    for (int k = 0; k < count; ++k) {
      const Real x = place[k].x - p.x, y = place[k].y - p.y;
      known = known || x * x + y * y < same * same;
    }
    if (known) continue;
    const int before = common.line[i == 0 ? common.count - 1 : i - 1], after = common.line[i];
    const auto own = [&](int line) { return clipped.point[line].name; };
    const auto its = [&](int line) { return clipping.point[line - kFacePoints].name; };
    const bool own_before = before < kFacePoints, own_after = after < kFacePoints;
    int what = 3, name_own = 0, name_its = 0;
    if (own_after && own_before) {
      what = b_clips ? 1 : 2, name_own = own(after);
    } else if (!own_after && !own_before) {
      what = b_clips ? 2 : 1, name_its = its(after);
    } else {
      what = own_before ? 3 : 4, name_own = own(own_before ? before : after),
      name_its = its(own_before ? after : before);
      if (!b_clips) what += 2;
    }
    place[count] = {p.x, p.y, gap};
    contact[count] = {b_clips ? p.z : other, b_clips ? other : p.z,
                      face_feature(what, b_clips ? name_own : name_its, b_clips ? name_its : name_own)};
    least = gap < least ? gap : least;
    ++count;
  }
  if (count == 0) {
    list.add(nearest);
    return;
  }
  const bool adds_nearest = nearest.gap < least - Real(0.5) * same && nearest.gap < list.margin;
  int chosen[kClippedPoints];
  const int kept = choose_corners(place, count, kMaxPairContacts - (adds_nearest ? 1 : 0), chosen);
  if (adds_nearest) list.add(nearest);
  for (int k = 0; k < kept; ++k) {
    const int i = chosen[k];
    list.add(
        contact_at(pair, faces, place[i].x, place[i].y, contact[i].height_a, contact[i].height_b, contact[i].feature));
  }
}

// The shape with the one smooth surface of the kind has one contact.
template <typename Real>
AXION_HD inline bool has_face(const Shape<Real>& shape) {
  return shape.kind != model::ShapeKind::kSphere && shape.kind != model::ShapeKind::kEllipsoid;
}

// `least_b`: the least size of b.
template <typename Real>
AXION_HD_CALL void convex_contacts(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                                   const ShapePose<Real>& X_WB, Real least_b, ContactList<Real>& list) {
  const Real least_a = least_size(a), least = least_a < least_b ? least_a : least_b;
  const ConvexPair<Real> pair{a,
                              b,
                              math::transpose_times(X_WA.R_WS, X_WB.p_WS - X_WA.p_WS),
                              math::transpose(X_WA.R_WS) * X_WB.R_WS,
                              X_WA,
                              core_radius(a),
                              core_radius(b),
                              Real(0),
                              Real(0),
                              Real(ConvexParameters::kDeepShare) * least};
  const Real radius = pair.radius_a + pair.radius_b;
  const Real far = list.margin + radius;
  const bool round_a = a.kind == model::ShapeKind::kCylinder, round_b = b.kind == model::ShapeKind::kCylinder;
  // Nearer than this rounding would turn the direction of two points by more than half a thousandth.
  const Real blur = Real(ConvexParameters::kBlurRoundings) * std::numeric_limits<Real>::epsilon() * extent(pair),
             part = Real(ConvexParameters::kNear) * least;
  const Real near = blur > part ? blur : part;
  const bool shrinks = (round_a || round_b) && !(radius > Real(0));
  const Approach<Real> approach =
      shrinks ? approach_of_shrunk(pair, round_a ? Real(ConvexParameters::kSkin) * least_a : Real(0),
                                   round_b ? Real(ConvexParameters::kSkin) * least_b : Real(0), near, far)
              : approach_of_cores(pair, near, far);
  if (!approach.near) return;
  const math::Vec3<Real>& n = approach.n;
  // To the surfaces: along the normal, to the planes that hold the shapes.
  const Difference<Real> touching = nearest_along(pair, n);
  const math::Vec3<Real>&on_a = approach.points.a, &on_b = approach.points.b;
  const math::Vec3<Real> p_A = on_a + (math::dot(n, touching.a - on_a) - pair.radius_a) * n;
  const math::Vec3<Real> p_B = on_b + (math::dot(n, touching.b - on_b) + pair.radius_b) * n;
  const Real gap = math::dot(n, touching.w()) - radius;
  if (!(gap < list.margin)) return;
  const ContactPoint<Real> nearest{X_WA.p_WS + X_WA.R_WS * p_A, X_WA.p_WS + X_WA.R_WS * p_B, X_WA.R_WS * n, gap,
                                   kNearestFeature};
  if (!has_face(a) || !has_face(b)) {
    list.add(nearest);
    return;
  }
  FacePair<Real> faces{face_polygon(a, -n, face_inclination(a, list.margin)),
                       face_polygon(b, math::transpose_times(pair.R_AB, n), face_inclination(b, list.margin)),
                       n,
                       {},
                       {}};
  if (faces.a.count < 2 || faces.b.count < 2) {
    list.add(nearest);
    return;
  }
  math::tangent_basis(n, faces.t1, faces.t2);
  into_plane(faces.a, math::Vec3<Real>{0, 0, 0}, math::Mat3<Real>::identity(), faces);
  into_plane(faces.b, pair.p_AB, pair.R_AB, faces);
  add_faces(pair, faces, nearest, Real(ConvexParameters::kNear) * least, list);
}

template <typename Real>
AXION_HD inline void convex_convex(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                                   const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  convex_contacts(a, X_WA, b, X_WB, least_size(b), list);
}

}  // namespace axion::collide
