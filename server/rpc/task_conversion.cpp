#include "server/rpc/task_conversion.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

using schedule::invalid_field;

constexpr std::int64_t kMostNumbersWorkedOut = std::int64_t{1} << 24;
constexpr std::size_t kMaxTaskBytes = 1 << 20;  // of a quarter of what a client of gRPC takes unless it is told more

// An enumeration of the message whose first value stands for the second, as one of ours that begins with that.
template <typename Choice>
absl::Status choose(const std::string& field, int wire, int count, Choice& choice) {
  if (wire < 0 || wire > count) {
    return invalid_field(field, absl::StrCat("is ", wire, ", which is no choice; there are 1 to ", count));
  }
  choice = static_cast<Choice>(wire == 0 ? 0 : wire - 1);
  return absl::OkStatus();
}

template <typename Message>
void set_bounds(const Message& from, double& lower, double& upper) {
  if (from.has_lower()) lower = from.lower();
  if (from.has_upper()) upper = from.upper();
}

std::vector<double> numbers(const google::protobuf::RepeatedField<double>& from) { return {from.begin(), from.end()}; }
std::vector<std::string> names(const google::protobuf::RepeatedPtrField<std::string>& from) {
  return {from.begin(), from.end()};
}

absl::Status take_kind(const std::string& path, const v1::Quantity& from, task::QuantitySpec& to) {
  using Kind = task::QuantityKind;
  switch (from.of_case()) {
    case v1::Quantity::kField:
      to.kind = Kind::kField, to.name = from.field();
      return absl::OkStatus();
    case v1::Quantity::kSensor:
      to.kind = Kind::kSensor, to.name = from.sensor();
      return absl::OkStatus();
    case v1::Quantity::kCommand:
      to.kind = Kind::kCommand, to.name = from.command();
      return absl::OkStatus();
    case v1::Quantity::kDraw:
      to.kind = Kind::kDraw, to.name = from.draw();
      return absl::OkStatus();
    case v1::Quantity::kPhase:
      to.kind = Kind::kPhase, to.name = from.phase();
      return absl::OkStatus();
    case v1::Quantity::kCurriculum:
      to.kind = Kind::kCurriculum, to.name = from.curriculum();
      return absl::OkStatus();
    case v1::Quantity::kBody: {
      constexpr Kind kKinds[] = {Kind::kBodyPosition,    Kind::kBodyOrientation,     Kind::kBodyGravity,
                                 Kind::kBodyVelocity,    Kind::kBodyAngularVelocity, Kind::kBodyContactForce,
                                 Kind::kBodyInContact,   Kind::kBodyAirTime,         Kind::kBodyContactTime,
                                 Kind::kBodyLastAirTime, Kind::kBodyFirstContact};
      int index = 0;
      absl::Status status = choose(path + ".body_quantity", from.body_quantity(), 11, index);
      to.name = from.body();
      if (status.ok()) to.kind = kKinds[index];
      return status;
    }
    case v1::Quantity::kRobot: {
      constexpr Kind kKinds[] = {
          Kind::kGeneralizedVelocity, Kind::kCenterOfMass,   Kind::kBodyWrenches, Kind::kBodyInertias,
          Kind::kBodyTwists,          Kind::kActuatorForces, Kind::kAction,       Kind::kPreviousAction};
      int index = 0;
      absl::Status status = choose(path + ".robot", from.robot(), 8, index);
      if (status.ok() && from.robot() == 0) status = invalid_field(path + ".robot", "is no quantity");
      if (status.ok()) to.kind = kKinds[index];
      return status;
    }
    case v1::Quantity::OF_NOT_SET:
      break;
  }
  return invalid_field(path, "has none of field, sensor, body, command, robot, draw, phase and curriculum");
}

absl::Status to_quantity(const std::string& path, const v1::Quantity& from, task::QuantitySpec& to) {
  absl::Status status = take_kind(path, from, to);
  if (from.function() < 0 || from.function() > 4) {
    status.Update(invalid_field(path + ".function", absl::StrCat("is ", from.function(), ", which is no choice")));
  }
  to.function = static_cast<task::Function>(from.function());
  to.point = {from.point().x(), from.point().y(), from.point().z()};
  to.in_body_axes = from.in_body_axes();
  to.relative_to = from.relative_to();
  if (!to.relative_to.empty() && to.kind != task::QuantityKind::kBodyPosition) {
    status.Update(invalid_field(path + ".relative_to", "is given, but the quantity is no position of a body"));
  }
  to.joints = names(from.joints());
  to.force_above = from.force_above();
  if (from.force_above() != 0 && to.kind < task::QuantityKind::kBodyInContact) {
    status.Update(invalid_field(path + ".force_above", "is given, but the quantity is not of touching"));
  }
  to.start = from.start();
  to.count = from.count();
  to.scale = numbers(from.scale());
  to.offset = numbers(from.offset());
  set_bounds(from, to.lower, to.upper);
  return status;
}

