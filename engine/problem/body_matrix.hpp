// The inertia of bodies in Newton's matrix, M̃ and what it lends to light ones.
#pragma once

#include <limits>

#include "engine/constraints/free_motion.hpp"
#include "engine/problem/problem.hpp"

namespace axion::solver {

// The inertia that the matrix lends a body which is light beside the armature that holds it; nothing to conjugate
// residuals, whose operator takes the bodies as they are, nor in float64, which resolves them.
template <typename Real>
AXION_HD inline Real lent(bool symmetric, Real amount) {
  return std::numeric_limits<Real>::digits > 30 || symmetric ? Real(0) : amount;
}

template <typename Real>
AXION_HD inline Real matrix_mass(const Problem<Real>& p, int b) {
  return constraints::body_mass(p.m, p.w, b) + lent<Real>(symmetric_solver(p), p.m.bodies[b].lent_mass);
}

}  // namespace axion::solver
