// The nearest points of two shapes, or how deep they overlap, by the narrow phase (collide_pair.hpp).
//
// Pure; called by sensors of distances and by the queries of clients. Cannot fail.
#pragma once

#include "engine/collide/collide_pair.hpp"

namespace axion::collide {

// SI, world frame; the points lie on the surfaces of the first and the second shape.
template <typename Real>
struct NearestPoints {
  math::Vec3<Real> p_WA, p_WB;
  math::Vec3<Real> normal;  // unit, from b to a
  Real distance;            // m; negative: depth. The limit where there is no pair of points within it
  bool is_near;             // there is, and points and normal are it
};

// Of points less than max_distance apart, which may be below 0; of two planes, or a plane and a height field, there are
// none.
template <typename Real>
AXION_HD_CALL NearestPoints<Real> nearest_points(const Shape<Real>& a, const ShapePose<Real>& X_WA,
                                                 const Shape<Real>& b, const ShapePose<Real>& X_WB, Real max_distance) {
  ContactPoint<Real> contacts[kMaxPairContacts];
  const Real margin = max_distance > 0 ? max_distance : Real(0);
  const int count = collide_pair(a, X_WA, b, X_WB, margin, contacts);
  NearestPoints<Real> nearest{{}, {}, {}, max_distance, false};
  for (int i = 0; i < count; ++i) {
    const ContactPoint<Real>& c = contacts[i];
    if (c.gap < nearest.distance) nearest = {c.p_WA, c.p_WB, c.normal, c.gap, true};
  }
  return nearest;
}

}  // namespace axion::collide
