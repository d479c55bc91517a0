// The one place where the CPU backend compiles the step: one row of a job, by a team of one thread.
#pragma once

#include "engine/step/run_steps.hpp"

namespace axion::backend {

void run_row_on_cpu(const step::StepJob<float>& job, int row, std::byte* scratch);
void run_row_on_cpu(const step::StepJob<double>& job, int row, std::byte* scratch);

}  // namespace axion::backend
