// The first index that a condition, which holds for all before it and for none from it on, does not hold for:
// std::partition_point over indices, on a device too.
#pragma once

#include "engine/base/macros.hpp"

namespace axion {

// In [first, end]; `end` where the condition holds for all.
template <typename Condition>
AXION_HD constexpr int partition_point(int first, int end, Condition&& holds) {
  while (first < end) {
    const int middle = first + (end - first) / 2;
    if (holds(middle)) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

}  // namespace axion
