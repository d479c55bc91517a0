// validate_inertia: whether a rotational inertia can belong to a rigid body.
//
// Pure; may be called by anyone.
#pragma once

#include <array>
#include <string>

#include "engine/base/result.hpp"

namespace axion::model {

inline constexpr double kMinInertia = 1e-15;  // kg m^2, smallest principal moment
// Part of the trace by which principal moments may miss A + B >= C (rounded numbers in files of thin bodies).
inline constexpr double kInertiaTriangleTolerance = 1e-6;

// Refuses I (xx yy zz xy xz yz, kg m^2) unless it is positive definite, with principal moments of at least kMinInertia
// that satisfy the triangle inequality. `field` is its path in the error.
Status validate_inertia(const std::array<double, 6>& I, const std::string& field);

}  // namespace axion::model
