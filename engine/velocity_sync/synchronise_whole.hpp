// Velocities at the instant of the poses by one system for the whole world, which serves loops, locks that give way and
// any contacts: the rows of a step at q⁺, over the time that is owed.
//
//   locks     J(q⁺) v = 0; the impulse is known where they give way
//   axes      compliance 1/β, residual J v − α/β, over h_o; a limit that pushes keeps its rate
//   contacts  held ones keep their velocities, by gains G as problem/linearise.hpp has them; known impulses are loads
//
// In: touches, and a step that was accepted, with its scratch. Out: v_plus, omega_plus. Cost: one linear solve, a few
// where bodies are free.
#pragma once

#include "engine/newton/linear_solver.hpp"
#include "engine/velocity_sync/owed_forces.hpp"

namespace axion::velocity_sync {

// alpha, beta, row and axis_impulse of an axis over the time that it owes at the end pose.
template <typename Real>
AXION_HD_CALL void owe_axis(const solver::Problem<Real>& p, int i) {
  const auto& w = p.w;
  const int row = p.axis_base() + i;
  const OwedAxis<Real> owed = owed_axis(p, i, constraints::axis_velocity<Real>(p.m, w, i, w.v, w.omega));
  w.axis_alpha[i] = owed.alpha, w.axis_beta[i] = owed.beta, w.axis_impulse[i] = owed.impulse;
  if (i >= p.m.joint_axis_count) return;
  w.row[row] = owed.beta > 0 ? w.row_start[row] : model::Row<Real>{};
}

// A row that does nothing more: its impulse is known.
template <typename Real>
AXION_HD inline void release_row(const solver::Problem<Real>& p, int row) {
  p.w.row_rhs[row] = 0;
  p.w.compliance[row] = Real(laws::kReleaseGain) * p.w.row_scale[row];
}

// Limit and efforts of an axis. A limit that pushes keeps the rate of its axis.
template <typename Real>
AXION_HD_CALL void owe_condensed(const solver::Problem<Real>& p, int i) {
  const auto& w = p.w;
  const model::AxisData<Real>& axis = p.m.axes[i];
  const bool of_joint = i < p.m.joint_axis_count;
  const model::Row<Real>& along = w.row_start[p.axis_base() + i];
  const Real rate = constraints::axis_velocity<Real>(p.m, w, i, w.v, w.omega);
  if (axis.limit >= 0) {
    const int row = p.limit_base() + axis.limit;
    const Real sign = w.limit_side[axis.limit] < 0 ? Real(1) : Real(-1);
    if (of_joint) w.row[row] = {sign * along.l, sign * along.k_a, sign * along.k_b};
    release_row(p, row);
    if (w.lambda_joint[row] > 0) {
      w.row_rhs[row] = -sign * rate;
      w.compliance[row] = solver::joint_proximal<Real>() * w.row_scale[row];
    }
  }
  for (int e = axis.effort_start; e < axis.effort_start + axis.effort_count; ++e) {
    const int row = p.effort_base() + e;
    const OwedEffort<Real> owed = owed_effort(p, i, e, rate);
    if (of_joint) w.row[row] = along;
    release_row(p, row);
    w.axis_impulse[i] += owed.impulse;
    if (owed.compliance > 0) w.row_rhs[row] = owed.residual, w.compliance[row] = owed.compliance;
  }
  if (!of_joint) return;
  if (p.m.tendon_axis_count > 0) w.axis_impulse[i] += constraints::impulse_of_tendons<Real>(p.m, w, i);
  if (!(w.axis_beta[i] > 0)) return;
  w.axis_alpha[i] += w.axis_impulse[i];  // by the axis row, as in the step (constraints/axis_rows.hpp)
  w.axis_impulse[i] = 0;
}

// The impulse over the time that is owed of an equality that gives way; a rigid one holds its rate.
template <typename Real>
AXION_HD_RARE Real owed_by_equality(const solver::Problem<Real>& p, int t) {
  const model::TendonData<Real>& equality = p.m.tendons[t];
  if (equality.axis >= 0 || !constraints::gives_way<Real>(p.m, p.w, equality)) return 0;
  const int j = p.m.lock_joint[equality.lock];
  return owed_share(p.w.joint_force_debt[j], p.w.joint_force_step[j], p.s.dt) * p.w.lambda_joint[equality.lock];
}

// Impulse on body b over the time that it owes, but of what joints and their axes lock and resist.
template <typename Real>
AXION_HD_CALL solver::Impulse<Real> owed_impulse(const solver::Problem<Real>& p, int b) {
  const auto& w = p.w;
  solver::Impulse<Real> sum;
  model::for_each_joint<Real>(p.m, b, [&](int j, bool on_child) {
    const model::JointData<Real>& joint = p.m.joints[j];
    for (int i = joint.axis_start; i < joint.axis_start + joint.axis_count; ++i) {
      sum.add(w.row_start[p.axis_base() + i], w.axis_impulse[i], on_child);
    }
    if (!constraints::gives_way<Real>(p.m, p.w, joint)) return;
    const Real share = owed_share(w.joint_force_debt[j], w.joint_force_step[j], p.s.dt);
    const int locks = joint.translation_lock_count + joint.rotation_lock_count;
    for (int i = joint.lock_start; i < joint.lock_start + locks; ++i)
      sum.add(w.row_start[i], share * w.lambda_joint[i], on_child);
  });
  if (p.m.side_count > 0) constraints::add_path_impulses<Real>(p.m, w, b, sum.linear, sum.angular);
  if (p.m.tendon_count > p.m.tendon_axis_count) {
    solver::add_tendon_impulses(
        solver::impulse_rows<Real>(p.m, p.w), b, [&](int t) { return owed_by_equality(p, t); }, sum);
  }
  add_owed_contacts(p, b, sum);
  return sum;
}

// Rows of the joints at the end pose, and what bodies would do without them, in v_plus and omega_plus.
template <typename Real, typename Team>
AXION_HD_CALL void owe_forces(const Team& team, const solver::Problem<Real>& p) {
  const auto& w = p.w;
  constraints::start_joints(team, p.m, w);
  constraints::turn_inertias(team, p.m, w);
  team.for_each(p.m.axis_count, [&](int i) { owe_axis(p, i); });
  if (p.m.tendon_axis_count > 0) {
    team.for_each(p.m.tendon_axis_count, [&](int t) { owe_condensed(p, p.m.joint_axis_count + t); });
  }
  team.for_each(p.m.joint_axis_count, [&](int i) { owe_condensed(p, i); });
  team.for_each(p.m.body_count, [&](int b) {
    solver::Impulse<Real> sum = owed_impulse(p, b);
    const Real h = w.body_force_debt[b] * p.s.dt;
    add_owed_forces(p, b, h, sum);
    w.v_plus[b] =
        w.v[b] + h * p.m.gravity + (Real(1) / constraints::body_mass(p.m, w, b)) * (sum.linear + h * w.force_before[b]);
    w.omega_plus[b] = w.omega[b] + w.I_inverse[b] * (sum.angular + h * w.torque_before[b]);
    if (p.m.fluid_parts != nullptr) {
      const auto fluid = constraints::fluid_impulse_on(p.m, w, b, h, w.v_plus[b], w.omega_plus[b]);
      w.v_plus[b] += (Real(1) / constraints::body_mass(p.m, w, b)) * fluid.linear;
      w.omega_plus[b] += w.I_inverse[b] * fluid.angular;
    }
    w.g_linear[b] = w.g_angular[b] = math::Vec3<Real>{};
    w.K_geometric[b] = {};
    w.rotation_derivative[b] = math::Mat3<Real>::identity();
  });
}

// Contact i as rows that keep what velocities they hold, contact_gain and contact_offset as problem/linearise.hpp has
// them.
template <typename Real>
AXION_HD_CALL void hold_contact(const solver::Problem<Real>& p, int i) {
  const auto& w = p.w;
  const model::Contact<Real>& c = w.contacts[i];
  const int row = p.contact_base() + 3 * i;
  Real* G = w.contact_gain + 9 * i;
  Real* e = w.contact_offset + 3 * i;
  const Touch touch = noted_touch(p, i);
  held_gains(p, i, touch, G);
  e[0] = e[1] = e[2] = 0;
  if (touch == Touch::kNone) return;
  const auto change = [&](int k) {
    return constraints::row_velocity(w.row[row + k], c.body_a, c.body_b, w.v_plus, w.omega_plus) -
           constraints::row_velocity(w.row[row + k], c.body_a, c.body_b, w.v, w.omega);
  };
  e[0] = G[0] * change(0);
  for (int k = 1; k < 3; ++k) {
    if (touch == Touch::kSticks) e[k] = G[4 * k] * change(k);
    if (touch == Touch::kSlides) e[k] = w.lambda_contact[3 * i + k] / w.lambda_contact[3 * i] * e[0];
  }
}

// Block i, a moment, as hold_contact has contacts.
template <typename Real>
AXION_HD_RARE void hold_moment(const solver::Problem<Real>& p, int i) {
  const auto& w = p.w;
  const model::Contact<Real>& c = w.contacts[i];
  const int row = p.contact_base() + 3 * i;
  Real* G = w.contact_gain + 9 * i;
  held_gains(p, i, Touch::kNone, G);
  for (int k = 0; k < 3; ++k) {
    const Real change = constraints::row_velocity(w.row[row + k], c.body_a, c.body_b, w.v_plus, w.omega_plus) -
                        constraints::row_velocity(w.row[row + k], c.body_a, c.body_b, w.v, w.omega);
    w.contact_offset[3 * i + k] = G[4 * k] * change;
  }
}

// Held contacts give way by about kContactProximal of what they are asked for. In worlds of free bodies, where it costs
// little, further solves take that back; in float32 from a hundredth, which rounds less.
inline constexpr int kFreePasses = 4;

// Rows of tendons and equalities as hold_rows has rows of joints.
template <typename Real, typename Team>
AXION_HD_RARE void hold_tendons(const Team& team, const solver::Problem<Real>& p) {
  const auto& w = p.w;
  team.for_each(p.m.tendon_count, [&](int t) {
    const model::TendonData<Real>& tendon = p.m.tendons[t];
    const Real rate = constraints::tendon_velocity<Real>(p.m, tendon, w.tendon_force, w.v_plus, w.omega_plus);
    const int row = solver::row_of_tendon(p, t);
    if (tendon.axis < 0) {
      w.lock_compliance[row] = w.lambda[row] = 0;
      w.row_rhs[row] = rate;
      w.compliance[row] = solver::joint_proximal<Real>() * w.row_scale[row];
      if (constraints::gives_way<Real>(p.m, p.w, tendon)) release_row(p, row);
      return;
    }
    const Real beta = w.axis_beta[tendon.axis];
    w.row_rhs[row] = beta > 0 ? rate - w.axis_alpha[tendon.axis] / beta : Real(0);
    w.compliance[row] = beta > 0 ? Real(1) / beta : Real(1);
    solver::for_each_row_of_axis<Real>(p.m, p.w.limit_side, tendon.axis, [&](int along, Real sign) {
      if (w.compliance[along] < Real(laws::kReleaseGain) * w.row_scale[along]) w.row_rhs[along] += sign * rate;
    });
  });
}

// Adds what the joints do, J v = 0 and their axes' laws, and what contacts hold.
template <typename Real, typename Team>
AXION_HD_CALL void hold_rows(const Team& team, solver::Problem<Real>& p) {
  const auto& w = p.w;
  const auto velocity = [&](const model::Row<Real>& row, const model::JointData<Real>& joint) {
    return constraints::row_velocity(row, joint.child, joint.parent, w.v_plus, w.omega_plus);
  };
  team.for_each(p.m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = p.m.joints[j];
    const int locks = joint.translation_lock_count + joint.rotation_lock_count;
    for (int i = joint.lock_start; i < joint.lock_start + locks; ++i) {
      w.row[i] = w.row_force[i] = w.row_start[i];
      w.lock_compliance[i] = w.lambda[i] = 0;
      w.row_rhs[i] = velocity(w.row[i], joint);
      w.compliance[i] = solver::joint_proximal<Real>() * w.row_scale[i];
      if (constraints::gives_way<Real>(p.m, p.w, joint)) release_row(p, i);
    }
    for (int i = joint.axis_start; i < joint.axis_start + joint.axis_count; ++i) {
      const int row = p.axis_base() + i;
      const Real beta = w.axis_beta[i];
      w.row_rhs[row] = beta > 0 ? velocity(w.row[row], joint) - w.axis_alpha[i] / beta : Real(0);
      w.compliance[row] = beta > 0 ? Real(1) / beta : Real(1);
    }
    solver::for_each_condensed_row<Real>(p.m, joint, [&](int row) {
      if (w.compliance[row] < Real(laws::kReleaseGain) * w.row_scale[row])
        w.row_rhs[row] += velocity(w.row[row], joint);
    });
  });
  if (p.m.tendon_count > 0) hold_tendons(team, p);
  p.s.linear_solver = model::LinearSolver::kAutomatic;
  for (int pass = 0; pass < (p.m.joint_count + p.m.closing_count > 0 ? 1 : kFreePasses); ++pass) {
    team.for_each(p.contact_count, [&](int i) { hold_contact(p, i); });
    if (p.moment_count > 0) team.for_each(p.moment_count, [&](int k) { hold_moment(p, p.contact_count + k); });
    solver::solve_linear(team, p);
    team.for_each(p.m.body_count, [&](int b) { w.v_plus[b] += w.du_linear[b], w.omega_plus[b] += w.du_angular[b]; });
  }
}

