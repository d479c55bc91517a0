// Rows of a joint: what its chain of slides and hinges locks, and the coordinates that it leaves free.
//
//   parent P ──p_PA──▶ first anchor ──slides──▶ ⟳ hinge 1 ──offset 1──▶ ⟳ hinge 2 ──offset 2──▶ ⟳ hinge 3 ──▶ child C
//
// M0 is the parent's image of the child at reference, M_k the frame after hinge k; M_n is the child where the joint
// holds. The frames between are massless: their angles follow from the two bodies' orientations (`chain_angles`), their
// rates from the dual axes â_k, θ̇_k = â_k·(ω_C − ω_P).
//   translation along b: c = b·(p − o_P), p = o_C − Σ R_Mk d_k the child's image of the first anchor;
//   rotation, no hinge: twice the vector part of the relative quaternion; one hinge: t_i·a_C; two: a_1·a_2 − cos.
// All Jacobians are exact derivatives of these. Errors are metres for translations and radians for rotations.
// Rows: the child is body A, the parent body B (model/row.hpp). Source: METHOD of the seeds, section Joints;
// compound joints after Featherstone 2008, Rigid Body Dynamics Algorithms, section 4.4.
//
// In: the poses of both bodies, the last coordinates. Out: JointEvaluation. Cost: a lock takes one to three rotations;
// angles of three hinges some three arc tangents more.
#pragma once

#include "engine/base/assert.hpp"
#include "engine/constraints/parameters.hpp"
#include "engine/math/angle_functions.hpp"
#include "engine/math/constants.hpp"
#include "engine/model/row.hpp"
#include "engine/model/world_state.hpp"

