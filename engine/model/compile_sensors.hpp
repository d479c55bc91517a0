// The part of `compile` that is about sensors: their frames in principal frames, and the bodies of the scene, welded
// ones too, that subtrees and forces are summed over. For compile.cpp alone; bodies, joints, actuators and shapes are
// there already.
#pragma once

#include "engine/model/compile.hpp"

namespace axion::model {

// Fills arrays.sensors. `scene` is the one that was compiled, with its welds.
void add_sensors(const SceneSpec& scene, CompiledModel& model);

}  // namespace axion::model
