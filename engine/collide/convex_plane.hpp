// Contacts of a plane with a cylinder, an ellipsoid and a hull, and of a sphere with a cylinder: closed forms.
// Called by collide_pair alone; the names give the order of the arguments, normals point from the second to the first.
#pragma once

#include "engine/collide/convex_face.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

// Up to four contacts. Four points of the cap that is nearer to the plane: where it lies flat those of the shape's own
// axes x and y (features 0 to 3), inclined those from its lowest point on (4 to 7). In place of the one opposite to it,
// where the cylinder lies, the lowest point of the other cap (8).
template <typename Real>
AXION_HD inline void plane_cylinder(const ShapePose<Real>& X_WA, const Shape<Real>& b, const ShapePose<Real>& X_WB,
                                    ContactList<Real>& list) {
  const math::Vec3<Real> up = X_WA.R_WS.column(2), down = -math::transpose_times(X_WB.R_WS, up);
  const Real centre = math::dot(up, X_WB.p_WS - X_WA.p_WS);
  const Real r = b.size.x, h = b.size.y, across = std::sqrt(down.x * down.x + down.y * down.y);
  const auto add = [&](Real x, Real y, Real z, std::uint32_t feature) {
    const math::Vec3<Real> along = X_WB.R_WS * math::Vec3<Real>{x, y, z};
    const Real gap = centre + math::dot(up, along);
    const math::Vec3<Real> p_WB = X_WB.p_WS + along;
    list.add({p_WB - gap * up, p_WB, -up, gap, feature});
  };
  const Real near = down.z < Real(0) ? -h : h;
  const bool flat = across < Real(ConvexParameters::kStanding);
  const Real x = flat ? r : r / across * down.x, y = flat ? Real(0) : r / across * down.y;
  const std::uint32_t first = flat ? 0 : 4;
  add(x, y, near, first);
  // Lying: the other end of the line it lies on, and no use of the far side of the cap.
  const bool lies = std::abs(down.z) < Real(0.5);
  add(-y, x, near, first + 1);
  if (lies) {
    add(x, y, -near, 8);
  } else {
    add(-x, -y, near, first + 2);
  }
  add(y, -x, near, first + 3);
}

// One contact: the point whose normal looks down.
template <typename Real>
AXION_HD inline void plane_ellipsoid(const ShapePose<Real>& X_WA, const Shape<Real>& b, const ShapePose<Real>& X_WB,
                                     ContactList<Real>& list) {
  const math::Vec3<Real> up = X_WA.R_WS.column(2), scaled = math::scale(b.size, math::transpose_times(X_WB.R_WS, up));
  const math::Vec3<Real> along = X_WB.R_WS * ((Real(-1) / math::norm(scaled)) * math::scale(b.size, scaled));
  const Real gap = math::dot(up, X_WB.p_WS - X_WA.p_WS) + math::dot(up, along);
  const math::Vec3<Real> p_WB = X_WB.p_WS + along;
  list.add({p_WB - gap * up, p_WB, -up, gap, 0});
}

// Up to eight of the vertices below the margin: the deepest, and those of the polygon that looks at the plane. Features
// are the vertices.
template <typename Real>
AXION_HD_CALL void plane_mesh(const ShapePose<Real>& X_WA, const Shape<Real>& b, const ShapePose<Real>& X_WB,
                              ContactList<Real>& list) {
  const math::Vec3<Real> up_W = X_WA.R_WS.column(2), down = -math::transpose_times(X_WB.R_WS, up_W);
  const Real centre = math::dot(up_W, X_WB.p_WS - X_WA.p_WS);
  const auto add = [&](int vertex) {
    const math::Vec3<Real> along = X_WB.R_WS * hull_vertex(b.hull, vertex), p_WB = X_WB.p_WS + along;
    const Real gap = centre + math::dot(up_W, along);
    list.add({p_WB - gap * up_W, p_WB, -up_W, gap, std::uint32_t(vertex)});
  };
  const int deepest = farthest_vertex(b.hull, down);
  add(deepest);
  if (list.count == 0) return;
  const Polygon<Real> polygon = face_polygon(b, down, face_inclination(b, list.margin));
  for (int i = 0; i < polygon.count; ++i) {
    if (polygon.point[i].name != deepest) add(polygon.point[i].name);
  }
}

// A centre inside the cylinder leaves through the nearer of its side and its caps.
template <typename Real>
AXION_HD inline void sphere_cylinder(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                                     const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  const math::Vec3<Real> p = math::transpose_times(X_WB.R_WS, X_WA.p_WS - X_WB.p_WS);
  const Real r = b.size.x, h = b.size.y, across = std::sqrt(p.x * p.x + p.y * p.y);
  const math::Vec3<Real> side =
      across > tiny_length<Real>() ? math::Vec3<Real>{p.x / across, p.y / across, 0} : math::Vec3<Real>{1, 0, 0};
  const math::Vec3<Real> cap{0, 0, p.z < Real(0) ? Real(-1) : Real(1)};
  const Real beyond_side = across - r, beyond_cap = std::abs(p.z) - h;
  math::Vec3<Real> n = beyond_cap > beyond_side ? cap : side, q = p;
  Real distance = beyond_cap > beyond_side ? beyond_cap : beyond_side;
  if (beyond_side > Real(0) && beyond_cap > Real(0)) {
    const math::Vec3<Real> out = beyond_side * side + beyond_cap * cap;
    distance = math::norm(out), n = (Real(1) / distance) * out;
  }
  q = p - distance * n;
  const math::Vec3<Real> n_W = X_WB.R_WS * n;
  list.add({X_WA.p_WS - a.size.x * n_W, X_WB.p_WS + X_WB.R_WS * q, n_W, distance - a.size.x, 0});
}

}  // namespace axion::collide
