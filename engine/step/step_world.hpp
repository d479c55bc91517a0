// One step of one world: a table of contents.
//
//   rows of joints at q⁻ → free velocity → contacts → rows of contacts → Newton → review of contacts
//   → accept, or freeze
//
// A result that leaves anything through each other that was no contact has not converged. A world whose result is not
// finite keeps its last finite state and is frozen (kNonFiniteBit in *outcome) until a client resets it.
//
// In: the state, control, force and torque. Out: the state advanced by dt, and the record. Cost: that of Newton
// (newton/newton.hpp) and of the search for contacts (collide/find_contacts.hpp).
#pragma once

#include "engine/base/assert.hpp"
#include "engine/constraints/adhesion.hpp"
#include "engine/constraints/contact_rebounds.hpp"
#include "engine/constraints/moving_surfaces.hpp"
#include "engine/constraints/soft_laws.hpp"
#include "engine/newton/newton.hpp"
#include "engine/step/outcome.hpp"
#include "engine/step/overlap.hpp"
#include "engine/step/residual_record.hpp"
#include "engine/step/row_scales.hpp"

namespace axion::step {

template <typename Real>
struct SolvedContacts {
  solver::NewtonResult<Real> newton;
  bool complete;  // whether nothing overlaps that was left out
};

// Rows of the problem's contacts, their rebounds, and the contacts of each body.
template <typename Real, typename Team>
AXION_HD inline void build_contacts(const Team& team, solver::Problem<Real>& p) {
  constraints::build_contact_rows(team, p.m, p.w, p.contact_count);
  constraints::find_rebounds(team, p.m, p.w, p.s, p.contact_count);
  if (p.m.surface_motions != nullptr) constraints::move_surfaces(team, p.m, p.w, p.s, p.contact_count);
  if (p.m.is_soft) constraints::soften_contacts(team, p.m, p.w, p.s, p.contact_count);
  if (p.m.moment_capacity > 0) p.moment_count = constraints::build_moment_rows<Real>(team, p.m, p.w, p.contact_count);
  constraints::list_contacts_of_bodies(team, p.m, p.w, p.block_count());
}

// Solves the step with the contacts that it is thought to close, and again with those that its result would break.
template <typename Real, typename Team>
AXION_HD inline SolvedContacts<Real> solve_contacts(const Team& team, solver::Problem<Real>& p,
                                                    collide::ContactSearch& contacts) {
  const solver::Problem<Real> asked = p;
  solver::NewtonCounts counts;
  int solved = -1;                                // contacts of the last solve
  model::Giving giving = model::Giving::kAsLast;  // which of them gave way in it
  for (int review = 0;; ++review) {
    AXION_ASSERT(contacts.count <= p.m.contact_capacity);
    p.restart(asked);
    p.contact_count = contacts.count;
    p.s.giving = giving;
    build_contacts(team, p);
    solver::keep_body_order(team, p);
    solver::NewtonResult<Real> result = solver::solve(team, p, solved);
    counts.add(result.counts);
    result.counts = counts;
    giving = p.s.giving;
    solved = p.contact_count;
    const int missed = collide::find_missed(team, p.m, p.w, p.s, contacts);
    if (missed > 0 && review < collide::ReviewParameters::kReviews && contacts.count < p.m.contact_capacity) {
      solver::keep_contacts(team, p);
      collide::add_missed(team, p.m, p.w, review, missed, contacts);
      continue;
    }
    return {result, missed == 0};
  }
}

// What a step starts from, at the poses q⁻, but for its contacts: rows of joints and free velocities.
template <typename Real, typename Team>
AXION_HD inline void begin_rows(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::StepSettings<Real>& settings) {
  if (m.early_activation_count > 0) constraints::follow_controls(team, m, w, settings.dt, true);
  constraints::start_joints(team, m, w);
  constraints::turn_inertias(team, m, w);
  constraints::weigh_axes(team, m, w, settings);
  constraints::choose_force_steps(team, m, w, settings);
  constraints::build_axis_rows(team, m, w, settings);
  constraints::free_motion(team, m, w, settings);
  constraints::build_limit_rows(team, m, w);
  if (m.is_soft) constraints::soften_limits(team, m, w, settings);
  if (m.lock_softness_count > 0) {
    solver::keep_easing(team, m, w, settings);
    constraints::soften_locks(team, m, w, settings);
  }
  constraints::build_effort_rows(team, m, w, settings);
  if (m.is_soft) constraints::soften_efforts(team, m, w, settings);
  if (m.is_soft) constraints::turn_links(team, m, w);
}

// The same, and the contacts that the step may close.
template <typename Real, typename Team>
AXION_HD inline collide::ContactSearch begin_step(const Team& team, const model::ModelView<Real>& m,
                                                  const model::WorldView<Real>& w,
                                                  const model::StepSettings<Real>& settings) {
  begin_rows(team, m, w, settings);
  const collide::ContactSearch contacts = collide::find_contacts(team, m, w, settings);
  if (m.adhesion_count > 0) constraints::adhere(team, m, w, contacts.count);
  return contacts;
}

template <typename Real, team::Team Team>
AXION_HD inline void step_world(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::StepSettings<Real>& settings) {
  if ((*w.outcome & kNonFiniteBit) != 0) return;
  collide::ContactSearch contacts = begin_step(team, m, w, settings);
  solver::Problem<Real> problem{m, w, settings, settings.joint_mode, contacts.count};
  scale_rows(team, problem);
  if (m.tendon_count > 0) scale_tendon_rows(team, problem);
  const SolvedContacts<Real> solved = solve_contacts(team, problem, contacts);
  const solver::NewtonResult<Real>& result = solved.newton;

  // A residual that is not finite leaves nothing to go by, even at an iterate that is: forces may be infinite.
  const bool ok = result.ratio - result.ratio == Real(0) && iterate_is_finite(team, problem);
  record_residuals(team, problem);
  const Real depth = ok ? collide::solved_depth(team, m, w, settings, contacts) : Real(0);
  if (ok) accept(team, problem);
  const Real least = Real(OverlapParameters::kDeep) * deep_margin(m, settings);
  Overlap overlap;
  if (ok && (depth > least || Real(w.record->max_penetration) > least)) {
    overlap = find_overlap(team, problem, contacts, depth, least);
  }
  overlap.is_held = overlap.is_held || (ok && comes_through(team, problem, least));
  const bool open = ok && Real(w.record->max_joint_error) > least && joints_are_open(team, problem, least);
  team.for_each(1, [&](int) {
    model::StepRecord& record = *w.record;
    if (ok && static_cast<float>(depth) > record.max_penetration) record.max_penetration = static_cast<float>(depth);
    record.newton_iterations = result.counts.newton_iterations;
    record.linear_iterations = result.counts.linear_iterations;
    record.line_search_steps = result.counts.line_search_steps;
    record.sweep_rounds = result.counts.sweep_rounds;
    record.contact_sweeps = result.counts.contact_sweeps;
    record.contact_count = contacts.count;
    record.joint_mode = problem.joint_mode;
    record.outcome = (contacts.overflow ? kContactOverflowBit : 0u) | (result.fallback ? kFallbackBit : 0u);
    record.outcome |= (result.eased || constraints::greatest_easing(m, w) > Real(0) ? kEasedBit : 0u) |
                      (overlap.stays ? kOverlapBit : 0u);
    const bool solved_all =
        ok && solved.complete && result.ratio <= Real(1) && !overlap.grows && !overlap.is_held && !open;
    record.outcome |= solved_all ? kConvergedBit : (ok ? kMaxIterationsBit : kNonFiniteBit);
    if (!ok) {
      *w.outcome |= kNonFiniteBit;
      return;
    }
    *w.time += settings.time_step;
    ++*w.step_index;
  });
}

}  // namespace axion::step
