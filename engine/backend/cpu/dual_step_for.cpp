// The step on dual numbers for one instruction set: compiled several times, as run_row_for.cpp is, which says why every
// name of the engine gets a namespace of its own here.
#define AXION_JOIN_NAMES(a, b) a##b
#define AXION_JOIN(a, b) AXION_JOIN_NAMES(a, b)
#define axion AXION_JOIN(axion_dual_, AXION_INSTRUCTION_SET)
#include "engine/math/dual.hpp"

#include "engine/gradient/dual_step.hpp"
namespace gradient_here = axion::gradient;
namespace math_here = axion::math;
namespace model_here = axion::model;
#undef axion

namespace axion::backend {

// What is passed has the same layout whichever namespace its types are in.
int AXION_JOIN(begin_dual_step_, AXION_INSTRUCTION_SET)(void* step, const void* after) {
  return static_cast<int>(gradient_here::begin_dual_step(*static_cast<gradient_here::DualStep*>(step),
                                                         *static_cast<const model_here::WorldState<double>*>(after)));
}

void AXION_JOIN(end_dual_step_, AXION_INSTRUCTION_SET)(void* step, const void* slopes) {
  gradient_here::end_dual_step(*static_cast<gradient_here::DualStep*>(step),
                               static_cast<const math_here::Slopes*>(slopes));
}

}  // namespace axion::backend
