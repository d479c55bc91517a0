// Names of a model's parts, given one by one or by pattern.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.hpp"

namespace axion::server::task {

// Whether a whole name is as a pattern says: `*`, or `.*`, is any text, `?` any character, `|` parts alternatives, and
// all else is itself. Takes time of the product of both lengths at most.
bool matches_pattern(std::string_view pattern, std::string_view name);

// Looks names up in lists of names, for one task.
class NameFinder {
 public:
  // Indices into `known`, in the order of `given`, each once. What is no name in `known` is a pattern, whose matches
  // come in the order of `known`; a match that is there already is left out. A name that is given twice is refused, so
  // is a pattern without a match, by `path` and its index: "bodies[1]". `what` is for errors: "body".
  Result<std::vector<int>> find(const std::string& path, const std::string& what, const std::vector<std::string>& given,
                                const std::vector<std::string>& known);

 private:
  std::size_t work_ = 0;  // characters compared, at most: a task is compiled while a call waits
};

}  // namespace axion::server::task
