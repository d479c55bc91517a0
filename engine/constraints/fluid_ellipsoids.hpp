// What a fluid does to an ellipsoid that moves and turns in it.
//
// With semi-axes r, v and ω the velocities of its centre against the fluid in its own axes, density ρ and viscosity μ:
//
//   added mass   F = p × ω,  T = p × v + l × ω,   p = ρ diag(m_A) v,  l = ρ diag(I_A) ω
//   Magnus       F = c_M ρ V ω × v,   V the volume
//   Kutta        F = c_K ρ cos α A (n × v) × v,   A the area that v sees, n normal to it, α between n and v
//   drag         F = −(3π μ D + ρ |v| (c_b A + c_s (A_max − A))) v,   D = 2/3 Σ r
//   turning      T = −(π μ D³ + ρ |w|) ω,   w_i = (c_a I_i + c_s (I_max − I_i)) ω_i
//
// I_i = 8π/15 r_i max(r_j, r_k)⁴. What added mass does to accelerations is left out, as there. Source: MuJoCo's
// documentation, Computation, Fluid forces, ellipsoid model, and its engine_passive.c; Andersen, Pesavento and Wang
// 2005, Analysis of transitions between fluttering, tumbling and steady descent of falling cards.
//
// Lift does no work: F·v + T·ω = 0 of added mass, Magnus and Kutta together with their torques. So over (v, ω) it is
// S(u) u with a skew matrix S, and a step takes
//
//   (M + h (Q + θ V) − h/2 S) u⁺ = (M + h/2 S) u* − h (1 − θ) V u⁻,
//
// Q and V as of boxes (fluid_forces.hpp) with the speeds of the step's start, S with the mean of u⁻ and u⁺, which three
// rounds approach. Lift then neither gives nor takes energy and drag only takes some, whatever h is.
#pragma once

#include "engine/math/constants.hpp"
#include "engine/math/mat3.hpp"
#include "engine/math/small_matrix.hpp"
#include "engine/model/model_data.hpp"

namespace axion::constraints {

// What Kutta's lift and drag take of the area that v sees.
template <typename Real>
struct SeenArea {
  Real area;                     // m^2
  math::Vec3<Real> circulation;  // cos α A (n × v), n of length one, m^3/s
};

template <typename Real>
AXION_HD_RARE SeenArea<Real> area_seen(const math::Vec3<Real>& r, const math::Vec3<Real>& v) {
  const Real speed = math::norm(v);
  if (!(speed > math::least_pivot<Real>())) return {0, {}};
  const math::Vec3<Real> u = (1 / speed) * v;
  const Real xy = r.x > r.y ? r.x : r.y, most = xy > r.z ? xy : r.z;
  const math::Vec3<Real> t = (1 / most) * r, s{t.y * t.z, t.z * t.x, t.x * t.y};
  const math::Vec3<Real> n = math::scale(math::scale(s, s), u);  // not of length one
  const Real square = math::dot(n, n), along = math::dot(n, u);
  if (!(square > 0)) return {0, {}};
  const Real area = Real(math::kPi) * most * most * std::sqrt(square / along);
  return {area, (area * speed * along / square) * math::cross(n, u)};
}

// Drag per velocity and per rate of turning, the same along all axes.
template <typename Real>
struct EllipsoidDrag {
  Real linear, angular;  // N s/m, N m s
};

template <typename Real>
AXION_HD_RARE EllipsoidDrag<Real> ellipsoid_drag(const model::FluidPartData<Real>& part, const math::Vec3<Real>& v,
                                                 const math::Vec3<Real>& omega) {
  const Real area = area_seen(part.radii, v).area;
  return {math::norm(v) * (part.area_drag * area + part.least_drag), math::norm(math::scale(part.angular_drag, omega))};
}

// Adds what lift does of a part that moves so, the skew matrix over (v, ω) of the body in its principal frame.
template <typename Real>
AXION_HD_RARE void add_lift(const model::FluidPartData<Real>& part, const math::Vec3<Real>& v,
                            const math::Vec3<Real>& omega, Real (&S)[6][6]) {
  // F = s × v + a × ω and T = a × v + b × ω in the part's axes.
  const math::Vec3<Real> s = part.magnus * omega + part.kutta * area_seen(part.radii, v).circulation;
  const math::Vec3<Real> a = math::scale(part.virtual_mass, v), b = math::scale(part.virtual_inertia, omega);
  const auto turned = [&](const math::Vec3<Real>& u) { return math::skew(math::rotate(part.q_CF, u)); };
  const math::Mat3<Real> P = math::skew(part.p_CF), s_C = turned(s), a_C = turned(a), b_C = turned(b);
  const math::Mat3<Real> vw = a_C + Real(-1) * (s_C * P), wv = a_C + P * s_C;
  const math::Mat3<Real> ww = b_C + P * a_C + Real(-1) * (a_C * P) + Real(-1) * (P * (s_C * P));
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      S[i][k] += s_C(i, k);
      S[i][3 + k] += vw(i, k);
      S[3 + i][k] += wv(i, k);
      S[3 + i][3 + k] += ww(i, k);
    }
  }
}

}  // namespace axion::constraints
