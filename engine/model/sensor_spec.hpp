// The sensors of a scene (scene_spec.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "engine/model/shape_kind.hpp"
#include "engine/model/spec_field.hpp"
#include "engine/model/spec_types.hpp"

namespace axion::model {

// Readings are MuJoCo's of the same name; docs/sensors.md says what each is.
enum class SensorKind : std::uint8_t {
  kTouch,                     // N: normal forces of the contacts of the frame's body within the zone
  kAccelerometer,             // m/s^2, frame axes: acceleration of the frame's origin less gravity
  kVelocimeter,               // m/s, frame axes
  kGyro,                      // rad/s, frame axes
  kForce,                     // N, frame axes: what the parent exerts on the frame's body, through a joint or a weld
  kTorque,                    // N m, frame axes: likewise, about the frame's origin
  kMagnetometer,              // frame axes: SceneSpec::magnetic_field
  kRangefinder,               // m: along z of the frame to the first shape of another body; -1: none
  kJointPosition,             // rad or m
  kJointVelocity,             // rad/s or m/s
  kJointActuatorForce,        // N m or N: of all actuators of the axis
  kJointLimitPosition,        // rad or m, beyond the nearer limit (negative); 0 within the limits
  kJointLimitVelocity,        // rad/s or m/s away from it; 0 within the limits
  kJointLimitForce,           // N m or N, >= 0
  kBallQuaternion,            // of a ball
  kBallAngularVelocity,       // rad/s, of a ball, child body frame
  kActuatorPosition,          // gear s
  kActuatorVelocity,          // gear ds/dt
  kActuatorForce,             // N m or N, before gear
  kFramePosition,             // m; in the reference frame, as all readings of a frame
  kFrameQuaternion,           // w x y z
  kFrameXAxis,                //
  kFrameYAxis,                //
  kFrameZAxis,                //
  kFrameLinearVelocity,       // m/s
  kFrameAngularVelocity,      // rad/s
  kFrameLinearAcceleration,   // m/s^2, world axes, less gravity
  kFrameAngularAcceleration,  // rad/s^2, world axes
  kSubtreeCentre,             // m: centre of mass of the frame's body and all that hangs on it
  kSubtreeLinearVelocity,     // m/s
  kSubtreeAngularMomentum,    // kg m^2/s, about that centre
  kPotentialEnergy,           // J: of gravity and of springs
  kKineticEnergy,             // J, with armature
  kClock,                     // s
  kUser,                      // `dimension` zeros
  kTendonPosition,            // s of a tendon
  kTendonVelocity,            // ds/dt
  kTendonActuatorForce,       // of all actuators of the tendon, times their gears
  kTendonLimitPosition,       // as those of joints
  kTendonLimitVelocity,       //
  kTendonLimitForce,          //
  kContact,                   // of the contacts between two sides (ContactSensorSpec)
  kDistance,                  // m: least distance of the shapes of two sides, negative: depth; at most the cutoff
  kNormal,                    // world axes: unit, from the nearest point of the first side to that of the second
  kFromTo,                    // m, world: these points, of the first side, then of the second
  kInsideSite,                // 1 where the frame's origin is within the zone, which is in the reference frame, else 0
  kCameraProjection,          // pixels: where the frame's origin is in the image of a camera (ImageSpec)
};
inline constexpr int kSensorKindCount = static_cast<int>(SensorKind::kCameraProjection) + 1;

// How a cutoff bounds a reading: to ±cutoff, from above alone, or not at all.
enum class CutoffRule : std::uint8_t { kReal, kPositive, kNone };

enum class ContactSideKind : std::uint8_t {
  kAny,      // every shape
  kShape,    // one shape
  kBody,     // shapes of one body, as it was given; kWorldBody: those fixed in the world
  kSubtree,  // of a body and all that hangs on it
  kZone,     // every shape, where the contact is within the sensor's zone
};

struct ContactSideSpec {
  ContactSideKind kind = ContactSideKind::kAny;
  int index = -1;  // into SceneSpec::shapes, where -1 is none at all, or SceneSpec::bodies
};

// Which of the contacts have their readings in the slots, and in which order.
enum class ContactReduction : std::uint8_t {
  kNone,      // the first, in the order of the contacts
  kMinDist,   // the deepest
  kMaxForce,  // those with the greatest force
  kNetForce,  // one slot: force and torque of all together, about their centre, in world axes
};

// Numbers of a slot, in this order.
enum class ContactDatum : std::uint8_t {
  kFound,    // how many contacts there are in all; 0 in a slot without one
  kForce,    // N, that the first side exerts on the second, along the normal and two tangents
  kTorque,   // N m, zero but of a net force
  kDist,     // m, negative where shapes overlap
  kPos,      // m, world: half way between the surfaces
  kNormal,   // world: out of the first side into the second
  kTangent,  // world: the first of the tangents
};
inline constexpr int kContactDatumSizes[] = {1, 3, 3, 1, 3, 3, 3};
inline constexpr int kContactDatumCount = 7;

// Contacts that push or overlap, between the first side and the second. Where a shape could be of either, the one that
// the scene lists first is the first side's.
struct ContactSensorSpec {
  ContactSideSpec first, second;  // the second is not kZone
  ContactReduction reduction = ContactReduction::kNone;
  int slots = 1;          // 1 to kMaxContactSlots
  std::uint8_t data = 1;  // bit k: ContactDatum k
};

// How a camera that looks along −z of its frame, y up, makes pixels of a point (x, y, z) in it:
//   centre_x − focal_x x/z to the right, centre_y + focal_y y/z down, from the image's upper left corner.
struct ImageSpec {
  double focal_x = 1, focal_y = 1;        // pixels, above 0
  double centre_x = 0.5, centre_y = 0.5;  // pixels

