// Every member of a spec is named here by a structured binding, so that a new one does not compile until it is thought
// of.
#include "engine/model/fingerprint.hpp"

#include <cstddef>
#include <map>
#include <string_view>
#include <type_traits>

#include "engine/base/hash.hpp"

namespace axion::model {
namespace {

template <typename T>
void add(Hash& hash, const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    hash.add(static_cast<double>(value));
  } else {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    hash.add(static_cast<std::uint64_t>(value));
  }
}

template <typename T, std::size_t N>
void add(Hash& hash, const std::array<T, N>& values) {
  for (const T& value : values) add(hash, value);
}

void add(Hash& hash, const PoseSpec& pose) {
  const auto& [position, rotation] = pose;
  add(hash, position), add(hash, rotation);
}

template <typename... Parts>
void add_all(Hash& hash, const Parts&... parts) {
  (add(hash, parts), ...);
}

// What scenes did not have once, with a number of its own: nothing where it is as it was then, so that these keep their
// fingerprint.
void add_unusual(Hash& hash, std::uint64_t number, double value, double usual) {
  if (value != usual) add_all(hash, number, value);
}

void add_softness(Hash& hash, std::uint64_t number, const SoftnessSpec& softness) {
  if (softness == SoftnessSpec{}) return;
  const auto& [solref, solimp, margin] = softness;
  add_all(hash, number, solref, solimp, margin);
}

void add(Hash& hash, const BodySpec& body) {
  const auto& [name, X_WB, mass, p_BoBcm, I_Bcm, gravity_compensation, is_mocap, fluid_ellipsoids, ignores_medium,
               is_armature, lender] = body;  // the last two do not decide how it moves
  add_all(hash, X_WB, mass, p_BoBcm, I_Bcm);
  add_unusual(hash, 1, gravity_compensation, 0.0);
  add_unusual(hash, 26, is_mocap ? 1.0 : 0.0, 0.0);
  add_unusual(hash, 38, ignores_medium ? 1.0 : 0.0, 0.0);
  for (const FluidEllipsoidSpec& ellipsoid : fluid_ellipsoids) {
    const auto& [X_BE, radii, blunt, slender, angular, kutta, magnus] = ellipsoid;
    add_all(hash, std::uint64_t(30), X_BE, radii, blunt, slender, angular, kutta, magnus);
  }
}

// Its mesh is added with those of the others (add_meshes).
void add(Hash& hash, const ShapeSpec& shape) {
  const auto& [name, kind, body, X_BS, size, mesh, field, friction, restitution, stiffness, damping, dimension,
               priority, type, affinity, softness, mix, cone_dimension, torsional, rolling, surface_velocity,
               surface_angular_velocity] = shape;
  add_all(hash, kind, body, X_BS, size, friction, restitution, stiffness, damping, dimension, priority, type, affinity);
  add_softness(hash, 17, softness);
  add_unusual(hash, 18, mix, 1.0);
  add_unusual(hash, 19, cone_dimension, 3.0);
  add_unusual(hash, 30, torsional, 0.0);
  add_unusual(hash, 31, rolling, 0.0);
  if (surface_velocity != Vec3d{} || surface_angular_velocity != Vec3d{}) {
    add_all(hash, std::uint64_t(39), surface_velocity, surface_angular_velocity);
  }
}

void add(Hash& hash, const AxisSpec& spec) {
  const auto& [name, kind, axis, anchor, reference, initial_position, armature, damping, stiffness, spring_reference,
               friction_loss, limited, lower, upper, limit_softness, friction_softness, motors] = spec;
  add_all(hash, kind, axis, anchor, reference, initial_position, armature, damping, stiffness, spring_reference,
          friction_loss, limited);
  if (limited) add_all(hash, lower, upper);
  add_softness(hash, 20, limit_softness);
  add_softness(hash, 35, friction_softness);
  if (motors.limited) add_all(hash, std::uint64_t(27), motors.lower, motors.upper);
}

void add(Hash& hash, const JointSpec& joint) {
  const auto& [name, kind, parent, child, anchor, ball_damping, ball_armature, ball_stiffness, ball_limited, ball_upper,
               ball_limit_softness, lock_stiffness, lock_damping, free_damping, free_stiffness, holds_pose, X_PC,
               is_soft, softness, turn_weight, axes, break_force, break_torque] = joint;
  add_all(hash, kind, parent, child, anchor, ball_damping, ball_armature, lock_stiffness, lock_damping);
  add_unusual(hash, 2, free_damping, 0.0);
  add_unusual(hash, 22, ball_stiffness, 0.0);
  add_unusual(hash, 23, free_stiffness, 0.0);
  if (ball_limited) add_all(hash, std::uint64_t(24), ball_upper);
  if (ball_limited) add_softness(hash, 25, ball_limit_softness);
  if (holds_pose) add_all(hash, std::uint64_t(3), X_PC);
  if (is_soft) add_all(hash, std::uint64_t(29), softness.solref, softness.solimp, softness.margin, turn_weight);
  add_unusual(hash, 33, break_force, 0.0);
  add_unusual(hash, 34, break_torque, 0.0);
  hash.add(std::uint64_t(axes.size()));
  for (const AxisSpec& axis : axes) add(hash, axis);
}

void add(Hash& hash, const FrameSpec& frame) {
  const auto& [body, X_BF] = frame;
  add_all(hash, body, X_BF);
}

void add(Hash& hash, const MuscleSpec& muscle) {
  const auto& [range_lower, range_upper, length_lower, length_upper, force, lmin, lmax, vmax, fpmax, fvmax] = muscle;
  add_all(hash, range_lower, range_upper, length_lower, length_upper, force, lmin, lmax, vmax, fpmax, fvmax);
}

void add(Hash& hash, const ActuatorSpec& actuator) {
  const auto& [name, kind, joint, axis, gear, kp, kd, control_gain, control_offset, control_limited, control_lower,
               control_upper, effort_limited, effort_lower, effort_upper, tendon, on_site, site, has_reference,
               reference, site_gear, adheres, adhesive_body, activation, activation_time, activation_limited,
               activation_lower, activation_upper, deactivation_time, activation_smoothing, early, gain, bias, muscle] =
      actuator;
  add_all(hash, kind, joint, axis, gear, kp, kd, control_limited, effort_limited);
  add_unusual(hash, 4, control_gain, 1.0);
  add_unusual(hash, 5, control_offset, 0.0);
  add_unusual(hash, 11, tendon, -1.0);
  if (control_limited) add_all(hash, control_lower, control_upper);
  if (effort_limited) add_all(hash, effort_lower, effort_upper);
  if (activation != ActivationKind::kNone) {
    hash.add(std::uint64_t(13));
    add_all(hash, activation, activation_time, activation_limited);
    if (activation_limited) add_all(hash, activation_lower, activation_upper);
    if (activation == ActivationKind::kMuscle) add_all(hash, deactivation_time, activation_smoothing);
    if (early) hash.add(std::uint64_t(21));
  }
  if (kind == ActuatorKind::kAffine) add_all(hash, gain, bias);
  if (kind == ActuatorKind::kMuscle) add(hash, muscle);
  if (!on_site) return;
  if (adheres) add_all(hash, std::uint64_t(30), adhesive_body);
  hash.add(std::uint64_t(12));
  add(hash, site);
  add_all(hash, site_gear, has_reference);
  if (has_reference) add(hash, reference);
}

void add(Hash& hash, const TendonTermSpec& term) {
  const auto& [joint, axis, coefficient] = term;
  add_all(hash, joint, axis, coefficient);
}

void add(Hash& hash, const TendonPointSpec& point) {
  const auto& [kind, frame, radius, has_side, side, gear, divisor] = point;
  add(hash, frame);
  add_all(hash, kind, radius, has_side, divisor);
  if (has_side) add(hash, side);
  if (kind == TendonPointKind::kWrench) add_all(hash, gear);
}

void add(Hash& hash, const TendonSpec& tendon) {
  const auto& [name, terms, path, armature, damping, stiffness, spring_reference, spring_slack, friction_loss, limited,
               lower, upper, limit_softness, friction_softness, motors] = tendon;
  if (motors.limited) add_all(hash, std::uint64_t(27), motors.lower, motors.upper);
  add_all(hash, armature, damping, stiffness, spring_reference, friction_loss, limited);
  if (limited) add_all(hash, lower, upper);
  hash.add(std::uint64_t(terms.size()));
  for (const TendonTermSpec& term : terms) add(hash, term);
  add_unusual(hash, 14, spring_slack, 0.0);
  add_softness(hash, 36, limit_softness);
  add_softness(hash, 37, friction_softness);
  if (path.empty()) return;
  add_all(hash, std::uint64_t(15), std::uint64_t(path.size()));
  for (const TendonPointSpec& point : path) add(hash, point);
}

void add(Hash& hash, const CoordinateSpec& coordinate) {
  const auto& [tendon, joint, axis] = coordinate;
  add(hash, tendon);
  if (tendon < 0) add_all(hash, joint, axis);
}

void add(Hash& hash, const EqualitySpec& equality) {
  const auto& [name, first, has_second, second, polynomial, stiffness, damping, is_soft, softness] = equality;
  add(hash, first);
  add_all(hash, has_second, polynomial, stiffness, damping);
  if (is_soft) add_all(hash, std::uint64_t(28), softness.solref, softness.solimp, softness.margin);
  if (has_second) add(hash, second);
}

void add(Hash& hash, const ContactExcludeSpec& exclude) {
  const auto& [body_a, body_b] = exclude;
  add_all(hash, body_a, body_b);
}

void add(Hash& hash, const ContactPairSpec& pair) {
  const auto& [shape_a, shape_b, friction, dimension, softness, cone_dimension, torsional, rolling] = pair;
  add_all(hash, shape_a, shape_b, friction, dimension);
  add_softness(hash, 21, softness);
  add_unusual(hash, 22, cone_dimension, 3.0);
  add_unusual(hash, 30, torsional, 0.0);
  add_unusual(hash, 31, rolling, 0.0);
}

void add(Hash& hash, const SensorSpec& sensor) {
  const auto& [name, kind, frame, has_reference, reference, joint, axis, actuator, tendon, zone, zone_size, dimension,
               scale, cutoff, noise, contact, image] = sensor;
  add(hash, frame), add(hash, reference);
  add_all(hash, kind, has_reference, joint, axis, actuator, zone, zone_size, dimension, scale, cutoff);
  add_unusual(hash, 16, tendon, -1.0);
  if (kind < SensorKind::kContact) return;  // others are as they were before there were any
  const auto& [first, second, reduction, slots, data] = contact;
  add_all(hash, first.kind, first.index, second.kind, second.index, reduction, slots, data);
  if (kind != SensorKind::kCameraProjection) return;
  const auto& [focal_x, focal_y, centre_x, centre_y] = image;
  add_all(hash, focal_x, focal_y, centre_x, centre_y);
}

// Vectors of specs are added by the overloads above.
template <typename Spec>
void add_specs(Hash& hash, const std::vector<Spec>& specs) {
  hash.add(std::uint64_t(specs.size()));
  for (const Spec& spec : specs) add(hash, spec);
}

// The meshes that shapes have, in the order in which these come to them; nothing where there are none, so that a scene
// without meshes has the fingerprint that it had before there were any.
void add_meshes(Hash& hash, const SceneSpec& scene) {
  std::map<std::string_view, const MeshSpec*> meshes;
  for (const MeshSpec& mesh : scene.meshes) meshes.emplace(mesh.name, &mesh);
  std::map<const MeshSpec*, std::size_t> number;
  for (const ShapeSpec& shape : scene.shapes) {
    const auto mesh = meshes.find(shape.mesh);
    if (shape.kind != ShapeKind::kMesh || mesh == meshes.end()) continue;
    const auto [place, is_new] = number.try_emplace(mesh->second, number.size());
    hash.add(std::uint64_t(place->second));
    if (!is_new) continue;
    const auto& [name, vertices] = *mesh->second;
    hash.add(std::uint64_t(vertices.size()));
    for (const Vec3d& vertex : vertices) add(hash, vertex);
  }
}

// The same of height fields.
void add_height_fields(Hash& hash, const SceneSpec& scene) {
  std::map<std::string_view, const HeightFieldSpec*> fields;
  for (const HeightFieldSpec& field : scene.height_fields) fields.emplace(field.name, &field);
  for (const ShapeSpec& shape : scene.shapes) {
    const auto found = fields.find(shape.height_field);
    if (shape.kind != ShapeKind::kHeightField || found == fields.end()) continue;
    const auto& [name, columns, rows, half_x, half_y, base, heights] = *found->second;
    add_all(hash, std::uint64_t(11), columns, rows, half_x, half_y, base);
    for (float height : heights) add_all(hash, double(height));
  }
}

}  // namespace

