// Steps in which what pushes bodies apart, or pulls them together, would throw them.
//
// Overlap is pushed out at depenetration_velocity, and eased locks come together within bounds of their own; but a
// joint that opens a contact by a short lever turns as much faster as its arm is longer than the lever, and links that
// fold into each other are levers of any length. So where a step works deep overlap off, or eased locks, and leaves a
// body faster than fastest_pull, faster than it was and than forces make it, the step is solved again
// with that share of the push which takes it no further, and if that is not enough without any push. Contacts then stop
// what goes on into them, and no more. Where that does not help either, and it is locks and contacts that throw, not a
// motor, the step is none that was solved. So is one of a loop near a singular pose, whose locks hold by impulses so
// large that their rounding throws.
//
// In: a solved iterate. Out: the share of the push that is left, push_share of the problem's settings. Cost: nothing
// where nothing is deep or eased; one or two attempts (newton.hpp) where bodies would be thrown.
#pragma once

#include "engine/constraints/soft_laws.hpp"
#include "engine/newton/parameters.hpp"
#include "engine/problem/residual.hpp"

namespace axion::solver {

// Whether contacts are deep at the start of the step, or locks eased.
template <typename Real, typename Team>
AXION_HD inline bool is_forced(const Team& team, const Problem<Real>& p) {
  if (p.m.lock_softness_count > 0 && constraints::greatest_easing<Real>(p.m, p.w) > Real(0)) return true;
  return team.template max<Real>(p.contact_count, [&](int i) { return -p.w.contacts[i].gap; }) > p.s.contact_margin;
}

// The share of what was gained that makes no body faster than it may become; 1 where none does.
template <typename Real, typename Team>
AXION_HD_RARE Real calm_share(const Team& team, const Problem<Real>& p) {
  const Real fast = constraints::fastest_pull(p.s);
  const Real least = Real(CalmingParameters::kLeastGain) * p.s.dt;
  const Real excess = team.template max<Real>(p.m.body_count, [&](int b) {
    const Real before = math::norm(p.w.v[b]), after = math::norm(p.w.v_plus[b]), most = greater(fast, before);
    if (after <= most) return Real(0);
    const Real gained = after - before - math::norm(p.w.v_tilde[b] - p.w.v[b]);
    if (gained <= least) return Real(0);
    const Real share = (most - before) / gained;  // NaN, of an iterate that is: no share
    return share > Real(0) ? (share < Real(1) ? 1 - share : Real(0)) : Real(1);
  });
  return 1 - excess;
}

// Whether locks and contacts give the world more energy than bodies would need that move at fastest_pull where they are
// thrown. Constraints that hold do no work, and friction takes some; what they push together or apart, they do.
template <typename Real, typename Team>
AXION_HD_RARE bool is_thrown_by_rows(const Team& team, const Problem<Real>& p) {
  const auto& w = p.w;
  const auto work = [&](const model::Row<Real>* rows, int row, int a, int b) {
    return w.lambda[row] * constraints::row_velocity(rows[row], a, b, w.v_plus, w.omega_plus);
  };
  const Real locks = team.template sum<Real>(p.m.lock_count, [&](int i) {
    const model::JointData<Real>& joint = p.m.joints[p.m.lock_joint[i]];
    return work(w.row_force, i, joint.child, joint.parent);
  });
  const Real contacts = team.template sum<Real>(p.contact_count, [&](int i) {
    const int row = p.contact_base() + 3 * i;
    const model::Contact<Real>& c = w.contacts[i];
    Real sum = 0;
    for (int k = 0; k < 3; ++k) sum += work(w.row, row + k, c.body_a, c.body_b);
    return sum;
  });
  const Real fast = constraints::fastest_pull(p.s);
  const Real allowed = team.template sum<Real>(p.m.body_count, [&](int b) {
    if (!(math::norm(w.v_plus[b]) > greater(fast, math::norm(w.v[b])))) return Real(0);
    return constraints::body_mass(p.m, w, b) * fast * fast / 2;
  });
  return !(locks + contacts <= allowed);
}

}  // namespace axion::solver
