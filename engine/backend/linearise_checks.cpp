#include "engine/backend/linearise_checks.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/backend/checks.hpp"
#include "engine/backend/text.hpp"

namespace axion::backend {
namespace {

constexpr double kTolerance = 1e-11;  // SolverOptions::tolerance of the steps
constexpr int kMostWorldsOnCpu = 16, kMostWorldsOnGpu = 256;
constexpr double kLeastDifference = 1e-10, kGreatestDifference = 1e-2;

Status check_model(const ModelInfo& info) {
  std::vector<bool> has_joint(info.bodies.size());
  for (std::size_t j = 0; j < info.joints.size(); ++j) {
    const JointInfo& joint = info.joints[j];
    if (joint.closes_loop) continue;
    has_joint[static_cast<std::size_t>(joint.child)] = true;
    if (joint.lock_stiffness == 0) continue;
    return invalid_argument("batch", text("joints[", j, "] of its model, \"", joint.name,
                                          "\", has a lock_stiffness: it gives way in directions that no coordinate "
                                          "says, so that joint coordinates are not the whole state."));
  }
  for (std::size_t b = 0; b < has_joint.size(); ++b) {
    if (has_joint[b]) continue;
    return invalid_argument("batch", text("bodies[", b, "] of its model, \"", info.bodies[b].name,
                                          "\", moves without a joint and has no coordinates. A joint of kind FREE "
                                          "gives it some."));
  }
  return {};
}

Status check_spec_of(const EngineBatch& batch, const LinearisationSpec& spec) {
  if (spec.step_count < 1) {
    return invalid_argument("control", text("There are ", spec.step_count, " steps; there must be one at least."));
  }
  if (!(spec.difference >= kLeastDifference && spec.difference <= kGreatestDifference)) {
    return invalid_argument("difference", text("difference is ", spec.difference, "; it must be from ",
                                               kLeastDifference, " to ", kGreatestDifference, "."));
  }
  if (!spec.start.snapshots.empty() || !spec.start.parameters.empty()) {
    const char* field = spec.start.snapshots.empty() ? "start.parameters" : "start.snapshot";
    return invalid_argument(field, text(field, " is no state of joint coordinates; SetState gives it to worlds."));
  }
  if (const auto start = batch.prepare(spec.worlds, spec.start, std::nullopt); !start.ok()) {
    Error error = start.error();
    error.field = "start." + error.field;
    return error;
  }
  const int controls = static_cast<int>(batch.model().info().actuators.size());
  const InputShape control{"control", static_cast<int>(spec.worlds.size()), spec.step_count, controls, 0};
  return check_input(spec.control, control);
}

Status check_output(const LinearisationOutput& out, const LinearisationSizes& s, std::size_t n, std::size_t k) {
  const auto check = [](const char* name, std::size_t size, std::size_t wanted) -> Status {
    if (size == 0 || size == wanted) return {};
    return invalid_argument(name, text(name, " has room for ", size, " numbers; there are ", wanted, "."));
  };
  for (const auto& [name, size, wanted] :
       {std::tuple("A", out.A.size(), n * k * s.x() * s.x()), std::tuple("B", out.B.size(), n * k * s.x() * s.nu),
        std::tuple("C", out.C.size(), n * k * s.ny * s.x()), std::tuple("D", out.D.size(), n * k * s.ny * s.nu),
        std::tuple("joint_position", out.joint_position.size(), n * (k + 1) * s.nq),
        std::tuple("joint_velocity", out.joint_velocity.size(), n * (k + 1) * s.nv),
        std::tuple("activation", out.activation.size(), n * (k + 1) * s.na),
        std::tuple("sensor_data", out.sensor_data.size(), n * k * s.ny),
        std::tuple("outcome", out.outcome.size(), n * k), std::tuple("kink", out.kink.size(), n * k * s.columns())}) {
    if (Status status = check(name, size, wanted); !status.ok()) return status;
  }
  return {};
}

}  // namespace

LinearisationSizes linearisation_sizes(const ModelInfo& info) {
  return {static_cast<std::size_t>(info.joint_position_count),
          static_cast<std::size_t>(info.joint_velocity_count),
          static_cast<std::size_t>(field_shape(info, Field::kActivation).front()),
          info.actuators.size(),
          static_cast<std::size_t>(info.sensor_size),
          7 * info.mocaps.size()};
}

model::SolverOptions tight_options(model::SolverOptions options) {
  options.precision = model::Precision::kFloat64;
  options.tolerance = std::min(options.tolerance, kTolerance);
  options.linear_tolerance = std::min(options.linear_tolerance, 1e-14);
  options.max_newton_iterations = 100;
  options.max_linear_iterations = 1000;
  return options;
}

std::size_t columns_of_launch(const DeviceInfo& device, const LinearisationSizes& sizes) {
  const int most = device.kind == "cpu" ? std::min((device.threads + 1) / 2 * 2, kMostWorldsOnCpu) : kMostWorldsOnGpu;
  return std::clamp<std::size_t>(sizes.columns(), 1, static_cast<std::size_t>(std::max(most, 2)) / 2);
}

std::size_t items_of_step(std::size_t columns_at_once, const LinearisationSizes& sizes) {
  return 1 + (sizes.columns() + columns_at_once - 1) / columns_at_once;
}

Status check_linearisation(const EngineBatch& batch, const LinearisationSpec& spec, const LinearisationOutput& output) {
  if (Status s = check_worlds(spec.worlds, batch.spec().world_count); !s.ok()) return s;
  if (Status s = check_model(batch.model().info()); !s.ok()) return s;
  if (Status s = check_spec_of(batch, spec); !s.ok()) return s;
  return check_output(output, linearisation_sizes(batch.model().info()), spec.worlds.size(),
                      static_cast<std::size_t>(spec.step_count));
}

}  // namespace axion::backend
