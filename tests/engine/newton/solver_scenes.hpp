// Scenes that hold every kind of row and every shape of graph that the linear solvers meet.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/support/scenes.hpp"

namespace axion::testing {

inline model::JointSpec hinge_joint(const std::string& name, int parent, int child, model::Vec3d axis,
                                    model::Vec3d anchor) {
  model::JointSpec joint;
  joint.name = name, joint.kind = model::JointKind::kAxes, joint.parent = parent, joint.child = child;
  joint.axes = {hinge(name + "_axis", axis, anchor)};
  return joint;
}

inline model::JointSpec ball_joint(const std::string& name, int parent, int child, model::Vec3d anchor) {
  model::JointSpec joint;
  joint.name = name, joint.kind = model::JointKind::kBall, joint.parent = parent, joint.child = child;
  joint.anchor = anchor;
  return joint;
}

// A tree of five bodies over a plane with a loose box that touches two of them: branches, limits, contacts with the
// world and between bodies; springs, dampers, dry friction and drives with and without effort limits.
inline model::SceneSpec mixed_scene() {
  model::SceneSpec scene;
  scene.shapes = {ground_plane(0.6)};
  const model::Vec3d half{0.1, 0.1, 0.1};
  const model::Vec3d at[6] = {{0, 0, 0.099},   {0.25, 0, 0.15}, {0.5, 0.02, 0.099},
                              {-0.25, 0, 0.3}, {-0.5, 0, 0.4},  {0.25, 0.03, 0.348}};
  for (int i = 0; i < 6; ++i) {
    const std::string name = "body" + std::to_string(i);
    scene.bodies.push_back(solid_box(name, 1.0 + 0.3 * i, half, at[i]));
    scene.shapes.push_back(box_shape(name, i, half, 0.6));
  }
  const int parent[5] = {-1, 0, 1, 0, 3};
  for (int i = 1; i < 5; ++i) {
    model::JointSpec joint =
        hinge_joint("joint" + std::to_string(i), parent[i], i, {0, 1, 0.2 * i}, {i < 3 ? -0.12 : 0.12, 0, 0});
    joint.axes[0].damping = 0.1 * (i % 2), joint.axes[0].armature = i == 3 ? 0.01 : 0;
    joint.axes[0].limited = i < 3, joint.axes[0].lower = -0.001, joint.axes[0].upper = 1;
    joint.axes[0].friction_loss = i == 4 ? 0.3 : 0;
    scene.joints.push_back(joint);
  }
  for (int i = 0; i < 3; ++i) {
    model::ActuatorSpec actuator;
    actuator.name = "drive" + std::to_string(i), actuator.joint = i + 1;
    actuator.kind = i == 2 ? model::ActuatorKind::kVelocity : model::ActuatorKind::kPosition;
    actuator.kp = i == 2 ? 0 : 20, actuator.kd = 0.5;
    actuator.effort_limited = i > 0, actuator.effort_lower = -0.5, actuator.effort_upper = i == 1 ? 100 : 0.7;
    scene.actuators.push_back(actuator);
  }
  return scene;
}

// The mixed scene with `count` strings between its bodies, by three at a time, and as many springs over two joints.
inline model::SceneSpec strung_scene(int count, bool limited) {
  model::SceneSpec scene = mixed_scene();
  for (int i = 0; i < count; ++i) {
    model::TendonSpec string, gear;
    string.name = "string" + std::to_string(i), gear.name = "gear" + std::to_string(i);
    for (const int k : {0, 1, 2}) {
      model::TendonPointSpec point;
      point.frame.body = (i + 2 * k) % 6;
      point.frame.X_BF.position = {0.03 * k - 0.02 * (i % 3), 0.05 - 0.02 * (i % 5), 0.1};
      string.path.push_back(point);
    }
    string.stiffness = 100 + 40 * i, string.damping = i % 2 == 0 ? 3 : 0, string.spring_reference = 0.3;
    gear.terms = {{i % 4, 0, 1.0}, {(i + 1) % 4, 0, -0.5 - 0.1 * i}};
    gear.stiffness = 5 + i, gear.armature = 0.01 * (i % 2);
    for (model::TendonSpec* tendon : {&string, &gear}) {
      tendon->limited = limited, tendon->lower = -100, tendon->upper = 100;
      scene.tendons.push_back(*tendon);
    }
  }
  return scene;
}

// Crank, coupler and rocker between two hinges of the world, all about y: three of the closing joint's five rows depend
// on the others.
inline model::SceneSpec four_bar() {
  model::SceneSpec scene;
  scene.bodies = {solid_box("crank", 1, {0.1, 0.02, 0.02}, {0.1, 0, 1}),
                  solid_box("coupler", 2, {0.25, 0.02, 0.02}, {0.45, 0, 1}),
                  solid_box("rocker", 1.5, {0.02, 0.02, 0.2}, {0.7, 0, 0.8})};
  scene.joints = {
      hinge_joint("crank", -1, 0, {0, 1, 0}, {-0.1, 0, 0}), hinge_joint("coupler", 0, 1, {0, 1, 0}, {-0.25, 0, 0}),
      hinge_joint("rocker", 1, 2, {0, 1, 0}, {0, 0, 0.2}), hinge_joint("closing", -1, 2, {0, 1, 0}, {0, 0, -0.2})};
  return scene;
}

// A free ring of bars joined by ball joints, above a plane; the last joint closes it. With `chord` a bar across too.
inline model::SceneSpec ring_of_bars(int count, bool chord) {
  model::SceneSpec scene;
  scene.shapes = {ground_plane(0.5)};
  const double pi = 3.14159265358979323846, apothem = 0.2 / std::tan(pi / count);
  for (int i = 0; i < count; ++i) {
    const double angle = 2 * pi * i / count;
    const std::string name = "bar" + std::to_string(i);
    model::BodySpec bar =
        solid_box(name, 1 + 0.1 * i, {0.2, 0.03, 0.03}, {apothem * std::sin(angle), -apothem * std::cos(angle), 0.029});
    bar.X_WB.rotation = {std::cos(angle / 2), 0, 0, std::sin(angle / 2)};
    scene.bodies.push_back(bar);
    scene.shapes.push_back(box_shape(name, i, {0.17, 0.03, 0.03}, 0.5));
    if (i > 0) scene.joints.push_back(ball_joint("pin" + std::to_string(i), i - 1, i, {-0.2, 0, 0}));
  }
  scene.joints.push_back(ball_joint("closing", count - 1, 0, {-0.2, 0, 0}));
  if (!chord) return scene;
  const int opposite = count / 2;
  model::BodySpec bar = solid_box("chord", 1, {0.03, apothem - 0.05, 0.03}, {0, 0, 0.2});
  scene.bodies.push_back(bar);
  scene.joints.push_back(ball_joint("chord0", 0, count, {0, -apothem, -0.17}));
  scene.joints.push_back(ball_joint("chord1", opposite, count, {0, apothem, -0.17}));
  return scene;
}

// Spheres of radius 5 cm in a block of the given spacing above a plane, between four walls.
inline model::SceneSpec sphere_pile(int side, int layers, double spacing) {
  model::SceneSpec scene;
  scene.shapes = {ground_plane(0.5)};
  const double width = side * (spacing / 2);
  for (int k = 0; k < 4; ++k) {
    const double angle = 1.5707963267948966 * k;
    model::ShapeSpec wall = ground_plane(0.5);
    wall.name = "wall" + std::to_string(k);
    wall.X_BS.position = {-width * std::cos(angle), -width * std::sin(angle), 0};
    const double half = std::sqrt(0.5);  // turns +z to the inside
    wall.X_BS.rotation = {half, -half * std::sin(angle), half * std::cos(angle), 0};
    scene.shapes.push_back(wall);
  }
  std::mt19937 random(1);
  std::uniform_real_distribution<double> jitter(-0.002, 0.002);
  for (int i = 0; i < side * side * layers; ++i) {
    const int x = i % side, y = i / side % side, z = i / side / side;
    const std::string name = "sphere" + std::to_string(i);
    model::BodySpec body = solid_box(name, 0.5, {0.05, 0.05, 0.05},
                                     {spacing * (x - 0.5 * (side - 1)) + jitter(random),
                                      spacing * (y - 0.5 * (side - 1)) + jitter(random), 0.06 + spacing * z});
    const double I = 0.4 * 0.5 * 0.05 * 0.05;
    body.I_Bcm = {I, I, I, 0, 0, 0};
    scene.bodies.push_back(body);
    scene.shapes.push_back(sphere_shape(name, i, 0.05, 0.5));
  }
  return scene;
}

// A joint of the tree, or one that closes a loop, between two bodies.
struct NamedJoint {
  std::string name;
  model::SceneSpec scene;
};

// Every number of slides and hinges that a joint can have, balls and compliant welds; each rigid and soft, in the tree
// and closing a loop next to a ball.
inline std::vector<NamedJoint> joints_of_every_kind() {
  using model::JointKind;
  const model::AxisSpec slides[3] = {slide("s0", {1, 0.2, 0}), slide("s1", {0, 1, 0.3}), slide("s2", {0.1, 0, 1})};
  const model::AxisSpec hinges[3] = {hinge("h0", {0, 1, 0.1}, {-0.1, 0.05, 0}),
                                     hinge("h1", {1, 0, 0.2}, {-0.05, 0, 0.1}),
                                     hinge("h2", {0.1, 0.2, 1}, {0, 0.1, 0})};
  std::vector<NamedJoint> joints;
  for (int kind = -2; kind < 16; ++kind) {
    const int slide_count = kind / 4, hinge_count = kind % 4;
    if (kind == 0 || (kind > 0 && slide_count + hinge_count > 3)) continue;  // a weld is -1; a joint has three axes
    std::vector<model::AxisSpec> axes;
    for (int k = 0; kind > 0 && k < slide_count; ++k) axes.push_back(slides[k]);
    for (int k = 0; kind > 0 && k < hinge_count; ++k) axes.push_back(hinges[k]);
    if (kind > 0) axes[0].damping = 0.3, axes[0].stiffness = 5, axes[0].armature = 0.02;
    const JointKind joint_kind = kind == -2 ? JointKind::kBall : kind == -1 ? JointKind::kFixed : JointKind::kAxes;
    const std::string name = kind == -2 ? "Ball"
                             : kind == -1
                                 ? "Weld"
                                 : "Slides" + std::to_string(slide_count) + "Hinges" + std::to_string(hinge_count);
    for (const bool soft : {false, true}) {
      if (kind == -1 && !soft) continue;  // a rigid weld of the tree makes one body of two
      model::SceneSpec scene = two_bodies(axes, joint_kind);
      if (soft) scene.joints[0].lock_stiffness = 400, scene.joints[0].lock_damping = 3;
      joints.push_back({name + (soft ? "Soft" : "Rigid"), scene});
      for (auto& axis : scene.joints[0].axes) axis.damping = axis.stiffness = axis.armature = 0;
      scene.joints.insert(scene.joints.begin(), ball_joint("carrier", 0, 1, {0.1, 0.1, 0.1}));
      joints.push_back({name + (soft ? "Soft" : "Rigid") + "Loop", scene});
    }
  }
  return joints;
}

}  // namespace axion::testing
