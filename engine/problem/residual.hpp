// The residual of the nonlinear system at an iterate (u, λ), and its stop test.
//
//   dynamics  g = M̃(u − ũ) − J_Fᵀλ   reported as |M̃⁻¹g| per body
//   joints    c(q⁺)/h (LINEARISED: J u + ½c(q⁻)/h; velocity level: J u + Υc(q⁻)/h); soft ones as in contact_rows.hpp;
//             what closes loops gives to the greatest loads (put_closing_lock)
//   control   J u + λ/β − α/β; with bounded impulse (r + 1/β)|λ − proj(λ*)|
//   contacts  |min(a, r_n λ_n)|, limits alike; friction r_t|λ_f − proj_c(λ*)|, that of moments alike
// All in m/s or rad/s. A residual may be velocity_tolerance, or the rounding of its terms where that is more: positions
// carry 16 units in the last place of a metre over h, velocities four of the terms summed, or of their moments at long
// arms.
// J_F: joint impulses act along J(q⁻) (PREVIOUS, LINEARISED), J(q⁺) (CURRENT) or a blend. Source: seeds, section
// Complete nonlinear system.
//
// In: the iterate (v_plus, omega_plus, lambda), rows and laws at q⁻. Out: poses x_plus, q_plus, g, residual,
// natural_residual, row_tolerance, body_residual, body_tolerance, and the worst residual ratio. Cost: linear in bodies
// and rows.
#pragma once

#include <limits>

#include "engine/constraints/contact_rows.hpp"
#include "engine/constraints/force_steps.hpp"
#include "engine/constraints/moment_rows.hpp"
#include "engine/lanes/number.hpp"
#include "engine/lanes/pack.hpp"
#include "engine/model/body_joints.hpp"
#include "engine/problem/body_matrix.hpp"
#include "engine/problem/row_residuals.hpp"
#include "engine/team/team.hpp"

