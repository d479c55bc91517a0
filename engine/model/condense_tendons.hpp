// Which tendons the tree factorisation condenses into their bodies. Part of `compile`, after limits and efforts.
//
// A tendon that is a node of the factorisation (tree/tree_nodes.hpp) is eliminated after all bodies, so that tendons
// that share bodies meet each other, all with all: of the hundreds of muscles about a skeleton's twenty bodies that is
// most of a step, and of its memory. A tendon along which nothing acts but a spring, a damper, armature, a muscle or
// another drive without bounds has one row that gives way, J u + C λ = α C, so that its impulse follows from the
// velocities, and the row can go into the bodies as a contact's do: Jᵀ J / C for each pair of them, and no node at all.
#pragma once

#include "engine/model/compile.hpp"

namespace axion::model {

// Fills TendonData::node, node_tendons, condensed_start, condensed_tendons and condensed_pairs.
void condense_tendons(ModelArrays<double>& a);

}  // namespace axion::model
