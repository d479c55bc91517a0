// How the length of a tendon's path through space grows with the motion of bodies, in the reference configuration.
#pragma once

#include <vector>

#include "engine/model/row.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::model {

// By the motion of each body's origin and the turning about it, in world axes: [body] l and k_a.
std::vector<Row<double>> path_growths(const SceneSpec& scene, const std::vector<TendonPointSpec>& path);

}  // namespace axion::model
