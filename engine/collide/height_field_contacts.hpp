// Contacts of a shape with a height field: what lies below its surface is pushed up, along the normal of the face over
// it, or out of an upright wall at the end of the grid, where that is nearer.
//
// A convex shape and the surface are nearest to each other either at a point of the shape that is farthest along a
// face's normal, over that face, or at a convex edge or vertex of the surface (height_field_edges.hpp). Spheres, the
// ends of capsules and the vertices of boxes and hulls are balls, some without radius, that look for faces about them;
// of cylinders and ellipsoids each face beneath them is asked as if it were a plane (convex_plane.hpp). On a flat field
// contacts are those of a plane. A ball whose centre is below the surface has a contact with the face over it alone.
//
// From below the field is a box, of all that lies between its base and its lowest height: so it is to a shape whose
// origin is under the base, or nearer to it than to the surface, and, besides, to one that reaches down there from
// beyond a wall.
//
// Work is in proportion to the cells beneath the shape; no shape has more contacts than height_field_contacts says.
// Called by collide_pair alone; normals point from the field to the shape.
#pragma once

#include "engine/collide/box_pairs.hpp"
#include "engine/collide/capsule_box.hpp"
#include "engine/collide/convex_plane.hpp"
#include "engine/collide/height_field_edges.hpp"
#include "engine/collide/parameters.hpp"
#include "engine/collide/sphere_pairs.hpp"

