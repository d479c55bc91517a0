// Mat3: a 3x3 matrix of reals, row-major.
#pragma once

#include "engine/math/vec3.hpp"

namespace axion::math {

template <typename Real>
struct Mat3 {
  Vec3<Real> row[3];

  constexpr bool operator==(const Mat3&) const = default;  // defaulted: host and device without the macro
  AXION_HD_SMALL constexpr Real& operator()(int i, int j) { return row[i][j]; }
  AXION_HD_SMALL constexpr const Real& operator()(int i, int j) const { return row[i][j]; }
  AXION_HD_SMALL constexpr Vec3<Real> column(int j) const { return {row[0][j], row[1][j], row[2][j]}; }
  AXION_HD_SMALL static constexpr Mat3 diagonal(Real a, Real b, Real c) { return {{{a, 0, 0}, {0, b, 0}, {0, 0, c}}}; }
  AXION_HD_SMALL static constexpr Mat3 identity() { return diagonal(1, 1, 1); }
};

template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> operator*(const Mat3<Real>& A, const Vec3<Real>& v) {
  return {dot(A.row[0], v), dot(A.row[1], v), dot(A.row[2], v)};
}
// Aᵀ v
template <typename Real>
AXION_HD_SMALL constexpr Vec3<Real> transpose_times(const Mat3<Real>& A, const Vec3<Real>& v) {
  return v.x * A.row[0] + v.y * A.row[1] + v.z * A.row[2];
}
template <typename Real>
AXION_HD_SMALL constexpr Mat3<Real> operator+(const Mat3<Real>& A, const Mat3<Real>& B) {
  return {{A.row[0] + B.row[0], A.row[1] + B.row[1], A.row[2] + B.row[2]}};
}
template <typename Real>
AXION_HD_SMALL constexpr Mat3<Real> operator*(Real s, const Mat3<Real>& A) {
  return {{s * A.row[0], s * A.row[1], s * A.row[2]}};
}
template <typename Real>
AXION_HD_SMALL constexpr Mat3<Real> operator*(const Mat3<Real>& A, const Mat3<Real>& B) {
  return {{transpose_times(B, A.row[0]), transpose_times(B, A.row[1]), transpose_times(B, A.row[2])}};
}
template <typename Real>
AXION_HD_SMALL constexpr Mat3<Real> transpose(const Mat3<Real>& A) {
  return {{A.column(0), A.column(1), A.column(2)}};
}

template <typename Real>
AXION_HD_SMALL constexpr Mat3<Real> symmetric_part(const Mat3<Real>& A) {
  return Real(0.5) * (A + transpose(A));
}
// a bᵀ
template <typename Real>
AXION_HD_SMALL constexpr Mat3<Real> outer(const Vec3<Real>& a, const Vec3<Real>& b) {
  return {{a.x * b, a.y * b, a.z * b}};
}
// The matrix S with S v = a × v.
template <typename Real>
AXION_HD_SMALL constexpr Mat3<Real> skew(const Vec3<Real>& a) {
  return {{{0, -a.z, a.y}, {a.z, 0, -a.x}, {-a.y, a.x, 0}}};
}
template <typename Real>
AXION_HD_SMALL constexpr Real determinant(const Mat3<Real>& A) {
  return dot(A.row[0], cross(A.row[1], A.row[2]));
}
// A⁻¹ by cofactors; the caller knows that A is regular.
template <typename Real>
AXION_HD_SMALL constexpr Mat3<Real> inverse(const Mat3<Real>& A) {
  const Vec3<Real> c0 = cross(A.row[1], A.row[2]);
  const Vec3<Real> c1 = cross(A.row[2], A.row[0]);
  const Vec3<Real> c2 = cross(A.row[0], A.row[1]);
  const Real d = Real(1) / dot(A.row[0], c0);
  return transpose(Mat3<Real>{{d * c0, d * c1, d * c2}});
}
// R diag(d) Rᵀ
template <typename Real>
AXION_HD_SMALL constexpr Mat3<Real> rotate_diagonal(const Mat3<Real>& R, const Vec3<Real>& d) {
  return Mat3<Real>{{scale(R.row[0], d), scale(R.row[1], d), scale(R.row[2], d)}} * transpose(R);
}

}  // namespace axion::math
