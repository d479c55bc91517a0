// The meshes of a scene as the hulls that the narrow phase collides with, and its height fields, in the layout that it
// reads (collide/shape.hpp, height_field.hpp).
//
// Called by compile alone. An error names the mesh and what is wrong with its vertices.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/model/model_data.hpp"

namespace axion::model {

struct CompiledHull {
  math::Vec3<double> centroid;  // in the mesh's frame: the origin of the hull's vertices
  double depth, radius;         // of the centroid below the nearest face, and to the farthest vertex; m
  int start, stride, count;
};

struct CompiledField {
  math::Vec3<double> size;  // half of the lengths along x and y, and the radius that holds it; m
  int start, columns, rows;
};

struct CompiledHulls {
  std::map<std::string, CompiledHull, std::less<>> by_name;
  std::map<std::string, CompiledField, std::less<>> fields;
  std::vector<double> vertices;  // of the hulls, then numbers of the height fields
  std::vector<std::string> warnings;
};

// Leaves of each mesh the vertices of its hull.
Result<CompiledHulls> compile_hulls(std::vector<MeshSpec>& meshes);

void add_height_fields(const std::vector<HeightFieldSpec>& fields, CompiledHulls& hulls);

// What follows from a shape's kind, once it is in its place: the radius about its origin that holds it, infinite for a
// plane; of a mesh its hull, whose centroid its origin is moved to, and of a height field its numbers.
void complete_shape(const CompiledHulls& hulls, const ShapeSpec& spec, ShapeData<double>& shape);

}  // namespace axion::model
