// The linear solve of one Newton iteration, by the solver that the options choose.
//
// `prepare_linear_solver` runs once a step, after the contacts are known, and settles what AUTOMATIC means in this step:
// the outcome follows from the world alone, never from who shares its batch. `linearise` must have run at the iterate
// before `solve_linear`, which leaves Δu in du_linear and du_angular and Δλ in dlambda, and cannot fail: a system that is
// singular gives a poor direction, and Newton's residual test decides.
#pragma once

#include "engine/solver/pcr.hpp"
#include "engine/solver/tree_solver.hpp"

namespace axion::solver {

template <typename Real, typename Team>
AXION_HD inline void prepare_linear_solver(const Team& team, Problem<Real>& p) {
  if (symmetric_solver(p)) return;
  find_couplings(team, p, Scope::kWhole);
}

// Returns the iterations taken, one for a direct solve.
template <typename Real, typename Team>
AXION_HD inline int solve_linear(const Team& team, const Problem<Real>& p) {
  if (symmetric_solver(p)) return solve_pcr(team, p);
  return solve_tree(team, p);
}

}  // namespace axion::solver
