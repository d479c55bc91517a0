// A compiled model's arrays in another precision, or as numbers that carry derivatives: each struct of model_data.hpp,
// member by member.
#pragma once

#include <vector>

#include "engine/model/compile.hpp"

namespace axion::model {
namespace conversion {

using math::cast;

template <typename To>
BodyData<To> convert(const BodyData<double>& a) {
  return {To(a.mass),         cast<To>(a.inertia), a.joint,      a.parent,    a.child_joint_start, a.child_joint_count,
          a.loop_start,       a.loop_count,        a.tree_start, a.tree_size, a.inverse_start,     To(a.lent_mass),
          To(a.lent_inertia), cast<To>(a.p_origin)};
}

template <typename To>
BodyForceData<To> convert(const BodyForceData<double>& a) {
  return {To(a.lift_mass),    cast<To>(a.lift_moment), To(a.drag),       cast<To>(a.p_drag), a.fluid_part_start,
          a.fluid_part_count, a.has_fluid_ellipsoids,  a.site_use_start, a.site_use_count,   To(a.stiffness),
          cast<To>(a.p_rest), cast<To>(a.q_rest)};
}

template <typename To>
SiteMotorData<To> convert(const SiteMotorData<double>& a) {
  return {a.actuator,
          a.body,
          a.reference,
          a.has_reference,
          a.common,
          cast<To>(a.p),
          cast<To>(a.p_reference),
          cast<To>(a.q),
          cast<To>(a.q_reference),
          cast<To>(a.force),
          cast<To>(a.torque)};
}

template <typename To>
FluidPartData<To> convert(const FluidPartData<double>& a) {
  return {cast<To>(a.p_CF),
          cast<To>(a.q_CF),
          cast<To>(a.drag),
          cast<To>(a.angular_drag),
          To(a.viscous_drag),
          To(a.viscous_angular_drag),
          a.is_ellipsoid,
          cast<To>(a.radii),
          cast<To>(a.virtual_mass),
          cast<To>(a.virtual_inertia),
          To(a.area_drag),
          To(a.least_drag),
          To(a.kutta),
          To(a.magnus)};
}

template <typename To>
BreakData<To> convert(const BreakData<double>& a) {
  return {a.joint, To(a.inverse_force), To(a.inverse_torque)};
}

template <typename To>
JointData<To> convert(const JointData<double>& a) {
  JointData<To> b{};
  b.parent = a.parent, b.child = a.child;
  b.slide_count = a.slide_count, b.hinge_count = a.hinge_count, b.is_ball = a.is_ball, b.has_cone = a.has_cone;
  b.lock_start = a.lock_start;
  b.translation_lock_count = a.translation_lock_count, b.rotation_lock_count = a.rotation_lock_count;
  b.axis_start = a.axis_start, b.axis_count = a.axis_count;
  b.lock_stiffness = To(a.lock_stiffness), b.lock_damping = To(a.lock_damping);
  b.q_PM0 = cast<To>(a.q_PM0), b.p_PA = cast<To>(a.p_PA), b.p_CA = cast<To>(a.p_CA);
  for (int k = 0; k < 2; ++k) {
    b.offset[k] = cast<To>(a.offset[k]);
    b.perpendicular[k] = cast<To>(a.perpendicular[k]);
  }
  for (int k = 0; k < 3; ++k) {
    b.translation_lock[k] = cast<To>(a.translation_lock[k]);
    b.slide_dual[k] = cast<To>(a.slide_dual[k]);
    b.hinge[k] = cast<To>(a.hinge[k]);
  }
  b.axis_dot = To(a.axis_dot), b.axis_cross_inverse = To(a.axis_cross_inverse);
  b.softness = a.softness, b.is_soft = a.is_soft;
  return b;
}

template <typename To>
AxisData<To> convert(const AxisData<double>& a) {
  AxisData<To> b{};
  b.joint = a.joint, b.limit = a.limit;
  for_each_axis_number([](To& to, double from) { to = To(from); }, b, a);
  b.effort_start = a.effort_start, b.effort_count = a.effort_count;
  b.actuator_start = a.actuator_start, b.actuator_count = a.actuator_count;
  b.motors_lower = To(a.motors_lower), b.motors_upper = To(a.motors_upper);
  return b;
}

template <typename To>
ActuatorData<To> convert(const ActuatorData<double>& a) {
  return {a.kind,
          a.axis,
          a.control,
          a.input,
          To(a.gear),
          To(a.kp),
          To(a.kd),
          To(a.lower),
          To(a.upper),
          a.effort_limited,
          To(a.effort_lower),
          To(a.effort_upper),
          a.is_scaled,
          To(a.control_gain),
          To(a.control_offset),
          a.curves};
}

template <typename To>
ActuatorCurves<To> convert(const ActuatorCurves<double>& a) {
  ActuatorCurves<To> b{};
  for (int k = 0; k < 3; ++k) b.gain[k] = To(a.gain[k]), b.bias[k] = To(a.bias[k]);
  b.L0 = To(a.L0), b.zero = To(a.zero), b.L0_per_s = To(a.L0_per_s), b.force = To(a.force);
  b.lmin = To(a.lmin), b.lmax = To(a.lmax), b.fpmax = To(a.fpmax), b.fvmax = To(a.fvmax);
  return b;
}

template <typename To>
ActivationData<To> convert(const ActivationData<double>& a) {
  return {a.control,   a.kind,     To(a.lower), To(a.upper),     To(a.time),
          To(a.least), To(a.most), a.is_early,  To(a.fall_time), To(a.smoothing)};
}

template <typename To>
TendonData<To> convert(const TendonData<double>& a) {
  TendonData<To> b{a.axis,       a.lock, a.term_start, a.term_count,    a.span_start,  a.span_count,      a.side_start,
                   a.side_count, a.node, {},           To(a.stiffness), To(a.damping), To(a.spring_slack)};
  for (int k = 0; k < 5; ++k) b.polynomial[k] = To(a.polynomial[k]);
  b.softness = a.softness, b.is_soft = a.is_soft;
  return b;
}

template <typename To>
TendonTermData<To> convert(const TendonTermData<double>& a) {
  return {a.axis, a.tendon, To(a.first), To(a.second), a.a, a.b};
}

template <typename To>
TendonSpanData<To> convert(const TendonSpanData<double>& a) {
  return {a.kind,
          a.has_side,
          a.of_second,
          {a.body[0], a.body[1]},
          a.object,
          a.side_body,
          {a.term[0], a.term[1]},
          {cast<To>(a.p[0]), cast<To>(a.p[1])},
          cast<To>(a.p_object),
          cast<To>(a.p_side),
          cast<To>(a.q_object),
          To(a.radius),
          To(a.weight),
          cast<To>(a.q_end),
          cast<To>(a.force),
          cast<To>(a.torque)};
}

template <typename To>
EffortData<To> convert(const EffortData<double>& a) {
  return {a.axis, a.actuator, To(a.friction_loss), cast_impedance<To>(a.softness)};
}

template <typename To>
ShapeData<To> convert(const ShapeData<double>& a) {
  return {a.kind,       a.body,        cast<To>(a.size), cast<To>(a.p_CS), cast<To>(a.q_CS), To(a.bounding_radius),
          a.hull_start, a.hull_stride, a.hull_count};
}

template <typename To>
PairData<To> convert(const PairData<double>& a) {
  return {a.shape_a, a.shape_b, To(a.friction), To(a.restitution), To(a.stiffness), To(a.damping), a.contact_max};
}

template <typename To>
MomentFriction<To> convert(const MomentFriction<double>& a) {
  return {To(a.torsional), To(a.rolling)};
}

template <typename To>
SurfaceMotion<To> convert(const SurfaceMotion<double>& a) {
  return {cast<To>(a.v), cast<To>(a.omega)};
}

template <typename To>
ImpedanceData<To> convert(const ImpedanceData<double>& a) {
  return cast_impedance<To>(a);
}

template <typename To>
SensorFrame<To> convert(const SensorFrame<double>& a) {
  return {a.body, a.part, cast<To>(a.p), cast<To>(a.q)};
}

template <typename To>
SensorData<To> convert(const SensorData<double>& a) {
  return {a.kind,
          a.start,
          a.size,
          a.sensed_start,
          convert<To>(a.frame),
          convert<To>(a.reference),
          a.has_reference,
          a.joint,
          a.axis,
          a.actuator,
          a.part_start,
          a.part_count,
          a.zone,
          cast<To>(a.vector),
          To(a.scale),
          To(a.cutoff),
          a.cutoff_rule,
          a.contact,
          {To(a.focal[0]), To(a.focal[1])},
          {To(a.centre[0]), To(a.centre[1])}};
}

template <typename To>
SensorPart<To> convert(const SensorPart<double>& a) {
  return {
      a.body, a.is_root, To(a.mass), cast<To>(a.p), {cast<To>(a.I_row[0]), cast<To>(a.I_row[1]), cast<To>(a.I_row[2])}};
}

template <typename To>
LockSoftness<To> convert(const LockSoftness<double>& a) {
  return {cast_impedance<To>(a.translation), cast_impedance<To>(a.rotation), To(a.turn_weight)};
}

template <typename To>
MocapData<To> convert(const MocapData<double>& a) {
  return {cast<To>(a.p_WM), cast<To>(a.q_WM)};
}

template <typename To, typename T>
auto convert_all(const std::vector<T>& from) {
  std::vector<decltype(convert<To>(from.front()))> to;
  to.reserve(from.size());
  for (const T& item : from) to.push_back(convert<To>(item));
  return to;
}

}  // namespace conversion

template <typename To>
ModelArrays<To> to_precision(const ModelArrays<double>& a) {
  using conversion::cast, conversion::convert_all;
  ModelArrays<To> b;
  b.body_forces = convert_all<To>(a.body_forces), b.fluid_parts = convert_all<To>(a.fluid_parts);
  b.breaks = convert_all<To>(a.breaks);
  b.wind = cast<To>(a.wind);
  b.activations = convert_all<To>(a.activations), b.actuator_curves = convert_all<To>(a.actuator_curves);
  b.site_motors = convert_all<To>(a.site_motors), b.site_uses = a.site_uses;
  b.adhesions = a.adhesions;
  b.bodies = convert_all<To>(a.bodies), b.child_joints = a.child_joints, b.joints = convert_all<To>(a.joints);
  b.axes = convert_all<To>(a.axes), b.actuators = convert_all<To>(a.actuators), b.lock_joint = a.lock_joint;
  b.limit_axis = a.limit_axis, b.efforts = convert_all<To>(a.efforts), b.body_loops = a.body_loops;
  b.shapes = convert_all<To>(a.shapes), b.pairs = convert_all<To>(a.pairs), b.lists_pairs = a.lists_pairs;
  b.hull_vertices.assign(a.hull_vertices.begin(), a.hull_vertices.end());
  b.shape_moments = a.shape_moments, b.pair_moments = convert_all<To>(a.pair_moments);
  b.surface_motions = convert_all<To>(a.surface_motions);
  b.moment_capacity = a.moment_capacity;
  b.shape_contacts = a.shape_contacts, b.neighbour_start = a.neighbour_start, b.neighbours = a.neighbours;
  b.soft_margin = To(a.soft_margin), b.softness_rule = a.softness_rule, b.shape_softness = a.shape_softness;
  b.pair_impedances = convert_all<To>(a.pair_impedances), b.limit_impedance = convert_all<To>(a.limit_impedance);
  b.lock_softness = convert_all<To>(a.lock_softness);
  b.exclude_start = a.exclude_start, b.excludes = a.excludes;
  b.lock_count = a.lock_count, b.control_count = a.control_count, b.contact_capacity = a.contact_capacity;
  b.candidate_capacity = a.candidate_capacity, b.coupling_capacity = a.coupling_capacity;
  b.loop_count = a.loop_count, b.inverse_blocks = a.inverse_blocks;
  b.node_tendons = a.node_tendons, b.condensed_start = a.condensed_start;
  b.condensed_tendons = a.condensed_tendons, b.condensed_pairs = a.condensed_pairs;
  b.tendons = convert_all<To>(a.tendons), b.tendon_terms = convert_all<To>(a.tendon_terms);
  b.axis_term_start = a.axis_term_start, b.axis_terms = a.axis_terms;
  b.tendon_spans = convert_all<To>(a.tendon_spans), b.tendon_sides = a.tendon_sides;
  b.body_side_start = a.body_side_start, b.body_sides = a.body_sides, b.spatial_count = a.spatial_count;
  b.joint_lock_count = a.joint_lock_count, b.tendon_axis_count = a.tendon_axis_count;
  b.slack_tendon_count = a.slack_tendon_count;
  b.gravity = cast<To>(a.gravity);
  b.sensors.list = convert_all<To>(a.sensors.list), b.sensors.parts = convert_all<To>(a.sensors.parts);
  b.sensors.part_list = a.sensors.part_list, b.sensors.loops = a.sensors.loops;
  b.mocaps = convert_all<To>(a.mocaps), b.mocap_uses = a.mocap_uses;
  b.sensors.size = a.sensors.size, b.sensors.sensed_size = a.sensors.sensed_size;
  return b;
}

}  // namespace axion::model
