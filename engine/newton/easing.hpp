// Joints that close loops and equalities which no motion meets: found out, and eased.
//
// A weld to a body that clients place out of reach, or a mimic joint that a limit holds, has no step that meets it. Its
// rows then push with all that a near-singular matrix gives, and open the joints of the tree. So a step whose solve
// fails, or throws bodies, while some lock starts off, or in which locks hold what a contact or a limit pushes, is
// solved again with those locks eased: they follow the law of soft_laws.hpp, bounded, so that the system has a solution
// that the rest of it holds, and comes to rest where the weighted square of what they are off is least. Locks on the
// world of one tree are eased together, so that two that pull a hand apart share what cannot be met. Others that held
// at the start stay rigid: standing still meets them.
//
// A lock that was eased stays so in the next steps, is tried rigid again now and then once a step could close it, and
// is rigid from when it is met. So each choice follows from the state of the world alone.
//
// In: locks' start errors and, where it is asked whether to ease, an evaluated iterate. Out: WorldState::eased and
// lock_law. Cost: nothing in models without such locks, else a few comparisons a lock; what is eased takes one more
// attempt in the first step.
#pragma once

#include "engine/constraints/soft_laws.hpp"
#include "engine/newton/parameters.hpp"
#include "engine/problem/residual.hpp"

