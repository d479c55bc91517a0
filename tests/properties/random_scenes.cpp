#include "tests/properties/random_scenes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "engine/model/spec_math.hpp"

namespace axion::testing {
namespace {

using model::to_quat;
using model::to_spec;
using model::to_vec3;

class Drawer {
 public:
  Drawer(std::uint32_t seed, Forces forces) : random_(seed), forces_(forces) {}

  RandomScene run() {
    const double steps[] = {1e-3, 5e-3, 1e-2, 2e-2};
    out_.dt = steps[integer(0, 3)];
    if (forces_ == Forces::kInternal) out_.scene.gravity = {0, 0, 0};
    const int count = integer(2, 8);
    for (int b = 0; b < count; ++b) add_body(b);
    for (int b = 0; b < count; ++b) add_joint(b);
    model::ShapeSpec ground;
    ground.name = "ground", ground.kind = model::ShapeKind::kPlane, ground.friction = real(0, 1);
    if (forces_ == Forces::kAll) out_.scene.shapes.push_back(ground);
    return std::move(out_);
  }

 private:
  double real(double lower, double upper) { return std::uniform_real_distribution<double>(lower, upper)(random_); }
  int integer(int lower, int upper) { return std::uniform_int_distribution<int>(lower, upper)(random_); }
  bool chance(double p) { return real(0, 1) < p; }
  model::Vec3d vector(double size) { return {real(-size, size), real(-size, size), real(-size, size)}; }
  model::Vec3d direction() {
    const math::Vec3<double> a = to_vec3(vector(1)) + math::Vec3<double>{0, 0, 1e-3};
    return to_spec(math::normalized(a));
  }
  model::Quatd rotation() {
    const math::Quat<double> q{real(0.1, 1), real(-1, 1), real(-1, 1), real(-1, 1)};
    return to_spec(math::normalized(q));
  }

  // On a grid of 0.5 m, low enough to meet the ground soon.
  void add_body(int b) {
    model::BodySpec body;
    body.name = "body" + std::to_string(b);
    body.mass = std::pow(10.0, real(-1, 1));
    body.X_WB.position = {0.5 * (b % 3) + real(-0.05, 0.05), 0.5 * (b / 3) + real(-0.05, 0.05), real(0.3, 0.5)};
    body.X_WB.rotation = rotation();
    const double x = real(0.05, 0.15), y = real(0.05, 0.15), z = real(0.05, 0.15), m = body.mass / 3;
    body.I_Bcm = {m * (y * y + z * z), m * (x * x + z * z), m * (x * x + y * y), 0, 0, 0};
    out_.scene.bodies.push_back(body);
    const bool internal = forces_ == Forces::kInternal;  // towards each other, or down to the ground
    model::Vec3d v = vector(1);
    if (internal) v[0] += 2 - 2 * (b % 3), v[1] += 1 - 2 * (b / 3);
    if (!internal) v[2] -= 2;
    out_.v.push_back(v);
    out_.omega.push_back(vector(4));

    model::ShapeSpec shape;
    shape.name = "shape" + std::to_string(b), shape.body = b;
    const model::ShapeKind kinds[] = {model::ShapeKind::kSphere, model::ShapeKind::kCapsule, model::ShapeKind::kBox};
    shape.kind = kinds[integer(0, 2)];
    shape.size = {x, y, z};
    if (shape.kind == model::ShapeKind::kCapsule) shape.size = {x, y, 0};
    if (shape.kind == model::ShapeKind::kSphere) shape.size = {x, 0, 0};
    shape.friction = real(0, 1);
    out_.scene.shapes.push_back(shape);
  }

  // Joins body b to an earlier neighbour, to the world, or to nothing.
  void add_joint(int b) {
    model::JointSpec joint;
    joint.name = "joint" + std::to_string(b), joint.child = b;
    if (b > 0 && chance(0.6)) {
      joint.parent = b % 3 > 0 ? b - 1 : b - 3;
    } else if (forces_ == Forces::kInternal || chance(0.7)) {
      return;
    }
    joint.kind = chance(0.25) ? model::JointKind::kBall : model::JointKind::kAxes;
    joint.anchor = vector(0.2);
    if (joint.kind == model::JointKind::kBall) {
      joint.ball_damping = chance(0.5) ? real(0, 0.1) : 0;
    } else {
      add_axes(joint);
    }
    out_.scene.joints.push_back(joint);
  }

  void add_axes(model::JointSpec& joint) {
    const int hinges = integer(1, 2);
    if (chance(0.3)) joint.axes.push_back(axis(joint, model::AxisKind::kSlide));
    for (int k = 0; k < hinges; ++k) joint.axes.push_back(axis(joint, model::AxisKind::kHinge));
    if (hinges == 2) {  // at right angles: parallel hinges are refused
      auto& a = joint.axes[joint.axes.size() - 2].axis;
      auto& c = joint.axes.back().axis;
      c = to_spec(
          math::cross(to_vec3(a), std::abs(a[0]) < 0.7 ? math::Vec3<double>{1, 0, 0} : math::Vec3<double>{0, 1, 0}));
      joint.axes.back().anchor = joint.axes[joint.axes.size() - 2].anchor;
    }
  }

