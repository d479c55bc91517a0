// The generalised Jacobian at an iterate: rows, compliance and right-hand side of one Newton iteration.
//
//   [M̂  −J_Fᵀ] [Δu]     [g]      M̂ = M̃ − ∂(J_Fᵀλ)/∂u
//   [J   C   ] [Δλ] = − [r]      J = J(q⁺)Θ for locks, J(q⁻) for the rest, Θ the derivative of the rotation map
//
// Turning of impulses. In M̂ the impulses of anchors turn exactly, −∂(r × f)/∂θ Θ h = h((f·r)1 − r fᵀ)Θ, so that Newton
// is quadratic, plus the least shift by which no direction loses more inertia than neighbours may lend, as an
// indefinite system leads anywhere. Conjugate residuals, which need symmetry, damped iterations and attempts that went
// astray (exact_turning) take the positive part h[Σ w_j K_j]₊ in its place (constraints/geometric_stiffness.hpp).
//
// Contacts. A contact gives a 3×3 block E₃ J Δu + C₃ Δλ = −r₃. It is kept as the diagonal that conjugate residuals need
// (symmetric laws), and solved for Δλ = −(e + G J Δu), e = C₃⁻¹r₃, G = C₃⁻¹E₃, which the direct solver eliminates.
//
// Moments. A block likewise, its bounds those of the iterate: how they follow the normal impulse is left out, as normal
// impulses hardly follow these torques. Of bodies that stand on faces they are redundant beside the normal impulses; a
// proximal term of a tenth keeps Newton's steps from shifting loads between both beyond those bounds.
//
// Proximal terms have no right-hand side, so that they bias nothing at convergence. Those of loop joints do have one:
// redundant rows leave the impulses of loops undetermined, and a compliance keeps these impulses from wandering off
// step by step, as far as it takes a tenth of a row's tolerance; in float32 it is as great as rounding lets it be
// (ease_loop_lock). Locks have a proximal term where there are loops alone: locks of a closed mechanism may depend on
// each other; locks of a tree never do, and between links of nearly no mass the term would be far above the effect of
// an impulse on armature.
//
// In: the iterate, evaluated. Out: row, compliance, row_rhs, contact_gain, contact_offset, rotation_derivative,
// K_geometric. Cost: linear in bodies and rows. Source: seeds, sections Linearisation and Schur complement.
#pragma once

#include "engine/math/constants.hpp"
#include "engine/problem/parameters.hpp"
#include "engine/problem/residual.hpp"

