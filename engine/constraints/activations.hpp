// Activations: states that follow controls, one step on.
//
//   integrator  w⁺ = w + h u        filter  w⁺ = w + (1 − exp(−h/T)) (u − w)
// u is the clamped control, which a step holds, so that both are exact and no step is too long for a filter. MuJoCo's
// `filterexact` is this filter; its `filter` takes h/T for 1 − exp(−h/T), which differs by half of its square. An
// actuator's law takes w of the start of a step, as MuJoCo's.
// In: control. Out: the activations behind it. Called at the end of a step, when nothing asks for the old ones.
#pragma once

#include "engine/constraints/motor_forces.hpp"

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

template <typename Real, typename Team>
AXION_HD_RARE void follow_controls(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   Real dt) {
  team.for_each(m.activation_count, [&](int i) {
    const model::ActivationData<Real>& activation = m.activations[i];
    Real& value = w.control[m.control_count + i];
    const Real u = clamp(w.control[activation.control], activation.lower, activation.upper);
    Real next = value;
    if (activation.kind == model::ActivationKind::kIntegrator) {
      next += dt * u;
    } else {
      next += (activation.time > 0 ? share_followed(dt / activation.time) : Real(1)) * (u - value);
    }
    value = clamp(next, activation.least, activation.most);
  });
}

}  // namespace axion::constraints
