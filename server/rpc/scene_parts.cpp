#include "server/rpc/scene_parts.hpp"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "server/rpc/scene_curves.hpp"
#include "server/rpc/scene_softness.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {

using schedule::invalid_field;

void fill_vec3(const model::Vec3d& value, v1::Vec3& message) {
  message.set_x(value[0]);
  message.set_y(value[1]);
  message.set_z(value[2]);
}

void fill_pose(const model::PoseSpec& value, v1::Pose& message) {
  fill_vec3(value.position, *message.mutable_position());
  auto& q = *message.mutable_rotation();
  q.set_w(value.rotation[0]);
  q.set_x(value.rotation[1]);
  q.set_y(value.rotation[2]);
  q.set_z(value.rotation[3]);
}

void fill_inertia(const std::array<double, 6>& value, v1::Inertia& message) {
  message.set_xx(value[0]);
  message.set_yy(value[1]);
  message.set_zz(value[2]);
  message.set_xy(value[3]);
  message.set_xz(value[4]);
  message.set_yz(value[5]);
}

void fill_axis(const model::AxisSpec& axis, v1::AxisSpec& message) {
  message.set_name(axis.name);
  message.set_kind(static_cast<v1::AxisKind>(static_cast<int>(axis.kind) + 1));
  fill_vec3(axis.axis, *message.mutable_axis());
  fill_vec3(axis.anchor, *message.mutable_anchor());
  message.set_reference(axis.reference);
  message.set_initial_position(axis.initial_position);
  message.set_armature(axis.armature);
  message.set_damping(axis.damping);
  message.set_stiffness(axis.stiffness);
  message.set_spring_reference(axis.spring_reference);
  message.set_friction_loss(axis.friction_loss);
  message.set_limited(axis.limited);
  message.set_lower(axis.lower);
  message.set_upper(axis.upper);
  fill_softness(axis.limit_softness, message, &v1::AxisSpec::mutable_limit_softness);
  fill_softness(axis.friction_softness, message, &v1::AxisSpec::mutable_friction_softness);
  fill_force_range(axis.motors, message);
}

void fill_shape(const model::ShapeSpec& shape, v1::ShapeSpec& message) {
  message.set_name(shape.name);
  message.set_kind(static_cast<v1::ShapeKind>(static_cast<int>(shape.kind) + 1));
  message.set_body(shape.body);
  fill_pose(shape.X_BS, *message.mutable_pose());
  fill_vec3(shape.size, *message.mutable_size());
  message.set_friction(shape.friction);
  message.set_contact_dimension(shape.contact_dimension);
  message.set_contact_priority(shape.contact_priority);
  message.set_contact_type(shape.contact_type);
  message.set_contact_affinity(shape.contact_affinity);
  message.set_restitution(shape.restitution);
  message.set_contact_stiffness(shape.contact_stiffness);
  message.set_contact_damping(shape.contact_damping);
  fill_softness(shape.softness, message, &v1::ShapeSpec::mutable_softness);
  message.set_softness_mix(shape.softness_mix);
  message.set_cone_dimension(shape.cone_dimension);
  message.set_torsional_friction(shape.torsional_friction);
  message.set_rolling_friction(shape.rolling_friction);
  if (shape.surface_velocity != model::Vec3d{}) fill_vec3(shape.surface_velocity, *message.mutable_surface_velocity());
  if (shape.surface_angular_velocity != model::Vec3d{}) {
    fill_vec3(shape.surface_angular_velocity, *message.mutable_surface_angular_velocity());
  }
  message.set_mesh(shape.mesh);
  message.set_height_field(shape.height_field);
}

void fill_body(const model::BodySpec& body, v1::BodySpec& message) {
  message.set_name(body.name);
  fill_pose(body.X_WB, *message.mutable_pose());
  message.set_mass(body.mass);
  fill_vec3(body.p_BoBcm, *message.mutable_center_of_mass());
  fill_inertia(body.I_Bcm, *message.mutable_inertia());
  message.set_gravity_compensation(body.gravity_compensation);
  message.set_is_mocap(body.is_mocap);
  message.set_ignores_medium(body.ignores_medium);
  message.set_is_armature(body.is_armature);
  if (body.lender >= 0) message.set_lender(body.lender);
  for (const model::FluidEllipsoidSpec& ellipsoid : body.fluid_ellipsoids) {
    v1::FluidEllipsoid& out = *message.add_fluid_ellipsoids();
    fill_pose(ellipsoid.X_BE, *out.mutable_pose());
    fill_vec3(ellipsoid.radii, *out.mutable_radii());
    out.set_blunt_drag(ellipsoid.blunt_drag), out.set_slender_drag(ellipsoid.slender_drag);
    out.set_angular_drag(ellipsoid.angular_drag);
    out.set_kutta_lift(ellipsoid.kutta_lift), out.set_magnus_lift(ellipsoid.magnus_lift);
  }
}

