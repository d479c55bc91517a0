// What the bodies of joint trees accelerate by while none of their coordinates does: (dS/dt) ṡ of u = S(s) ṡ.
//
//   of joint j from P to C, with the frames M_k after its hinges, ω_0 = ω_P, and the offsets d_k between these:
//     ω_k = ω_(k-1) + a_k θ̇_k,   T_k = T_(k-1) + ω_(k-1) × a_k θ̇_k,   of a ball T = ω_P × (ω_C − ω_P)
//     L_j = ω_P × (ω_P × (A − x_P)) + 2 ω_P × ṡ + Σ_k [T_k × d_k + ω_k × (ω_k × d_k)]
//           + T × (x_C − o_C) + ω_C × (ω_C × (x_C − o_C))
//   of body b:   angular Σ T_j,   linear Σ [L_j + T_j × (x_b − x_Cj)],   over the joints j from b to its root
//
// A is the first anchor as the slides have it, o_C the last, ṡ how fast A slides in P. A root without a joint turns
// about the origin of its given frame, as a free joint's coordinates have it: ω × (ω × (x − o)). Soft contacts ask for
// accelerations of coordinates, as MuJoCo's do (soft_laws.hpp). Source: Featherstone 2008, Rigid Body Dynamics
// Algorithms, section 3.5, velocity products.
//
// In: the state, axis_position. Out: link_turning of each joint of a tree. Cost: linear in joints; a body's sum, in its
// depth.
#pragma once

#include "engine/constraints/constraint_rows.hpp"
#include "engine/constraints/joint_rows.hpp"

namespace axion::constraints {

template <typename Real>
AXION_HD inline math::Vec3<Real> centripetal(const math::Vec3<Real>& omega, const math::Vec3<Real>& arm) {
  return math::cross(omega, math::cross(omega, arm));
}

template <typename Real>
AXION_HD inline VelocityProduct<Real> turning_along(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                                    const model::JointData<Real>& joint) {
  using math::Vec3;
  const bool has_parent = joint.parent >= 0;
  const Vec3<Real> x_P = has_parent ? w.x[joint.parent] : Vec3<Real>{};
  const Vec3<Real> v_P = has_parent ? w.v[joint.parent] : Vec3<Real>{};
  const Vec3<Real> omega_P = has_parent ? w.omega[joint.parent] : Vec3<Real>{}, omega_C = w.omega[joint.child];
  const math::Quat<Real> q_M0 = (has_parent ? w.q[joint.parent] : math::Quat<Real>{}) * joint.q_PM0;
  const Vec3<Real> arm = -math::rotate(w.q[joint.child], joint.p_CA);  // x_C − o_C
  Vec3<Real> reach = (w.x[joint.child] - x_P) - arm;                   // A − x_P
  Vec3<Real> speed = w.v[joint.child] - math::cross(omega_C, arm);     // of A
  VelocityProduct<Real> turning;
  Vec3<Real> omega = omega_P, along{};
  if (joint.is_ball) {
    turning.angular = math::cross(omega_P, omega_C - omega_P);
  } else {
    Chain<Real> chain;
    evaluate_chain<JointParts::kRows>(m, joint, q_M0, w.q[joint.child], w.axis_position, chain);
    for (int k = 0; k < joint.hinge_count; ++k) {
      const Vec3<Real> rate = math::dot(chain.dual[k], omega_C - omega_P) * chain.a[k];
      turning.angular += math::cross(omega, rate);
      omega += rate;
      if (k >= chain.offset_count) continue;
      const Vec3<Real>& d = chain.offset[k];
      along += math::cross(turning.angular, d) + centripetal(omega, d);
      reach -= d, speed -= math::cross(omega, d);
    }
  }
  turning.linear = centripetal(omega_P, reach) + along + math::cross(turning.angular, arm) + centripetal(omega_C, arm);
  if (joint.slide_count > 0) {
    turning.linear += Real(2) * math::cross(omega_P, speed - v_P - math::cross(omega_P, reach));
  }
  return turning;
}

// Needs start_joints.
template <typename Real, typename Team>
AXION_HD_RARE void turn_links(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w) {
  team.for_each(m.joint_count - m.loop_count, [&](int j) { w.link_turning[j] = turning_along(m, w, m.joints[j]); });
}

// Of body b, or of the world, -1.
template <typename Real>
AXION_HD inline VelocityProduct<Real> body_turning(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                                   int b) {
  VelocityProduct<Real> sum;
  if (b < 0) return sum;
  int link = b;
  for (; link >= 0 && m.bodies[link].joint >= 0; link = m.bodies[link].parent) {
    const VelocityProduct<Real>& own = w.link_turning[m.bodies[link].joint];
    sum.linear += own.linear + math::cross(own.angular, w.x[b] - w.x[link]);
    sum.angular += own.angular;
  }
  if (link >= 0) sum.linear += centripetal(w.omega[link], -math::rotate(w.q[link], m.bodies[link].p_origin));
  return sum;
}

}  // namespace axion::constraints
