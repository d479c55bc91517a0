// Draws a trace: one panel a channel over time, one line a world.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "clients/cli/trace.hpp"

namespace axion::cli {

// Round values that cover [low, high] in about `count` steps: multiples of 1, 2 or 5 times a power of ten. At least
// two, also when low == high or the bounds are not finite.
std::vector<double> nice_ticks(double low, double high, int count);

// Ticks as text, with as many digits as tell them apart.
std::vector<std::string> tick_texts(const std::vector<double>& ticks);

// Writes a PNG; `names` of the channels stand above their panels, beside their labels. A file error (local_errors.hpp)
// if the file cannot be written, FAILED_PRECONDITION if there is nothing to draw.
absl::Status write_png(const Trace& trace, const std::vector<std::string>& names, const std::string& title,
                       const std::string& path);

}  // namespace axion::cli
