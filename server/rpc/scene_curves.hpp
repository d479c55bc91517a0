// Actuators whose law is a curve, between messages and the engine's types.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "axion/v1/scene.pb.h"

#include "engine/engine.hpp"

namespace axion::server::rpc {

// Faults are named by `path`, that of the actuator.
absl::Status take_curves(const std::string& path, const v1::ActuatorSpec& message, model::ActuatorSpec& actuator);
void fill_curves(const model::ActuatorSpec& actuator, v1::ActuatorSpec& message);

}  // namespace axion::server::rpc
