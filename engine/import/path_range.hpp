// How short and how long a tendon's path through space gets within the ranges of the joints between its points.
//
// Used inside engine/import only.
#pragma once

#include <vector>

#include "engine/model/scene_spec.hpp"

namespace axion::import {

inline constexpr int kMostPathAxes = 40;

// From the reference configuration on, one joint coordinate after the other is put where the path is shortest, or
// longest, until nothing gains any more: as a pull on the path would do, a nearest extreme and not always the greatest.
// Hinges and balls without a range may turn all the way round. False where what is between the points has a slide
// without a range, a ball with one or a free joint, or more than kMostPathAxes coordinates.
bool find_path_range(const model::SceneSpec& spec, const std::vector<model::TendonPointSpec>& path, double& lower,
                     double& upper);

}  // namespace axion::import
