#include "clients/cli/channel_names.hpp"

#include <array>
#include <cstddef>
#include <span>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace axion::cli {
namespace {

constexpr std::array kPose{"x (m)", "y (m)", "z (m)", "qw", "qx", "qy", "qz"};
constexpr std::array kVelocity{"vx (m/s)", "vy (m/s)", "vz (m/s)", "wx (rad/s)", "wy (rad/s)", "wz (rad/s)"};
constexpr std::array kImpulse{"Jx (N s)", "Jy (N s)", "Jz (N s)", "Lx (N m s)", "Ly (N m s)", "Lz (N m s)"};

std::string joined(const std::string& name, const char* part) {
  return name.empty() ? std::string() : absl::StrCat(name, " ", part);
}

// Of fields that have as many numbers of each thing as there are parts.
template <typename Things>
std::string part_of(const Things& things, std::span<const char* const> parts, std::int64_t index) {
  const auto width = static_cast<std::int64_t>(parts.size());
  return index < width * things.size()
             ? joined(things[static_cast<int>(index / width)].name(), parts[static_cast<std::size_t>(index % width)])
             : std::string();
}

std::string axis_name(const v1::JointInfo& joint, int axis, const char* what, const char* per) {
  const v1::AxisSpec& spec = joint.axes(axis);
  const std::string& name = spec.name().empty() ? joint.name() : spec.name();
  const char* unit = spec.kind() == v1::AXIS_KIND_SLIDE ? "m" : "rad";
  return joined(name, absl::StrCat(what, " (", unit, per, ")").c_str());
}

std::string coordinate_name(const v1::Model& model, std::int64_t index, bool is_rate) {
  constexpr std::size_t kTurn = 3;  // of a pose and of a velocity: where the rotation begins
  for (const v1::JointInfo& joint : model.joints()) {
    const std::int64_t start = is_rate ? joint.velocity_start() : joint.position_start();
    const std::int64_t count = is_rate ? joint.velocity_count() : joint.position_count();
    if (index < start || index >= start + count) {
      continue;
    }
    const auto at = static_cast<std::size_t>(index - start);
    if (joint.kind() == v1::JOINT_KIND_AXES) {
      return axis_name(joint, static_cast<int>(at), is_rate ? "velocity" : "position", is_rate ? "/s" : "");
    }
    const std::size_t part = joint.kind() == v1::JOINT_KIND_BALL ? kTurn + at : at;
    return joined(joint.name(), is_rate ? kVelocity.at(part) : kPose.at(part));
  }
  return "";
}

}  // namespace

std::string channel_name(const v1::Model& model, const Channel& channel) {
  const auto& [field, index] = channel;
  if (field == "body_pose") {
    return part_of(model.bodies(), kPose, index);
  }
  if (field == "mocap_pose") {
    return part_of(model.mocaps(), kPose, index);
  }
  if (field == "body_velocity") {
    return part_of(model.bodies(), kVelocity, index);
  }
  if (field == "contact_impulse") {
    return part_of(model.bodies(), kImpulse, index);
  }
  if (field == "joint_impulse") {
    return part_of(model.joints(), kImpulse, index);
  }
  if (field == "joint_position" || field == "joint_velocity") {
    return coordinate_name(model, index, field == "joint_velocity");
  }
  if (field == "control" || field == "actuator_force") {
    return part_of(model.actuators(), std::array{field == "control" ? "control" : "effort (N m or N)"}, index);
  }
  if (field == "time") {
    return "time (s)";
  }
  if (field == "sensor_data") {
    for (const v1::SensorInfo& sensor : model.sensors()) {
      if (index >= sensor.start() && index < sensor.start() + sensor.size()) {
        return sensor.size() == 1 ? sensor.name()
                                  : joined(sensor.name(), absl::StrCat("[", index - sensor.start(), "]").c_str());
      }
    }
  }
  return "";
}

std::string thing_name(const v1::Model& model, const std::string& field, std::int64_t index) {
  std::string name = channel_name(model, {field, index});
  for (const char* part : {kPose[0], kVelocity[0], kImpulse[0]}) {
    if (const std::string end = absl::StrCat(" ", part); absl::EndsWith(name, end)) {
      name.resize(name.size() - end.size());
    }
  }
  return name;
}

}  // namespace axion::cli
