// A row of a step's system of equations.
#pragma once

#include "engine/math/vec3.hpp"

namespace axion::model {

// A row of the Jacobian: against body A (or the child) [l, k_a], against body B (or the parent) [-l, k_b]. Which bodies
// these are follows from the row's place (bodies_of_row), so that a row is nine numbers.
//
// A row over more bodies, as of a tendon or of an equality of several joints, would be a chain of such rows, one for
// each pair of bodies that the path connects, with one impulse: J u is the sum over the chain. Residuals sum, bodies
// gather the one impulse from each row of theirs, and the tree's factorisation couples the chain's bodies as it does
// those of a loop joint. Bodies beyond two in the row itself would make all rows longer for the few that have them.
template <typename Real>
struct Row {
  math::Vec3<Real> l, k_a, k_b;
};

}  // namespace axion::model
