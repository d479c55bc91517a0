// The joints of one body: MJCF lists one or more, a scene has one compound joint.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <span>

#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::import {

// The joint that `joints` (<joint> and <freejoint>, in document order, with their defaults) make together; its parent
// and child are left to the caller. Axes have the names given, "" where there is none. None at all: fixed.
model::JointSpec read_joints(std::span<const Attributes> joints, const MjcfSettings& settings, Notes& notes);

}  // namespace axion::import
