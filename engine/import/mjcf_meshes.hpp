// The meshes of <asset>: found by name, and read when a geom first needs one.
//
// Files come by name in ImportOptions::assets; none is opened. A mesh is looked for under the name that the document
// gives, with the mesh directory before it, and without any directory. Used inside engine/import only. Throws
// ImportFailure.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/import/mesh_mass.hpp"
#include "engine/import/mjcf_defaults.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/model/convex_hull.hpp"

namespace axion::import {

class MeshAssets {
 public:
  MeshAssets(const XmlElement& root, const DefaultClasses& defaults, const DocumentSettings& documents,
             const XmlFiles& files);

  struct Mesh {
    MeshData data;  // scaled and placed, in the mesh's own frame
    MeshMass mass;
    std::optional<std::string> no_mass;  // why it has none; its frame is then its own
    int hull_limit = model::kMaxHullVertices;
    bool in_scene = false;  // SceneSpec has its hull
  };

  // A mesh as it is drawn: its file, and where the vertices of that are, scaled, in the frame of the mesh. Nothing
  // where the document itself gives the mesh, or there is no such file.
  struct Drawn {
    std::string file;
    model::Vec3d scale;
    model::Pose X_MF;
  };
  std::optional<Drawn> drawn(const Attributes& geom, bool wanted) const;

  // Whether the bytes of the mesh are at hand: in the document, or sent along.
  bool is_given(const Attributes& geom) const;
  // The mesh that a geom names, with what it weighs; refuses one that is not there or cannot be read.
  Mesh& get(const Attributes& geom, Notes& notes);
  // The vertices of its hull in the frame of its mass, as a mesh of the scene by the geom's mesh name.
  model::MeshSpec hull_of(const Attributes& geom, Mesh& mesh, Notes& notes) const;

 private:
  const Attributes& asset(const Attributes& geom) const;
  std::optional<std::string_view> bytes_of(const Attributes& asset) const;
  MeshData read(const Attributes& asset, Notes& notes) const;

  const DocumentSettings& documents_;
  const XmlFiles& files_;
  std::map<std::string, Attributes, std::less<>> assets_;
  std::map<std::string, Mesh, std::less<>> meshes_;
};

}  // namespace axion::import
