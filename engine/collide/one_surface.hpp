// Shapes of the world that stand side by side are one surface: where they meet nothing is in the way of what slides.
//
// A contact with a shape of the world is that of a point p of its surface, along its normal n there. The surface of the
// world ends at p only if no other of its shapes goes on from there along n. Where one does, p is hidden: the front of
// a box that slides over a tile meets the side of the next tile, which the tile beneath it covers, and a wheel that
// tile's upper edge, beyond which the tile beneath it goes on. A pair whose contacts are all hidden has none: the shape
// that hides them is met first. A lip is met all the same: some of its side is beside nothing. What stands on a surface
// is not hidden by it: a foot in the corner of a floor and a wall touches both.
//
// Each of two shapes may hide the other in a shallow valley between them: the nearer one stays. What is hidden in the
// poses of a step's start may be met in poses along its way, which the review of the result looks at
// (review_contacts.hpp). Called by find_contacts.hpp and the review alone; bodies of mocaps are the world's, too.
// Worlds of fewer than two shapes, or of planes and height fields alone, pay nothing.
#pragma once

#include "engine/collide/collide_pair.hpp"
#include "engine/collide/collide_scratch.hpp"
#include "engine/collide/parameters.hpp"
#include "engine/model/shape_pairs.hpp"

namespace axion::collide {

template <typename Real>
AXION_HD inline Real slop_of(const model::ShapeData<Real>& a, const model::ShapeData<Real>& b) {
  const Real least = a.bounding_radius < b.bounding_radius ? a.bounding_radius : b.bounding_radius;
  return Real(SurfaceParameters::kSlopShare) * least < Real(SurfaceParameters::kSlop)
             ? Real(SurfaceParameters::kSlopShare) * least
             : Real(SurfaceParameters::kSlop);
}

template <typename Real>
AXION_HD inline Real slop_of(const model::ModelView<Real>& m, const model::PairData<Real>& pair) {
  return slop_of(m.shapes[pair.shape_a], m.shapes[pair.shape_b]);
}

template <typename Real>
AXION_HD_SMALL inline Shape<Real> shape_of(const model::ModelView<Real>& m, const model::ShapeData<Real>& shape) {
  return {shape.kind, shape.size, {m.hull_vertices + shape.hull_start, shape.hull_stride, shape.hull_count}};
}

template <typename Real>
AXION_HD_SMALL inline ShapePose<Real> start_pose(const model::WorldView<Real>& w, int shape) {
  return {w.collide.shape_centre[shape], w.collide.shape_axes[shape]};
}

// Whether contacts with the shape depend on how it bounds: planes have no end, and fields know their own edges.
template <typename Real>
AXION_HD inline bool has_sides(const model::ShapeData<Real>& shape) {
  return shape.kind != model::ShapeKind::kPlane && shape.kind != model::ShapeKind::kHeightField;
}

// Lists the active pairs of each shape with the world, where shapes of the world may hide each other.
template <typename Real, typename Team>
AXION_HD inline void list_world_pairs(const Team& team, const model::ModelView<Real>& m,
                                      const model::WorldView<Real>& w, int active) {
  if (m.standing_count == 0) return;
  team.for_each(m.shape_count, [&](int i) { w.collide.world_pair_first[i] = -1; });
  team.for_each(1, [&](int) {
    for (int k = active - 1; k >= 0; --k) {
      const model::PairData<Real> pair = model::pair_data(m, static_cast<int>(w.collide.pair_active[k]));
      if (m.shapes[pair.shape_b].body >= 0) continue;
      w.collide.world_pair_next[k] = w.collide.world_pair_first[pair.shape_a];
      w.collide.world_pair_first[pair.shape_a] = k;
    }
  });
}

// Whether a point is in the world's shape, or within `slop` of it.
template <typename Real>
AXION_HD_RARE bool is_near(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int shape,
                           const math::Vec3<Real>& p, Real slop) {
  ContactPoint<Real> points[kMaxPairContacts];
  const Shape<Real> point{model::ShapeKind::kSphere, {0, 0, 0}};
  return collide_pair(point, {p, math::Mat3<Real>::identity()}, shape_of(m, m.shapes[shape]), start_pose(w, shape),
                      slop, points) > 0;
}

// Whether the world's shape goes on from a point along n: holds it, or is within `slop` of it, and reaches further.
template <typename Real>
AXION_HD_RARE bool goes_on(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int shape,
                           const math::Vec3<Real>& p, const math::Vec3<Real>& n, Real slop) {
  const model::ShapeData<Real>& data = m.shapes[shape];
  const ShapePose<Real> X_WS = start_pose(w, shape);
  const math::Vec3<Real> q = math::transpose_times(X_WS.R_WS, p - X_WS.p_WS), d = math::transpose_times(X_WS.R_WS, n);
  if (data.kind == model::ShapeKind::kPlane)
    return q.z < slop && d.x * d.x + d.y * d.y > Real(SurfaceParameters::kLevel * SurfaceParameters::kLevel);
  if (!has_sides(data)) return false;
  const Shape<Real> solid = shape_of(m, data);
  const Real radius = core_radius(solid);
  const math::Vec3<Real> further = core_support(solid, d, radius, Real(0)) + radius * d - q;
  const Real along = math::dot(d, further);
  if (!(along > slop) || !(along > Real(SurfaceParameters::kLevel) * math::norm(further))) return false;
  return is_near(m, w, shape, p, slop);
}

// How far a point of contact is off the surface of the world's shape that it belongs to: where a direction is between
// two, as of rims that are about to touch, points lie in planes beside the surfaces.
template <typename Real>
AXION_HD_RARE Real off_surface(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int shape,
                               const ContactPoint<Real>& point) {
  ContactPoint<Real> points[kMaxPairContacts];
  const Shape<Real> ball{model::ShapeKind::kSphere, {0, 0, 0}};
  const int count = collide_pair(ball, {point.p_WB, math::Mat3<Real>::identity()}, shape_of(m, m.shapes[shape]),
                                 start_pose(w, shape), m.shapes[shape].bounding_radius, points);
  return count > 0 && points[0].gap > Real(0) ? points[0].gap : Real(0);
}

// Where shape a of a pair is, and the contacts that it has there.
template <typename Real>
struct PairContacts {
  ShapePose<Real> X_WA;
  const ContactPoint<Real>* points;
  int count;
};

template <typename Real>
AXION_HD inline int nearest_of(const ContactPoint<Real>* points, int count) {
  int least = 0;
  for (int i = 1; i < count; ++i) least = points[i].gap < points[least].gap ? i : least;
  return least;
}

// Whether the world's shape stands on the surface that a contact is on, where point p of it is, as a wall on a floor.
template <typename Real>
AXION_HD_RARE bool stands_on(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int shape,
                             const math::Vec3<Real>& p, const ContactPoint<Real>& surface, Real slop) {
  const Real below = math::dot(surface.normal, surface.p_WB - p);
  const Real out = (below > Real(0) ? below : Real(0)) + Real(SurfaceParameters::kStands) * slop;
  return is_near(m, w, shape, p + out * surface.normal, slop);
}

// Whether active pair `other` hides contact i of active pair k, of the same shape a; then its own least gap.
template <typename Real>
AXION_HD_RARE bool is_hidden_by(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int other,
                                const model::PairData<Real>& pair, const PairContacts<Real>& own, int i, Real margin,
                                Real& gap) {
  const int hiding = model::pair_data(m, static_cast<int>(w.collide.pair_active[other])).shape_b;
  const Real slop = slop_of(m, pair);
  const Real near = slop + off_surface(m, w, pair.shape_b, own.points[i]);
  if (!goes_on(m, w, hiding, own.points[i].p_WB, own.points[i].normal, near)) return false;
  ContactPoint<Real> points[kMaxPairContacts];
  const int count = collide_pair(shape_of(m, m.shapes[pair.shape_a]), own.X_WA, shape_of(m, m.shapes[hiding]),
                                 start_pose(w, hiding), margin, points);
  if (count == 0) return false;
  const int nearest = nearest_of(points, count);
  if (stands_on(m, w, pair.shape_b, own.points[i].p_WB, points[nearest], slop)) return false;
  gap = points[nearest].gap;
  const Real own_gap = own.points[nearest_of(own.points, own.count)].gap;
  if (gap < own_gap || (gap <= own_gap && hiding < pair.shape_b)) return true;
  for (int k = 0; k < count; ++k) {
    if (!goes_on(m, w, pair.shape_b, points[k].p_WB, points[k].normal, slop)) return true;
  }
  return false;
}

// Whether all contacts of active pair k are hidden; then how deep those are that hide them, m.
template <typename Real>
AXION_HD_RARE bool are_hidden(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int k,
                              const model::PairData<Real>& pair, const PairContacts<Real>& own, Real margin,
                              Real& depth) {
  depth = Real(0);
  for (int i = 0; i < own.count; ++i) {
    bool hidden = false;
    for (int other = w.collide.world_pair_first[pair.shape_a]; other >= 0 && !hidden;
         other = w.collide.world_pair_next[other]) {
      Real gap = 0;
      hidden = other != k && is_hidden_by(m, w, other, pair, own, i, margin, gap);
      if (hidden && -gap > depth) depth = -gap;
    }
    if (!hidden) return false;
  }
  return own.count > 0;
}

// Whether contacts of the pair may be hidden at all.
template <typename Real>
AXION_HD inline bool may_hide(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                              const model::PairData<Real>& pair) {
  if (m.standing_count == 0) return false;
  const model::ShapeData<Real>& b = m.shapes[pair.shape_b];
  return b.body < 0 && has_sides(b) && w.collide.world_pair_next[w.collide.world_pair_first[pair.shape_a]] >= 0;
}

}  // namespace axion::collide
