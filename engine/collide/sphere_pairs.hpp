// Contacts of a sphere: plane-sphere, sphere-sphere, sphere-capsule, sphere-box. One contact each, feature 0.
// Called by collide_pair alone; the names give the order of the arguments, normals point from the second to the first.
#pragma once

#include "engine/collide/geometry.hpp"

namespace axion::collide {

template <typename Real>
AXION_HD inline void plane_sphere(const ShapePose<Real>& X_WA, const Shape<Real>& b, const ShapePose<Real>& X_WB,
                                  ContactList<Real>& list) {
  const math::Vec3<Real> up = X_WA.R_WS.column(2);
  const Real height = math::dot(up, X_WB.p_WS - X_WA.p_WS);
  const Real radius = b.size.x;
  list.add({X_WB.p_WS - height * up, X_WB.p_WS - radius * up, -up, height - radius, 0});
}

// Concentric spheres are pushed apart along the world's z.
template <typename Real>
AXION_HD inline void sphere_sphere(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                                   const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  list.add(ball_contact(X_WA.p_WS, a.size.x, X_WB.p_WS, b.size.x, X_WA.p_WS - X_WB.p_WS, math::Vec3<Real>{0, 0, 1}, 0));
}

// A centre on the capsule's axis is pushed out along the capsule's x.
template <typename Real>
AXION_HD inline void sphere_capsule(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                                    const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  const math::Vec3<Real> axis = X_WB.R_WS.column(2);
  const math::Vec3<Real> p_BA = X_WA.p_WS - X_WB.p_WS;
  const math::Vec3<Real> along = clamp(math::dot(axis, p_BA), -b.size.y, b.size.y) * axis;
  list.add(ball_contact(X_WA.p_WS, a.size.x, X_WB.p_WS + along, b.size.x, p_BA - along, X_WB.R_WS.column(0), 0));
}

// A centre inside the box leaves through the nearest face.
template <typename Real>
AXION_HD inline void sphere_box(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                                const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  const math::Vec3<Real> p_BA = math::transpose_times(X_WB.R_WS, X_WA.p_WS - X_WB.p_WS);
  const SurfacePoint<Real> nearest = nearest_on_box(p_BA, b.size);
  const math::Vec3<Real> n = X_WB.R_WS * nearest.normal;
  const Real radius = a.size.x;
  list.add({X_WA.p_WS - radius * n, X_WB.p_WS + X_WB.R_WS * nearest.point, n, nearest.distance - radius, 0});
}

}  // namespace axion::collide
