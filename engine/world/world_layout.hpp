// Where the arrays of a world lie in memory: one block of state and parameters a world, one block of scratch a team.
//
//   world block:    | state and parameters, as they are declared, each aligned to kFieldAlignment | padding |
//   scratch block:  | scratch that lasts for the step | what one part of the step alone needs |
//
// Parts of a step that need nothing of each other (model::FieldKind) have their arrays in the same bytes. Blocks are
// multiples of kBlockAlignment, so that worlds next to each other share no cache line. Places follow from the model's
// counts alone, so a host makes a view wherever it needs one; what a device does see backend/world_places.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/world/world_view.hpp"

namespace axion::world {

inline constexpr std::size_t kFieldAlignment = 64;  // a vector register
inline constexpr std::size_t kBlockAlignment = 128;

AXION_HD constexpr std::size_t align_up(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

// Bytes of an array, with what aligns the next.
template <typename Real>
std::size_t field_bytes(const model::ArrayDeclaration<Real>& array, const model::ModelView<Real>& m) {
  return align_up(array.bytes(m), kFieldAlignment);
}

// The ends of a scratch block while arrays are put into it: that of the arrays which last for the step, and behind it,
// counted from there, those of the parts that share their bytes.
struct ScratchEnds {
  std::size_t step = 0, sweeps = 0, linear_solve = 0, end_of_step = 0;

  std::size_t& of(model::FieldKind kind) {
    using enum model::FieldKind;
    return kind == kSweeps ? sweeps : kind == kLinearSolve ? linear_solve : kind == kEndOfStep ? end_of_step : step;
  }
  std::size_t shared() const {
    const std::size_t solve = sweeps > linear_solve ? sweeps : linear_solve;
    return solve > end_of_step ? solve : end_of_step;
  }
};

struct WorldBytes {
  std::size_t world = 0;  // state and parameters
  std::size_t scratch = 0;
};

// Of all arrays, as they are declared: where each starts in its block, in kFieldAlignment, and how long it is.
struct WorldLayout {
  std::uint32_t start[model::kWorldSlots], length[model::kWorldSlots];
  WorldBytes bytes;
};

template <typename Real>
WorldLayout world_layout(const model::ModelView<Real>& m) {
  const auto arrays = model::declarations<model::WorldView, Real>();
  WorldLayout layout;
  ScratchEnds scratch;
  std::size_t world = 0;
  for (int slot = 0; slot < model::kWorldSlots; ++slot) {
    std::size_t& end = is_scratch(arrays[slot].kind) ? scratch.of(arrays[slot].kind) : world;
    const std::size_t length = arrays[slot].length(m);
    layout.start[slot] = static_cast<std::uint32_t>(end / kFieldAlignment);
    layout.length[slot] = static_cast<std::uint32_t>(length);
    end += align_up(length * arrays[slot].element_bytes, kFieldAlignment);
  }
  // What parts of the step share lies behind what all of it needs.
  for (int slot = 0; slot < model::kWorldSlots; ++slot) {
    if (shares_bytes(arrays[slot].kind))
      layout.start[slot] += static_cast<std::uint32_t>(scratch.step / kFieldAlignment);
  }
  layout.bytes = {align_up(world, kBlockAlignment), align_up(scratch.step + scratch.shared(), kBlockAlignment)};
  return layout;
}

// Sizes of the two blocks.
template <typename Real>
WorldBytes world_bytes(const model::ModelView<Real>& m) {
  return world_layout(m).bytes;
}

// The state and parameters of a world in its block.
template <typename Real>
model::WorldState<Real> bind_state(const model::ModelView<Real>& m, std::byte* world) {
  model::WorldState<Real> state;
  ArraySlot* slot = model::slots(state).data();
  for (const model::ArrayDeclaration<Real>& array : model::declarations<model::WorldState, Real>()) {
    slot++->place(world, array.length(m));
    world += field_bytes(array, m);
  }
  return state;
}

// The view of a world in its blocks.
template <typename Real>
model::WorldView<Real> bind_world(const WorldLayout& layout, std::byte* world, std::byte* scratch) {
  constexpr int kept = sizeof(model::WorldState<Real>) / sizeof(ArraySlot);  // the first of all are those of the state
  model::WorldView<Real> view;
  ArraySlot* slots = model::slots(view).data();
  for (int slot = 0; slot < model::kWorldSlots; ++slot) {
    slots[slot].place((slot < kept ? world : scratch) + layout.start[slot] * kFieldAlignment, layout.length[slot]);
  }
  return view;
}
template <typename Real>
model::WorldView<Real> bind_world(const model::ModelView<Real>& m, std::byte* world, std::byte* scratch) {
  return bind_world<Real>(world_layout(m), world, scratch);
}

}  // namespace axion::world
