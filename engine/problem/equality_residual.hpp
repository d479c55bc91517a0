// The residual of equalities of coordinates: locks over several joints, as those of joints are (residual.hpp).
//
//   position level (c(q⁺) − kept)/h, kept what c(q⁻) leaves for further steps; velocity level J u + the share of c(q⁻)
// Impulses act along J(q⁻) in every joint mode.
#pragma once

#include <limits>

#include "engine/constraints/eased_locks.hpp"
#include "engine/problem/impulses.hpp"
#include "engine/problem/parameters.hpp"

namespace axion::solver {

// Rounding of a sum of velocities, relative to its terms, and of a position in metres.
template <typename Real>
AXION_HD constexpr Real velocity_rounding() {
  return Real(4) * std::numeric_limits<Real>::epsilon();
}
template <typename Real>
AXION_HD constexpr Real position_rounding() {
  return Real(16) * std::numeric_limits<Real>::epsilon();
}

// The residual of a soft lock whose row moves at `v`: J u + bias + compliance λ.
template <typename Real>
AXION_HD_RARE void put_soft_lock(const model::StepSettings<Real>& s, const IterateRows<Real>& rows,
                                 const constraints::NormalLaw<Real>& law, LockRows<Real>& locks,
                                 RowResiduals<Real>& residuals, int row, const RowVelocity<Real>& v) {
  const Real given = law.compliance * rows.lambda[row], impulse = rows.row_scale[row] * std::abs(rows.lambda[row]);
  residuals.residual[row] = v.value + law.bias + given;
  residuals.natural_residual[row] = std::abs(residuals.residual[row]);
  locks.compliance[row] = law.compliance;
  const Real size = v.size + std::abs(law.bias) + std::abs(given) + impulse;
  residuals.row_tolerance[row] = greater(s.velocity_tolerance, velocity_rounding<Real>() * size);
}

// How fast a lock that is off by `error` may come together, per second: as a limit from beyond it.
template <typename Real>
AXION_HD inline Real greatest_recovery(const model::StepSettings<Real>& s, Real error) {
  const Real least = greater(Real(LockParameters::kLeastRecovery), s.depenetration_velocity);
  const Real off = std::abs(error), furthest = Real(constraints::AxisParameters::kGreatestRecovery) / s.dt;
  if (!(off > least * s.limit_recovery_time)) return least;
  const Real fastest = off / s.limit_recovery_time;
  return greater(least, fastest < furthest ? fastest : furthest);
}

// c, J and the size of what c was summed of, at the poses of the iterate. J is left in tendon_row.
template <typename Real>
struct EqualityError {
  Real error, extent;
};

template <typename Real>
AXION_HD_RARE EqualityError<Real> evaluate_equality_at_end(const model::ModelView<Real>& m,
                                                           const StepPoses<Real>& poses, ConstArray<Real> tendon_weight,
                                                           OutArray<model::Row<Real>> tendon_row,
                                                           const model::PathLengths<Real>& paths,
                                                           const model::TendonData<Real>& equality) {
  Real extent = 1 + std::abs(paths.first) + std::abs(paths.second);
  const auto measure = [&](int k) {
    const int axis = m.tendon_terms[k].axis;
    const model::JointData<Real>& joint = m.joints[m.axes[axis].joint];
    constraints::JointEvaluation<Real> e;
    constraints::evaluate_joint(m, joint, poses.x_plus, poses.q_plus, poses.axis_position, e);
    tendon_row[k] = e.axis[axis - joint.axis_start];
    return e.coordinate[axis - joint.axis_start];
  };
  const constraints::TendonValue<Real> value = constraints::tendon_value<Real>(m, equality, paths, [&](int k) {
    const Real s = measure(k);
    extent += std::abs(tendon_weight[k]) * greater(Real(1), std::abs(s));
    return s;
  });
  constraints::for_each_term(equality, [&](int k) {
    tendon_row[k] = constraints::scaled(constraints::term_weight(m.tendon_terms[k], value.slope), tendon_row[k]);
  });
  return {value.value, extent};
}

// As soft as soft_laws.hpp has it: the residual of its law, along J(q⁻).
template <typename Real>
AXION_HD_RARE void evaluate_soft_equality(const model::ModelView<Real>& m, const model::StepSettings<Real>& s,
                                          const IterateRows<Real>& rows, const BodyVelocities<Real>& u,
                                          const LockStarts<Real>& starts, LockRows<Real>& locks,
                                          RowResiduals<Real>& residuals, const model::TendonData<Real>& equality) {
  const int row = equality.lock;
  constraints::for_each_term(equality, [&](int k) { locks.tendon_row[k] = starts.tendon_force[k]; });
  put_soft_lock(s, rows, starts.law[row], locks, residuals, row,
                iterate_tendon_velocity<Real>(m, u, equality, locks.tendon_row));
}

template <typename Real>
AXION_HD_RARE void evaluate_equality(const model::ModelView<Real>& m, const StepRules<Real>& rules,
                                     const IterateRows<Real>& rows, const BodyVelocities<Real>& u,
                                     const StepPoses<Real>& poses, const LockStarts<Real>& starts,
                                     LockRows<Real>& locks, RowResiduals<Real>& residuals,
                                     const model::TendonData<Real>& equality, const model::PathLengths<Real>& paths) {
  const model::StepSettings<Real>& s = rules.s;
  const int row = equality.lock;
  constraints::Softness<Real> soft = constraints::softness(s, equality.stiffness, equality.damping);
  if (rules.joint_mode == model::JointMode::kLinearised && soft.erp == Real(1)) soft.erp = Real(0.5);
  const Real start = starts.error[row], most = greatest_recovery(s, start);
  Real push = soft.erp * start / s.dt;  // the share of c(q⁻) that is taken back
  if (!(equality.stiffness > 0)) push = constraints::clamp(push, -most, most);
  Real residual, tolerance;
  if (rules.has_start_rows) {
    constraints::for_each_term(equality, [&](int k) { locks.tendon_row[k] = starts.tendon_force[k]; });
    const RowVelocity<Real> v = iterate_tendon_velocity<Real>(m, u, equality, locks.tendon_row);
    residual = v.value + push;
    const Real impulse = rows.row_scale[row] * std::abs(rows.lambda[row]);
    tolerance = greater(s.velocity_tolerance, velocity_rounding<Real>() * (v.size + std::abs(push) + impulse));
  } else {
    const EqualityError<Real> end =
        evaluate_equality_at_end<Real>(m, poses, starts.tendon_weight, locks.tendon_row, paths, equality);
    residual = (end.error - start) / s.dt + push;
    tolerance = greater(s.velocity_tolerance, position_rounding<Real>() * end.extent / s.dt);
  }
  residual += soft.cfm * rows.lambda[row];
  locks.compliance[row] = soft.cfm;
  residuals.residual[row] = residual;
  residuals.natural_residual[row] = std::abs(residual);
  residuals.row_tolerance[row] = tolerance;
}

template <typename Real, typename Team>
AXION_HD_RARE void evaluate_equalities(const Team& team, const Problem<Real>& p) {
  const StepRules<Real> rules = step_rules(p);
  const IterateRows<Real> rows = iterate_rows<Real>(p.rows(), p.w);
  const BodyVelocities<Real> u = iterate_velocities<Real>(p.w);
  const StepPoses<Real> poses = step_poses<Real>(p.w);
  const LockStarts<Real> starts = lock_starts<Real>(p.w);
  LockRows<Real> locks = lock_rows<Real>(p.w);
  RowResiduals<Real> residuals = row_residuals<Real>(p.w);
  const int first = p.m.tendon_axis_count;
  team.for_each(p.m.tendon_count - first, [&](int i) {
    const model::TendonData<Real>& equality = p.m.tendons[first + i];
    if (constraints::goes_by_law<Real>(p.m, p.w, equality)) {
      return evaluate_soft_equality<Real>(p.m, p.s, rows, u, starts, locks, residuals, equality);
    }
    model::PathLengths<Real> paths;
    if (equality.span_count > 0 && !rules.has_start_rows) {
      paths = constraints::measure_paths(p.m, p.w, equality, {p.w.x_plus, p.w.q_plus});
    }
    evaluate_equality<Real>(p.m, rules, rows, u, poses, starts, locks, residuals, equality, paths);
  });
}

}  // namespace axion::solver