  bool operator==(const ImageSpec&) const = default;
};
template <>
inline constexpr auto kFieldsOf<ImageSpec> = std::tuple{
    SpecField{"focal_x", &ImageSpec::focal_x, {.hash = kAlways}},
    SpecField{"focal_y", &ImageSpec::focal_y, {.hash = kAlways}},
    SpecField{"centre_x", &ImageSpec::centre_x, {.hash = kAlways}},
    SpecField{"centre_y", &ImageSpec::centre_y, {.hash = kAlways}},
};

struct SensorSpec {
  std::string name;
  SensorKind kind = SensorKind::kClock;
  FrameSpec frame;             // of the kinds that have one; of a subtree its body alone
  bool has_reference = false;  // positions, axes and velocities of a frame are those in `reference`, not in the world
                               // kInsideSite, kCameraProjection: true, the zone's frame, and the camera's
  FrameSpec reference;
  int joint = -1;  // joint kinds: index into SceneSpec::joints
  int axis = 0;    // and into its axes
  int actuator = -1;
  int tendon = -1;  // tendon kinds: index into SceneSpec::tendons
  // kTouch, kZone: sphere, capsule, box, cylinder or ellipsoid, in the frame; kInsideSite: in the reference frame.
  ShapeKind zone = ShapeKind::kSphere;
  Vec3d zone_size{0, 0, 0};  // m, as ShapeSpec::size
  int dimension = 1;         // kUser
  double scale = 1.0;        // the reading is this times the quantity
  // Above 0: real readings lie within ±cutoff, those that are not negative at most at it; directions are as they are.
  double cutoff = 0.0;
  double noise = 0.0;         // standard deviation that a client may add; readings are without noise
  ContactSensorSpec contact;  // kContact; of kDistance, kNormal and kFromTo the sides, each a shape or a body
  ImageSpec image;            // kCameraProjection
};
template <>
inline constexpr auto kFieldsOf<SensorSpec> = std::tuple{
    SpecField{"name", &SensorSpec::name, {.hash = kNever}},
    SpecField{"frame", &SensorSpec::frame, {.hash = kNever}},
    SpecField{"reference", &SensorSpec::reference, {.hash = kNever}, where_given(&SensorSpec::has_reference)},
    SpecField{"kind", &SensorSpec::kind, {.hash = kAlways}},
    SpecField{"has_reference", &SensorSpec::has_reference, {.hash = kAlways, .wire = kInNoMessage}},
    SpecField{"joint", &SensorSpec::joint, {.hash = kAlways}},
    SpecField{"axis", &SensorSpec::axis, {.hash = kAlways}},
    SpecField{"actuator", &SensorSpec::actuator, {.hash = kAlways}},
    SpecField{"zone", &SensorSpec::zone, {.hash = kAlways, .wire = kInNoMessage}},
    SpecField{"zone_size", &SensorSpec::zone_size, {.is_checked = false, .hash = kAlways}},
    SpecField{"dimension", &SensorSpec::dimension, {.hash = kAlways}},
    SpecField{"scale", &SensorSpec::scale, {.hash = kAlways}},
    SpecField{"cutoff", &SensorSpec::cutoff, {.least = 0, .hash = kAlways}},
    SpecField{"noise", &SensorSpec::noise, {.least = 0, .hash = kNever}},
    SpecField{"tendon", &SensorSpec::tendon, {.hash = 16}},
    SpecField{"image", &SensorSpec::image, {.hash = kNever}},
};

}  // namespace axion::model
