#include "engine/import/mesh_dae.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "engine/import/xml_tree.hpp"
#include "engine/math/mat3.hpp"
#include "engine/math/quat.hpp"
#include "engine/model/convex_hull.hpp"

namespace axion::import {
namespace {

using Vec = math::Vec3<double>;
using Mat = math::Mat3<double>;

constexpr int kMaxNodes = 1 << 16;  // visited, those of instances again each time
constexpr int kMaxDepth = 64;       // of nodes within nodes, through instances too

struct Failure {
  std::string what;
};

[[noreturn]] void fail(const std::string& what) { throw Failure{what}; }

// x -> M x + t
struct Placement {
  Mat M = Mat::identity();
  Vec t{};
};
Placement operator*(const Placement& a, const Placement& b) { return {a.M * b.M, a.M * b.t + a.t}; }

template <typename Number>
std::vector<Number> numbers_of(const XmlElement& element, std::size_t most) {
  std::vector<Number> numbers;
  const char* at = element.text.data();
  const char* const end = at + element.text.size();
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (true) {
    while (at != end && is_space(*at)) ++at;
    if (at == end) return numbers;
    Number value{};
    const auto parsed = std::from_chars(at, end, value);
    const bool whole = parsed.ec == std::errc() && (parsed.ptr == end || is_space(*parsed.ptr));
    if (!whole || !std::isfinite(static_cast<double>(value)))
      fail("has something else than numbers in " + describe(element));
    if (numbers.size() >= most) fail("has more than " + std::to_string(most) + " numbers in " + describe(element));
    numbers.push_back(value);
    at = parsed.ptr;
  }
}

const XmlElement* child_of(const XmlElement& element, std::string_view tag) {
  for (const XmlElement& child : element.children) {
    if (child.tag == tag) return &child;
  }
  return nullptr;
}

std::string_view attribute(const XmlElement& element, std::string_view name) {
  const XmlAttribute* given = element.find(name);
  return given == nullptr ? std::string_view() : std::string_view(given->value);
}

int integer(const XmlElement& element, std::string_view name, int otherwise) {
  const std::string_view text = attribute(element, name);
  if (text.empty()) return otherwise;
  int value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || value < 0 || value > 1024)
    fail("has no such " + std::string(name) + " in " + describe(element));
  return value;
}

class DaeReader {
 public:
  explicit DaeReader(const XmlElement& root) : root_(root) { index(root); }

  MeshData read() {
    Placement unit;
    if (const XmlElement* asset = child_of(root_, "asset"); asset != nullptr) {
      if (const XmlElement* element = child_of(*asset, "unit"); element != nullptr) unit.M = scale_of(*element);
    }
    const XmlElement* scene = scene_element();
    if (scene != nullptr) {
      for (const XmlElement& child : scene->children) visit(child, unit, 0);
    } else {
      for (const XmlElement& library : root_.children) {
        if (library.tag != "library_geometries") continue;
        for (const XmlElement& geometry : library.children) add_geometry(geometry, unit);
      }
    }
    if (mesh_.vertices.empty()) fail("has no triangles or polygons in its scene");
    return std::move(mesh_);
  }

 private:
  // The document is at most kMaxXmlDepth deep.
  void index(const XmlElement& element) {
    if (const std::string_view id = attribute(element, "id"); !id.empty()) ids_.emplace(id, &element);
    for (const XmlElement& child : element.children) index(child);
  }

  // What "#id" names, of that tag; null where it is in another file or nowhere.
  const XmlElement* find(std::string_view url, std::string_view tag) const {
    if (!url.starts_with('#')) return nullptr;
    const auto found = ids_.find(url.substr(1));
    return found == ids_.end() || found->second->tag != tag ? nullptr : found->second;
  }

  const XmlElement* scene_element() const {
    if (const XmlElement* scene = child_of(root_, "scene"); scene != nullptr) {
      if (const XmlElement* instance = child_of(*scene, "instance_visual_scene"); instance != nullptr) {
        if (const XmlElement* named = find(attribute(*instance, "url"), "visual_scene"); named != nullptr) return named;
      }
    }
    const XmlElement* library = child_of(root_, "library_visual_scenes");
    return library == nullptr ? nullptr : child_of(*library, "visual_scene");
  }

  static Mat scale_of(const XmlElement& unit) {
    const std::string_view text = attribute(unit, "meter");
    double meter = 1;
    if (!text.empty()) {
      const auto parsed = std::from_chars(text.data(), text.data() + text.size(), meter);
      if (parsed.ec != std::errc() || !(meter > 1e-9 && meter < 1e9)) fail("has a unit that is no length");
    }
    return Mat::diagonal(meter, meter, meter);
  }

