// Activations: states that follow controls, one step on.
//
//   integrator  w⁺ = w + h u        filter  w⁺ = w + (1 − exp(−h/T)) (u − w)
//   muscle      a filter of T(w), which is taken at the middle of the step that T(w⁻) leads to: second order
// u is the clamped control, which a step holds, so that both are exact and no step is too long for a filter. MuJoCo's
// `filterexact` is this filter; its `filter` takes h/T for 1 − exp(−h/T), which differs by half of its square. An
// actuator's law takes w of the start of a step, as MuJoCo's; an early one's w⁺. T of a muscle: MuJoCo's after Millard
// et al. 2013, Flexing computational muscle.
// In: control. Out: the activations behind it. Called at the start of a step for those that are early, at its end, when
// nothing asks for the old ones, for the others.
#pragma once

#include "engine/constraints/motor_forces.hpp"
#include "engine/constraints/parameters.hpp"

namespace axion::constraints {

// 1 − exp(−x), x ≥ 0: its series at x/2ⁿ ≤ 1/2, then 1 − (1 − e)² = e (2 − e) n times. The same bits on every machine.
template <typename Real>
AXION_HD inline Real share_followed(Real x) {
  if (!(x < Real(40))) return 1;
  int halvings = 0;
  while (x > Real(0.5)) x /= 2, ++halvings;
  Real sum = 0;
  for (int k = 16; k > 1; --k) sum = x / Real(k) * (1 - sum);
  Real e = x * (1 - sum);
  for (; halvings > 0; --halvings) e = e * (2 - e);
  return e;
}

// T of a muscle at w, whose control is u.
template <typename Real>
AXION_HD inline Real muscle_time(const model::ActivationData<Real>& activation, Real u, Real w) {
  const Real scale =
      Real(MuscleParameters::kRestTime) + Real(MuscleParameters::kActiveTime) * clamp(w, Real(0), Real(1));
  const Real rise = activation.time * scale, fall = activation.fall_time / scale;
  if (!(activation.smoothing > 0)) return u > w ? rise : fall;
  const Real x = clamp((u - w) / activation.smoothing + Real(0.5), Real(0), Real(1));
  return fall + (rise - fall) * (x * x * x * (x * (6 * x - 15) + 10));
}

template <typename Real>
AXION_HD inline Real muscle_after(const model::ActivationData<Real>& activation, Real u, Real w, Real dt) {
  const auto share = [&](Real time, Real h) { return time > 0 ? share_followed(h / time) : Real(1); };
  const Real middle = w + share(muscle_time(activation, u, w), dt / 2) * (u - w);
  return w + share(muscle_time(activation, u, middle), dt) * (u - w);
}

template <typename Real, typename Team>
AXION_HD_RARE void follow_controls(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   Real dt, bool early) {
  team.for_each(m.activation_count, [&](int i) {
    const model::ActivationData<Real>& activation = m.activations[i];
    if (activation.is_early != early) return;
    Real& value = w.control[m.control_count + i];
    const Real u = clamp(w.control[activation.control], activation.lower, activation.upper);
    Real next = value;
    if (activation.kind == model::ActivationKind::kIntegrator) {
      next += dt * u;
    } else if (activation.kind == model::ActivationKind::kMuscle) {
      next = muscle_after(activation, u, value, dt);
    } else {
      next += (activation.time > 0 ? share_followed(dt / activation.time) : Real(1)) * (u - value);
    }
    value = clamp(next, activation.least, activation.most);
  });
}

}  // namespace axion::constraints
