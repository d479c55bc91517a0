// Contacts of a shape with the edges and vertices of a height field that stand out of its surface.
//
// Only a convex edge has contacts of its own, and only in directions between the normals of its two faces (at a
// vertex: in which no neighbour is farther out). What slides over edges within a plane, or along a valley, meets faces
// alone and is not caught by them. An edge is a segment, to a sphere and a capsule by closed forms, else a capsule of
// no radius of the convex family. Used by height_field_contacts.hpp only.
#pragma once

#include "engine/collide/capsule_pairs.hpp"
#include "engine/collide/convex_pairs.hpp"
#include "engine/collide/height_field_set.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

// An edge, and of each of its two faces a point beside it.
template <typename Real>
struct FieldEdge {
  math::Vec3<Real> v, w, beside[2];
  int c, r;       // of v; w is that of the next column, row, or both
  int direction;  // 0 along x, 1 along y, 2 the diagonal, 3 upright at a corner of the grid
};

template <typename Real>
AXION_HD inline bool is_within(const math::Vec3<Real>& n, const math::Vec3<Real>& to, Real slack) {
  const Real along = math::dot(n, to);
  return along <= Real(0) || along * along <= slack * slack * math::dot(to, to);
}

// Whether no neighbour of vertex (c, r) is farther out along n.
template <typename Real>
AXION_HD_RARE bool is_summit(const HeightField<Real>& field, int c, int r, const math::Vec3<Real>& n, Real slack) {
  const math::Vec3<Real> v = field.vertex(c, r);
  bool summit = true;
  for (int k = 0; k < 6; ++k) {
    const int s = k < 3 ? 1 : -1, i = k % 3, x = i == 1 ? 0 : s, y = i == 0 ? 0 : s;
    if (field.has_vertex(c + x, r + y)) summit = summit && is_within(n, field.vertex(c + x, r + y) - v, slack);
  }
  return summit;
}

// A contact with an edge, unless the surface beside it is what is met first.
template <typename Real>
AXION_HD_RARE void add_edge_contact(FieldSearch<Real>& search, const FieldEdge<Real>& edge, Real slack, int k,
                                    const math::Vec3<Real>& p, const math::Vec3<Real>& n, Real gap) {
  const math::Vec3<Real> along = edge.w - edge.v;
  const Real length2 = math::dot(along, along), t = math::dot(p - gap * n - edge.v, along) / length2;
  for (int i = 0; i < 2; ++i) {
    if (!is_within(n, edge.beside[i] - edge.v, slack)) return;
  }
  const int cells = search.field.columns;
  int what = kFieldEdge + edge.direction, cell = edge.r * cells + edge.c;
  if (edge.direction == 3) {
    what = kFieldUpright;
    if (t < Real(HeightFieldParameters::kEnd) && !is_within(n, along, slack)) return;
  } else if (t < Real(HeightFieldParameters::kEnd) || t > Real(1) - Real(HeightFieldParameters::kEnd)) {
    const bool at_v = t < Real(HeightFieldParameters::kEnd);
    const int c = edge.c + (at_v || edge.direction == 1 ? 0 : 1), r = edge.r + (at_v || edge.direction == 0 ? 0 : 1);
    if (!is_summit(search.field, c, r, n, slack)) return;
    what = kFieldVertex, k = 0, cell = r * cells + c;
  }
  const std::uint32_t name = field_feature(what, k, cell + 1);
  add_field_contact(search, {p, n, gap, name, name});
}

template <typename Real>
AXION_HD inline void sphere_edge(FieldSearch<Real>& search, const FieldEdge<Real>& edge) {
  const math::Vec3<Real> along = edge.w - edge.v, p = search.X_FS.p_WS;
  const Real t = clamp(math::dot(p - edge.v, along) / math::dot(along, along), Real(0), Real(1));
  const math::Vec3<Real> d = p - edge.v - t * along;
  const Real length = math::norm(d), radius = search.shape.size.x;
  if (!(length > tiny_length<Real>())) return;  // in the surface: a face has it
  const math::Vec3<Real> n = (Real(1) / length) * d;
  add_edge_contact(search, edge, Real(HeightFieldParameters::kRoundSlack), 0, p - radius * n, n, length - radius);
}

// The edge as a shape: its middle, and z along it.
template <typename Real>
AXION_HD inline ShapePose<Real> edge_pose(const FieldEdge<Real>& edge, const math::Vec3<Real>& along) {
  math::Vec3<Real> x, y;
  math::tangent_basis(along, x, y);
  const math::Vec3<Real> t = math::cross(along, x);
  return {Real(0.5) * (edge.v + edge.w), {{{x.x, t.x, along.x}, {x.y, t.y, along.y}, {x.z, t.z, along.z}}}};
}