Fingerprint fingerprint(const SceneSpec& scene) {
  const auto& [name, gravity, timestep, filter_parent_child, bodies, joints, shapes, meshes, actuators, excludes,
               keyframes, contact_pairs, magnetic_field, sensors, medium, tendons, equalities, height_fields,
               softness_rule] = scene;
  Hash hash;
  add_all(hash, gravity, filter_parent_child);
  add_specs(hash, bodies);
  add_specs(hash, joints);
  add_specs(hash, shapes);
  add_specs(hash, actuators);
  add_specs(hash, excludes);
  add_meshes(hash, scene);
  add_height_fields(hash, scene);
  if (!contact_pairs.empty()) add_specs(hash, contact_pairs);
  add_unusual(hash, 6, medium.density, 0.0);
  add_unusual(hash, 7, medium.viscosity, 0.0);
  const auto& [pyramidal, impedance_ratio, least_time_constant] = softness_rule;
  add_unusual(hash, 23, pyramidal ? 1.0 : 0.0, 1.0);
  add_unusual(hash, 24, impedance_ratio, 1.0);
  add_unusual(hash, 25, least_time_constant, 0.0);
  if (medium.wind != Vec3d{}) add_all(hash, std::uint64_t(8), medium.wind);
  if (!sensors.empty()) {
    add_all(hash, std::uint64_t(9), magnetic_field);
    add_specs(hash, sensors);
  }
  if (!tendons.empty() || !equalities.empty()) {
    hash.add(std::uint64_t(10));
    add_specs(hash, tendons), add_specs(hash, equalities);
  }
  return hash.values();
}

}  // namespace axion::model
