// The kinematic map of a step: q⁺ from q⁻ and ω, and its derivative.
//
// EXPONENTIAL (implicit and explicit gyroscopic modes): q⁺ = exp(hω) q⁻.
// SPLIT: the free rotation of the body itself. With L = I(q⁻)ω held, I_m the median principal moment, turn about body
// axis 1 by h/2, axis 2 by h, axis 1 by h/2, each by t(1/I_i − 1/I_m)L_i, then the spatial rotation hL/I_m. Explicit,
// exact for symmetric bodies, keeps |L|; the velocity after the step is I(q⁺)⁻¹L.
// Source: splitting of the free rigid body; McLachlan 1993, "Explicit Lie-Poisson integration and the Euler equations".
//
// Θ = ∂θ⁺/∂(hω), the spatial variation of q⁺, enters the Newton matrix: δc = J(q⁺) [h δv; h Θ δω].
//
// In: q⁻, principal moments, ω, h. Out: q⁺, Θ, or ω at q⁺. Cost: SPLIT takes four rotations, its derivative about as
// much again.
#pragma once

#include <type_traits>

#include "engine/lanes/number.hpp"
#include "engine/math/angle_functions.hpp"
#include "engine/math/quat.hpp"
#include "engine/model/solver_options.hpp"

namespace axion::constraints {

// Order of the split: `base` has the median moment; `outer` (half steps) is the nearer of the other two.
template <typename Real>
struct SplitAxes {
  int outer, inner, base;
  Real handed;                             // +1 where (outer, inner, base) is right-handed, else -1
  Real rate_outer, rate_inner, rate_base;  // 1/I_outer - 1/I_base, 1/I_inner - 1/I_base, 1/I_base
};

template <typename Real>
AXION_HD inline SplitAxes<Real> split_axes(const math::Vec3<Real>& I) {
  int low = 0, base = 1, high = 2;
  Real handed = 1;
  const auto exchange = [&](int& a, int& b) {
    const int t = a;
    a = b, b = t, handed = -handed;
  };
  if (I[low] > I[base]) exchange(low, base);
  if (I[base] > I[high]) exchange(base, high);
  if (I[low] > I[base]) exchange(low, base);
  const Real rate_base = Real(1) / I[base];
  const Real rate_low = Real(1) / I[low] - rate_base, rate_high = Real(1) / I[high] - rate_base;
  // (low, base, high) has the sign `handed`: (high, low, base) has it too, (low, high, base) the other.
  if (std::abs(rate_low) > std::abs(rate_high)) return {high, low, base, handed, rate_high, rate_low, rate_base};
  return {low, high, base, -handed, rate_low, rate_high, rate_base};
}

// Half of a turn about an axis: cosine and sine.
template <typename Real>
struct HalfTurn {
  Real c, s;
  AXION_HD_SMALL Real cos_whole() const { return c * c - s * s; }
  AXION_HD_SMALL Real sin_whole() const { return 2 * c * s; }
};

template <typename Real>
AXION_HD_SMALL inline HalfTurn<Real> half_turn(Real angle) {
  const Real half = Real(0.5) * angle, half_sq = half * half;
  if (half_sq <= Real(1)) return {math::turn_series<0>(half_sq), half * math::turn_series<1>(half_sq)};
  const math::SineCosine<Real> turn = math::sine_cosine(half);
  return {turn.cosine, turn.sine};
}

// (a, b), coordinates that follow the axis of a turn in right-handed order, of a vector seen from the turned frame.
template <typename Real>
AXION_HD_SMALL inline void turn_frame(Real c, Real s, Real& a, Real& b) {
  const Real before = a;
  a = c * before + s * b, b = c * b - s * before;
}

// The three turns about body axes outer, inner, outer, and what of L they leave in these axes.
template <typename Real>
struct SplitTurns {
  HalfTurn<Real> first, second, third;
  Real L_inner, L_base;  // after the first turn
};

template <typename Real>
AXION_HD_SMALL inline SplitTurns<Real> split_turns(const SplitAxes<Real>& s, const math::Vec3<Real>& L_B, Real h) {
  SplitTurns<Real> turns;
  Real L_outer = L_B[s.outer], L_inner = L_B[s.inner], L_base = L_B[s.base];
  turns.first = half_turn(h / 2 * s.rate_outer * L_outer);
  turn_frame(turns.first.cos_whole(), s.handed * turns.first.sin_whole(), L_inner, L_base);
  turns.L_inner = L_inner, turns.L_base = L_base;
  turns.second = half_turn(h * s.rate_inner * L_inner);
  turn_frame(turns.second.cos_whole(), s.handed * turns.second.sin_whole(), L_base, L_outer);
  turns.third = half_turn(h / 2 * s.rate_outer * L_outer);
  return turns;
}

// q⁺ of the split map; I are the principal moments.
template <typename Real>
AXION_HD inline math::Quat<Real> split_rotation(const math::Quat<Real>& q, const math::Vec3<Real>& I,
                                                const math::Vec3<Real>& omega, Real h) {
  const SplitAxes<Real> s = split_axes(I);
  const math::Vec3<Real> L_B = math::scale(I, math::rotate_inverse(q, omega));
  const math::Quat<Real> rest = math::exp_rotation(h * s.rate_base * math::rotate(q, L_B));
  using lanes::vanishes;
  if (vanishes(s.rate_outer) && vanishes(s.rate_inner)) return math::normalized(rest * q);
  const SplitTurns<Real> turns = split_turns(s, L_B, h);
  // q times a turn about a body axis: two turns, of (w, that axis) and of the two axes that follow it.
  const math::Vec3<Real> v = q.vec();
  Real w = q.w, outer = v[s.outer], inner = v[s.inner], base = v[s.base];
  turn_frame(turns.first.c, turns.first.s, outer, w);
  turn_frame(turns.first.c, s.handed * turns.first.s, inner, base);
  turn_frame(turns.second.c, turns.second.s, inner, w);
  turn_frame(turns.second.c, s.handed * turns.second.s, base, outer);
  turn_frame(turns.third.c, turns.third.s, outer, w);
  turn_frame(turns.third.c, s.handed * turns.third.s, inner, base);
  math::Vec3<Real> turned;
  turned[s.outer] = outer, turned[s.inner] = inner, turned[s.base] = base;
  return math::normalized(rest * math::Quat<Real>{w, turned.x, turned.y, turned.z});
}

// The left Jacobian of the exponential map: δ exp(r) = exp(left_jacobian(r) δr) exp(r).
template <typename Real>
AXION_HD inline math::Mat3<Real> left_jacobian(const math::Vec3<Real>& r) {
  const Real a_sq = math::dot(r, r);
  Real c1, c2;
  if (a_sq <= Real(1)) {
    c1 = Real(1) / Real(2) * math::turn_series<2>(a_sq), c2 = Real(1) / Real(6) * math::turn_series<3>(a_sq);
  } else {
    const Real a = std::sqrt(a_sq);
    const math::SineCosine<Real> turn = math::sine_cosine(a);
    c1 = (Real(1) - turn.cosine) / a_sq, c2 = (a - turn.sine) / (a_sq * a);
  }
  const Real d = Real(1) - c2 * a_sq;  // 1 + c1 [r]× + c2 [r]×², [r]×² = r rᵀ − r²
  const math::Vec3<Real> u = c1 * r, w = c2 * r;
  return {{{d + w.x * r.x, w.x * r.y - u.z, w.x * r.z + u.y},
           {w.y * r.x + u.z, d + w.y * r.y, w.y * r.z - u.x},
           {w.z * r.x - u.y, w.z * r.y + u.x, d + w.z * r.z}}};
}

// Θ of the split map, by the chain rule through its four rotations. d_*: derivatives of L's body coordinates against ω;
// V: left variation of the product of the three turns, in body axes at q⁻.
template <typename Real>
AXION_HD inline math::Mat3<Real> split_derivative(const math::Quat<Real>& q, const math::Vec3<Real>& I,
                                                  const math::Vec3<Real>& omega, Real h) {
  using math::Mat3, math::Vec3;
  const SplitAxes<Real> s = split_axes(I);
  const Mat3<Real> R = math::to_matrix(q);
  const Vec3<Real> L_B = math::scale(I, math::transpose_times(R, omega));
  const Mat3<Real> dL_B{{I.x * R.column(0), I.y * R.column(1), I.z * R.column(2)}};
  const Vec3<Real> spatial = (h * s.rate_base) * (R * L_B);
  const Mat3<Real> slow = s.rate_base * (left_jacobian(spatial) * (R * dL_B));  // of the last rotation
  using lanes::vanishes;
  if (vanishes(s.rate_outer) && vanishes(s.rate_inner)) return slow;

  const SplitTurns<Real> turns = split_turns(s, L_B, h);
  const Real C1 = turns.first.cos_whole(), S1 = s.handed * turns.first.sin_whole();
  const Real C2 = turns.second.cos_whole(), S2 = s.handed * turns.second.sin_whole();
  const Vec3<Real> d_outer = dL_B.row[s.outer], d_inner = dL_B.row[s.inner], d_base = dL_B.row[s.base];
  // Angles of the turns over h, each with the change of L by the turns before.
  const Vec3<Real> angle1 = (Real(0.5) * s.rate_outer) * d_outer;
  const Vec3<Real> d_inner1 = C1 * d_inner + S1 * d_base + (s.handed * h * turns.L_base) * angle1;
  const Vec3<Real> d_base1 = C1 * d_base - S1 * d_inner - (s.handed * h * turns.L_inner) * angle1;
  const Vec3<Real> angle2 = s.rate_inner * d_inner1;
  const Real L_base2 = C2 * turns.L_base + S2 * L_B[s.outer];
  const Vec3<Real> d_outer2 = C2 * d_outer - S2 * d_base1 - (s.handed * h * L_base2) * angle2;
  const Vec3<Real> angle3 = (Real(0.5) * s.rate_outer) * d_outer2;
  Mat3<Real> V;
  V.row[s.outer] = angle1 + C2 * angle3;
  V.row[s.inner] = C1 * angle2 + (S1 * S2) * angle3;
  V.row[s.base] = S1 * angle2 - (C1 * S2) * angle3;
  return slow + math::to_matrix(math::exp_rotation(spatial)) * (R * V);
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

// A real type of more digits than a step's own, for sums whose rounding would be of one sign step after step: float64
// for float32. A number that carries derivatives stays as it is, as they would be lost.
template <typename Real>
struct WideReal {
  using Type = Real;
};
template <>
struct WideReal<float> {
  using Type = double;
};
template <typename Real>
using Wide = typename WideReal<Real>::Type;

// The angular velocity at q⁺ of the momentum that ω has at q: what a free rotation keeps. Its size is restored after
// the rounding of four rotations, which would otherwise add up.
template <typename Real>
AXION_HD inline math::Vec3<Real> move_momentum(const math::Quat<Real>& q, const math::Quat<Real>& q_plus,
                                               const math::Vec3<Real>& I, const math::Vec3<Real>& omega) {
  const math::Vec3<Real> before = math::scale(I, math::rotate_inverse(q, omega));
  const math::Vec3<Real> L = math::rotate_inverse(q_plus, math::rotate(q, before));
  const math::Vec3<Real> carried = math::rotate(q_plus, math::Vec3<Real>{L.x / I.x, L.y / I.y, L.z / I.z});
  const math::Vec3<Real> after = math::scale(I, math::rotate_inverse(q_plus, carried));
  const Real size = math::dot(after, after);
  return size > 0 ? std::sqrt(math::dot(before, before) / size) * carried : carried;
}

// The same at a step's end. In float32 a correction of the size is of the order of its rounding and takes 2.5e-8 of |L|
// a step, always of one sign. So float32 does it in float64, with the rotations that its quaternions stand for, and
// rounds once.
template <typename Real>
AXION_HD_CALL math::Vec3<Real> carry_momentum(const math::Quat<Real>& q, const math::Quat<Real>& q_plus,
                                              const math::Vec3<Real>& I, const math::Vec3<Real>& omega) {
  if constexpr (std::is_same_v<Wide<Real>, Real>) {
    return move_momentum(q, q_plus, I, omega);
  } else {
    using math::cast, math::normalized;
    using W = Wide<Real>;
    return cast<Real>(move_momentum(normalized(cast<W>(q)), normalized(cast<W>(q_plus)), cast<W>(I), cast<W>(omega)));
  }
}

// The turning of a body, q and ω, with what rounding left of them.
template <typename Real>
struct Turning {
  math::Quat<Real> q, q_rest;
  math::Vec3<Real> omega, omega_rest;
};

// A free rotation over h, SPLIT, with rests: what q and ω as Reals leave of the rotation is carried on to the next
// step. In float32 a box that spins about its middle axis turns over when float64 says so; without rests the rounding
// of q and ω moves its energy by as much as it is away from the separatrix.
template <typename Real>
AXION_HD_CALL Turning<Real> turn_freely(const Turning<Real>& start, const math::Vec3<Real>& I, Real h) {
  using math::cast;
  using W = Wide<Real>;
  const math::Quat<W> q0 = cast<W>(start.q), q_rest0 = cast<W>(start.q_rest);
  const math::Quat<W> q =
      math::normalized(math::Quat<W>{q0.w + q_rest0.w, q0.x + q_rest0.x, q0.y + q_rest0.y, q0.z + q_rest0.z});
  const math::Vec3<W> omega = cast<W>(start.omega) + cast<W>(start.omega_rest), moments = cast<W>(I);
  const math::Quat<W> q_plus = split_rotation(q, moments, omega, W(h));
  const math::Vec3<W> omega_plus = move_momentum(q, q_plus, moments, omega);
  Turning<Real> end{cast<Real>(q_plus), {}, cast<Real>(omega_plus), {}};
  const math::Quat<W> kept = cast<W>(end.q);
  end.q_rest = cast<Real>(math::Quat<W>{q_plus.w - kept.w, q_plus.x - kept.x, q_plus.y - kept.y, q_plus.z - kept.z});
  end.omega_rest = cast<Real>(omega_plus - cast<W>(end.omega));
  return end;
}

}  // namespace axion::constraints
