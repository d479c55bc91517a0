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
// Not all that comes through such a plane overlaps: a shape may pass beside the other, and a way along the result tells
// (way_of_pair.hpp). Where shapes turn so far that they may overlap in spite of a plane, a pair without contacts is
// looked at all along its way, and so is one that other shapes of the world hide (one_surface.hpp). What overlaps there
// becomes a contact with the rows of those poses and the gap that they lead back to, g(t) − t h J u⁺.
#pragma once

#include "engine/collide/find_contacts.hpp"
#include "engine/collide/parameters.hpp"
#include "engine/math/angle_functions.hpp"
#include "engine/math/constants.hpp"
#include "engine/model/find_contact.hpp"
#include "engine/model/shape_pairs.hpp"

namespace axion::collide {

inline constexpr std::uint32_t kFurtherFeature = 1u << 31;

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
    if (w.collide.candidate_use[slot] == kHidden && !is_contact) return;
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
  return 2 * most > Real(ReviewParameters::kTurnedDepth) * s.contact_margin;
}

// The way of a body along the result, whose turn may be several whole ones.
template <typename Real>
AXION_HD inline BodyWay<Real> way_of_result(const model::WorldView<Real>& w, int body, Real dt) {
  BodyWay<Real> way = way_at(body, w.v_plus, w.omega_plus, dt);
  if (body < 0) return way;
  const math::Quat<Real> turn = w.q_plus[body] * math::conjugate(w.q[body]);
  const Real sine = math::norm(turn.vec());
  if (!(sine > tiny_length<Real>())) return way;
  const math::Vec3<Real> axis = (Real(1) / sine) * turn.vec();
  const Real angle = Real(2) * math::arc_tangent(sine, turn.w);
  way.r =
      (angle + Real(2 * math::kPi) * std::floor((math::dot(way.r, axis) - angle) / Real(2 * math::kPi) + Real(0.5))) *
      axis;
  return way;
}

// Contacts of a pair in the result's poses at a share of the step, whose gaps are below the margin.
template <typename Real>
AXION_HD_CALL int collide_on_way(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::PairData<Real>& pair, Real share, Real margin, Real dt,
                                 ContactPoint<Real>* points) {
  const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
  return collide_pair(shape_of(m, a), pose_on_way(m, w, pair.shape_a, way_of_result(w, a.body, dt), share),
                      shape_of(m, b), pose_on_way(m, w, pair.shape_b, way_of_result(w, b.body, dt), share), margin,
                      points);
}

// Whether turning may have brought the shapes of a pair to overlap.
template <typename Real>
AXION_HD inline bool pair_turns(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::StepSettings<Real>& s, const model::PairData<Real>& pair) {
  const Real turned = turned_travel(m, w, pair.shape_a, s.dt) + turned_travel(m, w, pair.shape_b, s.dt);
  return turned > Real(ReviewParameters::kTurnedDepth) * s.contact_margin;
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
  return model::gap_after(w.collide.candidate[slot], w.v_plus, w.omega_plus, s.dt) < -s.dt * s.velocity_tolerance;
}

// Contacts of active pair k in the result's poses at a share of the step, into its slots.
template <typename Real>
AXION_HD_RARE void make_turned(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::StepSettings<Real>& s, const model::PairData<Real>& pair, int k, Real share,
                               const ContactPoint<Real>* points, int found) {
  const int start = w.collide.candidate_start[k];
  const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
  for (int i = 0; i < pair.contact_max; ++i) {
    w.collide.candidate_use[start + i] = i < found ? kTurned : kNoCandidate;
    if (i >= found) continue;
    model::Contact<Real>& c = w.collide.candidate[start + i];
    make_contact(m, w, a, b, static_cast<int>(w.collide.pair_active[k]), pair.friction * w.friction_scale[0], points[i],
                 c);
    c.r_a -= share * s.dt * w.v_plus[a.body];
    if (b.body >= 0) c.r_b -= share * s.dt * w.v_plus[b.body];
    c.gap -= share * (model::gap_after(c, w.v_plus, w.omega_plus, s.dt) - c.gap);
  }
}

