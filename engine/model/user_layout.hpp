// UserLayout: how users number and place what the compiled model renumbers and re-frames.
//
// The step works on principal frames in its own order of bodies and joints; fields that users read and write are in the
// order and the body frames of the scene. Read only, on the host or on a device, beside a ModelView.
#pragma once

#include "engine/math/quat.hpp"
#include "engine/model/model_data.hpp"

namespace axion::model {

// A joint in the scene's order, and where its coordinates are in joint_position and joint_velocity.
struct UserJoint {
  JointKind kind;  // kFixed only where it closes a loop or is compliant
  int joint;       // index into ModelView::joints, -1 for a free joint
  int child;       // internal body
  int position_start, velocity_start;
  bool has_coordinates;  // false for fixed joints and those that close loops
};

template <typename Real>
struct UserLayout {
  int joint_count;               // joints of the scene, free ones too
  int position_count;            // nq
  int velocity_count;            // nv
  const int* external_body;      // [nb] place of an internal body in body_pose
  const math::Vec3<Real>* p_BC;  // [nb] internal order: centre of mass in the body frame, m
  const math::Quat<Real>* q_BC;  // [nb] internal order: principal frame in the body frame
  const UserJoint* joints;       // [joint_count]
};

}  // namespace axion::model
