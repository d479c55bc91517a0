// Volume, centre and inertia of a triangle mesh, as MuJoCo computes them, and the frame that it gives the mesh by them.
//
// Used inside engine/import only.
#pragma once

#include <string>

#include "engine/base/result.hpp"
#include "engine/import/mesh_data.hpp"
#include "engine/model/convex_hull.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {

// The order of MJCF's words. Exact: tetrahedra with their signs, so the faces must be closed and look outwards. Legacy:
// without their signs, which counts too much where a mesh is not convex. Convex: of the hull. Shell: of the surface.
enum class MeshInertia { kConvex, kLegacy, kExact, kShell };

struct MeshMass {
  double volume = 0;  // m^3; of a shell its area, m^2
  model::Pose X_MC;   // frame at the centre, along the principal axes, the greatest moment first, in the mesh's
  math::Vec3<double> moments{};  // of unit density, kg m^2
};

// Fails where the volume, or the area, is too small, is negative, or faces do not fit together.
Result<MeshMass> mesh_mass(const MeshData& mesh, MeshInertia kind);

// What a user is told of a mesh whose hull has more than 1.3 times its volume; empty where it has less, or where the
// surface is open or turned both ways, so that it has no volume.
std::string hollow_note(const MeshData& mesh, const model::ConvexHull& hull);

}  // namespace axion::import
