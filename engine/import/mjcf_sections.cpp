// The sections beside the bodies and the actuators: contacts, keyframes; and names for the unnamed.
#include <algorithm>
#include <utility>

#include "engine/import/mjcf_mocaps.hpp"
#include "engine/import/mjcf_pose.hpp"
#include "engine/import/mjcf_scene.hpp"
#include "engine/import/mjcf_softness.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using model::JointKind;
using model::JointSpec;
using Vec3 = math::Vec3<double>;

template <typename Visit>
void for_each_in(const XmlElement& root, std::string_view section_tag, Visit visit) {
  for (const XmlElement& section : root.children) {
    if (section.tag != section_tag) continue;
    for (const XmlElement& element : section.children) visit(element);
  }
}

int find_body(const MjcfScene& scene, const XmlElement& element, std::string_view attribute) {
  const XmlAttribute* name = element.find(attribute);
  if (name == nullptr) refuse(element, attribute, "is required");
  const auto found = scene.body_index.find(name->value);
  if (found == scene.body_index.end()) refuse(element, attribute, "names a body that does not exist");
  return found->second;
}

std::size_t position_count(const JointSpec& joint) {
  return joint.kind == JointKind::kFree ? 7 : (joint.kind == JointKind::kBall ? 4 : joint.axes.size());
}
std::size_t velocity_count(const JointSpec& joint) {
  return joint.kind == JointKind::kFree ? 6 : (joint.kind == JointKind::kBall ? 3 : joint.axes.size());
}

// Joint coordinates of the reference configuration, which MuJoCo calls qpos0.
std::vector<double> reference_position(const model::SceneSpec& spec) {
  std::vector<double> q;
  for (const JointSpec& joint : spec.joints) {
    const model::PoseSpec& X_WB = spec.bodies[static_cast<std::size_t>(joint.child)].X_WB;
    if (joint.kind == JointKind::kFree) {
      q.insert(q.end(), X_WB.position.begin(), X_WB.position.end());
      q.insert(q.end(), X_WB.rotation.begin(), X_WB.rotation.end());
    }
    if (joint.kind == JointKind::kBall) q.insert(q.end(), {1, 0, 0, 0});
    for (const model::AxisSpec& axis : joint.axes) q.push_back(axis.reference);
  }
  return q;
}

// MuJoCo's velocity of a free body is that of its origin in the world, then the turning in body axes; of a ball the
// turning in the child's axes. A scene has the centre of mass in the world, and the turning in world or parent axes.
void convert_velocities(const model::SceneSpec& spec, const std::vector<double>& q, std::vector<double>& v) {
  std::size_t at_q = 0, at_v = 0;
  for (const JointSpec& joint : spec.joints) {
    const model::BodySpec& child = spec.bodies[static_cast<std::size_t>(joint.child)];
    if (joint.kind == JointKind::kFree) {
      const math::Quat<double> R = model::to_quat({q[at_q + 3], q[at_q + 4], q[at_q + 5], q[at_q + 6]});
      const Vec3 omega = math::rotate(R, Vec3{v[at_v + 3], v[at_v + 4], v[at_v + 5]});
      const Vec3 dv = math::cross(omega, math::rotate(R, model::to_vec3(child.p_BoBcm)));
      for (int i = 0; i < 3; ++i) {
        v[at_v + static_cast<std::size_t>(i)] += dv[i];
        v[at_v + 3 + static_cast<std::size_t>(i)] = omega[i];
      }
    }
    if (joint.kind == JointKind::kBall) {
      model::Pose X_PC = model::to_pose(child.X_WB);
      if (joint.parent != model::kWorldBody) {
        X_PC = inverse(model::to_pose(spec.bodies[static_cast<std::size_t>(joint.parent)].X_WB)) * X_PC;
      }
      const math::Quat<double> turned = model::to_quat({q[at_q], q[at_q + 1], q[at_q + 2], q[at_q + 3]});
      const Vec3 omega = math::rotate(X_PC.rotation * turned, Vec3{v[at_v], v[at_v + 1], v[at_v + 2]});
      for (int i = 0; i < 3; ++i) v[at_v + static_cast<std::size_t>(i)] = omega[i];
    }
    at_q += position_count(joint);
    at_v += velocity_count(joint);
  }
}