namespace axion::solver {

// Loop joints, then equalities of coordinates.
template <typename Real>
AXION_HD inline int closing_lock_count(const model::ModelView<Real>& m) {
  return m.loop_count + m.tendon_count - m.tendon_axis_count;
}

// Calls f(joint or equality, first row, rows) for the i-th of them.
template <typename Real, typename F>
AXION_HD inline void with_closing_lock(const model::ModelView<Real>& m, int i, F&& f) {
  if (i < m.loop_count) {
    const model::JointData<Real>& joint = m.joints[m.joint_count - m.loop_count + i];
    f(joint, joint.lock_start, joint.translation_lock_count + joint.rotation_lock_count);
  } else {
    const model::TendonData<Real>& equality = m.tendons[m.tendon_axis_count + i - m.loop_count];
    f(equality, equality.lock, 1);
  }
}

// |c| of `count` rows at the start of the step, m or rad.
template <typename Real>
AXION_HD inline Real start_error(const model::WorldView<Real>& w, int row, int count) {
  Real square = 0;
  for (int k = row; k < row + count; ++k) square += w.lock_start_error[k] * w.lock_start_error[k];
  return std::sqrt(square);
}

// m or rad: what steps leave of a lock that is met.
template <typename Real>
AXION_HD inline Real met_error(const model::StepSettings<Real>& s) {
  return Real(EasingParameters::kMet) * greater(s.velocity_tolerance * s.dt, position_rounding<Real>());
}

// The tree that a loop joint holds to the world; -1 of any other lock.
template <typename Real>
AXION_HD inline int anchored_tree(const model::ModelView<Real>& m, int i) {
  if (i >= m.loop_count) return -1;
  const model::JointData<Real>& joint = m.joints[m.joint_count - m.loop_count + i];
  return joint.parent < 0 ? m.bodies[joint.child].tree_start : -1;
}

// How far the i-th lock is off at the start, or the worst of the locks that are eased with it.
template <typename Real>
AXION_HD_RARE Real shared_error(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i) {
  Real off = 0;
  const int tree = anchored_tree(m, i);
  for (int k = 0; k < closing_lock_count(m); ++k) {
    if (k != i && (tree < 0 || anchored_tree(m, k) != tree)) continue;
    with_closing_lock(m, k, [&](const auto& lock, int row, int count) {
      if (lock.softness >= 0) off = greater(off, start_error(w, row, count));
    });
  }
  return off;
}

// Whether the i-th lock, of a loop joint, or one that is eased with it, starts further apart than rigid ones come back
// from within fastest_pull.
template <typename Real>
AXION_HD_RARE bool starts_far(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                              const model::StepSettings<Real>& s, int i) {
  if (i >= m.loop_count) return false;
  const int tree = anchored_tree(m, i);
  for (int k = 0; k < m.loop_count; ++k) {
    if (k != i && (tree < 0 || anchored_tree(m, k) != tree)) continue;
    const model::JointData<Real>& joint = m.joints[m.joint_count - m.loop_count + k];
    if (joint.softness >= 0 && start_error(w, joint.lock_start, joint.translation_lock_count) >
                                   constraints::fastest_pull(s) * greater(s.limit_recovery_time, s.dt)) {
      return true;
    }
  }
  return false;
}

// Before a step: which of the locks that were eased in the last one stay so, and which start far off. Needs
// start_joints.
template <typename Real, typename Team>
AXION_HD_RARE void keep_easing(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                               const model::StepSettings<Real>& s) {
  const Real met = met_error(s);
  const bool tries = *w.step_index % EasingParameters::kTryEvery == 0;
  team.for_each(closing_lock_count(m), [&](int i) {
    with_closing_lock(m, i, [&](const auto& lock, int, int) {
      if (lock.softness < 0) return;
      if (!(w.eased[lock.softness] > Real(0)) && !starts_far(m, w, s, i)) return;
      const Real off = shared_error(m, w, i);
      const bool closable = !(off > Real(EasingParameters::kTrySpeed) * s.dt);
      w.eased[lock.softness] = off > met && !(tries && closable) ? off : Real(0);
    });
  });
}

// How fast the rigid locks that start off are to come together, the fastest of them: m/s or rad/s; 0 where none is off.
template <typename Real, typename Team>
AXION_HD_RARE Real fastest_closing(const Team& team, const Problem<Real>& p) {
  const Real met = met_error(p.s);
  return team.template max<Real>(closing_lock_count<Real>(p.m), [&](int i) {
    Real speed = 0;
    with_closing_lock<Real>(p.m, i, [&](const auto& lock, int row, int count) {
      if (lock.softness < 0 || constraints::goes_by_law<Real>(p.m, p.w, lock)) return;
      const Real off = start_error<Real>(p.w, row, count), most = greatest_recovery(p.s, off);
      if (!(off > met)) return;
      speed = off / p.s.dt < most ? off / p.s.dt : most;
    });
    return speed;
  });
}

// Whether a joint is pushed back from far beyond a limit: standing still then meets not all.
template <typename Real, typename Team>
AXION_HD_RARE bool is_pushed_back(const Team& team, const Problem<Real>& p) {
  const Real beyond =
      team.template max<Real>(p.m.limit_count, [&](int i) { return -constraints::limit_gap<Real>(p.m, p.w, i); });
  return beyond > Real(EasingParameters::kBeyond);
}

// Whether a limit or a contact pushes, and what it pushes gives way by less than its law asks: others hold it. A
// contact's own compliance, and the rounding of great impulses, let that count as met.
template <typename Real, typename Team>
AXION_HD_RARE bool pushes_in_vain(const Team& team, const Problem<Real>& p) {
  const Real least = Real(EasingParameters::kFailedSpeed);
  const Real limits =
      team.template max<Real>(p.m.limit_count, [&](int i) { return p.w.natural_residual[p.limit_base() + i]; });
  if (limits > least && is_pushed_back(team, p)) return true;
  if (p.m.is_soft) return false;
  return team.template max<Real>(p.contact_count, [&](int i) {
    const int row = p.contact_base() + 3 * i;
    if (model::pair_data(p.m, p.w.contacts[i].pair).stiffness > 0) return Real(0);
    const Real lambda = p.w.lambda[row];
    return constraints::normal_law(p.m, p.w, p.s, i, p.w.row_scale[row], lambda).compliance * lambda;
  }) > least;
}

// Whether the i-th lock is to be eased: it is rigid and starts off, or is `pushed` against by a limit, as which any
// but a loop within a tree is taken.
template <typename Real>
AXION_HD_RARE bool is_unmet(const Problem<Real>& p, int i, bool pushed) {
  bool unmet = false;
  with_closing_lock<Real>(p.m, i, [&](const auto& lock, int, int) {
    if (lock.softness < 0 || constraints::goes_by_law<Real>(p.m, p.w, lock)) return;
    const bool may_be_pushed = i >= p.m.loop_count || anchored_tree<Real>(p.m, i) >= 0;
    unmet = (pushed && may_be_pushed) || shared_error<Real>(p.m, p.w, i) > met_error(p.s);
  });
  return unmet;
}

// Eases them; returns whether there are any.
template <typename Real, typename Team>
AXION_HD_RARE bool ease_locks(const Team& team, const Problem<Real>& p, bool pushed) {
  const int count = closing_lock_count<Real>(p.m);
  if (!(team.template max<Real>(count, [&](int i) { return is_unmet(p, i, pushed) ? Real(1) : Real(0); }) > Real(0))) {
    return false;
  }
  team.for_each(count, [&](int i) {
    if (!is_unmet(p, i, pushed)) return;
    with_closing_lock<Real>(p.m, i, [&](const auto& lock, int, int) {
      p.w.eased[lock.softness] = greater(shared_error<Real>(p.m, p.w, i), Real(std::numeric_limits<Real>::min()));
    });
  });
  constraints::soften_locks(team, p.m, p.w, p.s);
  return true;
}

// J(q⁻) u⁺ of a row of a loop joint or of an equality.
template <typename Real>
AXION_HD inline Real lock_velocity(const model::ModelView<Real>&, const LockStarts<Real>& starts,
                                   const BodyVelocities<Real>& u, const model::JointData<Real>& joint, int row) {
  return constraints::row_velocity(starts.row_start[row], joint.child, joint.parent, u.linear, u.angular);
}
template <typename Real>
AXION_HD inline Real lock_velocity(const model::ModelView<Real>& m, const LockStarts<Real>& starts,
                                   const BodyVelocities<Real>& u, const model::TendonData<Real>& equality, int) {
  return constraints::tendon_velocity<Real>(m, equality, starts.tendon_force, u.linear, u.angular);
}

// After a step: how far what was eased is off at its end, to first order.
template <typename Real, typename Team>
AXION_HD_RARE void note_easing(const Team& team, const model::ModelView<Real>& m, Real dt,
                               const LockStarts<Real>& starts, const BodyVelocities<Real>& u, OutArray<Real> eased) {
  team.for_each(closing_lock_count<Real>(m), [&](int i) {
    with_closing_lock<Real>(m, i, [&](const auto& lock, int row, int count) {
      if (lock.softness < 0 || !(eased[lock.softness] > Real(0))) return;
      Real square = 0;
      for (int k = row; k < row + count; ++k) {
        const Real off = starts.error[k] + dt * lock_velocity(m, starts, u, lock, k);
        square += off * off;
      }
      eased[lock.softness] = greater(std::sqrt(square), Real(std::numeric_limits<Real>::min()));
    });
  });
}

}  // namespace axion::solver
