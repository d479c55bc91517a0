#include <algorithm>
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

// A group of observations, of `whole` numbers.
Status compile_observations(const char* list, const std::vector<ObservationSpec>& spec, PartCompiler& parts, Task& task,
                            std::vector<ObservationTerm>& terms, int& whole) {
  std::int64_t size = 0, late = task.late_size;
  for (std::size_t i = 0; i < spec.size(); ++i) {
    const ObservationSpec& from = spec[i];
    const std::string path = at(list, i);
    auto quantity = parts.quantity(path + ".quantity", from.quantity);
    if (!quantity.ok()) return quantity.error();
    if (Status s = check_number(path + ".noise", from.noise, 0); !s.ok()) return s;
    if (from.history < 0 || from.history > 1000) {
      return invalid_argument(path + ".history", "is " + std::to_string(from.history) + "; it must be from 0 to 1000");
    }
    if (Status s = check_delay(path, from.delay, from.most_delay); !s.ok()) return s;
    ObservationTerm term{.quantity = std::move(quantity).value(),
                         .noise = from.noise,
                         .noise_distribution = from.noise_distribution,
                         .history = from.history == 0 ? 1 : from.history,
                         .start = static_cast<int>(size),
                         .delay = from.delay,
                         .most_delay = std::max(from.delay, from.most_delay),
                         .buffer = static_cast<int>(late)};
    size += std::int64_t(term.history) * term.quantity.size;
    if (term.most_delay > 0) late += std::int64_t(term.history + term.most_delay) * term.quantity.size;
    if (size > kMaxNumbers) return invalid_argument(path, "is beyond 65536 numbers of an observation");
    if (late > kMaxNumbers) return invalid_argument(path + ".delay", "is beyond 65536 numbers that are late");
    terms.push_back(std::move(term));
  }
  whole = static_cast<int>(size);
  task.late_size = static_cast<int>(late);
  return {};
}

// One more factor of a term of the reward.
Status compile_measure(const std::string& path, const MeasureSpec& from, PartCompiler& parts, Task& task,
                       RewardTerm& term) {
  Measured out{.measure = from.measure,
               .tracking_width = from.tracking_width,
               .has_threshold = from.has_threshold,
               .threshold = from.threshold,
               .power = from.power,
               .lower = from.lower,
               .upper = from.upper,
               .before = task.before_size};
  if (Status s = check_bounds(path + ".", from.lower, from.upper); !s.ok()) return s;
  if (from.measure == Measure::kTracking) {
    if (Status s = check_number(path + ".tracking_width", from.tracking_width, 1e-9); !s.ok()) return s;
  }
  if (Status s = check_number(path + ".threshold", from.threshold, -kMaxNumber); !s.ok()) return s;
  if (Status s = check_number(path + ".power", from.power, 0.01, 100); !s.ok()) return s;
  if (from.measure != Measure::kAlive) {
    auto quantity = parts.quantity(path + ".quantity", from.quantity);
    if (!quantity.ok()) return quantity.error();
    out.quantity = std::move(quantity).value();
  }
  if (from.has_target && (from.measure == Measure::kAlive || from.measure == Measure::kRate)) {
    return invalid_argument(path + ".target", "is given with a measure that takes none");
  }
  if (!from.has_target && from.measure == Measure::kDot) {
    return invalid_argument(path + ".target", "is absent, and the measure is of products with it");
  }
  if (from.has_target) {
    auto target = parts.quantity(path + ".target", from.target);
    if (!target.ok()) return target.error();
    out.target = std::move(target).value();
    if (out.target.size != out.quantity.size) {
      return invalid_argument(path + ".target", "has " + std::to_string(out.target.size) +
                                                    " numbers, but the quantity has " +
                                                    std::to_string(out.quantity.size));
    }
  }
  if (out.measure == Measure::kRate) task.before_size += out.quantity.size;
  term.factors.push_back(std::move(out));
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
                    .factors = {},
                    .lower = from.measure.lower,
                    .upper = from.measure.upper};
    if (Status s = check_number(path + ".weight", from.weight, -kMaxNumber); !s.ok()) return s;
    if (Status s = compile_measure(path, from.measure, parts, task, term); !s.ok()) return s;
    term.factors[0].lower = -kInfinity, term.factors[0].upper = kInfinity;  // they are the whole term's
    if (from.factors.size() > static_cast<std::size_t>(kMaxFactors)) {
      return invalid_argument(path + ".factor", "has more entries than 16");
    }
    for (std::size_t f = 0; f < from.factors.size(); ++f) {
      const std::string factor = path + "." + at("factor", f);
      if (Status s = compile_measure(factor, from.factors[f], parts, task, term); !s.ok()) return s;
    }
    task.reward.push_back(std::move(term));
  }
  return {};
}

