// Overlap that no motion of the joints opens: it gives way (constraints/giving_contacts.hpp).
//
// Where a step with deep contacts fails, or leaves some as deep as they were though they push, it is solved again with
// contacts that give way: the stuck ones (constraints/stuck_contacts.hpp), and where that fails too all of them.
// The step counts as it then is where it is solved, else it is left as it was.
//
// Contacts that gave way do so in the next step from the start while they are stuck. Where such a step fails it is
// solved once more from no impulses of contacts.
//
// In: an evaluated iterate. Out: an iterate, contact_rebound. Cost: nothing where no rigid contact of joined bodies is
// deep; one attempt in the first step, and two where the first fails.
#pragma once

#include "engine/constraints/contact_rebounds.hpp"
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
  ConstArray<model::Contact<Real>> contacts;
  ConstArray<int> is_stuck;            // of contacts that are to give way
  ConstArray<Real> rebound, impulses;  // [contact_count], three a contact
  BodyVelocities<Real> u;
  int count;
};

template <typename Real>
AXION_HD inline DeepContacts<Real> deep_contacts(const Problem<Real>& p) {
  return {p.m,
          p.s,
          p.w.contacts,
          p.w.is_stuck,
          p.w.contact_rebound,
          p.w.lambda + p.contact_base(),
          iterate_velocities<Real>(p.w),
          p.contact_count};
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
  return after > Real(constraints::OverlapParameters::kDeep) * s.contact_margin &&
         -c.gap - after < s.dt * staying_speed(s, after);
}

// What bodies resist with.
template <typename Real>
struct BodyInertias {
  const model::BodyData<Real>* bodies;
  ConstArray<Real> mass_scale;             // [nb]
  ConstArray<math::Mat3<Real>> I_inverse;  // [nb]

  AXION_HD Real mass(int b) const { return bodies[b].mass * mass_scale[b]; }
};

// How fast along a row a motion may be at most in which body b moves at unit speed: its energy is that of m/2.
template <typename Real>
AXION_HD inline Real greatest_along(const BodyInertias<Real>& bodies, int b, const math::Vec3<Real>& l,
                                    const math::Vec3<Real>& k) {
  if (b < 0) return 0;
  return std::sqrt(math::dot(l, l) + bodies.mass(b) * math::dot(k, bodies.I_inverse[b] * k));
}

template <typename Real>
AXION_HD inline Real greatest_work(const BodyInertias<Real>& bodies, const model::Row<Real>& row, int a, int b,
                                   Real impulse) {
  return std::abs(impulse) * (greatest_along(bodies, a, row.l, row.k_a) + greatest_along(bodies, b, row.l, row.k_b));
}

// That of all that acts along an axis, or of an equality that gives way.
template <typename Real>
AXION_HD_RARE Real greatest_work_of_tendon(const model::ModelView<Real>& m, const BodyInertias<Real>& bodies,
                                           ConstArray<model::Row<Real>> tendon_force,
                                           const model::TendonData<Real>& tendon, Real impulse) {
  Real sum = 0;
  constraints::for_each_term(tendon, [&](int k) {
    const model::TendonTermData<Real>& term = m.tendon_terms[k];
    sum += greatest_work<Real>(bodies, tendon_force[k], term.a, term.b, impulse);
  });
  return sum;
}

