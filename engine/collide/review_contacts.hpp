// After a solve: whether contacts that it was not told of should have had an impulse.
//
// A contact that is left out has none, so the result solves the step with all candidates exactly where it leaves each
// of their gaps open, g₀ + h J_n u⁺ ≥ 0 to the tolerance of a contact's row; those that it does not are added and the
// step is solved again. Candidates themselves were found along the last velocities: where a surface moved more than
// half the margin further than those foresaw, they are first looked for along the result's velocities, too. So no
// contact is missed whatever forces, drives or impacts add within the step, and margins need no allowance for them.
// What became a contact stays one for the rest of the step, wherever later results go.
//
// Gaps are linear in u, and nearly so while bodies do not turn: a plane between two convex shapes stays between them.
// Where shapes turn so far that they may overlap in spite of it, a pair without contacts is looked at in the result's
// poses. What overlaps there becomes a contact with the rows of those poses and the gap that they lead back to, g⁺ − h
// J⁺u⁺.
#pragma once

#include "engine/collide/find_contacts.hpp"
#include "engine/model/find_contact.hpp"
#include "engine/model/shape_pairs.hpp"

namespace axion::collide {

inline constexpr int kReviews = 8;     // after which a step is solved again, at most
inline constexpr int kFirstOfAll = 3;  // from this one on every candidate becomes a contact, as far as there is room
inline constexpr double kTurnedDepth = 0.1;  // of the margin: overlap that turning may cause without being looked for
inline constexpr double kSlidShare =
    0.5;  // of its bounding radius: a shape that moves further may overlap by what its gaps do not say
inline constexpr int kTurned = 3;  // what candidate_use says of a contact in the result's poses

// How far shape i's surface moves in the step beyond what its last velocities say.
template <typename Real>
AXION_HD inline Real unforeseen_travel(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i,
                                       Real dt) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  if (shape.body < 0) return 0;
  const int b = shape.body;
  const Real radius = math::norm(shape.p_CS) + shape.bounding_radius;
  return dt * (math::norm(w.v_plus[b] - w.v[b]) + math::norm(w.omega_plus[b] - w.omega[b]) * radius);
}

// Looks for candidates along the result's velocities, too. Chosen are those that are contacts already: others, even
// where the last velocities would close their gap, are for the result to judge.
template <typename Real, typename Team>
AXION_HD_CALL void search_along_result(const Team& team, const model::ModelView<Real>& m,
                                       const model::WorldView<Real>& w, const model::StepSettings<Real>& s,
                                       ContactSearch& search) {
  const ContactSearch last = search;
  team.for_each(m.shape_count, [&](int i) { reach_as_solved(m, w, i, s.dt); });
  search = find_candidates(team, m, w, s, Foresight::kLastAndSolved);
  team.for_each(search.slots, [&](int slot) {
    if (w.collide.candidate_use[slot] == kNoCandidate) return;
    const model::Contact<Real>& c = w.collide.candidate[slot];
    const bool is_contact = model::find_contact(w.contacts, last.count, c.pair, c.feature) >= 0;
    w.collide.candidate_use[slot] = is_contact ? kChosen : kCandidate;
  });
  search.count = last.count, search.overflow |= last.overflow;
}

// How far a shape's surface may be from where its velocities lead it in a straight line, by turning: r θ²/2.
template <typename Real>
AXION_HD inline Real turned_travel(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i, Real dt) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  if (shape.body < 0) return 0;
  const bool is_round = shape.kind == model::ShapeKind::kSphere;
  const Real radius = math::norm(shape.p_CS) + (is_round ? Real(0) : shape.bounding_radius);
  return Real(0.5) * dt * dt * math::dot(w.omega_plus[shape.body], w.omega_plus[shape.body]) * radius;
}

// Whether any shape turns so far that pairs must be looked at in the result's poses.
template <typename Real, typename Team>
AXION_HD inline bool shapes_turn(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s) {
  const Real most = team.template max<Real>(m.shape_count, [&](int i) { return turned_travel(m, w, i, s.dt); });
  return 2 * most > Real(kTurnedDepth) * s.contact_margin;
}

template <typename Real>
AXION_HD inline ShapePose<Real> solved_pose(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  if (shape.body < 0) return {w.collide.shape_centre[i], w.collide.shape_axes[i]};
  const math::Quat<Real>& q = w.q_plus[shape.body];
  return {w.x_plus[shape.body] + math::rotate(q, shape.p_CS), math::to_matrix(q * shape.q_CS)};
}