Status compile_end(const std::string& path, const EndSpec& from, PartCompiler& parts, EndTerm& term) {
  term.name = from.name;
  term.condition = from.condition;
  if (from.condition == Condition::kContact) {
    auto bodies = parts.bodies(path + ".bodies", from.bodies);
    if (!bodies.ok()) return bodies.error();
    term.bodies = std::move(bodies).value();
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
  task.curriculum_of.assign(task.command.size(), -1);
  return {};
}

// What quantities read beside the model: numbers that are drawn, and clocks.
Status compile_draws_and_phases(const TaskSpec& spec, PartCompiler& parts, Task& task) {
  if (spec.draw.size() > static_cast<std::size_t>(kMaxDraws)) {
    return invalid_argument("draw", "has " + std::to_string(spec.draw.size()) + " entries; at most 32");
  }
  for (std::size_t i = 0; i < spec.draw.size(); ++i) {
    auto term = parts.draw(at("draw", i), spec.draw[i]);
    if (!term.ok()) return term.error();
    task.draw_size += term.value().size;
    if (task.draw_size > kMaxNumbers) return invalid_argument(at("draw", i), "is beyond 65536 numbers that are drawn");
    task.draw.push_back(std::move(term).value());
  }
  for (std::size_t i = 0; i < spec.phase.size(); ++i) {
    auto term = parts.phase(at("phase", i), spec.phase[i]);
    if (!term.ok()) return term.error();
    task.phase_size += term.value().size;
    task.phase.push_back(std::move(term).value());
  }
  return {};
}

Status compile_curricula(const TaskSpec& spec, PartCompiler& parts, Task& task) {
  for (std::size_t i = 0; i < spec.curriculum.size(); ++i) {
    auto term = parts.curriculum(at("curriculum", i), spec.curriculum[i]);
    if (!term.ok()) return term.error();
    for (std::size_t c = 0; c < task.command.size(); ++c) {
      if (task.command[c].spec.name == spec.curriculum[i].command) task.curriculum_of[c] = static_cast<int>(i);
    }
    task.curriculum.push_back(std::move(term).value());
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
        std::pair{"push", spec.push.size()}, std::pair{"phase", spec.phase.size()},
        std::pair{"privileged_observation", spec.privileged.size()}, std::pair{"curriculum", spec.curriculum.size()}}) {
    if (Status s = check_count(list, count); !s.ok()) return s.error();
  }
  if (spec.max_episode_steps < 0) {
    return invalid_argument("max_episode_steps", "is " + std::to_string(spec.max_episode_steps));
  }
  // Quantities may name commands, actions and what is drawn, so those come first.
  if (Status s = compile_action(spec.action, info, parts, task.action); !s.ok()) return s.error();
  if (Status s = compile_commands(spec, parts, task); !s.ok()) return s.error();
  if (Status s = compile_draws_and_phases(spec, parts, task); !s.ok()) return s.error();
  if (Status s =
          compile_observations("observation", spec.observation, parts, task, task.observation, task.observation_size);
      !s.ok()) {
    return s.error();
  }
  if (task.observation_size == 0) return invalid_argument("observation", "is empty");
  if (Status s = compile_observations("privileged_observation", spec.privileged, parts, task, task.privileged,
                                      task.privileged_size);
      !s.ok()) {
    return s.error();
  }
  if (Status s = compile_reward(spec, parts, task); !s.ok()) return s.error();
  if (Status s = compile_curricula(spec, parts, task); !s.ok()) return s.error();
  if (Status s = compile_ends(spec, parts, task); !s.ok()) return s.error();
  if (Status s = compile_starts(spec, info, parts, task); !s.ok()) return s.error();
  if (Status s = compile_pushes(spec, parts, task); !s.ok()) return s.error();
  const std::int64_t carried = task.memory_size();
  if (carried > kMaxNumbers) {
    return invalid_argument("action.delay", "makes a world carry " + std::to_string(carried) + " numbers; at most " +
                                                std::to_string(kMaxNumbers));
  }
  return task;
}

}  // namespace axion::server::task
