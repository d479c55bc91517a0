// The laws of springs, dampers and drives along one joint coordinate s, and their share of backward Euler.
//
// k is the stiffness and d the damping of all that acts on an axis without bounds. Forces belong to the start of a
// step, between the velocities before and after, where the trapezoidal rule is second order: damping takes the mean of
// ṡ⁻ and ṡ⁺, a spring that of s⁻⁻, s⁻ twice, s⁺. It keeps the energy of motions that the step cannot follow, so laws
// that are stiff against the step take a share of backward Euler, which damps them:
//
//   z = h (d + h k/2) / (I + a),   I = 1/(J M⁻¹ Jᵀ) of the two bodies, a the armature
//   share w = max(0, 1 − z₀/z)
//
// Of the linear axis I ẍ + d ẋ + k x = 0 no root is outside the unit circle for any h, and all tend to zero where d or
// k does to infinity. In: row_start, inertias. Out: euler_share of each axis. Cost: linear in axes and drives.
#pragma once

#include "engine/constraints/actuator_laws.hpp"
#include "engine/constraints/free_motion.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/constraints/tendon_rows.hpp"

namespace axion::constraints {

// K and D of an axis.
template <typename Real>
struct AxisLaw {
  Real stiffness, damping;
};

// Those of a drive without curves.
template <typename Real>
AXION_HD inline AxisLaw<Real> drive_law(const model::ActuatorData<Real>& actuator, const model::WorldView<Real>& w) {
  const Real gain = w.gain_scale[actuator.control] * actuator.gear * actuator.gear;
  return {actuator.kind == model::ActuatorKind::kPosition ? gain * actuator.kp : Real(0), gain * actuator.kd};
}

// The spring of an axis at coordinate s, as it pulls there.
template <typename Real>
struct Spring {
  Real stiffness, rest;
};
// A tendon's may be slack over a range.
template <typename Real>
AXION_HD_RARE Spring<Real> spring_of_tendon(const model::ModelView<Real>& m, int i, Real s) {
  const model::AxisData<Real>& axis = m.axes[i];
  const Real slack = tendon_of_axis(m, i).spring_slack, beyond = s - axis.spring_reference;
  if (!(slack > 0) || beyond < 0) return {axis.stiffness, axis.spring_reference};
  if (beyond > slack) return {axis.stiffness, axis.spring_reference + slack};
  return {0, s};
}
template <typename Real>
AXION_HD inline Spring<Real> spring_of_axis(const model::ModelView<Real>& m, int i, Real s) {
  if (i >= m.joint_axis_count) return spring_of_tendon(m, i, s);
  return {m.axes[i].stiffness, m.axes[i].spring_reference};
}

// Of an actuator with curves at the state and under the controls of the step.
template <typename Real>
AXION_HD_RARE AxisLaw<Real> curved_law(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i,
                                       const model::ActuatorData<Real>& actuator) {
  const Real rate = axis_velocity(m, w, i, w.v, w.omega);
  const CurvedEffort<Real> effort =
      effort_by_curves(m, w, actuator, w.axis_position[i], rate, clamped_control(actuator, w.control));
  return {effort.stiffness, effort.damping};
}

// Of the joint itself and of its drives that have no bounds.
template <typename Real>
AXION_HD inline AxisLaw<Real> axis_law(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  const model::AxisData<Real>& axis = m.axes[i];
  AxisLaw<Real> law{spring_of_axis(m, i, w.axis_position[i]).stiffness, axis.damping};
  for (int k = axis.actuator_start; k < axis.actuator_start + axis.actuator_count; ++k) {
    const model::ActuatorData<Real>& actuator = m.actuators[k];
    if (actuator.kind == model::ActuatorKind::kMotor || actuator.effort_limited) continue;
    const AxisLaw<Real> drive = actuator.curves < 0 ? drive_law(actuator, w) : curved_law(m, w, i, actuator);
    law.stiffness += drive.stiffness, law.damping += drive.damping;
  }
  return law;
}

// Of the part of a tendon's or an equality's length that goes through space, J M⁻¹ Jᵀ of its bodies alone. Pulls on a
// body may cancel; so that a row always has a scale it is no less than kLeastMobility times the sum of each piece's.
template <typename Real>
AXION_HD_RARE Real path_mobility(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                 const model::TendonData<Real>& tendon) {
  Real together = 0, apart = 0;
  math::Vec3<Real> linear{}, angular{};
  const auto moved = [&](int b, const math::Vec3<Real>& l, const math::Vec3<Real>& k) {
    return math::dot(l, l) / body_mass(m, w, b) + math::dot(k, w.I_inverse[b] * k);
  };
  int body = -1;
  const auto add_body = [&] {
    if (body >= 0) together += moved(body, linear, angular);
    linear = angular = {};
  };
  const auto add_side = [&](int term, int b, bool on_a) {  // those of a body follow each other
    if (b != body) add_body();
    body = b;
    const model::Row<Real>& row = w.tendon_force[term];
    apart += moved(b, row.l, on_a ? row.k_a : row.k_b);
    linear += on_a ? row.l : -row.l;
    angular += on_a ? row.k_a : row.k_b;
  };
  for_each_path_side(m, tendon, add_side);
  add_body();
  const Real least = Real(AxisParameters::kLeastMobility) * apart;
  return together > least ? together : least;
}

// Σ c_k² r_k over the terms of a tendon or an equality, r_k = mobility(term) of its joint's axis alone: what an impulse
// along it moves, but for what joints next to each other do to the body between them. Paths through space have that of
// their bodies alone.
template <typename Real, typename F>
AXION_HD_RARE Real tendon_mobility(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::TendonData<Real>& tendon, F&& mobility) {
  Real sum = 0;
  if (tendon.side_count > 0) sum = path_mobility(m, w, tendon);
  for_each_term(tendon, [&](int k) {
    if (m.tendon_terms[k].axis < 0) return;
    sum += w.tendon_weight[k] * w.tendon_weight[k] * mobility(k);
  });
  return sum;
}

// I + a of a tendon's axis i, as its joints have it.
template <typename Real>
AXION_HD_RARE Real tendon_inertia(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  const Real mobility = tendon_mobility(m, w, tendon_of_axis(m, i), [&](int k) {
    const int of = m.tendon_terms[k].axis;
    const model::JointData<Real>& joint = m.joints[m.axes[of].joint];
    const model::Row<Real>& row = w.row_start[m.axis_base() + of];
    return Real(1) / (Real(1) / row_product(m, w, row, row, joint.child, joint.parent) + m.axes[of].armature);
  });
  return Real(1) / mobility + m.axes[i].armature;
}

// I + a of axis i.
template <typename Real>
AXION_HD inline Real axis_inertia(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  if (i >= m.joint_axis_count) return tendon_inertia(m, w, i);
  const model::JointData<Real>& joint = m.joints[m.axes[i].joint];
  const model::Row<Real>& row = w.row_start[m.axis_base() + i];
  return Real(1) / row_product(m, w, row, row, joint.child, joint.parent) + m.axes[i].armature;
}

// Share of backward Euler of a law on axis i. Needs row_start and turn_inertias.
template <typename Real>
AXION_HD inline Real stiff_share(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i,
                                 const AxisLaw<Real>& law, Real dt) {
  const Real push = dt * (law.damping + dt / 2 * law.stiffness);
  if (!(push > 0)) return 0;
  const Real held = Real(AxisParameters::kSoft) * axis_inertia(m, w, i);
  return push > held ? Real(1) - held / push : Real(0);
}

// axis_weight; all one without a leapfrog, whose velocities belong to the end of the step.
template <typename Real, typename Team>
AXION_HD inline void weigh_axes(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::StepSettings<Real>& s) {
  team.for_each(m.axis_count, [&](int i) {
    w.constraints.euler_share[i] = s.half_step_start ? stiff_share(m, w, i, axis_law(m, w, i), s.dt) : Real(1);
  });
}

// The greatest dry friction of an axis at the rate ṡ⁻ that a step begins with. By Stribeck's curve it falls from static
// friction to the friction loss: friction_loss + (static_friction − friction_loss)/(1 + (ṡ⁻/stribeck_velocity)²). A
// bound that followed ṡ⁺ would leave several solutions, as friction may fall faster with the rate than inertia resists.
// The error is of first order in the step. Source: Hess and Soom 1990, "Friction at a lubricated line contact operating
// at oscillating sliding velocities".
template <typename Real>
AXION_HD inline Real greatest_friction(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                       const model::EffortData<Real>& effort) {
  const model::AxisData<Real>& axis = m.axes[effort.axis];
  const Real rise = axis.static_friction - effort.friction_loss;
  if (!(rise > 0)) return effort.friction_loss;
  const Real x = axis_velocity(m, w, effort.axis, w.v, w.omega) / axis.stribeck_velocity;
  return effort.friction_loss + rise / (1 + x * x);
}

}  // namespace axion::constraints
