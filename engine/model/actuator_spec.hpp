// The actuators of a scene (scene_spec.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>

#include "engine/model/spec_field.hpp"
#include "engine/model/spec_types.hpp"

namespace axion::model {

enum class ActuatorKind : std::uint8_t {
  kMotor,     // effort = gear * control
  kPosition,  // effort = gear * (kp (control - gear s) - kd gear ds/dt), implicit
  kVelocity,  // effort = gear * kd (control - gear ds/dt), implicit
  // With l = gear s and l' its rate; implicit where they hold back, as far as their slopes at the start of a step do:
  kAffine,  // effort = gear * ((gain . (1, l, l')) control + bias . (1, l, l'))
  kMuscle,  // effort = gear * -force (FL(l) FV(l') control + FP(l)), with the curves of MuscleSpec
};

// Whether the effort of a kind has slopes that change with the state (constraints/actuator_laws.hpp).
constexpr bool has_curves(ActuatorKind kind) { return kind >= ActuatorKind::kAffine; }

// MuJoCo's muscle. Lengths are in units of L0, at which it is strongest: range_lower at l = length_lower and
// range_upper at length_upper, so that L0 = (length_upper - length_lower) / (range_upper - range_lower).
struct MuscleSpec {
  double range_lower = 0.75, range_upper = 1.05;
  double length_lower = 0.0, length_upper = 1.0;  // l, m or rad
  double force = 0.0;                             // N or N m: greatest active force at rest
  double lmin = 0.5, lmax = 1.6;                  // L0: it is active between them
  double vmax = 1.5;                              // L0/s: shortening at this rate it has no active force
  double fpmax = 1.3;                             // passive force at lmax, in units of `force`
  double fvmax = 1.2;                             // active force at the greatest lengthening, likewise

