// What sweeps of a problem are given.
#pragma once

#include "engine/contact_solver/active_set_rows.hpp"

namespace axion::testing {

template <typename Real>
struct SweepArguments {
  explicit SweepArguments(const solver::Problem<Real>& p)
      : laws(solver::swept_laws(p)),
        system(solver::swept_system<Real>(p.w)),
        history(solver::sweep_history<Real>(p.w)),
        rows(solver::row_space(p)),
        bodies(solver::body_space(p)),
        set(solver::active_set(p)),
        impulses(p.w.lambda) {}

  solver::SweptLaws<Real> laws;
  solver::SweptSystem<Real> system;
  solver::SweepHistory<Real> history;
  solver::RowSpace<Real> rows;
  solver::BodySpace<Real> bodies;
  solver::ActiveSet<Real> set;
  Real* impulses;
};

}  // namespace axion::testing
