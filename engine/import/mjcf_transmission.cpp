#include "engine/import/mjcf_transmission.hpp"

#include <string>
#include <utility>

#include "engine/model/spec_math.hpp"

namespace axion::import {

// Of a ball the torque `gear`, in the axes of the child or of its parent in the reference configuration, as of two
// sites: the child's axes are a reference of the parent's. Of a free joint a force in the world's axes and a torque.
bool turn_joint(MjcfScene& s, const Attributes& a, const char* attribute, model::ActuatorSpec& actuator) {
  const model::JointSpec& joint = s.spec.joints[static_cast<std::size_t>(actuator.joint)];
  if (joint.kind != model::JointKind::kBall && joint.kind != model::JointKind::kFree) {
    s.notes.unsupported(a.element(), attribute, "actuators act on joints that move");
    return false;
  }
  double gear[6] = {1, 0, 0, 0, 0, 0};
  a.numbers("gear", gear, 1);
  const bool is_ball = joint.kind == model::JointKind::kBall, in_parent = attribute == std::string("jointinparent");
  const model::Pose X_WC = model::to_pose(s.spec.bodies[static_cast<std::size_t>(joint.child)].X_WB);
  const model::FrameSpec child{joint.child, {}};
  model::FrameSpec above{joint.parent, {}};  // the child's frame as the parent carries it
  if (is_ball) {
    const model::Pose X_WP = joint.parent == model::kWorldBody
                                 ? model::Pose{}
                                 : model::to_pose(s.spec.bodies[static_cast<std::size_t>(joint.parent)].X_WB);
    above.X_BF = model::to_spec(model::inverse(X_WP) * X_WC);
  }
  const bool turns = gear[3] != 0 || gear[4] != 0 || gear[5] != 0,
             pushes = gear[0] != 0 || gear[1] != 0 || gear[2] != 0;
  if (!is_ball && turns && pushes && !in_parent) {
    s.notes.unsupported(a.where("gear"), "gear", "one actuator is a force or a torque on a free joint");
    return false;
  }
  const bool by_child = !in_parent && (is_ball || turns);
  const double sign = by_child && is_ball ? -1 : 1;
  actuator.joint = actuator.axis = 0;
  actuator.on_site = true;
  actuator.site = is_ball && by_child ? above : child;
  actuator.has_site_reference = is_ball || !by_child;
  actuator.site_reference = is_ball && by_child ? child : above;
  for (std::size_t k = 0; k < 3; ++k) {
    actuator.site_gear[k] = is_ball ? 0 : gear[k];
    actuator.site_gear[k + 3] = sign * gear[is_ball ? k : k + 3];
  }
  return true;
}

namespace {

// A tendon of its own, which has the actuator's name with what it is.
void add_own_tendon(MjcfScene& s, const Attributes& a, const char* what, std::vector<model::TendonPointSpec> path,
                    model::ActuatorSpec& actuator) {
  model::TendonSpec tendon;
  const XmlAttribute* name = a.element().find("name");
  tendon.name = (name == nullptr ? "actuator_" + std::to_string(s.actuator_count) : name->value) + what;
  tendon.path = std::move(path);
  tendon.spring_reference = reference_of(s.spec, tendon);
  actuator.tendon = static_cast<int>(s.spec.tendons.size());
  s.spec.tendons.push_back(std::move(tendon));
  s.tendon_elements.push_back(&a.element());
}

}  // namespace

void pull_by_wrench(MjcfScene& s, const Attributes& a, model::ActuatorSpec& actuator) {
  model::TendonPointSpec point;
  point.kind = model::TendonPointKind::kWrench;
  point.frame = actuator.site, point.has_side = actuator.has_site_reference, point.side = actuator.site_reference;
  point.gear = actuator.site_gear;
  add_own_tendon(s, a, "_transmission", {point}, actuator);
  const model::ActuatorSpec usual;
  actuator.on_site = false, actuator.site = usual.site, actuator.site_gear = usual.site_gear;
  actuator.has_site_reference = false, actuator.site_reference = usual.site_reference;
}

bool find_crank(MjcfScene& s, const Attributes& a, model::ActuatorSpec& actuator) {
  const auto given = [&](const char* name) { return a.element().find(name) != nullptr; };
  if (!given("slidersite") || !given("cranksite")) {
    refuse(a.element(), given("slidersite") ? "cranksite" : "slidersite", "is required with a slider-crank");
  }
  if (given("joint") || given("jointinparent") || given("tendon")) {
    refuse(a.element(), "cranksite", "is given together with a joint or a tendon");
  }
  model::TendonPointSpec slider, crank;
  slider.kind = model::TendonPointKind::kSlider;
  slider.frame.X_BF = model::to_spec(site_pose(s, a.element(), "slidersite", slider.frame.body));
  crank.frame.X_BF = model::to_spec(site_pose(s, a.element(), "cranksite", crank.frame.body));
  slider.radius = a.number("cranklength", 0);
  if (!(slider.radius > 0)) a.refuse("cranklength", "must be above 0");
  add_own_tendon(s, a, "_slider_crank", {slider, crank}, actuator);
  return true;
}

void find_adhesive(const MjcfScene& s, const Attributes& a, model::ActuatorSpec& actuator) {
  const auto body = s.body_index.find(a.text("body", ""));
  if (body == s.body_index.end()) a.refuse("body", "names a body that does not exist");
  if (body->second == model::kWorldBody) a.refuse("body", "must be a body and not the world");
  actuator.on_site = actuator.adheres = true;
  actuator.adhesive_body = body->second;
}

}  // namespace axion::import
