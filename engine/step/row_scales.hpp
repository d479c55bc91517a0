// row_scale: by what a unit impulse along a row changes the row's velocity, of joints, tendons, equalities, limits and
// efforts. Contacts have theirs where their rows are built (constraints/contact_rows.hpp).
//
// In: rows of joints and laws of axes at the poses q⁻. Cost: linear in rows. Cannot fail.
#pragma once

#include "engine/constraints/axis_laws.hpp"
#include "engine/problem/impulses.hpp"
#include "engine/tree/tree_nodes.hpp"

namespace axion::step {

template <typename Real, typename Team>
AXION_HD inline void scale_rows(const Team& team, const solver::Problem<Real>& p) {
  team.for_each(p.m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = p.m.joints[j];
    const auto scale = [&](int row, const model::Row<Real>& r) {
      p.w.row_scale[row] = constraints::row_product(p.m, p.w, r, r, joint.child, joint.parent);
    };
    const int locks = joint.translation_lock_count + joint.rotation_lock_count;
    for (int i = joint.lock_start; i < joint.lock_start + locks; ++i) scale(i, p.w.row_start[i]);
    for (int axis = joint.axis_start; axis < joint.axis_start + joint.axis_count; ++axis) {
      scale(p.axis_base() + axis, p.w.row_start[p.axis_base() + axis]);
      const Real bare = p.w.row_scale[p.axis_base() + axis], held = bare / (1 + bare * p.w.axis_beta[axis]);
      const int limit = p.m.axes[axis].limit;
      if (limit >= 0) p.w.row_scale[p.limit_base() + limit] = held;
      for (int e = p.m.axes[axis].effort_start; e < p.m.axes[axis].effort_start + p.m.axes[axis].effort_count; ++e) {
        p.w.row_scale[p.effort_base() + e] = held;
      }
    }
  });
}

// Scales of the rows of tendons, their limits and efforts, and of equalities: by what each joint's axis moves alone, if
// it is held.
template <typename Real, typename Team>
AXION_HD_RARE void scale_tendon_rows(const Team& team, const solver::Problem<Real>& p) {
  team.for_each(p.m.tendon_count, [&](int t) {
    const model::TendonData<Real>& tendon = p.m.tendons[t];
    const Real bare = constraints::tendon_mobility<Real>(p.m, p.w, tendon, [&](int k) {
      const int axis = p.m.tendon_terms[k].axis;
      const Real r = p.w.row_scale[p.axis_base() + axis];
      return r / (1 + r * p.w.axis_beta[axis]);
    });
    p.w.row_scale[solver::row_of_tendon(p, t)] = bare;
    if (tendon.axis < 0) return;
    const Real held = bare / (1 + bare * p.w.axis_beta[tendon.axis]);
    solver::for_each_row_of_axis<Real>(p.m, p.w.limit_side, tendon.axis,
                                       [&](int row, Real) { p.w.row_scale[row] = held; });
  });
}

}  // namespace axion::step
