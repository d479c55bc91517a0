#include "engine/model/compile_actuators.hpp"

#include <algorithm>
#include <limits>

namespace axion::model {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The control's range bounds what the activation follows, not the activation. A muscle follows what is in [0, 1].
void add_activation(const ActuatorSpec& spec, ModelArrays<double>& arrays, ActuatorData<double>& actuator) {
  const bool limited = spec.activation_limited, is_muscle = spec.activation == ActivationKind::kMuscle;
  actuator.input = arrays.control_count + static_cast<int>(arrays.activations.size());
  ActivationData<double> activation{};
  activation.control = actuator.control, activation.kind = spec.activation;
  activation.lower = is_muscle ? std::clamp(actuator.lower, 0.0, 1.0) : actuator.lower;
  activation.upper = is_muscle ? std::clamp(actuator.upper, 0.0, 1.0) : actuator.upper;
  activation.time = spec.activation_time, activation.fall_time = spec.deactivation_time;
  activation.smoothing = spec.activation_smoothing;
  activation.least = limited ? spec.activation_lower : -kInfinity;
  activation.most = limited ? spec.activation_upper : kInfinity;
  activation.is_early = spec.activation_early;
  arrays.activations.push_back(activation);
  actuator.lower = -kInfinity, actuator.upper = kInfinity;
}

ActuatorCurves<double> curves_of(const ActuatorSpec& spec) {
  ActuatorCurves<double> curves{};
  std::copy(spec.gain.begin(), spec.gain.end(), curves.gain);
  std::copy(spec.bias.begin(), spec.bias.end(), curves.bias);
  const MuscleSpec& muscle = spec.muscle;
  curves.L0 = (muscle.length_upper - muscle.length_lower) / (muscle.range_upper - muscle.range_lower);
  curves.zero = muscle.range_lower - muscle.length_lower / curves.L0;
  curves.L0_per_s = curves.L0 * muscle.vmax, curves.force = muscle.force;
  curves.lmin = muscle.lmin, curves.lmax = muscle.lmax, curves.fpmax = muscle.fpmax, curves.fvmax = muscle.fvmax;
  return curves;
}

}  // namespace

void bound_motors(const ForceRangeSpec& motors, AxisData<double>& axis) {
  axis.motors_lower = motors.limited ? motors.lower : -kInfinity;
  axis.motors_upper = motors.limited ? motors.upper : kInfinity;
}

void add_actuators(CompiledModel& model, const std::function<int(const ActuatorSpec&)>& axis_of) {
  const SceneSpec& scene = model.welded.scene;
  ModelArrays<double>& arrays = model.arrays;
  arrays.control_count = static_cast<int>(scene.actuators.size());
  for (std::size_t i = 0; i < scene.actuators.size(); ++i) {
    const ActuatorSpec& spec = scene.actuators[i];
    ActuatorData<double> actuator{};
    actuator.kind = spec.kind, actuator.control = static_cast<int>(i);
    actuator.axis = axis_of(spec);
    actuator.gear = spec.gear, actuator.kp = spec.kp, actuator.kd = spec.kd;
    actuator.lower = spec.control_limited ? spec.control_lower : -kInfinity;
    actuator.upper = spec.control_limited ? spec.control_upper : kInfinity;
    actuator.effort_limited = spec.effort_limited && !has_curves(spec.kind);  // those are clamped with their law
    actuator.effort_lower = spec.effort_limited ? spec.effort_lower : -kInfinity;
    actuator.effort_upper = spec.effort_limited ? spec.effort_upper : kInfinity;
    actuator.control_gain = spec.control_gain, actuator.control_offset = spec.control_offset;
    actuator.input = actuator.control;
    if (spec.activation != ActivationKind::kNone) add_activation(spec, arrays, actuator);
    actuator.is_scaled = spec.control_gain != 1 || spec.control_offset != 0;
    actuator.curves = has_curves(spec.kind) ? static_cast<int>(arrays.actuator_curves.size()) : -1;
    if (has_curves(spec.kind)) arrays.actuator_curves.push_back(curves_of(spec));
    arrays.actuators.push_back(actuator);
  }
  auto& actuators = arrays.actuators;
  std::stable_sort(actuators.begin(), actuators.end(), [](auto& a, auto& b) { return a.axis < b.axis; });
  for (std::size_t i = actuators.size(); i-- > 0 && actuators[i].axis >= 0;) {
    AxisData<double>& axis = arrays.axes[static_cast<std::size_t>(actuators[i].axis)];
    axis.actuator_start = static_cast<int>(i);
    ++axis.actuator_count;
  }
}

}  // namespace axion::model
