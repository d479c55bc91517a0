// Which joints of a scene carry their child, and which close loops.
//
// The first joint of a body carries it. Later joints with the same child close loops, and so does one whose parent
// hangs, directly or not, on its child: the joints that are left form a tree. Indices of joints and bodies must be
// valid.
#pragma once

#include <vector>

#include "engine/model/scene_spec.hpp"

namespace axion::model {

// [joint] whether it closes a loop.
std::vector<bool> find_loop_joints(const SceneSpec& scene);

// Whether it has limits of what its locks may carry.
inline bool may_break(const JointSpec& joint) { return joint.break_force > 0 || joint.break_torque > 0; }

// Whether a joint makes one body of its two: fixed, rigid, not closing a loop, and without limits of what it carries.
inline bool is_weld(const JointSpec& joint, bool closes_loop) {
  return joint.kind == JointKind::kFixed && !closes_loop && joint.lock_stiffness == 0 && !may_break(joint);
}

// Entries of a joint in joint_position and in joint_velocity. Only free, ball and axes joints of the tree have any.
inline int position_count(const JointSpec& joint, bool closes_loop) {
  if (closes_loop) return 0;
  if (joint.kind == JointKind::kFree) return 7;
  return joint.kind == JointKind::kBall ? 4 : static_cast<int>(joint.axes.size());
}
inline int velocity_count(const JointSpec& joint, bool closes_loop) {
  if (closes_loop) return 0;
  if (joint.kind == JointKind::kFree) return 6;
  return joint.kind == JointKind::kBall ? 3 : static_cast<int>(joint.axes.size());
}

}  // namespace axion::model
