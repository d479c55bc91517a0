// The meshes of a scene as the hulls that the narrow phase collides with, in the layout that it reads (collide/shape.hpp).
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

// Moves a shape to its hull's centroid, and gives it the hull.
void place_hull(const CompiledHulls& hulls, const std::string& mesh, ShapeData<double>& shape);

// Radius of the sphere about a shape's origin that holds it; infinite for a plane. For a mesh, `size` is that of place_hull.
double bounding_radius(ShapeKind kind, const math::Vec3<double>& size);

}  // namespace axion::model
