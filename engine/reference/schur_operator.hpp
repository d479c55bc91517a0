// The Schur complement of the Newton system on its bodies, S = J M̂⁻¹ Jᵀ + C, matrix free; symmetric systems only.
//
//   expand     v := M̂⁻¹ Jᵀ x        a body gathers from its rows
//   contract   y := J v + C x        a row reads its two bodies
//
// Entries of S between rows of the same two bodies are at hand too, for preconditioners. In: the system as `linearise`
// left it. Cost: a product is linear in rows. Source: seeds, section Schur complement.
#pragma once

#include "engine/problem/linearise.hpp"
#include "engine/reference/reference_scratch.hpp"
#include "engine/tree/tree_nodes.hpp"

namespace axion::solver {

// inertia_inverse; before everything else here.
template <typename Real, typename Team>
AXION_HD inline void prepare_schur(const Team& team, const Problem<Real>& p) {
  team.for_each(p.m.body_count,
                [&](int b) { p.w.reference.inertia_inverse[b] = math::inverse(p.w.I_world[b] + p.w.K_geometric[b]); });
}

// answer_linear, answer_angular = M̂⁻¹ Jᵀ x
template <typename Real, typename Team>
AXION_HD_CALL void expand(const Team& team, const Problem<Real>& p, ConstArray<Real> x) {
  team.for_each(p.m.body_count, [&](int b) {
    const Impulse<Real> sum = gather_impulse<Real>(impulse_rows<Real>(p.m, p.w), b, p.w.row, x);
    p.w.reference.answer_linear[b] = (Real(1) / constraints::body_mass(p.m, p.w, b)) * sum.linear;
    p.w.reference.answer_angular[b] = p.w.reference.inertia_inverse[b] * sum.angular;
  });
}

// y = J v + C x
template <typename Real, typename Team>
AXION_HD_CALL void contract(const Team& team, const Problem<Real>& p, ConstArray<Real> x, OutArray<Real> y) {
  team.for_each(p.row_count(), [&](int i) {
    int a, b;
    bodies_of_row(p, i, a, b);
    y[i] = constraints::row_velocity(p.w.row[i], a, b, p.w.reference.answer_linear, p.w.reference.answer_angular) +
           p.w.compliance[i] * x[i];
  });
}

// Entry of S between rows i and k of the same bodies a and b (-1 the world).
template <typename Real>
AXION_HD inline Real schur_entry(const Problem<Real>& p, int i, int k, int a, int b) {
  const model::Row<Real>&row = p.w.row[i], &column = p.w.row[k];
  const Real ll = math::dot(row.l, column.l);
  Real s = ll / constraints::body_mass(p.m, p.w, a) + math::dot(row.k_a, p.w.reference.inertia_inverse[a] * column.k_a);
  if (b >= 0)
    s += ll / constraints::body_mass(p.m, p.w, b) + math::dot(row.k_b, p.w.reference.inertia_inverse[b] * column.k_b);
  return i == k ? s + p.w.compliance[i] : s;
}

template <typename Real>
AXION_HD inline Real schur_diagonal(const Problem<Real>& p, int i) {
  int a, b;
  bodies_of_row(p, i, a, b);
  return schur_entry(p, i, i, a, b);
}

}  // namespace axion::solver
