// axion info, models, batches: what is on the server.

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/commands.hpp"
#include "clients/cli/print.hpp"
#include "clients/cli/target.hpp"

namespace axion::cli {
namespace {

// What besides its coordinates there is to say about a joint.
std::string joint_notes(const v1::JointInfo& joint) {
  std::string notes = joint.closes_loop() ? "  closes a loop" : "";
  if (joint.lock_stiffness() > 0) {
    absl::StrAppendFormat(&notes, "  soft: %g, %g", joint.lock_stiffness(), joint.lock_damping());
  }
  for (const v1::AxisSpec& axis : joint.axes()) {
    if (axis.friction_loss() > 0) {
      absl::StrAppendFormat(&notes, "  dry friction %g", axis.friction_loss());
    }
  }
  return notes;
}

void print_model(const v1::Model& model) {
  absl::PrintF("%s  %s\n  %d bodies, nq %d, nv %d, nu %d, %d shapes, contacts up to %d, timestep %g s\n", model.name(),
               model.display_name(), model.body_count(), model.joint_position_count(), model.joint_velocity_count(),
               model.control_count(), model.shapes_size(), model.contact_capacity(), model.timestep());
  absl::PrintF("\n  bodies (in the order of body_pose)\n");
  for (const v1::BodyInfo& body : model.bodies()) {
    absl::PrintF("    %-24s %10.4f kg  at %8.4f %8.4f %8.4f m\n", body.name(), body.mass(), body.pose().position().x(),
                 body.pose().position().y(), body.pose().position().z());
  }
  absl::PrintF("\n  joints (joint_position from, number; joint_velocity from, number)\n");
  for (const v1::JointInfo& joint : model.joints()) {
    absl::PrintF("    %-24s %-18s %4d %2d  %4d %2d%s\n", joint.name(), v1::JointKind_Name(joint.kind()),
                 joint.position_start(), joint.position_count(), joint.velocity_start(), joint.velocity_count(),
                 joint_notes(joint));
  }
  absl::PrintF("\n  actuators (in the order of control)\n");
  for (const v1::ActuatorSpec& actuator : model.actuators()) {
    absl::PrintF("    %-24s %-24s", actuator.name(), v1::ActuatorKind_Name(actuator.kind()));
    if (actuator.control_limited()) {
      absl::PrintF(" %g .. %g", actuator.control_lower(), actuator.control_upper());
    }
    if (actuator.effort_limited()) {
      absl::PrintF(" effort %g .. %g", actuator.effort_lower(), actuator.effort_upper());
    }
    absl::PrintF("\n");
  }
  if (model.sensors_size() > 0) {
    absl::PrintF("\n  sensors (in sensor_data from, number)\n");
    for (const v1::SensorInfo& sensor : model.sensors()) {
      absl::PrintF("    %-24s %-38s %4d %2d\n", sensor.name(), v1::SensorKind_Name(sensor.kind()), sensor.start(),
                   sensor.size());
    }
  }
  if (model.keyframes_size() > 0) {
    absl::PrintF("\n  keyframes:");
    for (const v1::KeyframeSpec& keyframe : model.keyframes()) {
      absl::PrintF(" %s", keyframe.name());
    }
    absl::PrintF("\n");
  }
  for (const std::string& warning : model.warnings()) {
    absl::PrintF("  warning: %s\n", warning);
  }
}

void print_batch(const v1::Batch& batch) {
  absl::PrintF("%s  %d worlds of %s on %s, dt %g s, %s\n", batch.name(), batch.world_count(), batch.model(),
               batch.device(), batch.dt(), bytes_text(batch.memory_bytes()));
}

void print_server(const v1::ServerInfo& info) {
  absl::PrintF("axiond %s (%s), backends %s\n", info.version(), info.revision(),
               absl::StrJoin(info.compiled_backends(), ", "));
  for (const v1::Device& device : info.devices()) {
    absl::PrintF("device   %s: %s, %s of %s used", device.id(), device.name(), bytes_text(device.memory_used_bytes()),
                 bytes_text(device.memory_total_bytes()));
    if (device.threads() > 0) {
      absl::PrintF(", %d threads", device.threads());
    }
    absl::PrintF("\n");
  }
  const v1::ServerLimits& limits = info.limits();
  absl::PrintF("worlds   %d of %d, in %d batches of %d models (of %d)\n", info.world_count(), limits.max_worlds(),
               info.batch_count(), info.model_count(), limits.max_models());
  absl::PrintF("limits   message %s, %d requests wait, %d steps a request, %d in flight a stream, %d streams",
               bytes_text(limits.max_message_bytes()), limits.max_queue(), limits.max_steps_per_request(),
               limits.max_stream_in_flight(), limits.max_streams());
  absl::PrintF(", %d watches\n", limits.max_watches());
  absl::PrintF("features %s\n", absl::StrJoin(info.features(), ", "));
}

}  // namespace

absl::Status run_info(const Invocation& invocation) {
  if (!invocation.words.empty()) {
    return usage_error("info takes no arguments");
  }
  const auto info = invocation.client.server_info();
  if (!info.ok()) {
    return info.status();
  }
  if (invocation.json) {
    print_json(message_json(*info));
  } else {
    print_server(*info);
  }
  return absl::OkStatus();
}

absl::Status run_models(const Invocation& invocation) {
  if (invocation.words.size() > 1) {
    return usage_error("models takes at most one name");
  }
  if (!invocation.words.empty()) {
    const auto model = invocation.client.get_model(invocation.words.front());
    if (!model.ok()) {
      return model.status();
    }
    if (invocation.json) {
      print_json(message_json(*model));
    } else {
      print_model(*model);
    }
    return absl::OkStatus();
  }
  const auto models = invocation.client.list_models();
  if (!models.ok()) {
    return models.status();
  }
  auto list = nlohmann::json::array();
  for (const v1::Model& model : *models) {
    if (invocation.json) {
      list.push_back(message_json(model));
    } else {
      absl::PrintF("%-28s %-24s %4d bodies  nq %d  nv %d  nu %d\n", model.name(), model.display_name(),
                   model.body_count(), model.joint_position_count(), model.joint_velocity_count(),
                   model.control_count());
    }
  }
  if (invocation.json) {
    print_json(list);
  } else if (models->empty()) {
    absl::PrintF("no models; `axion create FILE.xml` makes one\n");
  }
  return absl::OkStatus();
}

absl::Status run_batches(const Invocation& invocation) {
  if (invocation.words.size() > 1) {
    return usage_error("batches takes at most one name");
  }
  if (!invocation.words.empty()) {
    const auto batch = invocation.client.get_batch(invocation.words.front());
    if (!batch.ok()) {
      return batch.status();
    }
    if (invocation.json) {
      print_json(message_json(batch->info()));
      return absl::OkStatus();
    }
    print_batch(batch->info());
    for (const v1::FieldInfo& field : batch->info().fields()) {
      absl::PrintF("  %-16s %-8s [n%s%s]  %s\n", field.name(), v1::DType_Name(field.dtype()).substr(6),
                   field.shape().empty() ? "" : ", ", absl::StrJoin(field.shape(), ", "), field.description());
    }
    absl::PrintF("%s", batch->info().options().Utf8DebugString());
    return absl::OkStatus();
  }
  const auto batches = invocation.client.list_batches();
  if (!batches.ok()) {
    return batches.status();
  }
  auto list = nlohmann::json::array();
  for (const v1::Batch& batch : *batches) {
    if (invocation.json) {
      list.push_back(message_json(batch));
    } else {
      print_batch(batch);
    }
  }
  if (invocation.json) {
    print_json(list);
  } else if (batches->empty()) {
    absl::PrintF("no batches\n");
  }
  return absl::OkStatus();
}

}  // namespace axion::cli
