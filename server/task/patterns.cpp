#include "server/task/patterns.hpp"

#include <algorithm>

#include "server/task/task_parts.hpp"

namespace axion::server::task {
namespace {

constexpr std::size_t kMaxPattern = 256;      // characters
constexpr std::size_t kMaxWork = 50'000'000;  // characters compared for a task, a tenth of a second

// One alternative: the last star is the only place to go back to.
bool matches_one(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, after_star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (pattern.substr(p, 2) == ".*") ++p;
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p, resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (after_star != std::string_view::npos) {
      p = after_star, n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && (pattern[p] == '*' || pattern.substr(p, 2) == ".*")) ++p;
  return p == pattern.size();
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view name) {
  for (;;) {
    const std::size_t bar = pattern.find('|');
    if (matches_one(pattern.substr(0, bar), name)) return true;
    if (bar == std::string_view::npos) return false;
    pattern.remove_prefix(bar + 1);
  }
}

Result<std::vector<int>> NameFinder::find(const std::string& path, const std::string& what,
                                          const std::vector<std::string>& given,
                                          const std::vector<std::string>& known) {
  std::vector<int> indices;
  std::vector<bool> taken(known.size());
  std::size_t characters = 0;  // of all that is known; counted where there is a pattern
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string at = path + "[" + std::to_string(i) + "]";
    const std::string& name = given[i];
    const auto exact = std::find(known.begin(), known.end(), name);
    if (exact != known.end() && !name.empty()) {
      const auto index = static_cast<std::size_t>(exact - known.begin());
      if (taken[index]) return invalid_argument(at, "names " + shown(name) + " again");
      taken[index] = true;
      indices.push_back(static_cast<int>(index));
      continue;
    }
    if (name.find_first_of("*?|") == std::string::npos) return invalid_argument(at, unknown(what, name, known));
    if (name.size() > kMaxPattern) {
      return invalid_argument(at, "is a pattern of " + std::to_string(name.size()) + " characters; at most 256");
    }
    for (std::size_t k = 0; characters == 0 && k < known.size(); ++k) characters += known[k].size() + 1;
    work_ += name.size() * characters;
    if (work_ > kMaxWork) return invalid_argument(at, "is beyond what patterns of a task may compare");
    bool matched = false;
    for (std::size_t k = 0; k < known.size(); ++k) {
      if (!matches_pattern(name, known[k])) continue;
      matched = true;
      if (!taken[k]) indices.push_back(static_cast<int>(k));
      taken[k] = true;
    }
    if (!matched) return invalid_argument(at, unknown(what, name, known));
  }
  return indices;
}

}  // namespace axion::server::task