// Active pair k, which has turned or is hidden: whether it overlaps by more than it may anywhere on its way; then its
// contacts there. Of a pair that has contacts already they have features of their own.
template <typename Real>
AXION_HD_RARE void find_on_way(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::StepSettings<Real>& s, const model::PairData<Real>& pair, int k,
                               Real allowed, bool is_listed) {
  const bool is_convex = has_sides(m.shapes[pair.shape_b]);
  const model::ShapeData<Real>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
  Real share = 1, margin = 0;
  if (is_convex) {
    const Meeting<Real> meeting =
        meet_on_way(m, w, pair, way_of_result(w, a.body, s.dt), way_of_result(w, b.body, s.dt), allowed);
    if (!meeting.met) return;
    share = meeting.share;
    margin = slop_of(m, pair) + (meeting.gap > Real(0) ? meeting.gap : Real(0));
  }
  ContactPoint<Real> points[kMaxPairContacts];
  const int found = collide_on_way(m, w, pair, share, margin, s.dt, points);
  if (found == 0 || (!is_convex && !(depth_of(points, found) > allowed))) return;
  const ShapePose<Real> X_WA = pose_on_way(m, w, pair.shape_a, way_of_result(w, a.body, s.dt), share);
  Real depth = 0;
  if (may_hide(m, w, pair) && are_hidden(m, w, k, pair, {X_WA, points, found}, s.contact_margin, depth)) return;
  for (int i = 0; i < found && is_listed; ++i) points[i].feature |= kFurtherFeature;
  make_turned(m, w, s, pair, k, share, points, found);
}

// How deep a pair of half these sizes gets, at least, before one is through the other, m; with some to spare.
template <typename Real>
AXION_HD inline Real halfway_through(const model::ModelView<Real>& m, const model::PairData<Real>& pair) {
  return Real(ReviewParameters::kThroughShare) *
         (least_size(shape_of(m, m.shapes[pair.shape_a])) + least_size(shape_of(m, m.shapes[pair.shape_b])));
}

// Active pair k, which turns far: without contacts it may overlap by no more than turning may, and beside them by no
// more than would let one through the other, nor, of the world, than kFurtherDepth adds: what is found on the way of
// two that move acts on them at points apart, and changes their moment. `first` is the first of its contacts.
template <typename Real>
AXION_HD_RARE void find_turned(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::StepSettings<Real>& s, const ContactSearch& search,
                               const model::PairData<Real>& pair, int k, int first) {
  const Real turned = Real(ReviewParameters::kTurnedDepth) * s.contact_margin,
             further = Real(ReviewParameters::kFurtherDepth) * s.contact_margin;
  const model::ShapeData<Real>& b = m.shapes[pair.shape_b];
  const Real halfway = has_sides(b) ? halfway_through(m, pair) : further;
  const Real through = b.body < 0 && further < halfway ? further : halfway;
  const int index = static_cast<int>(w.collide.pair_active[k]);
  if (first == search.count || w.contacts[first].pair != index) {
    find_on_way(m, w, s, pair, k, turned < through ? turned : through, false);
    return;
  }
  const BodyWay<Real> way_a = way_of_result(w, m.shapes[pair.shape_a].body, s.dt),
                      way_b = way_of_result(w, m.shapes[pair.shape_b].body, s.dt);
  const Real travel =
      math::norm(way_a.d - way_b.d) + turned_reach(m, w, pair.shape_a, way_a) + turned_reach(m, w, pair.shape_b, way_b);
  if (travel < through) return;
  for (int i = first; i < search.count && w.contacts[i].pair == index; ++i) {  // then the solve is at fault, not they
    const Real before = w.contacts[i].gap < Real(0) ? w.contacts[i].gap : Real(0);
    const Real after = model::gap_after(w.contacts[i], w.v_plus, w.omega_plus, s.dt);
    if (after < before - Real(ReviewParameters::kBrokenSlops) * slop_of(m, pair)) return;
  }
  ContactPoint<Real> points[kMaxPairContacts];
  const Real depth = depth_of(points, collide_on_way(m, w, pair, Real(0), Real(0), s.dt, points));
  find_on_way(m, w, s, pair, k, depth + through, true);
}

