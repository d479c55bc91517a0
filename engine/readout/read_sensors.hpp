// What sensors read of a world, and the efforts of its actuators: of its present state, and of what the last step left
// of accelerations and forces (sense.hpp).
//
// Positions and velocities are those of the instant of the poses (v_at_pose). A reading is scaled, then cut off as the
// sensor's kind has it (CutoffRule). Called by write_field; needs no scratch. Cannot fail.
#pragma once

#include "engine/base/client_array.hpp"
#include "engine/collide/find_contacts.hpp"
#include "engine/collide/ray_shapes.hpp"
#include "engine/constraints/axis_laws.hpp"
#include "engine/constraints/motor_forces.hpp"
#include "engine/model/user_layout.hpp"
#include "engine/readout/frame_motion.hpp"
#include "engine/readout/joint_effort.hpp"
#include "engine/readout/read_distances.hpp"

namespace axion::readout {

// Numbers of a reading but a user's zeros.
template <typename Real>
struct Reading {
  Real value[6] = {};
  AXION_HD void put(const math::Vec3<Real>& v) { value[0] = v.x, value[1] = v.y, value[2] = v.z; }
  AXION_HD void put(const math::Quat<Real>& q) { value[0] = q.w, value[1] = q.x, value[2] = q.y, value[3] = q.z; }
};

template <typename Real>
AXION_HD inline Real axis_coordinate(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int joint,
                                     int axis) {
  constraints::JointEvaluation<Real> e;
  constraints::evaluate_joint(m, m.joints[joint], w.x, w.q, w.axis_position, e);
  return e.coordinate[axis];
}

template <typename Real>
AXION_HD inline Real axis_rate_at_pose(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int joint,
                                       int axis) {
  Real rates[3];
  constraints::axis_rates(m, w, joint, rates);
  return rates[axis];
}

// Of a tendon through space, with the velocities of the instant of the poses.
template <typename Real>
AXION_HD_RARE constraints::SiteLength<Real> length_of_paths(const model::ModelView<Real>& m,
                                                            const model::WorldView<Real>& w,
                                                            const model::TendonData<Real>& tendon) {
  Real rate = 0;
  const auto add = [&](int k, const model::Row<Real>& row) {
    const model::TendonTermData<Real>& term = m.tendon_terms[k];
    rate += term.first * constraints::row_velocity(row, term.a, term.b, w.v_at_pose, w.omega_at_pose);
  };
  const Real length = model::measure_path(m.tendon_spans + tendon.span_start, tendon.span_count, {w.x, w.q}, add).first;
  return {length, rate};
}

// Of axis i, of a joint or a tendon: as its joints have it.
template <typename Real>
AXION_HD_CALL constraints::SiteLength<Real> length_of_axis(const model::ModelView<Real>& m,
                                                           const model::WorldView<Real>& w, int i) {
  if (i < m.joint_axis_count) {
    const int j = m.axes[i].joint, axis = i - m.joints[j].axis_start;
    return {axis_coordinate(m, w, j, axis), axis_rate_at_pose(m, w, j, axis)};
  }
  constraints::SiteLength<Real> sum{0, 0};
  const model::TendonData<Real>& tendon = constraints::tendon_of_axis(m, i);
  if (tendon.span_count > 0) return length_of_paths(m, w, tendon);
  constraints::for_each_term(tendon, [&](int k) {
    const int of = m.tendon_terms[k].axis, j = m.axes[of].joint, axis = of - m.joints[j].axis_start;
    sum.length += m.tendon_terms[k].first * axis_coordinate(m, w, j, axis);
    sum.rate += m.tendon_terms[k].first * axis_rate_at_pose(m, w, j, axis);
  });
  return sum;
}

// What an actuator acts along at the present state, before its gear. Those at sites come first.
template <typename Real>
AXION_HD_CALL constraints::SiteLength<Real> actuator_length(const model::ModelView<Real>& m,
                                                            const model::WorldView<Real>& w, int i) {
  const int axis = m.actuators[i].axis;
  return axis < 0 ? constraints::site_length(w, m.site_motors[i]) : length_of_axis(m, w, axis);
}

// Effort before gear that the law of an actuator gives at the present state, within its bounds.
template <typename Real>
AXION_HD_CALL Real actuator_force(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  const model::ActuatorData<Real>& actuator = m.actuators[i];
  const Real control = constraints::clamped_control(actuator, w.control);
  Real force = control;
  if (actuator.kind != model::ActuatorKind::kMotor) {
    const constraints::SiteLength<Real> s = length_of_axis(m, w, actuator.axis);
    const Real velocity = actuator.gear * s.rate;
    if (actuator.curves >= 0) return constraints::force_by_curves(m, w, actuator, s.length, s.rate, control);
    force = actuator.kind == model::ActuatorKind::kPosition
                ? actuator.kp * (control - actuator.gear * s.length) - actuator.kd * velocity
                : actuator.kd * (control - velocity);
  }
  return constraints::clamp(w.gain_scale[actuator.control] * force, actuator.effort_lower, actuator.effort_upper);
}

// How far beyond its nearer limit an axis is, negative, and its rate away from it; 0 where it is within them.
template <typename Real>
AXION_HD inline Real limit_reading(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::SensorData<Real>& sensor, int of) {
  const model::AxisData<Real>& axis = m.axes[of];
  if (axis.limit < 0) return 0;
  const constraints::SiteLength<Real> at = length_of_axis(m, w, of);
  const Real s = at.length;
  const bool low = s - axis.lower < axis.upper - s;
  const Real gap = low ? s - axis.lower : axis.upper - s;
  if (!(gap < 0)) return 0;
  const bool is_position =
      sensor.kind == model::SensorKind::kJointLimitPosition || sensor.kind == model::SensorKind::kTendonLimitPosition;
  if (is_position) return gap;
  return low ? at.rate : -at.rate;
}

template <typename Real>
AXION_HD inline BodyMotions<Real> motions_at_pose(const model::WorldView<Real>& w) {
  return {w.x, w.q, w.v_at_pose, w.omega_at_pose};
}

// Positions, axes and velocities of a frame in its frame of reference.
template <typename Real>
AXION_HD_CALL void read_frame(const model::WorldView<Real>& w, const model::SensorData<Real>& sensor,
                              Reading<Real>& to) {
  using enum model::SensorKind;
  const FrameMotion<Real> f = frame_motion(motions_at_pose(w), sensor.frame);
  const FrameMotion<Real> r = frame_motion(motions_at_pose(w), sensor.reference);
  const auto seen = [&](const math::Vec3<Real>& v) { return sensor.has_reference ? math::rotate_inverse(r.q, v) : v; };
  switch (sensor.kind) {
    case kVelocimeter:
      return to.put(math::rotate_inverse(f.q, f.v));
    case kGyro:
      return to.put(math::rotate_inverse(f.q, f.omega));
    case kMagnetometer:
      return to.put(math::rotate_inverse(f.q, sensor.vector));
    case kFramePosition:
      return to.put(seen(f.p - r.p));
    case kFrameQuaternion:
      return to.put(sensor.has_reference ? math::normalized(math::conjugate(r.q) * f.q) : f.q);
    case kFrameXAxis:
      return to.put(seen(math::rotate(f.q, math::Vec3<Real>{1, 0, 0})));
    case kFrameYAxis:
      return to.put(seen(math::rotate(f.q, math::Vec3<Real>{0, 1, 0})));
    case kFrameZAxis:
      return to.put(seen(math::rotate(f.q, math::Vec3<Real>{0, 0, 1})));
    case kFrameLinearVelocity:
      return to.put(seen(f.v - r.v - math::cross(r.omega, f.p - r.p)));
    case kFrameAngularVelocity:
      return to.put(seen(f.omega - r.omega));
    case kInsideSite:
      to.value[0] = is_in_zone(sensor, r, f.p) ? Real(1) : Real(0);
      return;
    case kCameraProjection:
      return project(sensor, r, f.p, to.value);
    default:
      return;
  }
}

// Centre of mass, its velocity, or angular momentum about it, of all that hangs on a body.
template <typename Real>
AXION_HD_CALL void read_subtree(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::SensorData<Real>& sensor, Reading<Real>& to) {
  using Vec = math::Vec3<Real>;
  Real mass = 0;
  Vec moment{}, momentum{};
  const auto visit = [&](auto&& f) {
    for (int k = sensor.part_start; k < sensor.part_start + sensor.part_count; ++k) {
      const model::SensorPart<Real>& part = m.sensors.parts[m.sensors.part_list[k] - 1];
      const int b = part.body;
      if (b < 0) {
        f(part, part.mass, part.p, Vec{}, Real(1));
        continue;
      }
      const Vec arm = math::rotate(w.q[b], part.p);
      f(part, w.mass_scale[b] * part.mass, w.x[b] + arm, w.v_at_pose[b] + math::cross(w.omega_at_pose[b], arm),
        w.mass_scale[b]);
    }
  };
  visit([&](const auto&, Real part_mass, const Vec& p, const Vec& v, Real) {
    mass += part_mass, moment += part_mass * p, momentum += part_mass * v;
  });
  const Real share = mass > 0 ? 1 / mass : Real(0);
  if (sensor.kind == model::SensorKind::kSubtreeCentre) return to.put(share * moment);
  if (sensor.kind == model::SensorKind::kSubtreeLinearVelocity) return to.put(share * momentum);
  Vec angular{};
  visit([&](const model::SensorPart<Real>& part, Real part_mass, const Vec& p, const Vec& v, Real scale) {
    angular += part_mass * math::cross(p - share * moment, v - share * momentum);
    if (part.body < 0) return;
    const math::Quat<Real> q = w.q[part.body];
    const Vec u = math::rotate_inverse(q, w.omega_at_pose[part.body]);
    angular += scale * math::rotate(q, Vec{math::dot(part.I_row[0], u), math::dot(part.I_row[1], u),
                                           math::dot(part.I_row[2], u)});
  });
  to.put(angular);
}

// −Σ m g·x and the springs of the axes.
template <typename Real>
AXION_HD_CALL Real potential_energy(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                    const model::SensorData<Real>& sensor) {
  Real energy = 0;
  for (int k = sensor.part_start; k < sensor.part_start + sensor.part_count; ++k) {
    const model::SensorPart<Real>& part = m.sensors.parts[m.sensors.part_list[k] - 1];
    const int b = part.body;
    const math::Vec3<Real> p = b < 0 ? part.p : w.x[b] + math::rotate(w.q[b], part.p);
    energy -= (b < 0 ? part.mass : w.mass_scale[b] * part.mass) * math::dot(m.gravity, p);
  }
  for (int i = 0; i < m.axis_count; ++i) {
    if (!(m.axes[i].stiffness > 0)) continue;
    const Real length = length_of_axis(m, w, i).length;
    const Real stretch = length - constraints::spring_of_axis(m, i, length).rest;
    energy += Real(0.5) * m.axes[i].stiffness * stretch * stretch;
  }
  return energy;
}

// Of the bodies, and of armature.
template <typename Real>
AXION_HD_CALL Real kinetic_energy(const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  Real energy = 0;
  for (int b = 0; b < m.body_count; ++b) {
    const math::Vec3<Real> u = math::rotate_inverse(w.q[b], w.omega_at_pose[b]), v = w.v_at_pose[b];
    energy += Real(0.5) * w.mass_scale[b] *
              (m.bodies[b].mass * math::dot(v, v) + math::dot(u, math::scale(m.bodies[b].inertia, u)));
  }
  for (int i = 0; i < m.axis_count; ++i) {
    if (!(m.axes[i].armature > 0)) continue;
    const Real rate = length_of_axis(m, w, i).rate;
    energy += Real(0.5) * m.axes[i].armature * rate * rate;
  }
  return energy;
}

// From a frame's origin along its z axis to the first shape of another body, -1 where there is none.
template <typename Real>
AXION_HD_CALL Real range_to_shapes(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::SensorData<Real>& sensor) {
  const FrameMotion<Real> f = frame_motion(motions_at_pose(w), sensor.frame);
  const math::Vec3<Real> ray = math::rotate(f.q, math::Vec3<Real>{0, 0, 1});
  Real nearest = Real(collide::kNoHit);
  for (int s = 0; s < m.shape_count; ++s) {
    if (m.shape_contacts[s].part == sensor.frame.part) continue;
    const model::ShapeData<Real>& shape = m.shapes[s];
    math::Vec3<Real> p = shape.p_CS;
    math::Quat<Real> q = shape.q_CS;
    if (shape.body >= 0) {
      p = w.x[shape.body] + math::rotate(w.q[shape.body], p);
      q = w.q[shape.body] * q;
    }
    const Real at = collide::cast_ray(collide::shape_of(m, shape), math::rotate_inverse(q, f.p - p),
                                      math::normalized(math::rotate_inverse(q, ray)));
    nearest = collide::nearer_hit(nearest, at);
  }
  return nearest;
}

template <typename Real>
AXION_HD inline void read_ball(const model::ModelView<Real>& m, const model::UserLayout<Real>& user,
                               const model::WorldView<Real>& w, const model::SensorData<Real>& sensor,
                               Reading<Real>& to) {
  const model::JointData<Real>& joint = m.joints[sensor.joint];
  const math::Quat<Real> q_BC = user.q_BC[joint.child];
  if (sensor.kind == model::SensorKind::kBallQuaternion) {
    const math::Quat<Real> q_P = joint.parent < 0 ? math::Quat<Real>{} : w.q[joint.parent];
    const math::Quat<Real> turn = math::conjugate(q_P * joint.q_PM0) * w.q[joint.child];
    return to.put(math::normalized(q_BC * turn * math::conjugate(q_BC)));
  }
  math::Vec3<Real> rate = w.omega_at_pose[joint.child];
  if (joint.parent >= 0) rate -= w.omega_at_pose[joint.parent];
  to.put(math::rotate_inverse(w.q[joint.child] * math::conjugate(q_BC), rate));
}

template <typename Real>
AXION_HD_CALL void read_sensor(const model::ModelView<Real>& m, const model::UserLayout<Real>& user,
                               const model::WorldView<Real>& w, const model::SensorData<Real>& sensor,
                               Reading<Real>& to) {
  using enum model::SensorKind;
  const auto effort = [&](int i) { return m.actuators[i].gear * actuator_force(m, w, i); };
  switch (sensor.kind) {
    case kJointPosition:
      to.value[0] = axis_coordinate(m, w, sensor.joint, sensor.axis);
      return;
    case kJointVelocity:
      to.value[0] = axis_rate_at_pose(m, w, sensor.joint, sensor.axis);
      return;
    case kTendonPosition:
      to.value[0] = length_of_axis(m, w, sensor.axis).length;
      return;
    case kTendonVelocity:
      to.value[0] = length_of_axis(m, w, sensor.axis).rate;
      return;
    case kJointActuatorForce:
      to.value[0] = effort_on_axis(m, w, sensor.joint, sensor.axis, effort);
      return;
    case kTendonActuatorForce:
      to.value[0] = effort_of_own(m.axes[axis_of_sensor(m, sensor)], effort);
      return;
    case kJointLimitPosition:
    case kJointLimitVelocity:
    case kTendonLimitPosition:
    case kTendonLimitVelocity:
      to.value[0] = limit_reading(m, w, sensor, axis_of_sensor(m, sensor));
      return;
    case kBallQuaternion:
    case kBallAngularVelocity:
      return read_ball(m, user, w, sensor, to);
    case kActuatorPosition:
      to.value[0] = m.actuators[sensor.actuator].gear * actuator_length(m, w, sensor.actuator).length;
      return;
    case kActuatorVelocity:
      to.value[0] = m.actuators[sensor.actuator].gear * actuator_length(m, w, sensor.actuator).rate;
      return;
    case kActuatorForce:
      to.value[0] = actuator_force(m, w, sensor.actuator);
      return;
    case kRangefinder:
      to.value[0] = range_to_shapes(m, w, sensor);
      return;
    case kSubtreeCentre:
    case kSubtreeLinearVelocity:
    case kSubtreeAngularMomentum:
      return read_subtree(m, w, sensor, to);
    case kPotentialEnergy:
      to.value[0] = potential_energy(m, w, sensor);
      return;
    case kKineticEnergy:
      to.value[0] = kinetic_energy(m, w);
      return;
    case kDistance:
    case kNormal:
    case kFromTo:
      return read_distance(m, w, sensor, to.value);
    case kClock:
      to.value[0] = Real(*w.time);
      return;
    default:
      return read_frame(w, sensor, to);
  }
}

template <typename Real>
AXION_HD inline Real cut_off(model::CutoffRule rule, Real cutoff, Real value) {
  if (!(cutoff > 0) || rule == model::CutoffRule::kNone) return value;
  if (value > cutoff) return cutoff;
  return rule == model::CutoffRule::kReal && value < -cutoff ? -cutoff : value;
}

template <typename Real>
AXION_HD inline void store_sensor(const model::ModelView<Real>& m, const model::UserLayout<Real>& user,
                                  const model::WorldView<Real>& w, const model::SensorData<Real>& sensor,
                                  std::byte* out) {
  if (sensor.kind == model::SensorKind::kUser) {
    for (int i = 0; i < sensor.size; ++i) store_element(out, sensor.start + i, Real(0));
    return;
  }
  Reading<Real> reading;
  const Real* value = reading.value;
  if (sensor.sensed_start < 0) {
    read_sensor(m, user, w, sensor, reading);
  } else {
    value = w.sensed + sensor.sensed_start;
  }
  for (int i = 0; i < sensor.size; ++i) {
    store_element(out, sensor.start + i, cut_off(sensor.cutoff_rule, sensor.cutoff, sensor.scale * value[i]));
  }
}

}  // namespace axion::readout
