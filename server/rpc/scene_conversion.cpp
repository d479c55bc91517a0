#include "server/rpc/scene_conversion.hpp"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"

#include "server/rpc/field_names.hpp"
#include "server/rpc/scene_fields.hpp"
#include "server/rpc/scene_parts.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

using schedule::invalid_field;

model::MeshSpec to_mesh(const v1::MeshSpec& message) {
  model::MeshSpec mesh{message.name(), {}};
  for (const v1::Vec3& vertex : message.vertices()) mesh.vertices.push_back(to_vec3(vertex));
  return mesh;
}

model::HeightFieldSpec to_height_field(const v1::HeightFieldSpec& message) {
  return {message.name(),
          message.columns(),
          message.rows(),
          message.half_x(),
          message.half_y(),
          message.base(),
          {message.heights().begin(), message.heights().end()}};
}

}  // namespace

absl::Status take_rest(const std::string& path, const Message& from, model::ActuatorSpec& actuator) {
  const auto& message = static_cast<const v1::ActuatorSpec&>(from);
  if (message.activation() < 0 || message.activation() > v1::ACTIVATION_KIND_MUSCLE) {
    return invalid_field(absl::StrCat(path, ".activation"),
                         absl::StrCat("has the unknown value ", static_cast<int>(message.activation())));
  }
  actuator.activation = static_cast<model::ActivationKind>(message.activation());
  actuator.on_site = message.has_site();
  if (!actuator.on_site && message.has_site_reference()) {
    return invalid_field(absl::StrCat(path, ".site_reference"), "is for actuators that have a site");
  }
  if (message.site_gear_size() != (actuator.on_site ? 6 : 0)) {
    return invalid_field(
        absl::StrCat(path, ".site_gear"),
        absl::StrCat("must have six numbers with a site, and none without; it has ", message.site_gear_size()));
  }
  if (!actuator.on_site) return absl::OkStatus();
  actuator.site = frame_of(message.site());
  actuator.has_site_reference = message.has_site_reference();
  if (actuator.has_site_reference) actuator.site_reference = frame_of(message.site_reference());
  std::copy(message.site_gear().begin(), message.site_gear().end(), actuator.site_gear.begin());
  return absl::OkStatus();
}

void fill_rest(const model::ActuatorSpec& actuator, Message& to) {
  auto& message = static_cast<v1::ActuatorSpec&>(to);
  message.set_activation(static_cast<v1::ActivationKind>(actuator.activation));
  if (!actuator.on_site) return;
  fill_fields(actuator.site, *message.mutable_site());
  if (actuator.has_site_reference) fill_fields(actuator.site_reference, *message.mutable_site_reference());
  for (const double number : actuator.site_gear) message.add_site_gear(number);
}

absl::Status take_rest(const std::string& path, const Message& from, model::TendonPointSpec& point) {
  const auto& gear = static_cast<const v1::TendonPoint&>(from).gear();
  if (gear.size() != 6 && (!gear.empty() || point.kind == model::TendonPointKind::kWrench)) {
    return invalid_field(absl::StrCat(path, ".gear"), absl::StrCat("has ", gear.size(), " numbers, not 6"));
  }
  std::copy(gear.begin(), gear.end(), point.gear.begin());
  return absl::OkStatus();
}

void fill_rest(const model::TendonPointSpec& point, Message& to) {
  auto& message = static_cast<v1::TendonPoint&>(to);
  if (point.kind == model::TendonPointKind::kPulley) message.clear_frame();
  if (point.gear != model::TendonPointSpec{}.gear) message.mutable_gear()->Assign(point.gear.begin(), point.gear.end());
}

absl::Status take_rest(const std::string& path, const Message& from, model::EqualitySpec& equality) {
  const auto& polynomial = static_cast<const v1::EqualitySpec&>(from).polynomial();
  if (polynomial.size() > static_cast<int>(equality.polynomial.size())) {
    return invalid_field(absl::StrCat(path, ".polynomial"),
                         absl::StrCat("may have at most 5 numbers; it has ", polynomial.size()));
  }
  if (equality.has_second && polynomial.empty()) {
    return invalid_field(absl::StrCat(path, ".polynomial"),
                         "must have 1 to 5 numbers where there is a second; it has 0");
  }
  std::copy(polynomial.begin(), polynomial.end(), equality.polynomial.begin());
  return absl::OkStatus();
}

