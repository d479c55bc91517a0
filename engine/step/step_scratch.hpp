// The arrays that this room keeps when a step is solved: errors of the new poses, and the bodies of joint trees while
// velocities at the instant of the poses are made.
#pragma once

#include "engine/tree/tree_scratch.hpp"

namespace axion::step {

inline constexpr int kTreeBodyStride = 33 * solver::kPanelWidth + 8;  // numbers kept of a body (tree_bodies.hpp)

template <typename Real>
struct StepScratch {
  Real* anchor_error;  // [nj] of the new poses, m
  // of the change of velocities to the instant of the poses that a contact allows,
  Real* contact_share;  // [contact_capacity]
  Real* body_share;     // [nb] and a body may take
  Real* tree_body;      // [nb kTreeBodyStride] bodies of joint trees as synchronise_trees.hpp has them
  // [nb] where sensors ask for them (sense.hpp): bodies at the start of the step, and their accelerations there.
  math::Vec3<Real>* start_x;
  math::Quat<Real>* start_q;
  math::Vec3<Real>* start_v;
  math::Vec3<Real>* start_omega;
  math::Vec3<Real>* acceleration;
  math::Vec3<Real>* turning;  // rad/s^2
  // The model's tables with what stands on mocap bodies where these are (mocap_tables.hpp); empty without any.
  model::JointData<Real>* mocap_joints;         // [nj + spatial_count]
  model::ShapeData<Real>* mocap_shapes;         // [shape_count]
  model::SensorData<Real>* mocap_sensors;       // [sensors.count]
  model::SensorPart<Real>* mocap_sensor_parts;  // [sensor_part_count]
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, StepScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t nb = m.body_count, nj = m.joint_count, nc = m.contact_capacity;
  f(kEndOfStep, "anchor_error", w.anchor_error, nj);
  f(kEndOfStep, "contact_share", w.contact_share, nc);
  f(kEndOfStep, "body_share", w.body_share, nb);
  f(kEndOfStep, "tree_body", w.tree_body, nj > 0 ? nb * kTreeBodyStride : 0);
  const std::size_t ns = m.sensors.sensed_size > 0 ? nb : 0;
  f(kScratch, "start_x", w.start_x, ns);
  f(kScratch, "start_q", w.start_q, ns);
  f(kScratch, "start_v", w.start_v, ns);
  f(kScratch, "start_omega", w.start_omega, ns);
  f(kScratch, "acceleration", w.acceleration, ns);
  f(kScratch, "turning", w.turning, ns);
  const bool has_mocaps = m.mocap_count > 0;
  f(kScratch, "mocap_joints", w.mocap_joints, has_mocaps ? nj + m.spatial_count : 0);
  f(kScratch, "mocap_shapes", w.mocap_shapes, has_mocaps ? m.shape_count : 0);
  f(kScratch, "mocap_sensors", w.mocap_sensors, has_mocaps ? m.sensors.count : 0);
  f(kScratch, "mocap_sensor_parts", w.mocap_sensor_parts, has_mocaps ? m.sensor_part_count : 0);
}

}  // namespace axion::step
