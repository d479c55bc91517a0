// What sensors of accelerations and forces read of the step just made: `sensed`, kept for write_field.
//
// They are those at the start of the step, at its poses: there a leapfrog's kick gives the accelerations to second
// order, and MuJoCo has them likewise after a step.
//   a = (v⁺ − v⁻)/t_f, t_f the time that forces act in the step (constraints/force_steps.hpp)
//   v = v⁻ + t_o a, t_o the part of it that the last step owed: the velocity at the start's poses
//   α = (ω⁺ − ω̃)/t_f − I⁻¹(ω × Iω), ω̃ that of the free body after the gyroscopic part
// Accelerometers and linear accelerations are less gravity, as MuJoCo's. Force and torque are what the parent exerts on
// a body, by Newton and Euler over all that hangs on it:
//   f = Σ m (a − g) − Σ f_ext,  τ = Σ I α + ω × Iω + (p − p_S) × m (a − g) − Σ τ_ext + (p_ext − p_S) × f_ext
// so that welds have forces as joints have. External are contacts, wrenches and joints that close loops.
// Needs the scratch of a step that was accepted, before synchronise. Cannot fail.
#pragma once

#include "engine/base/partition_point.hpp"
#include "engine/collide/ray_shapes.hpp"
#include "engine/constraints/free_motion.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/step_settings.hpp"
#include "engine/readout/frame_motion.hpp"
#include "engine/readout/readout_scratch.hpp"
#include "engine/readout/sense_contacts.hpp"

