// SceneSpec: a scene as a person or an importer describes it, before it is compiled.
//
// Everything is in SI units, radians and double precision. Quaternions are (w, x, y, z). Frames follow the monogram
// notation: X_WB is the pose of body frame B in the world W, p_BoBcm the centre of mass measured from B's origin.
// The poses given here are those of the *reference configuration*, in which every joint axis reads its `reference`.
// `compile` (model/compile.hpp) validates a SceneSpec and turns it into an immutable Model.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "engine/math/constants.hpp"
#include "engine/model/actuator_spec.hpp"
#include "engine/model/impedance.hpp"
#include "engine/model/shape_kind.hpp"
#include "engine/model/spec_types.hpp"

namespace axion::model {

// How a contact or a limit gives way in batches whose contacts are soft (impedance.hpp): MuJoCo's numbers.
struct SoftnessSpec {
  std::array<double, 2> solref{0.02, 1.0};  // both above 0: time constant in s, damping ratio; or none is
  std::array<double, 5> solimp{0.9, 0.95, 0.001, 0.5, 2.0};
  double margin = 0.0;  // m or rad: the gap from which on it pushes

  bool operator==(const SoftnessSpec&) const = default;
};

struct ShapeSpec {
  std::string name;
  ShapeKind kind = ShapeKind::kSphere;
  int body = kWorldBody;  // index into SceneSpec::bodies, or kWorldBody
  PoseSpec X_BS;          // shape frame in its body's frame; a plane's normal is +z, a capsule's or cylinder's axis z
  // m. Sphere: radius; capsule, cylinder: radius, half length; box: half extents; ellipsoid: semi-axes; plane, mesh,
  // height field: unused.
  Vec3d size{0, 0, 0};
  std::string mesh;          // kMesh: the name of one of SceneSpec::meshes; the shape is its convex hull
  std::string height_field;  // kHeightField: the name of one of SceneSpec::height_fields; on the world only
  double friction = 1.0;     // sliding coefficient; a pair takes the maximum of its two (MuJoCo's rule)
  double restitution = 0.0;  // 0 .. 1, share of the approach speed given back; a pair takes the maximum of its two
  // Normal spring and damper, in series with those of the other shape. Stiffness 0 is rigid (its damping must be 0).
  double contact_stiffness = 0.0;  // N/m
  double contact_damping = 0.0;    // N s/m
  int contact_dimension = 3;       // 1 frictionless, 3 with friction; a pair takes the maximum of its two
  // A pair whose two differ in this takes friction and contact_dimension of the shape with the greater alone.
  int contact_priority = 0;
  std::uint32_t contact_type = 1;  // a pair may touch if (type_a & affinity_b) || (type_b & affinity_a)
  std::uint32_t contact_affinity = 1;
  SoftnessSpec softness{};
  double softness_mix = 1.0;  // at least 0: weight of `softness` beside that of the other shape
  // 1, 3, 4 or 6: MuJoCo's condim. From 4 on a contact has torsional friction, with 6 rolling friction; a soft pyramid
  // of friction stands on its edges by it. A pair takes the maximum of its two, or that of the greater priority.
  int cone_dimension = 3;
  // m, at least 0: the torque about the normal is at most this times the normal force, and that about axes across it.
  // A pair takes the maximum of its two, or those of the greater priority; none where its contact_dimension is 1.
  double torsional_friction = 0.0;
  double rolling_friction = 0.0;
  // m/s and rad/s, shape frame: its surface moves along it at v + ω × p where p is, as a belt or a turntable does. Only
  // friction feels this, against which it acts; the shape stays in its place.
  Vec3d surface_velocity{0, 0, 0}, surface_angular_velocity{0, 0, 0};
};

// Points whose convex hull is a shape, in the frame of the shape. More vertices than model/convex_hull.hpp allows are
// simplified.
struct MeshSpec {
  std::string name;
  std::vector<Vec3d> vertices;  // m
};

// Terrain: heights over a grid in the frame of the shape, row by row from the least y on, each from the least x on. A
// cell is two triangles, cut from its corner of the least x and y to the opposite one. It is solid down to z = −base.
struct HeightFieldSpec {
  std::string name;
  int columns = 0, rows = 0;      // at least 2 each
  double half_x = 0, half_y = 0;  // m, half of the grid's lengths
  double base = 0;                // m, at least 0 and no less than the deepest height is below zero
  std::vector<float> heights;     // m, [rows * columns]
};

// An ellipsoid of a body on which the fluid acts (MediumSpec, constraints/fluid_ellipsoids.hpp): MuJoCo's fluidshape
// and fluidcoef. Where a body has any, its box of inertia is not acted on. It has no mass and touches nothing.
struct FluidEllipsoidSpec {
  PoseSpec X_BE;                                                     // in the body frame
  Vec3d radii{0, 0, 0};                                              // m, semi-axes along x, y and z of E
  double blunt_drag = 0.5, slender_drag = 0.25, angular_drag = 1.5;  // at least 0
  double kutta_lift = 1.0, magnus_lift = 1.0;
};

struct BodySpec {
  std::string name;
  PoseSpec X_WB;           // body frame in the world, reference configuration
  double mass = 0.0;       // kg. Zero is allowed only if the body is welded to one that has mass
  Vec3d p_BoBcm{0, 0, 0};  // m, body frame
  // Rotational inertia about the centre of mass, in the body frame's axes: xx, yy, zz, xy, xz, yz (kg m^2).
  std::array<double, 6> I_Bcm{0, 0, 0, 0, 0, 0};
  double gravity_compensation = 0.0;  // share of its weight that a force at its centre of mass holds up; 1: all of it
  // A body that clients place, in each world where they want it: it starts at X_WB, never moves by itself and has no
  // velocity, also while it is moved. It is welded to the world, and nothing hangs on it but by welds and loop joints.
  bool is_mocap = false;
  std::vector<FluidEllipsoidSpec> fluid_ellipsoids{};
  bool ignores_medium = false;  // the fluid does not act on it, as on the light bodies between joints of one body
  // A body that stands for something else, whose mass users do not read as its own (read_masses.hpp): for the armature
  // of a joint, or for a part of another, the lender, as it is between joints of one body; -1: it is none.
  bool is_armature = false;
  int lender = -1;
};

// What motors may do together, N m or N, lower < upper; position and velocity drives have bounds of their own.
struct ForceRangeSpec {
  bool limited = false;
  double lower = 0.0, upper = 0.0;
};

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
  bool limited = false;
  double lower = 0.0;  // limits of s, lower < upper, used when `limited`
  double upper = 0.0;
  SoftnessSpec limit_softness{};
  SoftnessSpec friction_softness{};  // of its dry friction, which has no margin
  ForceRangeSpec motors{};           // of all motors along the axis together
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

// The shapes of two bodies do not touch each other; those of what is welded to either do.
struct ContactExcludeSpec {
  int body_a = 0;
  int body_b = 0;
};

// Two shapes that touch each other whatever else is said of them, their bodies' joints and exclusions included, by a
// law of their own.
struct ContactPairSpec {
  int shape_a = 0;  // indices into SceneSpec::shapes, of bodies that are not one
  int shape_b = 0;
  double friction = 1.0;
  int contact_dimension = 3;  // 1 frictionless, 3 with friction
  SoftnessSpec softness{};
  int cone_dimension = 3;           // as ShapeSpec's
  double torsional_friction = 0.0;  // m, as ShapeSpec's
  double rolling_friction = 0.0;    // m
};

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

struct KeyframeSpec {
  std::string name;
  double time = 0.0;
  std::vector<double> joint_position;   // layout of the joint_position field: free 7, ball 4, axis 1, in joint order
  std::vector<double> joint_velocity;   // free 6, ball 3, axis 1; empty means zero
  std::vector<double> control = {};     // in the order of the actuators; empty means zero
  std::vector<double> activation = {};  // of those actuators that have one; empty means zero
  std::vector<double> mocap_pose = {};  // of each mocap body x y z, then w x y z; empty means those of the scene
};

// A fluid that fills the space. It acts on each body as on the box of uniform density that has the body's mass and
// inertia (constraints/fluid_forces.hpp), or on the ellipsoids that the body has in place of it.
struct MediumSpec {
  double density = 0.0;    // kg/m^3, at least 0; air 1.2, water 1000
  double viscosity = 0.0;  // Pa s, at least 0; air 1.8e-5, water 9e-4
  Vec3d wind{0, 0, 0};     // m/s, velocity of the fluid
};

struct SceneSpec {
  std::string name;
  Vec3d gravity{0, 0, -math::kGravity};  // m/s^2
  double timestep = 0.005;               // s, that of a batch which is created without one
  bool filter_parent_child = true;       // bodies joined directly to each other do not collide (never the world)
  std::vector<BodySpec> bodies;
  std::vector<JointSpec> joints;
  std::vector<ShapeSpec> shapes;
  std::vector<MeshSpec> meshes;
  std::vector<ActuatorSpec> actuators;
  std::vector<ContactExcludeSpec> excludes;
  std::vector<KeyframeSpec> keyframes;
  std::vector<ContactPairSpec> contact_pairs;
  Vec3d magnetic_field{0, -0.5, 0};  // what magnetometers read, world frame
  std::vector<SensorSpec> sensors;   // in the order of sensor_data
  MediumSpec medium;
  std::vector<TendonSpec> tendons;
  std::vector<EqualitySpec> equalities;
  std::vector<HeightFieldSpec> height_fields;
  SoftnessRule softness_rule;
};

}  // namespace axion::model
