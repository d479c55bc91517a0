#include <set>

#include "engine/base/utf8.hpp"

#include "server/task/task.hpp"
#include "server/task/task_parts.hpp"

namespace axion::server::task {
namespace {

std::string at(const char* list, std::size_t i) { return std::string(list) + "[" + std::to_string(i) + "]"; }

Status check_count(const char* list, std::size_t count) {
  if (count <= static_cast<std::size_t>(kMaxTerms)) return {};
  return invalid_argument(list, "has " + std::to_string(count) + " entries; at most " + std::to_string(kMaxTerms));
}

// Controls of a keyframe. One without controls is held by its position drives: each at the length that its joint or
// tendon has there, times its gear, before its scaling of the control; other actuators rest,
// and those on tendons through space.
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

Status compile_action(const ActionSpec& spec, const ModelInfo& info, PartCompiler& parts, ActionTerm& out) {
  auto actuators = parts.actuators(spec.actuators);
  if (!actuators.ok()) return actuators.error();
  out.actuators = std::move(actuators).value();
  const int size = static_cast<int>(out.actuators.size());
  const Result<int> keyframe = parts.keyframe("action.offset_keyframe", spec.offset_keyframe);
  if (!keyframe.ok()) return keyframe.error();
  if (keyframe.value() >= 0 && !spec.offset.empty()) {
    return invalid_argument("action.offset", "is given beside offset_keyframe");
  }
  std::vector<double> held;
  if (keyframe.value() >= 0) held = controls_of(info, info.keyframes[static_cast<std::size_t>(keyframe.value())]);
  struct List {
    const char* path;
    const std::vector<double>& values;
    double absent;
    std::vector<double>& out;
  };
  for (const List& list :
       {List{"action.scale", spec.scale, 1, out.scale}, List{"action.offset", spec.offset, 0, out.offset},
        List{"action.lower", spec.lower, -kInfinity, out.lower},
        List{"action.upper", spec.upper, kInfinity, out.upper}}) {
    auto values = spread(list.path, list.values, size, list.absent, true);
    if (!values.ok()) return values.error();
    list.out = std::move(values).value();
  }
  for (std::size_t i = 0; i < out.actuators.size(); ++i) {
    if (Status s = check_number(at("action.scale", i), out.scale[i], -kMaxNumber); !s.ok()) return s;
    if (Status s = check_number(at("action.offset", i), out.offset[i], -kMaxNumber); !s.ok()) return s;
    if (!(out.lower[i] < out.upper[i])) {
      return invalid_argument(at("action.lower", i),
                              "is " + to_text(out.lower[i]) + "; it must be below upper, " + to_text(out.upper[i]));
    }
    if (keyframe.value() < 0) continue;
    out.offset[i] = held[static_cast<std::size_t>(out.actuators[i])];
  }
  if (spec.frame_skip < 1 || spec.frame_skip > 100000) {
    return invalid_argument("action.frame_skip",
                            "is " + std::to_string(spec.frame_skip) + "; it must be from 1 to 100000");
  }
  if (spec.delay < 0 || spec.delay > 1000) {
    return invalid_argument("action.delay", "is " + std::to_string(spec.delay) + "; it must be from 0 to 1000");
  }
  out.frame_skip = spec.frame_skip;
  out.delay = spec.delay;
  return {};
}

Status compile_observation(const TaskSpec& spec, PartCompiler& parts, Task& task) {
  std::int64_t size = 0;
  for (std::size_t i = 0; i < spec.observation.size(); ++i) {
    const ObservationSpec& from = spec.observation[i];
    const std::string path = at("observation", i);
    auto quantity = parts.quantity(path + ".quantity", from.quantity);
    if (!quantity.ok()) return quantity.error();
    if (Status s = check_number(path + ".noise", from.noise, 0); !s.ok()) return s;
    if (from.history < 0 || from.history > 1000) {
      return invalid_argument(path + ".history", "is " + std::to_string(from.history) + "; it must be from 0 to 1000");
    }
    ObservationTerm term{.quantity = std::move(quantity).value(),
                         .noise = from.noise,
                         .noise_distribution = from.noise_distribution,
                         .history = from.history == 0 ? 1 : from.history,
                         .start = static_cast<int>(size)};
    size += std::int64_t(term.history) * term.quantity.size;
    if (size > kMaxNumbers) return invalid_argument(path, "is beyond 65536 numbers of an observation");
    task.observation.push_back(std::move(term));
  }
  task.observation_size = static_cast<int>(size);
  if (size == 0) return invalid_argument("observation", "is empty");
  return {};
}

Status compile_reward(const TaskSpec& spec, PartCompiler& parts, Task& task) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < spec.reward.size(); ++i) {
    const RewardSpec& from = spec.reward[i];
    const std::string path = at("reward", i);
    if (from.name.empty() || !names.insert(from.name).second) {
      return invalid_argument(path + ".name", from.name.empty() ? "is empty" : "is " + shown(from.name) + " again");
    }
    if (!is_printable(from.name)) return invalid_argument(path + ".name", "has control characters");
    RewardTerm term{.name = from.name,
                    .weight = from.weight,
                    .measure = from.measure,
                    .tracking_width = from.tracking_width,
                    .lower = from.lower,
                    .upper = from.upper,
                    .before = task.before_size};
    if (Status s = check_number(path + ".weight", from.weight, -kMaxNumber); !s.ok()) return s;
    if (Status s = check_bounds(path + ".", from.lower, from.upper); !s.ok()) return s;
    if (from.measure == Measure::kTracking) {
      if (Status s = check_number(path + ".tracking_width", from.tracking_width, 1e-9); !s.ok()) return s;
    }
    if (from.measure != Measure::kAlive) {
      auto quantity = parts.quantity(path + ".quantity", from.quantity);
      if (!quantity.ok()) return quantity.error();
      term.quantity = std::move(quantity).value();
    }
    if (from.has_target && (from.measure == Measure::kAlive || from.measure == Measure::kRate)) {
      return invalid_argument(path + ".target", "is given with a measure that takes none");
    }
    if (from.has_target) {
      auto target = parts.quantity(path + ".target", from.target);
      if (!target.ok()) return target.error();
      term.target = std::move(target).value();
      if (term.target.size != term.quantity.size) {
        return invalid_argument(path + ".target", "has " + std::to_string(term.target.size) +
                                                      " numbers, but the quantity has " +
                                                      std::to_string(term.quantity.size));
      }
    }
    if (term.measure == Measure::kRate) task.before_size += term.quantity.size;
    task.reward.push_back(std::move(term));
  }
  return {};
}

