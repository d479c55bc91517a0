#include "server/rpc/scene_conversion.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/rpc/field_names.hpp"
#include "server/rpc/scene_curves.hpp"
#include "server/rpc/scene_parts.hpp"
#include "server/rpc/scene_softness.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

using schedule::invalid_field;

absl::Status unknown_kind(const std::string& path, int value) {
  return invalid_field(absl::StrCat(path, ".kind"), absl::StrCat("is ", value, "; it must name a kind"));
}

absl::StatusOr<model::ShapeSpec> to_shape(const std::string& path, const v1::ShapeSpec& message) {
  if (message.kind() < v1::SHAPE_KIND_PLANE || message.kind() > v1::SHAPE_KIND_HEIGHT_FIELD) {
    return unknown_kind(path, message.kind());
  }
  model::ShapeSpec shape;
  shape.name = message.name();
  shape.kind = static_cast<model::ShapeKind>(message.kind() - 1);  // the same order, after UNSPECIFIED
  shape.body = message.has_body() ? message.body() : model::kWorldBody;
  shape.X_BS = to_pose(message.pose());
  shape.size = to_vec3(message.size());
  if (message.has_friction()) shape.friction = message.friction();
  if (message.has_contact_dimension()) shape.contact_dimension = message.contact_dimension();
  shape.contact_priority = message.contact_priority();
  if (message.has_contact_type()) shape.contact_type = message.contact_type();
  if (message.has_contact_affinity()) shape.contact_affinity = message.contact_affinity();
  shape.restitution = message.restitution();
  shape.contact_stiffness = message.contact_stiffness();
  shape.contact_damping = message.contact_damping();
  shape.mesh = message.mesh(), shape.height_field = message.height_field();
  if (message.has_softness_mix()) shape.softness_mix = message.softness_mix();
  if (message.has_cone_dimension()) shape.cone_dimension = message.cone_dimension();
  shape.torsional_friction = message.torsional_friction(), shape.rolling_friction = message.rolling_friction();
  shape.surface_velocity = to_vec3(message.surface_velocity());
  shape.surface_angular_velocity = to_vec3(message.surface_angular_velocity());
  const absl::Status status = take_softness(absl::StrCat(path, ".softness"), message.softness(), shape.softness);
  if (!status.ok()) return status;
  return shape;
}

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

absl::StatusOr<model::AxisSpec> to_axis(const std::string& path, const v1::AxisSpec& message) {
  if (message.kind() < v1::AXIS_KIND_HINGE || message.kind() > v1::AXIS_KIND_SLIDE) {
    return unknown_kind(path, message.kind());
  }
  model::AxisSpec axis;
  axis.name = message.name();
  axis.kind = static_cast<model::AxisKind>(message.kind() - 1);
  if (message.has_axis()) axis.axis = to_vec3(message.axis());
  axis.anchor = to_vec3(message.anchor());
  axis.reference = message.reference();
  axis.initial_position = message.initial_position();
  axis.armature = message.armature();
  axis.damping = message.damping();
  axis.stiffness = message.stiffness();
  axis.spring_reference = message.spring_reference();
  axis.friction_loss = message.friction_loss();
  axis.limited = message.limited();
  axis.lower = message.lower();
  axis.upper = message.upper();
  axis.motors = to_force_range(message.has_motors(), message.motors());
  if (auto status = take_row_softness(path, message, axis); !status.ok()) return status;
  return axis;
}

absl::StatusOr<model::JointSpec> to_joint(const std::string& path, const v1::JointSpec& message) {
  if (message.kind() < v1::JOINT_KIND_FREE || message.kind() > v1::JOINT_KIND_AXES) {
    return unknown_kind(path, message.kind());
  }
  model::JointSpec joint;
  joint.name = message.name();
  joint.kind = static_cast<model::JointKind>(message.kind() - 1);
  joint.parent = message.has_parent() ? message.parent() : model::kWorldBody;
  joint.child = message.child();
  joint.anchor = to_vec3(message.anchor());
  joint.ball_damping = message.ball_damping();
  joint.ball_armature = message.ball_armature();
  joint.lock_stiffness = message.lock_stiffness();
  joint.lock_damping = message.lock_damping();
  if (auto status = take_springs(path, message, joint); !status.ok()) return status;
  joint.holds_pose = message.has_held_pose();
  if (joint.holds_pose) joint.X_PC = to_pose(message.held_pose());
  joint.is_soft = message.has_lock_softness();
  if (message.has_turn_weight()) joint.turn_weight = message.turn_weight();
  joint.break_force = message.break_force(), joint.break_torque = message.break_torque();
  const absl::Status soft =
      take_softness(absl::StrCat(path, ".lock_softness"), message.lock_softness(), joint.softness);
  if (!soft.ok()) return soft;
  for (int i = 0; i < message.axes_size(); ++i) {
    auto axis = to_axis(absl::StrCat(path, ".axes[", i, "]"), message.axes(i));
    if (!axis.ok()) return axis.status();
    joint.axes.push_back(*std::move(axis));
  }
  return joint;
}

