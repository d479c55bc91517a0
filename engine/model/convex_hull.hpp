// The convex hull of a mesh, with no more vertices than the narrow phase looks at.
//
// By qhull (Barber, Dobkin, Huhdanpaa 1996). Where the hull has more vertices than the limit, those are kept that lie
// farthest out of the hull of the ones kept before, from the extreme points on; so the simplified hull lies within the
// true one, and `loss` says by how much at most.
//
// The result depends on the points alone, in their order. Fails on fewer than four points, on points that are not
// finite, and on points in a plane, naming "vertices". Called by compile and by importers.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "engine/base/result.hpp"
#include "engine/model/scene_limits.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::model {

// Most vertices of a hull that shapes collide with. All of them are looked at for each direction that the narrow phase
// asks about.
inline constexpr int kMaxHullVertices = 64;

struct ConvexHull {
  std::vector<Vec3d> vertices;            // in the order of the points they come from
  std::vector<std::array<int, 3>> faces;  // counted so that normals point outwards
  Vec3d centroid{0, 0, 0};
  double centroid_depth = 0;  // m, of the centroid below the nearest face
  double radius = 0;          // m, from the centroid to the farthest vertex
  int full_vertex_count = 0;  // before simplification
  double loss = 0;            // m, greatest distance of a vertex that was left out
};

Result<ConvexHull> convex_hull(const std::vector<Vec3d>& points, int most_vertices = kMaxHullVertices);

// What a user is told of a hull that was simplified; empty where it was not.
std::string simplification_note(const ConvexHull& hull);

}  // namespace axion::model
