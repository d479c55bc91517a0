#include "engine/model/validate_inertia.hpp"

#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

// Sylvester's criterion.
bool is_positive_definite(const math::Mat3<double>& A) {
  return A(0, 0) > 0 && A(0, 0) * A(1, 1) - A(0, 1) * A(0, 1) > 0 && math::determinant(A) > 0;
}

}  // namespace

// The matrices are scaled by the trace, so that no product of entries underflows.
Status validate_inertia(const std::array<double, 6>& I, const std::string& field) {
  const auto text = [&I] {
    std::string numbers;
    for (double v : I) numbers += (numbers.empty() ? "" : " ") + to_text(v);
    return numbers;
  };
  const double trace = I[0] + I[1] + I[2];
  const math::Mat3<double> one = math::Mat3<double>::identity();
  // The moments of I are all above kMinInertia if I - kMinInertia 1 is positive definite.
  if (!(trace > 0) || !is_positive_definite((1 / trace) * to_matrix(I) + (-kMinInertia / trace) * one)) {
    return invalid_argument(field, field + " must be positive definite with principal moments above " +
                                       to_text(kMinInertia) + " kg m^2; it is (" + text() + ").");
  }
  // A + B >= C for all three moments if (tr I / 2) 1 - I, the second moment of mass, is positive semidefinite.
  if (!is_positive_definite((0.5 + kInertiaTriangleTolerance) * one + (-1 / trace) * to_matrix(I))) {
    return invalid_argument(
        field, field + " must have principal moments A + B >= C, as every body has; it is (" + text() + ").");
  }
  return {};
}

}  // namespace axion::model
