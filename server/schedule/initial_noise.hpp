// Reproducible noise on the initial state of a world: a function of the world's seed alone.
#pragma once

#include <cstdint>
#include <span>

#include "engine/engine.hpp"

#include "server/schedule/batch_handle.hpp"

namespace axion::server::schedule {

// Seed of a world that was given none of its own.
std::uint64_t world_seed(std::uint64_t batch_seed, std::uint64_t world);

// Adds uniform noise to the coordinates `q` (nq) and rates `v` (nv) of hinges and slides of one world; those with
// limits stay within them. Coordinate i takes the i-th number of the seed's sequence, so adding velocity noise leaves
// the positions as they were.
void perturb(const ModelInfo& model, const InitialNoise& noise, std::uint64_t seed, std::span<double> q,
             std::span<double> v);

}  // namespace axion::server::schedule
