// The tendons and equalities of a scene (scene_spec.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "engine/model/spec_field.hpp"
#include "engine/model/spec_types.hpp"

namespace axion::model {

// One joint coordinate of a tendon.
struct TendonTermSpec {
  int joint = 0;  // index into SceneSpec::joints; must be kAxes and on the tree
  int axis = 0;   // index into that joint's axes
  double coefficient = 1.0;
};
template <>
inline constexpr auto kFieldsOf<TendonTermSpec> = std::tuple{
    SpecField{"joint", &TendonTermSpec::joint, {.hash = kAlways}},
    SpecField{"axis", &TendonTermSpec::axis, {.hash = kAlways}},
    SpecField{"coefficient", &TendonTermSpec::coefficient, {.hash = kAlways}},
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
template <>
inline constexpr auto kFieldsOf<TendonPointSpec> = std::tuple{
    SpecField{"frame", &TendonPointSpec::frame, {.hash = kAlways}},
    SpecField{"kind", &TendonPointSpec::kind, {.hash = kAlways}},
    SpecField{"radius", &TendonPointSpec::radius, {.is_checked = false, .hash = kAlways}},
    SpecField{"has_side", &TendonPointSpec::has_side, {.hash = kAlways, .wire = kInNoMessage}},
    SpecField{"divisor", &TendonPointSpec::divisor, {.is_checked = false, .hash = kAlways}},
    SpecField{"side", &TendonPointSpec::side, {.hash = kAlways}, where_given(&TendonPointSpec::has_side)},
    SpecField{"gear", &TendonPointSpec::gear, {.is_checked = false, .hash = kNever, .wire = kInNoMessage}},
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
template <>
inline constexpr auto kFieldsOf<TendonSpec> = std::tuple{
    SpecField{"name", &TendonSpec::name, {.hash = kNever}},
    SpecField{"motors", &TendonSpec::motors, {.hash = 27, .is_omitted = true}},
    SpecField{"armature", &TendonSpec::armature, {.least = 0, .hash = kAlways}},
    SpecField{"damping", &TendonSpec::damping, {.least = 0, .hash = kAlways}},
    SpecField{"stiffness", &TendonSpec::stiffness, {.least = 0, .hash = kAlways}},
    SpecField{"spring_reference", &TendonSpec::spring_reference, {.hash = kAlways}},
    SpecField{"friction_loss", &TendonSpec::friction_loss, {.least = 0, .hash = kAlways}},
    SpecField{"limited", &TendonSpec::limited, {.hash = kAlways}},
    SpecField{"lower", &TendonSpec::lower, {.hash = kAlways}, where(&TendonSpec::limited)},
    SpecField{"upper", &TendonSpec::upper, {.hash = kAlways}, where(&TendonSpec::limited)},
    SpecField{"terms", &TendonSpec::terms, {.hash = kAlways}},
    SpecField{"spring_slack", &TendonSpec::spring_slack, {.least = 0, .hash = 14}},
    SpecField{"limit_softness", &TendonSpec::limit_softness, {.hash = 36, .is_omitted = true}},
    SpecField{"friction_softness", &TendonSpec::friction_softness, {.hash = 37, .is_omitted = true}},
    SpecField{"path", &TendonSpec::path, {.hash = 15}},
};

// A coordinate: of a joint's axis, or the length of a tendon.
struct CoordinateSpec {
  int tendon = -1;  // index into SceneSpec::tendons, or -1 for the axis of a joint
  int joint = 0;    // index into SceneSpec::joints; must be kAxes and on the tree
  int axis = 0;

  bool operator==(const CoordinateSpec&) const = default;
};
template <>
inline constexpr auto kFieldsOf<CoordinateSpec> = std::tuple{
    SpecField{"tendon", &CoordinateSpec::tendon, {.hash = kAlways, .is_omitted = true}},
    SpecField{"joint", &CoordinateSpec::joint, {.hash = kNever}},
    SpecField{"axis", &CoordinateSpec::axis, {.hash = kNever}},
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
template <>
inline constexpr auto kFieldsOf<EqualitySpec> = std::tuple{
    SpecField{"name", &EqualitySpec::name, {.hash = kNever}},
    SpecField{"first", &EqualitySpec::first, {.hash = kAlways}},
    SpecField{"has_second", &EqualitySpec::has_second, {.hash = kAlways, .wire = kInNoMessage}},
    SpecField{"polynomial", &EqualitySpec::polynomial, {.hash = kAlways, .wire = kInNoMessage}},
    SpecField{"stiffness", &EqualitySpec::stiffness, {.least = 0, .hash = kAlways}},
    SpecField{"damping", &EqualitySpec::damping, {.least = 0, .hash = kAlways}},
    SpecField{"softness", &EqualitySpec::softness, {.hash = 28}, where_given(&EqualitySpec::is_soft)},
    SpecField{"second", &EqualitySpec::second, {.hash = kAlways}, where_given(&EqualitySpec::has_second)},
};

}  // namespace axion::model
