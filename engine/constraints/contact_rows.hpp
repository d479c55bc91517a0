// Contact rows: Jacobians, arms and normals frozen at q⁻; the gap is linear in u.
//
//   normal     a = J_n u + max(Σ̂ λ_n − v_n, −v_out),   b = r_n λ_n,   0 ≤ a ⟂ b ≥ 0
//   tangents   J_t u against friction.hpp
//   v_n   = max(−f g₀/h, e v_impact)     the parting speed that the gap asks for
//   v_out = max(v_dep, e v_impact)       the greatest parting speed
//   Σ̂     = min(Σ/h², 1e-2 r_n), zero for rebounds, and 1/(h(hk + b)) more with a spring
//   r_n   = J_n M̃⁻¹ J_nᵀ;  r_t the greatest eigenvalue of the tangents' block
//
// f = 1 while the bodies are apart; of an overlap the share f = 1 at position level, Baumgarte's Υ at velocity level,
// ERP = hk/(hk + b) where the contact has a spring. v_out bounds the speed at which bodies part, not the force that the
// contact carries: a body at rest sags until Σ̂ λ_n is v_n, whatever it weighs, and an overlap beyond the one that λ_n
// explains is pushed out at v_out. Restitution acts when the bodies have met: a contact found ahead lets them come
// together exactly, and the next step asks for e times the speed at which they came. Asking for it ahead would cost
// O(h) of the rebound's height. Rows are (normal, t1, t2) from contact_base on.
//
// In: contacts, the state, the last step's impulses. Out: row, row_scale, the contacts of each body.
// Cost: linear in contacts.
#pragma once

#include "engine/constraints/axis_rows.hpp"
#include "engine/constraints/constraint_rows.hpp"
#include "engine/constraints/giving_contacts.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/math/constants.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/step_settings.hpp"

