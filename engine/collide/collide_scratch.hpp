// What this room keeps within a step, and its sizes: shapes at q⁻, the grid of cells, pairs and candidates.
#pragma once

#include "engine/math/mat3.hpp"
#include "engine/model/step_motion.hpp"

namespace axion::collide {

// Whether near pairs are found by cells rather than by testing the list of all, which a model of many does not have.
template <typename Real>
AXION_HD inline bool uses_grid(const model::ModelView<Real>& m) {
  return m.pair_count < 0;
}

// The grid's levels of cells, the pairs that are kept of a shape while all are counted, and its buckets: a power of
// two, two to four times the shapes, so that few cells share one.
inline constexpr int kGridLevels = 8;
inline constexpr int kRowSlots = 64;
AXION_HD inline int bucket_count(int shape_count) {
  int count = 4;
  while (count < 2 * shape_count) count *= 2;
  return count;
}

// Pairs that can be near each other at once: each takes one slot of a candidate or more.
template <typename Real>
AXION_HD inline int active_pair_capacity(const model::ModelView<Real>& m) {
  return m.pair_count >= 0 && m.pair_count < m.candidate_capacity ? m.pair_count : m.candidate_capacity;
}

// A shape in a row of the grid's cells (shape_grid.hpp) with its box: those of a row are read one by one.
template <typename Real>
struct GridPlace {
  math::Vec3<Real> low, high;
  int shape;
  std::uint32_t row;
};

using model::Heat, model::Length;

inline constexpr Length kShapes{[](const auto& m) { return m.shape_count; }};
inline constexpr Length kActivePairs{[](const auto& m) { return active_pair_capacity(m); }};
inline constexpr Length kCandidates{[](const auto& m) { return m.candidate_capacity; }};
inline constexpr Length kHidingShapes{[](const auto& m) { return m.standing_count > 0 ? m.shape_count : 0; }};
inline constexpr Length kHidingPairs{[](const auto& m) { return m.standing_count > 0 ? active_pair_capacity(m) : 0; }};
inline constexpr Length kGridShapes{[](const auto& m) { return uses_grid(m) ? m.shape_count : 0; }};
inline constexpr Length kGridShapeEnds{
    [](const auto& m) { return uses_grid(m) && m.shape_count > 0 ? m.shape_count + 1 : 0; }};
inline constexpr Length kBucketEnds{
    [](const auto& m) { return uses_grid(m) && m.shape_count > 0 ? bucket_count(m.shape_count) + 1 : 0; }};

template <typename Real, typename Form = model::Placed>
struct CollideScratch {
  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kScratch>;

  Array<math::Vec3<Real>> shape_centre{"shape_centre", kShapes, Heat{31, 2}};  // at q⁻
  Array<math::Mat3<Real>> shape_axes{"shape_axes", kShapes, Heat{25, 3}};      // shape to world
  // m: how far it turns its surface in the step; of the world's, how far gravity reaches
  Array<Real> shape_reach{"shape_reach", kShapes, Heat{52}};
  // m: how far from its centre any of it may come in the step; infinite of planes
  Array<Real> shape_range{"shape_range", kShapes, Heat{62}};
  Array<std::uint32_t> pair_active{"pair_active", kActivePairs, Heat{93, 1}};    // list of pairs near each other
  Array<int> candidate_start{"candidate_start", kActivePairs, Heat{60, 1}};      // first slot of each active pair
  Array<model::Contact<Real>> candidate{"candidate", kCandidates, Heat{61, 5}};  // contacts before compaction
  // nothing, a candidate, or chosen (find_contacts.hpp)
  Array<int> candidate_use{"candidate_use", kCandidates, Heat{74}};
  Array<int> candidate_kept{"candidate_kept", kCandidates, Heat{96}};  // slots in use, in order
  // shapes of the world that may hide each other (one_surface.hpp); nothing where there are none
  // the first active pair of each shape with the world, or -1,
  Array<int> world_pair_first{"world_pair_first", kHidingShapes, Heat{213}};
  Array<int> world_pair_next{"world_pair_next", kHidingPairs, Heat{214}};  // and the next one
  // m: of a hidden pair, how deep those are that hide it
  Array<Real> hidden_depth{"hidden_depth", kHidingPairs, Heat{215}};
  // box that a shape stays in within the step (shape_grid.hpp); ngrid shapes, or none
  Array<math::Vec3<Real>> shape_low{"shape_low", kGridShapes, Heat{120}};
  Array<math::Vec3<Real>> shape_high{"shape_high", kGridShapes, Heat{121}};
  Array<Real> shape_side{"shape_side", kGridShapes, Heat{125}};  // its longest side
  // bucket of each shape in each level, or -1
  Array<int> entry_bucket{"entry_bucket", (kGridLevels * kGridShapes), Heat{126}};
  Array<std::uint32_t> entry_row{"entry_row", (kGridLevels * kGridShapes), Heat{127}};      // row of cells
  Array<GridPlace<Real>> grid_place{"grid_place", (kGridLevels * kGridShapes), Heat{123}};  // entries by buckets
  Array<int> bucket_start{"bucket_start", kBucketEnds, Heat{122}};
  Array<int> near_start{"near_start", kGridShapeEnds, Heat{124}};  // pairs found with each as their lower shape,
  Array<std::uint32_t> pair_found{"pair_found", (kRowSlots * kGridShapes), Heat{130}};  // those pairs
  // shapes without end; then shapes that are tried with all after them,
  Array<int> long_row{"long_row", kGridShapes, Heat{128}};
  Array<int> long_start{"long_start", kGridShapeEnds, Heat{129}};  // and how many those are
};

}  // namespace axion::collide
