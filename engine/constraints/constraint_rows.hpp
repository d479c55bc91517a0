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

// Whether contacts can be stuck between bodies (stuck_contacts.hpp): none where they are soft, or nothing has joints.
template <typename Real>
AXION_HD inline bool may_be_stuck(const model::ModelView<Real>& m) {
  return m.joint_count > 0 && !m.is_soft;
}

using model::kBodies, model::kJointsAndPaths, model::kAxes, model::kLocks, model::kContacts, model::kBlocks,
    model::kRows, model::Heat, model::Length;

inline constexpr Length kLocksAndAxes{[](const auto& m) { return m.lock_count + m.axis_count; }};
inline constexpr Length kEfforts{[](const auto& m) { return m.effort_count; }};
inline constexpr Length kTendonTerms{[](const auto& m) { return m.tendon_term_count; }};
inline constexpr Length kStuckContacts{[](const auto& m) { return may_be_stuck(m) ? m.contact_capacity : 0; }};
inline constexpr Length kSlippingContacts{
    [](const auto& m) { return m.surface_motions != nullptr ? m.contact_capacity : 0; }};
inline constexpr Length kSoftContacts{[](const auto& m) { return m.is_soft ? m.contact_capacity : 0; }};
inline constexpr Length kSoftLimits{[](const auto& m) { return m.is_soft ? m.limit_count : 0; }};
inline constexpr Length kSoftLocks{[](const auto& m) { return m.lock_softness_count > 0 ? m.lock_count : 0; }};
inline constexpr Length kTurningLinks{[](const auto& m) { return m.is_soft ? m.joint_count - m.loop_count : 0; }};
inline constexpr Length kMoments{[](const auto& m) { return m.moment_capacity; }};
inline constexpr Length kMomentCounts{[](const auto& m) { return m.moment_capacity > 0 ? 1 : 0; }};

template <typename Real, typename Form = model::Placed>
struct ConstraintRows {
  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kScratch>;

  Array<model::Row<Real>> row_start{"row_start", kLocksAndAxes, Heat{13, 28}};  // rows of the joints at q⁻
  Array<model::Row<Real>> row{"row", kRows, Heat{18, 71}};                      // rows of the Newton matrix
  // (J M⁻¹ Jᵀ)_ii at q⁻; of both tangent rows their greatest eigenvalue
  Array<Real> row_scale{"row_scale", kRows, Heat{32, 10}};
  Array<Real> lambda{"lambda", kRows, Heat{8, 47}};                       // impulses of the iterate
  Array<Real> lock_start_error{"lock_start_error", kLocks, Heat{15, 1}};  // c(q⁻), m or rad
  Array<Real> axis_alpha{"axis_alpha", kAxes, Heat{67}};                  // α of the axis row
  Array<Real> axis_beta{"axis_beta", kAxes, Heat{58}};                    // β
  Array<Real> axis_bias{"axis_bias", kAxes, Heat{173}};  // how far J(q⁻)u⁺ is from the mean of ds/dt over the step
  // of motors, and of what else acts along an axis without a row
  Array<Real> axis_impulse{"axis_impulse", kAxes, Heat{174}};
  // rows of the terms of tendons and equalities in the Newton matrix,
  Array<model::Row<Real>> tendon_row{"tendon_row", kTendonTerms, Heat{175}};
  // those at q⁻, along which their impulses act,
  Array<model::Row<Real>> tendon_force{"tendon_force", kTendonTerms, Heat{176}};
  Array<Real> tendon_weight{"tendon_weight", kTendonTerms, Heat{177}};  // and the weights in these (tendon_rows.hpp)
  Array<Real> effort_alpha{"effort_alpha", kEfforts, Heat{131}};  // velocity that an effort row aims at, m/s or rad/s
  Array<Real> effort_compliance{"effort_compliance", kEfforts, Heat{132}};
  Array<Real> effort_lower{"effort_lower", kEfforts, Heat{133}};  // bounds of the impulse
  Array<Real> effort_upper{"effort_upper", kEfforts, Heat{134}};
  // least parting speed asked of a contact, m/s; below zero see giving_contacts.hpp
  Array<Real> contact_rebound{"contact_rebound", kContacts, Heat{75}};
  // of contacts that are to give way: whether no motion opens them (stuck_contacts.hpp),
  Array<int> is_stuck{"is_stuck", kStuckContacts, Heat{220}};
  // and of the depth, what their springs push out
  Array<Real> giving_fraction{"giving_fraction", kStuckContacts, Heat{221}};
  // where surfaces move (moving_surfaces.hpp): what their turning about n and their slip along t1 and t2 have beside J
  // u, rad/s and m/s
  Array<Real> surface_slip{"surface_slip", 3 * kSlippingContacts, Heat{77}};
  // of soft contacts (soft_laws.hpp); none where they are rigid
  Array<SoftContact<Real>> contact_law{"contact_law", kSoftContacts, Heat{76}};
  Array<NormalLaw<Real>> limit_law{"limit_law", kSoftLimits, Heat{78}};  // likewise
  // of the locks of loop joints and equalities that give way by it
  Array<NormalLaw<Real>> lock_law{"lock_law", kSoftLocks, Heat{208}};
  // likewise, of the joints of trees
  Array<VelocityProduct<Real>> link_turning{"link_turning", kTurningLinks, Heat{79}};
  Array<int> contact_start{"contact_start", kBodies + 1, Heat{2, 8}};  // blocks of each body, compressed
  Array<int> contact_list{"contact_list", 2 * kBlocks, Heat{83, 1}};
  // w_j: share of J(q⁺) in the impulses of a joint of BLENDED
  Array<Real> blend{"blend", kJointsAndPaths, Heat{27, 1}};
  // Z: inertia of a body with what its joints lend of the others', where any w_j is above zero
  Array<math::Mat3<Real>> supported_inertia{"supported_inertia", kBodies, Heat{98}};
  // time that gravity and wrenches act in this step (force_steps.hpp)
  Array<Real> body_force_step{"body_force_step", kBodies, Heat{68}};
  // and what acts along a joint's axes, or a path through space
  Array<Real> joint_force_step{"joint_force_step", kJointsAndPaths, Heat{51}};
  Array<ContactMoment<Real>> moments{"moments", kMoments, Heat{71}};
  Array<int> moment_count{"moment_count", kMomentCounts, Heat{72}};  // where moment_capacity is above zero
};

