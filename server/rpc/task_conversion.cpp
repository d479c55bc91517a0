#include "server/rpc/task_conversion.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

using schedule::invalid_field;

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
    case v1::Quantity::kBody: {
      constexpr Kind kKinds[] = {Kind::kBodyPosition, Kind::kBodyOrientation,     Kind::kBodyGravity,
                                 Kind::kBodyVelocity, Kind::kBodyAngularVelocity, Kind::kBodyContactForce};
      int index = 0;
      absl::Status status = choose(path + ".body_quantity", from.body_quantity(), 6, index);
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
  return invalid_field(path, "has none of field, sensor, body, command and robot");
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
  to.start = from.start();
  to.count = from.count();
  to.scale = numbers(from.scale());
  to.offset = numbers(from.offset());
  set_bounds(from, to.lower, to.upper);
  return status;
}

absl::Status take_observation(const v1::TaskSpec& from, task::TaskSpec& to) {
  for (int i = 0; i < from.observation_size(); ++i) {
    const v1::ObservationTerm& term = from.observation(i);
    const std::string path = absl::StrCat("task.observation[", i, "]");
    task::ObservationSpec out{.noise = term.noise(), .history = term.history()};
    absl::Status status = to_quantity(path + ".quantity", term.quantity(), out.quantity);
    status.Update(choose(path + ".noise_distribution", term.noise_distribution(), 2, out.noise_distribution));
    if (!status.ok()) return status;
    to.observation.push_back(std::move(out));
  }
  return absl::OkStatus();
}

absl::Status take_reward(const v1::TaskSpec& from, task::TaskSpec& to) {
  for (int i = 0; i < from.reward_size(); ++i) {
    const v1::RewardTerm& term = from.reward(i);
    const std::string path = absl::StrCat("task.reward[", i, "]");
    task::RewardSpec out;
    out.name = term.name(), out.weight = term.weight(), out.tracking_width = term.tracking_width();
    set_bounds(term, out.lower, out.upper);
    absl::Status status = choose(path + ".measure", term.measure(), 7, out.measure);
    if (status.ok() && out.measure != task::Measure::kAlive) {
      status = to_quantity(path + ".quantity", term.quantity(), out.quantity);
    } else if (status.ok() && term.has_quantity()) {
      status = invalid_field(path + ".quantity", "is given with a measure that takes none");
    }
    out.has_target = term.has_target();
    if (status.ok() && out.has_target) status = to_quantity(path + ".target", term.target(), out.target);
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

void take_action_and_commands(const v1::TaskSpec& from, task::TaskSpec& to) {
  const v1::ActionSpec& action = from.action();
  to.action.actuators = names(action.actuators());
  to.action.scale = numbers(action.scale());
  to.action.offset = numbers(action.offset());
  to.action.offset_keyframe = action.offset_keyframe();
  to.action.lower = numbers(action.lower());
  to.action.upper = numbers(action.upper());
  to.action.frame_skip = action.frame_skip() == 0 ? 1 : action.frame_skip();
  to.action.delay = action.delay();
  for (const v1::CommandTerm& term : from.command()) {
    to.command.push_back({.name = term.name(),
                          .lower = numbers(term.lower()),
                          .upper = numbers(term.upper()),
                          .least_steps = term.least_steps(),
                          .most_steps = term.most_steps(),
                          .zero_probability = term.zero_probability()});
  }
}

}  // namespace

absl::StatusOr<task::TaskSpec> to_task(const v1::TaskSpec& message) {
  task::TaskSpec spec;
  spec.max_episode_steps = message.max_episode_steps();
  spec.keyframe = message.keyframe();
  take_action_and_commands(message, spec);
  absl::Status status = take_observation(message, spec);
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
  info.task = std::make_shared<const task::Task>(std::move(compiled).value());
  info.task_message = known.SerializeAsString();
  return absl::OkStatus();
}

void fill_task_info(const schedule::BatchInfo& info, v1::TaskInfo& message) {
  const task::Task& t = *info.task;
  message.mutable_spec()->ParseFromString(info.task_message);
  message.set_observation_size(t.observation_size);
  message.set_action_size(t.action_size());
  for (std::size_t i = 0; i < t.action.actuators.size(); ++i) {
    const auto& actuator = info.model->info().actuators[static_cast<std::size_t>(t.action.actuators[i])];
    message.add_actuators(actuator.name);
    double lower = t.action.lower[i], upper = t.action.upper[i];
    const double scale = t.action.scale[i];
    if (actuator.control_limited && scale != 0) {
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
