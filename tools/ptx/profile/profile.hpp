// What a machine ran, and what its accesses took, summed by class, function and line of the source.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tools/ptx/interpreter/machine.hpp"
#include "tools/ptx/profile/traffic.hpp"

namespace axion::ptx {

struct Sum {
  Counts counts;
  TrafficCounts traffic;
  std::array<U64, kClasses> classes{};  // warp instructions
  // All but parameters, which a device passes in registers.
  U64 warp_instructions() const { return counts.issued - classes[int(Class::kParameter)]; }
};

struct NamedSum {
  std::string name;
  Sum sum;
  std::vector<NamedSum> lines;  // of a function, those of the source that it is made of
};

struct Profile {
  Sum total;
  // What ran, the one with the most warp instructions first: functions, by their names in C++ where they have such, and
  // lines of the source.
  std::vector<NamedSum> functions, lines;
};

// Of all that ran since counts were cleared (Machine::clear_counts, TrafficCounter::clear).
Profile make_profile(const Module& module, const TrafficCounter& traffic);

// For sass.py: a line for each function (its name in PTX) and line of the source that it has, with the instructions
// that PTX has there and how many of them warps issued, parted by tabs. Parameters are left out of both. False where
// the file cannot be written.
bool write_line_counts(const Module& module, const std::string& path);

}  // namespace axion::ptx