absl::Status take_observations(const char* list, const google::protobuf::RepeatedPtrField<v1::ObservationTerm>& from,
                               std::vector<task::ObservationSpec>& to) {
  for (int i = 0; i < from.size(); ++i) {
    const v1::ObservationTerm& term = from[i];
    const std::string path = absl::StrCat("task.", list, "[", i, "]");
    task::ObservationSpec out{.noise = term.noise(), .history = term.history()};
    out.delay = term.delay(), out.most_delay = term.most_delay();
    absl::Status status = to_quantity(path + ".quantity", term.quantity(), out.quantity);
    status.Update(choose(path + ".noise_distribution", term.noise_distribution(), 2, out.noise_distribution));
    if (!status.ok()) return status;
    to.push_back(std::move(out));
  }
  return absl::OkStatus();
}

// RewardTerm and RewardFactor.
template <typename Message>
absl::Status take_measure(const std::string& path, const Message& from, task::MeasureSpec& to) {
  to.tracking_width = from.tracking_width();
  to.has_threshold = from.has_threshold(), to.threshold = from.threshold();
  to.power = from.power() == 0 ? 1 : from.power();
  set_bounds(from, to.lower, to.upper);
  absl::Status status = choose(path + ".measure", from.measure(), 9, to.measure);
  if (status.ok() && to.measure != task::Measure::kAlive) {
    status = to_quantity(path + ".quantity", from.quantity(), to.quantity);
  } else if (status.ok() && from.has_quantity()) {
    status = invalid_field(path + ".quantity", "is given with a measure that takes none");
  }
  to.has_target = from.has_target();
  if (status.ok() && to.has_target) status = to_quantity(path + ".target", from.target(), to.target);
  return status;
}

absl::Status take_reward(const v1::TaskSpec& from, task::TaskSpec& to) {
  for (int i = 0; i < from.reward_size(); ++i) {
    const v1::RewardTerm& term = from.reward(i);
    const std::string path = absl::StrCat("task.reward[", i, "]");
    task::RewardSpec out;
    out.name = term.name(), out.weight = term.weight();
    absl::Status status = take_measure(path, term, out.measure);
    for (int f = 0; status.ok() && f < term.factor_size(); ++f) {
      out.factors.emplace_back();
      status = take_measure(absl::StrCat(path, ".factor[", f, "]"), term.factor(f), out.factors.back());
    }
    if (!status.ok()) return status;
    to.reward.push_back(std::move(out));
  }
  return absl::OkStatus();
}

absl::Status take_ends(const char* list, const google::protobuf::RepeatedPtrField<v1::EndTerm>& from,
                       std::vector<task::EndSpec>& to) {
  for (int i = 0; i < from.size(); ++i) {
    const v1::EndTerm& term = from[i];
    const std::string path = absl::StrCat("task.", list, "[", i, "]");
    task::EndSpec out;
    out.name = term.name(), out.bounds_end = term.bounds_end(), out.force_above = term.force_above();
    out.bodies = names(term.bodies());
    set_bounds(term, out.lower, out.upper);
    absl::Status status = choose(path + ".condition", term.condition(), 3, out.condition);
    if (status.ok() && out.condition != task::Condition::kContact) {
      status = to_quantity(path + ".quantity", term.quantity(), out.quantity);
    }
    if (!status.ok()) return status;
    to.push_back(std::move(out));
  }
  return absl::OkStatus();
}

absl::Status take_starts(const v1::TaskSpec& from, task::TaskSpec& to) {
  for (int i = 0; i < from.start_size(); ++i) {
    const v1::StartTerm& term = from.start(i);
    const std::string path = absl::StrCat("task.start[", i, "]");
    task::StartSpec out;
    out.joint = term.joint(), out.start = term.start(), out.count = term.count(), out.replaces = term.replaces();
    out.lower = term.lower(), out.upper = term.upper(), out.mean = term.mean(), out.deviation = term.deviation();
    out.scale = numbers(term.scale()), out.offset = numbers(term.offset());
    out.has_longer_than = term.has_longer_than(), out.has_shorter_than = term.has_shorter_than();
    if (out.has_longer_than) out.longer_than = term.longer_than();
    if (out.has_shorter_than) out.shorter_than = term.shorter_than();
    if (term.has_axis()) out.axis = {term.axis().x(), term.axis().y(), term.axis().z()};
    absl::Status status = choose(path + ".of", term.of(), 3, out.of);
    status.Update(choose(path + ".distribution", term.distribution(), 2, out.distribution));
    if (!status.ok()) return status;
    to.start.push_back(std::move(out));
  }
  return absl::OkStatus();
}

