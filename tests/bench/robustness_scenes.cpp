#include "tests/bench/robustness_scenes.hpp"

#include <cmath>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "engine/import/mjcf.hpp"
#include "tests/bench/bench_options.hpp"
#include "tests/support/scenes.hpp"

namespace axion::bench {
namespace {

using model::SceneSpec;
using testing::solid_box;

constexpr double kWheelRadius = 0.36, kSpeed = 2.0, kStepHeight = 0.16, kStepStart = 1.5;

model::ShapeSpec plane(const std::string& name, model::Vec3d at, model::Quatd rotation) {
  model::ShapeSpec shape;
  shape.name = name, shape.kind = model::ShapeKind::kPlane, shape.friction = 0.5;
  shape.X_BS = {at, rotation};
  return shape;
}

// A hundred spheres of 0.1 m and 1 kg fall into a square of 0.6 m half side between planes.
SceneSpec sphere_pile(int episode) {
  SceneSpec scene;
  const double s = std::sqrt(0.5), wall = 0.6;
  scene.shapes = {plane("floor", {0, 0, 0}, {1, 0, 0, 0}), plane("west", {-wall, 0, 0}, {s, 0, s, 0}),
                  plane("east", {wall, 0, 0}, {s, 0, -s, 0}), plane("south", {0, -wall, 0}, {s, -s, 0, 0}),
                  plane("north", {0, wall, 0}, {s, s, 0, 0})};
  for (int i = 0; i < 100; ++i) {
    const auto shift = [&](int k) { return 0.015 * noise(1, episode, i, k); };
    model::BodySpec body;
    body.name = "sphere" + std::to_string(i), body.mass = 1, body.I_Bcm = {0.004, 0.004, 0.004, 0, 0, 0};
    body.X_WB.position = {0.24 * (i % 5 - 2) + shift(0), 0.24 * (i / 5 % 5 - 2) + shift(1), 0.15 + 0.27 * (i / 25)};
    scene.bodies.push_back(body);
    model::ShapeSpec shape;
    shape.name = body.name, shape.body = i, shape.size = {0.1, 0, 0}, shape.friction = 0.5;
    scene.shapes.push_back(shape);
  }
  return scene;
}

// Crank, coupler and rocker of 0.3, 1.1 and 0.8 m between pivots 1 m apart; the rocker's pivot closes the loop.
SceneSpec four_bar() {
  SceneSpec scene;
  const model::Vec3d p0{0, 0, 0}, p1{0, 0, 0.3}, p2{1, 0, 0.8}, p3{1, 0, 0};
  const auto add_link = [&](const std::string& name, const model::Vec3d& a, const model::Vec3d& b) {
    const double dx = b[0] - a[0], dz = b[2] - a[2], length = std::hypot(dx, dz);
    model::BodySpec body = solid_box(name, 1, {length / 2, 0.03, 0.03}, {(a[0] + b[0]) / 2, 0, (a[2] + b[2]) / 2});
    const double angle = std::atan2(-dz, dx);  // about y, from x to the link
    body.X_WB.rotation = {std::cos(angle / 2), 0, std::sin(angle / 2), 0};
    scene.bodies.push_back(body);
    return length;
  };
  const double crank = add_link("crank", p0, p1), coupler = add_link("coupler", p1, p2);
  const double rocker = add_link("rocker", p3, p2);
  const auto add_hinge = [&](const std::string& name, int parent, int child, double anchor) {
    model::JointSpec joint;
    joint.name = name, joint.kind = model::JointKind::kAxes, joint.parent = parent, joint.child = child;
    joint.axes = {testing::hinge(name + "_axis", {0, 1, 0}, {anchor, 0, 0})};
    scene.joints.push_back(joint);
  };
  add_hinge("ground_crank", model::kWorldBody, 0, -crank / 2);
  add_hinge("crank_coupler", 0, 1, -coupler / 2);
  add_hinge("coupler_rocker", 1, 2, rocker / 2);
  add_hinge("ground_rocker", model::kWorldBody, 2, -rocker / 2);
  return scene;
}

// 120 kg on four driven wheels of 0.36 m in front of a step 0.16 m high. Wheels meet the ground alone, as their tyres
// do.
SceneSpec wheeled_robot(int episode) {
  SceneSpec scene;
  const double back = 0.2 + 0.2 * noise(2, episode, 0, 0);
  scene.bodies = {solid_box("chassis", 120, {0.45, 0.3, 0.15}, {-back, 0, kWheelRadius + 0.05})};
  model::ShapeSpec ground = testing::ground_plane(0.8);
  model::ShapeSpec step = testing::box_shape("step", model::kWorldBody, {50, 50, kStepHeight / 2}, 0.8);
  step.X_BS.position = {kStepStart + 50, 0, kStepHeight / 2};
  scene.shapes = {ground, step};
  for (int i = 0; i < 4; ++i) {
    const double x = i < 2 ? 0.45 : -0.45, y = i % 2 == 0 ? 0.4 : -0.4, m = 5.5, width = 0.06;
    model::BodySpec wheel;
    wheel.name = "wheel" + std::to_string(i), wheel.mass = m, wheel.X_WB.position = {x - back, y, kWheelRadius};
    const double spin = m * kWheelRadius * kWheelRadius / 2, turn = spin / 2 + m * width * width / 3;
    wheel.I_Bcm = {turn, spin, turn, 0, 0, 0};
    scene.bodies.push_back(wheel);
    model::ShapeSpec tyre;
    tyre.name = wheel.name, tyre.kind = model::ShapeKind::kCapsule, tyre.body = i + 1, tyre.friction = 0.8;
    tyre.size = {kWheelRadius, width, 0}, tyre.X_BS.rotation = {std::sqrt(0.5), std::sqrt(0.5), 0, 0};
    tyre.contact_type = 0, tyre.contact_affinity = 1;
    scene.shapes.push_back(tyre);
    model::JointSpec joint;
    joint.name = "axle" + std::to_string(i), joint.kind = model::JointKind::kAxes, joint.parent = 0,
    joint.child = i + 1;
    joint.axes = {testing::hinge(joint.name + "_axis", {0, 1, 0}, {0, 0, 0})};
    scene.joints.push_back(joint);
    model::ActuatorSpec drive;
    drive.name = "drive" + std::to_string(i), drive.kind = model::ActuatorKind::kVelocity, drive.joint = i,
    drive.kd = 100;
    scene.actuators.push_back(drive);
  }
  return scene;
}

SceneSpec from_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("'" + path + "' cannot be read");
  auto imported = import::import_mjcf(std::string{std::istreambuf_iterator<char>(file), {}});
  if (!imported.ok()) throw std::runtime_error(path + ": " + imported.error().field + ": " + imported.error().message);
  return imported.value().scene;
}

}  // namespace

