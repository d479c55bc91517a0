#include "engine/model/compile_hulls.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/model/convex_hull.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

constexpr int kHullLanes = 8;  // vertices are looked at this many at once (collide/shape.hpp)

// Of a mesh and a height field `size` is that of complete_shape.
double bounding_radius(ShapeKind kind, const math::Vec3<double>& size) {
  switch (kind) {
    case ShapeKind::kPlane:
      return std::numeric_limits<double>::infinity();
    case ShapeKind::kSphere:
      return size.x;
    case ShapeKind::kCapsule:
      return size.x + size.y;
    case ShapeKind::kBox:
      return math::norm(size);
    case ShapeKind::kCylinder:
      return std::sqrt(size.x * size.x + size.y * size.y);
    case ShapeKind::kEllipsoid:
      return std::max({size.x, size.y, size.z});
    case ShapeKind::kMesh:
      return size.y;
    case ShapeKind::kHeightField:
      return size.z;
  }
  return 0;
}

}  // namespace

Result<CompiledHulls> compile_hulls(std::vector<MeshSpec>& meshes) {
  CompiledHulls hulls;
  for (std::size_t i = 0; i < meshes.size(); ++i) {
    MeshSpec& mesh = meshes[i];
    Result<ConvexHull> made = convex_hull(mesh.vertices);
    if (!made.ok()) {
      const std::string item = "meshes[" + std::to_string(i) + "].";
      return Error{made.error().code, item + made.error().field, item + made.error().message};
    }
    const ConvexHull& hull = made.value();
    if (std::string note = simplification_note(hull); !note.empty()) {
      hulls.warnings.push_back("Mesh \"" + mesh.name + "\": " + note + ".");
    }
    const int count = static_cast<int>(hull.vertices.size()), start = static_cast<int>(hulls.vertices.size());
    const int stride = (count + kHullLanes - 1) / kHullLanes * kHullLanes;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      for (int k = 0; k < stride; ++k) {
        const Vec3d& vertex = hull.vertices[static_cast<std::size_t>(k < count ? k : 0)];
        hulls.vertices.push_back(vertex[axis] - hull.centroid[axis]);
      }
    }
    hulls.by_name.emplace(mesh.name,
                          CompiledHull{to_vec3(hull.centroid), hull.centroid_depth, hull.radius, start, stride, count});
    mesh.vertices = hull.vertices;
  }
  return hulls;
}

void add_height_fields(const std::vector<HeightFieldSpec>& fields, CompiledHulls& hulls) {
  for (const HeightFieldSpec& field : fields) {
    const auto [lowest, highest] = std::minmax_element(field.heights.begin(), field.heights.end());
    const double high = *highest, low = *lowest, end = std::max({field.base, std::abs(high), std::abs(low)});
    const double radius = std::sqrt(field.half_x * field.half_x + field.half_y * field.half_y + end * end);
    hulls.fields.emplace(
        field.name,
        CompiledField{
            {field.half_x, field.half_y, radius}, static_cast<int>(hulls.vertices.size()), field.columns, field.rows});
    hulls.vertices.insert(hulls.vertices.end(), {field.base, high, low});
    hulls.vertices.insert(hulls.vertices.end(), field.heights.begin(), field.heights.end());
  }
}

void complete_shape(const CompiledHulls& hulls, const ShapeSpec& spec, ShapeData<double>& shape) {
  if (shape.kind == ShapeKind::kMesh) {
    const CompiledHull& hull = hulls.by_name.find(spec.mesh)->second;
    shape.p_CS += math::rotate(shape.q_CS, hull.centroid);
    shape.size = {hull.depth, hull.radius, 0};
    shape.hull_start = hull.start, shape.hull_stride = hull.stride, shape.hull_count = hull.count;
  }
  if (shape.kind == ShapeKind::kHeightField) {
    const CompiledField& field = hulls.fields.find(spec.height_field)->second;
    shape.size = field.size;
    shape.hull_start = field.start, shape.hull_stride = field.columns, shape.hull_count = field.rows;
  }
  shape.bounding_radius = bounding_radius(shape.kind, shape.size);
}

}  // namespace axion::model
