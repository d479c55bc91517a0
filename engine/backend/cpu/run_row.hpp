// The step compiled for the CPU, once for each instruction set: one row of a job, by a team of one thread.
//
// All of them give the same bits: no multiplication and addition is fused, and whatever is reduced is reduced in an
// order that the code states (team.hpp). Wider sets are only faster.
#pragma once

#include <string>
#include <vector>

#include "engine/step/run_steps.hpp"

namespace axion::backend {

struct RowRunner {
  const char* instruction_set;  // "x86-64", "x86-64-v3", "x86-64-v4" (System V ABI), or "generic" on other machines
  void (*run_narrow)(const step::StepJob<float>& job, int row, std::byte* scratch);
  void (*run_wide)(const step::StepJob<double>& job, int row, std::byte* scratch);
};

// Those that this build has and this machine runs, from the plainest to the widest; at least one.
std::vector<RowRunner> usable_row_runners();

}  // namespace axion::backend
