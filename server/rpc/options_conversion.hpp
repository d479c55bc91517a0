// Solver options and statistics between messages and the engine's types.
#pragma once

#include "absl/status/statusor.h"
#include "axion/v1/solver.pb.h"

#include "engine/engine.hpp"

namespace axion::server::rpc {

// The preset with each present field changed; validated by the engine. Fields are named from "options".
absl::StatusOr<model::SolverOptions> to_options(const v1::SolverOptions& message);
// Every field present.
void fill_options(const model::SolverOptions& options, v1::SolverOptions& message);

v1::JointMode to_wire(model::JointMode mode);

// "dynamics", "joint", ... in the order of ResidualBlock.
const char* residual_block_name(int block);
void fill_statistics(const StepStatistics& statistics, v1::BatchSolverStats& message);

}  // namespace axion::server::rpc
