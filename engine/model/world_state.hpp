// WorldState: what a world carries from step to step, its state and its parameters. A snapshot holds this and no more.
//
// Vectors are in world axes unless said.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/model/array_list.hpp"
#include "engine/model/model_data.hpp"
#include "engine/model/solver_options.hpp"

namespace axion::model {

template <typename Real>
struct Contact {
  int body_a, body_b;  // internal indices, -1 the world; a is never the world
  int pair;            // number of the pair (shape_pairs.hpp)
  std::uint32_t feature;
  math::Vec3<Real> normal, t1, t2;  // unit, right-handed; normal from b to a
  math::Vec3<Real> p_WA;            // on the surface of a, at the start of the step
  math::Vec3<Real> r_a, r_b;        // arms from the centres of mass
  Real gap;                         // at the start of the step, m
  Real friction;
};

// An impulse kept for the next step, found again by pair and feature.
template <typename Real>
struct ContactWarmStart {
  int pair;
  std::uint32_t feature;
  Real normal;
  Real approach;              // m/s, speed at which the bodies met and have not parted yet
  math::Vec3<Real> friction;  // world axes
};

// What the last step of a world did.
struct StepRecord {
  int newton_iterations, linear_iterations, line_search_steps, sweep_rounds, contact_sweeps, contact_count;
  std::uint32_t outcome;
  JointMode joint_mode;          // that the step ended in: a fallback changes it
  float residual[5];             // m/s or rad/s: dynamics, joint, contact, friction, control
  float residual_normalised[5];  // in multiples of the tolerance
  float max_penetration, max_joint_error;
};

inline constexpr Length kControls{[](const auto& m) { return m.control_count; }};
inline constexpr Length kControlsAndActivations{[](const auto& m) { return m.control_count + m.activation_count; }};
inline constexpr Length kSensed{[](const auto& m) { return m.sensors.sensed_size; }};
inline constexpr Length kSoftnessesOfLocks{[](const auto& m) { return m.lock_softness_count; }};
inline constexpr Length kBreaks{[](const auto& m) { return m.break_count; }};
inline constexpr Length kMocaps{[](const auto& m) { return m.mocap_count; }};

template <typename Real, typename Form = Placed>
struct WorldState {
  template <typename T>
  using State = typename Form::template Array<T, FieldKind::kState>;

  template <typename T>
  using Parameter = typename Form::template Array<T, FieldKind::kParameter>;

  // State.
  State<math::Vec3<Real>> x{"x", kBodies};  // centre of mass
  State<math::Quat<Real>> q{"q", kBodies};  // principal frame
  State<math::Vec3<Real>> v{"v", kBodies};
  State<math::Vec3<Real>> omega{"omega", kBodies};
  State<math::Quat<Real>> q_rest{"q_rest", kBodies};  // what rounding left of the q and omega of bodies without joints
  State<math::Vec3<Real>> omega_rest{"omega_rest", kBodies};  // (constraints/rotation_map.hpp)
  // what clients read: v and omega may belong to the middle of the last step
  State<math::Vec3<Real>> v_at_pose{"v_at_pose", kBodies};
  State<math::Vec3<Real>> omega_at_pose{"omega_at_pose", kBodies};  // (velocity_sync/synchronise.hpp)
  State<Real> axis_position{"axis_position", kAxes};                // unwrapped coordinate
  State<Real> axis_rate{"axis_rate", kAxes};  // ds/dt of the last step that armature goes on from (axis_rows.hpp)
  State<Real> axis_row_rate{"axis_row_rate", kAxes};  // J u of the last step along its own rows
  // 1 until the first step after a state was set: it knows no axis rates
  State<int> state_is_new{"state_is_new", 1};
  // share of a step's forces that a leapfrog still owes (free_motion.hpp)
  State<Real> body_force_debt{"body_force_debt", kBodies};
  State<Real> joint_force_debt{"joint_force_debt", kJointsAndPaths};
  State<Real> lambda_joint{"lambda_joint", kJointRows};     // last impulses
  State<int> limit_side{"limit_side", kLimits};             // side of the last impulse: -1 lower, +1 upper
  State<Real> control{"control", kControlsAndActivations};  // last applied, and what activations are
  // what the last step was made with: half of its effort may be owed yet
  State<Real> control_before{"control_before", kControlsAndActivations};
  State<math::Vec3<Real>> force_before{"force_before", kBodies};  // likewise its wrench
  State<math::Vec3<Real>> torque_before{"torque_before", kBodies};
  State<ContactWarmStart<Real>> warm{"warm", kContacts};
  State<int> warm_count{"warm_count", 1};
  State<double> time{"time", 1};
  State<std::int64_t> step_index{"step_index", 1};
  State<std::uint32_t> outcome{"outcome", 1};  // of the last request; kNonFinite stays until a reset
  State<StepRecord> record{"record", 1};
  State<Contact<Real>> contacts{"contacts", kBlocks};
  State<Real> lambda_contact{"lambda_contact", 3 * kContacts};  // of the last step
  State<Real> contact_gap{"contact_gap", kContacts};            // at the end of the last step, along the normal
  // of torsional and rolling friction on body a in the last step, N m s, world axes, or none where no pair has any
  State<math::Vec3<Real>> contact_moment{"contact_moment", kMomentContacts};
  State<math::Vec3<Real>> joint_impulse{"joint_impulse", kJoints};  // of the last request's last step on the child, N s
  // about the child's centre of mass, N m s
  State<math::Vec3<Real>> joint_angular_impulse{"joint_angular_impulse", kJoints};
  State<Real> sensed{"sensed", kSensed};  // what sensors of accelerations and forces read (readout/sense.hpp)
  // of a joint that closes a loop, or an equality, that could not be met in the last step: how far off it is, m (or
  // rad), above 0; else 0
  State<Real> eased{"eased", kSoftnessesOfLocks};
  State<Real> break_ratio{"break_ratio", kBreaks};  // since a reset or a new state (readout/break_ratios.hpp)
  // where clients have placed bodies: frames of the scene, in the world
  State<math::Vec3<Real>> mocap_x{"mocap_x", kMocaps};
  State<math::Quat<Real>> mocap_q{"mocap_q", kMocaps};
  // Parameters.
  Parameter<Real> mass_scale{"mass_scale", kBodies};
  Parameter<Real> friction_scale{"friction_scale", 1};
  Parameter<Real> gain_scale{"gain_scale", kControls};
  Parameter<math::Vec3<Real>> x_initial{"x_initial", kBodies};
  Parameter<math::Quat<Real>> q_initial{"q_initial", kBodies};
};

}  // namespace axion::model
