// Pairs near each other in worlds of many shapes: each shape looks for those after it in the cells around it
// (shape_grid.hpp).
//
// What has no end is met by all: shapes test the few that are so. Each pair is found once, by the lower of its shapes,
// and tested exactly as a list of all pairs would be, in whose order pairs have their numbers (shape_pairs.hpp). So
// what is found is the same, each shape has its own stretch of it, and no more than a shape's own few pairs are to be
// sorted. Shapes without end, and those with more pairs than they have slots, are tried with all shapes after them.
// O(n) memory; O(n) comparisons where no box overlaps more than a few others of its size or greater.
#pragma once

#include "engine/base/partition_point.hpp"
#include "engine/collide/shape_grid.hpp"
#include "engine/model/shape_pairs.hpp"

namespace axion::collide {

// Whether shapes i and j may touch and come near each other.
template <typename Real>
AXION_HD inline bool are_near(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i, int j,
                              const model::StepSettings<Real>& s, Foresight foresight) {
  if (m.shapes[i].body == m.shapes[j].body) return false;
  const bool swap = m.shapes[i].body < 0;  // the first is never the world
  return near_each_other(m, w, swap ? j : i, swap ? i : j, s, foresight) && model::may_touch(m, i, j);
}

inline constexpr int kBatch = 16;  // shapes whose boxes overlap one, gathered before they are tested

// The pairs of shape i with those after it, sorted, into its slots. Returns how many; -1 where all are to be tried.
template <typename Real>
AXION_HD inline int find_row(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                             const model::StepSettings<Real>& s, Foresight foresight, const Grid<Real>& grid,
                             int endless, int i) {
  if (is_endless(w, i)) return -1;
  std::uint32_t* slots = w.collide.pair_found + i * kRowSlots;
  int count = 0;
  const auto meet = [&](int j) {  // returns whether there may be more
    if (!are_near(m, w, i, j, s, foresight)) return true;
    if (count == kRowSlots) return false;
    const std::uint32_t pair = static_cast<std::uint32_t>(i * m.shape_count + j);
    int at = count++;
    for (; at > 0 && slots[at - 1] > pair; --at) slots[at] = slots[at - 1];
    slots[at] = pair;
    return true;
  };
  const math::Vec3<Real> low = w.collide.shape_low[i], high = w.collide.shape_high[i];
  int met[kBatch], batch = 0;
  const auto meet_batch = [&] {
    bool more = true;
    for (int k = 0; k < batch && more; ++k) more = meet(met[k]);
    batch = 0;
    return more;
  };
  const bool gathered = for_each_place(m, w, grid, i, [&](int k, std::uint32_t row) {
    const GridPlace<Real>& place = w.collide.grid_place[k];
    met[batch] = place.shape;
    batch += (place.shape > i) & (place.row == row) & boxes_overlap(low, high, place.low, place.high);
    return batch < kBatch || meet_batch();
  });
  if (!gathered || !meet_batch()) return -1;
  for (int k = endless - 1; k >= 0 && w.collide.long_row[k] > i; --k) {
    if (!meet(w.collide.long_row[k])) return -1;
  }
  return count;
}

// Where stretches begin, in near_start, without those of shapes that are tried with all. One thread.
template <typename Real>
AXION_HD inline void add_up_rows(const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  int end = 0;
  w.collide.near_start[0] = 0;
  for (int i = 0; i < m.shape_count; ++i) {
    const int count = w.collide.near_start[i + 1];
    end += count > 0 ? count : 0;
    w.collide.near_start[i + 1] = end;
  }
}

// The stretches of the `count` shapes in long_row, each tried with all after it, and in long_start how many they are up
// to each.
template <typename Real, typename Team>
AXION_HD inline int list_long_rows(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::StepSettings<Real>& s, Foresight foresight, int count) {
  const int capacity = active_pair_capacity(m);
  int found = 0;
  team.for_each(1, [&](int) { w.collide.long_start[0] = 0; });
  for (int k = 0; k < count; ++k) {
    const int i = w.collide.long_row[k], after = i + 1, start = w.collide.near_start[i] + found;
    found += team.filter(
        m.shape_count - after, [&](int p) { return are_near(m, w, i, after + p, s, foresight); },
        [&](int p, int at) {
          if (start + at >= capacity) return;
          w.collide.pair_active[start + at] = static_cast<std::uint32_t>(i * m.shape_count + after + p);
        });
    team.for_each(1, [&](int) { w.collide.long_start[k + 1] = found; });
  }
  return found;
}

// pair_active as a list of all pairs would give it. Returns how many are near; where they are more than its
// capacity, it holds the first of them.
template <typename Real, typename Team>
AXION_HD_CALL int pairs_from_grid(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                  const model::StepSettings<Real>& s, Foresight foresight) {
  const int n = m.shape_count, capacity = active_pair_capacity(m);
  team.for_each(n, [&](int i) { bound_shape(m, w, s, foresight, i); });
  const int endless = team.filter(
      n, [&](int i) { return is_endless(w, i); }, [&](int i, int k) { w.collide.long_row[k] = i; });
  const Grid<Real> grid = build_grid(team, m, w);
  team.for_each(n, [&](int i) { w.collide.near_start[i + 1] = find_row(m, w, s, foresight, grid, endless, i); });
  const int longs = team.filter(
      n, [&](int i) { return w.collide.near_start[i + 1] < 0; }, [&](int i, int k) { w.collide.long_row[k] = i; });
  team.for_each(1, [&](int) { add_up_rows(m, w); });
  const int listed = list_long_rows(team, m, w, s, foresight, longs);
  team.for_each(n, [&](int i) {
    const int count = w.collide.near_start[i + 1] - w.collide.near_start[i];
    if (count == 0) return;
    const int before = partition_point(0, longs, [&](int k) { return w.collide.long_row[k] < i; });
    const int start = w.collide.near_start[i] + w.collide.long_start[before];
    const std::uint32_t* slots = w.collide.pair_found + i * kRowSlots;
    for (int k = 0; k < count && start + k < capacity; ++k) w.collide.pair_active[start + k] = slots[k];
  });
  return w.collide.near_start[n] + listed;
}

}  // namespace axion::collide
