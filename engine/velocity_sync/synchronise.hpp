// Velocities as clients read them: those at the instant of the poses, v_at_pose and omega_at_pose.
//
// A leapfrog's own velocities u belong to the middle of the last step (constraints/force_steps.hpp). The half step of
// forces that it still owes at the end pose, with the controls and wrench that the step was made with, leads to the
// instant of the pose:
//
//   M̃(v − u) = h/2 (f(q⁺) − d v − …) + Jᵀμ,   J(q⁺) v = 0        one linear solve, as RATTLE has it
//   joint trees: in their own coordinates (synchronise_trees.hpp)
//   loops, locks that give way, many contacts between bodies: one system with the step's own solver
//
// A step from a state that was set with v adds the same half again, so that reading and setting a state leaves the
// trajectory unchanged, to rounding where contacts and stiff laws take no part.
//
// Contacts give the same share of their last impulses, torsional and rolling friction theirs. As an impact leaves other
// impulses than the motion after it, those that press also keep the normal velocity they have, and those that stick
// theirs along the surface; friction of a sliding contact goes with the normal impulse, and turns no slip round.
// Where that has no solution, as a slender body jams on its end, what slides goes on without friction (loosen_jammed).
// Torsional and rolling friction that stick keep their rates, and those that do not turn none round. So a body at rest
// keeps its zero, and a sliding one slows down by half a step's friction. In a pile (newton/attempt.hpp) such a solve
// has no end: there a tree's change is cut short where contacts would part or slip. Bodies that owe nothing read u
// itself.
//
// In: a step that was accepted, with its scratch. Out: v_at_pose, omega_at_pose; nothing that a step reads is written.
// Cost: linear in bodies for trees, else one linear solve.
#pragma once

#include "engine/model/fields.hpp"
#include "engine/newton/attempt.hpp"
#include "engine/newton/parameters.hpp"
#include "engine/velocity_sync/jammed_contacts.hpp"
#include "engine/velocity_sync/owed_forces.hpp"
#include "engine/velocity_sync/synchronise_trees.hpp"

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
  p.w.residual[row] = 0;
  p.w.compliance[row] = Real(solver::kReleaseGain) * p.w.row_scale[row];
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
      w.residual[row] = -sign * rate;
      w.compliance[row] = solver::joint_proximal<Real>() * w.row_scale[row];
    }
  }
  for (int e = axis.effort_start; e < axis.effort_start + axis.effort_count; ++e) {
    const int row = p.effort_base() + e;
    const OwedEffort<Real> owed = owed_effort(p, i, e, rate);
    if (of_joint) w.row[row] = along;
    release_row(p, row);
    w.axis_impulse[i] += owed.impulse;
    if (owed.compliance > 0) w.residual[row] = owed.residual, w.compliance[row] = owed.compliance;
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
        p, b, [&](int t) { return owed_by_equality(p, t); }, sum);
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
    if (p.m.adhesion_count > 0) {
      constraints::add_adhesion(p.m, w, p.contact_count, b, h, w.control_before, sum.linear, sum.angular);
    }
    if (p.m.body_force_count > 0) {
      constraints::add_body_forces(p.m, w, b, h, sum.linear, sum.angular);
      if (p.m.body_forces[b].stiffness > 0) {
        constraints::add_free_spring(p.m, w, b, h, p.s.dt, sum.linear, sum.angular);
      }
      if (p.m.site_uses != nullptr) {
        constraints::add_site_forces(p.m, w, b, h, w.control_before, sum.linear, sum.angular);
      }
    }
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

// The same of block i, a moment.
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

