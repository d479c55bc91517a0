// Coulomb friction of one contact, isotropic: |λ_f| ≤ c = μ λ_n, and λ_f = −c v_t/|v_t| where it slides.
//
// Both laws are given as one block E J_t Δu + C Δλ = −residual over (Δλ_n, Δλ_f):
// SCALAR_FIXED_POINT (seeds, section Friction). ψ = FB(|v_t|, r_t(c − |λ_f|)), W = r_t(|v_t| − ψ)/(r_t|λ_f| + ψ), the
//   row v_t + W λ_f = 0 with W held in the linearisation: E = 1, C = W. Symmetric. Held, W repels its own solution
//   where the bodies, held by joints and other contacts, give way to slip by less than half of r_t; `follow_slip` is
//   what then solves the same law, symmetric too: in the frame (d, t), d along the slip v_t − r_t λ_f, the row ψ(v_d,
//   r_t(c + λ_d)) = 0 linearised as normals are, with c held, and the row v_t + W λ_t = 0 with W held across it.
//   NATURAL_MAP (Alart and Curnier 1991), semismooth Newton on λ_f = proj_c(λ*), λ* = λ_f − v_t/r_t: stick |λ*| ≤ c:
//   J_t Δu = −v_t; slip, d = λ*/|λ*|, κ = min(1, c/|λ*|), P = 1 − d dᵀ:
//     r_t[(1 − κP)Δλ_f − μ d Δλ_n] + κP J_t Δu = −r_t(λ_f − c d).
// A contact whose cone is closed has λ_f = 0.
//
// In: v_t, λ_f, μ, λ_n and r_t of one contact. Out: the block, or the natural residual. Cost: some forty operations.
#pragma once

#include "engine/constraints/contact_function.hpp"
#include "engine/lanes/number.hpp"

