// What a compiled model consists of, as plain structs that a CPU and a GPU read alike.
//
// Internal frames: every body's frame is its *principal inertial frame* (origin at the centre of mass, axes along the
// principal axes of inertia), so that I is diagonal. Bodies are sorted so that a parent comes before its children; the
// order that users see is CompiledModel::external_body. Free joints have no data here: a free body has no rows.
#pragma once

#include <cstdint>

#include "engine/math/quat.hpp"
#include "engine/model/actuator_data.hpp"
#include "engine/model/impedance.hpp"
#include "engine/model/moment_data.hpp"
#include "engine/model/scene_spec.hpp"

namespace axion::model {

template <typename Real>
struct BodyData {
  Real mass;                                         // kg
  math::Vec3<Real> inertia;                          // principal moments, kg m^2
  int joint = -1;                                    // the joint whose child this is, or -1
  int parent = -1;                                   // that joint's parent body, or -1 for the world
  int child_joint_start = 0, child_joint_count = 0;  // range in ModelView::child_joints: joints whose parent this is
  int loop_start = 0, loop_count = 0;                // range in ModelView::body_loops
  int tree_start = 0, tree_size = 1;                 // bodies of its joint tree: they follow each other
  int inverse_start = 0;                             // first 6x6 block of its tree in WorldView::inverse
  Real lent_mass = 0, lent_inertia = 0;  // kg, kg m^2, that Newton's matrix adds in float32 (model/lent_inertia.hpp)
  math::Vec3<Real> p_origin{};           // m, of the frame that the scene gave it, from its centre, principal frame
  bool operator==(const BodyData&) const = default;
};

// What acts on a body besides its weight: constraints/body_forces.hpp. In its principal frame, from its centre of mass.
template <typename Real>
struct BodyForceData {
  Real lift_mass = 0;                              // kg whose weight gravity compensation holds up
  math::Vec3<Real> lift_moment{};                  // kg m, that mass times its centre
  Real drag = 0;                                   // N s/m and N m s, of a free joint
  math::Vec3<Real> p_drag{};                       // m, where the drag's force acts, and the spring's
  int fluid_part_start = 0, fluid_part_count = 0;  // range in ModelView::fluid_parts
  bool has_fluid_ellipsoids = false;               // among these
  int site_use_start = 0, site_use_count = 0;      // range in ModelView::site_uses
  Real stiffness = 0;                              // N/m and N m/rad, of a free joint
  math::Vec3<Real> p_rest{};                       // m, world: where its spring pulls p_drag
  math::Quat<Real> q_rest{};                       // and whither it turns the body
  bool operator==(const BodyForceData&) const = default;
};

// A motor that acts at a site, not along an axis: constraints/motor_forces.hpp. Bodies are internal, -1 the world;
// what is in a body is in its principal frame.
template <typename Real>
struct SiteMotorData {
  int actuator;         // in ModelView::actuators
  int body, reference;  // of the site, and of its reference where it has one
  bool has_reference;
  int common;                       // the last body that both hang on, -1: none
  math::Vec3<Real> p, p_reference;  // m
  math::Quat<Real> q, q_reference;
  math::Vec3<Real> force, torque;  // of a unit of effort, in the axes of the reference, or of the site without one
  bool operator==(const SiteMotorData&) const = default;
};

// A motor that presses a body against what touches it (constraints/adhesion.hpp).
struct AdhesionData {
  int actuator;  // in ModelView::actuators
  int part;      // of the body, as ShapeContactData::part
};

// What a motor at a site does to one body.
enum class SiteRole : std::uint8_t { kSite, kReference, kCommon };
struct SiteUse {
  int motor;  // in ModelView::site_motors
  SiteRole role;
};

// A box that a fluid resists (constraints/fluid_forces.hpp), or an ellipsoid. Frame F is in the body's principal one.
template <typename Real>
struct FluidPartData {
  math::Vec3<Real> p_CF;
  math::Quat<Real> q_CF;
  math::Vec3<Real> drag;          // N s^2/m^2, along each axis of F
  math::Vec3<Real> angular_drag;  // N m s^2, about each axis of F
  Real viscous_drag;              // N s/m
  Real viscous_angular_drag;      // N m s
  // Of an ellipsoid, which has no drag of its own along axes, and angular_drag by the length of that times its rates.
  bool is_ellipsoid;
  math::Vec3<Real> radii;                          // m
  math::Vec3<Real> virtual_mass, virtual_inertia;  // kg, kg m^2: of the fluid that moves along
  Real area_drag, least_drag;                      // N s^2/m^4 of the area that is seen, N s^2/m^2 beside that
  Real kutta, magnus;                              // kg/m^3, kg
  bool operator==(const FluidPartData&) const = default;
};

// Limits of what the locks of a joint may carry (readout/break_ratios.hpp).
template <typename Real>
struct BreakData {
  int joint;                           // internal
  Real inverse_force, inverse_torque;  // 1/N, 1/(N m); 0: no limit
};

// A chain of slides, then hinges, between two bodies; or a ball; or neither, fixed. Equations:
// constraints/joint_rows.hpp. M0 is the child's reference orientation carried by the parent; hinge k turns about axis
// a_k.
template <typename Real>
struct JointData {
  int parent, child;             // internal body indices; parent -1 is the world
  int slide_count, hinge_count;  // hinge_count 3 with is_ball set for a ball
  bool is_ball;
  bool has_cone;   // a ball whose first axis is that of its turn from the reference, and has a limit
  int lock_start;  // first locked row
  int translation_lock_count, rotation_lock_count;
  int axis_start, axis_count;         // in ModelView::axes; a ball has three axes that only carry damping and armature
  Real lock_stiffness, lock_damping;  // of the locked directions; stiffness 0 is rigid
  math::Quat<Real> q_PM0;
  math::Vec3<Real> p_PA;                 // first anchor, parent frame
  math::Vec3<Real> p_CA;                 // last anchor, child frame
  math::Vec3<Real> offset[2];            // from anchor k to anchor k+1 in the frame between the two hinges
  math::Vec3<Real> translation_lock[3];  // locked directions: M0 frame with slides, world axes without
  math::Vec3<Real> slide_dual[3];        // M0 frame: slide coordinate j = slide_dual[j] . (displacement)
  math::Vec3<Real> hinge[3];             // unit axes, child frame at reference
  math::Vec3<Real> perpendicular[2];     // completes hinge[0] to a frame (one hinge)
  Real axis_dot;                         // hinge[0] . hinge[1] (two hinges)
  Real axis_cross_inverse;               // 1 / |hinge[0] x hinge[1]| (two hinges)
  int softness = -1;                     // how its locks give way: index into ModelView::lock_softness, -1: not at all
  bool is_soft = false;  // whether they always do where contacts are soft, or only while they cannot be met
  bool operator==(const JointData&) const = default;
};

// One coordinate s, of a joint or the length of a tendon, and everything that acts along it.
template <typename Real>
struct AxisData {
  int joint;       // of a tendon that of its first term, whose share of a step its forces take; of one through space
                   // joint_count and on, an entry of its own among what has such a share
  Real reference;  // s in the reference configuration
  Real armature, damping, stiffness, spring_reference;
  int limit;  // index of its limit row, or -1
  Real lower, upper;
  int effort_start, effort_count;      // range in ModelView::efforts
  int actuator_start, actuator_count;  // range in ModelView::actuators
  Real initial_position;
  Real motors_lower, motors_upper;          // of the efforts of all motors together, where they are several
  Real static_friction, stribeck_velocity;  // of dry friction (constraints/axis_laws.hpp)
  bool operator==(const AxisData&) const = default;
};
// Calls f(number...) for each number that a step reads as the scene has it, of all of `axes`: AxisData, AxisSpec or
// TendonSpec.
template <typename F, typename... Axes>
void for_each_tendon_number(F&& f, Axes&&... axes) {
  f(axes.armature...), f(axes.damping...), f(axes.stiffness...), f(axes.spring_reference...);
  f(axes.lower...), f(axes.upper...);
}
// Likewise, with the numbers that tendons have not.
template <typename F, typename... Axes>
void for_each_axis_number(F&& f, Axes&&... axes) {
  f(axes.reference...), f(axes.initial_position...), f(axes.static_friction...), f(axes.stribeck_velocity...);
  for_each_tendon_number(f, axes...);
}

// A row over the coordinates of several joints: a tendon, all of whose laws are those of an axis, or an equality of
// coordinates, which is a lock. Both are sums over terms.
template <typename Real>
struct TendonData {
  int axis;  // in ModelView::axes, -1 of an equality
  int lock;  // row of an equality, -1 of a tendon
  int term_start, term_count;
  int span_start, span_count;  // range in ModelView::tendon_spans: of what goes through space
  int side_start, side_count;  // and of its terms' sides in ModelView::tendon_sides
  int node;                    // of the tree factorisation, among those of tendons and equalities; -1: condensed
  // Of an equality: Σ first s − P(Σ second s), P of these coefficients; spring and damper, stiffness 0 is rigid.
  Real polynomial[5];
  Real stiffness, damping;
  Real spring_slack;  // of a tendon: its spring is slack up to this much beyond its axis' spring_reference
  int softness = -1;  // of an equality, as JointData's
  bool is_soft = false;
  bool operator==(const TendonData&) const = default;
};

// A row between two bodies, part of a tendon's or an equality's: that of a joint's axis, or of a straight piece of a
// path through space.
template <typename Real>
struct TendonTermData {
  int axis;  // of a joint, -1 of a piece
  int tendon;
  Real first, second;
  int a, b;  // its bodies, as model/row.hpp has them; b may be the world
};

// Of a path through space from one site to the next (model/tendon_path.hpp). Bodies are internal, -1 the world; what is
// in a body is in its principal frame.
enum class SpanKind : std::uint8_t { kStraight, kSphere, kCylinder, kSlider, kWrench };
template <typename Real>
struct TendonSpanData {
  SpanKind kind;
  bool has_side, of_second;  // of the second coordinate of an equality
  int body[2], object, side_body;
  int term[2];  // of a straight span the first alone; of one about an object those before and behind it; -1: none, as
                // both ends of a piece are on one body
  math::Vec3<Real> p[2], p_object, p_side;
  math::Quat<Real> q_object;  // a cylinder lies along z, and the axis of a slider, in body[0]
  Real radius;
  Real weight;  // of its length: 1/divisor
  // Of a wrench: the axes of its frame, in body[1], and its gear. q_object are those of its side, in body[0].
  math::Quat<Real> q_end;
  math::Vec3<Real> force, torque;
  bool operator==(const TendonSpanData&) const = default;
};

template <typename Real>
struct ShapeData {
  ShapeKind kind;
  int body;  // internal, -1 for the world
  math::Vec3<Real> size;
  math::Vec3<Real> p_CS;  // shape frame in the body's principal frame (in the world for the world's shapes)
  math::Quat<Real> q_CS;
  Real bounding_radius;  // m about p_CS; infinite for a plane
  int hull_start = 0, hull_stride = 0,
      hull_count = 0;  // of a mesh or height field: in hull_vertices (collide/shape.hpp)
  bool operator==(const ShapeData&) const = default;
};

// What a shape brings to its contacts, and which others it may touch (shape_pairs.hpp). Double in either precision, so
// that a pair's numbers do not depend on whether they were worked out when the model was compiled or in a step.
struct ShapeContactData {
  double friction, restitution, stiffness, damping;
  std::uint32_t type, affinity;
  int dimension, priority;
  int part;  // what exclusions are about: 0 the world itself, 1 + i the body i of the scene as it was given
  bool operator==(const ShapeContactData&) const = default;
};

// How the surface of a shape moves along it, in the shape's frame (constraints/moving_surfaces.hpp).
template <typename Real>
struct SurfaceMotion {
  math::Vec3<Real> v{}, omega{};  // m/s at the frame's origin, rad/s
  bool operator==(const SurfaceMotion&) const = default;
};

// Two shapes that may touch.
template <typename Real>
struct PairData {
  int shape_a, shape_b;
  Real friction;  // 0 for contact dimension 1
  Real restitution;
  Real stiffness, damping;  // of both shapes in series; stiffness 0 is rigid
  int contact_max;          // contacts that this pair of kinds can have
  bool operator==(const PairData&) const = default;
};

// A frame that is fixed in a body: in its principal frame, or in the world.
template <typename Real>
struct SensorFrame {
  int body;  // internal, -1 the world
  int part;  // as ShapeContactData::part
  math::Vec3<Real> p;
  math::Quat<Real> q;
  bool operator==(const SensorFrame&) const = default;
};

// A side of a contact sensor: a shape, or the part of a body, or those that hang on one.
struct ContactSideData {
  ContactSideKind kind;
  int index;                   // shape, or as ShapeContactData::part
  int part_start, part_count;  // kSubtree: in SensorView::part_list
  bool operator==(const ContactSideData&) const = default;
};

// The readings of a contact sensor (ContactSensorSpec).
struct ContactSensorData {
  ContactSideData first, second;
  ContactReduction reduction;
  int slots;
  std::uint8_t data;
  bool operator==(const ContactSensorData&) const = default;
};

template <typename Real>
struct SensorData {
  SensorKind kind;
  int start, size;   // in sensor_data
  int sensed_start;  // in WorldState::sensed; -1: the reading follows from the present state
  SensorFrame<Real> frame, reference;
  bool has_reference;
  int joint, axis;             // internal joint, its axis
  int actuator;                // internal
  int part_start, part_count;  // in SensorView::part_list: rising
  ShapeKind zone;
  math::Vec3<Real> vector;  // size of the zone; magnetic field
  Real scale, cutoff;
  CutoffRule cutoff_rule;
  ContactSensorData contact;  // of sensors of distances its sides
  Real focal[2], centre[2];   // pixels (ImageSpec)
  bool operator==(const SensorData&) const = default;
};

// A body of the scene as it was given: what it adds to the body that it is part of, in that one's principal frame.
template <typename Real>
struct SensorPart {
  int body;      // internal, -1 the world
  bool is_root;  // it gave that body its frame; others are welded to it
  Real mass;
  math::Vec3<Real> p;         // m, centre of mass
  math::Vec3<Real> I_row[3];  // kg m^2 about it
  bool operator==(const SensorPart&) const = default;
};

// Parts that a loop joint holds together.
struct LoopParts {
  int parent, child;  // as ShapeContactData::part
};

template <typename Real>
struct SensorView {
  int count, size;  // sensors, and numbers of sensor_data
  int sensed_size;  // numbers of WorldState::sensed
  const SensorData<Real>* list;
  const SensorPart<Real>* parts;  // [bodies of the scene] where any sensor asks for them
  const int* part_list;           // 1 + index into parts
  const LoopParts* loops;         // [loop_count] likewise
};

// A body that clients place (BodySpec::is_mocap). To the engine it is part of the world; what is on it are entries of
// the model's tables whose numbers are in the world, with the body where the scene has it.
template <typename Real>
struct MocapData {
  math::Vec3<Real> p_WM;  // of the scene
  math::Quat<Real> q_WM;
};

// An entry that goes with a mocap body (world/mocap_tables.hpp).
enum class MocapTable : std::uint8_t { kJoint, kShape, kSensorFrame, kSensorReference, kSensorPart };
struct MocapUse {
  int mocap;
  MocapTable table;
  int index;  // in that table
};

// A compiled model, read only. Arrays are in device memory where the device is a GPU.
template <typename Real>
struct ModelView {
  // First rows of each kind: locks come first, then axes, limits, efforts, three rows a contact, and three a moment.
  AXION_HD int axis_base() const { return lock_count; }
  AXION_HD int limit_base() const { return first_limit; }
  AXION_HD int effort_base() const { return first_effort; }
  AXION_HD int contact_base() const { return first_contact; }
  // Nodes that the tree factorisation has before those of bodies.
  AXION_HD int closing_nodes() const { return closing_count - condensed_count; }
  AXION_HD int block_capacity() const { return contact_capacity + moment_capacity; }  // of three rows

