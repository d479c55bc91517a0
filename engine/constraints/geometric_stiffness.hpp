// Geometric stiffness of joint impulses, and the blending weight that follows from it.
//
// An impulse f at the arm r turns with its body: K = (f·r)1 − ½(r fᵀ + f rᵀ). Backward Euler (CURRENT) needs h times
// its positive part in the Newton matrix, else chains with a heavy end never converge. BLENDED takes from
// k_b = h λ_max(I^-½ K_b I^-½) the share of J(q⁺) in a joint's impulses: w_j = max over its bodies of max(0, 1 − 2/k_b).
// f·r > 0 where the impulse pulls outward, as in a loaded chain.
#pragma once

#include "engine/constraints/free_motion.hpp"
#include "engine/model/principal_axes.hpp"

namespace axion::constraints {

// Impulse of a joint's translation locks on its child, world frame; rows must be translations of `joint`.
template <typename Real>
AXION_HD inline math::Vec3<Real> anchor_impulse(const model::JointData<Real>& joint, const model::Row<Real>* rows,
                                                const Real* lambda) {
  math::Vec3<Real> f{};
  for (int i = 0; i < joint.translation_lock_count; ++i) {
    f += lambda[joint.lock_start + i] * rows[joint.lock_start + i].l;
  }
  return f;
}

template <typename Real>
AXION_HD inline math::Mat3<Real> stiffness_of(const math::Vec3<Real>& f, const math::Vec3<Real>& r) {
  const math::Mat3<Real> rf = math::outer(r, f);
  const Real d = math::dot(f, r);
  return math::Mat3<Real>::diagonal(d, d, d) + Real(-0.5) * (rf + math::transpose(rf));
}

// Σ weight_j K_j over the joints of body b, impulses along `rows`, arms at orientations q. weight null: all one.
template <typename Real>
AXION_HD_CALL math::Mat3<Real> body_stiffness(const model::ModelView<Real>& m, int b, const math::Quat<Real>* q,
                                                const model::Row<Real>* rows, const Real* lambda, const Real* weight) {
  math::Mat3<Real> K{};
  const model::BodyData<Real>& body = m.bodies[b];
  const auto add = [&](int j, bool is_child) {
    if (weight && weight[j] == Real(0)) return;
    const model::JointData<Real>& joint = m.joints[j];
    const math::Vec3<Real> f = anchor_impulse(joint, rows, lambda);
    const math::Vec3<Real> r = math::rotate(q[b], is_child ? joint.p_CA : joint.p_PA);
    K = K + (weight ? weight[j] : Real(1)) * stiffness_of(is_child ? f : -f, r);
  };
  if (body.joint >= 0) add(body.joint, true);
  for (int k = 0; k < body.child_joint_count; ++k) add(m.child_joints[body.child_joint_start + k], false);
  for (int k = body.loop_start; k < body.loop_start + body.loop_count; ++k) {
    const int loop = m.body_loops[k];
    add(loop >= 0 ? loop : ~loop, loop >= 0);
  }
  return K;
}

template <typename Real>
AXION_HD inline Real blend_weight(Real k) {
  return k > Real(2) ? Real(1) - Real(2) / k : Real(0);
}

// w_j of every joint from the last step's impulses at q⁻; needs row_start.
template <typename Real, typename Team>
AXION_HD inline void blend_weights(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   Real dt) {
  team.for_each(m.body_count, [&](int b) {
    const math::Mat3<Real> K = body_stiffness(m, b, w.q, w.row_start, w.lambda_joint, static_cast<Real*>(nullptr));
    const math::Vec3<Real> I = body_inertia(m, w, b);
    // λ_max of a symmetric matrix is at most the root of its sum of squares. Most bodies are far from any weight.
    const Real least = I.x < I.y ? (I.x < I.z ? I.x : I.z) : (I.y < I.z ? I.y : I.z), bound = Real(1.9) * least / dt;
    if (math::dot(K.row[0], K.row[0]) + math::dot(K.row[1], K.row[1]) + math::dot(K.row[2], K.row[2]) < bound * bound) {
      w.blend_body[b] = 0;
      return;
    }
    const math::Mat3<Real> R = math::to_matrix(w.q[b]);
    const math::Vec3<Real> s{Real(1) / std::sqrt(I.x), Real(1) / std::sqrt(I.y), Real(1) / std::sqrt(I.z)};
    math::Mat3<Real> S = math::transpose(R) * (K * R);
    for (int i = 0; i < 3; ++i) S.row[i] = s[i] * math::scale(S.row[i], s);
    w.blend_body[b] = dt * model::greatest_eigenvalue(S);
  });
  team.for_each(m.joint_count, [&](int j) {
    const model::JointData<Real>& joint = m.joints[j];
    Real k = w.blend_body[joint.child];
    if (joint.parent >= 0 && w.blend_body[joint.parent] > k) k = w.blend_body[joint.parent];
    w.blend[j] = blend_weight(k);
  });
}

template <typename Real>
AXION_HD inline bool is_jointed(const model::BodyData<Real>& body) {
  return body.joint >= 0 || body.child_joint_count > 0 || body.loop_count > 0;
}

// Blending weights, and the times that forces act in this step. Impulses along J(q⁻) make a leapfrog, whose velocities belong
// to the middle of a step: from a state that was set, whose velocities belong to its instant, the first step takes half of
// the forces, and owes the other half. A blended joint leaves the leapfrog by its weight w and then owes no more than
// (1 − w)/2: what is paid back acts in the step in which w is first seen. Debts only fall, so that weights that come and go
// do not shake the forces. Free bodies take whole steps, which are exact for their velocities under constant forces.
// Needs start_joints.
template <typename Real, typename Team>
AXION_HD_CALL void choose_force_steps(const Team& team, const model::ModelView<Real>& m,
                                        const model::WorldView<Real>& w, const model::StepSettings<Real>& s) {
  const bool blended = s.joint_mode == model::JointMode::kBlended;
  if (blended) blend_weights(team, m, w, s.dt);
  const bool is_new = w.state_is_new[0] != 0;
  const auto take = [&](bool leapfrogs, Real weight, Real& debt) {
    const Real before = is_new ? Real(0) : debt, owed = leapfrogs ? (1 - weight) / 2 : Real(0);
    debt = is_new || owed < before ? owed : before;
    return (1 + before - debt) * s.dt;
  };
  team.for_each(m.body_count, [&](int b) {
    const Real weight = blended && !is_new ? blend_weight(w.blend_body[b]) : Real(0);
    w.body_force_step[b] = take(s.half_step_start && is_jointed(m.bodies[b]), weight, w.body_force_debt[b]);
  });
  team.for_each(m.joint_count, [&](int j) {
    const Real weight = blended && !is_new ? w.blend[j] : Real(0);
    w.joint_force_step[j] = take(s.half_step_start, weight, w.joint_force_debt[j]);
  });
}

}  // namespace axion::constraints
