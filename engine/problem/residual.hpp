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
#include "engine/constraints/friction.hpp"
#include "engine/constraints/moment_rows.hpp"
#include "engine/lanes/number.hpp"
#include "engine/lanes/pack.hpp"
#include "engine/model/body_joints.hpp"
#include "engine/problem/body_matrix.hpp"
#include "engine/problem/equality_residual.hpp"
#include "engine/problem/natural_residuals.hpp"
#include "engine/team/team.hpp"

namespace axion::solver {

// Poses of the iterate: q⁺ = q⁻ + h G u⁺.
template <typename Real, typename Team>
AXION_HD inline void place_iterate(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count, [&](int b) {
    p.w.x_plus[b] = p.w.x[b] + p.s.dt * p.w.v_plus[b];
    p.w.q_plus[b] =
        constraints::rotate_step(p.s.gyroscopic_mode, p.w.q[b], p.m.bodies[b].inertia, p.w.omega_plus[b], p.s.dt);
  });
}

// The share of J(q⁺) in a lock's impulse. BLENDED leaves rotations at J(q⁻): the impulses of anchors act at an arm and
// need the new pose, while the torque of a rotation lock, as its two bodies turn, would couple them beyond the terms of
// Newton's matrix.
template <typename Real>
AXION_HD inline Real impulse_blend(const Problem<Real>& p, int j, bool is_translation) {
  if (p.joint_mode == model::JointMode::kCurrent) return 1;
  return p.joint_mode == model::JointMode::kPrevious || !is_translation ? Real(0) : p.w.blend[j];
}

// m/s² or rad/s²: what the force of a closing lock may give what it holds, were that alone, before the lock gives.
// Then m for each m/s² beyond, or rad for rad/s², and at most this share of (J M⁻¹ Jᵀ)_ii.
inline constexpr double kRigidLoad = 5000, kStrain = 1e-9, kMostStrain = 1e-2;

// Puts the residual of a rigid lock that closes a loop, with what it gives to an impulse beyond that of kRigidLoad.
// Rows that depend on each other, as of a planar mechanism whose axes are parallel to the digits of a file, have an
// error that no motion takes back, or next to none. Were they rigid to any load, their impulses would have no bound,
// and what these leave as they turn would throw the links; so such an error is a strain. In float64 such steps do not
// converge, and the links of grippers that press on what they hold want their locks rigid.
template <typename Real>
AXION_HD inline void put_closing_lock(const Problem<Real>& p, int row, Real residual) {
  const Real most = Real(kRigidLoad) * p.s.dt / p.w.row_scale[row], lambda = p.w.lambda[row];
  p.w.lock_compliance[row] = 0;
  if (std::numeric_limits<Real>::digits < 30 && std::abs(lambda) > most) {
    const Real share = Real(kStrain) / (p.s.dt * p.s.dt),
               bounded = share < Real(kMostStrain) ? share : Real(kMostStrain);
    p.w.lock_compliance[row] = bounded * p.w.row_scale[row];
    residual += p.w.lock_compliance[row] * (lambda > 0 ? lambda - most : lambda + most);
  }
  p.w.residual[row] = residual;
  p.w.natural_residual[row] = std::abs(residual);
}

// Of a joint whose locks are soft (soft_laws.hpp): the residuals of their laws, along J(q⁻).
template <typename Real>
AXION_HD_RARE void evaluate_soft_locks(const Problem<Real>& p, const model::JointData<Real>& joint) {
  const int locks = joint.translation_lock_count + joint.rotation_lock_count;
  for (int row = joint.lock_start; row < joint.lock_start + locks; ++row) {
    p.w.row[row] = p.w.row_force[row] = p.w.row_start[row];
    put_soft_lock(p, row, iterate_velocity(p, p.w.row_start[row], joint.child, joint.parent));
  }
}

// The share of c(q⁻) that a joint's rigid locks take back in the step: `share`, or what greatest_recovery allows where
// the joint starts far apart, as where a file's coordinates leave a loop open.
template <typename Real>
AXION_HD inline Real recovered_share(const Problem<Real>& p, const model::JointData<Real>& joint, int locks,
                                     Real share) {
  Real off = 0, apart = 0;
  for (int i = 0; i < locks; ++i) {
    off = greater(off, std::abs(p.w.lock_start_error[joint.lock_start + i]));
    if (i < joint.translation_lock_count) apart = off;
  }
  if (!(share * off > Real(kLeastRecovery) * p.s.dt)) return share;
  const Real most = greatest_recovery(p, off) * p.s.dt / off;
  const Real recovered = share < most ? share : most, fastest = constraints::fastest_pull(p.s) * p.s.dt;
  return recovered * apart > fastest ? fastest / apart : recovered;
}

