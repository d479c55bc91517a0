// A contact found again by its pair and feature, among contacts or what was kept of them.
#pragma once

#include <cstdint>

#include "engine/base/partition_point.hpp"

namespace axion::model {

// Its index in `list`, whose items have a `pair`, by which they are sorted, and a `feature`; -1 where it is not there.
template <typename List>
AXION_HD inline int find_contact(const List& list, int count, int pair, std::uint32_t feature) {
  const int first = partition_point(0, count, [&](int i) { return list[i].pair < pair; });
  for (int i = first; i < count && list[i].pair == pair; ++i) {
    if (list[i].feature == feature) return i;
  }
  return -1;
}

}  // namespace axion::model
