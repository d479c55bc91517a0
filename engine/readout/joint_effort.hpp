// What all actuators together do along an axis of a joint at the present state, MuJoCo's qfrc_actuator:
//
//   f = Σ_i e_i ∂s_i/∂s,   e_i the actuator's force times its gear, s_i what it acts along
//
// ∂s_i/∂s is the rate of s_i while the axis alone moves at a unit rate, and with it all that hangs on its joint:
// ω = n, v = n × (x − p) of a hinge about n through p; v = n of a slide. Cost: linear in actuators, times the depth of
// the tree for those at sites and on paths through space. Used by read_sensors.hpp. Cannot fail.
#pragma once

#include "engine/constraints/axis_laws.hpp"
#include "engine/constraints/motor_forces.hpp"
#include "engine/model/tendon_path.hpp"

namespace axion::readout {

// Of all that hangs on a joint.
template <typename Real>
struct UnitMotion {
  int joint;
  bool turns;
  math::Vec3<Real> n, p;  // world
};

template <typename Real>
AXION_HD_CALL UnitMotion<Real> unit_motion(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                           int joint_index, int axis) {
  const model::JointData<Real>& joint = m.joints[joint_index];
  const math::Quat<Real> q_M0 = joint.parent < 0 ? joint.q_PM0 : w.q[joint.parent] * joint.q_PM0;
  if (axis < joint.slide_count) {
    return {joint_index, false, math::rotate(q_M0, constraints::slide_direction(joint, axis)), {}};
  }
  const int hinge = axis - joint.slide_count;
  constraints::Chain<Real> chain;
  constraints::evaluate_chain<constraints::JointParts::kRows>(m, joint, q_M0, w.q[joint.child], w.axis_position, chain);
  UnitMotion<Real> motion{joint_index, true, chain.a[hinge],
                          w.x[joint.child] + math::rotate(w.q[joint.child], joint.p_CA)};
  for (int k = hinge; k < chain.offset_count; ++k) motion.p -= chain.offset[k];
  return motion;
}

template <typename Real>
AXION_HD inline constraints::BodyVelocity<Real> velocity_under(const model::ModelView<Real>& m,
                                                               const model::WorldView<Real>& w,
                                                               const UnitMotion<Real>& motion, int body) {
  int carrier = body;
  while (carrier >= 0 && m.bodies[carrier].joint != motion.joint) carrier = m.bodies[carrier].parent;
  if (carrier < 0) return {};
  if (!motion.turns) return {motion.n, {}};
  return {math::cross(motion.n, w.x[body] - motion.p), motion.n};
}

// How the length of a tendon changes: of joint coordinates, or of a path.
template <typename Real>
AXION_HD_RARE Real tendon_rate_under(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                     const UnitMotion<Real>& motion, int axis, const model::TendonData<Real>& tendon) {
  Real rate = 0;
  if (tendon.span_count == 0) {
    constraints::for_each_term(tendon, [&](int k) {
      if (m.tendon_terms[k].axis == axis) rate += m.tendon_terms[k].first;
    });
    return rate;
  }
  const auto add = [&](int k, const model::Row<Real>& row) {
    const model::TendonTermData<Real>& term = m.tendon_terms[k];
    const constraints::BodyVelocity<Real> a = velocity_under(m, w, motion, term.a),
                                          b = velocity_under(m, w, motion, term.b);
    rate += term.first * (math::dot(row.l, a.v - b.v) + math::dot(row.k_a, a.omega) + math::dot(row.k_b, b.omega));
  };
  model::measure_path(m.tendon_spans + tendon.span_start, tendon.span_count, {w.x, w.q}, add);
  return rate;
}

// What the actuators of an axis, of a joint or a tendon, do along it together; effort(i) of actuator i, with its gear.
template <typename Real, typename F>
AXION_HD_CALL Real effort_of_own(const model::AxisData<Real>& axis, F&& effort) {
  Real sum = 0;
  for (int i = axis.actuator_start; i < axis.actuator_start + axis.actuator_count; ++i) sum += effort(i);
  return axis.actuator_count > 1 ? constraints::clamp(sum, axis.motors_lower, axis.motors_upper) : sum;
}

template <typename Real, typename F>
AXION_HD_CALL Real effort_on_axis(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int joint, int axis,
                                  F&& effort) {
  const int own = m.joints[joint].axis_start + axis;
  Real sum = effort_of_own(m.axes[own], effort);
  if (m.axes[own].actuator_count == m.actuator_count) return sum;
  const UnitMotion<Real> motion = unit_motion(m, w, joint, axis);
  for (int i = 0; i < m.actuator_count && m.actuators[i].axis < 0; ++i) {
    sum += effort(i) *
           constraints::site_rate(w, m.site_motors[i], [&](int body) { return velocity_under(m, w, motion, body); });
  }
  for (int of = m.joint_axis_count; of < m.axis_count; ++of) {
    if (m.axes[of].actuator_count == 0) continue;
    const Real rate = tendon_rate_under(m, w, motion, own, constraints::tendon_of_axis(m, of));
    sum += rate * effort_of_own(m.axes[of], effort);
  }
  return sum;
}

}  // namespace axion::readout