// Locks of joint j at the iterate: errors, rows of the matrix, rows of the impulses, natural residuals.
template <typename Real>
AXION_HD_CALL void evaluate_locks(const Problem<Real>& p, int j) {
  const model::JointData<Real>& joint = p.m.joints[j];
  if (constraints::goes_by_law<Real>(p.m, p.w, joint)) return evaluate_soft_locks(p, joint);
  const int locks = joint.translation_lock_count + joint.rotation_lock_count;
  constraints::JointEvaluation<Real> e;
  const bool at_start = has_start_rows(p), closes = j >= p.m.joint_count - p.m.loop_count;
  if (!at_start) {
    constraints::evaluate_joint<constraints::JointParts::kLocks>(p.m, joint, p.w.x_plus, p.w.q_plus, p.w.axis_position,
                                                                 e);
  }
  constraints::Softness<Real> soft = constraints::softness(p.s, joint.lock_stiffness, joint.lock_damping);
  if (p.joint_mode == model::JointMode::kLinearised && soft.erp == Real(1)) soft.erp = Real(0.5);
  if (!(joint.lock_stiffness > 0)) soft.erp = recovered_share(p, joint, locks, soft.erp);
  const math::Vec3<Real>& x = p.w.x[joint.child];
  const Real extent = greater(greater(Real(1), std::abs(x.x)), greater(std::abs(x.y), std::abs(x.z)));
  for (int i = 0; i < locks; ++i) {
    const int row = joint.lock_start + i;
    const model::Row<Real>& start = p.w.row_start[row];
    Real residual, tolerance = greater(p.s.velocity_tolerance, position_rounding<Real>() * extent / p.s.dt);
    if (at_start) {
      p.w.row[row] = p.w.row_force[row] = start;
      const RowVelocity<Real> v = iterate_velocity(p, start, joint.child, joint.parent);
      const Real push = soft.erp * p.w.lock_start_error[row] / p.s.dt;
      residual = v.value + push;
      const Real impulse =
          p.w.row_scale[row] * std::abs(p.w.lambda[row]);  // the terms that the velocities were summed of
      tolerance = greater(p.s.velocity_tolerance, velocity_rounding<Real>() * (v.size + std::abs(push) + impulse));
    } else {
      p.w.row[row] = e.lock[i];
      const Real f = impulse_blend(p, j, i < joint.translation_lock_count);
      p.w.row_force[row] = {(1 - f) * start.l + f * e.lock[i].l, (1 - f) * start.k_a + f * e.lock[i].k_a,
                            (1 - f) * start.k_b + f * e.lock[i].k_b};
      residual = (e.error[i] - (1 - soft.erp) * p.w.lock_start_error[row]) / p.s.dt;
    }
    p.w.row_tolerance[row] = tolerance;
    if (closes && !(joint.lock_stiffness > 0)) {
      put_closing_lock(p, row, residual);
      continue;
    }
    residual += soft.cfm * p.w.lambda[row];
    p.w.lock_compliance[row] = soft.cfm;
    p.w.residual[row] = residual;
    p.w.natural_residual[row] = std::abs(residual);
  }
}

// Least tolerance of a row along a joint's coordinate. In a closed mechanism a rate follows from poses, by locks that
// carry their rounding over h, and rows along the coordinates of a loop, more than it has freedoms, meet only as nearly
// as that.
template <typename Real>
AXION_HD inline Real coordinate_tolerance(const Problem<Real>& p) {
  return p.m.loop_count > 0 || p.m.tendon_count > p.m.tendon_axis_count
             ? greater(p.s.velocity_tolerance, velocity_rounding<Real>() / p.s.dt)
             : p.s.velocity_tolerance;
}

