// Geometric stiffness of joint impulses, and the blending weight that follows from it.
//
// An impulse f at the arm r turns with its body: −∂(r × f)/∂θ = (f·r)1 − r fᵀ, with K its symmetric part. The Newton
// matrix needs h times it, or the positive part of K (problem/linearise.hpp), else chains with a heavy end never
// converge. BLENDED takes from k_b = h λ_max(Z_b^-½ K_b Z_b^-½) the share of J(q⁺) in a joint's impulses: w_j = max
// over its bodies of max(0, 1 − 2/k_b). Z_b is the body's inertia I_b, and where that alone gives a weight the inertia
// that it turns with: dampers, springs and drives are solved implicitly and hold it to its neighbours, locked
// directions carry them along. A stiffly driven robot keeps J(q⁻) at time steps ten times as long, and Newton one
// iteration in place of twelve. f·r > 0 where the impulse pulls outward, as in a loaded chain.
//
// In: the last step's impulses, poses, row_start. Out: stiffness_ratio, supported_inertia, blend. Cost: linear in
// bodies and joints; one eigenvalue for a body whose bound is above the least weight.
#pragma once

#include "engine/constraints/axis_laws.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/lanes/number.hpp"
#include "engine/model/body_joints.hpp"
#include "engine/model/principal_axes.hpp"

