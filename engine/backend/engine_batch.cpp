#include "engine/backend/engine_batch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "engine/backend/checks.hpp"
#include "engine/backend/snapshot.hpp"
#include "engine/backend/text.hpp"
#include "engine/base/stop.hpp"
#include "engine/model/batch_view.hpp"

namespace axion::backend {
namespace {

constexpr double kMaxTimeStep = 1.0;  // s
constexpr int kMaxWorlds = 1 << 24;
constexpr int kMaxStepCount = 1 << 24;

DType precision_of(const BatchSpec& spec) {
  return spec.options.precision == model::Precision::kFloat32 ? DType::kFloat32 : DType::kFloat64;
}

std::vector<int> pose_quaternions(int body_count) {
  std::vector<int> columns(body_count);
  for (int b = 0; b < body_count; ++b) columns[b] = 7 * b + 3;
  return columns;
}

// One value over all steps.
InputView held(InputView view) {
  view.step_stride = 0;
  return view;
}

InputShape pose_shape(const char* name, int rows, int body_count, DType precision) {
  return {name, rows, 1, 7 * body_count, 7, precision, kMaxState};
}

// Each once, finite, of its shape.
Status check_parameter_inputs(const ModelInfo& info, const std::vector<ParameterInput>& parameters,
                              const std::string& path, int rows) {
  std::set<Parameter> seen;
  for (const ParameterInput& input : parameters) {
    if (static_cast<int>(input.parameter) >= kParameterCount) {
      return invalid_argument(path, text("There is no parameter number ", static_cast<int>(input.parameter), "."));
    }
    const std::string name = text(path, "[\"", description_of(input.parameter).name, "\"]");
    if (!seen.insert(input.parameter).second) return invalid_argument(name, name + " is given twice.");
    int columns = 1;
    for (const std::int64_t extent : parameter_shape(info, input.parameter)) columns *= static_cast<int>(extent);
    const int width = description_of(input.parameter).width;
    const InputShape shape{name.c_str(),    rows,     1, columns, columns > width && width > 1 ? width : 0,
                           DType::kFloat64, kMaxState};
    if (Status s = check_input(input.values, shape); !s.ok()) return s;
  }
  return {};
}

}  // namespace

Status check_spec(const BatchSpec& spec) {
  const auto* model = dynamic_cast<const EngineModel*>(spec.model.get());
  if (model == nullptr) return invalid_argument("model", "A batch needs a model made by compile_model.");
  if (spec.world_count < 1 || spec.world_count > kMaxWorlds) {
    return invalid_argument("world_count",
                            text("world_count is ", spec.world_count, "; it must be within 1 and ", kMaxWorlds, "."));
  }
  if (!(spec.dt >= 1e-6) || !(spec.dt <= kMaxTimeStep)) {
    return invalid_argument("dt", text("dt is ", spec.dt, " s; it must be within 1e-06 and ", kMaxTimeStep, "."));
  }
  if (Status status = model::validate(spec.options); !status.ok()) {
    Error error = status.error();
    error.field = "options." + error.field;
    return error;
  }
  const std::int64_t unknowns = model::unknown_count(model->arrays<double>().view());
  if (spec.options.linear_solver == model::LinearSolver::kDenseDirect && unknowns > model::kMaxDenseUnknowns) {
    return invalid_argument(
        "options.linear_solver",
        text("options.linear_solver is DENSE_DIRECT, which takes worlds of at most ", model::kMaxDenseUnknowns,
             " unknowns; this model has ", unknowns, " with all the contacts that it can hold. AUTOMATIC takes it."));
  }
  const ModelInfo& info = model->info();
  const int n = spec.world_count, nb = static_cast<int>(info.bodies.size());
  const DType real = precision_of(spec);
  const BatchOverrides& o = spec.overrides;
  const InputShape poses = pose_shape("overrides.body_pose", n, nb, real);
  if (Status s = check_input(o.body_pose, poses); !s.ok()) return s;
  if (Status s = check_quaternions(o.body_pose, poses, pose_quaternions(nb)); !s.ok()) return s;
  if (Status s = check_scale(o.mass_scale, {"overrides.mass_scale", n, 1, nb, 0, real}, false); !s.ok()) return s;
  if (Status s = check_scale(o.friction_scale, {"overrides.friction_scale", n, 1, 1, 0, real}, true); !s.ok()) return s;
  const int nu = static_cast<int>(info.actuators.size());
  if (Status s = check_parameter_inputs(info, o.parameters, "overrides.parameters", n); !s.ok()) return s;
  return check_scale(o.gain_scale, {"overrides.gain_scale", n, 1, nu, 0, real}, true);
}

EngineBatch::EngineBatch(const BatchSpec& spec, std::shared_ptr<const EngineModel> model,
                         std::unique_ptr<BatchMemory> memory, const void* engine)
    : spec_(spec),
      model_(std::move(model)),
      memory_(std::move(memory)),
      engine_(engine),
      all_worlds_(spec.world_count),
      step_index_(spec.world_count) {
  spec_.overrides = {};
  std::iota(all_worlds_.begin(), all_worlds_.end(), 0);
}

int EngineBatch::row_count(std::span<const std::int32_t> worlds) const {
  return worlds.empty() ? spec_.world_count : static_cast<int>(worlds.size());
}

std::span<const std::int32_t> EngineBatch::resolve(std::span<const std::int32_t> worlds) const {
  return worlds.empty() ? std::span<const std::int32_t>(all_worlds_) : worlds;
}

std::vector<std::int64_t> EngineBatch::field_shape(Field field) const {
  return axion::field_shape(model_->info(), field);
}

DType EngineBatch::field_dtype(Field field) const {
  const FieldDescription& description = description_of(field);
  return description.is_real ? real_dtype() : description.dtype;
}

std::int64_t EngineBatch::field_bytes(Field field) const {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(field_dtype(field)));
  for (const std::int64_t extent : field_shape(field)) bytes *= extent;
  return bytes;
}

