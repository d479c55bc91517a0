#include "engine/import/mjcf_moved_mass.hpp"

#include "engine/model/path_growths.hpp"
#include "engine/model/spec_math.hpp"

namespace axion::import {
namespace {

constexpr double kLeastGrowth = 1e-10;  // m/rad or m/m: below it a coordinate does not change a length

}  // namespace

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

// Of a unit of turning about n through a point of the child, both in the world.
double turning_mass(const Hanging& hanging, const math::Vec3<double>& n, const math::Vec3<double>& point) {
  const math::Vec3<double> arm = math::cross(n, point);
  return math::dot(n, hanging.inertia * n) - 2 * math::dot(math::cross(n, hanging.moment), arm) +
         hanging.mass * math::dot(arm, arm);
}

double reflected_mass(const model::SceneSpec& spec, const std::vector<Hanging>& sums, int joint_index, int axis_index) {
  const model::JointSpec& joint = spec.joints[static_cast<std::size_t>(joint_index)];
  const model::AxisSpec& axis = joint.axes[static_cast<std::size_t>(axis_index)];
  const Hanging& hanging = sums[static_cast<std::size_t>(joint.child)];
  if (axis.kind == model::AxisKind::kSlide) return axis.armature + hanging.mass;
  const model::Pose X_WC = model::to_pose(spec.bodies[static_cast<std::size_t>(joint.child)].X_WB);
  const math::Vec3<double> n = math::rotate(X_WC.rotation, model::to_vec3(axis.axis));
  return axis.armature + turning_mass(hanging, n, X_WC * model::to_vec3(axis.anchor));
}

double mass_along(const model::SceneSpec& spec, const std::vector<Hanging>& sums,
                  const std::vector<model::TendonPointSpec>& path) {
  std::vector<model::Row<double>> growth = model::path_growths(spec, path);
  // Forces of all that hangs on a body, moved to its origin.
  for (std::size_t j = spec.joints.size(); j-- > 0;) {  // children come after their parents
    const model::JointSpec& joint = spec.joints[j];
    if (joint.parent == model::kWorldBody) continue;
    const auto child = static_cast<std::size_t>(joint.child), parent = static_cast<std::size_t>(joint.parent);
    const auto arm =
        model::to_vec3(spec.bodies[child].X_WB.position) - model::to_vec3(spec.bodies[parent].X_WB.position);
    growth[parent].l += growth[child].l;
    growth[parent].k_a += growth[child].k_a + math::cross(arm, growth[child].l);
  }
  double mass = 0;
  for (std::size_t j = 0; j < spec.joints.size(); ++j) {
    const auto child = static_cast<std::size_t>(spec.joints[j].child);
    const model::Pose X_WC = model::to_pose(spec.bodies[child].X_WB);
    const model::JointSpec& joint = spec.joints[j];
    for (int k = 0; k < (joint.kind == model::JointKind::kBall ? 3 : 0); ++k) {  // about the axes of the child
      math::Vec3<double> e{};
      e[k] = 1;
      const math::Vec3<double> n = math::rotate(X_WC.rotation, e), anchor = model::to_vec3(joint.anchor);
      const double by =
          math::dot(n, growth[child].k_a - math::cross(math::rotate(X_WC.rotation, anchor), growth[child].l));
      if (!(std::abs(by) > kLeastGrowth)) continue;
      mass += (joint.ball_armature + turning_mass(sums[child], n, X_WC * anchor)) / (by * by);
    }
    for (std::size_t k = 0; k < joint.axes.size(); ++k) {
      const model::AxisSpec& axis = spec.joints[j].axes[k];
      const math::Vec3<double> n = math::rotate(X_WC.rotation, model::to_vec3(axis.axis));
      const math::Vec3<double> anchor = math::rotate(X_WC.rotation, model::to_vec3(axis.anchor));
      const double by = axis.kind == model::AxisKind::kSlide
                            ? math::dot(n, growth[child].l)
                            : math::dot(n, growth[child].k_a - math::cross(anchor, growth[child].l));
      if (!(std::abs(by) > kLeastGrowth)) continue;
      mass += reflected_mass(spec, sums, static_cast<int>(j), static_cast<int>(k)) / (by * by);
    }
  }
  return mass;
}

}  // namespace axion::import
