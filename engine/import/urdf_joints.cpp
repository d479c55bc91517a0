// Joints: axes, limits, dynamics and motors.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/utf8.hpp"
#include "engine/import/mjcf_pose.hpp"
#include "engine/import/urdf_elements.hpp"
#include "engine/import/urdf_scene.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using model::AxisKind;
using model::AxisSpec;
using model::JointKind;
using model::JointSpec;

class JointReader {
 public:
  explicit JointReader(UrdfScene& scene) : s_(scene) {}

  void read() {
    for (int index : s_.tree.order) {
      const UrdfLink& link = s_.tree.links[static_cast<std::size_t>(index)];
      if (link.joint >= 0) {
        read_joint(s_.tree.joints[static_cast<std::size_t>(link.joint)]);
      } else if (!link.is_world) {
        add_root(index, link);
      }
    }
    read_mimics();
    if (s_.settings.filter_parent) keep_held_neighbours_apart();
  }

 private:
  void add_root(int index, const UrdfLink& link);
  void read_joint(const UrdfJoint& joint);
  AxisSpec read_axis(const UrdfJoint& joint, AxisKind kind) const;
  std::vector<AxisSpec> planar_axes(const UrdfJoint& joint) const;
  void read_limit(const UrdfJoint& joint, AxisSpec& axis) const;
  double read_effort(const UrdfJoint& joint) const;
  void read_dynamics(const UrdfJoint& joint, JointSpec& spec) const;
  void read_mimic(const UrdfJoint& joint);
  void read_mimics();
  void place_mimics();
  void add_motors(const UrdfJoint& joint, int index);
  void keep_held_neighbours_apart();

  int body(int link) const { return s_.body_of_link[static_cast<std::size_t>(link)]; }

  UrdfScene& s_;
  std::map<const UrdfJoint*, int> joint_index_;
  std::vector<const XmlElement*> mimics_;  // [equality]
};

void JointReader::add_root(int index, const UrdfLink& link) {
  JointSpec joint;
  joint.kind = link.is_held ? JointKind::kFixed : JointKind::kFree;
  joint.name = std::string(utf8_prefix(link.name, model::kMaxNameBytes - 8)) + (link.is_held ? "_fixed" : "_free");
  joint.child = body(index);
  s_.spec.joints.push_back(std::move(joint));
  s_.joint_elements.push_back(link.element);
}

AxisSpec JointReader::read_axis(const UrdfJoint& joint, AxisKind kind) const {
  AxisSpec axis;
  axis.name = joint.name;
  axis.kind = kind;
  math::Vec3<double> direction{1, 0, 0};
  if (const XmlElement* element = first_child(*joint.element, "axis", s_.notes)) {
    note_unknown(*element, "xyz", "", s_.notes);
    direction = Attributes(*element).direction("xyz", direction);
  }
  axis.axis = model::to_spec(direction);
  return axis;
}

// Two slides across the axis and a hinge about it, as MuJoCo has it and calls them.
std::vector<AxisSpec> JointReader::planar_axes(const UrdfJoint& joint) const {
  const AxisSpec normal = read_axis(joint, AxisKind::kHinge);
  const math::Mat3<double> R = math::to_matrix(rotation_from_z(model::to_vec3(normal.axis)));
  std::vector<AxisSpec> axes(3, normal);
  const char* suffix[3] = {"_TX", "_TY", "_RZ"};
  for (int k = 0; k < 3; ++k) {
    AxisSpec& axis = axes[static_cast<std::size_t>(k)];
    axis.name = std::string(utf8_prefix(joint.name, model::kMaxNameBytes - 3)) + suffix[k];
    if (k == 2) break;
    axis.kind = AxisKind::kSlide;
    axis.axis = model::to_spec(R.column(k));
  }
  return axes;
}

// The range of a revolute or prismatic joint. Without an element, or with both ends 0, or the wrong way round, it has
// none.
void JointReader::read_limit(const UrdfJoint& joint, AxisSpec& axis) const {
  const XmlElement* limit = find_child(*joint.element, "limit");
  if (joint.type == UrdfJointType::kContinuous) {
    if (limit == nullptr) return;
    const Attributes a(*limit);
    const double lower = a.number("lower", 0), upper = a.number("upper", 0);
    if (lower < upper) s_.notes.warn(*limit, "lower", "is not used: a continuous joint turns without end");
    return;
  }
  if (limit == nullptr) {
    s_.notes.warn(*joint.element, "", "has no <limit>, and is taken to have no end");
    return;
  }
  const Attributes a(*limit);
  const double lower = a.number("lower", 0), upper = a.number("upper", 0);
  if (lower == upper && lower != 0)
    refuse(*limit, "upper", "is equal to lower; make the joint fixed, or give it a range");
  if (!(lower < upper)) {
    const bool given = a.has("lower") || a.has("upper");
    s_.notes.warn(*limit, "",
                  given ? "has a lower that is not below its upper: the joint is taken to have no end"
                        : "has neither lower nor upper: the joint is taken to have no end");
    return;
  }
  // Beyond the greatest number of a scene is no limit.
  axis.limited = s_.settings.limits && (lower >= -model::kMaxMagnitude || upper <= model::kMaxMagnitude);
  axis.lower = std::max(lower, -model::kMaxMagnitude);
  axis.upper = std::min(upper, model::kMaxMagnitude);
}