std::vector<double> key_numbers(const XmlElement& element, const char* attribute, std::size_t count) {
  std::vector<double> numbers = parse_numbers(element, *element.find(attribute));
  if (numbers.size() != count) {
    refuse(element, attribute,
           "has " + std::to_string(numbers.size()) + " numbers; the model has " + std::to_string(count));
  }
  return numbers;
}

// Of an actuator that was left out it is not known how many it has.
void read_activations(MjcfScene& scene, const XmlElement& element, model::KeyframeSpec& key) {
  if (scene.actuator_count != scene.spec.actuators.size()) {
    scene.notes.unsupported(element, "act", "actuators were left out");
    return;
  }
  std::size_t count = 0;
  for (const model::ActuatorSpec& actuator : scene.spec.actuators) {
    count += actuator.activation == model::ActivationKind::kNone ? 0 : 1;
  }
  key.activation = key_numbers(element, "act", count);
}

void read_key(MjcfScene& scene, const XmlElement& element) {
  if (scene.spec.keyframes.size() >= static_cast<std::size_t>(model::kMaxSceneKeyframes)) {
    refuse(element, "", "is one keyframe too many: a scene may have " + std::to_string(model::kMaxSceneKeyframes));
  }
  const Attributes a(element);
  model::KeyframeSpec key;
  key.name = a.text("name", "");
  key.time = a.number("time", 0);
  key.joint_position = reference_position(scene.spec);
  if (a.has("qpos")) key.joint_position = key_numbers(element, "qpos", key.joint_position.size());
  std::size_t at = 0;
  for (const JointSpec& joint : scene.spec.joints) {
    const std::size_t w = joint.kind == JointKind::kFree ? at + 3 : at;
    at += position_count(joint);
    if (joint.kind != JointKind::kFree && joint.kind != JointKind::kBall) continue;
    double norm_sq = 0;
    for (std::size_t i = w; i < w + 4; ++i) norm_sq += key.joint_position[i] * key.joint_position[i];
    if (norm_sq > 1e-12) continue;
    scene.notes.warn(element, "qpos", "has a zero quaternion at index " + std::to_string(w) + ", taken as no rotation");
    for (std::size_t i = w; i < w + 4; ++i) key.joint_position[i] = i == w ? 1 : 0;
  }
  if (a.has("qvel")) {
    std::size_t count = 0;
    for (const JointSpec& joint : scene.spec.joints) count += velocity_count(joint);
    key.joint_velocity = key_numbers(element, "qvel", count);
    convert_velocities(scene.spec, key.joint_position, key.joint_velocity);
  }
  if (a.has("ctrl")) {
    const std::vector<double> control = key_numbers(element, "ctrl", scene.actuator_count);
    for (const MotorGain& actuator : scene.motor_gains) key.control.push_back(control[actuator.number]);
  }
  if (a.has("act") && !parse_numbers(element, *element.find("act")).empty()) read_activations(scene, element, key);
  read_mocap_key(scene, element, key);
  scene.spec.keyframes.push_back(std::move(key));
}

// Names the unnamed of one kind "<kind><index>", out of the way of names that the document gives.
class Namer {
 public:
  void take(const std::string& name) { taken_.insert(name); }
  void name(std::string& name, std::string proposal) {
    if (!name.empty()) return;
    while (!taken_.insert(proposal).second) proposal += "_";
    name = std::move(proposal);
  }

 private:
  std::set<std::string> taken_{""};
};

template <typename Items>
void name_items(Items& items, const std::string& kind) {
  Namer namer;
  for (const auto& item : items) namer.take(item.name);
  for (std::size_t i = 0; i < items.size(); ++i) namer.name(items[i].name, kind + std::to_string(i));
}

// MJCF joints are the axes of a scene's joints. A joint of one axis has its name, one of several the names of all.
void name_joints(model::SceneSpec& spec) {
  Namer joints, axes;
  for (const JointSpec& joint : spec.joints) {
    joints.take(joint.name);
    for (const model::AxisSpec& axis : joint.axes) axes.take(axis.name);
  }
  int count = 0;
  for (JointSpec& joint : spec.joints) {
    if (joint.kind == JointKind::kFixed) {
      joints.name(joint.name, spec.bodies[static_cast<std::size_t>(joint.child)].name + "_fixed");
      continue;
    }
    std::string all;
    for (model::AxisSpec& axis : joint.axes) {
      axes.name(axis.name, "joint" + std::to_string(count++));
      all += (all.empty() ? "" : "+") + axis.name;
    }
    if (joint.axes.empty()) all = "joint" + std::to_string(count++);
    if (all.size() > model::kMaxNameBytes / 2) all = "joint" + std::to_string(joint.child);
    joints.name(joint.name, all);
  }
}

}  // namespace

