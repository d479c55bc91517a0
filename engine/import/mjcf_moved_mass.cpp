#include "engine/import/mjcf_moved_mass.hpp"

#include "engine/model/spec_math.hpp"

namespace axion::import {

std::vector<Hanging> sum_hanging(const model::SceneSpec& spec) {
  std::vector<Hanging> sums;
  for (const model::BodySpec& body : spec.bodies) {
    const model::MassProperties own =
        re_express(model::to_pose(body.X_WB), {body.mass, model::to_vec3(body.p_BoBcm), model::to_matrix(body.I_Bcm)});
    const math::Vec3<double>& c = own.p_cm;
    const math::Mat3<double> of_point{{{c.y * c.y + c.z * c.z, -c.x * c.y, -c.x * c.z},
                                       {-c.x * c.y, c.x * c.x + c.z * c.z, -c.y * c.z},
                                       {-c.x * c.z, -c.y * c.z, c.x * c.x + c.y * c.y}}};
    sums.push_back({own.mass, own.mass * c, own.I_cm + own.mass * of_point});
  }
  for (std::size_t j = spec.joints.size(); j-- > 0;) {  // children come after their parents
    const model::JointSpec& joint = spec.joints[j];
    if (joint.parent == model::kWorldBody) continue;
    sums[static_cast<std::size_t>(joint.parent)].add(sums[static_cast<std::size_t>(joint.child)]);
  }
  return sums;
}

double reflected_mass(const model::SceneSpec& spec, const std::vector<Hanging>& sums, int joint_index, int axis_index) {
  const model::JointSpec& joint = spec.joints[static_cast<std::size_t>(joint_index)];
  const model::AxisSpec& axis = joint.axes[static_cast<std::size_t>(axis_index)];
  const Hanging& hanging = sums[static_cast<std::size_t>(joint.child)];
  if (axis.kind == model::AxisKind::kSlide) return axis.armature + hanging.mass;
  const model::Pose X_WC = model::to_pose(spec.bodies[static_cast<std::size_t>(joint.child)].X_WB);
  const math::Vec3<double> n = math::rotate(X_WC.rotation, model::to_vec3(axis.axis));
  const math::Vec3<double> arm = math::cross(n, X_WC * model::to_vec3(axis.anchor));
  return axis.armature + math::dot(n, hanging.inertia * n) - 2 * math::dot(math::cross(n, hanging.moment), arm) +
         hanging.mass * math::dot(arm, arm);
}

}  // namespace axion::import
