// Actions: which actuators they are for, and what control they are.
#include <algorithm>
#include <utility>

#include "server/task/task_parts.hpp"

namespace axion::server::task {
namespace {

constexpr const char* kUnits[] = {"", "position drive", "velocity drive", "motor", "position drive"};

// The drive's or motor's control u for a value s along its joint is (gear s - control_offset) / control_gain, for an
// effort s (s / gear - control_offset) / control_gain: slope and constant of that.
struct Line {
  double slope = 1, constant = 0;
};

Status line_of(const std::string& path, ActionOf of, const model::ActuatorSpec& actuator, Line& line) {
  if (of == ActionOf::kControl) return {};
  using Kind = model::ActuatorKind;
  const Kind kind = of == ActionOf::kVelocity ? Kind::kVelocity
                    : of == ActionOf::kEffort ? Kind::kMotor
                                              : Kind::kPosition;
  if (actuator.kind != kind || actuator.tendon >= 0 || actuator.on_site) {
    return invalid_argument(
        path, "is for " + shown(actuator.name) + ", which is no " + kUnits[static_cast<int>(of)] + " of a joint");
  }
  if (actuator.gear == 0 || actuator.control_gain == 0) {
    return invalid_argument(path, "is for " + shown(actuator.name) + ", whose control moves nothing");
  }
  const double gear = of == ActionOf::kEffort ? 1 / actuator.gear : actuator.gear;
  line = {gear / actuator.control_gain, of == ActionOf::kDelta ? 0 : -actuator.control_offset / actuator.control_gain};
  return {};
}

// Appends one number for each actuator.
Status append(const std::string& path, const std::vector<double>& given, int size, double absent, bool infinite,
              std::vector<double>& out) {
  auto values = spread(path, given, size, absent, true);
  if (!values.ok()) return values.error();
  for (std::size_t i = 0; !infinite && i < values.value().size(); ++i) {
    if (Status s = check_number(element(path, "", i), values.value()[i], -kMaxNumber); !s.ok()) return s;
  }
  out.insert(out.end(), values.value().begin(), values.value().end());
  return {};
}

// `path` ends in a dot.
Status append_group(const std::string& path, const ActionGroupSpec& spec, std::vector<int> actuators,
                    const ModelInfo& info, PartCompiler& parts, ActionTerm& out) {
  const int size = static_cast<int>(actuators.size());
  const std::size_t first = out.actuators.size();
  const Result<int> keyframe = parts.keyframe(path + "offset_keyframe", spec.offset_keyframe);
  if (!keyframe.ok()) return keyframe.error();
  if (keyframe.value() >= 0 && !spec.offset.empty()) {
    return invalid_argument(path + "offset", "is given beside offset_keyframe");
  }
  if (keyframe.value() >= 0 && spec.of > ActionOf::kPosition) {
    return invalid_argument(path + "offset_keyframe", "is given, but a keyframe holds positions");
  }
  std::vector<double> held;
  if (keyframe.value() >= 0) held = controls_of(info, info.keyframes[static_cast<std::size_t>(keyframe.value())]);
  struct List {
    const char* name;
    const std::vector<double>& values;
    double absent;
    bool infinite;
    std::vector<double>& out;
  };
  for (const List& list :
       {List{"scale", spec.scale, 1, false, out.scale}, List{"offset", spec.offset, 0, false, out.offset},
        List{"lower", spec.lower, -kInfinity, true, out.lower},
        List{"upper", spec.upper, kInfinity, true, out.upper}}) {
    if (Status s = append(path + list.name, list.values, size, list.absent, list.infinite, list.out); !s.ok()) return s;
  }
  for (std::size_t i = 0; i < actuators.size(); ++i) {
    const std::size_t at = first + i;
    if (!(out.lower[at] < out.upper[at])) {
      return invalid_argument(element(path, "lower", i),
                              "is " + to_text(out.lower[at]) + "; it must be below upper, " + to_text(out.upper[at]));
    }
    const auto actuator = static_cast<std::size_t>(actuators[i]);
    Line line;
    if (Status s = line_of(path + "of", spec.of, info.actuators[actuator], line); !s.ok()) return s;
    out.offset[at] = keyframe.value() < 0 ? line.slope * out.offset[at] + line.constant : held[actuator];
    out.scale[at] *= line.slope;
    const model::ActuatorSpec& its = info.actuators[actuator];
    out.is_delta.push_back(spec.of == ActionOf::kDelta);
    out.least_target.push_back(its.control_limited ? its.control_lower : -kMaxNumber);
    out.most_target.push_back(its.control_limited ? its.control_upper : kMaxNumber);
  }
  out.actuators.insert(out.actuators.end(), actuators.begin(), actuators.end());
  return {};
}

Status compile_groups(const ActionSpec& spec, const ModelInfo& info, PartCompiler& parts, ActionTerm& out) {
  const std::pair<const char*, bool> beside[] = {
      {"actuators", !spec.actuators.empty()}, {"scale", !spec.scale.empty()},
      {"offset", !spec.offset.empty()},       {"offset_keyframe", !spec.offset_keyframe.empty()},
      {"lower", !spec.lower.empty()},         {"upper", !spec.upper.empty()}};
  for (const auto& [name, given] : beside) {
    if (given) return invalid_argument(std::string("action.") + name, "is given beside groups, which have their own");
  }
  std::vector<bool> taken(info.actuators.size());
  for (std::size_t g = 0; g < spec.groups.size(); ++g) {
    const ActionGroupSpec& group = spec.groups[g];
    const std::string path = element("action.", "group", g) + ".";
    if (group.actuators.empty() == group.joints.empty()) {
      return invalid_argument(path + "actuators", "and joints: one of them is to be given");
    }
    auto actuators = group.joints.empty() ? parts.actuators(path + "actuators", group.actuators)
                                          : parts.actuators_of(path + "joints", group.joints);
    if (!actuators.ok()) return actuators.error();
    for (const int index : actuators.value()) {
      if (taken[static_cast<std::size_t>(index)]) {
        return invalid_argument(
            path + (group.joints.empty() ? "actuators" : "joints"),
            "takes " + shown(info.actuators[static_cast<std::size_t>(index)].name) + ", which another group has");
      }
      taken[static_cast<std::size_t>(index)] = true;
    }
    if (Status s = append_group(path, group, std::move(actuators).value(), info, parts, out); !s.ok()) return s;
  }
  return {};
}

}  // namespace

std::vector<double> controls_of(const ModelInfo& info, const model::KeyframeSpec& keyframe) {
  if (!keyframe.control.empty()) return keyframe.control;
  std::vector<double> controls(info.actuators.size(), 0);
  const auto coordinate = [&](int joint, int axis) {
    const JointInfo& j = info.joints[static_cast<std::size_t>(joint)];
    return keyframe.joint_position[static_cast<std::size_t>(j.position_start) + static_cast<std::size_t>(axis)];
  };
  for (std::size_t i = 0; i < controls.size(); ++i) {
    const model::ActuatorSpec& actuator = info.actuators[i];
    if (actuator.kind != model::ActuatorKind::kPosition || actuator.control_gain == 0) continue;
    if (actuator.tendon >= 0 && !info.tendons[static_cast<std::size_t>(actuator.tendon)].path.empty()) continue;
    double length = actuator.tendon < 0 ? coordinate(actuator.joint, actuator.axis) : 0;
    for (std::size_t t = 0;
         actuator.tendon >= 0 && t < info.tendons[static_cast<std::size_t>(actuator.tendon)].terms.size(); ++t) {
      const model::TendonTermSpec& term = info.tendons[static_cast<std::size_t>(actuator.tendon)].terms[t];
      length += term.coefficient * coordinate(term.joint, term.axis);
    }
    controls[i] = (actuator.gear * length - actuator.control_offset) / actuator.control_gain;
  }
  return controls;
}

Result<std::vector<int>> PartCompiler::actuators(const std::string& path, const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const model::ActuatorSpec& actuator : info_.actuators) known.push_back(actuator.name);
  if (!names.empty()) return names_.find(path, "actuator", names, known);
  std::vector<int> all;
  for (std::size_t i = 0; i < known.size(); ++i) all.push_back(static_cast<int>(i));
  return all;
}

