// Which overlaps a motion of the joints opens, and which are stuck.
//
// Of contacts that are to give way, which are asked to open, and all that hold the bodies of joint trees where they
// are:
//
//   min over rates z and shortfalls s ≥ 0 of  ½ Σ (h_k z_k)² + C Σ s_i / n_i,   n_i contacts of the pair
//   J_i S z ≥ 1 − s_i and ≥ 0   contacts asked to open
//   J_k S z ≥ 0                 other contacts that touch, limits that are reached
//   J_e S z = 0                 locks of joints that close loops, equalities; not where they give way
//
// S z are the velocities that the bodies get from the rates of their joints' freedoms, and of the freedoms of trees
// without a joint to the world; h_k is how fast the fastest body moves at a unit of a rate. A contact that opens at
// less than half of 1 m/s there is stuck, and so is its pair: any motion that opened it would close another, break a
// lock, or move some body many times as fast. Motions that open one overlap each add up to one that opens them all, so
// one problem answers for all contacts. Loads have no part in this: what a drive presses together is not stuck. Bodies
// without joints, which can get out of the way, hold nothing.
//
// By coordinate ascent over the multipliers of the rows; each moves the rates of the joints between its bodies. One
// thread does it, in the order of the rows. In: contacts, which of them are asked (contact_rebound), rows at q⁻. Out:
// is_stuck. Cost: kSweeps times the rows and the joints between their bodies at most, and nothing where no contact is
// asked. Cannot fail: where the ascent ends early a contact may count as stuck or not that is near to either.
#pragma once

#include "engine/constraints/axis_rows.hpp"
#include "engine/constraints/eased_locks.hpp"
#include "engine/constraints/giving_contacts.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/constraints/tendon_rows.hpp"

