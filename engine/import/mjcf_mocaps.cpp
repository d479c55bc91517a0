#include "engine/import/mjcf_mocaps.hpp"

#include <string>
#include <vector>

#include "engine/model/loop_joints.hpp"

namespace axion::import {

void settle_mocaps(MjcfScene& scene) {
  model::SceneSpec& spec = scene.spec;
  std::vector<int> under(spec.bodies.size(), -1);  // the mocap body that each is or is welded to; parents come first
  for (std::size_t b = 0; b < under.size(); ++b) under[b] = spec.bodies[b].is_mocap ? static_cast<int>(b) : -1;
  const auto of = [&](int body) { return body == model::kWorldBody ? -1 : under[static_cast<std::size_t>(body)]; };
  const auto fix = [&](int body, const char* why) {
    const int mocap = of(body);
    if (mocap < 0 || !spec.bodies[static_cast<std::size_t>(mocap)].is_mocap) return;
    spec.bodies[static_cast<std::size_t>(mocap)].is_mocap = false;
    scene.notes.warn(*scene.body_elements[static_cast<std::size_t>(mocap)], "mocap",
                     std::string("is taken as a fixed body, which stands where the document puts it, as ") + why);
  };
  for (const model::JointSpec& joint : spec.joints) {
    if (model::is_weld(joint, false)) {
      if (of(joint.child) < 0) under[static_cast<std::size_t>(joint.child)] = of(joint.parent);
    } else {
      fix(joint.parent, "a joint hangs on it");
    }
  }
  for (const model::TendonSpec& tendon : spec.tendons) {
    for (const model::TendonPointSpec& point : tendon.path) {
      if (point.kind == model::TendonPointKind::kPulley) continue;
      fix(point.frame.body, "a tendon is fixed to it");
      if (point.has_side) fix(point.side.body, "a tendon is fixed to it");
    }
  }
  for (const model::ActuatorSpec& actuator : spec.actuators) {
    if (!actuator.on_site) continue;
    fix(actuator.site.body, "a motor acts at a site of it");
    if (actuator.has_site_reference) fix(actuator.site_reference.body, "a motor acts at a site of it");
  }
}

void read_mocap_key(MjcfScene& scene, const XmlElement& element, model::KeyframeSpec& key) {
  std::vector<std::vector<double>> given(2);
  const char* const names[2] = {"mpos", "mquat"};
  const int widths[2] = {3, 4};
  std::vector<const model::BodySpec*> mocaps;  // those of the document, fixed ones among them
  bool any = false;
  for (std::size_t b = 0; b < scene.spec.bodies.size(); ++b) {
    const XmlAttribute* mocap = scene.body_elements[b]->find("mocap");
    if (mocap != nullptr && mocap->value == "true") mocaps.push_back(&scene.spec.bodies[b]);
  }
  for (std::size_t k = 0; k < 2; ++k) {
    const XmlAttribute* attribute = element.find(names[k]);
    if (attribute != nullptr) given[k] = parse_numbers(element, *attribute);
    const std::size_t count = mocaps.size() * static_cast<std::size_t>(widths[k]);
    if (!given[k].empty() && given[k].size() != count) {
      refuse(element, names[k],
             "has " + std::to_string(given[k].size()) + " numbers; the model has " + std::to_string(count));
    }
    any = any || !given[k].empty();
  }
  if (!any) return;
  for (std::size_t i = 0; i < mocaps.size(); ++i) {
    if (!mocaps[i]->is_mocap) continue;
    const model::PoseSpec& X = mocaps[i]->X_WB;
    double norm_sq = 0;
    for (std::size_t c = 0; c < 4 && !given[1].empty(); ++c) norm_sq += given[1][4 * i + c] * given[1][4 * i + c];
    for (std::size_t c = 0; c < 3; ++c) {
      key.mocap_pose.push_back(given[0].empty() ? X.position[c] : given[0][3 * i + c]);
    }
    for (std::size_t c = 0; c < 4; ++c) {
      key.mocap_pose.push_back(norm_sq < 1e-12 ? X.rotation[c] : given[1][4 * i + c]);
    }
  }
}

}  // namespace axion::import
