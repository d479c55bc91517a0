#include "engine/model/validate_scene.hpp"

#include <cmath>
#include <optional>
#include <unordered_set>
#include <vector>

#include "engine/model/spec_math.hpp"

namespace axion::model {
namespace {

// Keeps the first fault. Checks that need earlier ones to have passed ask ok() first.
class Checker {
 public:
  explicit Checker(const SceneSpec& scene) : scene_(scene) {}
  Status run();

 private:
  bool ok() const { return !error_.has_value(); }
  void fail(const std::string& item, const char* leaf, const std::string& message);
  void real(const std::string& item, const char* leaf, double value);
  void at_least(const std::string& item, const char* leaf, double value, double least);
  template <std::size_t N>
  void reals(const std::string& item, const char* leaf, const std::array<double, N>& values);
  void pose(const std::string& item, const char* leaf, const PoseSpec& X);
  void index(const std::string& item, const char* leaf, int value, int first, std::size_t end);
  void range(const std::string& item, const char* leaf, double lower, double upper);
  void name(const std::string& item, const std::string& value, std::unordered_set<std::string>& seen);
  void count(const char* list, std::size_t value, int limit);

  void counts();
  void world();
  void bodies();
  void joints();
  void joint(std::size_t j, std::unordered_set<std::string>& axis_names);
  void axis(const std::string& item, const AxisSpec& axis);
  void axes_span_their_space(const std::string& item, const JointSpec& joint);
  void tree();
  void welds();
  void shapes();
  void actuators();
  void excludes();
  void keyframes();
  void keyframe_quaternions(const std::string& item, const KeyframeSpec& key);

