// A height field: a grid of heights over x and y of its frame, two triangles a cell, filled down to its base.
//
// Column c and row r stand at x = c dx − half_x and y = r dy − half_y. A cell (c, r) is cut along the diagonal from
// its corner (c, r) to (c + 1, r + 1). The solid is what lies below the triangles and above −base, with upright walls
// at the ends of the grid. All in the field's frame.
#pragma once

#include "engine/collide/geometry.hpp"

namespace axion::collide {

// In front of the heights, row by row, the first that of the least y: how deep the solid goes below z = 0, and the
// highest and the lowest of the heights.
inline constexpr int kFieldHeader = 3;

template <typename Real>
struct HeightField {
  const Real* heights;
  int columns, rows;
  Real half_x, half_y, dx, dy, base, highest, lowest;

  AXION_HD Real height(int c, int r) const { return heights[r * columns + c]; }
  AXION_HD math::Vec3<Real> vertex(int c, int r) const {
    return {dx * Real(c) - half_x, dy * Real(r) - half_y, height(c, r)};
  }
  AXION_HD bool has_vertex(int c, int r) const { return c >= 0 && r >= 0 && c < columns && r < rows; }
};

template <typename Real>
AXION_HD inline HeightField<Real> height_field_of(const Shape<Real>& shape) {
  const int columns = shape.hull.stride, rows = shape.hull.count;
  return {shape.hull.x + kFieldHeader,
          columns,
          rows,
          shape.size.x,
          shape.size.y,
          Real(2) * shape.size.x / Real(columns - 1),
          Real(2) * shape.size.y / Real(rows - 1),
          shape.hull.x[0],
          shape.hull.x[1],
          shape.hull.x[2]};
}

// The cell of a grid of `cells` along an axis that holds x; the nearest one of an x beyond them.
template <typename Real>
AXION_HD inline int field_cell(Real x, Real half, Real width, int cells) {
  const Real place = (x + half) / width;
  if (!(place > Real(0))) return 0;
  return place < Real(cells) ? static_cast<int>(place) : cells - 1;
}

// One of the two triangles of a cell: which = 0 below the diagonal, towards +x, 1 above it, towards +y.
template <typename Real>
struct FieldTriangle {
  math::Vec3<Real> corner;  // (c, r)
  math::Vec3<Real> normal;  // unit, upwards
  int c, r, which;
};

template <typename Real>
AXION_HD inline FieldTriangle<Real> field_triangle(const HeightField<Real>& field, int c, int r, int which) {
  const math::Vec3<Real> corner = field.vertex(c, r);
  const Real far = field.height(c + 1, r + 1);
  // Slopes along x and y.
  const Real u = which == 0 ? field.height(c + 1, r) - corner.z : far - field.height(c, r + 1);
  const Real v = which == 0 ? far - field.height(c + 1, r) : field.height(c, r + 1) - corner.z;
  return {corner, math::normalized(math::Vec3<Real>{-u / field.dx, -v / field.dy, 1}), c, r, which};
}

// The triangle over or under (x, y), which is within the grid.
template <typename Real>
AXION_HD inline FieldTriangle<Real> triangle_at(const HeightField<Real>& field, Real x, Real y) {
  const int c = field_cell(x, field.half_x, field.dx, field.columns - 1);
  const int r = field_cell(y, field.half_y, field.dy, field.rows - 1);
  const Real u = (x + field.half_x) / field.dx - Real(c), v = (y + field.half_y) / field.dy - Real(r);
  return field_triangle(field, c, r, u >= v ? 0 : 1);
}

// Whether (x, y) of p is within the triangle's, or beyond its edges by less than `slack` of a cell.
template <typename Real>
AXION_HD inline bool in_column(const HeightField<Real>& field, const FieldTriangle<Real>& triangle,
                               const math::Vec3<Real>& p, Real slack) {
  const Real u = (p.x - triangle.corner.x) / field.dx, v = (p.y - triangle.corner.y) / field.dy;
  if (triangle.which == 0) return v >= -slack && u <= Real(1) + slack && u - v >= -slack;
  return u >= -slack && v <= Real(1) + slack && v - u >= -slack;
}

// Height of p above the triangle's plane, along its normal.
template <typename Real>
AXION_HD inline Real above(const FieldTriangle<Real>& triangle, const math::Vec3<Real>& p) {
  return math::dot(triangle.normal, p - triangle.corner);
}

// The surface's height at (x, y); beyond the grid that at its end.
template <typename Real>
AXION_HD inline Real surface_height(const HeightField<Real>& field, Real x, Real y) {
  const Real at_x = clamp(x, -field.half_x, field.half_x), at_y = clamp(y, -field.half_y, field.half_y);
  const FieldTriangle<Real> triangle = triangle_at(field, at_x, at_y);
  const math::Vec3<Real>&p = triangle.corner, &n = triangle.normal;
  return p.z - (n.x * (at_x - p.x) + n.y * (at_y - p.y)) / n.z;
}

// Cells that a box overlaps, those at an end where it is beyond it.
struct FieldCells {
  int c0, c1, r0, r1;
};

template <typename Real>
AXION_HD inline FieldCells cells_within(const HeightField<Real>& field, Real x0, Real x1, Real y0, Real y1) {
  return {field_cell(x0, field.half_x, field.dx, field.columns - 1),
          field_cell(x1, field.half_x, field.dx, field.columns - 1),
          field_cell(y0, field.half_y, field.dy, field.rows - 1),
          field_cell(y1, field.half_y, field.dy, field.rows - 1)};
}

template <typename Real>
AXION_HD inline Real highest_corner(const HeightField<Real>& field, int c, int r) {
  const Real a = field.height(c, r), b = field.height(c + 1, r), e = field.height(c, r + 1),
             f = field.height(c + 1, r + 1);
  const Real low = a > b ? a : b, high = e > f ? e : f;
  return low > high ? low : high;
}

}  // namespace axion::collide