// Where the axis itself has come below the edge the way out is back up; unless it is in the open again, beyond what of
// the field is behind the edge.
template <typename Real>
AXION_HD inline ContactPoint<Real> turned_up(const FieldSearch<Real>& search, const FieldEdge<Real>& edge,
                                             const ContactPoint<Real>& point) {
  const Real radius = search.shape.size.x, distance = point.gap + radius;
  const math::Vec3<Real> n = -point.normal, axis = point.p_WA + radius * point.normal;
  if (!(axis.z < surface_height(search.field, axis.x, axis.y))) return point;
  for (int i = 0; i < 2; ++i) {
    if (!is_within(n, edge.beside[i] - edge.v, Real(HeightFieldParameters::kRoundSlack))) return point;
  }
  return {axis - radius * n, point.p_WB, n, -distance - radius, point.feature};
}

// How deep a point is in a cylinder or an ellipsoid, as a convex function of it that is 0 on the surface, and the
// outward normal there; all in the shape's frame.
template <typename Real>
AXION_HD inline Real depth_measure(const Shape<Real>& shape, const math::Vec3<Real>& q, math::Vec3<Real>& normal) {
  const math::Vec3<Real>& s = shape.size;
  if (shape.kind == model::ShapeKind::kEllipsoid) {
    const math::Vec3<Real> scaled{q.x / s.x, q.y / s.y, q.z / s.z};
    const math::Vec3<Real> slope{scaled.x / s.x, scaled.y / s.y, scaled.z / s.z};
    const Real length = math::norm(slope);
    normal = length > tiny_length<Real>() ? (Real(1) / length) * slope : math::Vec3<Real>{0, 0, 1};
    return math::norm(scaled) - Real(1);
  }
  const Real across = std::sqrt(q.x * q.x + q.y * q.y), side = across - s.x, cap = std::abs(q.z) - s.y;
  normal = {0, 0, q.z < Real(0) ? Real(-1) : Real(1)};
  if (side > cap && across > tiny_length<Real>()) normal = {q.x / across, q.y / across, 0};
  return side > cap ? side : cap;
}

// An edge that goes through a cylinder or an ellipsoid: its deepest point, where the measure has no slope along the
// edge. The way out is the normal there; where two faces of a cylinder are as near, what of both is square to the edge.
// False: it does not go through.
template <typename Real>
AXION_HD_RARE bool edge_within(FieldSearch<Real>& search, const FieldEdge<Real>& edge) {
  const Shape<Real>& shape = search.shape;
  const math::Mat3<Real>& R = search.X_FS.R_WS;
  const math::Vec3<Real> v = math::transpose_times(R, edge.v - search.X_FS.p_WS),
                         along = math::transpose_times(R, edge.w - edge.v);
  math::Vec3<Real> normal[2], m;
  Real ends[2] = {0, 1};
  constexpr int kHalvings = 2 * std::numeric_limits<Real>::digits / 3;
  for (int side = 0; side < 2; ++side) depth_measure(shape, v + ends[side] * along, normal[side]);
  if (math::dot(normal[0], along) >= Real(0)) {
    ends[1] = Real(0), normal[1] = normal[0];
  } else if (math::dot(normal[1], along) <= Real(0)) {
    ends[0] = Real(1), normal[0] = normal[1];
  } else {
    for (int k = 0; k < kHalvings; ++k) {
      const Real middle = Real(0.5) * (ends[0] + ends[1]);
      depth_measure(shape, v + middle * along, m);
      const int side = math::dot(m, along) < Real(0) ? 0 : 1;
      ends[side] = middle, normal[side] = m;
    }
  }
  const math::Vec3<Real> q = v + Real(0.5) * (ends[0] + ends[1]) * along;
  if (!(depth_measure(shape, q, m) < Real(0))) return false;
  const Real before = -math::dot(normal[0], along), after = math::dot(normal[1], along), sum = before + after;
  if (before > Real(0) && after > Real(0) && sum > tiny_length<Real>()) {
    m = math::normalized((after / sum) * normal[0] + (before / sum) * normal[1]);
  }
  const Real radius = core_radius(shape);
  const Real gap = math::dot(m, q - core_support(shape, m, radius, Real(0))) - radius;
  const math::Vec3<Real> n = -(R * m);
  const Real slack = Real(shape.kind == model::ShapeKind::kEllipsoid ? HeightFieldParameters::kRoundSlack
                                                                     : HeightFieldParameters::kFacedSlack);
  add_edge_contact(search, edge, slack, 0, search.X_FS.p_WS + R * q + gap * n, n, gap);
  return true;
}

