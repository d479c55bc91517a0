// What CreateModel changes in a scene before it is compiled: ShapeOverride and JointOverride.
#pragma once

#include "absl/status/status.h"
#include "axion/v1/simulation.pb.h"

#include "engine/engine.hpp"

namespace axion::server::rpc {

// In the order of the request. INVALID_ARGUMENT by the override's path ("shape_overrides[1].restitution"), NOT_FOUND
// for a name that the scene has not.
absl::Status apply_overrides(const v1::CreateModelRequest& request, model::SceneSpec& scene);

}  // namespace axion::server::rpc
