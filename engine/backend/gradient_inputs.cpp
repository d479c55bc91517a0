#include "engine/backend/gradient_inputs.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "engine/backend/checks.hpp"
#include "engine/backend/text.hpp"

namespace axion {
namespace {

using InputKind = GradientInput::Kind;

// In the order of GradientInput::Kind.
constexpr const char* kKindNames[] = {"mass_scale", "friction_scale", "gain_scale", "body_wrench"};

// Parameters that move no frame of a body, on which all that is fixed in it depends.
constexpr ParameterSet kWithoutGradient = set_of(Parameter::kBodyCenterOfMass) | set_of(Parameter::kBodyInertia) |
                                          set_of(Parameter::kAxisAnchor) | set_of(Parameter::kShapeSize) |
                                          set_of(Parameter::kShapePosition);

std::int64_t product(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

}  // namespace

bool has_gradient(Field field) {
  return field == Field::kBodyPose || field == Field::kBodyVelocity || field == Field::kJointPosition ||
         field == Field::kJointVelocity || field == Field::kActivation || field == Field::kSensorData;
}

Result<GradientInput> gradient_input_from_name(std::string_view name) {
  std::string names;
  for (int i = 0; i < 4; ++i) {
    if (name == kKindNames[i]) return GradientInput{static_cast<InputKind>(i), {}};
    names += kKindNames[i] + std::string(", ");
  }
  for (int p = 0; p < kParameterCount; ++p) {
    const auto parameter = static_cast<Parameter>(p);
    const bool has = (kWithoutGradient & set_of(parameter)) == 0;
    if (has) names += kParameters[p].name + std::string(p + 1 < kParameterCount ? ", " : "");
    if (name != kParameters[p].name) continue;
    if (has) return GradientInput{InputKind::kParameter, parameter};
    return invalid_argument("inputs", "There is no gradient by " + std::string(name) +
                                          ": it moves frames that other numbers of the model are in.");
  }
  return invalid_argument("inputs", "There is no such input; there are " + names + ".");
}

std::vector<std::int64_t> gradient_input_shape(const ModelInfo& info, const GradientInput& input) {
  const auto nb = static_cast<std::int64_t>(info.bodies.size()), nu = static_cast<std::int64_t>(info.actuators.size());
  switch (input.kind) {
    case InputKind::kMassScale:
      return {nb};
    case InputKind::kFrictionScale:
      return {};
    case InputKind::kGainScale:
      return {nu};
    case InputKind::kBodyWrench:
      return {nb, 6};
    case InputKind::kParameter:
      break;
  }
  return parameter_shape(info, input.parameter);
}

namespace backend {
namespace {

Status check_inputs(const EngineBatch& batch, const StepGradientSpec& spec) {
  const model::CompiledModel& compiled = batch.model().compiled();
  for (std::size_t i = 0; i < spec.inputs.size(); ++i) {
    const GradientInput& input = spec.inputs[i];
    const std::string path = text("inputs[", i, "]");
    for (std::size_t k = 0; k < i; ++k) {
      const GradientInput& other = spec.inputs[k];
      if (other.kind == input.kind && other.parameter == input.parameter) {
        return invalid_argument(path, text(path, " is that of inputs[", k, "]; each may be asked for once."));
      }
    }
    if (input.kind != InputKind::kParameter) continue;
    const std::string name = description_of(input.parameter).name;
    if (input.parameter == Parameter::kBodyMass && !compiled.welded.unread.empty()) {
      return invalid_argument(
          path, text(path, " is body_mass, but bodies[", compiled.welded.unread.front().body,
                     "] of the model has a mass besides the one that is read (as of the armature of a free joint), "
                     "so that its centre moves with it; mass_scale has a gradient."));
    }
    const bool of_pairs =
        input.parameter == Parameter::kShapeFriction || input.parameter == Parameter::kShapeRestitution;
    if (of_pairs && !compiled.arrays.lists_pairs) {
      return invalid_argument(path, text(path, " is ", name,
                                         ", which has no gradient in a model of so many shapes that their pairs "
                                         "are not listed; friction_scale has one."));
    }
  }
  return {};
}

Status check_fields(const EngineBatch& batch, const StepGradientSpec& spec) {
  const ModelInfo& info = batch.model().info();
  for (std::size_t i = 0; i < spec.fields.size(); ++i) {
    const FieldGradient& field = spec.fields[i];
    const std::string name = text("output_gradients[", field_name(field.field), "]");
    if (!has_gradient(field.field)) {
      return invalid_argument(name, text(name,
                                         " is of a field that has no gradient; there are body_pose, body_velocity, "
                                         "joint_position, joint_velocity, activation, sensor_data."));
    }
    const auto count = static_cast<int>(numbers_of(info, field.field));
    // What is not finite stays in its world, and its outcome says so.
    if (field.values.data == nullptr && count > 0) return invalid_argument(name, text(name, " is absent."));
  }
  for (const Field field : spec.outputs) {
    if (!has_gradient(field)) {
      return invalid_argument("outputs", text("outputs has ", field_name(field),
                                              ", which is none of body_pose, body_velocity, "
                                              "joint_position, joint_velocity, activation, sensor_data."));
    }
  }
  return {};
}

Status check_room(const StepGradientSpec& spec, const ModelInfo& info, const StepGradientOutput& out) {
  const LinearisationSizes s = linearisation_sizes(info);
  const std::size_t n = spec.worlds.size(), k = static_cast<std::size_t>(spec.step_count);
  const auto records = static_cast<std::size_t>(record_count(spec));
  const auto check = [](const std::string& name, std::size_t size, std::size_t wanted) -> Status {
    if (size == 0 || size == wanted) return {};
    return invalid_argument(name, text(name, " has room for ", size, " numbers; there are ", wanted, "."));
  };
  const std::size_t of_control = spec.control.data != nullptr && spec.control.step_stride != 0 ? k : 1;
  for (const auto& [name, size, wanted] :
       {std::tuple("state", out.state.size(), n * s.x()),
        std::tuple("joint_position", out.joint_position.size(), n * s.nq),
        std::tuple("control", out.control.size(), n * of_control * s.nu), std::tuple("outcome", out.outcome.size(), n),
        std::tuple("step_outcome", out.step_outcome.size(), n * k), std::tuple("law", out.law.size(), n * k),
        std::tuple("kink", out.kink.size(), n * k)}) {
    if (Status status = check(name, size, wanted); !status.ok()) return status;
  }
  for (std::size_t i = 0; i < std::min(spec.inputs.size(), out.inputs.size()); ++i) {
    if (Status status = check("inputs", out.inputs[i].size(), n * numbers_of(info, spec.inputs[i])); !status.ok())
      return status;
  }
  for (std::size_t i = 0; i < std::min(spec.outputs.size(), out.fields.size()); ++i) {
    const std::size_t wanted = n * records * numbers_of(info, spec.outputs[i]);
    if (Status status = check("fields", out.fields[i].size(), wanted); !status.ok()) return status;
  }
  if (out.inputs.size() != spec.inputs.size()) return invalid_argument("inputs", "There must be room for each input.");
  if (out.fields.size() != spec.outputs.size())
    return invalid_argument("outputs", "There must be room for each output.");
  return {};
}

}  // namespace

std::size_t numbers_of(const ModelInfo& info, Field field) {
  return static_cast<std::size_t>(product(field_shape(info, field)));
}
std::size_t numbers_of(const ModelInfo& info, const GradientInput& input) {
  return static_cast<std::size_t>(product(gradient_input_shape(info, input)));
}

int record_count(const StepGradientSpec& spec) {
  return spec.record_every == 0 ? 1 : spec.step_count / spec.record_every;
}

Status check_step_gradient(const EngineBatch& batch, const StepGradientSpec& spec, const StepGradientOutput& output) {
  const ModelInfo& info = batch.model().info();
  const auto rows = static_cast<int>(spec.worlds.size());
  const LinearisationSpec steps{spec.worlds, spec.start, spec.step_count, spec.control, spec.difference};
  const LinearisationOutput none;
  if (Status s = check_linearisation(batch, steps, none); !s.ok()) return s;
  if (spec.record_every < 0 || (spec.record_every > 0 && spec.step_count % spec.record_every != 0)) {
    return invalid_argument("record_every", text("record_every is ", spec.record_every, "; it must divide the ",
                                                 spec.step_count, " steps, or be 0."));
  }
  const int bodies = static_cast<int>(info.bodies.size());
  if (Status s = check_input(spec.body_wrench, {"body_wrench", rows, 1, 6 * bodies, 0}); !s.ok()) return s;
  if (Status s = check_fields(batch, spec); !s.ok()) return s;
  if (Status s = check_inputs(batch, spec); !s.ok()) return s;
  return check_room(spec, info, output);
}

}  // namespace backend
}  // namespace axion
