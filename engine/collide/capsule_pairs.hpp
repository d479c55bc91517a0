// Contacts of a capsule with a plane (its two ends) and with a capsule.
// Called by collide_pair alone; the names give the order of the arguments, normals point from the second to the first.
#pragma once

#include "engine/collide/geometry.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

// Features: 0 the end at −z of the capsule, 1 the end at +z.
template <typename Real>
AXION_HD inline void plane_capsule(const ShapePose<Real>& X_WA, const Shape<Real>& b, const ShapePose<Real>& X_WB,
                                   ContactList<Real>& list) {
  const math::Vec3<Real> up = X_WA.R_WS.column(2);
  const math::Vec3<Real> p_AB = X_WB.p_WS - X_WA.p_WS;
  const Real radius = b.size.x;
  for (int end = 0; end < 2; ++end) {
    const math::Vec3<Real> along = (end == 0 ? -b.size.y : b.size.y) * X_WB.R_WS.column(2);
    const Real height = math::dot(up, p_AB + along);
    const math::Vec3<Real> p_WE = X_WB.p_WS + along;
    list.add({p_WE - height * up, p_WE - radius * up, -up, height - radius, std::uint32_t(end)});
  }
}

// The normal of two axes that cross: along the common perpendicular, on the side where a's centre is.
template <typename Real>
AXION_HD inline math::Vec3<Real> crossing_normal(const ShapePose<Real>& X_WA, const ShapePose<Real>& X_WB,
                                                 const math::Vec3<Real>& p_BA) {
  const math::Vec3<Real> w = math::cross(X_WA.R_WS.column(2), X_WB.R_WS.column(2));
  const Real length = math::norm(w);
  if (length < Real(CapsuleParameters::kLeastSine)) return X_WB.R_WS.column(0);
  return (math::dot(w, p_BA) < Real(0) ? Real(-1) : Real(1)) / length * w;
}

// Nearly parallel capsules that lie along each other touch at both ends of their overlap (features 1 and 2, in the
// order of a's axis), others at their nearest points (feature 0). Two points replace the nearest one only where the
// nearer of the two is as near to 1e-4 of the radii, so that the least gap stays the distance.
template <typename Real>
AXION_HD inline void capsule_capsule(const Shape<Real>& a, const ShapePose<Real>& X_WA, const Shape<Real>& b,
                                     const ShapePose<Real>& X_WB, ContactList<Real>& list) {
  const math::Vec3<Real> u = X_WA.R_WS.column(2), v = X_WB.R_WS.column(2);
  const math::Vec3<Real> p_AB = X_WB.p_WS - X_WA.p_WS;
  const Real half_a = a.size.y, half_b = b.size.y, radius_a = a.size.x, radius_b = b.size.x;
  Real s = 0, t = 0;
  nearest_on_segments(p_AB, u, half_a, v, half_b, s, t);
  const math::Vec3<Real> apart = s * u - t * v - p_AB;
  const Real near =
      Real(CapsuleParameters::kFar) * (radius_a + radius_b + list.margin);  // most pairs are farther, and end here
  if (near > Real(0) && math::dot(apart, apart) > near * near) return;

  const math::Vec3<Real> fallback = crossing_normal(X_WA, X_WB, -p_AB);
  const auto contact_at = [&](Real on_a, Real on_b, std::uint32_t feature) {
    return ball_contact(X_WA.p_WS + on_a * u, radius_a, X_WB.p_WS + on_b * v, radius_b, on_a * u - on_b * v - p_AB,
                        fallback, feature);
  };
  const ContactPoint<Real> nearest = contact_at(s, t, 0);

  const math::Vec3<Real> w = math::cross(u, v);
  const Real reach = half_b * std::abs(math::dot(u, v));
  const Real low = clamp(math::dot(u, p_AB) - reach, -half_a, half_a);
  const Real high = clamp(math::dot(u, p_AB) + reach, -half_a, half_a);
  const bool parallel = math::dot(w, w) < Real(CapsuleParameters::kParallelSquared);
  if (parallel && high - low > Real(CapsuleParameters::kShort) * (half_a < half_b ? half_a : half_b)) {
    const auto on_b = [&](Real on_a) { return clamp(math::dot(v, on_a * u - p_AB), -half_b, half_b); };
    const ContactPoint<Real> first = contact_at(low, on_b(low), 1);
    const ContactPoint<Real> second = contact_at(high, on_b(high), 2);
    const Real least = first.gap < second.gap ? first.gap : second.gap;
    if (least <= nearest.gap + Real(CapsuleParameters::kAsNear) * (radius_a + radius_b)) {
      list.add(first);
      list.add(second);
      return;
    }
  }
  list.add(nearest);
}

}  // namespace axion::collide
