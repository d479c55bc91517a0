#include "server/rpc/field_names.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "server/rpc/tensor.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

const char* description(Field field) {
  switch (field) {
    case Field::kBodyPose:
      return "x y z (m), then quaternion w x y z, of the body frame in the world";
    case Field::kBodyVelocity:
      return "linear velocity of the centre of mass (m/s), then angular (rad/s), world frame";
    case Field::kJointPosition:
      return "joint coordinates: free x y z w x y z, ball w x y z, axis rad or m";
    case Field::kJointVelocity:
      return "joint rates: free as body_velocity, ball rad/s in the parent, axis rad/s or m/s";
    case Field::kJointImpulse:
      return "last step's impulse on the child (N s), then torque part about its centre of mass";
    case Field::kControl:
      return "last control applied, in the order of the actuators";
    case Field::kContactCount:
      return "contacts of the last step";
    case Field::kOutcome:
      return "bits of Outcome of the last step request";
    case Field::kTime:
      return "simulated time, s";
    case Field::kStepIndex:
      return "steps since the last reset";
  }
  return "";
}

std::string known_fields(bool with_snapshot) {
  std::vector<std::string> names;
  names.reserve(kFieldCount + 1);
  for (int field = 0; field < kFieldCount; ++field) names.emplace_back(field_name(static_cast<Field>(field)));
  if (with_snapshot) names.emplace_back(kSnapshotName);
  return known_names(names);
}

void add_field(Field field, v1::DType dtype, const std::vector<std::int64_t>& shape, v1::FieldInfo& message) {
  message.set_name(std::string(field_name(field)));
  message.set_dtype(dtype);
  message.mutable_shape()->Assign(shape.begin(), shape.end());
  message.set_description(description(field));
}

}  // namespace

void fill_model_fields(const ModelInfo& info, v1::Model& message) {
  const auto bodies = static_cast<std::int64_t>(info.bodies.size());
  const auto joints = static_cast<std::int64_t>(info.joints.size());
  const auto controls = static_cast<std::int64_t>(info.actuators.size());
  const auto add = [&](Field field, v1::DType dtype, const std::vector<std::int64_t>& shape) {
    add_field(field, dtype, shape, *message.add_fields());
  };
  constexpr v1::DType kReal = v1::DTYPE_UNSPECIFIED;  // the precision of the batch
  add(Field::kBodyPose, kReal, {bodies, 7});
  add(Field::kBodyVelocity, kReal, {bodies, 6});
  add(Field::kJointPosition, kReal, {info.joint_position_count});
  add(Field::kJointVelocity, kReal, {info.joint_velocity_count});
  add(Field::kJointImpulse, kReal, {joints, 6});
  add(Field::kControl, kReal, {controls});
  add(Field::kContactCount, v1::DTYPE_INT32, {});
  add(Field::kOutcome, v1::DTYPE_UINT32, {});
  add(Field::kTime, v1::DTYPE_FLOAT64, {});
  add(Field::kStepIndex, v1::DTYPE_INT64, {});
}

void fill_batch_fields(const schedule::BatchInfo& info, v1::Batch& message) {
  for (const schedule::FieldShape& shape : info.fields) {
    add_field(shape.field, to_wire(shape.dtype), shape.shape, *message.add_fields());
  }
}

absl::StatusOr<std::vector<Field>> fields_of(absl::string_view path,
                                             const google::protobuf::RepeatedPtrField<std::string>& names,
                                             bool* snapshot) {
  std::vector<Field> fields;
  for (int i = 0; i < names.size(); ++i) {
    const std::string at = absl::StrCat(path, "[", i, "]");
    if (names[i] == kSnapshotName) {
      if (snapshot == nullptr) return schedule::invalid_field(at, "\"snapshot\" is read by GetState, between steps");
      if (*snapshot) return schedule::invalid_field(at, "\"snapshot\" is named twice");
      *snapshot = true;
      continue;
    }
    const Result<Field> field = field_from_name(names[i]);
    if (!field.ok()) {
      return schedule::invalid_field(at, absl::StrCat("\"", schedule::shown(names[i]), "\" is not a field of a batch; ",
                                                      known_fields(snapshot != nullptr)));
    }
    if (std::find(fields.begin(), fields.end(), field.value()) != fields.end()) {
      return schedule::invalid_field(at, absl::StrCat("\"", schedule::shown(names[i]), "\" is named twice"));
    }
    fields.push_back(field.value());
  }
  return fields;
}

std::string known_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  if (names.empty()) return "there are none";
  const std::size_t shown = std::min(names.size(), kMost);
  std::string text = absl::StrCat(
      "there are ", absl::StrJoin(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (shown < names.size()) absl::StrAppend(&text, " and ", names.size() - shown, " more");
  return text;
}

}  // namespace axion::server::rpc
