// The checks of joints: one by one, then which of them carry bodies, close loops or weld.
#include <cmath>
#include <type_traits>

#include "engine/model/loop_joints.hpp"
#include "engine/model/scene_checker.hpp"
#include "engine/model/spec_math.hpp"
#include "engine/model/validate_inertia.hpp"
#include "engine/model/validate_scene.hpp"

namespace axion::model {
void SceneChecker::joints() {
  std::unordered_set<std::string> names, axis_names;
  for (std::size_t j = 0; j < scene_.joints.size() && ok(); ++j) {
    name(item_name("joints", j), scene_.joints[j].name, names);
    joint(j, axis_names);
  }
}

void SceneChecker::joint(std::size_t j, std::unordered_set<std::string>& axis_names) {
  const JointSpec& joint = scene_.joints[j];
  const std::string item = item_name("joints", j);
  index(item, "parent", joint.parent, kWorldBody, scene_.bodies.size());
  index(item, "child", joint.child, 0, scene_.bodies.size());
  if (joint.kind == JointKind::kFree && joint.parent != kWorldBody) {
    fail(item, "parent", "of a free joint must be the world (-1); it is " + std::to_string(joint.parent));
  }
  if (ok() && joint.parent == joint.child) {
    fail(item, "parent", "must be another body than the child; both are " + std::to_string(joint.child));
  }
  numbers(item, joint);
  compliance(item, "lock_stiffness", joint.lock_stiffness, "lock_damping", joint.lock_damping);
  if (joint.kind == JointKind::kFree && joint.lock_stiffness > 0) {
    fail(item, "lock_stiffness", "must be 0: a free joint locks nothing; it is " + to_text(joint.lock_stiffness));
  }
  if (ok() && joint.ball_limited && !(joint.ball_upper > 0)) {
    fail(item, "ball_upper", "must be above 0; it is " + to_text(joint.ball_upper));
  }
  if (ok() && (joint.ball_limited || joint.ball_stiffness > 0) && joint.kind != JointKind::kBall) {
    fail(item, joint.ball_limited ? "ball_upper" : "ball_stiffness", "is for joints of kind ball");
  }
  if (ok() && joint.free_stiffness > 0 && joint.kind != JointKind::kFree) {
    fail(item, "free_stiffness", "must be 0 unless the joint is of kind free; it is " + to_text(joint.free_stiffness));
  }
  if (ok() && joint.free_damping > 0 && joint.kind != JointKind::kFree) {
    fail(item, "free_damping", "must be 0 unless the joint is of kind free; it is " + to_text(joint.free_damping));
  }
  const std::string axis_count = std::to_string(joint.axes.size());
  if (joint.kind != JointKind::kAxes && !joint.axes.empty()) {
    fail(item, "axes", "must be empty unless the joint is of kind axes; it has " + axis_count);
  }
  if (joint.kind == JointKind::kAxes && joint.axes.empty()) {
    fail(item, "axes", "must not be empty; a joint without freedom is of kind fixed");
  }
  if (joint.axes.size() > static_cast<std::size_t>(kMaxAxesPerJoint)) {
    fail(item, "axes",
         "may have at most " + std::to_string(kMaxAxesPerJoint) + " slides and hinges; it has " + axis_count);
  }
  for (std::size_t a = 0; a < joint.axes.size() && ok(); ++a) {
    const std::string axis_item = item + "." + item_name("axes", a);
    name(axis_item, joint.axes[a].name, axis_names);
    axis(axis_item, joint.axes[a]);
  }
  if (ok()) axes_span_their_space(item, joint);
  if (ok()) break_limits(item, joint);
}

// Limits are of locks, which a joint may be without.
void SceneChecker::break_limits(const std::string& item, const JointSpec& joint) {
  int free[2] = {0, 0};  // translations and rotations that are not locked
  for (const AxisSpec& axis : joint.axes) ++free[axis.kind == AxisKind::kHinge];
  if (joint.kind == JointKind::kFree) free[0] = free[1] = 3;
  if (joint.kind == JointKind::kBall) free[1] = 3;
  if (ok() && joint.break_force > 0 && free[0] == 3) {
    fail(item, "break_force", "must be 0: the joint locks no translation; it is " + to_text(joint.break_force));
  }
  if (ok() && joint.break_torque > 0 && free[1] == 3) {
    fail(item, "break_torque", "must be 0: the joint locks no rotation; it is " + to_text(joint.break_torque));
  }
}

void SceneChecker::axis(const std::string& item, const AxisSpec& axis) {
  numbers(item, axis);
  if (axis.limited) range(item, "lower", axis.lower, axis.upper);
  const math::Vec3<double> a = to_vec3(axis.axis);
  if (ok() && math::norm(a) < 1e-6) fail(item, "axis", "must not be zero; its length is " + to_text(math::norm(a)));
}

// Slides first, then hinges, each set linearly independent.
void SceneChecker::axes_span_their_space(const std::string& item, const JointSpec& joint) {
  std::vector<math::Vec3<double>> of_kind[2];
  for (std::size_t a = 0; a < joint.axes.size(); ++a) {
    const bool hinge = joint.axes[a].kind == AxisKind::kHinge;
    if (!hinge && !of_kind[1].empty()) {
      fail(item + "." + item_name("axes", a), "kind", "is a slide after a hinge; slides come before hinges");
    }
    of_kind[hinge].push_back(math::normalized(to_vec3(joint.axes[a].axis)));
  }
  for (int hinge = 0; hinge < 2 && ok(); ++hinge) {
    const std::vector<math::Vec3<double>>& axes = of_kind[hinge];
    const std::string what = hinge ? "hinges" : "slides";
    double volume = 1;
    if (axes.size() == 2) volume = math::norm(math::cross(axes[0], axes[1]));
    if (axes.size() == 3) volume = std::abs(math::dot(axes[0], math::cross(axes[1], axes[2])));
    if (volume < kMinAxisVolume) {
      fail(item, "axes", "has linearly dependent " + what + "; the volume of their unit axes is " + to_text(volume));
    }
  }
}

// Which joint carries each body, and what each body is welded to. Walks up from every body; each body is left for good
// once, so this is linear. Loop joints carry nothing, so no walk comes back to where it was.
void SceneChecker::tree() {
  closes_loop_ = find_loop_joints(scene_);
  joint_of_body_.assign(scene_.bodies.size(), -1);
  std::vector<int> first_joint(scene_.bodies.size(), -1);
  for (std::size_t j = 0; j < scene_.joints.size() && ok(); ++j) {
    const JointSpec& joint = scene_.joints[j];
    int& first = first_joint[joint.child];
    if (first >= 0 && joint.kind == JointKind::kFree) {
      fail(item_name("joints", j), "child",
           "is the child of joints[" + std::to_string(first) +
               "] already, and a free joint must be the first of its body; it is body " + std::to_string(joint.child));
    }
    if (first < 0) first = static_cast<int>(j);
    if (!closes_loop_[j]) joint_of_body_[joint.child] = static_cast<int>(j);
  }
  enum : int { kUnknown = -2 };
  weld_root_.assign(scene_.bodies.size(), kUnknown);
  std::vector<int> path;
  for (int start = 0; start < static_cast<int>(scene_.bodies.size()) && ok(); ++start) {
    int b = start;
    for (; b != kWorldBody && weld_root_[b] == kUnknown; b = scene_.joints[joint_of_body_[b]].parent) {
      path.push_back(b);
      const int j = joint_of_body_[b];
      if (j < 0 || !is_weld(scene_.joints[j], false)) {
        weld_root_[b] = b;
        path.pop_back();
        break;
      }
    }
    const int root = b == kWorldBody ? kWorldBody : weld_root_[b];
    for (; !path.empty(); path.pop_back()) weld_root_[path.back()] = root;
  }
}

// A loop joint has no coordinates, so nothing can act along it, and it must hold two bodies that can move apart.
void SceneChecker::loops() {
  for (std::size_t j = 0; j < scene_.joints.size() && ok(); ++j) {
    const JointSpec& joint = scene_.joints[j];
    const std::string item = item_name("joints", j);
    if (joint.holds_pose && (!closes_loop_[j] || joint.kind == JointKind::kAxes)) {
      fail(item, "holds_pose", "must be false unless the joint closes a loop and is a ball or fixed");
    }
    if (joint.is_soft && (!closes_loop_[j] || joint.lock_stiffness > 0)) {
      fail(item, "lock_softness", "is for joints that close loops, without lock_stiffness");
    }
    if (!closes_loop_[j]) continue;
    nothing_acts_along(item, joint);
    const int parent_root = joint.parent == kWorldBody ? kWorldBody : weld_root_[joint.parent];
    const int child_root = weld_root_[joint.child];
    if (parent_root == child_root) {
      fail(item, "child",
           "is welded to the parent already, so the joint closes no loop; they are bodies " +
               std::to_string(joint.parent) + " and " + std::to_string(joint.child));
    }
    const bool mixed = !joint.axes.empty() && joint.axes.front().kind != joint.axes.back().kind;
    if (child_root == kWorldBody && mixed) {
      fail(item, "child",
           "is welded to the world: a loop joint of slides and hinges needs a child that moves; it is body " +
               std::to_string(joint.child));
    }
  }
}

void SceneChecker::nothing_acts_along(const std::string& item, const JointSpec& joint) {
  const auto refuse = [&](const std::string& path, const auto& spec) {
    for_each_field<std::remove_cvref_t<decltype(spec)>>([&](const auto& field) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(spec.*field.member)>, double>) {
        const double value = spec.*field.member;
        if (!field.rules.acts_along || value == 0) return;
        fail(path, field.name,
             "must be 0: the joint closes a loop, and nothing may act along a loop joint; it is " + to_text(value));
      }
    });
  };
  refuse(item, joint);
  for (std::size_t a = 0; a < joint.axes.size(); ++a) {
    const std::string path = item + "." + item_name("axes", a);
    refuse(path, joint.axes[a]);
    if (joint.axes[a].limited) {
      fail(path, "limited", "must be false: the joint closes a loop, and nothing may act along a loop joint");
    }
  }
}

// A body alone must be able to move by itself; of several welded together, merge_welds checks the sum's inertia.
void SceneChecker::welds() {
  std::vector<int> part_count(scene_.bodies.size(), 0);
  std::vector<double> mass(scene_.bodies.size(), 0);
  for (std::size_t b = 0; b < scene_.bodies.size(); ++b) {
    if (weld_root_[b] == kWorldBody) continue;
    ++part_count[weld_root_[b]];
    mass[weld_root_[b]] += scene_.bodies[b].mass;
  }
  for (std::size_t b = 0; b < scene_.bodies.size() && ok(); ++b) {
    if (part_count[b] == 0) continue;
    const std::string item = item_name("bodies", b);
    if (mass[b] < kMinMass) {
      fail(item, "mass",
           "must be at least " + to_text(kMinMass) + " with all that is welded to the body; it is " + to_text(mass[b]));
    }
    if (part_count[b] > 1 || !ok()) continue;
    const Status status = validate_inertia(scene_.bodies[b].I_Bcm, item + ".I_Bcm");
    if (!status.ok()) error_ = status.error();
  }
}

}  // namespace axion::model
