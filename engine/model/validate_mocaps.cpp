// The checks of bodies that clients place: they stand in the world, and what goes with them is what a step carries
// along (world/mocap_tables.hpp).
#include "engine/model/loop_joints.hpp"
#include "engine/model/scene_checker.hpp"

namespace axion::model {

// The mocap body that a body is, or is welded to; -1: none.
int SceneChecker::mocap_under(int body) const {
  while (body != kWorldBody && !scene_.bodies[static_cast<std::size_t>(body)].is_mocap) {
    const int j = joint_of_body_[static_cast<std::size_t>(body)];
    if (j < 0 || !is_weld(scene_.joints[static_cast<std::size_t>(j)], false)) return -1;
    body = scene_.joints[static_cast<std::size_t>(j)].parent;
  }
  return body == kWorldBody ? -1 : body;
}

void SceneChecker::mocaps() {
  bool any = false;
  for (std::size_t b = 0; b < scene_.bodies.size() && ok(); ++b) {
    if (!scene_.bodies[b].is_mocap) continue;
    any = true;
    const int j = joint_of_body_[b];
    const bool stands = j >= 0 && is_weld(scene_.joints[static_cast<std::size_t>(j)], false) &&
                        scene_.joints[static_cast<std::size_t>(j)].parent == kWorldBody;
    if (!stands) fail(item_name("bodies", b), "is_mocap", "needs a fixed joint that welds the body to the world");
  }
  if (!any) return;
  for (std::size_t j = 0; j < scene_.joints.size() && ok(); ++j) {
    const JointSpec& joint = scene_.joints[j];
    if (closes_loop_[j] || is_weld(joint, false) || mocap_under(joint.parent) < 0) continue;
    fail(item_name("joints", j), "parent",
         "is a mocap body, or welded to one: nothing may hang on it but by welds and joints that close loops; it is " +
             std::to_string(joint.parent));
  }
  const auto refuse = [&](const std::string& item, const char* leaf, const FrameSpec& frame) {
    if (mocap_under(frame.body) < 0) return;
    fail(item, leaf, "is on a mocap body, where a site of a tendon or a motor may not be");
  };
  for (std::size_t t = 0; t < scene_.tendons.size(); ++t) {
    for (const TendonPointSpec& point : scene_.tendons[t].path) {
      if (point.kind == TendonPointKind::kPulley) continue;
      refuse(item_name("tendons", t), "path", point.frame);
      if (point.has_side) refuse(item_name("tendons", t), "path", point.side);
    }
  }
  for (std::size_t i = 0; i < scene_.actuators.size(); ++i) {
    const ActuatorSpec& actuator = scene_.actuators[i];
    if (!actuator.on_site) continue;
    refuse(item_name("actuators", i), "site", actuator.site);
    if (actuator.has_site_reference) refuse(item_name("actuators", i), "site_reference", actuator.site_reference);
  }
}

void SceneChecker::keyframe_mocaps(const std::string& item, const KeyframeSpec& key) {
  if (key.mocap_pose.empty()) return;
  std::size_t count = 0;
  for (const BodySpec& body : scene_.bodies) count += body.is_mocap ? 7 : 0;
  if (key.mocap_pose.size() != count) {
    return fail(
        item, "mocap_pose",
        "must be empty or have " + std::to_string(count) + " numbers; it has " + std::to_string(key.mocap_pose.size()));
  }
  for (double v : key.mocap_pose) real(item, "mocap_pose", v);
  for (std::size_t w = 3; w < count && ok(); w += 7) {
    double norm_sq = 0;
    for (std::size_t i = w; i < w + 4; ++i) norm_sq += key.mocap_pose[i] * key.mocap_pose[i];
    if (norm_sq < 1e-12) fail(item, "mocap_pose", "has a zero quaternion at index " + std::to_string(w));
  }
}

}  // namespace axion::model