// What loads give in a step at most, N s, along a motion in which no body is faster than 1 m/s: inertia, drives and
// springs, locks that give way.
template <typename Real, typename Team>
AXION_HD_RARE Real greatest_load(const Team& team, const Problem<Real>& p) {
  const auto& w = p.w;
  const BodyInertias<Real> inertias{p.m.bodies, w.mass_scale, w.I_inverse};
  const Real bodies = team.template sum<Real>(p.m.body_count, [&](int b) {
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
      return greatest_work_of_tendon<Real>(p.m, inertias, w.tendon_force, constraints::tendon_of_axis<Real>(p.m, i),
                                           impulse);
    const model::JointData<Real>& joint = p.m.joints[p.m.axes[i].joint];
    return greatest_work<Real>(inertias, w.row[p.axis_base() + i], joint.child, joint.parent, impulse);
  });
  const Real locks = team.template sum<Real>(closing_lock_count<Real>(p.m), [&](int k) {
    Real sum = 0;
    if (k >= p.m.loop_count) {
      const model::TendonData<Real>& equality = p.m.tendons[p.m.tendon_axis_count + k - p.m.loop_count];
      return constraints::gives_way<Real>(p.m, p.w, equality)
                 ? greatest_work_of_tendon<Real>(p.m, inertias, w.tendon_force, equality, w.lambda[equality.lock])
                 : sum;
    }
    const model::JointData<Real>& joint = p.m.joints[p.m.joint_count - p.m.loop_count + k];
    if (!constraints::gives_way<Real>(p.m, p.w, joint)) return sum;
    const int end = joint.lock_start + joint.translation_lock_count + joint.rotation_lock_count;
    for (int row = joint.lock_start; row < end; ++row) {
      sum += greatest_work<Real>(inertias, w.row_force[row], joint.child, joint.parent, w.lambda[row]);
    }
    return sum;
  });
  return bodies + axes + locks;
}

// Whether any contact gives way.
template <typename Real, typename Team>
AXION_HD_RARE bool any_gives(const Team& team, const DeepContacts<Real>& deep) {
  return team.template max<Real>(deep.count, [&](int i) {
    return deep.rebound[i] == Real(constraints::kGivingWay) ? Real(1) : Real(0);
  }) > Real(0);
}

// Whether any contact that gives way gets deeper though a motion opens it.
template <typename Real, typename Team>
AXION_HD_RARE bool any_sinks(const Team& team, const DeepContacts<Real>& deep) {
  return team.template max<Real>(deep.count, [&](int i) {
    if (!pushes_and_stays(deep, i, true) || deep.is_stuck[i] != 0) return Real(0);
    const model::Contact<Real>& c = deep.contacts[i];
    const Real after = -model::gap_after(c, deep.u.linear, deep.u.angular, deep.s.dt);
    return after > Real(GivingParameters::kSinking) * deep.s.contact_margin - c.gap ? Real(1) : Real(0);
  }) > Real(0);
}

// Whether contacts give way because they did so in the last step.
template <typename Real, typename Team>
AXION_HD_RARE bool give_as_last(const Team& team, const DeepContacts<Real>& deep) {
  return deep.s.giving == model::Giving::kAsLast && any_gives(team, deep);
}

// Whether any rigid contact that may give way stays deep though it pushes.
template <typename Real, typename Team>
AXION_HD_RARE bool any_stays(const Team& team, const DeepContacts<Real>& deep) {
  return team.template max<Real>(deep.count,
                                 [&](int i) { return pushes_and_stays(deep, i, false) ? Real(1) : Real(0); }) > Real(0);
}

// Whether a step with an iterate of this ratio is to be solved again with contacts that give way.
template <typename Real, typename Team>
AXION_HD_RARE bool should_give_way(const Team& team, const DeepContacts<Real>& deep, Real ratio) {
  const bool failed = !(ratio <= Real(1));
  if (failed && give_as_last(team, deep)) return true;
  if (!failed) return any_stays(team, deep);
  return team.template max<Real>(deep.count, [&](int i) {
    const bool is_rigid = deep.rebound[i] >= Real(0);
    return is_rigid && constraints::may_give_way<Real>(deep.m, deep.s, deep.contacts[i]) ? Real(1) : Real(0);
  }) > Real(0);
}

// Which contacts give way, by `p.s.giving`.
template <typename Real, typename Team>
AXION_HD_RARE void mark_giving(const Team& team, Problem<Real>& p) {
  constraints::find_rebounds<Real>(team, p.m, p.w, p.s, p.contact_count);
  if (p.moment_count > 0) p.moment_count = constraints::build_moment_rows<Real>(team, p.m, p.w, p.contact_count);
}

}  // namespace axion::solver
