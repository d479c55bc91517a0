// Which build of the step on dual numbers the machine takes (dual_step_for.cpp).
#pragma once

#include "engine/math/dual.hpp"

#include "engine/gradient/dual_step.hpp"

namespace axion::backend {

// The widest that the machine has; all give the same bits.
gradient::DualStepRunner dual_step_runner();

}  // namespace axion::backend