// Rows and records must not overlap: they are written at once.
Status EngineBatch::check_outputs(std::span<const OutputView> out, int rows, int records) const {
  if (out.size() > static_cast<std::size_t>(step::kMaxJobOutputs)) {
    return invalid_argument("outputs", text("There are ", out.size(), " outputs; at most ", step::kMaxJobOutputs,
                                            " may be asked for at once."));
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string name = text("outputs[", i, "]");
    if (static_cast<int>(out[i].field) >= kFieldCount) {
      return invalid_argument(name, text(name, " asks for field number ", static_cast<int>(out[i].field), "."));
    }
    const std::size_t bytes = static_cast<std::size_t>(field_bytes(out[i].field));
    if (bytes == 0) continue;
    if (out[i].data == nullptr) return invalid_argument(name, text(name, " has no memory to write to."));
    if ((rows > 1 && out[i].world_stride < bytes) || (records > 1 && out[i].record_stride < bytes)) {
      return invalid_argument(name, text(name, " has strides of ", out[i].world_stride, " and ", out[i].record_stride,
                                         " bytes; ", field_name(out[i].field), " takes ", bytes, "."));
    }
  }
  return {};
}

Status EngineBatch::check_step(const StepRequest& request) const {
  if (Status s = check_worlds(request.world_indices, spec_.world_count); !s.ok()) return s;
  if (request.step_count < 1 || request.step_count > kMaxStepCount) {
    return invalid_argument(
        "step_count", text("step_count is ", request.step_count, "; it must be within 1 and ", kMaxStepCount, "."));
  }
  if (request.record_every < 0 || (request.record_every > 0 && request.step_count % request.record_every != 0)) {
    return invalid_argument("record_every", text("record_every is ", request.record_every,
                                                 "; it must be 0 or divide step_count, ", request.step_count, "."));
  }
  for (const auto& [view, name] :
       {std::pair(&request.control, "control"), std::pair(&request.body_wrench, "body_wrench"),
        std::pair(&request.mocap_pose, "mocap_pose")}) {
    if (Status s = check_type(*view, name); !s.ok()) return s;
  }
  const int n = row_count(request.world_indices), k = request.step_count;
  return check_outputs(request.outputs, n, request.record_every > 0 ? k / request.record_every : 1);
}

InputShape EngineBatch::control_shape(const StepRequest& request) const {
  const int nu = static_cast<int>(model_->info().actuators.size());
  return {"control", row_count(request.world_indices), request.step_count, nu, 0, real_dtype()};
}

InputShape EngineBatch::wrench_shape(const StepRequest& request) const {
  const int nb = static_cast<int>(model_->info().bodies.size());
  return {"body_wrench", row_count(request.world_indices), 1, 6 * nb, 6, real_dtype()};
}

InputShape EngineBatch::mocap_shape(int rows) const {
  return pose_shape("mocap_pose", rows, static_cast<int>(model_->info().mocaps.size()), real_dtype());
}

