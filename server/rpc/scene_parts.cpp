#include "server/rpc/scene_parts.hpp"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "server/schedule/failure.hpp"

namespace axion::server::rpc {

using schedule::invalid_field;

void fill_vec3(const model::Vec3d& value, v1::Vec3& message) {
  message.set_x(value[0]);
  message.set_y(value[1]);
  message.set_z(value[2]);
}

void fill_inertia(const std::array<double, 6>& value, v1::Inertia& message) {
  message.set_xx(value[0]);
  message.set_yy(value[1]);
  message.set_zz(value[2]);
  message.set_xy(value[3]);
  message.set_xz(value[4]);
  message.set_yz(value[5]);
}

void fill_mesh(const model::MeshSpec& mesh, v1::MeshSpec& message) {
  message.set_name(mesh.name);
  for (const model::Vec3d& vertex : mesh.vertices) fill_vec3(vertex, *message.add_vertices());
}

void fill_height_field(const model::HeightFieldSpec& field, v1::HeightFieldSpec& message) {
  message.set_name(field.name);
  message.set_columns(field.columns), message.set_rows(field.rows);
  message.set_half_x(field.half_x), message.set_half_y(field.half_y), message.set_base(field.base);
  message.mutable_heights()->Assign(field.heights.begin(), field.heights.end());
}

void fill_keyframe(const model::KeyframeSpec& keyframe, v1::KeyframeSpec& message) {
  message.set_name(keyframe.name);
  message.set_time(keyframe.time);
  message.mutable_joint_position()->Assign(keyframe.joint_position.begin(), keyframe.joint_position.end());
  message.mutable_joint_velocity()->Assign(keyframe.joint_velocity.begin(), keyframe.joint_velocity.end());
  message.mutable_control()->Assign(keyframe.control.begin(), keyframe.control.end());
  message.mutable_activation()->Assign(keyframe.activation.begin(), keyframe.activation.end());
  message.mutable_mocap_pose()->Assign(keyframe.mocap_pose.begin(), keyframe.mocap_pose.end());
}

void fill_contact_sensor(const model::ContactSensorSpec& contact, v1::ContactSensorSpec& message) {
  const auto side = [](const model::ContactSideSpec& from, v1::ContactSide& to) {
    to.set_kind(static_cast<v1::ContactSideKind>(from.kind));
    to.set_index(from.index);
  };
  side(contact.first, *message.mutable_first());
  side(contact.second, *message.mutable_second());
  message.set_reduction(static_cast<v1::ContactReduction>(contact.reduction));
  message.set_slots(contact.slots);
  const auto has = [&](model::ContactDatum datum) { return (contact.data >> static_cast<int>(datum) & 1) != 0; };
  message.set_found(has(model::ContactDatum::kFound));
  message.set_force(has(model::ContactDatum::kForce));
  message.set_torque(has(model::ContactDatum::kTorque));
  message.set_dist(has(model::ContactDatum::kDist));
  message.set_pos(has(model::ContactDatum::kPos));
  message.set_normal(has(model::ContactDatum::kNormal));
  message.set_tangent(has(model::ContactDatum::kTangent));
}

absl::StatusOr<model::ContactSensorSpec> to_contact_sensor(const std::string& path,
                                                           const v1::ContactSensorSpec& message) {
  model::ContactSensorSpec contact;
  const auto side = [&](const char* leaf, const v1::ContactSide& from, model::ContactSideSpec& to) {
    if (!v1::ContactSideKind_IsValid(from.kind())) {
      return invalid_field(absl::StrCat(path, ".", leaf, ".kind"),
                           absl::StrCat("is ", from.kind(), ", which is no kind"));
    }
    to = {static_cast<model::ContactSideKind>(from.kind()), from.index()};
    return absl::OkStatus();
  };
  absl::Status status = side("first", message.first(), contact.first);
  status.Update(side("second", message.second(), contact.second));
  if (!status.ok()) return status;
  if (!v1::ContactReduction_IsValid(message.reduction())) {
    return invalid_field(absl::StrCat(path, ".reduction"), absl::StrCat("is ", message.reduction(), ", which is none"));
  }
  contact.reduction = static_cast<model::ContactReduction>(message.reduction());
  if (message.has_slots()) contact.slots = message.slots();
  const bool data[] = {message.found(), message.force(),  message.torque(), message.dist(),
                       message.pos(),   message.normal(), message.tangent()};
  contact.data = 0;
  for (int k = 0; k < model::kContactDatumCount; ++k) contact.data |= static_cast<std::uint8_t>(data[k] << k);
  return contact;
}

void fill_time(absl::Time time, google::protobuf::Timestamp& message) {
  const std::int64_t nanos = absl::ToUnixNanos(time);
  message.set_seconds(nanos / 1'000'000'000);
  message.set_nanos(static_cast<int>(nanos % 1'000'000'000));
}

Error in_wire_names(Error error) {
  const std::pair<absl::string_view, absl::string_view> names[] = {{".X_WB", ".pose"},
                                                                   {".X_BS", ".pose"},
                                                                   {".X_BE", ".pose"},
                                                                   {".X_PC", ".held_pose"},
                                                                   {".p_BoBcm[0]", ".center_of_mass.x"},
                                                                   {".p_BoBcm[1]", ".center_of_mass.y"},
                                                                   {".p_BoBcm[2]", ".center_of_mass.z"},
                                                                   {".p_BoBcm", ".center_of_mass"},
                                                                   {".I_Bcm[0]", ".inertia.xx"},
                                                                   {".I_Bcm[1]", ".inertia.yy"},
                                                                   {".I_Bcm[2]", ".inertia.zz"},
                                                                   {".I_Bcm[3]", ".inertia.xy"},
                                                                   {".I_Bcm[4]", ".inertia.xz"},
                                                                   {".I_Bcm[5]", ".inertia.yz"},
                                                                   {".I_Bcm", ".inertia"},
                                                                   {"rotation[0]", "rotation.w"},
                                                                   {"rotation[1]", "rotation.x"},
                                                                   {"rotation[2]", "rotation.y"},
                                                                   {"rotation[3]", "rotation.z"},
                                                                   {"position[0]", "position.x"},
                                                                   {"position[1]", "position.y"},
                                                                   {"position[2]", "position.z"},
                                                                   {".size[0]", ".size.x"},
                                                                   {".size[1]", ".size.y"},
                                                                   {".size[2]", ".size.z"},
                                                                   {"gravity[0]", "gravity.x"},
                                                                   {"gravity[1]", "gravity.y"},
                                                                   {"gravity[2]", "gravity.z"}};
  const std::string before = error.field;
  const bool keyframe = absl::StartsWith(before, "keyframes");  // joint_position[1] is a number of a list
  for (const auto& [ours, theirs] : names) {
    if (!keyframe) absl::StrReplaceAll({{ours, theirs}}, &error.field);
  }
  if (!before.empty() && absl::StartsWith(error.message, before)) error.message.replace(0, before.size(), error.field);
  return error;
}

void fill_duration(absl::Duration duration, google::protobuf::Duration& message) {
  absl::Duration rest;
  message.set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &rest));
  message.set_nanos(static_cast<int>(absl::ToInt64Nanoseconds(rest)));
}

}  // namespace axion::server::rpc
