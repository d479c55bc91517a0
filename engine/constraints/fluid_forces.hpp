// What a fluid takes of a body's motion in a step.
//
// The fluid acts on each part of a body as on the box of uniform density that has the part's mass and inertia, with
// sides a, b, c and their mean d. With v and ω the part's velocities against the fluid, in the box's axes,
//
//   F_x = −ρ/2 b c |v_x| v_x − 3π μ d v_x,   T_x = −ρ/64 a (b⁴ + c⁴) |ω_x| ω_x − π μ d³ ω_x,   and so on round,
//
// ρ the fluid's density and μ its viscosity. Source: MuJoCo's documentation, Computation, Fluid forces, inertia model.
//
// The body alone, its parts together, solves for the velocities u⁺ that it ends the time h with, from those that all
// other forces but constraints lead it to, u*:
//
//   (M + h (Q + θ V)) u⁺ = M u* − h (1 − θ) V u⁻,   Q = Σ J_Fᵀ diag(c |J_F u⁻|) J_F,   V = Σ J_Fᵀ diag(d) J_F,
//
// J_F to the velocities of a part. With the speeds of the step's start the quadratic law is of second order, and exact
// for a body that nothing else moves; the linear one is the trapezoidal rule, θ = 1/2, where the body follows it, and
// nearly backward Euler where it does not. A body in free fall ends at its terminal velocity whatever h is, and drag
// only takes energy. Work: one inverse of a 6 x 6 matrix a body that has parts in a fluid. Ellipsoids are lifted,
// too (fluid_ellipsoids.hpp).
#pragma once

#include "engine/constraints/fluid_ellipsoids.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/math/mat3.hpp"
#include "engine/math/quat.hpp"
#include "engine/math/small_matrix.hpp"
#include "engine/model/model_data.hpp"

namespace axion::constraints {

// Adds diag(linear) at the part's centre and diag(angular), both along the part's axes, to a 6 x 6 matrix over (v, ω)
// of the body, in its principal frame from its centre of mass.
template <typename Real>
AXION_HD_CALL void add_resistance(const model::FluidPartData<Real>& part, const math::Vec3<Real>& linear,
                                  const math::Vec3<Real>& angular, Real (&D)[6][6]) {
  const math::Mat3<Real> R = math::to_matrix(part.q_CF);
  const math::Mat3<Real> L = math::rotate_diagonal(R, linear), A = math::rotate_diagonal(R, angular);
  const math::Mat3<Real> P = math::skew(part.p_CF);  // v + ω × p = v − P ω
  const math::Mat3<Real> LP = L * P, PLP = P * LP;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) {
      D[r][c] += L(r, c);
      D[r][3 + c] -= LP(r, c);
      D[3 + c][r] -= LP(r, c);
      D[3 + r][3 + c] += A(r, c) - PLP(r, c);
    }
  }
}

// Of a body, of its centre of mass, world axes.
template <typename Real>
struct BodyMotion {
  math::Vec3<Real> v, omega;
};
template <typename Real>
struct FluidImpulse {
  math::Vec3<Real> linear{}, angular{};
};

// Adds what a part that moves so resists with: Q and V.
template <typename Real>
AXION_HD_RARE void add_part_resistance(const model::FluidPartData<Real>& part, const math::Vec3<Real>& v,
                                       const math::Vec3<Real>& omega, Real (&Q)[6][6], Real (&V)[6][6]) {
  const auto same = [](Real d) { return math::Vec3<Real>{d, d, d}; };
  const auto slowed = [](const math::Vec3<Real>& c, const math::Vec3<Real>& speed) {
    return math::Vec3<Real>{c.x * std::abs(speed.x), c.y * std::abs(speed.y), c.z * std::abs(speed.z)};
  };
  if (part.is_ellipsoid) {
    const EllipsoidDrag<Real> drag = ellipsoid_drag(part, v, omega);
    add_resistance(part, same(drag.linear), same(drag.angular), Q);
  } else {
    add_resistance(part, slowed(part.drag, v), slowed(part.angular_drag, omega), Q);
  }
  add_resistance(part, same(part.viscous_drag), same(part.viscous_angular_drag), V);
}

// Numbers of a body's motion over (v, ω), or of its mass matrix.
template <typename Real>
struct Six {
  Real value[6];
  AXION_HD math::Vec3<Real> linear() const { return {value[0], value[1], value[2]}; }
  AXION_HD math::Vec3<Real> angular() const { return {value[3], value[4], value[5]}; }
};

template <typename Real>
AXION_HD inline Six<Real> six(const math::Vec3<Real>& v, const math::Vec3<Real>& omega) {
  return {{v.x, v.y, v.z, omega.x, omega.y, omega.z}};
}

// What lift does of body b, which moves so in its principal frame.
template <typename Real>
AXION_HD_RARE void find_lift(const model::ModelView<Real>& m, int b, const math::Vec3<Real>& v,
                             const math::Vec3<Real>& omega, Real (&S)[6][6]) {
  const model::BodyForceData<Real>& force = m.body_forces[b];
  for (int i = force.fluid_part_start; i < force.fluid_part_start + force.fluid_part_count; ++i) {
    const model::FluidPartData<Real>& part = m.fluid_parts[i];
    if (!part.is_ellipsoid) continue;
    add_lift(part, math::rotate_inverse(part.q_CF, v + math::cross(omega, part.p_CF)),
             math::rotate_inverse(part.q_CF, omega), S);
  }
}

