// Velocities as clients read them: those at the instant of the poses, v_at_pose and omega_at_pose.
//
// A leapfrog's own velocities u belong to the middle of the last step (constraints/force_steps.hpp). The half step of
// forces that it still owes at the end pose, with the controls and wrench that the step was made with, leads to the
// instant of the pose:
//
//   M̃(v − u) = h/2 (f(q⁺) − d v − …) + Jᵀμ,   J(q⁺) v = 0        one linear solve, as RATTLE has it
//   joint trees: in their own coordinates (synchronise_trees.hpp)
//   loops, locks that give way, many contacts between bodies: one system with the step's own solver
//
// A step from a state that was set with v adds the same half again, so that reading and setting a state leaves the
// trajectory unchanged, to rounding where contacts and stiff laws take no part.
//
// Contacts give the same share of their last impulses, torsional and rolling friction theirs. As an impact leaves other
// impulses than the motion after it, contacts that press also keep their normal velocity, and contacts that stick their
// velocity along the surface; friction of a sliding contact goes with the normal impulse, and turns no slip round.
// Where that has no solution, as a slender body jams on its end, what slides goes on without friction (loosen_jammed).
// Torsional and rolling friction that stick keep their rates; friction that slips turns no rate round. So a body at
// rest keeps its zero, and a sliding one slows down by half a step's friction. In a pile (newton/attempt.hpp) such a
// solve has no end: there a tree's change is cut short where contacts would part or slip. Bodies that owe nothing read
// u itself.
//
// In: a step that was accepted, with its scratch. Out: v_at_pose, omega_at_pose; nothing that a step reads is written.
// Cost: linear in bodies for trees, else one linear solve.
#pragma once

#include "engine/model/fields.hpp"
#include "engine/newton/attempt.hpp"
#include "engine/velocity_sync/bounded_changes.hpp"
#include "engine/velocity_sync/jammed_contacts.hpp"
#include "engine/velocity_sync/synchronise_trees.hpp"
#include "engine/velocity_sync/synchronise_whole.hpp"

namespace axion::velocity_sync {

template <typename Real, team::Team Team>
AXION_HD_CALL void synchronise(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::StepSettings<Real>& settings) {
  if (!settings.half_step_start) {
    team.for_each(m.body_count, [&](int b) { w.v_at_pose[b] = w.v[b], w.omega_at_pose[b] = w.omega[b]; });
    return;
  }
  solver::Problem<Real> p{m, w, settings, settings.joint_mode, w.record->contact_count};
  if (m.moment_capacity > 0) p.moment_count = w.moment_count[0];
  note_touches(team, p);
  TreeLinks links;
  if (m.joint_count > 0) links = find_links_of_trees(p);
  const bool in_trees = links.count <= kMostLinks && are_trees(team, p);
  bool held = true;
  const auto lead = [&] {
    const bool trees = in_trees && synchronise_trees(team, p, links);
    held = trees || !solver::is_pile<Real>(team, p.m, p.w.contacts, p.contact_count);
    if (!trees) synchronise_whole(team, p, held);
  };
  lead();
  if (held && loosen_jammed(team, p)) lead();
  const bool cut = bound_changes(team, p, held);
  const bool thrown = (w.record->outcome & std::uint32_t(kOverlap | kEased)) != 0 && is_thrown(team, p);
  team.for_each(m.body_count, [&](int b) {
    const Real share = thrown ? Real(0) : cut ? w.velocity_sync.body_share[b] : Real(1);
    w.v_at_pose[b] = w.v[b] + share * (w.v_plus[b] - w.v[b]);
    w.omega_at_pose[b] = w.omega[b] + share * (w.omega_plus[b] - w.omega[b]);
  });
}

}  // namespace axion::velocity_sync
