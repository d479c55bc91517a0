// The arrays that the solvers of this room keep: conjugate residuals with their preconditioners, the Krylov iteration
// on links, and the dense oracle. Nothing but the list of links outlives a solve.
#pragma once

#include "engine/tree/tree_scratch.hpp"

namespace axion::solver {

template <typename Real>
struct ReferenceScratch {
  int* link_start;       // [block_capacity] first contact of each group that joins two bodies (closing_links.hpp)
  int* link_of_contact;  // [block_capacity] its group, -1 where the tree has it
  int* link_count;       // [1] groups
  math::Vec3<Real>* answer_linear;    // [nb] velocities that the bodies answer with,
  math::Vec3<Real>* answer_angular;   // [nb] to impulses or to the whole system
  math::Mat3<Real>* inertia_inverse;  // [nb] (I + K_geometric)⁻¹
  Real* schur_residual;               // [nrow] r of conjugate residuals (pcr.hpp),
  Real* schur_z;                      // [nrow] P⁻¹ r,
  Real* schur_direction;              // [nrow] p,
  Real* schur_az;                     // [nrow] S P⁻¹ r,
  Real* schur_ap;                     // [nrow] S p,
  Real* schur_q;                      // [nrow] P⁻¹ S p
  Real* diagonal_inverse;             // [nrow] of S
  Real* loop_block;      // [loops × kNodeSize²] inverse of the block of S of each joint that closes a loop
  Real* contact_block;   // [9 block_capacity] inverse of each contact's block of S
  Real* body_mobility;   // [36 nb] X: of each body, velocity block of the tree's inverse
  Real* link_gain;       // [36 block_capacity] H of each group
  Real* link_offset;     // [6 block_capacity] h of each group
  Real* link_block;      // [36 (nloop + block_capacity)] inverse of each link's block
  Real* link_residual;   // [6 (nclosing + block_capacity)] r of BiCGStab (tree_krylov.hpp),
  Real* link_shadow;     // [6 (nclosing + block_capacity)] r̂₀,
  Real* link_direction;  // [6 (nclosing + block_capacity)] p,
  Real* link_ap;         // [6 (nclosing + block_capacity)] A p,
  Real* link_ar;         // [6 (nclosing + block_capacity)] A r,
  Real* link_impulse;    // [6 (nclosing + block_capacity)] y,
  Real* link_best;       // [6 (nclosing + block_capacity)] and y of the smallest residual
  Real* dense;           // [dense_unknowns²] row-major; only in batches that use it
  Real* dense_rhs;       // [dense_unknowns]
  int* dense_pivot;      // [1] row of the present pivot
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, ReferenceScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t nb = m.body_count, nc = m.block_capacity(), nd = m.dense_unknowns;
  const std::size_t nrow = m.lock_count + m.axis_count + m.limit_count + m.effort_count + 3 * nc;
  const std::size_t nlink = m.closing_count + nc;
  f(kScratch, "link_start", w.link_start, nc);
  f(kScratch, "link_of_contact", w.link_of_contact, nc);
  f(kScratch, "link_count", w.link_count, 1);
  f(kLinearSolve, "answer_linear", w.answer_linear, nb);
  f(kLinearSolve, "answer_angular", w.answer_angular, nb);
  f(kLinearSolve, "inertia_inverse", w.inertia_inverse, nb);
  f(kLinearSolve, "schur_residual", w.schur_residual, nrow);
  f(kLinearSolve, "schur_z", w.schur_z, nrow);
  f(kLinearSolve, "schur_direction", w.schur_direction, nrow);
  f(kLinearSolve, "schur_az", w.schur_az, nrow);
  f(kLinearSolve, "schur_ap", w.schur_ap, nrow);
  f(kLinearSolve, "schur_q", w.schur_q, nrow);
  f(kLinearSolve, "diagonal_inverse", w.diagonal_inverse, nrow);
  f(kLinearSolve, "loop_block", w.loop_block, std::size_t(m.loop_count) * kNodeSize * kNodeSize);
  f(kLinearSolve, "contact_block", w.contact_block, 9 * nc);
  f(kLinearSolve, "body_mobility", w.body_mobility, 36 * nb);
  f(kLinearSolve, "link_gain", w.link_gain, 36 * nc);
  f(kLinearSolve, "link_offset", w.link_offset, 6 * nc);
  f(kLinearSolve, "link_block", w.link_block, 36 * nlink);
  f(kLinearSolve, "link_residual", w.link_residual, 6 * nlink);
  f(kLinearSolve, "link_shadow", w.link_shadow, 6 * nlink);
  f(kLinearSolve, "link_direction", w.link_direction, 6 * nlink);
  f(kLinearSolve, "link_ap", w.link_ap, 6 * nlink);
  f(kLinearSolve, "link_ar", w.link_ar, 6 * nlink);
  f(kLinearSolve, "link_impulse", w.link_impulse, 6 * nlink);
  f(kLinearSolve, "link_best", w.link_best, 6 * nlink);
  f(kLinearSolve, "dense", w.dense, nd * nd);
  f(kLinearSolve, "dense_rhs", w.dense_rhs, nd);
  f(kLinearSolve, "dense_pivot", w.dense_pivot, 1);
}

}  // namespace axion::solver
