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
// Friction has the same with k = 0 and its own A, along both tangents, as long as its cone holds it. What slides is
// lifted besides: the forces are those of the cone that dissipate the most, normal and tangents together, so that where
// the cone does not hold the tangents
//
//   (dv/dt + R f + b v + k d r)_n = mu s,   s = |(dv/dt + R f + b v)_t|
//
// s begins as it is of the contact alone, whose bodies nothing else moves than gravity, and where forces accelerate it
// by A in all directions (lift_of_slip). Sweeps over the contacts find what it is beside the other rows and the bodies'
// joints (lift_contact in contact_solver/swept_rows.hpp); solvers that do not sweep leave it as it began. Without the
// lift a robot that slides on its feet is carried by a third of the force that carries it there.
//
// dv/dt of contacts is what coordinates of joints accelerate by, J S ds'/dt: MuJoCo leaves out what the links' turning
// adds, J S' s' (link_turning.hpp), and so the law takes it from J du/dt.
//
// Bodies that meet within the step, as their last velocities have it, push for what is left of it. Those that do not
// meet have no impulse; overlaps that the forces of this step make are pushed from the next on, as MuJoCo's.
//
// Locks of loop joints and equalities have the law in both directions; so has dry friction, with k = 0, up to its
// bounds. Locks that no motion meets have it whatever the batch's contacts are, bounded (newton/easing.hpp).
//
// In: contacts, rows, the state. Out: contact_law, limit_law, lock_law, effort_alpha and effort_compliance of dry
// friction. Cost: linear in contacts, limits, locks and efforts.
#pragma once

#include "engine/constraints/axis_rows.hpp"
#include "engine/constraints/constraint_rows.hpp"
#include "engine/constraints/eased_locks.hpp"
#include "engine/constraints/link_turning.hpp"
#include "engine/constraints/moving_surfaces.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/model/shape_pairs.hpp"
#include "engine/model/step_settings.hpp"

namespace axion::constraints {

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
  if (law.least == law.most || !(law.width > Real(SoftLawParameters::kLeastWidth))) return (law.least + law.most) / 2;
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
    euler = push > Real(AxisParameters::kSoft) ? Real(1) - Real(AxisParameters::kSoft) / push : Real(0);
  }
  return {time, d, euler};
}

template <typename Real>
AXION_HD inline NormalLaw<Real> soft_law(const model::ImpedanceData<Real>& law, const model::StepSettings<Real>& s,
                                         const SoftStep<Real>& step, Real gap, Real rate) {
  const Real r = gap - law.margin, h = s.dt, time = step.time, euler = step.euler;
  if (time == Real(0)) return {Real(ContactParameters::kOutOfReach), Real(0)};
  const Real stiffness = law.stiffness * step.impedance,
             regularisation = (Real(1) - step.impedance) / step.impedance * law.mobility;
  const Real a = (Real(1) - euler) / 2, c = (Real(1) + 3 * euler) / 4, e = (Real(1) - euler) / 4;
  const Real weight = (Real(1) - a) * law.damping + Real(1) / time + c * h * stiffness;
  const Real bias = stiffness * (r - e * h * rate) + (a * law.damping - Real(1) / time) * rate;
  return {bias / weight, regularisation / (time * weight)};
}

// mu s of a contact alone that would accelerate into its bodies by `push`, and along its tangents by `slide`, m/s^2.
// Where it slides its force lies on the cone, along normal + mu tangent, or on the edge of a pyramid:
// f = (push + mu slide)/(A (1 + mu^2) + R_slip), mu s = (A + R) f - push.
template <typename Real>
AXION_HD inline Real lift_of_slip(const model::ImpedanceData<Real>& law, Real impedance, Real mu, Real push,
                                  Real slide) {
  const Real along = push + mu * slide;
  if (!(along > Real(0))) return Real(0);  // the contact opens
  const Real share = (Real(1) - impedance) / impedance, A = law.contact_mobility;
  const Real force = along / (A * (1 + mu * mu) + share * law.slip_mobility);
  const Real lift = (A + share * law.mobility) * force - push;
  return lift > Real(0) ? lift : Real(0);  // else it sticks
}

