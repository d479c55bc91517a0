// What an accepted step leaves wrong: contacts that stay deep, and joints that stay open. Such a step is not solved.
//
// In: a step that was accepted, with its scratch. Out: findings, which become bits of the outcome (step_world.hpp).
// Cost: linear in contacts and joints where something is deep or open, else none. Cannot fail.
#pragma once

#include <limits>

#include "engine/newton/giving.hpp"
#include "engine/step/accept.hpp"
#include "engine/step/parameters.hpp"

namespace axion::step {

// Of the contacts that a step leaves deep: bits of its outcome. They stay where they come apart at less than half of
// depenetration_velocity and would take longer than kPartingTime; soft ones, which bodies press into each other as they
// meet, where they go in no faster either. What stays is held where a joint opens it: other contacts or limits press it
// together, by impulses far above what loads give, or the push was lessened so that it throws no body. Such a step is
// not solved. Soft contacts that stay have come to rest by their law.
struct Overlap {
  bool stays = false, grows = false, is_held = false;
};

template <typename Real, typename Team>
AXION_HD_RARE Overlap find_overlap(const Team& team, const solver::Problem<Real>& p,
                                   const collide::ContactSearch& search, Real solved_depth, Real least) {
  const auto& w = p.w;
  const Real h = p.s.dt;
  // Twice what a load is meant to sink in: by the compliance of rigid contacts, or by the springs of a pair.
  const auto give = [&](int i) {
    if (model::pair_data(p.m, w.contacts[i].pair).stiffness > 0) return Real(std::numeric_limits<Real>::infinity());
    const int row = p.contact_base() + 3 * i;
    return Real(2) * h * constraints::rigid_compliance(p.s, w.row_scale[row]) * w.lambda[row];
  };
  const auto any = [&](auto&& test) {
    return team.template max<Real>(p.contact_count, [&](int i) {
      const Real before = -w.contacts[i].gap, after = -w.contact_gap[i];
      return after > least && test(i, before, after) ? Real(1) : Real(0);
    }) > Real(0);
  };
  const auto stays = [&](Real before, Real after) {
    const Real parting = (before - after) / h, most = solver::staying_speed(p.s, after);
    return parting < most && (!p.m.is_soft || -parting < most);
  };
  Overlap overlap;
  overlap.stays = any([&](int, Real before, Real after) { return stays(before, after); });
  if (p.m.is_soft) {
    overlap.is_held = overlap.stays && !(p.s.push_share > Real(0));
    overlap.grows =
        p.s.push_share < Real(1) && any([&](int, Real before, Real after) {
          return before > p.s.contact_margin && after - before > Real(OverlapOutcomeParameters::kGrowth) * least;
        });
    return overlap;
  }
  const Real load = overlap.stays ? solver::greatest_load(team, p) : Real(0);
  overlap.is_held = overlap.stays && any([&](int i, Real before, Real after) {
                      if (!(w.contact_rebound[i] >= Real(0)) || model::pair_data(p.m, w.contacts[i].pair).stiffness > 0)
                        return false;
                      const bool pressed =
                          w.lambda[p.contact_base() + 3 * i] > Real(solver::GivingParameters::kPressed) * load;
                      return (pressed || p.s.push_share < Real(1)) && stays(before, after);
                    });
  const auto gives = [&](int i) { return w.contact_rebound[i] == Real(constraints::kGivingWay); };
  overlap.grows = any([&](int i, Real before, Real after) {
    return !gives(i) && after > least + give(i) && after - before > Real(OverlapOutcomeParameters::kGrowth) * least;
  });
  overlap.grows = overlap.grows || solved_depth - collide::depth_at_start(team, w, search) >
                                       Real(OverlapOutcomeParameters::kTurnedIn) * deep_margin(p.m, p.s);
  if (!solver::any_gives(team, solver::deep_contacts(p))) return overlap;
  overlap.is_held =
      overlap.is_held || any([&](int i, Real, Real) {
        return gives(i) && w.is_stuck[i] == 0 && solver::pushes_and_stays(solver::deep_contacts(p), i, true);
      });
  for (int root = 0; root < p.m.body_count; root += p.m.bodies[root].tree_size) {
    const auto is_of = [&](int b) { return b >= 0 && p.m.bodies[b].tree_start == root; };
    const auto deepest = [&](const auto& depth) {
      return team.template max<Real>(p.contact_count, [&](int i) {
        return gives(i) && (is_of(w.contacts[i].body_a) || is_of(w.contacts[i].body_b)) ? depth(i) : Real(0);
      });
    };
    const Real given = deepest([&](int i) { return -w.contact_gap[i]; });
    if (!(given > least)) continue;
    const Real before = deepest([&](int i) { return -w.contacts[i].gap; });
    overlap.grows = overlap.grows || given - before > Real(OverlapOutcomeParameters::kGrowth) * least;
  }
  return overlap;
}

// Whether a contact lets two shapes half through each other in the step: soft ones, and those that give way, do so by
// their law where forces are far above what their springs hold.
template <typename Real, typename Team>
AXION_HD_RARE bool comes_through(const Team& team, const solver::Problem<Real>& p, Real least) {
  return team.template max<Real>(p.contact_count, [&](int i) {
    if (!p.m.is_soft && p.w.contact_rebound[i] != Real(constraints::kGivingWay)) return Real(0);
    const Real before = -p.w.contacts[i].gap, after = -p.w.contact_gap[i];
    if (!(after > least && p.w.lambda[p.contact_base() + 3 * i] > Real(0))) return Real(0);
    const model::PairData<Real> pair = model::pair_data(p.m, p.w.contacts[i].pair);
    if (!collide::has_sides(p.m.shapes[pair.shape_b])) return Real(0);
    const Real halfway = collide::halfway_through(p.m, pair);
    return before < halfway && after > halfway ? Real(1) : Real(0);
  }) > Real(0);
}

// Whether a joint that does not give way is open by more than `least` in the end: by what an earlier step left, or by
// turning, which impulses along J(q⁻) or linearised joints do not see. At velocity level joints may drift.
template <typename Real, typename Team>
AXION_HD_RARE bool joints_are_open(const Team& team, const solver::Problem<Real>& p, Real least) {
  if (p.s.constraint_level != model::ConstraintLevel::kPosition) return false;
  return team.template max<Real>(p.m.joint_count, [&](int j) {
    return constraints::gives_way<Real>(p.m, p.w, p.m.joints[j]) ? Real(0) : p.w.step.anchor_error[j];
  }) > least;
}

}  // namespace axion::step
