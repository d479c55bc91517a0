// Tendons and equalities of coordinates as rows over the axes of joints. Part of `compile`, after its joints.
#pragma once

#include <vector>

#include "engine/model/compile.hpp"

namespace axion::model {

// Adds their axes, locks and terms; `friction_loss` [axis] gets that of each tendon. Returns the axis of each tendon of
// the scene, -1 where nothing acts along it.
std::vector<int> add_tendons(CompiledModel& model, std::vector<double>& friction_loss);

}  // namespace axion::model
