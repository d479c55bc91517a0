// The shapes of a scene, and which of them touch (scene_spec.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/shape_kind.hpp"
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

}  // namespace axion::model
