// Shapes by cells of their own size: what may overlap a box is found by looking at a number of others that does not
// grow.
//
// Each shape has a box that holds it from where it is to where its velocity takes it, widened by its radius, its
// reach and half the margin; boxes of pairs that come near each other overlap. Levels of cells go from the longest
// side of all boxes down: the cells of a level are as long as its longest box, and it has the boxes that are more
// than half as long. One size of shapes so makes one level, and sizes that no shape has make none. A box begins in one
// cell of its level and ends in the next at most. There each level has the shapes of its own and, apart from them,
// all smaller ones as guests. A shape looks for those of its own level and greater ones in their levels, and for
// smaller ones among the guests of its own; so either of two finds the other in the cells around its own, be they
// few.
//
// Cells are hashed into buckets: rows of cells along x by their level, y and z, the cells of a row one after another.
// So neither memory nor time depends on how far apart shapes are. Boxes without end are in no cell; nor are those
// that are not numbers, which meet nothing. What is found is the same whatever the cells are.
// Source: Ericson 2005, Real-Time Collision Detection, section 7.2: hierarchical grids, hashed.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/collide/near_pairs.hpp"
#include "engine/collide/parameters.hpp"

namespace axion::collide {

template <typename Real>
struct Grid {
  int levels;
  int shift;               // of a hash to a bucket
  Real cell[kGridLevels];  // m, the coarsest first
};
static_assert(2 * kGridLevels <= 16);  // tables of a row (row_of)

// The box that shape i stays in while it moves, and its longest side: infinite where it has no end, or one beyond the
// numbers that cells can be counted with, and negative where it is nowhere. A little more than the tests of pairs allow
// for, so that rounding here decides nothing; of places it is less than `kRounding`.
template <typename Real>
AXION_HD inline void bound_shape(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::StepSettings<Real>& s, Foresight foresight, int i) {
  const model::ShapeData<Real>& shape = m.shapes[i];
  const Real size = shape.bounding_radius + w.collide.shape_reach[i] + s.contact_margin / 2;
  constexpr Real kRounding = 32 * std::numeric_limits<Real>::epsilon();
  constexpr Real kEnd = std::numeric_limits<Real>::max() / 4;
  Real longest = Real(GridParameters::kLeastSide);  // a point has a cell, too
  bool somewhere = true, ends = true;
  for (int axis = 0; axis < 3; ++axis) {
    const Real centre = w.collide.shape_centre[i][axis];
    Real low = centre, high = centre;
    const auto cover = [&](const math::Vec3<Real>* v) {
      const Real end = centre + s.dt * v[shape.body][axis];
      low = end < low ? end : low, high = end > high ? end : high;
    };
    if (shape.body >= 0) {
      cover(w.v);
      if (foresight == Foresight::kLastAndSolved) cover(w.v_plus);
    }
    const Real margin = size + Real(GridParameters::kBoxSlack) * (size + (high - low)) + kRounding * std::abs(centre);
    low -= margin, high += margin;
    const Real side = high - low;
    somewhere = somewhere && side == side;
    ends = ends && low > -kEnd && high < kEnd;
    longest = side > longest ? side : longest;
    w.collide.shape_low[i][axis] = low, w.collide.shape_high[i][axis] = high;
  }
  w.collide.shape_side[i] = !somewhere ? Real(-1) : ends ? longest : std::numeric_limits<Real>::infinity();
}

// All comparisons whatever they give: which of them fails is chance, and a branch on it costs more than the rest of
// them.
template <typename Real>
AXION_HD inline bool boxes_overlap(const math::Vec3<Real>& low_i, const math::Vec3<Real>& high_i,
                                   const math::Vec3<Real>& low_j, const math::Vec3<Real>& high_j) {
  return (low_i.x <= high_j.x) & (low_j.x <= high_i.x) & (low_i.y <= high_j.y) & (low_j.y <= high_i.y) &
         (low_i.z <= high_j.z) & (low_j.z <= high_i.z);
}

template <typename Real>
AXION_HD inline bool is_endless(const model::WorldView<Real>& w, int i) {
  return w.collide.shape_side[i] > std::numeric_limits<Real>::max();
}

// Levels of boxes that are more than half as long as the longest; of a greater share where eight of them would not
// reach to the shortest.
template <typename Real, typename Team>
AXION_HD inline Grid<Real> choose_levels(const Team& team, const model::ModelView<Real>& m,
                                         const model::WorldView<Real>& w) {
  Grid<Real> grid{};
  grid.shift = 32;
  for (int buckets = bucket_count(m.shape_count); buckets > 1; buckets /= 2) --grid.shift;
  const auto longest_below = [&](Real end) {
    return team.template max<Real>(m.shape_count, [&](int i) {
      const Real side = w.collide.shape_side[i];
      return side < end ? side : Real(0);
    });
  };
  Real longest = longest_below(std::numeric_limits<Real>::infinity());
  const Real finest = team.template max<Real>(m.shape_count, [&](int i) {
    const Real side = w.collide.shape_side[i];
    return side > Real(0) ? Real(1) / side : Real(0);
  });
  const auto root8 = [](Real x) { return std::sqrt(std::sqrt(std::sqrt(x))); };
  static_assert(kGridLevels == 8);
  const Real step = root8(longest) * root8(finest), ratio = step > Real(2) ? step : Real(2);
  while (longest > Real(0) && grid.levels < kGridLevels) {
    grid.cell[grid.levels++] = longest;
    longest = longest_below(longest / ratio);
  }
  return grid;
}

// The finest level whose cells hold shape i; -1 where none does.
template <typename Real>
AXION_HD inline int level_of(const model::WorldView<Real>& w, const Grid<Real>& grid, int i) {
  const Real side = w.collide.shape_side[i];
  if (!(side > Real(0))) return -1;
  int level = grid.levels - 1;
  while (level >= 0 && side > grid.cell[level]) --level;
  return level;
}

// The cell of x along an axis; never falls as x grows. Beyond 2^20, where floats no longer tell cells apart, all is
// one.
template <typename Real>
AXION_HD inline int cell_of(Real x, Real per_metre) {
  constexpr int kEnd = 1 << 20;
  const Real place = x * per_metre;
  if (!(place > Real(-kEnd))) return -kEnd;
  if (!(place < Real(kEnd))) return kEnd;
  const int cell = static_cast<int>(place);
  return place < Real(cell) ? cell - 1 : cell;
}

// A row of cells along x. Rows 2^14 cells apart are one; no search looks at both.
AXION_HD inline std::uint32_t row_of(int table, int y, int z) {
  const auto low_bits = [](int cell) { return static_cast<std::uint32_t>(cell) & 0x3fffu; };
  return static_cast<std::uint32_t>(table) << 28 | low_bits(z) << 14 | low_bits(y);
}

template <typename Real>
AXION_HD inline int bucket_of(const Grid<Real>& grid, std::uint32_t row, int x) {
  const std::uint32_t hash = row * 0x9e3779b1u;  // Knuth's multiplicative hash
  return static_cast<int>(((hash >> grid.shift) + static_cast<std::uint32_t>(x)) & ((1u << (32 - grid.shift)) - 1u));
}

// Each level has two tables: of its own shapes, and of its guests.
AXION_HD inline int own_table(int level) { return 2 * level; }
AXION_HD inline int guest_table(int level) { return 2 * level + 1; }

// Where shape i is in each level: entry_bucket, entry_row.
template <typename Real>
AXION_HD inline void enter_shape(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const Grid<Real>& grid, int i) {
  const int own = level_of(w, grid, i);
  const math::Vec3<Real>& low = w.collide.shape_low[i];
  for (int level = 0; level < grid.levels; ++level) {
    const int entry = level * m.shape_count + i;
    w.collide.entry_bucket[entry] = -1;
    if (level > own) continue;
    const Real per_metre = Real(1) / grid.cell[level];
    const int table = level == own ? own_table(level) : guest_table(level);
    const std::uint32_t row = row_of(table, cell_of(low.y, per_metre), cell_of(low.z, per_metre));
    w.collide.entry_row[entry] = row;
    w.collide.entry_bucket[entry] = bucket_of(grid, row, cell_of(low.x, per_metre));
  }
}

// Entries sorted by buckets, those of one bucket in their own order: grid_place, and bucket_start, which is zero
// before. One thread.
template <typename Real>
AXION_HD inline void sort_entries(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                  const Grid<Real>& grid) {
  const int n = m.shape_count, buckets = bucket_count(n);
  for (int entry = 0; entry < grid.levels * n; ++entry) {
    if (w.collide.entry_bucket[entry] >= 0) ++w.collide.bucket_start[w.collide.entry_bucket[entry]];
  }
  int end = 0;
  for (int k = 0; k < buckets; ++k) end += w.collide.bucket_start[k], w.collide.bucket_start[k] = end;
  w.collide.bucket_start[buckets] = end;
  for (int level = grid.levels - 1; level >= 0; --level) {
    for (int i = n - 1; i >= 0; --i) {
      const int entry = level * n + i;
      if (w.collide.entry_bucket[entry] < 0) continue;
      const int at = --w.collide.bucket_start[w.collide.entry_bucket[entry]];
      w.collide.grid_place[at] = {w.collide.shape_low[i], w.collide.shape_high[i], i, w.collide.entry_row[entry]};
    }
  }
}

// Needs the boxes of all shapes.
template <typename Real, typename Team>
AXION_HD inline Grid<Real> build_grid(const Team& team, const model::ModelView<Real>& m,
                                      const model::WorldView<Real>& w) {
  const Grid<Real> grid = choose_levels(team, m, w);
  team.for_each(m.shape_count, [&](int i) { enter_shape(m, w, grid, i); });
  team.for_each(bucket_count(m.shape_count), [&](int k) { w.collide.bucket_start[k] = 0; });
  team.for_each(1, [&](int) { sort_entries(m, w, grid); });
  return grid;
}

// Calls f(k, row) for the places k in the buckets of a level's cells around shape i; what is of those cells has the
// `row`, others met there by chance. Ends where f returns false; returns whether it never did.
template <typename Real, typename F>
AXION_HD inline bool look_around(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const Grid<Real>& grid, int level, int table, int i, F&& f) {
  // Boxes that begin this far before may overlap. Two hundredths are for rounding of places: that is less than one of
  // them of a side, as boxes grow with the distance from the origin (bound_shape). So a box meets four cells along an
  // axis at most.
  const Real per_metre = Real(1) / grid.cell[level], back = Real(GridParameters::kBack) * grid.cell[level];
  const math::Vec3<Real>&low = w.collide.shape_low[i], &high = w.collide.shape_high[i];
  const int x0 = cell_of(low.x - back, per_metre), cells = cell_of(high.x, per_metre) - x0 + 1;
  const int y0 = cell_of(low.y - back, per_metre), y1 = cell_of(high.y, per_metre);
  const int z0 = cell_of(low.z - back, per_metre), z1 = cell_of(high.z, per_metre);
  const int buckets = bucket_count(m.shape_count);
  for (int z = z0; z <= z1; ++z) {
    for (int y = y0; y <= y1; ++y) {
      const std::uint32_t row = row_of(table, y, z);
      const int first = bucket_of(grid, row, x0);
      const int beyond = first + cells - buckets;  // a row goes on in the first bucket after the last
      int end = w.collide.bucket_start[beyond > 0 ? buckets : first + cells];
      for (int k = w.collide.bucket_start[first]; k < end; ++k) {
        if (!f(k, row)) return false;
      }
      if (beyond <= 0) continue;
      end = w.collide.bucket_start[beyond];
      for (int k = 0; k < end; ++k) {
        if (!f(k, row)) return false;
      }
    }
  }
  return true;
}

// The same for all tables where shapes may be whose boxes overlap that of shape i; each of those is there once.
template <typename Real, typename F>
AXION_HD inline bool for_each_place(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                    const Grid<Real>& grid, int i, F&& f) {
  const int own = level_of(w, grid, i);
  if (own < 0) return true;
  const int last = own < grid.levels - 1 ? guest_table(own) : own_table(own);
  for (int table = 0; table <= last; ++table) {
    const int level = table / 2;
    if (table == guest_table(level) && level < own) continue;
    if (!look_around(m, w, grid, level, table, i, f)) return false;
  }
  return true;
}

}  // namespace axion::collide
