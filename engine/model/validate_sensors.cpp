// The part of validate_scene that is about sensors.
#include "engine/model/scene_checker.hpp"
#include "engine/model/sensor_layout.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::model {

void SceneChecker::frame(const std::string& item, const char* leaf, const FrameSpec& frame) {
  index(item, (std::string(leaf) + ".body").c_str(), frame.body, kWorldBody, scene_.bodies.size());
  if (ok()) pose(item, (std::string(leaf) + ".X_BF").c_str(), frame.X_BF);
}

void SceneChecker::touch_zone(const std::string& item, const SensorSpec& sensor) {
  if (sensor.zone == ShapeKind::kPlane || sensor.zone >= ShapeKind::kMesh) {
    return fail(item, "zone", "must be a sphere, capsule, box, cylinder or ellipsoid");
  }
  reals(item, "zone_size", sensor.zone_size);
  static constexpr int kSizes[] = {0, 1, 2, 3, 2, 3};  // the order of ShapeKind
  for (int i = 0; i < kSizes[static_cast<int>(sensor.zone)]; ++i) {
    at_least(item, ("zone_size[" + std::to_string(i) + "]").c_str(), sensor.zone_size[static_cast<std::size_t>(i)],
             kMinLength);
  }
}

void SceneChecker::sensor_of_joint(const std::string& item, const SensorSpec& sensor) {
  index(item, "joint", sensor.joint, 0, scene_.joints.size());
  if (!ok()) return;
  const JointSpec& joint = scene_.joints[static_cast<std::size_t>(sensor.joint)];
  const bool is_ball = sensor_traits(sensor.kind).of == SensorOf::kBall;
  if (joint.kind != (is_ball ? JointKind::kBall : JointKind::kAxes)) {
    return fail(item, "joint",
                std::string(is_ball ? "must be a ball" : "must have hinges or slides") + "; it is " +
                    std::to_string(sensor.joint));
  }
  if (closes_loop_[static_cast<std::size_t>(sensor.joint)]) {
    return fail(item, "joint", "closes a loop, and has no coordinates; it is " + std::to_string(sensor.joint));
  }
  if (!is_ball) index(item, "axis", sensor.axis, 0, joint.axes.size());
}

void SceneChecker::contact_side(const std::string& item, const char* leaf, const ContactSideSpec& side) {
  const std::string field = std::string(leaf) + ".index";
  const bool of_body = side.kind == ContactSideKind::kBody || side.kind == ContactSideKind::kSubtree;
  if (side.kind == ContactSideKind::kShape) index(item, field.c_str(), side.index, -1, scene_.shapes.size());
  if (of_body) index(item, field.c_str(), side.index, kWorldBody, scene_.bodies.size());
}

void SceneChecker::sensor_of_contacts(const std::string& item, const SensorSpec& sensor) {
  const ContactSensorSpec& contact = sensor.contact;
  contact_side(item, "contact.first", contact.first);
  if (ok()) contact_side(item, "contact.second", contact.second);
  if (!ok()) return;
  if (contact.second.kind == ContactSideKind::kZone) {
    return fail(item, "contact.second.kind", "must not be a zone: the first side may have one");
  }
  if (contact.slots < 1 || contact.slots > kMaxContactSlots) {
    return fail(item, "contact.slots",
                "must be from 1 to " + std::to_string(kMaxContactSlots) + "; it is " + std::to_string(contact.slots));
  }
  if (contact.reduction == ContactReduction::kNetForce && contact.slots != 1) {
    return fail(item, "contact.slots", "must be 1 of a net force; it is " + std::to_string(contact.slots));
  }
  if (contact_slot_size(contact) == 0) return fail(item, "contact.data", "must name what is read");
  if (contact.first.kind != ContactSideKind::kZone) return;
  frame(item, "frame", sensor.frame);
  if (ok()) touch_zone(item, sensor);
}

void SceneChecker::sensor_of_distance(const std::string& item, const SensorSpec& sensor) {
  const ContactSideSpec &first = sensor.contact.first, &second = sensor.contact.second;
  const auto side = [&](const char* leaf, const ContactSideSpec& of) {
    const std::string field = "contact." + std::string(leaf);
    if (of.kind == ContactSideKind::kShape) {
      return index(item, (field + ".index").c_str(), of.index, 0, scene_.shapes.size());
    }
    if (of.kind == ContactSideKind::kBody) return contact_side(item, field.c_str(), of);
    fail(item, (field + ".kind").c_str(), "must be a shape or a body");
  };
  side("first", first);
  if (ok()) side("second", second);
  if (ok() && first.kind == second.kind && first.index == second.index) {
    fail(item, "contact.second.index", "must not be that of the first; it is " + std::to_string(second.index));
  }
}

void SceneChecker::image(const std::string& item, const ImageSpec& image) {
  at_least(item, "image.focal_x", image.focal_x, kMinLength);
  at_least(item, "image.focal_y", image.focal_y, kMinLength);
  real(item, "image.centre_x", image.centre_x);
  real(item, "image.centre_y", image.centre_y);
}

void SceneChecker::sensors() {
  reals("", "magnetic_field", scene_.magnetic_field);
  std::unordered_set<std::string> names;
  int size = 0;
  for (std::size_t i = 0; i < scene_.sensors.size() && ok(); ++i) {
    const SensorSpec& sensor = scene_.sensors[i];
    const std::string item = item_name("sensors", i);
    name(item, sensor.name, names);
    const SensorOf of = sensor_traits(sensor.kind).of;
    if (of == SensorOf::kFrame) frame(item, "frame", sensor.frame);
    if (of == SensorOf::kBody) index(item, "frame.body", sensor.frame.body, kWorldBody, scene_.bodies.size());
    if (of == SensorOf::kAxis || of == SensorOf::kBall) sensor_of_joint(item, sensor);
    if (of == SensorOf::kTendon) index(item, "tendon", sensor.tendon, 0, scene_.tendons.size());
    if (of == SensorOf::kActuator) index(item, "actuator", sensor.actuator, 0, scene_.actuators.size());
    if (sensor.has_reference && !takes_reference(sensor.kind)) {
      fail(item, "reference", "is for positions, axes and velocities of frames");
    }
    if (!sensor.has_reference && needs_reference(sensor.kind)) fail(item, "reference", "is required");
    if (ok() && sensor.has_reference) frame(item, "reference", sensor.reference);
    const bool has_zone = sensor.kind == SensorKind::kTouch || sensor.kind == SensorKind::kInsideSite;
    if (ok() && has_zone) touch_zone(item, sensor);
    if (ok() && sensor.kind == SensorKind::kCameraProjection) image(item, sensor.image);
    if (ok() && of == SensorOf::kPair) sensor_of_distance(item, sensor);
    if (ok() && sensor.kind == SensorKind::kContact) sensor_of_contacts(item, sensor);
    if (ok() && sensor.kind == SensorKind::kUser && (sensor.dimension < 1 || sensor.dimension > kMaxUserSensor)) {
      fail(item, "dimension",
           "must be from 1 to " + std::to_string(kMaxUserSensor) + "; it is " + std::to_string(sensor.dimension));
    }
    numbers(item, sensor);
    if (!ok()) return;
    size += sensor_size(sensor);
    if (size > kMaxSensorData) {
      fail("sensors", "", "may have at most " + std::to_string(kMaxSensorData) + " numbers together");
    }
  }
}

}  // namespace axion::model
