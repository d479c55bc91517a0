// The <sensor> section. What is not offered is left out with a warning: it does not move anything.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <sstream>
#include <utility>

#include "engine/import/mjcf_scene.hpp"
#include "engine/model/principal_axes.hpp"
#include "engine/model/sensor_layout.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using math::Mat3;
using math::Quat;
using math::Vec3;
using model::Pose;
using model::SensorKind;
using model::SensorOf;

// Principal axes in the order of falling moments, and turned as MuJoCo turns them: Jacobi's method on the greatest
// element beside the diagonal, then exchanges of neighbours by quarter turns.
Quat<double> falling_axes(const Mat3<double>& A) {
  constexpr double kSmall = 1e-12;
  Quat<double> q;
  Mat3<double> D = A;
  for (int k = 0; k < 500; ++k) {
    const Mat3<double> R = math::to_matrix(q);
    D = math::transpose(R) * A * R;
    const double xy = std::abs(D(0, 1)), xz = std::abs(D(0, 2)), yz = std::abs(D(1, 2));
    const int about = xy > xz && xy > yz ? 2 : xz > yz ? 1 : 0;
    const int row = about == 0 ? 1 : 0, column = about == 2 ? 1 : 2;
    if (std::abs(D(row, column)) < kSmall) break;
    const double tau = (D(column, column) - D(row, row)) / (2 * D(row, column));
    const double t = (tau >= 0 ? 1 : -1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
    const double cosine = 1 / std::sqrt(1 + t * t);
    if (cosine > 1 - kSmall) break;
    const double half = std::sqrt(0.5 - 0.5 * cosine) * ((tau >= 0) == (about == 1) ? 1 : -1);
    Quat<double> turn{std::sqrt(1 - half * half), 0, 0, 0};
    (about == 0 ? turn.x : about == 1 ? turn.y : turn.z) = half;
    q = math::normalized(q * turn);
  }
  double moment[3] = {D(0, 0), D(1, 1), D(2, 2)};
  const double quarter = std::sqrt(0.5);
  for (const int first : {0, 1, 0}) {
    if (moment[first] + kSmall >= moment[first + 1]) continue;
    std::swap(moment[first], moment[first + 1]);
    Quat<double> turn{quarter, 0, 0, 0};
    (first == 0 ? turn.z : turn.x) = quarter;
    q = math::normalized(q * turn);
  }
  return q;
}

class SensorReader {
 public:
  SensorReader(MjcfScene& scene, const std::set<std::string, std::less<>>& actuators, const XmlElement& element)
      : s_(scene), actuators_(actuators), e_(element), a_(element) {}

  // False where it was left out, and that has been noted.
  bool read(model::SensorSpec& sensor);

 private:
  bool leave_out(std::string_view attribute, const std::string& why) {
    s_.notes.warn(e_, attribute, "is left out: " + why);
    return false;
  }
  std::string required(const char* attribute) {
    if (!a_.has(attribute)) refuse(e_, attribute, "is required");
    return a_.text(attribute, "");
  }
  bool find_frame(const char* type_attribute, const char* name_attribute, model::FrameSpec& frame);
  bool read_frame(model::SensorSpec& sensor);
  bool read_joint(model::SensorSpec& sensor);
  bool read_actuator(model::SensorSpec& sensor);
  void read_touch_zone(const SitePlace& site, model::SensorSpec& sensor);
  void read_contact_side(const char* which, model::ContactSideSpec& side);
  void read_contact(model::SensorSpec& sensor);
  bool read_pair(model::SensorSpec& sensor);
  bool read_inside_site(model::SensorSpec& sensor);
  bool read_projection(model::SensorSpec& sensor);
  bool find_camera(const char* name_attribute, model::FrameSpec& frame);
  const SitePlace& find_site(model::FrameSpec& frame);

  MjcfScene& s_;
  const std::set<std::string, std::less<>>& actuators_;  // all that the document names
  const XmlElement& e_;
  Attributes a_;
};

Pose inertial_frame(const MjcfScene& scene, int body) {
  if (const auto known = scene.inertial_frames.find(body); known != scene.inertial_frames.end()) return known->second;
  const model::BodySpec& spec = scene.spec.bodies[static_cast<std::size_t>(body)];
  return {falling_axes(model::to_matrix(spec.I_Bcm)), model::to_vec3(spec.p_BoBcm)};
}

bool SensorReader::find_frame(const char* type_attribute, const char* name_attribute, model::FrameSpec& frame) {
  const std::string type = required(type_attribute), name = required(name_attribute);
  const auto missing = [&] { refuse(e_, name_attribute, "names a " + type + " that does not exist"); };
  if (type == "body" || type == "xbody") {
    const auto body = s_.body_index.find(name);
    if (body == s_.body_index.end()) missing();
    frame.body = body->second;
    if (type == "body" && frame.body != model::kWorldBody) {
      frame.X_BF = model::to_spec(inertial_frame(s_, frame.body));
    }
    return true;
  }
  if (type == "site") {
    frame.X_BF = model::to_spec(site_pose(s_, e_, name_attribute, frame.body));
    return true;
  }
  if (type == "geom") {
    const auto geom = s_.geom_places.find(name);
    if (geom == s_.geom_places.end()) missing();
    if (!geom->second.is_known) return leave_out(name_attribute, "the frame of a mesh for the eye is not known");
    frame.body = geom->second.body, frame.X_BF = model::to_spec(geom->second.X_BG);
    return true;
  }
  if (type == "camera") {
    if (!s_.cameras.contains(name)) missing();
    return find_camera(name_attribute, frame);
  }
  refuse(e_, type_attribute, "must be body, xbody, geom, site or camera");
}

// Of a camera that exists.
bool SensorReader::find_camera(const char* name_attribute, model::FrameSpec& frame) {
  const SitePlace& camera = s_.cameras.find(a_.text(name_attribute, ""))->second;
  const Attributes a = s_.defaults.attributes(*camera.element, camera.place.childclass, {"camera"});
  if (a.text("mode", "fixed") != "fixed") return leave_out(name_attribute, "the camera moves in its body");
  frame.body = camera.body;
  frame.X_BF = model::to_spec(pose_at(a, camera.place, s_.documents.of(*camera.element)));
  return true;
}

// The site that the sensor names, and its frame.
const SitePlace& SensorReader::find_site(model::FrameSpec& frame) {
  const std::string name = required("site");
  frame.X_BF = model::to_spec(site_pose(s_, e_, "site", frame.body));
  return s_.sites.find(name)->second;
}

void SensorReader::read_touch_zone(const SitePlace& site, model::SensorSpec& sensor) {
  const Attributes a = s_.defaults.attributes(*site.element, site.place.childclass, {"site"});
  using model::ShapeKind;
  const ShapeKind kinds[] = {ShapeKind::kSphere, ShapeKind::kCapsule, ShapeKind::kEllipsoid, ShapeKind::kCylinder,
                             ShapeKind::kBox};
  const int type = a.keyword("type", {"sphere", "capsule", "ellipsoid", "cylinder", "box"}, 0);
  sensor.zone = kinds[type];
  sensor.zone_size = {0.005, 0.005, 0.005};
  a.numbers("size", sensor.zone_size, 1);
  double p[6] = {};
  if (!a.numbers("fromto", p, 6)) return;
  const double half = 0.5 * math::norm(Vec3<double>{p[3] - p[0], p[4] - p[1], p[5] - p[2]});
  const bool across = type == 2 || type == 4;
  sensor.zone_size[across ? 2 : 1] = half;
  if (across) sensor.zone_size[1] = sensor.zone_size[0];
}

bool SensorReader::read_frame(model::SensorSpec& sensor) {
  if (sensor.kind == SensorKind::kInsideSite) return read_inside_site(sensor);
  if (sensor.kind == SensorKind::kCameraProjection) return read_projection(sensor);
  if (sensor.kind >= SensorKind::kFramePosition) {
    if (!find_frame("objtype", "objname", sensor.frame)) return false;
    if (!a_.has("reftype") && !a_.has("refname")) return true;
    if (!takes_reference(sensor.kind)) refuse(e_, "reftype", "is not for accelerations");
    sensor.has_reference = true;
    return find_frame("reftype", "refname", sensor.reference);
  }
  if (sensor.kind == SensorKind::kRangefinder) {
    if (a_.has("camera")) return leave_out("camera", "rangefinders are at sites");
    if (a_.text("data", "dist") != "dist") return leave_out("data", "rangefinders read the distance alone");
  }
  const SitePlace& site = find_site(sensor.frame);
  if (sensor.kind == SensorKind::kTouch) read_touch_zone(site, sensor);
  return true;
}

bool SensorReader::read_inside_site(model::SensorSpec& sensor) {
  if (Attributes(e_).boolean("enclosed", false)) {
    s_.notes.warn(e_, "enclosed", "is not offered, and the sensor is left out");
    return false;
  }
  sensor.has_reference = true;
  read_touch_zone(find_site(sensor.reference), sensor);
  return find_frame("objtype", "objname", sensor.frame);
}

// MuJoCo makes pixels by the focal lengths alone, whatever a camera's principal point and kind of projection.
bool SensorReader::read_projection(model::SensorSpec& sensor) {
  find_site(sensor.frame);
  const auto found = s_.cameras.find(required("camera"));
  if (found == s_.cameras.end()) refuse(e_, "camera", "names a camera that does not exist");
  const Attributes a = s_.defaults.attributes(*found->second.element, found->second.place.childclass, {"camera"});
  double resolution[2] = {1, 1}, size[2] = {}, focal[2] = {}, focal_pixel[2] = {};
  a.numbers("resolution", resolution, 2), a.numbers("sensorsize", size, 2);
  if (!(resolution[0] >= 1 && resolution[1] >= 1)) a.refuse("resolution", "must be at least 1 of a sensor's camera");
  model::ImageSpec& image = sensor.image;
  image.centre_x = 0.5 * resolution[0], image.centre_y = 0.5 * resolution[1];
  if (size[0] > 0 && size[1] > 0) {
    a.numbers("focal", focal, 2), a.numbers("focalpixel", focal_pixel, 2);
    image.focal_x = focal_pixel[0] > 0 ? focal_pixel[0] : focal[0] / size[0] * resolution[0];
    image.focal_y = focal_pixel[1] > 0 ? focal_pixel[1] : focal[1] / size[1] * resolution[1];
    if (!(image.focal_x > 0 && image.focal_y > 0)) a.refuse("focal", "must be above 0 where sensorsize is");
  } else {
    const double angle = a.number("fovy", 45);  // degrees, whatever the unit of angles
    if (!(angle > 0 && angle < 180)) a.refuse("fovy", "must be above 0 and below 180");
    image.focal_x = image.focal_y = 0.5 / std::tan(angle * std::numbers::pi / 360) * resolution[1];
  }
  sensor.has_reference = true;
  return find_camera("camera", sensor.reference);
}

bool SensorReader::read_joint(model::SensorSpec& sensor) {
  const auto place = s_.joint_place.find(required("joint"));
  if (place == s_.joint_place.end()) refuse(e_, "joint", "names a joint that does not exist");
  sensor.joint = place->second.joint, sensor.axis = place->second.axis;
  const model::JointKind kind = s_.spec.joints[static_cast<std::size_t>(sensor.joint)].kind;
  const bool is_ball = model::sensor_traits(sensor.kind).of == SensorOf::kBall;
  if (is_ball && kind != model::JointKind::kBall) refuse(e_, "joint", "must be a ball");
  if (is_ball) sensor.axis = 0;
  if (is_ball || kind == model::JointKind::kAxes) return true;
  if (kind == model::JointKind::kBall && sensor.kind >= SensorKind::kJointLimitPosition) {
    return leave_out("joint", "balls have no limits");
  }
  refuse(e_, "joint", "must be a hinge or a slide");
}

// The gain of a motor is part of its gear here (mjcf_actuators.cpp).
bool SensorReader::read_actuator(model::SensorSpec& sensor) {
  const std::string name = required("actuator");
  const auto& actuators = s_.spec.actuators;
  const auto found = std::find_if(actuators.begin(), actuators.end(), [&](const auto& a) { return a.name == name; });
  if (found == actuators.end()) {
    if (!actuators_.contains(name)) refuse(e_, "actuator", "names an actuator that does not exist");
    return leave_out("actuator", "so is its actuator");
  }
  sensor.actuator = static_cast<int>(found - actuators.begin());
  const MotorGain& motor = s_.motor_gains[static_cast<std::size_t>(sensor.actuator)];
  if (motor.gain == 1) return true;
  if (sensor.kind == SensorKind::kActuatorForce) {
    sensor.scale = motor.gain;
    return true;
  }
  if (found->on_site) {
    if (motor.gain == 0) return leave_out("actuator", "its actuator has no gain");
    sensor.scale = 1 / motor.gain;
    return true;
  }
  if (found->tendon >= 0) {
    sensor.kind =
        sensor.kind == SensorKind::kActuatorPosition ? SensorKind::kTendonPosition : SensorKind::kTendonVelocity;
    sensor.tendon = found->tendon, sensor.actuator = -1, sensor.scale = motor.gear;
    return true;
  }
  sensor.kind = sensor.kind == SensorKind::kActuatorPosition ? SensorKind::kJointPosition : SensorKind::kJointVelocity;
  sensor.joint = found->joint, sensor.axis = found->axis, sensor.actuator = -1;
  sensor.scale = motor.gear;
  return true;
}

// What geom1, body1 and subtree1, or those with 2, say.
void SensorReader::read_contact_side(const char* which, model::ContactSideSpec& side) {
  using enum model::ContactSideKind;
  const auto take = [&](const std::string& attribute, model::ContactSideKind kind, int index) {
    if (side.kind != kAny) refuse(e_, attribute, "is a second name of one side");
    side = {kind, index};
  };
  const std::string geom = std::string("geom") + which;
  if (a_.has(geom)) take(geom, kShape, find_shape(s_, e_, geom.c_str()));
  for (const auto kind : {kBody, kSubtree}) {
    const std::string attribute = (kind == kBody ? "body" : "subtree") + std::string(which);
    if (!a_.has(attribute)) continue;
    const auto body = s_.body_index.find(a_.text(attribute, ""));
    if (body == s_.body_index.end()) refuse(e_, attribute, "names a body that does not exist");
    const auto part = s_.first_parts.find(body->second);
    const bool has_parts = kind == kSubtree && part != s_.first_parts.end();
    take(attribute, kind, has_parts ? part->second : body->second);
  }
}

bool SensorReader::read_pair(model::SensorSpec& sensor) {
  using enum model::ContactSideKind;
  for (const char* which : {"1", "2"}) {
    model::ContactSideSpec& side = *which == '1' ? sensor.contact.first : sensor.contact.second;
    read_contact_side(which, side);
    const std::string geom = std::string("geom") + which;
    if (side.kind == kAny) refuse(e_, geom, "or body" + std::string(which) + " is required");
    if (side.kind == kShape && side.index < 0) {
      return leave_out(geom, "the geom is no shape here");
    }
  }
  const model::ContactSideSpec &first = sensor.contact.first, &second = sensor.contact.second;
  if (first.kind == second.kind && first.index == second.index) {
    refuse(e_, first.kind == kShape ? "geom2" : "body2", "must not be that of the other side");
  }
  return true;
}

void SensorReader::read_contact(model::SensorSpec& sensor) {
  static constexpr std::string_view kData[] = {"found", "force", "torque", "dist", "pos", "normal", "tangent"};
  static_assert(std::size(kData) == model::kContactDatumCount);
  model::ContactSensorSpec& contact = sensor.contact;
  read_contact_side("1", contact.first);
  read_contact_side("2", contact.second);
  if (a_.has("site")) {
    if (contact.first.kind != model::ContactSideKind::kAny) refuse(e_, "site", "is a second name of one side");
    contact.first.kind = model::ContactSideKind::kZone;
    sensor.frame.X_BF = model::to_spec(site_pose(s_, e_, "site", sensor.frame.body));
    read_touch_zone(s_.sites.find(a_.text("site", ""))->second, sensor);
  }
  contact.slots = a_.integer("num", 1);
  if (contact.slots < 1 || contact.slots > model::kMaxContactSlots) {
    refuse(e_, "num", "must be from 1 to " + std::to_string(model::kMaxContactSlots));
  }
  contact.reduction =
      static_cast<model::ContactReduction>(a_.keyword("reduce", {"none", "mindist", "maxforce", "netforce"}, 0));
  if (contact.reduction == model::ContactReduction::kNetForce && contact.slots != 1) {
    refuse(e_, "num", "must be 1 of a net force");
  }
  if (!a_.has("data")) return;
  std::istringstream words(a_.text("data", ""));
  std::string word;
  int last = -1;
  contact.data = 0;
  while (words >> word) {
    const int k = static_cast<int>(std::find(std::begin(kData), std::end(kData), word) - std::begin(kData));
    if (k == model::kContactDatumCount || k <= last) {
      refuse(e_, "data", "must be some of found, force, torque, dist, pos, normal, tangent, in this order");
    }
    contact.data = static_cast<std::uint8_t>(contact.data | 1 << k), last = k;
  }
  if (last < 0) refuse(e_, "data", "names nothing");
}

bool SensorReader::read(model::SensorSpec& sensor) {
  int kind = 0;
  while (kind < model::kSensorKindCount && model::sensor_traits(static_cast<SensorKind>(kind)).name != e_.tag) ++kind;
  if (kind == model::kSensorKindCount) return false;  // the schema has said why
  sensor.kind = static_cast<SensorKind>(kind);
  sensor.name = a_.text("name", "");
  sensor.cutoff = a_.not_negative("cutoff", 0);
  sensor.noise = a_.not_negative("noise", 0);
  switch (model::sensor_traits(sensor.kind).of) {
    case SensorOf::kFrame:
      return read_frame(sensor);
    case SensorOf::kBody: {
      const auto body = s_.body_index.find(required("body"));
      if (body == s_.body_index.end()) refuse(e_, "body", "names a body that does not exist");
      const auto part = s_.first_parts.find(body->second);
      sensor.frame.body = part == s_.first_parts.end() ? body->second : part->second;
      return true;
    }
    case SensorOf::kAxis:
    case SensorOf::kBall:
      return read_joint(sensor);
    case SensorOf::kActuator:
      return read_actuator(sensor);
    case SensorOf::kTendon:
      required("tendon");
      sensor.tendon = find_tendon(s_, e_, "tendon");
      return sensor.tendon != kNoTendon;
    case SensorOf::kPair:
      return read_pair(sensor);
    case SensorOf::kWorld:
      break;
  }
  if (sensor.kind == SensorKind::kContact) read_contact(sensor);
  if (sensor.kind == SensorKind::kUser) {
    required("dim");
    sensor.dimension = a_.integer("dim", 1);
    if (sensor.dimension < 1 || sensor.dimension > model::kMaxUserSensor) {
      refuse(e_, "dim", "must be from 1 to " + std::to_string(model::kMaxUserSensor));
    }
  }
  return true;
}

}  // namespace

