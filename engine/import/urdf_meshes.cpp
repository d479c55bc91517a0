#include "engine/import/urdf_meshes.hpp"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "engine/import/asset_files.hpp"
#include "engine/import/urdf_elements.hpp"
#include "engine/model/convex_hull.hpp"

namespace axion::import {
namespace {

constexpr std::size_t kMaxFileBytes = 4096;  // of the name of a file

std::optional<MeshFormat> format_of(std::string_view file) {
  std::string extension(file.substr(std::min(file.find_last_of('.'), file.size())));
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (extension == ".stl") return MeshFormat::kStl;
  if (extension == ".obj") return MeshFormat::kObj;
  if (extension == ".dae") return MeshFormat::kDae;
  if (extension == ".msh") return MeshFormat::kMsh;
  return std::nullopt;
}

void scale_by(const math::Vec3<double>& scale, MeshData& mesh) {
  for (model::Vec3d& v : mesh.vertices) v = {scale.x * v[0], scale.y * v[1], scale.z * v[2]};
  // A mirror turns faces inside out.
  if (scale.x * scale.y * scale.z < 0) {
    for (auto& face : mesh.faces) std::swap(face[1], face[2]);
  }
}

}  // namespace

std::vector<std::string> UrdfMeshes::names_of(const std::string& file) const {
  std::vector<std::string> names{file};
  std::string_view rest = file;
  if (const std::size_t scheme = rest.find("://"); scheme != std::string_view::npos) {
    rest.remove_prefix(scheme + 3);
    names.emplace_back(rest);
    const std::size_t slash = rest.find('/');
    if (slash != std::string_view::npos) names.emplace_back(rest.substr(slash + 1));  // without the package
  }
  if (rest.starts_with("./")) names.emplace_back(rest.substr(2));
  const std::string base(without_directory(rest));
  if (!directory_.empty()) names.push_back(directory_ + (directory_.back() == '/' ? "" : "/") + base);
  names.push_back(base);
  return names;
}

std::string UrdfMeshes::drawn(const std::string& file, bool wanted) const {
  return visual_file(files_, names_of(file), wanted);
}

std::optional<std::string_view> UrdfMeshes::bytes_of(const std::string& file) const {
  for (const std::string& name : names_of(file)) {
    const auto found = files_.look_up(name);
    if (found != files_.end()) return found->second;
  }
  return std::nullopt;
}

UrdfMeshes::Mesh* UrdfMeshes::get(const XmlElement& element, Notes& notes) {
  const XmlAttribute* given = element.find("filename");
  if (given == nullptr || given->value.empty()) refuse(element, "filename", "is required");
  const std::string& file = given->value;
  if (file.size() > kMaxFileBytes)
    refuse(element, "filename", "has more than " + std::to_string(kMaxFileBytes) + " bytes");
  const Attributes a(element);
  const math::Vec3<double> scale = a.vec3("scale", {1, 1, 1});
  if (scale.x == 0 || scale.y == 0 || scale.z == 0) a.refuse("scale", "must not have a zero");
  const auto key = std::make_tuple(file, scale.x, scale.y, scale.z);
  if (const auto known = meshes_.find(key); known != meshes_.end()) return &known->second;

  const std::optional<MeshFormat> format = format_of(file);
  if (!format) {
    notes.unsupported(element, "filename",
                      "meshes are STL, OBJ, DAE or MSH files; convert it to one of these, at the same scale");
    return nullptr;
  }
  const std::optional<std::string_view> bytes = bytes_of(file);
  if (!bytes) {
    notes.unsupported(element, "filename", "its file was not sent along: files come by name beside the document");
    return nullptr;
  }
  Result<MeshData> data = read_mesh(*bytes, *format);
  if (!data.ok()) refuse(element, "filename", data.error().message);
  Mesh mesh;
  mesh.data = std::move(data).value();
  scale_by(scale, mesh.data);
  Result<MeshMass> mass = mesh_mass(mesh.data, MeshInertia::kLegacy);
  if (mass.ok()) {
    mesh.mass = mass.value();
  } else {
    mesh.no_mass = mass.error().message;
  }
  return &meshes_.emplace(key, std::move(mesh)).first->second;
}

void UrdfMeshes::add_hull(const XmlElement& element, Mesh& mesh, model::SceneSpec& scene, Notes& notes) {
  if (!mesh.name.empty()) return;
  Result<model::ConvexHull> hull = model::convex_hull(mesh.data.vertices);
  if (!hull.ok()) refuse(element, "filename", "has no convex hull: its " + hull.error().message);
  for (const std::string& note : {model::simplification_note(hull.value()), hollow_note(mesh.data, hull.value())}) {
    if (!note.empty()) notes.warn(element, "", note);
  }
  const std::string file(without_directory(element.find("filename")->value));
  const std::string stem = file.substr(0, std::min(file.find_last_of('.'), std::size_t{200}));
  std::string name = stem;
  for (int copy = 2; !names_.insert(name).second; ++copy) name = stem + "_" + std::to_string(copy);
  mesh.name = name;
  model::MeshSpec spec{name, {}};
  const model::Pose X_CG = model::inverse(mesh.mass.X_MC);
  for (const model::Vec3d& v : hull.value().vertices) spec.vertices.push_back(model::to_spec(X_CG * model::to_vec3(v)));
  scene.meshes.push_back(std::move(spec));
}

}  // namespace axion::import