namespace axion::collide {

// Outward normal of wall k: at the least x, the greatest, the least y, the greatest.
template <typename Real>
AXION_HD inline math::Vec3<Real> wall_normal(int k) {
  const Real side = k % 2 == 0 ? Real(-1) : Real(1);
  return k < 2 ? math::Vec3<Real>{side, 0, 0} : math::Vec3<Real>{0, side, 0};
}

// How far p is beyond wall k; negative: within.
template <typename Real>
AXION_HD inline Real beyond_wall(const HeightField<Real>& field, const math::Vec3<Real>& p, int k) {
  return math::dot(wall_normal<Real>(k), p) - (k < 2 ? field.half_x : field.half_y);
}

// Whether the wall reaches up to p, which is beside it.
template <typename Real>
AXION_HD inline bool is_beside_wall(const HeightField<Real>& field, const math::Vec3<Real>& p, int k) {
  const bool along = k < 2 ? std::abs(p.y) <= field.half_y : std::abs(p.x) <= field.half_x;
  return along && p.z >= -field.base && p.z <= surface_height(field, p.x, p.y);
}

template <typename Real>
AXION_HD inline int nearest_wall(const HeightField<Real>& field, const math::Vec3<Real>& p) {
  int nearest = 0;
  for (int k = 1; k < 4; ++k) nearest = beyond_wall(field, p, k) > beyond_wall(field, p, nearest) ? k : nearest;
  return nearest;
}

template <typename Real>
AXION_HD inline void add_wall(FieldSearch<Real>& search, const math::Vec3<Real>& p, Real radius, int point, int k) {
  const math::Vec3<Real> n = wall_normal<Real>(k);
  const std::uint32_t name = field_feature(kFieldWall + k, point, 0);
  add_field_contact(search, {p - radius * n, n, beyond_wall(search.field, p, k) - radius, name, name});
}

// A face below or above a ball's centre. Its own column's goes by the point's name alone, so that a contact that slides
// over the field stays the same one.
template <typename Real>
AXION_HD inline void add_face(FieldSearch<Real>& search, const FieldTriangle<Real>& face, const math::Vec3<Real>& p,
                              Real radius, int point, bool is_own, Real height) {
  const std::uint32_t place = field_feature(kFieldFace + face.which, point, 1 + face.r * search.field.columns + face.c);
  const std::uint32_t name = is_own ? field_feature(kFieldFace, point, 0) : place;
  add_field_contact(search, {p - radius * face.normal, face.normal, height - radius, name, place});
}

// A ball of the shape, about p.
template <typename Real>
AXION_HD_RARE void add_ball(FieldSearch<Real>& search, const math::Vec3<Real>& p, Real radius, int point) {
  const HeightField<Real>& field = search.field;
  const Real reach = radius + search.margin;
  const bool over = std::abs(p.x) <= field.half_x && std::abs(p.y) <= field.half_y;
  int own = -1;
  bool below = false;
  if (over) {
    const FieldTriangle<Real> face = triangle_at(field, p.x, p.y);
    const Real height = above(face, p);
    own = 2 * (face.r * field.columns + face.c) + face.which;
    below = height < Real(0);
    if (below) {
      const int wall = nearest_wall(field, p);
      const Real out = -field.base - p.z, beside = beyond_wall(field, p, wall);
      if (search.beside && out > height && out > beside) return;  // out of the base, which add_base sees to
      if (beside > height) {
        add_wall(search, p, radius, point, wall);
        return;
      }
      add_face(search, face, p, radius, point, true, height);
      if (-height > reach) return;
    }
  } else {
    for (int k = 0; k < 4; ++k) {
      if (beyond_wall(field, p, k) > Real(0) && is_beside_wall(field, p, k)) add_wall(search, p, radius, point, k);
    }
  }
  const FieldCells at = cells_within(field, p.x - reach, p.x + reach, p.y - reach, p.y + reach);
  for (int r = at.r0; r <= at.r1; ++r) {
    for (int c = at.c0; c <= at.c1; ++c) {
      if (highest_corner(field, c, r) + reach < p.z) continue;
      for (int which = 0; which < 2; ++which) {
        const bool is_own = own == 2 * (r * field.columns + c) + which;
        if (is_own && below) continue;
        const FieldTriangle<Real> face = field_triangle(field, c, r, which);
        const Real height = above(face, p);
        if (!(height >= Real(0)) || !(height < reach)) continue;
        if (!in_column(field, face, p - height * face.normal, Real(HeightFieldParameters::kColumnSlack))) continue;
        add_face(search, face, p, radius, point, is_own, height);
      }
    }
  }
}

// Points of a cylinder or an ellipsoid that are farthest along −n, seen from a plane at `origin`.
template <typename Real>
AXION_HD inline int lowest_points(const FieldSearch<Real>& search, const math::Vec3<Real>& origin,
                                  const math::Vec3<Real>& n, ContactPoint<Real>* points) {
  ContactList<Real> list{points, search.margin};
  const ShapePose<Real> X_FP{origin, {{{0, 0, n.x}, {0, 0, n.y}, {0, 0, n.z}}}};  // only its z is looked at
  if (search.shape.kind == model::ShapeKind::kCylinder) {
    plane_cylinder(X_FP, search.shape, search.X_FS, list);
  } else {
    plane_ellipsoid(X_FP, search.shape, search.X_FS, list);
  }
  return list.count;
}

template <typename Real>
AXION_HD inline void add_round_face(FieldSearch<Real>& search, const FieldTriangle<Real>& face) {
  ContactPoint<Real> points[kMaxPairContacts];
  const int count = lowest_points(search, face.corner, face.normal, points);
  for (int i = 0; i < count; ++i) {
    const ContactPoint<Real>& point = points[i];
    const bool below = point.gap < Real(0);
    if (!in_column(search.field, face, below ? point.p_WB : point.p_WA, Real(HeightFieldParameters::kColumnSlack)))
      continue;
    if (below && beyond_wall(search.field, point.p_WB, nearest_wall(search.field, point.p_WB)) > point.gap) continue;
    const int feature = static_cast<int>(point.feature);
    const int cell = 1 + face.r * search.field.columns + face.c;
    add_field_contact(search, {point.p_WB, face.normal, point.gap, field_feature(kFieldFace, feature, 0),
                               field_feature(kFieldFace + face.which, feature, cell)});
  }
}

// Faces and walls of a cylinder or an ellipsoid; and those of a ball within it, for overlaps so deep that no face has
// the shape's lowest point over it.
template <typename Real>
AXION_HD_RARE void add_round_faces(FieldSearch<Real>& search, const FieldCells& at) {
  const HeightField<Real>& field = search.field;
  for (int r = at.r0; r <= at.r1; ++r) {
    for (int c = at.c0; c <= at.c1; ++c) {
      if (highest_corner(field, c, r) + search.margin < search.low.z) continue;
      for (int which = 0; which < 2; ++which) add_round_face(search, field_triangle(field, c, r, which));
    }
  }
  constexpr int kMiddle = 127;  // no point of a shape's surface has this number
  add_ball(search, search.X_FS.p_WS, Real(HeightFieldParameters::kBall) * least_size(search.shape), kMiddle);
  for (int k = 0; k < 4; ++k) {
    const math::Vec3<Real> n = wall_normal<Real>(k);
    if (!(beyond_wall(field, search.X_FS.p_WS, k) > Real(0))) continue;
    ContactPoint<Real> points[kMaxPairContacts];
    const int count = lowest_points(search, (k < 2 ? field.half_x : field.half_y) * n, n, points);
    for (int i = 0; i < count; ++i) {
      const math::Vec3<Real>& p = points[i].p_WB;
      if (!is_beside_wall(field, p, k)) continue;
      const std::uint32_t name = field_feature(kFieldWall + k, static_cast<int>(points[i].feature), 0);
      add_field_contact(search, {p, n, points[i].gap, name, name});
    }
  }
}

template <typename Real>
AXION_HD_RARE void add_faces_below(FieldSearch<Real>& search, const FieldCells& at) {
  const math::Vec3<Real>&p = search.X_FS.p_WS, &s = search.shape.size;
  const math::Mat3<Real>& R = search.X_FS.R_WS;
  const auto is_near = [&](const math::Vec3<Real>& q) { return q.z < search.field.highest + search.margin; };
  switch (search.shape.kind) {
    case model::ShapeKind::kSphere:
      add_ball(search, p, s.x, 0);
      break;
    case model::ShapeKind::kCapsule:
      for (int end = 0; end < 2; ++end) add_ball(search, p + (end == 0 ? -s.y : s.y) * R.column(2), s.x, end);
      break;
    case model::ShapeKind::kBox:
      for (int i = 0; i < 8; ++i) {
        const math::Vec3<Real> corner{(i & 1) != 0 ? s.x : -s.x, (i & 2) != 0 ? s.y : -s.y, (i & 4) != 0 ? s.z : -s.z};
        if (is_near(p + R * corner)) add_ball(search, p + R * corner, Real(0), i);
      }
      break;
    case model::ShapeKind::kMesh:
      for (int i = 0; i < search.shape.hull.count; ++i) {
        const math::Vec3<Real> q = p + R * hull_vertex(search.shape.hull, i);
        if (is_near(q)) add_ball(search, q, Real(0), i);
      }
      break;
    default:
      add_round_faces(search, at);
      break;
  }
}

// Whether the shape's box, whose z is known, comes within the margin of the field's heights.
template <typename Real>
AXION_HD inline bool reaches_field(const FieldSearch<Real>& search) {
  return search.low.z < search.field.highest + search.margin && -search.high.z < search.field.base + search.margin;
}

// The box of the shape in the field's frame.
template <typename Real>
AXION_HD_RARE void bound_search(FieldSearch<Real>& search) {
  const Real radius = core_radius(search.shape);
  const math::Mat3<Real>& R = search.X_FS.R_WS;
  for (int axis = 2; axis >= 0; --axis) {
    const math::Vec3<Real> d{R(axis, 0), R(axis, 1), R(axis, 2)};
    const Real centre = search.X_FS.p_WS[axis];
    search.low[axis] = centre + math::dot(d, core_support(search.shape, -d, radius, Real(0))) - radius;
    search.high[axis] = centre + math::dot(d, core_support(search.shape, d, radius, Real(0))) + radius;
    if (axis == 2 && !reaches_field(search)) return;
  }
}

// Contacts with the box between the base and `top`.
template <typename Real>
AXION_HD_RARE void add_base(FieldSearch<Real>& search, Real top) {
  const HeightField<Real>& field = search.field;
  const Real half = Real(0.5) * (top + field.base);
  if (!(half > Real(0))) return;
  const Shape<Real> slab{model::ShapeKind::kBox, {field.half_x, field.half_y, half}};
  const ShapePose<Real> X_FB{{0, 0, half - field.base}, math::Mat3<Real>::identity()};
  ContactPoint<Real> points[kMaxPairContacts];
  ContactList<Real> list{points, search.margin};
  // The box is the second of these pairs, but where a cylinder or an ellipsoid or a mesh is.
  const model::ShapeKind kind = search.shape.kind;
  const bool is_first = kind > model::ShapeKind::kBox;
  if (kind == model::ShapeKind::kSphere) {
    sphere_box(search.shape, search.X_FS, slab, X_FB, list);
  } else if (kind == model::ShapeKind::kCapsule) {
    capsule_box(search.shape, search.X_FS, slab, X_FB, list);
  } else if (kind == model::ShapeKind::kBox) {
    box_box(search.shape, search.X_FS, slab, X_FB, list);
  } else {
    convex_convex(slab, X_FB, search.shape, search.X_FS, list);
  }
  for (int i = 0; i < list.count; ++i) {
    const ContactPoint<Real>& c = points[i];
    const std::uint32_t name = field_feature(kFieldBase, 0, 0) | c.feature;
    add_field_contact(search, {is_first ? c.p_WB : c.p_WA, is_first ? -c.normal : c.normal, c.gap, name, name});
  }
}

// The surface's height at the shape's origin, if the way out of the field is through its base; else the base's.
template <typename Real>
AXION_HD inline Real top_above_base(const FieldSearch<Real>& search) {
  const HeightField<Real>& field = search.field;
  const math::Vec3<Real>& p = search.X_FS.p_WS;
  if (search.beside) return -field.base;
  if (p.z < -field.base) return field.lowest;
  const Real surface = surface_height(field, p.x, p.y);
  return p.z + field.base < surface - p.z ? surface : -field.base;
}

template <typename Real>
AXION_HD_RARE void collide_height_field(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                                        const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  if (a.kind == model::ShapeKind::kPlane || a.kind == model::ShapeKind::kHeightField) return;
  FieldSearch<Real> search;
  search.field = height_field_of(b), search.shape = a;
  search.X_FS = {math::transpose_times(X_WB.R_WS, X_WA.p_WS - X_WB.p_WS), math::transpose(X_WB.R_WS) * X_WA.R_WS};
  search.margin = list.margin, search.reach = bounding_radius(a), search.limit = model::height_field_contacts(a.kind);
  search.count = 0;
  const HeightField<Real>& field = search.field;
  const math::Vec3<Real>& origin = search.X_FS.p_WS;
  search.beside = std::abs(origin.x) > field.half_x || std::abs(origin.y) > field.half_y;
  bound_search(search);
  if (!reaches_field(search)) return;
  if (!search.beside && origin.z < -field.base && field.lowest <= -field.base) return;  // nothing is over the base
  const math::Vec3<Real>&low = search.low, &high = search.high;
  const Real near_x = field.half_x + search.margin, near_y = field.half_y + search.margin;
  if (low.x > near_x || high.x < -near_x || low.y > near_y || high.y < -near_y) return;
  const Real least = field.dx < field.dy ? field.dx : field.dy;
  search.same = Real(HeightFieldParameters::kSame) * (least < search.reach ? least : search.reach);
  const Real top = top_above_base(search);
  if (top > -field.base) {
    add_base(search, top);
  } else {
    const FieldCells at = cells_within(field, low.x - search.margin, high.x + search.margin, low.y - search.margin,
                                       high.y + search.margin);
    add_faces_below(search, at);
    add_edges(search, at);
    if (search.beside && low.z < -field.base + search.margin) add_base(search, field.lowest);
  }
  keep_field_contacts(search);
  for (int i = 0; i < search.count; ++i) {
    const FieldContact<Real>& c = search.contact[i];
    std::uint32_t feature = c.name;
    for (int k = 0; k < i; ++k) feature = search.contact[k].name == c.name ? c.place : feature;
    const math::Vec3<Real> n = X_WB.R_WS * c.n;
    const math::Vec3<Real> p = X_WA.p_WS + X_WB.R_WS * (c.p - search.X_FS.p_WS);
    list.add({p, p - c.gap * n, n, c.gap, feature});
  }
}

}  // namespace axion::collide
