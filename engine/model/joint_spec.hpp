// The joints of a scene (scene_spec.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "engine/model/spec_field.hpp"
#include "engine/model/spec_types.hpp"

namespace axion::model {

enum class AxisKind : std::uint8_t { kHinge, kSlide };

// One degree of freedom of a joint; everything that acts along its coordinate s.
struct AxisSpec {
  std::string name;
  AxisKind kind = AxisKind::kHinge;
  Vec3d axis{0, 0, 1};            // child body frame, reference configuration; compile() normalises it
  Vec3d anchor{0, 0, 0};          // m, child body frame: a point on a hinge's axis (ignored for a slide)
  double reference = 0.0;         // value of s in the reference configuration (rad or m)
  double initial_position = 0.0;  // s at the initial state (rad or m)
  double armature = 0.0;          // a >= 0, kg m^2 or kg
  double damping = 0.0;           // d >= 0, N m s/rad or N s/m
  double stiffness = 0.0;         // k >= 0, N m/rad or N/m
  double spring_reference = 0.0;  // s_0
  double friction_loss = 0.0;     // greatest dry friction >= 0, N m or N
  // Where dry friction at rest is greater, N m or N, it falls from there to friction_loss by Stribeck's curve, half of
  // the way at this rate, rad/s or m/s.
  double static_friction = 0.0;
  double stribeck_velocity = 0.01;
  bool limited = false;
  double lower = 0.0;  // limits of s, lower < upper, used when `limited`
  double upper = 0.0;
  SoftnessSpec limit_softness{};
  SoftnessSpec friction_softness{};  // of its dry friction, which has no margin
  ForceRangeSpec motors{};           // of all motors along the axis together
};
template <>
inline constexpr auto kFieldsOf<AxisSpec> = std::tuple{
    SpecField{"name", &AxisSpec::name, {.hash = kNever}},
    SpecField{"kind", &AxisSpec::kind, {.hash = kAlways}},
    SpecField{"axis", &AxisSpec::axis, {.hash = kAlways}},
    SpecField{"anchor", &AxisSpec::anchor, {.hash = kAlways, .parameter = Parameter::kAxisAnchor}},
    SpecField{"reference", &AxisSpec::reference, {.hash = kAlways}},
    SpecField{"initial_position", &AxisSpec::initial_position, {.hash = kAlways}},
    SpecField{"armature",
              &AxisSpec::armature,
              {.least = 0, .hash = kAlways, .acts_along = true, .parameter = Parameter::kAxisArmature}},
    SpecField{"damping",
              &AxisSpec::damping,
              {.least = 0, .hash = kAlways, .acts_along = true, .parameter = Parameter::kAxisDamping}},
    SpecField{"stiffness",
              &AxisSpec::stiffness,
              {.least = 0, .hash = kAlways, .acts_along = true, .parameter = Parameter::kAxisStiffness}},
    SpecField{"spring_reference",
              &AxisSpec::spring_reference,
              {.hash = kAlways, .parameter = Parameter::kAxisSpringReference}},
    SpecField{"friction_loss",
              &AxisSpec::friction_loss,
              {.least = 0, .hash = kAlways, .acts_along = true, .parameter = Parameter::kAxisFrictionLoss}},
    SpecField{"static_friction", &AxisSpec::static_friction, {.least = 0, .acts_along = true}},
    SpecField{"stribeck_velocity", &AxisSpec::stribeck_velocity, {.least = 1e-6, .is_omitted = true}},
    SpecField{"limited", &AxisSpec::limited, {.hash = kAlways}},
    SpecField{
        "lower", &AxisSpec::lower, {.hash = kAlways, .parameter = Parameter::kAxisLower}, where(&AxisSpec::limited)},
    SpecField{
        "upper", &AxisSpec::upper, {.hash = kAlways, .parameter = Parameter::kAxisUpper}, where(&AxisSpec::limited)},
    SpecField{"limit_softness", &AxisSpec::limit_softness, {.hash = 20, .is_omitted = true}},
    SpecField{"friction_softness", &AxisSpec::friction_softness, {.hash = 35, .is_omitted = true}},
    SpecField{"motors", &AxisSpec::motors, {.hash = 27, .is_omitted = true}},
};

enum class JointKind : std::uint8_t {
  kFree,   // six degrees of freedom, no rows; the parent must be the world
  kFixed,  // welds the child to its parent: compile() makes them one body, unless it closes a loop or is compliant
  kBall,   // three rotations about `anchor`
  kAxes,   // zero to three hinges and slides in a chain, in the order given; slides come before hinges
};

struct JointSpec {
  std::string name;
  JointKind kind = JointKind::kFree;
  int parent = kWorldBody;  // index into SceneSpec::bodies, or kWorldBody
  // A body of no joint is free. Of several joints with one child the first carries it; the others close loops, as does
  // a joint whose parent hangs on its child. Nothing acts along a loop joint's axes and they have no coordinates:
  // drives, springs, limits, friction and armature belong on the joints of the tree.
  int child = 0;
  Vec3d anchor{0, 0, 0};       // m, child body frame: centre of a ball, point where a fixed joint holds
  double ball_damping = 0.0;   // N m s/rad, ball only
  double ball_armature = 0.0;  // kg m^2, ball only
  // N m/rad, ball only: the spring that turns the child back to the reference configuration, about the axis and in
  // proportion to the angle of the turn from there.
  double ball_stiffness = 0.0;
  // Ball only: that angle is at most ball_upper, rad, above 0; such a ball has no armature.
  bool ball_limited = false;
  double ball_upper = 0.0;
  SoftnessSpec ball_limit_softness{};
  // Spring and damper of the locked directions, N/m and N s/m (N m/rad and N m s/rad for rotations). Stiffness 0 is
  // rigid.
  double lock_stiffness = 0.0;
  double lock_damping = 0.0;
  // Drag on the child of a free joint: the force -d v at the origin of the body frame, the torque -d omega; d >= 0, N
  // s/m and N m s.
  double free_damping = 0.0;
  // Springs of a free joint: of its body frame's origin to where that is in the reference configuration, N/m, and of
  // its orientation likewise, as ball_stiffness, N m/rad.
  double free_stiffness = 0.0;
  // Of a joint that closes a loop: whether it holds the child at X_PC in its parent, not as the reference configuration
  // has it.
  bool holds_pose = false;
  PoseSpec X_PC;  // of a ball the rotation has no meaning
  // Of a joint that closes a loop, in batches whose contacts are soft (impedance.hpp): whether its locks give way as
  // `softness` says, without a margin, and what a rotation weighs beside a metre, MuJoCo's torquescale, above 0.
  bool is_soft = false;
  SoftnessSpec softness{};
  double turn_weight = 1.0;
  std::vector<AxisSpec> axes;  // kAxes only
  // What the locks may carry, beside which the field break_ratio says what they carried; nothing breaks by itself. N of
  // those of translations, N m of those of rotations; 0: any. A fixed joint of the tree with either stays a joint.
  double break_force = 0.0, break_torque = 0.0;
};
template <>
inline constexpr auto kFieldsOf<JointSpec> = std::tuple{
    SpecField{"name", &JointSpec::name, {.hash = kNever}},
    SpecField{"kind", &JointSpec::kind, {.hash = kAlways}},
    SpecField{"parent", &JointSpec::parent, {.hash = kAlways}},
    SpecField{"child", &JointSpec::child, {.hash = kAlways}},
    SpecField{"anchor", &JointSpec::anchor, {.hash = kAlways}},
    SpecField{"ball_damping", &JointSpec::ball_damping, {.least = 0, .hash = kAlways, .acts_along = true}},
    SpecField{"ball_armature", &JointSpec::ball_armature, {.least = 0, .hash = kAlways, .acts_along = true}},
    SpecField{"lock_stiffness", &JointSpec::lock_stiffness, {.least = 0, .hash = kAlways}},
    SpecField{"lock_damping", &JointSpec::lock_damping, {.least = 0, .hash = kAlways}},
    SpecField{"free_damping", &JointSpec::free_damping, {.least = 0, .hash = 2}},
    SpecField{"ball_stiffness", &JointSpec::ball_stiffness, {.least = 0, .hash = 22}},
    SpecField{"free_stiffness", &JointSpec::free_stiffness, {.least = 0, .hash = 23}},
    SpecField{"ball_upper", &JointSpec::ball_upper, {.hash = 24}, where_given(&JointSpec::ball_limited)},
    SpecField{"ball_limit_softness", &JointSpec::ball_limit_softness, {.hash = 25}, where(&JointSpec::ball_limited)},
    SpecField{"X_PC", &JointSpec::X_PC, {.hash = 3, .wire = "held_pose"}, where_given(&JointSpec::holds_pose)},
    SpecField{"lock_softness", &JointSpec::softness, {.hash = 29}, where_given(&JointSpec::is_soft)},
    SpecField{"turn_weight", &JointSpec::turn_weight, {.least = 1e-6, .hash = kAlways}, where(&JointSpec::is_soft)},
    SpecField{"break_force", &JointSpec::break_force, {.least = 0, .hash = 33}},
    SpecField{"break_torque", &JointSpec::break_torque, {.least = 0, .hash = 34}},
    SpecField{"axes", &JointSpec::axes, {.hash = kAlways}},
};

}  // namespace axion::model
