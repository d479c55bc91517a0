#include "engine/model/compile_mocaps.hpp"

#include "engine/model/spec_math.hpp"

namespace axion::model {

void add_mocaps(CompiledModel& model) {
  const WeldedScene& welded = model.welded;
  ModelArrays<double>& arrays = model.arrays;
  if (welded.mocaps.empty()) return;
  for (const PoseSpec& pose : welded.mocap_poses) {
    const Pose X = to_pose(pose);
    arrays.mocaps.push_back({X.position, X.rotation});
  }
  const auto use = [&](int mocap, MocapTable table, std::size_t index) {
    if (mocap >= 0) arrays.mocap_uses.push_back({mocap, table, static_cast<int>(index)});
  };
  const auto of_body = [&](int body) { return body < 0 ? -1 : welded.mocap_of_body[static_cast<std::size_t>(body)]; };
  for (std::size_t j = 0; j < welded.mocap_of_joint.size(); ++j) {
    if (model.joint_of_scene[j] >= 0) {
      use(welded.mocap_of_joint[j], MocapTable::kJoint, static_cast<std::size_t>(model.joint_of_scene[j]));
    }
  }
  for (std::size_t i = 0; i < welded.shape_part.size(); ++i) use(of_body(welded.shape_part[i]), MocapTable::kShape, i);
  for (std::size_t i = 0; i < arrays.sensors.list.size(); ++i) {
    const SensorData<double>& sensor = arrays.sensors.list[i];
    use(of_body(sensor.frame.part - 1), MocapTable::kSensorFrame, i);
    use(of_body(sensor.reference.part - 1), MocapTable::kSensorReference, i);
  }
  for (std::size_t i = 0; i < arrays.sensors.parts.size(); ++i) {
    use(of_body(static_cast<int>(i)), MocapTable::kSensorPart, i);
  }
}

}  // namespace axion::model
