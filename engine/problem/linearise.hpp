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

inline constexpr double kContactProximal = 1e-4;  // of (J M⁻¹ Jᵀ)_ii
inline constexpr double kMomentProximal =
    1e-1;                                    // likewise, of torsional and rolling friction, redundant beside normals
inline constexpr double kReleaseGain = 1e8;  // compliance, in units of r_t, of a tangent row that says λ_f = 0

template <typename Real>
AXION_HD constexpr Real joint_proximal() {
  return std::numeric_limits<Real>::digits > 30 ? Real(JointProximalParameters::kDouble)
                                                : Real(JointProximalParameters::kSingle);
}

template <typename Real>
AXION_HD constexpr Real least_proximal() {
  return std::numeric_limits<Real>::digits > 30 ? Real(1e-11) : Real(5e-8);
}

// What turns a body: impulses of its joints at the iterate, and the inertias that resist.
template <typename Real>
struct TurningImpulses {
  const model::ModelView<Real>& m;
  const math::Quat<Real>* q_plus;                      // [nb]
  const model::Row<Real>* row;                         // of locks
  const Real *lambda, *blend;                          // of locks; [nj + paths]
  const math::Mat3<Real>*supported_inertia, *I_world;  // [nb]
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

// A row at its bound keeps it: a compliance so large that it only says Δλ = bound − λ. A row without compliance takes a
// proximal one, for dry friction on axes that contacts hold too.
template <typename Real>
AXION_HD inline void linearise_effort(const StepRules<Real>& rules, const IterateRows<Real>& rows,
                                      const EffortLaws<Real>& efforts, LinearisedRows<Real>& linear, int effort) {
  const int row = rows.effort_base() + effort;
  const BoundedImpulse<Real> next = bounded_impulse(effort_row(rows, efforts, effort), linear.residual[row]);
  const Real proximal = rules.proximal_scale * Real(kContactProximal) * rows.row_scale[row];
  if (next.held == next.free) {
    const Real compliance = efforts.compliance[effort];
    linear.rhs[row] = linear.residual[row];
    linear.compliance[row] = compliance > proximal ? compliance : compliance + proximal;
    return;
  }
  linear.compliance[row] = Real(kReleaseGain) * (rows.row_scale[row] + efforts.compliance[effort]);
  linear.rhs[row] = linear.compliance[row] * (rows.lambda[row] - next.held);
}

template <typename Real>
AXION_HD inline void linearise_limit(const StepRules<Real>& rules, const IterateRows<Real>& rows,
                                     LinearisedRows<Real>& linear, int limit, Real compliance) {
  const int row = rows.limit_base() + limit;
  const Real r = rows.row_scale[row];
  const auto f = constraints::complementarity(rules.s.contact_function, linear.residual[row], r * rows.lambda[row]);
  linear.rhs[row] = f.phi_over_alpha;
  linear.compliance[row] = r * f.beta_over_alpha + rules.proximal_scale * Real(kContactProximal) * r;
  linear.compliance[row] += compliance;
}

// C₃ is lower block triangular: the normal row alone, then the tangents with the effect of the normal impulse on their
// cone.
template <typename Real>
AXION_HD inline void solve_contact_block(const constraints::FrictionBlock<Real>& f, Real residual, Real compliance,
                                         Real proximal, ContactBlocks<Real>& blocks, int i) {
  Real* G = blocks.gain + 9 * i;
  Real* e = blocks.offset + 3 * i;
  const Real n_inverse = Real(1) / compliance;
  const Real a = f.compliance[0] + proximal, b = f.compliance[1], c = f.compliance[2], d = f.compliance[3] + proximal;
  const Real det = Real(1) / (a * d - b * c);
  const Real inverse[4] = {det * d, -det * b, -det * c, det * a};
  e[0] = n_inverse * residual;
  G[0] = n_inverse, G[1] = G[2] = 0;
  const Real t[2] = {f.residual[0] - f.coupling[0] * e[0], f.residual[1] - f.coupling[1] * e[0]};
  for (int k = 0; k < 2; ++k) {
    const Real* inv = inverse + 2 * k;
    e[1 + k] = inv[0] * t[0] + inv[1] * t[1];
    G[3 + 3 * k] = -(inv[0] * f.coupling[0] + inv[1] * f.coupling[1]) * n_inverse;
    G[4 + 3 * k] = inv[0] * f.left[0] + inv[1] * f.left[2];
    G[5 + 3 * k] = inv[0] * f.left[1] + inv[1] * f.left[3];
  }
}

// Turns both tangent rows of a contact, or of a moment, to run along d and across it.
template <typename Real>
AXION_HD inline void turn_tangents(model::Row<Real>* row, const constraints::Vec2<Real>& d) {
  const model::Row<Real> first = row[0], second = row[1];
  row[0] = {d.x * first.l + d.y * second.l, d.x * first.k_a + d.y * second.k_a, d.x * first.k_b + d.y * second.k_b};
  row[1] = {d.x * second.l - d.y * first.l, d.x * second.k_a - d.y * first.k_a, d.x * second.k_b - d.y * first.k_b};
}

// The proximal term of a contact under a load r_n λ_n, as a share of its rows' scales. An iteration moves a row's
// impulse by its residual over the sum of this term and the mobility of its bodies, and bodies that carry many times
// their weight are that much less mobile: of ten boxes, each twice as heavy as the one below, a thousandfold load on
// the lowest contact makes 1e-4 a hundred times the mobility, so that a step takes 1.5 % of the residual. With
// load_proximal the term takes no more of a row than that share of g h, whatever the load. Below least_proximal the
// motions of bodies that no contact holds are lost beside those that contacts hold.
template <typename Real>
AXION_HD inline Real contact_proximal(const StepRules<Real>& rules, Real load) {
  const Real usual = rules.proximal_scale * Real(kContactProximal);
  const Real share = rules.load_proximal * Real(math::kGravity) * rules.s.dt;
  if (!(rules.load_proximal > Real(0)) || !(usual * load > share)) return usual;
  return greater(share / load, least_proximal<Real>());
}

template <typename Real>
AXION_HD_CALL void linearise_contact(const StepRules<Real>& rules, const IterateRows<Real>& rows,
                                     LinearisedRows<Real>& linear, ContactBlocks<Real>& blocks, int i, Real mu,
                                     Real normal_compliance, Real tangent_compliance) {
  const int row = rows.contact_base() + 3 * i;
  const Real r_n = rows.row_scale[row], r_t = rows.row_scale[row + 1], lambda_n = rows.lambda[row];
  const Real share = contact_proximal(rules, r_n * lambda_n);
  const auto normal = constraints::complementarity(rules.s.contact_function, linear.residual[row], r_n * lambda_n);
  linear.rhs[row] = normal.phi_over_alpha;
  linear.compliance[row] = r_n * normal.beta_over_alpha + normal_compliance + share * r_n;
  const constraints::Vec2<Real> v{linear.residual[row + 1], linear.residual[row + 2]};
  const constraints::Vec2<Real> lambda{rows.lambda[row + 1], rows.lambda[row + 2]};
  const Real closed = Real(1e-9 * math::kGravity) * rules.s.dt / r_t;
  constraints::FrictionBlock<Real> f =
      constraints::friction_block(rules.s.friction_model, v, lambda, mu, lambda_n, r_t, closed);
  const bool released = f.left[0] == 0 && f.left[1] == 0 && f.left[3] == 0;
  if (rules.follows_slip && !released) {
    const constraints::Vec2<Real> d = constraints::slip_direction(v, lambda, r_t);
    f = constraints::follow_slip(v, lambda, mu * lambda_n, r_t, d);
    turn_tangents(linear.row + row + 1, d);
  }
  if (released && rules.symmetric) {
    // The same law with the row kept: a compliance so large that it only says λ_f = 0, and the operator stays
    // symmetric. Its right-hand side is that alone: with v, λ_f would stay at v/gain, which rigid tolerances see.
    const Real gain = Real(kReleaseGain) * r_t;
    f = {{1, 0, 0, 1}, {gain, 0, 0, gain}, {0, 0}, {gain * lambda.x, gain * lambda.y}};
  }
  if (tangent_compliance >= Real(0)) {  // the law is of J u + c λ
    for (int k = 0; k < 4; ++k) f.compliance[k] += tangent_compliance * f.left[k];
  }
  const Real proximal = share * r_t;
  linear.rhs[row + 1] = f.residual[0], linear.rhs[row + 2] = f.residual[1];
  linear.compliance[row + 1] = f.compliance[0] + proximal, linear.compliance[row + 2] = f.compliance[3] + proximal;
  if (!rules.symmetric) solve_contact_block(f, linear.rhs[row], linear.compliance[row], proximal, blocks, i);
}

// Rolling friction of moment k as a block; its rows may be turned.
template <typename Real>
AXION_HD_RARE constraints::FrictionBlock<Real> rolling_block(const StepRules<Real>& rules,
                                                             const IterateRows<Real>& rows,
                                                             LinearisedRows<Real>& linear, int k, Real bound) {
  const int row = rows.moment_base() + 3 * k;
  const Real r = rows.row_scale[row + 1], closed = Real(1e-9 * math::kGravity) * rules.s.dt / r;
  const constraints::Vec2<Real> v{linear.residual[row + 1], linear.residual[row + 2]};
  const constraints::Vec2<Real> lambda{rows.lambda[row + 1], rows.lambda[row + 2]};
  if (bound <= closed) {
    if (!rules.symmetric) return constraints::released_friction(lambda, r);
    const Real gain = Real(kReleaseGain) * r;
    return {{1, 0, 0, 1}, {gain, 0, 0, gain}, {0, 0}, {gain * lambda.x, gain * lambda.y}};
  }
  if (!rules.follows_slip)
    return constraints::friction_block(rules.s.friction_model, v, lambda, Real(1), bound, r, closed);
  const constraints::Vec2<Real> d = constraints::slip_direction(v, lambda, r);
  turn_tangents(linear.row + row + 1, d);
  return constraints::follow_slip(v, lambda, bound, r, d);
}

// A torsional impulse at its bound keeps it, as that of an effort row does.
template <typename Real>
AXION_HD_RARE void linearise_moment(const StepRules<Real>& rules, const IterateRows<Real>& rows,
                                    LinearisedRows<Real>& linear, ContactBlocks<Real>& blocks, int k,
                                    const MomentBounds<Real>& bound) {
  const int row = rows.moment_base() + 3 * k;
  const Real r = rows.row_scale[row], share = rules.proximal_scale * Real(kMomentProximal);
  const Real star = rows.lambda[row] - linear.residual[row] / r;
  const Real held = constraints::clamp(star, -bound.torsional, bound.torsional);
  linear.compliance[row] = held == star ? share * r : Real(kReleaseGain) * r;
  linear.rhs[row] = held == star ? linear.residual[row] : linear.compliance[row] * (rows.lambda[row] - held);
  constraints::FrictionBlock<Real> f = rolling_block(rules, rows, linear, k, bound.rolling);
  f.coupling[0] = f.coupling[1] = 0;  // bounds are held
  const Real proximal = share * rows.row_scale[row + 1];
  linear.rhs[row + 1] = f.residual[0], linear.rhs[row + 2] = f.residual[1];
  linear.compliance[row + 1] = f.compliance[0] + proximal, linear.compliance[row + 2] = f.compliance[3] + proximal;
  if (!rules.symmetric) {
    solve_contact_block(f, linear.rhs[row], linear.compliance[row], proximal, blocks, rows.contact_count + k);
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
  linear.rhs[row] += constraints::clamp(proximal * lambda, -most, most);
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
  const IterateRows<Real> rows = iterate_rows<Real>(p.rows(), p.w);
  const EffortLaws<Real> efforts = effort_laws<Real>(p.w);
  LinearisedRows<Real> linear = linearised_rows<Real>(p.w);
  ContactBlocks<Real> blocks{p.w.contact_gain, p.w.contact_offset};
  const bool is_soft = p.m.is_soft != 0;
  team.for_each(p.m.limit_count, [&](int i) {
    linearise_limit<Real>(rules, rows, linear, i,
                          is_soft ? constraints::limit_law(p.m, p.w, p.s, i).compliance : Real(0));
  });
  team.for_each(p.m.effort_count, [&](int i) { linearise_effort(rules, rows, efforts, linear, i); });
  team.for_each(p.contact_count, [&](int i) {
    const int row = rows.contact_base() + 3 * i;
    const auto law = constraints::normal_law(p.m, p.w, p.s, i, rows.row_scale[row], rows.lambda[row]);
    linearise_contact<Real>(rules, rows, linear, blocks, i, p.w.contacts[i].friction, law.compliance,
                            is_soft ? p.w.contact_law[i].tangent_compliance : Real(-1));
  });
  if (p.moment_count == 0) return;
  team.for_each(p.moment_count, [&](int k) {
    linearise_moment<Real>(rules, rows, linear, blocks, k,
                           moment_bounds(p.w.moments[k], rows.lambda + rows.contact_base()));
  });
}

}  // namespace axion::solver
