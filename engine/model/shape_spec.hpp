// The shapes of a scene, and which of them touch (scene_spec.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "engine/model/shape_kind.hpp"
#include "engine/model/spec_field.hpp"
#include "engine/model/spec_types.hpp"

namespace axion::model {

struct ShapeSpec {
  std::string name;
  ShapeKind kind = ShapeKind::kSphere;
  int body = kWorldBody;  // index into SceneSpec::bodies, or kWorldBody
  PoseSpec X_BS;          // shape frame in its body's frame; a plane's normal is +z, a capsule's or cylinder's axis z
  // m. Sphere: radius; capsule, cylinder: radius, half length; box: half extents; ellipsoid: semi-axes; plane, mesh,
  // height field: unused.
  Vec3d size{0, 0, 0};
  std::string mesh;          // kMesh: the name of one of SceneSpec::meshes; the shape is its convex hull
  std::string height_field;  // kHeightField: the name of one of SceneSpec::height_fields; on the world only
  double friction = 1.0;     // sliding coefficient; a pair takes the maximum of its two (MuJoCo's rule)
  double restitution = 0.0;  // 0 .. 1, share of the approach speed given back; a pair takes the maximum of its two
  // Normal spring and damper, in series with those of the other shape. Stiffness 0 is rigid (its damping must be 0).
  double contact_stiffness = 0.0;  // N/m
  double contact_damping = 0.0;    // N s/m
  int contact_dimension = 3;       // 1 frictionless, 3 with friction; a pair takes the maximum of its two
  // A pair whose two differ in this takes friction and contact_dimension of the shape with the greater alone.
  int contact_priority = 0;
  std::uint32_t contact_type = 1;  // a pair may touch if (type_a & affinity_b) || (type_b & affinity_a)
  std::uint32_t contact_affinity = 1;
  SoftnessSpec softness{};
  double softness_mix = 1.0;  // at least 0: weight of `softness` beside that of the other shape
  // 1, 3, 4 or 6: MuJoCo's condim. From 4 on a contact has torsional friction, with 6 rolling friction; a soft pyramid
  // of friction stands on its edges by it. A pair takes the maximum of its two, or that of the greater priority.
  int cone_dimension = 3;
  // m, at least 0: the torque about the normal is at most this times the normal force, and that about axes across it.
  // A pair takes the maximum of its two, or those of the greater priority; none where its contact_dimension is 1.
  double torsional_friction = 0.0;
  double rolling_friction = 0.0;
  // m/s and rad/s, shape frame: its surface moves along it at v + ω × p where p is, as a belt or a turntable does. Only
  // friction feels this, against which it acts; the shape stays in its place.
  Vec3d surface_velocity{0, 0, 0}, surface_angular_velocity{0, 0, 0};
};
template <>
inline constexpr auto kFieldsOf<ShapeSpec> = std::tuple{
    SpecField{"name", &ShapeSpec::name, {.hash = kNever}},
    SpecField{"kind", &ShapeSpec::kind, {.hash = kAlways}},
    SpecField{"body", &ShapeSpec::body, {.hash = kAlways}},
    SpecField{"X_BS", &ShapeSpec::X_BS, {.hash = kAlways, .wire = "pose", .parameter = Parameter::kShapePosition}},
    SpecField{"size", &ShapeSpec::size, {.hash = kAlways, .parameter = Parameter::kShapeSize}},
    SpecField{"mesh", &ShapeSpec::mesh, {.hash = kNever}},
    SpecField{"height_field", &ShapeSpec::height_field, {.hash = kNever}},
    SpecField{"friction", &ShapeSpec::friction, {.least = 0, .hash = kAlways, .parameter = Parameter::kShapeFriction}},
    SpecField{"restitution",
              &ShapeSpec::restitution,
              {.least = 0, .most = 1, .hash = kAlways, .parameter = Parameter::kShapeRestitution}},
    SpecField{"contact_stiffness", &ShapeSpec::contact_stiffness, {.least = 0, .hash = kAlways}},
    SpecField{"contact_damping", &ShapeSpec::contact_damping, {.least = 0, .hash = kAlways}},
    SpecField{"contact_dimension", &ShapeSpec::contact_dimension, {.hash = kAlways}},
    SpecField{"contact_priority", &ShapeSpec::contact_priority, {.hash = kAlways}},
    SpecField{"contact_type", &ShapeSpec::contact_type, {.hash = kAlways}},
    SpecField{"contact_affinity", &ShapeSpec::contact_affinity, {.hash = kAlways}},
    SpecField{"softness", &ShapeSpec::softness, {.hash = 17, .is_omitted = true}},
    SpecField{"softness_mix", &ShapeSpec::softness_mix, {.least = 0, .hash = 18}},
    SpecField{"cone_dimension", &ShapeSpec::cone_dimension, {.hash = 19}},
    SpecField{"torsional_friction", &ShapeSpec::torsional_friction, {.least = 0, .hash = 30}},
    SpecField{"rolling_friction", &ShapeSpec::rolling_friction, {.least = 0, .hash = 31}},
    SpecField{"surface_velocity", &ShapeSpec::surface_velocity, {.hash = kNever, .is_omitted = true}},
    SpecField{"surface_angular_velocity", &ShapeSpec::surface_angular_velocity, {.hash = kNever, .is_omitted = true}},
};

// Points whose convex hull is a shape, in the frame of the shape. More vertices than model/convex_hull.hpp allows are
// simplified.
struct MeshSpec {
  std::string name;
  std::vector<Vec3d> vertices;  // m
};

// Terrain: heights over a grid in the frame of the shape, row by row from the least y on, each from the least x on. A
// cell is two triangles, cut from its corner of the least x and y to the opposite one. It is solid down to z = −base.
struct HeightFieldSpec {
  std::string name;
  int columns = 0, rows = 0;      // at least 2 each
  double half_x = 0, half_y = 0;  // m, half of the grid's lengths
  double base = 0;                // m, at least 0 and no less than the deepest height is below zero
  std::vector<float> heights;     // m, [rows * columns]
};

// The shapes of two bodies do not touch each other; those of what is welded to either do.
struct ContactExcludeSpec {
  int body_a = 0;
  int body_b = 0;
};
template <>
inline constexpr auto kFieldsOf<ContactExcludeSpec> = std::tuple{
    SpecField{"body_a", &ContactExcludeSpec::body_a, {.hash = kAlways}},
    SpecField{"body_b", &ContactExcludeSpec::body_b, {.hash = kAlways}},
};

// Two shapes that touch each other whatever else is said of them, their bodies' joints and exclusions included, by a
// law of their own.
struct ContactPairSpec {
  int shape_a = 0;  // indices into SceneSpec::shapes, of bodies that are not one
  int shape_b = 0;
  double friction = 1.0;
  int contact_dimension = 3;  // 1 frictionless, 3 with friction
  SoftnessSpec softness{};
  int cone_dimension = 3;           // as ShapeSpec's
  double torsional_friction = 0.0;  // m, as ShapeSpec's
  double rolling_friction = 0.0;    // m
};
template <>
inline constexpr auto kFieldsOf<ContactPairSpec> = std::tuple{
    SpecField{"shape_a", &ContactPairSpec::shape_a, {.hash = kAlways}},
    SpecField{"shape_b", &ContactPairSpec::shape_b, {.hash = kAlways}},
    SpecField{"friction", &ContactPairSpec::friction, {.least = 0, .hash = kAlways}},
    SpecField{"contact_dimension", &ContactPairSpec::contact_dimension, {.hash = kAlways}},
    SpecField{"softness", &ContactPairSpec::softness, {.hash = 21, .is_omitted = true}},
    SpecField{"cone_dimension", &ContactPairSpec::cone_dimension, {.hash = 22}},
    SpecField{"torsional_friction", &ContactPairSpec::torsional_friction, {.least = 0, .hash = 30}},
    SpecField{"rolling_friction", &ContactPairSpec::rolling_friction, {.least = 0, .hash = 31}},
};

}  // namespace axion::model
