// Overlap that no motion of the joints opens: found out, and given way to (constraints/giving_contacts.hpp).
//
// Where a step with deep contacts fails, or leaves some as deep as they were though they push, it is solved again with
// all of them giving way. That counts where it is solved and the overlap parts, or where its impulses prove that no
// motion opens what stays: with any motion w that keeps to the joints,
//
//   Σ λ_i (J_i w) = wᵀ M (u⁺ − ũ) − Σ λ_k (J_k w),   k: friction, drives, springs, locks that give way
//
// where contacts and limits that push have J_i w ≥ 0, as else they would be broken. So no motion in which no body is
// faster than kLever opens all contacts that stay by a speed of one if their impulses sum up to more than kLever times
// the greatest that the right side can be.
//
// The proof is of each group of bodies by itself, which joints, equalities and contacts that may give way hold
// together, or which have such contacts with one thing that does not move: w is zero elsewhere, and what bodies of
// other groups press with is among the loads. What is proved of one robot says nothing of another. Nor does it of a
// part of a robot, what is beyond a joint and what loops and equalities move with it, whose contacts get deeper: it
// needs a proof of its own, w being zero elsewhere, else a finger that its drive presses into the palm would sink in
// while others are stuck there. Contacts of a group or a part without a proof are rigid again, and the step is solved
// once more. Where that fails the step is left as it was, and likewise where no group has a proof, if it was solved.
//
// Contacts that gave way do so in the next step from the start, until they are opened, or nothing proves that they
// cannot be. Where such a step fails, or a part without a proof sinks in, it is solved once more from no impulses of
// contacts.
//
// In: an evaluated iterate. Out: an iterate, contact_rebound. Cost: nothing where no rigid contact of joined bodies is
// deep; one attempt in the first step, and one more where some groups have a proof and others none.
#pragma once

#include "engine/newton/easing.hpp"
#include "engine/newton/start.hpp"

namespace axion::solver {

// m/s: an overlap that comes apart no faster stays. That is less than half of depenetration_velocity, and takes longer
// than kPartingTime.
template <typename Real>
AXION_HD inline Real staying_speed(const model::StepSettings<Real>& s, Real overlap) {
  const Real slow = overlap / Real(GivingParameters::kPartingTime), fast = s.depenetration_velocity / 2;
  return slow < fast ? slow : fast;
}

// Contacts at an evaluated iterate, as far as it takes to tell which of them stay as deep as they were.
template <typename Real>
struct DeepContacts {
  const model::ModelView<Real>& m;
  const model::StepSettings<Real>& s;
  const model::Contact<Real>* contacts;
  const Real *rebound, *impulses;  // [contact_count], three a contact
  BodyVelocities<Real> u;
};

template <typename Real>
AXION_HD inline DeepContacts<Real> deep_contacts(const model::ModelView<Real>& m, const model::StepSettings<Real>& s,
                                                 const model::WorldView<Real>& w) {
  return {m, s, w.contacts, w.contact_rebound, w.lambda + m.contact_base(), iterate_velocities(w)};
}

// Whether rigid contact i may give way, stays and pushes; `giving`: whether it is one that gives way.
template <typename Real>
AXION_HD inline bool pushes_and_stays(const DeepContacts<Real>& deep, int i, bool giving) {
  const model::Contact<Real>& c = deep.contacts[i];
  const model::StepSettings<Real>& s = deep.s;
  const Real rebound = deep.rebound[i];
  if (giving ? rebound != Real(constraints::kGivingWay) : rebound < Real(0)) return false;
  if (!constraints::may_give_way<Real>(deep.m, s, c) || !(deep.impulses[3 * i] > Real(0))) return false;
  const Real after = -model::gap_after(c, deep.u.linear, deep.u.angular, s.dt);
  return after > Real(constraints::kDeep) * s.contact_margin && -c.gap - after < s.dt * staying_speed(s, after);
}

// What bodies resist with.
template <typename Real>
struct BodyInertias {
  const model::BodyData<Real>* bodies;
  const Real* mass_scale;             // [nb]
  const math::Mat3<Real>* I_inverse;  // [nb]

