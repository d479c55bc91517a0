// The residuals of a step in its record: the largest of each block of rows, in the rows' units and in multiples of
// their tolerances.
//
// In: the residuals that the solver left (problem/residual.hpp). Out: residual and residual_normalised of the record.
// Cost: linear in rows. Cannot fail.
#pragma once

#include "engine/problem/residual.hpp"

namespace axion::step {

// Largest residual of a range of rows, in its units or in multiples of its tolerance.
template <typename Real, typename Team>
AXION_HD inline void record_rows(const Team& team, const solver::Problem<Real>& p, int block, int start, int count) {
  const Real raw = team.template max<Real>(count, [&](int i) { return p.w.natural_residual[start + i]; });
  const Real normalised =
      solver::greatest_ratio<Real>(team, p.w.natural_residual + start, p.w.row_tolerance + start, count);
  team.for_each(1, [&](int) {
    model::StepRecord& r = *p.w.record;
    if (static_cast<float>(raw) > r.residual[block]) r.residual[block] = static_cast<float>(raw);
    if (static_cast<float>(normalised) > r.residual_normalised[block]) {
      r.residual_normalised[block] = static_cast<float>(normalised);
    }
  });
}

// Blocks in the order of engine.hpp's ResidualBlock. Limits count as contacts: they are unilateral rows too.
template <typename Real, typename Team>
AXION_HD_CALL void record_residuals(const Team& team, const solver::Problem<Real>& p) {
  const Real raw = team.template max<Real>(2 * p.m.body_count, [&](int i) { return p.w.body_residual[i]; });
  solver::allow_moment_rounding(team, p, Real(1));
  const Real normalised = solver::greatest_ratio<Real>(team, p.w.body_residual, p.w.body_tolerance, 2 * p.m.body_count);
  team.for_each(1, [&](int) {
    model::StepRecord& r = *p.w.record;
    for (int k = 0; k < 5; ++k) r.residual[k] = r.residual_normalised[k] = 0;
    r.residual[0] = static_cast<float>(raw), r.residual_normalised[0] = static_cast<float>(normalised);
  });
  record_rows(team, p, 1, 0, p.m.lock_count);
  record_rows(team, p, 4, p.axis_base(), p.m.axis_count);
  record_rows(team, p, 4, p.effort_base(), p.m.effort_count);
  record_rows(team, p, 2, p.limit_base(), p.m.limit_count);
  const auto contact_rows = [&](int block, int offset) {
    const int start = p.contact_base() + offset;
    const Real r = team.template max<Real>(p.contact_count, [&](int i) { return p.w.natural_residual[start + 3 * i]; });
    const Real n = team.template max<Real>(
        p.contact_count, [&](int i) { return p.w.natural_residual[start + 3 * i] / p.w.row_tolerance[start + 3 * i]; });
    team.for_each(1, [&](int) {
      model::StepRecord& rec = *p.w.record;
      if (static_cast<float>(r) > rec.residual[block]) rec.residual[block] = static_cast<float>(r);
      if (static_cast<float>(n) > rec.residual_normalised[block]) {
        rec.residual_normalised[block] = static_cast<float>(n);
      }
    });
  };
  contact_rows(2, 0);
  contact_rows(3, 1);
  if (p.moment_count > 0) record_rows(team, p, 3, p.moment_base(), 3 * p.moment_count);
}

}  // namespace axion::step
