#include "engine/model/world_places.hpp"

#include <type_traits>

namespace axion::model {
namespace {

template <typename Real, typename Member>
int slot_of(Member member) {
  static const WorldView<Real> view{};
  const auto* slot = reinterpret_cast<const std::byte*>(&(view.*member));
  return static_cast<int>((slot - reinterpret_cast<const std::byte*>(&view)) / sizeof(void*));
}

// The place at the end of a memory, which grows by `bytes`.
Place take(Memory memory, std::size_t& end, std::size_t bytes) {
  const Place place{memory, static_cast<std::uint32_t>(end / kFieldAlignment)};
  end += bytes;
  return place;
}

}  // namespace

template <typename Real>
WorldPlaces place_fields(const ModelView<Real>& m, std::size_t near_bytes) {
  WorldPlaces result{};
  std::size_t bytes[kWorldSlots] = {};
  std::size_t world_bytes = 0;
  for_each_field(m, [&](FieldKind kind, auto member, std::size_t count) {
    using Element = std::remove_pointer_t<std::remove_reference_t<decltype(WorldView<Real>{}.*member)>>;
    const int slot = slot_of<Real>(member);
    bytes[slot] = align_up(count * sizeof(Element), kFieldAlignment);
    if (kind != FieldKind::kScratch) result.slots[slot] = take(Memory::kWorld, world_bytes, bytes[slot]);
  });
  for_each_heat<Real>([&](auto member, int share) {
    const int slot = slot_of<Real>(member);
    const bool is_near = result.near_bytes + bytes[slot] <= near_bytes;
    result.slots[slot] = is_near ? take(Memory::kNear, result.near_bytes, bytes[slot])
                                 : take(Memory::kFar, result.far_bytes, bytes[slot]);
    if (is_near) result.near_share += share;
  });
  return result;
}

template WorldPlaces place_fields(const ModelView<float>&, std::size_t);
template WorldPlaces place_fields(const ModelView<double>&, std::size_t);

}  // namespace axion::model
