// The view of a model that a batch steps with: the model's own, and the sizes that follow from the batch's options.
#pragma once

#include <cstdint>

#include "engine/model/model_data.hpp"
#include "engine/model/solver_options.hpp"
#include "engine/model/step_settings.hpp"

namespace axion::model {

// The greatest system that DENSE_DIRECT takes: a matrix of 8 MB in float64 for each world that is stepped at once.
inline constexpr std::int64_t kMaxDenseUnknowns = 1024;

// Velocities and impulses of a world that holds all the contacts it can.
template <typename Real>
std::int64_t unknown_count(const ModelView<Real>& m) {
  const std::int64_t rows = std::int64_t(m.lock_count) + m.axis_count + m.limit_count + m.effort_count;
  return 6 * std::int64_t(m.body_count) + rows + 3 * std::int64_t(m.block_capacity());
}

// What follows from the model for the settings of its steps. Conjugate residuals have no rows over more than two
// bodies, so that models with tendons or equalities of coordinates have the direct solver in their place. Soft contacts
// push from their margin on, and are looked for that much further ahead.
template <typename Real>
void suit_settings(const ModelView<Real>& m, StepSettings<Real>& settings) {
  if (m.tendon_count > 0 && is_conjugate_residual(settings.linear_solver)) {
    settings.linear_solver = LinearSolver::kAutomatic;
  }
  if (m.is_soft) settings.contact_margin += m.soft_margin;
}

// `options` have been checked against the model: kDenseDirect only up to kMaxDenseUnknowns.
template <typename Real>
ModelView<Real> batch_view(ModelView<Real> m, const SolverOptions& options) {
  m.is_soft = options.contact_softness == ContactSoftness::kMjcf;
  m.dense_unknowns = options.linear_solver == LinearSolver::kDenseDirect ? static_cast<int>(unknown_count(m)) : 0;
  return m;
}

}  // namespace axion::model
