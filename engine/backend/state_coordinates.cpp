// The names and units of what linearisations are in (engine.hpp).
#include <string>
#include <string_view>
#include <utility>

#include "engine/engine.hpp"

namespace axion {

std::vector<StateCoordinate> state_coordinates(const ModelInfo& info) {
  std::vector<StateCoordinate> position;
  for (std::size_t j = 0; j < info.joints.size(); ++j) {
    const JointInfo& joint = info.joints[j];
    const std::string name = joint.name.empty() ? "joints[" + std::to_string(j) + "]" : joint.name;
    const auto add = [&](const std::string& part, bool turns) {
      position.push_back({CoordinateKind::kPosition, name + part, static_cast<int>(j), -1, turns ? "rad" : "m"});
    };
    if (joint.velocity_count == 0) continue;
    if (joint.kind == model::JointKind::kFree) {
      for (const char* part : {".x", ".y", ".z"}) add(part, false);
    }
    if (joint.kind != model::JointKind::kAxes) {
      for (const char* part : {".rx", ".ry", ".rz"}) add(part, true);
    }
    for (std::size_t k = 0; joint.kind == model::JointKind::kAxes && k < joint.axes.size(); ++k) {
      const model::AxisSpec& axis = joint.axes[k];
      const std::string part = axis.name.empty() ? "[" + std::to_string(k) + "]" : "." + axis.name;
      add(joint.axes.size() > 1 ? part : "", axis.kind == model::AxisKind::kHinge);
    }
  }
  std::vector<StateCoordinate> coordinates = position;
  for (StateCoordinate& rate : position) {
    rate.kind = CoordinateKind::kVelocity;
    rate.unit = rate.unit == std::string_view("m") ? "m/s" : "rad/s";
    coordinates.push_back(std::move(rate));
  }
  for (std::size_t i = 0; i < info.actuators.size(); ++i) {
    const model::ActuatorSpec& actuator = info.actuators[i];
    if (actuator.activation == model::ActivationKind::kNone) continue;
    const std::string name = actuator.name.empty() ? "actuators[" + std::to_string(i) + "]" : actuator.name;
    coordinates.push_back({CoordinateKind::kActivation, name, -1, static_cast<int>(i), "1"});
  }
  return coordinates;
}

}  // namespace axion
