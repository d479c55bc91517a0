// What Newton's matrix adds to bodies that are light beside the armature of the joints that hold them, so that float32
// can tell their motion from rounding.
//
// A link of 2e-9 kg behind an armature of 0.75 kg m² turns as the armature does; its own inertia, of 1e-13 kg m², is
// all that a factorisation in float32 starts from, and the armature is lost in its rounding. The matrix therefore takes
// it as κ times what supports it, where that is more: Newton's direction is off by some κ a body, its residual and so
// the result are not. What supports a body is estimated from below, root to leaves: against turning the least armature
// on its way to the root, and the root's own inertia where that is free; against moving the least of the root's mass,
// slides' armature, and that armature over the square of the way's length. A joint without armature on the way is no
// support, and nothing is lent. Called by compile.cpp alone.
#pragma once

#include <vector>

#include "engine/model/model_data.hpp"

namespace axion::model {

inline constexpr double kLentShare = 1e-5;        // κ: a hundred units in the last place of float32
inline constexpr double kLeastSupportArm = 0.01;  // m

// Sets lent_mass and lent_inertia; bodies follow their parents.
void lend_inertia(std::vector<BodyData<double>>& bodies, const std::vector<JointData<double>>& joints,
                  const std::vector<AxisData<double>>& axes);

}  // namespace axion::model
