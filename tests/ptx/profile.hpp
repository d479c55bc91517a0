// What a machine counted, summed by class and by function.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/ptx/machine.hpp"

namespace axion::ptx {

struct Sum {
  Counts counts;
  std::array<U64, kClasses> classes{};  // warp instructions
  // All but parameters, which a device passes in registers.
  U64 warp_instructions() const { return counts.issued - classes[int(Class::kParameter)]; }
};

struct FunctionSum {
  std::string name;  // as in C++ where it can be said so
  Sum sum;
};

struct Profile {
  Sum total;
  std::vector<FunctionSum> functions;  // those that ran, the one with the most warp instructions first
};

Profile make_profile(const Module& module);

}  // namespace axion::ptx
