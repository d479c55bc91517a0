// One step of one world: a table of contents.
//
//   rows of joints at q⁻ → free velocity → contacts → rows of contacts → Newton → review of contacts
//   → accept, or freeze
//
// A result that leaves anything through each other that was no contact has not converged. A world whose result is not
// finite keeps its last finite state and is frozen (kNonFiniteBit in *outcome) until somebody resets it.
//
// In: the state, control, force and torque. Out: the state advanced by dt, and the record. Cost: that of Newton
// (newton/newton.hpp) and of the search for contacts (collide/find_contacts.hpp).
#pragma once

#include <type_traits>

#include "engine/base/assert.hpp"
#include "engine/collide/review_contacts.hpp"
#include "engine/constraints/activations.hpp"
#include "engine/constraints/adhesion.hpp"
#include "engine/constraints/soft_laws.hpp"
#include "engine/newton/newton.hpp"
#include "engine/step/outcome.hpp"
#include "engine/step/world_view.hpp"

namespace axion::step {

using constraints::kDeep;

inline constexpr double kTurnedIn = 0.5;  // of contact_margin: what turning may add to an overlap in a step

// contact_margin without what soft contacts add to it (suit_settings).
template <typename Real>
AXION_HD inline Real deep_margin(const model::ModelView<Real>& m, const model::StepSettings<Real>& s) {
  return m.is_soft ? s.contact_margin - m.soft_margin : s.contact_margin;
}

template <typename Real, typename Team>
AXION_HD inline void scale_rows(const Team& team, const solver::Problem<Real>& p) {
  team.for_each(p.m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = p.m.joints[j];
    const auto scale = [&](int row, const model::Row<Real>& r) {
      p.w.row_scale[row] = constraints::row_product(p.m, p.w, r, r, joint.child, joint.parent);
    };
    const int locks = joint.translation_lock_count + joint.rotation_lock_count;
    for (int i = joint.lock_start; i < joint.lock_start + locks; ++i) scale(i, p.w.row_start[i]);
    for (int axis = joint.axis_start; axis < joint.axis_start + joint.axis_count; ++axis) {
      scale(p.axis_base() + axis, p.w.row_start[p.axis_base() + axis]);
      const Real bare = p.w.row_scale[p.axis_base() + axis], held = bare / (1 + bare * p.w.axis_beta[axis]);
      const int limit = p.m.axes[axis].limit;
      if (limit >= 0) p.w.row_scale[p.limit_base() + limit] = held;
      for (int e = p.m.axes[axis].effort_start; e < p.m.axes[axis].effort_start + p.m.axes[axis].effort_count; ++e) {
        p.w.row_scale[p.effort_base() + e] = held;
      }
    }
  });
}

// The same of tendons, with their limits and efforts, and of equalities: by what each joint's axis, held, moves alone.
template <typename Real, typename Team>
AXION_HD_RARE void scale_tendon_rows(const Team& team, const solver::Problem<Real>& p) {
  team.for_each(p.m.tendon_count, [&](int t) {
    const model::TendonData<Real>& tendon = p.m.tendons[t];
    const Real bare = constraints::tendon_mobility<Real>(p.m, p.w, tendon, [&](int k) {
      const int axis = p.m.tendon_terms[k].axis;
      const Real r = p.w.row_scale[p.axis_base() + axis];
      return r / (1 + r * p.w.axis_beta[axis]);
    });
    p.w.row_scale[solver::row_of_tendon(p, t)] = bare;
    if (tendon.axis < 0) return;
    const Real held = bare / (1 + bare * p.w.axis_beta[tendon.axis]);
    solver::for_each_row_of_axis(p, tendon.axis, [&](int row, Real) { p.w.row_scale[row] = held; });
  });
}

