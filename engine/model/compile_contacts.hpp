// The part of `compile` that is about contacts: which shapes may touch, the list of pairs of a small model, and how
// many contacts a world holds. For compile.cpp alone; bodies, joints and shapes are there already.
#pragma once

#include "engine/model/compile.hpp"

namespace axion::model {

// Fills shape_contacts, neighbours, excludes, pairs, shape_moments, pair_moments, surface_motions, contact_capacity,
// moment_capacity and candidate_capacity. Time and memory grow with the scene, not with its pairs.
void add_contacts(CompiledModel& model);

}  // namespace axion::model
