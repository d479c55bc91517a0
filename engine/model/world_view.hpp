// The arrays of one world: its state, its parameters, and the scratch of one step.
//
// One list of fields drives allocation, views and snapshots (for_each_field). State and parameters belong to a world
// for its life; scratch is only meaningful inside a step, so that a CPU thread can lend the same scratch to all its
// worlds. Vectors are in world axes unless said; row order is locks, axes, limits, efforts, then three a contact (n,
// t1, t2).
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/model/model_data.hpp"
#include "engine/model/solver_options.hpp"
#include "engine/model/world_sizes.hpp"

namespace axion::model {

// A row of the Jacobian: against body A (or the child) [l, k_a], against body B (or the parent) [-l, k_b]. Which bodies
// these are follows from the row's place (bodies_of_row), so that a row is nine numbers.
//
// A row over more bodies, as of a tendon or of an equality of several joints, would be a chain of such rows, one for each
// pair of bodies that the path connects, with one impulse: J u is the sum over the chain. Residuals sum, bodies gather
// the one impulse from each row of theirs, and the tree's factorisation couples the chain's bodies as it does those of a
// loop joint. Bodies beyond two in the row itself would make all rows longer for the few that have them.
template <typename Real>
struct Row {
  math::Vec3<Real> l, k_a, k_b;
};

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

// A shape in a row of the grid's cells (collide/shape_grid.hpp) with its box: those of a row are read one by one.
template <typename Real>
struct GridPlace {
  math::Vec3<Real> low, high;
  int shape;
  std::uint32_t row;
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
struct WorldView {
  // State.
  math::Vec3<Real>* x;              // [nb] centre of mass
  math::Quat<Real>* q;              // [nb] principal frame
  math::Vec3<Real>* v;              // [nb]
  math::Vec3<Real>* omega;          // [nb]
  math::Quat<Real>* q_rest;         // [nb] what rounding left of the q and omega of bodies without joints
  math::Vec3<Real>* omega_rest;     // [nb] (constraints/rotation_map.hpp)
  math::Vec3<Real>* v_at_pose;      // [nb] what clients read: v and omega may belong to the middle of the last step
  math::Vec3<Real>* omega_at_pose;  // [nb] (step/synchronise.hpp)
  Real* axis_position;              // [naxis] unwrapped coordinate
  Real* axis_rate;                  // [naxis] ds/dt of the last step that armature goes on from (axis_rows.hpp)
  Real* axis_row_rate;              // [naxis] J u of the last step along its own rows
  int* state_is_new;                // [1] 1 until the first step after a state was set: it knows no axis rates
  Real* body_force_debt;            // [nb] share of a step's forces that a leapfrog still owes (free_motion.hpp)
  Real* joint_force_debt;           // [nj]
  Real* lambda_joint;               // [nlock + naxis + nlimit + neffort] last impulses
  int* limit_side;                  // [nlimit] side of the last impulse: -1 lower, +1 upper
  Real* control;                    // [nu] last applied
  Real* control_before;             // [nu] what the last step was made with: half of its effort may be owed yet
  math::Vec3<Real>* force_before;   // [nb] likewise its wrench
  math::Vec3<Real>* torque_before;  // [nb]
  ContactWarmStart<Real>* warm;     // [contact_capacity]
  int* warm_count;                  // [1]
  double* time;                     // [1]
  std::int64_t* step_index;         // [1]
  std::uint32_t* outcome;           // [1] of the last request; kNonFinite stays until a reset
  StepRecord* record;               // [1]
  Contact<Real>* contacts;          // [contact_capacity] of the last step
  Real* lambda_contact;             // [3 contact_capacity] of the last step
  Real* contact_gap;                // [contact_capacity] at the end of the last step, along the normal
  math::Vec3<Real>* joint_force;    // [nj] impulse of the last request's last step on the child, N s
  math::Vec3<Real>* joint_torque;   // [nj] about the child's centre of mass, N m s
  // Parameters.
  Real* mass_scale;             // [nb]
  Real* friction_scale;         // [1]
  Real* gain_scale;             // [nu]
  math::Vec3<Real>* x_initial;  // [nb]
  math::Quat<Real>* q_initial;  // [nb]
  // Scratch: inputs of the step.
  math::Vec3<Real>* force;   // [nb] external wrench about the centre of mass
  math::Vec3<Real>* torque;  // [nb]
  Real* body_force_step;     // [nb] time that gravity and wrenches act in this step (free_motion.hpp)
  Real* joint_force_step;    // [nj] and what acts along a joint's axes
  Real* body_time_owed;      // [nb] of these, what the last step owed with its own wrench, s
  Real* joint_time_owed;     // [nj] likewise with its own controls
  // Scratch: shapes at q-.
  math::Vec3<Real>* shape_centre;  // [nshape]
  math::Mat3<Real>* shape_axes;    // [nshape] shape to world
  Real* shape_reach;  // [nshape] m: how far it turns its surface in the step; of the world's, how far gravity reaches
  Real* shape_range;  // [nshape] m: how far from its centre any of it may come in the step; infinite of planes
  // Scratch: bodies. *_plus is the iterate, *_tilde the free velocity.
  math::Mat3<Real>* I_world;    // [nb] at q-
  math::Mat3<Real>* I_inverse;  // [nb]
  math::Vec3<Real>* v_tilde;
  math::Vec3<Real>* omega_tilde;
  math::Vec3<Real>* v_plus;
  math::Vec3<Real>* omega_plus;
  math::Vec3<Real>* x_plus;
  math::Quat<Real>* q_plus;
  math::Mat3<Real>* D;            // [nb] derivative of the rotation map
  math::Mat3<Real>* K_geometric;  // [nb] h times how joints' impulses turn: what M̂ has beyond M̃
  math::Mat3<Real>*
      I_hat_inverse;           // [nb] (I + K_geometric)^-1, for conjugate residuals; else Z (geometric_stiffness.hpp)
  math::Vec3<Real>* g_linear;  // [nb] dynamics residual, N s
  math::Vec3<Real>* g_angular;
  math::Vec3<Real>* du_linear;  // [nb] Newton direction
  math::Vec3<Real>* du_angular;
  math::Vec3<Real>* best_v;  // best iterate of the Newton loop
  math::Vec3<Real>* best_omega;
  Real* blend_body;  // [nb] stiffness ratio k_b; 0 where it is too low for any weight
  // Scratch: rows.
  Real* blend;              // [nj] w_j
  Row<Real>* row_start;     // [nlock + naxis] at q-
  Row<Real>* row;           // [nrow] of the Newton matrix
  Row<Real>* row_force;     // [nlock] along which joint impulses act
  Real* axis_weight;        // [naxis] share of backward Euler in springs, dampers and drives (axis_laws.hpp)
  Real* axis_bias;          // [naxis] how far J(q-)u+ is from the mean of ds/dt over the step
  Real* axis_impulse;       // [naxis] of motors, and of what else acts along an axis without a row
  Real* axis_alpha;         // [naxis] alpha of the axis row
  Real* axis_beta;          // [naxis]
  Real* effort_alpha;       // [neffort] velocity that an effort row aims at, m/s or rad/s
  Real* effort_compliance;  // [neffort]
  Real* effort_lower;       // [neffort] bounds of the impulse
  Real* effort_upper;
  Real* contact_rebound;     // [contact_capacity] least parting speed asked of a contact, m/s
  Real* lock_start_error;    // [nlock] c(q-), m or rad
  Real* lock_compliance;     // [nlock] of soft joints, (m/s)/(N s)
  Real* lambda;              // [nrow]
  Real* dlambda;             // [nrow]
  Real* best_lambda;         // [nrow]
  math::Vec3<Real>* kept_v;  // [nb] best result before a fallback
  math::Vec3<Real>* kept_omega;
  Real* kept_lambda;               // [nrow]
  Real* residual;                  // [nrow] right-hand side residual of each row, m/s
  Real* compliance;                // [nrow] diagonal of C
  Real* row_scale;                 // [nrow] (J M^-1 J^T)_ii at q-; of both tangent rows their greatest eigenvalue
  Real* natural;                   // [nrow] magnitude of each row's natural residual, m/s or rad/s
  Real* row_tolerance;             // [nrow] what it may be
  Real* body_residual;             // [2 nb] |M^-1 g| of each body, linear and angular
  Real* body_tolerance;            // [2 nb]
  Real* contact_gain;              // [9 contact_capacity] G: a contact returns dlambda = -(e + G J du)
  Real* contact_offset;            // [3 contact_capacity] e
  ContactWarmStart<Real>* solved;  // [contact_capacity] contacts of the last solve, while a step is solved again
  int* contact_start;              // [nb + 1] contacts of each body, compressed
  int* contact_list;               // [2 contact_capacity]
  std::uint32_t* pair_active;      // [active_pair_capacity] list of pairs near each other
  math::Vec3<Real>* shape_low;     // [nshape] box that a shape stays in within the step (collide/shape_grid.hpp)
  math::Vec3<Real>* shape_high;    // [nshape]
  Real* shape_side;                // [nshape] its longest side
  int* entry_bucket;               // [kGridLevels nshape] bucket of each shape in each level, or -1
  std::uint32_t* entry_row;        // [the same] row of cells
  int* bucket_start;               // [bucket_count + 1]
  GridPlace<Real>* grid_place;     // [kGridLevels nshape] entries by buckets
  int* near_start;                 // [nshape + 1] pairs found with each as their lower shape,
  std::uint32_t* pair_found;       // [kRowSlots nshape] those pairs
  int* long_row;                   // [nshape] shapes without end; then those that are tried with all after them,
  int* long_start;                 // [nshape + 1] and how many those are
  Contact<Real>* candidate;        // [candidate capacity] contacts before compaction
  int* candidate_start;            // [active_pair_capacity] first slot of each active pair
  int* candidate_use;              // [candidate capacity] nothing, a candidate, or chosen (collide/find_contacts.hpp)
  int* candidate_kept;             // [candidate capacity] slots in use, in order
  // Scratch: conjugate residuals, and the Krylov iteration on links, six slots each (reference/closing_links.hpp).
  Real* pcr_r;  // [the greater of nrow and 6 (nloop + contact_capacity)] each
  Real* pcr_z;
  Real* pcr_p;
  Real* pcr_az;
  Real* pcr_ap;
  Real* pcr_d;
  Real* pcr_q;
  math::Vec3<Real>* pcr_v;  // [nb]
  math::Vec3<Real>* pcr_w;
  Real* contact_block;   // [9 contact_capacity] inverse of each contact's block
  Real* body_inverse;    // [36 nb] of each body, velocity block of the tree's inverse
  int* tree_parent;      // [nb] body that each hangs on in Scope::kTree (tree/tree_nodes.hpp)
  int* link_start;       // [contact_capacity] first contact of each group that joins two bodies
  int* link_of_contact;  // [contact_capacity] its group, -1 where the tree has it
  int* link_count;       // [1] groups
  Real* link_gain;       // [36 contact_capacity] H of each group
  Real* link_offset;     // [6 contact_capacity] h of each group
  Real* link_block;      // [36 (nloop + contact_capacity)] inverse of each link's block
  // Scratch: tree factorisation.
  Real* node;            // [nn * kNodeStride] diagonal blocks; nn nodes, loop joints and bodies
  Real* node_rhs;        // [nn * kNodeSize]
  Real* thread_work;     // [kThreadWork] the matrix that threads of a GPU have at hand
  Real* coupling_upper;  // [coupling_capacity * kCouplingStride] [12][8] rows of i, columns u_j
  Real* coupling_lower;  // [coupling_capacity * kCouplingStride] [6][12] rows u_j, columns of i
  int* coupling_start;   // [nn]
  int* coupling_node;    // [coupling_capacity] j, descending within i
  int* coupling_count;   // [1] or its complement where some did not fit
  int* coupling_fill;    // [1] couplings that elimination adds to those of the rows
  int* body_rank;        // [nb] place of each body in the order of the nodes
  int* body_of_rank;     // [nb]
  int* edge_start;       // [nn + 1] edges: couplings of rows, by the lower of their nodes,
  int* edge_node;        // [edge_capacity] the other of each
  int* node_mark;        // [nn] the last node that came by, while couplings are found
  int* node_first;       // [nn] the next node that each couples to, the greatest
  int* order_degree;     // [nn] while bodies are ordered: nodes that each meets
  int* order_list;       // [nn]
  int* order_children;   // [nb] children of its joints that are not eliminated yet
  int* order_head;       // [nn] first cell of what each meets: nodes, and nodes gone whose neighbours it meets
  int* order_cell;       // [4 edge_capacity] cells: node, next cell
  int* order_winner;     // [2 order_leaves(nb)] tree of the body to eliminate next
  // Scratch: dense solve, only in batches that use it.
  Real* dense;       // [dense_unknowns^2] row-major
  Real* dense_rhs;   // [dense_unknowns]
  int* dense_pivot;  // [1] row of the present pivot
  // Scratch: sweeps over contacts.
  Real* joint_upper;  // [nb * kCouplingStride] blocks to the parent, joints alone
  Real* joint_lower;
  Real* transfer;  // [nb * kTransferStride] between each body and its parent (tree/joint_inverse.hpp)
  Real* response;  // [nb * kNodeSize] velocities and joint impulses for impulses on swept rows
  Real* inverse;   // [36 inverse_blocks] V: velocities for impulses, by columns of each tree
  // [8 (nb + 1)] change of velocities since the sweeps' start, six a body, or eight and the world's
  Real* sweep_velocity;
  Real* sweep_last;       // [the same] after the last sweep
  int* sweep_body;        // [2 nsweep] bodies a and b of each row that is swept
  Real* row_velocity;     // [delassus_rows] change of J u of each row that is swept
  Real* row_last;         // [delassus_rows] the same after the last sweep
  Real* delassus;         // [delassus_rows^2 + 1] J V J^T by columns, those that were needed
  int* delassus_known;    // [delassus_rows] whether a row's column is there
  Real* delassus_push;    // [2][nb][6][kPushLanes] velocities of bodies for impulses along as many rows; the impulses
  int* sweep_lane;        // [kPushLanes] those rows,
  int* sweep_unit;        // [kPushLanes] the first of each that are swept together,
  int* sweep_lane_count;  // [2] and how many there are of both
  int* sweep_touched;     // [nb] whether they act on a body or on one that hangs on it
  int* sweep_moves;       // [swept units] whether a row, or contact, was above its tolerance in the last sweep of all
  int* sweep_list;        // [swept units] first rows of those that are swept,
  int* sweep_movers;      // [nb] and bodies that they move
  Real* slot_number;      // [slot_groups kSlotFields kSlotLanes] what sweeps need of contacts (contact_slots.hpp)
  int* slot_body;         // [2 kSlotLanes slot_groups] bodies a, then b, of each group; nb for none
  int* slot_contact;      // [kSlotLanes slot_groups] -1 where there is none
  Real* slot_moves;       // [the same] whether the last visit found it above its tolerance,
  Real* slot_step;        // [the same] |f|², by what the visit changed,
  Real* slot_along;       // [the same] and that along the last two sweeps
  int* slot_colour;       // [contact_capacity] where there are slots
  std::uint64_t* slot_taken;  // [nb] colours that a body's contacts have, where there are slots
  int* slot_start;            // [2 (kMaxColours + 1)] first group of each colour: of all contacts, of those listed
  Real* active_matrix;      // [kActiveStride (kActiveStride + 1)] D of the active rows by columns, and right-hand side
  Real* active_change;      // [delassus_rows] multipliers of elimination, impulses before the step, what it changed
  Real* active_multiplier;  // [delassus_rows] multipliers of its every other column
  Real* active_cut;         // [delassus_rows] friction's share of sliding unknowns, then what bounds cut off a step
  int* active_row;          // [delassus_rows + 1] no more than kMaxActiveRows are used
  int* active_kind;         // [delassus_rows + 1]
  int* active_count;        // [3]
  int* active_state;        // [contact_capacity] whether a contact sticks, slides or is open
};

enum class FieldKind : std::uint8_t { kState, kParameter, kScratch };

// Those that find pairs by cells: for_each_field's.
template <typename Real, typename F>
AXION_HD inline void for_each_grid_field(const ModelView<Real>& m, F&& f) {
  using W = WorldView<Real>;
  using enum FieldKind;
  const std::size_t n = uses_grid(m) ? m.shape_count : 0, starts = n > 0 ? n + 1 : 0, entries = kGridLevels * n;
  f(kScratch, &W::shape_low, n), f(kScratch, &W::shape_high, n), f(kScratch, &W::shape_side, n);
  f(kScratch, &W::entry_bucket, entries), f(kScratch, &W::entry_row, entries), f(kScratch, &W::grid_place, entries);
  f(kScratch, &W::bucket_start, n > 0 ? std::size_t(bucket_count(m.shape_count)) + 1 : 0);
  f(kScratch, &W::near_start, starts), f(kScratch, &W::pair_found, kRowSlots * n);
  f(kScratch, &W::long_row, n), f(kScratch, &W::long_start, starts);
}

// Those of sweeps over contacts, as above.
template <typename Real, typename F>
AXION_HD inline void for_each_sweep_field(const ModelView<Real>& m, F&& f) {
  using W = WorldView<Real>;
  using enum FieldKind;
  const std::size_t nb = m.body_count, nc = m.contact_capacity;
  f(kScratch, &W::sweep_velocity, 8 * (nb + 1)), f(kScratch, &W::sweep_last, 8 * (nb + 1));
  const std::size_t nr = delassus_rows(m), nl = kPushLanes, units = most_swept_rows(m) - 2 * m.contact_capacity;
  f(kScratch, &W::sweep_body, 2 * std::size_t(most_swept_rows(m))), f(kScratch, &W::sweep_moves, units);
  f(kScratch, &W::row_velocity, nr), f(kScratch, &W::row_last, nr), f(kScratch, &W::sweep_list, units);
  f(kScratch, &W::delassus, nr > 0 ? nr * nr + 1 : 0), f(kScratch, &W::delassus_known, nr);
  f(kScratch, &W::delassus_push, nr > 0 ? 12 * nb * nl : 0), f(kScratch, &W::sweep_lane, nl),
      f(kScratch, &W::sweep_unit, nl);
  f(kScratch, &W::sweep_lane_count, std::size_t(2)), f(kScratch, &W::sweep_touched, nb),
      f(kScratch, &W::sweep_movers, nb);
  f(kScratch, &W::active_matrix, nr > 0 ? kActiveStride * (kActiveStride + 1) : 0), f(kScratch, &W::active_change, nr);
  f(kScratch, &W::active_multiplier, nr), f(kScratch, &W::active_cut, nr),
      f(kScratch, &W::active_state, nr > 0 ? nc : 0);
  f(kScratch, &W::active_row, nr + 1), f(kScratch, &W::active_kind, nr + 1),
      f(kScratch, &W::active_count, std::size_t(3));
  const std::size_t groups = slot_groups(m), slots = kSlotLanes * groups;
  f(kScratch, &W::slot_number, kSlotFields * slots), f(kScratch, &W::slot_body, 2 * slots),
      f(kScratch, &W::slot_contact, slots);
  f(kScratch, &W::slot_moves, slots), f(kScratch, &W::slot_step, slots), f(kScratch, &W::slot_along, slots);
  f(kScratch, &W::slot_colour, groups > 0 ? nc : 0), f(kScratch, &W::slot_taken, groups > 0 ? nb : 0);
  f(kScratch, &W::slot_start, groups > 0 ? 2 * std::size_t(kMaxColours + 1) : 0);
}

// Calls f(kind, pointer to member, element count) for what a world carries from step to step: state and parameters.
template <typename Real, typename F>
AXION_HD inline void for_each_carried_field(const ModelView<Real>& m, F&& f) {
  using W = WorldView<Real>;
  using enum FieldKind;
  const std::size_t nb = m.body_count, nj = m.joint_count, na = m.axis_count, nc = m.contact_capacity;
  const std::size_t njoint_rows = m.lock_count + na + m.limit_count + m.effort_count;
  f(kState, &W::x, nb), f(kState, &W::q, nb), f(kState, &W::v, nb), f(kState, &W::omega, nb);
  f(kState, &W::q_rest, nb), f(kState, &W::omega_rest, nb);
  f(kState, &W::v_at_pose, nb), f(kState, &W::omega_at_pose, nb);
  f(kState, &W::axis_position, na), f(kState, &W::axis_rate, na), f(kState, &W::axis_row_rate, na);
  f(kState, &W::state_is_new, std::size_t(1)), f(kState, &W::body_force_debt, nb), f(kState, &W::joint_force_debt, nj);
  f(kState, &W::lambda_joint, njoint_rows);
  f(kState, &W::limit_side, std::size_t(m.limit_count)), f(kState, &W::control, std::size_t(m.control_count));
  f(kState, &W::control_before, std::size_t(m.control_count)), f(kState, &W::force_before, nb),
      f(kState, &W::torque_before, nb);
  f(kState, &W::warm, nc), f(kState, &W::warm_count, std::size_t(1));
  f(kState, &W::time, std::size_t(1)), f(kState, &W::step_index, std::size_t(1));
  f(kState, &W::outcome, std::size_t(1)), f(kState, &W::record, std::size_t(1));
  f(kState, &W::contacts, nc), f(kState, &W::lambda_contact, 3 * nc), f(kState, &W::contact_gap, nc);
  f(kState, &W::joint_force, nj), f(kState, &W::joint_torque, nj);
  f(kParameter, &W::mass_scale, nb), f(kParameter, &W::friction_scale, std::size_t(1));
  f(kParameter, &W::gain_scale, std::size_t(m.control_count));
  f(kParameter, &W::x_initial, nb), f(kParameter, &W::q_initial, nb);
}

// Calls f(kind, pointer to member, element count) for every array, in a fixed order.
template <typename Real, typename F>
AXION_HD inline void for_each_field(const ModelView<Real>& m, F&& f) {
  using W = WorldView<Real>;
  using enum FieldKind;
  const std::size_t nb = m.body_count, nj = m.joint_count, na = m.axis_count, nc = m.contact_capacity;
  const std::size_t ne = m.effort_count, nn = nb + m.loop_count;
  const std::size_t njoint_rows = m.lock_count + na + m.limit_count + ne, nrow = njoint_rows + 3 * nc;
  for_each_carried_field(m, f);
  f(kScratch, &W::force, nb), f(kScratch, &W::torque, nb);
  f(kScratch, &W::body_force_step, nb), f(kScratch, &W::joint_force_step, nj);
  f(kScratch, &W::body_time_owed, nb), f(kScratch, &W::joint_time_owed, nj);
  const std::size_t ns = std::size_t(m.shape_count);
  f(kScratch, &W::shape_centre, ns), f(kScratch, &W::shape_axes, ns), f(kScratch, &W::shape_reach, ns),
      f(kScratch, &W::shape_range, ns);
  f(kScratch, &W::I_world, nb), f(kScratch, &W::I_inverse, nb), f(kScratch, &W::v_tilde, nb);
  f(kScratch, &W::omega_tilde, nb), f(kScratch, &W::v_plus, nb), f(kScratch, &W::omega_plus, nb);
  f(kScratch, &W::x_plus, nb), f(kScratch, &W::q_plus, nb), f(kScratch, &W::D, nb);
  f(kScratch, &W::K_geometric, nb), f(kScratch, &W::I_hat_inverse, nb);
  f(kScratch, &W::g_linear, nb), f(kScratch, &W::g_angular, nb);
  f(kScratch, &W::du_linear, nb), f(kScratch, &W::du_angular, nb), f(kScratch, &W::best_v, nb);
  f(kScratch, &W::best_omega, nb), f(kScratch, &W::blend_body, nb), f(kScratch, &W::blend, nj);
  f(kScratch, &W::row_start, m.lock_count + na), f(kScratch, &W::row, nrow);
  f(kScratch, &W::row_force, std::size_t(m.lock_count));
  f(kScratch, &W::axis_weight, na), f(kScratch, &W::axis_bias, na), f(kScratch, &W::axis_impulse, na);
  f(kScratch, &W::axis_alpha, na), f(kScratch, &W::axis_beta, na);
  f(kScratch, &W::effort_alpha, ne), f(kScratch, &W::effort_compliance, ne);
  f(kScratch, &W::effort_lower, ne), f(kScratch, &W::effort_upper, ne), f(kScratch, &W::contact_rebound, nc);
  f(kScratch, &W::lock_start_error, std::size_t(m.lock_count));
  f(kScratch, &W::lock_compliance, std::size_t(m.lock_count)), f(kScratch, &W::lambda, nrow);
  f(kScratch, &W::dlambda, nrow), f(kScratch, &W::best_lambda, nrow), f(kScratch, &W::residual, nrow);
  f(kScratch, &W::kept_v, nb), f(kScratch, &W::kept_omega, nb), f(kScratch, &W::kept_lambda, nrow);
  f(kScratch, &W::compliance, nrow), f(kScratch, &W::row_scale, nrow), f(kScratch, &W::natural, nrow);
  f(kScratch, &W::row_tolerance, nrow), f(kScratch, &W::body_residual, 2 * nb);
  f(kScratch, &W::body_tolerance, 2 * nb);
  f(kScratch, &W::solved, nc), f(kScratch, &W::contact_gain, 9 * nc), f(kScratch, &W::contact_offset, 3 * nc),
      f(kScratch, &W::contact_start, nb + 1);
  const std::size_t np = active_pair_capacity(m);
  f(kScratch, &W::contact_list, 2 * nc), f(kScratch, &W::pair_active, np), f(kScratch, &W::candidate_start, np);
  for_each_grid_field(m, f);
  const std::size_t nt = m.candidate_capacity;
  f(kScratch, &W::candidate, nt), f(kScratch, &W::candidate_use, nt), f(kScratch, &W::candidate_kept, nt);
  const std::size_t nlink = m.loop_count + nc, nk = nrow > 6 * nlink ? nrow : 6 * nlink;
  f(kScratch, &W::pcr_r, nk), f(kScratch, &W::pcr_z, nk), f(kScratch, &W::pcr_p, nk);
  f(kScratch, &W::pcr_az, nk), f(kScratch, &W::pcr_ap, nk), f(kScratch, &W::pcr_d, nk), f(kScratch, &W::pcr_q, nk);
  f(kScratch, &W::contact_block, 9 * nc), f(kScratch, &W::body_inverse, 36 * nb), f(kScratch, &W::tree_parent, nb);
  f(kScratch, &W::link_start, nc), f(kScratch, &W::link_of_contact, nc), f(kScratch, &W::link_count, std::size_t(1));
  f(kScratch, &W::link_gain, 36 * nc), f(kScratch, &W::link_offset, 6 * nc), f(kScratch, &W::link_block, 36 * nlink);
  f(kScratch, &W::pcr_v, nb), f(kScratch, &W::pcr_w, nb), f(kScratch, &W::node, nn * kNodeStride);
  f(kScratch, &W::node_rhs, nn * kNodeSize), f(kScratch, &W::thread_work, std::size_t(kThreadWork));
  f(kScratch, &W::coupling_upper, std::size_t(m.coupling_capacity) * kCouplingStride);
  f(kScratch, &W::coupling_lower, std::size_t(m.coupling_capacity) * kCouplingStride);
  f(kScratch, &W::coupling_start, nn), f(kScratch, &W::coupling_node, std::size_t(m.coupling_capacity));
  f(kScratch, &W::coupling_fill, std::size_t(1)), f(kScratch, &W::body_rank, nb), f(kScratch, &W::body_of_rank, nb);
  f(kScratch, &W::order_degree, nn), f(kScratch, &W::order_list, nn), f(kScratch, &W::order_children, nb);
  const std::size_t nd = m.dense_unknowns;
  const std::size_t nedge = edge_capacity(m);
  f(kScratch, &W::edge_start, nn + 1), f(kScratch, &W::edge_node, nedge), f(kScratch, &W::node_mark, nn);
  f(kScratch, &W::node_first, nn), f(kScratch, &W::order_head, nn), f(kScratch, &W::order_cell, 4 * nedge);
  f(kScratch, &W::order_winner, 2 * std::size_t(order_leaves(m.body_count)));
  f(kScratch, &W::coupling_count, std::size_t(1));
  f(kScratch, &W::dense, nd * nd), f(kScratch, &W::dense_rhs, nd), f(kScratch, &W::dense_pivot, std::size_t(1));
  f(kScratch, &W::joint_upper, nb * kCouplingStride), f(kScratch, &W::joint_lower, nb * kCouplingStride);
  f(kScratch, &W::transfer, nb * kTransferStride), f(kScratch, &W::inverse, 36 * std::size_t(m.inverse_blocks));
  f(kScratch, &W::response, nb * kNodeSize);
  for_each_sweep_field(m, f);
}

}  // namespace axion::model