Status compile_end(const std::string& path, const EndSpec& from, PartCompiler& parts, EndTerm& term) {
  term.name = from.name;
  term.condition = from.condition;
  if (from.condition == Condition::kContact) {
    if (from.bodies.empty()) return invalid_argument(path + ".bodies", "is empty");
    for (std::size_t i = 0; i < from.bodies.size(); ++i) {
      const Result<int> body = parts.body(path + "." + at("bodies", i), from.bodies[i]);
      if (!body.ok()) return body.error();
      term.bodies.push_back(body.value());
    }
    term.force_above = from.force_above;
    return check_number(path + ".force_above", from.force_above, 0);
  }
  auto quantity = parts.quantity(path + ".quantity", from.quantity);
  if (!quantity.ok()) return quantity.error();
  term.quantity = std::move(quantity).value();
  if (from.condition == Condition::kNonFinite) return {};
  if (from.lower == -kInfinity && from.upper == kInfinity) {
    return invalid_argument(path + ".lower", "and upper are absent: nothing is outside");
  }
  term.lower = from.lower;
  term.upper = from.upper;
  term.bounds_end = from.bounds_end;
  return check_bounds(path + ".", from.lower, from.upper);
}

Status compile_ends(const TaskSpec& spec, PartCompiler& parts, Task& task) {
  std::set<std::string> names;
  for (const bool terminates : {true, false}) {
    const std::vector<EndSpec>& list = terminates ? spec.termination : spec.truncation;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string path = at(terminates ? "termination" : "truncation", i);
      if (list[i].name.empty() || !names.insert(list[i].name).second) {
        return invalid_argument(path + ".name",
                                list[i].name.empty() ? "is empty" : "is " + shown(list[i].name) + " again");
      }
      if (!is_printable(list[i].name)) return invalid_argument(path + ".name", "has control characters");
      EndTerm term{.terminates = terminates};
      if (Status s = compile_end(path, list[i], parts, term); !s.ok()) return s;
      if (term.condition == Condition::kContact) task.reads_contacts = true;
      task.ends.push_back(std::move(term));
    }
  }
  return {};
}

