// Springs and dampers of joints by the motion that they make: of what moves along a joint in the reference
// configuration, the mean of the inverses of its coordinates' inertias, M⁻¹'s diagonal.
#include <cmath>

#include "engine/import/mjcf_moved_mass.hpp"
#include "engine/import/mjcf_scene.hpp"

namespace axion::import {

void read_spring_damper(const Attributes& joint, const JointPlace& place, MjcfScene& scene) {
  double given[2] = {0, 0};
  if (!joint.numbers("springdamper", given, 2) || (given[0] == 0 && given[1] == 0)) return;
  if (!(given[0] > 0) || !(given[1] > 0)) joint.refuse("springdamper", "must be two numbers above 0");
  scene.spring_dampers.push_back({place, given[0], given[1]});
}

void make_springs(MjcfScene& scene) {
  for (const SpringDamper& wanted : scene.spring_dampers) {
    model::JointSpec& joint = scene.spec.joints[static_cast<std::size_t>(wanted.place.joint)];
    const double mobility = mean_mobility(scene.spec, wanted.place.joint, wanted.place.axis);
    if (!(mobility > 0)) continue;
    const double stiffness = scene.settings.springs ? 1 / (mobility * std::pow(wanted.time * wanted.ratio, 2)) : 0;
    const double damping = scene.settings.dampers ? 2 / (mobility * wanted.time) : 0;
    if (joint.kind == model::JointKind::kFree) {
      joint.free_stiffness = stiffness, joint.free_damping = damping;
    } else if (joint.kind == model::JointKind::kBall) {
      joint.ball_stiffness = stiffness, joint.ball_damping = damping;
    } else if (joint.kind == model::JointKind::kAxes) {
      model::AxisSpec& axis = joint.axes[static_cast<std::size_t>(wanted.place.axis)];
      axis.stiffness = stiffness, axis.damping = damping;
    }
  }
}

}  // namespace axion::import
