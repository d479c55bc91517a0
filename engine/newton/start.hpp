// The start of an attempt at a step: the last velocities, and the impulses that the last step ended with.
//
//   λ⁰ := impulses of the last step, those of contacts matched by pair and feature; zero for new contacts
//   u⁰ := u⁻, or u⁻/2 where u⁻ leaves a contact deeper than a tenth of its margin, as before an impact
//
// In: the state, the warm start, contacts with their rows. Out: v_plus, omega_plus, lambda. Cost: linear in bodies and
// rows; contacts are matched by bisection.
#pragma once

#include "engine/constraints/constraint_rows.hpp"
#include "engine/model/contact_gap.hpp"
#include "engine/model/find_contact.hpp"
#include "engine/newton/newton_scratch.hpp"
#include "engine/newton/parameters.hpp"
#include "engine/problem/iterate.hpp"

namespace axion::solver {

template <typename Real>
AXION_HD inline Iterate<Real> best_iterate(const model::WorldView<Real>& w) {
  return {w.newton.best_v, w.newton.best_omega, w.newton.best_lambda};
}
template <typename Real>
AXION_HD inline Iterate<Real> kept_iterate(const model::WorldView<Real>& w) {
  return {w.newton.kept_v, w.newton.kept_omega, w.newton.kept_lambda};
}

// Impulses of contacts as a step left them, to start from.
template <typename Real>
struct KeptImpulses {
  ConstArray<model::ContactWarmStart<Real>> contacts;  // [count] sorted by pair and feature
  ConstArray<math::Vec3<Real>> moments;                // [count] their torsional and rolling friction, N m s
  int count;
};

// Torsional and rolling friction of those among `kept` that are the same contacts, else zero.
template <typename Real, typename Team>
AXION_HD_RARE void match_moments(const Team& team, const RowLayout& rows, ConstArray<model::Contact<Real>> contacts,
                                 const KeptImpulses<Real>& kept, OutArray<Real> impulses) {
  team.for_each(rows.moment_count, [&](int k) {
    const model::Contact<Real>& c = contacts[rows.contact_count + k];
    Real* lambda = impulses + rows.moment_base() + 3 * k;
    const int last = model::find_contact(kept.contacts, kept.count, c.pair, c.feature);
    const math::Vec3<Real> moment = last < 0 ? math::Vec3<Real>{} : kept.moments[last];
    lambda[0] = math::dot(moment, c.normal), lambda[1] = math::dot(moment, c.t1), lambda[2] = math::dot(moment, c.t2);
  });
}

// Contact impulses of those among `kept` that are the same contacts, else zero.
template <typename Real, typename Team>
AXION_HD inline void match_impulses(const Team& team, const RowLayout& rows, ConstArray<model::Contact<Real>> contacts,
                                    const KeptImpulses<Real>& kept, OutArray<Real> impulses) {
  team.for_each(rows.contact_count, [&](int i) {
    const model::Contact<Real>& c = contacts[i];
    Real* lambda = impulses + rows.contact_base() + 3 * i;
    lambda[0] = lambda[1] = lambda[2] = 0;
    const int last = model::find_contact(kept.contacts, kept.count, c.pair, c.feature);
    if (last < 0) return;
    lambda[0] = kept.contacts[last].normal;
    lambda[1] = math::dot(kept.contacts[last].friction, c.t1);
    lambda[2] = math::dot(kept.contacts[last].friction, c.t2);
  });
  if (rows.moment_count > 0) match_moments(team, rows, contacts, kept, impulses);
}

// Matched impulses of the last step, those of joints in `joints`; zero where there is no warm start.
template <typename Real, typename Team>
AXION_HD inline void warm_start(const Team& team, bool starts_warm, const RowLayout& rows,
                                ConstArray<model::Contact<Real>> contacts, ConstArray<Real> joints,
                                const KeptImpulses<Real>& kept, OutArray<Real> impulses) {
  team.for_each(rows.contact_base(), [&](int i) { impulses[i] = starts_warm ? joints[i] : Real(0); });
  match_impulses(team, rows, contacts, kept, impulses);
}

// u⁰ = u⁻: with the matched impulses it satisfies the contacts' laws nearly as it did at the end of the last step,
// while ũ breaks them all, even where its largest residual is lower. Where it would run bodies into each other they are
// going to be stopped, in part: half of it then is nearer to what becomes of them, so that Newton linearises at less of
// a turn.
template <typename Real, typename Team>
AXION_HD inline void start_at_last(const Team& team, const Problem<Real>& p) {
  const auto& w = p.w;
  const bool warm = p.s.warm_start;
  warm_start<Real>(team, warm, p.rows(), w.contacts, w.lambda_joint,
                   {w.warm, w.contact_moment, warm ? w.warm_count[0] : 0}, w.lambda);
  copy_iterate(team, iterate_size(p), present_iterate<Real>(p.w), Iterate<Real>{p.w.v, p.w.omega, p.w.lambda});
  const Real depth = team.template max<Real>(
      p.contact_count, [&](int i) { return -model::gap_after(w.contacts[i], w.v, w.omega, p.s.dt); });
  if (!(depth > Real(AttemptParameters::kImpactDepth) * p.s.contact_margin)) return;
  constexpr Real share = Real(AttemptParameters::kImpactShare);
  team.for_each(p.m.body_count, [&](int b) { w.v_plus[b] = share * w.v[b], w.omega_plus[b] = share * w.omega[b]; });
}

// A contact with its impulse along n, t1 and t2.
template <typename Real>
AXION_HD inline model::ContactWarmStart<Real> kept_contact(const model::Contact<Real>& c, ConstArray<Real> lambda,
                                                           Real approach) {
  return {c.pair, c.feature, lambda[0], approach, lambda[1] * c.t1 + lambda[2] * c.t2};
}

// To `to`, of each contact, its torsional and rolling friction; zero where its pair has none.
template <typename Real, typename Team>
AXION_HD_RARE void keep_moments(const Team& team, const RowLayout& rows, ConstArray<model::Contact<Real>> contacts,
                                ConstArray<constraints::ContactMoment<Real>> moments, ConstArray<Real> impulses,
                                OutArray<math::Vec3<Real>> to) {
  team.for_each(rows.contact_count, [&](int i) { to[i] = {}; });
  team.for_each(rows.moment_count, [&](int k) {
    const model::Contact<Real>& c = contacts[rows.contact_count + k];
    const Real* lambda = impulses + rows.moment_base() + 3 * k;
    to[moments[k].contact] = lambda[0] * c.normal + lambda[1] * c.t1 + lambda[2] * c.t2;
  });
}

// The contacts of this solve with their impulses, for the next solve of the same step.
template <typename Real, typename Team>
AXION_HD inline void keep_contacts(const Team& team, const Problem<Real>& p) {
  team.for_each(p.contact_count, [&](int i) {
    p.w.newton.solved[i] = kept_contact(p.w.contacts[i], p.w.lambda + p.contact_base() + 3 * i, Real(0));
  });
  if (p.m.moment_capacity > 0)
    keep_moments<Real>(team, p.rows(), p.w.contacts, p.w.moments, p.w.lambda, p.w.newton.solved_moment);
}

}  // namespace axion::solver