Status compile_starts(const TaskSpec& spec, const ModelInfo& info, PartCompiler& parts, Task& task) {
  const Result<int> keyframe = parts.keyframe("keyframe", spec.keyframe);
  if (!keyframe.ok()) return keyframe.error();
  task.keyframe = keyframe.value();
  task.action.rest.assign(info.actuators.size(), 0);
  if (task.keyframe >= 0) {
    task.action.rest = controls_of(info, info.keyframes[static_cast<std::size_t>(task.keyframe)]);
  }
  for (std::size_t i = 0; i < spec.start.size(); ++i) {
    auto term = parts.start(at("start", i), spec.start[i]);
    if (!term.ok()) return term.error();
    task.start.push_back(std::move(term).value());
  }
  return {};
}

Status compile_commands(const TaskSpec& spec, PartCompiler& parts, Task& task) {
  for (std::size_t i = 0; i < spec.command.size(); ++i) {
    auto term = parts.command(at("command", i), spec.command[i]);
    if (!term.ok()) return term.error();
    task.command_size += term.value().size;
    task.command.push_back(std::move(term).value());
  }
  return {};
}

Status compile_pushes(const TaskSpec& spec, PartCompiler& parts, Task& task) {
  for (std::size_t i = 0; i < spec.push.size(); ++i) {
    auto term = parts.push(at("push", i), spec.push[i]);
    if (!term.ok()) return term.error();
    task.push.push_back(std::move(term).value());
  }
  return {};
}

}  // namespace

Result<Task> compile_task(const TaskSpec& spec, const ModelInfo& info, double dt) {
  Task task{.robot = Robot(info), .spec = spec, .step_time = dt};
  PartCompiler parts(info, task);
  for (const auto& [list, count] :
       {std::pair{"observation", spec.observation.size()}, std::pair{"reward", spec.reward.size()},
        std::pair{"termination", spec.termination.size()}, std::pair{"truncation", spec.truncation.size()},
        std::pair{"start", spec.start.size()}, std::pair{"command", spec.command.size()},
        std::pair{"push", spec.push.size()}}) {
    if (Status s = check_count(list, count); !s.ok()) return s.error();
  }
  if (spec.max_episode_steps < 0) {
    return invalid_argument("max_episode_steps", "is " + std::to_string(spec.max_episode_steps));
  }
  // Quantities may name commands and actions, so those come first.
  if (Status s = compile_action(spec.action, info, parts, task.action); !s.ok()) return s.error();
  if (Status s = compile_commands(spec, parts, task); !s.ok()) return s.error();
  if (Status s = compile_observation(spec, parts, task); !s.ok()) return s.error();
  if (Status s = compile_reward(spec, parts, task); !s.ok()) return s.error();
  if (Status s = compile_ends(spec, parts, task); !s.ok()) return s.error();
  if (Status s = compile_starts(spec, info, parts, task); !s.ok()) return s.error();
  if (Status s = compile_pushes(spec, parts, task); !s.ok()) return s.error();
  const std::int64_t carried = task.observation_size + std::int64_t(2 + task.action.delay) * task.action_size() +
                               task.command_size + task.before_size;
  if (carried > kMaxNumbers) {
    return invalid_argument("action.delay", "makes a world carry " + std::to_string(carried) + " numbers; at most " +
                                                std::to_string(kMaxNumbers));
  }
  return task;
}

}  // namespace axion::server::task
