#include "engine/backend/world_places.hpp"

#include <algorithm>
#include <vector>

namespace axion::backend {
namespace {

// The place at the end of a memory, which grows by `bytes`.
Place take(Memory memory, std::size_t& end, std::size_t bytes) {
  const Place place{memory, static_cast<std::uint32_t>(end / world::kFieldAlignment)};
  end += bytes;
  return place;
}

}  // namespace

template <typename Real>
WorldPlaces place_fields(const model::ModelView<Real>& m, std::size_t near_bytes) {
  WorldPlaces result{};
  const auto arrays = model::declarations<model::WorldView, Real>();
  std::vector<int> by_heat;
  std::size_t world_bytes = 0;
  for (int slot = 0; slot < model::kWorldSlots; ++slot) {
    if (is_scratch(arrays[slot].kind)) {
      by_heat.push_back(slot);
    } else {
      result.slots[slot] = take(Memory::kWorld, world_bytes, world::field_bytes(arrays[slot], m));
    }
  }
  std::stable_sort(by_heat.begin(), by_heat.end(),
                   [&](int a, int b) { return arrays[a].heat.rank < arrays[b].heat.rank; });
  world::ScratchEnds far;
  for (const int slot : by_heat) {
    const std::size_t bytes = world::field_bytes(arrays[slot], m);
    const bool is_near = result.near_bytes + bytes <= near_bytes;
    result.slots[slot] =
        is_near ? take(Memory::kNear, result.near_bytes, bytes) : take(Memory::kFar, far.of(arrays[slot].kind), bytes);
    if (is_near) result.near_share += arrays[slot].heat.thousandths;
  }
  // What parts of the step share lies behind what all of it needs.
  for (int slot = 0; slot < model::kWorldSlots; ++slot) {
    if (result.slots[slot].memory == Memory::kFar && shares_bytes(arrays[slot].kind)) {
      result.slots[slot].offset += static_cast<std::uint32_t>(far.step / world::kFieldAlignment);
    }
  }
  result.far_bytes = far.step + far.shared();
  return result;
}

template WorldPlaces place_fields(const model::ModelView<float>&, std::size_t);
template WorldPlaces place_fields(const model::ModelView<double>&, std::size_t);

}  // namespace axion::backend
