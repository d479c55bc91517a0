// What a step was solved to, put into a dual world: its contacts, which are found again from their pair and feature so
// that they change with the poses, and the iterate at which Newton ended.
//
// Of a leapfrog's bodies ω⁺ is that whose momentum the state keeps (constraints/rotation_map.hpp). In: the state after
// the step; the dual world at its start. Out: contacts; v_plus, omega_plus, lambda. Cost: linear in contacts and rows.
#pragma once

#include "engine/gradient/dual_world.hpp"

#include <cmath>

#include "engine/collide/find_contacts.hpp"
#include "engine/problem/problem.hpp"

namespace axion::gradient {

// m and 1: how far a contact may be from the one that was solved, which is made of the same numbers.
inline constexpr double kSameContact = 1e-9;

inline double distance(const math::Vec3<Dual>& a, const math::Vec3<double>& b) {
  return std::abs(a.x.value - b.x) + std::abs(a.y.value - b.y) + std::abs(a.z.value - b.z);
}

// False where the pair has no such contact at the poses of the start: it was found in the poses of a result.
inline bool find_again(const model::ModelView<Dual>& m, const model::WorldView<Dual>& w,
                       const model::StepSettings<Dual>& s, const model::Contact<double>& known,
                       model::Contact<Dual>& contact) {
  const model::PairData<Dual> pair = model::pair_data(m, known.pair);
  const model::ShapeData<Dual>&a = m.shapes[pair.shape_a], &b = m.shapes[pair.shape_b];
  collide::ContactPoint<Dual> points[collide::kMaxPairContacts];
  const Dual margin = (known.gap > 0 ? 2 * known.gap : 0.0) + s.contact_margin.value;
  const int found =
      collide::collide_pair(collide::shape_of(m, a), collide::start_pose(w, pair.shape_a), collide::shape_of(m, b),
                            collide::start_pose(w, pair.shape_b), margin, points);
  for (int i = 0; i < found; ++i) {
    if (points[i].feature != known.feature) continue;
    collide::make_contact(m, w, a, b, known.pair, pair.friction * w.friction_scale[0], points[i], contact);
    return distance(contact.normal, known.normal) < kSameContact && distance(contact.p_WA, known.p_WA) < kSameContact &&
           std::abs(contact.gap.value - known.gap) < kSameContact;
  }
  return false;
}

inline bool find_contacts_again(const model::ModelView<Dual>& m, const model::WorldView<Dual>& w,
                                const model::StepSettings<Dual>& s, const model::WorldState<double>& after) {
  for (int i = 0; i < m.shape_count; ++i) collide::place_shape(m, w, i, s.dt);
  for (int i = 0; i < after.record->contact_count; ++i) {
    if (!find_again(m, w, s, after.contacts[i], w.contacts[i])) return false;
  }
  return true;
}

// Values of the iterate. Needs turn_inertias.
inline void load_iterate(const solver::Problem<Dual>& p, const model::WorldState<double>& after) {
  for (int b = 0; b < p.m.body_count; ++b) {
    p.w.v_plus[b] = math::cast<Dual>(after.v[b]);
    math::Vec3<double> omega = after.omega[b];
    if (p.s.gyroscopic_mode == model::GyroscopicMode::kSplit) {
      const auto plain = [](const Dual& a) { return a.value; };
      const math::Quat<double> q{plain(p.w.q[b].w), plain(p.w.q[b].x), plain(p.w.q[b].y), plain(p.w.q[b].z)};
      const auto& I = p.m.bodies[b].inertia;
      const math::Vec3<double> inertia{plain(I.x), plain(I.y), plain(I.z)};
      const math::Vec3<double> L =
          math::rotate(after.q[b], math::scale(inertia, math::rotate_inverse(after.q[b], omega)));
      const math::Vec3<double> at_start = math::rotate_inverse(q, L);
      omega =
          math::rotate(q, math::Vec3<double>{at_start.x / inertia.x, at_start.y / inertia.y, at_start.z / inertia.z});
    }
    p.w.omega_plus[b] = math::cast<Dual>(omega);
  }
  for (int i = 0; i < p.contact_base(); ++i) p.w.lambda[i] = after.lambda_joint[i];
  for (int i = 0; i < 3 * p.contact_count; ++i) p.w.lambda[p.contact_base() + i] = after.lambda_contact[i];
}

}  // namespace axion::gradient
