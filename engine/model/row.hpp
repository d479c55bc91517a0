// A row of a step's system of equations.
#pragma once

#include "engine/math/vec3.hpp"

namespace axion::model {

// A row of the Jacobian: against body A (or the child) [l, k_a], against body B (or the parent) [-l, k_b]. Which bodies
// these are follows from the row's place (bodies_of_row), so that a row is nine numbers.
//
// A row over more bodies, of a tendon or of an equality of several joints, is a list of such rows, one for each joint,
// with one impulse: J u is the sum over the list. Residuals sum, bodies gather the one impulse from each row of theirs,
// and the tree's factorisation couples the bodies of the list as it does those of a loop joint
// (constraints/tendon_rows.hpp). Bodies beyond two in the row itself would make all rows longer for the few that have
// them.
template <typename Real>
struct Row {
  math::Vec3<Real> l, k_a, k_b;
};

}  // namespace axion::model
