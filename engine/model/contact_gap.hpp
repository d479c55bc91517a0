// The gap of a contact after a step at given velocities, by the law of its normal row: linear in them.
#pragma once

#include "engine/model/world_state.hpp"

namespace axion::model {

// g₀ + h n·((v_a + ω_a × r_a) − (v_b + ω_b × r_b)), m.
template <typename Real>
AXION_HD inline Real gap_after(const Contact<Real>& c, ConstArray<math::Vec3<Real>> v,
                               ConstArray<math::Vec3<Real>> omega, Real dt) {
  math::Vec3<Real> relative = v[c.body_a] + math::cross(omega[c.body_a], c.r_a);
  if (c.body_b >= 0) relative -= v[c.body_b] + math::cross(omega[c.body_b], c.r_b);
  return c.gap + dt * math::dot(c.normal, relative);
}

}  // namespace axion::model