const std::vector<RobustnessScene>& robustness_scenes() {
  static const std::vector<RobustnessScene> scenes{
      {"humanoid", "humanoid.xml", 20, 0.1, false},
      {"ant", "ant.xml", 20, 0.1, false},
      {"hopper", "hopper.xml", 20, 0.1, false},
      {"walker2d", "walker2d.xml", 20, 0.1, false},
      {"half_cheetah", "half_cheetah.xml", 20, 0.1, false},
      {"ten_boxes", "", 20, 0, true},
      {"stack_1_1000", "", 20, 0, true},
      {"chain_1000_1", "", 20, 0, true},
      {"four_bar", "", 20, 0, true},
      {"sphere_pile", "", 20, 0, true},
      {"robot_straight", "", 6, 0, false},
      {"robot_skid", "", 6, 0, false},
  };
  return scenes;
}

SceneSpec build_scene(const RobustnessScene& scene, const std::string& models, int episode) {
  if (!scene.model.empty()) return from_file(models + "/" + scene.model);
  if (scene.name == "ten_boxes") return testing::box_stack(10, 1);
  if (scene.name == "stack_1_1000") return testing::box_stack(2, 1000);
  if (scene.name == "chain_1000_1") return testing::pendulum_chain(10, 1000);
  if (scene.name == "four_bar") return four_bar();
  if (scene.name == "sphere_pile") return sphere_pile(episode);
  return wheeled_robot(episode);
}

std::vector<double> constant_controls(const RobustnessScene& scene, const SceneSpec& spec, int episode) {
  std::vector<double> controls(spec.actuators.size(), 0.0);
  if (scene.name.rfind("robot_", 0) != 0) return controls;
  constexpr double kSteer[] = {0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4};
  const double steer = scene.name == "robot_skid" ? kSteer[episode % 7] : 0.0;
  for (std::size_t i = 0; i < controls.size(); ++i) {
    controls[i] = kSpeed / kWheelRadius * (1 + (i % 2 == 0 ? -steer : steer));
  }
  return controls;
}

}  // namespace axion::bench
