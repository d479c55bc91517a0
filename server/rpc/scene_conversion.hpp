// Scenes between messages and the engine's types.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "axion/v1/scene.pb.h"
#include "axion/v1/simulation.pb.h"

#include "engine/engine.hpp"

#include "server/schedule/registry.hpp"

namespace axion::server::rpc {

// Absent fields take their defaults; an enumeration without a value is refused by its path ("scene.shapes[2].kind").
// Everything else is for the engine to validate.
absl::StatusOr<model::SceneSpec> to_scene(const v1::SceneSpec& message);
// The same scene as a message with every field present; the inverse of to_scene.
v1::SceneSpec to_message(const model::SceneSpec& scene);

// Colours are no part of the engine's scene: they are kept beside it. One out of its range is refused by its path.
absl::StatusOr<schedule::ShapeColors> to_colors(const v1::SceneSpec& message);
void fill_colors(const schedule::ShapeColors& colors, google::protobuf::RepeatedPtrField<v1::ShapeSpec>& shapes);

void fill_model(const schedule::ModelRecord& record, v1::Model& message);

// Of a model that is kept, about: its description is a tenth to a third of it.
inline std::int64_t model_bytes(const v1::Model& description, const schedule::ModelContent& content) {
  return static_cast<std::int64_t>(4 * description.SpaceUsedLong() + 3 * content.scene.size()) + (64 << 10);
}

// A frame without a body is in the world.
model::FrameSpec frame_of(const v1::FrameSpec& message);

}  // namespace axion::server::rpc
