// A row of a step's system of equations.
#pragma once

#include "engine/math/vec3.hpp"

namespace axion::model {

// A row of the Jacobian: against body A (or the child) [l, k_a], against body B (or the parent) [-l, k_b].
template <typename Real>
struct Row {
  math::Vec3<Real> l, k_a, k_b;
};

}  // namespace axion::model