void read_sensors(MjcfScene& scene) {
  scene.spec.magnetic_field = model::to_spec(scene.settings.magnetic_field);
  std::set<std::string, std::less<>> names, actuators;
  for (const XmlElement& section : scene.root.children) {
    if (section.tag != "actuator") continue;
    for (const XmlElement& element : section.children) {
      if (const XmlAttribute* name = element.find("name"); name != nullptr) actuators.insert(name->value);
    }
  }
  int size = 0;
  for (const XmlElement& section : scene.root.children) {
    if (section.tag != "sensor") continue;
    for (const XmlElement& element : section.children) {
      const XmlAttribute* name = element.find("name");
      if (name != nullptr && !name->value.empty() && !names.insert(name->value).second) {
        refuse(element, "name", "names a sensor a second time");
      }
      model::SensorSpec sensor;
      if (!SensorReader(scene, actuators, element).read(sensor)) continue;
      size += model::sensor_size(sensor);
      if (scene.spec.sensors.size() >= static_cast<std::size_t>(model::kMaxSceneSensors) ||
          size > model::kMaxSensorData) {
        refuse(element, "",
               "is one sensor too many: a scene may have " + std::to_string(model::kMaxSceneSensors) + ", of " +
                   std::to_string(model::kMaxSensorData) + " numbers");
      }
      scene.spec.sensors.push_back(std::move(sensor));
    }
  }
}

}  // namespace axion::import
