// What functions of this room are given of a world: views of its arrays, each of one use.
//
//   read alone     BodyVelocities, StepPoses, IterateRows, ImpulseRows, CoordinateRows, LockStarts
//   written        RowResiduals and LockRows by row_residuals.hpp; LinearisedRows and BodyMatrices by linearise.hpp
//   StepRules      settings, and how this iteration of this attempt goes about the step: numbers
//
// A function reads what it is given as constant, and writes what it is not. Views are made once where an iterate is
// evaluated or linearised, of pointers and numbers alone. Cost: none.
#pragma once

#include "engine/base/array_view.hpp"
#include "engine/constraints/constraint_rows.hpp"
#include "engine/problem/problem.hpp"
#include "engine/problem/unit_table.hpp"

namespace axion::solver {

// Velocities of bodies, of the iterate or of a direction.
template <typename Real>
struct BodyVelocities {
  ConstArray<math::Vec3<Real>> linear, angular;  // [nb]
};

template <typename Real>
struct StepPoses {
  ConstArray<math::Vec3<Real>> x, x_plus;  // [nb] of the step's start, of the iterate
  ConstArray<math::Quat<Real>> q_plus;     // [nb]
  ConstArray<Real> axis_position;          // [naxis] coordinates at the start
};

template <typename Real>
struct IterateRows : RowLayout {
  ConstArray<Real> lambda, row_scale;  // [nrow]
};

// The rows along which impulses act on bodies, but for locks, which a function is given beside them.
template <typename Real>
struct ImpulseRows {
  const model::ModelView<Real>& m;
  ConstArray<model::Row<Real>> row, tendon_force;
  ConstArray<int> limit_side, contact_start, contact_list;
  ConstArray<model::Contact<Real>> contacts;
};

// Rows along coordinates of joints and tendons.
template <typename Real>
struct CoordinateRows {
  const model::ModelView<Real>& m;
  ConstArray<model::Row<Real>> row, tendon_force;
  ConstArray<int> limit_side;
};

// Locks at the start of the step.
template <typename Real>
struct LockStarts {
  ConstArray<model::Row<Real>> row_start, tendon_force;
  ConstArray<Real> error, tendon_weight, blend;
  ConstArray<constraints::NormalLaw<Real>> law;
};

template <typename Real>
struct RowResiduals {
  ArrayView<Real> residual, natural_residual, row_tolerance;  // [nrow]
};

// Rows of locks at the iterate: of the matrix, of the impulses, and those of the terms of equalities.
template <typename Real>
struct LockRows {
  ArrayView<model::Row<Real>> row, row_force, tendon_row;
  ArrayView<Real> compliance;  // [nlock]
};

template <typename Real>
struct LinearisedRows {
  ConstArray<Real> residual, lambda;  // [nrow] as they were evaluated
  ArrayView<model::Row<Real>> row, tendon_row;
  ArrayView<Real> rhs, compliance;  // [nrow]
  ArrayView<Real> gain, offset;     // 9 and 3 a block

  // Of the block that is the i-th, three rows from `row_of_block` on.
  AXION_HD laws::LinearisedUnit<Real> unit(int first, int i) {
    return {residual + first,   lambda + first, row + first,   rhs + first,
            compliance + first, gain + 9 * i,   offset + 3 * i};
  }
};

template <typename Real>
struct BodyMatrices {
  ArrayView<math::Mat3<Real>> rotation_derivative, K_geometric;  // [nb]
};

using laws::StepRules;

template <typename Real>
AXION_HD inline StepRules<Real> step_rules(const Problem<Real>& p) {
  return {p.s,
          p.joint_mode,
          p.proximal_scale,
          p.load_proximal,
          p.follows_slip,
          p.exact_turning,
          symmetric_solver(p),
          has_start_rows(p)};
}

template <typename Real>
AXION_HD inline BodyVelocities<Real> iterate_velocities(const model::WorldView<Real>& w) {
  return {w.v_plus, w.omega_plus};
}
template <typename Real>
AXION_HD inline StepPoses<Real> step_poses(const model::WorldView<Real>& w) {
  return {w.x, w.x_plus, w.q_plus, w.axis_position};
}
template <typename Real>
AXION_HD inline IterateRows<Real> iterate_rows(const RowLayout& rows, const model::WorldView<Real>& w) {
  return {rows, w.lambda, w.row_scale};
}
template <typename Real>
AXION_HD inline ImpulseRows<Real> impulse_rows(const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  return {m, w.row, w.tendon_force, w.limit_side, w.contact_start, w.contact_list, w.contacts};
}
template <typename Real>
AXION_HD inline CoordinateRows<Real> coordinate_rows(const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  return {m, w.row, w.tendon_force, w.limit_side};
}
template <typename Real>
AXION_HD inline LockStarts<Real> lock_starts(const model::WorldView<Real>& w) {
  return {w.row_start, w.tendon_force, w.lock_start_error, w.tendon_weight, w.blend, w.lock_law};
}
template <typename Real>
AXION_HD inline UnitTable<Real> unit_table(const RowLayout& rows, const model::WorldView<Real>& w) {
  return {rows, w.row_scale, w.effort_compliance, w.effort_lower, w.effort_upper, w.contacts, w.moments};
}
template <typename Real>
AXION_HD inline RowResiduals<Real> row_residuals(const model::WorldView<Real>& w) {
  return {w.residual, w.natural_residual, w.row_tolerance};
}
template <typename Real>
AXION_HD inline LockRows<Real> lock_rows(const model::WorldView<Real>& w) {
  return {w.row, w.row_force, w.tendon_row, w.lock_compliance};
}
template <typename Real>
AXION_HD inline LinearisedRows<Real> linearised_rows(const model::WorldView<Real>& w) {
  return {w.residual, w.lambda, w.row, w.tendon_row, w.row_rhs, w.compliance, w.contact_gain, w.contact_offset};
}

}  // namespace axion::solver
