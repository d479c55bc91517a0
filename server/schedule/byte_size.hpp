// Sizes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace axion::server::schedule {

// "8GiB", "512M" or a number of bytes. Nothing if it is no size.
inline std::optional<std::int64_t> bytes_of(absl::string_view text) {
  constexpr std::pair<absl::string_view, int> kUnits[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40},
                                                          {"K", 10},   {"M", 20},   {"G", 30},   {"T", 40}};
  int shift = 0;
  for (const auto& [unit, bits] : kUnits) {
    if (absl::ConsumeSuffix(&text, unit)) {
      shift = bits;
      break;
    }
  }
  std::int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 0 || value > (INT64_MAX >> shift)) return std::nullopt;
  return value << shift;
}

}  // namespace axion::server::schedule