template <typename Real>
AXION_HD_RARE void shape_edge(FieldSearch<Real>& search, const FieldEdge<Real>& edge) {
  const bool is_curved =
      search.shape.kind == model::ShapeKind::kCylinder || search.shape.kind == model::ShapeKind::kEllipsoid;
  if (is_curved && edge_within(search, edge)) return;
  const math::Vec3<Real> between = edge.w - edge.v;
  const Real length = math::norm(between);
  const ShapePose<Real> X_FE = edge_pose(edge, (Real(1) / length) * between);
  const Shape<Real> segment{model::ShapeKind::kCapsule, {0, Real(0.5) * length, 0}};
  ContactPoint<Real> points[kMaxPairContacts];
  ContactList<Real> list{points, search.margin};
  const bool is_capsule = search.shape.kind == model::ShapeKind::kCapsule;
  const bool is_round = is_capsule || search.shape.kind == model::ShapeKind::kEllipsoid;
  if (is_capsule) {
    capsule_capsule(search.shape, search.X_FS, segment, X_FE, list);
  } else {
    convex_contacts(search.shape, search.X_FS, segment, X_FE, least_size(search.shape), list);
  }
  for (int k = 0; k < list.count; ++k) {
    const ContactPoint<Real> point = is_capsule ? turned_up(search, edge, points[k]) : points[k];
    add_edge_contact(search, edge,
                     Real(is_round ? HeightFieldParameters::kRoundSlack : HeightFieldParameters::kFacedSlack), k,
                     point.p_WA, point.normal, point.gap);
  }
}

// The normal of the face beside an edge, upwards.
template <typename Real>
AXION_HD inline math::Vec3<Real> face_beside(const FieldEdge<Real>& edge, int side) {
  const math::Vec3<Real> n = math::cross(edge.w - edge.v, edge.beside[side] - edge.v);
  return math::normalized(n.z < Real(0) ? -n : n);
}

// `face`: a side of the edge that is part of the surface; `is_wall`: the other is a wall.
template <typename Real>
AXION_HD inline void meet_edge(FieldSearch<Real>& search, const FieldEdge<Real>& edge, int face, bool is_wall) {
  const math::Vec3<Real> n = face_beside(edge, face), across = edge.beside[1 - face] - edge.v;
  if (!is_wall && !(math::dot(n, across) < -Real(HeightFieldParameters::kLeastBend) * math::norm(across))) return;
  const math::Vec3<Real> along = edge.w - edge.v, p = search.X_FS.p_WS - edge.v;
  const Real t = clamp(math::dot(p, along) / math::dot(along, along), Real(0), Real(1));
  const math::Vec3<Real> d = p - t * along;
  const Real far = search.reach + search.margin;
  if (math::dot(d, d) > far * far) return;
  if (search.shape.kind == model::ShapeKind::kSphere) {
    sphere_edge(search, edge);
    return;
  }
  const math::Mat3<Real>& R = search.X_FS.R_WS;
  const Real radius = core_radius(search.shape);
  const math::Vec3<Real> lowest = R * core_support(search.shape, -math::transpose_times(R, n), radius, Real(0));
  if (math::dot(n, p + lowest) - radius > search.margin) return;
  shape_edge(search, edge);
}

// Edges of the cells `at`, and the upright ones at corners of the grid among them.
template <typename Real>
AXION_HD_RARE void add_edges(FieldSearch<Real>& search, const FieldCells& at) {
  const HeightField<Real>& field = search.field;
  const Real lowest = search.low.z - search.margin;
  for (int r = at.r0; r <= at.r1 + 1; ++r) {
    for (int c = at.c0; c <= at.c1 + 1; ++c) {
      const math::Vec3<Real> v = field.vertex(c, r);
      const math::Vec3<Real> down = v - math::Vec3<Real>{0, 0, field.dx};
      for (int direction = 0; direction < 3; ++direction) {
        const int x = direction == 1 ? 0 : 1, y = direction == 0 ? 0 : 1;
        if (!field.has_vertex(c + x, r + y)) continue;
        const math::Vec3<Real> w = field.vertex(c + x, r + y);
        if (v.z < lowest && w.z < lowest) continue;
        // Beside the edge: to its left and to its right.
        const int lx = direction == 0 ? c + 1 : (direction == 1 ? c - 1 : c), ly = direction == 1 ? r : r + 1;
        const int rx = direction == 0 ? c : c + 1, ry = direction == 0 ? r - 1 : (direction == 1 ? r + 1 : r);
        const bool left = field.has_vertex(lx, ly), right = field.has_vertex(rx, ry);
        const FieldEdge<Real> edge{v, w, {left ? field.vertex(lx, ly) : down, right ? field.vertex(rx, ry) : down},
                                   c, r, direction};
        meet_edge(search, edge, left ? 0 : 1, !left || !right);
      }
      const bool end_x = c == 0 || c == field.columns - 1, end_y = r == 0 || r == field.rows - 1;
      if (!end_x || !end_y || v.z < lowest) continue;
      const math::Vec3<Real> foot{v.x, v.y, -field.base};
      if (!(v.z - foot.z > tiny_length<Real>())) continue;
      const FieldEdge<Real> edge{v,
                                 foot,
                                 {v + math::Vec3<Real>{c == 0 ? field.dx : -field.dx, 0, 0},
                                  v + math::Vec3<Real>{0, r == 0 ? field.dy : -field.dy, 0}},
                                 c,
                                 r,
                                 3};
      if (search.shape.kind == model::ShapeKind::kSphere) {
        sphere_edge(search, edge);
      } else {
        shape_edge(search, edge);
      }
    }
  }
}

}  // namespace axion::collide