void fill_rest(const model::EqualitySpec& equality, Message& to) {
  auto end = equality.polynomial.end();
  const auto least = equality.polynomial.begin() + 1;
  while (end != least && *(end - 1) == 0) --end;
  static_cast<v1::EqualitySpec&>(to).mutable_polynomial()->Assign(equality.polynomial.begin(), end);
}

absl::Status take_rest(const std::string& path, const Message& from, model::SensorSpec& sensor) {
  const auto& message = static_cast<const v1::SensorSpec&>(from);
  const bool has_zone = message.zone() != v1::SHAPE_KIND_UNSPECIFIED;
  if (has_zone ? message.zone() < v1::SHAPE_KIND_PLANE || message.zone() > v1::SHAPE_KIND_HEIGHT_FIELD
               : sensor.kind == model::SensorKind::kTouch || sensor.kind == model::SensorKind::kInsideSite) {
    return invalid_field(absl::StrCat(path, ".zone"),
                         absl::StrCat("is ", static_cast<int>(message.zone()), "; it must name a kind of shape"));
  }
  if (has_zone) sensor.zone = static_cast<model::ShapeKind>(message.zone() - 1);
  if (!message.has_contact()) return absl::OkStatus();
  auto contact = to_contact_sensor(absl::StrCat(path, ".contact"), message.contact());
  if (contact.ok()) sensor.contact = *contact;
  return contact.status();
}

void fill_rest(const model::SensorSpec& sensor, Message& to) {
  auto& message = static_cast<v1::SensorSpec&>(to);
  message.set_zone(static_cast<v1::ShapeKind>(static_cast<int>(sensor.zone) + 1));
  fill_contact_sensor(sensor.contact, *message.mutable_contact());
}

namespace {

template <typename Spec, typename MessageOf>
void fill_all(const std::vector<Spec>& specs, google::protobuf::RepeatedPtrField<MessageOf>& messages) {
  for (const Spec& spec : specs) fill_fields(spec, *messages.Add());
}

void take_softness_rule(const v1::SoftnessRule& message, model::SoftnessRule& rule) {
  rule.pyramidal = !message.elliptic();
  if (message.has_impedance_ratio()) rule.impedance_ratio = message.impedance_ratio();
  rule.least_time_constant = message.least_time_constant();
}

void fill_softness_rule(const model::SoftnessRule& rule, v1::SoftnessRule& message) {
  message.set_elliptic(!rule.pyramidal);
  message.set_impedance_ratio(rule.impedance_ratio);
  message.set_least_time_constant(rule.least_time_constant);
}

}  // namespace

absl::StatusOr<model::SceneSpec> to_scene(const v1::SceneSpec& message) {
  model::SceneSpec scene;
  const absl::Status status = take_fields("scene", message, scene);
  if (!status.ok()) return status;
  if (message.has_medium()) {
    scene.medium = {message.medium().density(), message.medium().viscosity(), to_vec3(message.medium().wind())};
  }
  take_softness_rule(message.softness_rule(), scene.softness_rule);
  for (const auto& mesh : message.meshes()) scene.meshes.push_back(to_mesh(mesh));
  for (const auto& field : message.height_fields()) scene.height_fields.push_back(to_height_field(field));
  for (const auto& keyframe : message.keyframes()) {
    scene.keyframes.push_back({keyframe.name(),
                               keyframe.time(),
                               {keyframe.joint_position().begin(), keyframe.joint_position().end()},
                               {keyframe.joint_velocity().begin(), keyframe.joint_velocity().end()},
                               {keyframe.control().begin(), keyframe.control().end()},
                               {keyframe.activation().begin(), keyframe.activation().end()},
                               {keyframe.mocap_pose().begin(), keyframe.mocap_pose().end()}});
  }
  return scene;
}

v1::SceneSpec to_message(const model::SceneSpec& scene) {
  v1::SceneSpec message;
  fill_fields(scene, message);
  if (scene.medium.density != 0 || scene.medium.viscosity != 0) {
    message.mutable_medium()->set_density(scene.medium.density);
    message.mutable_medium()->set_viscosity(scene.medium.viscosity);
    fill_vec3(scene.medium.wind, *message.mutable_medium()->mutable_wind());
  }
  fill_softness_rule(scene.softness_rule, *message.mutable_softness_rule());
  for (const auto& mesh : scene.meshes) fill_mesh(mesh, *message.add_meshes());
  for (const auto& field : scene.height_fields) fill_height_field(field, *message.add_height_fields());
  for (const auto& keyframe : scene.keyframes) fill_keyframe(keyframe, *message.add_keyframes());
  return message;
}

