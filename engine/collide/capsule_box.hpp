// Contacts of a capsule with a box: up to three along the capsule's axis. Called by collide_pair alone.
//
// While the axis is outside the box, each contact is that of a ball on the axis with the box. Features: 0 and 1 are
// the ends of the part of the axis that lies over the nearest face or edge, in the order of the axis; 2 is the nearest
// point of the axis, where it is neither of them. When the axis meets the box, the direction of least overlap decides:
// a face (features 0 and 1) or the common perpendicular of the axis and an edge (features 3 + the edge's direction).
//
// All in the box's frame B: the axis is p + t u, |t| <= half. Normals point from the box to the capsule.
#pragma once

#include "engine/collide/geometry.hpp"
#include "engine/collide/parameters.hpp"
#include "engine/lanes/number.hpp"

namespace axion::collide {

template <typename Real>
struct CapsuleInBox {
  math::Vec3<Real> p, u;  // centre and axis in the box's frame
  Real half, radius;      // of the capsule
  math::Vec3<Real> box;   // half extents
  ShapePose<Real> X_WC, X_WB;

  AXION_HD math::Vec3<Real> at(Real t) const { return p + t * u; }
  // Contact of the ball at t with the point q of the box's surface; n in the box's frame.
  AXION_HD ContactPoint<Real> contact(Real t, const math::Vec3<Real>& q, const math::Vec3<Real>& n, Real distance,
                                      std::uint32_t feature) const {
    const math::Vec3<Real> n_W = X_WB.R_WS * n;
    const math::Vec3<Real> p_WT = X_WC.p_WS + t * X_WC.R_WS.column(2);
    return {p_WT - radius * n_W, X_WB.p_WS + X_WB.R_WS * q, n_W, distance - radius, feature};
  }
};

// Half the derivative of the squared distance of at(t) to the box: it never falls with t.
template <typename Real>
AXION_HD inline Real distance_slope(const CapsuleInBox<Real>& c, Real t) {
  const math::Vec3<Real> x = c.at(t);
  Real slope = 0;
  for (int i = 0; i < 3; ++i) slope += c.u[i] * (x[i] - clamp(x[i], -c.box[i], c.box[i]));
  return slope;
}

// The t of the axis that is nearest to the box. The slope is linear between the up to six t at which the axis crosses
// a face's plane; those bracket its zero.
template <typename Real>
AXION_HD inline Real nearest_parameter(const CapsuleInBox<Real>& c) {
  Real low = -c.half, high = c.half;
  Real slope_low = distance_slope(c, low), slope_high = distance_slope(c, high);
  if (slope_low >= Real(0)) return low;
  if (slope_high <= Real(0)) return high;
  for (int k = 0; k < 6; ++k) {
    const int i = k >> 1;
    if (std::abs(c.u[i]) <= tiny_length<Real>()) continue;
    const Real t = ((k & 1 ? c.box[i] : -c.box[i]) - c.p[i]) / c.u[i];
    if (!(t > low && t < high)) continue;
    const Real slope = distance_slope(c, t);
    using lanes::vanishes;
    if (vanishes(slope)) return t;
    if (slope <= Real(0)) low = t, slope_low = slope;
    if (slope > Real(0)) high = t, slope_high = slope;
  }
  return clamp(low - slope_low * ((high - low) / (slope_high - slope_low)), low, high);
}

// The axis is outside: `nearest` is the nearest point of the box for t.
template <typename Real>
AXION_HD inline void capsule_outside_box(const CapsuleInBox<Real>& c, Real t, const SurfacePoint<Real>& nearest,
                                         ContactList<Real>& list) {
  const ContactPoint<Real> least = c.contact(t, nearest.point, nearest.normal, nearest.distance, 2);
  // The part over the face: within the box along the directions to which the normal is nearly square. None: the part
  // over the edge to which it is squarest.
  Real low = -c.half, high = c.half;
  bool over = true;
  int edge = 0;
  for (int i = 0; i < 3; ++i) {
    const Real along = std::abs(nearest.normal[i]);
    if (along < std::abs(nearest.normal[edge])) edge = i;
    if (along < Real(CapsuleParameters::kAlongFace)) over = over && clip_to_slab(c.p[i], c.u[i], c.box[i], low, high);
  }
  if (!over) {
    low = -c.half, high = c.half;
    over = clip_to_slab(c.p[edge], c.u[edge], c.box[edge], low, high);
  }
  if (!over) {
    list.add(least);
    return;
  }
  const SurfacePoint<Real> q0 = nearest_on_box(c.at(low), c.box);
  const SurfacePoint<Real> q1 = nearest_on_box(c.at(high), c.box);
  const ContactPoint<Real> first = c.contact(low, q0.point, q0.normal, q0.distance, 0);
  const ContactPoint<Real> second = c.contact(high, q1.point, q1.normal, q1.distance, 1);
  const bool is_short = high - low <= Real(CapsuleParameters::kShort) * c.half;  // one point, not two
  const Real least_of_two = first.gap < second.gap ? first.gap : second.gap;
  if (!is_short || first.gap <= second.gap) list.add(first);
  if (!is_short || first.gap > second.gap) list.add(second);
  if (least_of_two > least.gap + Real(CapsuleParameters::kAsNear) * c.radius) list.add(least);
}

// The least overlap of the axis and the box along the perpendiculars of the axis and the edges.
template <typename Real>
struct EdgeAxis {
  Real separation;
  math::Vec3<Real> n;  // unit, from the box to the capsule
  int edge;            // direction of the edge
};

template <typename Real>
AXION_HD inline EdgeAxis<Real> best_edge_axis(const CapsuleInBox<Real>& c) {
  EdgeAxis<Real> best{-std::numeric_limits<Real>::max(), {0, 0, 0}, -1};
  for (int i = 0; i < 3; ++i) {
    math::Vec3<Real> e{};
    e[i] = Real(1);
    const math::Vec3<Real> w = math::cross(e, c.u);
    const Real length = math::norm(w);
    if (length < Real(CapsuleParameters::kLeastSine)) continue;
    const Real offset = math::dot(w, c.p);
    const math::Vec3<Real> n = (offset < Real(0) ? Real(-1) : Real(1)) / length * w;
    Real separation = std::abs(offset) / length;
    for (int k = 0; k < 3; ++k) separation -= std::abs(n[k]) * c.box[k];
    if (separation > best.separation) best = {separation, n, i};
  }
  return best;
}

// The axis meets the box: overlap along a face normal or along a perpendicular of an edge, whichever is least.
template <typename Real>
AXION_HD inline void capsule_through_box(const CapsuleInBox<Real>& c, ContactList<Real>& list) {
  int face = 0;
  Real face_separation = -std::numeric_limits<Real>::max();
  for (int i = 0; i < 3; ++i) {
    const Real separation = std::abs(c.p[i]) - c.box[i] - std::abs(c.u[i]) * c.half;
    if (separation > face_separation) face_separation = separation, face = i;
  }
  const EdgeAxis<Real> edge = best_edge_axis(c);
  if (edge.edge >= 0 && edge.separation > face_separation + Real(CapsuleParameters::kEdgeBias) * c.radius) {
    // Nearest points of the axis and of the edge that is farthest along n.
    math::Vec3<Real> e{}, corner{};
    e[edge.edge] = Real(1);
    for (int k = 0; k < 3; ++k) {
      if (k != edge.edge) corner[k] = edge.n[k] < Real(0) ? -c.box[k] : c.box[k];
    }
    Real s = 0, t = 0;
    nearest_on_segments(corner - c.p, c.u, c.half, e, c.box[edge.edge], s, t);
    list.add(c.contact(s, corner + t * e, edge.n, edge.separation, 3 + std::uint32_t(edge.edge)));
    return;
  }
  const Real sign = c.p[face] < Real(0) ? Real(-1) : Real(1);
  math::Vec3<Real> n{};
  n[face] = sign;
  Real low = -c.half, high = c.half;
  bool over = true;
  for (int i = 0; i < 3; ++i) {
    if (i != face) over = over && clip_to_slab(c.p[i], c.u[i], c.box[i], low, high);
  }
  if (!over) low = high = sign * c.u[face] < Real(0) ? c.half : -c.half;  // the deepest end
  for (int end = 0; end < (high - low > Real(CapsuleParameters::kShort) * c.half ? 2 : 1); ++end) {
    const Real t = end == 0 ? low : high;
    math::Vec3<Real> q = c.at(t);
    const Real distance = sign * q[face] - c.box[face];
    q[face] = sign * c.box[face];
    list.add(c.contact(t, q, n, distance, std::uint32_t(end)));
  }
}

template <typename Real>
AXION_HD_CALL void capsule_box(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                               const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  CapsuleInBox<Real> c{math::transpose_times(X_WB.R_WS, X_WA.p_WS - X_WB.p_WS),
                       math::transpose_times(X_WB.R_WS, X_WA.R_WS.column(2)),
                       a.size.y,
                       a.size.x,
                       b.size,
                       X_WA,
                       X_WB};
  const Real t = nearest_parameter(c);
  const SurfacePoint<Real> nearest = nearest_on_box(c.at(t), b.size);
  // Nearer than rounding, the direction from the box to the axis is noise.
  const Real rounding =
      Real(32) * std::numeric_limits<Real>::epsilon() * (math::norm(c.p) + c.half + math::norm(b.size));
  if (nearest.distance > rounding) {
    capsule_outside_box(c, t, nearest, list);
  } else {
    capsule_through_box(c, list);
  }
}

}  // namespace axion::collide