int find_shape(const MjcfScene& scene, const XmlElement& element, const char* attribute) {
  const XmlAttribute* name = element.find(attribute);
  if (name == nullptr) refuse(element, attribute, "is required");
  if (!scene.geom_places.contains(name->value)) refuse(element, attribute, "names a geom that does not exist");
  const auto& shapes = scene.spec.shapes;
  const auto found =
      std::find_if(shapes.begin(), shapes.end(), [&](const auto& shape) { return shape.name == name->value; });
  return found == shapes.end() ? -1 : static_cast<int>(found - shapes.begin());
}

namespace {

void read_pair(MjcfScene& scene, const XmlElement& element) {
  const Attributes a = scene.defaults.attributes(element, DefaultClasses::kMain, {"pair"});
  model::ContactPairSpec pair;
  pair.shape_a = find_shape(scene, element, "geom1"), pair.shape_b = find_shape(scene, element, "geom2");
  if (pair.shape_a < 0 || pair.shape_b < 0 || !scene.settings.contacts) return;
  const model::ShapeSpec &one = scene.spec.shapes[static_cast<std::size_t>(pair.shape_a)],
                         &two = scene.spec.shapes[static_cast<std::size_t>(pair.shape_b)];
  const int dimension = a.integer("condim", 3);  // the geoms have no say
  if (dimension != 1 && dimension != 3 && dimension != 4 && dimension != 6) a.refuse("condim", "must be 1, 3, 4 or 6");
  pair.contact_dimension = dimension == 1 ? 1 : 3, pair.cone_dimension = dimension;
  pair.softness = read_softness(a, "solref", "solimp", scene.notes);
  if (a.number("adhesion", 0) != 0) {
    scene.notes.unsupported(a.where("adhesion"), "adhesion", "contacts do not pull");
  }
  double given[5] = {1, 1, 0.005, 0.0001, 0.0001};
  if (a.numbers("friction", given, 1)) {
    for (double f : given) {
      if (f < 0) a.refuse("friction", "must not be negative");
    }
    const auto alike = [&](bool acts, double first, double second, const char* which) {
      if (acts && first != second) scene.notes.warn(a.where("friction"), "friction", which);
    };
    alike(dimension > 1, given[0], given[1], "is taken as its first number: it is the same in every direction");
    alike(dimension == 6, given[3], given[4],
          "is taken as its fourth number: rolling friction is the same in every direction");
  }
  pair.friction = given[0];
  if (dimension > 3) pair.torsional_friction = given[2];
  if (dimension == 6) pair.rolling_friction = given[3];
  const std::vector<int> root = weld_roots(scene.spec);
  const auto moves_with = [&](int body) {
    return body == model::kWorldBody ? body : root[static_cast<std::size_t>(body)];
  };
  if (moves_with(one.body) == moves_with(two.body)) {
    return scene.notes.warn(element, "", "is of geoms that do not move against each other, which has no effect");
  }
  const auto couple = std::minmax(pair.shape_a, pair.shape_b);
  for (const model::ContactPairSpec& other : scene.spec.contact_pairs) {
    if (std::minmax(other.shape_a, other.shape_b) != couple) continue;
    if (other.friction != pair.friction || other.contact_dimension != pair.contact_dimension ||
        other.softness != pair.softness || other.cone_dimension != pair.cone_dimension ||
        other.torsional_friction != pair.torsional_friction || other.rolling_friction != pair.rolling_friction) {
      refuse(element, "geom2", "is in a second pair with geom1, of another law");
    }
    return scene.notes.warn(element, "", "is a second pair of its geoms, which has no effect");
  }
  if (scene.spec.contact_pairs.size() >= static_cast<std::size_t>(model::kMaxSceneContactPairs)) {
    refuse(element, "", "is one pair too many: a scene may have " + std::to_string(model::kMaxSceneContactPairs));
  }
  scene.spec.contact_pairs.push_back(pair);
}

}  // namespace

