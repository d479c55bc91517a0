// The meshes that collision geometry names: found among the files of the request, read once, made hulls.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/import/mesh_mass.hpp"
#include "engine/import/mjcf_attributes.hpp"

namespace axion::import {

class UrdfMeshes {
 public:
  UrdfMeshes(const XmlFiles& files, std::string directory) : files_(files), directory_(std::move(directory)) {}

  struct Mesh {
    MeshData data;  // scaled, in the frame of the geometry
    MeshMass mass;
    std::optional<std::string> no_mass;  // why it has none; its frame is then the geometry's
    std::string name;                    // in the scene; empty until its hull is
  };

  // The mesh of a <mesh>; null, with a warning, where its file was not sent or is of a kind that is not read and that
  // is allowed.
  Mesh* get(const XmlElement& element, Notes& notes);
  // The name among the files of one that is drawn, noted as wanted where `wanted` says so; "" where there is none.
  std::string drawn(const std::string& file, bool wanted) const;
  // Adds the hull of the mesh to the scene once, in the frame of its mass.
  void add_hull(const XmlElement& element, Mesh& mesh, model::SceneSpec& scene, Notes& notes);

 private:
  std::vector<std::string> names_of(const std::string& file) const;
  std::optional<std::string_view> bytes_of(const std::string& file) const;

  const XmlFiles& files_;
  std::string directory_;
  std::map<std::tuple<std::string, double, double, double>, Mesh> meshes_;  // by file and scale
  std::set<std::string, std::less<>> names_;
};

}  // namespace axion::import
