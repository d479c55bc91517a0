#include "engine/model/vary.hpp"

#include <bit>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/model/mobilities.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::model {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Calls f(joint, axis) for each axis that has parameters: indices of the scene.
template <typename F>
void for_each_axis(const CompiledModel& model, F&& f) {
  const auto& joints = model.welded.scene.joints;
  for (std::size_t j = 0; j < joints.size(); ++j) {
    if (joints[j].kind != JointKind::kAxes || model.closes_loop[j]) continue;
    for (std::size_t k = 0; k < joints[j].axes.size(); ++k) f(j, k);
  }
}

// Whether the model has a use for a parameter's number.
bool has_use(const BodySpec&, Parameter) { return true; }
bool has_use(const AxisSpec& axis, Parameter parameter) {
  if (parameter == Parameter::kAxisLower || parameter == Parameter::kAxisUpper) return axis.limited;
  if (parameter == Parameter::kAxisFrictionLoss) return axis.friction_loss > 0;
  return parameter != Parameter::kAxisAnchor || axis.kind == AxisKind::kHinge;
}
bool has_use(const ShapeSpec& shape, Parameter parameter) {
  return parameter != Parameter::kShapeSize || (shape.kind != ShapeKind::kPlane && shape.kind < ShapeKind::kMesh);
}
bool has_use(const ActuatorSpec& actuator, Parameter parameter) {
  if (parameter == Parameter::kActuatorKp) return actuator.kind == ActuatorKind::kPosition;
  return parameter != Parameter::kActuatorKd || actuator.kind != ActuatorKind::kMotor;
}

// Calls f(number, path, has a use) for each number of a parameter in `scene`, whose structure is that of the model: of
// the fields that have it in the lists of their structs. A path is made where it is asked for, path(): thousands of
// worlds have numbers, and few a fault.
template <typename F>
void for_each_number(const CompiledModel& model, SceneSpec& scene, Parameter parameter, F&& f) {
  const auto all = [&](auto& array, const auto& path, bool used) {
    for (std::size_t i = 0; i < array.size(); ++i) {
      f(
          array[i], [&path, i] { return path() + "[" + std::to_string(i) + "]"; }, used);
    }
  };
  const auto numbers_of = [&](auto& spec, const auto& path) {
    for_each_field<std::remove_reference_t<decltype(spec)>>([&](const auto& field) {
      if (field.rules.parameter != parameter) return;
      auto& value = spec.*field.member;
      using T = std::remove_reference_t<decltype(value)>;
      const bool used = has_use(spec, parameter);
      const auto leaf = [&] { return path() + "." + field.name; };
      if constexpr (std::is_same_v<T, PoseSpec>) {
        all(
            value.position, [&] { return path() + ".position"; }, used);
      } else if constexpr (std::is_same_v<T, double>) {
        f(value, leaf, used);
      } else if constexpr (requires { std::tuple_size<T>::value; }) {
        all(value, leaf, used);
      }
    });
  };
  const auto of_each = [&](const char* list, auto& specs) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      numbers_of(specs[i], [list, i] { return list + ("[" + std::to_string(i) + "]"); });
    }
  };
  switch (description_of(parameter).of) {
    case ParameterOf::kWorld:
      return all(
          scene.gravity, [] { return std::string("gravity"); }, true);
    case ParameterOf::kBodies:
      return of_each("bodies", scene.bodies);
    case ParameterOf::kAxes:
      return for_each_axis(model, [&](std::size_t j, std::size_t k) {
        numbers_of(scene.joints[j].axes[k],
                   [j, k] { return "joints[" + std::to_string(j) + "].axes[" + std::to_string(k) + "]"; });
      });
    case ParameterOf::kShapes:
      return of_each("shapes", scene.shapes);
    case ParameterOf::kActuators:
      return of_each("actuators", scene.actuators);
  }
}

template <typename F>
void for_each_number(const CompiledModel& model, SceneSpec& scene, F&& f) {
  for (int p = 0; p < kParameterCount; ++p) for_each_number(model, scene, static_cast<Parameter>(p), f);
}

// What became of the mass of a body.
struct MassChange {
  bool any = false;
  double ratio = 1;
  math::Vec3<double> moved{};    // of its centre, body frame
  math::Mat3<double> inertia{};  // beyond the ratio
};

MassChange mass_change(const BodySpec& before, const BodySpec& after) {
  MassChange change;
  change.any = before.mass != after.mass || before.p_BoBcm != after.p_BoBcm || before.I_Bcm != after.I_Bcm;
  if (!change.any) return change;
  change.ratio = before.mass > 0 ? after.mass / before.mass : 1;
  change.moved = to_vec3(after.p_BoBcm) - to_vec3(before.p_BoBcm);
  change.inertia = to_matrix(after.I_Bcm) + (-change.ratio) * to_matrix(before.I_Bcm);
  return change;
}