  model::AxisSpec axis(const model::JointSpec& joint, model::AxisKind kind) {
    model::AxisSpec axis;
    axis.name = joint.name + "axis" + std::to_string(joint.axes.size());
    axis.kind = kind, axis.axis = direction(), axis.anchor = joint.anchor;
    if (chance(0.3)) axis.armature = real(0, 0.1);
    if (chance(0.3)) axis.damping = real(0, 1);
    if (chance(0.3)) axis.stiffness = real(0, 20);
    if (chance(0.2)) axis.friction_loss = real(0, 0.5);
    if (chance(0.3)) axis.limited = true, axis.lower = real(-0.3, -0.01), axis.upper = real(0.01, 0.3);
    if (chance(0.4)) add_actuator(static_cast<int>(joint.axes.size()));
    return axis;
  }

  void add_actuator(int axis) {
    model::ActuatorSpec actuator;
    actuator.name = "actuator" + std::to_string(out_.scene.actuators.size());
    const model::ActuatorKind kinds[] = {model::ActuatorKind::kMotor, model::ActuatorKind::kPosition,
                                         model::ActuatorKind::kVelocity};
    actuator.kind = kinds[integer(0, 2)];
    actuator.joint = static_cast<int>(out_.scene.joints.size()), actuator.axis = axis;
    actuator.kp = real(1, 100), actuator.kd = real(0.1, 5);
    if (chance(0.5)) actuator.effort_limited = true, actuator.effort_lower = -1, actuator.effort_upper = real(0.5, 2);
    out_.control.push_back(real(-1, 1));
    out_.scene.actuators.push_back(actuator);
  }

  std::mt19937 random_;
  Forces forces_;
  RandomScene out_;
};

}  // namespace

RandomScene draw_scene(std::uint32_t seed, Forces forces) { return Drawer(seed, forces).run(); }

RandomScene place_elsewhere(const RandomScene& from, const model::Quatd& q, const model::Vec3d& p) {
  const math::Quat<double> turn = math::normalized(to_quat(q));
  const auto rotated = [&](const model::Vec3d& a) { return to_spec(math::rotate(turn, to_vec3(a))); };
  const auto place = [&](model::PoseSpec& X) {
    X.position = to_spec(math::rotate(turn, to_vec3(X.position)) + to_vec3(p));
    X.rotation = to_spec(math::normalized(turn * to_quat(X.rotation)));
  };
  RandomScene to = from;
  to.scene.gravity = rotated(from.scene.gravity);
  for (model::BodySpec& body : to.scene.bodies) place(body.X_WB);
  for (model::ShapeSpec& shape : to.scene.shapes) {
    if (shape.body == model::kWorldBody) place(shape.X_BS);
  }
  for (std::size_t b = 0; b < to.v.size(); ++b) {
    to.v[b] = rotated(from.v[b]), to.omega[b] = rotated(from.omega[b]);
  }
  return to;
}

RandomScene renumber(const RandomScene& from, std::uint32_t seed, std::vector<int>& body_place) {
  std::mt19937 random(seed);
  const auto shuffled = [&](std::size_t count) {  // [new] -> old
    std::vector<int> order(count);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return order;
  };
  RandomScene to = from;
  const std::vector<int> bodies = shuffled(from.scene.bodies.size());
  body_place.assign(bodies.size(), 0);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    body_place[bodies[i]] = static_cast<int>(i);
    to.scene.bodies[i] = from.scene.bodies[bodies[i]];
    to.v[i] = from.v[bodies[i]], to.omega[i] = from.omega[bodies[i]];
  }
  const auto moved = [&](int body) { return body == model::kWorldBody ? body : body_place[body]; };
  const std::vector<int> shapes = shuffled(from.scene.shapes.size()), joints = shuffled(from.scene.joints.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    to.scene.shapes[i] = from.scene.shapes[shapes[i]];
    to.scene.shapes[i].body = moved(to.scene.shapes[i].body);
  }
  std::vector<int> joint_place(joints.size());
  for (std::size_t i = 0; i < joints.size(); ++i) {
    joint_place[joints[i]] = static_cast<int>(i);
    to.scene.joints[i] = from.scene.joints[joints[i]];
    to.scene.joints[i].parent = moved(to.scene.joints[i].parent);
    to.scene.joints[i].child = moved(to.scene.joints[i].child);
  }
  for (model::ActuatorSpec& actuator : to.scene.actuators) actuator.joint = joint_place[actuator.joint];
  return to;
}

}  // namespace axion::testing