void fill_model(const schedule::ModelRecord& record, v1::Model& message) {
  const ModelInfo& info = record.model->info();
  message.set_name(record.name);
  message.set_display_name(info.name);
  for (const auto& body : info.bodies) {
    auto& out = *message.add_bodies();
    out.set_name(body.name);
    out.set_mass(body.mass);
    fill_inertia(body.I_Bcm, *out.mutable_inertia());
    fill_vec3(body.p_BoBcm, *out.mutable_center_of_mass());
    fill_fields(body.X_WB, *out.mutable_pose());
  }
  for (const auto& weld : info.welds) {
    auto& out = *message.add_welds();
    out.set_name(weld.name);
    out.set_body(weld.body);
    fill_fields(weld.X_BW, *out.mutable_pose());
    if (weld.mocap >= 0) out.set_mocap(weld.mocap);
  }
  for (const auto& mocap : info.mocaps) {
    auto& out = *message.add_mocaps();
    out.set_name(mocap.name);
    fill_fields(mocap.X_WM, *out.mutable_pose());
    for (const int shape : mocap.shapes) out.add_shapes(shape);
  }
  for (const auto& joint : info.joints) {
    auto& out = *message.add_joints();
    out.set_name(joint.name);
    out.set_kind(static_cast<v1::JointKind>(static_cast<int>(joint.kind) + 1));
    out.set_parent(joint.parent);
    out.set_child(joint.child);
    out.set_position_start(joint.position_start);
    out.set_position_count(joint.position_count);
    out.set_velocity_start(joint.velocity_start);
    out.set_velocity_count(joint.velocity_count);
    out.set_closes_loop(joint.closes_loop);
    out.set_lock_stiffness(joint.lock_stiffness);
    out.set_lock_damping(joint.lock_damping);
    fill_all(joint.axes, *out.mutable_axes());
  }
  fill_all(info.shapes, *message.mutable_shapes());
  fill_colors(record.colors, *message.mutable_shapes());
  for (const auto& mesh : info.meshes) fill_mesh(mesh, *message.add_meshes());
  for (const auto& field : info.height_fields) fill_height_field(field, *message.add_height_fields());
  fill_all(info.actuators, *message.mutable_actuators());
  fill_all(info.tendons, *message.mutable_tendons());
  fill_all(info.equalities, *message.mutable_equalities());
  for (const auto& keyframe : info.keyframes) fill_keyframe(keyframe, *message.add_keyframes());
  for (const auto& sensor : info.sensors) {
    auto& out = *message.add_sensors();
    out.set_name(sensor.name);
    out.set_kind(static_cast<v1::SensorKind>(static_cast<int>(sensor.kind) + 1));
    out.set_start(sensor.start);
    out.set_size(sensor.size);
    out.set_cutoff(sensor.cutoff);
    out.set_noise(sensor.noise);
  }
  message.set_sensor_size(info.sensor_size);
  fill_vec3(info.gravity, *message.mutable_gravity());
  message.set_timestep(info.timestep);
  message.set_contact_capacity(info.contact_capacity);
  message.set_body_count(static_cast<int>(info.bodies.size()));
  message.set_joint_position_count(info.joint_position_count);
  message.set_joint_velocity_count(info.joint_velocity_count);
  message.set_control_count(static_cast<int>(info.actuators.size()));
  fill_model_fields(info, message);
  message.set_fingerprint(
      absl::StrCat(absl::Hex(info.fingerprint[0], absl::kZeroPad16), absl::Hex(info.fingerprint[1], absl::kZeroPad16)));
  for (const auto& warning : record.warnings) message.add_warnings(warning);
  if (!record.visuals.empty()) message.mutable_visuals()->ParseFromString(record.visuals);
  fill_time(record.create_time, *message.mutable_create_time());
}

model::FrameSpec frame_of(const v1::FrameSpec& message) {
  model::FrameSpec frame;
  take_fields("", message, frame).IgnoreError();  // every frame is one
  return frame;
}

}  // namespace axion::server::rpc
