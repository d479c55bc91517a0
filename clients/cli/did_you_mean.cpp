#include "clients/cli/did_you_mean.hpp"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace axion::cli {
namespace {

// Of Damerau and Levenshtein, where no letters move twice.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& choices, const char* quote) {
  constexpr std::size_t kLongest = 64;  // no name is as long
  if (word.size() > kLongest) {
    return "";
  }
  const std::size_t most = std::min<std::size_t>(2, std::max<std::size_t>(word.size() / 3, 1));
  std::size_t least = most + 1;
  std::string_view nearest;
  for (const std::string& choice : choices) {
    if (const std::size_t far = distance(word, choice); far < least) {
      least = far;
      nearest = choice;
    }
  }
  if (nearest.empty()) {
    return "";
  }
  return absl::StrCat(" (did you mean ", quote, std::string(nearest), quote[0] == '\'' ? "'" : "", "?)");
}

}  // namespace axion::cli
