#include "engine/backend/cpu/dual_step.hpp"

namespace axion::backend {

#define AXION_DECLARE_DUAL_STEP(name)                        \
  int begin_dual_step_##name(void* step, const void* after); \
  void end_dual_step_##name(void* step, const void* slopes);

// What is passed crosses as an address, because each build has types of its own.
#define AXION_DUAL_STEP(name)                                                                             \
  gradient::DualStepRunner {                                                                              \
    [](gradient::DualStep& step, const model::WorldState<double>& after) {                                \
      return static_cast<LawWithoutDerivative>(begin_dual_step_##name(&step, &after));                    \
    },                                                                                                    \
        [](gradient::DualStep& step, const math::Slopes* slopes) { end_dual_step_##name(&step, slopes); } \
  }

AXION_DECLARE_DUAL_STEP(baseline)
#ifdef AXION_WITH_X86_64_V3
AXION_DECLARE_DUAL_STEP(x86_64_v3)
#endif
#ifdef AXION_WITH_X86_64_V4
AXION_DECLARE_DUAL_STEP(x86_64_v4)
#endif

gradient::DualStepRunner dual_step_runner() {
#ifdef AXION_WITH_X86_64_V4
  if (__builtin_cpu_supports("x86-64-v4")) return AXION_DUAL_STEP(x86_64_v4);
#endif
#ifdef AXION_WITH_X86_64_V3
  if (__builtin_cpu_supports("x86-64-v3")) return AXION_DUAL_STEP(x86_64_v3);
#endif
  return AXION_DUAL_STEP(baseline);
}

}  // namespace axion::backend
