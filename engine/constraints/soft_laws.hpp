// Laws of soft contacts and limits (model/impedance.hpp), a step of them at once.
//
//   dv/dt + R f = -b v - k d r   with   dv/dt = (v+ - v-)/t,   f = lambda/t,   d and R of the gap at the start,
//   v = a v- + (1 - a) v+,   r = r- + h (c v+ - e v-),   a = (1 - w)/2,   c = (1 + 3w)/4,   e = (1 - w)/4
//
// t is the time that forces act in the step. With w = 0 damping takes the mean of both velocities and the spring that
// of the gaps before, at and after the start, which is second order and stable, as along axes (axis_laws.hpp); w grows
// to 1, backward Euler, as the law gets stiff against the step. Solved for v+ it is a row J u + bias + compliance
// lambda = 0:
//
//   D = (1 - a) b + 1/t + c h k d,   bias = (k d (r- - e h v-) + (a b - 1/t) v-)/D,   compliance = R/(t D)
//
// Friction has the same with k = 0 and its own A, along both tangents, as long as its cone holds it.
//
// Bodies that meet within the step, as their last velocities have it, push for what is left of it. Those that do not
// meet have no impulse; overlaps that the forces of this step make are pushed from the next on, as MuJoCo's.
//
// In: contacts, rows, the state. Out: contact_law, limit_law. Cost: linear in contacts and limits.
#pragma once

#include "engine/constraints/axis_rows.hpp"
#include "engine/constraints/constraint_rows.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/step_settings.hpp"

namespace axion::constraints {

inline constexpr double kOutOfReach = 1e6;  // m/s or rad/s: the bias of a row that pushes nothing

// base^exponent of numbers from 0 to 1 and from 0 to kGreatestPower, to about 1e-6, by products and roots alone, which
// have the same bits on every device.
template <typename Real>
AXION_HD inline Real power(Real base, Real exponent) {
  const int whole = static_cast<int>(exponent);
  Real result = 1, square = base, root = base, rest = exponent - Real(whole);
  for (int n = whole; n > 0; n /= 2, square *= square) {
    if (n % 2 == 1) result *= square;
  }
  for (int k = 0; k < 20 && rest > Real(0); ++k) {
    root = std::sqrt(root), rest *= 2;
    if (rest >= Real(1)) result *= root, rest -= Real(1);
  }
  return result;
}

// d at a depth within the margin.
template <typename Real>
AXION_HD inline Real impedance_at(const model::ImpedanceData<Real>& law, Real depth) {
  if (law.least == law.most || !(law.width > Real(1e-15))) return (law.least + law.most) / 2;
  const Real x = depth / law.width;
  if (x >= Real(1)) return law.most;
  if (!(x > Real(0))) return law.least;
  Real y = x;
  if (law.power > Real(1)) {
    y = x <= law.midpoint
            ? power(x, law.power) / power(law.midpoint, law.power - Real(1))
            : Real(1) - power(Real(1) - x, law.power) / power(Real(1) - law.midpoint, law.power - Real(1));
  }
  return law.least + y * (law.most - law.least);
}

// What a row takes from the step and its impedance; `time` is 0 where it pushes nothing.
template <typename Real>
struct SoftStep {
  Real time, impedance, euler;
};

// Of a gap that changes at `rate`; `time` is that in which forces act in the step.
template <typename Real>
AXION_HD inline SoftStep<Real> soft_step(const model::ImpedanceData<Real>& law, const model::StepSettings<Real>& s,
                                         Real gap, Real rate, Real time) {
  const Real r = gap - law.margin, h = s.dt;
  const bool apart = !(r < Real(0));
  if (apart) {
    const Real reached = r + h * rate;
    if (!(reached < Real(0))) return {Real(0), Real(1), Real(1)};
    time *= reached / (h * rate);
  }
  const Real d = impedance_at(law, apart ? Real(0) : -r);
  Real euler = 1;
  if (s.half_step_start && !apart) {
    const Real push = h * (law.damping + h / 2 * law.stiffness * d);
    euler = push > Real(kSoftAxis) ? Real(1) - Real(kSoftAxis) / push : Real(0);
  }
  return {time, d, euler};
}

template <typename Real>
AXION_HD inline NormalLaw<Real> soft_law(const model::ImpedanceData<Real>& law, const model::StepSettings<Real>& s,
                                         const SoftStep<Real>& step, Real gap, Real rate) {
  const Real r = gap - law.margin, h = s.dt, time = step.time, euler = step.euler;
  if (time == Real(0)) return {Real(kOutOfReach), Real(0)};
  const Real stiffness = law.stiffness * step.impedance,
             regularisation = (Real(1) - step.impedance) / step.impedance * law.mobility;
  const Real a = (Real(1) - euler) / 2, c = (Real(1) + 3 * euler) / 4, e = (Real(1) - euler) / 4;
  const Real weight = (Real(1) - a) * law.damping + Real(1) / time + c * h * stiffness;
  const Real bias = stiffness * (r - e * h * rate) + (a * law.damping - Real(1) / time) * rate;
  return {bias / weight, regularisation / (time * weight)};
}

template <typename Real, typename Team>
AXION_HD inline void soften_contacts(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                     const model::StepSettings<Real>& s, int contact_count) {
  team.for_each(contact_count, [&](int i) {
    const model::Contact<Real>& c = w.contacts[i];
    const model::Row<Real>* row = w.row + m.contact_base() + 3 * i;
    const auto speed = [&](int k) { return row_velocity(row[k], c.body_a, c.body_b, w.v, w.omega); };
    const model::ImpedanceData<Real> law = model::impedance_of_pair(m, c.pair);
    const Real rate = speed(0);
    const SoftStep<Real> step = soft_step(law, s, c.gap, rate, w.body_force_step[c.body_a]);
    SoftContact<Real>& soft = w.contact_law[i];
    soft.normal = soft_law(law, s, step, c.gap, rate);
    soft.tangent_bias[0] = soft.tangent_bias[1] = soft.tangent_compliance = 0;
    if (step.time == Real(0)) return;
    const Real a = (Real(1) - step.euler) / 2, per_time = Real(1) / step.time;
    const Real weight = (Real(1) - a) * law.damping + per_time;
    for (int k = 0; k < 2; ++k) soft.tangent_bias[k] = (a * law.damping - per_time) * speed(1 + k) / weight;
    soft.tangent_compliance = (Real(1) - step.impedance) / step.impedance * law.tangent_mobility * per_time / weight;
  });
}

// Needs build_limit_rows.
template <typename Real, typename Team>
AXION_HD inline void soften_limits(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::StepSettings<Real>& s) {
  team.for_each(m.limit_count, [&](int i) {
    const int axis = m.limit_axis[i];
    const Real speed = axis_velocity(m, w, axis, w.v, w.omega), rate = w.limit_side[i] < 0 ? speed : -speed;
    const Real gap = limit_gap(m, w, i);
    const model::ImpedanceData<Real>& law = m.limit_impedance[i];
    w.limit_law[i] = soft_law(law, s, soft_step(law, s, gap, rate, w.joint_force_step[m.axes[axis].joint]), gap, rate);
  });
}

}  // namespace axion::constraints