  static Placement placement_of(const XmlElement& element);
  void visit(const XmlElement& node, const Placement& outer, int depth);
  void add_geometry(const XmlElement& geometry, const Placement& X);
  void add_faces(const XmlElement& primitive, const XmlElement& mesh, const Placement& X);
  void add_polygon(const std::vector<int>& corners, std::size_t first, std::size_t count, std::size_t stride,
                   std::size_t offset, const std::vector<int>& vertex, bool mirrored);
  const std::vector<double>& positions(const XmlElement& mesh, std::string_view url, std::size_t& stride);
  int add_vertex(const Vec& p);

  const XmlElement& root_;
  std::map<std::string_view, const XmlElement*> ids_;
  std::map<const XmlElement*, std::vector<double>> arrays_;
  MeshData mesh_;
  int visited_ = 0;
};

Placement DaeReader::placement_of(const XmlElement& element) {
  const std::vector<double> n = numbers_of<double>(element, 16);
  const auto want = [&](std::size_t count) {
    if (n.size() != count) fail("has not " + std::to_string(count) + " numbers in " + describe(element));
  };
  Placement X;
  if (element.tag == "matrix") {
    want(16);
    X.M = Mat{{{n[0], n[1], n[2]}, {n[4], n[5], n[6]}, {n[8], n[9], n[10]}}};
    X.t = {n[3], n[7], n[11]};
  } else if (element.tag == "translate") {
    want(3);
    X.t = {n[0], n[1], n[2]};
  } else if (element.tag == "scale") {
    want(3);
    X.M = Mat::diagonal(n[0], n[1], n[2]);
  } else {
    want(4);  // rotate: axis and degrees
    const double length = std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]),
                 half = n[3] * (3.14159265358979323846 / 360.0);
    if (!(length > 0)) return X;
    const double s = std::sin(half) / length;
    X.M = math::to_matrix(math::normalized(math::Quat<double>{std::cos(half), s * n[0], s * n[1], s * n[2]}));
  }
  return X;
}

void DaeReader::visit(const XmlElement& node, const Placement& outer, int depth) {
  if (node.tag != "node") return;
  if (depth > kMaxDepth) fail("has nodes more than " + std::to_string(kMaxDepth) + " deep");
  if (++visited_ > kMaxNodes) fail("has more than " + std::to_string(kMaxNodes) + " nodes");
  Placement X = outer;
  for (const XmlElement& child : node.children) {
    if (child.tag == "matrix" || child.tag == "translate" || child.tag == "rotate" || child.tag == "scale") {
      X = X * placement_of(child);
    } else if (child.tag == "skew" || child.tag == "lookat") {
      fail("places a node by <" + child.tag + ">, which is not read: " + describe(child));
    }
  }
  for (const XmlElement& child : node.children) {
    if (child.tag == "instance_geometry") {
      if (const XmlElement* geometry = find(attribute(child, "url"), "geometry"); geometry != nullptr)
        add_geometry(*geometry, X);
    } else if (child.tag == "instance_node") {
      if (const XmlElement* other = find(attribute(child, "url"), "node"); other != nullptr)
        visit(*other, X, depth + 1);
    } else {
      visit(child, X, depth + 1);
    }
  }
}

void DaeReader::add_geometry(const XmlElement& geometry, const Placement& X) {
  const XmlElement* mesh = child_of(geometry, "mesh");
  if (mesh == nullptr) return;
  for (const XmlElement& primitive : mesh->children) {
    if (primitive.tag == "triangles" || primitive.tag == "polylist" || primitive.tag == "polygons")
      add_faces(primitive, *mesh, X);
  }
}

// The array behind an input that names <vertices>.
const std::vector<double>& DaeReader::positions(const XmlElement& mesh, std::string_view url, std::size_t& stride) {
  const XmlElement* vertices = find(url, "vertices");
  const XmlElement* source = nullptr;
  if (vertices != nullptr) {
    for (const XmlElement& input : vertices->children) {
      if (input.tag == "input" && attribute(input, "semantic") == "POSITION")
        source = find(attribute(input, "source"), "source");
    }
  }
  const XmlElement* array = source == nullptr ? nullptr : child_of(*source, "float_array");
  if (array == nullptr) fail("has faces without positions of vertices in " + describe(mesh));
  const XmlElement* technique = child_of(*source, "technique_common");
  const XmlElement* accessor = technique == nullptr ? nullptr : child_of(*technique, "accessor");
  stride = static_cast<std::size_t>(accessor == nullptr ? 3 : integer(*accessor, "stride", 3));
  if (stride < 3) fail("has positions of fewer than three numbers in " + describe(*source));
  auto found = arrays_.find(array);
  if (found == arrays_.end()) {
    const std::size_t most = static_cast<std::size_t>(model::kMaxMeshVertices) * stride;
    found = arrays_.emplace(array, numbers_of<double>(*array, most)).first;
  }
  return found->second;
}