std::size_t EngineBatch::input_bytes(const StepRequest& request) const {
  const std::size_t control = packed_bytes(request.control, control_shape(request));
  return world::align_up(control, world::kFieldAlignment) +
         world::align_up(packed_bytes(held(request.body_wrench), wrench_shape(request)), world::kFieldAlignment) +
         world::align_up(packed_bytes(held(request.mocap_pose), mocap_shape(row_count(request.world_indices))),
                         world::kFieldAlignment);
}

Status EngineBatch::take_inputs(StepRequest& request, std::byte* to, ThreadPool* pool) const {
  request.body_wrench = held(request.body_wrench), request.mocap_pose = held(request.mocap_pose);
  const auto take = [&](InputView& view, const InputShape& shape) -> Status {
    if (Status s = check_input(view, shape, to, pool); !s.ok() || to == nullptr || view.data == nullptr) return s;
    const std::size_t record = shape.columns * size_of(view.dtype), bytes = packed_bytes(view, shape);
    const bool has_steps = view.step_stride != 0;
    view = {to, view.dtype, has_steps ? record * shape.steps : record, has_steps ? record : 0};
    to += world::align_up(bytes, world::kFieldAlignment);
    return {};
  };
  if (Status s = take(request.control, control_shape(request)); !s.ok()) return s;
  if (Status s = take(request.body_wrench, wrench_shape(request)); !s.ok()) return s;
  if (request.mocap_pose.data == nullptr) return {};
  const InputShape poses = mocap_shape(row_count(request.world_indices));
  if (Status s = take(request.mocap_pose, poses); !s.ok()) return s;
  return check_quaternions(request.mocap_pose, poses, pose_quaternions(poses.columns / 7));
}

StepStatistics EngineBatch::finish_step(const StepRequest& request) {
  const int n = row_count(request.world_indices);
  const std::span<const std::int32_t> worlds = resolve(request.world_indices);
  const std::span<const std::int64_t> reached = memory_->launch_step_indices(n);
  for (int i = 0; i < n; ++i) step_index_[worlds[i]] = reached[i];
  const StepStatistics statistics = memory_->launch_statistics(n);
  cumulative_.add(statistics);
  return statistics;
}

Status EngineBatch::check_snapshots(const StateUpdate& state, int rows) const {
  if (!state.parameters.empty()) return invalid_argument("snapshot", "snapshot is all of a state; it is given alone.");
  for (const InputView& other : {state.body_pose, state.body_velocity, state.joint_position, state.joint_velocity,
                                 state.time, state.activation, state.mocap_pose}) {
    if (other.data == nullptr) continue;
    return invalid_argument("snapshot", "snapshot is all of a state; it is given alone.");
  }
  const int count = static_cast<int>(state.snapshots.size());
  if (count != rows && count != 1) {
    return invalid_argument(
        "snapshot", text("snapshot has ", count, " values for ", rows, " worlds; give one a world, or one for all."));
  }
  for (int i = 0; i < count; ++i) {
    stop_if_asked();
    if (Status s = check_snapshot(state.snapshots[i], text("snapshot[", i, "]")); !s.ok()) return s;
  }
  return {};
}

EngineBatch::Rows EngineBatch::rows_of_snapshots(std::span<const std::int32_t> worlds,
                                                 std::span<const std::string_view> snapshots) const {
  std::vector<std::vector<double>> rows(worlds.size());
  bool any = has_own_numbers();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = snapshot_numbers(snapshots[snapshots.size() == 1 ? 0 : i]);
    any = any || !rows[i].empty();
  }
  if (!any) return std::unique_ptr<RowsChange>();
  const auto name = [&](std::size_t i) { return text("snapshot[", snapshots.size() == 1 ? 0 : i, "]"); };
  return prepare_rows(worlds, std::move(rows), name, false);
}

