// The <actuator> section: motors and the affine drives that are springs and dampers about a set point.
#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/import/mjcf_scene.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

// As in MuJoCo: force = gain * control + bias[0] + bias[1] * length + bias[2] * velocity, length = gear * s. The short
// forms (motor, position, velocity) are ways to fill this; a class has one actuator default that all kinds share.
struct Drive {
  int dynamics = 0;   // none
  int gain_type = 0;  // fixed
  int bias_type = 0;  // 0 none, 1 affine
  double gain[10] = {1};
  double bias[10] = {0};
  bool is_position = false;  // the last layer was a position, whose kv the next one keeps
  const XmlElement* other = nullptr;  // a default of a kind of actuator that is not offered, and still has a say
};

bool is_offered(std::string_view tag) {
  return tag == "general" || tag == "motor" || tag == "position" || tag == "velocity";
}

void read_general(const Attributes& a, Drive& drive) {
  drive.dynamics =
      a.keyword("dyntype", {"none", "integrator", "filter", "filterexact", "muscle", "user"}, drive.dynamics);
  drive.gain_type = a.keyword("gaintype", {"fixed", "affine", "muscle", "user"}, drive.gain_type);
  drive.bias_type = a.keyword("biastype", {"none", "affine", "muscle", "user"}, drive.bias_type);
  a.numbers("gainprm", drive.gain, 1);
  a.numbers("biasprm", drive.bias, 1);
}

// The numbers of one layer; each kind sets what it implies, so the order of the layers counts.
void read_layer(const XmlElement& layer, Drive& drive) {
  const Attributes a(layer);
  const bool keeps_kv = std::exchange(drive.is_position, layer.tag == "position");
  if (!is_offered(layer.tag)) {
    drive.other = &layer;
    return;
  }
  // A motor sets its whole law; a position or velocity takes its gain from the default if it has none of its own.
  const char* gain = layer.tag == "position" ? "kp" : "kv";
  if (layer.tag == "motor" || (layer.tag != "general" && layer.find(gain) != nullptr)) drive.other = nullptr;
  if (layer.tag == "general") return read_general(a, drive);
  drive.dynamics = drive.gain_type = 0;
  drive.bias_type = layer.tag == "motor" ? 0 : 1;
  if (layer.tag == "motor") drive.gain[0] = 1;
  if (layer.tag == "position") {
    drive.gain[0] = a.not_negative("kp", drive.gain[0]);
    drive.bias[1] = -drive.gain[0];
    drive.bias[2] = -a.not_negative("kv", keeps_kv ? -drive.bias[2] : 0);
  }
  if (layer.tag == "velocity") {
    std::fill(std::begin(drive.bias), std::end(drive.bias), 0.0);
    drive.gain[0] = a.not_negative("kv", drive.gain[0]);
    drive.bias[2] = -drive.gain[0];
  }
}

// Which attributes a short form has.
void check_own_attributes(const XmlElement& layer) {
  static constexpr struct {
    const char* attribute;
    const char* tags;
  } kOwners[] = {{"kp", "position"},
                 {"kv", "position velocity"},
                 {"dampratio", "position"},
                 {"timeconst", "position"},
                 {"inheritrange", "position general"},
                 {"input", "general"},
                 {"velrange", "general"},
                 {"ffrange", "general"},
                 {"dyntype", "general"},
                 {"gaintype", "general"},
                 {"biastype", "general"},
                 {"dynprm", "general"},
                 {"gainprm", "general"},
                 {"biasprm", "general"},
                 {"actlimited", "general"},
                 {"actrange", "general"},
                 {"actdim", "general"},
                 {"actearly", "general"}};
  if (!is_offered(layer.tag)) return;
  for (const auto& owner : kOwners) {
    if (layer.find(owner.attribute) == nullptr) continue;
    if (std::string_view(owner.tags).find(layer.tag) != std::string_view::npos) continue;
    refuse(layer, owner.attribute, "is not an attribute that this element has");
  }
}

class ActuatorReader {
 public:
  ActuatorReader(MjcfScene& scene, const XmlElement& element)
      : s_(scene),
        a_(scene.defaults.attributes(element, DefaultClasses::kMain,
                                     {"general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder",
                                      "muscle", "adhesion", "dcmotor", "pid", "orientation"})) {}
  void read();

 private:
  void check_supported();
  bool find_joint();
  bool take_law(const Drive& drive);
  void read_limits(const Drive& drive);
  bool given(const char* attribute) const { return a_.element().find(attribute) != nullptr; }

  MjcfScene& s_;
  Attributes a_;
  model::ActuatorSpec actuator_;
};

void ActuatorReader::check_supported() {
  static constexpr const char* kInputs = "pos vel ff none";
  for (const char* name : {"armature", "damping"}) {
    double values[3] = {0, 0, 0};
    if (a_.numbers(name, values, 1) && (values[0] != 0 || values[1] != 0 || values[2] != 0)) {
      s_.notes.unsupported(a_.where(name), name, "give it to the joint instead");
    }
  }
  // What a control is called; the law says what it does.
  const std::string input = a_.text("input", "none");
  if (std::string_view(kInputs).find(input) == std::string_view::npos) {
    s_.notes.unsupported(a_.where("input"), "input", "a control is a force, a position or a velocity");
  }
  for (const char* name : {"dampratio", "timeconst", "inheritrange", "delay"}) {
    if (a_.number(name, 0) != 0) s_.notes.unsupported(a_.where(name), name, "give the gains and the range themselves");
  }
}

