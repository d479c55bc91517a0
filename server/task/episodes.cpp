#include "server/task/episodes.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace axion::server::task {
namespace {

template <typename T>
double number_at(const std::byte* data, std::size_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

double number_at(DType dtype, const std::byte* data, std::size_t i) {
  switch (dtype) {
    case DType::kFloat32:
      return number_at<float>(data, i);
    case DType::kFloat64:
      return number_at<double>(data, i);
    case DType::kInt32:
      return number_at<std::int32_t>(data, i);
    case DType::kUint32:
      return number_at<std::uint32_t>(data, i);
    case DType::kInt64:
      return number_at<std::int64_t>(data, i);
  }
  return 0;
}

double within(double x, double lower, double upper) { return x < lower ? lower : (x > upper ? upper : x); }

// From least to most steps.
int drawn_delay(const Random& random, std::uint64_t index, int least, int most) {
  return least + static_cast<int>(random.unit(index) * (most - least + 1));
}

}  // namespace

std::vector<std::string> end_names(const Task& task) {
  std::vector<std::string> names;
  for (const EndTerm& end : task.ends) names.push_back(end.name);
  names.emplace_back("max_episode_steps");
  names.emplace_back("non_finite");
  return names;
}

Episodes::Episodes(std::shared_ptr<const Task> task, const Batch& batch, std::span<const std::uint64_t> seeds)
    : task_(std::move(task)), worlds_(seeds.size()), reading_(*task_) {
  const auto actions = static_cast<std::size_t>(task_->action_size());
  layout_.action = static_cast<std::size_t>(task_->observation_size);
  layout_.previous = layout_.action + actions;
  layout_.waiting = layout_.previous + actions;
  layout_.command = layout_.waiting + static_cast<std::size_t>(task_->action.most_delay) * actions;
  layout_.before = layout_.command + static_cast<std::size_t>(task_->command_size);
  layout_.privileged = layout_.before + static_cast<std::size_t>(task_->before_size);
  layout_.late = layout_.privileged + static_cast<std::size_t>(task_->privileged_size);
  layout_.target = layout_.late + static_cast<std::size_t>(task_->late_size);
  layout_.draw = layout_.target + static_cast<std::size_t>(task_->target_size());
  layout_.tracked = layout_.draw + static_cast<std::size_t>(task_->draw_size);
  layout_.level = layout_.tracked + static_cast<std::size_t>(task_->tracked_size());
  layout_.result = layout_.level + task_->curriculum.size();
  layout_.end = layout_.result + task_->curriculum.size();
  for (const Field field : task_->fields) field_types_.push_back(batch.field_dtype(field));
  for (std::size_t i = 0; i < worlds_.size(); ++i) {
    worlds_[i].seed = seeds[i];
    worlds_[i].commands.resize(task_->command.size());
    worlds_[i].pushes.resize(task_->push.size());
    worlds_[i].memory.resize(layout_.end);
  }
}

void Episodes::give_seeds(std::span<const std::int32_t> worlds, std::span<const std::uint64_t> seeds) {
  for (std::size_t i = 0; i < worlds.size(); ++i) world(worlds[i]).seed = seeds[i], world(worlds[i]).episode = -1;
}

void Episodes::observation(std::int32_t index, std::span<double> out) const {
  const auto& memory = world(index).memory;
  std::copy(memory.begin(), memory.begin() + task_->observation_size, out.begin());
}

void Episodes::privileged(std::int32_t index, std::span<double> out) const {
  const double* from = world(index).memory.data() + layout_.privileged;
  std::copy(from, from + task_->privileged_size, out.begin());
}

void Episodes::make_places(std::size_t count, StepPlan& plan) const {
  plan.fields.resize(task_->fields.size());
  plan.views.clear();
  for (std::size_t f = 0; f < plan.fields.size(); ++f) {
    const std::size_t stride = static_cast<std::size_t>(task_->field_sizes[f]) * size_of(field_types_[f]);
    plan.fields[f].resize(stride * count);
    plan.views.push_back({.field = task_->fields[f], .data = plan.fields[f].data(), .world_stride = stride});
  }
}

Status Episodes::read_fields(const Batch& batch, std::span<const std::int32_t> worlds, StepPlan& plan) const {
  make_places(worlds.size(), plan);
  return worlds.empty() ? Status{} : batch.get(worlds, plan.views);
}

Status Episodes::look_at(const Batch& batch, std::int32_t index, const StepPlan& plan, std::size_t row) {
  numbers_.clear();
  for (std::size_t f = 0; f < plan.fields.size(); ++f) {
    const auto size = static_cast<std::size_t>(task_->field_sizes[f]);
    for (std::size_t i = 0; i < size; ++i) {
      numbers_.push_back(number_at(field_types_[f], plan.fields[f].data(), row * size + i));
    }
  }
  contacts_.clear();
  if (task_->reads_contacts) {
    auto contacts = batch.contacts(index);
    if (!contacts.ok()) return contacts.error();
    contacts_ = std::move(contacts).value();
  }
  const World& w = world(index);
  const std::span<const double> memory(w.memory);
  const auto actions = static_cast<std::size_t>(task_->action_size());
  run_clocks(w);
  fractions_.clear();
  for (std::size_t c = 0; c < task_->curriculum.size(); ++c) fractions_.push_back(level_of(w, static_cast<int>(c)));
  reading_.look_at({.fields = numbers_,
                    .contacts = contacts_,
                    .command = memory.subspan(layout_.command, static_cast<std::size_t>(task_->command_size)),
                    .action = memory.subspan(layout_.action, actions),
                    .previous_action = memory.subspan(layout_.previous, actions),
                    .draws = memory.subspan(layout_.draw, static_cast<std::size_t>(task_->draw_size)),
                    .phases = phases_,
                    .levels = fractions_,
                    .tracked = memory.subspan(layout_.tracked, static_cast<std::size_t>(task_->tracked_size()))});
  return {};
}

void Episodes::keep_before(World& w) {
  for (const RewardTerm& term : task_->reward) {
    for (const Measured& part : term.factors) {
      if (part.measure != Measure::kRate) continue;
      reading_.read(part.quantity, w.memory.data() + layout_.before + part.before);
    }
  }
}

Status Episodes::read_before(const Batch& batch, std::span<const std::int32_t> worlds) {
  StepPlan now;
  if (Status s = read_fields(batch, worlds, now); !s.ok()) return s;
  for (std::size_t row = 0; row < worlds.size(); ++row) {
    if (Status s = look_at(batch, worlds[row], now, row); !s.ok()) return s;
    keep_before(world(worlds[row]));
  }
  return {};
}

Status Episodes::look_again(const Batch& batch, std::span<const std::int32_t> worlds) {
  StepPlan now;
  if (Status s = read_fields(batch, worlds, now); !s.ok()) return s;
  for (std::size_t row = 0; row < worlds.size(); ++row) {
    if (Status s = look_at(batch, worlds[row], now, row); !s.ok()) return s;
    observe(world(worlds[row]), true);
    keep_before(world(worlds[row]));
  }
  return {};
}

void Episodes::observe(World& w, bool first) {
  observe(w, first, task_->observation, w.memory.data(), Stream::kNoise, task_->observation_size);
  observe(w, first, task_->privileged, w.memory.data() + layout_.privileged, Stream::kPrivileged,
          task_->privileged_size);
}

void Episodes::observe(World& w, bool first, const std::vector<ObservationTerm>& terms, double* out, Stream noise,
                       int whole) {
  const auto episode = static_cast<std::uint64_t>(w.episode);
  const Random random(w.seed, episode, noise), delays(w.seed, episode, Stream::kDelay);
  std::uint64_t draw = static_cast<std::uint64_t>(w.length) * static_cast<std::uint64_t>(whole);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const ObservationTerm& term = terms[t];
    const auto size = static_cast<std::size_t>(term.quantity.size);
    const auto history = static_cast<std::size_t>(term.history), most = static_cast<std::size_t>(term.most_delay);
    double* frames = most > 0 ? w.memory.data() + layout_.late + term.buffer : out + term.start;
    double* newest = frames + (history + most - 1) * size;
    if (newest != frames && !first) std::copy(frames + size, newest + size, frames);
    reading_.read(term.quantity, newest);
    for (std::size_t i = 0; term.noise > 0 && i < size; ++i, ++draw) {
      newest[i] += term.noise_distribution == Distribution::kUniform ? random.uniform(2 * draw, -term.noise, term.noise)
                                                                     : term.noise * random.normal(draw);
    }
    for (double* frame = frames; first && frame != newest; frame += size) std::copy(newest, newest + size, frame);
    if (most == 0) continue;
    const std::uint64_t index = 1 + t + (noise == Stream::kNoise ? 0 : 1000);
    const auto late = static_cast<std::size_t>(drawn_delay(delays, index, term.delay, term.most_delay));
    std::copy(frames + (most - late) * size, frames + (most - late + history) * size, out + term.start);
  }
}

