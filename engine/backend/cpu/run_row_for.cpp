// The step for one instruction set: compiled several times, with AXION_INSTRUCTION_SET naming each (CMakeLists.txt).
//
// Every name of the engine gets a namespace of its own here. Were they shared, the linker would keep one copy of each
// inline function that several of these objects contain, and a plain machine could meet an AVX-512 one. Those of the
// baseline, for which all else is compiled, may be shared.
#define AXION_JOIN_NAMES(a, b) a##b
#define AXION_JOIN(a, b) AXION_JOIN_NAMES(a, b)
#ifndef AXION_PLAIN_NAMES
#define axion AXION_JOIN(axion_, AXION_INSTRUCTION_SET)
#endif
#include "engine/team/serial_team.hpp"
#include "engine/world/run_row.hpp"
namespace step_here = axion::step;
namespace team_here = axion::team;
namespace world_here = axion::world;
#undef axion

namespace axion::backend {

// A job has the same layout whichever namespace its types are in.
void AXION_JOIN(run_narrow_, AXION_INSTRUCTION_SET)(const void* job, int row, std::byte* scratch) {
  world_here::run_row(team_here::SerialTeam{}, *static_cast<const step_here::StepJob<float>*>(job), row, scratch);
}

void AXION_JOIN(run_wide_, AXION_INSTRUCTION_SET)(const void* job, int row, std::byte* scratch) {
  world_here::run_row(team_here::SerialTeam{}, *static_cast<const step_here::StepJob<double>*>(job), row, scratch);
}

}  // namespace axion::backend
