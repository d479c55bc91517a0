// ContactPoint: one point where two shapes touch, or will soon; ContactList: where a family of shape pairs puts them.
#pragma once

#include <cstdint>

#include "engine/base/macros.hpp"
#include "engine/math/vec3.hpp"

namespace axion::collide {

inline constexpr int kMaxPairContacts = 8;
inline constexpr std::uint32_t kFeatureCount = 64;  // of pairs of planes, spheres, capsules and boxes

// World frame, SI. The points lie on the surfaces of the first (a) and the second shape (b).
template <typename Real>
struct ContactPoint {
  math::Vec3<Real> p_WA, p_WB;
  math::Vec3<Real> normal;  // unit, from b to a
  Real gap;                 // normal · (p_WA − p_WB); negative: overlap
  std::uint32_t feature;    // which geometric feature of the pair touches; for warm starts
};

// Keeps the contacts whose gap is below the margin, at most kMaxPairContacts, in the order in which they come.
template <typename Real>
struct ContactList {
  ContactPoint<Real>* points;  // room for kMaxPairContacts
  Real margin;
  int count = 0;

  AXION_HD void add(const ContactPoint<Real>& contact) {
    if (contact.gap < margin && count < kMaxPairContacts) points[count++] = contact;
  }
};

}  // namespace axion::collide
