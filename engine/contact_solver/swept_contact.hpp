// One frictional contact solved alone, with all other impulses held: the block of nonlinear Gauss-Seidel.
//
//   v = velocity of the contact's rows at its impulse λ; v_n with its bias and compliance, as residual.hpp has it
//   λ_n⁺ = max(0, λ_n − v_n / (G_nn + p))                       projected normal step
//   λ_t⁺ = λ_t − G_tt⁻¹ (v_t + G_tn (λ_n⁺ − λ_n))               sticking, where |λ_t⁺| ≤ μ λ_n⁺
//   λ_t⁺ = proj onto |λ_t| ≤ μ λ_n⁺ of a step with the greatest eigenvalue of G_tt             else
//
// In: G, the contact's 3×3 block of the Delassus operator J V Jᵀ, what it is divided by, v and λ. Out: λ⁺, and whether
// the natural residual at λ was above the tolerance. Number is a real, or a pack with a contact in each lane. Cost:
// some sixty operations. Source: Jean 1999; Acary and Brogliato 2008, section 13.3.
#pragma once

#include "engine/contact_solver/parameters.hpp"
#include "engine/problem/natural_residuals.hpp"

namespace axion::solver {

// Number: of one contact, or of one in each lane.
template <typename Number>
struct ContactImpulse {
  Number n, x, y;
};

// The inverses that solve_contact_alone takes: of the block's normal entry with the row's compliance, of its greatest
// tangent eigenvalue and of its tangent determinant; the last is zero where the tangents' block is singular.
template <typename Real>
AXION_HD inline void invert_swept_block(const Real* G, Real compliance, const Real* scale, Real* inverse) {
  const Real half = (G[4] - G[8]) / 2, det = G[4] * G[8] - G[5] * G[7];
  const Real g_n = greater(G[0], Real(SweepParameters::kLeastMobility) * scale[0]);
  // Of an isotropic block, as between spheres, the difference is zero and the rest rounding of either sign.
  const Real greatest = (G[4] + G[8]) / 2 + std::sqrt(greater(half * half + G[5] * G[7], Real(0)));
  const Real g_t = greater(greatest, Real(SweepParameters::kLeastMobility) * scale[1]);
  const Real inverses[3] = {Real(1) / (g_n + compliance), Real(1) / g_t,
                            det > Real(SweepParameters::kLeastMobility) * g_t * g_t ? Real(1) / det : Real(0)};
  for (int k = 0; k < 3; ++k) inverse[k] = inverses[k];
}

// One contact alone: its block G of V, the inverses above, velocities v at its impulse `last`; v.n is its a.
template <typename Number>
AXION_HD AXION_INLINED inline ContactImpulse<Number> solve_contact_alone(const Number* G, const Number* inverse,
                                                                         const Number& mu,
                                                                         const ContactImpulse<Number>& v,
                                                                         const ContactImpulse<Number>& last) {
  const Number zero{}, n = greater<Number>(last.n - v.n * inverse[0], zero), dn = n - last.n, cone = mu * n;
  const Number vx = v.x + G[3] * dn, vy = v.y + G[6] * dn;
  const Number held_x = last.x - (G[8] * vx - G[5] * vy) * inverse[2];
  const Number held_y = last.y - (G[4] * vy - G[7] * vx) * inverse[2];
  const auto holds = (inverse[2] > zero) & (held_x * held_x + held_y * held_y <= cone * cone);
  if constexpr (std::is_same_v<std::remove_cv_t<decltype(holds)>, int>) {  // of one contact: nothing else is needed
    if (holds) return {n, held_x, held_y};
  }
  const Number x = last.x - vx * inverse[1], y = last.y - vy * inverse[1], size = lanes::root<Number>(x * x + y * y);
  const Number share = size > cone ? cone / size : lanes::constant<Number>(1);
  return {n, holds ? held_x : share * x, holds ? held_y : share * y};
}

// Torsional and rolling friction of a contact alone: its block G of V, inverses and velocities as above.
template <typename Real>
AXION_HD inline ContactImpulse<Real> solve_moment_alone(const Real* G, const Real* inverse,
                                                        const MomentBounds<Real>& bound, const ContactImpulse<Real>& v,
                                                        const ContactImpulse<Real>& last) {
  const Real n = constraints::clamp(last.n - v.n * inverse[0], -bound.torsional, bound.torsional), dn = n - last.n;
  const Real most = bound.rolling, vx = v.x + G[3] * dn, vy = v.y + G[6] * dn;
  if (inverse[2] > Real(0)) {
    const Real held_x = last.x - (G[8] * vx - G[5] * vy) * inverse[2];
    const Real held_y = last.y - (G[4] * vy - G[7] * vx) * inverse[2];
    if (held_x * held_x + held_y * held_y <= most * most) return {n, held_x, held_y};
  }
  const Real x = last.x - vx * inverse[1], y = last.y - vy * inverse[1], size = std::sqrt(x * x + y * y);
  const Real share = size > most ? most / size : Real(1);
  return {n, share * x, share * y};
}

// The law of a contact in a sweep: friction, scales of its rows, and tolerances of its natural residuals, m/s.
template <typename Number>
struct ContactLaw {
  Number mu, scale_n, scale_t, tolerance_n, tolerance_t;
};

template <typename Number>
struct SweptContact {
  ContactImpulse<Number> next;
  decltype(Number{} > Number{}) unsettled;  // whether a natural residual was above its tolerance
};

template <typename Number>
AXION_HD AXION_INLINED inline SweptContact<Number> solve_swept_contact(const Number* G, const Number* inverse,
                                                                       const ContactLaw<Number>& law,
                                                                       const ContactImpulse<Number>& v,
                                                                       const ContactImpulse<Number>& last) {
  const Number normal = unilateral_residual<Number>(v.n, law.scale_n * last.n);
  const Number slip2 =
      constraints::friction_residual_squared<Number>({v.x, v.y}, {last.x, last.y}, law.mu * last.n, law.scale_t);
  const auto unsettled = (normal > law.tolerance_n) | (slip2 > law.tolerance_t * law.tolerance_t);
  return {solve_contact_alone(G, inverse, law.mu, v, last), static_cast<decltype(Number{} > Number{})>(unsettled)};
}

// The lift of a soft contact (soft_laws.hpp) alone, its impulse on the edge of its cone in the direction d of friction:
//
//   r = p + G (λ_n, μ λ_n d),   r_n = L,   L = slip_lift (−r_t · d) − slip_excess λ_n
//
// with p its velocities without an impulse and without a lift. There is none where λ_n is not positive, as the contact
// opens then, or where r_t points along d, as it sticks then. In: its block G, velocities v at its impulse `last`.
template <typename Real>
AXION_HD inline Real lift_alone(const constraints::SoftContact<Real>& soft, const Real* G, Real compliance, Real mu,
                                const ContactImpulse<Real>& v, const ContactImpulse<Real>& last) {
  const Real p_n = v.n + soft.lift - (G[0] + compliance) * last.n - G[1] * last.x - G[2] * last.y;
  const Real p_x = v.x - G[3] * last.n - G[4] * last.x - G[5] * last.y;
  const Real p_y = v.y - G[6] * last.n - G[7] * last.x - G[8] * last.y;
  Real dx = last.x, dy = last.y, size = std::sqrt(dx * dx + dy * dy);
  if (!(size > Real(0))) dx = -p_x, dy = -p_y, size = std::sqrt(dx * dx + dy * dy);
  if (!(size > Real(0))) return Real(0);
  dx /= size, dy /= size;
  const Real by_n = G[0] + compliance + mu * (G[1] * dx + G[2] * dy);
  const Real by_d = dx * (G[3] + mu * (G[4] * dx + G[5] * dy)) + dy * (G[6] + mu * (G[7] * dx + G[8] * dy));
  const Real whole = by_n + soft.slip_lift * by_d + soft.slip_excess;
  const Real along = -(p_n + soft.slip_lift * (p_x * dx + p_y * dy));
  if (!(along > Real(0)) || !(whole > Real(0))) return Real(0);
  return greater(p_n + by_n * (along / whole), Real(0));
}

}  // namespace axion::solver