// dω/dt of a body that turns freely, where it is not among the free velocities: the step turns it after the solve.
template <typename Real>
AXION_HD inline math::Vec3<Real> free_turning(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                              const model::StepSettings<Real>& s, int b) {
  if (b < 0 || s.gyroscopic_mode != model::GyroscopicMode::kSplit) return {};
  const math::Vec3<Real> u = math::rotate_inverse(w.q[b], w.omega[b]), I = m.bodies[b].inertia;
  const math::Vec3<Real> torque = math::cross(math::scale(I, u), u);
  return math::rotate(w.q[b], math::Vec3<Real>{torque.x / I.x, torque.y / I.y, torque.z / I.z});
}

// What a body's velocities change by beside what coordinates accelerate by and what the step turns after the solve.
template <typename Real>
AXION_HD inline VelocityProduct<Real> turning_of(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                                 const model::StepSettings<Real>& s, int b) {
  VelocityProduct<Real> turning = body_turning(m, w, b);
  turning.angular = turning.angular - free_turning(m, w, s, b);
  return turning;
}

template <typename Real, typename Team>
AXION_HD inline void soften_contacts(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                     const model::StepSettings<Real>& s, int contact_count) {
  team.for_each(contact_count, [&](int i) {
    const model::Contact<Real>& c = w.contacts[i];
    const model::Row<Real>* row = w.row + m.contact_base() + 3 * i;
    const auto speed = [&](int k) { return row_velocity(row[k], c.body_a, c.body_b, w.v, w.omega); };
    const model::ImpedanceData<Real> law = model::impedance_of_pair(m, c.pair);
    const bool is_deep = c.gap < -s.contact_margin, is_stopped = is_deep && !(s.push_share > Real(0));
    // Without its push a contact still stops what goes on into it, and no more.
    const Real rate = is_stopped && speed(0) > Real(0) ? Real(0) : speed(0);
    const Real gap = is_stopped ? Real(SoftLawParameters::kTouching) * c.gap : (is_deep ? s.push_share * c.gap : c.gap);
    SoftStep<Real> step = soft_step(law, s, gap, rate, w.body_force_step[c.body_a]);
    if (w.contact_rebound[i] < Real(0)) step.time = 0;
    SoftContact<Real>& soft = w.contact_law[i];
    soft.normal = soft_law(law, s, step, gap, rate);
    soft.tangent_bias[0] = soft.tangent_bias[1] = soft.tangent_compliance = 0;
    soft.lift = soft.slip_lift = soft.slip_excess = 0;
    if (step.time == Real(0)) return;
    const Real a = (Real(1) - step.euler) / 2, per_time = Real(1) / step.time;
    const Real weight = (Real(1) - a) * law.damping + per_time;
    Real slip[2] = {speed(1), speed(2)};  // as u⁻ has it, a step before that of u⁺
    if (m.surface_motions != nullptr) {
      const math::Vec3<Real> apart = surfaces_apart(m, w, c, s.dt / 2 - step.time).v;
      slip[0] += math::dot(apart, c.t1), slip[1] += math::dot(apart, c.t2);
    }
    for (int k = 0; k < 2; ++k) soft.tangent_bias[k] = (a * law.damping - per_time) * slip[k] / weight;
    soft.tangent_compliance = (Real(1) - step.impedance) / step.impedance * law.tangent_mobility * per_time / weight;
    const Real weight_n = weight + (Real(1) + 3 * step.euler) / 4 * s.dt * law.stiffness * step.impedance;
    const math::Vec3<Real> falls = c.body_b < 0 ? m.gravity : math::Vec3<Real>{};
    const Real push = -weight_n * (rate + soft.normal.bias) - math::dot(falls, c.normal);
    const Real x = law.damping * slip[0] + math::dot(falls, c.t1), y = law.damping * slip[1] + math::dot(falls, c.t2);
    const Real mu = c.friction, cone = law.mobility + mu * mu * law.tangent_mobility;
    soft.lift = lift_of_slip(law, step.impedance, mu, push, std::sqrt(x * x + y * y)) / weight_n;
    soft.slip_lift = mu * weight / weight_n;
    soft.slip_excess = (Real(1) - step.impedance) / step.impedance * (law.slip_mobility - cone) * per_time / weight_n;
    soft.normal.bias -= soft.lift;
    const VelocityProduct<Real> a_turns = turning_of(m, w, s, c.body_a), b_turns = turning_of(m, w, s, c.body_b);
    const auto turning = [&](int k) {
      return math::dot(row[k].l, a_turns.linear - b_turns.linear) + math::dot(row[k].k_a, a_turns.angular) +
             math::dot(row[k].k_b, b_turns.angular);
    };
    const Real whole = w.body_force_step[c.body_a] * per_time;  // the links turn before bodies meet, too
    soft.normal.bias -= whole * turning(0) / weight_n;
    for (int k = 0; k < 2; ++k) soft.tangent_bias[k] -= whole * turning(1 + k) / weight;
  });
}

