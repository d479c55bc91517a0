// Actuators and bounded efforts of a compiled model, as plain structs that a CPU and a GPU read alike (model_data.hpp).
#pragma once

#include <cstdint>

#include "engine/model/actuator_spec.hpp"
#include "engine/model/impedance.hpp"

namespace axion::model {

template <typename Real>
struct ActuatorData {
  ActuatorKind kind;
  int axis;     // -1 of a motor at a site
  int control;  // index in the control vector, the order that users see
  int input;    // what its law takes, in WorldState::control: the control, or an activation behind all controls
  Real gear, kp, kd;
  Real lower, upper;  // clamp of the control; ±infinity where there is none
  bool effort_limited;
  Real effort_lower, effort_upper;  // clamp of the effort before gear
  bool is_scaled;                   // the clamped control is taken as control_gain times itself and control_offset
  Real control_gain, control_offset;
  int curves;  // in ModelView::actuator_curves, -1 of a kind without
  bool operator==(const ActuatorData&) const = default;
};

// What the effort of an actuator follows (constraints/actuator_laws.hpp): an affine law, or a muscle's curves.
template <typename Real>
struct ActuatorCurves {
  Real gain[3], bias[3];
  Real L0, zero;  // of a muscle: its length is l/L0 + zero, in units of L0
  Real L0_per_s;  // m/s or rad/s, vmax of them
  Real force;
  Real lmin, lmax, fpmax, fvmax;
};

// A state that follows a control (constraints/activations.hpp); its place is behind the controls.
template <typename Real>
struct ActivationData {
  int control;
  ActivationKind kind;
  Real lower, upper;  // clamp of the control; ±infinity where there is none
  Real time;          // s
  Real least, most;   // of the activation, ±infinity where there is none
  bool is_early;      // it goes on before the step's forces, not after
  Real fall_time;     // s, of a muscle,
  Real smoothing;     // and the width of u − w over which one time passes into the other
};

// A row whose impulse is bounded both ways: dry friction, or a position or velocity drive with an effort limit.
template <typename Real>
struct EffortData {
  int axis;
  int actuator;                    // index into ModelView::actuators, -1 for dry friction
  Real friction_loss;              // greatest dry friction, N m or N
  ImpedanceData<Real> softness{};  // of dry friction in soft batches, without a spring; no mobility: it is rigid
  bool operator==(const EffortData&) const = default;
};

}  // namespace axion::model
