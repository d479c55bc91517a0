// Surfaces that move along their shapes: belts, turntables, rollers (ShapeSpec::surface_velocity).
//
//   s = v + ω × p                          of a shape's surface against the shape, at a contact, in the shape's frame
//   v_t = J_t u + (s_a − s_b) · t          the slip that friction acts against, in the place of J_t u,
//   ω_n = (ω_a + ω_sa − ω_b − ω_sb) · n    and likewise what torsional friction acts against
//
// Only these rows feel it: what of s is along a normal does not push, and rolling friction is of the bodies' own
// turning. Impulses act along J, so that the body of a belt takes the reaction. A rider's velocity follows s round a
// turntable, so s is taken at the middle of the step, to which u⁺ belongs: the frame turned by the shape's body, and p
// carried along with the centre of the other body. That leaves s a motion of a rigid surface, which contacts that stick
// can follow together. Contacts with the world stay where they are on the shape.
//
// In: contacts of the step, u⁻. Out: surface_slip. Cost: linear in contacts; nothing in models where no surface moves.
// Source: MuJoCo's surfacevel (mujoco.readthedocs.io), which has s at the start of the step.
#pragma once

#include "engine/constraints/constraint_rows.hpp"
#include "engine/constraints/joint_rows.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/step_settings.hpp"

namespace axion::constraints {

// s and ω of a shape at a point of the world, `ahead` seconds after the start of the step, world axes. `other` is the
// body that it touches, or -1.
template <typename Real>
AXION_HD_RARE model::SurfaceMotion<Real> surface_motion(const model::ModelView<Real>& m,
                                                        const model::WorldView<Real>& w, int shape, int other,
                                                        const math::Vec3<Real>& p_WP, Real ahead) {
  const model::ShapeData<Real>& data = m.shapes[shape];
  const int b = data.body;
  math::Quat<Real> q = data.q_CS;
  math::Vec3<Real> origin = data.p_CS, drift{};
  if (b >= 0) {
    const math::Vec3<Real> arm = math::rotate(w.q[b], data.p_CS);
    origin = w.x[b] + arm, drift = w.v[b] + math::cross(w.omega[b], arm);
    q = math::exp_rotation(ahead * w.omega[b]) * (w.q[b] * q);
  }
  const math::Vec3<Real> passes = other < 0 ? math::Vec3<Real>{} : w.v[other] - drift;
  const math::Vec3<Real> omega = math::rotate(q, m.surface_motions[shape].omega);
  return {math::rotate(q, m.surface_motions[shape].v) + math::cross(omega, p_WP - origin + ahead * passes), omega};
}

// s_a − s_b and ω_sa − ω_sb of a contact.
template <typename Real>
AXION_HD_RARE model::SurfaceMotion<Real> surfaces_apart(const model::ModelView<Real>& m,
                                                        const model::WorldView<Real>& w, const model::Contact<Real>& c,
                                                        Real ahead) {
  const model::PairData<Real> pair = model::pair_data(m, c.pair);
  const math::Vec3<Real> p_WP = w.x[c.body_a] + c.r_a;
  const model::SurfaceMotion<Real> a = surface_motion(m, w, pair.shape_a, c.body_b, p_WP, ahead),
                                   b = surface_motion(m, w, pair.shape_b, c.body_a, p_WP, ahead);
  return {a.v - b.v, a.omega - b.omega};
}

// surface_slip; called where m.surface_motions is there.
template <typename Real, typename Team>
AXION_HD_RARE void move_surfaces(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s, int contact_count) {
  team.for_each(contact_count, [&](int i) {
    const model::Contact<Real>& c = w.contacts[i];
    const model::SurfaceMotion<Real> apart = surfaces_apart(m, w, c, s.dt / 2);
    Real* slip = w.surface_slip + 3 * i;
    slip[0] = math::dot(apart.omega, c.normal), slip[1] = math::dot(apart.v, c.t1), slip[2] = math::dot(apart.v, c.t2);
  });
}

// The velocity of row k of contact i at (v, omega): of the bodies along the normal, of the surfaces along tangents.
template <typename Real>
AXION_HD inline Real contact_velocity(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i, int k,
                                      ConstArray<math::Vec3<Real>> v, ConstArray<math::Vec3<Real>> omega) {
  const model::Contact<Real>& c = w.contacts[i];
  const Real bodies = row_velocity(w.row[m.contact_base() + 3 * i + k], c.body_a, c.body_b, v, omega);
  return k == 0 || m.surface_motions == nullptr ? bodies : bodies + w.surface_slip[3 * i + k];
}

// Likewise of a row of moment `moment`, which is block i: of the surfaces about the normal, of the bodies across it.
template <typename Real>
AXION_HD inline Real moment_velocity(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int moment,
                                     int i, int k, ConstArray<math::Vec3<Real>> v, ConstArray<math::Vec3<Real>> omega) {
  const model::Contact<Real>& c = w.contacts[i];
  const Real bodies = row_velocity(w.row[m.contact_base() + 3 * i + k], c.body_a, c.body_b, v, omega);
  return k > 0 || m.surface_motions == nullptr ? bodies : bodies + w.surface_slip[3 * w.moments[moment].contact];
}

}  // namespace axion::constraints