// Rows of tendons and equalities as hold_rows has those of joints.
template <typename Real, typename Team>
AXION_HD_RARE void hold_tendons(const Team& team, const solver::Problem<Real>& p) {
  const auto& w = p.w;
  team.for_each(p.m.tendon_count, [&](int t) {
    const model::TendonData<Real>& tendon = p.m.tendons[t];
    const Real rate = constraints::tendon_velocity<Real>(p.m, tendon, w.tendon_force, w.v_plus, w.omega_plus);
    const int row = solver::row_of_tendon(p, t);
    if (tendon.axis < 0) {
      w.lock_compliance[row] = w.lambda[row] = 0;
      w.residual[row] = rate;
      w.compliance[row] = solver::joint_proximal<Real>() * w.row_scale[row];
      if (constraints::gives_way<Real>(p.m, p.w, tendon)) release_row(p, row);
      return;
    }
    const Real beta = w.axis_beta[tendon.axis];
    w.residual[row] = beta > 0 ? rate - w.axis_alpha[tendon.axis] / beta : Real(0);
    w.compliance[row] = beta > 0 ? Real(1) / beta : Real(1);
    solver::for_each_row_of_axis(p, tendon.axis, [&](int along, Real sign) {
      if (w.compliance[along] < Real(solver::kReleaseGain) * w.row_scale[along]) w.residual[along] += sign * rate;
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
      w.residual[i] = velocity(w.row[i], joint);
      w.compliance[i] = solver::joint_proximal<Real>() * w.row_scale[i];
      if (constraints::gives_way<Real>(p.m, p.w, joint)) release_row(p, i);
    }
    for (int i = joint.axis_start; i < joint.axis_start + joint.axis_count; ++i) {
      const int row = p.axis_base() + i;
      const Real beta = w.axis_beta[i];
      w.residual[row] = beta > 0 ? velocity(w.row[row], joint) - w.axis_alpha[i] / beta : Real(0);
      w.compliance[row] = beta > 0 ? Real(1) / beta : Real(1);
    }
    solver::for_each_condensed_row(p, joint, [&](int row) {
      if (w.compliance[row] < Real(solver::kReleaseGain) * w.row_scale[row])
        w.residual[row] += velocity(w.row[row], joint);
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

// The share of the change that leads from u to v_plus, omega_plus that a contact allows; `held`: the change keeps
// contacts' rows.
template <typename Real>
AXION_HD_CALL Real allowed_share(const solver::Problem<Real>& p, int i, int row, bool held) {
  const auto& w = p.w;
  const model::Contact<Real>& c = w.contacts[i];
  const Touch touch = noted_touch(p, i);
  if (touch == Touch::kNone || (held && touch == Touch::kSticks)) return 1;
  Real before[3], after[3];
  for (int k = held ? 1 : 0; k < 3; ++k) {
    before[k] = constraints::row_velocity(w.row[row + k], c.body_a, c.body_b, w.v, w.omega);
    after[k] = constraints::row_velocity(w.row[row + k], c.body_a, c.body_b, w.v_plus, w.omega_plus);
  }
  Real share = 1;
  const auto keep_within = [&](Real change) {
    const Real most = Real(kLeft * 9.81) * p.s.dt, least = change > most ? (most / change) * (most / change) : Real(1);
    if (least < share) share = least;
  };
  if (!held) keep_within(after[0] - before[0]);
  if (touch != Touch::kSticks) {
    const Real speed = before[1] * before[1] + before[2] * before[2];
    const Real ahead = before[1] * after[1] + before[2] * after[2];
    const Real turned = ahead < 0 ? speed / (speed - ahead) : Real(1);
    if (turned < share) share = turned;
  } else if (!held) {
    const Real s1 = after[1] - before[1], s2 = after[2] - before[2];
    keep_within(std::sqrt(s1 * s1 + s2 * s2));
  }
  return share;
}

// The same of moment k, whose friction turns no spin and no rolling round.
template <typename Real>
AXION_HD_RARE Real share_of_moment(const solver::Problem<Real>& p, int k) {
  const auto& w = p.w;
  const model::Contact<Real>& c = w.contacts[p.contact_count + k];
  const int row = p.moment_base() + 3 * k;
  Real share = 1, square[3], ahead[3];
  for (int i = 0; i < 3; ++i) {
    const Real before = constraints::row_velocity(w.row[row + i], c.body_a, c.body_b, w.v, w.omega);
    square[i] = before * before;
    ahead[i] = before * constraints::row_velocity(w.row[row + i], c.body_a, c.body_b, w.v_plus, w.omega_plus);
  }
  const auto lower = [&](int part, Real speed, Real on) {
    const bool slides = w.velocity_sync.touch[2 * (p.contact_count + k) + part] == Touch::kSlides;
    if (slides && on < Real(0) && speed / (speed - on) < share) share = speed / (speed - on);
  };
  lower(0, square[0], ahead[0]);
  lower(1, square[1] + square[2], ahead[1] + ahead[2]);
  return share;
}

// body_share: the share of its change that body b may take, by what its tree's contacts allow. Returns whether any is
// cut short.
template <typename Real, typename Team>
AXION_HD_CALL bool bound_changes(const Team& team, const solver::Problem<Real>& p, bool held) {
  const auto& w = p.w;
  Real cut = team.template max<Real>(p.contact_count, [&](int i) {
    w.velocity_sync.contact_share[i] = allowed_share(p, i, p.contact_base() + 3 * i, held);
    return 1 - w.velocity_sync.contact_share[i];
  });
  if (p.moment_count > 0) {
    const Real turned = team.template max<Real>(p.moment_count, [&](int k) {
      const Real share = share_of_moment(p, k);
      Real& of_contact = w.velocity_sync.contact_share[w.moments[k].contact];
      if (share < of_contact) of_contact = share;
      return 1 - share;
    });
    cut = solver::greater(cut, turned);
  }
  if (cut == Real(0)) return false;
  team.for_each(1, [&](int) {
    for (int b = 0; b < p.m.body_count; ++b) w.velocity_sync.body_share[b] = 1;
    const auto lower = [&](int b, Real share) {
      if (b >= 0 && share < w.velocity_sync.body_share[b]) w.velocity_sync.body_share[b] = share;
    };
    for (int i = 0; i < p.contact_count; ++i) {
      lower(w.contacts[i].body_a, w.velocity_sync.contact_share[i]),
          lower(w.contacts[i].body_b, w.velocity_sync.contact_share[i]);
    }
    for (int b = p.m.body_count - 1; b >= 0; --b)
      lower(p.m.bodies[b].parent, w.velocity_sync.body_share[b]);  // parents come first
    for (int b = 0; b < p.m.body_count; ++b) {
      if (p.m.bodies[b].parent >= 0) w.velocity_sync.body_share[b] = w.velocity_sync.body_share[p.m.bodies[b].parent];
    }
  });
  return true;
}

// Whether the solve has a solution: finite velocities, and rigid locks nearer to J(q⁺) v = 0 than the free velocities,
// whose rates are in w.residual, or within the step's tolerance. Sliding friction makes the system unsymmetric, so that
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
  const Real before = greatest([&](int i, const model::JointData<Real>&) { return w.residual[i]; });
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

// Whether v_plus has a body that contacts in overlap, or eased locks, throw: what presses on what no step resolves has
// any impulse, and nothing follows from half of it.
template <typename Real, typename Team>
AXION_HD_RARE bool is_thrown(const Team& team, const solver::Problem<Real>& p) {
  const Real fast = constraints::fastest_pull(p.s), least = Real(solver::CalmingParameters::kLeastGain) * p.s.dt;
  return team.template max<Real>(p.m.body_count, [&](int b) {
    const Real most = solver::greater(fast, math::norm(p.w.v[b])) + least;
    return math::norm(p.w.v_plus[b]) > most ? Real(1) : Real(0);
  }) > Real(0);
}

template <typename Real, team::Team Team>
AXION_HD_CALL void synchronise(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::StepSettings<Real>& settings) {
  if (!settings.half_step_start) {
    team.for_each(m.body_count, [&](int b) { w.v_at_pose[b] = w.v[b], w.omega_at_pose[b] = w.omega[b]; });
    return;
  }
  solver::Problem<Real> p{m, w, settings, settings.joint_mode, w.record->contact_count};
  if (m.moment_capacity > 0) p.moment_count = w.moment_count[0];
  note_touches(team, p);
  TreeLinks links;
  if (m.joint_count > 0) links = find_links_of_trees(p);
  const bool in_trees = links.count <= kMostLinks && are_trees(team, p);
  bool held = true;
  const auto lead = [&] {
    const bool trees = in_trees && synchronise_trees(team, p, links);
    held = trees || !solver::is_pile(team, p);
    if (!trees) synchronise_whole(team, p, held);
  };
  lead();
  if (held && loosen_jammed(team, p)) lead();
  const bool cut = bound_changes(team, p, held);
  const bool thrown = (w.record->outcome & std::uint32_t(kOverlap | kEased)) != 0 && is_thrown(team, p);
  team.for_each(m.body_count, [&](int b) {
    const Real share = thrown ? Real(0) : cut ? w.velocity_sync.body_share[b] : Real(1);
    w.v_at_pose[b] = w.v[b] + share * (w.v_plus[b] - w.v[b]);
    w.omega_at_pose[b] = w.omega[b] + share * (w.omega_plus[b] - w.omega[b]);
  });
}

}  // namespace axion::velocity_sync