// What the result makes of active pair k beyond its contacts: candidates whose planes mislead, and overlap on its way.
template <typename Real>
AXION_HD_CALL void look_along_result(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                     const model::StepSettings<Real>& s, const ContactSearch& search, int k) {
  const int index = static_cast<int>(w.collide.pair_active[k]), start = w.collide.candidate_start[k];
  const model::PairData<Real> pair = model::pair_data(m, index);
  if (start + pair.contact_max > m.candidate_capacity) return;
  bool broken = false, hidden = false;
  for (int slot = start; slot < start + pair.contact_max; ++slot) {
    int& use = w.collide.candidate_use[slot];
    if (use == kPassed) use = kCandidate;
    hidden = hidden || use == kHidden;
    broken = broken || ((use == kCandidate || use == kHidden) && is_broken(w, s, slot));
  }
  const bool turns = pair_turns(m, w, s, pair), sides = has_sides(m.shapes[pair.shape_b]);
  if (broken && !hidden) {
    if (!sides) return;
    const Real slop = slop_of(m, pair);
    const Meeting<Real> meeting = meet_on_way(m, w, pair, way_of_result(w, m.shapes[pair.shape_a].body, s.dt),
                                              way_of_result(w, m.shapes[pair.shape_b].body, s.dt), slop);
    for (int slot = start; slot < start + pair.contact_max; ++slot) {
      if (w.collide.candidate_use[slot] != kCandidate || !is_broken(w, s, slot)) continue;
      const model::Contact<Real>& c = w.collide.candidate[slot];
      const Real after = model::gap_after(c, w.v_plus, w.omega_plus, s.dt);
      if (misleads(meeting, c.normal, after, slop)) w.collide.candidate_use[slot] = kPassed;
    }
    return;
  }
  if (!turns && !(hidden && broken)) return;
  if (hidden) {
    find_on_way(m, w, s, pair, k, w.collide.hidden_depth[k] + slop_of(m, pair), false);
  } else {
    const int first = partition_point(0, search.count, [&](int i) { return w.contacts[i].pair < index; });
    find_turned(m, w, s, search, pair, k, first);
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
  const auto keep = [&](int slot, int k) { w.collide.candidate_kept[k] = slot; };
  const int open = team.filter(
      search.slots,
      [&](int slot) {
        const int use = w.collide.candidate_use[slot];
        return (use == kCandidate || use >= kTurned) && is_broken(w, s, slot);
      },
      keep);
  if (open == 0 && !shapes_turn(team, m, w, s)) return 0;
  team.for_each(search.pairs, [&](int k) { look_along_result(m, w, s, search, k); });
  return team.filter(
      search.slots,
      [&](int slot) {
        const int use = w.collide.candidate_use[slot];
        return use == kTurned || (use == kCandidate && is_broken(w, s, slot));
      },
      keep);
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
  if (review >= ReviewParameters::kFirstOfAll) {
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
  return moved_share(m, w, pair.shape_a, s.dt) > Real(ReviewParameters::kSlidShare) ||
         moved_share(m, w, pair.shape_b, s.dt) > Real(ReviewParameters::kSlidShare);
}

// Whether only the result's poses say how deep the shapes of a pair are in each other.
template <typename Real>
AXION_HD inline bool pair_is_read_in_result(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                            const model::StepSettings<Real>& s, const model::PairData<Real>& pair) {
  return pair_turns(m, w, s, pair) || pair_slides(m, w, s, pair);
}

template <typename Real, typename Team>
AXION_HD inline bool shapes_slide(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                  const model::StepSettings<Real>& s) {
  return team.template max<Real>(m.shape_count, [&](int i) { return moved_share(m, w, i, s.dt); }) >
         Real(ReviewParameters::kSlidShare);
}

// The deepest overlap that the step starts from, of all candidates and contacts.
template <typename Real, typename Team>
AXION_HD inline Real depth_at_start(const Team& team, const model::WorldView<Real>& w, const ContactSearch& search) {
  return team.template max<Real>(search.slots, [&](int slot) {
    const int use = w.collide.candidate_use[slot];
    return use == kNoCandidate || use == kTurned ? Real(0) : -w.collide.candidate[slot].gap;
  });
}

// The deepest overlap that the result leaves, of all candidates, and in the result's poses where shapes turn or slide
// far; needs find_missed.
template <typename Real, typename Team>
AXION_HD_CALL Real solved_depth(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::StepSettings<Real>& s, const ContactSearch& search) {
  const Real straight = team.template max<Real>(search.slots, [&](int slot) {
    const int use = w.collide.candidate_use[slot];
    if (use == kNoCandidate || use >= kChosen) return Real(0);  // these are contacts, or their gaps say nothing
    return -model::gap_after(w.collide.candidate[slot], w.v_plus, w.omega_plus, s.dt);
  });
  if (!shapes_turn(team, m, w, s) && !shapes_slide(team, m, w, s)) return straight;
  const Real solved = team.template max<Real>(search.pairs, [&](int k) {
    const model::PairData<Real> pair = model::pair_data(m, static_cast<int>(w.collide.pair_active[k]));
    if (!pair_is_read_in_result(m, w, s, pair)) return Real(0);
    ContactPoint<Real> points[kMaxPairContacts];
    return depth_of(points, collide_on_way(m, w, pair, Real(1), Real(0), s.dt, points));
  });
  return solved > straight ? solved : straight;
}

}  // namespace axion::collide
