// Names and element types of engine.hpp.
#include <array>
#include <utility>

#include "engine/backend/text.hpp"
#include "engine/engine.hpp"

namespace axion {
namespace {

constexpr std::array<std::pair<Field, std::string_view>, kFieldCount> kFieldNames{{
    {Field::kBodyPose, "body_pose"},
    {Field::kBodyVelocity, "body_velocity"},
    {Field::kJointPosition, "joint_position"},
    {Field::kJointVelocity, "joint_velocity"},
    {Field::kJointImpulse, "joint_impulse"},
    {Field::kControl, "control"},
    {Field::kContactCount, "contact_count"},
    {Field::kOutcome, "outcome"},
    {Field::kTime, "time"},
    {Field::kStepIndex, "step_index"},
}};

}  // namespace

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

std::string_view field_name(Field field) {
  for (const auto& [value, name] : kFieldNames) {
    if (value == field) return name;
  }
  return "";
}

Result<Field> field_from_name(std::string_view name) {
  std::string known;
  for (const auto& [value, known_name] : kFieldNames) {
    if (known_name == name) return value;
    known += known.empty() ? "" : ", ";
    known += known_name;
  }
  return invalid_argument("outputs", backend::text("There is no field \"", name, "\"; the fields are ", known, "."));
}

}  // namespace axion
