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

}  // namespace axion::import
