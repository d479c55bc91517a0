// Coulomb friction within a disc, isotropic: |λ_f| ≤ c, and λ_f = −c v_t/|v_t| where it slides. The disc of a contact
// has the radius c = μ λ_n, that of rolling friction c = μ_r λ_n.
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
// In: v_t, λ_f, c, and r_t of one unit. Out: the block, the natural residual, or its impulse alone. Cost: some
// forty operations.
#pragma once

#include "engine/laws/contact_function.hpp"
#include "engine/laws/step_rules.hpp"
#include "engine/laws/unit_law.hpp"
#include "engine/math/constants.hpp"
#include "engine/model/row.hpp"

namespace axion::laws {

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

// The step of friction alone, all other impulses held but that of the first row, which changes by dn: sticking where
// the disc allows it, λ_t⁺ = λ_t − G_tt⁻¹ (v_t + G_tn dn), else the point of the disc nearest to a step with the
// greatest eigenvalue of G_tt. `block`: what sweeps divide by.
template <typename Number>
struct SweptBlock {
  const Number *G, *inverse;  // the unit's block of J V Jᵀ; inverses (invert_swept_block)
};

template <typename Number>
AXION_HD AXION_INLINED inline Triple<Number> solve_disc_alone(const SweptBlock<Number>& block, const Number& n,
                                                              const Number& radius, const Triple<Number>& v,
                                                              const Triple<Number>& last) {
  const Number *G = block.G, *inverse = block.inverse;
  const Number dn = n - last.n, vx = v.x + G[3] * dn, vy = v.y + G[6] * dn, zero{};
  const Number held_x = last.x - (G[8] * vx - G[5] * vy) * inverse[2];
  const Number held_y = last.y - (G[4] * vy - G[7] * vx) * inverse[2];
  const auto holds = (inverse[2] > zero) & (held_x * held_x + held_y * held_y <= radius * radius);
  if constexpr (std::is_same_v<std::remove_cv_t<decltype(holds)>, int>) {  // of one unit: nothing else is needed
    if (holds) return {n, held_x, held_y};
  }
  const Number x = last.x - vx * inverse[1], y = last.y - vy * inverse[1], size = lanes::root<Number>(x * x + y * y);
  const Number share = size > radius ? radius / size : lanes::constant<Number>(1);
  return {n, holds ? held_x : share * x, holds ? held_y : share * y};
}

// Moves friction l[0], l[1] to the disc.
template <typename Real>
AXION_HD inline void project_on_disc(Real radius, Real* l) {
  const Real square = l[0] * l[0] + l[1] * l[1];
  if (!(square > radius * radius)) return;
  const Real share = radius / std::sqrt(square);
  l[0] *= share, l[1] *= share;
}

// A unit of three rows as Newton's matrix takes it: what it reads, and what it writes.
template <typename Real>
struct LinearisedUnit {
  const Real *residual, *lambda;
  model::Row<Real>* row;   // turned where friction follows slip
  Real *rhs, *compliance;  // of each row
  Real *gain, *offset;     // G and e of Δλ = −(e + G J Δu), 9 and 3, for direct solvers
};

// Turns both tangent rows to run along d and across it.
template <typename Real>
AXION_HD inline void turn_tangents(model::Row<Real>* row, const Vec2<Real>& d) {
  const model::Row<Real> first = row[0], second = row[1];
  row[0] = {d.x * first.l + d.y * second.l, d.x * first.k_a + d.y * second.k_a, d.x * first.k_b + d.y * second.k_b};
  row[1] = {d.x * second.l - d.y * first.l, d.x * second.k_a - d.y * first.k_a, d.x * second.k_b - d.y * first.k_b};
}

// The block of a disc of the radius μ λ_n. Its rows are turned where friction follows slip. A closed disc keeps its row
// where the operator has to stay symmetric: a compliance so large that the row only says λ_f = 0. Its right-hand side
// is that alone: with v, λ_f would stay at v/gain, which rigid tolerances see.
template <typename Real>
AXION_HD inline FrictionBlock<Real> linearise_disc(const StepRules<Real>& rules, const LinearisedUnit<Real>& unit,
                                                   Real mu, Real lambda_n, Real r_t) {
  const Vec2<Real> v{unit.residual[1], unit.residual[2]}, lambda{unit.lambda[1], unit.lambda[2]};
  const Real closed = Real(1e-9 * math::kGravity) * rules.s.dt / r_t;
  FrictionBlock<Real> f = friction_block(rules.s.friction_model, v, lambda, mu, lambda_n, r_t, closed);
  const bool released = f.left[0] == 0 && f.left[1] == 0 && f.left[3] == 0;
  if (rules.follows_slip && !released) {
    const Vec2<Real> d = slip_direction(v, lambda, r_t);
    f = follow_slip(v, lambda, mu * lambda_n, r_t, d);
    turn_tangents(unit.row + 1, d);
  }
  if (released && rules.symmetric) {
    const Real gain = Real(kReleaseGain) * r_t;
    f = {{1, 0, 0, 1}, {gain, 0, 0, gain}, {0, 0}, {gain * lambda.x, gain * lambda.y}};
  }
  return f;
}

// C₃ is lower block triangular: the normal row alone, then the tangents with the effect of the normal impulse on their
// cone. Puts the rows' right-hand side and diagonal, and where the solver is direct, G = C₃⁻¹E₃ and e = C₃⁻¹r₃. The
// first row's right-hand side and compliance stand in the unit.
template <typename Real>
AXION_HD inline void put_friction(const FrictionBlock<Real>& f, Real proximal, bool symmetric,
                                  const LinearisedUnit<Real>& unit) {
  unit.rhs[1] = f.residual[0], unit.rhs[2] = f.residual[1];
  unit.compliance[1] = f.compliance[0] + proximal, unit.compliance[2] = f.compliance[3] + proximal;
  if (symmetric) return;
  Real *G = unit.gain, *e = unit.offset;
  const Real n_inverse = Real(1) / unit.compliance[0];
  const Real a = f.compliance[0] + proximal, b = f.compliance[1], c = f.compliance[2], d = f.compliance[3] + proximal;
  const Real det = Real(1) / (a * d - b * c);
  const Real inverse[4] = {det * d, -det * b, -det * c, det * a};
  e[0] = n_inverse * unit.rhs[0];
  G[0] = n_inverse, G[1] = G[2] = 0;
  const Real t[2] = {f.residual[0] - f.coupling[0] * e[0], f.residual[1] - f.coupling[1] * e[0]};
  for (int k = 0; k < 2; ++k) {
    const Real* inv = inverse + 2 * k;
    e[1 + k] = inv[0] * t[0] + inv[1] * t[1];
    G[3 + 3 * k] = -(inv[0] * f.coupling[0] + inv[1] * f.coupling[1]) * n_inverse;
    G[4 + 3 * k] = inv[0] * f.left[0] + inv[1] * f.left[2];
    G[5 + 3 * k] = inv[0] * f.left[1] + inv[1] * f.left[3];
  }
}

}  // namespace axion::laws
