// The <actuator> section: motors and the affine drives that are springs and dampers about a set point.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "engine/import/mjcf_drive.hpp"
#include "engine/import/mjcf_moved_mass.hpp"
#include "engine/import/mjcf_muscle.hpp"
#include "engine/import/mjcf_scene.hpp"
#include "engine/import/mjcf_transmission.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

// A share of critical damping, whose damping follows from what moves when all actuators have brought their inertia.
struct DampingRatio {
  double ratio;
  std::size_t actuator;
  const XmlElement* element;
};

class ActuatorReader {
 public:
  ActuatorReader(MjcfScene& scene, std::vector<DampingRatio>& ratios, const XmlElement& element)
      : s_(scene),
        ratios_(ratios),
        a_(scene.defaults.attributes(element, DefaultClasses::kMain,
                                     {"general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder",
                                      "muscle", "adhesion", "dcmotor", "pid", "orientation"})) {}
  void read();

 private:
  void check_supported();
  bool find_transmission();
  bool find_site();
  void add_mechanics(double gear);
  // Whether its own inertia or damping, or its law, needs the motion of what it acts on.
  bool has_mechanics() const;
  bool depends_on_motion(const Drive& drive) const;
  // Of the joint's axis or the tendon.
  void range_of(double& lower, double& upper) const;
  bool take_law(const Drive& drive);
  bool take_curves(const Drive& drive);
  bool take_activation(const Drive& drive);
  void read_limits(const Drive& drive);
  void inherit_range();
  bool given(const char* attribute) const { return a_.element().find(attribute) != nullptr; }

  MjcfScene& s_;
  std::vector<DampingRatio>& ratios_;
  Attributes a_;
  model::ActuatorSpec actuator_;
  double motor_gain_ = 1;  // that is part of its gear
  double damping_ratio_ = 0;
  bool has_lengths_ = true, has_own_gear_ = false, is_of_free_joint_ = false;
};

void ActuatorReader::check_supported() {
  static constexpr const char* kInputs = "pos vel ff none";
  // What a control is called; the law says what it does.
  const std::string input = a_.text("input", "none");
  if (a_.element().tag != "dcmotor" && std::string_view(kInputs).find(input) == std::string_view::npos) {
    s_.notes.unsupported(a_.where("input"), "input", "a control is a force, a position or a velocity");
  }
  if (a_.number("delay", 0) != 0) s_.notes.unsupported(a_.where("delay"), "delay", "controls act at once");
  actuator_.activation_early = a_.boolean("actearly", false);
  if (a_.number("actdim", -1) > 1) s_.notes.unsupported(a_.where("actdim"), "actdim", "an activation is one number");
}

// Inertia and damping of the actuator itself, which its joint or tendon feels times the square of its gear.
void ActuatorReader::add_mechanics(double gear) {
  double armature[1] = {0}, damping[8] = {};
  a_.numbers("armature", armature, 1), a_.numbers("damping", damping, 1);
  const auto is_given = [](double value) { return value != 0; };
  const bool linear = !std::any_of(std::begin(damping) + 1, std::end(damping), is_given);
  if (armature[0] < 0 || damping[0] < 0) a_.refuse(armature[0] < 0 ? "armature" : "damping", "must not be negative");
  if (!is_given(armature[0]) && !is_given(damping[0]) && linear) return;
  if (!linear || actuator_.on_site) {
    const char* name = is_given(armature[0]) && linear ? "armature" : "damping";
    s_.notes.unsupported(a_.where(name), name, linear ? "give it to the joint instead" : "damping is linear");
    return;
  }
  const auto add = [&](auto& to) {
    to.armature += gear * gear * armature[0];
    if (s_.settings.dampers) to.damping += gear * gear * damping[0];
  };
  if (actuator_.tendon != kNoTendon) return add(s_.spec.tendons[static_cast<std::size_t>(actuator_.tendon)]);
  add(s_.spec.joints[static_cast<std::size_t>(actuator_.joint)].axes[static_cast<std::size_t>(actuator_.axis)]);
}

bool ActuatorReader::has_mechanics() const {
  double armature[1] = {0}, damping[8] = {};
  a_.numbers("armature", armature, 1), a_.numbers("damping", damping, 1);
  const auto is_given = [](double value) { return value != 0; };
  return is_given(armature[0]) || std::any_of(std::begin(damping), std::end(damping), is_given);
}