// As fluid_impulse, of a body with ellipsoids.
template <typename Real>
AXION_HD_RARE FluidImpulse<Real> lifted_impulse(const model::ModelView<Real>& m, int b, Real h,
                                                const math::Quat<Real>& q, Real mass, const math::Vec3<Real>& I,
                                                const BodyMotion<Real>& before, const BodyMotion<Real>& free) {
  const model::BodyForceData<Real>& force = m.body_forces[b];
  const Six<Real> start = six(math::rotate_inverse(q, before.v - m.wind), math::rotate_inverse(q, before.omega));
  const Six<Real> end = six(math::rotate_inverse(q, free.v - m.wind), math::rotate_inverse(q, free.omega));
  const Six<Real> inertia = six(math::Vec3<Real>{mass, mass, mass}, I);
  Real Q[6][6] = {}, V[6][6] = {};
  for (int i = force.fluid_part_start; i < force.fluid_part_start + force.fluid_part_count; ++i) {
    const model::FluidPartData<Real>& part = m.fluid_parts[i];
    const math::Vec3<Real> v = start.linear() + math::cross(start.angular(), part.p_CF);
    add_part_resistance(part, math::rotate_inverse(part.q_CF, v), math::rotate_inverse(part.q_CF, start.angular()), Q,
                        V);
  }
  Real z = 0;
  for (int r = 0; r < 6; ++r) z += h * V[r][r] / inertia.value[r];
  const Real theta = z > 1 ? 1 - 1 / (2 * z) : Real(0.5);
  Six<Real> change{};  // of the velocities
  for (int round = 0; round < FluidParameters::kLiftRounds; ++round) {
    Six<Real> mean;
    for (int r = 0; r < 6; ++r) mean.value[r] = Real(0.5) * (start.value[r] + end.value[r] + change.value[r]);
    Real S[6][6] = {}, A[36], pull[6];
    find_lift(m, b, mean.linear(), mean.angular(), S);
    for (int r = 0; r < 6; ++r) {
      const Real root = std::sqrt(inertia.value[r]);  // in units in which the mass matrix is the identity
      pull[r] = 0;
      for (int c = 0; c < 6; ++c) {
        const Real resistance = Q[r][c] + theta * V[r][c];
        pull[r] -= h / root * ((resistance - S[r][c]) * end.value[c] + (1 - theta) * V[r][c] * start.value[c]);
        A[6 * r + c] = h * (resistance - Real(0.5) * S[r][c]) / (root * std::sqrt(inertia.value[c]));
      }
      A[7 * r] += 1;
    }
    math::invert_general(A, 6, 6);
    for (int r = 0; r < 6; ++r) {
      Real sum = 0;
      for (int c = 0; c < 6; ++c) sum += A[6 * r + c] * pull[c];
      change.value[r] = sum / std::sqrt(inertia.value[r]);
    }
  }
  return {math::rotate(q, mass * change.linear()), math::rotate(q, math::scale(I, change.angular()))};
}

// The impulses of the fluid on body b in the time h: q, mass and principal inertia I are the body's; it has the motion
// `before` when the time begins, and all else but constraints leads it to `free`.
template <typename Real>
AXION_HD_CALL FluidImpulse<Real> fluid_impulse(const model::ModelView<Real>& m, int b, Real h,
                                               const math::Quat<Real>& q, Real mass, const math::Vec3<Real>& I,
                                               const BodyMotion<Real>& before, const BodyMotion<Real>& free) {
  const model::BodyForceData<Real>& force = m.body_forces[b];
  if (force.has_fluid_ellipsoids) return lifted_impulse(m, b, h, q, mass, I, before, free);
  const math::Vec3<Real> v = math::rotate_inverse(q, before.v - m.wind);
  const math::Vec3<Real> omega = math::rotate_inverse(q, before.omega);
  Real Q[6][6] = {}, V[6][6] = {};
  for (int i = force.fluid_part_start; i < force.fluid_part_start + force.fluid_part_count; ++i) {
    const model::FluidPartData<Real>& part = m.fluid_parts[i];
    add_part_resistance(part, math::rotate_inverse(part.q_CF, v + math::cross(omega, part.p_CF)),
                        math::rotate_inverse(part.q_CF, omega), Q, V);
  }
  // In units in which the body's mass matrix is the identity.
  const Real root[6] = {std::sqrt(mass), std::sqrt(mass), std::sqrt(mass),
                        std::sqrt(I.x),  std::sqrt(I.y),  std::sqrt(I.z)};
  const math::Vec3<Real> v_end = math::rotate_inverse(q, free.v - m.wind);
  const math::Vec3<Real> omega_end = math::rotate_inverse(q, free.omega);
  const Real start[6] = {v.x, v.y, v.z, omega.x, omega.y, omega.z};
  const Real end[6] = {v_end.x, v_end.y, v_end.z, omega_end.x, omega_end.y, omega_end.z};
  Real z = 0;  // h times the greatest rate of the linear law, at most
  for (int r = 0; r < 6; ++r) z += h * V[r][r] / (root[r] * root[r]);
  const Real theta = z > 1 ? 1 - 1 / (2 * z) : Real(0.5);
  Real A[36], pull[6], change[6];
  for (int r = 0; r < 6; ++r) {
    pull[r] = 0;
    for (int c = 0; c < 6; ++c) {
      const Real resistance = Q[r][c] + theta * V[r][c];
      pull[r] -= h / root[r] * (resistance * end[c] + (1 - theta) * V[r][c] * start[c]);
      A[6 * r + c] = h * resistance / (root[r] * root[c]);
    }
    A[7 * r] += 1;
  }
  math::invert_positive(A, 6, 6);
  for (int r = 0; r < 6; ++r) {
    change[r] = 0;
    for (int c = 0; c < 6; ++c) change[r] += A[6 * r + c] * pull[c];
    change[r] *= root[r];
  }
  return {math::rotate(q, math::Vec3<Real>{change[0], change[1], change[2]}),
          math::rotate(q, math::Vec3<Real>{change[3], change[4], change[5]})};
}

}  // namespace axion::constraints
