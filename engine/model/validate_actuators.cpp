// The checks of actuators.
#include <string>
#include <unordered_set>

#include "engine/model/scene_checker.hpp"

namespace axion::model {
namespace {

constexpr double kLeastMuscle = 1e-6;  // m or rad, and L0/s: below it the slopes of its curves would have no bound

}  // namespace

void SceneChecker::activation(const std::string& item, const ActuatorSpec& actuator) {
  if (actuator.activation == ActivationKind::kNone) return;
  at_least(item, "activation_time", actuator.activation_time, 0);
  at_least(item, "deactivation_time", actuator.deactivation_time, 0);
  at_least(item, "activation_smoothing", actuator.activation_smoothing, 0);
  real(item, "activation_lower", actuator.activation_lower);
  real(item, "activation_upper", actuator.activation_upper);
  if (actuator.activation_limited) {
    range(item, "activation_lower", actuator.activation_lower, actuator.activation_upper);
  }
}

void SceneChecker::force_range(const std::string& item, const char* leaf, const ForceRangeSpec& forces) {
  const std::string name = item + "." + leaf;
  numbers(name, forces);
  if (forces.limited) range(name, "lower", forces.lower, forces.upper);
}

// Beyond the curves' edges they are constant; between them they are what MuscleSpec says for any numbers in order.
void SceneChecker::muscle(const std::string& item, const MuscleSpec& muscle) {
  range(item, "range_lower", muscle.range_lower, muscle.range_upper);
  range(item, "length_lower", muscle.length_lower, muscle.length_upper);
  numbers(item, muscle);
  if (!ok()) return;
  if (!(muscle.lmin < 1)) fail(item, "lmin", "must be below 1; it is " + std::to_string(muscle.lmin));
  if (!(muscle.lmax > 1)) fail(item, "lmax", "must be above 1; it is " + std::to_string(muscle.lmax));
  if (!(muscle.fvmax >= 1)) fail(item, "fvmax", "must be at least 1; it is " + std::to_string(muscle.fvmax));
  const double L0 = (muscle.length_upper - muscle.length_lower) / (muscle.range_upper - muscle.range_lower);
  if (!(L0 > kLeastMuscle)) fail(item, "length_upper", "leaves the muscle a length that is next to none");
  if (!(muscle.vmax > kLeastMuscle)) fail(item, "vmax", "must be above 1e-6; it is " + std::to_string(muscle.vmax));
}

// Its law is on no axis: a spring or a damper would have nothing to be implicit by.
void SceneChecker::site(const std::string& item, const ActuatorSpec& actuator) {
  if (actuator.kind != ActuatorKind::kMotor) fail(item, "site", "is for motors");
  if (actuator.tendon >= 0) fail(item, "tendon", "is given together with a site");
  const auto frame = [&](const char* leaf, const FrameSpec& frame) {
    index(item + "." + leaf, "body", frame.body, kWorldBody, scene_.bodies.size());
    pose(item + "." + leaf, "X_BF", frame.X_BF);
  };
  frame("site", actuator.site);
  if (actuator.adheres) index(item, "adhesive_body", actuator.adhesive_body, 0, scene_.bodies.size());
  if (actuator.has_site_reference) frame("site_reference", actuator.site_reference);
  for (std::size_t i = 0; i < 6; ++i) {
    real(item, ("site_gear[" + std::to_string(i) + "]").c_str(), actuator.site_gear[i]);
  }
}

void SceneChecker::actuators() {
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < scene_.actuators.size() && ok(); ++i) {
    const ActuatorSpec& actuator = scene_.actuators[i];
    const std::string item = item_name("actuators", i);
    name(item, actuator.name, names);
    index(item, "tendon", actuator.tendon, -1, scene_.tendons.size());
    if (actuator.on_site) {
      site(item, actuator);
    } else if (actuator.tendon < 0) {
      axis_of_tree(item, actuator.joint, actuator.axis);
    }
    if (ok() && actuator.adheres && !actuator.on_site) fail(item, "adhesive_body", "is for motors at a site");
    if (!ok()) return;
    activation(item, actuator);
    numbers(item, actuator);
    if (actuator.kind == ActuatorKind::kMuscle) muscle(item + ".muscle", actuator.muscle);
    if (actuator.control_limited) range(item, "control_lower", actuator.control_lower, actuator.control_upper);
    if (actuator.effort_limited) range(item, "effort_lower", actuator.effort_lower, actuator.effort_upper);
  }
}

}  // namespace axion::model
