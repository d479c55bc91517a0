// The part of `compile` that is about soft contacts and limits (impedance.hpp): what each body and joint gives way by
// in the reference configuration, and from it the laws of all pairs and limits. For compile.cpp alone; bodies, joints,
// shapes and pairs are there already. Limits of tendons stay rigid.
#pragma once

#include "engine/model/compile.hpp"

namespace axion::model {

// Fills shape_softness, pair_impedances, limit_impedance, softness_rule and soft_margin. `scene` is the one that was
// compiled, with its welds.
void add_softness(const SceneSpec& scene, CompiledModel& model);

}  // namespace axion::model
