// Steps in which what pushes bodies apart, or pulls them together, would throw them.
//
// Overlap is pushed out at depenetration_velocity, and eased locks come together within bounds of their own; but a
// joint that opens a contact by a short lever turns as much faster as its arm is longer than the lever, and links that
// fold into each other are levers of any length. So where a step works deep overlap off, or eased locks, and leaves a
// body faster than fastest_pull, faster than it was and than forces make it, the step is solved again with that share
// of the push which takes it no further, and if that is not enough with such a share of what was left. If that is too
// much as well, it is solved without any push. Contacts then stop what goes on into them, and no more. A step at rest
// that is left without its push has the same end every time, so that what is deep then stays for good. If bodies are as
// fast without it, as where a motor drives them, the push throws none of them, and the step is solved with all of it
// again.
//
// In: a solved iterate. Out: the share of the push that is left, push_share of the problem's settings. Cost: nothing
// where nothing is deep or eased; one to four attempts (newton.hpp) where bodies are that fast.
#pragma once

#include "engine/constraints/giving_contacts.hpp"
#include "engine/constraints/soft_laws.hpp"
#include "engine/newton/parameters.hpp"
#include "engine/problem/residual.hpp"

namespace axion::solver {

// Whether contacts are deep at the start of the step or give way, or locks are eased.
template <typename Real, typename Team>
AXION_HD inline bool is_forced(const Team& team, const Problem<Real>& p) {
  if (p.m.lock_softness_count > 0 && constraints::greatest_easing<Real>(p.m, p.w) > Real(0)) return true;
  const Real deep = Real(p.m.is_soft ? 1 : constraints::OverlapParameters::kDeep) * p.s.contact_margin;
  return team.template max<Real>(p.contact_count, [&](int i) {
    return p.w.contact_rebound[i] == Real(constraints::kGivingWay) ? 2 * deep : -p.w.contacts[i].gap;
  }) > deep;
}

// By how much any body gets faster, m/s.
template <typename Real, typename Team>
AXION_HD_RARE Real greatest_gain(const Team& team, int count, ConstArray<math::Vec3<Real>> v,
                                 ConstArray<math::Vec3<Real>> v_plus) {
  return team.template max<Real>(count, [&](int b) { return math::norm(v_plus[b]) - math::norm(v[b]); });
}

// The share of what was gained that makes no body faster than it may become, and none that is as fast already gain what
// would throw it; 1 where none does.
template <typename Real, typename Team>
AXION_HD_RARE Real calm_share(const Team& team, int count, const model::StepSettings<Real>& s,
                              ConstArray<math::Vec3<Real>> v, ConstArray<math::Vec3<Real>> v_plus,
                              ConstArray<math::Vec3<Real>> v_tilde) {
  const Real fast = constraints::fastest_pull(s);
  const Real least = Real(CalmingParameters::kLeastGain) * s.dt;
  const Real excess = team.template max<Real>(count, [&](int b) {
    const Real before = math::norm(v[b]), after = math::norm(v_plus[b]), most = greater(fast, before);
    if (after <= most) return Real(0);
    const Real gained = after - before - math::norm(v_tilde[b] - v[b]);
    if (gained <= least) return Real(0);
    const Real share = greater(most - before, least) / gained;  // NaN, of an iterate that is: no share
    return share > Real(0) ? (share < Real(1) ? 1 - share : Real(0)) : Real(1);
  });
  return 1 - excess;
}

}  // namespace axion::solver