  const SceneSpec& scene_;
  std::optional<Error> error_;
  std::vector<int> joint_of_body_;  // -1: none
  std::vector<int> weld_root_;      // body that this one moves with, or kWorldBody
};

std::string item_name(const char* list, std::size_t i) { return std::string(list) + "[" + std::to_string(i) + "]"; }

void Checker::fail(const std::string& item, const char* leaf, const std::string& message) {
  if (error_) return;
  std::string path = item;
  if (*leaf != '\0') path += (path.empty() ? "" : ".") + std::string(leaf);
  error_ = invalid_argument(path, path + " " + message + ".");
}

void Checker::real(const std::string& item, const char* leaf, double value) {
  if (!std::isfinite(value) || std::abs(value) > kMaxMagnitude) {
    fail(item, leaf, "must be finite and at most " + to_text(kMaxMagnitude) + " in magnitude; it is " + to_text(value));
  }
}

void Checker::at_least(const std::string& item, const char* leaf, double value, double least) {
  real(item, leaf, value);
  if (ok() && value < least) fail(item, leaf, "must be at least " + to_text(least) + "; it is " + to_text(value));
}

template <std::size_t N>
void Checker::reals(const std::string& item, const char* leaf, const std::array<double, N>& values) {
  for (std::size_t i = 0; i < N; ++i) {
    if (std::isfinite(values[i]) && std::abs(values[i]) <= kMaxMagnitude) continue;
    real(item, (std::string(leaf) + "[" + std::to_string(i) + "]").c_str(), values[i]);
  }
}

void Checker::pose(const std::string& item, const char* leaf, const PoseSpec& X) {
  reals(item, (std::string(leaf) + ".position").c_str(), X.position);
  const std::string rotation = std::string(leaf) + ".rotation";
  reals(item, rotation.c_str(), X.rotation);
  double norm_sq = 0;
  for (double v : X.rotation) norm_sq += v * v;
  if (ok() && norm_sq < 1e-12)
    fail(item, rotation.c_str(), "is a zero quaternion; its norm is " + to_text(std::sqrt(norm_sq)));
}

void Checker::index(const std::string& item, const char* leaf, int value, int first, std::size_t end) {
  if (value < first || value >= static_cast<int>(end)) {
    fail(item, leaf,
         "must be an index from " + std::to_string(first) + " to " + std::to_string(static_cast<int>(end) - 1) +
             "; it is " + std::to_string(value));
  }
}

void Checker::range(const std::string& item, const char* leaf, double lower, double upper) {
  if (ok() && !(lower < upper)) {
    fail(item, leaf, "must be below the upper limit; the limits are " + to_text(lower) + " and " + to_text(upper));
  }
}

void Checker::name(const std::string& item, const std::string& value, std::unordered_set<std::string>& seen) {
  if (value.empty()) fail(item, "name", "must not be empty");
  if (value.size() > kMaxNameBytes) {
    fail(item, "name",
         "must have at most " + std::to_string(kMaxNameBytes) + " bytes; it has " + std::to_string(value.size()));
  }
  if (ok() && !seen.insert(value).second) fail(item, "name", "is used twice: \"" + value + "\"");
}

void Checker::count(const char* list, std::size_t value, int limit) {
  if (value > static_cast<std::size_t>(limit)) {
    fail(list, "", "may have at most " + std::to_string(limit) + " entries; it has " + std::to_string(value));
  }
}

void Checker::counts() {
  count("bodies", scene_.bodies.size(), kMaxSceneBodies);
  count("joints", scene_.joints.size(), kMaxSceneJoints);
  count("shapes", scene_.shapes.size(), kMaxSceneShapes);
  count("actuators", scene_.actuators.size(), kMaxSceneActuators);
  count("excludes", scene_.excludes.size(), kMaxSceneExcludes);
  count("keyframes", scene_.keyframes.size(), kMaxSceneKeyframes);
}

void Checker::world() {
  reals("", "gravity", scene_.gravity);
  real("", "timestep", scene_.timestep);
  if (ok() && !(scene_.timestep > 0 && scene_.timestep <= 1)) {
    fail("", "timestep", "must be above 0 and at most 1 s; it is " + to_text(scene_.timestep));
  }
}

void Checker::bodies() {
  std::unordered_set<std::string> names;
  for (std::size_t b = 0; b < scene_.bodies.size() && ok(); ++b) {
    const BodySpec& body = scene_.bodies[b];
    const std::string item = item_name("bodies", b);
    name(item, body.name, names);
    pose(item, "X_WB", body.X_WB);
    at_least(item, "mass", body.mass, 0);
    reals(item, "p_BoBcm", body.p_BoBcm);
    reals(item, "I_Bcm", body.I_Bcm);
  }
}

void Checker::joints() {
  std::unordered_set<std::string> names, axis_names;
  joint_of_body_.assign(scene_.bodies.size(), -1);
  for (std::size_t j = 0; j < scene_.joints.size() && ok(); ++j) {
    const std::string item = item_name("joints", j);
    name(item, scene_.joints[j].name, names);
    joint(j, axis_names);
    if (!ok()) return;
    int& owner = joint_of_body_[static_cast<std::size_t>(scene_.joints[j].child)];
    if (owner >= 0) {
      fail(item, "child",
           "already is the child of joints[" + std::to_string(owner) + "]; it is body " +
               std::to_string(scene_.joints[j].child));
    }
    owner = static_cast<int>(j);
  }
}

void Checker::joint(std::size_t j, std::unordered_set<std::string>& axis_names) {
  const JointSpec& joint = scene_.joints[j];
  const std::string item = item_name("joints", j);
  index(item, "parent", joint.parent, kWorldBody, scene_.bodies.size());
  index(item, "child", joint.child, 0, scene_.bodies.size());
  if (joint.kind == JointKind::kFree && joint.parent != kWorldBody) {
    fail(item, "parent", "of a free joint must be the world (-1); it is " + std::to_string(joint.parent));
  }
  reals(item, "anchor", joint.anchor);
  at_least(item, "ball_damping", joint.ball_damping, 0);
  at_least(item, "ball_armature", joint.ball_armature, 0);
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
}

void Checker::axis(const std::string& item, const AxisSpec& axis) {
  reals(item, "axis", axis.axis);
  reals(item, "anchor", axis.anchor);
  real(item, "reference", axis.reference);
  real(item, "initial_position", axis.initial_position);
  at_least(item, "armature", axis.armature, 0);
  at_least(item, "damping", axis.damping, 0);
  at_least(item, "stiffness", axis.stiffness, 0);
  real(item, "spring_reference", axis.spring_reference);
  real(item, "lower", axis.lower);
  real(item, "upper", axis.upper);
  if (axis.limited) range(item, "lower", axis.lower, axis.upper);
  const math::Vec3<double> a = to_vec3(axis.axis);
  if (ok() && math::norm(a) < 1e-6) fail(item, "axis", "must not be zero; its length is " + to_text(math::norm(a)));
}

// Slides first, then hinges, each set linearly independent.
void Checker::axes_span_their_space(const std::string& item, const JointSpec& joint) {
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

// Walks up from every body; each body is left for good once, so this is linear.
void Checker::tree() {
  enum : char { kNew, kOnPath, kDone };
  std::vector<char> state(scene_.bodies.size(), kNew);
  std::vector<int> path;
  weld_root_.assign(scene_.bodies.size(), kWorldBody);
  for (int start = 0; start < static_cast<int>(scene_.bodies.size()); ++start) {
    path.clear();
    int b = start;
    while (b != kWorldBody && state[b] == kNew) {
      state[b] = kOnPath;
      path.push_back(b);
      b = joint_of_body_[b] < 0 ? kWorldBody : scene_.joints[joint_of_body_[b]].parent;
    }
    if (b != kWorldBody && state[b] == kOnPath) {
      fail(item_name("joints", static_cast<std::size_t>(joint_of_body_[b])), "parent",
           "closes a cycle in the joint tree through body " + std::to_string(b));
      return;
    }
    for (; !path.empty(); path.pop_back()) {
      const int child = path.back();
      const int j = joint_of_body_[child];
      const bool fixed = j >= 0 && scene_.joints[j].kind == JointKind::kFixed;
      const int parent = j < 0 ? kWorldBody : scene_.joints[j].parent;
      weld_root_[child] = !fixed ? child : (parent == kWorldBody ? kWorldBody : weld_root_[parent]);
      state[child] = kDone;
    }
  }
}

// A body alone must be able to move by itself; of several welded together, merge_welds checks the sum's inertia.
void Checker::welds() {
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

void Checker::shapes() {
  std::unordered_set<std::string> names;
  for (std::size_t s = 0; s < scene_.shapes.size() && ok(); ++s) {
    const ShapeSpec& shape = scene_.shapes[s];
    const std::string item = item_name("shapes", s);
    name(item, shape.name, names);
    index(item, "body", shape.body, kWorldBody, scene_.bodies.size());
    pose(item, "X_BS", shape.X_BS);
    reals(item, "size", shape.size);
    static constexpr int kSizes[] = {0, 1, 2, 3};  // plane, sphere, capsule, box
    for (int i = 0; i < kSizes[static_cast<int>(shape.kind)]; ++i) {
      at_least(item, ("size[" + std::to_string(i) + "]").c_str(), shape.size[i], kMinLength);
    }
    at_least(item, "friction", shape.friction, 0);
    if (shape.contact_dimension != 1 && shape.contact_dimension != 3) {
      fail(item, "contact_dimension", "must be 1 or 3; it is " + std::to_string(shape.contact_dimension));
    }
    if (ok() && shape.kind == ShapeKind::kPlane && shape.body != kWorldBody && weld_root_[shape.body] != kWorldBody) {
      fail(item, "body", "of a plane must be the world or welded to it; it is " + std::to_string(shape.body));
    }
  }
}

void Checker::actuators() {
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < scene_.actuators.size() && ok(); ++i) {
    const ActuatorSpec& actuator = scene_.actuators[i];
    const std::string item = item_name("actuators", i);
    name(item, actuator.name, names);
    index(item, "joint", actuator.joint, 0, scene_.joints.size());
    if (!ok()) return;
    const JointSpec& joint = scene_.joints[static_cast<std::size_t>(actuator.joint)];
    if (joint.kind != JointKind::kAxes) {
      fail(item, "joint", "must have hinges or slides; it is " + std::to_string(actuator.joint));
    }
    index(item, "axis", actuator.axis, 0, joint.axes.size());
    real(item, "gear", actuator.gear);
    at_least(item, "kp", actuator.kp, 0);
    at_least(item, "kd", actuator.kd, 0);
    real(item, "control_lower", actuator.control_lower);
    real(item, "control_upper", actuator.control_upper);
    if (actuator.control_limited) range(item, "control_lower", actuator.control_lower, actuator.control_upper);
  }
}

void Checker::excludes() {
  for (std::size_t i = 0; i < scene_.excludes.size() && ok(); ++i) {
    const std::string item = item_name("excludes", i);
    index(item, "body_a", scene_.excludes[i].body_a, kWorldBody, scene_.bodies.size());
    index(item, "body_b", scene_.excludes[i].body_b, kWorldBody, scene_.bodies.size());
    if (scene_.excludes[i].body_a == scene_.excludes[i].body_b) {
      fail(item, "body_b", "must be another body than body_a; both are " + std::to_string(scene_.excludes[i].body_a));
    }
  }
}

void Checker::keyframes() {
  std::size_t position_count = 0, velocity_count = 0;
  for (const JointSpec& joint : scene_.joints) {
    const std::size_t axes = joint.axes.size();
    position_count += joint.kind == JointKind::kFree ? 7 : (joint.kind == JointKind::kBall ? 4 : axes);
    velocity_count += joint.kind == JointKind::kFree ? 6 : (joint.kind == JointKind::kBall ? 3 : axes);
  }
  std::unordered_set<std::string> names;
  for (std::size_t k = 0; k < scene_.keyframes.size() && ok(); ++k) {
    const KeyframeSpec& key = scene_.keyframes[k];
    const std::string item = item_name("keyframes", k);
    name(item, key.name, names);
    real(item, "time", key.time);
    if (key.joint_position.size() != position_count) {
      fail(item, "joint_position",
           "must have " + std::to_string(position_count) + " numbers; it has " +
               std::to_string(key.joint_position.size()));
    }
    if (!key.joint_velocity.empty() && key.joint_velocity.size() != velocity_count) {
      fail(item, "joint_velocity",
           "must be empty or have " + std::to_string(velocity_count) + " numbers; it has " +
               std::to_string(key.joint_velocity.size()));
    }
    for (double v : key.joint_position) real(item, "joint_position", v);
    for (double v : key.joint_velocity) real(item, "joint_velocity", v);
    if (ok()) keyframe_quaternions(item, key);
  }
}

void Checker::keyframe_quaternions(const std::string& item, const KeyframeSpec& key) {
  std::size_t start = 0;
  for (const JointSpec& joint : scene_.joints) {
    if (joint.kind == JointKind::kFree || joint.kind == JointKind::kBall) {
      const std::size_t w = joint.kind == JointKind::kFree ? start + 3 : start;
      double norm_sq = 0;
      for (std::size_t i = w; i < w + 4; ++i) norm_sq += key.joint_position[i] * key.joint_position[i];
      if (norm_sq < 1e-12) {
        fail(item, "joint_position",
             "has a zero quaternion for joint \"" + joint.name + "\" at index " + std::to_string(w) + "; its norm is " +
                 to_text(std::sqrt(norm_sq)));
      }
      start = w + 4;
    } else {
      start += joint.axes.size();
    }
  }
}

// Each stage relies on those before it: indices before the tree, the tree before shapes and welds.
Status Checker::run() {
  void (Checker::*const stages[])() = {&Checker::counts,   &Checker::world,    &Checker::bodies, &Checker::joints,
                                       &Checker::tree,     &Checker::welds,    &Checker::shapes, &Checker::actuators,
                                       &Checker::excludes, &Checker::keyframes};
  for (auto stage : stages) {
    (this->*stage)();
    if (!ok()) return *error_;
  }
  return {};
}

}  // namespace

Status validate_scene(const SceneSpec& scene) { return Checker(scene).run(); }

}  // namespace axion::model
