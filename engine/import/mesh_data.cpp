#include "engine/import/mesh_data.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>

#include "engine/base/stop.hpp"
#include "engine/import/mesh_dae.hpp"
#include "engine/model/convex_hull.hpp"

namespace axion::import {
namespace {

static_assert(std::endian::native == std::endian::little);  // the files' numbers are taken as they are

Error bad(const std::string& what) { return invalid_argument("file", what); }

template <typename T>
T read_at(std::string_view bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

Status add_vertex(MeshData& mesh, double x, double y, double z) {
  stop_if_asked(mesh.vertices.size());
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) {
    return bad("has a vertex that is not finite, number " + std::to_string(mesh.vertices.size()));
  }
  if (mesh.vertices.size() >= static_cast<std::size_t>(model::kMaxMeshVertices)) {
    return bad("has more than " + std::to_string(model::kMaxMeshVertices) + " vertices");
  }
  mesh.vertices.push_back({x, y, z});
  return {};
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view next_word(std::string_view& line) {
  const std::size_t start = std::min(line.find_first_not_of(" \t\r"), line.size());
  line.remove_prefix(start);
  const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

// Triangles with corners of their own: equal corners become one vertex.
class CornerMesh {
 public:
  // The vertex at a corner; fails as add_vertex does.
  Status add_corner(const std::array<float, 3>& p) {
    stop_if_asked(mesh.faces.size());
    const auto [place, added] = index_.emplace(p, static_cast<int>(mesh.vertices.size()));
    if (added) {
      if (Status status = add_vertex(mesh, p[0], p[1], p[2]); !status.ok()) return status.error();
    }
    face_[corner_++] = place->second;
    if (corner_ < 3) return {};
    corner_ = 0;
    mesh.faces.push_back(face_);
    return {};
  }
  bool is_whole() const { return corner_ == 0; }

  MeshData mesh;

 private:
  std::map<std::array<float, 3>, int> index_;
  std::array<int, 3> face_{};
  std::size_t corner_ = 0;
};

// "vertex x y z" three times a facet; the other words are passed over.
Result<MeshData> read_ascii_stl(std::string_view bytes) {
  CornerMesh corners;
  int number = 0;
  while (!bytes.empty()) {
    std::string_view line = next_line(bytes);
    const std::string where = " in line " + std::to_string(++number);
    if (next_word(line) != "vertex") continue;
    std::array<float, 3> p{};
    for (float& x : p) {
      std::string_view word = next_word(line);
      if (word.size() > 1 && word[0] == '+') word.remove_prefix(1);
      double value = 0;
      if (std::from_chars(word.data(), word.data() + word.size(), value).ec != std::errc() || !std::isfinite(value)) {
        return bad("has a vertex without three finite numbers" + where);
      }
      x = static_cast<float>(value) + 0.0f;
      if (!std::isfinite(x)) return bad("has a vertex that is out of range" + where);
    }
    if (corners.mesh.faces.size() >= static_cast<std::size_t>(kMaxMeshFaces)) {
      return bad("has more than " + std::to_string(kMaxMeshFaces) + " faces");
    }
    if (Status status = corners.add_corner(p); !status.ok()) return status.error();
  }
  if (corners.mesh.faces.empty() || !corners.is_whole()) return bad("is no STL file: it has no whole facets");
  return std::move(corners.mesh);
}

// Binary files may begin with the word that begins those of text, so their length decides.
Result<MeshData> read_stl(std::string_view bytes) {
  constexpr std::size_t kHeader = 84, kFace = 50;
  const std::uint64_t count = bytes.size() < kHeader ? 0 : read_at<std::uint32_t>(bytes, 80);
  const bool fits =
      count > 0 && count <= static_cast<std::uint64_t>(kMaxMeshFaces) && bytes.size() >= kHeader + count * kFace;
  if (!fits && bytes.starts_with("solid")) return read_ascii_stl(bytes);
  if (bytes.size() < kHeader)
    return bad("is too short for a binary STL file: it has " + std::to_string(bytes.size()) + " bytes");
  if (!fits) {
    return bad("is no binary STL file: it says that it has " + std::to_string(count) + " faces, in " +
               std::to_string(bytes.size()) + " bytes");
  }
  CornerMesh corners;
  for (std::size_t f = 0; f < count; ++f) {
    for (std::size_t k = 0; k < 3; ++k) {
      std::array<float, 3> p{};
      for (std::size_t i = 0; i < 3; ++i)
        p[i] = read_at<float>(bytes, kHeader + f * kFace + 12 + 12 * k + 4 * i) + 0.0f;
      if (!std::isfinite(p[0]) || !std::isfinite(p[1]) || !std::isfinite(p[2])) {
        return bad("has a vertex that is not finite in face " + std::to_string(f));
      }
      if (Status status = corners.add_corner(p); !status.ok()) return status.error();
    }
  }
  return std::move(corners.mesh);
}

// Faces of more than three corners are fans; of each corner only its vertex is of interest ("7/2/5").
Status read_obj_face(std::string_view line, const std::string& where, MeshData& mesh) {
  std::vector<int> corners;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    int i = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), i);
    const int count = static_cast<int>(mesh.vertices.size());
    const int at = i < 0 ? count + i : i - 1;
    if (parsed.ec != std::errc() || at < 0 || at >= count) return bad("has a face with no such vertex" + where);
    corners.push_back(at);
  }
  stop_if_asked(mesh.faces.size());
  if (corners.size() < 3) return bad("has a face with fewer than three vertices" + where);
  for (std::size_t k = 2; k < corners.size(); ++k) mesh.faces.push_back({corners[0], corners[k - 1], corners[k]});
  if (mesh.faces.size() > static_cast<std::size_t>(kMaxMeshFaces)) {
    return bad("has more than " + std::to_string(kMaxMeshFaces) + " faces");
  }
  return {};
}

// An object goes on to the next line `o` or `g` with a name; one without faces is none.
Result<MeshData> read_obj(std::string_view bytes) {
  MeshData mesh;
  std::size_t object_start = 0;  // in the faces
  int number = 0;
  while (!bytes.empty()) {
    std::string_view line = next_line(bytes);
    const std::string where = " in line " + std::to_string(++number);
    const std::string_view kind = next_word(line);
    if (kind == "v") {
      double p[3] = {};
      for (double& x : p) {
        const std::string_view word = next_word(line);
        if (std::from_chars(word.data(), word.data() + word.size(), x).ec != std::errc()) {
          return bad("has a vertex without three numbers" + where);
        }
      }
      if (Status status = add_vertex(mesh, p[0], p[1], p[2]); !status.ok()) return status.error();
    } else if (kind == "f") {
      const bool starts_another = mesh.faces.size() == object_start && object_start > 0;
      if (Status status = read_obj_face(line, where, mesh); !status.ok()) return status.error();
      if (starts_another && ++mesh.objects == 2) mesh.first_object_faces = object_start;
    } else if ((kind == "o" || kind == "g") && !next_word(line).empty()) {
      object_start = mesh.faces.size();
    }
  }
  return mesh;
}

// Numbers of vertices, normals, texture coordinates and faces, then these: float, float, float and int.
Result<MeshData> read_msh(std::string_view bytes) {
  if (bytes.size() < 16) return bad("is too short for an MSH file: it has " + std::to_string(bytes.size()) + " bytes");
  std::int64_t count[4];
  for (std::size_t i = 0; i < 4; ++i) count[i] = read_at<std::int32_t>(bytes, 4 * i);
  const bool in_range = count[0] >= 4 && count[0] <= model::kMaxMeshVertices && count[3] >= 0 &&
                        count[3] <= kMaxMeshFaces && count[1] >= 0 && count[1] <= (1 << 28) && count[2] >= 0 &&
                        count[2] <= (1 << 28);
  const std::int64_t size = 16 + 12 * count[0] + 12 * count[1] + 8 * count[2] + 12 * count[3];
  if (!in_range || size != static_cast<std::int64_t>(bytes.size())) {
    return bad("is no MSH file: its counts are " + std::to_string(count[0]) + " vertices, " + std::to_string(count[1]) +
               " normals, " + std::to_string(count[2]) + " texture coordinates and " + std::to_string(count[3]) +
               " faces, in " + std::to_string(bytes.size()) + " bytes");
  }
  MeshData mesh;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count[0]); ++i) {
    const std::size_t at = 16 + 12 * i;
    Status status =
        add_vertex(mesh, read_at<float>(bytes, at), read_at<float>(bytes, at + 4), read_at<float>(bytes, at + 8));
    if (!status.ok()) return status.error();
  }
  const std::size_t faces = static_cast<std::size_t>(16 + 12 * count[0] + 12 * count[1] + 8 * count[2]);
  for (std::size_t f = 0; f < static_cast<std::size_t>(count[3]); ++f) {
    std::array<int, 3> face{};
    for (std::size_t k = 0; k < 3; ++k) {
      face[k] = read_at<std::int32_t>(bytes, faces + 12 * f + 4 * k);
      if (face[k] < 0 || face[k] >= count[0]) return bad("has a face with no such vertex, number " + std::to_string(f));
    }
    mesh.faces.push_back(face);
  }
  return mesh;
}

}  // namespace

void keep_first_object(MeshData& mesh) {
  if (mesh.objects < 2) return;
  mesh.faces.resize(mesh.first_object_faces);
  mesh.objects = 1, mesh.first_object_faces = 0;
  std::vector<int> index(mesh.vertices.size(), -1);
  std::vector<model::Vec3d> kept;
  for (auto& face : mesh.faces) {
    for (int& corner : face) {
      int& at = index[static_cast<std::size_t>(corner)];
      if (at < 0) {
        at = static_cast<int>(kept.size());
        kept.push_back(mesh.vertices[static_cast<std::size_t>(corner)]);
      }
      corner = at;
    }
  }
  mesh.vertices = std::move(kept);
}

Result<MeshData> read_mesh(std::string_view bytes, MeshFormat format) {
  switch (format) {
    case MeshFormat::kStl:
      return read_stl(bytes);
    case MeshFormat::kObj:
      return read_obj(bytes);
    case MeshFormat::kMsh:
      return read_msh(bytes);
    case MeshFormat::kDae:
      return read_dae(bytes);
  }
  return bad("is of no known format");
}

}  // namespace axion::import
