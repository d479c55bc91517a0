// What functions of this room are given of a world: views of its arrays, each of one use.
//
//   SweptLaws     the units of the step and what their laws say: read alone
//   SweptSystem   the rows' system as a round starts with it, and what each row is divided by
//   SweepHistory  impulses of earlier sweeps, for momentum and means
//   impulses      λ of all rows, a pointer of its own: constant where a function reads them alone
//
// A function reads what it is given as constant, and writes what it is not. Velocities are in sweep_velocities.hpp,
// rows that are solved as a whole in active_set_rows.hpp, contacts by colours in coloured_contacts.hpp. Views are made
// once a round, of pointers and numbers alone. Cost: none.
#pragma once

#include "engine/base/array_view.hpp"
#include "engine/contact_solver/sweep_scratch.hpp"
#include "engine/problem/problem_views.hpp"

namespace axion::solver {

template <typename Real>
struct SweptLaws : UnitTable<Real> {
  bool is_soft;
  const Real* row_tolerance;  // [nrow]
};

template <typename Real>
AXION_HD inline SweptLaws<Real> swept_laws(const Problem<Real>& p) {
  return {unit_table<Real>(p.rows(), p.w), p.m.is_soft != 0, p.w.row_tolerance};
}

//   velocity of a row = start_velocity + J V Jᵀ (λ − start_impulse) + row_compliance λ
template <typename Real>
struct SweptSystem {
  ArrayView<Real> start_velocity, start_impulse, row_compliance;  // [nrow]
  ArrayView<Real> row_mobility;                                   // [nrow] of limits and efforts
  ArrayView<Real> contact_block, contact_block_inverse;           // of contacts and moments, 9 and 3 each
  ArrayView<constraints::SoftContact<Real>> contact_law;          // of soft contacts, whose lift sweeps find
};

template <typename Real>
AXION_HD inline SweptSystem<Real> swept_system(const model::WorldView<Real>& w) {
  const auto& sweeps = w.sweeps;
  return {sweeps.start_velocity, sweeps.start_impulse,         sweeps.row_compliance, sweeps.row_mobility,
          sweeps.contact_block,  sweeps.contact_block_inverse, w.contact_law};
}

template <typename Real>
struct SweepHistory {
  ArrayView<Real> last_impulse;   // [nrow] λ before the sweep
  ArrayView<Real> swept_impulse;  // [nrow] λ after the sweep before, which momentum goes on from
  ArrayView<Real> impulse_sum;    // [nrow] of the sweeps of a mean
};

template <typename Real>
AXION_HD inline SweepHistory<Real> sweep_history(const model::WorldView<Real>& w) {
  return {w.sweeps.last_impulse, w.sweeps.swept_impulse, w.sweeps.impulse_sum};
}

}  // namespace axion::solver
