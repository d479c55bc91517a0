// Assertions: our own bugs, never a request's.
//
//   AXION_ASSERT(condition)   cheap ones and dear ones alike, in builds without NDEBUG (presets cpu, asan-ubsan, tsan);
//                             in step code on a device too. Release builds evaluate nothing.
// What must hold in every build is checked where data enters: validate_scene, validate(SolverOptions), request checks.
#pragma once

#include <cassert>

#define AXION_ASSERT(condition) assert(condition)