Status EngineBatch::check_state(const StateUpdate& state, int rows) const {
  if (!state.snapshots.empty()) return check_snapshots(state, rows);
  const bool body = state.body_pose.data != nullptr || state.body_velocity.data != nullptr;
  const bool joint = state.joint_position.data != nullptr || state.joint_velocity.data != nullptr;
  if (body && joint) {
    return invalid_argument("joint_position",
                            "A state is given by body_pose and body_velocity or by joint_position and "
                            "joint_velocity, not by both.");
  }
  const ModelInfo& info = model_->info();
  const int nb = static_cast<int>(info.bodies.size());
  const DType real = real_dtype();
  const InputShape poses = pose_shape("body_pose", rows, nb, real);
  const InputShape positions{"joint_position", rows, 1, info.joint_position_count, 0, real, kMaxState};
  if (Status s = check_input(state.body_pose, poses); !s.ok()) return s;
  if (Status s = check_quaternions(state.body_pose, poses, pose_quaternions(nb)); !s.ok()) return s;
  if (Status s = check_input(state.body_velocity, {"body_velocity", rows, 1, 6 * nb, 6, real, kMaxState}); !s.ok())
    return s;
  if (Status s = check_input(state.joint_position, positions); !s.ok()) return s;
  std::vector<int> quaternions;
  for (const JointInfo& j : info.joints) {
    if (j.position_count == 0) continue;
    if (j.kind == model::JointKind::kFree) quaternions.push_back(j.position_start + 3);
    if (j.kind == model::JointKind::kBall) quaternions.push_back(j.position_start);
  }
  if (Status s = check_quaternions(state.joint_position, positions, quaternions); !s.ok()) return s;
  const InputShape rates{"joint_velocity", rows, 1, info.joint_velocity_count, 0, real, kMaxState};
  if (Status s = check_input(state.joint_velocity, rates); !s.ok()) return s;
  const int activations = static_cast<int>(axion::field_shape(info, Field::kActivation).front());
  const InputShape activation{"activation", rows, 1, activations, 0, real, kMaxState};
  if (Status s = check_input(state.activation, activation); !s.ok()) return s;
  if (Status s = check_input(state.mocap_pose, mocap_shape(rows)); !s.ok()) return s;
  const int mocaps = static_cast<int>(info.mocaps.size());
  if (Status s = check_quaternions(state.mocap_pose, mocap_shape(rows), pose_quaternions(mocaps)); !s.ok()) return s;
  if (Status s = check_parameter_inputs(info, state.parameters, "parameters", rows); !s.ok()) return s;
  return check_input(state.time, {"time", rows, 1, 1, 0, DType::kFloat64, kMaxState});
}

EngineBatch::Rows EngineBatch::rows_of_parameters(std::span<const std::int32_t> worlds,
                                                  const std::vector<ParameterInput>& parameters,
                                                  const std::string& path, bool move) const {
  if (parameters.empty()) return std::unique_ptr<RowsChange>();
  std::vector<std::vector<double>> rows(worlds.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = numbers(worlds[i]);
    for (const ParameterInput& input : parameters) {
      const int start = model::parameter_start(model_->compiled(), input.parameter);
      const int count = parameter_numbers(input.parameter);
      for (int j = 0; j < count; ++j) rows[i][start + j] = read_input(input.values, static_cast<int>(i), 0, j);
    }
  }
  return prepare_rows(
      worlds, std::move(rows), [&](std::size_t) { return path; }, move);
}

int EngineBatch::parameter_numbers(Parameter parameter) const {
  const ParameterDescription& description = description_of(parameter);
  return model::item_count(model_->compiled(), description.of) * description.width;
}

Status EngineBatch::parameters(std::span<const std::int32_t> worlds, Parameter parameter, std::span<double> out) const {
  if (Status s = check_worlds(worlds, spec_.world_count); !s.ok()) return s;
  const std::size_t start = model::parameter_start(model_->compiled(), parameter);
  const std::size_t count = parameter_numbers(parameter);
  worlds = resolve(worlds);
  if (out.size() != worlds.size() * count) {
    return invalid_argument("parameters", text("There is room for ", out.size(), " numbers; ", worlds.size() * count,
                                               " are to be written."));
  }
  for (std::size_t i = 0; i < worlds.size(); ++i) {
    const std::vector<double> row = numbers(worlds[i]);
    std::copy_n(row.begin() + start, count, out.begin() + i * count);
  }
  return {};
}

Status EngineBatch::check_one_world(int world) const {
  if (world >= 0 && world < spec_.world_count) return {};
  return invalid_argument("world",
                          text("world is ", world, "; the batch has worlds 0 to ", spec_.world_count - 1, "."));
}

Status EngineBatch::get(std::span<const std::int32_t> worlds, std::span<const OutputView> out) const {
  if (Status s = check_worlds(worlds, spec_.world_count); !s.ok()) return s;
  if (Status s = check_outputs(out, row_count(worlds), 1); !s.ok()) return s;
  worlds = resolve(worlds);
  return memory_->visit(worlds, Access::kRead,
                        [&](int row, std::byte* block) { get_world(out, row, worlds[row], block); });
}

