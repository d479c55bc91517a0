// The part of `compile` that is about soft contacts and limits (impedance.hpp): what each body and joint gives way by
// in the reference configuration, and from it the laws of all pairs, limits and rows of dry friction. For compile.cpp
// alone; bodies, joints, shapes, pairs, limits and efforts are there already.
#pragma once

#include "engine/model/compile.hpp"
#include "engine/model/mobilities.hpp"

namespace axion::model {

// Fills shape_softness, pair_impedances, limit_impedance, the softness of efforts, softness_rule and soft_margin.
// `scene` is the one that was compiled, with its welds, and `mobilities` are the model's.
void add_softness(const SceneSpec& scene, const Mobilities& mobilities, CompiledModel& model);

}  // namespace axion::model
