// The step's system of equations at an iterate: its residual, its linearisation, and the Newton direction that solves
// it. This room writes it; the rooms right of it solve it.
//
//   [M̂  −J_Fᵀ] [Δu]     [g]      contacts: Δλ = −(e + G J Δu)
//   [J    C   ] [Δλ] = − [r]
//
// Cost: none of its own; sizes are by body, by row and by contact.
#pragma once

#include "engine/math/mat3.hpp"
#include "engine/model/row.hpp"
#include "engine/model/world_state.hpp"

namespace axion::solver {

template <typename Real>
struct StepSystem {
  math::Vec3<Real>* g_linear;             // [nb] g: residual of the equations of motion, N s
  math::Vec3<Real>* g_angular;            // [nb] N m s
  Real* residual;                         // [nrow] of each row's law at the iterate, m/s or rad/s
  Real* row_rhs;                          // [nrow] r: right-hand side of each linearised row
  Real* natural_residual;                 // [nrow] size of each row's natural residual, m/s or rad/s
  Real* row_tolerance;                    // [nrow] the tolerance of that
  Real* body_residual;                    // [2 nb] |M⁻¹ g| of each body, linear and angular
  Real* body_tolerance;                   // [2 nb] the tolerance of that
  model::Row<Real>* row_force;            // [nlock] J_F: along which impulses of locks act
  Real* lock_compliance;                  // [nlock] of soft joints, (m/s)/(N s)
  Real* compliance;                       // [nrow] diagonal of C
  math::Mat3<Real>* rotation_derivative;  // [nb] Θ: of the rotation map
  math::Mat3<Real>* K_geometric;          // [nb] h times the derivative of the torques of joints' impulses: M̂ − M̃
  Real* contact_gain;                     // [9 block_capacity] G of each contact and moment
  Real* contact_offset;                   // [3 block_capacity] e of each
  math::Vec3<Real>* du_linear;            // [nb] Δu
  math::Vec3<Real>* du_angular;           // [nb]
  Real* dlambda;                          // [nrow] Δλ
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, StepSystem<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t nb = m.body_count, nc = m.block_capacity(), nlock = m.lock_count;
  const std::size_t nrow = nlock + m.axis_count + m.limit_count + m.effort_count + 3 * nc;
  f(kScratch, "g_linear", w.g_linear, nb);
  f(kScratch, "g_angular", w.g_angular, nb);
  f(kScratch, "residual", w.residual, nrow);
  f(kScratch, "row_rhs", w.row_rhs, nrow);
  f(kScratch, "natural_residual", w.natural_residual, nrow);
  f(kScratch, "row_tolerance", w.row_tolerance, nrow);
  f(kScratch, "body_residual", w.body_residual, 2 * nb);
  f(kScratch, "body_tolerance", w.body_tolerance, 2 * nb);
  f(kScratch, "row_force", w.row_force, nlock);
  f(kScratch, "lock_compliance", w.lock_compliance, nlock);
  f(kScratch, "compliance", w.compliance, nrow);
  f(kScratch, "rotation_derivative", w.rotation_derivative, nb);
  f(kScratch, "K_geometric", w.K_geometric, nb);
  f(kScratch, "contact_gain", w.contact_gain, 9 * nc);
  f(kScratch, "contact_offset", w.contact_offset, 3 * nc);
  f(kScratch, "du_linear", w.du_linear, nb);
  f(kScratch, "du_angular", w.du_angular, nb);
  f(kScratch, "dlambda", w.dlambda, nrow);
}

}  // namespace axion::solver