  AXION_HD Real mass(int b) const { return bodies[b].mass * mass_scale[b]; }
};

template <typename Real>
AXION_HD inline BodyInertias<Real> body_inertias(const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  return {m.bodies, w.mass_scale, w.I_inverse};
}

// How fast along a row a motion may be at most in which body b moves at unit speed: its energy is that of m/2.
template <typename Real>
AXION_HD inline Real greatest_along(const BodyInertias<Real>& bodies, int b, const math::Vec3<Real>& l,
                                    const math::Vec3<Real>& k) {
  if (b < 0) return 0;
  return std::sqrt(math::dot(l, l) + bodies.mass(b) * math::dot(k, bodies.I_inverse[b] * k));
}

// Of a motion of the bodies that has() names: the others stand still.
template <typename Real, typename Has>
AXION_HD inline Real greatest_work(const BodyInertias<Real>& bodies, const model::Row<Real>& row, int a, int b,
                                   Real impulse, const Has& has) {
  const Real first = has(a) ? greatest_along(bodies, a, row.l, row.k_a) : Real(0);
  return std::abs(impulse) * (first + (has(b) ? greatest_along(bodies, b, row.l, row.k_b) : Real(0)));
}

// That of all that acts along an axis, or of an equality that gives way.
template <typename Real, typename Has>
AXION_HD_RARE Real greatest_work_of_tendon(const model::ModelView<Real>& m, const BodyInertias<Real>& bodies,
                                           const model::Row<Real>* tendon_force, const model::TendonData<Real>& tendon,
                                           Real impulse, const Has& has) {
  Real sum = 0;
  constraints::for_each_term(tendon, [&](int k) {
    const model::TendonTermData<Real>& term = m.tendon_terms[k];
    sum += greatest_work<Real>(bodies, tendon_force[k], term.a, term.b, impulse, has);
  });
  return sum;
}

// The most that the right side of the equation above can be without friction, N s: of a motion in which no body is
// faster than 1 m/s, and the bodies that has() names move alone.
template <typename Real, typename Team, typename Has>
AXION_HD_RARE Real greatest_load(const Team& team, const Problem<Real>& p, const Has& has) {
  const auto& w = p.w;
  const Real bodies = team.template sum<Real>(p.m.body_count, [&](int b) {
    if (!has(b)) return Real(0);
    const math::Vec3<Real> dv = w.v_plus[b] - w.v_tilde[b], dw = w.omega_plus[b] - w.omega_tilde[b];
    const Real mass = constraints::body_mass(p.m, p.w, b);
    return mass * std::sqrt(math::dot(dv, dv) + math::dot(dw, w.I_world[b] * dw) / mass);
  });
  const Real axes = team.template sum<Real>(p.m.axis_count, [&](int i) {
    Real impulse = w.lambda[p.axis_base() + i];
    for (int e = 0; e < p.m.axes[i].effort_count; ++e) {
      impulse += w.lambda[p.effort_base() + p.m.axes[i].effort_start + e];
    }
    if (i >= p.m.joint_axis_count)
      return greatest_work_of_tendon<Real>(p.m, body_inertias<Real>(p.m, p.w), p.w.tendon_force,
                                           constraints::tendon_of_axis<Real>(p.m, i), impulse, has);
    const model::JointData<Real>& joint = p.m.joints[p.m.axes[i].joint];
    return greatest_work<Real>(body_inertias<Real>(p.m, p.w), w.row[p.axis_base() + i], joint.child, joint.parent,
                               impulse, has);
  });
  const Real locks = team.template sum<Real>(closing_lock_count<Real>(p.m), [&](int k) {
    Real sum = 0;
    if (k >= p.m.loop_count) {
      const model::TendonData<Real>& equality = p.m.tendons[p.m.tendon_axis_count + k - p.m.loop_count];
      return constraints::gives_way<Real>(p.m, p.w, equality)
                 ? greatest_work_of_tendon<Real>(p.m, body_inertias<Real>(p.m, p.w), p.w.tendon_force, equality,
                                                 w.lambda[equality.lock], has)
                 : sum;
    }
    const model::JointData<Real>& joint = p.m.joints[p.m.joint_count - p.m.loop_count + k];
    if (!constraints::gives_way<Real>(p.m, p.w, joint)) return sum;
    const int end = joint.lock_start + joint.translation_lock_count + joint.rotation_lock_count;
    for (int row = joint.lock_start; row < end; ++row) {
      sum += greatest_work<Real>(body_inertias<Real>(p.m, p.w), w.row_force[row], joint.child, joint.parent,
                                 w.lambda[row], has);
    }
    return sum;
  });
  return bodies + axes + locks;
}

// That of all bodies together.
template <typename Real, typename Team>
AXION_HD_RARE Real greatest_load(const Team& team, const Problem<Real>& p) {
  return greatest_load(team, p, [](int b) { return b >= 0; });
}

// The most that contacts can add to it, N s: by friction, and by pushing against bodies that stand still in the motion;
// but for contacts that the motion is asked to open, for which is_asked() is true.
template <typename Real, typename Team, typename Has, typename IsAsked>
AXION_HD_RARE Real greatest_contact_load(const Team& team, const Problem<Real>& p, const Has& has,
                                         const IsAsked& is_asked) {
  return team.template sum<Real>(p.block_count(), [&](int i) {
    const model::Contact<Real>& c = p.w.contacts[i];
    const bool is_between = i < p.contact_count && c.body_b >= 0 && has(c.body_a) != has(c.body_b) && !is_asked(i);
    Real sum = 0;
    for (int k = i < p.contact_count && !is_between ? 1 : 0; k < 3; ++k) {
      const int row = p.contact_base() + 3 * i + k;
      sum += greatest_work<Real>(body_inertias<Real>(p.m, p.w), p.w.row[row], c.body_a, c.body_b, p.w.lambda[row], has);
    }
    return sum;
  });
}

// Whether two contacts with what does not move are with one thing, as with the palm of a hand: one body of the scene,
// or one shape of the world's own that has an end.
template <typename Real>
AXION_HD_RARE bool are_of_one(const model::ModelView<Real>& m, const model::Contact<Real>& a,
                              const model::Contact<Real>& b) {
  const auto fixed_shape = [&](const model::Contact<Real>& c) {
    const model::PairData<Real> pair = model::pair_data(m, c.pair);
    return m.shapes[pair.shape_a].body < 0 ? pair.shape_a : pair.shape_b;
  };
  const int of_a = fixed_shape(a), of_b = fixed_shape(b), part = m.shape_contacts[of_a].part;
  if (part != 0) return m.shape_contacts[of_b].part == part;
  const model::ShapeKind kind = m.shapes[of_a].kind;
  return of_a == of_b && kind != model::ShapeKind::kPlane && kind != model::ShapeKind::kHeightField;
}

// Which bodies are held together, whatever moves the others: of each the first of its group.
template <typename Real, typename Team>
AXION_HD_RARE void find_groups(const Team& team, const Problem<Real>& p) {
  int* const group = p.w.newton.group;
  team.for_each(1, [&](int) {
    for (int b = 0; b < p.m.body_count; ++b) group[b] = p.m.bodies[b].tree_start;
    const auto join = [&](int a, int b) {
      if (a < 0 || b < 0 || group[a] == group[b]) return;
      const int first = group[a] < group[b] ? group[a] : group[b], second = group[a] + group[b] - first;
      for (int k = 0; k < p.m.body_count; ++k) group[k] = group[k] == second ? first : group[k];
    };
    for (int i = 0; i < p.contact_count; ++i) {
      const model::Contact<Real>& c = p.w.contacts[i];
      if (!constraints::may_give_way<Real>(p.m, p.s, c)) continue;
      join(c.body_a, c.body_b);
      for (int k = 0; k < i && c.body_b < 0; ++k) {
        const model::Contact<Real>& other = p.w.contacts[k];
        if (other.body_b < 0 && constraints::may_give_way<Real>(p.m, p.s, other) && are_of_one(p.m, c, other)) {
          join(c.body_a, other.body_a);
        }
      }
    }
    for (int j = p.m.joint_count - p.m.loop_count; j < p.m.joint_count; ++j) {
      join(p.m.joints[j].child, p.m.joints[j].parent);
    }
    for (int e = p.m.tendon_axis_count; e < p.m.tendon_count; ++e) {
      int last = -1;
      constraints::for_each_term(p.m.tendons[e], [&](int k) {
        const model::TendonTermData<Real>& term = p.m.tendon_terms[k];
        join(term.a, term.b);
        join(last, term.a);
        join(last, term.b);
        last = term.a >= 0 ? term.a : term.b >= 0 ? term.b : last;
      });
    }
  });
}

// Calls f(has) for each group that find_groups() found, where has(b) says whether it has a body.
template <typename Real, typename F>
AXION_HD inline void for_each_group(const Problem<Real>& p, F&& f) {
  const int* const group = p.w.newton.group;
  for (int g = 0; g < p.m.body_count; ++g) {
    if (group[g] == g) f([group, g](int b) { return b >= 0 && group[b] == g; });
  }
}

// Whether the impulses of the contacts of a group that give way and stay prove that no motion opens them; true where
// none does.
template <typename Real, typename Team, typename Has>
AXION_HD_RARE bool nothing_opens(const Team& team, const Problem<Real>& p, const Has& has) {
  const DeepContacts<Real> deep = deep_contacts<Real>(p.m, p.s, p.w);
  const Real push = team.template sum<Real>(p.contact_count, [&](int i) {
    return has(p.w.contacts[i].body_a) && pushes_and_stays(deep, i, true) ? p.w.lambda[p.contact_base() + 3 * i]
                                                                          : Real(0);
  });
  return !(push > Real(0)) ||
         push > Real(GivingParameters::kLever) *
                    (greatest_load(team, p, has) + greatest_contact_load(team, p, has, [](int) { return false; }));
}

// Whether contact i gives way, stays and gets deeper.
template <typename Real>
AXION_HD inline bool sinks(const DeepContacts<Real>& deep, int i) {
  const model::Contact<Real>& c = deep.contacts[i];
  return pushes_and_stays(deep, i, true) && -model::gap_after(c, deep.u.linear, deep.u.angular, deep.s.dt) >
                                                Real(GivingParameters::kSinking) * deep.s.contact_margin - c.gap;
}

// Marks the bodies of a part of a tree, what is beyond the joint of body `first`, and of others that loops and
// equalities of coordinates move with it.
template <typename Real, typename Team>
AXION_HD_RARE void mark_part(const Team& team, const model::ModelView<Real>& m, int first, int* const part) {
  const auto has = [&](int b) { return b >= 0 && part[b] != 0; };
  team.for_each(1, [&](int) {
    const auto add = [&](int root) {
      for (int b = 0; b < m.body_count; ++b) {
        int above = b;
        while (above >= 0 && above != root) above = m.bodies[above].parent;
        if (above >= 0) part[b] = 1;
      }
    };
    for (int b = 0; b < m.body_count; ++b) part[b] = 0;
    add(first);
    for (bool is_whole = false; !is_whole;) {
      is_whole = true;
      for (int j = m.joint_count - m.loop_count; j < m.joint_count; ++j) {
        const int child = m.joints[j].child, parent = m.joints[j].parent;
        if (parent < 0 || has(child) == has(parent)) continue;
        add(has(child) ? parent : child), is_whole = false;
      }
      for (int e = m.tendon_axis_count; e < m.tendon_count; ++e) {
        bool moves = false;
        constraints::for_each_term(
            m.tendons[e], [&](int k) { moves = moves || has(m.tendon_terms[k].a) != has(m.tendon_terms[k].b); });
        constraints::for_each_term(m.tendons[e], [&](int k) {
          const int a = m.tendon_terms[k].a, b = m.tendon_terms[k].b;
          if (!moves || has(a) || has(b) || (a < 0 && b < 0)) return;
          add(a >= 0 ? a : b), is_whole = false;
        });
      }
    }
  });
}

// Whether no impulses prove that the marked part cannot open its contacts with other bodies while these stand still.
// All contacts with a body that the part is stuck in hold it there, and are no loads.
template <typename Real, typename Team>
AXION_HD_RARE bool part_may_open(const Team& team, const Problem<Real>& p) {
  const DeepContacts<Real> deep = deep_contacts<Real>(p.m, p.s, p.w);
  const int* const part = p.w.newton.group;
  const model::Contact<Real>* const contacts = p.w.contacts;
  const auto has = [part](int b) { return b >= 0 && part[b] != 0; };
  const auto leads_out = [&](int i) { return has(contacts[i].body_a) != has(contacts[i].body_b); };
  const auto holds = [&](int i) { return leads_out(i) && pushes_and_stays(deep, i, true); };
  const auto other = [&](int i) { return has(contacts[i].body_a) ? contacts[i].body_b : contacts[i].body_a; };
  const auto is_with_such = [&](int i) {
    if (!leads_out(i) || other(i) < 0) return false;
    for (int k = 0; k < p.contact_count; ++k) {
      if (holds(k) && other(k) == other(i)) return true;
    }
    return false;
  };
  const Real push = team.template sum<Real>(
      p.contact_count, [&](int i) { return holds(i) ? p.w.lambda[p.contact_base() + 3 * i] : Real(0); });
  return !(push > Real(GivingParameters::kLever) *
                      (greatest_load(team, p, has) + greatest_contact_load(team, p, has, is_with_such)));
}

// Calls f(body) for bodies whose contacts give way and get deeper although a part of their tree, what is beyond one of
// its joints, may open them. Returns whether there are any.
template <typename Real, typename Team, typename F>
AXION_HD_RARE bool find_sinking(const Team& team, const Problem<Real>& p, F&& f) {
  const DeepContacts<Real> deep = deep_contacts<Real>(p.m, p.s, p.w);
  const model::Contact<Real>* const contacts = p.w.contacts;
  bool found = false;
  for (int i = 0; i < p.contact_count; ++i) {
    const int bodies[2] = {contacts[i].body_a, contacts[i].body_b};
    bool is_seen = !sinks(deep, i);
    for (int k = 0; k < i && !is_seen; ++k) {
      is_seen = contacts[k].body_a == bodies[0] && contacts[k].body_b == bodies[1] && sinks(deep, k);
    }
    for (int side = 0; side < 2 && !is_seen; ++side) {
      const int other = bodies[1 - side];
      for (int first = bodies[side]; first >= 0; first = p.m.bodies[first].parent) {
        mark_part<Real>(team, p.m, first, p.w.newton.group);
        if (other >= 0 && p.w.newton.group[other] != 0) break;
        if (!part_may_open(team, p)) continue;
        f(bodies[side]);
        found = true;
        break;
      }
    }
  }
  return found;
}

// Whether there are groups whose contacts give way with a proof that nothing opens the contacts that stay, and
// groups whose contacts do so without one, or parts that sink in without one.
struct GivingGroups {
  bool with_proof = false, without = false;
};

// Finds them. Contacts of groups and parts without a proof are to stay rigid.
template <typename Real, typename Team>
AXION_HD_RARE GivingGroups judge_groups(const Team& team, Problem<Real>& p) {
  GivingGroups found;
  find_groups(team, p);
  if (!p.s.some_stay_rigid) team.for_each(p.m.body_count, [&](int b) { constraints::keep_rigid(p.w, b, false); });
  for_each_group(p, [&](const auto& has) {
    const Real giving = team.template max<Real>(p.contact_count, [&](int i) {
      const bool gives = p.w.contact_rebound[i] == Real(constraints::kGivingWay);
      return gives && has(p.w.contacts[i].body_a) ? Real(1) : Real(0);
    });
    if (!(giving > Real(0))) return;
    const bool is_proved = nothing_opens(team, p, has);
    found.with_proof |= is_proved, found.without |= !is_proved;
    if (is_proved) return;
    team.for_each(p.m.body_count, [&](int b) {
      if (has(b)) constraints::keep_rigid(p.w, b, true);
    });
  });
  found.without |= found.with_proof && find_sinking(team, p, [&](int body) {
                     team.for_each(1, [&](int) { constraints::keep_rigid(p.w, body, true); });
                   });
  return found;
}

// Whether contacts give way because they did so in the last step.
template <typename Real, typename Team>
AXION_HD_RARE bool give_as_last(const Team& team, const model::StepSettings<Real>& s, const Real* rebound, int count) {
  if (s.contacts_give) return false;
  return team.template max<Real>(
             count, [&](int i) { return rebound[i] == Real(constraints::kGivingWay) ? Real(1) : Real(0); }) > Real(0);
}

// Whether a step with an iterate of this ratio is to be solved again with contacts that give way.
template <typename Real, typename Team>
AXION_HD_RARE bool should_give_way(const Team& team, const Problem<Real>& p, Real ratio) {
  if (give_as_last<Real>(team, p.s, p.w.contact_rebound, p.contact_count) &&
      (!(ratio <= Real(1)) || find_sinking(team, p, [](int) {})))
    return true;
  const DeepContacts<Real> deep = deep_contacts<Real>(p.m, p.s, p.w);
  return team.template max<Real>(p.contact_count, [&](int i) {
    if (!(p.w.contact_rebound[i] >= Real(0)) || !constraints::may_give_way<Real>(p.m, p.s, p.w.contacts[i])) {
      return Real(0);
    }
    return !(ratio <= Real(1)) || pushes_and_stays(deep, i, false) ? Real(1) : Real(0);
  }) > Real(0);
}

// Which contacts give way, by `p.s.contacts_give`.
template <typename Real, typename Team>
AXION_HD_RARE void mark_giving(const Team& team, Problem<Real>& p) {
  constraints::find_rebounds<Real>(team, p.m, p.w, p.s, p.contact_count);
  if (p.moment_count > 0) p.moment_count = constraints::build_moment_rows<Real>(team, p.m, p.w, p.contact_count);
}

// Whether a contact that may give way is pressed together by others: it stays, though it pushes with far more than what
// all loads give.
template <typename Real, typename Team>
AXION_HD_RARE bool are_pressed(const Team& team, const Problem<Real>& p) {
  const DeepContacts<Real> deep = deep_contacts<Real>(p.m, p.s, p.w);
  const Real most = team.template max<Real>(p.contact_count, [&](int i) {
    return pushes_and_stays(deep, i, false) ? p.w.lambda[p.contact_base() + 3 * i] : Real(0);
  });
  return most > Real(GivingParameters::kPressed) * greatest_load(team, p);
}

}  // namespace axion::solver
