// Torsional and rolling friction of contacts: torques on the two bodies about axes through a contact.
//
//   torsional   |τ_n| ≤ μ_s λ_n     against the relative angular velocity about the normal
//   rolling     |τ_t| ≤ μ_r λ_n     against that across the normal, alike in every direction
//
// μ_s and μ_r are lengths, in metres. Both are dry friction at velocity level: within its bound a torque holds the
// relative angular velocity at zero, at its bound it opposes it. Bounds follow the contact's normal impulse.
// A contact whose pair has either takes a second block of three rows, n, t1 and t2, without a linear part. Blocks come
// after those of all contacts and are linked to the bodies as contacts are, so that whatever passes impulses between
// rows and bodies takes both alike; a world without them has none of it.
//
// In: contacts of the step. Out: moments, and their rows, scales and places in `contacts`. Cost: linear in contacts.
// Source: MuJoCo's condim 4 and 6 (mujoco.readthedocs.io, Computation: Contact), whose elliptic cone holds the square
// sum of sliding, torsional and rolling friction; here each has a bound of its own.
#pragma once

#include "engine/constraints/contact_rows.hpp"

namespace axion::constraints {

// The row of an angular velocity of body a against body b, about a direction.
template <typename Real>
AXION_HD inline model::Row<Real> turning_row(const math::Vec3<Real>& direction) {
  return {{}, direction, -direction};
}

// Fills the blocks after those of `contact_count` contacts; returns how many.
template <typename Real, typename Team>
AXION_HD_RARE int build_moment_rows(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                    int contact_count) {
  const int count = team.filter(
      contact_count,
      [&](int i) {
        const model::MomentFriction<Real> friction = model::moments_of_pair(m, w.contacts[i].pair);
        return friction.torsional > Real(0) || friction.rolling > Real(0);
      },
      [&](int i, int place) { w.moments[place].contact = i; });
  const int first = contact_count;
  team.for_each(count, [&](int k) {
    const model::Contact<Real>& c = w.contacts[w.moments[k].contact];
    const model::MomentFriction<Real> friction = model::moments_of_pair(m, c.pair);
    w.moments[k].torsional = friction.torsional * w.friction_scale[0];
    w.moments[k].rolling = friction.rolling * w.friction_scale[0];
    if (w.contact_rebound[w.moments[k].contact] == Real(kGivingWay)) w.moments[k].torsional = w.moments[k].rolling = 0;
    w.contacts[first + k] = c;
    model::Row<Real>* row = w.row + m.contact_base() + 3 * (first + k);
    row[0] = turning_row(c.normal), row[1] = turning_row(c.t1), row[2] = turning_row(c.t2);
    scale_contact_rows(m, w, first + k);
  });
  team.for_each(1, [&](int) { w.moment_count[0] = count; });
  return count;
}

}  // namespace axion::constraints
