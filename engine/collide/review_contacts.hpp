// After a solve: whether contacts that it was not told of should have had an impulse.
//
// A contact that is left out has none, so the result solves the step with all candidates exactly where it leaves each of
// their gaps open, g₀ + h J_n u⁺ ≥ 0 to the tolerance of a contact's row; those that it does not are added and the step is
// solved again. Candidates themselves were found along the last velocities: where a surface moved more than half the margin
// further than those foresaw, they are first looked for along the result's velocities, too. So no contact is missed whatever
// forces, drives or impacts add within the step, and margins need no allowance for them.
#pragma once

#include "engine/collide/find_contacts.hpp"
#include "engine/model/find_contact.hpp"

namespace axion::collide {

inline constexpr int kReviews = 4;  // at most, in a step; the last makes every candidate a contact

// How far shape i's surface moves in the step beyond what its last velocities say.
template <typename Real>
AXION_HD inline Real unforeseen_travel(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i, Real dt) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  if (shape.body < 0) return 0;
  const int b = shape.body;
  const Real radius = math::norm(shape.p_CS) + shape.bounding_radius;
  return dt * (math::norm(w.v_plus[b] - w.v[b]) + math::norm(w.omega_plus[b] - w.omega[b]) * radius);
}

// Looks for candidates along the result's velocities, too. Chosen are those that are contacts already: others, even where the
// last velocities would close their gap, are for the result to judge.
template <typename Real, typename Team>
AXION_HD_CALL void search_again(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::StepSettings<Real>& s, ContactSearch& search) {
  const ContactSearch last = search;
  team.for_each(m.shape_count, [&](int i) { reach_as_solved(m, w, i, s.dt); });
  search = find_candidates(team, m, w, s, Foresight::kLastAndSolved);
  team.for_each(search.slots, [&](int slot) {
    if (w.candidate_use[slot] == kNoCandidate) return;
    const model::Contact<Real>& c = w.candidate[slot];
    const bool is_contact = model::find_contact(w.contacts, last.count, c.pair, c.feature) >= 0;
    w.candidate_use[slot] = is_contact ? kChosen : kCandidate;
  });
  search.count = last.count, search.overflow |= last.overflow;
}

// Returns whether contacts were added to `search`. Needs the result in v_plus and omega_plus; `review` counts from 0.
template <typename Real, typename Team>
AXION_HD_CALL bool review_contacts(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::StepSettings<Real>& s, int review, ContactSearch& search) {
  const Real unforeseen =
      team.template max<Real>(m.shape_count, [&](int i) { return unforeseen_travel(m, w, i, s.dt); });
  if (!(unforeseen - unforeseen == Real(0))) return false;  // not finite: the step fails anyway
  if (unforeseen > s.contact_margin / 2) search_again(team, m, w, s, search);
  const bool all = review == kReviews - 1;
  const int missed = team.filter(
      search.slots,
      [&](int slot) {
        return w.candidate_use[slot] == kCandidate &&
               gap_after(w.candidate[slot], w.v_plus, w.omega_plus, s.dt) < -s.dt * s.tolerance;
      },
      [&](int slot, int k) { w.candidate_kept[k] = slot; });
  if (missed == 0) return false;
  team.for_each(missed, [&](int k) { w.candidate_use[w.candidate_kept[k]] = kChosen; });
  if (all) {
    team.for_each(search.slots, [&](int slot) {
      if (w.candidate_use[slot] == kCandidate) w.candidate_use[slot] = kChosen;
    });
  }
  gather_contacts(team, m, w, search);
  return true;
}

}  // namespace axion::collide