namespace axion::constraints {

// Impulse of a joint's translation locks on its child, world frame; rows must be translations of `joint`.
template <typename Real>
AXION_HD inline math::Vec3<Real> anchor_impulse(const model::JointData<Real>& joint, ConstArray<model::Row<Real>> rows,
                                                ConstArray<Real> lambda) {
  math::Vec3<Real> f{};
  for (int i = 0; i < joint.translation_lock_count; ++i) {
    f += lambda[joint.lock_start + i] * rows[joint.lock_start + i].l;
  }
  return f;
}

// −∂(r × f)/∂θ = (f·r)1 − r fᵀ, whose symmetric part is K.
template <typename Real>
AXION_HD inline math::Mat3<Real> torque_derivative(const math::Vec3<Real>& f, const math::Vec3<Real>& r) {
  const Real d = math::dot(f, r);
  return math::Mat3<Real>::diagonal(d, d, d) + Real(-1) * math::outer(r, f);
}

// Σ weight_j (f·r)1 − r fᵀ over the joints of body b, impulses along `rows`, arms at orientations q. weight null: all
// one.
template <typename Real>
AXION_HD_CALL math::Mat3<Real> body_torque_derivative(const model::ModelView<Real>& m, int b,
                                                      ConstArray<math::Quat<Real>> q, ConstArray<model::Row<Real>> rows,
                                                      ConstArray<Real> lambda, ConstArray<Real> weight) {
  math::Mat3<Real> K{};
  model::for_each_joint(m, b, [&](int j, bool is_child) {
    using lanes::vanishes;
    if (weight && vanishes(weight[j])) return;
    const model::JointData<Real>& joint = m.joints[j];
    const math::Vec3<Real> f = anchor_impulse(joint, rows, lambda);
    const math::Vec3<Real> r = math::rotate(q[b], is_child ? joint.p_CA : joint.p_PA);
    K = K + (weight ? weight[j] : Real(1)) * torque_derivative(is_child ? f : -f, r);
  });
  return K;
}

template <typename Real>
AXION_HD inline Real blend_weight(Real k) {
  return k > Real(2) ? Real(1) - Real(2) / k : Real(0);
}

// Σ K_j of body b from the last impulses at q⁻.
template <typename Real>
AXION_HD inline math::Mat3<Real> start_stiffness(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                                 int b) {
  return math::symmetric_part(
      body_torque_derivative(m, b, w.q, w.row_start, w.lambda_joint, static_cast<const Real*>(nullptr)));
}

// What an axis adds to the inertia about it against motion that explicit forces excite: armature, and the share of
// backward Euler in its laws. With damping d, spring k and an explicit stiffness K, x⁺(I + hd + h²k) − x(2I + hd − h²K)
// + x⁻I = 0 is stable for h²K < 4 (I + hd/2 + h²k/4); of the trapezoidal rule's laws nothing is lent, h²K < 4I.
template <typename Real>
AXION_HD inline Real axis_support(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int i, Real dt) {
  const AxisLaw<Real> law = axis_law(m, w, i);
  const Real weight = w.constraints.euler_share[i];
  return m.axes[i].armature + weight * dt / 2 * law.damping + weight * dt * dt / 4 * law.stiffness;
}

template <typename Real>
AXION_HD inline Real least_moment(const math::Vec3<Real>& I) {
  return I.x < I.y ? (I.x < I.z ? I.x : I.z) : (I.y < I.z ? I.y : I.z);
}

// The compliance of joint j against turning (rad/(N m s), world frame): how far the child turns relative to its parent
// for a unit of torque. Along an axis it is the inverse of axis_support; locked directions have a thousandth of the
// inverse of the child's least moment of inertia.
template <typename Real>
AXION_HD_CALL math::Mat3<Real> joint_give(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int j,
                                          Real dt) {
  const model::JointData<Real>& joint = m.joints[j];
  const math::Vec3<Real> I = body_inertia(m, w, joint.child);
  const Real least = least_moment(I);
  const auto inverse = [&](Real support) { return Real(1) / (support + Real(BlendParameters::kLeastSupport) * least); };
  const Real locked = Real(BlendParameters::kLockedGive) / least;
  math::Mat3<Real> give = math::Mat3<Real>::diagonal(locked, locked, locked);
  if (joint.is_ball) {
    const Real c = inverse(joint.axis_count > 0 ? axis_support(m, w, joint.axis_start, dt) : Real(0));
    return give + math::Mat3<Real>::diagonal(c, c, c);
  }
  for (int k = joint.slide_count; k < joint.axis_count; ++k) {
    const math::Vec3<Real>& a = w.row_start[m.axis_base() + joint.axis_start + k].k_a;
    const Real length2 = math::dot(a, a);
    give = give + inverse(axis_support(m, w, joint.axis_start + k, dt)) / (length2 * length2) * math::outer(a, a);
  }
  return give;
}

// The inertia against turning of every body together with the share of its neighbours' inertia that its joints
// transmit. Joints act as springs: in series along the tree, in parallel where a body has several. One pass from the
// leaves to the roots adds the children's shares, one pass back adds the parents'. The result is in supported_inertia.
// Cost: linear in bodies.
template <typename Real>
AXION_HD_CALL void supported_inertias(const model::ModelView<Real>& m, const model::WorldView<Real>& w, Real dt) {
  math::Mat3<Real>* Z = w.supported_inertia;
  for (int b = 0; b < m.body_count; ++b) Z[b] = math::rotate_diagonal(math::to_matrix(w.q[b]), body_inertia(m, w, b));
  for (int b = m.body_count - 1; b >= 0; --b) {
    if (m.bodies[b].parent < 0) continue;
    w.constraints.lent_inertia[b] = math::inverse(joint_give(m, w, m.bodies[b].joint, dt) + math::inverse(Z[b]));
    Z[m.bodies[b].parent] = Z[m.bodies[b].parent] + w.constraints.lent_inertia[b];
  }
  for (int b = 0; b < m.body_count; ++b) {
    const int parent = m.bodies[b].parent;
    if (m.bodies[b].joint < 0) continue;
    math::Mat3<Real> give = joint_give(m, w, m.bodies[b].joint, dt);
    if (parent >= 0) give = give + math::inverse(Z[parent] + Real(-1) * w.constraints.lent_inertia[b]);
    Z[b] = Z[b] + math::inverse(give);
  }
}

// Of all entries; its root is no less than any eigenvalue's size (Frobenius norm).
template <typename Real>
AXION_HD inline Real sum_of_squares(const math::Mat3<Real>& S) {
  return math::dot(S.row[0], S.row[0]) + math::dot(S.row[1], S.row[1]) + math::dot(S.row[2], S.row[2]);
}

// λ_max of Z⁻¹K, both symmetric, Z positive definite with Z = LLᵀ; 0 where it is below `least`.
template <typename Real>
AXION_HD inline Real greatest_generalised_eigenvalue(const math::Mat3<Real>& K, const math::Mat3<Real>& Z, Real least) {
  const Real l00 = std::sqrt(Z(0, 0)), l10 = Z(1, 0) / l00, l20 = Z(2, 0) / l00;
  const Real l11 = std::sqrt(Z(1, 1) - l10 * l10), l21 = (Z(2, 1) - l20 * l10) / l11;
  const Real l22 = std::sqrt(Z(2, 2) - l20 * l20 - l21 * l21);
  const auto solve = [&](const math::Vec3<Real>& v) {
    const Real x = v.x / l00, y = (v.y - l10 * x) / l11;
    return math::Vec3<Real>{x, y, (v.z - l20 * x - l21 * y) / l22};
  };
  const math::Mat3<Real> half = math::transpose(math::Mat3<Real>{{solve(K.row[0]), solve(K.row[1]), solve(K.row[2])}});
  const math::Mat3<Real> S{{solve(half.row[0]), solve(half.row[1]), solve(half.row[2])}};
  return std::sqrt(sum_of_squares(S)) < least ? Real(0) : model::greatest_eigenvalue(S);
}

// w_j of every joint from the last step's impulses at q⁻; needs row_start.
template <typename Real, typename Team>
AXION_HD inline void blend_weights(const Team& team, const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                   Real dt) {
  team.for_each(m.body_count, [&](int b) {
    const math::Mat3<Real> K = start_stiffness(m, w, b);
    const math::Vec3<Real> I = body_inertia(m, w, b);
    // Most bodies are far from any weight: h λ_max(K) is far below the least moment.
    const Real bound = Real(BlendParameters::kNoWeight) * least_moment(I) / dt;
    if (sum_of_squares(K) < bound * bound) {
      w.constraints.stiffness_ratio[b] = 0;
      return;
    }
    const math::Mat3<Real> R = math::to_matrix(w.q[b]);
    const math::Vec3<Real> s{Real(1) / std::sqrt(I.x), Real(1) / std::sqrt(I.y), Real(1) / std::sqrt(I.z)};
    math::Mat3<Real> S = math::transpose(R) * (K * R);
    for (int i = 0; i < 3; ++i) S.row[i] = s[i] * math::scale(S.row[i], s);
    w.constraints.stiffness_ratio[b] = dt * std::sqrt(sum_of_squares(S));  // no less than the ratio of its own inertia
  });
  if (team.template max<Real>(m.body_count, [&](int b) { return w.constraints.stiffness_ratio[b]; }) > Real(2)) {
    team.for_each(1, [&](int) { supported_inertias(m, w, dt); });
    team.for_each(m.body_count, [&](int b) {
      if (!(w.constraints.stiffness_ratio[b] > Real(2))) return;
      const math::Mat3<Real> K = start_stiffness(m, w, b);
      w.constraints.stiffness_ratio[b] =
          dt * greatest_generalised_eigenvalue(K, w.supported_inertia[b], Real(BlendParameters::kNoWeight) / dt);
    });
  }
  team.for_each(m.joint_count + m.spatial_count, [&](int j) {
    const model::JointData<Real>& joint = m.joints[j];
    Real k = w.constraints.stiffness_ratio[joint.child];
    if (joint.parent >= 0 && w.constraints.stiffness_ratio[joint.parent] > k)
      k = w.constraints.stiffness_ratio[joint.parent];
    w.blend[j] = blend_weight(k);
  });
}

}  // namespace axion::constraints