template <typename Real>
AXION_HD inline void evaluate_axis(const Problem<Real>& p, int axis, Real least_tolerance) {
  const int row = p.axis_base() + axis;
  const Real beta = p.w.axis_beta[axis];
  p.w.residual[row] = p.w.natural_residual[row] = 0;
  p.w.row_tolerance[row] = least_tolerance;
  if (!(beta > 0)) return;
  const RowVelocity<Real> v = iterate_velocity_along(p, axis, row);
  const Real lambda = p.w.lambda[row], alpha = p.w.axis_alpha[axis];
  p.w.residual[row] = v.value + (lambda - alpha) / beta;
  p.w.natural_residual[row] = std::abs(p.w.residual[row]);
  p.w.row_tolerance[row] =
      greater(least_tolerance, velocity_rounding<Real>() * (v.size + (std::abs(lambda) + std::abs(alpha)) / beta));
}

// The row of an effort at the iterate.
template <typename Real>
AXION_HD inline BoundedRow<Real> effort_row(const Problem<Real>& p, int effort) {
  const int row = p.effort_base() + effort;
  return {p.w.lambda[row], p.w.row_scale[row], p.w.effort_compliance[effort], p.w.effort_lower[effort],
          p.w.effort_upper[effort]};
}

template <typename Real>
AXION_HD inline void evaluate_effort(const Problem<Real>& p, int effort, Real least_tolerance) {
  const int row = p.effort_base() + effort;
  const RowVelocity<Real> v = iterate_velocity_along(p, p.m.efforts[effort].axis, row);
  const Real compliance = p.w.effort_compliance[effort], lambda = p.w.lambda[row], aim = p.w.effort_alpha[effort];
  p.w.residual[row] = v.value + compliance * lambda - aim;
  p.w.natural_residual[row] = effort_residual(effort_row(p, effort), p.w.residual[row]);
  p.w.row_tolerance[row] =
      greater(least_tolerance, velocity_rounding<Real>() *
                                   (v.size + (compliance + p.w.row_scale[row]) * std::abs(lambda) + std::abs(aim)));
}

// residual holds a of the complementarity a ⟂ r λ.
template <typename Real>
AXION_HD inline void evaluate_unilateral(const Problem<Real>& p, int row, const constraints::NormalLaw<Real>& law,
                                         const RowVelocity<Real>& v, Real tolerance) {
  const Real lambda = p.w.lambda[row];
  const Real a = law.bias + v.value + law.compliance * lambda, b = p.w.row_scale[row] * lambda;
  p.w.residual[row] = a;
  p.w.natural_residual[row] = unilateral_residual(a, b);
  p.w.row_tolerance[row] = greater(tolerance, velocity_rounding<Real>() * (v.size + std::abs(law.bias) + std::abs(b)));
}

template <typename Real>
AXION_HD inline void evaluate_limit(const Problem<Real>& p, int limit, Real least_tolerance) {
  const int row = p.limit_base() + limit;
  evaluate_unilateral(p, row, constraints::limit_law(p.m, p.w, p.s, limit),
                      iterate_velocity_along(p, p.m.limit_axis[limit], row), least_tolerance);
}

template <typename Real>
AXION_INLINED AXION_HD_CALL void evaluate_contact(const Problem<Real>& p, int i) {
  const int row = p.contact_base() + 3 * i;
  const model::Contact<Real>& c = p.w.contacts[i];
  const Real r_n = p.w.row_scale[row], r_t = p.w.row_scale[row + 1];
  evaluate_unilateral(p, row, constraints::normal_law(p.m, p.w, p.s, i, r_n, p.w.lambda[row]),
                      iterate_velocity(p, p.w.row[row], c.body_a, c.body_b), p.s.velocity_tolerance);
  RowVelocity<Real> v1 = iterate_velocity(p, p.w.row[row + 1], c.body_a, c.body_b);
  RowVelocity<Real> v2 = iterate_velocity(p, p.w.row[row + 2], c.body_a, c.body_b);
  if (p.m.surface_motions != nullptr) {
    const Real* slip = p.w.surface_slip + 3 * i;
    v1.value += slip[1], v1.size += std::abs(slip[1]), v2.value += slip[2], v2.size += std::abs(slip[2]);
  }
  if (p.m.is_soft) {
    const constraints::SoftContact<Real>& soft = p.w.contact_law[i];
    v1.value += soft.tangent_bias[0] + soft.tangent_compliance * p.w.lambda[row + 1];
    v2.value += soft.tangent_bias[1] + soft.tangent_compliance * p.w.lambda[row + 2];
  }
  const Real cone = c.friction * greater(p.w.lambda[row], Real(0));
  p.w.residual[row + 1] = v1.value, p.w.residual[row + 2] = v2.value;
  p.w.natural_residual[row + 1] =
      constraints::friction_residual<Real>({v1.value, v2.value}, {p.w.lambda[row + 1], p.w.lambda[row + 2]}, cone, r_t);
  p.w.natural_residual[row + 2] = 0;
  p.w.row_tolerance[row + 1] = p.w.row_tolerance[row + 2] =
      greater(p.s.velocity_tolerance, velocity_rounding<Real>() * (v1.size + v2.size + r_t * cone));
}

