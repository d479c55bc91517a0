// The linear solve of one Newton iteration, by the solver that the options choose.
//
//   [M̂  −J_Fᵀ] [Δu]     [g]        TREE_DIRECT          tree/tree_solver.hpp
//   [J   C   ] [Δλ] = − [r]        TREE_KRYLOV, PCR_*, DENSE_DIRECT        engine/reference
//
// `prepare_linear_solver` runs once for a step's contacts, before their first linear solve, and settles what AUTOMATIC
// means: the choice follows from the world alone, never from the worlds that share its batch.
//
// In: the system as `linearise` left it at the iterate. Out: Δu in du_linear and du_angular, Δλ in dlambda. It cannot
// fail: a singular system gives a poor direction, and Newton's residual test decides. Cost: that of the solver.
#pragma once

#include "engine/reference/dense_solver.hpp"
#include "engine/reference/pcr.hpp"
#include "engine/reference/tree_krylov.hpp"

namespace axion::solver {

template <typename Real, typename Team>
AXION_HD_CALL void prepare_linear_solver(const Team& team, Problem<Real>& p) {
  using model::LinearSolver;
  LinearSolver& solver = p.s.linear_solver;
  p.solver_ready = true;
  keep_body_order(team, p);  // whatever solves, others may use the nodes of bodies
  if (solver == LinearSolver::kAutomatic || solver == LinearSolver::kTreeDirect) {
    find_couplings(team, p, Scope::kWhole);
    if (solver == LinearSolver::kAutomatic) {
      solver = couplings_complete(p) ? LinearSolver::kTreeDirect : LinearSolver::kTreeKrylov;
    }
  }
  if (solver == LinearSolver::kTreeKrylov || solver == LinearSolver::kPcrTree) find_couplings(team, p, Scope::kTree);
  if (solver == LinearSolver::kTreeKrylov) find_links(team, p);
}

// Returns the iterations taken, one for a direct solve. Steps that sweeps settle never come here, and never order their
// nodes.
template <typename Real, typename Team>
AXION_HD_CALL int solve_linear(const Team& team, Problem<Real>& p) {
  if (!p.solver_ready) prepare_linear_solver(team, p);
  if (model::is_conjugate_residual(p.s.linear_solver)) return solve_pcr(team, p);
  if (p.s.linear_solver == model::LinearSolver::kDenseDirect) return solve_dense(team, p);
  if (p.s.linear_solver == model::LinearSolver::kTreeKrylov) return solve_tree_krylov(team, p);
  return solve_tree(team, p);
}

}  // namespace axion::solver