// The action that takes effect where `action` is sent.
const double* Episodes::acting(const World& w, const double* action) const {
  const ActionTerm& term = task_->action;
  if (term.most_delay == 0) return action;
  const Random random(w.seed, static_cast<std::uint64_t>(w.episode), Stream::kDelay);
  const int late = drawn_delay(random, 0, term.delay, term.most_delay);
  const int waiting = (term.most_delay - late) * task_->action_size();
  return late == 0 ? action : w.memory.data() + layout_.waiting + waiting;
}

double Episodes::control_of(const World& w, std::size_t i, double given) const {
  const ActionTerm& action = task_->action;
  const double value = action.offset[i] + action.scale[i] * within(given, action.lower[i], action.upper[i]);
  if (action.is_delta[i] == 0) return value;
  return within(w.memory[layout_.target + i] + value, action.least_target[i], action.most_target[i]);
}

Status Episodes::plan(const Batch& batch, std::uint64_t changes, StepPlan& plan) {
  const ActionTerm& action = task_->action;
  const std::size_t actions = action.actuators.size(), controls = action.rest.size();
  plan.stepping.clear(), plan.stepping_worlds.clear(), plan.control.clear();
  for (std::size_t row = 0; row < plan.worlds.size(); ++row) {
    const World& w = world(plan.worlds[row]);
    if (w.ended && task_->spec.autoreset == Autoreset::kNextStep) continue;
    plan.stepping.push_back(row);
    plan.stepping_worlds.push_back(plan.worlds[row]);
    plan.control.insert(plan.control.end(), action.rest.begin(), action.rest.end());
    const double* given = acting(w, plan.actions.data() + row * actions);
    double* control = plan.control.data() + plan.control.size() - controls;
    for (std::size_t i = 0; i < actions; ++i) control[action.actuators[i]] = control_of(w, i, given[i]);
  }
  if (Status s = push_worlds(batch, plan); !s.ok()) return s;
  // A client set the state, or stepped, since: a rate begins at what is there now.
  if (changes != changes_ && task_->before_size > 0) {
    if (Status s = read_before(batch, plan.stepping_worlds); !s.ok()) return s;
  }
  make_places(plan.stepping.size(), plan);
  return {};
}

