#include "tools/ptx/profile/profile.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

namespace axion::ptx {
namespace {

void add(Counts& sum, const Counts& c) {
  sum.issued += c.issued, sum.lanes += c.lanes;
  sum.local += c.local, sum.shared += c.shared, sum.far += c.far;
  sum.sectors += c.sectors, sum.local_sectors += c.local_sectors, sum.wavefronts += c.wavefronts;
}

void add(Sum& sum, const Counts& c, Class kind) {
  add(sum.counts, c);
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

Profile make_profile(const Module& module) {
  Profile profile;
  std::map<std::pair<U32, U32>, NamedSum> lines;
  for (const auto& [name, function] : module.functions) {
    NamedSum f;
    f.name = readable(name);
    std::map<std::pair<U32, U32>, NamedSum> own;
    for (std::size_t k = 0; k < function->code.size(); ++k) {
      add(f.sum, function->counts[k], function->code[k].kind);
      add(profile.total, function->counts[k], function->code[k].kind);
      if (function->counts[k].issued == 0) continue;
      for (auto* map : {&lines, &own}) {
        NamedSum& line = (*map)[{function->code[k].source_file, function->code[k].source}];
        if (line.name.empty()) line.name = module.source(function->code[k]);
        add(line.sum, function->counts[k], function->code[k].kind);
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
