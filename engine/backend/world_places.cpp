#include "engine/backend/world_places.hpp"

namespace axion::backend {
namespace {

// The number of a pointer in its view.
template <typename Real>
int slot_of(const model::WorldView<Real>& view, const void* pointer) {
  return static_cast<int>((static_cast<const std::byte*>(pointer) - reinterpret_cast<const std::byte*>(&view)) /
                          sizeof(void*));
}

// The place at the end of a memory, which grows by `bytes`.
Place take(Memory memory, std::size_t& end, std::size_t bytes) {
  const Place place{memory, static_cast<std::uint32_t>(end / world::kFieldAlignment)};
  end += bytes;
  return place;
}

}  // namespace

template <typename Real>
WorldPlaces place_fields(const model::ModelView<Real>& m, std::size_t near_bytes) {
  using model::FieldKind;
  WorldPlaces result{};
  model::WorldView<Real> view{};
  std::size_t bytes[kWorldSlots] = {}, world_bytes = 0;
  FieldKind kinds[kWorldSlots] = {};
  for_each_field(m, view, [&](FieldKind kind, const char*, auto*& pointer, std::size_t count) {
    const int slot = slot_of(view, &pointer);
    bytes[slot] = world::field_bytes(pointer, count), kinds[slot] = kind;
    if (!is_scratch(kind)) result.slots[slot] = take(Memory::kWorld, world_bytes, bytes[slot]);
  });
  world::ScratchEnds far;
  for_each_heat(view, [&](auto*& pointer, int share) {
    const int slot = slot_of(view, &pointer);
    const bool is_near = result.near_bytes + bytes[slot] <= near_bytes;
    result.slots[slot] = is_near ? take(Memory::kNear, result.near_bytes, bytes[slot])
                                 : take(Memory::kFar, far.of(kinds[slot]), bytes[slot]);
    if (is_near) result.near_share += share;
  });
  // What parts of the step share lies behind what all of it needs.
  for (int slot = 0; slot < kWorldSlots; ++slot) {
    if (result.slots[slot].memory == Memory::kFar && shares_bytes(kinds[slot])) {
      result.slots[slot].offset += static_cast<std::uint32_t>(far.step / world::kFieldAlignment);
    }
  }
  result.far_bytes = far.step + far.shared();
  return result;
}

template WorldPlaces place_fields(const model::ModelView<float>&, std::size_t);
template WorldPlaces place_fields(const model::ModelView<double>&, std::size_t);

}  // namespace axion::backend
