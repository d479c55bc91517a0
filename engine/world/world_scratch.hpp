// The arrays that this room keeps: the model's tables with what stands on mocap bodies where these are
// (mocap_tables.hpp); empty without any.
#pragma once

#include "engine/model/world_state.hpp"

namespace axion::world {

using model::Heat, model::Length;

inline constexpr Length kMocapJoints{[](const auto& m) {
  return m.mocap_count > 0 ? m.joint_count + m.spatial_count : 0;
}};  // with those of paths through space
inline constexpr Length kMocapShapes{[](const auto& m) { return m.mocap_count > 0 ? m.shape_count : 0; }};
inline constexpr Length kMocapSensors{[](const auto& m) { return m.mocap_count > 0 ? m.sensors.count : 0; }};
inline constexpr Length kMocapSensorParts{[](const auto& m) { return m.mocap_count > 0 ? m.sensor_part_count : 0; }};

template <typename Real, typename Form = model::Placed>
struct WorldScratch {
  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kScratch>;

  Array<model::JointData<Real>> mocap_joints{"mocap_joints", kMocapJoints, Heat{209}};
  Array<model::ShapeData<Real>> mocap_shapes{"mocap_shapes", kMocapShapes, Heat{210}};
  Array<model::SensorData<Real>> mocap_sensors{"mocap_sensors", kMocapSensors, Heat{211}};
  Array<model::SensorPart<Real>> mocap_sensor_parts{"mocap_sensor_parts", kMocapSensorParts, Heat{212}};
};

}  // namespace axion::world
