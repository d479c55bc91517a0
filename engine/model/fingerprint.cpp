#include "engine/model/fingerprint.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/hash.hpp"

namespace axion::model {
namespace {

// Whether the list of a struct has all of its fields but so many: a new one does not compile until it is listed.
struct Anything {
  template <typename T>
  operator T() const;
};
template <typename Spec, std::size_t... I>
consteval bool is_made_of(std::index_sequence<I...>) {
  return requires { Spec{(static_cast<void>(I), Anything{})...}; };
}
template <typename Spec, std::size_t Others = 0>
constexpr bool kListsAllBut = [] {
  constexpr std::size_t kCount = std::tuple_size_v<std::remove_cvref_t<decltype(kFieldsOf<Spec>)>> + Others;
  return is_made_of<Spec>(std::make_index_sequence<kCount>{}) &&
         !is_made_of<Spec>(std::make_index_sequence<kCount + 1>{});
}();
static_assert(kListsAllBut<PoseSpec> && kListsAllBut<FrameSpec> && kListsAllBut<SoftnessSpec> &&
              kListsAllBut<ForceRangeSpec, 1>);
static_assert(kListsAllBut<BodySpec> && kListsAllBut<FluidEllipsoidSpec>);
static_assert(kListsAllBut<AxisSpec> && kListsAllBut<JointSpec, 3>);
static_assert(kListsAllBut<ShapeSpec> && kListsAllBut<ContactExcludeSpec> && kListsAllBut<ContactPairSpec>);
static_assert(kListsAllBut<ActuatorSpec, 7> && kListsAllBut<MuscleSpec>);
static_assert(kListsAllBut<TendonSpec> && kListsAllBut<TendonTermSpec> && kListsAllBut<TendonPointSpec>);
static_assert(kListsAllBut<EqualitySpec, 1> && kListsAllBut<CoordinateSpec>);
static_assert(kListsAllBut<SensorSpec, 1> && kListsAllBut<ImageSpec>);

class SceneHash {
 public:
  Fingerprint of(const SceneSpec& scene) {
    const auto& [name, gravity, timestep, filter_parent_child, bodies, joints, shapes, meshes, actuators, excludes,
                 keyframes, contact_pairs, magnetic_field, sensors, medium, tendons, equalities, height_fields,
                 softness_rule] = scene;
    add_all(gravity, filter_parent_child);
    add(bodies);
    add(joints);
    add(shapes);
    add(actuators);
    add(excludes);
    add_meshes(scene);
    add_height_fields(scene);
    if (!contact_pairs.empty()) add(contact_pairs);
    add_unusual(6, medium.density, 0.0);
    add_unusual(7, medium.viscosity, 0.0);
    const auto& [pyramidal, impedance_ratio, least_time_constant] = softness_rule;
    add_unusual(23, pyramidal ? 1.0 : 0.0, 1.0);
    add_unusual(24, impedance_ratio, 1.0);
    add_unusual(25, least_time_constant, 0.0);
    if (medium.wind != Vec3d{}) add_all(std::uint64_t(8), medium.wind);
    if (!sensors.empty()) {
      add_all(std::uint64_t(9), magnetic_field);
      add(sensors);
    }
    if (!tendons.empty() || !equalities.empty()) {
      hash_.add(std::uint64_t(10));
      add(tendons), add(equalities);
    }
    return hash_.values();
  }

 private:
  // What scenes did not have once, with a number of its own: nothing where it is as it was then, so that these keep
  // their fingerprint.
  void add_unusual(std::uint64_t number, double value, double usual) {
    if (value != usual) add_all(number, value);
  }

  // As the rules of its list say (spec_field.hpp).
  template <typename Spec>
  void add_fields(const Spec& spec) {
    for_each_field<Spec>([&](const auto& field) {
      const auto& value = spec.*field.member;
      using T = std::remove_cvref_t<decltype(value)>;
      if (field.rules.hash == kNever || !field.holds(spec)) return;
      if (field.rules.hash == kAlways) return add(value);
      if (!field.condition.is_presence && is_usual(field, spec)) return;
      if (field.rules.hash == kByName) {
        add(std::string(field.name));
      } else {
        hash_.add(static_cast<std::uint64_t>(field.rules.hash));
      }
      if constexpr (std::is_arithmetic_v<T>) {
        hash_.add(static_cast<double>(value));
      } else {
        add(value);
      }
    });
  }

  template <typename T>
  void add(const T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      hash_.add(static_cast<double>(value));
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      hash_.add(static_cast<std::uint64_t>(value));
    } else {
      add_fields(value);
    }
  }