template <typename Real>
AXION_HD_RARE void evaluate_moment(const Problem<Real>& p, int k) {
  const int row = p.moment_base() + 3 * k;
  const model::Contact<Real>& c = p.w.contacts[p.contact_count + k];
  const MomentBounds<Real> bound = moment_bounds(p.w.moments[k], p.w.lambda + p.contact_base());
  const Real *r = p.w.row_scale + row, *lambda = p.w.lambda + row;
  RowVelocity<Real> v[3];
  for (int i = 0; i < 3; ++i) {
    v[i] = iterate_velocity(p, p.w.row[row + i], c.body_a, c.body_b);
    if (i == 0 && p.m.surface_motions != nullptr) v[0].value += p.w.surface_slip[3 * p.w.moments[k].contact];
    p.w.residual[row + i] = v[i].value;
  }
  Real* natural = p.w.natural_residual + row;
  natural[0] = held_residual(v[0].value, lambda[0], bound.torsional, r[0]);
  natural[1] =
      constraints::friction_residual<Real>({v[1].value, v[2].value}, {lambda[1], lambda[2]}, bound.rolling, r[1]);
  natural[2] = 0;
  Real* tolerance = p.w.row_tolerance + row;
  tolerance[0] = greater(p.s.velocity_tolerance, velocity_rounding<Real>() * (v[0].size + r[0] * bound.torsional));
  tolerance[1] = tolerance[2] =
      greater(p.s.velocity_tolerance, velocity_rounding<Real>() * (v[1].size + v[2].size + r[1] * bound.rolling));
}

// The error that rounding of poses makes in the effect of anchors' impulses on body b, rad/s: λ times the arm's length,
// across the row. The moment of an impulse along its arm is next to nothing, and so is its row's |r × l|, but the error
// stays.
template <typename Real>
AXION_HD_CALL Real moment_rounding(const Problem<Real>& p, int b) {
  math::Vec3<Real> sum{};
  model::for_each_joint<Real>(p.m, b, [&](int j, bool on_child) {
    const model::JointData<Real>& joint = p.m.joints[j];
    math::Vec3<Real> arm = math::rotate(p.w.q_plus[joint.child], joint.p_CA);
    if (!on_child) arm += p.w.x_plus[joint.child] - p.w.x_plus[joint.parent];
    const Real length = math::norm(arm);
    for (int i = joint.lock_start; i < joint.lock_start + joint.translation_lock_count; ++i) {
      const math::Vec3<Real>& l = p.w.row_force[i].l;
      const Real x = std::abs(l.x), y = std::abs(l.y), z = std::abs(l.z);
      sum += length * std::abs(p.w.lambda[i]) * math::Vec3<Real>{y + z, x + z, x + y};
    }
  });
  math::Mat3<Real> weight = p.w.I_inverse[b];
  for (int k = 0; k < 9; ++k) weight(k / 3, k % 3) = std::abs(weight(k / 3, k % 3));
  return velocity_rounding<Real>() * math::norm(weight * sum);
}