// From masses as they are read to the masses of bodies: a mass that no request changed is the model's to the bit.
void take_read_masses(const CompiledModel& model, std::vector<BodySpec>& bodies) {
  for (const UnreadMass& unread : model.welded.unread) {
    const BodySpec& before = model.welded.scene.bodies[at(unread.body)];
    const bool changed = mass_change(as_read(before, unread), bodies[at(unread.body)]).any;
    const BodySpec after = changed ? from_read(bodies[at(unread.body)], unread) : before;
    BodySpec& body = bodies[at(unread.body)];
    body.mass = after.mass, body.p_BoBcm = after.p_BoBcm, body.I_Bcm = after.I_Bcm;
  }
}

// The parts of each body, as its mass has changed: bodies of `source`, lifts, and parts that a fluid resists.
// `read` are the model's bodies as they are read.
void change_parts(const CompiledModel& model, const std::vector<BodySpec>& read, const SceneSpec& changed,
                  SceneSpec& source, WeldedScene& welded) {
  const std::size_t count = changed.bodies.size();
  std::vector<MassChange> changes(count);
  std::vector<int> fluid_parts(count, 0), root(count, -1);
  bool any = false;
  std::vector<double> armature(count, 0.0);
  for (std::size_t b = 0; b < count; ++b) changes[b] = mass_change(read[b], changed.bodies[b]);
  for (const UnreadMass& unread : model.welded.unread) {
    armature[at(unread.body)] = unread.armature;
    changes[at(unread.body)] = mass_change(read[at(unread.body)], as_read(changed.bodies[at(unread.body)], unread));
  }
  for (const MassChange& change : changes) any = any || change.any;
  if (!any) return;
  for (std::size_t i = 0; i < source.bodies.size(); ++i) {
    const int merged = welded.body_map[i];
    if (merged == kWorldBody || !changes[at(merged)].any) continue;
    const MassChange& change = changes[at(merged)];
    BodySpec& part = source.bodies[i];
    if (part.is_armature) continue;
    // The root, which gave the merged body its frame, is the first of its parts by name.
    const bool is_root = part.name == changed.bodies[at(merged)].name;
    const math::Quat<double> q_RB =
        is_root ? math::Quat<double>{}
                : math::conjugate(to_quat(changed.bodies[at(merged)].X_WB.rotation)) * to_quat(part.X_WB.rotation);
    part.mass *= change.ratio;
    part.p_BoBcm = to_spec(to_vec3(part.p_BoBcm) + math::rotate_inverse(q_RB, change.moved));
    part.I_Bcm = to_spec(change.ratio * to_matrix(part.I_Bcm));
    if (is_root) part.I_Bcm = to_spec(to_matrix(part.I_Bcm) + change.inertia);
  }
  for (const FluidPart& part : welded.fluid_parts) fluid_parts[at(part.body)] += part.is_ellipsoid ? 0 : 1;
  for (FluidPart& part : welded.fluid_parts) {
    const MassChange& change = changes[at(part.body)];
    if (!change.any || part.is_ellipsoid) continue;
    part.mass.mass *= change.ratio, part.mass.p_cm += change.moved;
    part.mass.I_cm = change.ratio * part.mass.I_cm;
    if (fluid_parts[at(part.body)] == 1) part.mass.I_cm = part.mass.I_cm + change.inertia;
  }
  for (std::size_t b = 0; b < count; ++b) {
    if (!changes[b].any) continue;
    Lift& lift = welded.lifts[b];
    const double held = (lift.mass - armature[b]) * changes[b].ratio;  // of bodies that weigh
    lift.mass = armature[b] + held;
    lift.moment = to_spec(changes[b].ratio * to_vec3(lift.moment) + held * changes[b].moved);
  }
}

// Varied models have the hulls and height fields of the model: their scenes need but the names. Nothing of them asks
// for keyframes.
void shed_assets(SceneSpec& scene) {
  scene.keyframes.clear();
  for (MeshSpec& mesh : scene.meshes) mesh.vertices.clear();
  for (HeightFieldSpec& field : scene.height_fields) {
    field.columns = field.rows = 2;
    field.heights.assign(4, 0.0);
  }
}

