// Linearize: how steps of worlds depend on their state and controls.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "server/rpc/coordinates.hpp"
#include "server/rpc/query_answer.hpp"
#include "server/rpc/request_conversion.hpp"
#include "server/rpc/simulation_service.hpp"
#include "server/rpc/tensor.hpp"
#include "server/schedule/failure.hpp"
#include "server/schedule/world_work.hpp"

namespace axion::server::rpc {
namespace {

using LinearizeShape = std::vector<std::int64_t>;

// The messages number as the engine does.
static_assert(static_cast<int>(LinearisationMethod::kExact) == v1::LINEARIZE_METHOD_EXACT &&
              static_cast<int>(LinearisationMethod::kDifferences) == v1::LINEARIZE_METHOD_DIFFERENCES);
static_assert(static_cast<int>(LawWithoutDerivative::kSoftContact) == v1::LINEARIZE_LAW_SOFT_CONTACT &&
              static_cast<int>(LawWithoutDerivative::kIdleAxis) == v1::LINEARIZE_LAW_IDLE_AXIS);

// Numbers of a world and step.
struct LinearizeSizes {
  std::int64_t worlds, steps, nq, nv, activations, nu, sensors;
  std::int64_t x() const { return 2 * nv + activations; }
};

// Steps and control of a request.
absl::StatusOr<InputView> take_control_of(const v1::LinearizeRequest& request, const schedule::Limits& limits,
                                          LinearizeSizes& sizes) {
  if (!request.has_control()) return InputView{};
  const v1::Tensor& control = request.control();
  const bool sequence = control.shape_size() == 3;
  sizes.steps = sequence ? control.shape(1) : 1;
  if (sizes.steps < 1 || sizes.steps > limits.max_steps_per_request) {
    return schedule::invalid_field(
        "control.shape", absl::StrCat("has ", sizes.steps, " steps; it must have 1 to ", limits.max_steps_per_request));
  }
  const LinearizeShape shape =
      sequence ? LinearizeShape{sizes.worlds, sizes.steps, sizes.nu} : LinearizeShape{sizes.worlds, sizes.nu};
  auto view = real_input("control", control, shape, sequence);
  // A model without actuators has no control to apply, whatever pointer an empty tensor has.
  if (view.ok() && sizes.nu == 0) return InputView{};
  return view;
}

absl::StatusOr<LinearisationMethod> take_method(int wire) {
  if (wire == v1::LINEARIZE_METHOD_UNSPECIFIED) return LinearisationMethod::kExact;
  if (v1::LinearizeMethod_IsValid(wire)) return static_cast<LinearisationMethod>(wire);
  return schedule::invalid_field("method", absl::StrCat("is ", wire,
                                                        ", which is no choice; there are LINEARIZE_METHOD_EXACT, "
                                                        "LINEARIZE_METHOD_DIFFERENCES"));
}

// The answer's tensors, where there is room for them.
absl::StatusOr<LinearisationOutput> make_answer(const LinearizeSizes& s, bool sensors, const schedule::Limits& limits,
                                                schedule::MemoryHold& memory, v1::LinearizeResponse& response) {
  const std::int64_t n = s.worlds, k = s.steps, x = s.x(), y = sensors ? s.sensors : 0;
  const LinearizeShape A{n, k, x, x}, B{n, k, x, s.nu}, C{n, k, y, x}, D{n, k, y, s.nu};
  const LinearizeShape position{n, k + 1, s.nq}, velocity{n, k + 1, s.nv}, activation{n, k + 1, s.activations};
  const LinearizeShape readings{n, k, y}, per_step{n, k}, kink{n, k, x + s.nu};
  const double bytes =
      bytes_of({A, B, C, D, position, velocity, activation, readings, per_step, per_step, per_step, kink}) +
      kCoordinateBytes * static_cast<double>(x);
  if (absl::Status room = take_room(bytes, limits, memory); !room.ok()) return room;
  LinearisationOutput out;
  out.A = make_doubles(A, *response.mutable_a()), out.B = make_doubles(B, *response.mutable_b());
  if (sensors) {
    out.C = make_doubles(C, *response.mutable_c()), out.D = make_doubles(D, *response.mutable_d());
    out.sensor_data = make_doubles(readings, *response.mutable_sensor_data());
  }
  out.joint_position = make_doubles(position, *response.mutable_joint_position());
  out.joint_velocity = make_doubles(velocity, *response.mutable_joint_velocity());
  out.activation = make_doubles(activation, *response.mutable_activation());
  auto* bits = make_tensor(DType::kUint32, per_step, *response.mutable_outcome());
  out.outcome = {reinterpret_cast<std::uint32_t*>(bits), schedule::element_count(per_step)};
  auto* kinks = make_tensor(DType::kInt32, kink, *response.mutable_kink());
  out.kink = {reinterpret_cast<std::int32_t*>(kinks), schedule::element_count(kink)};
  auto* methods = make_tensor(DType::kInt32, per_step, *response.mutable_method());
  out.method = {reinterpret_cast<LinearisationMethod*>(methods), schedule::element_count(per_step)};
  auto* laws = make_tensor(DType::kInt32, per_step, *response.mutable_law());
  out.law = {reinterpret_cast<LawWithoutDerivative*>(laws), schedule::element_count(per_step)};
  return out;
}

// A request while its pieces are done.
struct LinearizeWork {
  LinearisationSpec spec;
  LinearisationOutput out;
  schedule::MemoryHold memory;  // of the worlds that are stepped, where they are in the machine's memory
  std::unique_ptr<Linearisation> made;

