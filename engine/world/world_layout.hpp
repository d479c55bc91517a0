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

// Calls f(kind, start, length) for each array of a world; `start` is in its block, behind `scratch.step` of a part that
// shares its bytes. Returns the end of the state and parameters, and those of scratch in `scratch`.
template <typename Real, typename F>
std::size_t for_each_place(const model::ModelView<Real>& m, ScratchEnds& scratch, F&& f) {
  std::size_t world = 0;
  for (const model::ArrayDeclaration<Real>& array : model::declarations<model::WorldView, Real>()) {
    std::size_t& end = is_scratch(array.kind) ? scratch.of(array.kind) : world;
    const std::size_t length = array.length(m);
    f(array.kind, end, length);
    end += align_up(length * array.element_bytes, kFieldAlignment);
  }
  return world;
}

struct WorldBytes {
  std::size_t world = 0;  // state and parameters
  std::size_t scratch = 0;
};

// Sizes of the two blocks.
template <typename Real>
WorldBytes world_bytes(const model::ModelView<Real>& m) {
  ScratchEnds scratch;
  const std::size_t world = for_each_place(m, scratch, [](model::FieldKind, std::size_t, std::size_t) {});
  return {align_up(world, kBlockAlignment), align_up(scratch.step + scratch.shared(), kBlockAlignment)};
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

// The view of a world in its blocks. `scratch` may be null for code that reads and writes no scratch.
template <typename Real>
model::WorldView<Real> bind_world(const model::ModelView<Real>& m, std::byte* world, std::byte* scratch) {
  model::WorldView<Real> view;
  ArraySlot* slot = model::slots(view).data();
  ScratchEnds ends;
  for_each_place(m, ends, [&](model::FieldKind kind, std::size_t start, std::size_t length) {
    std::byte* block = is_scratch(kind) ? scratch : world;
    if (block != nullptr) slot->place(block + start, length);
    ++slot;
  });
  if (scratch == nullptr) return view;
  // What parts of the step share lies behind what all of it needs.
  slot = model::slots(view).data();
  for (const model::ArrayDeclaration<Real>& array : model::declarations<model::WorldView, Real>()) {
    if (shares_bytes(array.kind)) slot->move(ends.step);
    ++slot;
  }
  return view;
}

}  // namespace axion::world
