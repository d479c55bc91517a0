// All contacts of a world at the start of a step, as far as the step may close them.
//
// Broad phase (near_pairs.hpp, broad_phase.hpp): the model's pairs whose bounding spheres, carried along by the bodies'
// relative velocity, come within the margin of each other in the step. Narrow phase: collide_pair into each pair's own
// slots, the candidates. Of these the step's contacts are those that overlap or that the last velocities bring within
// the margin, and gravity against the world; two bodies fall alike:
//   g₀ + h J_n (u⁻ + h g) < margin, and after the solve review_contacts.hpp adds those that the result would break.
//   Compaction keeps the order of pairs and of features, so that the result does not depend on how the team runs. More
//   than the world holds: the deepest stay.
#pragma once

#include "engine/collide/broad_phase.hpp"
#include "engine/collide/way_of_pair.hpp"
#include "engine/model/contact_gap.hpp"
#include "engine/team/team.hpp"

namespace axion::collide {

// Written where it stays: to copy a contact from numbers that were just written waits for them.
template <typename Real>
AXION_HD_CALL void make_contact(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::ShapeData<Real>& a, const model::ShapeData<Real>& b, int pair,
                                Real friction, const ContactPoint<Real>& point, model::Contact<Real>& c) {
  c.body_a = a.body, c.body_b = b.body, c.pair = pair, c.feature = point.feature;
  c.normal = point.normal, c.p_WA = point.p_WA, c.gap = point.gap, c.friction = friction;
  math::tangent_basis(c.normal, c.t1, c.t2);
  // Two moving bodies share one point: a friction impulse on either side of a gap would be a couple from nowhere.
  // Where soft contacts overlap by centimetres, MuJoCo's forces act in the middle, on the ground as well.
  const bool is_on_a = b.body < 0 && !m.is_soft;
  const math::Vec3<Real> p = is_on_a ? point.p_WA : Real(0.5) * (point.p_WA + point.p_WB);
  c.r_a = p - w.x[a.body];
  c.r_b = b.body >= 0 ? p - w.x[b.body] : math::Vec3<Real>{};
}

// What candidate_use says of a slot: nothing, a candidate, a contact of the step; a contact in the result's poses; one
// whose plane the result comes through while the shapes stay apart; and one that another shape of the world hides.
inline constexpr int kNoCandidate = 0, kCandidate = 1, kChosen = 2, kTurned = 3, kPassed = 4, kHidden = 5;

// Leaves the deepest `capacity` of candidate_kept there; rare, so one member of the team does it.
template <typename Real>
AXION_HD inline void keep_deepest(const model::WorldView<Real>& w, int kept, int capacity) {
  for (int i = 0; i < kept - capacity; ++i) {  // drop the shallowest, one at a time, keeping the order of the rest
    int shallowest = 0;
    for (int k = 1; k < kept - i; ++k) {
      if (w.collide.candidate[w.collide.candidate_kept[k]].gap >
          w.collide.candidate[w.collide.candidate_kept[shallowest]].gap)
        shallowest = k;
    }
    for (int k = shallowest; k + 1 < kept - i; ++k) w.collide.candidate_kept[k] = w.collide.candidate_kept[k + 1];
  }
}

struct ContactSearch {
  int slots;      // of candidates
  int count;      // contacts
  bool overflow;  // some were dropped
  int pairs = 0;  // near each other
};

// Pairs near each other into pair_active, in their order; returns how many.
template <typename Real, typename Team>
AXION_HD inline int list_near_pairs(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                    const model::StepSettings<Real>& s, Foresight foresight) {
  if (uses_grid(m)) return pairs_from_grid(team, m, w, s, foresight);
  const int capacity = active_pair_capacity(m);
  return team.filter(
      m.pair_count, [&](int i) { return near_each_other(m, w, m.pairs[i].shape_a, m.pairs[i].shape_b, s, foresight); },
      [&](int i, int k) {
        if (k < capacity) w.collide.pair_active[k] = static_cast<std::uint32_t>(i);
      });
}

// The same, and their slots into candidate_start. Sets slots and overflow; returns how many pairs are kept.
template <typename Real, typename Team>
AXION_HD inline int find_near_pairs(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                    const model::StepSettings<Real>& s, Foresight foresight, ContactSearch& search) {
  const int found = list_near_pairs(team, m, w, s, foresight), capacity = active_pair_capacity(m);
  const int active = found < capacity ? found : capacity;
  team.for_each(1, [&](int) {
    int slot = 0;
    for (int k = 0; k < active; ++k) {
      w.collide.candidate_start[k] = slot;
      slot += model::pair_contact_max(m, static_cast<int>(w.collide.pair_active[k]));
    }
  });
  if (active > 0) {
    const int last = active - 1;
    const int end =
        w.collide.candidate_start[last] + model::pair_contact_max(m, static_cast<int>(w.collide.pair_active[last]));
    search.overflow = end > m.candidate_capacity || found > active;
    search.slots = end > m.candidate_capacity ? m.candidate_capacity : end;
  }
  return active;
}

// Of the contacts that a pair has before it overlaps, those stay candidates whose planes mislead: the last velocities
// lead the shapes past each other.
template <typename Real>
AXION_HD_RARE void leave_passing(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s, const model::PairData<Real>& pair, int start,
                                 int found) {
  const Meeting<Real> meeting = meet_on_way(m, w, pair, way_at(m.shapes[pair.shape_a].body, w.v, w.omega, s.dt),
                                            way_at(m.shapes[pair.shape_b].body, w.v, w.omega, s.dt), slop_of(m, pair));
  for (int slot = start; slot < start + found; ++slot) {
    const model::Contact<Real>& c = w.collide.candidate[slot];
    const Real after = model::gap_after(c, w.v, w.omega, s.dt);
    if (after < Real(0) && misleads(meeting, c.normal, after, slop_of(m, pair))) {
      w.collide.candidate_use[slot] = kCandidate;
    }
  }
}

// Candidates of the pair, from `start` on, out of the points that were found; which of them the last velocities close.
template <typename Real>
AXION_HD inline void make_candidates(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                     const model::StepSettings<Real>& s, const model::PairData<Real>& pair, int index,
                                     int start, const ContactPoint<Real>* points, int found) {
  const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
  const Real slop = slop_of(a, b);  // by which shapes that touch may overlap, as two edges that meet by rounding
  bool ahead = has_sides(b), comes_through = false;
  for (int i = 0; i < pair.contact_max; ++i) {
    w.collide.candidate_use[start + i] = kNoCandidate;
    if (i >= found) continue;
    model::Contact<Real>& c = w.collide.candidate[start + i];
    make_contact(m, w, a, b, index, pair.friction * w.friction_scale[0], points[i], c);
    const Real fall = c.body_b < 0 ? s.dt * s.dt * math::dot(c.normal, m.gravity) : Real(0);
    const Real after = model::gap_after(c, w.v, w.omega, s.dt);
    const bool closes = c.gap <= Real(0) || after + fall < s.contact_margin;
    ahead = ahead && c.gap > -slop, comes_through = comes_through || after < (c.gap > Real(0) ? Real(0) : -slop);
    w.collide.candidate_use[start + i] = closes ? kChosen : kCandidate;
  }
  if (ahead && comes_through) leave_passing(m, w, s, pair, start, found);
}

// All candidates: candidate_use is kCandidate, or kChosen for the contacts that the last velocities close.
template <typename Real, typename Team>
AXION_HD_CALL ContactSearch find_candidates(const Team& team, const model::ModelView<Real>& m,
                                            const model::WorldView<Real>& w, const model::StepSettings<Real>& s,
                                            Foresight foresight) {
  ContactSearch search{0, 0, false};
  const int active = find_near_pairs(team, m, w, s, foresight, search);
  search.pairs = active;
  list_world_pairs(team, m, w, active);
  team.for_each(active, [&](int k) {
    const int index = static_cast<int>(w.collide.pair_active[k]);
    const model::PairData<Real> pair = model::pair_data(m, index);
    ContactPoint<Real> points[kMaxPairContacts];
    const int start = w.collide.candidate_start[k];
    if (start + pair.contact_max > m.candidate_capacity) {  // counted as an overflow
      for (int slot = start; slot < m.candidate_capacity; ++slot) w.collide.candidate_use[slot] = kNoCandidate;
      return;
    }
    const ShapePose<Real> X_WA = start_pose(w, pair.shape_a);
    const Real margin = pair_margin(m, w, pair, s, foresight);
    const int found = collide_pair(shape_of(m, m.shapes[pair.shape_a]), X_WA, shape_of(m, m.shapes[pair.shape_b]),
                                   start_pose(w, pair.shape_b), margin, points);
    make_candidates(m, w, s, pair, index, start, points, found);
    if (found > 0 && may_hide(m, w, pair) &&
        are_hidden(m, w, k, pair, {X_WA, points, found}, margin, w.collide.hidden_depth[k])) {
      for (int slot = start; slot < start + found; ++slot) w.collide.candidate_use[slot] = kHidden;
    }
  });
  return search;
}

// The chosen candidates become the step's contacts.
template <typename Real, typename Team>
AXION_HD_CALL void gather_contacts(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   ContactSearch& search) {
  const int kept = team.filter(
      search.slots, [&](int slot) { return w.collide.candidate_use[slot] == kChosen; },
      [&](int slot, int k) { w.collide.candidate_kept[k] = slot; });
  search.count = kept;
  if (kept > m.contact_capacity) {
    search.count = m.contact_capacity, search.overflow = true;
    team.for_each(1, [&](int) { keep_deepest(w, kept, m.contact_capacity); });
  }
  team.for_each(search.count, [&](int i) { w.contacts[i] = w.collide.candidate[w.collide.candidate_kept[i]]; });
}

template <typename Real, typename Team>
AXION_HD_CALL ContactSearch find_contacts(const Team& team, const model::ModelView<Real>& m,
                                          const model::WorldView<Real>& w, const model::StepSettings<Real>& s) {
  team.for_each(m.shape_count, [&](int i) { place_shape(m, w, i, s.dt); });
  ContactSearch search = find_candidates(team, m, w, s, Foresight::kLast);
  gather_contacts(team, m, w, search);
  return search;
}

}  // namespace axion::collide
