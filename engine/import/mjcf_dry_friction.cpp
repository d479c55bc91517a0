// Dry friction of balls and of free joints. MuJoCo bounds that of each of their coordinates by itself: of a ball what
// it turns by about each axis of the child, of a free joint what the origin of the body's frame moves by along each
// axis of the world and what the body turns by about each of its own. So each becomes a tendon, whose path is a wrench
// along that coordinate.
//
// Where dry friction gives way, MuJoCo's R = (1 - d)/d A' takes the mean A' of the diagonal of M^-1 over the three
// coordinates that are alike, and a tendon its own A: its d is that by which its R is MuJoCo's.
#include <algorithm>
#include <cmath>
#include <string>

#include "engine/import/mjcf_moved_mass.hpp"
#include "engine/import/mjcf_scene.hpp"
#include "engine/model/impedance.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::import {
namespace {

using math::Vec3;

// Dry friction of free joints is left out where it is a hundredth of what the weight of the body and of all that hangs
// on it could do, by its force and, at an arm of the radius of gyration, by its moment.
bool is_negligible(const model::SceneSpec& spec, const Hanging& all, double friction) {
  constexpr double kNegligible = 0.01;
  const double gravity = math::norm(model::to_vec3(spec.gravity));
  const Vec3<double> centre = (1 / all.mass) * all.moment;
  double sum = 0;
  for (int i = 0; i < 3; ++i) sum += all.inertia(i, i);
  const double radius = std::sqrt(std::max(0.0, sum / (2 * all.mass) - math::dot(centre, centre)));
  return friction <= kNegligible * all.mass * gravity * std::min(1.0, radius);
}

// With the impedance at which a row of mobility `own` has the R that `softness` gives one of mobility `mean`.
model::SoftnessSpec with_mobility(model::SoftnessSpec softness, double mean, double own) {
  if (!(mean > 0) || !(own > 0)) return softness;
  const auto law = model::make_impedance(softness.solref.data(), softness.solimp.data(), 0, mean, {});
  const double d = law.width > 0 ? law.least : (law.least + law.most) / 2;
  softness.solimp[0] = 1 / (1 + (1 - d) / d * mean / own);
  softness.solimp[2] = std::max(softness.solimp[2], 1e-6);  // so that a row without depth has the first number
  return softness;
}

class FrictionMaker {
 public:
  explicit FrictionMaker(MjcfScene& scene) : s_(scene), hanging_(sum_hanging(scene.spec)) {}

  void add(const JointFriction& of) {
    const model::JointSpec joint = s_.spec.joints[static_cast<std::size_t>(of.joint)];
    const bool is_free = joint.kind == model::JointKind::kFree;
    if (is_free && is_negligible(s_.spec, hanging_[static_cast<std::size_t>(joint.child)], of.friction)) {
      s_.notes.warn(*of.element, "frictionloss",
                    "of a free joint is left out: it is below a hundredth of the weight on it");
      return;
    }
    const model::Pose X_WC = model::to_pose(s_.spec.bodies[static_cast<std::size_t>(joint.child)].X_WB);
    const model::FrameSpec child{joint.child, {}};
    model::TendonPointSpec turn, move;
    turn.kind = move.kind = model::TendonPointKind::kWrench;
    turn.frame = move.frame = child;
    move.has_side = true, move.side.body = model::kWorldBody, move.side.X_BF.position = model::to_spec(X_WC.position);
    if (!is_free) {  // the child's axes, which its parent's turning leaves behind
      const model::Pose X_WP = joint.parent == model::kWorldBody
                                   ? model::Pose{}
                                   : model::to_pose(s_.spec.bodies[static_cast<std::size_t>(joint.parent)].X_WB);
      turn.has_side = true, turn.side = child;
      turn.frame = {joint.parent, model::to_spec(model::inverse(X_WP) * X_WC)};
    }
    if (is_free) add_three(of, move, 0, moving_mobility(s_.spec, of.joint), "_friction_");
    add_three(of, turn, 3, turning_mobility(s_.spec, of.joint), is_free ? "_turning_friction_" : "_friction_");
  }

 private:
  void add_three(const JointFriction& of, model::TendonPointSpec point, std::size_t first, const Vec3<double>& mobility,
                 const char* what) {
    const double mean = (mobility.x + mobility.y + mobility.z) / 3;
    for (int k = 0; k < 3; ++k) {
      if (s_.spec.tendons.size() >= static_cast<std::size_t>(model::kMaxSceneTendons)) {
        refuse(*of.element, "frictionloss",
               "needs one tendon too many: a scene may have " + std::to_string(model::kMaxSceneTendons));
      }
      point.gear = {};
      point.gear[first + static_cast<std::size_t>(k)] = 1;
      model::TendonSpec tendon;
      tendon.path = {point};
      tendon.friction_loss = of.friction;
      tendon.friction_softness = with_mobility(of.softness, mean, mobility[k]);
      if (!of.name.empty()) tendon.name = of.name + what + "xyz"[k];
      const auto has_it = [&](const model::TendonSpec& other) { return other.name == tendon.name; };
      if (std::any_of(s_.spec.tendons.begin(), s_.spec.tendons.end(), has_it)) tendon.name.clear();
      s_.spec.tendons.push_back(std::move(tendon));
      s_.tendon_elements.push_back(of.element);
    }
  }

  MjcfScene& s_;
  std::vector<Hanging> hanging_;  // [body]
};

}  // namespace

void add_dry_friction(MjcfScene& scene) {
  if (scene.joint_frictions.empty()) return;
  FrictionMaker maker(scene);
  for (const JointFriction& of : scene.joint_frictions) maker.add(of);
}

}  // namespace axion::import
