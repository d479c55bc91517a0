// Vec3: a vector of three reals; the value type of positions, directions and impulses.
#pragma once

#include <cmath>

#include "engine/base/macros.hpp"

namespace axion::math {

template <typename Real>
struct Vec3 {
  Real x{}, y{}, z{};

  AXION_HD_SMALL constexpr Real& operator[](int i) { return i == 0 ? x : (i == 1 ? y : z); }
  AXION_HD_SMALL constexpr const Real& operator[](int i) const { return i == 0 ? x : (i == 1 ? y : z); }
  AXION_HD_SMALL constexpr Vec3& operator+=(const Vec3& b) {
    x += b.x, y += b.y, z += b.z;
    return *this;
  }
  AXION_HD_SMALL constexpr Vec3& operator-=(const Vec3& b) {
    x -= b.x, y -= b.y, z -= b.z;
    return *this;
  }
  AXION_HD_SMALL constexpr Vec3& operator*=(Real s) {
    x *= s, y *= s, z *= s;
    return *this;
  }
  constexpr bool operator==(const Vec3&) const = default;  // defaulted: host and device without the macro
};

// Along axis i.
template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> unit_vector(int i) {
  return {i == 0 ? Real(1) : Real(0), i == 1 ? Real(1) : Real(0), i == 2 ? Real(1) : Real(0)};
}

template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> operator+(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> operator-(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> operator-(const Vec3<Real>& a) {
  return {-a.x, -a.y, -a.z};
}
template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> operator*(Real s, const Vec3<Real>& a) {
  return {s * a.x, s * a.y, s * a.z};
}
template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> operator*(const Vec3<Real>& a, Real s) {
  return s * a;
}
template <typename Real>
AXION_HD_SMALL constexpr Real dot(const Vec3<Real>& a, const Vec3<Real>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> cross(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
// Componentwise product.
template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> scale(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {a.x * b.x, a.y * b.y, a.z * b.z};
}
template <typename Real>
AXION_HD_SMALL inline Real norm(const Vec3<Real>& a) {
  return std::sqrt(dot(a, a));
}
// a / |a|; the caller knows that |a| > 0.
template <typename Real>
AXION_HD_SMALL inline Vec3<Real> normalized(const Vec3<Real>& a) {
  return (Real(1) / norm(a)) * a;
}

// Two unit vectors that complete the unit vector n to a right-handed frame (n, t1, t2).
template <typename Real>
AXION_HD_SMALL inline void tangent_basis(const Vec3<Real>& n, Vec3<Real>& t1, Vec3<Real>& t2) {
  const Vec3<Real> a = std::abs(n.x) < Real(0.8) ? Vec3<Real>{1, 0, 0} : Vec3<Real>{0, 1, 0};
  t1 = normalized(a - dot(n, a) * n);
  t2 = cross(n, t1);
}

template <typename To, typename From>
AXION_HD_SMALL constexpr Vec3<To> cast(const Vec3<From>& a) {
  return {To(a.x), To(a.y), To(a.z)};
}

}  // namespace axion::math