  absl::Status begin(Engine& engine, const schedule::BatchHandle& batch) {
    auto linearisation = linearise(engine, *batch.engine, spec, out);
    if (!linearisation.ok()) return schedule::from_engine(linearisation.error());
    made = std::move(linearisation).value();
    if (engine.device().kind != "cpu") return absl::OkStatus();
    return memory.grow(made->memory_bytes(), "the worlds that are stepped for the linearisation");
  }
  // Gives back what it holds, before the call is answered: the next one may ask for as much.
  void end() {
    made.reset();
    [[maybe_unused]] const schedule::MemoryHold given_back = std::move(memory);
  }
};

}  // namespace

void fill_coordinates(const ModelInfo& info, google::protobuf::RepeatedPtrField<v1::StateCoordinate>& to) {
  for (const StateCoordinate& coordinate : state_coordinates(info)) {
    v1::StateCoordinate& message = *to.Add();
    message.set_kind(static_cast<v1::StateCoordinateKind>(static_cast<int>(coordinate.kind) + 1));
    message.set_name(coordinate.name);
    if (coordinate.joint >= 0) message.set_joint(coordinate.joint);
    if (coordinate.actuator >= 0) message.set_actuator(coordinate.actuator);
    message.set_unit(coordinate.unit);
  }
}

void SimulationService::Linearize(UnaryCall* call, const v1::LinearizeRequest* request,
                                  v1::LinearizeResponse* response) {
  const auto prepare = [this, call, request, response](const auto& batch) -> absl::StatusOr<Work> {
    auto worlds = worlds_of(request->world_indices(), batch->info);
    if (!worlds.ok()) return worlds.status();
    const ModelInfo& info = batch->info.model->info();
    LinearizeSizes sizes{.worlds = count_of(*worlds, *batch),
                         .steps = 1,
                         .nq = info.joint_position_count,
                         .nv = info.joint_velocity_count,
                         .activations = field_shape(info, Field::kActivation).front(),
                         .nu = static_cast<std::int64_t>(info.actuators.size()),
                         .sensors = info.sensor_size};
    const auto control = take_control_of(*request, parts_.limits, sizes);
    if (!control.ok()) return control.status();
    const auto method = take_method(request->method());
    if (!method.ok()) return method.status();
    auto start = to_state(request->start(), batch->info, sizes.worlds, "start");
    if (!start.ok()) return start.status();
    auto out = make_answer(sizes, request->sensors(), parts_.limits, call->memory(), *response);
    if (!out.ok()) return out.status();
    fill_coordinates(info, *response->mutable_coordinates());
    const auto work = std::make_shared<LinearizeWork>();
    work->spec.worlds = *std::move(worlds), work->spec.start = *std::move(start);
    work->spec.step_count = static_cast<int>(sizes.steps), work->spec.control = *control;
    work->spec.method = *method;
    if (request->has_difference()) work->spec.difference = request->difference();
    work->out = *out, work->memory = call->memory().another();
    const auto begin = [work, batch](Engine& engine) { return work->begin(engine, *batch); };
    const std::size_t items = linearisation_items(parts_.batcher.device(), info, static_cast<std::size_t>(sizes.worlds),
                                                  static_cast<std::size_t>(sizes.steps));
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