void fill_joint(const model::JointSpec& joint, v1::JointSpec& message) {
  message.set_name(joint.name);
  message.set_kind(static_cast<v1::JointKind>(static_cast<int>(joint.kind) + 1));
  message.set_parent(joint.parent);
  message.set_child(joint.child);
  fill_vec3(joint.anchor, *message.mutable_anchor());
  message.set_ball_damping(joint.ball_damping);
  message.set_ball_armature(joint.ball_armature);
  message.set_lock_stiffness(joint.lock_stiffness);
  message.set_lock_damping(joint.lock_damping);
  fill_springs(joint, message);
  if (joint.holds_pose) fill_pose(joint.X_PC, *message.mutable_held_pose());
  if (joint.is_soft) fill_softness(joint.softness, *message.mutable_lock_softness());
  if (joint.is_soft) message.set_turn_weight(joint.turn_weight);
  message.set_break_force(joint.break_force), message.set_break_torque(joint.break_torque);
  for (const auto& axis : joint.axes) fill_axis(axis, *message.add_axes());
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

void fill_frame(const model::FrameSpec& frame, v1::FrameSpec& message) {
  message.set_body(frame.body);
  fill_pose(frame.X_BF, *message.mutable_pose());
}

void fill_actuator(const model::ActuatorSpec& actuator, v1::ActuatorSpec& message) {
  message.set_name(actuator.name);
  message.set_kind(static_cast<v1::ActuatorKind>(static_cast<int>(actuator.kind) + 1));
  message.set_joint(actuator.joint);
  message.set_axis(actuator.axis);
  message.set_gear(actuator.gear);
  message.set_kp(actuator.kp);
  message.set_kd(actuator.kd);
  message.set_control_limited(actuator.control_limited);
  message.set_control_lower(actuator.control_lower);
  message.set_control_upper(actuator.control_upper);
  message.set_effort_limited(actuator.effort_limited);
  message.set_effort_lower(actuator.effort_lower);
  message.set_effort_upper(actuator.effort_upper);
  message.set_control_gain(actuator.control_gain);
  message.set_control_offset(actuator.control_offset);
  if (actuator.tendon >= 0) message.set_tendon(actuator.tendon);
  message.set_activation(static_cast<v1::ActivationKind>(actuator.activation));
  message.set_activation_time(actuator.activation_time);
  message.set_activation_limited(actuator.activation_limited);
  message.set_activation_lower(actuator.activation_lower);
  message.set_activation_upper(actuator.activation_upper);
  message.set_activation_early(actuator.activation_early);
  fill_curves(actuator, message);
  if (!actuator.on_site) return;
  fill_frame(actuator.site, *message.mutable_site());
  if (actuator.has_site_reference) fill_frame(actuator.site_reference, *message.mutable_site_reference());
  for (const double number : actuator.site_gear) message.add_site_gear(number);
}

void fill_tendon(const model::TendonSpec& tendon, v1::TendonSpec& message) {
  message.set_name(tendon.name);
  for (const model::TendonTermSpec& term : tendon.terms) {
    auto& out = *message.add_terms();
    out.set_joint(term.joint);
    out.set_axis(term.axis);
    out.set_coefficient(term.coefficient);
  }
  for (const model::TendonPointSpec& point : tendon.path) {
    auto& out = *message.add_path();
    out.set_kind(static_cast<v1::TendonPointKind>(static_cast<int>(point.kind) + 1));
    if (point.kind != model::TendonPointKind::kPulley) fill_frame(point.frame, *out.mutable_frame());
    out.set_radius(point.radius);
    if (point.has_side) fill_frame(point.side, *out.mutable_side());
    out.set_divisor(point.divisor);
    if (point.gear != model::TendonPointSpec{}.gear) out.mutable_gear()->Assign(point.gear.begin(), point.gear.end());
  }
  message.set_spring_slack(tendon.spring_slack);
  fill_force_range(tendon.motors, message);
  message.set_armature(tendon.armature);
  message.set_damping(tendon.damping);
  message.set_stiffness(tendon.stiffness);
  message.set_spring_reference(tendon.spring_reference);
  message.set_friction_loss(tendon.friction_loss);
  message.set_limited(tendon.limited);
  message.set_lower(tendon.lower);
  message.set_upper(tendon.upper);
  fill_softness(tendon.limit_softness, message, &v1::TendonSpec::mutable_limit_softness);
  fill_softness(tendon.friction_softness, message, &v1::TendonSpec::mutable_friction_softness);
}

void fill_equality(const model::EqualitySpec& equality, v1::EqualitySpec& message) {
  const auto fill = [](const model::CoordinateSpec& coordinate, v1::Coordinate& out) {
    if (coordinate.tendon >= 0) out.set_tendon(coordinate.tendon);
    out.set_joint(coordinate.joint);
    out.set_axis(coordinate.axis);
  };
  message.set_name(equality.name);
  fill(equality.first, *message.mutable_first());
  if (equality.has_second) fill(equality.second, *message.mutable_second());
  auto end = equality.polynomial.end();
  const auto least = equality.polynomial.begin() + 1;
  while (end != least && *(end - 1) == 0) --end;
  message.mutable_polynomial()->Assign(equality.polynomial.begin(), end);
  message.set_stiffness(equality.stiffness);
  message.set_damping(equality.damping);
  if (equality.is_soft) fill_softness(equality.softness, *message.mutable_softness());
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

namespace {

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

}  // namespace

void fill_sensor(const model::SensorSpec& sensor, v1::SensorSpec& message) {
  message.set_name(sensor.name);
  message.set_kind(static_cast<v1::SensorKind>(static_cast<int>(sensor.kind) + 1));
  fill_frame(sensor.frame, *message.mutable_frame());
  if (sensor.has_reference) fill_frame(sensor.reference, *message.mutable_reference());
  message.set_joint(sensor.joint);
  message.set_axis(sensor.axis);
  message.set_actuator(sensor.actuator);
  message.set_tendon(sensor.tendon);
  message.set_zone(static_cast<v1::ShapeKind>(static_cast<int>(sensor.zone) + 1));
  fill_vec3(sensor.zone_size, *message.mutable_zone_size());
  message.set_dimension(sensor.dimension);
  message.set_scale(sensor.scale);
  message.set_cutoff(sensor.cutoff);
  message.set_noise(sensor.noise);
  fill_contact_sensor(sensor.contact, *message.mutable_contact());
  v1::ImageSpec& image = *message.mutable_image();
  image.set_focal_x(sensor.image.focal_x), image.set_focal_y(sensor.image.focal_y);
  image.set_centre_x(sensor.image.centre_x), image.set_centre_y(sensor.image.centre_y);
}

namespace {

model::FluidEllipsoidSpec to_fluid_ellipsoid(const v1::FluidEllipsoid& message) {
  model::FluidEllipsoidSpec ellipsoid;
  ellipsoid.X_BE = to_pose(message.pose());
  ellipsoid.radii = to_vec3(message.radii());
  if (message.has_blunt_drag()) ellipsoid.blunt_drag = message.blunt_drag();
  if (message.has_slender_drag()) ellipsoid.slender_drag = message.slender_drag();
  if (message.has_angular_drag()) ellipsoid.angular_drag = message.angular_drag();
  if (message.has_kutta_lift()) ellipsoid.kutta_lift = message.kutta_lift();
  if (message.has_magnus_lift()) ellipsoid.magnus_lift = message.magnus_lift();
  return ellipsoid;
}

}  // namespace

model::BodySpec to_body(const v1::BodySpec& message) {
  const v1::Inertia& inertia = message.inertia();
  std::vector<model::FluidEllipsoidSpec> ellipsoids;
  for (const v1::FluidEllipsoid& ellipsoid : message.fluid_ellipsoids()) {
    ellipsoids.push_back(to_fluid_ellipsoid(ellipsoid));
  }
  return {.name = message.name(),
          .X_WB = to_pose(message.pose()),
          .mass = message.mass(),
          .p_BoBcm = to_vec3(message.center_of_mass()),
          .I_Bcm = {inertia.xx(), inertia.yy(), inertia.zz(), inertia.xy(), inertia.xz(), inertia.yz()},
          .gravity_compensation = message.gravity_compensation(),
          .is_mocap = message.is_mocap(),
          .fluid_ellipsoids = std::move(ellipsoids),
          .ignores_medium = message.ignores_medium(),
          .is_armature = message.is_armature(),
          .lender = message.has_lender() ? message.lender() : -1};
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