namespace axion::solver {

template <typename Real>
AXION_HD constexpr Real joint_proximal() {
  return std::numeric_limits<Real>::digits > 30 ? Real(JointProximalParameters::kDouble)
                                                : Real(JointProximalParameters::kSingle);
}

// What turns a body: impulses of its joints at the iterate, and the inertias that resist.
template <typename Real>
struct TurningImpulses {
  const model::ModelView<Real>& m;
  ConstArray<math::Quat<Real>> q_plus;                      // [nb]
  ConstArray<model::Row<Real>> row;                         // of locks
  ConstArray<Real> lambda, blend;                           // of locks; [nj + paths]
  ConstArray<math::Mat3<Real>> supported_inertia, I_world;  // [nb]
};

// K_geometric at the iterate.
template <typename Real>
AXION_HD inline void linearise_turning(const StepRules<Real>& rules, const TurningImpulses<Real>& turning,
                                       BodyMatrices<Real>& matrices, int b) {
  using model::JointMode;
  matrices.K_geometric[b] = {};
  if (rules.joint_mode == JointMode::kPrevious) return;
  const Real dt = rules.s.dt, *weight = rules.joint_mode == JointMode::kBlended ? turning.blend : nullptr;
  const math::Mat3<Real> K =
      constraints::body_torque_derivative(turning.m, b, turning.q_plus, turning.row, turning.lambda, weight);
  if (K == math::Mat3<Real>{}) return;
  const math::Mat3<Real> S = math::symmetric_part(K);
  if (rules.symmetric || rules.proximal_scale > Real(1) || !rules.exact_turning) {
    matrices.K_geometric[b] = dt * model::positive_part(S);
    return;
  }
  // Where BLENDED weighs a joint at all, supported_inertia holds the inertias that bodies turn with.
  const math::Mat3<Real> lent = rules.joint_mode == JointMode::kBlended
                                    ? Real(TurningParameters::kSupportedInertia) * turning.supported_inertia[b]
                                    : Real(TurningParameters::kLentInertia) * turning.I_world[b];
  const math::Mat3<Real> held = S + (Real(1) / dt) * lent;
  matrices.K_geometric[b] = dt * (K * matrices.rotation_derivative[b] + model::positive_part(held) + Real(-1) * held);
}

template <typename Real>
AXION_HD inline void linearise_body(const StepRules<Real>& rules, const TurningImpulses<Real>& turning,
                                    const math::Quat<Real>& q, const math::Vec3<Real>& omega_plus,
                                    BodyMatrices<Real>& matrices, int b) {
  const model::BodyData<Real>& body = turning.m.bodies[b];
  matrices.rotation_derivative[b] = math::Mat3<Real>::identity();
  if (!rules.symmetric && !rules.has_start_rows) {
    matrices.rotation_derivative[b] =
        constraints::rotate_step_derivative(rules.s.gyroscopic_mode, q, body.inertia, omega_plus, rules.s.dt);
  }
  if (rules.joint_mode == model::JointMode::kLinearised) return;  // K_geometric is fixed for the attempt
  linearise_turning(rules, turning, matrices, b);
  const Real inertia = lent<Real>(rules.symmetric, body.lent_inertia);
  if (inertia > 0) {
    matrices.K_geometric[b] = matrices.K_geometric[b] + math::Mat3<Real>::diagonal(inertia, inertia, inertia);
  }
}

// The compliance of a loop joint's lock beside its own. Rows know a length only to its rounding δ; near a singular
// pose, where the rows of a loop have next to no hold, such lengths ask for velocities of √δ/h that no law asks for. So
// float32 takes a compliance by which a lock under load sags by a share of δ, and which near singular poses exceeds the
// rows' own hold: it bounds such velocities by √(δ kRoundedLoad) at any h. It saturates, as the error of the rows does
// not grow with the load.
template <typename Real>
AXION_HD inline void ease_loop_lock(const StepRules<Real>& rules, const IterateRows<Real>& rows, Real tolerance,
                                    LinearisedRows<Real>& linear, bool is_soft, int row) {
  const Real proximal = joint_proximal<Real>() * rows.row_scale[row], lambda = rows.lambda[row];
  if (std::numeric_limits<Real>::digits < 30 && !rules.has_start_rows && !is_soft) {
    const Real share = tolerance / (Real(LoopParameters::kRoundedLoad) * rules.s.dt);
    const Real give =
        (share < Real(LoopParameters::kMostGive) ? share : Real(LoopParameters::kMostGive)) * rows.row_scale[row];
    if (give > proximal) {
      const Real most = Real(LoopParameters::kRoundedBias) * tolerance, x = give * lambda / most,
                 cosine = Real(1) / std::sqrt(1 + x * x);
      const Real slope = give * cosine * cosine * cosine;
      linear.rhs[row] += most * x * cosine;
      linear.compliance[row] += slope > proximal ? slope : proximal;
      return;
    }
  }
  const Real most = Real(LoopParameters::kBias) * tolerance;
  linear.compliance[row] += proximal;
  linear.rhs[row] += laws::clamp(proximal * lambda, -most, most);
}

// After the linear solve: rows of contacts along t1 and t2 again, and the step's impulses along these.
template <typename Real, typename Team>
AXION_HD_CALL void restore_tangents(const Team& team, const Problem<Real>& p) {
  if (!p.follows_slip) return;
  const auto turn_back = [&](int row, const model::Contact<Real>& c, const math::Vec3<Real>& along,
                             const math::Vec3<Real>& across) {
    const Real d = p.w.dlambda[row + 1], t = p.w.dlambda[row + 2];
    p.w.dlambda[row + 1] = math::dot(along, c.t1) * d + math::dot(across, c.t1) * t;
    p.w.dlambda[row + 2] = math::dot(along, c.t2) * d + math::dot(across, c.t2) * t;
  };
  team.for_each(p.contact_count, [&](int i) {
    const model::Contact<Real>& c = p.w.contacts[i];
    const int row = p.contact_base() + 3 * i;
    turn_back(row, c, p.w.row[row + 1].l, p.w.row[row + 2].l);
    p.w.row[row + 1] = constraints::contact_row(c, c.t1), p.w.row[row + 2] = constraints::contact_row(c, c.t2);
  });
  team.for_each(p.moment_count, [&](int k) {
    const model::Contact<Real>& c = p.w.contacts[p.contact_count + k];
    const int row = p.moment_base() + 3 * k;
    turn_back(row, c, p.w.row[row + 1].k_a, p.w.row[row + 2].k_a);
    p.w.row[row + 1] = constraints::turning_row(c.t1), p.w.row[row + 2] = constraints::turning_row(c.t2);
  });
}

// Equalities, whose rows may depend on each other and on those of loops, so that they are eased as those.
template <typename Real, typename Team>
AXION_HD_RARE void linearise_equalities(const Team& team, const Problem<Real>& p) {
  const StepRules<Real> rules = step_rules(p);
  const IterateRows<Real> rows = iterate_rows<Real>(p.rows(), p.w);
  LinearisedRows<Real> linear = linearised_rows<Real>(p.w);
  const int first = p.m.tendon_axis_count;
  team.for_each(p.m.tendon_count - first, [&](int i) {
    const model::TendonData<Real>& equality = p.m.tendons[first + i];
    const bool is_law = constraints::goes_by_law<Real>(p.m, p.w, equality);  // of velocities, along J(q⁻)
    constraints::for_each_term(equality, [&](int k) {
      if (is_law) return;
      const model::TendonTermData<Real>& term = p.m.tendon_terms[k];
      model::Row<Real>& row = p.w.tendon_row[k];
      row.k_a = math::transpose_times(p.w.rotation_derivative[term.a], row.k_a);
      if (term.b >= 0) row.k_b = math::transpose_times(p.w.rotation_derivative[term.b], row.k_b);
    });
    linear.rhs[equality.lock] = linear.residual[equality.lock];
    p.w.compliance[equality.lock] = p.w.lock_compliance[equality.lock];
    ease_loop_lock(rules, rows, p.w.row_tolerance[equality.lock], linear,
                   constraints::gives_way<Real>(p.m, p.w, equality), equality.lock);
  });
}

// Bodies, locks and axes: all that stays the same where contacts, limits and efforts are swept.
template <typename Real, typename Team>
AXION_HD_CALL void linearise_joints(const Team& team, const Problem<Real>& p) {
  const StepRules<Real> rules = step_rules(p);
  const IterateRows<Real> rows = iterate_rows<Real>(p.rows(), p.w);
  LinearisedRows<Real> linear = linearised_rows<Real>(p.w);
  const TurningImpulses<Real> turning{p.m,        p.w.q_plus, p.w.row, p.w.lambda, p.w.blend, p.w.supported_inertia,
                                      p.w.I_world};
  BodyMatrices<Real> matrices{p.w.rotation_derivative, p.w.K_geometric};
  team.for_each(p.m.body_count,
                [&](int b) { linearise_body(rules, turning, p.w.q[b], p.w.omega_plus[b], matrices, b); });
  team.for_each(p.m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = p.m.joints[j];
    const bool is_law = constraints::goes_by_law<Real>(p.m, p.w, joint);  // of velocities, along J(q⁻)
    const int end = joint.lock_start + joint.translation_lock_count + joint.rotation_lock_count;
    for (int i = is_law ? end : joint.lock_start; i < end; ++i) {
      model::Row<Real>& row = p.w.row[i];
      row.k_a = math::transpose_times(p.w.rotation_derivative[joint.child], row.k_a);
      if (joint.parent >= 0) row.k_b = math::transpose_times(p.w.rotation_derivative[joint.parent], row.k_b);
    }
    for (int i = joint.lock_start; i < end; ++i) {
      linear.rhs[i] = linear.residual[i];
      p.w.compliance[i] = p.w.lock_compliance[i];
      if (p.m.loop_count == 0) continue;
      if (j < p.m.joint_count - p.m.loop_count) {
        p.w.compliance[i] += joint_proximal<Real>() * p.w.row_scale[i];
      } else {
        ease_loop_lock(rules, rows, p.w.row_tolerance[i], linear, constraints::gives_way<Real>(p.m, p.w, joint), i);
      }
    }
  });
  team.for_each(p.m.axis_count, [&](int i) {
    const int row = p.axis_base() + i;
    const Real beta = p.w.axis_beta[i];
    linear.rhs[row] = linear.residual[row];
    p.w.compliance[row] = beta > 0 ? Real(1) / beta : Real(1);
  });
  if (p.m.tendon_count > p.m.tendon_axis_count) linearise_equalities(team, p);
}