namespace axion::constraints {

// A body has the freedoms of its joint, or six where it is the root of a tree that no joint holds.
inline constexpr int kBodyFreedoms = 6;
template <typename Real>
AXION_HD inline int freedom_count(const model::ModelView<Real>& m, int b) {
  if (m.bodies[b].joint < 0) return kBodyFreedoms;
  const model::JointData<Real>& joint = m.joints[m.bodies[b].joint];
  return joint_freedoms(joint);
}

// Writes the velocities of body b's centre and its turn that unit rates of its freedoms give it; slides come first.
template <typename Real>
AXION_HD_RARE void find_motions(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int b) {
  Motion<Real>* motion = w.constraints.motion + kBodyFreedoms * b;
  if (m.bodies[b].joint < 0) {
    for (int k = 0; k < 3; ++k) {
      motion[k] = {math::unit_vector<Real>(k), {}}, motion[3 + k] = {{}, math::unit_vector<Real>(k)};
    }
    return;
  }
  const model::JointData<Real>& joint = m.joints[m.bodies[b].joint];
  const math::Quat<Real> q_M0 = (joint.parent < 0 ? math::Quat<Real>{} : w.q[joint.parent]) * joint.q_PM0;
  for (int k = 0; k < joint.slide_count; ++k) motion[k] = {math::rotate(q_M0, slide_direction(joint, k)), {}};
  Chain<Real> chain;
  turning_axes(m, w, joint, q_M0, chain);
  for_each_swing(w, joint, chain, [&](int k, const math::Vec3<Real>& swing) {
    motion[joint.slide_count + k] = {swing, chain.a[k]};
  });
}

// Calls f(freedom, body, sign) for the freedoms that change what bodies a and b, or the world for -1, do beside each
// other.
template <typename Real, typename F>
AXION_HD inline void for_each_freedom_between(const model::ModelView<Real>& m, int a, int b, F&& f) {
  int on_a = a, on_b = b;  // parents come before their children
  while (on_a != on_b) {
    const bool is_a = on_a > on_b;
    const int body = is_a ? on_a : on_b;
    for (int k = 0; k < freedom_count(m, body); ++k) f(kBodyFreedoms * body + k, body, is_a);
    (is_a ? on_a : on_b) = m.bodies[body].parent;
  }
}

// How fast a unit rate of a freedom of `body`, which carries a or b, moves a row between them.
template <typename Real>
AXION_HD inline Real motion_along(const model::WorldView<Real>& w, const model::Row<Real>& row, int a, int b,
                                  int freedom, int body, bool is_a) {
  const Motion<Real>& motion = w.constraints.motion[freedom];
  const int end = is_a ? a : b;
  const math::Vec3<Real> linear = motion.linear + math::cross(motion.angular, w.x[end] - w.x[body]);
  const Real along = math::dot(row.l, linear);
  return is_a ? along + math::dot(row.k_a, motion.angular) : math::dot(row.k_b, motion.angular) - along;
}

// A row of the problem: its rate, and what a unit of its multiplier adds to that.
template <typename Real>
struct OpeningRate {
  Real rate = 0, gain = 0;
};

// for_each(f) calls f(freedom, g) for each freedom that moves the row, by g at a unit rate. The multiplier of freedoms
// that several parts of a row share has the sum of their parts.
template <typename Real, typename ForEach>
AXION_HD inline OpeningRate<Real> opening_rate(const model::WorldView<Real>& w, const ForEach& for_each) {
  OpeningRate<Real> sum;
  for_each([&](int freedom, Real g) {
    sum.rate += g * w.constraints.motion_rate[freedom];
    sum.gain += g * g * w.constraints.motion_ease[freedom];
  });
  return sum;
}

// Sets what one sweep needs: motions, their ease 1/h², rates and multipliers of zero.
template <typename Real>
AXION_HD_RARE void start_opening(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int contact_count) {
  Real* ease = w.constraints.motion_ease;
  for (int b = 0; b < m.body_count; ++b) {
    find_motions(m, w, b);
    for (int k = 0; k < kBodyFreedoms; ++k) {
      w.constraints.motion_rate[kBodyFreedoms * b + k] = 0;
      ease[kBodyFreedoms * b + k] = 0;
    }
  }
  for (int b = 0; b < m.body_count; ++b) {  // ease holds h² until all bodies are seen
    const math::Vec3<Real>& I = m.bodies[b].inertia;
    const Real greatest = I.x > I.y ? (I.x > I.z ? I.x : I.z) : (I.y > I.z ? I.y : I.z);
    const Real gyration = greatest / m.bodies[b].mass;  // m², a radius squared
    for (int above = b; above >= 0; above = m.bodies[above].parent) {
      for (int k = 0; k < freedom_count(m, above); ++k) {
        const Motion<Real>& motion = w.constraints.motion[kBodyFreedoms * above + k];
        const math::Vec3<Real> v = motion.linear + math::cross(motion.angular, w.x[b] - w.x[above]);
        const Real moved = math::dot(v, v), turned = gyration * math::dot(motion.angular, motion.angular);
        Real& fastest = ease[kBodyFreedoms * above + k];
        if (moved > fastest) fastest = moved;
        if (turned > fastest) fastest = turned;
      }
    }
  }
  for (int k = 0; k < kBodyFreedoms * m.body_count; ++k) ease[k] = ease[k] > Real(0) ? Real(1) / ease[k] : Real(0);
  for (int i = 0; i < contact_count + m.limit_count + m.lock_count; ++i) w.constraints.opening[i] = 0;
}

// Whether both bodies of a contact belong to joint trees or the world.
template <typename Real>
AXION_HD inline bool are_of_trees(const model::ModelView<Real>& m, const model::Contact<Real>& c) {
  const auto is_of_tree = [&](int b) {
    const int root = m.bodies[b].tree_start;
    return m.bodies[root].tree_size > 1 || m.bodies[root].joint >= 0;
  };
  return is_of_tree(c.body_a) && (c.body_b < 0 || is_of_tree(c.body_b));
}

// Moves the rates by a change of one row's multiplier.
template <typename Real, typename ForEach>
AXION_HD inline void push_motion(const model::WorldView<Real>& w, Real change, const ForEach& for_each) {
  for_each([&](int freedom, Real g) {
    w.constraints.motion_rate[freedom] += change * g * w.constraints.motion_ease[freedom];
  });
}

// One row in turn: `target` m/s are asked for with a multiplier of at most `most`, and none less than zero with any; of
// an equality zero. Returns how much it changed the row's rate.
template <typename Real, typename ForEach>
AXION_HD inline Real open_row(const model::WorldView<Real>& w, Real& multiplier, Real target, Real most,
                              bool is_equality, const ForEach& for_each, int shared_terms = 1) {
  OpeningRate<Real> row = opening_rate(w, for_each);
  row.gain *= Real(shared_terms);
  if (!(row.gain > Real(StuckParameters::kLeastMoved * StuckParameters::kLeastMoved))) return 0;
  Real next = multiplier + (target - row.rate) / row.gain;
  if (!is_equality) {
    const Real held = multiplier - row.rate / row.gain;  // at which the row stands still
    if (next > most) next = held > most ? held : most;
    if (next < Real(0)) next = 0;
  }
  const Real change = next - multiplier;
  if (change == Real(0)) return 0;
  multiplier = next;
  push_motion(w, change, for_each);
  return std::abs(change * row.gain);
}

// Contact i's freedoms, as for_each of opening_rate.
template <typename Real>
AXION_HD inline auto contact_motion(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  return [&m, &w, i](auto&& f) {
    const model::Contact<Real>& c = w.contacts[i];
    for_each_freedom_between(m, c.body_a, c.body_b, [&](int freedom, int body, bool is_a) {
      f(freedom, motion_along(w, w.row[m.contact_base() + 3 * i], c.body_a, c.body_b, freedom, body, is_a));
    });
  };
}

// Likewise of a tendon or an equality of coordinates. A freedom that moves several of its terms counts once for each.
template <typename Real>
AXION_HD inline auto tendon_motion(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::TendonData<Real>& tendon, Real sign) {
  return [&m, &w, &tendon, sign](auto&& f) {
    for_each_term(tendon, [&](int k) {
      const int a = m.tendon_terms[k].a, b = m.tendon_terms[k].b;
      for_each_freedom_between(m, a, b, [&](int freedom, int body, bool is_a) {
        f(freedom, sign * motion_along(w, w.tendon_force[k], a, b, freedom, body, is_a));
      });
    });
  };
}

// How many terms one freedom may move: pieces of a path through space, and of a sum of coordinates one. What a
// multiplier adds to the row is at most so many times what its terms add to themselves, as (Σ g)² ≤ n Σ g².
template <typename Real>
AXION_HD inline int shared_terms(const model::TendonData<Real>& tendon) {
  return tendon.span_count > 0 ? tendon.term_count : 1;
}

template <typename Real>
AXION_HD_RARE Real sweep_openings(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int contact_count) {
  Real changed = 0;
  const auto note = [&](Real change) { changed = change > changed ? change : changed; };
  Real* const multiplier = w.constraints.opening;
  for (int i = 0; i < contact_count; ++i) {
    const model::Contact<Real>& c = w.contacts[i];
    const bool is_asked = w.contact_rebound[i] == Real(kGivingWay);
    const bool holds = c.gap <= Real(0) && w.contact_rebound[i] != Real(kBlocked) && are_of_trees(m, c) &&
                       !(model::pair_data(m, c.pair).stiffness > 0);
    if (!is_asked && !holds) continue;
    const Real most = is_asked ? Real(StuckParameters::kCost) / Real(w.is_stuck[i]) : Real(0);
    note(open_row(w, multiplier[i], Real(is_asked), most, false, contact_motion(m, w, i)));
  }
  for (int i = 0; i < m.limit_count; ++i) {
    const int axis = m.limit_axis[i];
    if (!(limit_gap(m, w, i) < Real(StuckParameters::kReached))) continue;
    const Real sign = w.limit_side[i] < 0 ? Real(1) : Real(-1);
    if (axis >= m.joint_axis_count) {
      note(open_row(w, multiplier[contact_count + i], Real(0), Real(0), false,
                    tendon_motion(m, w, tendon_of_axis<Real>(m, axis), sign),
                    shared_terms(tendon_of_axis<Real>(m, axis))));
      continue;
    }
    const model::JointData<Real>& joint = m.joints[m.axes[axis].joint];
    if (joint.is_ball) continue;
    const int freedom = kBodyFreedoms * joint.child + axis - joint.axis_start;
    note(open_row(w, multiplier[contact_count + i], Real(0), Real(0), false, [&](auto&& f) { f(freedom, sign); }));
  }
  Real* const lock = multiplier + contact_count + m.limit_count;
  for (int j = m.joint_count - m.loop_count; j < m.joint_count; ++j) {
    const model::JointData<Real>& joint = m.joints[j];
    if (gives_way<Real>(m, w, joint)) continue;
    const int end = joint.lock_start + joint.translation_lock_count + joint.rotation_lock_count;
    for (int row = joint.lock_start; row < end; ++row) {
      note(open_row(w, lock[row], Real(0), Real(0), true, [&](auto&& f) {
        for_each_freedom_between(m, joint.child, joint.parent, [&](int freedom, int body, bool is_a) {
          f(freedom, motion_along(w, w.row_start[row], joint.child, joint.parent, freedom, body, is_a));
        });
      }));
    }
  }
  for (int e = m.tendon_axis_count; e < m.tendon_count; ++e) {
    const model::TendonData<Real>& equality = m.tendons[e];
    if (gives_way<Real>(m, w, equality)) continue;
    note(open_row(w, lock[equality.lock], Real(0), Real(0), true, tendon_motion(m, w, equality, Real(1)),
                  shared_terms(equality)));
  }
  return changed;
}

// Of contacts that contact_rebound says give way: whether each is stuck.
template <typename Real, typename Team>
AXION_HD_RARE void find_stuck(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                              int contact_count) {
  const auto for_each_of_pair = [&](int i, auto&& f) {  // asked contacts of the pair of contact i
    for (int k = 0; k < contact_count; ++k) {
      if (w.contacts[k].pair == w.contacts[i].pair && w.contact_rebound[k] == Real(kGivingWay)) f(k);
    }
  };
  team.for_each(contact_count, [&](int i) {  // how many, until the ascent is over
    int& count = w.is_stuck[i];
    count = 0;
    if (w.contact_rebound[i] == Real(kGivingWay)) for_each_of_pair(i, [&](int) { ++count; });
  });
  team.for_each(1, [&](int) {
    start_opening(m, w, contact_count);
    for (int sweep = 0; sweep < StuckParameters::kSweeps; ++sweep) {
      if (!(sweep_openings(m, w, contact_count) > Real(StuckParameters::kSettled))) break;
    }
  });
  team.for_each(contact_count, [&](int i) {
    bool stuck = false;
    if (w.contact_rebound[i] == Real(kGivingWay)) {
      for_each_of_pair(i, [&](int k) {
        stuck = stuck || opening_rate(w, contact_motion(m, w, k)).rate < Real(StuckParameters::kOpens);
      });
    }
    w.is_stuck[i] = stuck ? 1 : 0;
  });
}

}  // namespace axion::constraints
