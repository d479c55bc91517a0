#include "tools/ptx/profile/profile.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

namespace axion::ptx {
namespace {

void add(Sum& sum, const Counts& c, const TrafficCounts& t, Class kind) {
  sum.counts.issued += c.issued, sum.counts.lanes += c.lanes;
  TrafficCounts& traffic = sum.traffic;
  traffic.local += t.local, traffic.shared += t.shared, traffic.far += t.far;
  traffic.sectors += t.sectors, traffic.local_sectors += t.local_sectors, traffic.wavefronts += t.wavefronts;
  sum.classes[static_cast<std::size_t>(kind)] += c.issued;
}

std::string readable(const std::string& name) {
  const std::size_t start = name.find("_ZN");
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str() + (start == name.npos ? 0 : start), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  // Without the arguments.
  if (const std::size_t end = result.find(">("); end != result.npos) result.erase(end + 1);
  return result;
}

}  // namespace

Profile make_profile(const Module& module, const TrafficCounter& traffic) {
  Profile profile;
  std::map<std::pair<U32, U32>, NamedSum> lines;
  for (const auto& [name, function] : module.functions) {
    NamedSum f;
    f.name = readable(name);
    std::map<std::pair<U32, U32>, NamedSum> own;
    for (std::size_t k = 0; k < function->code.size(); ++k) {
      const Instruction& i = function->code[k];
      const Counts& counts = function->counts[k];
      const TrafficCounts took = traffic.of(*function, k);
      add(f.sum, counts, took, i.kind);
      add(profile.total, counts, took, i.kind);
      if (counts.issued == 0) continue;
      for (auto* map : {&lines, &own}) {
        NamedSum& line = (*map)[{i.source_file, i.source}];
        if (line.name.empty()) line.name = module.source(i);
        add(line.sum, counts, took, i.kind);
      }
    }
    for (auto& [place, line] : own) f.lines.push_back(std::move(line));
    if (f.sum.counts.issued > 0) profile.functions.push_back(std::move(f));
  }
  for (auto& [place, line] : lines) profile.lines.push_back(std::move(line));
  const auto more = [](const NamedSum& a, const NamedSum& b) {
    return a.sum.warp_instructions() > b.sum.warp_instructions();
  };
  for (NamedSum& f : profile.functions) std::sort(f.lines.begin(), f.lines.end(), more);
  std::sort(profile.functions.begin(), profile.functions.end(), more);
  std::sort(profile.lines.begin(), profile.lines.end(), more);
  return profile;
}

bool write_line_counts(const Module& module, const std::string& path) {
  std::ofstream file(path);
  for (const auto& [name, function] : module.functions) {
    std::map<std::string, std::pair<U64, U64>> lines;  // instructions, issued
    for (std::size_t k = 0; k < function->code.size(); ++k) {
      if (function->code[k].kind == Class::kParameter) continue;
      auto& [written, issued] = lines[module.source(function->code[k])];
      ++written, issued += function->counts[k].issued;
    }
    for (const auto& [line, count] : lines) {
      file << name << '\t' << line << '\t' << count.first << '\t' << count.second << '\n';
    }
  }
  return file.flush().good();
}

}  // namespace axion::ptx
