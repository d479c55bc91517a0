// The residual of equalities of coordinates: locks over several joints, as those of joints are (residual.hpp).
//
//   position level (c(q⁺) − kept)/h, kept what c(q⁻) leaves for further steps; velocity level J u + the share of c(q⁻)
// Impulses act along J(q⁻) in every joint mode.
#pragma once

#include <limits>

#include "engine/constraints/eased_locks.hpp"
#include "engine/problem/impulses.hpp"

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
AXION_HD_RARE void put_soft_lock(const Problem<Real>& p, int row, const RowVelocity<Real>& v) {
  const constraints::NormalLaw<Real>& law = p.w.lock_law[row];
  const Real given = law.compliance * p.w.lambda[row], impulse = p.w.row_scale[row] * std::abs(p.w.lambda[row]);
  p.w.residual[row] = v.value + law.bias + given;
  p.w.natural_residual[row] = std::abs(p.w.residual[row]);
  p.w.lock_compliance[row] = law.compliance;
  const Real size = v.size + std::abs(law.bias) + std::abs(given) + impulse;
  p.w.row_tolerance[row] = greater(p.s.velocity_tolerance, velocity_rounding<Real>() * size);
}

// m/s or rad/s, as fast as locks come together at least, whatever depenetration_velocity is: what steps leave of a
// lock's error is far less in a step, and is taken back at once.
inline constexpr double kLeastRecovery = 1;

// How fast a lock that is off by `error` may come together, per second: as a limit from beyond it.
template <typename Real>
AXION_HD inline Real greatest_recovery(const Problem<Real>& p, Real error) {
  const Real least = greater(Real(kLeastRecovery), p.s.depenetration_velocity);
  const Real off = std::abs(error), furthest = Real(constraints::kGreatestRecovery) / p.s.dt;
  if (!(off > least * p.s.limit_recovery_time)) return least;
  const Real fastest = off / p.s.limit_recovery_time;
  return greater(least, fastest < furthest ? fastest : furthest);
}

// c, J and the size of what c was summed of, at the poses of the iterate. J is left in tendon_row.
template <typename Real>
struct EqualityError {
  Real error, extent;
};

template <typename Real>
AXION_HD_RARE EqualityError<Real> evaluate_equality_at_end(const Problem<Real>& p,
                                                           const model::TendonData<Real>& equality) {
  model::PathLengths<Real> paths;
  if (equality.span_count > 0) paths = constraints::measure_paths(p.m, p.w, equality, {p.w.x_plus, p.w.q_plus});
  Real extent = 1 + std::abs(paths.first) + std::abs(paths.second);
  const auto measure = [&](int k) {
    const int axis = p.m.tendon_terms[k].axis;
    const model::JointData<Real>& joint = p.m.joints[p.m.axes[axis].joint];
    constraints::JointEvaluation<Real> e;
    constraints::evaluate_joint(p.m, joint, p.w.x_plus, p.w.q_plus, p.w.axis_position, e);
    p.w.tendon_row[k] = e.axis[axis - joint.axis_start];
    return e.coordinate[axis - joint.axis_start];
  };
  const constraints::TendonValue<Real> value = constraints::tendon_value<Real>(p.m, equality, paths, [&](int k) {
    const Real s = measure(k);
    extent += std::abs(p.w.tendon_weight[k]) * greater(Real(1), std::abs(s));
    return s;
  });
  constraints::for_each_term(equality, [&](int k) {
    p.w.tendon_row[k] =
        constraints::scaled(constraints::term_weight(p.m.tendon_terms[k], value.slope), p.w.tendon_row[k]);
  });
  return {value.value, extent};
}

// As soft as soft_laws.hpp has it: the residual of its law, along J(q⁻).
template <typename Real>
AXION_HD_RARE void evaluate_soft_equality(const Problem<Real>& p, const model::TendonData<Real>& equality) {
  const int row = equality.lock;
  constraints::for_each_term(equality, [&](int k) { p.w.tendon_row[k] = p.w.tendon_force[k]; });
  put_soft_lock(p, row, iterate_tendon_velocity(p, equality, p.w.tendon_row));
}

template <typename Real>
AXION_HD_RARE void evaluate_equality(const Problem<Real>& p, const model::TendonData<Real>& equality) {
  if (constraints::goes_by_law<Real>(p.m, p.w, equality)) return evaluate_soft_equality(p, equality);
  const int row = equality.lock;
  constraints::Softness<Real> soft = constraints::softness(p.s, equality.stiffness, equality.damping);
  if (p.joint_mode == model::JointMode::kLinearised && soft.erp == Real(1)) soft.erp = Real(0.5);
  const Real start = p.w.lock_start_error[row], most = greatest_recovery(p, start);
  Real push = soft.erp * start / p.s.dt;  // the share of c(q⁻) that is taken back
  if (!(equality.stiffness > 0)) push = constraints::clamp(push, -most, most);
  Real residual, tolerance;
  if (has_start_rows(p)) {
    constraints::for_each_term(equality, [&](int k) { p.w.tendon_row[k] = p.w.tendon_force[k]; });
    const RowVelocity<Real> v = iterate_tendon_velocity(p, equality, p.w.tendon_row);
    residual = v.value + push;
    const Real impulse = p.w.row_scale[row] * std::abs(p.w.lambda[row]);
    tolerance = greater(p.s.velocity_tolerance, velocity_rounding<Real>() * (v.size + std::abs(push) + impulse));
  } else {
    const EqualityError<Real> end = evaluate_equality_at_end(p, equality);
    residual = (end.error - start) / p.s.dt + push;
    tolerance = greater(p.s.velocity_tolerance, position_rounding<Real>() * end.extent / p.s.dt);
  }
  residual += soft.cfm * p.w.lambda[row];
  p.w.lock_compliance[row] = soft.cfm;
  p.w.residual[row] = residual;
  p.w.natural_residual[row] = std::abs(residual);
  p.w.row_tolerance[row] = tolerance;
}

template <typename Real, typename Team>
AXION_HD_RARE void evaluate_equalities(const Team& team, const Problem<Real>& p) {
  const int first = p.m.tendon_axis_count;
  team.for_each(p.m.tendon_count - first, [&](int i) { evaluate_equality(p, p.m.tendons[first + i]); });
}

}  // namespace axion::solver