int DaeReader::add_vertex(const Vec& p) {
  if (mesh_.vertices.size() >= static_cast<std::size_t>(model::kMaxMeshVertices)) {
    fail("has more than " + std::to_string(model::kMaxMeshVertices) + " vertices");
  }
  if (!std::isfinite(p.x) || !std::isfinite(p.y) || !std::isfinite(p.z)) fail("has a vertex that is not finite");
  mesh_.vertices.push_back({p.x, p.y, p.z});
  return static_cast<int>(mesh_.vertices.size()) - 1;
}

void DaeReader::add_faces(const XmlElement& primitive, const XmlElement& mesh, const Placement& X) {
  std::size_t offset = 0, stride = 0, width = 3;
  const std::vector<double>* points = nullptr;
  for (const XmlElement& input : primitive.children) {
    if (input.tag != "input") continue;
    const auto at = static_cast<std::size_t>(integer(input, "offset", 0));
    stride = std::max(stride, at + 1);
    if (attribute(input, "semantic") != "VERTEX") continue;
    offset = at;
    points = &positions(mesh, attribute(input, "source"), width);
  }
  if (points == nullptr) fail("has faces without vertices in " + describe(primitive));
  const bool mirrored = math::dot(math::cross(X.M.row[0], X.M.row[1]), X.M.row[2]) < 0;
  std::vector<int> vertex(points->size() / width, -1);  // [of the file] of the mesh, those that faces have
  std::vector<int> counts;
  const std::size_t most = 4 * static_cast<std::size_t>(kMaxMeshFaces) * stride;
  if (const XmlElement* vcount = child_of(primitive, "vcount"); vcount != nullptr && primitive.tag == "polylist") {
    counts = numbers_of<int>(*vcount, static_cast<std::size_t>(kMaxMeshFaces));
  }
  for (const XmlElement& p : primitive.children) {
    if (p.tag != "p") continue;
    const std::vector<int> corners = numbers_of<int>(p, most);
    for (std::size_t i = offset; i < corners.size(); i += stride) {
      const int c = corners[i];
      if (c < 0 || static_cast<std::size_t>(c) >= vertex.size())
        fail("has a face with no such vertex in " + describe(p));
      int& place = vertex[static_cast<std::size_t>(c)];
      const double* x = points->data() + width * static_cast<std::size_t>(c);
      if (place < 0) place = add_vertex(X.M * Vec{x[0], x[1], x[2]} + X.t);
    }
    const std::size_t total = corners.size() / stride;
    std::size_t first = 0;
    if (primitive.tag == "triangles") counts.assign(total / 3, 3);
    if (primitive.tag == "polygons") counts.assign(1, static_cast<int>(total));
    for (int count : counts) {
      if (count < 0 || first + static_cast<std::size_t>(count) > total)
        fail("has fewer corners than its faces in " + describe(p));
      add_polygon(corners, first, static_cast<std::size_t>(count), stride, offset, vertex, mirrored);
      first += static_cast<std::size_t>(count);
    }
  }
}

// A fan about its first corner.
void DaeReader::add_polygon(const std::vector<int>& corners, std::size_t first, std::size_t count, std::size_t stride,
                            std::size_t offset, const std::vector<int>& vertex, bool mirrored) {
  const auto at = [&](std::size_t k) {
    return vertex[static_cast<std::size_t>(corners[(first + k) * stride + offset])];
  };
  for (std::size_t k = 2; k < count; ++k) {
    if (mesh_.faces.size() >= static_cast<std::size_t>(kMaxMeshFaces)) {
      fail("has more than " + std::to_string(kMaxMeshFaces) + " faces");
    }
    mesh_.faces.push_back(mirrored ? std::array<int, 3>{at(0), at(k), at(k - 1)}
                                   : std::array<int, 3>{at(0), at(k - 1), at(k)});
  }
}

}  // namespace

Result<MeshData> read_dae(std::string_view bytes) {
  const Result<XmlElement> root = read_xml_alone(bytes, true);
  if (!root.ok()) return invalid_argument("file", "is no COLLADA file: " + root.error().message);
  if (root.value().tag != "COLLADA") return invalid_argument("file", "is no COLLADA file: its root is not <COLLADA>");
  try {
    return DaeReader(root.value()).read();
  } catch (const Failure& failure) {
    return invalid_argument("file", failure.what);
  }
}

}  // namespace axion::import
