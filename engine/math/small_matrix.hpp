// Inverses of small dense matrices in place, one thread each; row-major with a stride.
#pragma once

#include <cmath>
#include <limits>

#include "engine/base/macros.hpp"

namespace axion::math {

inline constexpr int kMaxSmallMatrix = 12;

template <typename Real>
AXION_HD constexpr Real least_pivot() {
  return std::numeric_limits<Real>::min() * Real(1e6);
}

// A⁻¹ of a symmetric positive definite matrix by Cholesky, A = L Lᵀ. A pivot that rounding leaves below zero is
// replaced by the least positive one.
template <typename Real>
AXION_HD_CALL void invert_positive(Real* A, int n, int stride) {
  for (int k = 0; k < n; ++k) {
    Real pivot = A[k * stride + k];
    for (int c = 0; c < k; ++c) pivot -= A[k * stride + c] * A[k * stride + c];
    const Real root = std::sqrt(pivot > least_pivot<Real>() ? pivot : least_pivot<Real>());
    A[k * stride + k] = root;
    for (int r = k + 1; r < n; ++r) {
      Real sum = A[r * stride + k];
      for (int c = 0; c < k; ++c) sum -= A[r * stride + c] * A[k * stride + c];
      A[r * stride + k] = sum / root;
    }
  }
  for (int c = 0; c < n; ++c) {  // L⁻¹ in the lower triangle
    A[c * stride + c] = Real(1) / A[c * stride + c];
    for (int r = c + 1; r < n; ++r) {
      Real sum = 0;
      for (int k = c; k < r; ++k) sum += A[r * stride + k] * A[k * stride + c];
      A[r * stride + c] = -sum / A[r * stride + r];
    }
  }
  for (int r = 0; r < n; ++r) {  // L⁻ᵀ L⁻¹: the lower triangle reads only what is below, so in place by rows
    for (int c = 0; c <= r; ++c) {
      Real sum = 0;
      for (int k = r; k < n; ++k) sum += A[k * stride + r] * A[k * stride + c];
      A[r * stride + c] = sum;
    }
  }
  for (int r = 0; r < n; ++r) {
    for (int c = r + 1; c < n; ++c) A[r * stride + c] = A[c * stride + r];
  }
}

// A⁻¹ of a general matrix of at most kMaxSmallMatrix rows, by Gauss and Jordan with partial pivoting.
template <typename Real>
AXION_HD_CALL void invert_general(Real* A, int n, int stride) {
  int exchanged[kMaxSmallMatrix];
  for (int k = 0; k < n; ++k) {
    int best = k;
    for (int r = k + 1; r < n; ++r) {
      if (std::abs(A[r * stride + k]) > std::abs(A[best * stride + k])) best = r;
    }
    exchanged[k] = best;
    for (int c = 0; c < n && best != k; ++c) {
      const Real t = A[k * stride + c];
      A[k * stride + c] = A[best * stride + c], A[best * stride + c] = t;
    }
    Real pivot = A[k * stride + k];
    if (std::abs(pivot) < least_pivot<Real>()) pivot = pivot < 0 ? -least_pivot<Real>() : least_pivot<Real>();
    const Real inverse = Real(1) / pivot;
    A[k * stride + k] = 1;
    for (int c = 0; c < n; ++c) A[k * stride + c] *= inverse;
    for (int r = 0; r < n; ++r) {
      if (r == k) continue;
      const Real factor = A[r * stride + k];
      A[r * stride + k] = 0;
      for (int c = 0; c < n; ++c) A[r * stride + c] -= factor * A[k * stride + c];
    }
  }
  for (int k = n - 1; k >= 0; --k) {  // rows exchanged before are columns exchanged of the inverse
    if (exchanged[k] == k) continue;
    for (int r = 0; r < n; ++r) {
      const Real t = A[r * stride + k];
      A[r * stride + k] = A[r * stride + exchanged[k]], A[r * stride + exchanged[k]] = t;
    }
  }
}

// y = A x
template <typename Real>
AXION_HD inline void multiply(const Real* A, int n, int stride, const Real* x, Real* y) {
  for (int r = 0; r < n; ++r) {
    Real sum = 0;
    for (int c = 0; c < n; ++c) sum += A[r * stride + c] * x[c];
    y[r] = sum;
  }
}

}  // namespace axion::math
