// The tendons and equalities of a scene (scene_spec.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/spec_types.hpp"

namespace axion::model {

// One joint coordinate of a tendon.
struct TendonTermSpec {
  int joint = 0;  // index into SceneSpec::joints; must be kAxes and on the tree
  int axis = 0;   // index into that joint's axes
  double coefficient = 1.0;
};

// A point of a tendon's path through space: a site that it passes, an object that it may wrap about, between two sites,
// or a pulley. A slider with its site, or a wrench, is a branch of its own that is no string.
enum class TendonPointKind : std::uint8_t { kSite, kSphere, kCylinder, kPulley, kSlider, kWrench };
struct TendonPointSpec {
  TendonPointKind kind = TendonPointKind::kSite;
  FrameSpec frame;  // kSite: its origin; kSphere: its centre; kCylinder: its axis, along z, without ends
  // m, kSphere, kCylinder; kSlider: length of the rod from a point of the frame's z axis to the site that comes next.
  // The path's length is where on that axis the rod's end is, the nearer one of two.
  double radius = 0.0;
  // kSphere, kCylinder: the path passes on the side of this point; where it is within the object, through that.
  // kWrench: where the frame is as `side` sees it, weighted by `gear`: its position (m) and its rotation vector (rad),
  // in the axes of `side`. Tension is a force and a torque on the frame by `gear`, in these axes. Without a side they
  // are the frame's own, and the length is always 0.
  bool has_side = false;
  FrameSpec side;
  std::array<double, 6> gear{};
  double divisor =
      1.0;  // kPulley: > 0; what follows, up to the next pulley, is a branch of its own that counts 1/divisor
};

// A tendon, its length s, and everything that acts along it. Either terms: a weighted sum of joint coordinates, s = Σ
// coefficient s_k, of a gear train, a differential, a cable over pulleys of constant radius. Or a path: the length in
// metres of a string through space. Units are those of s.
struct TendonSpec {
  std::string name;
  std::vector<TendonTermSpec> terms;
  std::vector<TendonPointSpec> path;
  double armature = 0.0;          // a >= 0
  double damping = 0.0;           // d >= 0
  double stiffness = 0.0;         // k >= 0
  double spring_reference = 0.0;  // s at which the spring rests,
  double spring_slack = 0.0;      // >= 0: and up to this much beyond
  double friction_loss = 0.0;     // greatest dry friction >= 0
  bool limited = false;
  double lower = 0.0;  // limits of s, lower < upper, used when `limited`
  double upper = 0.0;
  SoftnessSpec limit_softness{}, friction_softness{};
  ForceRangeSpec motors{};  // of all motors along the tendon together
};

// A coordinate: of a joint's axis, or the length of a tendon.
struct CoordinateSpec {
  int tendon = -1;  // index into SceneSpec::tendons, or -1 for the axis of a joint
  int joint = 0;    // index into SceneSpec::joints; must be kAxes and on the tree
  int axis = 0;
};

// Holds one coordinate at a polynomial of another, first = Σ polynomial[i] second^i, or at polynomial[0] alone.
// Coordinates are as the field joint_position has them.
struct EqualitySpec {
  std::string name;
  CoordinateSpec first;
  bool has_second = false;
  CoordinateSpec second;
  std::array<double, 5> polynomial{0, 0, 0, 0, 0};
  // Spring and damper of what it holds, per unit of `first`. Stiffness 0 is rigid.
  double stiffness = 0.0;
  double damping = 0.0;
  bool is_soft = false;  // whether, in batches whose contacts are soft, it gives way as `softness` says
  SoftnessSpec softness{};
};

}  // namespace axion::model
