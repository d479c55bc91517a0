// WorldState: what a world carries from step to step, its state and its parameters. A snapshot holds this and no more.
//
// Here too is what every list of arrays has in common. A struct of arrays has one overload of `for_each_field`, which
// names each array with its size; memory, views, snapshots and reports of memory follow from that list alone:
//
//   for_each_field(m, arrays, f)   calls f(kind, name, pointer, count) for each array, in a fixed order, with the
//                                  pointer by reference, so that f reads its type and may set it.
//
// Vectors are in world axes unless said.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/model/model_data.hpp"
#include "engine/model/solver_options.hpp"

namespace axion::model {

// All arrays of a world: its state and what rooms keep within a step. Defined right of these rooms
// (world/world_view.hpp); their functions are templates, which see its members where they are instantiated.
template <typename Real>
struct WorldView;

// How long what an array holds is needed. Scratch means nothing outside a step, so that a CPU thread lends the same to
// all its worlds. The last three kinds lie in the same bytes: sweeps begin anew after a linear solve, a linear solve
// after a sweep, and the end of the step needs neither.
enum class FieldKind : std::uint8_t {
  kState,
  kParameter,
  kScratch,      // while a step lasts
  kSweeps,       // rounds of sweeps that follow each other
  kLinearSolve,  // one solve of the linear system by a solver of engine/reference
  kEndOfStep,    // after the solve of the step: what it leaves to others
};

AXION_HD constexpr bool is_scratch(FieldKind kind) { return kind >= FieldKind::kScratch; }
AXION_HD constexpr bool shares_bytes(FieldKind kind) { return kind > FieldKind::kScratch; }

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

template <typename Real>
struct WorldState {
  // State.
  math::Vec3<Real>* x;              // [nb] centre of mass
  math::Quat<Real>* q;              // [nb] principal frame
  math::Vec3<Real>* v;              // [nb]
  math::Vec3<Real>* omega;          // [nb]
  math::Quat<Real>* q_rest;         // [nb] what rounding left of the q and omega of bodies without joints
  math::Vec3<Real>* omega_rest;     // [nb] (constraints/rotation_map.hpp)
  math::Vec3<Real>* v_at_pose;      // [nb] what clients read: v and omega may belong to the middle of the last step
  math::Vec3<Real>* omega_at_pose;  // [nb] (velocity_sync/synchronise.hpp)
  Real* axis_position;              // [naxis] unwrapped coordinate
  Real* axis_rate;                  // [naxis] ds/dt of the last step that armature goes on from (axis_rows.hpp)
  Real* axis_row_rate;              // [naxis] J u of the last step along its own rows
  int* state_is_new;                // [1] 1 until the first step after a state was set: it knows no axis rates
  Real* body_force_debt;            // [nb] share of a step's forces that a leapfrog still owes (free_motion.hpp)
  Real* joint_force_debt;           // [nj + paths]
  Real* lambda_joint;               // [nlock + naxis + nlimit + neffort] last impulses
  int* limit_side;                  // [nlimit] side of the last impulse: -1 lower, +1 upper
  Real* control;                    // [nu + activations] last applied, and what activations are
  Real* control_before;  // [nu + activations] what the last step was made with: half of its effort may be owed yet
  math::Vec3<Real>* force_before;    // [nb] likewise its wrench
  math::Vec3<Real>* torque_before;   // [nb]
  ContactWarmStart<Real>* warm;      // [contact_capacity]
  int* warm_count;                   // [1]
  double* time;                      // [1]
  std::int64_t* step_index;          // [1]
  std::uint32_t* outcome;            // [1] of the last request; kNonFinite stays until a reset
  StepRecord* record;                // [1]
  Contact<Real>* contacts;           // [contacts and moments of the last step: block_capacity]
  Real* lambda_contact;              // [3 contact_capacity] of the last step
  Real* contact_gap;                 // [contact_capacity] at the end of the last step, along the normal
  math::Vec3<Real>* contact_moment;  // [contact_capacity] of torsional and rolling friction on body a in the last step,
                                     // N m s, world axes, or none where no pair has any
  math::Vec3<Real>* joint_impulse;   // [nj] of the last request's last step on the child, N s
  math::Vec3<Real>* joint_angular_impulse;  // [nj] about the child's centre of mass, N m s
  Real* sensed;       // [sensors.sensed_size] what sensors of accelerations and forces read (readout/sense.hpp)
  Real* eased;        // [lock_softness_count] of a joint that closes a loop, or an equality, that could not be met
                      // in the last step: how far off it is, m (or rad), above 0; else 0
  Real* break_ratio;  // [break_count] since a reset or a new state (readout/break_ratios.hpp)
  math::Vec3<Real>* mocap_x;  // [mocap_count] where clients have placed bodies: frames of the scene, in the world
  math::Quat<Real>* mocap_q;  // [mocap_count]
  // Parameters.
  Real* mass_scale;             // [nb]
  Real* friction_scale;         // [1]
  Real* gain_scale;             // [nu]
  math::Vec3<Real>* x_initial;  // [nb]
  math::Quat<Real>* q_initial;  // [nb]
};

template <typename Real, typename F>
AXION_HD inline void for_each_field(const ModelView<Real>& m, WorldState<Real>& w, F&& f) {
  using enum FieldKind;
  const std::size_t nb = m.body_count, nj = m.joint_count, na = m.axis_count, nc = m.contact_capacity,
                    nu = m.control_count;
  const std::size_t njoint_rows = m.lock_count + na + m.limit_count + m.effort_count;
  f(kState, "x", w.x, nb);
  f(kState, "q", w.q, nb);
  f(kState, "v", w.v, nb);
  f(kState, "omega", w.omega, nb);
  f(kState, "q_rest", w.q_rest, nb);
  f(kState, "omega_rest", w.omega_rest, nb);
  f(kState, "v_at_pose", w.v_at_pose, nb);
  f(kState, "omega_at_pose", w.omega_at_pose, nb);
  f(kState, "axis_position", w.axis_position, na);
  f(kState, "axis_rate", w.axis_rate, na);
  f(kState, "axis_row_rate", w.axis_row_rate, na);
  f(kState, "state_is_new", w.state_is_new, 1);
  f(kState, "body_force_debt", w.body_force_debt, nb);
  f(kState, "joint_force_debt", w.joint_force_debt, nj + m.spatial_count);
  f(kState, "lambda_joint", w.lambda_joint, njoint_rows);
  f(kState, "limit_side", w.limit_side, m.limit_count);
  f(kState, "control", w.control, nu + m.activation_count);
  f(kState, "control_before", w.control_before, nu + m.activation_count);
  f(kState, "force_before", w.force_before, nb);
  f(kState, "torque_before", w.torque_before, nb);
  f(kState, "warm", w.warm, nc);
  f(kState, "warm_count", w.warm_count, 1);
  f(kState, "time", w.time, 1);
  f(kState, "step_index", w.step_index, 1);
  f(kState, "outcome", w.outcome, 1);
  f(kState, "record", w.record, 1);
  f(kState, "contacts", w.contacts, m.block_capacity());
  f(kState, "lambda_contact", w.lambda_contact, 3 * nc);
  f(kState, "contact_gap", w.contact_gap, nc);
  f(kState, "contact_moment", w.contact_moment, m.moment_capacity > 0 ? nc : 0);
  f(kState, "joint_impulse", w.joint_impulse, nj);
  f(kState, "joint_angular_impulse", w.joint_angular_impulse, nj);
  f(kState, "sensed", w.sensed, m.sensors.sensed_size);
  f(kState, "eased", w.eased, m.lock_softness_count);
  f(kState, "break_ratio", w.break_ratio, m.break_count);
  f(kState, "mocap_x", w.mocap_x, m.mocap_count);
  f(kState, "mocap_q", w.mocap_q, m.mocap_count);
  f(kParameter, "mass_scale", w.mass_scale, nb);
  f(kParameter, "friction_scale", w.friction_scale, 1);
  f(kParameter, "gain_scale", w.gain_scale, nu);
  f(kParameter, "x_initial", w.x_initial, nb);
  f(kParameter, "q_initial", w.q_initial, nb);
}

}  // namespace axion::model
