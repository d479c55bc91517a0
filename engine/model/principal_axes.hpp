// Principal axes of a symmetric 3x3 matrix by Jacobi rotations, and the positive part of one.
//
// A = V diag(d) Vᵀ with V a rotation. The sweeps are fixed in number and order, so the result is the same bits on every
// backend; five sweeps reach rounding for any symmetric 3x3 matrix (quadratic convergence), and most entries sooner.
// Source: Golub and Van Loan, Matrix Computations, section 8.5.
#pragma once

#include <limits>

#include "engine/math/quat.hpp"

namespace axion::model {

inline constexpr int kJacobiSweeps = 5;

// d: eigenvalues in the order of V's columns. A diagonal matrix returns V = 1 exactly.
template <typename Real>
AXION_HD_CALL void symmetric_eigen(math::Mat3<Real> A, math::Mat3<Real>& V, math::Vec3<Real>& d) {
  V = math::Mat3<Real>::identity();
  const int p_of[3] = {0, 0, 1}, q_of[3] = {1, 2, 2};
  for (int sweep = 0; sweep < kJacobiSweeps; ++sweep) {
    for (int k = 0; k < 3; ++k) {
      const int p = p_of[k], q = q_of[k];
      const Real gap = A(q, q) - A(p, p);
      if (std::abs(A(p, q)) <=
          std::numeric_limits<Real>::epsilon() / 4 * std::abs(gap)) {  // no rotation that rounding sees
        A(p, q) = A(q, p) = 0;
        continue;
      }
      const Real theta = gap / (Real(2) * A(p, q));
      const Real t = (theta >= 0 ? Real(1) : Real(-1)) / (std::abs(theta) + std::sqrt(theta * theta + Real(1)));
      const Real c = Real(1) / std::sqrt(t * t + Real(1)), s = t * c;
      for (int i = 0; i < 3; ++i) {
        const Real a = A(i, p), b = A(i, q);
        A(i, p) = c * a - s * b, A(i, q) = s * a + c * b;
      }
      for (int i = 0; i < 3; ++i) {
        const Real a = A(p, i), b = A(q, i);
        A(p, i) = c * a - s * b, A(q, i) = s * a + c * b;
        const Real va = V(i, p), vb = V(i, q);
        V(i, p) = c * va - s * vb, V(i, q) = s * va + c * vb;
      }
      A(p, q) = A(q, p) = 0;
    }
  }
  d = {A(0, 0), A(1, 1), A(2, 2)};
}

// The greatest eigenvalue of a symmetric matrix.
template <typename Real>
AXION_HD inline Real greatest_eigenvalue(const math::Mat3<Real>& A) {
  math::Mat3<Real> V;
  math::Vec3<Real> d;
  symmetric_eigen(A, V, d);
  const Real e = d.x > d.y ? d.x : d.y;
  return e > d.z ? e : d.z;
}

// Whether all leading minors are positive.
template <typename Real>
AXION_HD inline bool is_positive_definite(const math::Mat3<Real>& A) {
  const Real minor = A(0, 0) * A(1, 1) - A(0, 1) * A(0, 1);
  const Real last = math::dot(A.row[0], math::cross(A.row[1], A.row[2]));
  return A(0, 0) > Real(0) && minor > Real(0) && last > Real(0);
}

// A with its negative eigenvalues dropped: A itself where it has none.
template <typename Real>
AXION_HD inline math::Mat3<Real> positive_part(const math::Mat3<Real>& A) {
  if (is_positive_definite(A) || A == math::Mat3<Real>{}) return A;
  math::Mat3<Real> V;
  math::Vec3<Real> d;
  symmetric_eigen(A, V, d);
  return math::rotate_diagonal(V, math::Vec3<Real>{d.x > 0 ? d.x : 0, d.y > 0 ? d.y : 0, d.z > 0 ? d.z : 0});
}

// The rotation whose matrix is R.
template <typename Real>
AXION_HD inline math::Quat<Real> to_quat(const math::Mat3<Real>& R) {
  const Real trace = R(0, 0) + R(1, 1) + R(2, 2);
  math::Quat<Real> q;
  if (trace > 0) {
    q = {1 + trace, R(2, 1) - R(1, 2), R(0, 2) - R(2, 0), R(1, 0) - R(0, 1)};
  } else if (R(0, 0) >= R(1, 1) && R(0, 0) >= R(2, 2)) {
    q = {R(2, 1) - R(1, 2), 1 + R(0, 0) - R(1, 1) - R(2, 2), R(0, 1) + R(1, 0), R(0, 2) + R(2, 0)};
  } else if (R(1, 1) >= R(2, 2)) {
    q = {R(0, 2) - R(2, 0), R(0, 1) + R(1, 0), 1 - R(0, 0) + R(1, 1) - R(2, 2), R(1, 2) + R(2, 1)};
  } else {
    q = {R(1, 0) - R(0, 1), R(0, 2) + R(2, 0), R(1, 2) + R(2, 1), 1 - R(0, 0) - R(1, 1) + R(2, 2)};
  }
  return math::normalized(q);
}

}  // namespace axion::model
