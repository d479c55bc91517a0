// Quat: a unit quaternion (w, x, y, z) as a rotation; R_AB takes components in B to components in A.
#pragma once

#include "engine/math/angle_functions.hpp"
#include "engine/math/mat3.hpp"

namespace axion::math {

template <typename Real>
struct Quat {
  Real w{1}, x{}, y{}, z{};
  AXION_HD_SMALL constexpr Vec3<Real> vec() const { return {x, y, z}; }
  constexpr bool operator==(const Quat&) const = default;  // defaulted: host and device without the macro
};

template <typename Real>
AXION_HD_SMALL constexpr Quat<Real> operator*(const Quat<Real>& a, const Quat<Real>& b) {
  return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
          a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
template <typename Real>
AXION_HD_SMALL constexpr Quat<Real> conjugate(const Quat<Real>& a) {
  return {a.w, -a.x, -a.y, -a.z};
}
template <typename Real>
AXION_HD_SMALL inline Quat<Real> normalized(const Quat<Real>& a) {
  const Real s = Real(1) / std::sqrt(a.w * a.w + a.x * a.x + a.y * a.y + a.z * a.z);
  return {s * a.w, s * a.x, s * a.y, s * a.z};
}
// R v
template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> rotate(const Quat<Real>& q, const Vec3<Real>& v) {
  const Vec3<Real> t = Real(2) * cross(q.vec(), v);
  return v + q.w * t + cross(q.vec(), t);
}
// Rᵀ v
template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> rotate_inverse(const Quat<Real>& q, const Vec3<Real>& v) {
  return rotate(conjugate(q), v);
}
template <typename Real>
AXION_HD_SMALL constexpr Mat3<Real> to_matrix(const Quat<Real>& q) {
  const Real xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z, xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
  const Real wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
  return {{{1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy)},
           {2 * (xy + wz), 1 - 2 * (xx + zz), 2 * (yz - wx)},
           {2 * (xz - wy), 2 * (yz + wx), 1 - 2 * (xx + yy)}}};
}
// The rotation by the rotation vector r (axis times angle): the exponential map.
template <typename Real>
AXION_HD_SMALL inline Quat<Real> exp_rotation(const Vec3<Real>& r) {
  const Real half_sq = Real(0.25) * dot(r, r);
  if (half_sq <= Real(1)) {
    const Real s = Real(0.5) * turn_series<1>(half_sq);
    return {turn_series<0>(half_sq), s * r.x, s * r.y, s * r.z};
  }
  const Real half = std::sqrt(half_sq);
  const SineCosine<Real> turn = sine_cosine(half);
  const Real s = Real(0.5) * turn.sine / half;
  return {turn.cosine, s * r.x, s * r.y, s * r.z};
}

template <typename To, typename From>
AXION_HD_SMALL constexpr Quat<To> cast(const Quat<From>& a) {
  return {To(a.w), To(a.x), To(a.y), To(a.z)};
}

}  // namespace axion::math
