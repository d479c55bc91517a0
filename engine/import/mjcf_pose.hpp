// Positions and the six ways of MJCF to give an orientation.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {

// pos and one of quat, axisangle, euler, xyaxes, zaxis; the identity where nothing is given.
model::Pose read_pose(const Attributes& attributes, const MjcfSettings& settings);

// The turn by `times` each of the three angles of euler, which is not that of as many turns in a row.
math::Quat<double> read_euler(const Attributes& attributes, const MjcfSettings& settings, double times);

// The smallest rotation that takes the z axis to the direction of `v`, which is not zero.
math::Quat<double> rotation_from_z(const math::Vec3<double>& v);

}  // namespace axion::import
