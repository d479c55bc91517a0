// Scenes of few lines for tests of the engine.
#pragma once

#include <cmath>
#include <string>

#include "engine/model/scene_spec.hpp"

namespace axion::testing {

inline model::BodySpec solid_box(const std::string& name, double mass, model::Vec3d half, model::Vec3d position) {
  model::BodySpec body;
  body.name = name, body.mass = mass, body.X_WB.position = position;
  const double x = half[0] * half[0], y = half[1] * half[1], z = half[2] * half[2];
  body.I_Bcm = {mass * (y + z) / 3, mass * (x + z) / 3, mass * (x + y) / 3, 0, 0, 0};
  return body;
}

inline model::ShapeSpec ground_plane(double friction) {
  model::ShapeSpec plane;
  plane.name = "ground", plane.kind = model::ShapeKind::kPlane, plane.friction = friction;
  return plane;
}

inline model::ShapeSpec box_shape(const std::string& name, int body, model::Vec3d half, double friction) {
  model::ShapeSpec shape;
  shape.name = name, shape.kind = model::ShapeKind::kBox, shape.body = body, shape.size = half;
  shape.friction = friction;
  return shape;
}

// A cube of half side 0.1 m and 1 kg at rest on a plane.
inline model::SceneSpec cube_on_plane(double friction) {
  model::SceneSpec scene;
  scene.bodies = {solid_box("cube", 1, {0.1, 0.1, 0.1}, {0, 0, 0.1})};
  scene.shapes = {ground_plane(friction), box_shape("cube", 0, {0.1, 0.1, 0.1}, friction)};
  return scene;
}

inline model::ShapeSpec sphere_shape(const std::string& name, int body, double radius, double friction) {
  model::ShapeSpec shape;
  shape.name = name, shape.kind = model::ShapeKind::kSphere, shape.body = body, shape.size = {radius, 0, 0};
  shape.friction = friction;
  return shape;
}

// A solid sphere of 1 kg at rest on a plane.
inline model::SceneSpec sphere_on_plane(double radius, double friction) {
  model::SceneSpec scene;
  scene.bodies = {solid_box("sphere", 1, {radius, radius, radius}, {0, 0, radius})};
  const double I = 0.4 * radius * radius;
  scene.bodies[0].I_Bcm = {I, I, I, 0, 0, 0};
  scene.shapes = {ground_plane(friction), sphere_shape("sphere", 0, radius, friction)};
  return scene;
}

// Boxes of half side 0.1 m one on another; the last weighs `top_mass`, the others 1 kg.
inline model::SceneSpec box_stack(int count, double top_mass) {
  model::SceneSpec scene;
  scene.shapes = {ground_plane(0.5)};
  for (int i = 0; i < count; ++i) {
    const std::string name = "box" + std::to_string(i);
    scene.bodies.push_back(solid_box(name, i == count - 1 ? top_mass : 1.0, {0.1, 0.1, 0.1},
                                     {0.002 * (i % 2), 0.003 * (i % 3), 0.1 + 0.2 * i}));
    scene.shapes.push_back(box_shape(name, i, {0.1, 0.1, 0.1}, 0.5));
  }
  return scene;
}

// Balls of radius 0.1 m and boxes in turns, 1 to 2 kg each, in layers of nine above a plane, each layer pressed a
// millimetre into the one below and turned against it, so that all slip and roll.
inline model::SceneSpec heap(int count, double friction) {
  model::SceneSpec scene;
  scene.shapes = {ground_plane(friction)};
  for (int i = 0; i < count; ++i) {
    const int layer = i / 9;
    const double x = 0.199 * (i % 3 - 1), y = 0.199 * (i / 3 % 3 - 1), turn = 0.2 * layer;
    const std::string name = "body" + std::to_string(i);
    scene.bodies.push_back(solid_box(
        name, 1 + 0.5 * (i % 3), {0.1, 0.1, 0.1},
        {std::cos(turn) * x - std::sin(turn) * y, std::sin(turn) * x + std::cos(turn) * y, 0.099 + 0.199 * layer}));
    scene.shapes.push_back(i % 2 == 0 ? sphere_shape(name, i, 0.1, friction)
                                      : box_shape(name, i, {0.1, 0.1, 0.1}, friction));
  }
  return scene;
}

inline model::AxisSpec hinge(const std::string& name, model::Vec3d axis, model::Vec3d anchor) {
  model::AxisSpec a;
  a.name = name, a.kind = model::AxisKind::kHinge, a.axis = axis, a.anchor = anchor;
  return a;
}

inline model::AxisSpec slide(const std::string& name, model::Vec3d axis) {
  model::AxisSpec a;
  a.name = name, a.kind = model::AxisKind::kSlide, a.axis = axis;
  return a;
}

// A cart on a slide along x, where no gravity acts, with a motor.
inline model::SceneSpec cart_on_rail(double mass, double friction_loss = 0) {
  model::SceneSpec scene;
  scene.bodies = {solid_box("cart", mass, {0.1, 0.1, 0.1}, {0, 0, 0})};
  model::JointSpec joint;
  joint.name = "rail", joint.kind = model::JointKind::kAxes, joint.parent = model::kWorldBody, joint.child = 0;
  joint.axes = {slide("rail", {1, 0, 0})};
  joint.axes[0].friction_loss = friction_loss;
  scene.joints = {joint};
  model::ActuatorSpec motor;
  motor.name = "motor";
  scene.actuators = {motor};
  return scene;
}

// Horizontal chain of rods of length 1 m along x, hinged about y, the first to the world at the origin.
inline model::SceneSpec pendulum_chain(int count, double last_mass = 1.0) {
  model::SceneSpec scene;
  for (int i = 0; i < count; ++i) {
    const std::string name = "rod" + std::to_string(i);
    const double mass = i == count - 1 ? last_mass : 1.0;
    scene.bodies.push_back(solid_box(name, mass, {0.5, 0.05, 0.05}, {0.5 + i, 0, 0}));
    model::JointSpec joint;
    joint.name = "joint" + std::to_string(i), joint.kind = model::JointKind::kAxes;
    joint.parent = i - 1, joint.child = i;
    joint.axes = {hinge("hinge" + std::to_string(i), {0, 1, 0}, {-0.5, 0, 0})};
    scene.joints.push_back(joint);
  }
  return scene;
}

// Two bodies joined by one joint of the given axes; the first hangs from nothing.
inline model::SceneSpec two_bodies(std::vector<model::AxisSpec> axes, model::JointKind kind = model::JointKind::kAxes) {
  model::SceneSpec scene;
  scene.bodies = {solid_box("parent", 2, {0.2, 0.1, 0.15}, {0.3, -0.2, 1}),
                  solid_box("child", 1, {0.1, 0.25, 0.05}, {0.7, 0.1, 1.2})};
  scene.bodies[0].X_WB.rotation = {0.9, 0.1, -0.3, 0.2};
  scene.bodies[1].X_WB.rotation = {0.8, -0.2, 0.4, 0.1};
  scene.bodies[1].p_BoBcm = {0.02, -0.01, 0.03};
  model::JointSpec joint;
  joint.name = "joint", joint.kind = kind, joint.parent = 0, joint.child = 1, joint.axes = std::move(axes);
  joint.anchor = {-0.1, 0.05, 0.02};
  scene.joints = {joint};
  return scene;
}

}  // namespace axion::testing
