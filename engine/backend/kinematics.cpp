#include "engine/backend/kinematics.hpp"

#include <algorithm>
#include <cmath>

namespace axion::backend {
namespace {

using Vec = math::Vec3<double>;
using Quat = math::Quat<double>;
using Joint = model::JointData<double>;

// Directions of the slides in M0: the dual basis of (duals, locked directions).
math::Mat3<double> slide_directions(const Joint& joint) {
  math::Mat3<double> basis = math::Mat3<double>::identity();
  for (int k = 0; k < 3; ++k) {
    basis.row[k] = k < joint.slide_count ? joint.slide_dual[k] : joint.translation_lock[k - joint.slide_count];
  }
  return math::inverse(basis);
}

void place_child_velocity(const model::CompiledModel& model, const Joint& joint, const double* s, const double* rate,
                          BodyStates& bodies) {
  const bool moving = joint.parent >= 0;
  const Vec x_P = moving ? bodies.x[joint.parent] : Vec{}, v_P = moving ? bodies.v[joint.parent] : Vec{};
  const Quat q_P = moving ? bodies.q[joint.parent] : Quat{};
  Vec omega = moving ? bodies.omega[joint.parent] : Vec{};
  Vec anchor = x_P + math::rotate(q_P, joint.p_PA), slide_rate{};
  Quat q = q_P * joint.q_PM0;
  const auto& axes = model.arrays.axes;
  if (joint.slide_count > 0) {
    const math::Mat3<double> directions = slide_directions(joint);
    for (int k = 0; k < joint.slide_count; ++k) {
      const Vec b = math::rotate(q, directions.column(k));
      anchor += (s[k] - axes[joint.axis_start + k].reference) * b;
      slide_rate += rate[k] * b;
    }
  }
  Vec v = v_P + math::cross(omega, anchor - x_P) + slide_rate;
  if (joint.is_ball) {
    const Quat q_BC = moving ? model.q_BC[joint.parent] : Quat{};
    omega += math::rotate(q_P * math::conjugate(q_BC), Vec{rate[0], rate[1], rate[2]});
  }
  for (int k = 0; k < (joint.is_ball ? 0 : joint.hinge_count); ++k) {
    if (k > 0) v += math::cross(omega, math::rotate(q, joint.offset[k - 1]));
    const int i = joint.slide_count + k;
    omega += rate[i] * math::rotate(q, joint.hinge[k]);
    q = q * math::exp_rotation((s[i] - axes[joint.axis_start + i].reference) * joint.hinge[k]);
  }
  bodies.omega[joint.child] = omega;
  bodies.v[joint.child] = v - math::cross(omega, math::rotate(bodies.q[joint.child], joint.p_CA));
}

}  // namespace

Quat unit_quaternion(const double* a) {
  const double s = std::max({std::abs(a[0]), std::abs(a[1]), std::abs(a[2]), std::abs(a[3])});
  return math::normalized(Quat{a[0] / s, a[1] / s, a[2] / s, a[3] / s});
}

void place_velocities(const model::CompiledModel& model, const UserArrays<double>& user, const double* joint_position,
                      const double* joint_velocity, BodyStates& bodies) {
  std::vector<const model::UserJoint*> of_joint(model.arrays.joints.size());
  for (const model::UserJoint& joint : user.joints) {
    if (joint.kind != model::JointKind::kFree) {
      of_joint[joint.joint] = &joint;
      continue;
    }
    const double* u = joint_velocity + joint.velocity_start;
    bodies.v[joint.child] = {u[0], u[1], u[2]};
    bodies.omega[joint.child] = {u[3], u[4], u[5]};
  }
  for (const auto& body : model.arrays.bodies) {  // parents come first
    if (body.joint < 0) continue;
    const model::UserJoint& joint = *of_joint[body.joint];
    place_child_velocity(model, model.arrays.joints[body.joint], joint_position + joint.position_start,
                         joint_velocity + joint.velocity_start, bodies);
  }
}

}  // namespace axion::backend