model::FrameSpec to_frame(const v1::FrameSpec& message) {
  return {message.has_body() ? message.body() : model::kWorldBody, to_pose(message.pose())};
}

absl::Status take_site(const std::string& path, const v1::ActuatorSpec& message, model::ActuatorSpec& actuator) {
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
  actuator.site = to_frame(message.site());
  actuator.has_site_reference = message.has_site_reference();
  if (actuator.has_site_reference) actuator.site_reference = to_frame(message.site_reference());
  std::copy(message.site_gear().begin(), message.site_gear().end(), actuator.site_gear.begin());
  return absl::OkStatus();
}

absl::StatusOr<model::ActuatorSpec> to_actuator(const std::string& path, const v1::ActuatorSpec& message) {
  if (message.kind() < v1::ACTUATOR_KIND_MOTOR || message.kind() > v1::ACTUATOR_KIND_MUSCLE) {
    return unknown_kind(path, message.kind());
  }
  model::ActuatorSpec actuator;
  actuator.name = message.name();
  actuator.kind = static_cast<model::ActuatorKind>(message.kind() - 1);
  actuator.joint = message.joint();
  actuator.axis = message.axis();
  if (message.has_gear()) actuator.gear = message.gear();
  actuator.kp = message.kp();
  actuator.kd = message.kd();
  actuator.control_limited = message.control_limited();
  actuator.control_lower = message.control_lower();
  actuator.control_upper = message.control_upper();
  actuator.effort_limited = message.effort_limited();
  actuator.effort_lower = message.effort_lower();
  actuator.effort_upper = message.effort_upper();
  if (message.has_control_gain()) actuator.control_gain = message.control_gain();
  actuator.control_offset = message.control_offset();
  if (message.has_tendon()) actuator.tendon = message.tendon();
  if (message.activation() < 0 || message.activation() > v1::ACTIVATION_KIND_MUSCLE) {
    return invalid_field(absl::StrCat(path, ".activation"),
                         absl::StrCat("has the unknown value ", static_cast<int>(message.activation())));
  }
  actuator.activation = static_cast<model::ActivationKind>(message.activation());
  actuator.activation_time = message.activation_time();
  actuator.activation_limited = message.activation_limited();
  actuator.activation_lower = message.activation_lower();
  actuator.activation_upper = message.activation_upper();
  actuator.activation_early = message.activation_early();
  if (auto status = take_curves(path, message, actuator); !status.ok()) return status;
  if (auto status = take_site(path, message, actuator); !status.ok()) return status;
  return actuator;
}

absl::StatusOr<model::TendonPointSpec> to_tendon_point(const std::string& path, const v1::TendonPoint& message) {
  if (message.kind() < v1::TENDON_POINT_KIND_SITE || message.kind() > v1::TENDON_POINT_KIND_WRENCH) {
    return unknown_kind(path, message.kind());
  }
  model::TendonPointSpec point;
  point.kind = static_cast<model::TendonPointKind>(message.kind() - 1);
  point.frame = to_frame(message.frame());
  point.radius = message.radius();
  point.has_side = message.has_side();
  if (point.has_side) point.side = to_frame(message.side());
  if (message.has_divisor()) point.divisor = message.divisor();
  if (message.gear_size() != 6 && (message.gear_size() != 0 || point.kind == model::TendonPointKind::kWrench)) {
    return invalid_field(absl::StrCat(path, ".gear"), absl::StrCat("has ", message.gear_size(), " numbers, not 6"));
  }
  std::copy(message.gear().begin(), message.gear().end(), point.gear.begin());
  return point;
}

absl::StatusOr<model::TendonSpec> to_tendon(const std::string& path, const v1::TendonSpec& message) {
  model::TendonSpec tendon;
  tendon.name = message.name();
  for (int i = 0; i < message.path_size(); ++i) {
    auto point = to_tendon_point(absl::StrCat(path, ".path[", i, "]"), message.path(i));
    if (!point.ok()) return point.status();
    tendon.path.push_back(*std::move(point));
  }
  tendon.spring_slack = message.spring_slack();
  for (const auto& term : message.terms()) tendon.terms.push_back({term.joint(), term.axis(), term.coefficient()});
  tendon.armature = message.armature();
  tendon.damping = message.damping();
  tendon.stiffness = message.stiffness();
  tendon.spring_reference = message.spring_reference();
  tendon.friction_loss = message.friction_loss();
  tendon.motors = to_force_range(message.has_motors(), message.motors());
  tendon.limited = message.limited();
  tendon.lower = message.lower();
  tendon.upper = message.upper();
  if (auto status = take_row_softness(path, message, tendon); !status.ok()) return status;
  return tendon;
}