namespace axion::constraints {

// What of a joint is asked for. Angles of hinges cost more than rows: a solver's iterations, which need locks alone, do
// without wherever hinges share their anchor or are at most two.
enum class JointParts {
  kAll,          // locks, axes, coordinates
  kLocks,        // locks and their errors
  kCoordinates,  // coordinates and anchor_error
  kRows,         // locks and axes; the coordinates given are those of the poses
};

// A joint evaluated at two poses.
template <typename Real>
struct JointEvaluation {
  model::Row<Real> lock[6];
  Real error[6];  // of each lock, m or rad
  model::Row<Real> axis[3];
  Real coordinate[3];  // s of each axis, unwrapped next to the coordinates given
  Real anchor_error;   // largest translation error, m
};

// Angle that turns `from` to `to` about the unit vector `axis`.
template <typename Real>
AXION_HD inline Real angle_about(const math::Vec3<Real>& axis, const math::Vec3<Real>& from,
                                 const math::Vec3<Real>& to) {
  return math::arc_tangent(math::dot(axis, math::cross(from, to)),
                           math::dot(from, to) - math::dot(axis, from) * math::dot(axis, to));
}

// value plus the multiple of 2π that brings it next to `near`.
template <typename Real>
AXION_HD inline Real unwrap(Real value, Real near) {
  const Real turn = Real(2 * math::kPi);
  return value + turn * std::round((near - value) / turn);
}

// Axes, duals and angles of the hinges, world frame.
template <typename Real>
struct Chain {
  math::Vec3<Real> a[3], dual[3];
  Real angle[3];
  math::Vec3<Real> offset[2];  // R_Mk d_k
  int offset_count;            // of those that are not zero, rounded up to all: 0, or one less than the hinges
};

// θ_2 of three hinges: a_1·a_3 = A + B cos θ + C sin θ; of its two solutions the one next to `near`.
template <typename Real>
AXION_HD inline Real middle_angle(const model::JointData<Real>& joint, Real a1_dot_a3, Real near) {
  const math::Vec3<Real>&h1 = joint.hinge[0], &h2 = joint.hinge[1], &h3 = joint.hinge[2];
  const Real A = math::dot(h1, h2) * math::dot(h2, h3);
  const Real B = math::dot(h1, h3) - A, C = math::dot(h1, math::cross(h2, h3));
  const Real amplitude = std::sqrt(B * B + C * C);
  Real cosine = (a1_dot_a3 - A) / amplitude;
  cosine = cosine > Real(1) ? Real(1) : (cosine < Real(-1) ? Real(-1) : cosine);
  const Real phase = math::arc_tangent(C, B), spread = math::arc_cosine(cosine);
  const Real first = unwrap(phase + spread, near), second = unwrap(phase - spread, near);
  return std::abs(first - near) <= std::abs(second - near) ? first : second;
}

template <typename Real>
AXION_HD inline void chain_duals(int hinge_count, Chain<Real>& chain) {
  const math::Vec3<Real>* a = chain.a;
  if (hinge_count == 1) {
    chain.dual[0] = a[0];
  } else if (hinge_count == 2) {
    const Real c = math::dot(a[0], a[1]), scale = Real(1) / (Real(1) - c * c);
    chain.dual[0] = scale * (a[0] - c * a[1]);
    chain.dual[1] = scale * (a[1] - c * a[0]);
  } else if (hinge_count == 3) {
    // At gimbal lock the three axes lie in a plane; the bound keeps the rates finite there.
    Real det = math::dot(a[0], math::cross(a[1], a[2]));
    constexpr double kLeast = AxisParameters::kLeastDeterminant;
    if (std::abs(det) < Real(kLeast)) det = det < 0 ? Real(-kLeast) : Real(kLeast);
    chain.dual[0] = (Real(1) / det) * math::cross(a[1], a[2]);
    chain.dual[1] = (Real(1) / det) * math::cross(a[2], a[0]);
    chain.dual[2] = (Real(1) / det) * math::cross(a[0], a[1]);
  }
}

// v turned about a unit vector, from what angle_about takes as the angle's sine and cosine times a common size.
template <typename Real>
AXION_HD inline math::Vec3<Real> turn_about(const math::Vec3<Real>& axis, Real sine, Real cosine,
                                            const math::Vec3<Real>& v) {
  const Real size = std::sqrt(sine * sine + cosine * cosine);
  if (!(size > 0)) return v;
  const Real s = sine / size, c = cosine / size;
  return c * v + s * math::cross(axis, v) + ((1 - c) * math::dot(axis, v)) * axis;
}

// Angles of two or three hinges; those of three on the branch next to `near`.
template <typename Real>
AXION_HD inline void chain_angles(const model::JointData<Real>& joint, const math::Quat<Real>& q_M0,
                                  const math::Quat<Real>& q_C, const Real* near, Chain<Real>& chain) {
  const int n = joint.hinge_count;
  const math::Vec3<Real>* h = joint.hinge;
  if (n == 1) {
    chain.angle[0] =
        angle_about(chain.a[0], math::rotate(q_M0, joint.perpendicular[0]), math::rotate(q_C, joint.perpendicular[0]));
  } else if (n == 2) {
    chain.angle[0] = angle_about(chain.a[0], math::rotate(q_M0, h[1]), chain.a[1]);
    chain.angle[1] = angle_about(chain.a[1], chain.a[0], math::rotate(q_C, h[0]));
  } else {
    chain.angle[1] = middle_angle(joint, math::dot(chain.a[0], chain.a[2]), near[1]);
    const math::Quat<Real> turn = math::exp_rotation(chain.angle[1] * h[1]);
    chain.angle[0] = angle_about(h[0], math::rotate(turn, h[2]), math::rotate_inverse(q_M0, chain.a[2]));
    chain.angle[2] = angle_about(h[2], math::rotate_inverse(q_C, chain.a[0]), math::rotate_inverse(turn, h[0]));
  }
  for (int k = 0; k < n; ++k) chain.angle[k] = unwrap(chain.angle[k], near[k]);
}

// What of the chain `parts` need. `coordinate` are coordinates of all axes of the world, to choose branches and turns.
template <JointParts parts, typename Real, typename Coordinates>
AXION_HD_CALL void evaluate_chain(const model::ModelView<Real>& m, const model::JointData<Real>& joint,
                                  const math::Quat<Real>& q_M0, const math::Quat<Real>& q_C,
                                  const Coordinates& coordinate, Chain<Real>& chain) {
  const int n = joint.hinge_count;
  const math::Vec3<Real>* h = joint.hinge;
  Real near[3] = {};  // coordinates of the hinges, less their reference
  for (int k = 0; k < n; ++k) {
    const int axis = joint.axis_start + joint.slide_count + k;
    near[k] = coordinate[axis] - m.axes[axis].reference;
  }
  chain.offset_count = 0;
  if (n == 0 || (n == 1 && parts == JointParts::kLocks)) return;
  for (int k = 0; k + 1 < n; ++k) {
    if (math::dot(joint.offset[k], joint.offset[k]) > 0) chain.offset_count = n - 1;
  }
  const bool has_offsets = chain.offset_count > 0;
  if (n == 3 && parts == JointParts::kLocks && !has_offsets) return;
  chain.a[0] = math::rotate(q_M0, h[0]);
  if (n > 1) chain.a[n - 1] = math::rotate(q_C, h[n - 1]);
  constexpr bool kAngles = parts == JointParts::kAll || parts == JointParts::kCoordinates;
  if (parts == JointParts::kRows) {
    for (int k = 0; k < n; ++k) chain.angle[k] = near[k];
  } else if (kAngles || n == 3) {
    chain_angles(joint, q_M0, q_C, near, chain);
  }
  if (n == 3 && (has_offsets || parts != JointParts::kCoordinates)) {
    const math::Quat<Real> q_M1 = q_M0 * math::exp_rotation(chain.angle[0] * h[0]);
    chain.a[1] = math::rotate(q_M1, h[1]);
    chain.offset[0] = math::rotate(q_M1, joint.offset[0]);
    chain.offset[1] = math::rotate(q_M1 * math::exp_rotation(chain.angle[1] * h[1]), joint.offset[1]);
  } else if (n == 2 && has_offsets) {
    const math::Vec3<Real> from = math::rotate(q_M0, h[1]);
    const Real sine = math::dot(chain.a[0], math::cross(from, chain.a[1]));
    const Real cosine = math::dot(from, chain.a[1]) - math::dot(chain.a[0], from) * math::dot(chain.a[0], chain.a[1]);
    chain.offset[0] = turn_about(chain.a[0], sine, cosine, math::rotate(q_M0, joint.offset[0]));
  }
  if (parts != JointParts::kCoordinates && (has_offsets || parts != JointParts::kLocks)) chain_duals(n, chain);
}

// Freedoms to turn of a joint. A ball's axes need not be there, as nothing may act along them.
template <typename Real>
AXION_HD inline int turn_count(const model::JointData<Real>& joint) {
  return joint.is_ball ? 3 : joint.hinge_count;
}

template <typename Real>
AXION_HD inline int joint_freedoms(const model::JointData<Real>& joint) {
  return joint.slide_count + turn_count(joint);
}

// The axes that a joint of a tree turns about at the world's present poses: of its hinges, or the world's of a ball.
template <typename Real>
AXION_HD inline void turning_axes(const model::ModelView<Real>& m, const model::WorldView<Real>& w,
                                  const model::JointData<Real>& joint, const math::Quat<Real>& q_M0,
                                  Chain<Real>& chain) {
  if (!joint.is_ball) {
    evaluate_chain<JointParts::kRows>(m, joint, q_M0, w.q[joint.child], w.axis_position, chain);
    return;
  }
  chain.offset_count = 0;
  for (int k = 0; k < 3; ++k) chain.a[k] = chain.dual[k] = math::unit_vector<Real>(k);
}

// Calls f(k, swing) for each axis that a joint turns about, the last first: what a unit rate of it gives the velocity
// of the child's centre.
template <typename Real, typename F>
AXION_HD inline void for_each_swing(const model::WorldView<Real>& w, const model::JointData<Real>& joint,
                                    const Chain<Real>& chain, F&& f) {
  math::Vec3<Real> arm = math::rotate(w.q[joint.child], joint.p_CA);  // to the anchor of each axis
  for (int k = turn_count(joint) - 1; k >= 0; --k) {
    if (k < chain.offset_count) arm -= chain.offset[k];
    f(k, math::cross(arm, chain.a[k]));
  }
}

// Direction of slide k of a joint, in the frame M0: coordinates are read by the duals, which are the rows of the
// inverse.
template <typename Real>
AXION_HD inline math::Vec3<Real> slide_direction(const model::JointData<Real>& joint, int k) {
  if (joint.slide_count == 1) return joint.slide_dual[0];
  math::Vec3<Real> d[3];
  for (int i = 0; i < 3; ++i)
    d[i] = i < joint.slide_count ? joint.slide_dual[i] : joint.translation_lock[i - joint.slide_count];
  const math::Vec3<Real> c = math::cross(d[(k + 1) % 3], d[(k + 2) % 3]);
  return (Real(1) / math::dot(d[k], c)) * c;
}

// The row of c = b·(p − o_P) for a world direction b. Where b turns with the parent, r_P reaches to p itself.
template <typename Real>
AXION_HD inline model::Row<Real> translation_row(const math::Vec3<Real>& b, const math::Vec3<Real>& r_C,
                                                 const math::Vec3<Real>& r_P, const Chain<Real>& chain) {
  model::Row<Real> row{b, math::cross(r_C, b), -math::cross(r_P, b)};
  for (int k = 0; k < chain.offset_count; ++k) {
    const math::Vec3<Real> e = math::cross(chain.offset[k], b);
    math::Vec3<Real> m{};
    for (int j = 0; j <= k; ++j) m += math::dot(chain.a[j], e) * chain.dual[j];
    row.k_a -= m;
    row.k_b -= e - m;
  }
  return row;
}

template <typename Real>
AXION_HD inline void rotation_locks(const model::JointData<Real>& joint, const math::Quat<Real>& q_M0,
                                    const math::Quat<Real>& q_C, JointEvaluation<Real>& out) {
  using math::Vec3;
  const int first = joint.translation_lock_count;
  const auto lock = [&](int i, Real error, const Vec3<Real>& k) {
    out.error[first + i] = error;
    out.lock[first + i] = {{}, k, -k};
  };
  if (joint.hinge_count == 0) {
    math::Quat<Real> r = math::conjugate(q_M0) * q_C;
    if (r.w < 0) r = {-r.w, -r.x, -r.y, -r.z};
    for (int i = 0; i < joint.rotation_lock_count; ++i) {
      const Vec3<Real> e = math::unit_vector<Real>(i);
      lock(i, Real(2) * r.vec()[i], math::rotate(q_M0, r.w * e + math::cross(r.vec(), e)));
    }
  } else if (joint.hinge_count == 1) {
    const Vec3<Real> a = math::rotate(q_C, joint.hinge[0]);
    for (int i = 0; i < joint.rotation_lock_count; ++i) {
      const Vec3<Real> t = math::rotate(q_M0, joint.perpendicular[i]);
      lock(i, math::dot(t, a), math::cross(a, t));
    }
  } else if (joint.rotation_lock_count > 0) {
    const Vec3<Real> a0 = math::rotate(q_M0, joint.hinge[0]), a1 = math::rotate(q_C, joint.hinge[1]);
    lock(0, joint.axis_cross_inverse * (math::dot(a0, a1) - joint.axis_dot),
         joint.axis_cross_inverse * math::cross(a1, a0));
  }
}

// Axes of a ball and its coordinates along them, which springs and limits ask for: those of the turn φ from the
// reference, |φ| ≤ π, by the world's axes, or with a cone by φ's own and two across. φ·ω is the rate of |φ|²/2.
template <typename Real>
AXION_HD_RARE void turn_ball(bool has_cone, const math::Quat<Real>& q_M0, const math::Quat<Real>& q_C,
                             math::Vec3<Real>* a, Real* s) {
  using math::Vec3;
  a[0] = {1, 0, 0}, a[1] = {0, 1, 0}, a[2] = {0, 0, 1};
  s[0] = s[1] = s[2] = 0;
  math::Quat<Real> r = math::normalized(math::conjugate(q_M0) * q_C);
  if (r.w < 0) r = {-r.w, -r.x, -r.y, -r.z};
  const Real sine = math::norm(r.vec());
  if (!(sine > 0)) return;
  const Real angle = 2 * math::arc_tangent(sine, r.w);
  const Vec3<Real> n = math::rotate(q_M0, (Real(1) / sine) * r.vec());
  if (!has_cone) {
    for (int k = 0; k < 3; ++k) s[k] = angle * n[k];
    return;
  }
  a[0] = n, s[0] = angle;
  math::tangent_basis(n, a[1], a[2]);
}

// Coordinates of the axes of a joint, and with `rows` their rows.
template <bool rows, typename Real>
AXION_HD inline void axis_rows(const model::ModelView<Real>& m, const model::JointData<Real>& joint,
                               const math::Quat<Real>& q_M0, const math::Quat<Real>& q_C, const math::Vec3<Real>& r_C,
                               const math::Vec3<Real>& r_P, const math::Vec3<Real>& gap, const Chain<Real>& chain,
                               JointEvaluation<Real>& out) {
  using math::Vec3;
  if (joint.is_ball) {
    if (joint.axis_count > 0 && (joint.has_cone || m.axes[joint.axis_start].stiffness > 0)) {
      Vec3<Real> a[3];
      turn_ball(joint.has_cone, q_M0, q_C, a, out.coordinate);
      if constexpr (rows) {
        for (int k = 0; k < 3; ++k) out.axis[k] = {{}, a[k], -a[k]};
      }
      return;
    }
    for (int k = 0; k < joint.axis_count; ++k) {
      const Vec3<Real> e = math::unit_vector<Real>(k);
      if constexpr (rows) out.axis[k] = {{}, e, -e};
      out.coordinate[k] = 0;
    }
    return;
  }
  for (int k = 0; k < joint.slide_count; ++k) {
    const Vec3<Real> b = math::rotate(q_M0, joint.slide_dual[k]);
    if constexpr (rows) out.axis[k] = translation_row(b, r_C, r_P, chain);
    out.coordinate[k] = m.axes[joint.axis_start + k].reference + math::dot(b, gap);
  }
  for (int k = 0; k < joint.hinge_count; ++k) {
    const int i = joint.slide_count + k;
    if constexpr (rows) out.axis[i] = {{}, chain.dual[k], -chain.dual[k]};
    out.coordinate[i] = m.axes[joint.axis_start + i].reference + chain.angle[k];
  }
}

// `parts` of a joint at given poses. `coordinate` are the last coordinates of its axes (to stay on their branch).
template <JointParts parts = JointParts::kAll, typename Real>
AXION_HD_CALL void evaluate_joint(const model::ModelView<Real>& m, const model::JointData<Real>& joint,
                                  ConstArray<math::Vec3<Real>> x, ConstArray<math::Quat<Real>> q,
                                  ConstArray<Real> coordinate, JointEvaluation<Real>& out) {
  using math::Vec3;
  AXION_ASSERT(joint.axis_count <= 3 && joint.translation_lock_count + joint.rotation_lock_count <= 6);
  const Vec3<Real> x_C = x[joint.child], x_P = joint.parent < 0 ? Vec3<Real>{} : x[joint.parent];
  const math::Quat<Real> q_C = q[joint.child], q_P = joint.parent < 0 ? math::Quat<Real>{} : q[joint.parent];
  const math::Quat<Real> q_M0 = q_P * joint.q_PM0;
  Chain<Real> chain;
  evaluate_chain<parts>(m, joint, q_M0, q_C, coordinate, chain);

  const Vec3<Real> r_C = math::rotate(q_C, joint.p_CA);
  const Vec3<Real> r_anchor = math::rotate(q_P, joint.p_PA);
  // From differences first: far from the origin x_C - x_P keeps the digits that the sums would lose.
  Vec3<Real> gap = ((x_C - x_P) + r_C) - r_anchor;
  for (int k = 0; k < chain.offset_count; ++k) gap -= chain.offset[k];
  const bool sliding = joint.slide_count > 0;
  const Vec3<Real> r_P = sliding ? r_anchor + gap : r_anchor;
  out.anchor_error = 0;
  for (int i = 0; i < joint.translation_lock_count; ++i) {
    const Vec3<Real> b = sliding ? math::rotate(q_M0, joint.translation_lock[i]) : joint.translation_lock[i];
    if constexpr (parts != JointParts::kCoordinates) out.lock[i] = translation_row(b, r_C, r_P, chain);
    out.error[i] = math::dot(b, gap);
    const Real magnitude = std::abs(out.error[i]);
    if (magnitude > out.anchor_error) out.anchor_error = magnitude;
  }
  if constexpr (parts != JointParts::kCoordinates) rotation_locks(joint, q_M0, q_C, out);
  if constexpr (parts != JointParts::kLocks) {
    axis_rows<parts != JointParts::kCoordinates>(m, joint, q_M0, q_C, r_C, r_P, gap, chain, out);
  }
}

// J u of a row between a child (body A) and a parent (body B, or -1).
template <typename Real>
AXION_HD inline Real row_velocity(const model::Row<Real>& row, int a, int b, ConstArray<math::Vec3<Real>> v,
                                  ConstArray<math::Vec3<Real>> omega) {
  Real s = math::dot(row.l, v[a]) + math::dot(row.k_a, omega[a]);
  if (b >= 0) s += math::dot(row.k_b, omega[b]) - math::dot(row.l, v[b]);
  return s;
}

// ds/dt of the axes of a joint at the world's present poses, for queries.
template <typename Real>
AXION_HD inline void axis_rates(const model::ModelView<Real>& m, const model::WorldView<Real>& w, int joint_index,
                                Real* rates) {
  const model::JointData<Real>& joint = m.joints[joint_index];
  JointEvaluation<Real> e;
  evaluate_joint(m, joint, w.x, w.q, w.axis_position, e);
  for (int k = 0; k < joint.axis_count; ++k)
    rates[k] = row_velocity(e.axis[k], joint.child, joint.parent, w.v_at_pose, w.omega_at_pose);
}

}  // namespace axion::constraints
