// Commands, their levels, and clocks: what is checked of them, and how they are drawn.
#include <algorithm>
#include <cmath>

#include "server/task/episodes.hpp"
#include "server/task/task_parts.hpp"

namespace axion::server::task {
namespace {

template <typename Term>
Status check_name(const std::string& path, const std::string& name, const std::vector<Term>& others) {
  if (name.empty()) return invalid_argument(path + ".name", "is empty");
  for (const Term& other : others) {
    if (other.spec.name == name) return invalid_argument(path + ".name", "is " + shown(name) + " again");
  }
  return {};
}

}  // namespace

Result<CommandTerm> PartCompiler::command(const std::string& path, const CommandSpec& spec) const {
  if (spec.name.empty()) return invalid_argument(path + ".name", "is empty");
  for (const CommandTerm& other : task_.command) {
    if (other.spec.name == spec.name) return invalid_argument(path + ".name", "is " + shown(spec.name) + " again");
  }
  if (spec.lower.empty() || spec.lower.size() != spec.upper.size()) {
    return invalid_argument(path + ".upper", "has " + std::to_string(spec.upper.size()) + " numbers and lower has " +
                                                 std::to_string(spec.lower.size()) + "; one or more each");
  }
  if (spec.lower.size() > kMaxTerms) return invalid_argument(path + ".lower", "has more numbers than 256");
  for (std::size_t i = 0; i < spec.lower.size(); ++i) {
    if (Status s = check_number(element(path, ".lower", i), spec.lower[i], -kMaxNumber); !s.ok()) return s.error();
    if (Status s = check_number(element(path, ".upper", i), spec.upper[i], spec.lower[i]); !s.ok()) return s.error();
  }
  if (spec.least_steps < 0) return invalid_argument(path + ".least_steps", "is " + std::to_string(spec.least_steps));
  if (spec.most_steps < spec.least_steps || (spec.most_steps > 0 && spec.least_steps == 0)) {
    return invalid_argument(path + ".most_steps", "is " + std::to_string(spec.most_steps) + " and least_steps is " +
                                                      std::to_string(spec.least_steps) +
                                                      "; both 0, or least_steps from 1 to most_steps");
  }
  if (Status s = check_number(path + ".zero_probability", spec.zero_probability, 0, 1); !s.ok()) return s.error();
  return CommandTerm{.spec = spec, .start = task_.command_size, .size = static_cast<int>(spec.lower.size())};
}

Result<PhaseTerm> PartCompiler::phase(const std::string& path, const PhaseSpec& spec) const {
  if (Status s = check_name(path, spec.name, task_.phase); !s.ok()) return s.error();
  PhaseTerm term{.spec = spec, .start = task_.phase_size, .size = 1};
  if (Status s = check_number(path + ".least_period", spec.least_period, 1e-6); !s.ok()) return s.error();
  if (spec.most_period == 0) term.spec.most_period = spec.least_period;
  if (Status s = check_number(path + ".most_period", term.spec.most_period, spec.least_period); !s.ok()) {
    return s.error();
  }
  if (spec.offset.size() > static_cast<std::size_t>(kMaxTerms)) {
    return invalid_argument(path + ".offset", "has more numbers than 256");
  }
  for (std::size_t i = 0; i < spec.offset.size(); ++i) {
    if (Status s = check_number(element(path, ".offset", i), spec.offset[i], -1000, 1000); !s.ok()) return s.error();
  }
  if (spec.offset.empty()) term.spec.offset = {0};
  term.size = static_cast<int>(term.spec.offset.size());
  return term;
}

Result<CurriculumTerm> PartCompiler::curriculum(const std::string& path, const CurriculumSpec& spec) const {
  if (Status s = check_name(path, spec.name, task_.curriculum); !s.ok()) return s.error();
  CurriculumTerm term{.spec = spec};
  std::vector<std::string> names;
  for (const CommandTerm& command : task_.command) names.push_back(command.spec.name);
  const auto command = std::find(names.begin(), names.end(), spec.command);
  const auto in_task = [](std::string text) { return text.replace(text.find("the model"), 9, "the task"); };
  if (command == names.end()) {
    return invalid_argument(path + ".command", in_task(unknown("command", spec.command, names)));
  }
  for (const CurriculumTerm& other : task_.curriculum) {
    if (other.spec.command != spec.command) continue;
    return invalid_argument(path + ".command", shown(spec.command) + " has a curriculum already");
  }
  const CommandTerm& levelled = task_.command[static_cast<std::size_t>(command - names.begin())];
  for (const auto& [list, numbers] :
       {std::pair{".first_lower", &spec.first_lower}, std::pair{".first_upper", &spec.first_upper}}) {
    if (numbers->size() == static_cast<std::size_t>(levelled.size)) continue;
    return invalid_argument(path + list, "has " + std::to_string(numbers->size()) + " numbers; the command has " +
                                             std::to_string(levelled.size));
  }
  for (std::size_t i = 0; i < spec.first_lower.size(); ++i) {
    if (Status s = check_number(element(path, ".first_lower", i), spec.first_lower[i], -kMaxNumber); !s.ok()) {
      return s.error();
    }
    if (Status s = check_number(element(path, ".first_upper", i), spec.first_upper[i], spec.first_lower[i]); !s.ok()) {
      return s.error();
    }
  }
  if (spec.levels < 2 || spec.levels > 1000) {
    return invalid_argument(path + ".levels", "is " + std::to_string(spec.levels) + "; it must be from 2 to 1000");
  }
  if (spec.most_first_level < 0 || spec.most_first_level >= spec.levels) {
    return invalid_argument(
        path + ".most_first_level",
        "is " + std::to_string(spec.most_first_level) + "; it must be from 0 to " + std::to_string(spec.levels - 1));
  }
  names.clear();
  for (const RewardTerm& reward : task_.reward) names.push_back(reward.name);
  const auto reward = std::find(names.begin(), names.end(), spec.reward_term);
  if (reward == names.end()) {
    return invalid_argument(path + ".reward_term", in_task(unknown("term of the reward", spec.reward_term, names)));
  }
  term.reward_term = static_cast<int>(reward - names.begin());
  if (task_.spec.max_episode_steps == 0) {
    return invalid_argument(path + ".reward_term", "is for a result of max_episode_steps, of which there is no number");
  }
  if (Status s = check_number(path + ".promote_above", spec.promote_above, -kMaxNumber); !s.ok()) return s.error();
  if (Status s = check_number(path + ".demote_below", spec.demote_below, -kMaxNumber, spec.promote_above); !s.ok()) {
    return s.error();
  }
  return term;
}

double Episodes::level_of(const World& w, int curriculum) const {
  if (curriculum < 0) return 1;
  const auto at = static_cast<std::size_t>(curriculum);
  return w.memory[layout_.level + at] / (task_->curriculum[at].spec.levels - 1);
}

void Episodes::levels(std::int32_t index, std::vector<std::int32_t>& out) const {
  const World& w = world(index);
  for (std::size_t c = 0; c < task_->curriculum.size(); ++c) {
    out.push_back(static_cast<std::int32_t>(w.memory[layout_.level + c]));
  }
}

// The results of the episode that is over, if one is, become levels.
void Episodes::rate(World& w) {
  for (std::size_t c = 0; c < task_->curriculum.size(); ++c) {
    const CurriculumSpec& spec = task_->curriculum[c].spec;
    double& level = w.memory[layout_.level + c];
    if (w.episode < 0) {
      level = std::floor(Random(w.seed, 0, Stream::kLevel).unit(c) * (spec.most_first_level + 1.0));
    } else if (w.ended) {
      const double result = w.memory[layout_.result + c] / static_cast<double>(task_->spec.max_episode_steps);
      if (result > spec.promote_above) level = std::min(level + 1, spec.levels - 1.0);
      if (result < spec.demote_below) level = std::max(level - 1, 0.0);
    }
  }
}

void Episodes::run_clocks(const World& w) {
  phases_.clear();
  if (task_->phase.empty()) return;
  const Random random(w.seed, static_cast<std::uint64_t>(w.episode), Stream::kPhase);
  const double time = static_cast<double>(w.length) * task_->step_time * task_->action.frame_skip;
  for (std::size_t t = 0; t < task_->phase.size(); ++t) {
    const PhaseSpec& spec = task_->phase[t].spec;
    const double period = random.uniform(2 * t, spec.least_period, spec.most_period);
    const double begun = spec.random_start ? random.unit(2 * t + 1) : 0;
    for (const double offset : spec.offset) {
      const double turns = time / period + begun + offset;
      phases_.push_back(6.283185307179586 * (turns - std::floor(turns)));
    }
  }
}

void Episodes::draw_commands(World& w) {
  if (w.commands.empty()) return;
  const Random random(w.seed, static_cast<std::uint64_t>(w.episode), Stream::kCommand);
  for (std::size_t c = 0; c < w.commands.size(); ++c) {
    const CommandTerm& term = task_->command[c];
    Clock& clock = w.commands[c];
    if (clock.draws > 0 && (clock.next == 0 || w.length < clock.next)) continue;
    const std::uint64_t first = (static_cast<std::uint64_t>(c) << 48) + (static_cast<std::uint64_t>(clock.draws) << 10);
    const double rise = level_of(w, task_->curriculum_of[c]);
    const bool zero = random.unit(first) < term.spec.zero_probability;
    for (int i = 0; i < term.size; ++i) {
      const auto at = static_cast<std::size_t>(i);
      double lower = term.spec.lower[at], upper = term.spec.upper[at];
      if (rise < 1) {
        const CurriculumSpec& first_level = task_->curriculum[static_cast<std::size_t>(task_->curriculum_of[c])].spec;
        lower = first_level.first_lower[at] + (lower - first_level.first_lower[at]) * rise;
        upper = first_level.first_upper[at] + (upper - first_level.first_upper[at]) * rise;
      }
      const double value = random.uniform(first + 2 + at, lower, upper);
      w.memory[layout_.command + static_cast<std::size_t>(term.start) + at] = zero ? 0 : value;
    }
    ++clock.draws;
    if (term.spec.most_steps == 0) continue;
    const int range = term.spec.most_steps - term.spec.least_steps + 1;
    clock.next = w.length + term.spec.least_steps + static_cast<std::int64_t>(random.unit(first + 1) * range);
  }
}

}  // namespace axion::server::task
