// Actuators whose law is a curve, and springs and limits of balls and free joints, between messages and the engine's
// types.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "axion/v1/scene.pb.h"

#include "engine/engine.hpp"

namespace axion::server::rpc {

// Faults are named by `path`, that of the actuator.
absl::Status take_curves(const std::string& path, const v1::ActuatorSpec& message, model::ActuatorSpec& actuator);
// What acts on balls and free joints besides the dampers of balls.
absl::Status take_springs(const std::string& path, const v1::JointSpec& message, model::JointSpec& joint);
void fill_springs(const model::JointSpec& joint, v1::JointSpec& message);
model::ForceRangeSpec to_force_range(bool has, const v1::ForceRange& message);
void fill_curves(const model::ActuatorSpec& actuator, v1::ActuatorSpec& message);

// Of an axis or a tendon; nothing where there is none.
template <typename Message>
void fill_force_range(const model::ForceRangeSpec& motors, Message& message) {
  if (!motors.limited) return;
  message.mutable_motors()->set_lower(motors.lower), message.mutable_motors()->set_upper(motors.upper);
}

}  // namespace axion::server::rpc
