// Contacts that give way: overlap of bodies that joints hold, which no motion of these joints opens.
//
// A finger that starts in a palm on one side and in the next finger on the other has contacts that ask for motions
// against each other. Rigid, they would press with all that their compliance allows, far above any load. So where a
// step with such contacts fails, or leaves them as deep as they were (newton/giving.hpp), they are springs without
// friction,
//
//   a = J_n u + β g₀/h + Σ̂ λ_n,   β = min(1, d_g/d),   Σ̂ = kGivingDepth contact_margin/(h² equality_pull) r_n
//
// which accelerate their bodies alone by equality_pull at a depth of a hundredth of the margin: soft beside rigid ones,
// and stiff beside what drives and weights press with. What they push comes to rest where
// the sum of their depths' squares, weighed by 1/r_n, is least. d is the deepest overlap of the same robots,
// d_g a tenth of the margin or what parts at v_out in a step, if that is less: of tens of millimetres springs would
// have forces that set levers against each other as no step can follow. Bodies that are free against each other always
// part.
//
// In: a contact. Out: whether it may give way; its law. Cost: a few comparisons.
#pragma once

#include "engine/base/partition_point.hpp"
#include "engine/constraints/constraint_rows.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/step_settings.hpp"

namespace axion::constraints {

inline constexpr double kBlocked = -1;    // contact_rebound of a contact that no joint opens,
inline constexpr double kGivingWay = -2;  // of one that gives way; and what a world remembers of that in `approach`

// Whether joints hold the two bodies of a contact to each other, whatever they allow.
template <typename Real>
AXION_HD inline bool are_joined(const model::ModelView<Real>& m, int a, int b) {
  const int root = m.bodies[a].tree_start;
  if (b >= 0 && m.bodies[b].tree_start == root) return true;
  return m.bodies[root].joint >= 0 && (b < 0 || m.bodies[m.bodies[b].tree_start].joint >= 0);
}

// Whether a rigid contact may give way; one that bodies' own springs soften does so by these.
template <typename Real>
AXION_HD inline bool may_give_way(const model::ModelView<Real>& m, const model::StepSettings<Real>& s,
                                  const model::Contact<Real>& c) {
  return c.gap < -Real(OverlapParameters::kMayGive) * s.contact_margin && are_joined(m, c.body_a, c.body_b) &&
         !(model::pair_data(m, c.pair).stiffness > 0);
}

// Whether any contact of a pair gave way in the last step.
template <typename Real>
AXION_HD_RARE bool gave_way(const model::WorldView<Real>& w, int pair) {
  const int count = w.warm_count[0], first = partition_point(0, count, [&](int i) { return w.warm[i].pair < pair; });
  for (int i = first; i < count && w.warm[i].pair == pair; ++i) {
    if (w.warm[i].approach == Real(kGivingWay)) return true;
  }
  return false;
}

// β of a contact that gives way where the deepest of its robots' is of depth d.
template <typename Real>
AXION_HD inline Real giving_fraction(const model::StepSettings<Real>& s, Real d) {
  const Real told = Real(OverlapParameters::kDeep) * s.contact_margin, parted = s.dt * s.depenetration_velocity;
  const Real most = told < parted ? told : parted;
  return d > most ? most / d : Real(1);
}

// Σ̂ of a contact that gives way, (m/s)/(N s).
template <typename Real>
AXION_HD inline Real giving_compliance(const model::StepSettings<Real>& s, Real r_n) {
  return Real(OverlapParameters::kGivingDepth) * s.contact_margin / (s.dt * s.dt * s.equality_pull) * r_n;
}

}  // namespace axion::constraints
