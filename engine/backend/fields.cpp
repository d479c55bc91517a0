// Names and element types of engine.hpp.
#include <algorithm>
#include <string>
#include <string_view>

#include "engine/backend/text.hpp"
#include "engine/engine.hpp"

namespace axion {
std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
    case DType::kInt32:
    case DType::kUint32:
      return 4;
    case DType::kFloat64:
    case DType::kInt64:
      return 8;
  }
  return 0;
}

std::vector<std::int64_t> field_shape(const ModelInfo& info, Field field) {
  const FieldDescription& description = description_of(field);
  const auto count = [&]() -> std::int64_t {
    switch (description.of) {
      case FieldOf::kWorld:
        return 1;
      case FieldOf::kBodies:
        return static_cast<std::int64_t>(info.bodies.size());
      case FieldOf::kJointPositions:
        return info.joint_position_count;
      case FieldOf::kJointVelocities:
        return info.joint_velocity_count;
      case FieldOf::kJoints:
        return static_cast<std::int64_t>(info.joints.size());
      case FieldOf::kControls:
        return static_cast<std::int64_t>(info.actuators.size());
      case FieldOf::kActivations:
        return std::count_if(info.actuators.begin(), info.actuators.end(), [](const model::ActuatorSpec& actuator) {
          return actuator.activation != model::ActivationKind::kNone;
        });
      case FieldOf::kMocaps:
        return static_cast<std::int64_t>(info.mocaps.size());
      case FieldOf::kSensors:
        return info.sensor_size;
    }
    return 0;
  };
  std::vector<std::int64_t> shape;
  if (description.of != FieldOf::kWorld) shape.push_back(count());
  if (description.width > 1) shape.push_back(description.width);
  return shape;
}

std::vector<std::int64_t> parameter_shape(const ModelInfo& info, Parameter parameter) {
  const ParameterDescription& description = description_of(parameter);
  const auto count = [&]() -> std::size_t {
    std::size_t axes = 0;
    switch (description.of) {
      case ParameterOf::kWorld:
        return 1;
      case ParameterOf::kBodies:
        return info.bodies.size();
      case ParameterOf::kAxes:
        for (const JointInfo& joint : info.joints) {
          if (joint.kind == model::JointKind::kAxes && !joint.closes_loop) axes += joint.axes.size();
        }
        return axes;
      case ParameterOf::kShapes:
        return info.shapes.size();
      case ParameterOf::kActuators:
        return info.actuators.size();
    }
    return 0;
  };
  std::vector<std::int64_t> shape;
  if (description.of != ParameterOf::kWorld) shape.push_back(static_cast<std::int64_t>(count()));
  if (description.width > 1) shape.push_back(description.width);
  return shape;
}

Result<Parameter> parameter_from_name(std::string_view name) {
  std::string known;
  for (int i = 0; i < kParameterCount; ++i) {
    if (kParameters[i].name == name) return static_cast<Parameter>(i);
    known += known.empty() ? "" : ", ";
    known += kParameters[i].name;
  }
  return invalid_argument("parameters",
                          backend::text("There is no parameter \"", name, "\"; the parameters are ", known, "."));
}

std::string_view field_name(Field field) { return description_of(field).name; }

Result<Field> field_from_name(std::string_view name) {
  std::string known;
  for (int i = 0; i < kFieldCount; ++i) {
    if (kFields[i].name == name) return static_cast<Field>(i);
    known += known.empty() ? "" : ", ";
    known += kFields[i].name;
  }
  return invalid_argument("outputs", backend::text("There is no field \"", name, "\"; the fields are ", known, "."));
}

}  // namespace axion
