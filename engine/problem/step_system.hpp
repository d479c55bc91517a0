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

using model::kBodies, model::kLocks, model::kBlocks, model::kRows, model::Heat;

template <typename Real, typename Form = model::Placed>
struct StepSystem {
  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kScratch>;

  Array<math::Vec3<Real>> g_linear{"g_linear", kBodies, Heat{23, 1}};    // g: residual of the equations of motion, N s
  Array<math::Vec3<Real>> g_angular{"g_angular", kBodies, Heat{24, 1}};  // N m s
  Array<Real> residual{"residual", kRows, Heat{39, 2}};  // of each row's law at the iterate, m/s or rad/s
  Array<Real> row_rhs{"row_rhs", kRows, Heat{40, 2}};    // r: right-hand side of each linearised row
  // size of each row's natural residual, m/s or rad/s
  Array<Real> natural_residual{"natural_residual", kRows, Heat{36, 4}};
  Array<Real> row_tolerance{"row_tolerance", kRows, Heat{29, 10}};      // the tolerance of that
  Array<Real> body_residual{"body_residual", 2 * kBodies, Heat{26}};    // |M⁻¹ g| of each body, linear and angular
  Array<Real> body_tolerance{"body_tolerance", 2 * kBodies, Heat{28}};  // the tolerance of that
  Array<model::Row<Real>> row_force{"row_force", kLocks, Heat{5, 42}};  // J_F: along which impulses of locks act
  Array<Real> lock_compliance{"lock_compliance", kLocks, Heat{14, 1}};  // of soft joints, (m/s)/(N s)
  Array<Real> compliance{"compliance", kRows, Heat{64, 1}};             // diagonal of C
  Array<math::Mat3<Real>> rotation_derivative{"rotation_derivative", kBodies, Heat{7, 9}};  // Θ: of the rotation map
  // h times the derivative of the torques of joints' impulses: M̂ − M̃
  Array<math::Mat3<Real>> K_geometric{"K_geometric", kBodies, Heat{20, 1}};
  Array<Real> contact_gain{"contact_gain", 9 * kBlocks, Heat{179}};      // G of each contact and moment
  Array<Real> contact_offset{"contact_offset", 3 * kBlocks, Heat{180}};  // e of each
  Array<math::Vec3<Real>> du_linear{"du_linear", kBodies, Heat{22, 2}};  // Δu
  Array<math::Vec3<Real>> du_angular{"du_angular", kBodies, Heat{19, 2}};
  Array<Real> dlambda{"dlambda", kRows, Heat{37, 4}};  // Δλ
};

}  // namespace axion::solver
