// StepGradient: from the gradient of a loss by what steps lead to, to that by what they begin with.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "server/rpc/coordinates.hpp"
#include "server/rpc/field_names.hpp"
#include "server/rpc/query_answer.hpp"
#include "server/rpc/request_conversion.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/rpc/tensor.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/world_work.hpp"

namespace axion::server::rpc {
namespace {

using GradientShape = std::vector<std::int64_t>;

static_assert(static_cast<int>(GradientOutcome::kExact) == v1::GRADIENT_OUTCOME_EXACT &&
              static_cast<int>(GradientOutcome::kNonFinite) == v1::GRADIENT_OUTCOME_NON_FINITE);

// Numbers of a world and step.
struct GradientSizes {
  std::int64_t worlds, nb, nq, x, nu;
};

// A world and record of a field, or a world without records.
GradientShape shape_of(std::int64_t worlds, std::int64_t records, const GradientShape& rest) {
  GradientShape shape{worlds};
  if (records > 0) shape.push_back(records);
  shape.insert(shape.end(), rest.begin(), rest.end());
  return shape;
}

absl::Status take_steps(const v1::StepGradientRequest& request, const schedule::Limits& limits,
                        StepGradientSpec& spec) {
  const std::int64_t steps = request.has_step_count() ? request.step_count() : 1;
  if (steps < 1 || steps > limits.max_steps_per_request) {
    return schedule::invalid_field("step_count",
                                   absl::StrCat("is ", steps, "; it must be 1 to ", limits.max_steps_per_request));
  }
  const std::int64_t every = request.record_every();
  if (every < 0 || (every > 0 && steps % every != 0)) {
    return schedule::invalid_field("record_every",
                                   absl::StrCat("is ", every, "; it must be 0 or divide step_count = ", steps));
  }
  spec.step_count = static_cast<int>(steps), spec.record_every = static_cast<int>(every);
  if (request.has_difference()) spec.difference = request.difference();
  return absl::OkStatus();
}

absl::Status take_motion(const v1::StepGradientRequest& request, const GradientSizes& sizes, StepGradientSpec& spec) {
  const auto take = [](const char* name, bool given, const v1::Tensor& tensor, const GradientShape& shape,
                       bool sequence, InputView& to) -> absl::Status {
    if (!given) return absl::OkStatus();
    const auto view = real_input(name, tensor, shape, sequence);
    if (view.ok()) to = *view;
    return view.status();
  };
  const bool sequence = request.control().shape_size() == 3;
  const GradientShape control =
      sequence ? GradientShape{sizes.worlds, spec.step_count, sizes.nu} : GradientShape{sizes.worlds, sizes.nu};
  absl::Status status = take("control", request.has_control(), request.control(), control, sequence, spec.control);
  // A model without actuators has no control to apply, whatever pointer an empty tensor has.
  if (sizes.nu == 0) spec.control = {};
  if (status.ok()) {
    status = take("body_wrench", request.has_body_wrench(), request.body_wrench(), {sizes.worlds, sizes.nb, 6}, false,
                  spec.body_wrench);
  }
  if (!status.ok()) return status;
  return take("state_gradient", request.has_state_gradient(), request.state_gradient(), {sizes.worlds, sizes.x}, false,
              spec.state);
}

// Records of the steps; 0: one without a dimension.
std::int64_t records_of(const StepGradientSpec& spec) {
  return spec.record_every == 0 ? 0 : spec.step_count / spec.record_every;
}

absl::Status take_loss(const v1::StepGradientRequest& request, const ModelInfo& info, const GradientSizes& sizes,
                       StepGradientSpec& spec) {
  for (const auto& [name, tensor] : request.output_gradients()) {
    const std::string path = absl::StrCat("output_gradients[\"", schedule::shown(name), "\"]");
    const auto field = field_from_name(name);
    if (!field.ok() || !has_gradient(field.value())) {
      return schedule::invalid_field(path,
                                     "is of no field that has a gradient; there are body_pose, body_velocity, "
                                     "joint_position, joint_velocity, activation, sensor_data");
    }
    const GradientShape shape = shape_of(sizes.worlds, records_of(spec), field_shape(info, field.value()));
    auto view = real_input(path, tensor, shape);
    if (!view.ok()) return view.status();
    if (records_of(spec) > 0) view->step_stride = view->world_stride / static_cast<std::size_t>(shape[1]);
    if (schedule::element_count(shape) > 0) spec.fields.push_back({field.value(), *view});
  }
  const auto outputs = fields_of("outputs", request.outputs());
  if (!outputs.ok()) return outputs.status();
  spec.outputs = *outputs;
  for (std::size_t i = 0; i < spec.outputs.size(); ++i) {
    if (has_gradient(spec.outputs[i])) continue;
    return schedule::invalid_field(absl::StrCat("outputs[", i, "]"),
                                   absl::StrCat("is ", std::string(field_name(spec.outputs[i])),
                                                "; there are body_pose, body_velocity, joint_position, joint_velocity, "
                                                "activation, sensor_data"));
  }
  for (int i = 0; i < request.inputs_size(); ++i) {
    const auto input = gradient_input_from_name(request.inputs(i));
    if (!input.ok()) {
      return schedule::invalid_field(
          absl::StrCat("inputs[", i, "]"),
          absl::StrCat("is \"", schedule::shown(request.inputs(i)), "\". ", input.error().message));
    }
    spec.inputs.push_back(input.value());
  }
  return absl::OkStatus();
}

// The answer's tensors, where there is room for them.
absl::StatusOr<StepGradientOutput> make_answer(const v1::StepGradientRequest& request, const ModelInfo& info,
                                               const GradientSizes& s, const StepGradientSpec& spec,
                                               const schedule::Limits& limits, schedule::MemoryHold& memory,
                                               v1::StepGradientResponse& response) {
  const std::int64_t n = s.worlds, k = spec.step_count;
  const bool sequence = spec.control.data != nullptr && spec.control.step_stride != 0;
  const GradientShape state{n, s.x}, position{n, s.nq}, per_step{n, k};
  const GradientShape control = sequence ? GradientShape{n, k, s.nu} : GradientShape{n, s.nu};
  double bytes = bytes_of({state, position, control, per_step, per_step, per_step, per_step}) +
                 kCoordinateBytes * static_cast<double>(s.x);
  std::vector<GradientShape> inputs, outputs;
  for (const GradientInput& input : spec.inputs) {
    inputs.push_back(shape_of(n, 0, gradient_input_shape(info, input)));
    bytes += bytes_of({inputs.back()});
  }
  for (const Field field : spec.outputs) {
    outputs.push_back(shape_of(n, records_of(spec), field_shape(info, field)));
    bytes += bytes_of({outputs.back()});
  }
  if (absl::Status room = take_room(bytes, limits, memory); !room.ok()) return room;
  StepGradientOutput out;
  out.state = make_doubles(state, *response.mutable_state());
  out.joint_position = make_doubles(position, *response.mutable_joint_position());
  out.control = make_doubles(control, *response.mutable_control());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    out.inputs.push_back(
        make_doubles(inputs[i], (*response.mutable_input_gradients())[request.inputs(static_cast<int>(i))]));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string name(field_name(spec.outputs[i]));
    out.fields.push_back(make_doubles(outputs[i], (*response.mutable_outputs())[name]));
  }
  response.mutable_outcome()->Resize(static_cast<int>(n), 0);
  out.outcome = {reinterpret_cast<GradientOutcome*>(response.mutable_outcome()->mutable_data()),
                 static_cast<std::size_t>(n)};
  const std::size_t count = schedule::element_count(per_step);
  auto* bits = make_tensor(DType::kUint32, per_step, *response.mutable_step_outcome());
  out.step_outcome = {reinterpret_cast<std::uint32_t*>(bits), count};
  auto* laws = make_tensor(DType::kInt32, per_step, *response.mutable_law());
  out.law = {reinterpret_cast<LawWithoutDerivative*>(laws), count};
  auto* kinks = make_tensor(DType::kInt32, per_step, *response.mutable_kink());
  out.kink = {reinterpret_cast<std::int32_t*>(kinks), count};
  return out;
}

// A request while its pieces are done.
struct GradientWork {
  StepGradientSpec spec;
  StepGradientOutput out;
  schedule::MemoryHold memory;  // of the worlds that are stepped and of the states on the way
  std::unique_ptr<Linearisation> made;

