// The arrays that the solvers of this room keep: conjugate residuals with their preconditioners, the Krylov iteration
// on links, and the dense oracle. Nothing but the list of links outlives a solve.
#pragma once

#include "engine/tree/tree_scratch.hpp"

namespace axion::solver {

using model::kBodies, model::kBlocks, model::kRows, model::Heat, model::Length;

inline constexpr Length kLoops{[](const auto& m) { return m.loop_count; }};
inline constexpr Length kLinks{[](const auto& m) { return m.closing_count + m.block_capacity(); }};
inline constexpr Length kDenseUnknowns{[](const auto& m) { return m.dense_unknowns; }};
inline constexpr Length kDenseNumbers{[](const auto& m) { return std::size_t(m.dense_unknowns) * m.dense_unknowns; }};

template <typename Real, typename Form = model::Placed>
struct ReferenceScratch {
  template <typename T>
  using StepArray = typename Form::template Array<T, model::FieldKind::kScratch>;

  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kLinearSolve>;

  // first contact of each group that joins two bodies (closing_links.hpp)
  StepArray<int> link_start{"link_start", kBlocks, Heat{142}};
  StepArray<int> link_of_contact{"link_of_contact", kBlocks, Heat{143}};  // its group, -1 where the tree has it
  StepArray<int> link_count{"link_count", 1, Heat{144}};                  // groups
  // velocities that the bodies answer with,
  Array<math::Vec3<Real>> answer_linear{"answer_linear", kBodies, Heat{148}};
  Array<math::Vec3<Real>> answer_angular{"answer_angular", kBodies, Heat{149}};    // to impulses or to the whole system
  Array<math::Mat3<Real>> inertia_inverse{"inertia_inverse", kBodies, Heat{191}};  // (I + K_geometric)⁻¹
  Array<Real> schur_residual{"schur_residual", kRows, Heat{181}};      // r of conjugate residuals (pcr.hpp),
  Array<Real> schur_z{"schur_z", kRows, Heat{188}};                    // P⁻¹ r,
  Array<Real> schur_direction{"schur_direction", kRows, Heat{182}};    // p,
  Array<Real> schur_az{"schur_az", kRows, Heat{183}};                  // S P⁻¹ r,
  Array<Real> schur_ap{"schur_ap", kRows, Heat{187}};                  // S p,
  Array<Real> schur_q{"schur_q", kRows, Heat{138}};                    // P⁻¹ S p
  Array<Real> diagonal_inverse{"diagonal_inverse", kRows, Heat{189}};  // of S
  // inverse of the block of S of each joint that closes a loop
  Array<Real> loop_block{"loop_block", (kNodeSize * kNodeSize * kLoops), Heat{194}};
  Array<Real> contact_block{"contact_block", 9 * kBlocks, Heat{139}};  // inverse of each contact's block of S
  // X: of each body, velocity block of the tree's inverse
  Array<Real> body_mobility{"body_mobility", 36 * kBodies, Heat{140}};
  Array<Real> link_gain{"link_gain", 36 * kBlocks, Heat{145}};          // H of each group
  Array<Real> link_offset{"link_offset", 6 * kBlocks, Heat{146}};       // h of each group
  Array<Real> link_block{"link_block", 36 * kLinks, Heat{147}};         // inverse of each link's block
  Array<Real> link_residual{"link_residual", 6 * kLinks, Heat{195}};    // r of BiCGStab (tree_krylov.hpp),
  Array<Real> link_shadow{"link_shadow", 6 * kLinks, Heat{196}};        // r̂₀,
  Array<Real> link_direction{"link_direction", 6 * kLinks, Heat{197}};  // p,
  Array<Real> link_ap{"link_ap", 6 * kLinks, Heat{198}};                // A p,
  Array<Real> link_ar{"link_ar", 6 * kLinks, Heat{199}};                // A r,
  Array<Real> link_impulse{"link_impulse", 6 * kLinks, Heat{200}};      // y,
  Array<Real> link_best{"link_best", 6 * kLinks, Heat{201}};            // and y of the smallest residual
  Array<Real> dense{"dense", kDenseNumbers, Heat{167}};                 // row-major; only in batches that use it
  Array<Real> dense_rhs{"dense_rhs", kDenseUnknowns, Heat{168}};
  Array<int> dense_pivot{"dense_pivot", 1, Heat{169}};  // row of the present pivot
};

}  // namespace axion::solver
