// Pairs near each other in worlds of many shapes: sort and sweep along one axis, by buckets.
//
// Each shape has a box that holds it from where it is to where its velocity takes it, widened by its radius, its reach and half
// the margin; boxes of pairs that come near each other overlap. Along the axis on which shapes are spread furthest they are
// sorted into as many buckets as there are shapes, by their lower ends; a shape looks for those that begin within its own
// interval. Every pair is found once, tested exactly as in the list of all pairs, and put in that list's order: what is found
// is the same. O(n) memory; for n shapes of one size spread in space n^(5/3) comparisons of boxes and n of spheres.
// Source: Baraff 1992, sort and sweep.
#pragma once

#include "engine/base/partition_point.hpp"
#include "engine/collide/near_pairs.hpp"

namespace axion::collide {

// The axis that is swept and its buckets.
template <typename Real>
struct SweepAxis {
  int axis;
  Real low, scale;  // bucket of x: scale (x − low)
};

template <typename Real, typename Team>
AXION_HD inline SweepAxis<Real> choose_axis(const Team& team, const model::ModelView<Real>& m,
                                            const model::WorldView<Real>& w) {
  SweepAxis<Real> best{0, 0, 0};
  Real widest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const Real middle = w.x[0][axis];
    const Real below = team.template max<Real>(m.body_count, [&](int b) { return middle - w.x[b][axis]; });
    const Real above = team.template max<Real>(m.body_count, [&](int b) { return w.x[b][axis] - middle; });
    const Real width = below + above;
    if (!(width > widest) || !(width <= std::numeric_limits<Real>::max())) continue;
    widest = width;
    best = {axis, middle - below, Real(m.shape_count) / width};
  }
  return best;
}

template <typename Real>
AXION_HD inline int bucket_of(const model::ModelView<Real>& m, const SweepAxis<Real>& sweep, Real x) {
  const Real bucket = sweep.scale * (x - sweep.low);
  if (!(bucket > Real(0))) return 0;
  return bucket < Real(m.shape_count - 1) ? static_cast<int>(bucket) : m.shape_count - 1;
}

// The box that shape i stays in while it moves. A little more than the tests of pairs allow for, so that rounding here
// decides nothing.
template <typename Real>
AXION_HD inline void bound_shape(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s, Foresight foresight, int i) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  const Real size = shape.bounding_radius + w.shape_reach[i] + s.contact_margin / 2;
  for (int axis = 0; axis < 3; ++axis) {
    const Real centre = w.shape_centre[i][axis];
    Real low = centre, high = centre;
    const auto cover = [&](const math::Vec3<Real>* v) {
      const Real end = centre + s.dt * v[shape.body][axis];
      low = end < low ? end : low, high = end > high ? end : high;
    };
    if (shape.body >= 0) {
      cover(w.v);
      if (foresight == Foresight::kLastAndSolved) cover(w.v_plus);
    }
    const Real margin = size + Real(1e-4) * (size + std::abs(centre) + (high - low));
    w.shape_low[i][axis] = low - margin, w.shape_high[i][axis] = high + margin;
  }
}

template <typename Real>
AXION_HD inline bool boxes_overlap(const model::WorldView<Real>& w, int i, int j) {
  const math::Vec3<Real>&low_i = w.shape_low[i], &high_i = w.shape_high[i], &low_j = w.shape_low[j], &high_j = w.shape_high[j];
  return low_i.x <= high_j.x && low_j.x <= high_i.x && low_i.y <= high_j.y && low_j.y <= high_i.y &&
         low_i.z <= high_j.z && low_j.z <= high_i.z;
}

// Sorts things by keys in [0, keys), those of one key in their own order: start[k] is the first place of key k, start[keys] their
// number; place(i, at) puts thing i in its place. One thread.
template <typename Key, typename Place>
AXION_HD inline void sort_by_key(int count, int keys, int* start, Key&& key, Place&& place) {
  for (int k = 0; k <= keys; ++k) start[k] = 0;
  for (int i = 0; i < count; ++i) ++start[key(i) + 1];
  for (int k = 0; k < keys; ++k) start[k + 1] += start[k];
  for (int i = 0; i < count; ++i) place(i, start[key(i)]++);
  for (int k = keys; k > 0; --k) start[k] = start[k - 1];  // they served as cursors
  start[0] = 0;
}

