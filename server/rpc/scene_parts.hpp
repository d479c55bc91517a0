// The small parts of scenes between messages and the engine's types.
#pragma once

#include <array>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "axion/v1/scene.pb.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

#include "engine/engine.hpp"

namespace axion::server::rpc {

inline model::Vec3d to_vec3(const v1::Vec3& message) { return {message.x(), message.y(), message.z()}; }

void fill_vec3(const model::Vec3d& value, v1::Vec3& message);
void fill_height_field(const model::HeightFieldSpec& field, v1::HeightFieldSpec& message);
void fill_inertia(const std::array<double, 6>& value, v1::Inertia& message);
void fill_mesh(const model::MeshSpec& mesh, v1::MeshSpec& message);
void fill_contact_sensor(const model::ContactSensorSpec& contact, v1::ContactSensorSpec& message);
void fill_keyframe(const model::KeyframeSpec& keyframe, v1::KeyframeSpec& message);
// Faults are named by `path`, that of the message.
absl::StatusOr<model::ContactSensorSpec> to_contact_sensor(const std::string& path,
                                                           const v1::ContactSensorSpec& message);
void fill_time(absl::Time time, google::protobuf::Timestamp& message);
void fill_duration(absl::Duration duration, google::protobuf::Duration& message);

// A refusal of the engine's that names a field of a scene as SceneSpec's message does: "bodies[2].pose.position.z" for
// "bodies[2].X_WB.position[2]".
Error in_wire_names(Error error);

}  // namespace axion::server::rpc