Result<std::vector<int>> PartCompiler::actuators_of(const std::string& path, const std::vector<std::string>& names) {
  const auto named = joints(path, names);
  if (!named.ok()) return named.error();
  std::vector<int> actuators;
  for (const Coordinates& joint : named.value()) {
    for (std::size_t i = 0; i < info_.actuators.size(); ++i) {
      const model::ActuatorSpec& actuator = info_.actuators[i];
      if (actuator.tendon >= 0 || actuator.on_site || actuator.joint != joint.joint) continue;
      if (joint.axis < 0 || actuator.axis == joint.axis) actuators.push_back(static_cast<int>(i));
    }
  }
  if (actuators.empty()) return invalid_argument(path, "have no actuators");
  return actuators;
}

Status compile_action(const ActionSpec& spec, const ModelInfo& info, PartCompiler& parts, ActionTerm& out) {
  if (!spec.groups.empty()) {
    if (Status s = compile_groups(spec, info, parts, out); !s.ok()) return s;
  } else {
    auto actuators = parts.actuators("action.actuators", spec.actuators);
    if (!actuators.ok()) return actuators.error();
    ActionGroupSpec group;
    group.scale = spec.scale, group.offset = spec.offset, group.offset_keyframe = spec.offset_keyframe;
    group.lower = spec.lower, group.upper = spec.upper;
    if (Status s = append_group("action.", group, std::move(actuators).value(), info, parts, out); !s.ok()) return s;
  }
  if (spec.frame_skip < 1 || spec.frame_skip > 100000) {
    return invalid_argument("action.frame_skip",
                            "is " + std::to_string(spec.frame_skip) + "; it must be from 1 to 100000");
  }
  if (Status s = check_delay("action", spec.delay, spec.most_delay); !s.ok()) return s;
  out.frame_skip = spec.frame_skip;
  out.delay = spec.delay;
  out.most_delay = std::max(spec.delay, spec.most_delay);
  return {};
}

}  // namespace axion::server::task
