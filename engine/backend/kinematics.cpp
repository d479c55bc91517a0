#include "engine/backend/kinematics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/constraints/joint_motion.hpp"
#include "engine/math/angle_functions.hpp"

namespace axion::backend {
namespace {

using Vec = math::Vec3<double>;
using Quat = math::Quat<double>;

Vec vector_at(const std::vector<double>& numbers, std::size_t i) {
  return {numbers[i], numbers[i + 1], numbers[i + 2]};
}

Quat quaternion_at(const std::vector<double>& numbers, std::size_t i) {
  return {numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]};
}

void put(std::vector<double>& numbers, std::size_t i, const Vec& a) {
  numbers[i] = a.x, numbers[i + 1] = a.y, numbers[i + 2] = a.z;
}

// The rotation vector of a unit quaternion.
Vec rotation_vector(const Quat& q) {
  const double sine = math::norm(q.vec()), sign = q.w < 0 ? -1 : 1;
  if (!(sine > 0)) return {};
  return (2 * sign * math::arc_tangent(sine, sign * q.w) / sine) * q.vec();
}

}  // namespace

std::vector<double> displaced(const model::CompiledModel& model, const UserArrays<double>& user,
                              const std::vector<double>& joint_position, const std::vector<double>& change) {
  std::vector<double> q = joint_position;
  const auto turn = [&](std::size_t i, const Vec& by) {
    const Quat old = quaternion_at(q, i), now = math::normalized(math::exp_rotation(by) * old);
    q[i] = now.w, q[i + 1] = now.x, q[i + 2] = now.y, q[i + 3] = now.z;
    return std::pair(old, now);
  };
  for (const model::UserJoint& joint : user.joints) {
    if (!joint.has_coordinates) continue;
    const auto p = static_cast<std::size_t>(joint.position_start), v = static_cast<std::size_t>(joint.velocity_start);
    if (joint.kind == model::JointKind::kFree) {
      const Vec center = model.p_BC[static_cast<std::size_t>(joint.child)];
      const auto [before, after] = turn(p + 3, vector_at(change, v + 3));
      put(q, p, vector_at(q, p) + vector_at(change, v) + math::rotate(before, center) - math::rotate(after, center));
    } else if (joint.kind == model::JointKind::kBall) {
      turn(p, vector_at(change, v));
    } else {
      const int count = model.arrays.joints[static_cast<std::size_t>(joint.joint)].axis_count;
      for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) q[p + k] += change[v + k];
    }
  }
  return q;
}

std::vector<double> displacement(const model::CompiledModel& model, const UserArrays<double>& user,
                                 const std::vector<double>& from, const std::vector<double>& to) {
  std::vector<double> change(static_cast<std::size_t>(user.velocity_count));
  for (const model::UserJoint& joint : user.joints) {
    if (!joint.has_coordinates) continue;
    const auto p = static_cast<std::size_t>(joint.position_start), v = static_cast<std::size_t>(joint.velocity_start);
    if (joint.kind == model::JointKind::kAxes) {
      const int count = model.arrays.joints[static_cast<std::size_t>(joint.joint)].axis_count;
      for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) change[v + k] = to[p + k] - from[p + k];
      continue;
    }
    const bool is_free = joint.kind == model::JointKind::kFree;
    const std::size_t at = is_free ? p + 3 : p;
    const Quat before = quaternion_at(from, at), after = quaternion_at(to, at);
    put(change, is_free ? v + 3 : v, rotation_vector(after * math::conjugate(before)));
    if (!is_free) continue;
    const Vec center = model.p_BC[static_cast<std::size_t>(joint.child)];
    put(change, v, vector_at(to, p) - vector_at(from, p) + math::rotate(after, center) - math::rotate(before, center));
  }
  return change;
}

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
    const model::JointData<double>& data = model.arrays.joints[body.joint];
    const Quat q_BC = data.parent >= 0 ? model.q_BC[data.parent] : Quat{};
    constraints::move_child(data, model.arrays.axes.data(), q_BC, joint_position + joint.position_start,
                            joint_velocity + joint.velocity_start, bodies.x.data(), bodies.q.data(), bodies.v.data(),
                            bodies.omega.data());
  }
}

}  // namespace axion::backend
