#include "clients/cpp/batch.hpp"

#include <algorithm>
#include <utility>

#include "clients/cpp/connection.hpp"

namespace axion::client {
namespace {

using Stub = v1::Simulation::StubInterface;

template <typename Request>
Request about(const std::string& batch, std::span<const std::int32_t> worlds) {
  Request request;
  request.set_batch(batch);
  request.mutable_world_indices()->Add(worlds.begin(), worlds.end());
  return request;
}

}  // namespace

Batch::Batch(std::shared_ptr<Connection> connection, v1::Batch info, bool owned)
    : connection_(std::move(connection)), info_(std::move(info)), owned_(owned) {}

Batch::~Batch() { remove().IgnoreError(); }

Batch::Batch(Batch&& other) noexcept
    : connection_(std::move(other.connection_)),
      info_(std::move(other.info_)),
      owned_(std::exchange(other.owned_, false)) {}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this != &other) {
    remove().IgnoreError();
    connection_ = std::move(other.connection_);
    info_ = std::move(other.info_);
    owned_ = std::exchange(other.owned_, false);
  }
  return *this;
}

std::int64_t Batch::field_size(std::string_view field) const {
  for (const v1::FieldInfo& info : info_.fields()) {
    if (info.name() == field) {
      std::int64_t size = 1;
      for (const std::int64_t extent : info.shape()) {
        size *= extent;
      }
      return size;
    }
  }
  return 0;
}

absl::StatusOr<v1::StepResponse> Batch::send_step(absl::StatusOr<v1::StepRequest> request) const {
  if (!request.ok()) {
    return request.status();
  }
  return connection_->call_once(&Stub::Step, *request);
}

absl::StatusOr<StepResult> Batch::step(const StepArguments& arguments) const {
  auto response = send_step(make_step_request(info_, arguments));
  if (!response.ok()) {
    return response.status();
  }
  return StepResult(*std::move(response));
}

absl::StatusOr<TaskResult> Batch::step_task(const TaskStepArguments& arguments) const {
  auto response = send_step(make_task_step_request(info_, arguments));
  if (!response.ok()) {
    return response.status();
  }
  return TaskResult(*std::move(response));
}

absl::StatusOr<v1::TaskAnswer> Batch::begin_episodes(const EpisodeArguments& arguments) const {
  auto request = about<v1::ResetRequest>(name(), arguments.worlds);
  request.mutable_seeds()->Add(arguments.seeds.begin(), arguments.seeds.end());
  const StateArguments start = {.joint_position = arguments.joint_position, .joint_velocity = arguments.joint_velocity};
  auto update = state_update(start, arguments.worlds.empty() ? world_count() : std::ssize(arguments.worlds));
  if (!update.ok()) {
    return update.status();
  }
  if (update->ByteSizeLong() > 0) {
    *request.mutable_state() = *std::move(update);
  }
  auto response = connection_->call_once(&Stub::Reset, request);
  if (!response.ok()) {
    return response.status();
  }
  return std::move(*response->mutable_task());
}

StepStream Batch::stream() const { return StepStream(connection_, info_); }

absl::StatusOr<v1::StateUpdate> Batch::state_update(const StateArguments& state, std::int64_t world_count) const {
  const struct {
    const char* field;
    std::span<const double> values;
    v1::Tensor* (v1::StateUpdate::*target)();
    std::int64_t row;  // values for one row of the last dimension; 0: the field has one dimension
  } parts[] = {
      {"body_pose", state.body_pose, &v1::StateUpdate::mutable_body_pose, 7},
      {"body_velocity", state.body_velocity, &v1::StateUpdate::mutable_body_velocity, 6},
      {"joint_position", state.joint_position, &v1::StateUpdate::mutable_joint_position, 0},
      {"joint_velocity", state.joint_velocity, &v1::StateUpdate::mutable_joint_velocity, 0},
      {"activation", state.activation, &v1::StateUpdate::mutable_activation, 0},
      {"mocap_pose", state.mocap_pose, &v1::StateUpdate::mutable_mocap_pose, 7},
  };
  v1::StateUpdate update;
  for (const auto& part : parts) {
    if (part.values.empty()) {
      continue;
    }
    const std::int64_t size = field_size(part.field);
    auto tensor = part.row > 0 ? make_tensor(part.values, {world_count, size / part.row, part.row}, part.field)
                               : make_tensor(part.values, {world_count, size}, part.field);
    if (!tensor.ok()) {
      return tensor.status();
    }
    *(update.*part.target)() = *std::move(tensor);
  }
  if (!state.time.empty()) {
    auto tensor = make_tensor(state.time, {world_count}, "time");
    if (!tensor.ok()) {
      return tensor.status();
    }
    *update.mutable_time() = *std::move(tensor);
  }
  update.mutable_snapshot()->Add(state.snapshot.begin(), state.snapshot.end());
  return update;
}