// Where the shapes of a pair overlap in the result's poses.
template <typename Real>
AXION_HD_CALL int collide_solved(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::PairData<Real>& pair, ContactPoint<Real>* points) {
  const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
  return collide_pair(shape_of(m, a), solved_pose(m, w, pair.shape_a), shape_of(m, b), solved_pose(m, w, pair.shape_b),
                      Real(0), points);
}

// Whether turning may have brought the shapes of a pair to overlap.
template <typename Real>
AXION_HD inline bool pair_turns(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::StepSettings<Real>& s, const model::PairData<Real>& pair) {
  const Real turned = turned_travel(m, w, pair.shape_a, s.dt) + turned_travel(m, w, pair.shape_b, s.dt);
  return turned > Real(kTurnedDepth) * s.contact_margin;
}

// The same points, as far as turning may have brought the shapes to them.
template <typename Real>
AXION_HD_CALL int collide_turned(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s, const model::PairData<Real>& pair,
                                 ContactPoint<Real>* points) {
  return pair_turns(m, w, s, pair) ? collide_solved(m, w, pair, points) : 0;
}

template <typename Real>
AXION_HD inline Real depth_of(const ContactPoint<Real>* points, int count) {
  Real depth = 0;
  for (int i = 0; i < count; ++i) depth = -points[i].gap > depth ? -points[i].gap : depth;
  return depth;
}

// Whether the result runs the surfaces of a candidate into each other.
template <typename Real>
AXION_HD inline bool is_broken(const model::WorldView<Real>& w, const model::StepSettings<Real>& s, int slot) {
  return model::gap_after(w.collide.candidate[slot], w.v_plus, w.omega_plus, s.dt) < -s.dt * s.tolerance;
}

// Contacts of active pair k in the result's poses into its slots, where it has no contact yet and overlaps.
template <typename Real>
AXION_HD_CALL void find_turned(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::StepSettings<Real>& s, const ContactSearch& search, int k) {
  const int index = static_cast<int>(w.collide.pair_active[k]), start = w.collide.candidate_start[k];
  const model::PairData<Real> pair = model::pair_data(m, index);
  if (start + pair.contact_max > m.candidate_capacity) return;
  const int listed = partition_point(0, search.count, [&](int i) { return w.contacts[i].pair < index; });
  if (listed < search.count && w.contacts[listed].pair == index) return;
  for (int slot = start; slot < start + pair.contact_max; ++slot) {
    if (w.collide.candidate_use[slot] == kCandidate && is_broken(w, s, slot)) return;  // found anyway
  }
  ContactPoint<Real> points[kMaxPairContacts];
  const int found = collide_turned(m, w, s, pair, points);
  if (!(depth_of(points, found) > Real(kTurnedDepth) * s.contact_margin)) return;
  const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
  for (int i = 0; i < pair.contact_max; ++i) {
    w.collide.candidate_use[start + i] = i < found ? kTurned : kNoCandidate;
    if (i >= found) continue;
    model::Contact<Real>& c = w.collide.candidate[start + i];
    make_contact(m, w, a, b, index, pair.friction * w.friction_scale[0], points[i], c);
    c.r_a += w.x[a.body] - w.x_plus[a.body];
    if (b.body >= 0) c.r_b += w.x[b.body] - w.x_plus[b.body];
    c.gap = 2 * c.gap - model::gap_after(c, w.v_plus, w.omega_plus, s.dt);
  }
}

// Candidates that the result breaks into candidate_kept, in order; returns how many. Needs the result in v_plus,
// omega_plus and its poses. Contacts stay as they are.
template <typename Real, typename Team>
AXION_HD_CALL int find_missed(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                              const model::StepSettings<Real>& s, ContactSearch& search) {
  const Real unforeseen =
      team.template max<Real>(m.shape_count, [&](int i) { return unforeseen_travel(m, w, i, s.dt); });
  if (!(unforeseen - unforeseen == Real(0))) return 0;  // not finite: the step fails anyway
  if (unforeseen > s.contact_margin / 2) search_along_result(team, m, w, s, search);
  if (shapes_turn(team, m, w, s)) {
    team.for_each(search.pairs, [&](int k) { find_turned(m, w, s, search, k); });
  }
  return team.filter(
      search.slots,
      [&](int slot) {
        const int use = w.collide.candidate_use[slot];
        return use == kTurned || (use == kCandidate && is_broken(w, s, slot));
      },
      [&](int slot, int k) { w.collide.candidate_kept[k] = slot; });
}

