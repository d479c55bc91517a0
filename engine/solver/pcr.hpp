// Preconditioned conjugate residuals on the Schur complement, matrix free.
//
//   (J M̂⁻¹ Jᵀ + C) Δλ = J M̂⁻¹ g − r,   Δu = M̂⁻¹(JᵀΔλ − g)
// Each product expands v = M̂⁻¹Jᵀx to the bodies, then contracts J v + C x to the rows. The preconditioner is the diagonal
// (Jacobi). Only for symmetric systems: joints and impulses along one J, friction by the scalar fixed point.
// Source: seeds, sections Schur complement and Preconditioned conjugate residual; Saad 2003, algorithm 6.20.
#pragma once

#include "engine/solver/linearise.hpp"
#include "engine/solver/tree_nodes.hpp"

namespace axion::solver {

// pcr_v, pcr_w = M̂⁻¹ Jᵀ x
template <typename Real, typename Team>
AXION_HD inline void expand(const Team& team, const Problem<Real>& p, const Real* x) {
  team.for_each(p.m.body_count, [&](int b) {
    const Impulse<Real> sum = gather_impulse(p, b, p.w.row, x);
    p.w.pcr_v[b] = (Real(1) / constraints::body_mass(p.m, p.w, b)) * sum.linear;
    p.w.pcr_w[b] = p.w.I_hat_inverse[b] * sum.angular;
  });
}

// y = J v + C x
template <typename Real, typename Team>
AXION_HD inline void contract(const Team& team, const Problem<Real>& p, const Real* x, Real* y) {
  team.for_each(p.row_count(), [&](int i) {
    int a, b;
    bodies_of_row(p, i, a, b);
    y[i] = constraints::row_velocity(p.w.row[i], a, b, p.w.pcr_v, p.w.pcr_w) + p.w.compliance[i] * x[i];
  });
}

// Diagonal of J M̂⁻¹ Jᵀ + C of row i.
template <typename Real>
AXION_HD inline Real operator_diagonal(const Problem<Real>& p, int i) {
  int a, b;
  bodies_of_row(p, i, a, b);
  const model::Row<Real>& row = p.w.row[i];
  const Real ll = math::dot(row.l, row.l);
  Real d = p.w.compliance[i] + ll / constraints::body_mass(p.m, p.w, a) +
           math::dot(row.k_a, p.w.I_hat_inverse[a] * row.k_a);
  if (b >= 0) {
    d += ll / constraints::body_mass(p.m, p.w, b) + math::dot(row.k_b, p.w.I_hat_inverse[b] * row.k_b);
  }
  return d;
}

// Solves for du and dlambda. Returns the iterations taken.
template <typename Real, typename Team>
AXION_HD inline int solve_pcr(const Team& team, const Problem<Real>& p) {
  const int n = p.row_count();
  const auto& w = p.w;
  team.for_each(p.m.body_count, [&](int b) {
    w.I_hat_inverse[b] = math::inverse(w.I_world[b] + w.K_geometric[b]);
    w.pcr_v[b] = (Real(1) / constraints::body_mass(p.m, w, b)) * w.g_linear[b];
    w.pcr_w[b] = w.I_hat_inverse[b] * w.g_angular[b];
  });
  team.for_each(n, [&](int i) {
    int a, b;
    bodies_of_row(p, i, a, b);
    w.pcr_d[i] = Real(1) / operator_diagonal(p, i);
    w.pcr_r[i] = constraints::row_velocity(w.row[i], a, b, w.pcr_v, w.pcr_w) - w.residual[i];
    w.pcr_z[i] = w.pcr_p[i] = w.pcr_d[i] * w.pcr_r[i];
    w.dlambda[i] = 0;
  });
  const Real norm = team.template sum<Real>(n, [&](int i) { return w.pcr_r[i] * w.pcr_z[i]; });
  expand(team, p, w.pcr_z);
  contract(team, p, w.pcr_z, w.pcr_az);
  team.for_each(n, [&](int i) { w.pcr_ap[i] = w.pcr_az[i]; });
  Real rho = team.template sum<Real>(n, [&](int i) { return w.pcr_z[i] * w.pcr_az[i]; });
  int iterations = 0;
  while (iterations < p.s.max_linear_iterations && norm > Real(0)) {
    const Real curvature = team.template sum<Real>(n, [&](int i) { return w.pcr_ap[i] * w.pcr_d[i] * w.pcr_ap[i]; });
    if (!(curvature > Real(0))) break;
    ++iterations;
    const Real step = rho / curvature;
    team.for_each(n, [&](int i) {
      w.dlambda[i] += step * w.pcr_p[i];
      w.pcr_r[i] -= step * w.pcr_ap[i];
      w.pcr_z[i] -= step * w.pcr_d[i] * w.pcr_ap[i];
    });
    const Real left = team.template sum<Real>(n, [&](int i) { return w.pcr_r[i] * w.pcr_z[i]; });
    if (!(left > p.s.linear_tolerance * p.s.linear_tolerance * norm)) break;
    expand(team, p, w.pcr_z);
    contract(team, p, w.pcr_z, w.pcr_az);
    const Real next = team.template sum<Real>(n, [&](int i) { return w.pcr_z[i] * w.pcr_az[i]; });
    if (!(next > Real(0))) break;
    const Real beta = next / rho;
    rho = next;
    team.for_each(n, [&](int i) {
      w.pcr_p[i] = w.pcr_z[i] + beta * w.pcr_p[i];
      w.pcr_ap[i] = w.pcr_az[i] + beta * w.pcr_ap[i];
    });
  }
  expand(team, p, w.dlambda);
  team.for_each(p.m.body_count, [&](int b) {
    w.du_linear[b] = w.pcr_v[b] - (Real(1) / constraints::body_mass(p.m, w, b)) * w.g_linear[b];
    w.du_angular[b] = w.pcr_w[b] - w.I_hat_inverse[b] * w.g_angular[b];
  });
  return iterations;
}

}  // namespace axion::solver
