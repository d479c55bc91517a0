// Small geometry of the narrow phase: ball contacts, points and boxes, pairs of segments. Used by the pair families
// only.
#pragma once

#include <limits>

#include "engine/collide/contact_point.hpp"
#include "engine/collide/parameters.hpp"
#include "engine/collide/shape.hpp"
#include "engine/math/mat3.hpp"

namespace axion::collide {

template <typename Real>
AXION_HD constexpr Real clamp(Real x, Real low, Real high) {
  return x < low ? low : (x > high ? high : x);
}

// Below this length (m) the square underflows or loses digits, and a direction is not to be had from a vector.
template <typename Real>
AXION_HD constexpr Real tiny_length() {
  return sizeof(Real) == sizeof(float) ? Real(SearchParameters::kTinySingle) : Real(SearchParameters::kTinyDouble);
}

// Contact of two balls (also: two points thickened by radii). The balls' offset c_a − c_b is given beside the centres,
// because in the world far from its origin it cannot be had from them without loss. Concentric: along `fallback`.
template <typename Real>
AXION_HD inline ContactPoint<Real> ball_contact(const math::Vec3<Real>& p_Wa, Real radius_a,
                                                const math::Vec3<Real>& p_Wb, Real radius_b,
                                                const math::Vec3<Real>& p_ba_W, const math::Vec3<Real>& fallback,
                                                std::uint32_t feature) {
  const Real length = math::norm(p_ba_W);
  const bool regular = length > tiny_length<Real>();
  const math::Vec3<Real> n = regular ? (Real(1) / length) * p_ba_W : fallback;
  return {p_Wa - radius_a * n, p_Wb + radius_b * n, n, (regular ? length : Real(0)) - radius_a - radius_b, feature};
}

template <typename Real>
struct SurfacePoint {
  math::Vec3<Real> point;   // on the surface
  math::Vec3<Real> normal;  // unit, outward
  Real distance;            // signed; negative inside
};

// The point of a box's surface that is nearest to p; all in the box's frame. Inside: on the face of least depth.
template <typename Real>
AXION_HD inline SurfacePoint<Real> nearest_on_box(const math::Vec3<Real>& p, const math::Vec3<Real>& half) {
  const math::Vec3<Real> q{clamp(p.x, -half.x, half.x), clamp(p.y, -half.y, half.y), clamp(p.z, -half.z, half.z)};
  const math::Vec3<Real> out = p - q;
  const Real length = math::norm(out);
  if (length > tiny_length<Real>()) return {q, (Real(1) / length) * out, length};
  int axis = 0;
  Real depth = half.x - std::abs(p.x);
  for (int i = 1; i < 3; ++i) {
    const Real depth_i = half[i] - std::abs(p[i]);
    if (depth_i < depth) depth = depth_i, axis = i;
  }
  SurfacePoint<Real> result{q, {0, 0, 0}, -depth};
  const Real sign = p[axis] < Real(0) ? Real(-1) : Real(1);
  result.normal[axis] = sign;
  result.point[axis] = sign * half[axis];
  return result;
}

// Parameters s, t of the nearest points a + s u and b + t v of two segments, |s| <= ha, |t| <= hb, u and v unit,
// p_ab = b − a. (Ericson, Real-Time Collision Detection, 5.1.9.) Parallel: the middle of the overlap.
template <typename Real>
AXION_HD inline void nearest_on_segments(const math::Vec3<Real>& p_ab, const math::Vec3<Real>& u, Real ha,
                                         const math::Vec3<Real>& v, Real hb, Real& s, Real& t) {
  const Real uv = math::dot(u, v);
  const math::Vec3<Real> w = math::cross(u, v);
  const Real sin_sq = math::dot(w, w);  // not 1 − uv², which cancels
  const Real a_to_b = math::dot(u, p_ab);
  const Real b_to_a = math::dot(v, p_ab);
  if (sin_sq > Real(64) * std::numeric_limits<Real>::epsilon() * std::numeric_limits<Real>::epsilon()) {
    s = clamp((a_to_b - uv * b_to_a) / sin_sq, -ha, ha);
  } else {
    const Real reach = std::abs(uv) * hb;
    s = Real(0.5) * (clamp(a_to_b - reach, -ha, ha) + clamp(a_to_b + reach, -ha, ha));
  }
  t = uv * s - b_to_a;
  if (std::abs(t) > hb) {
    t = clamp(t, -hb, hb);
    s = clamp(uv * t + a_to_b, -ha, ha);
  }
}

// Shrinks [low, high] to the t with |p + t u| <= half; false if none is left.
template <typename Real>
AXION_HD inline bool clip_to_slab(Real p, Real u, Real half, Real& low, Real& high) {
  if (std::abs(u) <= tiny_length<Real>()) return std::abs(p) <= half;
  const Real t0 = (-half - p) / u;
  const Real t1 = (half - p) / u;
  const Real near = t0 < t1 ? t0 : t1;
  const Real far = t0 < t1 ? t1 : t0;
  low = near > low ? near : low;
  high = far < high ? far : high;
  return low <= high;
}

}  // namespace axion::collide
