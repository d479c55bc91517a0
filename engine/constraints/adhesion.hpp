// Motors that press a body against what touches it, as a sucker does: the effort e is shared out to the n contacts of
// the body, each of which is pulled together by e/n along its normal. That is MuJoCo's adhesion.
//
// A contact counts whose gap at the start of the step is at most kAdhesionReach. In: contacts of the step, controls.
// Out: v_tilde and omega_tilde gain what the pulls give them. Cost: bodies times motors times contacts, where there are
// such motors.
#pragma once

#include "engine/constraints/free_motion.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/model/shape_pairs.hpp"

namespace axion::constraints {

// Adds what the pulls give body b in the time h under given controls: N s, N m s about its centre of mass.
template <typename Real>
AXION_HD_RARE void add_adhesion(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int contact_count,
                                int b, Real h, ConstArray<Real> control, math::Vec3<Real>& linear,
                                math::Vec3<Real>& angular) {
  for (int k = 0; k < m.adhesion_count; ++k) {
    const Real impulse = h * effort_of_motor(w, m.actuators[m.adhesions[k].actuator], control);
    int count = 0;
    math::Vec3<Real> l{}, a{};
    for (int i = 0; i < contact_count; ++i) {
      const model::Contact<Real>& c = w.contacts[i];
      if (!(c.gap <= Real(ContactParameters::kAdhesionReach))) continue;
      const model::PairData<Real> pair = model::pair_data(m, c.pair);
      const int part = m.adhesions[k].part;
      if (m.shape_contacts[pair.shape_a].part != part && m.shape_contacts[pair.shape_b].part != part) continue;
      ++count;
      if (c.body_a == b) l -= c.normal, a -= math::cross(c.r_a, c.normal);
      if (c.body_b == b) l += c.normal, a += math::cross(c.r_b, c.normal);
    }
    if (count == 0) continue;
    linear += (impulse / Real(count)) * l, angular += (impulse / Real(count)) * a;
  }
}

// The same on all bodies, added to their free velocities. Needs free_motion and the contacts.
template <typename Real, typename Team>
AXION_HD_RARE void adhere(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                          int contact_count) {
  team.for_each(m.body_count, [&](int b) {
    const Real h = w.body_force_step[b], owed = w.constraints.body_time_owed[b];
    math::Vec3<Real> linear{}, angular{};
    add_adhesion(m, w, contact_count, b, h - owed, w.control, linear, angular);
    if (owed > 0) add_adhesion(m, w, contact_count, b, owed, w.control_before, linear, angular);
    w.v_tilde[b] += (Real(1) / body_mass(m, w, b)) * linear;
    w.omega_tilde[b] += w.I_inverse[b] * angular;
  });
}

}  // namespace axion::constraints
