// Where the arrays of a world lie in memory: one block of state and parameters a world, one block of scratch a team.
//
//   world block:    | state and parameters, in the order of for_each_field, each aligned to kFieldAlignment | padding |
//   scratch block:  | scratch that lasts for the step | what one part of the step alone needs |
//
// Parts of a step that need nothing of each other (model::FieldKind) have their arrays in the same bytes. Blocks are
// multiples of kBlockAlignment, so that worlds next to each other share no cache line. Offsets follow from the model's
// counts alone, so a view is made wherever it is needed, on the host and on a device alike.
#pragma once

#include <cstddef>
#include <type_traits>

#include "engine/world/world_view.hpp"

namespace axion::world {

inline constexpr std::size_t kFieldAlignment = 64;  // a vector register
inline constexpr std::size_t kBlockAlignment = 128;

AXION_HD constexpr std::size_t align_up(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

// Bytes of `count` elements of an array, with what aligns the next.
template <typename T>
AXION_HD constexpr std::size_t field_bytes(const T*, std::size_t count) {
  return align_up(count * sizeof(T), kFieldAlignment);
}

// The ends of a scratch block while arrays are put into it: that of the arrays which last for the step, and behind it,
// counted from there, those of the parts that share their bytes.
struct ScratchEnds {
  std::size_t step = 0, sweeps = 0, linear_solve = 0, end_of_step = 0;

  AXION_HD std::size_t& of(model::FieldKind kind) {
    using enum model::FieldKind;
    return kind == kSweeps ? sweeps : kind == kLinearSolve ? linear_solve : kind == kEndOfStep ? end_of_step : step;
  }
  AXION_HD std::size_t shared() const {
    const std::size_t solve = sweeps > linear_solve ? sweeps : linear_solve;
    return solve > end_of_step ? solve : end_of_step;
  }
};

struct WorldBytes {
  std::size_t world = 0;  // state and parameters
  std::size_t scratch = 0;
};

// The ends of both blocks.
template <typename Real>
AXION_HD inline std::size_t world_end(const model::ModelView<Real>& m, ScratchEnds& scratch) {
  model::WorldView<Real> view{};
  std::size_t world = 0;
  for_each_field(m, view, [&](model::FieldKind kind, const char*, auto*& pointer, std::size_t count) {
    std::size_t& end = is_scratch(kind) ? scratch.of(kind) : world;
    end += field_bytes(pointer, count);
  });
  return world;
}

// Sizes of the two blocks.
template <typename Real>
AXION_HD inline WorldBytes world_bytes(const model::ModelView<Real>& m) {
  ScratchEnds scratch;
  const std::size_t world = world_end(m, scratch);
  return {align_up(world, kBlockAlignment), align_up(scratch.step + scratch.shared(), kBlockAlignment)};
}

// The state and parameters of a world in its block.
template <typename Real>
AXION_HD inline model::WorldState<Real> bind_state(const model::ModelView<Real>& m, std::byte* world) {
  model::WorldState<Real> state{};
  std::size_t end = 0;
  for_each_field(m, state, [&](model::FieldKind, const char*, auto*& pointer, std::size_t count) {
    using Pointer = std::remove_reference_t<decltype(pointer)>;
    const std::size_t start = end;
    end += field_bytes(pointer, count);
    pointer = reinterpret_cast<Pointer>(world + start);
  });
  return state;
}

// The view of a world in its blocks. `scratch` may be null for code that reads and writes no scratch.
template <typename Real>
AXION_HD inline model::WorldView<Real> bind_world(const model::ModelView<Real>& m, std::byte* world,
                                                  std::byte* scratch) {
  model::WorldView<Real> view{};
  ScratchEnds all, used;
  world_end(m, all);
  std::size_t world_used = 0;
  for_each_field(m, view, [&](model::FieldKind kind, const char*, auto*& pointer, std::size_t count) {
    std::size_t& end = is_scratch(kind) ? used.of(kind) : world_used;
    std::byte* base = is_scratch(kind) ? scratch : world;
    const std::size_t start = end + (shares_bytes(kind) ? all.step : 0);
    using Pointer = std::remove_reference_t<decltype(pointer)>;
    end += field_bytes(pointer, count);
    pointer = base == nullptr ? nullptr : reinterpret_cast<Pointer>(base + start);
  });
  return view;
}

}  // namespace axion::world