// The velocity of a body's centre and its turn, at a unit rate of one freedom.
template <typename Real>
struct Motion {
  math::Vec3<Real> linear, angular;  // m/s and rad/s, or m and rad for each rad
};

// The room's own.
inline constexpr Length kMovingBodies{[](const auto& m) { return may_be_stuck(m) ? m.body_count : 0; }};
inline constexpr Length kOpeningRows{
    [](const auto& m) { return may_be_stuck(m) ? m.contact_capacity + m.limit_count + m.lock_count : 0; }};

template <typename Real, typename Form = model::Placed>
struct ConstraintScratch {
  template <typename T>
  using Array = typename Form::template Array<T, model::FieldKind::kScratch>;

  // k_b of each body; 0 where it is too low for any weight
  Array<Real> stiffness_ratio{"stiffness_ratio", kBodies, Heat{87}};
  Array<math::Mat3<Real>> lent_inertia{"lent_inertia", kBodies, Heat{190}};  // inertia that each body lends its parent
  // share of backward Euler in springs, dampers and drives (axis_laws.hpp)
  Array<Real> euler_share{"euler_share", kAxes, Heat{172}};
  // of body_force_step, what the last step owed with its own wrench, s
  Array<Real> body_time_owed{"body_time_owed", kBodies, Heat{170}};
  Array<Real> joint_time_owed{"joint_time_owed", kJointsAndPaths, Heat{171}};  // likewise with its own controls
  // Of stuck_contacts.hpp; none where contacts are soft, or nothing has joints.
  Array<Motion<Real>> motion{"motion", 6 * kMovingBodies, Heat{216}};  // of each freedom of a body
  Array<Real> motion_rate{"motion_rate", 6 * kMovingBodies, Heat{217}};
  Array<Real> motion_ease{"motion_ease", 6 * kMovingBodies, Heat{218}};  // 1/h²
  Array<Real> opening{"opening", kOpeningRows, Heat{219}};               // multipliers of its rows
};

}  // namespace axion::constraints