// Largest residual of a range of rows, in its units or in multiples of its tolerance.
template <typename Real, typename Team>
AXION_HD inline void record_rows(const Team& team, const solver::Problem<Real>& p, int block, int start, int count) {
  const Real raw = team.template max<Real>(count, [&](int i) { return p.w.natural_residual[start + i]; });
  const Real normalised = solver::greatest_ratio(team, p.w.natural_residual + start, p.w.row_tolerance + start, count);
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
  const Real normalised = solver::greatest_ratio(team, p.w.body_residual, p.w.body_tolerance, 2 * p.m.body_count);
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

template <typename Real>
AXION_HD inline bool finite(const math::Vec3<Real>& a) {
  const Real s = a.x + a.y + a.z;
  return s - s == Real(0);
}

// Whether the whole iterate is finite.
template <typename Real, typename Team>
AXION_HD inline bool iterate_is_finite(const Team& team, const solver::Problem<Real>& p) {
  const Real bad_bodies = team.template max<Real>(p.m.body_count, [&](int b) {
    const bool ok =
        finite(p.w.x_plus[b]) && finite(p.w.v_plus[b]) && finite(p.w.omega_plus[b]) && finite(p.w.q_plus[b].vec());
    return ok ? Real(0) : Real(1);
  });
  const Real bad_rows = team.template max<Real>(
      p.row_count(), [&](int i) { return p.w.lambda[i] - p.w.lambda[i] == Real(0) ? Real(0) : Real(1); });
  return bad_bodies == Real(0) && bad_rows == Real(0);
}

// Orientation and angular velocity of body b after the step. Rests are those of free bodies; what holds others decides
// with tolerances far above rounding. A state that was set has none.
template <typename Real>
AXION_HD inline void accept_turning(const solver::Problem<Real>& p, int b) {
  const auto& w = p.w;
  const math::Vec3<Real>& inertia = p.m.bodies[b].inertia;
  const bool split = p.s.gyroscopic_mode == model::GyroscopicMode::kSplit;
  if (split && !std::is_same_v<constraints::Wide<Real>, Real> && !constraints::is_jointed(p.m.bodies[b])) {
    constraints::Turning<Real> start{w.q[b], w.q_rest[b], w.omega_plus[b], w.omega_rest[b]};
    if (w.state_is_new[0] != 0) start.q_rest = {0, 0, 0, 0}, start.omega_rest = {};
    const constraints::Turning<Real> end = constraints::turn_freely(start, inertia, p.s.dt);
    w.q[b] = end.q, w.q_rest[b] = end.q_rest, w.omega[b] = end.omega, w.omega_rest[b] = end.omega_rest;
    return;
  }
  const math::Vec3<Real> omega = w.omega_plus[b];
  w.omega[b] = split ? constraints::carry_momentum(w.q[b], w.q_plus[b], inertia, omega) : omega;
  w.q[b] = w.q_plus[b];
}

// State, coordinates and impulses after the step; penetration and joint error of the new state.
template <typename Real, typename Team>
AXION_HD_CALL void accept(const Team& team, const solver::Problem<Real>& p) {
  const auto& w = p.w;
  team.for_each(p.contact_count, [&](int i) {
    const int row = p.contact_base() + 3 * i;
    w.contact_gap[i] = model::gap_after(w.contacts[i], w.v_plus, w.omega_plus, p.s.dt);
    for (int k = 0; k < 3; ++k) w.lambda_contact[3 * i + k] = w.lambda[row + k];
    w.warm[i] = solver::kept_contact(p, i, constraints::impact_speed(p.m, w, p.s, i));
  });
  if (p.m.moment_capacity > 0) solver::keep_moments(team, p, w.contact_moment);
  team.for_each(p.contact_base(), [&](int i) { w.lambda_joint[i] = w.lambda[i]; });
  team.for_each(p.m.axis_count, [&](int i) {
    w.axis_row_rate[i] = constraints::axis_velocity<Real>(p.m, w, i, w.v_plus, w.omega_plus);
    w.axis_rate[i] = w.axis_row_rate[i] + w.axis_bias[i];
  });
  team.for_each(p.m.body_count, [&](int b) {
    w.x[b] = w.x_plus[b], w.v[b] = w.v_plus[b];
    accept_turning(p, b);
    w.force_before[b] = w.force[b], w.torque_before[b] = w.torque[b];
  });
  team.for_each(p.m.control_count + p.m.activation_count, [&](int i) { w.control_before[i] = w.control[i]; });
  if (p.m.activation_count > 0) constraints::follow_controls(team, p.m, w, p.s.dt, false);
  team.for_each(p.m.joint_count, [&](int j) {
    constraints::JointEvaluation<Real> e;
    constraints::evaluate_joint<constraints::JointParts::kCoordinates>(p.m, p.m.joints[j], w.x, w.q, w.axis_position,
                                                                       e);
    for (int k = 0; k < p.m.joints[j].axis_count; ++k) w.axis_position[p.m.joints[j].axis_start + k] = e.coordinate[k];
    w.step.anchor_error[j] = e.anchor_error;
  });
  if (p.m.lock_softness_count > 0) solver::note_easing(team, p);
  const Real joint_error = team.template max<Real>(p.m.joint_count, [&](int j) {
    return constraints::goes_by_law<Real>(p.m, w, p.m.joints[j]) ? Real(0) : w.step.anchor_error[j];
  });
  const Real least = Real(kDeep) * deep_margin(p.m, p.s);
  const Real penetration = team.template max<Real>(p.contact_count, [&](int i) {
    const Real depth = -w.contact_gap[i];
    if (depth < least) return depth;
    return collide::pair_is_read_in_result(p.m, w, p.s, model::pair_data(p.m, w.contacts[i].pair)) ? Real(0) : depth;
  });
  team.for_each(1, [&](int) {
    w.warm_count[0] = p.contact_count;
    w.state_is_new[0] = 0;
    w.record->max_joint_error = static_cast<float>(joint_error);
    w.record->max_penetration = static_cast<float>(penetration);
  });
}

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
    return !gives(i) && after > least + give(i) && after - before > Real(0.1) * least;
  });
  overlap.grows = overlap.grows ||
                  solved_depth - collide::depth_at_start(team, w, search) > Real(kTurnedIn) * deep_margin(p.m, p.s);
  const auto deepest = [&](const auto& depth) {
    return team.template max<Real>(p.contact_count, [&](int i) { return gives(i) ? depth(i) : Real(0); });
  };
  const Real given = deepest([&](int i) { return -w.contact_gap[i]; });
  if (!(given > least)) return overlap;
  const Real before = deepest([&](int i) { return -w.contacts[i].gap; });
  overlap.grows = overlap.grows || given - before > Real(0.1) * least;
  if (solver::nothing_opens(team, p)) return overlap;
  overlap.is_held = true;
  team.for_each(p.contact_count, [&](int i) {
    if (gives(i)) w.warm[i].approach = 0;
  });
  return overlap;
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
  int solved = -1;    // contacts of the last solve
  bool give = false;  // whether contacts gave way in it
  for (int review = 0;; ++review) {
    AXION_ASSERT(contacts.count <= p.m.contact_capacity);
    p.restart(asked);
    p.contact_count = contacts.count;
    p.s.contacts_give = give;
    build_contacts(team, p);
    solver::keep_body_order(team, p);
    solver::NewtonResult<Real> result = solver::solve(team, p, solved);
    counts.add(result.counts);
    result.counts = counts;
    give = p.s.contacts_give;
    solved = p.contact_count;
    const int missed = collide::find_missed(team, p.m, p.w, p.s, contacts);
    if (missed > 0 && review < collide::kReviews && contacts.count < p.m.contact_capacity) {
      solver::keep_contacts(team, p);
      collide::add_missed(team, p.m, p.w, review, missed, contacts);
      continue;
    }
    return {result, missed == 0};
  }
}

// What a step starts from, at the poses q⁻: rows of joints, free velocities, and the contacts that it may close.
template <typename Real, typename Team>
AXION_HD inline collide::ContactSearch begin_step(const Team& team, const model::ModelView<Real>& m,
                                                  const model::WorldView<Real>& w,
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
  const Real least = Real(kDeep) * deep_margin(m, settings);
  Overlap overlap;
  if (ok && (depth > least || Real(w.record->max_penetration) > least)) {
    overlap = find_overlap(team, problem, contacts, depth, least);
  }
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