model::CoordinateSpec to_coordinate(const v1::Coordinate& message) {
  return {message.has_tendon() ? message.tendon() : -1, message.joint(), message.axis()};
}

absl::StatusOr<model::EqualitySpec> to_equality(const std::string& path, const v1::EqualitySpec& message) {
  model::EqualitySpec equality;
  equality.name = message.name();
  equality.first = to_coordinate(message.first());
  equality.has_second = message.has_second();
  if (equality.has_second) equality.second = to_coordinate(message.second());
  if (message.polynomial_size() > static_cast<int>(equality.polynomial.size())) {
    return invalid_field(absl::StrCat(path, ".polynomial"),
                         absl::StrCat("may have at most 5 numbers; it has ", message.polynomial_size()));
  }
  if (equality.has_second && message.polynomial().empty()) {
    return invalid_field(absl::StrCat(path, ".polynomial"),
                         "must have 1 to 5 numbers where there is a second; it has 0");
  }
  for (int i = 0; i < message.polynomial_size(); ++i) {
    equality.polynomial[static_cast<std::size_t>(i)] = message.polynomial(i);
  }
  equality.stiffness = message.stiffness();
  equality.damping = message.damping();
  equality.is_soft = message.has_softness();
  const absl::Status soft = take_softness(absl::StrCat(path, ".softness"), message.softness(), equality.softness);
  if (!soft.ok()) return soft;
  return equality;
}

absl::StatusOr<model::SensorSpec> to_sensor(const std::string& path, const v1::SensorSpec& message) {
  if (message.kind() < v1::SENSOR_KIND_TOUCH || message.kind() > v1::SENSOR_KIND_CAMERA_PROJECTION) {
    return unknown_kind(path, message.kind());
  }
  model::SensorSpec sensor;
  sensor.name = message.name();
  sensor.kind = static_cast<model::SensorKind>(message.kind() - 1);
  sensor.frame = to_frame(message.frame());
  sensor.has_reference = message.has_reference();
  if (sensor.has_reference) sensor.reference = to_frame(message.reference());
  if (message.has_joint()) sensor.joint = message.joint();
  sensor.axis = message.axis();
  if (message.has_actuator()) sensor.actuator = message.actuator();
  if (message.has_tendon()) sensor.tendon = message.tendon();
  const bool has_zone = message.zone() != v1::SHAPE_KIND_UNSPECIFIED;
  if (has_zone ? message.zone() < v1::SHAPE_KIND_PLANE || message.zone() > v1::SHAPE_KIND_HEIGHT_FIELD
               : sensor.kind == model::SensorKind::kTouch || sensor.kind == model::SensorKind::kInsideSite) {
    return invalid_field(absl::StrCat(path, ".zone"),
                         absl::StrCat("is ", static_cast<int>(message.zone()), "; it must name a kind of shape"));
  }
  if (has_zone) sensor.zone = static_cast<model::ShapeKind>(message.zone() - 1);
  sensor.zone_size = to_vec3(message.zone_size());
  if (message.has_dimension()) sensor.dimension = message.dimension();
  if (message.has_scale()) sensor.scale = message.scale();
  sensor.cutoff = message.cutoff();
  sensor.noise = message.noise();
  if (message.has_contact()) {
    auto contact = to_contact_sensor(absl::StrCat(path, ".contact"), message.contact());
    if (!contact.ok()) return contact.status();
    sensor.contact = *contact;
  }
  const v1::ImageSpec& image = message.image();
  if (image.has_focal_x()) sensor.image.focal_x = image.focal_x();
  if (image.has_focal_y()) sensor.image.focal_y = image.focal_y();
  if (image.has_centre_x()) sensor.image.centre_x = image.centre_x();
  if (image.has_centre_y()) sensor.image.centre_y = image.centre_y();
  return sensor;
}

