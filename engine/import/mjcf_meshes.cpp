#include "engine/import/mjcf_meshes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/import/asset_files.hpp"

namespace axion::import {
namespace {

using Vec = math::Vec3<double>;

MeshFormat format_of(const Attributes& a, std::string_view file) {
  const std::string type = a.text("content_type", "");
  const std::string extension = extension_of(file);
  if (type == "model/stl" || (type.empty() && extension == ".stl")) return MeshFormat::kStl;
  if (type == "model/obj" || (type.empty() && extension == ".obj")) return MeshFormat::kObj;
  if (type == "model/vnd.mujoco.msh" || (type.empty() && extension == ".msh")) return MeshFormat::kMsh;
  a.refuse("file", "must be an STL, OBJ or MSH file");
}

std::vector<double> list_of(const Attributes& a, const char* name) {
  for (std::size_t i = a.layers().size(); i-- > 0;) {
    const XmlElement& layer = *a.layers()[i];
    if (const XmlAttribute* attribute = layer.find(name)) return parse_numbers(layer, *attribute);
  }
  return {};
}

std::string millimetres(double length) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", 1000 * length);
  return text;
}

// Vertices that lie in a plane, moved off it to both sides, so that their hull is a plate, a thousandth of its length
// thick; none where they lie in a line or a point.
std::vector<model::Vec3d> plate_of(const std::vector<model::Vec3d>& vertices, double& thickness) {
  if (vertices.empty()) return {};
  const Vec first = model::to_vec3(vertices[0]);
  Vec along{}, n{};
  for (const model::Vec3d& v : vertices) {
    const Vec d = model::to_vec3(v) - first;
    if (math::norm(d) > math::norm(along)) along = d;
  }
  for (const model::Vec3d& v : vertices) {
    const Vec across = math::cross(along, model::to_vec3(v) - first);
    if (math::norm(across) > math::norm(n)) n = across;
  }
  const double length = math::norm(along);
  if (!(math::norm(n) > 1e-6 * length * length)) return {};
  thickness = 1e-3 * length;
  const Vec half = (thickness / 2) * math::normalized(n);
  std::vector<model::Vec3d> plate;
  for (const model::Vec3d& v : vertices) {
    plate.push_back(model::to_spec(model::to_vec3(v) - half)),
        plate.push_back(model::to_spec(model::to_vec3(v) + half));
  }
  return plate;
}

// Vertices and faces that the document itself gives.
MeshData inline_mesh(const Attributes& a) {
  MeshData mesh;
  const std::vector<double> points = list_of(a, "vertex"), corners = list_of(a, "face");
  if (points.size() < 12 || points.size() % 3 != 0)
    a.refuse("vertex", "must have three numbers each for four or more vertices");
  for (std::size_t i = 0; i < points.size(); i += 3) mesh.vertices.push_back({points[i], points[i + 1], points[i + 2]});
  if (corners.size() % 3 != 0) a.refuse("face", "must have three vertices for each face");
  for (std::size_t i = 0; i < corners.size(); i += 3) {
    std::array<int, 3> face{};
    for (std::size_t k = 0; k < 3; ++k) {
      const double corner = corners[i + k];
      if (!(corner >= 0 && corner < static_cast<double>(mesh.vertices.size()) && corner == std::floor(corner))) {
        a.refuse("face", "names a vertex that is not there");
      }
      face[k] = static_cast<int>(corner);
    }
    mesh.faces.push_back(face);
  }
  return mesh;
}

// refpos, refquat and scale, in MuJoCo's order.
void place(const Attributes& a, MeshData& mesh) {
  const Vec origin = a.vec3("refpos", {0, 0, 0}), scale = a.vec3("scale", {1, 1, 1});
  double q[4] = {1, 0, 0, 0};
  a.numbers("refquat", q, 4);
  const double length = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (!(length > 1e-12)) a.refuse("refquat", "is a zero quaternion");
  if (scale.x == 0 || scale.y == 0 || scale.z == 0) a.refuse("scale", "must not have a zero");
  const math::Quat<double> turn = math::normalized(math::Quat<double>{q[0], q[1], q[2], q[3]});
  for (model::Vec3d& v : mesh.vertices) {
    v = model::to_spec(math::scale(scale, math::rotate_inverse(turn, model::to_vec3(v) - origin)));
  }
  // A mirror turns faces inside out.
  if (scale.x * scale.y * scale.z < 0) {
    for (auto& face : mesh.faces) std::swap(face[1], face[2]);
  }
}

MeshData surface_of(const model::ConvexHull& hull) { return {hull.vertices, hull.faces}; }

}  // namespace

MeshAssets::MeshAssets(const XmlElement& root, const DefaultClasses& defaults, const DocumentSettings& documents,
                       const XmlFiles& files)
    : documents_(documents), files_(files) {
  for (const XmlElement& section : root.children) {
    if (section.tag != "asset") continue;
    for (const XmlElement& element : section.children) {
      if (element.tag != "mesh") continue;
      const Attributes a = defaults.attributes(element, DefaultClasses::kMain, {"mesh"});
      const std::string file = a.text("file", "");
      const std::string name = a.text("name", asset_name(file));
      if (name.empty()) refuse(element, "name", "is required of a mesh without a file");
      if (!assets_.emplace(name, a).second) refuse(element, "name", "names a mesh a second time");
    }
  }
}

