// One <geom>: its shape, its place and its mass.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/mjcf_height_fields.hpp"
#include "engine/import/mjcf_meshes.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/import/mjcf_softness.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {

enum class GeomType { kPlane, kHfield, kSphere, kCapsule, kEllipsoid, kCylinder, kBox, kMesh, kSdf };

struct Geom {
  GeomType type = GeomType::kSphere;
  model::Pose X_BG;
  // m. sphere: radius; capsule, cylinder: radius, half length along z; ellipsoid: semi-axes; box: half extents.
  model::Vec3d size{0, 0, 0};
  int group = 0;
  double friction = 1, torsional_friction = 0.005, rolling_friction = 0.0001;
  int contact_dimension = 3, cone_dimension = 3, priority = 0;
  math::Vec3<double> surface_velocity{}, surface_angular_velocity{};  // in the geom's frame, as ShapeSpec's
  model::SoftnessSpec softness;
  double softness_mix = 1;
  int contact_type = 1, contact_affinity = 1;
  std::string mesh;            // of a mesh
  std::string height_field;    // of a height field
  bool is_placed = true;       // X_BG is that of a mesh as it is centred
  model::Pose X_BV;            // where it is drawn: as X_BG, of a mesh before it is centred
  bool is_shape = false;       // takes part in contacts, or could, and is of a kind that the scene has
  model::MassProperties mass;  // in the body's frame; zero for planes and height fields
  bool is_fluid_ellipsoid = false;
  model::FluidEllipsoidSpec fluid_ellipsoid{};
};

// `X_BF`: the frame in which the geom is given, in the body's; null for the body's own. `adds_mass`: the body takes its
// inertia from its geoms. Hulls of meshes that take part in contacts, and height fields, are added to `spec`.
struct GeomAssets {
  MeshAssets& meshes;
  HeightFieldAssets& height_fields;
  model::SceneSpec& spec;
};
Geom read_geom(const Attributes& attributes, const MjcfSettings& settings, const model::Pose* X_BF, bool adds_mass,
               bool is_paired, const GeomAssets& assets, Notes& notes);

// Inertia of a solid of uniform density and the given mass about its centre, in its own frame: the diagonal.
math::Vec3<double> principal_inertia(GeomType type, const model::Vec3d& size, double mass);
double volume(GeomType type, const model::Vec3d& size);
// Mass properties of its surface, which weighs as much everywhere, and its area.
math::Vec3<double> shell_inertia(GeomType type, const model::Vec3d& size, double mass);
double area(GeomType type, const model::Vec3d& size);

}  // namespace axion::import
