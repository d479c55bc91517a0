// How far along a ray a height field is: its surface from above or from below, its walls and its base.
#pragma once

#include "engine/collide/height_field.hpp"

namespace axion::collide {

// The nearest of the two triangles of a cell; infinite where the ray misses both.
template <typename Real>
AXION_HD inline Real ray_cell(const HeightField<Real>& field, int c, int r, const math::Vec3<Real>& p,
                              const math::Vec3<Real>& d, Real slack) {
  Real best = std::numeric_limits<Real>::infinity();
  for (int which = 0; which < 2; ++which) {
    const FieldTriangle<Real> face = field_triangle(field, c, r, which);
    const Real slope = math::dot(face.normal, d);
    if (slope == Real(0)) continue;
    const Real t = -above(face, p) / slope;
    if (t >= Real(0) && t < best && in_column(field, face, p + t * d, slack)) best = t;
  }
  return best;
}

// p and the unit direction d in the field's frame; -1 where the ray misses. It walks over no more cells than the grid
// has columns and rows.
template <typename Real>
AXION_HD_RARE Real ray_height_field(const Shape<Real>& shape, const math::Vec3<Real>& p, const math::Vec3<Real>& d) {
  const HeightField<Real> field = height_field_of(shape);
  const math::Vec3<Real> low{-field.half_x, -field.half_y, -field.base},
      high{field.half_x, field.half_y, field.highest};
  constexpr Real kFar = std::numeric_limits<Real>::infinity();
  Real enter = -kFar, leave = kFar;
  for (int k = 0; k < 3; ++k) {
    if (d[k] == Real(0)) {
      if (p[k] < low[k] || p[k] > high[k]) return Real(-1);
      continue;
    }
    const Real a = (low[k] - p[k]) / d[k], b = (high[k] - p[k]) / d[k];
    const Real near = a < b ? a : b, far = a < b ? b : a;
    enter = near > enter ? near : enter, leave = far < leave ? far : leave;
  }
  if (enter > leave || leave < Real(0)) return Real(-1);
  const auto is_below = [&](const math::Vec3<Real>& q) { return q.z < surface_height(field, q.x, q.y); };
  const math::Vec3<Real> start = p + (enter > Real(0) ? enter : Real(0)) * d;
  if (enter > Real(0) && is_below(start)) return enter;
  const int cells_x = field.columns - 1, cells_y = field.rows - 1;
  const Real slack = Real(32) * std::numeric_limits<Real>::epsilon() * Real(cells_x > cells_y ? cells_x : cells_y);
  int c = field_cell(start.x, field.half_x, field.dx, cells_x),
      r = field_cell(start.y, field.half_y, field.dy, cells_y);
  for (int step = 0; step <= cells_x + cells_y; ++step) {
    const Real hit = ray_cell(field, c, r, p, d, slack);
    if (hit <= leave + slack * (std::abs(leave) + field.dx)) return hit;
    // Distances to the next column and the next row.
    const Real end_x = field.dx * Real(d.x > Real(0) ? c + 1 : c) - field.half_x,
               end_y = field.dy * Real(d.y > Real(0) ? r + 1 : r) - field.half_y;
    const Real to_x = d.x == Real(0) ? kFar : (end_x - p.x) / d.x, to_y = d.y == Real(0) ? kFar : (end_y - p.y) / d.y;
    if (to_x <= to_y) {
      c += d.x > Real(0) ? 1 : -1;
    } else {
      r += d.y > Real(0) ? 1 : -1;
    }
    if (c < 0 || r < 0 || c >= cells_x || r >= cells_y || (to_x == kFar && to_y == kFar)) break;
  }
  return leave < kFar && is_below(p + leave * d) ? leave : Real(-1);
}

}  // namespace axion::collide
