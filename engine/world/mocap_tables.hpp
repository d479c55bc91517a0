// Tables of the model with what stands on mocap bodies where a world has these.
//
// A mocap body is part of the world to the step: its shapes, and its side of joints, are numbers in world axes. Where
// clients have placed it at X_WM, and the scene had it at X_WM0, they are carried along by
//   D = X_WM X_WM0⁻¹
// in copies of the model's tables, which a step then reads in place of the model's. So nothing else of a step knows of
// mocap bodies, and what meets them sees what it sees of the world: a velocity of zero, also while they are moved.
//
// In: the model's view, which may have a world's own tables already, and the world's mocap poses. Called for a row
// before its first step (run_row.hpp) and by a backend before it reads a world. Cost: a copy of the tables, once a
// request.
#pragma once

#include "engine/world/world_view.hpp"

namespace axion::world {

template <typename Real>
struct MocapMove {
  math::Vec3<Real> p;
  math::Quat<Real> q;

  AXION_HD void carry(math::Vec3<Real>& point) const { point = p + math::rotate(q, point); }
  AXION_HD void carry(math::Quat<Real>& rotation) const { rotation = math::normalized(q * rotation); }
};

template <typename Real>
AXION_HD inline MocapMove<Real> mocap_move(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  const math::Quat<Real> q = math::normalized(w.mocap_q[i] * math::conjugate(m.mocaps[i].q_WM));
  return {w.mocap_x[i] - math::rotate(q, m.mocaps[i].p_WM), q};
}

// One entry of the copies, which is there already.
template <typename Real>
AXION_HD inline void carry_along(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::MocapUse& use) {
  using enum model::MocapTable;
  const MocapMove<Real> move = mocap_move(m, w, use.mocap);
  const auto carry_frame = [&](model::SensorFrame<Real>& frame) { move.carry(frame.p), move.carry(frame.q); };
  if (use.table == kJoint) {
    model::JointData<Real>& joint = w.world.mocap_joints[use.index];
    move.carry(joint.p_PA), move.carry(joint.q_PM0);
  } else if (use.table == kShape) {
    model::ShapeData<Real>& shape = w.world.mocap_shapes[use.index];
    move.carry(shape.p_CS), move.carry(shape.q_CS);
  } else if (use.table == kSensorPart) {
    move.carry(w.world.mocap_sensor_parts[use.index].p);
  } else {
    model::SensorData<Real>& sensor = w.world.mocap_sensors[use.index];
    carry_frame(use.table == kSensorFrame ? sensor.frame : sensor.reference);
  }
}

// Fills the world's copies and points the view at them. One member carries all along: two uses may be of one entry.
template <typename Real, typename Team>
AXION_HD_RARE void stand_on_mocaps(const Team& team, model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  const int joints = m.joint_count + m.spatial_count;  // with those of paths through space
  team.for_each(joints, [&](int i) { w.world.mocap_joints[i] = m.joints[i]; });
  team.for_each(m.shape_count, [&](int i) { w.world.mocap_shapes[i] = m.shapes[i]; });
  team.for_each(m.sensors.count, [&](int i) { w.world.mocap_sensors[i] = m.sensors.list[i]; });
  team.for_each(m.sensor_part_count, [&](int i) { w.world.mocap_sensor_parts[i] = m.sensors.parts[i]; });
  team.for_each(1, [&](int) {
    for (int k = 0; k < m.mocap_use_count; ++k) carry_along(m, w, m.mocap_uses[k]);
    m.joints = w.world.mocap_joints, m.shapes = w.world.mocap_shapes;
    m.sensors.list = w.world.mocap_sensors, m.sensors.parts = w.world.mocap_sensor_parts;
  });
}

}  // namespace axion::world
