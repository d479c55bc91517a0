// Impulses on bodies as the rows of the system give them, Jᵀλ, and the velocities J u of rows at the iterate.
#pragma once

#include "engine/constraints/contact_rows.hpp"
#include "engine/lanes/number.hpp"
#include "engine/model/body_joints.hpp"
#include "engine/problem/problem_views.hpp"

namespace axion::solver {

// A sum of impulses on a body, and of their magnitudes.
template <typename Real>
struct Impulse {
  math::Vec3<Real> linear{}, angular{};
  Real linear_size = 0, angular_size = 0;

  AXION_HD_SMALL void add(const model::Row<Real>& row, Real lambda, bool on_a) {
    using lanes::vanishes;
    if (vanishes(lambda)) return;  // open contacts and limits, which are most
    const math::Vec3<Real>& k = on_a ? row.k_a : row.k_b;
    linear += (on_a ? lambda : -lambda) * row.l;
    angular += lambda * k;
    const Real size = std::abs(lambda);
    linear_size += size;
    angular_size += size * (std::abs(k.x) + std::abs(k.y) + std::abs(k.z));
  }
};

// Calls f with each row of a joint that solvers may eliminate by itself, Δλ = −(r + J Δu)/C: limits and efforts of its
// axes.
template <typename Real, typename F>
AXION_HD inline void for_each_condensed_row(const model::ModelView<Real>& m, const model::JointData<Real>& joint,
                                            F&& f) {
  for (int i = joint.axis_start; i < joint.axis_start + joint.axis_count; ++i) {
    const model::AxisData<Real>& axis = m.axes[i];
    if (axis.limit >= 0) f(m.limit_base() + axis.limit);
    for (int e = 0; e < axis.effort_count; ++e) f(m.effort_base() + axis.effort_start + e);
  }
}

template <typename Real>
AXION_HD inline void add_joint_impulse(const ImpulseRows<Real>& rows, int j, bool on_child,
                                       ConstArray<model::Row<Real>> lock_rows, ConstArray<Real> lambda,
                                       Impulse<Real>& sum) {
  const model::JointData<Real>& joint = rows.m.joints[j];
  const int locks = joint.translation_lock_count + joint.rotation_lock_count;
  for (int i = joint.lock_start; i < joint.lock_start + locks; ++i) sum.add(lock_rows[i], lambda[i], on_child);
  for (int axis = joint.axis_start; axis < joint.axis_start + joint.axis_count; ++axis) {
    const int row = rows.m.axis_base() + axis;
    sum.add(rows.row[row], lambda[row], on_child);
  }
  for_each_condensed_row(rows.m, joint, [&](int row) { sum.add(rows.row[row], lambda[row], on_child); });
}

template <typename Real>
AXION_HD inline void add_contact_impulses(const ImpulseRows<Real>& rows, int b, ConstArray<Real> lambda,
                                          Impulse<Real>& sum) {
  for (int k = rows.contact_start[b]; k < rows.contact_start[b + 1]; ++k) {
    const int i = rows.contact_list[k], first = rows.m.contact_base() + 3 * i;
    const bool on_a = rows.contacts[i].body_a == b;
    for (int row = first; row < first + 3; ++row) {
      sum.add(rows.row[row], lambda[row], on_a);
    }
  }
}

// Calls f(row, sign) for the limit and the efforts of an axis; sign is that of their J beside the axis row's.
template <typename Real, typename F>
AXION_HD inline void for_each_row_of_axis(const model::ModelView<Real>& m, ConstArray<int> limit_side, int axis,
                                          F&& f) {
  const model::AxisData<Real>& a = m.axes[axis];
  if (a.limit >= 0) f(m.limit_base() + a.limit, limit_side[a.limit] < 0 ? Real(1) : Real(-1));
  for (int e = 0; e < a.effort_count; ++e) f(m.effort_base() + a.effort_start + e, Real(1));
}

// The impulse of `lambda` along tendon t: of all that acts along it, or of its lock.
template <typename Real>
AXION_HD_RARE Real impulse_along(const ImpulseRows<Real>& rows, int t, ConstArray<Real> lambda) {
  const model::TendonData<Real>& tendon = rows.m.tendons[t];
  if (tendon.axis < 0) return lambda[tendon.lock];
  Real sum = lambda[rows.m.axis_base() + tendon.axis];
  for_each_row_of_axis(rows.m, rows.limit_side, tendon.axis, [&](int row, Real sign) { sum += sign * lambda[row]; });
  return sum;
}

// Adds to an impulse on body b that of all tendons, impulse(t) along tendon t.
template <typename Real, typename F>
AXION_HD_RARE void add_tendon_impulses(const ImpulseRows<Real>& rows, int b, F&& impulse, Impulse<Real>& sum) {
  constraints::for_each_side_of_body(rows.m, b, [&](int term, bool on_a) {
    sum.add(rows.tendon_force[term], impulse(rows.m.tendon_terms[term].tendon), on_a);
  });
}

// Jᵀλ on body b: its joints in order, then its contacts in order. Joint locks act along `lock_rows`.
template <typename Real>
AXION_HD_CALL Impulse<Real> gather_impulse(const ImpulseRows<Real>& rows, int b, ConstArray<model::Row<Real>> lock_rows,
                                           ConstArray<Real> lambda) {
  Impulse<Real> sum;
  model::for_each_joint<Real>(
      rows.m, b, [&](int j, bool on_child) { add_joint_impulse(rows, j, on_child, lock_rows, lambda, sum); });
  if (constraints::has_sides(rows.m, b)) {
    add_tendon_impulses(
        rows, b, [&](int t) { return impulse_along(rows, t, lambda); }, sum);
  }
  add_contact_impulses(rows, b, lambda, sum);
  return sum;
}

// Which way a row along an axis of a tendon points beside its length.
template <typename Real>
AXION_HD inline Real sign_along(const model::ModelView<Real>& m, ConstArray<int> limit_side, int axis, int row) {
  const bool is_limit = row >= m.limit_base() && row < m.effort_base();
  return is_limit && limit_side[m.axes[axis].limit] >= 0 ? Real(-1) : Real(1);
}

// J u of a row at the iterate, and the size of what was summed.
template <typename Real>
struct RowVelocity {
  Real value, size;
};

template <typename Real>
AXION_HD_SMALL inline RowVelocity<Real> iterate_velocity(const BodyVelocities<Real>& u, const model::Row<Real>& row,
                                                         int a, int b) {
  const Real va = math::dot(row.l, u.linear[a]), wa = math::dot(row.k_a, u.angular[a]);
  if (b < 0) return {va + wa, std::abs(va) + std::abs(wa)};
  const Real vb = math::dot(row.l, u.linear[b]), wb = math::dot(row.k_b, u.angular[b]);
  return {(va - vb) + (wa + wb), std::abs(va) + std::abs(wa) + std::abs(vb) + std::abs(wb)};
}

// The same of a tendon or an equality, its terms at q⁻ or as the Newton matrix has them.
template <typename Real>
AXION_HD_RARE RowVelocity<Real> iterate_tendon_velocity(const model::ModelView<Real>& m, const BodyVelocities<Real>& u,
                                                        const model::TendonData<Real>& tendon,
                                                        ConstArray<model::Row<Real>> rows) {
  RowVelocity<Real> sum{0, 0};
  constraints::for_each_term(tendon, [&](int k) {
    const RowVelocity<Real> v = iterate_velocity(u, rows[k], m.tendon_terms[k].a, m.tendon_terms[k].b);
    sum.value += v.value, sum.size += v.size;
  });
  return sum;
}

template <typename Real>
AXION_HD_RARE RowVelocity<Real> iterate_velocity_along_tendon(const CoordinateRows<Real>& rows,
                                                              const BodyVelocities<Real>& u, int axis, int row) {
  RowVelocity<Real> v =
      iterate_tendon_velocity(rows.m, u, constraints::tendon_of_axis<Real>(rows.m, axis), rows.tendon_force);
  v.value *= sign_along(rows.m, rows.limit_side, axis, row);
  return v;
}

// The same of a row along axis `axis`: its own, its limit's or an effort's.
template <typename Real>
AXION_HD inline RowVelocity<Real> iterate_velocity_along(const CoordinateRows<Real>& rows,
                                                         const BodyVelocities<Real>& u, int axis, int row) {
  if (axis < rows.m.joint_axis_count) {
    const model::JointData<Real>& joint = rows.m.joints[rows.m.axes[axis].joint];
    return iterate_velocity(u, rows.row[row], joint.child, joint.parent);
  }
  return iterate_velocity_along_tendon(rows, u, axis, row);
}

}  // namespace axion::solver
