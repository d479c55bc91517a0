// Small scenes for the tests of engine/model.
#pragma once

#include <string>

#include "engine/model/scene_spec.hpp"

namespace axion::model::testing {

inline BodySpec body(const std::string& name, Vec3d position, double mass = 1.0) {
  BodySpec b;
  b.name = name;
  b.X_WB.position = position;
  b.mass = mass;
  b.I_Bcm = {0.4 * mass, 0.5 * mass, 0.6 * mass, 0, 0, 0};
  return b;
}

inline AxisSpec axis(const std::string& name, AxisKind kind, Vec3d direction) {
  AxisSpec a;
  a.name = name;
  a.kind = kind;
  a.axis = direction;
  return a;
}

inline JointSpec joint(const std::string& name, JointKind kind, int parent, int child) {
  JointSpec j;
  j.name = name;
  j.kind = kind;
  j.parent = parent;
  j.child = child;
  return j;
}

inline ShapeSpec sphere(const std::string& name, int body, Vec3d position = {0, 0, 0}, double radius = 0.1) {
  ShapeSpec s;
  s.name = name;
  s.body = body;
  s.X_BS.position = position;
  s.size = {radius, 0, 0};
  return s;
}

// A free torso (0) with an arm (1) on a hinge, a hand (2) welded to the arm, a finger (3) on a slide of the hand, and
// a post (4) welded to the world with a flag (5) on a hinge of it; a plane on the post.
inline SceneSpec robot() {
  SceneSpec scene;
  scene.name = "robot";
  scene.bodies = {body("torso", {0, 0, 1}, 10), body("arm", {0.5, 0, 1}, 2),  body("hand", {1, 0, 1}, 1),
                  body("finger", {1, 0, 0.9}),  body("post", {3, 0, 0.5}, 7), body("flag", {3, 0, 1})};
  scene.bodies[2].X_WB.rotation = {0.5, 0.5, 0.5, 0.5};
  scene.bodies[2].p_BoBcm = {0.1, 0, 0};
  scene.joints = {joint("root", JointKind::kFree, kWorldBody, 0), joint("shoulder", JointKind::kAxes, 0, 1),
                  joint("wrist", JointKind::kFixed, 1, 2),        joint("grip", JointKind::kAxes, 2, 3),
                  joint("foundation", JointKind::kFixed, -1, 4),  joint("hoist", JointKind::kAxes, 4, 5)};
  scene.joints[1].axes = {axis("shoulder", AxisKind::kHinge, {0, 1, 0})};
  scene.joints[3].axes = {axis("grip", AxisKind::kSlide, {0, 0, 1})};
  scene.joints[5].axes = {axis("hoist", AxisKind::kHinge, {0, 0, 1})};
  scene.shapes = {sphere("torso", 0), sphere("palm", 2, {0.2, 0, 0}), sphere("flag", 5)};
  ShapeSpec plane;
  plane.name = "top";
  plane.kind = ShapeKind::kPlane;
  plane.body = 4;
  plane.X_BS.position = {0, 0, 0.5};
  scene.shapes.push_back(plane);
  ActuatorSpec motor;
  motor.name = "grip";
  motor.joint = 3;
  scene.actuators = {motor};
  scene.excludes = {{0, 2}, {1, 2}, {4, 5}};
  scene.keyframes = {{"home", 0, {0, 0, 1, 1, 0, 0, 0, 0.1, 0.2, 0.3}, {}}};
  return scene;
}

// A crank (0) and a rocker (2) on the ground, a coupler (1) on the crank, and a hinge that closes the loop to the
// rocker. All hinges turn about y; the bars are 1 m long.
inline SceneSpec four_bar() {
  SceneSpec scene;
  scene.name = "four-bar";
  scene.bodies = {body("crank", {0, 0, 0}), body("coupler", {0, 0, 1}), body("rocker", {1, 0, 0})};
  scene.joints = {joint("crank", JointKind::kAxes, kWorldBody, 0), joint("coupler", JointKind::kAxes, 0, 1),
                  joint("rocker", JointKind::kAxes, kWorldBody, 2), joint("closure", JointKind::kAxes, 1, 2)};
  for (JointSpec& j : scene.joints) j.axes = {axis(j.name, AxisKind::kHinge, {0, 1, 0})};
  scene.joints[3].axes[0].anchor = {0, 0, 1};  // in the rocker
  return scene;
}

}  // namespace axion::model::testing