// How an eased lock is bounded: the share of its error that its law is told of, and the least R/A.
template <typename Real>
struct LockBounds {
  Real share = 1, least_give = 0;
};

// Of locks that are off by `depth` altogether. Free to come together they do so at fastest_pull at most; where they
// cannot, R = k d r/pull keeps their force at what accelerates A by the option equality_pull. Those that are soft in a
// batch whose contacts are follow their law alone.
// All rows of a lock have the same bounds, so that it rests where the weighted square of its errors is least.
template <typename Real>
AXION_HD inline LockBounds<Real> bound_lock(const model::ImpedanceData<Real>& law, const model::StepSettings<Real>& s,
                                            Real depth, bool eased) {
  LockBounds<Real> bounds;
  if (!eased) return bounds;
  const Real stiffness = law.stiffness * impedance_at(law, depth), most = s.push_share * fastest_pull(s);
  // How fast the law brings it together: by its damping, or where that is little within a quarter of its period.
  const Real root = std::sqrt(stiffness), damped = stiffness / (law.damping > root ? law.damping : root);
  if (damped * depth > most) bounds.share = most / (damped * depth);
  bounds.least_give = stiffness * bounds.share * depth / s.equality_pull;
  return bounds;
}

// The law of a lock that is off by `error` and goes on at `rate`, in either direction; `depth` decides its impedance.
// `turning` is what turning alone accelerates the error by, J' u.
template <typename Real>
AXION_HD inline NormalLaw<Real> lock_law(const model::ImpedanceData<Real>& law, const model::StepSettings<Real>& s,
                                         Real depth, Real error, Real rate, Real turning, Real time,
                                         const LockBounds<Real>& bounds = {}) {
  const Real d = impedance_at(law, depth), h = s.dt, stiffness = law.stiffness * d;
  const Real push = h * (law.damping + h / 2 * stiffness);
  Real euler = 1;
  if (s.half_step_start)
    euler = push > Real(AxisParameters::kSoft) ? Real(1) - Real(AxisParameters::kSoft) / push : Real(0);
  NormalLaw<Real> row = soft_law(law, s, SoftStep<Real>{time, d, euler}, bounds.share * error, rate);
  const Real give = (1 - d) / d;
  if (bounds.least_give > give) row.compliance *= bounds.least_give / give;
  row.bias += turning / ((1 + euler) / 2 * law.damping + Real(1) / time + (1 + 3 * euler) / 4 * h * stiffness);
  return row;
}

// J' u of the locks of a joint without axes. Its anchors turn about the centres of the bodies; of a rotation r with the
// error e = 2 Im r that goes on at Ω, in the frame of a parent that turns itself,
//   e'' = -Ω²/4 e - k · (ω_P × ω_C)   along the row k
template <typename Real>
struct LockTurning {
  math::Vec3<Real> anchors{}, frames{};
  Real square = 0;
};

template <typename Real>
AXION_HD inline LockTurning<Real> lock_turning(const model::WorldView<Real>& w, const model::JointData<Real>& joint) {
  const auto of = [&](int b, const math::Vec3<Real>& p) {
    return math::cross(w.omega[b], math::cross(w.omega[b], math::rotate(w.q[b], p)));
  };
  const math::Vec3<Real> child = of(joint.child, joint.p_CA), omega = w.omega[joint.child];
  if (joint.parent < 0) return {child, {}, math::dot(omega, omega)};
  const math::Vec3<Real> parent = w.omega[joint.parent], apart = omega - parent;
  return {child - of(joint.parent, joint.p_PA), math::cross(parent, omega), math::dot(apart, apart)};
}

