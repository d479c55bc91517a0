// Sizes of a world's scratch that follow from its model: nodes of the factorisation, rows of sweeps, cells of the grid.
#pragma once

#include "engine/model/model_data.hpp"

namespace axion::model {

// A node of the factorisation is a body and the rows of the joint to its parent, or a joint that closes a loop. What is
// kept of each is eight numbers apart from the next, so that threads of a GPU that take a node each meet in fewer
// banks.
inline constexpr int kNodeSize = 12;
inline constexpr int kNodeStride = 2 * kNodeSize * kNodeSize + 8;  // its matrix, then factors (tree/node_factors.hpp)
inline constexpr int kPanelWidth = 8;  // columns kept side by side: six of a coupling, and two
inline constexpr int kCouplingStride = kNodeSize * kPanelWidth + 8;
inline constexpr int kTransferStride = 2 * 6 * kNodeSize + 6 * kPanelWidth + 8;

// Order of the greatest Delassus matrix that a world keeps: 144 KiB in float32. Columns are padded to whole vectors.
inline constexpr int kMaxDelassusRows = 192;
inline constexpr int kDelassusPadding = 16;
inline constexpr int kPushLanes = 16;      // impulses that are passed through the joint tree at once
inline constexpr int kThreadWork = 1024;   // numbers: a node of the joint tree, or up to 31 active rows
inline constexpr int kMaxActiveRows = 63;  // of a Newton step on the active rows alone
inline constexpr int kActiveStride =
    64;  // and its right-hand side; one more on a GPU (contact_solver/active_set_step.hpp)

// Rows that sweeps pass over when all contacts are there; and how many of them fit in the Delassus matrix.
template <typename Real>
AXION_HD inline int most_swept_rows(const ModelView<Real>& m) {
  return m.limit_count + m.effort_count + 3 * m.contact_capacity;
}
template <typename Real>
AXION_HD inline int delassus_rows(const ModelView<Real>& m) {
  if (m.inverse_blocks == 0) return 0;
  const int rows = (most_swept_rows(m) + kDelassusPadding - 1) / kDelassusPadding * kDelassusPadding;
  return rows < kMaxDelassusRows ? rows : kMaxDelassusRows;
}

// Groups of contacts that sweeps of free bodies take at once (contact_slots.hpp): of all contacts and of a
// quarter of them, and what colours leave empty. Sixty-four colours are enough for a box that lies among boxes, with
// four contacts on a side.
inline constexpr int kSlotLanes = 16;
inline constexpr int kSlotFields = 74;
inline constexpr int kMaxColours = 64;
template <typename Real>
AXION_HD inline int slot_groups(const ModelView<Real>& m) {
  if (m.joint_count != 0 || m.inverse_blocks == 0) return 0;
  const int contacts = m.contact_capacity, most = contacts < kMaxColours ? contacts : kMaxColours;
  return 5 * contacts / (4 * kSlotLanes) + most;
}

// Whether near pairs are found by cells rather than by testing the list of all, which a model of many does not have.
template <typename Real>
AXION_HD inline bool uses_grid(const ModelView<Real>& m) {
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
AXION_HD inline int active_pair_capacity(const ModelView<Real>& m) {
  return m.pair_count >= 0 && m.pair_count < m.candidate_capacity ? m.pair_count : m.candidate_capacity;
}

// Couplings that rows can make, before those that are met twice are one: joints, two a loop, contacts.
template <typename Real>
AXION_HD inline int edge_capacity(const ModelView<Real>& m) {
  return m.body_count + 2 * m.loop_count + m.contact_capacity;
}

// Leaves of a tree over bodies: a power of two.
AXION_HD inline int order_leaves(int body_count) {
  int count = 1;
  while (count < body_count) count *= 2;
  return count;
}

}  // namespace axion::model
