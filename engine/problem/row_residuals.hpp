// Residuals of rows at an iterate, of one joint, axis, limit, effort, contact or moment each: its equation and its stop
// test as residual.hpp says.
//
// In: a row's law and the iterate. Out: residual, natural_residual and row_tolerance of its rows; of locks their rows
// at the iterate too. Cost: that of the joint's evaluation, else a few operations. Called by residual.hpp.
#pragma once

#include <limits>

#include "engine/constraints/force_steps.hpp"
#include "engine/constraints/joint_rows.hpp"
#include "engine/problem/equality_residual.hpp"
#include "engine/problem/parameters.hpp"

namespace axion::solver {

// The share of J(q⁺) in a lock's impulse. BLENDED leaves rotations at J(q⁻): the impulses of anchors act at an arm and
// need the new pose, while the torque of a rotation lock, as its two bodies turn, would couple them beyond the terms of
// Newton's matrix.
template <typename Real>
AXION_HD inline Real impulse_blend(model::JointMode joint_mode, ConstArray<Real> blend, int j, bool is_translation) {
  if (joint_mode == model::JointMode::kCurrent) return 1;
  return joint_mode == model::JointMode::kPrevious || !is_translation ? Real(0) : blend[j];
}

// What a unit impulse of a closing lock changes its velocity by: of its bodies alone, or with the joints that hold them
// in the reference configuration where that is less, as of a hand that weighs next to nothing on its arm.
template <typename Real>
AXION_HD inline Real closing_scale(const model::ModelView<Real>& m, const model::JointData<Real>& joint, Real alone,
                                   bool is_translation) {
  if (joint.softness < 0) return alone;
  const model::LockSoftness<Real>& softness = m.lock_softness[joint.softness];
  const Real held = is_translation ? softness.translation.mobility
                                   : softness.rotation.mobility * softness.turn_weight * softness.turn_weight;
  return held > Real(0) && held < alone ? held : alone;
}

// Puts the residual of a rigid lock that closes a loop, with what it gives to an impulse beyond that of kRigidLoad.
// Rows that depend on each other, as of a planar mechanism whose axes are parallel to the digits of a file, have an
// error that no motion takes back, or next to none. Were they rigid to any load, their impulses would have no bound,
// and what these leave as they turn would throw the links; so such an error is a strain. In float64 such steps do not
// converge, and the links of grippers that press on what they hold want their locks rigid.
template <typename Real>
AXION_HD inline void put_closing_lock(Real dt, const IterateRows<Real>& rows, LockRows<Real>& locks,
                                      RowResiduals<Real>& residuals, int row, Real scale, Real residual) {
  const Real most = Real(LockParameters::kRigidLoad) * dt / scale, lambda = rows.lambda[row];
  locks.compliance[row] = 0;
  if (std::numeric_limits<Real>::digits < 30 && std::abs(lambda) > most) {
    const Real share = Real(LockParameters::kStrain) / (dt * dt),
               bounded = share < Real(LockParameters::kMostStrain) ? share : Real(LockParameters::kMostStrain);
    locks.compliance[row] = bounded * scale;
    residual += locks.compliance[row] * (lambda > 0 ? lambda - most : lambda + most);
  }
  residuals.residual[row] = residual;
  residuals.natural_residual[row] = std::abs(residual);
}

// Of a joint whose locks are soft (soft_laws.hpp): the residuals of their laws, along J(q⁻).
template <typename Real>
AXION_HD_RARE void evaluate_soft_locks(const model::StepSettings<Real>& s, const IterateRows<Real>& rows,
                                       const BodyVelocities<Real>& u, const LockStarts<Real>& starts,
                                       LockRows<Real>& locks, RowResiduals<Real>& residuals,
                                       const model::JointData<Real>& joint) {
  const int count = joint.translation_lock_count + joint.rotation_lock_count;
  for (int row = joint.lock_start; row < joint.lock_start + count; ++row) {
    locks.row[row] = locks.row_force[row] = starts.row_start[row];
    put_soft_lock(s, rows, starts.law[row], locks, residuals, row,
                  iterate_velocity(u, starts.row_start[row], joint.child, joint.parent));
  }
}

// The share of c(q⁻) that a joint's rigid locks take back in the step: `share`, or what greatest_recovery allows where
// the joint starts far apart, as where a file's coordinates leave a loop open.
template <typename Real>
AXION_HD inline Real recovered_share(const model::StepSettings<Real>& s, ConstArray<Real> start_error,
                                     const model::JointData<Real>& joint, int locks, Real share) {
  Real off = 0, apart = 0;
  for (int i = 0; i < locks; ++i) {
    off = greater(off, std::abs(start_error[joint.lock_start + i]));
    if (i < joint.translation_lock_count) apart = off;
  }
  if (!(share * off > Real(LockParameters::kLeastRecovery) * s.dt)) return share;
  const Real most = greatest_recovery(s, off) * s.dt / off;
  const Real recovered = share < most ? share : most, fastest = constraints::fastest_pull(s) * s.dt;
  return recovered * apart > fastest ? fastest / apart : recovered;
}

// Locks of joint j at the iterate: errors, rows of the matrix, rows of the impulses, natural residuals.
template <typename Real>
AXION_HD_CALL void evaluate_locks(const model::ModelView<Real>& m, const StepRules<Real>& rules,
                                  const IterateRows<Real>& rows, const BodyVelocities<Real>& u,
                                  const StepPoses<Real>& poses, const LockStarts<Real>& starts, LockRows<Real>& locks,
                                  RowResiduals<Real>& residuals, int j) {
  const model::StepSettings<Real>& s = rules.s;
  const model::JointData<Real>& joint = m.joints[j];
  const int count = joint.translation_lock_count + joint.rotation_lock_count;
  constraints::JointEvaluation<Real> e;
  const bool at_start = rules.has_start_rows, closes = j >= m.joint_count - m.loop_count;
  if (!at_start) {
    constraints::evaluate_joint<constraints::JointParts::kLocks>(m, joint, poses.x_plus, poses.q_plus,
                                                                 poses.axis_position, e);
  }
  constraints::Softness<Real> soft = constraints::softness(s, joint.lock_stiffness, joint.lock_damping);
  if (rules.joint_mode == model::JointMode::kLinearised && soft.erp == Real(1)) soft.erp = Real(0.5);
  if (!(joint.lock_stiffness > 0)) soft.erp = recovered_share(s, starts.error, joint, count, soft.erp);
  const math::Vec3<Real>& x = poses.x[joint.child];
  const Real extent = greater(greater(Real(1), std::abs(x.x)), greater(std::abs(x.y), std::abs(x.z)));
  for (int i = 0; i < count; ++i) {
    const int row = joint.lock_start + i;
    const model::Row<Real>& start = starts.row_start[row];
    Real residual, tolerance = greater(s.velocity_tolerance, position_rounding<Real>() * extent / s.dt);
    if (at_start) {
      locks.row[row] = locks.row_force[row] = start;
      const RowVelocity<Real> v = iterate_velocity(u, start, joint.child, joint.parent);
      const Real push = soft.erp * starts.error[row] / s.dt;
      residual = v.value + push;
      const Real impulse =
          rows.row_scale[row] * std::abs(rows.lambda[row]);  // the terms that the velocities were summed of
      tolerance = greater(s.velocity_tolerance, velocity_rounding<Real>() * (v.size + std::abs(push) + impulse));
    } else {
      locks.row[row] = e.lock[i];
      const Real f = impulse_blend<Real>(rules.joint_mode, starts.blend, j, i < joint.translation_lock_count);
      locks.row_force[row] = {(1 - f) * start.l + f * e.lock[i].l, (1 - f) * start.k_a + f * e.lock[i].k_a,
                              (1 - f) * start.k_b + f * e.lock[i].k_b};
      residual = (e.error[i] - (1 - soft.erp) * starts.error[row]) / s.dt;
    }
    residuals.row_tolerance[row] = tolerance;
    if (closes && !(joint.lock_stiffness > 0)) {
      const Real scale = closing_scale(m, joint, rows.row_scale[row], i < joint.translation_lock_count);
      put_closing_lock(s.dt, rows, locks, residuals, row, scale, residual);
      continue;
    }
    residual += soft.cfm * rows.lambda[row];
    locks.compliance[row] = soft.cfm;
    residuals.residual[row] = residual;
    residuals.natural_residual[row] = std::abs(residual);
  }
}

// Least tolerance of a row along a joint's coordinate. In a closed mechanism a rate follows from poses, by locks that
// carry their rounding over h, and rows along the coordinates of a loop, more than it has freedoms, meet only as nearly
// as that.
template <typename Real>
AXION_HD inline Real coordinate_tolerance(const model::ModelView<Real>& m, const model::StepSettings<Real>& s) {
  return m.loop_count > 0 || m.tendon_count > m.tendon_axis_count
             ? greater(s.velocity_tolerance, velocity_rounding<Real>() / s.dt)
             : s.velocity_tolerance;
}

template <typename Real>
AXION_HD inline void evaluate_axis(const IterateRows<Real>& rows, const CoordinateRows<Real>& coordinates,
                                   const BodyVelocities<Real>& u, RowResiduals<Real>& residuals, int axis, Real alpha,
                                   Real beta, Real least_tolerance) {
  const int row = rows.axis_base() + axis;
  residuals.residual[row] = residuals.natural_residual[row] = 0;
  residuals.row_tolerance[row] = least_tolerance;
  if (!(beta > 0)) return;
  const RowVelocity<Real> v = iterate_velocity_along(coordinates, u, axis, row);
  const Real lambda = rows.lambda[row];
  residuals.residual[row] = v.value + (lambda - alpha) / beta;
  residuals.natural_residual[row] = std::abs(residuals.residual[row]);
  residuals.row_tolerance[row] =
      greater(least_tolerance, velocity_rounding<Real>() * (v.size + (std::abs(lambda) + std::abs(alpha)) / beta));
}

template <typename Real>
AXION_HD inline void evaluate_effort(const IterateRows<Real>& rows, const CoordinateRows<Real>& coordinates,
                                     const BodyVelocities<Real>& u, const laws::BoundedEffort<Real>& law, Real aim,
                                     RowResiduals<Real>& residuals, int effort, Real least_tolerance) {
  const int row = rows.effort_base() + effort;
  const RowVelocity<Real> v = iterate_velocity_along(coordinates, u, coordinates.m.efforts[effort].axis, row);
  const Real compliance = law.compliance, lambda = rows.lambda[row];
  residuals.residual[row] = v.value + compliance * lambda - aim;
  residuals.natural_residual[row] = law.natural_residual(residuals.residual[row], lambda);
  residuals.row_tolerance[row] =
      greater(least_tolerance,
              velocity_rounding<Real>() * (v.size + (compliance + law.scale) * std::abs(lambda) + std::abs(aim)));
}

// residual holds a of the complementarity a ⟂ r λ.
template <typename Real>
AXION_HD inline void evaluate_unilateral(const IterateRows<Real>& rows, RowResiduals<Real>& residuals, int row,
                                         const constraints::NormalLaw<Real>& law, const RowVelocity<Real>& v,
                                         Real tolerance) {
  const Real lambda = rows.lambda[row];
  const Real a = law.bias + v.value + law.compliance * lambda, b = rows.row_scale[row] * lambda;
  residuals.residual[row] = a;
  residuals.natural_residual[row] = laws::unilateral_residual(a, b);
  residuals.row_tolerance[row] =
      greater(tolerance, velocity_rounding<Real>() * (v.size + std::abs(law.bias) + std::abs(b)));
}

template <typename Real>
AXION_HD inline void evaluate_limit(const IterateRows<Real>& rows, const CoordinateRows<Real>& coordinates,
                                    const BodyVelocities<Real>& u, RowResiduals<Real>& residuals, int limit,
                                    const constraints::NormalLaw<Real>& law, Real least_tolerance) {
  const int row = rows.limit_base() + limit;
  evaluate_unilateral(rows, residuals, row, law,
                      iterate_velocity_along(coordinates, u, coordinates.m.limit_axis[limit], row), least_tolerance);
}

// `slip` is null where no surface moves.
template <typename Real>
AXION_INLINED AXION_HD_CALL void evaluate_contact(const IterateRows<Real>& rows, const model::Row<Real>* contact_row,
                                                  const BodyVelocities<Real>& u, RowResiduals<Real>& residuals, int i,
                                                  const model::Contact<Real>& c,
                                                  const constraints::NormalLaw<Real>& law,
                                                  const constraints::TangentLaw<Real>& tangents, const Real* slip,
                                                  Real least_tolerance) {
  const int row = rows.contact_base() + 3 * i;
  const Real r_t = rows.row_scale[row + 1];
  evaluate_unilateral(rows, residuals, row, law, iterate_velocity(u, contact_row[0], c.body_a, c.body_b),
                      least_tolerance);
  RowVelocity<Real> v1 = iterate_velocity(u, contact_row[1], c.body_a, c.body_b);
  RowVelocity<Real> v2 = iterate_velocity(u, contact_row[2], c.body_a, c.body_b);
  if (slip != nullptr) {
    v1.value += slip[1], v1.size += std::abs(slip[1]), v2.value += slip[2], v2.size += std::abs(slip[2]);
  }
  v1.value += tangents.bias[0] + tangents.compliance * rows.lambda[row + 1];
  v2.value += tangents.bias[1] + tangents.compliance * rows.lambda[row + 2];
  const Real cone = c.friction * greater(rows.lambda[row], Real(0));
  residuals.residual[row + 1] = v1.value, residuals.residual[row + 2] = v2.value;
  residuals.natural_residual[row + 1] =
      laws::friction_residual<Real>({v1.value, v2.value}, {rows.lambda[row + 1], rows.lambda[row + 2]}, cone, r_t);
  residuals.natural_residual[row + 2] = 0;
  residuals.row_tolerance[row + 1] = residuals.row_tolerance[row + 2] =
      greater(least_tolerance, velocity_rounding<Real>() * (v1.size + v2.size + r_t * cone));
}

// Torsional and rolling friction k; `slip` as above, of its contact.
template <typename Real>
AXION_HD_RARE void evaluate_moment(const IterateRows<Real>& rows, const model::Row<Real>* moment_row,
                                   const BodyVelocities<Real>& u, RowResiduals<Real>& residuals, int k,
                                   const model::Contact<Real>& c, const laws::SpinFriction<Real>& law, const Real* slip,
                                   Real least_tolerance) {
  const int row = rows.moment_base() + 3 * k;
  const Real *r = rows.row_scale + row, *lambda = rows.lambda + row;
  RowVelocity<Real> v[3];
  for (int i = 0; i < 3; ++i) {
    v[i] = iterate_velocity(u, moment_row[i], c.body_a, c.body_b);
    if (i == 0 && slip != nullptr) v[0].value += *slip;
    residuals.residual[row + i] = v[i].value;
  }
  Real* natural = residuals.natural_residual + row;
  natural[0] = law.torsional_residual(v[0].value, lambda[0]);
  natural[1] = law.rolling_residual(v[1].value, v[2].value, lambda[1], lambda[2]);
  natural[2] = 0;
  Real* tolerance = residuals.row_tolerance + row;
  tolerance[0] = greater(least_tolerance, velocity_rounding<Real>() * (v[0].size + r[0] * law.torsional));
  tolerance[1] = tolerance[2] =
      greater(least_tolerance, velocity_rounding<Real>() * (v[1].size + v[2].size + r[1] * law.rolling));
}

}  // namespace axion::solver
