#include "server/rpc/request_conversion.hpp"
#include "server/rpc/request_hash.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/rpc/field_names.hpp"
#include "server/rpc/task_exchange.hpp"
#include "server/rpc/tensor.hpp"
#include "server/schedule/failure.hpp"

namespace axion::server::rpc {
namespace {

using schedule::invalid_field;
using Shape = std::vector<std::int64_t>;

constexpr std::size_t kMaxRequestIdLength = 128;
// What a message costs besides its tensors' bytes: names, shapes, lengths; and 24 bytes a world of a StepResponse.
constexpr double kFixedBytes = 4096, kWorldBytes = 32;

absl::Status check_counts(const v1::StepRequest& request, const schedule::Limits& limits) {
  const std::int64_t steps = request.has_step_count() ? request.step_count() : 1;
  if (steps < 1 || steps > limits.max_steps_per_request) {
    return invalid_field("step_count",
                         absl::StrCat("is ", steps, "; it must be from 1 to ", limits.max_steps_per_request));
  }
  const std::int64_t every = request.record_every();
  if (every < 0 || (every > 0 && steps % every != 0)) {
    return invalid_field("record_every", absl::StrCat("is ", every, "; it must be 0 or divide step_count = ", steps));
  }
  return check_request_id(request.request_id());
}

// Sets `view` if the tensor is present.
absl::Status take(absl::string_view field, bool present, const v1::Tensor& tensor, const Shape& shape,
                  InputView& view) {
  if (!present) return absl::OkStatus();
  auto input = real_input(field, tensor, shape);
  if (input.ok()) view = *input;
  return input.status();
}

// Sets `inputs` to the tensors by name, in the order of Parameter.
absl::Status take_parameters(const std::string& path, const google::protobuf::Map<std::string, v1::Tensor>& tensors,
                             const ModelInfo& model, std::int64_t count, std::vector<ParameterInput>& inputs) {
  for (const auto& [name, tensor] : tensors) {
    const std::string field = absl::StrCat(path, "[\"", schedule::shown(name), "\"]");
    const Result<Parameter> parameter = parameter_from_name(name);
    if (!parameter.ok()) return invalid_field(field, absl::StrCat("is no parameter; ", known_parameters()));
    Shape shape = parameter_shape(model, parameter.value());
    shape.insert(shape.begin(), count);
    ParameterInput input{parameter.value(), {}};
    if (absl::Status status = take(field, true, tensor, shape, input.values); !status.ok()) return status;
    inputs.push_back(input);
  }
  std::sort(inputs.begin(), inputs.end(), [](const auto& a, const auto& b) { return a.parameter < b.parameter; });
  return absl::OkStatus();
}

absl::Status take_control(const v1::StepRequest& request, const schedule::BatchInfo& batch, std::int64_t count,
                          std::int64_t steps, InputView& view) {
  if (!request.has_control()) return absl::OkStatus();
  const auto controls = static_cast<std::int64_t>(batch.model->info().actuators.size());
  const bool sequence = request.control().shape_size() == 3;
  const Shape shape = sequence ? Shape{count, steps, controls} : Shape{count, controls};
  auto input = real_input("control", request.control(), shape, sequence);
  // A model without actuators has no control to apply, whatever pointer an empty tensor has.
  if (input.ok() && controls > 0) view = *input;
  return input.status();
}

// The action of a step of the batch's task, which says how many steps of the engine that is.
absl::Status take_action(const v1::StepRequest& request, const schedule::BatchInfo& batch, std::int64_t count,
                         schedule::StepWork& work) {
  if (!request.has_action()) return absl::OkStatus();
  if (batch.task == nullptr) return invalid_field("action", "is given, but the batch has no task");
  if (request.has_control()) return invalid_field("control", "is given beside action, which the task makes it of");
  if (request.has_step_count()) return invalid_field("step_count", "is given beside action; the task has a frame_skip");
  if (request.record_every() != 0) return invalid_field("record_every", "is given beside action");
  work.step_count = batch.task->action.frame_skip;
  auto input = real_input("action", request.action(), Shape{count, batch.task->action_size()});
  if (input.ok()) work.action = *input;
  return input.status();
}

// The shape of an output: [n, (records,) field...].
Shape output_shape(std::int64_t count, std::optional<std::int64_t> records, const Shape& field) {
  Shape shape{count};
  if (records) shape.push_back(*records);
  shape.insert(shape.end(), field.begin(), field.end());
  return shape;
}

}  // namespace

absl::Status check_request_id(absl::string_view id) {
  if (id.size() <= kMaxRequestIdLength) return absl::OkStatus();
  return invalid_field("request_id",
                       absl::StrCat("has ", id.size(), " bytes; at most ", kMaxRequestIdLength, " are taken"));
}

absl::Status check_answer_bytes(double bytes, const schedule::Limits& limits) {
  if (bytes <= static_cast<double>(limits.max_message_bytes)) return absl::OkStatus();
  return schedule::limit_reached(
      "max_message_bytes", absl::StrCat("max_message_bytes: the answer would have ", static_cast<std::int64_t>(bytes),
                                        " bytes, the limit is ", limits.max_message_bytes,
                                        "; ask for less: fewer worlds, fields, records, or a smaller page"));
}

absl::StatusOr<std::vector<std::int32_t>> worlds_of(const google::protobuf::RepeatedField<std::int32_t>& indices,
                                                    const schedule::BatchInfo& batch) {
  std::vector<bool> seen(static_cast<std::size_t>(batch.world_count));
  for (int i = 0; i < indices.size(); ++i) {
    const std::int32_t world = indices[i];
    if (world < 0 || world >= batch.world_count) {
      return invalid_field(absl::StrCat("world_indices[", i, "]"),
                           absl::StrCat("is ", world, "; it must be from 0 to ", batch.world_count - 1));
    }
    if (seen[static_cast<std::size_t>(world)]) {
      return invalid_field(absl::StrCat("world_indices[", i, "]"), absl::StrCat("names world ", world, " again"));
    }
    seen[static_cast<std::size_t>(world)] = true;
  }
  return std::vector<std::int32_t>(indices.begin(), indices.end());
}

absl::StatusOr<schedule::StepWork> to_step(const v1::StepRequest& request, const schedule::BatchInfo& batch,
                                           const schedule::Limits& limits, schedule::MemoryHold& memory,
                                           v1::StepResponse& response) {
  absl::Status status = check_counts(request, limits);
  if (!status.ok()) return status;
  schedule::StepWork work;
  work.step_count = request.has_step_count() ? request.step_count() : 1;
  work.record_every = request.record_every();
  work.request_id = request.request_id();
  work.request_hash = request_hash(request);
  if (request.has_expected_step()) work.expected_step = request.expected_step();
  if (request.has_expected_incarnation()) work.expected_incarnation = request.expected_incarnation();
  auto worlds = worlds_of(request.world_indices(), batch);
  if (!worlds.ok()) return worlds.status();
  work.world_indices = *std::move(worlds);
  const auto count = static_cast<std::int64_t>(work.world_indices.empty() ? static_cast<std::size_t>(batch.world_count)
                                                                          : work.world_indices.size());
  const auto bodies = static_cast<std::int64_t>(batch.model->info().bodies.size());
  status.Update(take_action(request, batch, count, work));
  status.Update(take_control(request, batch, count, work.step_count, work.control));
  status.Update(
      take("body_wrench", request.has_body_wrench(), request.body_wrench(), {count, bodies, 6}, work.body_wrench));
  const auto mocaps = static_cast<std::int64_t>(batch.model->info().mocaps.size());
  status.Update(
      take("mocap_pose", request.has_mocap_pose(), request.mocap_pose(), {count, mocaps, 7}, work.mocap_pose));
  const auto fields = fields_of("outputs", request.outputs());
  status.Update(fields.status());
  if (!status.ok()) return status;

  std::optional<std::int64_t> records;
  if (work.record_every > 0) records = work.step_count / work.record_every;
  double bytes = kFixedBytes + kWorldBytes * static_cast<double>(count);
  for (Field field : *fields) {
    bytes += static_cast<double>(batch.find(field)->bytes) * static_cast<double>(count) *
             static_cast<double>(records.value_or(1));
  }
  if (request.has_action()) bytes += task_answer_bytes(*batch.task, count);
  if (absl::Status fits = check_answer_bytes(bytes, limits); !fits.ok()) return fits;
  if (absl::Status fits = memory.grow(2 * static_cast<std::int64_t>(bytes), "the answer"); !fits.ok()) return fits;
  for (Field field : *fields) {
    const schedule::FieldShape& shape = *batch.find(field);
    v1::Tensor& tensor = (*response.mutable_outputs())[std::string(field_name(field))];
    std::byte* data = make_tensor(shape.dtype, output_shape(count, records, shape.shape), tensor);
    const auto record_count = static_cast<std::size_t>(records.value_or(1));
    work.outputs.push_back({field, data, record_count * shape.bytes, shape.bytes});
  }
  return work;
}

absl::StatusOr<StateUpdate> to_state(const v1::StateUpdate& message, const schedule::BatchInfo& batch,
                                     std::int64_t count, absl::string_view path) {
  const ModelInfo& model = batch.model->info();
  const auto bodies = static_cast<std::int64_t>(model.bodies.size());
  StateUpdate state;
  const auto at = [path](const char* name) { return absl::StrCat(path, ".", name); };
  absl::Status status =
      take(at("body_pose"), message.has_body_pose(), message.body_pose(), {count, bodies, 7}, state.body_pose);
  status.Update(take(at("body_velocity"), message.has_body_velocity(), message.body_velocity(), {count, bodies, 6},
                     state.body_velocity));
  status.Update(take(at("joint_position"), message.has_joint_position(), message.joint_position(),
                     {count, model.joint_position_count}, state.joint_position));
  status.Update(take(at("joint_velocity"), message.has_joint_velocity(), message.joint_velocity(),
                     {count, model.joint_velocity_count}, state.joint_velocity));
  status.Update(take(at("activation"), message.has_activation(), message.activation(),
                     {count, field_shape(model, Field::kActivation).front()}, state.activation));
  status.Update(take(at("mocap_pose"), message.has_mocap_pose(), message.mocap_pose(),
                     {count, static_cast<std::int64_t>(model.mocaps.size()), 7}, state.mocap_pose));
  status.Update(take(at("time"), message.has_time(), message.time(), {count}, state.time));
  status.Update(take_parameters(at("parameters"), message.parameters(), model, count, state.parameters));
  state.snapshots.assign(message.snapshot().begin(), message.snapshot().end());
  if (!status.ok()) return status;
  return state;
}

absl::StatusOr<BatchOverrides> to_overrides(const v1::BatchOverrides& message, const ModelInfo& model,
                                            std::int64_t count) {
  const auto bodies = static_cast<std::int64_t>(model.bodies.size());
  const auto controls = static_cast<std::int64_t>(model.actuators.size());
  BatchOverrides overrides;
  absl::Status status = take("overrides.body_pose", message.has_body_pose(), message.body_pose(), {count, bodies, 7},
                             overrides.body_pose);
  status.Update(take("overrides.mass_scale", message.has_mass_scale(), message.mass_scale(), {count, bodies},
                     overrides.mass_scale));
  status.Update(take("overrides.friction_scale", message.has_friction_scale(), message.friction_scale(), {count},
                     overrides.friction_scale));
  status.Update(take("overrides.gain_scale", message.has_gain_scale(), message.gain_scale(), {count, controls},
                     overrides.gain_scale));
  status.Update(take_parameters("overrides.parameters", message.parameters(), model, count, overrides.parameters));
  if (!status.ok()) return status;
  return overrides;
}

absl::StatusOr<Reading> to_reading(const v1::GetStateRequest& request, const schedule::BatchInfo& batch,
                                   std::int64_t count, const schedule::Limits& limits, schedule::MemoryHold& memory,
                                   v1::GetStateResponse& response) {
  Reading reading;
  auto fields = fields_of("fields", request.fields(), &reading.snapshot);
  if (!fields.ok()) return fields.status();
  if (request.fields().empty()) {
    for (const schedule::FieldShape& shape : batch.fields) fields->push_back(shape.field);
  }
  double bytes = kFixedBytes + kWorldBytes * static_cast<double>(count);
  for (Field field : *fields) bytes += static_cast<double>(batch.find(field)->bytes) * static_cast<double>(count);
  auto parameters = parameters_of("parameters", request.parameters());
  if (!parameters.ok()) return parameters.status();
  const auto shape_of = [&](Parameter parameter) {
    return output_shape(count, std::nullopt, parameter_shape(batch.model->info(), parameter));
  };
  for (Parameter parameter : *parameters) {
    bytes += static_cast<double>(schedule::element_count(shape_of(parameter)) * sizeof(double));
  }
  if (absl::Status fits = check_answer_bytes(bytes, limits); !fits.ok()) return fits;
  if (absl::Status fits = memory.grow(2 * static_cast<std::int64_t>(bytes), "the answer"); !fits.ok()) return fits;
  for (Parameter parameter : *parameters) {
    const Shape shape = shape_of(parameter);
    v1::Tensor& tensor = (*response.mutable_parameters())[description_of(parameter).name];
    auto* data = reinterpret_cast<double*>(make_tensor(DType::kFloat64, shape, tensor));
    reading.parameters.push_back({parameter, {data, schedule::element_count(shape)}});
  }
  std::vector<OutputView>& views = reading.views;
  for (Field field : *fields) {
    const schedule::FieldShape& shape = *batch.find(field);
    v1::Tensor& tensor = (*response.mutable_fields())[std::string(field_name(field))];
    std::byte* data = make_tensor(shape.dtype, output_shape(count, std::nullopt, shape.shape), tensor);
    views.push_back({field, data, shape.bytes, 0});
  }
  response.mutable_time()->Resize(static_cast<int>(count), 0);
  response.mutable_step_index()->Resize(static_cast<int>(count), 0);
  views.push_back(
      {Field::kTime, reinterpret_cast<std::byte*>(response.mutable_time()->mutable_data()), sizeof(double), 0});
  views.push_back({Field::kStepIndex, reinterpret_cast<std::byte*>(response.mutable_step_index()->mutable_data()),
                   sizeof(std::int64_t), 0});
  return reading;
}

}  // namespace axion::server::rpc
