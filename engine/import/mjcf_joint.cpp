#include "engine/import/mjcf_joint.hpp"

#include <cmath>

#include "engine/import/mjcf_softness.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using model::AxisKind;
using model::AxisSpec;
using model::JointKind;
using model::JointSpec;

constexpr double kLeastBallAngle = 1e-4;  // rad

enum Type { kFree, kBall, kSlide, kHinge };

Type type_of(const Attributes& a) {
  if (a.element().tag == "freejoint") return kFree;
  return static_cast<Type>(a.keyword("type", {"free", "ball", "slide", "hinge"}, kHinge));
}

// What no kind of joint here has.
void check_unsupported(const Attributes& a, Notes& notes) {
  if (a.number("springyield", 0) != 0) {
    notes.unsupported(a.where("springyield"), "springyield", "springs do not yield");
  }
  if (a.boolean("align", false)) {
    notes.unsupported(a.element(), "align", "frames of free bodies stay where the document puts them");
  }
}

math::Vec3<double> placed_point(const MjcfJoint& source) {
  const math::Vec3<double> p = source.attributes.vec3("pos", {});
  return source.in_frame ? source.X_BF * p : p;
}

JointSpec free_joint(const MjcfJoint& source, const MjcfSettings& settings, Notes& notes) {
  const Attributes& a = source.attributes;
  JointSpec joint;
  joint.name = source.name;
  joint.kind = JointKind::kFree;
  if (a.element().tag == "freejoint") return joint;
  joint.free_stiffness = settings.springs ? a.linear("stiffness", notes) : 0;
  joint.free_damping = settings.dampers ? a.linear("damping", notes) : 0;
  return joint;  // its armature is a body's (mjcf_bodies.cpp), dry friction a tendon's (mjcf_dry_friction.cpp)
}

JointSpec ball_joint(const MjcfJoint& source, const MjcfSettings& settings, Notes& notes) {
  const Attributes& a = source.attributes;
  JointSpec joint;
  joint.name = source.name;
  joint.kind = JointKind::kBall;
  joint.anchor = model::to_spec(placed_point(source));
  joint.ball_damping = a.linear("damping", notes);
  joint.ball_armature = a.bounded("armature", notes);
  if (!settings.dampers) joint.ball_damping = 0;
  joint.ball_stiffness = settings.springs ? a.linear("stiffness", notes) : 0;
  double range[2] = {0, 0};
  a.numbers("range", range, 2);
  if (!is_limited(a, "limited", "range", settings)) return joint;
  if (range[0] != 0 || !(range[1] >= 0)) a.refuse("range", "of a ball is from 0 to an angle");
  if (!settings.limits) return joint;
  joint.ball_limited = true;
  joint.ball_upper = settings.radians(range[1]);
  if (joint.ball_upper < kLeastBallAngle) {
    notes.warn(a.where("range"), "range", "of a ball is taken as 1e-4 rad: it needs an angle");
    joint.ball_upper = kLeastBallAngle;
  }
  joint.ball_limit_softness = read_softness(a, "solreflimit", "solimplimit", notes);
  return joint;
}

AxisSpec read_axis(const MjcfJoint& source, Type type, const MjcfSettings& settings, Notes& notes) {
  const Attributes& a = source.attributes;
  AxisSpec axis;
  axis.name = source.name;
  axis.kind = type == kSlide ? AxisKind::kSlide : AxisKind::kHinge;
  const math::Vec3<double> unit = a.direction("axis", {0, 0, 1});
  axis.axis = model::to_spec(source.in_frame ? math::rotate(source.X_BF.rotation, unit) : unit);
  axis.anchor = model::to_spec(placed_point(source));
  const auto coordinate = [&](double value) { return type == kHinge ? settings.radians(value) : value; };
  axis.reference = coordinate(a.number("ref", 0));
  axis.initial_position = axis.reference;
  axis.spring_reference = coordinate(a.number("springref", 0));
  axis.armature = a.bounded("armature", notes);
  axis.damping = settings.dampers ? a.linear("damping", notes) : 0;
  axis.friction_loss = settings.dry_friction ? a.bounded("frictionloss", notes) : 0;
  axis.stiffness = settings.springs ? a.linear("stiffness", notes) : 0;
  double range[2] = {0, 0};
  a.numbers("range", range, 2);
  axis.lower = coordinate(range[0]);
  axis.upper = coordinate(range[1]);
  axis.limited = is_limited(a, "limited", "range", settings);
  if (axis.limited && !(range[0] < range[1])) a.refuse("range", "must have the smaller limit first");
  axis.limited = axis.limited && settings.limits;
  axis.limit_softness = read_softness(a, "solreflimit", "solimplimit", notes);
  axis.friction_softness = read_friction_softness(a, notes);
  return axis;
}

// Whether an axis can be the next of a joint: slides come before hinges, and the directions of each span a space.
bool joins(const JointSpec& joint, const AxisSpec& axis) {
  if (joint.kind != JointKind::kAxes || joint.axes.size() == static_cast<std::size_t>(model::kMaxAxesPerJoint))
    return false;
  std::vector<math::Vec3<double>> same{model::to_vec3(axis.axis)};
  for (const AxisSpec& a : joint.axes) {
    if (axis.kind == AxisKind::kSlide && a.kind == AxisKind::kHinge) return false;
    if (a.kind == axis.kind) same.push_back(model::to_vec3(a.axis));
  }
  if (same.size() == 2) return math::norm(math::cross(same[0], same[1])) > model::kMinAxisVolume;
  return same.size() < 3 || std::abs(math::dot(math::cross(same[0], same[1]), same[2])) > model::kMinAxisVolume;
}

}  // namespace

std::vector<JointSpec> read_joints(std::span<const MjcfJoint> joints, const MjcfSettings& settings, Notes& notes) {
  std::vector<JointSpec> chain;
  for (const MjcfJoint& source : joints) {
    const Attributes& a = source.attributes;
    const Type type = type_of(a);
    check_unsupported(a, notes);
    if (type == kFree && joints.size() > 1) {
      a.refuse("type", "is not supported beside other joints: a free joint must be the body's only one");
    }
    if (type == kFree || type == kBall) {
      chain.push_back(type == kFree ? free_joint(source, settings, notes) : ball_joint(source, settings, notes));
      continue;
    }
    AxisSpec axis = read_axis(source, type, settings, notes);
    if (chain.empty() || !joins(chain.back(), axis)) {
      chain.emplace_back();
      chain.back().kind = JointKind::kAxes;
    }
    chain.back().axes.push_back(std::move(axis));
  }
  if (chain.empty()) {
    chain.emplace_back();
    chain.back().kind = JointKind::kFixed;
  }
  return chain;
}

}  // namespace axion::import