// g of body b and |M̃⁻¹g| with its rounding.
template <typename Real>
AXION_HD inline void evaluate_dynamics(const Problem<Real>& p, int b) {
  const Impulse<Real> impulse = gather_impulse(p, b, p.w.row_force, p.w.lambda);
  const Real mass = constraints::body_mass(p.m, p.w, b);
  const math::Vec3<Real> I = constraints::body_inertia(p.m, p.w, b);
  const math::Vec3<Real> dv = p.w.v_plus[b] - p.w.v_tilde[b], dw = p.w.omega_plus[b] - p.w.omega_tilde[b];
  p.w.g_linear[b] = mass * dv - impulse.linear;
  p.w.g_angular[b] = p.w.I_world[b] * dw - impulse.angular;
  if (p.joint_mode == model::JointMode::kLinearised) {
    p.w.g_angular[b] += p.w.K_geometric[b] * p.w.omega_plus[b];  // damping by h K₊ of the last impulses
  }
  const Real least = I.x < I.y ? (I.x < I.z ? I.x : I.z) : (I.y < I.z ? I.y : I.z);
  p.w.body_residual[2 * b] = math::norm(p.w.g_linear[b]) / mass;
  p.w.body_residual[2 * b + 1] = math::norm(p.w.I_inverse[b] * p.w.g_angular[b]);
  const Real speed = math::norm(p.w.v_plus[b]) + math::norm(p.w.v_tilde[b]);
  const Real spin = math::norm(p.w.omega_plus[b]) + math::norm(p.w.omega_tilde[b]);
  // The inertia that Newton's matrix lends a body has impulses of its own: times the rounding of velocities and poses.
  const Real placed = position_rounding<Real>() / p.s.dt;
  const Real lent_mass = lent(p, p.m.bodies[b].lent_mass), lent_inertia = lent(p, p.m.bodies[b].lent_inertia);
  p.w.body_tolerance[2 * b] =
      greater(p.s.velocity_tolerance, velocity_rounding<Real>() * (speed + impulse.linear_size / mass) +
                                          lent_mass / mass * (velocity_rounding<Real>() * speed + placed));
  p.w.body_tolerance[2 * b + 1] =
      greater(p.s.velocity_tolerance, velocity_rounding<Real>() * (spin + impulse.angular_size / least) +
                                          lent_inertia / least * (velocity_rounding<Real>() * spin + placed));
}

// Allows the bodies' residuals what moment_rounding says, where they are beyond their tolerance and above `worst` times
// it: that is dear, and below `worst` it changes no worst ratio.
template <typename Real, typename Team>
AXION_HD inline void allow_moment_rounding(const Team& team, const Problem<Real>& p, Real worst) {
  team.for_each(p.m.body_count, [&](int b) {
    const Real residual = p.w.body_residual[2 * b + 1];
    Real& most = p.w.body_tolerance[2 * b + 1];
    if (residual > most && residual / most > worst) most = greater(most, moment_rounding(p, b));
  });
}

// The greatest of a[i] / b[i], or NaN where one is not a number. By packs, where there are: a division takes as long
// for eight numbers.
template <typename Real, typename Team>
AXION_HD inline Real greatest_ratio(const Team& team, const Real* a, const Real* b, int count) {
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

// The whole residual at (v_plus, omega_plus, lambda). Returns the worst residual ratio: the largest residual in
// multiples of its tolerance; at most one means converged, NaN that the iterate is not finite.
template <typename Real, typename Team>
AXION_HD_CALL Real evaluate(const Team& team, const Problem<Real>& p) {
  place_iterate(team, p);
  team.for_each(p.m.joint_count, [&](int j) { evaluate_locks(p, j); });
  if (p.m.tendon_count > p.m.tendon_axis_count) evaluate_equalities(team, p);
  const Real least_tolerance = coordinate_tolerance(p);
  team.for_each(p.m.axis_count, [&](int i) { evaluate_axis(p, i, least_tolerance); });
  team.for_each(p.m.limit_count, [&](int i) { evaluate_limit(p, i, least_tolerance); });
  team.for_each(p.m.effort_count, [&](int i) { evaluate_effort(p, i, least_tolerance); });
  team.for_each(p.contact_count, [&](int i) { evaluate_contact(p, i); });
  if (p.moment_count > 0) team.for_each(p.moment_count, [&](int k) { evaluate_moment(p, k); });
  team.for_each(p.m.body_count, [&](int b) { evaluate_dynamics(p, b); });
  const Real rows = greatest_ratio(team, p.w.natural_residual, p.w.row_tolerance, p.row_count());
  allow_moment_rounding(team, p, rows);
  const Real bodies = greatest_ratio(team, p.w.body_residual, p.w.body_tolerance, 2 * p.m.body_count);
  return rows > bodies || rows != rows ? rows : bodies;
}

}  // namespace axion::solver
