// How much of the change that leads from u to v_plus, omega_plus contacts allow: all of it but where they would part,
// slip or turn a slip round.
//
// In: touches, and the change. Out: body_share; whether a body is thrown. Cost: linear in contacts and bodies. For
// synchronise.hpp.
#pragma once

#include "engine/constraints/eased_locks.hpp"
#include "engine/math/constants.hpp"
#include "engine/newton/parameters.hpp"
#include "engine/velocity_sync/owed_forces.hpp"

namespace axion::velocity_sync {

// The share of the change that leads from u to v_plus, omega_plus that a contact allows; `held`: the change keeps
// contacts' rows.
template <typename Real>
AXION_HD_CALL Real allowed_share(const solver::Problem<Real>& p, int i, bool held) {
  const auto& w = p.w;
  const Touch touch = noted_touch(p, i);
  if (touch == Touch::kNone || (held && touch == Touch::kSticks)) return 1;
  Real before[3], after[3];
  for (int k = held ? 1 : 0; k < 3; ++k) {
    before[k] = constraints::contact_velocity(p.m, w, i, k, w.v, w.omega);
    after[k] = constraints::contact_velocity(p.m, w, i, k, w.v_plus, w.omega_plus);
  }
  Real share = 1;
  const auto keep_within = [&](Real change) {
    const Real most = Real(kLeft * math::kGravity) * p.s.dt,
               least = change > most ? (most / change) * (most / change) : Real(1);
    if (least < share) share = least;
  };
  if (!held) keep_within(after[0] - before[0]);
  if (touch != Touch::kSticks) {
    const Real speed = before[1] * before[1] + before[2] * before[2];
    const Real ahead = before[1] * after[1] + before[2] * after[2];
    const Real turned = ahead < 0 ? speed / (speed - ahead) : Real(1);
    if (turned < share) share = turned;
  } else if (!held) {
    const Real s1 = after[1] - before[1], s2 = after[2] - before[2];
    keep_within(std::sqrt(s1 * s1 + s2 * s2));
  }
  return share;
}

// The share that moment k allows, whose friction turns no spin and no rolling round.
template <typename Real>
AXION_HD_RARE Real share_of_moment(const solver::Problem<Real>& p, int k) {
  const auto& w = p.w;
  Real share = 1, square[3], ahead[3];
  for (int i = 0; i < 3; ++i) {
    const Real before = constraints::moment_velocity(p.m, w, k, p.contact_count + k, i, w.v, w.omega);
    square[i] = before * before;
    ahead[i] = before * constraints::moment_velocity(p.m, w, k, p.contact_count + k, i, w.v_plus, w.omega_plus);
  }
  const auto lower = [&](int part, Real speed, Real on) {
    const bool slides = w.velocity_sync.touch[2 * (p.contact_count + k) + part] == Touch::kSlides;
    if (slides && on < Real(0) && speed / (speed - on) < share) share = speed / (speed - on);
  };
  lower(0, square[0], ahead[0]);
  lower(1, square[1] + square[2], ahead[1] + ahead[2]);
  return share;
}

// body_share: the share of its change that body b may take, by what its tree's contacts allow. Returns whether any is
// cut short.
template <typename Real, typename Team>
AXION_HD_CALL bool bound_changes(const Team& team, const solver::Problem<Real>& p, bool held) {
  const auto& w = p.w;
  Real cut = team.template max<Real>(p.contact_count, [&](int i) {
    w.velocity_sync.contact_share[i] = allowed_share(p, i, held);
    return 1 - w.velocity_sync.contact_share[i];
  });
  if (p.moment_count > 0) {
    const Real turned = team.template max<Real>(p.moment_count, [&](int k) {
      const Real share = share_of_moment(p, k);
      Real& of_contact = w.velocity_sync.contact_share[w.moments[k].contact];
      if (share < of_contact) of_contact = share;
      return 1 - share;
    });
    cut = solver::greater(cut, turned);
  }
  if (cut == Real(0)) return false;
  team.for_each(1, [&](int) {
    for (int b = 0; b < p.m.body_count; ++b) w.velocity_sync.body_share[b] = 1;
    const auto lower = [&](int b, Real share) {
      if (b >= 0 && share < w.velocity_sync.body_share[b]) w.velocity_sync.body_share[b] = share;
    };
    for (int i = 0; i < p.contact_count; ++i) {
      lower(w.contacts[i].body_a, w.velocity_sync.contact_share[i]),
          lower(w.contacts[i].body_b, w.velocity_sync.contact_share[i]);
    }
    for (int b = p.m.body_count - 1; b >= 0; --b)
      lower(p.m.bodies[b].parent, w.velocity_sync.body_share[b]);  // parents come first
    for (int b = 0; b < p.m.body_count; ++b) {
      if (p.m.bodies[b].parent >= 0) w.velocity_sync.body_share[b] = w.velocity_sync.body_share[p.m.bodies[b].parent];
    }
  });
  return true;
}

// Whether v_plus has a body that contacts in overlap, or eased locks, throw: what presses on what no step resolves has
// any impulse, and nothing follows from half of it.
template <typename Real, typename Team>
AXION_HD_RARE bool is_thrown(const Team& team, const solver::Problem<Real>& p) {
  const Real fast = constraints::fastest_pull(p.s), least = Real(solver::CalmingParameters::kLeastGain) * p.s.dt;
  return team.template max<Real>(p.m.body_count, [&](int b) {
    const Real most = solver::greater(fast, math::norm(p.w.v[b])) + least;
    return math::norm(p.w.v_plus[b]) > most ? Real(1) : Real(0);
  }) > Real(0);
}

}  // namespace axion::velocity_sync