absl::Status take_pushes(const v1::TaskSpec& from, task::TaskSpec& to) {
  for (int i = 0; i < from.push_size(); ++i) {
    const v1::PushTerm& term = from.push(i);
    const std::string path = absl::StrCat("task.push[", i, "]");
    task::PushSpec out;
    out.bodies = names(term.bodies());
    out.least_steps = term.least_steps(), out.most_steps = term.most_steps();
    out.steps = term.steps() == 0 ? 1 : term.steps();
    out.lower = term.lower(), out.upper = term.upper();
    out.axis = {term.axis().x(), term.axis().y(), term.axis().z()};
    absl::Status status = choose(path + ".of", term.of(), 2, out.of);
    status.Update(choose(path + ".direction", term.direction(), 3, out.direction));
    if (status.ok() && term.has_axis() && out.direction != task::PushDirection::kAxis) {
      status = invalid_field(path + ".axis", "is given, but the direction is not PUSH_DIRECTION_AXIS");
    }
    if (!status.ok()) return status;
    to.push.push_back(std::move(out));
  }
  return absl::OkStatus();
}

absl::Status take_draws(const v1::TaskSpec& from, task::TaskSpec& to) {
  for (int i = 0; i < from.draw_size(); ++i) {
    const v1::DrawTerm& term = from.draw(i);
    const std::string path = absl::StrCat("task.draw[", i, "]");
    task::DrawSpec out;
    out.name = term.name(), out.parameter = term.parameter(), out.of = names(term.of());
    out.lower = term.lower(), out.upper = term.upper(), out.together = term.together();
    out.start = term.start(), out.count = term.count();
    int distribution = 0;
    absl::Status status = choose(path + ".operation", term.operation(), 3, out.operation);
    status.Update(choose(path + ".distribution", term.distribution(), 2, distribution));
    if (!status.ok()) return status;
    out.is_log_uniform = distribution == 1;
    to.draw.push_back(std::move(out));
  }
  return absl::OkStatus();
}

void take_phases_and_curricula(const v1::TaskSpec& from, task::TaskSpec& to) {
  for (const v1::PhaseTerm& term : from.phase()) {
    to.phase.push_back({.name = term.name(),
                        .least_period = term.least_period(),
                        .most_period = term.most_period(),
                        .offset = numbers(term.offset()),
                        .random_start = term.random_start()});
  }
  for (const v1::CurriculumTerm& term : from.curriculum()) {
    to.curriculum.push_back({.name = term.name(),
                             .command = term.command(),
                             .reward_term = term.reward_term(),
                             .first_lower = numbers(term.first_lower()),
                             .first_upper = numbers(term.first_upper()),
                             .levels = term.levels(),
                             .promote_above = term.promote_above(),
                             .demote_below = term.demote_below(),
                             .most_first_level = term.most_first_level()});
  }
}

absl::Status take_action_and_commands(const v1::TaskSpec& from, task::TaskSpec& to) {
  const v1::ActionSpec& action = from.action();
  to.action.actuators = names(action.actuators());
  to.action.scale = numbers(action.scale());
  to.action.offset = numbers(action.offset());
  to.action.offset_keyframe = action.offset_keyframe();
  to.action.lower = numbers(action.lower());
  to.action.upper = numbers(action.upper());
  to.action.frame_skip = action.frame_skip() == 0 ? 1 : action.frame_skip();
  to.action.delay = action.delay();
  to.action.most_delay = action.most_delay();
  for (int g = 0; g < action.group_size(); ++g) {
    const v1::ActionGroup& group = action.group(g);
    task::ActionGroupSpec out;
    out.actuators = names(group.actuators()), out.joints = names(group.joints());
    out.scale = numbers(group.scale()), out.offset = numbers(group.offset());
    out.offset_keyframe = group.offset_keyframe();
    out.lower = numbers(group.lower()), out.upper = numbers(group.upper());
    absl::Status status = choose(absl::StrCat("task.action.group[", g, "].of"), group.of(), 5, out.of);
    if (!status.ok()) return status;
    to.action.groups.push_back(std::move(out));
  }
  for (const v1::CommandTerm& term : from.command()) {
    to.command.push_back({.name = term.name(),
                          .lower = numbers(term.lower()),
                          .upper = numbers(term.upper()),
                          .least_steps = term.least_steps(),
                          .most_steps = term.most_steps(),
                          .zero_probability = term.zero_probability()});
  }
  return absl::OkStatus();
}

