// The start of an attempt at a step: the last velocities, and the impulses that the last step ended with.
//
//   λ⁰ := impulses of the last step, those of contacts matched by pair and feature; zero for new contacts
//   u⁰ := u⁻, or u⁻/2 where u⁻ leaves a contact deeper than a tenth of its margin, as before an impact
//
// In: the state, the warm start, contacts with their rows. Out: v_plus, omega_plus, lambda. Cost: linear in bodies and
// rows; contacts are matched by bisection.
#pragma once

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

// The same of torsional and rolling friction.
template <typename Real, typename Team>
AXION_HD_RARE void match_moments(const Team& team, const Problem<Real>& p, const model::ContactWarmStart<Real>* kept,
                                 const math::Vec3<Real>* kept_moment, int count) {
  team.for_each(p.moment_count, [&](int k) {
    const model::Contact<Real>& c = p.w.contacts[p.contact_count + k];
    Real* lambda = p.w.lambda + p.moment_base() + 3 * k;
    const int last = model::find_contact(kept, count, c.pair, c.feature);
    const math::Vec3<Real> moment = last < 0 ? math::Vec3<Real>{} : kept_moment[last];
    lambda[0] = math::dot(moment, c.normal), lambda[1] = math::dot(moment, c.t1), lambda[2] = math::dot(moment, c.t2);
  });
}

// Contact impulses of those among `kept` that are the same contacts, else zero.
template <typename Real, typename Team>
AXION_HD inline void match_impulses(const Team& team, const Problem<Real>& p, const model::ContactWarmStart<Real>* kept,
                                    const math::Vec3<Real>* kept_moment, int count) {
  team.for_each(p.contact_count, [&](int i) {
    const model::Contact<Real>& c = p.w.contacts[i];
    Real* lambda = p.w.lambda + p.contact_base() + 3 * i;
    lambda[0] = lambda[1] = lambda[2] = 0;
    const int last = model::find_contact(kept, count, c.pair, c.feature);
    if (last < 0) return;
    lambda[0] = kept[last].normal;
    lambda[1] = math::dot(kept[last].friction, c.t1);
    lambda[2] = math::dot(kept[last].friction, c.t2);
  });
  if (p.moment_count > 0) match_moments(team, p, kept, kept_moment, count);
}

// Matched impulses of the last step, or zero.
template <typename Real, typename Team>
AXION_HD inline void warm_start(const Team& team, const Problem<Real>& p) {
  const auto& w = p.w;
  team.for_each(p.contact_base(), [&](int i) { w.lambda[i] = p.s.warm_start ? w.lambda_joint[i] : Real(0); });
  match_impulses(team, p, w.warm, w.contact_moment, p.s.warm_start ? w.warm_count[0] : 0);
}

// u⁰ = u⁻: with the matched impulses it satisfies the contacts' laws nearly as it did at the end of the last step,
// while ũ breaks them all, even where its largest residual is lower. Where it would run bodies into each other they are
// going to be stopped, in part: half of it then is nearer to what becomes of them, so that Newton linearises at less of
// a turn.
template <typename Real, typename Team>
AXION_HD inline void start_at_last(const Team& team, const Problem<Real>& p) {
  const auto& w = p.w;
  warm_start(team, p);
  copy_iterate(team, iterate_size(p), present_iterate<Real>(p.w), Iterate<Real>{p.w.v, p.w.omega, p.w.lambda});
  const Real depth = team.template max<Real>(
      p.contact_count, [&](int i) { return -model::gap_after(w.contacts[i], w.v, w.omega, p.s.dt); });
  if (!(depth > Real(AttemptParameters::kImpactDepth) * p.s.contact_margin)) return;
  constexpr Real share = Real(AttemptParameters::kImpactShare);
  team.for_each(p.m.body_count, [&](int b) { w.v_plus[b] = share * w.v[b], w.omega_plus[b] = share * w.omega[b]; });
}

// Contact i with its impulse.
template <typename Real>
AXION_HD inline model::ContactWarmStart<Real> kept_contact(const Problem<Real>& p, int i, Real approach) {
  const model::Contact<Real>& c = p.w.contacts[i];
  const Real* lambda = p.w.lambda + p.contact_base() + 3 * i;
  return {c.pair, c.feature, lambda[0], approach, lambda[1] * c.t1 + lambda[2] * c.t2};
}

// To `to`, of each contact, its torsional and rolling friction; zero where its pair has none.
template <typename Real, typename Team>
AXION_HD_RARE void keep_moments(const Team& team, const Problem<Real>& p, math::Vec3<Real>* to) {
  team.for_each(p.contact_count, [&](int i) { to[i] = {}; });
  team.for_each(p.moment_count, [&](int k) {
    const model::Contact<Real>& c = p.w.contacts[p.contact_count + k];
    const Real* lambda = p.w.lambda + p.moment_base() + 3 * k;
    to[p.w.moments[k].contact] = lambda[0] * c.normal + lambda[1] * c.t1 + lambda[2] * c.t2;
  });
}

// The contacts of this solve with their impulses, for the next solve of the same step.
template <typename Real, typename Team>
AXION_HD inline void keep_contacts(const Team& team, const Problem<Real>& p) {
  team.for_each(p.contact_count, [&](int i) { p.w.newton.solved[i] = kept_contact(p, i, Real(0)); });
  if (p.m.moment_capacity > 0) keep_moments(team, p, p.w.newton.solved_moment);
}

}  // namespace axion::solver
