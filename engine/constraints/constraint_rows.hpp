// The rows of a step and the laws along them, which this room writes and every room right of it reads; and what the
// room keeps for itself.
//
// Rows are numbered locks, axes, limits, efforts, three a contact (n, t1, t2), then three more for each contact with
// torsional or rolling friction (moment_rows.hpp). Contacts and these moments are blocks. Vectors are in world axes.
#pragma once

#include "engine/math/mat3.hpp"
#include "engine/model/row.hpp"
#include "engine/model/world_state.hpp"

namespace axion::constraints {

// a = J u + bias + compliance λ of a contact's normal or a limit: a ≥ 0 ⟂ λ ≥ 0. Of a rigid one this is one side of the
// kink that the bound on the parting speed makes.
template <typename Real>
struct NormalLaw {
  Real bias, compliance;
};

// Of a soft contact: a of its normal, and what is added to the velocities along t1 and t2 at impulses λ_t: tangent_bias
// + tangent_compliance λ_t. `lift` is what the normal's bias holds of the lift of slip. It belongs to a velocity v_t
// of slip and a normal impulse where lift = slip_lift |v_t| - slip_excess λ_n.
template <typename Real>
struct SoftContact {
  NormalLaw<Real> normal;
  Real tangent_bias[2], tangent_compliance, lift, slip_lift, slip_excess;
};

// What a joint of a tree adds to the accelerations of the bodies beyond it while no coordinate has one: of its child's
// centre, and of what turns with it (link_turning.hpp).
template <typename Real>
struct VelocityProduct {
  math::Vec3<Real> linear{}, angular{};  // m/s^2, rad/s^2
};

// Torsional and rolling friction of a contact.
template <typename Real>
struct ContactMoment {
  int contact;
  Real torsional, rolling;  // m, with the world's scale of friction
};

template <typename Real>
struct ConstraintRows {
  model::Row<Real>* row_start;     // [nlock + naxis] rows of the joints at q⁻
  model::Row<Real>* row;           // [nrow] rows of the Newton matrix
  Real* row_scale;                 // [nrow] (J M⁻¹ Jᵀ)_ii at q⁻; of both tangent rows their greatest eigenvalue
  Real* lambda;                    // [nrow] impulses of the iterate
  Real* lock_start_error;          // [nlock] c(q⁻), m or rad
  Real* axis_alpha;                // [naxis] α of the axis row
  Real* axis_beta;                 // [naxis] β
  Real* axis_bias;                 // [naxis] how far J(q⁻)u⁺ is from the mean of ds/dt over the step
  Real* axis_impulse;              // [naxis] of motors, and of what else acts along an axis without a row
  model::Row<Real>* tendon_row;    // [nterm] rows of the terms of tendons and equalities in the Newton matrix,
  model::Row<Real>* tendon_force;  // [nterm] those at q⁻, along which their impulses act,
  Real* tendon_weight;             // [nterm] and the weights in these (tendon_rows.hpp)
  Real* effort_alpha;              // [neffort] velocity that an effort row aims at, m/s or rad/s
  Real* effort_compliance;         // [neffort]
  Real* effort_lower;              // [neffort] bounds of the impulse
  Real* effort_upper;              // [neffort]
  Real* contact_rebound;           // [contact_capacity] least parting speed asked of a contact, m/s; below zero see
                                   // giving_contacts.hpp
  int* is_stuck;                   // [contact_capacity] of contacts that are to give way: whether no motion opens them
  Real* giving_fraction;  // [contact_capacity] of those that give way: of the depth, what their springs push out
                          // (stuck_contacts.hpp); none where contacts are soft, or nothing has joints
  Real* surface_slip;     // [3 contact_capacity] where surfaces move (moving_surfaces.hpp): what their turning
                          // about n and their slip along t1 and t2 have beside J u, rad/s and m/s
  SoftContact<Real>* contact_law;  // [contact_capacity] of soft contacts (soft_laws.hpp); none where they are rigid
  NormalLaw<Real>* limit_law;      // [nlimit] likewise
  NormalLaw<Real>* lock_law;       // [nlock] of the locks of loop joints and equalities that give way by it
  VelocityProduct<Real>* link_turning;  // [nj less loops] likewise, of the joints of trees
  ContactMoment<Real>* moments;         // [moment_capacity]
  int* moment_count;                    // [1] where moment_capacity is above zero
  int* contact_start;                   // [nb + 1] blocks of each body, compressed
  int* contact_list;                    // [2 block_capacity]
  Real* blend;                          // [nj + paths] w_j: share of J(q⁺) in the impulses of a joint of BLENDED
  // Z: inertia of a body with what its joints lend of the others', where any w_j is above zero
  math::Mat3<Real>* supported_inertia;  // [nb]
  Real* body_force_step;                // [nb] time that gravity and wrenches act in this step (force_steps.hpp)
  Real* joint_force_step;               // [nj + paths] and what acts along a joint's axes, or a path through space
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, ConstraintRows<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t nb = m.body_count, nj = m.joint_count, na = m.axis_count, nc = m.contact_capacity;
  const std::size_t nlock = m.lock_count, ne = m.effort_count,
                    nrow = nlock + na + m.limit_count + ne + 3 * m.block_capacity();
  f(kScratch, "row_start", w.row_start, nlock + na);
  f(kScratch, "row", w.row, nrow);
  f(kScratch, "row_scale", w.row_scale, nrow);
  f(kScratch, "lambda", w.lambda, nrow);
  f(kScratch, "lock_start_error", w.lock_start_error, nlock);
  f(kScratch, "axis_alpha", w.axis_alpha, na);
  f(kScratch, "axis_beta", w.axis_beta, na);
  f(kScratch, "axis_bias", w.axis_bias, na);
  f(kScratch, "axis_impulse", w.axis_impulse, na);
  f(kScratch, "tendon_row", w.tendon_row, m.tendon_term_count);
  f(kScratch, "tendon_force", w.tendon_force, m.tendon_term_count);
  f(kScratch, "tendon_weight", w.tendon_weight, m.tendon_term_count);
  f(kScratch, "effort_alpha", w.effort_alpha, ne);
  f(kScratch, "effort_compliance", w.effort_compliance, ne);
  f(kScratch, "effort_lower", w.effort_lower, ne);
  f(kScratch, "effort_upper", w.effort_upper, ne);
  f(kScratch, "contact_rebound", w.contact_rebound, nc);
  f(kScratch, "is_stuck", w.is_stuck, m.joint_count > 0 && !m.is_soft ? nc : 0);
  f(kScratch, "giving_fraction", w.giving_fraction, m.joint_count > 0 && !m.is_soft ? nc : 0);
  f(kScratch, "surface_slip", w.surface_slip, m.surface_motions != nullptr ? 3 * nc : 0);
  f(kScratch, "contact_law", w.contact_law, m.is_soft ? nc : 0);
  f(kScratch, "limit_law", w.limit_law, m.is_soft ? m.limit_count : 0);
  f(kScratch, "lock_law", w.lock_law, m.lock_softness_count > 0 ? nlock : 0);
  f(kScratch, "link_turning", w.link_turning, m.is_soft ? nj - m.loop_count : 0);
  f(kScratch, "contact_start", w.contact_start, nb + 1);
  f(kScratch, "contact_list", w.contact_list, 2 * m.block_capacity());
  f(kScratch, "blend", w.blend, nj + m.spatial_count);
  f(kScratch, "supported_inertia", w.supported_inertia, nb);
  f(kScratch, "body_force_step", w.body_force_step, nb);
  f(kScratch, "joint_force_step", w.joint_force_step, nj + m.spatial_count);
  f(kScratch, "moments", w.moments, m.moment_capacity);
  f(kScratch, "moment_count", w.moment_count, m.moment_capacity > 0 ? 1 : 0);
}

// The velocity of a body's centre and its turn, at a unit rate of one freedom.
template <typename Real>
struct Motion {
  math::Vec3<Real> linear, angular;  // m/s and rad/s, or m and rad for each rad
};

// The room's own.
template <typename Real>
struct ConstraintScratch {
  Real* stiffness_ratio;           // [nb] k_b of each body; 0 where it is too low for any weight
  math::Mat3<Real>* lent_inertia;  // [nb] inertia that each body lends its parent
  Real* euler_share;               // [naxis] share of backward Euler in springs, dampers and drives (axis_laws.hpp)
  Real* body_time_owed;            // [nb] of body_force_step, what the last step owed with its own wrench, s
  Real* joint_time_owed;           // [nj + paths] likewise with its own controls
  // Of stuck_contacts.hpp; none where contacts are soft, or nothing has joints.
  Motion<Real>* motion;  // [6 nb] of each freedom of a body
  Real* motion_rate;     // [6 nb]
  Real* motion_ease;     // [6 nb] 1/h²
  Real* opening;         // [contact_capacity + nlimit + nlock] multipliers of its rows
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const model::ModelView<Real>& m, ConstraintScratch<Real>& w, F&& f) {
  using enum model::FieldKind;
  const std::size_t nb = m.body_count, nj = m.joint_count, na = m.axis_count;
  f(kScratch, "stiffness_ratio", w.stiffness_ratio, nb);
  f(kScratch, "lent_inertia", w.lent_inertia, nb);
  f(kScratch, "euler_share", w.euler_share, na);
  f(kScratch, "body_time_owed", w.body_time_owed, nb);
  f(kScratch, "joint_time_owed", w.joint_time_owed, nj + m.spatial_count);
  const bool may_be_stuck = m.joint_count > 0 && !m.is_soft;
  const std::size_t nmotion = may_be_stuck ? 6 * nb : 0;
  f(kScratch, "motion", w.motion, nmotion);
  f(kScratch, "motion_rate", w.motion_rate, nmotion);
  f(kScratch, "motion_ease", w.motion_ease, nmotion);
  f(kScratch, "opening", w.opening, may_be_stuck ? m.contact_capacity + m.limit_count + m.lock_count : 0);
}

}  // namespace axion::constraints
