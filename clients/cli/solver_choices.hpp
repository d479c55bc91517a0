// Solver options from words: --preset, --precision, --tolerance and --options=name=value.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "axion/v1/solver.pb.h"

namespace axion::cli {

// Sets the option of that name (a field of axion.v1.SolverOptions) from a word: a choice such as "axion_seed" in either
// case, "true" or "false", or a number. INVALID_ARGUMENT names the option and, for a choice, all that there are.
absl::Status set_solver_option(const std::string& name, const std::string& word, v1::SolverOptions& options);

// What the flags say.
absl::Status set_solver_options_of_flags(v1::SolverOptions& options);

}  // namespace axion::cli
