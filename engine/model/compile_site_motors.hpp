// Motors at sites, and which of them act on each body.
//
// Used by compile, when the actuators are there. Returns whether any body feels one.
#pragma once

#include <vector>

#include "engine/model/compile.hpp"

namespace axion::model {

bool add_site_motors(CompiledModel& model, std::vector<BodyForceData<double>>& forces);

// Those of the motors that press bodies, of `scene`, which the model was compiled from.
void add_adhesions(const SceneSpec& scene, CompiledModel& model);

}  // namespace axion::model
