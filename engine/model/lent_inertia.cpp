#include "engine/model/lent_inertia.hpp"

#include <algorithm>
#include <limits>

namespace axion::model {
namespace {

struct Support {
  double mass, inertia, arm;
};

double least_moment(const math::Vec3<double>& I) { return std::min({I.x, I.y, I.z}); }

// Of the child of a joint, by its parent's.
Support pass_on(const Support& parent, const JointData<double>& joint, const std::vector<AxisData<double>>& axes) {
  Support child = parent;
  for (int k = 0; k < joint.axis_count; ++k) {
    const double armature = axes[joint.axis_start + k].armature;
    double& held = k < joint.slide_count ? child.mass : child.inertia;
    held = std::min(held, armature);
  }
  if (joint.is_ball && joint.axis_count == 0) child.inertia = 0;
  if (joint.lock_stiffness > 0) child.mass = child.inertia = 0;
  child.arm += math::norm(joint.p_PA) + math::norm(joint.p_CA);
  for (const math::Vec3<double>& offset : joint.offset) child.arm += math::norm(offset);
  return child;
}

}  // namespace

void lend_inertia(std::vector<BodyData<double>>& bodies, const std::vector<JointData<double>>& joints,
                  const std::vector<AxisData<double>>& axes) {
  constexpr double kHeld = std::numeric_limits<double>::infinity();
  std::vector<Support> support(bodies.size());
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    BodyData<double>& body = bodies[b];
    if (body.joint < 0) {
      support[b] = {body.mass, least_moment(body.inertia), 0};
      continue;
    }
    const Support parent = body.parent < 0 ? Support{kHeld, kHeld, 0} : support[body.parent];
    Support& own = support[b] = pass_on(parent, joints[body.joint], axes);
    if (own.inertia == kHeld) continue;  // it cannot turn
    const double arm = std::max(own.arm, kLeastSupportArm);
    const double mass = std::min(own.mass, own.inertia / (arm * arm));
    if (body.mass < kLentShare * mass) body.lent_mass = kLentShare * mass;
    if (least_moment(body.inertia) < kLentShare * own.inertia) body.lent_inertia = kLentShare * own.inertia;
  }
}

}  // namespace axion::model
