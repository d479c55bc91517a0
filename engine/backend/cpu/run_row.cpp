#include "engine/backend/cpu/run_row.hpp"

namespace axion::backend {

#define AXION_DECLARE_RUNNER(name)                              \
  void run_narrow_##name(const void* job, int row, std::byte*); \
  void run_wide_##name(const void* job, int row, std::byte*);

// One pair of functions of run_row_for.cpp. The job crosses as an address, because each build of the step has types of
// its own.
#define AXION_RUNNER(text, name)                                                                                       \
  RowRunner {                                                                                                          \
    text, [](const step::StepJob<float>& job, int row, std::byte* scratch) { run_narrow_##name(&job, row, scratch); }, \
        [](const step::StepJob<double>& job, int row, std::byte* scratch) { run_wide_##name(&job, row, scratch); }     \
  }

AXION_DECLARE_RUNNER(baseline)
#ifdef AXION_WITH_X86_64_V3
AXION_DECLARE_RUNNER(x86_64_v3)
#ifdef AXION_WITH_X86_64_V4
AXION_DECLARE_RUNNER(x86_64_v4)
#endif

std::vector<RowRunner> usable_row_runners() {
  std::vector<RowRunner> runners{AXION_RUNNER("x86-64", baseline)};
  if (__builtin_cpu_supports("x86-64-v3")) runners.push_back(AXION_RUNNER("x86-64-v3", x86_64_v3));
#ifdef AXION_WITH_X86_64_V4
  if (__builtin_cpu_supports("x86-64-v4")) runners.push_back(AXION_RUNNER("x86-64-v4", x86_64_v4));
#endif
  return runners;
}
#else
std::vector<RowRunner> usable_row_runners() { return {AXION_RUNNER("generic", baseline)}; }
#endif

}  // namespace axion::backend