bool ActuatorReader::depends_on_motion(const Drive& drive) const {
  return drive.gain_type != 0 || drive.bias_type > 1 ||
         (drive.bias_type == 1 && (drive.bias[1] != 0 || drive.bias[2] != 0));
}

bool ActuatorReader::find_transmission() {
  if (given("body")) {
    has_own_gear_ = true;
    find_adhesive(s_, a_, actuator_);
    return true;
  }
  if (given("site")) return find_site();
  if (given("slidersite") || given("cranksite")) return find_crank(s_, a_, actuator_);
  if (given("refsite")) refuse(a_.element(), "site", "is required with refsite");
  if (given("tendon")) {
    if (given("joint") || given("jointinparent")) refuse(a_.element(), "tendon", "is given together with a joint");
    actuator_.tendon = find_tendon(s_, a_.element(), "tendon");
    return actuator_.tendon != kNoTendon;
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
  has_own_gear_ = true;
  is_of_free_joint_ = kind == model::JointKind::kFree;
  return turn_joint(s_, a_, attribute, actuator_);
}

// gear are a force and a torque; the law's gain is the gear of the scene's.
bool ActuatorReader::find_site() {
  for (const char* name : {"joint", "jointinparent", "tendon"}) {
    if (given(name)) refuse(a_.element(), name, "is given together with a site");
  }
  const auto frame = [&](const char* name) {
    model::FrameSpec out;
    out.X_BF = model::to_spec(site_pose(s_, a_.element(), name, out.body));
    return out;
  };
  actuator_.on_site = true;
  actuator_.site = frame("site");
  actuator_.has_site_reference = given("refsite");
  if (actuator_.has_site_reference) actuator_.site_reference = frame("refsite");
  return true;
}

void ActuatorReader::range_of(double& lower, double& upper) const {
  if (actuator_.tendon != kNoTendon) {
    const model::TendonSpec& tendon = s_.spec.tendons[static_cast<std::size_t>(actuator_.tendon)];
    lower = tendon.lower, upper = tendon.upper;
    return;
  }
  const model::AxisSpec& axis =
      s_.spec.joints[static_cast<std::size_t>(actuator_.joint)].axes[static_cast<std::size_t>(actuator_.axis)];
  lower = axis.lower, upper = axis.upper;
}

// False if it is of another kind than those of a scene.
bool ActuatorReader::take_activation(const Drive& drive) {
  if (drive.dynamics == 0) return true;
  if (drive.dynamics > Drive::kMuscleDynamics) return false;
  actuator_.activation = drive.dynamics == Drive::kIntegrator       ? model::ActivationKind::kIntegrator
                         : drive.dynamics == Drive::kMuscleDynamics ? model::ActivationKind::kMuscle
                                                                    : model::ActivationKind::kFilter;
  const double time = drive.dynamics_numbers[0];
  if (drive.dynamics == Drive::kMuscleDynamics) {
    for (const double number : {drive.dynamics_numbers[1], drive.dynamics_numbers[2]}) {
      if (number < 0) a_.refuse("dynprm", "must not be negative");
    }
    actuator_.deactivation_time = drive.dynamics_numbers[1];
    actuator_.activation_smoothing = drive.dynamics_numbers[2];
  }
  if (drive.dynamics != Drive::kIntegrator && time < 0) a_.refuse("dynprm", "must not be negative");
  actuator_.activation_time = drive.dynamics == Drive::kIntegrator ? 0 : time;
  double range[2] = {0, 0};
  a_.numbers("actrange", range, 2);
  actuator_.activation_limited = is_limited(a_, "actlimited", "actrange", s_.documents.of(a_.element()));
  if (actuator_.activation_limited && !(range[0] < range[1])) {
    a_.refuse("actrange", "must have the smaller limit first");
  }
  actuator_.activation_lower = range[0], actuator_.activation_upper = range[1];
  return true;
}

// A muscle, or an affine law that is none of the drives; false if it is neither.
bool ActuatorReader::take_curves(const Drive& drive) {
  if (drive.gain_type == Drive::kMuscle) {
    // The passive curve has the numbers of the active one, as <muscle> gives them.
    static constexpr int kShared[] = {0, 1, 2, 3, 5};
    const bool one_muscle =
        std::all_of(std::begin(kShared), std::end(kShared), [&](int k) { return drive.bias[k] == drive.gain[k]; });
    if (drive.bias_type == Drive::kAffine || drive.bias_type > Drive::kMuscle) return false;
    if (drive.bias_type == Drive::kMuscle && !one_muscle) return false;
    actuator_.kind = model::ActuatorKind::kMuscle;
    const std::optional<model::MuscleSpec> muscle = muscle_of(s_, a_, drive, actuator_);
    has_lengths_ = muscle.has_value();
    if (has_lengths_) actuator_.muscle = *muscle;
    return true;
  }
  if (drive.gain_type > Drive::kAffine || drive.bias_type > Drive::kAffine) return false;
  actuator_.kind = model::ActuatorKind::kAffine;
  for (std::size_t k = 0; k < 3; ++k) {
    actuator_.gain[k] = k == 0 || drive.gain_type == Drive::kAffine ? drive.gain[k] : 0;
    actuator_.bias[k] = drive.bias_type == Drive::kAffine ? drive.bias[k] : 0;
  }
  return true;
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
  const bool activates = take_activation(drive);
  const bool affine = activates && drive.gain_type == 0 && drive.bias_type <= 1;
  const bool is_servo = gain > 0 && b1 == -gain;  // b2 above zero is then a ratio of damping
  if (affine && b1 == 0 && b2 == 0) {
    actuator_.kind = model::ActuatorKind::kMotor;
    if (b0 == 0) {
      actuator_.gear *= gain;
      motor_gain_ = gain;
    } else {
      actuator_.control_gain = gain;
      actuator_.control_offset = b0;
    }
  } else if (affine && b1 < 0 && (is_servo || b2 <= 0)) {
    actuator_.kind = model::ActuatorKind::kPosition;
    actuator_.kp = -b1;
    actuator_.kd = -b2;
    if (!is_servo) actuator_.control_gain = gain / actuator_.kp;
    actuator_.control_offset = b0 == 0 ? 0 : b0 / actuator_.kp;
    // Above zero it is a share of critical damping.
    if (b2 > 0 && actuator_.gear == 0) a_.refuse("gear", "must not be zero for a ratio of damping");
    if (b2 > 0) actuator_.kd = 0, damping_ratio_ = b2;
  } else if (affine && b1 == 0 && b2 < 0) {
    actuator_.kind = model::ActuatorKind::kVelocity;
    actuator_.kd = -b2;
    if (b2 != -gain) actuator_.control_gain = gain / actuator_.kd;
    actuator_.control_offset = b0 == 0 ? 0 : b0 / actuator_.kd;
  } else if (!activates || !take_curves(drive)) {
    s_.notes.unsupported(a_.element(), "", "its law is neither affine nor a muscle's");
    return false;
  }
  return true;
}

// Controls, or what integrates them, go as far as the joint's range, or a multiple of it about its middle.
void ActuatorReader::inherit_range() {
  const double share = a_.not_negative("inheritrange", 0);
  if (actuator_.kind != model::ActuatorKind::kPosition || actuator_.control_gain != 1) {
    s_.notes.unsupported(a_.where("inheritrange"), "inheritrange", "only positions have the range of a joint");
    return;
  }
  const bool integrates = actuator_.activation == model::ActivationKind::kIntegrator;
  const char* own = integrates ? "actrange" : "ctrlrange";
  double lower, upper;
  range_of(lower, upper);
  if (!(lower < upper)) a_.refuse("inheritrange", "needs a joint or a tendon that has a range");
  if (given("inheritrange") && given(own)) a_.refuse(own, "is given together with inheritrange");
  const double middle = 0.5 * (lower + upper), half = 0.5 * (upper - lower) * share;
  (integrates ? actuator_.activation_limited : actuator_.control_limited) = half > 0;
  (integrates ? actuator_.activation_lower : actuator_.control_lower) = middle - half;
  (integrates ? actuator_.activation_upper : actuator_.control_upper) = middle + half;
}

void ActuatorReader::read_limits(const Drive& drive) {
  const MjcfSettings& settings = s_.documents.of(a_.element());
  double control[2] = {0, 0}, force[2] = {0, 0};
  a_.numbers("ctrlrange", control, 2);
  a_.numbers("forcerange", force, 2);
  const bool inherits = drive.bias_type == 1 && a_.number("inheritrange", 0) != 0 &&
                        a_.keyword("ctrllimited", {"false", "true", "auto"}, 2) != 0;
  if (inherits) inherit_range();
  const bool limited = !actuator_.control_limited && (!inherits || actuator_.activation_limited) &&
                       (drive.limits_control || is_limited(a_, "ctrllimited", "ctrlrange", settings));
  if (drive.limits_control && control[0] < 0) a_.refuse("ctrlrange", "must not be negative here");
  if (drive.greatest_force > 0) force[0] = -drive.greatest_force, force[1] = drive.greatest_force;
  const bool force_limited = drive.greatest_force > 0 || is_limited(a_, "forcelimited", "forcerange", settings);
  if (limited && !(control[0] < control[1])) a_.refuse("ctrlrange", "must have the smaller limit first");
  if (force_limited && !(force[0] < force[1])) a_.refuse("forcerange", "must have the smaller limit first");
  if (limited) {
    actuator_.control_limited = true;
    actuator_.control_lower = control[0];
    actuator_.control_upper = control[1];
  }
  actuator_.control_limited = actuator_.control_limited && settings.clamp_control;
  if (!force_limited) return;
  // The gain of a motor is part of its gear here, so its force before gear is the control.
  const double gain = motor_gain_;
  if (gain == 0) {
    s_.notes.unsupported(a_.where("forcerange"), "forcerange", "the actuator has no gain");
    return;
  }
  actuator_.effort_limited = true;
  actuator_.effort_lower = force[gain > 0 ? 0 : 1] / gain;
  actuator_.effort_upper = force[gain > 0 ? 1 : 0] / gain;
}

void ActuatorReader::read() {
  Drive drive = read_drive(a_, s_.notes);
  check_supported();
  if (!find_transmission()) return;
  double gear[6] = {1, 0, 0, 0, 0, 0};
  a_.numbers("gear", gear, 1);
  if (has_own_gear_) {
    gear[0] = 1;
  } else if (actuator_.on_site) {
    std::copy(std::begin(gear), std::end(gear), actuator_.site_gear.begin());
  } else {
    actuator_.gear = gear[0];
  }
  if (actuator_.on_site && !actuator_.adheres && (has_mechanics() || depends_on_motion(drive))) {
    const bool has_length = actuator_.has_site_reference && !is_of_free_joint_;
    if (!has_length && (drive.gain_type == Drive::kMuscle || drive.bias_type == Drive::kMuscle)) {
      s_.notes.unsupported(a_.element(), "site", "a muscle has a length");
      return;
    }
    if (!has_length && drive.bias_type == Drive::kAffine && drive.bias[1] != 0 && drive.bias[2] > 0) {
      s_.notes.unsupported(a_.element(), "dampratio", "without refsite there is no length to swing");
      return;
    }
    if (!has_length) drive.gain[1] = drive.bias[1] = 0;  // it is always 0
    pull_by_wrench(s_, a_, actuator_);
    gear[0] = 1;  // that of the wrench
  }
  add_mechanics(gear[0]);
  if (!take_law(drive) || !has_lengths_) return;
  read_limits(drive);
  actuator_.name = a_.element().find("name") == nullptr ? "" : a_.element().find("name")->value;
  if (s_.spec.actuators.size() >= static_cast<std::size_t>(model::kMaxSceneActuators)) {
    refuse(a_.element(), "", "is one actuator too many: a scene may have " + std::to_string(model::kMaxSceneActuators));
  }
  if (damping_ratio_ > 0) ratios_.push_back({damping_ratio_, s_.spec.actuators.size(), &a_.element()});
  s_.spec.actuators.push_back(actuator_);
  s_.motor_gains.push_back({motor_gain_, gear[0], s_.actuator_count});
}

// Whether an actuator acts on a fixed tendon that pulls at the axis of a range.
bool tendons_act(const model::SceneSpec& scene, const JointPlace& place) {
  return std::any_of(scene.actuators.begin(), scene.actuators.end(), [&](const model::ActuatorSpec& actuator) {
    if (actuator.tendon == kNoTendon) return false;
    const auto& terms = scene.tendons[static_cast<std::size_t>(actuator.tendon)].terms;
    return std::any_of(terms.begin(), terms.end(), [&](const model::TendonTermSpec& term) {
      return term.joint == place.joint && term.axis == place.axis;
    });
  });
}

// A range of the force along an axis is that of its one actuator, or of several motors together; without an actuator
// there is nothing to limit.
void limit_forces(MjcfScene& scene) {
  for (const ForceRange& range : scene.force_ranges) {
    if (range.tendon == kNoTendon && tendons_act(scene.spec, range.place)) {
      scene.notes.warn(*range.element, "actuatorfrcrange", "does not bound what actuators at tendons do here");
    }
    model::ActuatorSpec* one = nullptr;
    int count = 0;
    bool all_motors = true;
    for (model::ActuatorSpec& actuator : scene.spec.actuators) {
      const bool is_it = range.tendon != kNoTendon
                             ? actuator.tendon == range.tendon
                             : !actuator.on_site && actuator.tendon == kNoTendon &&
                                   actuator.joint == range.place.joint && actuator.axis == range.place.axis;
      if (!is_it) continue;
      one = &actuator;
      all_motors = all_motors && actuator.kind == model::ActuatorKind::kMotor;
      ++count;
    }
    if (count == 0 || (count == 1 && one->gear == 0)) continue;
    double lower = range.lower / one->gear, upper = range.upper / one->gear;  // of one
    if (lower > upper) std::swap(lower, upper);
    if (one->effort_limited) lower = std::max(lower, one->effort_lower), upper = std::min(upper, one->effort_upper);
    if (count > 1 && all_motors) {
      model::ForceRangeSpec& motors = range.tendon != kNoTendon
                                          ? scene.spec.tendons[static_cast<std::size_t>(range.tendon)].motors
                                          : scene.spec.joints[static_cast<std::size_t>(range.place.joint)]
                                                .axes[static_cast<std::size_t>(range.place.axis)]
                                                .motors;
      motors = {true, range.lower, range.upper};
      continue;
    }
    if (count > 1 || !(lower < upper)) {
      const char* reason = count > 1 ? "the forces of drives and motors together are not clamped"
                                     : "it leaves the actuator no range of forces";
      scene.notes.unsupported(*range.element, "actuatorfrcrange", reason);
      continue;
    }
    one->effort_limited = true;
    one->effort_lower = lower;
    one->effort_upper = upper;
  }
}

// Of what moves along the joint or tendon of each in the reference configuration.
void set_damping(MjcfScene& scene, const std::vector<DampingRatio>& ratios) {
  std::vector<std::size_t> actuators;
  for (const DampingRatio& of : ratios) actuators.push_back(of.actuator);
  const std::vector<double> masses = moved_masses(scene.spec, actuators);
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    if (!(masses[i] > 0)) {
      scene.notes.unsupported(*ratios[i].element, "dampratio", "nothing moves under its force");
      continue;
    }
    model::ActuatorSpec& actuator = scene.spec.actuators[ratios[i].actuator];
    actuator.kd = 2 * ratios[i].ratio * std::sqrt(actuator.kp * masses[i]) / std::abs(actuator.gear);
  }
}

}  // namespace