const Attributes& MeshAssets::asset(const Attributes& geom) const {
  const auto found = assets_.find(geom.text("mesh", ""));
  if (found == assets_.end()) geom.refuse("mesh", "names no mesh of the assets");
  return found->second;
}

std::optional<std::string_view> MeshAssets::bytes_of(const Attributes& a) const {
  return find_asset(files_, documents_.of(a.element()).mesh_directory, a.text("file", ""));
}

std::optional<MeshAssets::Drawn> MeshAssets::drawn(const Attributes& geom, bool wanted) const {
  const auto found = assets_.find(geom.text("mesh", ""));
  if (found == assets_.end()) return std::nullopt;
  const Attributes& a = found->second;
  const std::string own = a.text("file", "");
  if (own.empty()) return std::nullopt;
  const std::string file = visual_file(files_, asset_names(documents_.of(a.element()).mesh_directory, own), wanted);
  if (file.empty()) return std::nullopt;
  const Vec origin = a.vec3("refpos", {0, 0, 0}), scale = a.vec3("scale", {1, 1, 1});
  double q[4] = {1, 0, 0, 0};
  a.numbers("refquat", q, 4);
  model::Pose X_FM;
  X_FM.position = origin;
  X_FM.rotation = math::normalized(math::Quat<double>{q[0], q[1], q[2], q[3]});
  model::Pose X_MF = model::inverse(X_FM);
  // Exact where the scale is the same along all axes or nothing is turned.
  X_MF.position = math::scale(scale, X_MF.position);
  return Drawn{file, model::to_spec(scale), X_MF};
}

bool MeshAssets::is_given(const Attributes& geom) const {
  const Attributes& a = asset(geom);
  return !a.has("file") || bytes_of(a).has_value();
}

MeshData MeshAssets::read(const Attributes& a, Notes& notes) const {
  if (a.has("builtin") && a.text("builtin", "none") != "none")
    a.refuse("builtin", "is not offered; give vertices or a file");
  if (!a.has("file")) return inline_mesh(a);
  const std::optional<std::string_view> bytes = bytes_of(a);
  if (!bytes) a.refuse("file", "was not sent along: files come by name beside the document");
  Result<MeshData> mesh = read_mesh(*bytes, format_of(a, a.text("file", "")));
  if (!mesh.ok()) a.refuse("file", mesh.error().message);
  if (mesh.value().objects > 1) {
    notes.warn(a.where("file"), "file",
               "has " + std::to_string(mesh.value().objects) + " objects, of which the first alone is taken");
    keep_first_object(mesh.value());
  }
  return std::move(mesh).value();
}

MeshAssets::Mesh& MeshAssets::get(const Attributes& geom, Notes& notes) {
  const std::string name = geom.text("mesh", "");
  if (const auto known = meshes_.find(name); known != meshes_.end()) return known->second;
  const Attributes& a = asset(geom);
  Mesh mesh;
  mesh.data = read(a, notes);
  place(a, mesh.data);
  const int kind = a.keyword("inertia", {"convex", "legacy", "exact", "shell"}, 1);
  if (a.has("maxhullvert")) {
    const int limit = a.integer("maxhullvert", -1);
    if (limit != -1 && limit < 4) a.refuse("maxhullvert", "must be at least 4, or -1");
    if (limit > 0) mesh.hull_limit = std::min(limit, model::kMaxHullVertices);
  }
  MeshData surface = mesh.data;
  if (kind == 0 || mesh.data.faces.empty()) {
    Result<model::ConvexHull> hull = model::convex_hull(mesh.data.vertices, model::kMaxMeshVertices);
    if (!hull.ok()) a.refuse(a.has("file") ? "file" : "vertex", "has no convex hull: its " + hull.error().message);
    surface = surface_of(hull.value());
  }
  Result<MeshMass> mass = mesh_mass(surface, static_cast<MeshInertia>(kind));
  if (mass.ok()) {
    mesh.mass = mass.value();
  } else {
    mesh.no_mass = mass.error().message;
  }
  return meshes_.emplace(name, std::move(mesh)).first->second;
}

model::MeshSpec MeshAssets::hull_of(const Attributes& geom, Mesh& mesh, Notes& notes) const {
  const Attributes& a = asset(geom);
  Result<model::ConvexHull> hull = model::convex_hull(mesh.data.vertices, mesh.hull_limit);
  double thickness = 0;
  if (!hull.ok()) {
    if (const std::vector<model::Vec3d> plate = plate_of(mesh.data.vertices, thickness); !plate.empty()) {
      hull = model::convex_hull(plate, mesh.hull_limit);
    }
  }
  if (hull.ok() && thickness > 0) {
    notes.warn(a.element(), "", "lies in a plane, and is taken as a plate of " + millimetres(thickness) + " mm");
  }
  if (!hull.ok()) a.refuse(a.has("file") ? "file" : "vertex", "has no convex hull: its " + hull.error().message);
  for (const std::string& note : {model::simplification_note(hull.value()), hollow_note(mesh.data, hull.value())}) {
    if (!note.empty()) notes.warn(a.element(), "", note);
  }
  model::MeshSpec spec{geom.text("mesh", ""), {}};
  const model::Pose X_CM = model::inverse(mesh.mass.X_MC);
  for (const model::Vec3d& v : hull.value().vertices) spec.vertices.push_back(model::to_spec(X_CM * model::to_vec3(v)));
  mesh.in_scene = true;
  return spec;
}

}  // namespace axion::import