// Converts each element of a repeated field, naming it in the error.
template <typename Out, typename Messages, typename Convert>
absl::Status convert_all(const std::string& path, const Messages& messages, std::vector<Out>& out,
                         const Convert& convert) {
  for (int i = 0; i < messages.size(); ++i) {
    auto item = convert(absl::StrCat(path, "[", i, "]"), messages.Get(i));
    if (!item.ok()) return item.status();
    out.push_back(*std::move(item));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<model::SceneSpec> to_scene(const v1::SceneSpec& message) {
  model::SceneSpec scene;
  scene.name = message.name();
  if (message.has_gravity()) scene.gravity = to_vec3(message.gravity());
  if (message.has_timestep()) scene.timestep = message.timestep();
  if (message.has_filter_parent_child()) scene.filter_parent_child = message.filter_parent_child();
  if (message.has_medium()) {
    scene.medium = {message.medium().density(), message.medium().viscosity(), to_vec3(message.medium().wind())};
  }
  take_softness_rule(message.softness_rule(), scene.softness_rule);
  for (const auto& body : message.bodies()) scene.bodies.push_back(to_body(body));
  for (const auto& mesh : message.meshes()) scene.meshes.push_back(to_mesh(mesh));
  for (const auto& field : message.height_fields()) scene.height_fields.push_back(to_height_field(field));
  absl::Status status = convert_all("scene.joints", message.joints(), scene.joints, to_joint);
  status.Update(convert_all("scene.shapes", message.shapes(), scene.shapes, to_shape));
  status.Update(convert_all("scene.actuators", message.actuators(), scene.actuators, to_actuator));
  status.Update(convert_all("scene.equalities", message.equalities(), scene.equalities, to_equality));
  status.Update(convert_all("scene.tendons", message.tendons(), scene.tendons, to_tendon));
  status.Update(convert_all("scene.contact_pairs", message.contact_pairs(), scene.contact_pairs, to_contact_pair));
  status.Update(convert_all("scene.sensors", message.sensors(), scene.sensors, to_sensor));
  if (!status.ok()) return status;
  if (message.has_magnetic_field()) scene.magnetic_field = to_vec3(message.magnetic_field());
  for (const auto& exclude : message.excludes()) scene.excludes.push_back({exclude.body_a(), exclude.body_b()});
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
  message.set_name(scene.name);
  fill_vec3(scene.gravity, *message.mutable_gravity());
  message.set_timestep(scene.timestep);
  message.set_filter_parent_child(scene.filter_parent_child);
  if (scene.medium.density != 0 || scene.medium.viscosity != 0) {
    message.mutable_medium()->set_density(scene.medium.density);
    message.mutable_medium()->set_viscosity(scene.medium.viscosity);
    fill_vec3(scene.medium.wind, *message.mutable_medium()->mutable_wind());
  }
  fill_softness_rule(scene.softness_rule, *message.mutable_softness_rule());
  for (const auto& body : scene.bodies) fill_body(body, *message.add_bodies());
  for (const auto& joint : scene.joints) fill_joint(joint, *message.add_joints());
  for (const auto& shape : scene.shapes) fill_shape(shape, *message.add_shapes());
  for (const auto& mesh : scene.meshes) fill_mesh(mesh, *message.add_meshes());
  for (const auto& field : scene.height_fields) fill_height_field(field, *message.add_height_fields());
  for (const auto& actuator : scene.actuators) fill_actuator(actuator, *message.add_actuators());
  for (const auto& exclude : scene.excludes) {
    auto& out = *message.add_excludes();
    out.set_body_a(exclude.body_a);
    out.set_body_b(exclude.body_b);
  }
  for (const auto& pair : scene.contact_pairs) fill_contact_pair(pair, *message.add_contact_pairs());
  for (const auto& tendon : scene.tendons) fill_tendon(tendon, *message.add_tendons());
  for (const auto& equality : scene.equalities) fill_equality(equality, *message.add_equalities());
  for (const auto& keyframe : scene.keyframes) fill_keyframe(keyframe, *message.add_keyframes());
  fill_vec3(scene.magnetic_field, *message.mutable_magnetic_field());
  for (const auto& sensor : scene.sensors) fill_sensor(sensor, *message.add_sensors());
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
    fill_pose(body.X_WB, *out.mutable_pose());
  }
  for (const auto& weld : info.welds) {
    auto& out = *message.add_welds();
    out.set_name(weld.name);
    out.set_body(weld.body);
    fill_pose(weld.X_BW, *out.mutable_pose());
    if (weld.mocap >= 0) out.set_mocap(weld.mocap);
  }
  for (const auto& mocap : info.mocaps) {
    auto& out = *message.add_mocaps();
    out.set_name(mocap.name);
    fill_pose(mocap.X_WM, *out.mutable_pose());
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
    for (const auto& axis : joint.axes) fill_axis(axis, *out.add_axes());
  }
  for (const auto& shape : info.shapes) fill_shape(shape, *message.add_shapes());
  fill_colors(record.colors, *message.mutable_shapes());
  for (const auto& mesh : info.meshes) fill_mesh(mesh, *message.add_meshes());
  for (const auto& field : info.height_fields) fill_height_field(field, *message.add_height_fields());
  for (const auto& actuator : info.actuators) fill_actuator(actuator, *message.add_actuators());
  for (const auto& tendon : info.tendons) fill_tendon(tendon, *message.add_tendons());
  for (const auto& equality : info.equalities) fill_equality(equality, *message.add_equalities());
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

model::FrameSpec frame_of(const v1::FrameSpec& message) { return to_frame(message); }

}  // namespace axion::server::rpc