Result<std::vector<std::string>> EngineBatch::snapshots(std::span<const std::int32_t> worlds,
                                                        std::span<const std::uint32_t> outcomes) const {
  if (Status s = check_worlds(worlds, spec_.world_count); !s.ok()) return s.error();
  std::vector<std::string> snapshots(row_count(worlds));
  const Status status = memory_->visit(resolve(worlds), Access::kRead, [&](int row, std::byte* block) {
    snapshots[row] = write_snapshot(resolve(worlds)[row], block, outcomes.empty() ? nullptr : &outcomes[row]);
  });
  if (!status.ok()) return status.error();
  return snapshots;
}

// Of worlds that are resolved: their state, or with overrides their start.
struct EngineBatch::Change : StateChange {
  std::span<const std::int32_t> worlds;
  StateUpdate state;
  std::optional<int> keyframe;
  const BatchOverrides* overrides = nullptr;
  std::unique_ptr<RowsChange> rows;
};

Result<std::unique_ptr<StateChange>> EngineBatch::prepare(std::span<const std::int32_t> worlds,
                                                          const StateUpdate& state, std::optional<int> keyframe) const {
  if (Status s = check_worlds(worlds, spec_.world_count); !s.ok()) return s.error();
  const int keyframes = static_cast<int>(model_->info().keyframes.size());
  if (keyframe && (*keyframe < -1 || *keyframe >= keyframes)) {
    return invalid_argument(
        "keyframe", text("keyframe is ", *keyframe, "; the model has ", keyframes, ", and -1 is the initial state."));
  }
  if (Status s = check_state(state, row_count(worlds)); !s.ok()) return s.error();
  if (keyframe && *keyframe >= 0 && !state.snapshots.empty()) {
    return invalid_argument("keyframe", "A world starts at a keyframe or at a snapshot, not at both.");
  }
  auto change = std::make_unique<Change>();
  change->worlds = resolve(worlds), change->state = state, change->keyframe = keyframe;
  Rows rows = state.snapshots.empty() ? rows_of_parameters(change->worlds, state.parameters, "parameters", true)
                                      : rows_of_snapshots(change->worlds, state.snapshots);
  if (!rows.ok()) return rows.error();
  change->rows = std::move(rows).value();
  return std::unique_ptr<StateChange>(std::move(change));
}

Result<std::unique_ptr<StateChange>> EngineBatch::prepare_start(const BatchOverrides& overrides) const {
  auto change = std::make_unique<Change>();
  change->worlds = all_worlds_, change->overrides = &overrides;
  Rows rows = rows_of_parameters(all_worlds_, overrides.parameters, "overrides.parameters", false);
  if (!rows.ok()) return rows.error();
  change->rows = std::move(rows).value();
  return std::unique_ptr<StateChange>(std::move(change));
}

Status EngineBatch::make(StateChange& prepared, int first, int last) {
  auto& change = static_cast<Change&>(prepared);
  if (first == 0 && change.rows != nullptr) {
    if (Status s = make_room(*change.rows); !s.ok()) return s;
  }
  const auto make_world = [&](int i, std::byte* block) {
    const int row = first + i, world = change.worlds[row];
    if (change.rows != nullptr) take_row(*change.rows, row, block);
    if (change.overrides != nullptr) {
      start_world(*change.overrides, row, block);
    } else if (!change.state.snapshots.empty()) {
      const auto& snapshots = change.state.snapshots;
      step_index_[world] = read_snapshot(snapshots[snapshots.size() == 1 ? 0 : row], block);
    } else if (change.keyframe) {
      reset_world(*change.keyframe, change.state, row, world, block);
      step_index_[world] = 0;
    } else {
      set_world(change.state, row, world, block);
    }
  };
  const Status made = memory_->visit(change.worlds.subspan(first, last - first), Access::kReadWrite, make_world);
  if (!made.ok() || change.rows == nullptr || last < static_cast<int>(change.worlds.size())) return made;
  return copy_rows();
}

Status EngineBatch::set_state(std::span<const std::int32_t> worlds, const StateUpdate& state) {
  const auto change = prepare(worlds, state, std::nullopt);
  return change.ok() ? make(*change.value(), 0, row_count(worlds)) : Status(change.error());
}

Status EngineBatch::reset(const ResetRequest& request) {
  const auto change = prepare(request.world_indices, request.state, request.keyframe);
  return change.ok() ? make(*change.value(), 0, row_count(request.world_indices)) : Status(change.error());
}

}  // namespace axion::backend
