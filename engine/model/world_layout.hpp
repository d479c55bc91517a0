// Where the arrays of a world lie in memory: one block of state and parameters a world, one block of scratch a team.
//
//   world block:   | state and parameter arrays in the order of for_each_field, each aligned to kFieldAlignment |
//   padding | scratch block: | scratch arrays likewise | Blocks are multiples of kBlockAlignment, so that worlds next
//   to each other share no cache line. Offsets follow from the model's counts alone, so a view is made wherever it is
//   needed, on the host and on a device alike.
#pragma once

#include <cstddef>
#include <type_traits>

#include "engine/model/world_view.hpp"

namespace axion::model {

inline constexpr std::size_t kFieldAlignment = 64;  // a vector register
inline constexpr std::size_t kBlockAlignment = 128;

AXION_HD constexpr std::size_t align_up(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

struct WorldBytes {
  std::size_t world = 0;  // state and parameters
  std::size_t scratch = 0;
};

// Sizes of the two blocks.
template <typename Real>
AXION_HD inline WorldBytes world_bytes(const ModelView<Real>& m) {
  WorldBytes bytes;
  for_each_field(m, [&bytes](FieldKind kind, auto member, std::size_t count) {
    using Element = std::remove_pointer_t<std::remove_reference_t<decltype(WorldView<Real>{}.*member)>>;
    std::size_t& end = kind == FieldKind::kScratch ? bytes.scratch : bytes.world;
    end += align_up(count * sizeof(Element), kFieldAlignment);
  });
  return {align_up(bytes.world, kBlockAlignment), align_up(bytes.scratch, kBlockAlignment)};
}

// The view of a world in its blocks. `scratch` may be null for code that reads and writes no scratch.
template <typename Real>
AXION_HD inline WorldView<Real> bind_world(const ModelView<Real>& m, std::byte* world, std::byte* scratch) {
  WorldView<Real> view{};
  WorldBytes used;
  for_each_field(m, [&](FieldKind kind, auto member, std::size_t count) {
    using Element = std::remove_pointer_t<std::remove_reference_t<decltype(view.*member)>>;
    const bool is_scratch = kind == FieldKind::kScratch;
    std::size_t& end = is_scratch ? used.scratch : used.world;
    std::byte* base = is_scratch ? scratch : world;
    view.*member = base == nullptr ? nullptr : reinterpret_cast<Element*>(base + end);
    end += align_up(count * sizeof(Element), kFieldAlignment);
  });
  return view;
}

}  // namespace axion::model
