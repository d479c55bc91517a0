// The meshes of a scene as the hulls that the narrow phase collides with, in the layout that it reads
// (collide/shape.hpp).
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

struct CompiledHulls {
  std::map<std::string, CompiledHull, std::less<>> by_name;
  std::vector<double> vertices;
  std::vector<std::string> warnings;
};

// Leaves of each mesh the vertices of its hull.
Result<CompiledHulls> compile_hulls(std::vector<MeshSpec>& meshes);

// What follows from a shape's kind, once it is in its place: the radius about its origin that holds it, infinite for a
// plane; and of a mesh its hull, whose centroid its origin is moved to.
void complete_shape(const CompiledHulls& hulls, const ShapeSpec& spec, ShapeData<double>& shape);

}  // namespace axion::model
