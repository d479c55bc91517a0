// What may be linearised, and how large the answer is (engine.hpp, linearise).
#pragma once

#include <cstddef>

#include "engine/backend/engine_batch.hpp"

namespace axion::backend {

// Numbers of a world: joint coordinates, their rates, activations, controls, sensor_data, mocap poses.
struct LinearisationSizes {
  std::size_t nq, nv, na, nu, ny, mocaps;
  std::size_t x() const { return 2 * nv + na; }
  std::size_t columns() const { return x() + nu; }
};
LinearisationSizes linearisation_sizes(const ModelInfo& info);

// What worlds are stepped with for a batch of these options.
model::SolverOptions tight_options(model::SolverOptions options);

// Columns of a launch, each by two worlds: as many as the device steps at once; and launches of a world and step, the
// first of them that of the trajectory.
std::size_t columns_of_launch(const DeviceInfo& device, const LinearisationSizes& sizes);
std::size_t items_of_step(std::size_t columns_at_once, const LinearisationSizes& sizes);

// The worlds are listed. Everything but what memory there is.
Status check_linearisation(const EngineBatch& batch, const LinearisationSpec& spec, const LinearisationOutput& output);

}  // namespace axion::backend
