#include "engine/import/mjcf_geom.hpp"

#include <algorithm>
#include <cmath>

#include "engine/import/mjcf_pose.hpp"
#include "engine/math/constants.hpp"

namespace axion::import {
namespace {

using Vec3 = math::Vec3<double>;

constexpr double kMinLength = 1e-10;  // m

bool is_solid(GeomType type) {
  return type == GeomType::kSphere || type == GeomType::kCapsule || type == GeomType::kEllipsoid ||
         type == GeomType::kCylinder || type == GeomType::kBox;
}

bool is_scene_shape(GeomType type) { return type == GeomType::kPlane || is_solid(type) || type == GeomType::kMesh; }

int size_count(GeomType type) {
  switch (type) {
    case GeomType::kSphere:
      return 1;
    case GeomType::kCapsule:
    case GeomType::kCylinder:
      return 2;
    case GeomType::kEllipsoid:
    case GeomType::kBox:
      return 3;
    default:
      return 0;
  }
}

// Places the geom between two points and takes its length from them.
void read_fromto(const Attributes& a, Geom& geom) {
  double p[6] = {};
  if (!a.numbers("fromto", p, 6)) return;
  if (!is_solid(geom.type) || geom.type == GeomType::kSphere) {
    a.refuse("fromto", "needs a geom of type capsule, cylinder, ellipsoid or box");
  }
  if (math::norm(a.vec3("pos", {})) > 0) a.refuse("fromto", "is given together with pos");
  const Vec3 from{p[0], p[1], p[2]}, to{p[3], p[4], p[5]};
  const double length = math::norm(from - to);
  if (!(length > kMinLength)) a.refuse("fromto", "has two points that are the same");
  geom.X_BG.position = 0.5 * (from + to);
  geom.X_BG.rotation = rotation_from_z(from - to);
  const bool across = geom.type == GeomType::kEllipsoid || geom.type == GeomType::kBox;
  geom.size[across ? 2 : 1] = length / 2;
  if (across) geom.size[1] = geom.size[0];
}

void read_size(const Attributes& a, Geom& geom) {
  a.numbers("size", geom.size, 1);
  read_fromto(a, geom);
  for (int i = 0; i < size_count(geom.type); ++i) {
    if (!(geom.size[static_cast<std::size_t>(i)] > 0)) {
      a.refuse("size", "must have " + std::to_string(size_count(geom.type)) + " positive numbers for this type");
    }
  }
}

void read_contact(const Attributes& a, Geom& geom, Notes& notes) {
  geom.contact_type = a.integer("contype", 1);
  geom.contact_affinity = a.integer("conaffinity", 1);
  const int dimension = a.integer("condim", 3);
  if (dimension != 1 && dimension != 3 && dimension != 4 && dimension != 6) {
    a.refuse("condim", "must be 1, 3, 4 or 6");
  }
  geom.contact_dimension = dimension == 1 ? 1 : 3, geom.cone_dimension = dimension;
  geom.softness = read_softness(a, "solref", "solimp", notes), geom.softness_mix = a.not_negative("solmix", 1);
  geom.priority = a.integer("priority", 0);
  double friction[3] = {1, 0.005, 0.0001};
  a.numbers("friction", friction, 1);
  for (double f : friction) {
    if (f < 0) a.refuse("friction", "must not be negative");
  }
  geom.friction = friction[0], geom.torsional_friction = friction[1], geom.rolling_friction = friction[2];
  if (geom.contact_type == 0 && geom.contact_affinity == 0) return;
  if (a.number("adhesion", 0) != 0) notes.unsupported(a.where("adhesion"), "adhesion", "contacts do not pull");
}

void read_surface(const Attributes& a, Geom& geom) {
  double motion[6] = {};
  a.numbers("surfacevel", motion, 1);
  geom.surface_velocity = {motion[0], motion[1], motion[2]};
  geom.surface_angular_velocity = {motion[3], motion[4], motion[5]};
}

// Moves the frame of a geom to that of its mesh, X in the present one.
void move_frame(const model::Pose& X, Geom& geom) {
  geom.X_BG = geom.X_BG * X;
  const Vec3 omega = geom.surface_angular_velocity, at_X = geom.surface_velocity + math::cross(omega, X.position);
  geom.surface_velocity = math::rotate_inverse(X.rotation, at_X);
  geom.surface_angular_velocity = math::rotate_inverse(X.rotation, omega);
}

// Takes the size and place of a solid from the mesh that it stands for: from the box of the same inertia, or of its
// bounds.
void fit_to_mesh(const Attributes& a, const MjcfSettings& settings, const MeshAssets::Mesh& mesh, Geom& geom) {
  if (mesh.no_mass) a.refuse("mesh", "cannot be fitted: its inertia " + *mesh.no_mass);
  const Vec3 I = mesh.mass.moments;
  model::Pose X_MG = mesh.mass.X_MC;
  Vec3 half;
  if (settings.fit_bounds) {
    const model::Pose X_CM = model::inverse(mesh.mass.X_MC);
    Vec3 low = X_CM * model::to_vec3(mesh.data.vertices.front()), high = low;
    for (const model::Vec3d& v : mesh.data.vertices) {
      const Vec3 p = X_CM * model::to_vec3(v);
      for (int k = 0; k < 3; ++k) low[k] = std::min(low[k], p[k]), high[k] = std::max(high[k], p[k]);
    }
    half = 0.5 * (high - low);
    X_MG.position = mesh.mass.X_MC * (0.5 * (low + high));
  } else {
    const double per_volume = 6.0 / mesh.mass.volume;
    for (int k = 0; k < 3; ++k) half[k] = 0.5 * std::sqrt(per_volume * std::max(0.0, I.x + I.y + I.z - 2 * I[k]));
  }
  const double scale = a.number("fitscale", 1);
  const bool bounds = settings.fit_bounds;
  switch (geom.type) {
    case GeomType::kSphere:
      geom.size = {bounds ? std::max({half.x, half.y, half.z}) : (half.x + half.y + half.z) / 3, 0, 0};
      break;
    case GeomType::kCapsule: {
      const double r = bounds ? std::max(half.x, half.y) : (half.x + half.y) / 2;
      geom.size = {r, std::max(0.0, bounds ? half.z - r : half.z - r / 2), 0};
      break;
    }
    case GeomType::kCylinder:
      geom.size = {bounds ? std::max(half.x, half.y) : (half.x + half.y) / 2, half.z, 0};
      break;
    default:
      geom.size = model::to_spec(half);
  }
  for (double& s : geom.size) s *= scale;
  move_frame(X_MG, geom);
}

// A mesh: its mass, and, where it takes part in contacts, its hull.
void read_mesh_geom(const Attributes& a, bool adds_mass, bool can_touch, MeshAssets& meshes,
                    std::vector<model::MeshSpec>& scene_meshes, Geom& geom, Notes& notes) {
  const double density = a.not_negative("density", 1000);
  const double own_mass = a.not_negative("mass", -0.0);
  const bool weighs = adds_mass && (a.has("mass") ? own_mass > 0 : density > 0);
  if (!a.has("mesh")) a.refuse("mesh", "is required of a geom of this type");
  geom.is_placed = false;
  if (!weighs && !can_touch) return;
  if (!meshes.is_given(a)) {
    notes.unsupported(a.where("mesh"), "mesh", "its file was not sent along: files come by name beside the document");
    return;
  }
  MeshAssets::Mesh& mesh = meshes.get(a, notes);
  move_frame(mesh.mass.X_MC, geom);
  geom.is_placed = true;
  if (weighs) {
    if (mesh.no_mass) a.refuse("mesh", "has no mass: its inertia " + *mesh.no_mass);
    const double mass = a.has("mass") ? own_mass : density * mesh.mass.volume;
    const Vec3 I = (mass / mesh.mass.volume) * mesh.mass.moments;
    geom.mass = re_express(geom.X_BG, {mass, {}, math::Mat3<double>::diagonal(I.x, I.y, I.z)});
  }
  if (!can_touch) return;
  geom.mesh = a.text("mesh", "");
  if (!mesh.in_scene) scene_meshes.push_back(meshes.hull_of(a, mesh, notes));
}

// A height field; one that touches nothing may be without its file.
void read_field_geom(const Attributes& a, bool can_touch, const GeomAssets& assets, Geom& geom, Notes& notes) {
  if (!a.has("hfield")) a.refuse("hfield", "is required of a geom of this type");
  if (!assets.height_fields.is_given(a)) {
    if (!can_touch) return;
    notes.unsupported(a.where("hfield"), "hfield",
                      "its file was not sent along: files come by name beside the document");
    return;
  }
  assets.height_fields.add_to(a, assets.spec.height_fields);
  geom.height_field = a.text("hfield", "");
  geom.is_shape = true;
}

void read_mass(const Attributes& a, bool adds_mass, Geom& geom, Notes& notes) {
  const double density = a.not_negative("density", 1000);
  const double own_mass = a.not_negative("mass", -0.0);
  const bool massless = a.has("mass") && own_mass == 0;
  if (geom.type == GeomType::kMesh) {  // it is read with its mesh
    if (a.boolean("shellinertia", false)) {
      notes.unsupported(a.where("shellinertia"), "shellinertia", "of a mesh its asset says so: inertia=\"shell\"");
    }
    return;
  }
  if (geom.type == GeomType::kSdf) {
    if (adds_mass && !massless && density > 0) {
      notes.unsupported(a.element(), "type", "the body needs the mass of a distance field; give the body an inertial");
    }
    return;
  }
  if (!is_solid(geom.type) || massless) return;
  const bool is_shell = a.boolean("shellinertia", false);
  const double measure = is_shell ? area(geom.type, geom.size) : volume(geom.type, geom.size);
  const double mass = a.has("mass") ? own_mass : density * measure;
  const Vec3 I = is_shell ? shell_inertia(geom.type, geom.size, mass) : principal_inertia(geom.type, geom.size, mass);
  geom.mass = re_express(geom.X_BG, {mass, {}, math::Mat3<double>::diagonal(I.x, I.y, I.z)});
}

}  // namespace

double volume(GeomType type, const model::Vec3d& s) {
  switch (type) {
    case GeomType::kSphere:
      return 4.0 / 3.0 * math::kPi * s[0] * s[0] * s[0];
    case GeomType::kCapsule:
      return math::kPi * s[0] * s[0] * (2 * s[1] + 4.0 / 3.0 * s[0]);
    case GeomType::kCylinder:
      return math::kPi * s[0] * s[0] * 2 * s[1];
    case GeomType::kEllipsoid:
      return 4.0 / 3.0 * math::kPi * s[0] * s[1] * s[2];
    case GeomType::kBox:
      return 8 * s[0] * s[1] * s[2];
    default:
      return 0;
  }
}

math::Vec3<double> principal_inertia(GeomType type, const model::Vec3d& s, double mass) {
  switch (type) {
    case GeomType::kSphere: {
      const double I = 0.4 * mass * s[0] * s[0];
      return {I, I, I};
    }
    case GeomType::kCapsule: {
      // A cylinder and two half spheres whose centres of mass are 3/8 r beyond its ends.
      const double r = s[0], h = 2 * s[1];
      const double ball = mass * 4 * r / (4 * r + 3 * h), tube = mass - ball;
      const double across = tube * (3 * r * r + h * h) / 12 + 0.4 * ball * r * r + ball * h * (3 * r + 2 * h) / 8;
      return {across, across, tube * r * r / 2 + 0.4 * ball * r * r};
    }
    case GeomType::kCylinder: {
      const double r = s[0], h = 2 * s[1], across = mass * (3 * r * r + h * h) / 12;
      return {across, across, mass * r * r / 2};
    }
    case GeomType::kEllipsoid:
      return {mass * (s[1] * s[1] + s[2] * s[2]) / 5, mass * (s[0] * s[0] + s[2] * s[2]) / 5,
              mass * (s[0] * s[0] + s[1] * s[1]) / 5};
    case GeomType::kBox:
      return {mass * (s[1] * s[1] + s[2] * s[2]) / 3, mass * (s[0] * s[0] + s[2] * s[2]) / 3,
              mass * (s[0] * s[0] + s[1] * s[1]) / 3};
    default:
      return {};
  }
}

double area(GeomType type, const model::Vec3d& s) {
  switch (type) {
    case GeomType::kSphere:
      return 4 * math::kPi * s[0] * s[0];
    case GeomType::kCapsule:
      return 4 * math::kPi * s[0] * (s[0] + s[1]);
    case GeomType::kCylinder:
      return 2 * math::kPi * s[0] * (s[0] + 2 * s[1]);
    case GeomType::kEllipsoid: {  // Thomsen's formula, within 1.2 %, as MuJoCo has it
      const double p = 1.6075;
      const double mean = (std::pow(s[0] * s[1], p) + std::pow(s[1] * s[2], p) + std::pow(s[2] * s[0], p)) / 3;
      return 4 * math::kPi * std::pow(mean, 1 / p);
    }
    case GeomType::kBox:
      return 8 * (s[0] * s[1] + s[1] * s[2] + s[2] * s[0]);
    default:
      return 0;
  }
}

math::Vec3<double> shell_inertia(GeomType type, const model::Vec3d& s, double mass) {
  switch (type) {
    case GeomType::kSphere: {
      const double I = 2.0 / 3.0 * mass * s[0] * s[0];
      return {I, I, I};
    }
    case GeomType::kCapsule: {
      // A tube and two half spheres, whose centres of mass are half of r beyond its ends.
      const double r = s[0], h = s[1], tube = mass * h / (r + h), ball = mass - tube;
      const double across = tube * (r * r / 2 + h * h / 3) + ball * (2.0 / 3.0 * r * r + h * h + h * r);
      return {across, across, tube * r * r + 2.0 / 3.0 * ball * r * r};
    }
    case GeomType::kCylinder: {
      const double r = s[0], h = s[1], ends = mass * r / (r + 2 * h), tube = mass - ends;
      const double across = tube * (r * r / 2 + h * h / 3) + ends * (r * r / 4 + h * h);
      return {across, across, tube * r * r + ends * r * r / 2};
    }
    case GeomType::kEllipsoid: {
      // Between it and one whose semi-axes are longer by the same: d(V (b^2 + c^2) / 5) where dV is the mass.
      const double all = s[0] * s[1] * s[2] / (s[0] * s[1] + s[1] * s[2] + s[2] * s[0]);
      const auto about = [&](double b, double c) { return mass / 5 * (b * b + c * c + 2 * all * (b + c)); };
      return {about(s[1], s[2]), about(s[0], s[2]), about(s[0], s[1])};
    }
    case GeomType::kBox: {
      const double faces[3] = {s[1] * s[2], s[2] * s[0], s[0] * s[1]}, half = faces[0] + faces[1] + faces[2];
      double squares[3];  // the mean of the square of each coordinate: its two faces have it whole, the others a third
      for (int k = 0; k < 3; ++k) {
        const double length = s[static_cast<std::size_t>(k)];
        squares[k] = mass * length * length * (faces[k] + (half - faces[k]) / 3) / half;
      }
      return {squares[1] + squares[2], squares[0] + squares[2], squares[0] + squares[1]};
    }
    default:
      return {};
  }
}

// Where there is a fluid: the ellipsoid that it acts on in place of the body's box.
void read_fluid_shape(const Attributes& a, const MjcfSettings& settings, Geom& geom, Notes& notes) {
  const bool in_fluid = settings.medium.density > 0 || settings.medium.viscosity > 0;
  if (a.keyword("fluidshape", {"none", "ellipsoid"}, 0) == 0 || !in_fluid) return;
  if (!is_solid(geom.type)) {
    return notes.unsupported(a.where("fluidshape"), "fluidshape",
                             "ellipsoids are of spheres, capsules, ellipsoids, cylinders and boxes");
  }
  double c[5] = {0.5, 0.25, 1.5, 1, 1};
  a.numbers("fluidcoef", c, 1);
  if (!(c[0] >= 0 && c[1] >= 0 && c[2] >= 0)) a.refuse("fluidcoef", "must have drags, its first three, of at least 0");
  geom.is_fluid_ellipsoid = true;
  model::Vec3d radii = geom.size;
  if (geom.type == GeomType::kSphere) radii = {radii[0], radii[0], radii[0]};
  if (geom.type == GeomType::kCylinder) radii = {radii[0], radii[0], radii[1]};
  if (geom.type == GeomType::kCapsule) radii = {radii[0], radii[0], radii[0] + radii[1]};
  geom.fluid_ellipsoid = {model::to_spec(geom.X_BG), radii, c[0], c[1], c[2], c[3], c[4]};
}

Geom read_geom(const Attributes& a, const MjcfSettings& settings, const model::Pose* X_BF, bool adds_mass,
               bool is_paired, const GeomAssets& assets, Notes& notes) {
  MeshAssets& meshes = assets.meshes;
  Geom geom;
  // The order of GeomType.
  const int type =
      a.keyword("type", {"plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf"}, 2);
  geom.type = static_cast<GeomType>(type);
  geom.X_BG = read_pose(a, settings);
  read_surface(a, geom);
  geom.group = a.integer("group", 0);
  if (is_solid(geom.type) && a.has("mesh") && meshes.is_given(a)) {
    fit_to_mesh(a, settings, meshes.get(a, notes), geom);
  } else if (is_solid(geom.type) && (a.has("mesh") || a.has("hfield"))) {
    const char* name = a.has("mesh") ? "mesh" : "hfield";
    notes.unsupported(a.where(name), name,
                      "a geom is not fitted to this asset, whose file was not sent along; give its size");
    read_size(a, geom);
  } else {
    read_size(a, geom);
  }
  if (X_BF != nullptr) geom.X_BG = *X_BF * geom.X_BG;
  geom.X_BV = geom.X_BG;
  read_contact(a, geom, notes);
  read_fluid_shape(a, settings, geom, notes);
  const bool in_group = geom.group >= settings.inertia_group_first && geom.group <= settings.inertia_group_last;
  read_mass(a, adds_mass && in_group, geom, notes);
  const bool can_touch = geom.contact_type != 0 || geom.contact_affinity != 0 || is_paired;
  if (geom.type == GeomType::kMesh) {
    read_mesh_geom(a, adds_mass && in_group, can_touch, meshes, assets.spec.meshes, geom, notes);
    geom.is_shape = !geom.mesh.empty();
    return geom;
  }
  if (geom.type == GeomType::kHfield) {
    read_field_geom(a, can_touch, assets, geom, notes);
    return geom;
  }
  if (!in_group) geom.mass = {};
  // Cylinders and ellipsoids that touch nothing are for the eye.
  const bool for_the_eye = !can_touch && (geom.type == GeomType::kCylinder || geom.type == GeomType::kEllipsoid);
  geom.is_shape = is_scene_shape(geom.type) && !for_the_eye;
  if (!is_scene_shape(geom.type) && can_touch) {
    notes.unsupported(a.element(), "type",
                      "shapes are plane, sphere, capsule, box, cylinder, ellipsoid, mesh and height field; one with "
                      "contype and conaffinity 0 may be of any type");
  }
  return geom;
}

}  // namespace axion::import