// Whether the solve has a solution: finite velocities, and rigid locks nearer to J(q⁺) v = 0 than the free velocities,
// whose rates are in w.row_rhs, or within the step's tolerance. Sliding friction makes the system unsymmetric, so that
// elimination without exchange of rows may break down where loops stand near their dead points.
template <typename Real, typename Team>
AXION_HD_CALL bool is_solved(const Team& team, const solver::Problem<Real>& p) {
  const auto& w = p.w;
  const auto greatest = [&](auto&& rate) {
    return team.template max<Real>(p.m.joint_lock_count, [&](int i) {
      const model::JointData<Real>& joint = p.m.joints[p.m.lock_joint[i]];
      if (joint.lock_stiffness > 0) return Real(0);
      const Real size = std::abs(rate(i, joint));
      return size <= std::numeric_limits<Real>::max() ? size : std::numeric_limits<Real>::max();  // also of a NaN
    });
  };
  const Real before = greatest([&](int i, const model::JointData<Real>&) { return w.row_rhs[i]; });
  const Real after = greatest([&](int i, const model::JointData<Real>& joint) {
    return constraints::row_velocity(w.row[i], joint.child, joint.parent, w.v_plus, w.omega_plus);
  });
  const Real astray = team.template max<Real>(p.m.body_count, [&](int b) {
    const math::Vec3<Real> sum = w.v_plus[b] + w.omega_plus[b];
    return std::abs(sum.x + sum.y + sum.z) <= std::numeric_limits<Real>::max() ? Real(0) : Real(1);
  });
  return astray == Real(0) && after <= solver::greater(before, p.s.velocity_tolerance);
}

// v_plus, omega_plus at the instant of the poses, by one system for the whole world where `held`, else free of joints
// and contacts. Where the system's solution is none, u itself.
template <typename Real, typename Team>
AXION_HD_CALL void synchronise_whole(const Team& team, solver::Problem<Real>& p, bool held) {
  owe_forces(team, p);
  if (!held || p.m.joint_count + p.m.closing_count + p.contact_count == 0) return;
  hold_rows(team, p);
  if (is_solved(team, p)) return;
  team.for_each(p.m.body_count, [&](int b) { p.w.v_plus[b] = p.w.v[b], p.w.omega_plus[b] = p.w.omega[b]; });
}

}  // namespace axion::velocity_sync
