#include "server/rpc/scene_curves.hpp"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"

#include "server/rpc/scene_softness.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

absl::Status take_three(const std::string& path, const google::protobuf::RepeatedField<double>& given,
                        std::array<double, 3>& numbers) {
  if (given.empty()) return absl::OkStatus();
  if (given.size() != 3) {
    return schedule::invalid_field(path, absl::StrCat("must have 3 numbers; it has ", given.size()));
  }
  std::copy(given.begin(), given.end(), numbers.begin());
  return absl::OkStatus();
}

void take_muscle(const v1::Muscle& message, model::MuscleSpec& muscle) {
  if (message.has_range_lower()) muscle.range_lower = message.range_lower();
  if (message.has_range_upper()) muscle.range_upper = message.range_upper();
  muscle.length_lower = message.length_lower(), muscle.length_upper = message.length_upper();
  muscle.force = message.force();
  if (message.has_lmin()) muscle.lmin = message.lmin();
  if (message.has_lmax()) muscle.lmax = message.lmax();
  if (message.has_vmax()) muscle.vmax = message.vmax();
  if (message.has_fpmax()) muscle.fpmax = message.fpmax();
  if (message.has_fvmax()) muscle.fvmax = message.fvmax();
}

auto numbers_of(const model::MuscleSpec& muscle) {
  const auto& [range_lower, range_upper, length_lower, length_upper, force, lmin, lmax, vmax, fpmax, fvmax] = muscle;
  return std::array{range_lower, range_upper, length_lower, length_upper, force, lmin, lmax, vmax, fpmax, fvmax};
}

void fill_muscle(const model::MuscleSpec& muscle, v1::Muscle& message) {
  message.set_range_lower(muscle.range_lower), message.set_range_upper(muscle.range_upper);
  message.set_length_lower(muscle.length_lower), message.set_length_upper(muscle.length_upper);
  message.set_force(muscle.force);
  message.set_lmin(muscle.lmin), message.set_lmax(muscle.lmax), message.set_vmax(muscle.vmax);
  message.set_fpmax(muscle.fpmax), message.set_fvmax(muscle.fvmax);
}

}  // namespace

absl::Status take_curves(const std::string& path, const v1::ActuatorSpec& message, model::ActuatorSpec& actuator) {
  actuator.deactivation_time = message.deactivation_time();
  actuator.activation_smoothing = message.activation_smoothing();
  actuator.adheres = message.has_adhesive_body();
  if (actuator.adheres) actuator.adhesive_body = message.adhesive_body();
  absl::Status status = take_three(absl::StrCat(path, ".gain"), message.gain(), actuator.gain);
  status.Update(take_three(absl::StrCat(path, ".bias"), message.bias(), actuator.bias));
  if (message.has_muscle()) take_muscle(message.muscle(), actuator.muscle);
  return status;
}

absl::Status take_springs(const std::string& path, const v1::JointSpec& message, model::JointSpec& joint) {
  joint.free_damping = message.free_damping(), joint.free_stiffness = message.free_stiffness();
  joint.ball_stiffness = message.ball_stiffness();
  joint.ball_limited = message.has_ball_upper(), joint.ball_upper = message.ball_upper();
  return take_softness(absl::StrCat(path, ".ball_limit_softness"), message.ball_limit_softness(),
                       joint.ball_limit_softness);
}

void fill_springs(const model::JointSpec& joint, v1::JointSpec& message) {
  message.set_free_damping(joint.free_damping), message.set_free_stiffness(joint.free_stiffness);
  message.set_ball_stiffness(joint.ball_stiffness);
  if (!joint.ball_limited) return;
  message.set_ball_upper(joint.ball_upper);
  fill_softness(joint.ball_limit_softness, *message.mutable_ball_limit_softness());
}

model::ForceRangeSpec to_force_range(bool has, const v1::ForceRange& message) {
  return {has, message.lower(), message.upper()};
}

void fill_curves(const model::ActuatorSpec& actuator, v1::ActuatorSpec& message) {
  message.set_deactivation_time(actuator.deactivation_time);
  message.set_activation_smoothing(actuator.activation_smoothing);
  if (actuator.adheres) message.set_adhesive_body(actuator.adhesive_body);
  const model::ActuatorSpec usual;
  if (actuator.gain != usual.gain) {
    for (const double number : actuator.gain) message.add_gain(number);
  }
  if (actuator.bias != usual.bias) {
    for (const double number : actuator.bias) message.add_bias(number);
  }
  if (numbers_of(actuator.muscle) != numbers_of(usual.muscle)) fill_muscle(actuator.muscle, *message.mutable_muscle());
}

}  // namespace axion::server::rpc