// Shapes by buckets of their lower ends: bucket_start, bucket_shape. One thread.
template <typename Real>
AXION_HD inline void fill_buckets(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                  const SweepAxis<Real>& sweep) {
  sort_by_key(
      m.shape_count, m.shape_count, w.bucket_start,
      [&](int i) { return bucket_of(m, sweep, w.shape_low[i][sweep.axis]); },
      [&](int i, int at) { w.bucket_shape[at] = i; });
}

// Index of the pair of two shapes, -1 where they never touch.
template <typename Real>
AXION_HD inline int find_pair(const model::ModelView<Real>& m, int i, int j) {
  const int a = i < j ? i : j, b = i < j ? j : i;
  const int end = m.pair_row[a + 1];
  const int first = partition_point(m.pair_row[a], end, [&](int k) { return upper_shape(m.pairs[k]) < b; });
  return first < end && upper_shape(m.pairs[first]) == b ? first : -1;
}

// Calls f(pair) for the pairs of shape i with those that begin after it.
template <typename Real, typename F>
AXION_HD inline void for_each_partner(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                      const model::StepSettings<Real>& s, Foresight foresight,
                                      const SweepAxis<Real>& sweep, int i, F&& f) {
  const Real low = w.shape_low[i][sweep.axis], high = w.shape_high[i][sweep.axis];
  const int end = w.bucket_start[bucket_of(m, sweep, high) + 1];
  for (int k = w.bucket_start[bucket_of(m, sweep, low)]; k < end; ++k) {
    const int j = w.bucket_shape[k];
    const Real start = w.shape_low[j][sweep.axis];
    if (start < low || (start == low && j <= i) || !boxes_overlap(w, i, j)) continue;
    if (m.shapes[i].body == m.shapes[j].body) continue;
    const int a = i < j ? i : j, b = i < j ? j : i;
    const bool swap = m.shapes[a].body < 0;  // the first is never the world
    if (!near_each_other(m, w, swap ? b : a, swap ? a : b, s, foresight)) continue;
    const int pair = find_pair(m, i, j);
    if (pair >= 0) f(pair);
  }
}

// pair_found becomes pair_active in the order of the list of all pairs; near_start is used up.
template <typename Real, typename Team>
AXION_HD inline void sort_pairs(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                int count) {
  const int n = m.shape_count;
  team.for_each(1, [&](int) {
    sort_by_key(
        count, n, w.near_start, [&](int k) { return lower_shape(m.pairs[w.pair_found[k]]); },
        [&](int k, int at) { w.pair_active[at] = w.pair_found[k]; });
  });
  team.for_each(n, [&](int i) {
    for (int k = w.near_start[i] + 1; k < w.near_start[i + 1]; ++k) {
      const std::uint32_t pair = w.pair_active[k];
      int at = k;
      for (; at > w.near_start[i] && w.pair_active[at - 1] > pair; --at) w.pair_active[at] = w.pair_active[at - 1];
      w.pair_active[at] = pair;
    }
  });
}

// pair_active as the list of all pairs would give it. Returns how many are near; where they are more than its capacity, it holds
// as many of them, which need not be the first in the list.
template <typename Real, typename Team>
AXION_HD_CALL int sweep_pairs(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                              const model::StepSettings<Real>& s, Foresight foresight) {
  const int n = m.shape_count, capacity = model::active_pair_capacity(m);
  const SweepAxis<Real> sweep = choose_axis(team, m, w);
  team.for_each(n, [&](int i) { bound_shape(m, w, s, foresight, i); });
  team.for_each(1, [&](int) { fill_buckets(m, w, sweep); });
  team.for_each(n, [&](int i) {
    int count = 0;
    for_each_partner(m, w, s, foresight, sweep, i, [&](int) { ++count; });
    w.near_start[i + 1] = count;
  });
  team.for_each(1, [&](int) {
    w.near_start[0] = 0;
    for (int i = 0; i < n; ++i) w.near_start[i + 1] += w.near_start[i];
  });
  const int found = w.near_start[n], kept = found < capacity ? found : capacity;
  team.for_each(n, [&](int i) {
    int k = w.near_start[i];
    for_each_partner(m, w, s, foresight, sweep, i, [&](int pair) {
      if (k < capacity) w.pair_found[k] = static_cast<std::uint32_t>(pair);
      ++k;
    });
  });
  sort_pairs(team, m, w, kept);
  return found;
}

}  // namespace axion::collide
