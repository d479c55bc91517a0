// add_mocaps: which entries of a model's tables go with bodies that clients place (MocapUse).
//
// Called by compile when joints, shapes and sensors are there. Cannot fail: validate_scene has refused what would go
// with a mocap body otherwise.
#pragma once

#include "engine/model/compile.hpp"

namespace axion::model {

void add_mocaps(CompiledModel& model);

}  // namespace axion::model
