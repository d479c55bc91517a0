// Contacts that slide and jam over the half step that is owed: which they are, by the energy of what follows.
//
// In: the change that leads to v_plus, omega_plus, and touches (owed_forces.hpp). Out: touches of what jams. Nothing of
// the state is written; body_share is scratch. Cost: linear in bodies where something slides. For synchronise.hpp.
#pragma once

#include "engine/velocity_sync/owed_forces.hpp"

namespace axion::velocity_sync {

template <typename Real>
AXION_HD inline Real kinetic_energy(const solver::Problem<Real>& p, int b, const math::Vec3<Real>& v,
                                    const math::Vec3<Real>& omega) {
  const math::Vec3<Real> turning = math::rotate_inverse(p.w.q[b], omega);
  const math::Vec3<Real> inertia = constraints::body_inertia(p.m, p.w, b);
  return (constraints::body_mass(p.m, p.w, b) * math::dot(v, v) + math::dot(turning, math::scale(inertia, turning))) /
         2;
}

// Lets contacts of a tree glide that slide, where v_plus has more energy than u and the loads over the time that is
// owed can give together, |a + b|² ≤ 2|a|² + 2|b|², as what contacts hold only takes of it: friction that goes with the
// normal impulse makes the system unsymmetric, and where a contact jams, as of a slender body on its end (Painlevé), it
// has no solution, or one of any size. Returns whether any does. Surfaces that move give energy, too, as much as the
// last impulses of contacts can: |a + b + c|² ≤ 3|a|² + 3|b|² + 3|c|².
template <typename Real, typename Team>
AXION_HD_CALL bool loosen_jammed(const Team& team, const solver::Problem<Real>& p) {
  const auto& w = p.w;
  const auto slides = [&](int i) { return noted_touch(p, i) == Touch::kSlides; };
  if (!(team.template max<Real>(p.contact_count, [&](int i) { return slides(i) ? Real(1) : Real(0); }) > 0))
    return false;
  const bool driven = p.m.surface_motions != nullptr;
  Real* excess = w.velocity_sync.body_share;  // J, of a tree
  team.for_each(p.m.body_count, [&](int b) {
    const Real h = w.body_force_debt[b] * p.s.dt;
    const math::Vec3<Real> push = p.m.gravity + (Real(1) / constraints::body_mass(p.m, w, b)) * w.force_before[b];
    Real given = kinetic_energy(p, b, w.v[b], w.omega[b]) +
                 kinetic_energy(p, b, h * push, h * (w.I_inverse[b] * w.torque_before[b]));
    if (driven) {
      solver::Impulse<Real> owed{};
      add_owed_contacts(p, b, owed);
      const Real inverse_mass = Real(1) / constraints::body_mass(p.m, w, b);
      given += kinetic_energy(p, b, inverse_mass * owed.linear, w.I_inverse[b] * owed.angular);
    }
    excess[b] = kinetic_energy(p, b, w.v_plus[b], w.omega_plus[b]) - (driven ? 3 : 2) * given;
  });
  team.for_each(1, [&](int) {
    for (int b = p.m.body_count - 1; b >= 0; --b) {  // parents come first
      if (p.m.bodies[b].parent >= 0) excess[p.m.bodies[b].parent] += excess[b];
    }
    for (int b = 0; b < p.m.body_count; ++b) {
      if (p.m.bodies[b].parent >= 0) excess[b] = excess[p.m.bodies[b].parent];
    }
  });
  const auto jams = [&](int i) {
    const auto has = [&](int b) { return b >= 0 && !(excess[b] <= Real(0)); };
    return slides(i) && (has(w.contacts[i].body_a) || has(w.contacts[i].body_b));
  };
  if (!(team.template max<Real>(p.contact_count, [&](int i) { return jams(i) ? Real(1) : Real(0); }) > 0)) return false;
  team.for_each(p.contact_count, [&](int i) {
    if (jams(i)) w.velocity_sync.touch[2 * i] = Touch::kGlides;
  });
  return true;
}

}  // namespace axion::velocity_sync
