// The motion of a joint's child from that of its parent and the rates of the joint, along the chain of model_data.hpp:
//
//   ω_C = ω_P + Σ θ̇_k a_k,  v_C = v_P + ω_P × (first anchor − x_P) + Σ ṡ_j b_j + Σ ω_k × offset_k − ω_C × r_C
//
// In: poses of both bodies, coordinates s and rates of the joint. Out: v and ω of the child. Cost: some rotations.
#pragma once

#include "engine/base/array.hpp"
#include "engine/math/quat.hpp"
#include "engine/model/model_data.hpp"

namespace axion::constraints {

// Directions of the slides in M0: the dual basis of (duals, locked directions).
template <typename Real>
math::Mat3<Real> slide_directions(const model::JointData<Real>& joint) {
  math::Mat3<Real> basis = math::Mat3<Real>::identity();
  for (int k = 0; k < 3; ++k) {
    basis.row[k] = k < joint.slide_count ? joint.slide_dual[k] : joint.translation_lock[k - joint.slide_count];
  }
  return math::inverse(basis);
}

// `q_BC` is the principal frame of the parent in its body frame, by whose axes the rate of a ball is given.
template <typename Real>
void move_child(const model::JointData<Real>& joint, const model::AxisData<Real>* axes, const math::Quat<Real>& q_BC,
                const Real* s, const Real* rate, ConstArray<math::Vec3<Real>> x, ConstArray<math::Quat<Real>> q_WC,
                OutArray<math::Vec3<Real>> v_W, OutArray<math::Vec3<Real>> omega_W) {
  using Vec = math::Vec3<Real>;
  using Quat = math::Quat<Real>;
  const bool moving = joint.parent >= 0;
  const Vec x_P = moving ? x[joint.parent] : Vec{}, v_P = moving ? v_W[joint.parent] : Vec{};
  const Quat q_P = moving ? q_WC[joint.parent] : Quat{};
  Vec omega = moving ? omega_W[joint.parent] : Vec{};
  Vec anchor = x_P + math::rotate(q_P, joint.p_PA), slide_rate{};
  Quat q = q_P * joint.q_PM0;
  if (joint.slide_count > 0) {
    const math::Mat3<Real> directions = slide_directions(joint);
    for (int k = 0; k < joint.slide_count; ++k) {
      const Vec b = math::rotate(q, directions.column(k));
      anchor += (s[k] - axes[joint.axis_start + k].reference) * b;
      slide_rate += rate[k] * b;
    }
  }
  Vec v = v_P + math::cross(omega, anchor - x_P) + slide_rate;
  if (joint.is_ball) {
    omega += math::rotate(q_P * math::conjugate(moving ? q_BC : Quat{}), Vec{rate[0], rate[1], rate[2]});
  }
  for (int k = 0; k < (joint.is_ball ? 0 : joint.hinge_count); ++k) {
    if (k > 0) v += math::cross(omega, math::rotate(q, joint.offset[k - 1]));
    const int i = joint.slide_count + k;
    omega += rate[i] * math::rotate(q, joint.hinge[k]);
    q = q * math::exp_rotation((s[i] - axes[joint.axis_start + i].reference) * joint.hinge[k]);
  }
  omega_W[joint.child] = omega;
  v_W[joint.child] = v - math::cross(omega, math::rotate(q_WC[joint.child], joint.p_CA));
}

}  // namespace axion::constraints