  int body_count, joint_count, axis_count, lock_count, limit_count, actuator_count, shape_count;
  int first_limit, first_effort, first_contact;  // kept, as sweeps ask for them at every row
  int standing_count;      // shapes of the world but planes and height fields, where it has others beside them; else 0
  int pair_count;          // of the list of pairs; -1 where there is none, as they are too many (shape_pairs.hpp)
  int effort_count;        // rows with bounded impulses
  int loop_count;          // joints that close loops: the last of the joints
  int joint_axis_count;    // axes of joints: the first of the axes; after them come those of tendons
  int joint_lock_count;    // locks of joints: the first of the locks; after them come equalities
  int tendon_count;        // tendons on which something acts, in the order of their axes, then equalities
  int tendon_axis_count;   // of those, the tendons
  int slack_tendon_count;  // of those, the first, that have but limits, bounded efforts and motors
  int tendon_term_count;
  int spatial_count;    // tendons through space, without equalities
  int side_count;       // sides of the terms of paths through space; 0 where there are none
  int closing_count;    // loop joints, tendons and equalities: all that couples more bodies than the joints of the tree
  int condensed_count;  // tendons that the tree factorisation condenses into their bodies (condense_tendons.cpp)
  int condensed_pair_count;  // pairs of bodies that those couple
  int control_count;
  int activation_count;
  int body_force_count;    // body_count, or 0 where nothing acts on any body besides its weight
  int contact_capacity;    // contacts a world can hold
  int moment_capacity;     // of them with torsional or rolling friction, at most; 0 where no pair has any
  int candidate_capacity;  // contacts before compaction: slots for the pairs that are near each other
  int coupling_capacity;   // off-diagonal blocks that the tree factorisation can hold
  int inverse_blocks;      // 6x6 blocks of the inverses of all joint trees; 0 where they would be too many to keep
  int dense_unknowns;      // of the dense solver's matrix; 0 where the batch does not use it (batch_view.hpp)
  math::Vec3<Real> gravity;
  const BodyData<Real>* bodies;
  const BodyForceData<Real>* body_forces;  // [body_force_count]
  int break_count;                         // joints with limits of what they may carry
  const BreakData<Real>* breaks;           // [break_count]
  const FluidPartData<Real>* fluid_parts;  // sorted by body; null where no fluid acts
  const SiteMotorData<Real>* site_motors;  // [actuators at sites] sorted by actuator: the first of the actuators
  int adhesion_count;
  const AdhesionData* adhesions;
  const SiteUse* site_uses;  // sorted by body; null where nothing acts at a site
  math::Vec3<Real> wind;     // m/s, of the fluid
  const int* child_joints;
  const int* body_loops;  // loop joints of each body: j where it is the child, ~j where the parent
  const JointData<Real>* joints;
  const AxisData<Real>* axes;
  const ActuatorData<Real>* actuators;      // sorted by axis
  const ActivationData<Real>* activations;  // [activation_count] in the order of their controls
  int early_activation_count;               // of them
  const ActuatorCurves<Real>* actuator_curves;
  const int* lock_joint;                     // [lock_count] joint of each locked row
  const int* limit_axis;                     // [limit_count] axis of each limit row
  const EffortData<Real>* efforts;           // [effort_count] sorted by axis
  const TendonData<Real>* tendons;           // [tendon_count]
  const int* node_tendons;                   // [tendon_count - condensed_count] the tendons that have nodes
  const int* condensed_start;                // [body_count + 1] of each body, where condensed_count is not 0,
  const int* condensed_tendons;              // the condensed tendons that act on it
  const int* condensed_pairs;                // [condensed_pair_count][2] bodies, each pair once
  const TendonTermData<Real>* tendon_terms;  // [tendon_term_count] sorted by tendon
  const int* axis_term_start;                // [joint_axis_count + 1] terms of each axis of a joint,
  const int* axis_terms;                     // [terms of axes] in the order of the tendons
  const TendonSpanData<Real>* tendon_spans;  // sorted by tendon
  const int* tendon_sides;                   // [side_count] 2 term, and one more of body b; by tendon, then by body
  const int* body_side_start;                // [body_count + 1] of each body, in the same form: the sides of terms of
  const int* body_sides;                     // its joints' axes, joint by joint, then those of paths, by tendon
  const ShapeData<Real>* shapes;
  const Real* hull_vertices;               // x, y and z of each hull, hull_stride numbers each; then height fields
  const ShapeContactData* shape_contacts;  // [shape_count]
  const int* neighbour_start;              // [body_count + 1] bodies that do not touch a body as a joint connects them:
  const int* neighbours;                   // internal indices, rising
  const int* exclude_start;                // [parts + 1] parts that do not touch a part as an exclusion says:
  const int* excludes;                     // rising
  const PairData<Real>* pairs;             // [pair_count] sorted by their lower shape, then the other
  const ShapeMomentData* shape_moments;    // [shape_count], and
  const MomentFriction<Real>* pair_moments;    // [pair_count] where moment_capacity is above zero
  const SurfaceMotion<Real>* surface_motions;  // [shape_count]; null where no surface moves
  // Soft contacts and limits (impedance.hpp).
  int is_soft;       // whether the batch has them (batch_view.hpp)
  Real soft_margin;  // m, the greatest of any pair
  SoftnessRule softness_rule;
  const ShapeSoftness* shape_softness;         // [shape_count]
  const ImpedanceData<Real>* pair_impedances;  // [pair_count]
  const ImpedanceData<Real>* limit_impedance;  // [limit_count]
  const LockSoftness<Real>*
      lock_softness;  // [lock_softness_count] of joints that close loops, then of equalities, but for springs
  int lock_softness_count;
  SensorView<Real> sensors;
  int mocap_count;                // bodies that clients place
  int mocap_use_count;            // and what is on them
  int sensor_part_count;          // of SensorView::parts
  const MocapData<Real>* mocaps;  // [mocap_count] in the order of the scene
  const MocapUse* mocap_uses;     // [mocap_use_count]
};

}  // namespace axion::model