namespace axion::constraints {

// The row of contact c along a direction.
template <typename Real>
AXION_HD inline model::Row<Real> contact_row(const model::Contact<Real>& c, const math::Vec3<Real>& direction) {
  return {direction, math::cross(c.r_a, direction), -math::cross(c.r_b, direction)};
}

// row_scale of the three rows of contact i, or of its moment.
template <typename Real>
AXION_HD inline void scale_contact_rows(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  const model::Contact<Real>& c = w.contacts[i];
  const int first = m.contact_base() + 3 * i;
  const model::Row<Real>* row = w.row + first;
  w.row_scale[first] = row_product(m, w, row[0], row[0], c.body_a, c.body_b);
  const Real p = row_product(m, w, row[1], row[1], c.body_a, c.body_b);
  const Real q = row_product(m, w, row[2], row[2], c.body_a, c.body_b);
  const Real o = row_product(m, w, row[1], row[2], c.body_a, c.body_b);
  const Real half = (p - q) / 2;
  const Real greatest = (p + q) / 2 + std::sqrt(half * half + o * o);
  w.row_scale[first + 1] = w.row_scale[first + 2] = greatest;
}

template <typename Real, typename Team>
AXION_HD inline void build_contact_rows(const Team& team, const model::ModelView<Real>& m,
                                        const model::WorldView<Real>& w, int contact_count) {
  const int base = m.contact_base();
  team.for_each(contact_count, [&](int i) {
    const model::Contact<Real>& c = w.contacts[i];
    const math::Vec3<Real> direction[3] = {c.normal, c.t1, c.t2};
    model::Row<Real>* row = w.row + base + 3 * i;
    for (int k = 0; k < 3; ++k) row[k] = contact_row(c, direction[k]);
    scale_contact_rows(m, w, i);
  });
}

// Which blocks touch each body, in their order (contact_start, contact_list).
template <typename Real, typename Team>
AXION_HD inline void list_contacts_of_bodies(const Team& team, const model::ModelView<Real>& m,
                                             const model::WorldView<Real>& w, int block_count) {
  team.for_each(1, [&](int) {
    for (int b = 0; b <= m.body_count; ++b) w.contact_start[b] = 0;
    for (int i = 0; i < block_count; ++i) {
      ++w.contact_start[w.contacts[i].body_a + 1];
      if (w.contacts[i].body_b >= 0) ++w.contact_start[w.contacts[i].body_b + 1];
    }
    for (int b = 0; b < m.body_count; ++b) w.contact_start[b + 1] += w.contact_start[b];
    for (int i = 0; i < block_count; ++i) {  // starts serve as cursors, and are moved back after
      w.contact_list[w.contact_start[w.contacts[i].body_a]++] = i;
      if (w.contacts[i].body_b >= 0) w.contact_list[w.contact_start[w.contacts[i].body_b]++] = i;
    }
    for (int b = m.body_count; b > 0; --b) w.contact_start[b] = w.contact_start[b - 1];
    w.contact_start[0] = 0;
  });
}

// A spring and damper as ERP and CFM: λ = −h k c⁺ − b (c⁺ − c⁻) is c⁺/h − (1 − ERP) c⁻/h + CFM λ = 0, its velocity
// level J u + ERP c⁻/h + CFM λ = 0. Rigid where k = 0: the share of the error that the level takes back, and no
// compliance.
template <typename Real>
struct Softness {
  Real erp, cfm;
};

template <typename Real>
AXION_HD inline Softness<Real> softness(const model::StepSettings<Real>& s, Real stiffness, Real damping) {
  const bool velocity_level = s.constraint_level == model::ConstraintLevel::kVelocity;
  if (!(stiffness > 0)) return {velocity_level ? s.baumgarte : Real(1), 0};
  const Real sum = s.dt * stiffness + damping;
  return {s.dt * stiffness / sum, Real(1) / (s.dt * sum)};
}

// The greater of both sides at impulse λ: what the gap asks for, or parting at `fastest`, whatever the impulse. Both
// grow with λ and with u, so the law is as monotone as its sides, and the side may be chosen anew at every iterate.
template <typename Real>
AXION_HD inline NormalLaw<Real> bounded_parting(const NormalLaw<Real>& asked, Real fastest, Real lambda) {
  if (asked.bias + asked.compliance * lambda >= -fastest) return asked;
  return {-fastest, 0};
}

// f g₀/h: what the gap asks of the normal velocity, f = `share` of an overlap. Serves limits too.
template <typename Real>
AXION_HD inline Real gap_velocity(const model::StepSettings<Real>& s, Real gap, Real share) {
  return (gap < 0 ? share * gap : gap) / s.dt;
}

// Σ̂ of a rigid contact, (m/s)/(N s).
template <typename Real>
AXION_HD inline Real rigid_compliance(const model::StepSettings<Real>& s, Real r_n) {
  const Real compliance = s.contact_compliance / (s.dt * s.dt),
             bound = Real(ContactParameters::kGreatestCompliance) * r_n;
  return compliance < bound ? compliance : bound;
}

// The law of contact i at normal impulse λ. A rebound is asked of a rigid contact: Σ̂ may take a hundredth of an
// impact's speed.
template <typename Real>
AXION_HD inline NormalLaw<Real> normal_law(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                           const model::StepSettings<Real>& s, int i, Real r_n, Real lambda) {
  if (m.is_soft) return w.contact_law[i].normal;
  const model::Contact<Real>& c = w.contacts[i];
  const model::PairData<Real> pair = model::pair_data(m, c.pair);
  const Softness<Real> soft = softness(s, pair.stiffness, pair.damping);
  const Real rebound = w.contact_rebound[i], v_dep = s.push_share * s.depenetration_velocity;
  if (rebound == Real(kBlocked)) return {Real(ContactParameters::kOutOfReach), Real(0)};
  NormalLaw<Real> law{gap_velocity(s, c.gap, soft.erp), soft.cfm};
  const Real rigid = rigid_compliance(s, r_n);
  if (rebound == Real(kGivingWay)) {
    const Real compliance = giving_compliance(s, r_n);
    return {s.push_share * w.giving_fraction[i] * law.bias, law.compliance + (compliance > rigid ? compliance : rigid)};
  }
  if (rebound > 0) {
    if (law.bias > -rebound) law.bias = -rebound;
  } else {
    law.compliance += rigid;
  }
  return bounded_parting(law, rebound > v_dep ? rebound : v_dep, lambda);
}

// The law of limit i: a rigid contact along its axis, but for the speed at which it is pushed out. A joint may start
// far beyond its limits, in its own units and not in metres, so that speed follows the overlap: all of it in the
// recovery time. No step turns a joint back further than Newton can follow.
template <typename Real>
AXION_HD inline NormalLaw<Real> limit_law(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                          const model::StepSettings<Real>& s, int i) {
  if (m.is_soft && m.limit_impedance[i].mobility > Real(0)) return w.limit_law[i];
  const Real gap = limit_gap(m, w, i), share = softness(s, Real(0), Real(0)).erp;
  const NormalLaw<Real> law{gap_velocity(s, gap, share), 0};
  if (!(gap < 0)) return law;
  const model::JointData<Real>& joint = m.joints[m.axes[m.limit_axis[i]].joint];
  const bool is_hinge = m.limit_axis[i] - joint.axis_start >= joint.slide_count;
  Real fastest = -gap / s.limit_recovery_time;
  const Real furthest = Real(AxisParameters::kGreatestRecovery) / s.dt;
  if (is_hinge && fastest > furthest) fastest = furthest;
  if (fastest < s.depenetration_velocity) fastest = s.depenetration_velocity;
  return bounded_parting(law, s.push_share * s.limit_share * fastest, Real(0));
}

// Its compliance, which a rigid limit has not.
template <typename Real>
AXION_HD inline Real limit_compliance(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                      const model::StepSettings<Real>& s, int i) {
  return m.is_soft ? limit_law(m, w, s, i).compliance : Real(0);
}

// What is added to the velocities of contact i along t1 and t2 at impulses λ_t: bias + compliance λ_t.
template <typename Real>
struct TangentLaw {
  Real bias[2], compliance;
};

template <typename Real>
AXION_HD inline TangentLaw<Real> tangent_law(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  if (!m.is_soft) return {};
  const SoftContact<Real>& law = w.contact_law[i];
  return {{law.tangent_bias[0], law.tangent_bias[1]}, law.tangent_compliance};
}

}  // namespace axion::constraints
