// Preconditioned conjugate residuals on the Schur complement, matrix free; symmetric systems only: joints and impulses
// along one J, friction by the scalar fixed point.
//
//   S Δλ = J M̂⁻¹ g − r,  S = J M̂⁻¹ Jᵀ + C,   Δu = M̂⁻¹(JᵀΔλ − g)
// Stops when the residual falls below linear_tolerance of its start, in the preconditioner's norm.
// Source: seeds, sections Schur complement and Preconditioned conjugate residual; Saad 2003, algorithm 6.20.
//
// In: the system as `linearise` left it. Out: du, dlambda. Cost: an iteration is a product with S and one with the
// preconditioner, linear in rows.
#pragma once

#include "engine/reference/preconditioners.hpp"

namespace axion::solver {

// schur_residual = J M̂⁻¹ g − r, and no impulses yet.
template <typename Real, typename Team>
AXION_HD inline void start_pcr(const Team& team, const Problem<Real>& p) {
  const auto& w = p.w;
  team.for_each(p.m.body_count, [&](int b) {
    w.reference.answer_linear[b] = (Real(1) / constraints::body_mass(p.m, w, b)) * w.g_linear[b];
    w.reference.answer_angular[b] = w.reference.inertia_inverse[b] * w.g_angular[b];
  });
  team.for_each(p.row_count(), [&](int i) {
    int a, b;
    bodies_of_row(p, i, a, b);
    w.reference.schur_residual[i] =
        constraints::row_velocity(w.row[i], a, b, w.reference.answer_linear, w.reference.answer_angular) - w.row_rhs[i];
    w.dlambda[i] = 0;
  });
}

// Solves for du and dlambda. Returns the iterations taken.
template <typename Real, typename Team>
AXION_HD_CALL int solve_pcr(const Team& team, const Problem<Real>& p) {
  const int n = p.row_count();
  const auto& w = p.w;
  const auto dot = [&](const Real* x, const Real* y) {
    return team.template sum<Real>(n, [&](int i) { return x[i] * y[i]; });
  };
  prepare_schur(team, p);
  prepare_preconditioner(team, p);
  start_pcr(team, p);
  precondition(team, p, w.reference.schur_residual, w.reference.schur_z);
  expand(team, p, w.reference.schur_z);
  contract(team, p, w.reference.schur_z, w.reference.schur_az);
  team.for_each(n, [&](int i) {
    w.reference.schur_direction[i] = w.reference.schur_z[i], w.reference.schur_ap[i] = w.reference.schur_az[i];
  });
  const Real norm = dot(w.reference.schur_residual, w.reference.schur_z);
  Real rho = dot(w.reference.schur_z, w.reference.schur_az);
  int iterations = 0;
  while (iterations < p.s.max_linear_iterations && norm > Real(0)) {
    precondition(team, p, w.reference.schur_ap, w.reference.schur_q);
    const Real curvature = dot(w.reference.schur_ap, w.reference.schur_q);
    if (!(curvature > Real(0))) break;
    ++iterations;
    const Real step = rho / curvature;
    team.for_each(n, [&](int i) {
      w.dlambda[i] += step * w.reference.schur_direction[i];
      w.reference.schur_residual[i] -= step * w.reference.schur_ap[i];
      w.reference.schur_z[i] -= step * w.reference.schur_q[i];
    });
    const Real left = dot(w.reference.schur_residual, w.reference.schur_z);
    if (!(left > p.s.linear_tolerance * p.s.linear_tolerance * norm)) break;
    expand(team, p, w.reference.schur_z);
    contract(team, p, w.reference.schur_z, w.reference.schur_az);
    const Real next = dot(w.reference.schur_z, w.reference.schur_az);
    if (!(next > Real(0))) break;
    const Real beta = next / rho;
    rho = next;
    team.for_each(n, [&](int i) {
      w.reference.schur_direction[i] = w.reference.schur_z[i] + beta * w.reference.schur_direction[i];
      w.reference.schur_ap[i] = w.reference.schur_az[i] + beta * w.reference.schur_ap[i];
    });
  }
  expand(team, p, w.dlambda);
  team.for_each(p.m.body_count, [&](int b) {
    w.du_linear[b] = w.reference.answer_linear[b] - (Real(1) / constraints::body_mass(p.m, w, b)) * w.g_linear[b];
    w.du_angular[b] = w.reference.answer_angular[b] - w.reference.inertia_inverse[b] * w.g_angular[b];
  });
  return iterations;
}

}  // namespace axion::solver