bool ActuatorReader::find_joint() {
  for (const char* name : {"tendon", "slidersite", "cranksite", "site", "refsite", "body"}) {
    if (!given(name)) continue;
    s_.notes.unsupported(a_.element(), name, "actuators act on hinges and slides");
    return false;
  }
  // The two differ for ball and free joints only.
  const char* attribute = given("joint") ? "joint" : "jointinparent";
  if (!given(attribute)) refuse(a_.element(), "joint", "is required");
  const auto place = s_.joint_place.find(a_.text(attribute, ""));
  if (place == s_.joint_place.end()) a_.refuse(attribute, "names a joint that does not exist");
  actuator_.joint = place->second.joint;
  actuator_.axis = place->second.axis;
  const model::JointKind kind = s_.spec.joints[static_cast<std::size_t>(actuator_.joint)].kind;
  if (kind == model::JointKind::kAxes) return true;
  s_.notes.unsupported(a_.element(), attribute, "actuators act on hinges and slides");
  return false;
}

// Recognises the laws that a scene has; false if it is none of them and was noted.
bool ActuatorReader::take_law(const Drive& drive) {
  if (drive.other != nullptr) {
    s_.notes.unsupported(*drive.other, "", "this kind of actuator is not offered, and a drive has it as its default");
    return false;
  }
  const double b0 = drive.bias_type == 1 ? drive.bias[0] : 0;
  const double b1 = drive.bias_type == 1 ? drive.bias[1] : 0;
  const double b2 = drive.bias_type == 1 ? drive.bias[2] : 0;
  const double gain = drive.gain[0];
  const bool affine = drive.dynamics == 0 && drive.gain_type == 0 && drive.bias_type <= 1 && b0 == 0;
  if (affine && b1 == 0 && b2 == 0) {
    actuator_.kind = model::ActuatorKind::kMotor;
    actuator_.gear *= gain;
  } else if (affine && gain > 0 && b1 == -gain && b2 <= 0) {
    actuator_.kind = model::ActuatorKind::kPosition;
    actuator_.kp = gain;
    actuator_.kd = -b2;
  } else if (affine && gain > 0 && b1 == 0 && b2 == -gain) {
    actuator_.kind = model::ActuatorKind::kVelocity;
    actuator_.kd = gain;
  } else {
    s_.notes.unsupported(a_.element(), "",
                         "its law is none of gain u, kp (u - length) - kd velocity, kd (u - velocity)");
    return false;
  }
  return true;
}

void ActuatorReader::read_limits(const Drive& drive) {
  double control[2] = {0, 0}, force[2] = {0, 0};
  a_.numbers("ctrlrange", control, 2);
  a_.numbers("forcerange", force, 2);
  const bool limited = is_limited(a_, "ctrllimited", "ctrlrange", s_.settings);
  const bool force_limited = is_limited(a_, "forcelimited", "forcerange", s_.settings);
  if (limited && !(control[0] < control[1])) a_.refuse("ctrlrange", "must have the smaller limit first");
  if (force_limited && !(force[0] < force[1])) a_.refuse("forcerange", "must have the smaller limit first");
  if (limited && s_.settings.clamp_control) {
    actuator_.control_limited = true;
    actuator_.control_lower = control[0];
    actuator_.control_upper = control[1];
  }
  if (!force_limited) return;
  // The gain of a motor is part of its gear here, so its force before gear is the control.
  const double gain = actuator_.kind == model::ActuatorKind::kMotor ? drive.gain[0] : 1;
  if (gain == 0) {
    s_.notes.unsupported(a_.where("forcerange"), "forcerange", "the actuator has no gain");
    return;
  }
  actuator_.effort_limited = true;
  actuator_.effort_lower = force[gain > 0 ? 0 : 1] / gain;
  actuator_.effort_upper = force[gain > 0 ? 1 : 0] / gain;
}

void ActuatorReader::read() {
  Drive drive;
  for (const XmlElement* layer : a_.layers()) {
    check_own_attributes(*layer);
    read_layer(*layer, drive);
  }
  check_supported();
  if (!find_joint()) return;
  double gear[6] = {1, 0, 0, 0, 0, 0};
  a_.numbers("gear", gear, 1);
  actuator_.gear = gear[0];
  if (!take_law(drive)) return;
  read_limits(drive);
  actuator_.name = a_.element().find("name") == nullptr ? "" : a_.element().find("name")->value;
  if (s_.spec.actuators.size() >= static_cast<std::size_t>(model::kMaxSceneActuators)) {
    refuse(a_.element(), "", "is one actuator too many: a scene may have " + std::to_string(model::kMaxSceneActuators));
  }
  s_.spec.actuators.push_back(actuator_);
}

}  // namespace

void read_actuators(MjcfScene& scene) {
  std::set<std::string, std::less<>> names;
  for (const XmlElement& section : scene.root.children) {
    if (section.tag != "actuator") continue;
    for (const XmlElement& element : section.children) {
      const XmlAttribute* name = element.find("name");
      if (name != nullptr && !name->value.empty() && !names.insert(name->value).second) {
        refuse(element, "name", "names an actuator a second time");
      }
      if (is_offered(element.tag)) ActuatorReader(scene, element).read();  // the schema has noted the others
    }
  }
}

}  // namespace axion::import