namespace axion::readout {

// Before the step: what of its start the sensors will ask for.
template <typename Real, typename Team>
AXION_HD inline void begin_sensing(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  team.for_each(m.body_count, [&](int b) {
    w.readout.start_x[b] = w.x[b], w.readout.start_q[b] = w.q[b];
    w.readout.start_v[b] = w.v[b], w.readout.start_omega[b] = w.omega[b];
  });
}

// Accelerations of body b, and its velocities at the start's poses.
template <typename Real>
AXION_HD_CALL void find_accelerations(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                      const model::StepSettings<Real>& s, int b) {
  const Real time = w.body_force_step[b];
  const Real owed = time - s.dt + w.body_force_debt[b] * s.dt;  // by the last step
  const math::Quat<Real> q = w.readout.start_q[b];
  const math::Vec3<Real> I = constraints::body_inertia(m, w, b);
  math::Vec3<Real>&v = w.readout.start_v[b], &omega = w.readout.start_omega[b];
  const math::Vec3<Real> a = (1 / time) * (w.v_plus[b] - v);
  const math::Vec3<Real> free = constraints::gyroscopic_velocity(s.gyroscopic_mode, q, I, omega, s.dt);
  const math::Vec3<Real> turned = (1 / time) * (w.omega_plus[b] - free);
  v += owed * a, omega += owed * turned;
  const math::Vec3<Real> spin = math::rotate_inverse(q, omega);
  const math::Vec3<Real> L = math::cross(spin, math::scale(I, spin));
  w.readout.acceleration[b] = a;
  w.readout.turning[b] = turned - math::rotate(q, math::Vec3<Real>{L.x / I.x, L.y / I.y, L.z / I.z});
}

template <typename Real>
AXION_HD inline BodyMotions<Real> start_motions(const model::WorldView<Real>& w) {
  return {w.readout.start_x, w.readout.start_q, w.readout.start_v, w.readout.start_omega};
}

// Acceleration of a point of body b (-1: the world) at `arm` from its centre of mass.
template <typename Real>
AXION_HD inline math::Vec3<Real> point_acceleration(const model::WorldView<Real>& w, int b,
                                                    const math::Vec3<Real>& arm) {
  if (b < 0) return {};
  const math::Vec3<Real>& omega = w.readout.start_omega[b];
  return w.readout.acceleration[b] + math::cross(w.readout.turning[b], arm) +
         math::cross(omega, math::cross(omega, arm));
}

// A force and a torque about a point.
template <typename Real>
struct Load {
  math::Vec3<Real> force{}, torque{};
  AXION_HD void add(const math::Vec3<Real>& arm, const math::Vec3<Real>& f, const math::Vec3<Real>& t) {
    force += f;
    torque += math::cross(arm, f) + t;
  }
};

// What the parent of the sensor's body exerts on it, about p.
template <typename Real>
AXION_HD_CALL Load<Real> load_of_subtree(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                         const model::SensorData<Real>& sensor, const math::Vec3<Real>& p) {
  const int* list = m.sensors.part_list + sensor.part_start;
  const auto hangs = [&](int part) {
    const int i = partition_point(0, sensor.part_count, [&](int k) { return list[k] < part; });
    return i < sensor.part_count && list[i] == part;
  };
  Load<Real> load;
  for (int k = 0; k < sensor.part_count; ++k) {
    const model::SensorPart<Real>& part = m.sensors.parts[list[k] - 1];
    const int b = part.body;
    if (b < 0) {
      load.add(part.p - p, -part.mass * m.gravity, {});
      continue;
    }
    const Real scale = w.mass_scale[b];
    const math::Quat<Real> q = w.readout.start_q[b];
    const math::Vec3<Real> arm = math::rotate(q, part.p);
    const auto inertia = [&](const math::Vec3<Real>& v) {
      const math::Vec3<Real> u = math::rotate_inverse(q, v);
      return scale * math::rotate(q, math::Vec3<Real>{math::dot(part.I_row[0], u), math::dot(part.I_row[1], u),
                                                      math::dot(part.I_row[2], u)});
    };
    const math::Vec3<Real> force = scale * part.mass * (point_acceleration(w, b, arm) - m.gravity);
    const math::Vec3<Real>& omega = w.readout.start_omega[b];
    load.add(w.readout.start_x[b] + arm - p, force, inertia(w.readout.turning[b]) + math::cross(omega, inertia(omega)));
    if (part.is_root) load.add(w.readout.start_x[b] - p, -w.force[b], -w.torque[b]);
  }
  for (int i = 0; i < w.record->contact_count; ++i) {
    const model::Contact<Real>& c = w.contacts[i];
    const model::PairData<Real> pair = model::pair_data(m, c.pair);
    const bool on_a = hangs(m.shape_contacts[pair.shape_a].part), on_b = hangs(m.shape_contacts[pair.shape_b].part);
    if (on_a == on_b) continue;
    const math::Vec3<Real> force = contact_force(w, i);
    load.add(w.readout.start_x[c.body_a] + c.r_a - p, on_a ? -force : force, {});
    if (m.moment_capacity > 0) load.torque += on_a ? -contact_torque(m, w, i) : contact_torque(m, w, i);
  }
  for (int l = 0; l < m.loop_count; ++l) {
    const model::LoopParts& parts = m.sensors.loops[l];
    const bool child = hangs(parts.child), parent = hangs(parts.parent);
    if (child == parent) continue;
    const int j = m.joint_count - m.loop_count + l;
    const Real share = (child ? -1 : 1) / w.joint_force_step[j];
    load.add(w.readout.start_x[m.joints[j].child] - p, share * w.joint_impulse[j], share * w.joint_angular_impulse[j]);
  }
  return load;
}

// Normal forces of the contacts of the sensor's body whose place, or the way out of the body from there, is in the
// zone.
template <typename Real>
AXION_HD_CALL Real touch_force(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::SensorData<Real>& sensor, const FrameMotion<Real>& zone) {
  const collide::Shape<Real> shape{sensor.zone, sensor.vector};
  Real sum = 0;
  for (int i = 0; i < w.record->contact_count; ++i) {
    const model::Contact<Real>& c = w.contacts[i];
    const model::PairData<Real> pair = model::pair_data(m, c.pair);
    const bool is_a = m.shape_contacts[pair.shape_a].part == sensor.frame.part;
    if (!is_a && m.shape_contacts[pair.shape_b].part != sensor.frame.part) continue;
    const Real force = w.lambda_contact[3 * i] / w.body_force_step[c.body_a];
    if (!(force > 0)) continue;
    const math::Vec3<Real> middle = contact_place(c);
    const math::Vec3<Real> out = is_a ? -c.normal : c.normal;
    const Real way =
        collide::cast_ray(shape, math::rotate_inverse(zone.q, middle - zone.p), math::rotate_inverse(zone.q, out));
    if (way >= 0) sum += force;
  }
  return sum;
}

// The reading of one sensor, in `to`.
template <typename Real>
AXION_HD_CALL void sense(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                         const model::SensorData<Real>& sensor, Real* to) {
  const FrameMotion<Real> frame = frame_motion(start_motions(w), sensor.frame);
  const auto put = [&](const math::Vec3<Real>& v) { to[0] = v.x, to[1] = v.y, to[2] = v.z; };
  const auto less_gravity = [&] {
    const int b = sensor.frame.body;
    return (b < 0 ? math::Vec3<Real>{} : point_acceleration(w, b, frame.p - w.readout.start_x[b])) - m.gravity;
  };
  switch (sensor.kind) {
    case model::SensorKind::kAccelerometer:
      return put(math::rotate_inverse(frame.q, less_gravity()));
    case model::SensorKind::kFrameLinearAcceleration:
      return put(less_gravity());
    case model::SensorKind::kFrameAngularAcceleration:
      return put(sensor.frame.body < 0 ? math::Vec3<Real>{} : w.readout.turning[sensor.frame.body]);
    case model::SensorKind::kForce:
      return put(math::rotate_inverse(frame.q, load_of_subtree(m, w, sensor, frame.p).force));
    case model::SensorKind::kTorque:
      return put(math::rotate_inverse(frame.q, load_of_subtree(m, w, sensor, frame.p).torque));
    case model::SensorKind::kTouch:
      to[0] = touch_force(m, w, sensor, frame);
      return;
    case model::SensorKind::kContact:
      return sense_contacts(m, w, sensor, frame, to);
    case model::SensorKind::kJointLimitForce:
    case model::SensorKind::kTendonLimitForce: {
      const model::AxisData<Real>& axis = m.axes[axis_of_sensor(m, sensor)];
      to[0] = axis.limit < 0 ? Real(0) : w.lambda_joint[m.limit_base() + axis.limit] / w.joint_force_step[axis.joint];
      return;
    }
    default:
      return;
  }
}

// After a step that was accepted, and keep_joint_impulses.
template <typename Real, typename Team>
AXION_HD_CALL void end_sensing(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::StepSettings<Real>& s) {
  team.for_each(m.body_count, [&](int b) { find_accelerations(m, w, s, b); });
  team.for_each(m.sensors.count, [&](int i) {
    const model::SensorData<Real>& sensor = m.sensors.list[i];
    if (sensor.sensed_start >= 0) sense(m, w, sensor, w.sensed + sensor.sensed_start);
  });
}

}  // namespace axion::readout
