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

template <typename Real>
struct CollideScratch {
  math::Vec3<Real>* shape_centre;  // [nshape] at q⁻
  math::Mat3<Real>* shape_axes;    // [nshape] shape to world
  Real* shape_reach;  // [nshape] m: how far it turns its surface in the step; of the world's, how far gravity reaches
  Real* shape_range;  // [nshape] m: how far from its centre any of it may come in the step; infinite of planes
  std::uint32_t* pair_active;       // [active_pair_capacity] list of pairs near each other
  int* candidate_start;             // [active_pair_capacity] first slot of each active pair
  model::Contact<Real>* candidate;  // [candidate_capacity] contacts before compaction
  int* candidate_use;               // [candidate_capacity] nothing, a candidate, or chosen (find_contacts.hpp)
  int* candidate_kept;              // [candidate_capacity] slots in use, in order
  // shapes of the world that may hide each other (one_surface.hpp); nothing where there are none
  int* world_pair_first;  // [nshape] the first active pair of each shape with the world, or -1,
  int* world_pair_next;   // [active_pair_capacity] and the next one
  Real* hidden_depth;     // [active_pair_capacity] m: of a hidden pair, how deep those are that hide it
  // box that a shape stays in within the step (shape_grid.hpp); ngrid shapes, or none
  math::Vec3<Real>* shape_low;   // [ngrid]
  math::Vec3<Real>* shape_high;  // [ngrid]
  Real* shape_side;              // [ngrid] its longest side
  int* entry_bucket;             // [kGridLevels ngrid] bucket of each shape in each level, or -1
  std::uint32_t* entry_row;      // [kGridLevels ngrid] row of cells
  GridPlace<Real>* grid_place;   // [kGridLevels ngrid] entries by buckets
  int* bucket_start;             // [bucket_count + 1]
  int* near_start;               // [ngrid + 1] pairs found with each as their lower shape,
  std::uint32_t* pair_found;     // [kRowSlots ngrid] those pairs
  int* long_row;                 // [ngrid] shapes without end; then those that are tried with all after them,
  int* long_start;               // [ngrid + 1] and how many those are
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, CollideScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t ns = m.shape_count, np = active_pair_capacity(m), nt = m.candidate_capacity;
  const std::size_t grid = uses_grid(m) ? ns : 0, starts = grid > 0 ? grid + 1 : 0, entries = kGridLevels * grid;
  const std::size_t buckets = grid > 0 ? bucket_count(m.shape_count) + 1 : 0;
  f(kScratch, "shape_centre", w.shape_centre, ns);
  f(kScratch, "shape_axes", w.shape_axes, ns);
  f(kScratch, "shape_reach", w.shape_reach, ns);
  f(kScratch, "shape_range", w.shape_range, ns);
  f(kScratch, "pair_active", w.pair_active, np);
  f(kScratch, "candidate_start", w.candidate_start, np);
  f(kScratch, "candidate", w.candidate, nt);
  f(kScratch, "candidate_use", w.candidate_use, nt);
  f(kScratch, "candidate_kept", w.candidate_kept, nt);
  const bool hides = m.standing_count > 0;
  f(kScratch, "world_pair_first", w.world_pair_first, hides ? ns : 0);
  f(kScratch, "world_pair_next", w.world_pair_next, hides ? np : 0);
  f(kScratch, "hidden_depth", w.hidden_depth, hides ? np : 0);
  f(kScratch, "shape_low", w.shape_low, grid);
  f(kScratch, "shape_high", w.shape_high, grid);
  f(kScratch, "shape_side", w.shape_side, grid);
  f(kScratch, "entry_bucket", w.entry_bucket, entries);
  f(kScratch, "entry_row", w.entry_row, entries);
  f(kScratch, "grid_place", w.grid_place, entries);
  f(kScratch, "bucket_start", w.bucket_start, buckets);
  f(kScratch, "near_start", w.near_start, starts);
  f(kScratch, "pair_found", w.pair_found, kRowSlots * grid);
  f(kScratch, "long_row", w.long_row, grid);
  f(kScratch, "long_start", w.long_start, starts);
}

}  // namespace axion::collide
