// What stands for the active set of a step: which contacts press, stick and slide, which of them were met before it
// where they are soft, which limits push, which efforts are at a bound, and how the step was solved. Where two steps
// differ in it, the step is not differentiable between them.
//
// Of the last step of a world that was the first after a reset or a new state, so that its forces act for half of dt
// where it begins with half a step (constraints/force_steps.hpp), else for all of it. What presses with less than
// kLeastLoad of the weight of all bodies does not press. Torsional and rolling friction are not looked at.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "engine/base/hash.hpp"
#include "engine/constraints/motor_forces.hpp"
#include "engine/math/constants.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/step_settings.hpp"
#include "engine/world/world_view.hpp"

namespace axion::backend {

inline constexpr double kLeastLoad = 1e-8;  // of the impulse of gravity in a step
inline constexpr double kAtBound = 1e-6;    // of a bound: how near it what is at it comes

enum class BoundSide : std::uint8_t { kLower, kInside, kUpper };

inline BoundSide side_of(double value, double lower, double upper) {
  const double near = kAtBound * (upper - lower);
  if (!(value > lower + (std::isfinite(near) ? near : 0))) return BoundSide::kLower;
  return value < upper - (std::isfinite(near) ? near : 0) ? BoundSide::kInside : BoundSide::kUpper;
}

template <typename Real>
void add_contacts(const model::ModelView<Real>& m, const model::WorldView<Real>& w, double least, Hash& hash) {
  for (int i = 0; i < w.record->contact_count; ++i) {
    const Real* lambda = w.lambda_contact + 3 * i;
    if (!(static_cast<double>(lambda[0]) > least)) continue;
    const double friction = std::hypot(static_cast<double>(lambda[1]), static_cast<double>(lambda[2]));
    const double cone = static_cast<double>(w.contacts[i].friction) * static_cast<double>(lambda[0]);
    hash.add(std::uint64_t(std::uint32_t(w.contacts[i].pair)) << 32 | w.contacts[i].feature);
    hash.add(std::uint64_t(friction < (1 - kAtBound) * cone));
    if (m.is_soft) hash.add(std::uint64_t(w.contacts[i].gap < model::impedance_of_pair(m, w.contacts[i].pair).margin));
  }
}

// `h` is the time for which forces act. Dry friction that falls with the rate is at a bound where its axis moves: what
// the bound was is not known after the step.
template <typename Real>
void add_efforts(const model::ModelView<Real>& m, const model::WorldView<Real>& w, double h, double least_rate,
                 Hash& hash) {
  for (int e = 0; e < m.effort_count; ++e) {
    const model::EffortData<Real>& effort = m.efforts[e];
    double lower = -h * static_cast<double>(effort.friction_loss), upper = -lower;
    if (effort.actuator >= 0) {
      const model::ActuatorData<Real>& actuator = m.actuators[effort.actuator];
      lower = h * static_cast<double>(actuator.gear * actuator.effort_lower);
      upper = h * static_cast<double>(actuator.gear * actuator.effort_upper);
      if (upper < lower) std::swap(lower, upper);
    } else if (m.axes[effort.axis].static_friction > effort.friction_loss) {
      const double rate = static_cast<double>(w.axis_rate[effort.axis]);
      hash.add(std::uint64_t(side_of(rate, -least_rate, least_rate)));
      continue;
    }
    hash.add(std::uint64_t(side_of(static_cast<double>(w.lambda_joint[m.effort_base() + e]), lower, upper)));
  }
}

// Bounds of motors, alone and of all along an axis.
template <typename Real>
void add_motors(const model::ModelView<Real>& m, const model::WorldView<Real>& w, Hash& hash) {
  for (int a = 0; a < m.actuator_count; ++a) {
    const model::ActuatorData<Real>& actuator = m.actuators[a];
    if (actuator.kind != model::ActuatorKind::kMotor) continue;
    const Real force = w.gain_scale[actuator.control] * constraints::clamped_control(actuator, w.control_before);
    hash.add(std::uint64_t(side_of(static_cast<double>(force), static_cast<double>(actuator.effort_lower),
                                   static_cast<double>(actuator.effort_upper))));
  }
  for (int i = 0; i < m.axis_count; ++i) {
    const model::AxisData<Real>& axis = m.axes[i];
    double sum = 0;
    for (int k = axis.actuator_start; k < axis.actuator_start + axis.actuator_count; ++k) {
      if (m.actuators[k].kind != model::ActuatorKind::kMotor) continue;
      sum += static_cast<double>(constraints::effort_of_motor(w, m.actuators[k], w.control_before));
    }
    hash.add(
        std::uint64_t(side_of(sum, static_cast<double>(axis.motors_lower), static_cast<double>(axis.motors_upper))));
  }
}

template <typename Real>
std::uint64_t hash_of_active_set(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s) {
  double mass = 0;
  for (int b = 0; b < m.body_count; ++b) mass += static_cast<double>(m.bodies[b].mass * w.mass_scale[b]);
  const double dt = static_cast<double>(s.dt), least = kLeastLoad * mass * math::kGravity * dt;
  Hash hash;
  hash.add(std::uint64_t(w.record->joint_mode));
  add_contacts(m, w, least, hash);
  for (int i = 0; i < m.limit_count; ++i) {
    const bool pushes = static_cast<double>(w.lambda_joint[m.limit_base() + i]) > least;
    hash.add(std::uint64_t(pushes ? 2 + w.limit_side[i] : 0));
  }
  add_efforts(m, w, s.half_step_start ? dt / 2 : dt, static_cast<double>(s.velocity_tolerance), hash);
  add_motors(m, w, hash);
  return hash.value();
}

}  // namespace axion::backend
