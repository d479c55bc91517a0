// write_field: one field of one world, in the order and the frames that users see.
//
//   body frame B from the principal frame C:   q_WB = q_WC conj(q_BC),   p_WB = p_WC − R_WB p_BC
//   ball, from the parent's image M0 of the child at reference, where it reads the identity:
//                                              q = q_BC (conj(q_M0) q_C) conj(q_BC)
//
// In: the state alone, no scratch. Out: any memory of the host, or memory of a device that is aligned to 8 bytes;
// elements are written one by one at their natural size (engine.hpp: Field). Cannot fail. Cost: linear in the field.
// Called by run_steps for records and by a backend for queries.
#pragma once

#include <cstddef>

#include "engine/base/client_array.hpp"
#include "engine/constraints/joint_rows.hpp"
#include "engine/model/fields.hpp"
#include "engine/model/user_layout.hpp"
#include "engine/readout/break_ratios.hpp"
#include "engine/readout/read_sensors.hpp"

namespace axion::readout {

template <typename T>
AXION_HD inline void store(std::byte* array, int i, T value) {
  store_element(array, i, value);
}

template <typename Real>
AXION_HD inline void store(std::byte* array, int i, const math::Vec3<Real>& a) {
  store(array, i, a.x), store(array, i + 1, a.y), store(array, i + 2, a.z);
}

template <typename Real>
AXION_HD inline void store(std::byte* array, int i, const math::Quat<Real>& a) {
  store(array, i, a.w), store(array, i + 1, a.x), store(array, i + 2, a.y), store(array, i + 3, a.z);
}

template <typename Real>
AXION_HD inline void store_pose(const model::UserLayout<Real>& user, const model::WorldView<Real>& w, int b,
                                std::byte* out, int i) {
  const math::Quat<Real> q_WB = math::normalized(w.q[b] * math::conjugate(user.q_BC[b]));
  store(out, i, w.x[b] - math::rotate(q_WB, user.p_BC[b]));
  store(out, i + 3, q_WB);
}

template <typename Real>
AXION_HD inline void store_joint_position(const model::ModelView<Real>& m, const model::UserLayout<Real>& user,
                                          const model::WorldView<Real>& w, const model::UserJoint& joint,
                                          std::byte* out) {
  if (!joint.has_coordinates) return;
  if (joint.kind == model::JointKind::kFree) {
    store_pose(user, w, joint.child, out, joint.position_start);
    return;
  }
  const model::JointData<Real>& data = m.joints[joint.joint];
  if (data.is_ball) {
    const math::Quat<Real> q_P = data.parent < 0 ? math::Quat<Real>{} : w.q[data.parent];
    const math::Quat<Real> q_BC = user.q_BC[joint.child];
    const math::Quat<Real> turn = math::conjugate(q_P * data.q_PM0) * w.q[joint.child];
    store(out, joint.position_start, math::normalized(q_BC * turn * math::conjugate(q_BC)));
    return;
  }
  constraints::JointEvaluation<Real> e;
  constraints::evaluate_joint(m, data, w.x, w.q, w.axis_position, e);
  for (int k = 0; k < data.axis_count; ++k) store(out, joint.position_start + k, e.coordinate[k]);
}

template <typename Real>
AXION_HD inline void store_joint_velocity(const model::ModelView<Real>& m, const model::UserLayout<Real>& user,
                                          const model::WorldView<Real>& w, const model::UserJoint& joint,
                                          std::byte* out) {
  if (!joint.has_coordinates) return;
  const int start = joint.velocity_start;
  if (joint.kind == model::JointKind::kFree) {
    store(out, start, w.v_at_pose[joint.child]);
    store(out, start + 3, w.omega_at_pose[joint.child]);
    return;
  }
  const model::JointData<Real>& data = m.joints[joint.joint];
  if (data.is_ball) {
    math::Vec3<Real> rate = w.omega_at_pose[data.child];
    if (data.parent >= 0) {
      const math::Quat<Real> q_WB = w.q[data.parent] * math::conjugate(user.q_BC[data.parent]);
      rate = math::rotate_inverse(q_WB, rate - w.omega_at_pose[data.parent]);
    }
    store(out, start, rate);
    return;
  }
  Real rates[3];
  constraints::axis_rates(m, w, joint.joint, rates);
  for (int k = 0; k < data.axis_count; ++k) store(out, start + k, rates[k]);
}

template <typename Real>
AXION_HD inline void store_joint_impulse(const model::WorldView<Real>& w, const model::UserJoint& joint, int j,
                                         std::byte* out) {
  const bool free = joint.kind == model::JointKind::kFree;
  store(out, 6 * j, free ? math::Vec3<Real>{} : w.joint_impulse[joint.joint]);
  store(out, 6 * j + 3, free ? math::Vec3<Real>{} : w.joint_angular_impulse[joint.joint]);
}

template <typename Real>
AXION_HD inline void store_contact_impulse(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int b,
                                           std::byte* out, int start) {
  math::Vec3<Real> force{}, torque{};
  for (int i = 0; i < w.record->contact_count; ++i) {
    const model::Contact<Real>& c = w.contacts[i];
    if (c.body_a != b && c.body_b != b) continue;
    const Real* lambda = w.lambda_contact + 3 * i;
    const math::Vec3<Real> on_a = lambda[0] * c.normal + lambda[1] * c.t1 + lambda[2] * c.t2;
    const math::Vec3<Real> impulse = c.body_a == b ? on_a : -on_a;
    force += impulse;
    torque += math::cross(c.body_a == b ? c.r_a : c.r_b, impulse);
    if (m.moment_capacity > 0) torque += c.body_a == b ? w.contact_moment[i] : -w.contact_moment[i];
  }
  store(out, start, force);
  store(out, start + 3, torque);
}

// Writes the field at `out`, row-major, without padding.
template <typename Real, typename Team>
AXION_HD_CALL void write_field(const Team& team, const model::ModelView<Real>& m, const model::UserLayout<Real>& user,
                               const model::WorldView<Real>& w, Field field, std::byte* out) {
  switch (field) {
    case Field::kBodyPose:
      team.for_each(m.body_count, [&](int b) { store_pose(user, w, b, out, 7 * user.external_body[b]); });
      return;
    case Field::kBodyVelocity:
      team.for_each(m.body_count, [&](int b) {
        store(out, 6 * user.external_body[b], w.v_at_pose[b]);
        store(out, 6 * user.external_body[b] + 3, w.omega_at_pose[b]);
      });
      return;
    case Field::kJointPosition:
      team.for_each(user.joint_count, [&](int j) { store_joint_position(m, user, w, user.joints[j], out); });
      return;
    case Field::kJointVelocity:
      team.for_each(user.joint_count, [&](int j) { store_joint_velocity(m, user, w, user.joints[j], out); });
      return;
    case Field::kJointImpulse:
      team.for_each(user.joint_count, [&](int j) { store_joint_impulse(w, user.joints[j], j, out); });
      return;
    case Field::kBreakRatio:
      team.for_each(user.joint_count, [&](int j) { store(out, j, break_ratio_of(m, w, user.joints[j])); });
      return;
    case Field::kControl:
      team.for_each(m.control_count, [&](int i) { store(out, i, w.control[i]); });
      return;
    case Field::kActivation:
      team.for_each(m.activation_count, [&](int i) { store(out, i, w.control[m.control_count + i]); });
      return;
    case Field::kMocapPose:
      team.for_each(m.mocap_count, [&](int i) {
        store(out, 7 * i, w.mocap_x[i]);
        store(out, 7 * i + 3, w.mocap_q[i]);
      });
      return;
    case Field::kContactCount:
      team.for_each(1, [&](int) { store(out, 0, w.record->contact_count); });
      return;
    case Field::kOutcome:
      team.for_each(1, [&](int) { store(out, 0, *w.outcome); });
      return;
    case Field::kTime:
      team.for_each(1, [&](int) { store(out, 0, *w.time); });
      return;
    case Field::kStepIndex:
      team.for_each(1, [&](int) { store(out, 0, *w.step_index); });
      return;
    case Field::kSensorData:
      team.for_each(m.sensors.count, [&](int i) { store_sensor(m, user, w, m.sensors.list[i], out); });
      return;
    case Field::kActuatorForce:
      team.for_each(m.actuator_count, [&](int i) { store(out, m.actuators[i].control, actuator_force(m, w, i)); });
      return;
    case Field::kContactImpulse:
      team.for_each(m.body_count, [&](int b) { store_contact_impulse(m, w, b, out, 6 * user.external_body[b]); });
      return;
  }
}

}  // namespace axion::readout
