// STL, OBJ, MSH and DAE, by the first byte: the reader, the mass of what it read, and its hull.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "engine/import/mesh_data.hpp"
#include "engine/import/mesh_mass.hpp"

#include "tests/fuzz/scene_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using axion::import::MeshFormat;
  if (size < 1) return 0;
  const MeshFormat formats[] = {MeshFormat::kStl, MeshFormat::kObj, MeshFormat::kMsh, MeshFormat::kDae};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto mesh = axion::import::read_mesh(bytes, formats[data[0] % 4]);
  if (!mesh.ok()) return 0;
  const int count = static_cast<int>(mesh.value().vertices.size());
  for (const auto& face : mesh.value().faces) {
    for (const int vertex : face) {
      if (vertex < 0 || vertex >= count) std::abort();
    }
  }
  axion::import::mesh_mass(mesh.value(), {});
  axion::model::SceneSpec scene;
  scene.meshes.push_back({.name = "mesh", .vertices = mesh.value().vertices});
  axion::model::BodySpec body;
  body.name = "body";
  body.mass = 1;
  body.I_Bcm = {1, 1, 1, 0, 0, 0};
  scene.bodies.push_back(body);
  axion::model::ShapeSpec shape;
  shape.name = "shape";
  shape.kind = axion::model::ShapeKind::kMesh;
  shape.body = 0;
  shape.mesh = "mesh";
  scene.shapes.push_back(shape);
  axion::fuzz::compile_scene(scene);
  return 0;
}