// N m or N; 0 is no limit. Speeds are for controllers.
double JointReader::read_effort(const UrdfJoint& joint) const {
  const XmlElement* limit = find_child(*joint.element, "limit");
  if (limit == nullptr) return 0;
  note_unknown(*limit, "lower upper effort velocity acceleration deceleration jerk", "", s_.notes);
  const Attributes a(*limit);
  if (a.number("velocity", 0) > 0) {
    s_.notes.warn(*limit, "velocity", "is for controllers: joints may turn faster");
  }
  return std::min(std::abs(a.number("effort", 0)), model::kMaxMagnitude);
}

void JointReader::read_dynamics(const UrdfJoint& joint, JointSpec& spec) const {
  const XmlElement* dynamics = find_child(*joint.element, "dynamics");
  if (dynamics == nullptr) return;
  note_unknown(*dynamics, "damping friction", "", s_.notes);
  const Attributes given(*dynamics);
  const double damping = s_.settings.dampers ? given.bounded("damping", s_.notes) : 0;
  const double friction = s_.settings.dry_friction ? given.bounded("friction", s_.notes) : 0;
  for (AxisSpec& axis : spec.axes) {
    axis.damping = damping;
    axis.friction_loss = friction;
  }
  if (spec.kind == JointKind::kBall) spec.ball_damping = damping;
  if (spec.kind == JointKind::kFree && damping > 0) {
    s_.notes.unsupported(*dynamics, "damping", "a floating joint has no damping");
  }
  if ((spec.kind == JointKind::kFree || spec.kind == JointKind::kBall) && friction > 0) {
    s_.notes.unsupported(*dynamics, "friction", "a floating or spherical joint has no dry friction");
  }
}

// q = multiplier q' + offset of the joint that is followed, as an equality of their coordinates. A fixed joint stays
// at 0, so that what follows it stays at its offset.
void JointReader::read_mimic(const UrdfJoint& joint) {
  const XmlElement* mimic = find_child(*joint.element, "mimic");
  if (mimic == nullptr || joint.type == UrdfJointType::kFixed) return;
  note_unknown(*mimic, "joint multiplier offset", "", s_.notes);
  const std::string name = require_text(*mimic, "joint");
  const auto other = std::find_if(s_.tree.joints.begin(), s_.tree.joints.end(),
                                  [&](const UrdfJoint& candidate) { return candidate.name == name; });
  if (other == s_.tree.joints.end()) refuse(*mimic, "joint", "is no joint of the robot");
  if (&*other == &joint) refuse(*mimic, "joint", "is the joint itself");
  const Attributes a(*mimic);
  const double multiplier = a.number("multiplier", 1), offset = a.number("offset", 0);
  const auto has_one_axis = [](const UrdfJoint& of) {
    return of.type == UrdfJointType::kRevolute || of.type == UrdfJointType::kContinuous ||
           of.type == UrdfJointType::kPrismatic;
  };
  if (!has_one_axis(joint) || (!has_one_axis(*other) && other->type != UrdfJointType::kFixed)) {
    s_.notes.unsupported(*mimic, "joint", "only joints of one axis follow each other");
    return;
  }
  model::EqualitySpec equality;
  equality.name = std::string(utf8_prefix(joint.name, model::kMaxNameBytes - 6)) + "_mimic";
  equality.first.joint = joint_index_.at(&joint);
  equality.polynomial = {offset, 0, 0, 0, 0};
  if (other->type != UrdfJointType::kFixed) {
    equality.has_second = true;
    equality.second.joint = joint_index_.at(&*other);
    equality.polynomial[1] = multiplier;
  }
  s_.spec.equalities.push_back(std::move(equality));
  mimics_.push_back(mimic);
}

void JointReader::read_mimics() {
  if (!s_.settings.equalities) return;
  for (const UrdfJoint& joint : s_.tree.joints) read_mimic(joint);
  if (s_.spec.equalities.size() > static_cast<std::size_t>(model::kMaxSceneEqualities)) {
    refuse(*mimics_.back(), "", "is one too many: a scene may have " + std::to_string(model::kMaxSceneEqualities));
  }
  place_mimics();
}

// A joint that follows another starts where it follows it: along chains, in as many rounds as they are long.
void JointReader::place_mimics() {
  std::vector<bool> is_placed(s_.spec.joints.size(), true);
  for (const model::EqualitySpec& e : s_.spec.equalities) is_placed[static_cast<std::size_t>(e.first.joint)] = false;
  bool moves = true;
  while (moves) {
    moves = false;
    for (const model::EqualitySpec& e : s_.spec.equalities) {
      if (is_placed[static_cast<std::size_t>(e.first.joint)]) continue;
      if (e.has_second && !is_placed[static_cast<std::size_t>(e.second.joint)]) continue;
      const double followed =
          e.has_second ? s_.spec.joints[static_cast<std::size_t>(e.second.joint)].axes[0].initial_position : 0;
      s_.spec.joints[static_cast<std::size_t>(e.first.joint)].axes[0].initial_position =
          e.polynomial[0] + e.polynomial[1] * followed;
      is_placed[static_cast<std::size_t>(e.first.joint)] = moves = true;
    }
  }
  for (std::size_t i = 0; i < mimics_.size(); ++i) {
    if (!is_placed[static_cast<std::size_t>(s_.spec.equalities[i].first.joint)]) {
      refuse(*mimics_[i], "joint", "follows, directly or not, the joint itself");
    }
  }
}

