// What a contact asks of the speed at which its bodies part, and which contacts carry no load or give way.
//
// In: contacts with their rows, what the last step left of them. Out: contact_rebound, is_stuck, friction of the
// contacts. Cost: linear in contacts; that of stuck_contacts.hpp where some are to give way. Cannot fail.
#pragma once

#include "engine/constraints/blocked_contacts.hpp"
#include "engine/constraints/contact_rows.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/constraints/stuck_contacts.hpp"
#include "engine/model/find_contact.hpp"

namespace axion::constraints {

// Slower than this bodies come together without a rebound: twice what gravity adds in a step.
template <typename Real>
AXION_HD inline Real least_impact(const model::StepSettings<Real>& s) {
  return Real(2 * math::kGravity) * s.dt;
}

// J(ũ − u⁻) of a contact over the share of a step that forces act in: what a whole step of them adds, m/s.
template <typename Real>
AXION_HD inline Real contact_gain_of_forces(const model::WorldView<Real>& w, const model::StepSettings<Real>& s,
                                            const model::Row<Real>& row, const model::Contact<Real>& c) {
  const Real before = row_velocity(row, c.body_a, c.body_b, w.v, w.omega);
  const Real after = row_velocity(row, c.body_a, c.body_b, w.v_tilde, w.omega_tilde);
  return (after - before) * (s.dt / w.body_force_step[c.body_a]);
}

// giving_fraction of contacts that give way, by the deepest of the robots that each holds.
template <typename Real, typename Team>
AXION_HD_RARE void find_giving_fractions(const Team& team, const model::ModelView<Real>& m,
                                         const model::WorldView<Real>& w, const model::StepSettings<Real>& s,
                                         int contact_count) {
  const auto root = [&](int b) { return b < 0 ? -1 : m.bodies[b].tree_start; };
  team.for_each(contact_count, [&](int i) {
    if (w.contact_rebound[i] != Real(kGivingWay)) return;
    const int a = root(w.contacts[i].body_a), b = root(w.contacts[i].body_b);
    Real depth = 0;
    for (int j = 0; j < contact_count; ++j) {
      const model::Contact<Real>& c = w.contacts[j];
      if (w.contact_rebound[j] != Real(kGivingWay) || !(-c.gap > depth)) continue;
      const int of_a = root(c.body_a), of_b = root(c.body_b);
      if (of_a == a || of_b == a || (b >= 0 && (of_a == b || of_b == b))) depth = -c.gap;
    }
    w.giving_fraction[i] = giving_fraction(s, depth);
  });
}

// Says of each contact in contact_rebound whether no joint opens it (kBlocked), or it gives way (kGivingWay), and how
// far.
template <typename Real, typename Team>
AXION_HD inline void mark_giving(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s, int contact_count) {
  team.for_each(contact_count, [&](int i) {
    const model::Contact<Real>& c = w.contacts[i];
    const bool blocked = c.gap < 0 && is_blocked(m, w, c);
    w.contact_rebound[i] = blocked ? Real(kBlocked) : Real(0);
    if (blocked || m.is_soft || !may_give_way(m, s, c)) return;
    if (s.giving != model::Giving::kAsLast || gave_way(w, c.pair)) w.contact_rebound[i] = Real(kGivingWay);
  });
  const auto gives = [&](int i) { return w.contact_rebound[i] == Real(kGivingWay); };
  if (!(team.template max<Real>(contact_count, [&](int i) { return gives(i) ? Real(1) : Real(0); }) > Real(0))) return;
  find_stuck(team, m, w, contact_count);
  if (s.giving != model::Giving::kAll) {
    team.for_each(contact_count, [&](int i) {
      if (gives(i) && w.is_stuck[i] == 0) w.contact_rebound[i] = 0;
    });
  }
  find_giving_fractions(team, m, w, s, contact_count);
}

// contact_rebound: e times the speed of bodies that met in the last step, or that are found overlapping as they
// approach; kBlocked and kGivingWay, which have no friction, as mark_giving has them. Needs the contacts' rows and the
// last step's impulses.
template <typename Real, typename Team>
AXION_HD inline void find_rebounds(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::StepSettings<Real>& s, int contact_count) {
  const int base = m.contact_base();
  mark_giving(team, m, w, s, contact_count);
  team.for_each(contact_count, [&](int i) {
    model::Contact<Real>& c = w.contacts[i];
    const Real e = model::pair_data(m, c.pair).restitution;
    if (w.contact_rebound[i] != Real(kBlocked) && !m.is_soft && may_give_way(m, s, c)) {
      const bool slides = w.contact_rebound[i] == Real(kGivingWay) || s.giving == model::Giving::kStuckElseSmooth;
      c.friction = slides ? Real(0) : model::pair_data(m, c.pair).friction * w.friction_scale[0];
    }
    if (!(e > 0) || w.contact_rebound[i] < Real(0)) return;
    const int last = model::find_contact(w.warm, w.warm_count[0], c.pair, c.feature);
    if (last >= 0 && w.warm[last].approach > Real(0)) w.contact_rebound[i] = e * w.warm[last].approach;
    const Real owed = w.body_force_debt[c.body_a];
    if (w.contact_rebound[i] > 0 && owed > 0) {  // a leapfrog parts half a step after the bodies met
      const Real parting = w.contact_rebound[i] + (1 - owed) * contact_gain_of_forces(w, s, w.row[base + 3 * i], c);
      w.contact_rebound[i] = parting > 0 ? parting : Real(0);
    }
    const Real speed = -row_velocity(w.row[base + 3 * i], c.body_a, c.body_b, w.v, w.omega);
    if (w.contact_rebound[i] == 0 && c.gap <= 0 && speed > least_impact(s)) w.contact_rebound[i] = e * speed;
  });
}

// The speed at which the bodies of contact i met in the step just solved, to rebound in the next; 0 where they did not.
// w.v and w.omega must still be those before the step.
template <typename Real>
AXION_HD inline Real impact_speed(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                  const model::StepSettings<Real>& s, int i) {
  const model::Contact<Real>& c = w.contacts[i];
  const int row = m.contact_base() + 3 * i;
  if (w.contact_rebound[i] == Real(kGivingWay)) return Real(kGivingWay);
  if (!(model::pair_data(m, c.pair).restitution > 0) || w.contact_rebound[i] > 0) return 0;
  const Real speed = -row_velocity(w.row[row], c.body_a, c.body_b, w.v, w.omega);
  if (!(speed > least_impact(s))) return 0;
  // What a converged solve leaves of an impulse of a contact that is still open is not a meeting; one that a step only
  // just reaches is found in the next.
  const Real r = row_product(m, w, w.row[row], w.row[row], c.body_a, c.body_b);
  if (!(w.lambda[row] * r > Real(ContactParameters::kLeastMeeting) * least_impact(s))) return 0;
  const Real until = clamp(c.gap / (s.dt * speed), Real(0), Real(1)),
             owed = w.constraints.body_time_owed[c.body_a] / s.dt;
  if (owed == Real(0) && w.body_force_debt[c.body_a] == Real(0)) {
    const Real gain = -row_velocity(w.row[row], c.body_a, c.body_b, w.v_tilde, w.omega_tilde) - speed;
    return speed + until * gain;  // with what forces add until they meet
  }
  return speed - (owed + until) * contact_gain_of_forces(w, s, w.row[row], c);
}

}  // namespace axion::constraints
