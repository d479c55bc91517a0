// What a gradient may be taken of and by, and how large the answer is (engine.hpp, step_gradient).
#pragma once

#include <cstddef>

#include "engine/backend/engine_batch.hpp"
#include "engine/backend/linearise_checks.hpp"

namespace axion::backend {

// Numbers of a world.
std::size_t numbers_of(const ModelInfo& info, Field field);
std::size_t numbers_of(const ModelInfo& info, const GradientInput& input);

// Records of the steps.
int record_count(const StepGradientSpec& spec);

// The worlds are listed. Everything but what memory there is.
Status check_step_gradient(const EngineBatch& batch, const StepGradientSpec& spec, const StepGradientOutput& output);

}  // namespace axion::backend
