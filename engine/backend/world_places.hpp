// WorldPlaces: where each array of a world lies when the hottest of its scratch is in near memory, a multiprocessor's
// shared memory, of which a world has a few kilobytes.
//
//   world block: state and parameters, as world_layout.hpp has them | near: the hottest scratch | far: the rest of it
// A table of offsets, not pointers: the host makes it once for a batch, and each team adds its own addresses
// (bind_field). Step code sees pointers as ever; where they point changes no bit. Places follow from the model's counts
// and the budget alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/world/world_layout.hpp"

namespace axion::backend {

enum class Memory : std::uint32_t { kWorld, kNear, kFar };

struct Place {
  Memory memory;
  std::uint32_t offset;  // from the memory's start, in kFieldAlignment
};

struct WorldPlaces {
  Place slots[model::kWorldSlots];    // by the order of declarations
  std::size_t near_bytes, far_bytes;  // what they take, multiples of kFieldAlignment
  int near_share;                     // thousandths of a step's accesses that go to the near memory (model::Heat)
};

// In the order of heat a field of scratch is near if what is left of `near_bytes` holds it. Host only.
template <typename Real>
WorldPlaces place_fields(const model::ModelView<Real>& m, std::size_t near_bytes);

// Points array i of a view at its memory. Arrays are independent of each other, so that threads share them out.
template <typename Real>
AXION_HD inline void bind_field(model::WorldView<Real>* view, int i, const Place& place, std::byte* world,
                                std::byte* near, std::byte* far) {
  std::byte* base = place.memory == Memory::kWorld ? world : place.memory == Memory::kNear ? near : far;
  reinterpret_cast<ArraySlot*>(view)[i].place(base + place.offset * world::kFieldAlignment, kAnyLength);
}

}  // namespace axion::backend