// Bodies come after their parents; of several joints with one child the first carries it, and equalities come last.
std::vector<int> weld_roots(const model::SceneSpec& spec) {
  std::vector<int> root(spec.bodies.size());
  std::vector<char> is_carried(spec.bodies.size(), 0);
  for (const JointSpec& joint : spec.joints) {
    const std::size_t child = static_cast<std::size_t>(joint.child);
    if (std::exchange(is_carried[child], 1) != 0) continue;
    const int of_parent =
        joint.parent == model::kWorldBody ? joint.parent : root[static_cast<std::size_t>(joint.parent)];
    root[child] = joint.kind == JointKind::kFixed ? of_parent : joint.child;
  }
  return root;
}

model::Pose site_pose(const MjcfScene& scene, const XmlElement& element, std::string_view attribute, int& body) {
  const XmlAttribute* name = element.find(attribute);
  const auto found = name == nullptr ? scene.sites.end() : scene.sites.find(name->value);
  if (found == scene.sites.end()) refuse(element, attribute, "names a site that does not exist");
  const SitePlace& site = found->second;
  const Attributes a = scene.defaults.attributes(*site.element, site.place.childclass, {"site"});
  body = site.body;
  double p[6] = {};
  if (!a.numbers("fromto", p, 6)) return pose_at(a, site.place, scene.documents.of(*site.element));
  const Vec3 from{p[0], p[1], p[2]}, to{p[3], p[4], p[5]};
  if (!(math::norm(from - to) > 1e-10)) a.refuse("fromto", "has two points that are the same");
  return site.place.X_BF * model::Pose{rotation_from_z(from - to), 0.5 * (from + to)};
}

model::Pose pose_at(const Attributes& attributes, const Place& place, const MjcfSettings& settings) {
  const model::Pose X = read_pose(attributes, settings);
  return place.in_frame ? place.X_BF * X : X;
}

void find_paired_geoms(MjcfScene& scene) {
  const auto note = [](const XmlElement& element, const char* first, const char* second, auto& names) {
    for (const char* attribute : {first, second}) {
      if (const XmlAttribute* name = element.find(attribute); name != nullptr) names.insert(name->value);
    }
  };
  for_each_in(scene.root, "contact", [&](const XmlElement& element) {
    if (scene.settings.contacts && element.tag == "pair") note(element, "geom1", "geom2", scene.paired_geoms);
  });
  for_each_in(scene.root, "sensor", [&](const XmlElement& element) {
    if (element.tag != "distance" && element.tag != "normal" && element.tag != "fromto") return;
    note(element, "geom1", "geom2", scene.paired_geoms), note(element, "body1", "body2", scene.measured_bodies);
  });
}

void read_contacts(MjcfScene& scene) {
  for_each_in(scene.root, "contact", [&](const XmlElement& element) {
    if (element.tag == "pair") return read_pair(scene, element);
    const int a = find_body(scene, element, "body1"), b = find_body(scene, element, "body2");
    if (a == b) return scene.notes.warn(element, "", "excludes a body from itself, which has no effect");
    if (scene.spec.excludes.size() >= static_cast<std::size_t>(model::kMaxSceneExcludes)) {
      refuse(element, "", "is one exclude too many: a scene may have " + std::to_string(model::kMaxSceneExcludes));
    }
    scene.spec.excludes.push_back({a, b});
  });
}

void read_keyframes(MjcfScene& scene) {
  std::set<std::string, std::less<>> names;
  for_each_in(scene.root, "keyframe", [&](const XmlElement& element) {
    const XmlAttribute* name = element.find("name");
    if (name != nullptr && !name->value.empty() && !names.insert(name->value).second) {
      refuse(element, "name", "names a keyframe a second time");
    }
    read_key(scene, element);
  });
}

void name_the_unnamed(MjcfScene& scene) {
  name_items(scene.spec.bodies, "body");
  name_items(scene.spec.shapes, "geom");
  name_items(scene.spec.actuators, "actuator");
  name_items(scene.spec.tendons, "tendon");
  name_items(scene.spec.keyframes, "key");
  name_items(scene.spec.sensors, "sensor");
  name_joints(scene.spec);
}

}  // namespace axion::import
