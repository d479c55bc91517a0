// The kinematic map of a step: q⁺ from q⁻ and ω, and its derivative.
//
// EXPONENTIAL (implicit and explicit gyroscopic modes): q⁺ = exp(hω) q⁻.
// SPLIT: the free rotation of the body itself. With L = I(q⁻)ω held, I_m the median principal moment, turn about body
// axis 1 by h/2, axis 2 by h, axis 1 by h/2, each by t(1/I_i − 1/I_m)L_i, then the spatial rotation hL/I_m. Explicit,
// exact for symmetric bodies, keeps |L|; the velocity after the step is I(q⁺)⁻¹L.
// Source: splitting of the free rigid body; McLachlan 1993, "Explicit Lie-Poisson integration and the Euler equations".
//
// D = ∂θ⁺/∂(hω), the spatial variation of q⁺, is what the Newton matrix needs: δc = J(q⁺) [h δv; h D δω].
#pragma once

#include "engine/math/quat.hpp"
#include "engine/model/solver_options.hpp"

namespace axion::constraints {

// Order of the split: `base` has the median moment; `outer` (half steps) is the nearer of the other two.
template <typename Real>
struct SplitAxes {
  int base, outer, inner;
  Real rate_outer, rate_inner;  // 1/I_i - 1/I_base
};

template <typename Real>
AXION_HD inline SplitAxes<Real> split_axes(const math::Vec3<Real>& I) {
  int order[3] = {0, 1, 2};
  if (I[order[0]] > I[order[1]]) { const int t = order[0]; order[0] = order[1], order[1] = t; }
  if (I[order[1]] > I[order[2]]) { const int t = order[1]; order[1] = order[2], order[2] = t; }
  if (I[order[0]] > I[order[1]]) { const int t = order[0]; order[0] = order[1], order[1] = t; }
  SplitAxes<Real> s{order[1], order[0], order[2], 0, 0};
  s.rate_outer = Real(1) / I[s.outer] - Real(1) / I[s.base];
  s.rate_inner = Real(1) / I[s.inner] - Real(1) / I[s.base];
  if (std::abs(s.rate_outer) > std::abs(s.rate_inner)) {
    const int axis = s.outer;
    const Real rate = s.rate_outer;
    s.outer = s.inner, s.inner = axis, s.rate_outer = s.rate_inner, s.rate_inner = rate;
  }
  return s;
}

template <typename Real>
AXION_HD inline math::Vec3<Real> unit(int axis) {
  return {axis == 0 ? Real(1) : Real(0), axis == 1 ? Real(1) : Real(0), axis == 2 ? Real(1) : Real(0)};
}

// q⁺ of the split map; I are the principal moments.
template <typename Real>
AXION_HD inline math::Quat<Real> split_rotation(const math::Quat<Real>& q, const math::Vec3<Real>& I,
                                                const math::Vec3<Real>& omega, Real h) {
  const SplitAxes<Real> s = split_axes(I);
  math::Vec3<Real> L_B = math::scale(I, math::rotate_inverse(q, omega));
  const math::Vec3<Real> L = math::rotate(q, L_B);
  math::Quat<Real> r = q;
  const int axes[3] = {s.outer, s.inner, s.outer};
  const Real rates[3] = {h / 2 * s.rate_outer, h * s.rate_inner, h / 2 * s.rate_outer};
  for (int k = 0; k < 3; ++k) {
    const Real angle = rates[k] * L_B[axes[k]];
    if (angle == Real(0)) continue;
    const math::Quat<Real> turn = math::exp_rotation(angle * unit<Real>(axes[k]));
    r = r * turn;
    L_B = math::rotate_inverse(turn, L_B);
  }
  return math::normalized(math::exp_rotation((h / I[s.base]) * L) * r);
}

// The left Jacobian of the exponential map: δ exp(r) = exp(left_jacobian(r) δr) exp(r).
template <typename Real>
AXION_HD inline math::Mat3<Real> left_jacobian(const math::Vec3<Real>& r) {
  const Real a_sq = math::dot(r, r);
  Real c1 = Real(0.5) - a_sq / Real(24), c2 = Real(1) / Real(6) - a_sq / Real(120);
  if (a_sq > Real(1e-4)) {
    const Real a = std::sqrt(a_sq);
    c1 = (Real(1) - std::cos(a)) / a_sq;
    c2 = (a - std::sin(a)) / (a_sq * a);
  }
  const math::Mat3<Real> S = math::skew(r);
  return math::Mat3<Real>::identity() + c1 * S + c2 * (S * S);
}

// D of the split map, by the chain rule through its four rotations.
template <typename Real>
AXION_HD inline math::Mat3<Real> split_derivative(const math::Quat<Real>& q, const math::Vec3<Real>& I,
                                                  const math::Vec3<Real>& omega, Real h) {
  using math::Mat3, math::Vec3;
  const SplitAxes<Real> s = split_axes(I);
  const Mat3<Real> R = math::to_matrix(q);
  Vec3<Real> L_B = math::scale(I, math::transpose_times(R, omega));
  const Vec3<Real> L = R * L_B;
  // dL/dω = R I Rᵀ; dL_B/dω = I Rᵀ
  Mat3<Real> dL_B{{I.x * R.column(0), I.y * R.column(1), I.z * R.column(2)}};
  const Mat3<Real> dL = R * dL_B;
  Mat3<Real> body_turn = Mat3<Real>::identity();  // product of the turns so far
  Mat3<Real> variation{};                         // its left variation, body axes at q⁻
  const int axes[3] = {s.outer, s.inner, s.outer};
  const Real rates[3] = {h / 2 * s.rate_outer, h * s.rate_inner, h / 2 * s.rate_outer};
  for (int k = 0; k < 3; ++k) {
    const Vec3<Real> e = unit<Real>(axes[k]);
    const Real angle = rates[k] * L_B[axes[k]];
    const Vec3<Real> d_angle = rates[k] * dL_B.row[axes[k]];
    variation = variation + math::outer(body_turn * e, d_angle);
    const Mat3<Real> turn = math::to_matrix(math::exp_rotation(angle * e));
    body_turn = body_turn * turn;
    L_B = math::transpose_times(turn, L_B);
    const Vec3<Real> swing = math::cross(e, L_B);
    dL_B = math::transpose(turn) * dL_B + Real(-1) * math::outer(swing, d_angle);
  }
  const Vec3<Real> spatial = (h / I[s.base]) * L;
  const Mat3<Real> E = math::to_matrix(math::exp_rotation(spatial));
  const Mat3<Real> total = (h / I[s.base]) * (left_jacobian(spatial) * dL) + E * (R * variation);
  return (Real(1) / h) * total;
}

template <typename Real>
AXION_HD_CALL math::Quat<Real> rotate_step(model::GyroscopicMode mode, const math::Quat<Real>& q,
                                             const math::Vec3<Real>& I, const math::Vec3<Real>& omega, Real h) {
  if (mode == model::GyroscopicMode::kSplit) return split_rotation(q, I, omega, h);
  return math::normalized(math::exp_rotation(h * omega) * q);
}

template <typename Real>
AXION_HD_CALL math::Mat3<Real> rotate_step_derivative(model::GyroscopicMode mode, const math::Quat<Real>& q,
                                                        const math::Vec3<Real>& I, const math::Vec3<Real>& omega,
                                                        Real h) {
  if (mode == model::GyroscopicMode::kSplit) return split_derivative(q, I, omega, h);
  return left_jacobian(h * omega);
}

// ω after a free step with the gyroscopic torque, for the modes that put it into the free velocity.
// IMPLICIT: backward Euler in the body frame, I(ω − ω⁻) + h ω × Iω = 0, Newton (Catto 2015, "Numerical methods").
template <typename Real>
AXION_HD_CALL math::Vec3<Real> gyroscopic_velocity(model::GyroscopicMode mode, const math::Quat<Real>& q,
                                                     const math::Vec3<Real>& I, const math::Vec3<Real>& omega, Real h) {
  using math::Mat3, math::Vec3;
  if (mode == model::GyroscopicMode::kSplit) return omega;
  const Vec3<Real> start = math::rotate_inverse(q, omega);
  Vec3<Real> w = start;
  if (mode == model::GyroscopicMode::kExplicit) {
    const Vec3<Real> torque = math::cross(w, math::scale(I, w));
    w -= Vec3<Real>{h * torque.x / I.x, h * torque.y / I.y, h * torque.z / I.z};
    return math::rotate(q, w);
  }
  const Mat3<Real> inertia = Mat3<Real>::diagonal(I.x, I.y, I.z);
  for (int k = 0; k < 5; ++k) {
    const Vec3<Real> L = math::scale(I, w);
    const Vec3<Real> residual = math::scale(I, w - start) + h * math::cross(w, L);
    const Mat3<Real> slope = inertia + h * (math::skew(w) * inertia + Real(-1) * math::skew(L));
    w -= math::inverse(slope) * residual;
  }
  return math::rotate(q, w);
}

// The angular velocity at q⁺ of the momentum that ω has at q: what a free rotation keeps. Its size is restored after the
// rounding of four rotations, which would otherwise add up (float32: 0.4 % in 2·10⁴ steps).
template <typename Real>
AXION_HD_CALL math::Vec3<Real> carry_momentum(const math::Quat<Real>& q, const math::Quat<Real>& q_plus,
                                                const math::Vec3<Real>& I, const math::Vec3<Real>& omega) {
  const math::Vec3<Real> before = math::scale(I, math::rotate_inverse(q, omega));
  const math::Vec3<Real> L = math::rotate_inverse(q_plus, math::rotate(q, before));
  const math::Vec3<Real> carried = math::rotate(q_plus, math::Vec3<Real>{L.x / I.x, L.y / I.y, L.z / I.z});
  const math::Vec3<Real> after = math::scale(I, math::rotate_inverse(q_plus, carried));
  const Real size = math::dot(after, after);
  return size > 0 ? std::sqrt(math::dot(before, before) / size) * carried : carried;
}

}  // namespace axion::constraints
