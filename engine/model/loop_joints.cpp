#include "engine/model/loop_joints.hpp"

namespace axion::model {

std::vector<bool> find_loop_joints(const SceneSpec& scene) {
  constexpr int kNoJoint = -2;
  std::vector<int> parent(scene.bodies.size(), kNoJoint);  // by the joint that carries the body
  std::vector<bool> closes_loop(scene.joints.size(), false);
  for (std::size_t j = 0; j < scene.joints.size(); ++j) {
    const JointSpec& joint = scene.joints[j];
    int ancestor = joint.parent;
    while (ancestor >= 0 && ancestor != joint.child) ancestor = parent[ancestor];
    closes_loop[j] = parent[joint.child] != kNoJoint || ancestor == joint.child;
    if (!closes_loop[j]) parent[joint.child] = joint.parent;
  }
  return closes_loop;
}

}  // namespace axion::model