// The `missed` candidates in candidate_kept become contacts, in the order of pairs, after those that a pair has
// already. Where there is no room the deepest do.
template <typename Real, typename Team>
AXION_HD_CALL void add_contacts(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                int missed, ContactSearch& search) {
  const int room = m.contact_capacity - search.count, added = missed < room ? missed : room;
  search.overflow |= added < missed;
  team.for_each(1, [&](int) {
    if (added < missed) keep_deepest(w, missed, room);
    int from = search.count - 1, to = search.count + added - 1;
    for (int k = added - 1; k >= 0; --to) {
      const model::Contact<Real>& c = w.collide.candidate[w.collide.candidate_kept[k]];
      if (from >= 0 && w.contacts[from].pair > c.pair) {
        w.contacts[to] = w.contacts[from--];
      } else {
        w.contacts[to] = c;
        w.collide.candidate_use[w.collide.candidate_kept[k--]] = kChosen;
      }
    }
  });
  search.count += added;
}

// Makes contacts of `missed` candidates, after find_missed; `review` counts from 0.
template <typename Real, typename Team>
AXION_HD_CALL void add_missed(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                              int review, int missed, ContactSearch& search) {
  if (review >= kFirstOfAll) {
    const auto is_open = [&](int slot) {
      return w.collide.candidate_use[slot] == kCandidate || w.collide.candidate_use[slot] == kTurned;
    };
    const int all = static_cast<int>(
        team.template sum<Real>(search.slots, [&](int slot) { return is_open(slot) ? Real(1) : Real(0); }));
    if (search.count + all <= m.contact_capacity) {
      missed = team.filter(search.slots, is_open, [&](int slot, int k) { w.collide.candidate_kept[k] = slot; });
    }
  }
  add_contacts(team, m, w, missed, search);
}

// Returns whether contacts were added to `search`.
template <typename Real, typename Team>
AXION_HD_CALL bool review_contacts(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::StepSettings<Real>& s, int review, ContactSearch& search) {
  const int missed = find_missed(team, m, w, s, search);
  if (missed == 0) return false;
  const int before = search.count;
  add_missed(team, m, w, review, missed, search);
  return search.count > before;
}

// How far the body of shape i moves in the step, as a share of the shape's size; the world and what has no end do not.
template <typename Real>
AXION_HD inline Real moved_share(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i, Real dt) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  return shape.body < 0 ? Real(0) : dt * math::norm(w.v_plus[shape.body]) / shape.bounding_radius;
}

// Whether the shapes of a pair slide so far that the gaps of the corners and faces that they had before say too little.
template <typename Real>
AXION_HD inline bool pair_slides(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s, const model::PairData<Real>& pair) {
  return moved_share(m, w, pair.shape_a, s.dt) > Real(kSlidShare) ||
         moved_share(m, w, pair.shape_b, s.dt) > Real(kSlidShare);
}

template <typename Real, typename Team>
AXION_HD inline bool shapes_slide(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                  const model::StepSettings<Real>& s) {
  return team.template max<Real>(m.shape_count, [&](int i) { return moved_share(m, w, i, s.dt); }) > Real(kSlidShare);
}

// The deepest overlap that the result leaves, of all candidates, and in the result's poses where shapes turn or slide
// far; needs find_missed.
template <typename Real, typename Team>
AXION_HD_CALL Real solved_depth(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::StepSettings<Real>& s, const ContactSearch& search) {
  const Real straight = team.template max<Real>(search.slots, [&](int slot) {
    const int use = w.collide.candidate_use[slot];
    if (use == kNoCandidate || use == kTurned) return Real(0);
    return -model::gap_after(w.collide.candidate[slot], w.v_plus, w.omega_plus, s.dt);
  });
  if (!shapes_turn(team, m, w, s) && !shapes_slide(team, m, w, s)) return straight;
  const Real solved = team.template max<Real>(search.pairs, [&](int k) {
    const model::PairData<Real> pair = model::pair_data(m, static_cast<int>(w.collide.pair_active[k]));
    if (!pair_turns(m, w, s, pair) && !pair_slides(m, w, s, pair)) return Real(0);
    ContactPoint<Real> points[kMaxPairContacts];
    return depth_of(points, collide_solved(m, w, pair, points));
  });
  return solved > straight ? solved : straight;
}

}  // namespace axion::collide