namespace axion::constraints {

template <typename Real>
struct Vec2 {
  Real x, y;
};

template <typename Real>
struct FrictionBlock {
  Real left[4];        // E, row-major
  Real compliance[4];  // C on Δλ_f, row-major
  Real coupling[2];    // C on Δλ_n
  Real residual[2];    // m/s
};

// The greatest W in units of r_t: beyond it a row only says λ_f = 0.
inline constexpr double kFrictionComplianceBound = 1e5;

template <typename Real>
AXION_HD inline FrictionBlock<Real> released_friction(const Vec2<Real>& lambda, Real r_t) {
  return {{0, 0, 0, 0}, {r_t, 0, 0, r_t}, {0, 0}, {r_t * lambda.x, r_t * lambda.y}};
}

// W of the scalar law, at most kFrictionComplianceBound r_t.
template <typename Real>
AXION_HD inline Real friction_compliance(const Vec2<Real>& v, const Vec2<Real>& lambda, Real cone, Real r_t) {
  const Real speed = std::sqrt(v.x * v.x + v.y * v.y);
  const Real impulse = std::sqrt(lambda.x * lambda.x + lambda.y * lambda.y);
  const Real slack = r_t * (cone - impulse), s = std::sqrt(speed * speed + slack * slack);
  const Real psi = speed + slack > 0 ? Real(2) * speed * slack / (speed + slack + s) : speed + slack - s;
  Real denominator = r_t * impulse + psi;
  if (denominator < Real(1e-6) * r_t * cone) denominator = Real(1e-6) * r_t * cone;
  Real W = r_t * (speed - psi) / denominator;
  W = W > 0 ? W : Real(0);
  return W > Real(kFrictionComplianceBound) * r_t ? Real(kFrictionComplianceBound) * r_t : W;
}

template <typename Real>
AXION_HD inline FrictionBlock<Real> scalar_fixed_point(const Vec2<Real>& v, const Vec2<Real>& lambda, Real cone,
                                                       Real r_t) {
  const Real W = friction_compliance(v, lambda, cone, r_t);
  return {{1, 0, 0, 1}, {W, 0, 0, W}, {0, 0}, {v.x + W * lambda.x, v.y + W * lambda.y}};
}

// The direction d of slip, or of the slip that friction holds back.
template <typename Real>
AXION_HD inline Vec2<Real> slip_direction(const Vec2<Real>& v, const Vec2<Real>& lambda, Real r_t) {
  const Vec2<Real> star{v.x - r_t * lambda.x, v.y - r_t * lambda.y};
  const Real size = std::sqrt(star.x * star.x + star.y * star.y);
  return size > 0 ? Vec2<Real>{star.x / size, star.y / size} : Vec2<Real>{1, 0};
}

// The scalar law over (Δλ_d, Δλ_t), with rows along d = (d.x, d.y) and t = (−d.y, d.x).
template <typename Real>
AXION_HD inline FrictionBlock<Real> follow_slip(const Vec2<Real>& v, const Vec2<Real>& lambda, Real cone, Real r_t,
                                                const Vec2<Real>& d) {
  const Real W = friction_compliance(v, lambda, cone, r_t);
  const Real along = d.x * v.x + d.y * v.y, held = d.x * lambda.x + d.y * lambda.y;
  const Complementarity<Real> slip = fischer_burmeister(along, r_t * (cone + held));
  const Real across = d.x * v.y - d.y * v.x, turning = d.x * lambda.y - d.y * lambda.x;
  return {{1, 0, 0, 1}, {r_t * slip.beta_over_alpha, 0, 0, W}, {0, 0}, {slip.phi_over_alpha, across + W * turning}};
}

template <typename Real>
AXION_HD inline FrictionBlock<Real> natural_map(const Vec2<Real>& v, const Vec2<Real>& lambda, Real mu, Real cone,
                                                Real r_t) {
  const Vec2<Real> star{lambda.x - v.x / r_t, lambda.y - v.y / r_t};
  const Real size = std::sqrt(star.x * star.x + star.y * star.y);
  if (size <= cone) return {{1, 0, 0, 1}, {0, 0, 0, 0}, {0, 0}, {v.x, v.y}};
  const Vec2<Real> d{star.x / size, star.y / size};
  const Real kappa = cone / size;
  const Real kxx = kappa * d.y * d.y, kxy = -kappa * d.x * d.y, kyy = kappa * d.x * d.x;  // κ(1 − d dᵀ)
  return {{kxx, kxy, kxy, kyy},
          {r_t * (1 - kxx), -r_t * kxy, -r_t * kxy, r_t * (1 - kyy)},
          {-r_t * mu * d.x, -r_t * mu * d.y},
          {r_t * (lambda.x - cone * d.x), r_t * (lambda.y - cone * d.y)}};
}

// `closed` is the impulse below which a cone counts as closed.
template <typename Real>
AXION_HD inline FrictionBlock<Real> friction_block(model::FrictionModel law, const Vec2<Real>& v,
                                                   const Vec2<Real>& lambda, Real mu, Real lambda_n, Real r_t,
                                                   Real closed) {
  const Real cone = mu * (lambda_n > 0 ? lambda_n : Real(0));
  if (cone <= closed) return released_friction(lambda, r_t);
  if (law == model::FrictionModel::kScalarFixedPoint) return scalar_fixed_point(v, lambda, cone, r_t);
  return natural_map(v, lambda, mu, cone, r_t);
}

// |r_t (λ_f − proj_c(λ*))|², of the natural residual of either law, m²/s². Of one contact, or of one in each lane.
template <typename Number>
AXION_HD inline Number friction_residual_squared(const Vec2<Number>& v, const Vec2<Number>& lambda, const Number& cone,
                                                 const Number& r_t) {
  const Vec2<Number> held{r_t * lambda.x, r_t * lambda.y}, star{held.x - v.x, held.y - v.y};
  const Number limit = r_t * cone, size2 = star.x * star.x + star.y * star.y;
  const Number f = size2 > limit * limit ? limit / lanes::root(size2) : lanes::constant<Number>(1);
  const Number ex = held.x - f * star.x, ey = held.y - f * star.y;
  return ex * ex + ey * ey;
}

// The natural residual of either law, m/s.
template <typename Real>
AXION_HD inline Real friction_residual(const Vec2<Real>& v, const Vec2<Real>& lambda, Real cone, Real r_t) {
  return std::sqrt(friction_residual_squared(v, lambda, cone, r_t));
}

}  // namespace axion::constraints