namespace axion::solver {

// Poses of the iterate: q⁺ = q⁻ + h G u⁺.
template <typename Real, typename Team>
AXION_HD inline void place_iterate(const Team& team, const model::ModelView<Real>& m,
                                   const model::StepSettings<Real>& s, const BodyVelocities<Real>& u,
                                   ConstArray<math::Vec3<Real>> x, ConstArray<math::Quat<Real>> q,
                                   OutArray<math::Vec3<Real>> x_plus, OutArray<math::Quat<Real>> q_plus) {
  team.for_each(m.body_count, [&](int b) {
    x_plus[b] = x[b] + s.dt * u.linear[b];
    q_plus[b] = constraints::rotate_step(s.gyroscopic_mode, q[b], m.bodies[b].inertia, u.angular[b], s.dt);
  });
}

// The error that rounding of poses makes in the effect of anchors' impulses on body b, rad/s: λ times the arm's length,
// across the row. The moment of an impulse along its arm is next to nothing, and so is its row's |r × l|, but the error
// stays.
template <typename Real>
AXION_HD_CALL Real moment_rounding(const model::ModelView<Real>& m, const StepPoses<Real>& poses,
                                   ConstArray<model::Row<Real>> row_force, ConstArray<Real> lambda,
                                   const math::Mat3<Real>& I_inverse, int b) {
  math::Vec3<Real> sum{};
  model::for_each_joint<Real>(m, b, [&](int j, bool on_child) {
    const model::JointData<Real>& joint = m.joints[j];
    math::Vec3<Real> arm = math::rotate(poses.q_plus[joint.child], joint.p_CA);
    if (!on_child) arm += poses.x_plus[joint.child] - poses.x_plus[joint.parent];
    const Real length = math::norm(arm);
    for (int i = joint.lock_start; i < joint.lock_start + joint.translation_lock_count; ++i) {
      const math::Vec3<Real>& l = row_force[i].l;
      const Real x = std::abs(l.x), y = std::abs(l.y), z = std::abs(l.z);
      sum += length * std::abs(lambda[i]) * math::Vec3<Real>{y + z, x + z, x + y};
    }
  });
  math::Mat3<Real> weight = I_inverse;
  for (int k = 0; k < 9; ++k) weight(k / 3, k % 3) = std::abs(weight(k / 3, k % 3));
  return velocity_rounding<Real>() * math::norm(weight * sum);
}

// The residual of the bodies' equations of motion: g, its size |M̃⁻¹g| and what that may be.
template <typename Real>
struct BodyResiduals {
  ArrayView<math::Vec3<Real>> g_linear, g_angular;  // [nb]
  ArrayView<Real> residual, tolerance;              // [2 nb]
};

// A body's velocities before and after what acts on it, and its inertia.
template <typename Real>
struct BodyChange {
  math::Vec3<Real> v_tilde, omega_tilde, v, omega;
  Real mass;
  math::Vec3<Real> inertia;
  const math::Mat3<Real>&I_world, &I_inverse;
};

// g of body b and |M̃⁻¹g| with its rounding. `damping`: K_geometric where the body is damped by h K₊ of the last
// impulses, else null. The inertia that Newton's matrix lends a body has impulses of its own: times the rounding of
// velocities and poses.
template <typename Real>
AXION_HD inline void evaluate_dynamics(const model::StepSettings<Real>& s, const BodyChange<Real>& body,
                                       const Impulse<Real>& impulse, const math::Mat3<Real>* damping, Real lent_mass,
                                       Real lent_inertia, BodyResiduals<Real>& residuals, int b) {
  const Real mass = body.mass;
  const math::Vec3<Real>& I = body.inertia;
  const math::Vec3<Real> dv = body.v - body.v_tilde, dw = body.omega - body.omega_tilde;
  residuals.g_linear[b] = mass * dv - impulse.linear;
  residuals.g_angular[b] = body.I_world * dw - impulse.angular;
  if (damping != nullptr) residuals.g_angular[b] += *damping * body.omega;
  const Real least = I.x < I.y ? (I.x < I.z ? I.x : I.z) : (I.y < I.z ? I.y : I.z);
  residuals.residual[2 * b] = math::norm(residuals.g_linear[b]) / mass;
  residuals.residual[2 * b + 1] = math::norm(body.I_inverse * residuals.g_angular[b]);
  const Real speed = math::norm(body.v) + math::norm(body.v_tilde);
  const Real spin = math::norm(body.omega) + math::norm(body.omega_tilde);
  const Real placed = position_rounding<Real>() / s.dt;
  residuals.tolerance[2 * b] =
      greater(s.velocity_tolerance, velocity_rounding<Real>() * (speed + impulse.linear_size / mass) +
                                        lent_mass / mass * (velocity_rounding<Real>() * speed + placed));
  residuals.tolerance[2 * b + 1] =
      greater(s.velocity_tolerance, velocity_rounding<Real>() * (spin + impulse.angular_size / least) +
                                        lent_inertia / least * (velocity_rounding<Real>() * spin + placed));
}

// Allows the bodies' residuals what moment_rounding says, where they are beyond their tolerance and above `worst` times
// it: that is dear, and below `worst` it changes no worst ratio.
template <typename Real, typename Team>
AXION_HD inline void allow_moment_rounding(const Team& team, const Problem<Real>& p, Real worst) {
  const StepPoses<Real> poses = step_poses<Real>(p.w);
  team.for_each(p.m.body_count, [&](int b) {
    const Real residual = p.w.body_residual[2 * b + 1];
    Real& most = p.w.body_tolerance[2 * b + 1];
    if (residual > most && residual / most > worst)
      most = greater(most, moment_rounding<Real>(p.m, poses, p.w.row_force, p.w.lambda, p.w.I_inverse[b], b));
  });
}

// The greatest of a[i] / b[i], or NaN where one is not a number. By packs, where there are: a division takes as long
// for eight numbers.
template <typename Real, typename Team>
AXION_HD inline Real greatest_ratio(const Team& team, ConstArray<Real> a, ConstArray<Real> b, int count) {
  if constexpr (team::shares_singly<Team>()) {
    return team.template max<Real>(count, [&](int i) { return a[i] / b[i]; });
  } else {
    constexpr int lanes = team::pack_lanes<Team, Real>(8), span = 32 * lanes;
    return team.template max<Real>((count + span - 1) / span, [&](int part) {
      lanes::Pack<Real, lanes> greatest{}, undefined{};
      int i = part * span;
      const int end = i + span < count ? i + span : count;
      for (; i + lanes <= end; i += lanes) {
        const lanes::Pack<Real, lanes> ratio = lanes::load_pack<lanes>(a + i) / lanes::load_pack<lanes>(b + i);
        greatest = ratio > greatest ? ratio : greatest;
        undefined = ratio == ratio ? undefined : ratio;
      }
      Real most = 0, odd = 0;
      for (int k = 0; k < lanes; ++k) {
        most = greatest[k] > most ? greatest[k] : most;
        odd += undefined[k];
      }
      for (; i < end; ++i) {
        const Real ratio = a[i] / b[i];
        most = ratio > most ? ratio : most;
        odd = ratio == ratio ? odd : ratio;
      }
      return most + odd;
    });
  }
}

// Rows of joints: locks, equalities, axes, limits, efforts.
template <typename Real, typename Team>
AXION_HD inline void evaluate_rows_of_joints(const Team& team, const Problem<Real>& p, const StepRules<Real>& rules,
                                             const BodyVelocities<Real>& u) {
  const IterateRows<Real> rows = iterate_rows<Real>(p.rows(), p.w);
  const StepPoses<Real> poses = step_poses<Real>(p.w);
  const LockStarts<Real> starts = lock_starts<Real>(p.w);
  LockRows<Real> locks = lock_rows<Real>(p.w);
  RowResiduals<Real> residuals = row_residuals<Real>(p.w);
  team.for_each(p.m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = p.m.joints[j];
    if (constraints::goes_by_law<Real>(p.m, p.w, joint)) {
      return evaluate_soft_locks<Real>(p.s, rows, u, starts, locks, residuals, joint);
    }
    evaluate_locks<Real>(p.m, rules, rows, u, poses, starts, locks, residuals, j);
  });
  if (p.m.tendon_count > p.m.tendon_axis_count) evaluate_equalities(team, p);
  const CoordinateRows<Real> coordinates = coordinate_rows<Real>(p.m, p.w);
  const EffortUnits<Real> efforts = unit_table<Real>(rows, p.w).effort_units();
  const Real least = coordinate_tolerance<Real>(p.m, p.s);
  team.for_each(p.m.axis_count, [&](int i) {
    evaluate_axis(rows, coordinates, u, residuals, i, p.w.axis_alpha[i], p.w.axis_beta[i], least);
  });
  team.for_each(p.m.limit_count, [&](int i) {
    evaluate_limit<Real>(rows, coordinates, u, residuals, i, constraints::limit_law(p.m, p.w, p.s, i), least);
  });
  team.for_each(p.m.effort_count, [&](int i) {
    evaluate_effort<Real>(rows, coordinates, u, efforts.law(i, rows.lambda), p.w.effort_alpha[i], residuals, i, least);
  });
}

