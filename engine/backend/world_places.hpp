// WorldPlaces: where each array of a world lies when the hottest of its scratch is in near memory, a multiprocessor's
// shared memory, of which a world has a few kilobytes.
//
//   world block: state and parameters, as world_layout.hpp has them | near: the hottest scratch | far: the rest of it
// A table of offsets, not pointers: the host makes it once for a batch, and each team adds its own addresses
// (bind_field). Step code sees pointers as ever; where they point changes no bit. Places follow from the model's counts
// and the budget alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/world/world_layout.hpp"

namespace axion::backend {

// A WorldView is pointers and nothing else; a slot is one of them.
inline constexpr int kWorldSlots = sizeof(model::WorldView<float>) / sizeof(void*);
static_assert(sizeof(model::WorldView<float>) == sizeof(model::WorldView<double>));

enum class Memory : std::uint32_t { kWorld, kNear, kFar };

struct Place {
  Memory memory;
  std::uint32_t offset;  // from the memory's start, in kFieldAlignment
};

struct WorldPlaces {
  Place slots[kWorldSlots];
  std::size_t near_bytes, far_bytes;  // what they take, multiples of kFieldAlignment
  int near_share;                     // thousandths of a step's accesses that go to the near memory, by for_each_heat
};

// In the order of heat a field of scratch is near if what is left of `near_bytes` holds it. Host only.
template <typename Real>
WorldPlaces place_fields(const model::ModelView<Real>& m, std::size_t near_bytes);

// Points slot i of a view at its memory. Slots are independent of each other, so that threads share them
// out.
template <typename Real>
AXION_HD inline void bind_field(model::WorldView<Real>* view, int i, const Place& place, std::byte* world,
                                std::byte* near, std::byte* far) {
  std::byte* base = place.memory == Memory::kWorld ? world : place.memory == Memory::kNear ? near : far;
  std::byte* field = base + place.offset * world::kFieldAlignment;
  std::memcpy(reinterpret_cast<std::byte*>(view) + i * sizeof(field), &field, sizeof(field));
}

// Calls f(pointer, thousandths of a step's accesses) for every array of scratch, first the one that spares most
// traffic a byte.
//
// Counted on the emulated GPU (heat.py in tools/ptx: one warp a world, no near memory, float32, preset default, robots
// that have lain down; humanoid.xml thrice, the quadruped and the wheeled robot of this repository and ant.xml once):
// fields by the sectors that a first cache of 2 KiB, what one of sixteen worlds has beside 12 KB of near memory, lets
// pass; shares are of the warps' accesses to fields, of which state and parameters have 4 %. What none of these
// accesses, fields of piles and of other presets, comes last, in the order of accesses on a CPU.
// Arrays that were one when this was counted (the block of a contact and the gain of Newton's matrix, the numbers of a
// node and of a body at the end of the step, multipliers and steps of active rows) share its place, and its
// thousandths by estimate.
template <typename Real, typename F>
void for_each_heat(model::WorldView<Real>& w, F&& f) {
  f(w.tree.node_rhs, 106), f(w.sweeps.row_velocity, 28), f(w.contact_start, 8), f(w.omega_plus, 8), f(w.v_plus, 8);
  f(w.row_force, 42), f(w.sweeps.push_row, 3), f(w.rotation_derivative, 9), f(w.lambda, 47), f(w.I_inverse, 18);
  f(w.sweeps.body_touched, 8), f(w.tree.workspace, 185), f(w.tree.body_rank, 10), f(w.row_start, 28);
  f(w.lock_compliance, 1), f(w.lock_start_error, 1), f(w.I_world, 3), f(w.q_plus, 3), f(w.row, 71);
  f(w.du_angular, 2), f(w.K_geometric, 1), f(w.x_plus, 2), f(w.du_linear, 2), f(w.g_linear, 1), f(w.g_angular, 1);
  f(w.collide.shape_axes, 3), f(w.body_residual, 0), f(w.blend, 1), f(w.body_tolerance, 0), f(w.row_tolerance, 10);
  f(w.tree.body_of_rank, 1), f(w.collide.shape_centre, 2), f(w.row_scale, 10), f(w.v_tilde, 1), f(w.omega_tilde, 1);
  f(w.tree.swept_response, 4), f(w.natural_residual, 4), f(w.dlambda, 4), f(w.sweeps.active_kind, 5);
  f(w.residual, 2), f(w.row_rhs, 2), f(w.sweeps.active_row, 10), f(w.sweeps.active_changed, 1),
      f(w.sweeps.delassus_known, 4);
  f(w.sweeps.active_multiplier, 5), f(w.sweeps.active_change, 5), f(w.sweeps.contact_block, 21);
  f(w.sweeps.contact_block_inverse, 8), f(w.sweeps.push_impulse, 17), f(w.sweeps.push_velocity, 16);
  f(w.tree.transfer, 38), f(w.joint_force_step, 0), f(w.collide.shape_reach, 0), f(w.sweeps.start_velocity, 16);
  f(w.sweeps.active_share, 4), f(w.sweeps.active_cut, 2), f(w.newton.best_v, 0), f(w.newton.best_omega, 0);
  f(w.axis_beta, 0), f(w.sweeps.row_compliance, 6), f(w.collide.candidate_start, 1), f(w.collide.candidate, 5);
  f(w.collide.shape_range, 0), f(w.sweeps.row_velocity_last, 0), f(w.compliance, 1), f(w.sweeps.row_bodies, 5);
  f(w.sweeps.delassus, 44), f(w.axis_alpha, 0), f(w.body_force_step, 0), f(w.newton.solved, 0);
  f(w.newton.solved_moment, 0), f(w.moments, 0), f(w.moment_count, 0);
  f(w.sweeps.last_impulse, 1), f(w.collide.candidate_use, 0), f(w.contact_rebound, 0), f(w.contact_law, 0),
      f(w.surface_slip, 0), f(w.limit_law, 0), f(w.link_turning, 0), f(w.sweeps.push_block, 0);
  f(w.sweeps.push_count, 0), f(w.force, 0), f(w.contact_list, 1), f(w.tree.node, 30), f(w.velocity_sync.tree_body, 20);
  f(w.torque, 0), f(w.constraints.stiffness_ratio, 0), f(w.sweeps.active_state, 1), f(w.sweeps.swept_impulse, 0);
  f(w.sweeps.start_impulse, 0), f(w.newton.best_lambda, 0), f(w.tree.joint_lower, 2), f(w.collide.pair_active, 1);
  f(w.sweeps.active_multiplier_next, 2), f(w.sweeps.active_bound, 1), f(w.collide.candidate_kept, 0);
  f(w.sweeps.row_mobility, 0), f(w.supported_inertia, 0), f(w.sweeps.body_velocity, 0), f(w.tree.joint_upper, 0);
  f(w.sweeps.active_matrix, 0), f(w.sweeps.body_velocity_last, 0);
  f(w.sweeps.block_unsettled, 0), f(w.sweeps.listed_row, 0), f(w.sweeps.listed_body, 0), f(w.tree.joint_response, 0);
  f(w.tree.loop_columns, 0), f(w.tree.loop_gain, 0), f(w.tree.loop_impulse, 0), f(w.sweeps.colour_start, 0);
  f(w.sweeps.packed_number, 0), f(w.sweeps.packed_body, 0), f(w.sweeps.coloured_contact, 0),
      f(w.sweeps.coloured_unsettled, 0);
  f(w.sweeps.coloured_step, 0), f(w.sweeps.coloured_along, 0), f(w.sweeps.contact_colour, 0),
      f(w.sweeps.body_colours, 0);
  f(w.collide.shape_low, 0), f(w.collide.shape_high, 0), f(w.collide.bucket_start, 0), f(w.collide.grid_place, 0);
  f(w.collide.near_start, 0), f(w.collide.shape_side, 0), f(w.collide.entry_bucket, 0), f(w.collide.entry_row, 0);
  f(w.collide.long_row, 0), f(w.collide.long_start, 0), f(w.collide.pair_found, 0), f(w.effort_alpha, 0);
  f(w.effort_compliance, 0), f(w.effort_lower, 0), f(w.effort_upper, 0), f(w.newton.kept_v, 0);
  f(w.newton.kept_omega, 0), f(w.newton.kept_lambda, 0), f(w.reference.schur_q, 0), f(w.reference.contact_block, 0);
  f(w.reference.body_mobility, 0), f(w.tree.parent, 0), f(w.reference.link_start, 0);
  f(w.reference.link_of_contact, 0), f(w.reference.link_count, 0), f(w.reference.link_gain, 0);
  f(w.reference.link_offset, 0), f(w.reference.link_block, 0), f(w.reference.answer_linear, 0);
  f(w.reference.answer_angular, 0), f(w.tree.coupling_upper, 0), f(w.tree.coupling_lower, 0);
  f(w.tree.coupling_start, 0), f(w.tree.coupling_node, 0), f(w.tree.coupling_fill, 0), f(w.tree.order_degree, 0);
  f(w.tree.order_met, 0), f(w.tree.coupling_used, 0), f(w.tree.order_children, 0), f(w.tree.coupling_count, 0);
  f(w.tree.edge_start, 0), f(w.tree.edge_node, 0), f(w.tree.node_mark, 0), f(w.tree.node_first, 0);
  f(w.tree.order_head, 0), f(w.tree.order_cell, 0), f(w.tree.order_winner, 0), f(w.reference.dense, 0);
  f(w.reference.dense_rhs, 0), f(w.reference.dense_pivot, 0), f(w.constraints.body_time_owed, 0);
  f(w.constraints.joint_time_owed, 0), f(w.constraints.euler_share, 0), f(w.axis_bias, 0), f(w.axis_impulse, 0);
  f(w.tendon_row, 0), f(w.tendon_force, 0), f(w.tendon_weight, 0);
  f(w.step.anchor_error, 0), f(w.contact_gain, 0), f(w.contact_offset, 0), f(w.reference.schur_residual, 0);
  f(w.reference.schur_direction, 0), f(w.reference.schur_az, 0), f(w.velocity_sync.contact_share, 0),
      f(w.velocity_sync.body_share, 0), f(w.velocity_sync.touch, 0);
  f(w.reference.schur_ap, 0), f(w.reference.schur_z, 0), f(w.reference.diagonal_inverse, 0);
  f(w.constraints.lent_inertia, 0), f(w.reference.inertia_inverse, 0), f(w.sweeps.impulse_sum, 0);
  f(w.tree.order_absorbed, 0), f(w.reference.loop_block, 0), f(w.reference.link_residual, 0);
  f(w.reference.link_shadow, 0), f(w.reference.link_direction, 0), f(w.reference.link_ap, 0);
  f(w.reference.link_ar, 0), f(w.reference.link_impulse, 0), f(w.reference.link_best, 0);
  f(w.readout.start_x, 0), f(w.readout.start_q, 0), f(w.readout.start_v, 0), f(w.readout.start_omega, 0);
  f(w.readout.acceleration, 0), f(w.readout.turning, 0), f(w.lock_law, 0), f(w.world.mocap_joints, 0),
      f(w.world.mocap_shapes, 0);
  f(w.world.mocap_sensors, 0), f(w.world.mocap_sensor_parts, 0), f(w.collide.world_pair_first, 0);
  f(w.collide.world_pair_next, 0), f(w.collide.hidden_depth, 0);
  f(w.constraints.motion, 0), f(w.constraints.motion_rate, 0), f(w.constraints.motion_ease, 0);
  f(w.constraints.opening, 0), f(w.is_stuck, 0), f(w.giving_fraction, 0);
}

}  // namespace axion::backend