void JointReader::read_joint(const UrdfJoint& joint) {
  const XmlElement& element = *joint.element;
  note_unknown(element, "name type", "origin parent child axis calibration dynamics limit mimic safety_controller",
               s_.notes);
  if (const XmlElement* origin = find_child(element, "origin"))
    note_unknown(*origin, "xyz rpy quat_xyzw", "", s_.notes);
  JointSpec spec;
  spec.name = joint.name;
  spec.parent = body(joint.parent);
  spec.child = body(joint.child);
  spec.kind = JointKind::kAxes;
  switch (joint.type) {
    case UrdfJointType::kRevolute:
    case UrdfJointType::kContinuous:
      spec.axes = {read_axis(joint, AxisKind::kHinge)};
      read_limit(joint, spec.axes[0]);
      break;
    case UrdfJointType::kPrismatic:
      spec.axes = {read_axis(joint, AxisKind::kSlide)};
      read_limit(joint, spec.axes[0]);
      break;
    case UrdfJointType::kPlanar:
      spec.axes = planar_axes(joint);
      break;
    case UrdfJointType::kSpherical:
      spec.kind = JointKind::kBall;
      break;
    case UrdfJointType::kFloating:
      // Nothing acts along it, so the link moves as any that is free; only its coordinates are those in the world.
      if (!s_.tree.links[static_cast<std::size_t>(joint.parent)].is_held) {
        s_.notes.warn(element, "", "floats on a link that moves: its coordinates are its pose in the world");
      }
      spec.kind = JointKind::kFree;
      spec.parent = model::kWorldBody;
      break;
    case UrdfJointType::kFixed:
      spec.kind = JointKind::kFixed;
      break;
  }
  if (joint.type != UrdfJointType::kFixed) read_dynamics(joint, spec);
  const int index = static_cast<int>(s_.spec.joints.size());
  s_.spec.joints.push_back(std::move(spec));
  s_.joint_elements.push_back(&element);
  joint_index_.emplace(&joint, index);
  if (joint.type != UrdfJointType::kFixed) add_motors(joint, index);
}

void JointReader::add_motors(const UrdfJoint& joint, int index) {
  const double effort = read_effort(joint);
  if (!s_.options.motors) return;
  const JointSpec& spec = s_.spec.joints[static_cast<std::size_t>(index)];
  for (std::size_t k = 0; k < spec.axes.size(); ++k) {
    model::ActuatorSpec motor;
    motor.name = spec.axes[k].name;
    motor.joint = index;
    motor.axis = static_cast<int>(k);
    motor.effort_limited = effort > 0;
    motor.effort_lower = -effort;
    motor.effort_upper = effort;
    s_.spec.actuators.push_back(std::move(motor));
  }
}

// Nothing is a neighbour of the world, so links that it holds would touch those that are jointed to them.
void JointReader::keep_held_neighbours_apart() {
  std::vector<bool> has_shape(s_.spec.bodies.size(), false);
  for (const model::ShapeSpec& shape : s_.spec.shapes) {
    if (shape.body != model::kWorldBody) has_shape[static_cast<std::size_t>(shape.body)] = true;
  }
  std::vector<std::vector<int>> members(s_.tree.links.size());  // [rigid root] bodies with shapes
  for (const UrdfLink& link : s_.tree.links) {
    const int b = body(static_cast<int>(&link - s_.tree.links.data()));
    if (b != model::kWorldBody && has_shape[static_cast<std::size_t>(b)]) {
      members[static_cast<std::size_t>(link.rigid_root)].push_back(b);
    }
  }
  for (const UrdfJoint& joint : s_.tree.joints) {
    const UrdfLink &parent = s_.tree.links[static_cast<std::size_t>(joint.parent)],
                   &child = s_.tree.links[static_cast<std::size_t>(joint.child)];
    if (!parent.is_held || child.is_held || joint.type == UrdfJointType::kFloating) continue;
    for (int a : members[static_cast<std::size_t>(parent.rigid_root)]) {
      for (int b : members[static_cast<std::size_t>(child.rigid_root)]) {
        if (s_.spec.excludes.size() >= static_cast<std::size_t>(model::kMaxSceneExcludes)) {
          refuse(*joint.element, "",
                 "keeps more pairs of links apart than a scene may have: " + std::to_string(model::kMaxSceneExcludes));
        }
        s_.spec.excludes.push_back({a, b});
      }
    }
  }
}

}  // namespace

void read_urdf_joints(UrdfScene& scene) { JointReader(scene).read(); }

}  // namespace axion::import