  template <typename T, std::size_t N>
  void add(const std::array<T, N>& values) {
    for (const T& value : values) add(value);
  }

  template <typename T>
  void add(const std::vector<T>& values) {
    hash_.add(std::uint64_t(values.size()));
    for (const T& value : values) add(value);
  }

  template <typename... Parts>
  void add_all(const Parts&... parts) {
    (add(parts), ...);
  }

  void add(const std::string& text) { hash_.add(std::as_bytes(std::span(text))); }

  void add(const BodySpec& body) {
    add_fields(body);
    for (const FluidEllipsoidSpec& ellipsoid : body.fluid_ellipsoids) add_all(std::uint64_t(30), ellipsoid);
  }

  // Its mesh is added with those of the others (add_meshes).
  void add(const ShapeSpec& shape) {
    add_fields(shape);
    if (shape.surface_velocity != Vec3d{} || shape.surface_angular_velocity != Vec3d{}) {
      add_all(std::uint64_t(39), shape.surface_velocity, shape.surface_angular_velocity);
    }
  }

  void add(const ActuatorSpec& actuator) {
    add_fields(actuator);
    if (actuator.activation != ActivationKind::kNone) {
      hash_.add(std::uint64_t(13));
      add_all(actuator.activation, actuator.activation_time, actuator.activation_limited);
      if (actuator.activation_limited) add_all(actuator.activation_lower, actuator.activation_upper);
      if (actuator.activation == ActivationKind::kMuscle) {
        add_all(actuator.deactivation_time, actuator.activation_smoothing);
      }
      if (actuator.activation_early) hash_.add(std::uint64_t(21));
    }
    if (actuator.kind == ActuatorKind::kAffine) add_all(actuator.gain, actuator.bias);
    if (actuator.kind == ActuatorKind::kMuscle) add(actuator.muscle);
    if (!actuator.on_site) return;
    if (actuator.adheres) add_all(std::uint64_t(30), actuator.adhesive_body);
    hash_.add(std::uint64_t(12));
    add_all(actuator.site, actuator.site_gear, actuator.has_site_reference);
    if (actuator.has_site_reference) add(actuator.site_reference);
  }

  void add(const TendonPointSpec& point) {
    add_fields(point);
    if (point.kind == TendonPointKind::kWrench) add(point.gear);
  }

  void add(const CoordinateSpec& coordinate) {
    add(coordinate.tendon);
    if (coordinate.tendon < 0) add_all(coordinate.joint, coordinate.axis);
  }

  void add(const SensorSpec& sensor) {
    add_all(sensor.frame, sensor.reference);
    add_fields(sensor);
    if (sensor.kind < SensorKind::kContact) return;  // others are as they were before there were any
    const auto& [first, second, reduction, slots, data] = sensor.contact;
    add_all(first.kind, first.index, second.kind, second.index, reduction, slots, data);
    if (sensor.kind == SensorKind::kCameraProjection) add(sensor.image);
  }

  // The meshes that shapes have, in the order in which these come to them; nothing where there are none, so that a
  // scene without meshes has the fingerprint that it had before there were any.
  void add_meshes(const SceneSpec& scene) {
    std::map<std::string_view, const MeshSpec*> meshes;
    for (const MeshSpec& mesh : scene.meshes) meshes.emplace(mesh.name, &mesh);
    std::map<const MeshSpec*, std::size_t> number;
    for (const ShapeSpec& shape : scene.shapes) {
      const auto mesh = meshes.find(shape.mesh);
      if (shape.kind != ShapeKind::kMesh || mesh == meshes.end()) continue;
      const auto [place, is_new] = number.try_emplace(mesh->second, number.size());
      hash_.add(std::uint64_t(place->second));
      if (!is_new) continue;
      const auto& [name, vertices] = *mesh->second;
      add(vertices);
    }
  }

  // Likewise the height fields.
  void add_height_fields(const SceneSpec& scene) {
    std::map<std::string_view, const HeightFieldSpec*> fields;
    for (const HeightFieldSpec& field : scene.height_fields) fields.emplace(field.name, &field);
    for (const ShapeSpec& shape : scene.shapes) {
      const auto found = fields.find(shape.height_field);
      if (shape.kind != ShapeKind::kHeightField || found == fields.end()) continue;
      const auto& [name, columns, rows, half_x, half_y, base, heights] = *found->second;
      add_all(std::uint64_t(11), columns, rows, half_x, half_y, base);
      for (float height : heights) add_all(double(height));
    }
  }

  Hash hash_;
};

}  // namespace

Fingerprint fingerprint(const SceneSpec& scene) { return SceneHash().of(scene); }

}  // namespace axion::model
