// Efforts of actuators whose law is a curve of length and rate, and the slopes by which a step follows them.
//
//   affine  f = (g₀ + g₁ l + g₂ l̇) u + b₀ + b₁ l + b₂ l̇
//   muscle  f = −F (FL(L) FV(V) u + FP(L)),  L = l/L₀ + zero,  V = l̇/(L₀ v_max)
// FL is a bump of four parabolas on [l_min, l_max], 1 at L = 1; FV a parabola from 0 at V = −1 through 1 at rest to
// f_vmax at V = f_vmax − 1; FP a parabola from L = 1 on, f_pmax/2 at half of the way to l_max, and straight beyond.
// These are MuJoCo's. l = gear s, and the effort along s is gear f.
//
// A step takes f + ∂f/∂l Δl + ∂f/∂l̇ Δl̇ of its start, each slope where it holds back (a spring, a damper); one that
// drives, as a muscle beyond its best length, acts by f alone. A force at its bounds has no slopes. In: state,
// controls.
#pragma once

#include "engine/constraints/motor_forces.hpp"

namespace axion::constraints {

// Along s: the effort with its gear, and −∂/∂s and −∂/∂ṡ of it, both at least 0.
template <typename Real>
struct CurvedEffort {
  Real force, stiffness, damping;
};

// A curve and its slope.
template <typename Real>
struct CurvePoint {
  Real value, slope;
};

template <typename Real>
AXION_HD inline CurvePoint<Real> active_length(const model::ActuatorCurves<Real>& c, Real L) {
  if (!(L > c.lmin) || !(L < c.lmax)) return {0, 0};
  const Real a = (c.lmin + 1) / 2, b = (1 + c.lmax) / 2;
  const Real edge = L < 1 ? c.lmin : c.lmax, width = L < 1 ? 1 - a : b - 1;  // of each of a side's two parabolas
  const bool outer = L < a || L > b;
  const Real x = (L < 1 ? Real(1) : Real(-1)) * (outer ? L - edge : 1 - L) / width;
  const Real sign = L < 1 ? Real(1) : Real(-1);
  if (outer) return {x * x / 2, sign * x / width};
  return {1 - x * x / 2, sign * x / width};
}

template <typename Real>
AXION_HD inline CurvePoint<Real> active_rate(const model::ActuatorCurves<Real>& c, Real V) {
  const Real y = c.fvmax - 1;
  if (!(V > -1)) return {0, 0};
  if (!(V > 0)) return {(V + 1) * (V + 1), 2 * (V + 1)};
  if (!(V < y)) return {c.fvmax, 0};
  return {c.fvmax - (y - V) * (y - V) / y, 2 * (y - V) / y};
}

template <typename Real>
AXION_HD inline CurvePoint<Real> passive_length(const model::ActuatorCurves<Real>& c, Real L) {
  const Real width = (c.lmax - 1) / 2;
  if (!(L > 1)) return {0, 0};
  const Real x = (L - 1) / width;
  if (x <= 1) return {c.fpmax * x * x / 2, c.fpmax * x / width};
  return {c.fpmax * (x - Real(0.5)), c.fpmax / width};
}

// f before gear, and −∂f/∂l, −∂f/∂l̇ of either sign.
template <typename Real>
AXION_HD_RARE CurvedEffort<Real> follow_curves(const model::ActuatorCurves<Real>& c, model::ActuatorKind kind, Real l,
                                               Real rate, Real u) {
  if (kind == model::ActuatorKind::kAffine) {
    return {(c.gain[0] + c.gain[1] * l + c.gain[2] * rate) * u + c.bias[0] + c.bias[1] * l + c.bias[2] * rate,
            -(c.gain[1] * u + c.bias[1]), -(c.gain[2] * u + c.bias[2])};
  }
  const Real L = l / c.L0 + c.zero;
  const CurvePoint<Real> fl = active_length(c, L), fv = active_rate(c, rate / c.L0_per_s), fp = passive_length(c, L);
  return {-c.force * (fl.value * fv.value * u + fp.value), c.force * (fl.slope * fv.value * u + fp.slope) / c.L0,
          c.force * fl.value * fv.slope * u / c.L0_per_s};
}

// Effort before gear within its bounds, at l and l̇ of s and ṡ.
template <typename Real>
AXION_HD_RARE Real force_by_curves(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::ActuatorData<Real>& actuator, Real s, Real rate, Real control) {
  const Real gear = actuator.gear;
  const Real f = follow_curves(m.actuator_curves[actuator.curves], actuator.kind, gear * s, gear * rate, control).force;
  return clamp(w.gain_scale[actuator.control] * f, actuator.effort_lower, actuator.effort_upper);
}

template <typename Real>
AXION_HD_RARE CurvedEffort<Real> effort_by_curves(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                                  const model::ActuatorData<Real>& actuator, Real s, Real rate,
                                                  Real control) {
  const Real gear = actuator.gear, gain = w.gain_scale[actuator.control];
  CurvedEffort<Real> f =
      follow_curves(m.actuator_curves[actuator.curves], actuator.kind, gear * s, gear * rate, control);
  const Real whole = gain * f.force, force = clamp(whole, actuator.effort_lower, actuator.effort_upper);
  if (force != whole || !(f.stiffness > 0)) f.stiffness = 0;
  if (force != whole || !(f.damping > 0)) f.damping = 0;
  return {gear * force, gain * gear * gear * f.stiffness, gain * gear * gear * f.damping};
}

}  // namespace axion::constraints