  bool operator==(const MuscleSpec&) const = default;
};
template <>
inline constexpr auto kFieldsOf<MuscleSpec> = std::tuple{
    SpecField{"range_lower", &MuscleSpec::range_lower, {.is_checked = false, .hash = kAlways}},
    SpecField{"range_upper", &MuscleSpec::range_upper, {.is_checked = false, .hash = kAlways}},
    SpecField{"length_lower", &MuscleSpec::length_lower, {.hash = kAlways}},
    SpecField{"length_upper", &MuscleSpec::length_upper, {.hash = kAlways}},
    SpecField{"force", &MuscleSpec::force, {.least = 0, .hash = kAlways}},
    SpecField{"lmin", &MuscleSpec::lmin, {.least = 0, .hash = kAlways}},
    SpecField{"lmax", &MuscleSpec::lmax, {.least = 0, .hash = kAlways}},
    SpecField{"vmax", &MuscleSpec::vmax, {.least = 0, .hash = kAlways}},
    SpecField{"fpmax", &MuscleSpec::fpmax, {.least = 0, .hash = kAlways}},
    SpecField{"fvmax", &MuscleSpec::fvmax, {.least = 0, .hash = kAlways}},
};

// A state that an actuator's law takes for its control. It follows the clamped control u: w' = u, or w' = (u − w)/time;
// a muscle's w' = (u − w)/tau, u in [0, 1], with tau = time (0.5 + 1.5 w) where it grows, and
// deactivation_time / (0.5 + 1.5 w) where it falls.
enum class ActivationKind : std::uint8_t { kNone, kIntegrator, kFilter, kMuscle };

struct ActuatorSpec {
  std::string name;
  ActuatorKind kind = ActuatorKind::kMotor;
  int joint = 0;  // index into SceneSpec::joints; must be kAxes
  int axis = 0;   // index into that joint's axes
  double gear = 1.0;
  double kp = 0.0;  // kPosition: N m/rad or N/m
  double kd = 0.0;  // kPosition, kVelocity: N m s/rad or N s/m
  // Drives and motors take control_gain * control + control_offset for the control, after it was clamped.
  double control_gain = 1.0;
  double control_offset = 0.0;
  bool control_limited = false;  // clamp the control to [control_lower, control_upper]
  double control_lower = 0.0;
  double control_upper = 0.0;
  bool effort_limited = false;  // clamp the effort before gear to [effort_lower, effort_upper], N m or N
  double effort_lower = 0.0;
  double effort_upper = 0.0;
  int tendon =
      -1;  // index into SceneSpec::tendons, in place of a joint's axis: s is then its length; -1: joint and axis
  // A motor may act at a frame in place of an axis, as a rotor does: with its effort times the force and torque of
  // site_gear, N and N m, in the axes of the frame, and without a reaction. With a reference they are in the axes of
  // that and have their reaction there, and what the two bodies hang on together feels neither.
  bool on_site = false;
  FrameSpec site;
  bool has_site_reference = false;
  FrameSpec site_reference;
  std::array<double, 6> site_gear{0, 0, 0, 0, 0, 0};
  // A motor at a site that also presses the body adhesive_body against what touches it, with its effort: that is shared
  // out evenly to its contacts, along their normals. An index into SceneSpec::bodies, what is welded to it left out.
  bool adheres = false;
  int adhesive_body = 0;
  ActivationKind activation = ActivationKind::kNone;
  double activation_time = 0.0;     // s, kFilter, kMuscle: 0 follows at once, a step later
  bool activation_limited = false;  // holds the activation within [activation_lower, activation_upper]
  double activation_lower = 0.0;
  double activation_upper = 0.0;
  double deactivation_time = 0.0;     // s, kMuscle
  double activation_smoothing = 0.0;  // kMuscle: width of u − w over which one tau passes into the other; 0: at once
  bool activation_early = false;      // a step's effort is that of the activation of its end
  std::array<double, 3> gain{1, 0, 0}, bias{0, 0, 0};  // kAffine
  MuscleSpec muscle;                                   // kMuscle
};
template <>
inline constexpr auto kFieldsOf<ActuatorSpec> = std::tuple{
    SpecField{"name", &ActuatorSpec::name, {.hash = kNever}},
    SpecField{"kind", &ActuatorSpec::kind, {.hash = kAlways}},
    SpecField{"joint", &ActuatorSpec::joint, {.hash = kAlways}},
    SpecField{"axis", &ActuatorSpec::axis, {.hash = kAlways}},
    SpecField{"gear", &ActuatorSpec::gear, {.hash = kAlways, .parameter = Parameter::kActuatorGear}},
    SpecField{"kp", &ActuatorSpec::kp, {.least = 0, .hash = kAlways, .parameter = Parameter::kActuatorKp}},
    SpecField{"kd", &ActuatorSpec::kd, {.least = 0, .hash = kAlways, .parameter = Parameter::kActuatorKd}},
    SpecField{"control_limited", &ActuatorSpec::control_limited, {.hash = kAlways}},
    SpecField{"effort_limited", &ActuatorSpec::effort_limited, {.hash = kAlways}},
    SpecField{"control_gain", &ActuatorSpec::control_gain, {.hash = 4}},
    SpecField{"control_offset", &ActuatorSpec::control_offset, {.hash = 5}},
    SpecField{"tendon", &ActuatorSpec::tendon, {.hash = 11, .is_omitted = true}},
    SpecField{"control_lower", &ActuatorSpec::control_lower, {.hash = kAlways}, where(&ActuatorSpec::control_limited)},
    SpecField{"control_upper", &ActuatorSpec::control_upper, {.hash = kAlways}, where(&ActuatorSpec::control_limited)},
    SpecField{"effort_lower", &ActuatorSpec::effort_lower, {.hash = kAlways}, where(&ActuatorSpec::effort_limited)},
    SpecField{"effort_upper", &ActuatorSpec::effort_upper, {.hash = kAlways}, where(&ActuatorSpec::effort_limited)},
    SpecField{"activation_time", &ActuatorSpec::activation_time, {.is_checked = false, .hash = kNever}},
    SpecField{"activation_limited", &ActuatorSpec::activation_limited, {.hash = kNever}},
    SpecField{"activation_lower", &ActuatorSpec::activation_lower, {.is_checked = false, .hash = kNever}},
    SpecField{"activation_upper", &ActuatorSpec::activation_upper, {.is_checked = false, .hash = kNever}},
    SpecField{"deactivation_time", &ActuatorSpec::deactivation_time, {.is_checked = false, .hash = kNever}},
    SpecField{"activation_smoothing", &ActuatorSpec::activation_smoothing, {.is_checked = false, .hash = kNever}},
    SpecField{"activation_early", &ActuatorSpec::activation_early, {.hash = kNever}},
    SpecField{"gain", &ActuatorSpec::gain, {.hash = kNever, .is_omitted = true}},
    SpecField{"bias", &ActuatorSpec::bias, {.hash = kNever, .is_omitted = true}},
    SpecField{"muscle", &ActuatorSpec::muscle, {.hash = kNever, .is_omitted = true}},
    SpecField{"adhesive_body", &ActuatorSpec::adhesive_body, {.hash = kNever}, where_given(&ActuatorSpec::adheres)},
};

}  // namespace axion::model
