#include "engine/model/compile.hpp"

namespace axion::model {
namespace {

using math::cast;

BodyData<float> convert(const BodyData<double>& a) {
  return {float(a.mass),
          cast<float>(a.inertia),
          a.joint,
          a.parent,
          a.child_joint_start,
          a.child_joint_count,
          a.loop_start,
          a.loop_count,
          a.tree_start,
          a.tree_size,
          a.inverse_start,
          float(a.lent_mass),
          float(a.lent_inertia),
          cast<float>(a.p_origin)};
}

BodyForceData<float> convert(const BodyForceData<double>& a) {
  return {float(a.lift_mass), cast<float>(a.lift_moment), float(a.drag),          cast<float>(a.p_drag),
          a.fluid_part_start, a.fluid_part_count,         a.has_fluid_ellipsoids, a.site_use_start,
          a.site_use_count,   float(a.stiffness),         cast<float>(a.p_rest),  cast<float>(a.q_rest)};
}

SiteMotorData<float> convert(const SiteMotorData<double>& a) {
  return {a.actuator,
          a.body,
          a.reference,
          a.has_reference,
          a.common,
          cast<float>(a.p),
          cast<float>(a.p_reference),
          cast<float>(a.q),
          cast<float>(a.q_reference),
          cast<float>(a.force),
          cast<float>(a.torque)};
}

FluidPartData<float> convert(const FluidPartData<double>& a) {
  return {cast<float>(a.p_CF),
          cast<float>(a.q_CF),
          cast<float>(a.drag),
          cast<float>(a.angular_drag),
          float(a.viscous_drag),
          float(a.viscous_angular_drag),
          a.is_ellipsoid,
          cast<float>(a.radii),
          cast<float>(a.virtual_mass),
          cast<float>(a.virtual_inertia),
          float(a.area_drag),
          float(a.least_drag),
          float(a.kutta),
          float(a.magnus)};
}

BreakData<float> convert(const BreakData<double>& a) {
  return {a.joint, float(a.inverse_force), float(a.inverse_torque)};
}

JointData<float> convert(const JointData<double>& a) {
  JointData<float> b{};
  b.parent = a.parent, b.child = a.child;
  b.slide_count = a.slide_count, b.hinge_count = a.hinge_count, b.is_ball = a.is_ball, b.has_cone = a.has_cone;
  b.lock_start = a.lock_start;
  b.translation_lock_count = a.translation_lock_count, b.rotation_lock_count = a.rotation_lock_count;
  b.axis_start = a.axis_start, b.axis_count = a.axis_count;
  b.lock_stiffness = float(a.lock_stiffness), b.lock_damping = float(a.lock_damping);
  b.q_PM0 = cast<float>(a.q_PM0), b.p_PA = cast<float>(a.p_PA), b.p_CA = cast<float>(a.p_CA);
  for (int k = 0; k < 2; ++k) {
    b.offset[k] = cast<float>(a.offset[k]);
    b.perpendicular[k] = cast<float>(a.perpendicular[k]);
  }
  for (int k = 0; k < 3; ++k) {
    b.translation_lock[k] = cast<float>(a.translation_lock[k]);
    b.slide_dual[k] = cast<float>(a.slide_dual[k]);
    b.hinge[k] = cast<float>(a.hinge[k]);
  }
  b.axis_dot = float(a.axis_dot), b.axis_cross_inverse = float(a.axis_cross_inverse);
  b.softness = a.softness, b.is_soft = a.is_soft;
  return b;
}

AxisData<float> convert(const AxisData<double>& a) {
  AxisData<float> b{};
  b.joint = a.joint, b.limit = a.limit;
  for_each_number([](float& to, double from) { to = float(from); }, b, a);
  b.effort_start = a.effort_start, b.effort_count = a.effort_count;
  b.actuator_start = a.actuator_start, b.actuator_count = a.actuator_count;
  b.motors_lower = float(a.motors_lower), b.motors_upper = float(a.motors_upper);
  return b;
}

ActuatorData<float> convert(const ActuatorData<double>& a) {
  return {a.kind,
          a.axis,
          a.control,
          a.input,
          float(a.gear),
          float(a.kp),
          float(a.kd),
          float(a.lower),
          float(a.upper),
          a.effort_limited,
          float(a.effort_lower),
          float(a.effort_upper),
          a.is_scaled,
          float(a.control_gain),
          float(a.control_offset),
          a.curves};
}

ActuatorCurves<float> convert(const ActuatorCurves<double>& a) {
  ActuatorCurves<float> b{};
  for (int k = 0; k < 3; ++k) b.gain[k] = float(a.gain[k]), b.bias[k] = float(a.bias[k]);
  b.L0 = float(a.L0), b.zero = float(a.zero), b.L0_per_s = float(a.L0_per_s), b.force = float(a.force);
  b.lmin = float(a.lmin), b.lmax = float(a.lmax), b.fpmax = float(a.fpmax), b.fvmax = float(a.fvmax);
  return b;
}

ActivationData<float> convert(const ActivationData<double>& a) {
  return {a.control,      a.kind,        float(a.lower), float(a.upper),     float(a.time),
          float(a.least), float(a.most), a.is_early,     float(a.fall_time), float(a.smoothing)};
}

TendonData<float> convert(const TendonData<double>& a) {
  TendonData<float> b{
      a.axis,       a.lock, a.term_start, a.term_count,       a.span_start,     a.span_count,         a.side_start,
      a.side_count, a.node, {},           float(a.stiffness), float(a.damping), float(a.spring_slack)};
  for (int k = 0; k < 5; ++k) b.polynomial[k] = float(a.polynomial[k]);
  b.softness = a.softness, b.is_soft = a.is_soft;
  return b;
}

TendonTermData<float> convert(const TendonTermData<double>& a) {
  return {a.axis, a.tendon, float(a.first), float(a.second), a.a, a.b};
}

TendonSpanData<float> convert(const TendonSpanData<double>& a) {
  return {a.kind,
          a.has_side,
          a.of_second,
          {a.body[0], a.body[1]},
          a.object,
          a.side_body,
          {a.term[0], a.term[1]},
          {cast<float>(a.p[0]), cast<float>(a.p[1])},
          cast<float>(a.p_object),
          cast<float>(a.p_side),
          cast<float>(a.q_object),
          float(a.radius),
          float(a.weight),
          cast<float>(a.q_end),
          cast<float>(a.force),
          cast<float>(a.torque)};
}

EffortData<float> convert(const EffortData<double>& a) {
  return {a.axis, a.actuator, float(a.friction_loss), cast_impedance<float>(a.softness)};
}

ShapeData<float> convert(const ShapeData<double>& a) {
  return {a.kind,
          a.body,
          cast<float>(a.size),
          cast<float>(a.p_CS),
          cast<float>(a.q_CS),
          float(a.bounding_radius),
          a.hull_start,
          a.hull_stride,
          a.hull_count};
}

PairData<float> convert(const PairData<double>& a) {
  return {a.shape_a,          a.shape_b,        float(a.friction), float(a.restitution),
          float(a.stiffness), float(a.damping), a.contact_max};
}

MomentFriction<float> convert(const MomentFriction<double>& a) { return {float(a.torsional), float(a.rolling)}; }

SurfaceMotion<float> convert(const SurfaceMotion<double>& a) { return {cast<float>(a.v), cast<float>(a.omega)}; }

ImpedanceData<float> convert(const ImpedanceData<double>& a) { return cast_impedance<float>(a); }

SensorFrame<float> convert(const SensorFrame<double>& a) {
  return {a.body, a.part, cast<float>(a.p), cast<float>(a.q)};
}

SensorData<float> convert(const SensorData<double>& a) {
  return {a.kind,
          a.start,
          a.size,
          a.sensed_start,
          convert(a.frame),
          convert(a.reference),
          a.has_reference,
          a.joint,
          a.axis,
          a.actuator,
          a.part_start,
          a.part_count,
          a.zone,
          cast<float>(a.vector),
          float(a.scale),
          float(a.cutoff),
          a.cutoff_rule,
          a.contact,
          {float(a.focal[0]), float(a.focal[1])},
          {float(a.centre[0]), float(a.centre[1])}};
}

SensorPart<float> convert(const SensorPart<double>& a) {
  return {a.body,
          a.is_root,
          float(a.mass),
          cast<float>(a.p),
          {cast<float>(a.I_row[0]), cast<float>(a.I_row[1]), cast<float>(a.I_row[2])}};
}

LockSoftness<float> convert(const LockSoftness<double>& a) {
  return {cast_impedance<float>(a.translation), cast_impedance<float>(a.rotation), float(a.turn_weight)};
}

MocapData<float> convert(const MocapData<double>& a) { return {cast<float>(a.p_WM), cast<float>(a.q_WM)}; }

template <typename T>
auto convert_all(const std::vector<T>& from) {
  std::vector<decltype(convert(from.front()))> to;
  to.reserve(from.size());
  for (const T& item : from) to.push_back(convert(item));
  return to;
}

}  // namespace

ModelArrays<float> to_float(const ModelArrays<double>& a) {
  ModelArrays<float> b;
  b.body_forces = convert_all(a.body_forces), b.fluid_parts = convert_all(a.fluid_parts);
  b.breaks = convert_all(a.breaks);
  b.wind = cast<float>(a.wind);
  b.activations = convert_all(a.activations), b.actuator_curves = convert_all(a.actuator_curves);
  b.site_motors = convert_all(a.site_motors), b.site_uses = a.site_uses;
  b.adhesions = a.adhesions;
  b.bodies = convert_all(a.bodies), b.child_joints = a.child_joints, b.joints = convert_all(a.joints);
  b.axes = convert_all(a.axes), b.actuators = convert_all(a.actuators), b.lock_joint = a.lock_joint;
  b.limit_axis = a.limit_axis, b.efforts = convert_all(a.efforts), b.body_loops = a.body_loops;
  b.shapes = convert_all(a.shapes), b.pairs = convert_all(a.pairs), b.lists_pairs = a.lists_pairs;
  b.hull_vertices.assign(a.hull_vertices.begin(), a.hull_vertices.end());
  b.shape_moments = a.shape_moments, b.pair_moments = convert_all(a.pair_moments);
  b.surface_motions = convert_all(a.surface_motions);
  b.moment_capacity = a.moment_capacity;
  b.shape_contacts = a.shape_contacts, b.neighbour_start = a.neighbour_start, b.neighbours = a.neighbours;
  b.soft_margin = float(a.soft_margin), b.softness_rule = a.softness_rule, b.shape_softness = a.shape_softness;
  b.pair_impedances = convert_all(a.pair_impedances), b.limit_impedance = convert_all(a.limit_impedance);
  b.lock_softness = convert_all(a.lock_softness);
  b.exclude_start = a.exclude_start, b.excludes = a.excludes;
  b.lock_count = a.lock_count, b.control_count = a.control_count, b.contact_capacity = a.contact_capacity;
  b.candidate_capacity = a.candidate_capacity, b.coupling_capacity = a.coupling_capacity;
  b.loop_count = a.loop_count, b.inverse_blocks = a.inverse_blocks;
  b.node_tendons = a.node_tendons, b.condensed_start = a.condensed_start;
  b.condensed_tendons = a.condensed_tendons, b.condensed_pairs = a.condensed_pairs;
  b.tendons = convert_all(a.tendons), b.tendon_terms = convert_all(a.tendon_terms);
  b.axis_term_start = a.axis_term_start, b.axis_terms = a.axis_terms;
  b.tendon_spans = convert_all(a.tendon_spans), b.tendon_sides = a.tendon_sides;
  b.body_side_start = a.body_side_start, b.body_sides = a.body_sides, b.spatial_count = a.spatial_count;
  b.joint_lock_count = a.joint_lock_count, b.tendon_axis_count = a.tendon_axis_count;
  b.slack_tendon_count = a.slack_tendon_count;
  b.gravity = cast<float>(a.gravity);
  b.sensors.list = convert_all(a.sensors.list), b.sensors.parts = convert_all(a.sensors.parts);
  b.sensors.part_list = a.sensors.part_list, b.sensors.loops = a.sensors.loops;
  b.mocaps = convert_all(a.mocaps), b.mocap_uses = a.mocap_uses;
  b.sensors.size = a.sensors.size, b.sensors.sensed_size = a.sensors.sensed_size;
  return b;
}

}  // namespace axion::model