  absl::Status begin(Engine& engine, const schedule::BatchHandle& batch) {
    auto gradient = step_gradient(engine, *batch.engine, spec, out);
    if (!gradient.ok()) return schedule::from_engine(gradient.error());
    made = std::move(gradient).value();
    const std::size_t states =
        step_gradient_host_bytes(batch.info.model->info(), static_cast<std::size_t>(spec.step_count));
    if (absl::Status room = memory.grow(static_cast<std::int64_t>(states), "the states on the way"); !room.ok())
      return room;
    if (engine.device().kind != "cpu") return absl::OkStatus();
    return memory.grow(made->memory_bytes(), "the worlds that are stepped for the gradient");
  }
  // Gives back what it holds, before the call is answered: the next one may ask for as much.
  void end() {
    made.reset();
    [[maybe_unused]] const schedule::MemoryHold given_back = std::move(memory);
  }
};

}  // namespace

void SimulationService::StepGradient(UnaryCall* call, const v1::StepGradientRequest* request,
                                     v1::StepGradientResponse* response) {
  const auto prepare = [this, call, request, response](const auto& batch) -> absl::StatusOr<Work> {
    auto worlds = worlds_of(request->world_indices(), batch->info);
    if (!worlds.ok()) return worlds.status();
    const ModelInfo& info = batch->info.model->info();
    const GradientSizes sizes{.worlds = count_of(*worlds, *batch),
                              .nb = static_cast<std::int64_t>(info.bodies.size()),
                              .nq = info.joint_position_count,
                              .x = 2 * info.joint_velocity_count + field_shape(info, Field::kActivation).front(),
                              .nu = static_cast<std::int64_t>(info.actuators.size())};
    const auto work = std::make_shared<GradientWork>();
    absl::Status status = take_steps(*request, parts_.limits, work->spec);
    if (status.ok()) status = take_motion(*request, sizes, work->spec);
    if (status.ok()) status = take_loss(*request, info, sizes, work->spec);
    if (!status.ok()) return status;
    auto start = to_state(request->start(), batch->info, sizes.worlds, "start");
    if (!start.ok()) return start.status();
    auto out = make_answer(*request, info, sizes, work->spec, parts_.limits, call->memory(), *response);
    if (!out.ok()) return out.status();
    fill_coordinates(info, *response->mutable_coordinates());
    const std::size_t items =
        step_gradient_items(static_cast<std::size_t>(sizes.worlds), static_cast<std::size_t>(work->spec.step_count));
    work->spec.worlds = *std::move(worlds), work->spec.start = *std::move(start);
    work->out = *std::move(out), work->memory = call->memory().another();
    const auto begin = [work, batch](Engine& engine) { return work->begin(engine, *batch); };
    const auto go_on = [work, items](Engine&, std::size_t first, std::size_t last) {
      absl::Status done = from_query(work->made->run(first, last));
      if (last == items) work->end();
      return done;
    };
    return Work{schedule::whole(begin), {.count = items, .run = go_on}};
  };
  with_batch(call, request->batch(), schedule::Effect::kReads, prepare);
}

}  // namespace axion::server::rpc