// Locks of loop joints and equalities that give way by a law. Needs start_joints and choose_force_steps.
template <typename Real, typename Team>
AXION_HD_RARE void soften_locks(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                const model::StepSettings<Real>& s) {
  team.for_each(m.loop_count, [&](int i) {
    const int j = m.joint_count - m.loop_count + i;
    const model::JointData<Real>& joint = m.joints[j];
    if (!goes_by_law<Real>(m, w, joint)) return;
    const model::LockSoftness<Real>& soft = m.lock_softness[joint.softness];
    const int moves = joint.translation_lock_count, locks = moves + joint.rotation_lock_count;
    Real square = 0;
    for (int k = 0; k < locks; ++k) {
      const Real error = (k < moves ? Real(1) : soft.turn_weight) * w.lock_start_error[joint.lock_start + k];
      square += error * error;
    }
    const Real depth = std::sqrt(square);
    const LockBounds<Real> bounds = bound_lock(soft.translation, s, depth, !(joint.is_soft && m.is_soft));
    LockTurning<Real> turning;
    if (joint.slide_count + joint.hinge_count == 0) turning = lock_turning(w, joint);
    const math::Vec3<Real> child = free_turning(m, w, s, joint.child), parent = free_turning(m, w, s, joint.parent);
    for (int k = 0; k < locks; ++k) {
      const int row = joint.lock_start + k;
      const model::Row<Real>& along = w.row_start[row];
      const Real free = math::dot(along.k_a, child) + math::dot(along.k_b, parent);
      const Real apart = k < moves
                             ? math::dot(along.l, turning.anchors)
                             : -turning.square / 4 * w.lock_start_error[row] - math::dot(along.k_a, turning.frames);
      const Real rate = row_velocity(along, joint.child, joint.parent, w.v, w.omega);
      w.lock_law[row] = lock_law(k < moves ? soft.translation : soft.rotation, s, depth, w.lock_start_error[row], rate,
                                 apart + free, w.joint_force_step[j], bounds);
    }
  });
  team.for_each(m.tendon_count - m.tendon_axis_count, [&](int i) {
    const model::TendonData<Real>& equality = m.tendons[m.tendon_axis_count + i];
    if (!goes_by_law<Real>(m, w, equality)) return;
    const Real error = w.lock_start_error[equality.lock];
    const model::ImpedanceData<Real>& law = m.lock_softness[equality.softness].translation;
    const LockBounds<Real> bounds = bound_lock(law, s, std::abs(error), !(equality.is_soft && m.is_soft));
    const Real rate = tendon_velocity<Real>(m, equality, w.tendon_force, w.v, w.omega);
    w.lock_law[equality.lock] = lock_law(law, s, std::abs(error), error, rate, Real(0),
                                         w.joint_force_step[m.lock_joint[equality.lock]], bounds);
  });
}

// Needs build_limit_rows. The rate before is that of armature (axis_rows.hpp), whose change is the coordinate's
// acceleration, of which what turns the axis is a part.
template <typename Real, typename Team>
AXION_HD inline void soften_limits(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   const model::StepSettings<Real>& s) {
  team.for_each(m.limit_count, [&](int i) {
    const int axis = m.limit_axis[i];
    const Real speed = w.axis_rate[axis] - w.axis_bias[axis], rate = w.limit_side[i] < 0 ? speed : -speed;
    const Real gap = limit_gap(m, w, i);
    const model::ImpedanceData<Real>& law = m.limit_impedance[i];
    w.limit_law[i] = soft_law(law, s, soft_step(law, s, gap, rate, w.joint_force_step[m.axes[axis].joint]), gap, rate);
  });
}

// Dry friction gives way by its law, without a spring, up to its bounds; needs build_effort_rows. Rates as of limits.
template <typename Real, typename Team>
AXION_HD inline void soften_efforts(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                    const model::StepSettings<Real>& s) {
  team.for_each(m.effort_count, [&](int i) {
    const model::EffortData<Real>& effort = m.efforts[i];
    if (!(effort.softness.mobility > Real(0))) return;
    const Real rate = w.axis_rate[effort.axis] - w.axis_bias[effort.axis];
    const NormalLaw<Real> law =
        lock_law(effort.softness, s, Real(0), Real(0), rate, Real(0), w.joint_force_step[m.axes[effort.axis].joint]);
    w.effort_alpha[i] = -law.bias, w.effort_compliance[i] = law.compliance;
  });
}

}  // namespace axion::constraints