void Episodes::finish_world(World& w, std::uint32_t outcome, std::size_t row, StepAnswer& answer) {
  bool terminated = false, truncated = false;
  track(w);
  find_end(w, (outcome & kNonFinite) != 0, terminated, truncated, answer.ended_by[row]);
  const std::size_t terms = task_->reward.size();
  for (std::size_t t = 0; t < terms; ++t) {
    const double value = reward_of(task_->reward[t], w, terminated);
    answer.terms[row * terms + t] = value;
    answer.reward[row] += value;
  }
  for (std::size_t c = 0; c < task_->curriculum.size() && !w.ended; ++c) {
    w.memory[layout_.result + c] +=
        answer.terms[row * terms + static_cast<std::size_t>(task_->curriculum[c].reward_term)];
  }
  keep_before(w);
  draw_commands(w);
  draw_pushes(w);
  observe(w, false);
  w.total += answer.reward[row];
  w.ended = terminated || truncated;
  answer.terminated[row] = terminated, answer.truncated[row] = truncated;
}

Status Episodes::finish(Batch& batch, std::uint64_t changes, const StepPlan& plan,
                        std::span<const std::uint32_t> outcome, StepAnswer& answer) {
  const std::size_t n = plan.worlds.size(), size = static_cast<std::size_t>(task_->observation_size);
  const auto actions = static_cast<std::size_t>(task_->action_size());
  answer = {};
  const auto other = static_cast<std::size_t>(task_->privileged_size);
  answer.privileged.resize(n * other);
  answer.observation.resize(n * size), answer.reward.resize(n), answer.terms.resize(n * task_->reward.size());
  answer.terminated.resize(n), answer.truncated.resize(n), answer.ended_by.assign(n, -1);
  answer.episode_return.resize(n), answer.episode_length.resize(n), answer.episode.resize(n);
  std::vector<bool> stepped(n);
  for (std::size_t i = 0; i < plan.stepping.size(); ++i) {
    const std::size_t row = plan.stepping[i];
    World& w = world(plan.worlds[row]);
    const double* action = plan.actions.data() + row * actions;
    double* memory = w.memory.data();
    std::copy(memory + layout_.action, memory + layout_.previous, memory + layout_.previous);
    std::copy(action, action + actions, memory + layout_.action);
    const double* acts = acting(w, action);
    for (std::size_t k = 0; k < static_cast<std::size_t>(task_->target_size()); ++k) {
      memory[layout_.target + k] = control_of(w, k, acts[k]);
    }
    if (task_->action.most_delay > 0) {
      std::copy(memory + layout_.waiting + actions, memory + layout_.command, memory + layout_.waiting);
      std::copy(action, action + actions, memory + layout_.command - actions);
    }
    ++w.length;
    stepped[row] = true;
    if (Status s = look_at(batch, plan.worlds[row], plan, i); !s.ok()) return s;
    finish_world(w, outcome[i], row, answer);
  }
  std::vector<std::int32_t> starting;
  for (std::size_t row = 0; row < n; ++row) {
    const World& w = world(plan.worlds[row]);
    const bool ends = task_->spec.autoreset == Autoreset::kSameStep && w.ended && stepped[row];
    if (ends) {
      answer.final_rows.push_back(static_cast<std::int32_t>(row));
      answer.final_observation.insert(answer.final_observation.end(), w.memory.begin(),
                                      w.memory.begin() + task_->observation_size);
      const double* last = w.memory.data() + layout_.privileged;
      answer.final_privileged.insert(answer.final_privileged.end(), last, last + other);
    }
    answer.episode_return[row] = w.total, answer.episode_length[row] = w.length, answer.episode[row] = w.episode;
    if (!ends && stepped[row]) continue;
    starting.push_back(plan.worlds[row]);
    answer.restarted_rows.push_back(static_cast<std::int32_t>(row));
  }
  if (Status s = start(batch, starting); !s.ok()) return s;
  for (std::size_t row = 0; row < n; ++row) {
    const World& w = world(plan.worlds[row]);
    if (!stepped[row]) answer.episode_return[row] = 0, answer.episode_length[row] = 0, answer.episode[row] = w.episode;
    observation(plan.worlds[row], std::span(answer.observation).subspan(row * size, size));
    privileged(plan.worlds[row], std::span(answer.privileged).subspan(row * other, other));
    levels(plan.worlds[row], answer.level);
  }
  changes_ = changes;
  return {};
}

}  // namespace axion::server::task