absl::Status Batch::reset(std::span<const std::int32_t> worlds, const std::string& keyframe,
                          const StateArguments& state) const {
  auto request = about<v1::ResetRequest>(name(), worlds);
  request.set_keyframe(keyframe);
  auto update = state_update(state, worlds.empty() ? world_count() : std::ssize(worlds));
  if (!update.ok()) {
    return update.status();
  }
  if (update->ByteSizeLong() > 0) {
    *request.mutable_state() = *std::move(update);
  }
  return connection_->call_once(&Stub::Reset, request).status();
}

absl::Status Batch::set_state(const StateArguments& state, std::span<const std::int32_t> worlds) const {
  auto request = about<v1::SetStateRequest>(name(), worlds);
  auto update = state_update(state, worlds.empty() ? world_count() : std::ssize(worlds));
  if (!update.ok()) {
    return update.status();
  }
  *request.mutable_state() = *std::move(update);
  return connection_->call_once(&Stub::SetState, request).status();
}

absl::StatusOr<v1::GetStateResponse> Batch::get_state(const std::vector<std::string>& fields,
                                                      std::span<const std::int32_t> worlds) const {
  auto request = about<v1::GetStateRequest>(name(), worlds);
  request.mutable_fields()->Add(fields.begin(), fields.end());
  return connection_->call(&Stub::GetState, request);
}

absl::StatusOr<v1::GetContactsResponse> Batch::contacts(std::span<const std::int32_t> worlds) const {
  return connection_->call(&Stub::GetContacts, about<v1::GetContactsRequest>(name(), worlds));
}

absl::StatusOr<v1::CastRaysResponse> Batch::cast_rays(const RayArguments& rays,
                                                      std::span<const std::int32_t> worlds) const {
  auto request = about<v1::CastRaysRequest>(name(), worlds);
  const std::int64_t n = worlds.empty() ? world_count() : std::ssize(worlds);
  // Rays of one world are [rays, 3]; as many origins and directions as that of each world are [n, rays, 3].
  const auto set = [n](std::span<const double> values, bool is_per_world, const char* field, v1::Tensor* target) {
    const std::int64_t rays_of_all = std::ssize(values) / 3;
    auto tensor = is_per_world ? make_tensor(values, {n, rays_of_all / n, 3}, field)
                               : make_tensor(values, {rays_of_all, 3}, field);
    if (tensor.ok()) {
      *target = *std::move(tensor);
    }
    return tensor.status();
  };
  absl::Status status = set(rays.origin, rays.is_per_world, "origin", request.mutable_origin());
  status.Update(set(rays.direction, rays.is_per_world, "direction", request.mutable_direction()));
  if (!status.ok()) {
    return status;
  }
  if (rays.body) {
    request.set_body(*rays.body);
  }
  request.set_heading_only(rays.heading_only);
  if (rays.max_distance != 0) {
    request.set_max_distance(rays.max_distance);
  }
  request.mutable_ignored_bodies()->Add(rays.ignored_bodies.begin(), rays.ignored_bodies.end());
  return connection_->call(&Stub::CastRays, request);
}

absl::StatusOr<v1::GetDistancesResponse> Batch::distances(
    std::span<const std::pair<std::int32_t, std::int32_t>> shape_pairs, double max_distance,
    std::span<const std::int32_t> worlds) const {
  auto request = about<v1::GetDistancesRequest>(name(), worlds);
  for (const auto& [a, b] : shape_pairs) {
    v1::ShapePair* pair = request.add_pairs();
    pair->set_shape_a(a);
    pair->set_shape_b(b);
  }
  if (max_distance != 0) {
    request.set_max_distance(max_distance);
  }
  return connection_->call(&Stub::GetDistances, request);
}

absl::StatusOr<v1::GetDynamicsResponse> Batch::dynamics(const DynamicsArguments& asked,
                                                        std::span<const std::int32_t> worlds) const {
  auto request = about<v1::GetDynamicsRequest>(name(), worlds);
  request.mutable_frames()->Add(asked.frames.begin(), asked.frames.end());
  request.set_mass_matrix(asked.mass_matrix);
  request.set_bias_force(asked.bias_force);
  return connection_->call(&Stub::GetDynamics, request);
}