template <typename Real, typename Team>
AXION_HD_CALL void linearise(const Team& team, const Problem<Real>& p) {
  linearise_joints(team, p);
  const StepRules<Real> rules = step_rules(p);
  const UnitTable<Real> units = unit_table<Real>(p.rows(), p.w);
  LinearisedRows<Real> linear = linearised_rows<Real>(p.w);
  const Real* lambda = linear.lambda;
  const auto put = [&](int row, const laws::LinearisedRow<Real>& of) {
    linear.rhs[row] = of.rhs, linear.compliance[row] = of.compliance;
  };
  const Real proximal = rules.proximal_scale * Real(laws::kContactProximal);
  team.for_each(p.m.limit_count, [&](int i) {
    const int row = p.limit_base() + i;
    const Real compliance = constraints::limit_compliance(p.m, p.w, p.s, i);
    const laws::Limit<Real> law = units.limit_units().law(i, lambda);
    put(row,
        law.linearise(rules.s.contact_function, linear.residual[row], lambda[row], compliance, proximal * law.scale));
  });
  team.for_each(p.m.effort_count, [&](int i) {
    const int row = p.effort_base() + i;
    const laws::BoundedEffort<Real> law = units.effort_units().law(i, lambda);
    put(row, law.linearise(linear.residual[row], lambda[row], proximal * law.scale));
  });
  team.for_each(p.contact_count, [&](int i) {
    const int row = p.contact_base() + 3 * i;
    const auto normal = constraints::normal_law(p.m, p.w, p.s, i, units.row_scale[row], lambda[row]);
    units.contact_units().law(i, lambda).linearise(rules, linear.unit(row, i), normal.compliance,
                                                   constraints::tangent_law<Real>(p.m, p.w, i).compliance);
  });
  if (p.moment_count == 0) return;
  team.for_each(p.moment_count, [&](int k) {
    units.moment_units().law(k, lambda).linearise(rules, linear.unit(p.moment_base() + 3 * k, p.contact_count + k));
  });
}

}  // namespace axion::solver