bool same_structure(const ModelArrays<double>& a, const ModelArrays<double>& b) {
  return a.bodies.size() == b.bodies.size() && a.body_forces.size() == b.body_forces.size() &&
         a.fluid_parts.size() == b.fluid_parts.size() && a.site_motors.size() == b.site_motors.size() &&
         a.joints.size() == b.joints.size() && a.axes.size() == b.axes.size() && a.efforts.size() == b.efforts.size() &&
         a.limit_axis == b.limit_axis && a.actuators.size() == b.actuators.size() &&
         a.tendon_spans.size() == b.tendon_spans.size() && a.shapes.size() == b.shapes.size() &&
         a.pairs.size() == b.pairs.size() && a.contact_capacity == b.contact_capacity &&
         a.moment_capacity == b.moment_capacity && a.candidate_capacity == b.candidate_capacity &&
         a.sensors.parts.size() == b.sensors.parts.size();
}

}  // namespace

int item_count(const CompiledModel& model, ParameterOf of) {
  const SceneSpec& scene = model.welded.scene;
  int count = 0;
  switch (of) {
    case ParameterOf::kWorld:
      return 1;
    case ParameterOf::kBodies:
      return static_cast<int>(scene.bodies.size());
    case ParameterOf::kAxes:
      for_each_axis(model, [&](std::size_t, std::size_t) { ++count; });
      return count;
    case ParameterOf::kShapes:
      return static_cast<int>(scene.shapes.size());
    case ParameterOf::kActuators:
      return static_cast<int>(scene.actuators.size());
  }
  return count;
}

int parameter_start(const CompiledModel& model, Parameter parameter) {
  int start = 0;
  for (int p = 0; p < static_cast<int>(parameter); ++p)
    start += item_count(model, kParameters[p].of) * kParameters[p].width;
  return start;
}

int parameter_count(const CompiledModel& model) {
  constexpr auto kLast = static_cast<Parameter>(kParameterCount - 1);
  return parameter_start(model, kLast) + item_count(model, description_of(kLast).of) * description_of(kLast).width;
}

std::vector<double> parameter_values(const CompiledModel& model) {
  SceneSpec scene = model.welded.scene;
  read_masses(model.welded.unread, scene.bodies);
  std::vector<double> values;
  for_each_number(model, scene, [&](double number, const auto&, bool) { values.push_back(number); });
  return values;
}

ModelVariants::ModelVariants(const CompiledModel& model, const SceneSpec& source, bool is_soft)
    : source_(source), has_laws_(is_soft || !model.arrays.lock_softness.empty()) {
  auto kept = std::make_shared<CompiledModel>(model);
  shed_assets(kept->welded.scene), shed_assets(source_);
  kept->arrays.hull_vertices.clear();
  read_ = kept->welded.scene.bodies;
  read_masses(kept->welded.unread, read_);
  model_ = std::move(kept), mobilities_ = std::make_shared<const Mobilities>(*model_);
}

Result<CompiledModel> ModelVariants::vary(std::span<const double> values) const {
  constexpr ParameterSet kMasses =
      set_of(Parameter::kBodyMass) | set_of(Parameter::kBodyCenterOfMass) | set_of(Parameter::kBodyInertia);
  constexpr ParameterSet kMobilities = kMasses | set_of(Parameter::kAxisArmature) | set_of(Parameter::kAxisAnchor);
  WeldedScene welded = model_->welded;
  read_masses(welded.unread, welded.scene.bodies);
  std::size_t i = 0;
  ParameterSet changed = 0;
  Status status;
  for (int p = 0; p < kParameterCount; ++p) {
    const auto parameter = static_cast<Parameter>(p);
    for_each_number(*model_, welded.scene, parameter, [&](double& number, const auto& path, bool used) {
      const double value = values[i++];
      if (!used && value != number && status.ok()) {
        status = invalid_argument(path(), path() + " has no use in this model and must stay " + to_text(number) +
                                              "; it is " + to_text(value) + ".");
      }
      if (std::bit_cast<std::uint64_t>(value) != std::bit_cast<std::uint64_t>(number)) changed |= set_of(parameter);
      number = value;
    });
  }
  if (!status.ok()) return status.error();
  take_read_masses(*model_, welded.scene.bodies);
  if (Status valid = validate_numbers(welded.scene, changed); !valid.ok()) return valid.error();
  SceneSpec own_source;
  const bool has_own = (changed & kMasses) != 0;
  if (has_own) {
    own_source = source_;
    change_parts(*model_, read_, welded.scene, own_source, welded);
  }
  CompiledModel varied = recompile(*model_, has_own ? own_source : source_, std::move(welded),
                                   has_laws_ && (changed & kMobilities) != 0 ? nullptr : mobilities_.get());
  if (!same_structure(model_->arrays, varied.arrays)) {
    return Error{ErrorCode::kInternal, "", "The numbers change the structure of the model."};
  }
  return varied;
}

}  // namespace axion::model