absl::StatusOr<v1::LinearizeResponse> Batch::linearize(const LinearizeArguments& asked,
                                                       std::span<const std::int32_t> worlds) const {
  auto request = about<v1::LinearizeRequest>(name(), worlds);
  const std::int64_t n = worlds.empty() ? world_count() : std::ssize(worlds);
  auto start = state_update(asked.start, n);
  if (!start.ok()) {
    return start.status();
  }
  if (start->ByteSizeLong() > 0) {
    *request.mutable_start() = *std::move(start);
  }
  if (!asked.control.empty()) {
    auto control = make_tensor(asked.control, {n, asked.step_count, field_size("control")}, "control");
    if (!control.ok()) {
      return control.status();
    }
    *request.mutable_control() = *std::move(control);
  }
  request.set_sensors(asked.sensors);
  if (asked.difference != 0) {
    request.set_difference(asked.difference);
  }
  if (asked.by_differences) {
    request.set_method(v1::LINEARIZE_METHOD_DIFFERENCES);
  }
  return connection_->call(&Stub::Linearize, request);
}

absl::StatusOr<v1::StepGradientResponse> Batch::step_gradient(const StepGradientArguments& asked,
                                                              std::span<const std::int32_t> worlds) const {
  auto request = about<v1::StepGradientRequest>(name(), worlds);
  const std::int64_t n = worlds.empty() ? world_count() : std::ssize(worlds);
  auto start = state_update(asked.start, n);
  if (!start.ok()) {
    return start.status();
  }
  if (start->ByteSizeLong() > 0) {
    *request.mutable_start() = *std::move(start);
  }
  const auto put = [](std::span<const double> values, const std::vector<std::int64_t>& shape, const std::string& of,
                      auto&& to) -> absl::Status {
    if (values.empty()) {
      return absl::OkStatus();
    }
    auto tensor = make_tensor(values, shape, of);
    if (tensor.ok()) {
      *to() = *std::move(tensor);
    }
    return tensor.status();
  };
  const std::int64_t nu = field_size("control");
  const bool is_held = std::ssize(asked.control) == n * nu;
  absl::Status status = put(
      asked.control, is_held ? std::vector<std::int64_t>{n, nu} : std::vector<std::int64_t>{n, asked.step_count, nu},
      "control", [&] { return request.mutable_control(); });
  if (status.ok()) {
    status = put(asked.body_wrench, {n, field_size("body_velocity") / 6, 6}, "body_wrench",
                 [&] { return request.mutable_body_wrench(); });
  }
  if (status.ok()) {
    status = put(asked.state_gradient, {n, std::ssize(asked.state_gradient) / std::max<std::int64_t>(n, 1)},
                 "state_gradient", [&] { return request.mutable_state_gradient(); });
  }
  for (const auto& [field, values] : asked.output_gradients) {
    if (!status.ok()) {
      break;
    }
    std::vector<std::int64_t> shape{n};
    if (asked.record_every > 0) {
      shape.push_back(asked.step_count / asked.record_every);
    }
    for (const v1::FieldInfo& info : info_.fields()) {
      if (info.name() == field) {
        shape.insert(shape.end(), info.shape().begin(), info.shape().end());
      }
    }
    status = put(values, shape, field, [&] { return &(*request.mutable_output_gradients())[field]; });
  }
  if (!status.ok()) {
    return status;
  }
  request.set_step_count(static_cast<std::int32_t>(asked.step_count));
  request.set_record_every(static_cast<std::int32_t>(asked.record_every));
  request.mutable_inputs()->Add(asked.inputs.begin(), asked.inputs.end());
  request.mutable_outputs()->Add(asked.outputs.begin(), asked.outputs.end());
  if (asked.difference != 0) {
    request.set_difference(asked.difference);
  }
  return connection_->call(&Stub::StepGradient, request);
}

absl::StatusOr<v1::GetSolverStatsResponse> Batch::solver_stats(bool batch_only,
                                                               std::span<const std::int32_t> worlds) const {
  auto request = about<v1::GetSolverStatsRequest>(name(), worlds);
  request.set_batch_only(batch_only);
  return connection_->call(&Stub::GetSolverStats, request);
}

absl::StatusOr<v1::Snapshot> Batch::save_snapshot(const std::string& display_name, bool return_content,
                                                  bool skip_store) const {
  v1::SaveSnapshotRequest request;
  request.set_batch(name());
  request.set_display_name(display_name);
  request.set_return_content(return_content);
  request.set_skip_store(skip_store);
  return connection_->call_once(&Stub::SaveSnapshot, request);
}

absl::Status Batch::keep_alive() const {
  v1::KeepAliveRequest request;
  request.set_name(name());
  return connection_->call(&Stub::KeepAlive, request).status();
}

absl::Status Batch::remove() {
  if (!std::exchange(owned_, false)) {
    return absl::OkStatus();
  }
  v1::DeleteBatchRequest request;
  request.set_name(name());
  return connection_->call(&Stub::DeleteBatch, request).status();
}

}  // namespace axion::client
