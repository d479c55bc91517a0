// The joints of one body: MJCF lists one or more, a scene has compound joints.
//
// Used inside engine/import only. Throws ImportFailure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/import/mjcf_attributes.hpp"
#include "engine/import/mjcf_settings.hpp"
#include "engine/model/scene_spec.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {

// A <joint> or <freejoint> with its defaults, the frame in which it is given, in the body's, and its name, "" for none.
struct MjcfJoint {
  Attributes attributes;
  model::Pose X_BF;
  bool in_frame = false;
  std::string name;
};

// The joints that `joints`, in document order, make one after another, as few as can be; parents and children are left
// to the caller. None at all: one that is fixed.
std::vector<model::JointSpec> read_joints(std::span<const MjcfJoint> joints, const MjcfSettings& settings,
                                          Notes& notes);

}  // namespace axion::import