void read_force_range(const Attributes& joint, const JointPlace& place, int tendon, MjcfScene& scene) {
  if (!is_limited(joint, "actuatorfrclimited", "actuatorfrcrange", scene.documents.of(joint.element()))) return;
  double range[2] = {0, 0};
  joint.numbers("actuatorfrcrange", range, 2);
  if (!(range[0] < range[1])) joint.refuse("actuatorfrcrange", "must have the smaller limit first");
  scene.force_ranges.push_back({place, tendon, range[0], range[1], &joint.where("actuatorfrcrange")});
}

void read_actuators(MjcfScene& scene) {
  std::vector<DampingRatio> ratios;
  std::set<std::string, std::less<>> names;
  for (const XmlElement& section : scene.root.children) {
    if (section.tag != "actuator") continue;
    for (const XmlElement& element : section.children) {
      const XmlAttribute* name = element.find("name");
      if (name != nullptr && !name->value.empty() && !names.insert(name->value).second) {
        refuse(element, "name", "names an actuator a second time");
      }
      if (is_drive(element.tag)) ActuatorReader(scene, ratios, element).read();  // the schema has noted the others
      ++scene.actuator_count;
    }
  }
  limit_forces(scene);
  set_damping(scene, ratios);
}

}  // namespace axion::import