// Contacts, and torsional and rolling friction.
template <typename Real, typename Team>
AXION_HD inline void evaluate_contacts(const Team& team, const Problem<Real>& p, const BodyVelocities<Real>& u) {
  const IterateRows<Real> rows = iterate_rows<Real>(p.rows(), p.w);
  RowResiduals<Real> residuals = row_residuals<Real>(p.w);
  const bool slips = p.m.surface_motions != nullptr;
  team.for_each(p.contact_count, [&](int i) {
    const int row = rows.contact_base() + 3 * i;
    evaluate_contact<Real>(rows, p.w.row + row, u, residuals, i, p.w.contacts[i],
                           constraints::normal_law(p.m, p.w, p.s, i, rows.row_scale[row], rows.lambda[row]),
                           constraints::tangent_law<Real>(p.m, p.w, i), slips ? p.w.surface_slip + 3 * i : nullptr,
                           p.s.velocity_tolerance);
  });
  if (p.moment_count == 0) return;
  const MomentUnits<Real> moments = unit_table<Real>(rows, p.w).moment_units();
  team.for_each(p.moment_count, [&](int k) {
    evaluate_moment<Real>(rows, p.w.row + rows.moment_base() + 3 * k, u, residuals, k,
                          p.w.contacts[p.contact_count + k], moments.law(k, rows.lambda),
                          slips ? p.w.surface_slip + 3 * p.w.moments[k].contact : nullptr, p.s.velocity_tolerance);
  });
}

template <typename Real, typename Team>
AXION_HD inline void evaluate_bodies(const Team& team, const Problem<Real>& p, const StepRules<Real>& rules,
                                     const BodyVelocities<Real>& u) {
  const ImpulseRows<Real> rows = impulse_rows<Real>(p.m, p.w);
  const bool damps = rules.joint_mode == model::JointMode::kLinearised;
  BodyResiduals<Real> residuals{p.w.g_linear, p.w.g_angular, p.w.body_residual, p.w.body_tolerance};
  team.for_each(p.m.body_count, [&](int b) {
    const Impulse<Real> impulse = gather_impulse<Real>(rows, b, p.w.row_force, p.w.lambda);
    const BodyChange<Real> body{p.w.v_tilde[b],
                                p.w.omega_tilde[b],
                                u.linear[b],
                                u.angular[b],
                                constraints::body_mass(p.m, p.w, b),
                                constraints::body_inertia(p.m, p.w, b),
                                p.w.I_world[b],
                                p.w.I_inverse[b]};
    evaluate_dynamics<Real>(p.s, body, impulse, damps ? p.w.K_geometric + b : nullptr,
                            lent<Real>(rules.symmetric, p.m.bodies[b].lent_mass),
                            lent<Real>(rules.symmetric, p.m.bodies[b].lent_inertia), residuals, b);
  });
}

// The whole residual at (v_plus, omega_plus, lambda). Returns the worst residual ratio: the largest residual in
// multiples of its tolerance; at most one means converged, NaN that the iterate is not finite.
template <typename Real, typename Team>
AXION_HD_CALL Real evaluate(const Team& team, const Problem<Real>& p) {
  const StepRules<Real> rules = step_rules(p);
  const BodyVelocities<Real> u = iterate_velocities<Real>(p.w);
  place_iterate<Real>(team, p.m, p.s, u, p.w.x, p.w.q, p.w.x_plus, p.w.q_plus);
  evaluate_rows_of_joints(team, p, rules, u);
  evaluate_contacts(team, p, u);
  evaluate_bodies(team, p, rules, u);
  const Real rows = greatest_ratio<Real>(team, p.w.natural_residual, p.w.row_tolerance, p.row_count());
  allow_moment_rounding(team, p, rows);
  const Real bodies = greatest_ratio<Real>(team, p.w.body_residual, p.w.body_tolerance, 2 * p.m.body_count);
  return rows > bodies || rows != rows ? rows : bodies;
}

}  // namespace axion::solver
