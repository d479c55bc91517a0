// The arrays that this room keeps: the model's tables with what stands on mocap bodies where these are
// (mocap_tables.hpp); empty without any.
#pragma once

#include "engine/model/world_state.hpp"

namespace axion::world {

template <typename Real>
struct WorldScratch {
  model::JointData<Real>* mocap_joints;         // [nj + spatial_count]
  model::ShapeData<Real>* mocap_shapes;         // [shape_count]
  model::SensorData<Real>* mocap_sensors;       // [sensors.count]
  model::SensorPart<Real>* mocap_sensor_parts;  // [sensor_part_count]
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, WorldScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const bool has_mocaps = m.mocap_count > 0;
  f(kScratch, "mocap_joints", w.mocap_joints, has_mocaps ? m.joint_count + m.spatial_count : 0);
  f(kScratch, "mocap_shapes", w.mocap_shapes, has_mocaps ? m.shape_count : 0);
  f(kScratch, "mocap_sensors", w.mocap_sensors, has_mocaps ? m.sensors.count : 0);
  f(kScratch, "mocap_sensor_parts", w.mocap_sensor_parts, has_mocaps ? m.sensor_part_count : 0);
}

}  // namespace axion::world
