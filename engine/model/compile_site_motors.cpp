#include "engine/model/compile_site_motors.hpp"

#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

// A frame in the principal frame of its body, which it gives, or in the world.
Pose in_principal(const CompiledModel& model, const FrameSpec& frame, int& body) {
  body = frame.body == kWorldBody ? -1 : model.internal_body[static_cast<std::size_t>(frame.body)];
  if (body < 0) return to_pose(frame.X_BF);
  const std::size_t b = static_cast<std::size_t>(body);
  return inverse(Pose{model.q_BC[b], model.p_BC[b]}) * to_pose(frame.X_BF);
}

// The last body that two hang on by the joints of the tree, -1: only the world. Parents have lower indices.
int last_common(const std::vector<BodyData<double>>& bodies, int a, int b) {
  while (a != b) {
    int& later = a > b ? a : b;
    later = bodies[static_cast<std::size_t>(later)].parent;
  }
  return a;
}

SiteMotorData<double> motor_of(const CompiledModel& model, const ActuatorSpec& spec, int actuator) {
  SiteMotorData<double> motor{};
  motor.actuator = actuator;
  const Pose site = in_principal(model, spec.site, motor.body);
  motor.p = site.position, motor.q = site.rotation;
  motor.reference = motor.common = -1;
  motor.has_reference = spec.has_site_reference;
  Pose axes = site;
  if (spec.has_site_reference) {
    axes = in_principal(model, spec.site_reference, motor.reference);
    motor.p_reference = axes.position, motor.q_reference = axes.rotation;
    motor.common = last_common(model.arrays.bodies, motor.body, motor.reference);
  }
  const auto& gear = spec.site_gear;
  motor.force = math::rotate(axes.rotation, math::Vec3<double>{gear[0], gear[1], gear[2]});
  motor.torque = math::rotate(axes.rotation, math::Vec3<double>{gear[3], gear[4], gear[5]});
  return motor;
}

}  // namespace

bool add_site_motors(CompiledModel& model, std::vector<BodyForceData<double>>& forces) {
  ModelArrays<double>& arrays = model.arrays;
  std::vector<std::vector<SiteUse>> uses(forces.size());
  for (std::size_t i = 0; i < arrays.actuators.size() && arrays.actuators[i].axis < 0; ++i) {  // they come first
    const ActuatorSpec& spec = model.welded.scene.actuators[static_cast<std::size_t>(arrays.actuators[i].control)];
    const SiteMotorData<double> motor = motor_of(model, spec, static_cast<int>(i));
    arrays.site_motors.push_back(motor);
    if (motor.has_reference && motor.body == motor.reference) continue;  // both at one body do nothing
    const auto add = [&](int body, SiteRole role) {
      if (body >= 0) uses[static_cast<std::size_t>(body)].push_back({static_cast<int>(i), role});
    };
    add(motor.body, SiteRole::kSite);
    if (!motor.has_reference) continue;
    add(motor.reference, SiteRole::kReference);
    add(motor.common, SiteRole::kCommon);
  }
  for (std::size_t b = 0; b < forces.size(); ++b) {
    forces[b].site_use_start = static_cast<int>(arrays.site_uses.size());
    forces[b].site_use_count = static_cast<int>(uses[b].size());
    arrays.site_uses.insert(arrays.site_uses.end(), uses[b].begin(), uses[b].end());
  }
  return !arrays.site_uses.empty();
}

void add_adhesions(const SceneSpec& scene, CompiledModel& model) {
  const auto& actuators = model.arrays.actuators;
  for (std::size_t i = 0; i < actuators.size() && actuators[i].axis < 0; ++i) {
    const ActuatorSpec& spec = scene.actuators[static_cast<std::size_t>(actuators[i].control)];
    if (spec.adheres) model.arrays.adhesions.push_back({static_cast<int>(i), spec.adhesive_body + 1});
  }
}

}  // namespace axion::model
