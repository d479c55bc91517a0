// Triangle meshes as files have them: STL, OBJ, MuJoCo's own MSH, and COLLADA (mesh_dae.hpp).
//
// Hostile input: counts are checked against the size of the file before anything is allocated, indices against the
// vertices. Used inside engine/import only.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::import {

struct MeshData {
  std::vector<model::Vec3d> vertices;
  std::vector<std::array<int, 3>> faces;  // empty: only points are given
  int objects = 1;                        // objects of an OBJ file that have faces
  std::size_t first_object_faces = 0;     // of the first of several
};

// Of several objects the first alone, without the vertices that only the others have.
void keep_first_object(MeshData& mesh);

inline constexpr int kMaxMeshFaces = 1 << 20;

enum class MeshFormat { kStl, kObj, kMsh, kDae };

// The message of an error continues "the file ...".
Result<MeshData> read_mesh(std::string_view bytes, MeshFormat format);

}  // namespace axion::import