// Numbers of all worlds from which what they step with follows, where a task draws some of them. The device waits for
// it, a second or two at most, where the episodes of all worlds end in one step.
std::int64_t numbers_worked_out(const task::Task& task, const schedule::BatchInfo& info) {
  std::int64_t numbers = 0;
  for (int p = 0; p < kParameterCount; ++p) {
    std::int64_t count = 1;
    for (const std::int64_t extent : parameter_shape(info.model->info(), static_cast<Parameter>(p))) count *= extent;
    numbers += count;
  }
  return task.draw.empty() ? 0 : numbers * info.world_count;
}

}  // namespace

absl::StatusOr<task::TaskSpec> to_task(const v1::TaskSpec& message) {
  task::TaskSpec spec;
  spec.max_episode_steps = message.max_episode_steps();
  spec.keyframe = message.keyframe();
  take_phases_and_curricula(message, spec);
  absl::Status status = take_action_and_commands(message, spec);
  if (status.ok()) status = take_observations("observation", message.observation(), spec.observation);
  if (status.ok()) {
    status = take_observations("privileged_observation", message.privileged_observation(), spec.privileged);
  }
  if (status.ok()) status = take_draws(message, spec);
  if (status.ok()) status = take_reward(message, spec);
  if (status.ok()) status = take_ends("termination", message.termination(), spec.termination);
  if (status.ok()) status = take_ends("truncation", message.truncation(), spec.truncation);
  if (status.ok()) status = take_starts(message, spec);
  if (status.ok()) status = take_pushes(message, spec);
  if (status.ok()) status = choose("task.autoreset", message.autoreset(), 3, spec.autoreset);
  if (!status.ok()) return status;
  return spec;
}

absl::Status set_task(const v1::TaskSpec& message, std::int64_t max_steps, schedule::BatchInfo& info) {
  if (info.noise.present()) {
    return invalid_field("initial_noise", "is given beside task, whose start draws what a world begins with");
  }
  v1::TaskSpec known = message;  // every description of the batch has it
  known.DiscardUnknownFields();
  if (const std::size_t bytes = known.ByteSizeLong(); bytes > kMaxTaskBytes) {
    return invalid_field("task", absl::StrCat("has ", bytes, " bytes; at most ", kMaxTaskBytes, " are taken"));
  }
  const auto spec = to_task(message);
  if (!spec.ok()) return spec.status();
  if (spec->action.frame_skip > max_steps) {
    return invalid_field("task.action.frame_skip", absl::StrCat("is ", spec->action.frame_skip,
                                                                "; a request makes at most ", max_steps, " steps"));
  }
  auto compiled = task::compile_task(*spec, info.model->info(), info.dt);
  if (!compiled.ok()) return schedule::from_engine(compiled.error(), "task");
  if (const std::int64_t drawn = numbers_worked_out(compiled.value(), info); drawn > kMostNumbersWorkedOut) {
    return invalid_field("task.draw", absl::StrCat("has ", drawn, " numbers of all worlds to be worked out; at most ",
                                                   kMostNumbersWorkedOut));
  }
  info.task = std::make_shared<const task::Task>(std::move(compiled).value());
  info.task_message = known.SerializeAsString();
  return absl::OkStatus();
}

void fill_task_info(const schedule::BatchInfo& info, v1::TaskInfo& message) {
  const task::Task& t = *info.task;
  message.mutable_spec()->ParseFromString(info.task_message);
  message.set_observation_size(t.observation_size);
  message.set_privileged_observation_size(t.privileged_size);
  message.set_action_size(t.action_size());
  for (std::size_t i = 0; i < t.action.actuators.size(); ++i) {
    const auto& actuator = info.model->info().actuators[static_cast<std::size_t>(t.action.actuators[i])];
    message.add_actuators(actuator.name);
    double lower = t.action.lower[i], upper = t.action.upper[i];
    const double scale = t.action.scale[i];
    if (actuator.control_limited && scale != 0 && t.action.is_delta[i] == 0) {
      const double at_lower = (actuator.control_lower - t.action.offset[i]) / scale;
      const double at_upper = (actuator.control_upper - t.action.offset[i]) / scale;
      lower = std::max(lower, std::min(at_lower, at_upper));
      upper = std::min(upper, std::max(at_lower, at_upper));
    }
    message.add_action_lower(lower);
    message.add_action_upper(upper);
  }
  for (const task::RewardTerm& term : t.reward) message.add_reward_terms(term.name);
  for (const std::string& name : task::end_names(t)) message.add_end_names(name);
  message.set_step_seconds(t.step_time * t.action.frame_skip);
}

}  // namespace axion::server::rpc
