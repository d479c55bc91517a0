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

#include "engine/model/world_layout.hpp"

namespace axion::model {

// A WorldView is pointers and nothing else; a slot is one of them.
inline constexpr int kWorldSlots = sizeof(WorldView<float>) / sizeof(void*);
static_assert(sizeof(WorldView<float>) == sizeof(WorldView<double>));

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
WorldPlaces place_fields(const ModelView<Real>& m, std::size_t near_bytes);

// Points slot i of a view at its memory. Slots are independent of each other, so that threads share them out.
template <typename Real>
AXION_HD inline void bind_field(WorldView<Real>* view, int i, const Place& place, std::byte* world, std::byte* near,
                                std::byte* far) {
  std::byte* base = place.memory == Memory::kWorld ? world : place.memory == Memory::kNear ? near : far;
  std::byte* field = base + place.offset * kFieldAlignment;
  std::memcpy(reinterpret_cast<std::byte*>(view) + i * sizeof(field), &field, sizeof(field));
}

// Calls f(pointer to member, thousandths of a step's accesses) for every field of scratch, first the one that spares
// most traffic a byte.
//
// Counted on the emulated GPU (heat.py in tools/ptx: one warp a world, no near memory, float32, preset default, robots
// that have lain down; humanoid.xml thrice, the quadruped and the wheeled robot of this repository and ant.xml once):
// fields by the sectors that a first cache of 2 KiB, what one of sixteen worlds has beside 12 KB of near memory, lets
// pass; shares are of the warps' accesses to fields, of which state and parameters have 4 %. What none of these
// accesses, fields of piles and of other presets, comes last, in the order of accesses on a CPU.
template <typename Real, typename F>
void for_each_heat(F&& f) {
  using W = WorldView<Real>;
  f(&W::node_rhs, 106), f(&W::row_velocity, 28), f(&W::contact_start, 8), f(&W::omega_plus, 8), f(&W::v_plus, 8);
  f(&W::row_force, 42), f(&W::sweep_lane, 3), f(&W::D, 9), f(&W::lambda, 47), f(&W::I_inverse, 18);
  f(&W::sweep_touched, 8), f(&W::thread_work, 185), f(&W::body_rank, 10), f(&W::row_start, 28);
  f(&W::lock_compliance, 1), f(&W::lock_start_error, 1), f(&W::I_world, 3), f(&W::q_plus, 3), f(&W::row, 71);
  f(&W::du_angular, 2), f(&W::K_geometric, 1), f(&W::x_plus, 2), f(&W::du_linear, 2), f(&W::g_linear, 1);
  f(&W::g_angular, 1), f(&W::shape_axes, 3), f(&W::body_residual, 0), f(&W::blend, 1), f(&W::body_tolerance, 0);
  f(&W::row_tolerance, 10), f(&W::body_of_rank, 1), f(&W::shape_centre, 2), f(&W::row_scale, 10), f(&W::v_tilde, 1);
  f(&W::omega_tilde, 1), f(&W::response, 4), f(&W::natural, 4), f(&W::dlambda, 4), f(&W::active_kind, 5);
  f(&W::residual, 2), f(&W::active_row, 11), f(&W::delassus_known, 4), f(&W::active_change, 10);
  f(&W::contact_gain, 21), f(&W::delassus_push, 33), f(&W::transfer, 38), f(&W::joint_force_step, 0);
  f(&W::contact_offset, 8), f(&W::shape_reach, 0), f(&W::pcr_r, 16), f(&W::active_cut, 6), f(&W::best_v, 0);
  f(&W::best_omega, 0), f(&W::axis_beta, 0), f(&W::pcr_p, 6), f(&W::candidate_start, 1), f(&W::candidate, 5);
  f(&W::shape_range, 0), f(&W::row_last, 0), f(&W::compliance, 1), f(&W::sweep_body, 5), f(&W::delassus, 44);
  f(&W::axis_alpha, 0), f(&W::body_force_step, 0), f(&W::solved, 0), f(&W::pcr_az, 1), f(&W::candidate_use, 0);
  f(&W::contact_rebound, 0), f(&W::sweep_unit, 0), f(&W::sweep_lane_count, 0), f(&W::force, 0);
  f(&W::contact_list, 1), f(&W::node, 50), f(&W::torque, 0), f(&W::blend_body, 0), f(&W::active_state, 1);
  f(&W::pcr_ap, 0), f(&W::pcr_z, 0), f(&W::best_lambda, 0), f(&W::joint_lower, 2), f(&W::pair_active, 1);
  f(&W::active_multiplier, 3), f(&W::candidate_kept, 0), f(&W::pcr_d, 0), f(&W::I_hat_inverse, 0);
  f(&W::sweep_velocity, 0), f(&W::joint_upper, 0), f(&W::active_matrix, 0), f(&W::sweep_last, 0);
  f(&W::active_count, 0), f(&W::sweep_moves, 0), f(&W::sweep_list, 0), f(&W::sweep_movers, 0), f(&W::inverse, 0);
  f(&W::slot_start, 0), f(&W::slot_number, 0), f(&W::slot_body, 0), f(&W::slot_contact, 0), f(&W::slot_moves, 0);
  f(&W::slot_step, 0), f(&W::slot_along, 0), f(&W::slot_colour, 0), f(&W::slot_taken, 0);
  f(&W::shape_low, 0), f(&W::shape_high, 0), f(&W::bucket_start, 0), f(&W::grid_place, 0);
  f(&W::near_start, 0), f(&W::shape_side, 0), f(&W::entry_bucket, 0), f(&W::entry_row, 0), f(&W::long_row, 0);
  f(&W::long_start, 0), f(&W::pair_found, 0), f(&W::effort_alpha, 0), f(&W::effort_compliance, 0);
  f(&W::effort_lower, 0), f(&W::effort_upper, 0), f(&W::kept_v, 0), f(&W::kept_omega, 0), f(&W::kept_lambda, 0);
  f(&W::pcr_q, 0), f(&W::contact_block, 0), f(&W::body_inverse, 0), f(&W::tree_parent, 0), f(&W::link_start, 0);
  f(&W::link_of_contact, 0), f(&W::link_count, 0), f(&W::link_gain, 0), f(&W::link_offset, 0), f(&W::link_block, 0);
  f(&W::pcr_v, 0), f(&W::pcr_w, 0), f(&W::coupling_upper, 0), f(&W::coupling_lower, 0), f(&W::coupling_start, 0);
  f(&W::coupling_node, 0), f(&W::coupling_fill, 0), f(&W::order_degree, 0), f(&W::order_list, 0);
  f(&W::order_children, 0), f(&W::coupling_count, 0), f(&W::edge_start, 0), f(&W::edge_node, 0), f(&W::node_mark, 0),
      f(&W::node_first, 0), f(&W::order_head, 0), f(&W::order_cell, 0), f(&W::order_winner, 0), f(&W::dense, 0),
      f(&W::dense_rhs, 0);
  f(&W::dense_pivot, 0), f(&W::body_time_owed, 0), f(&W::joint_time_owed, 0), f(&W::axis_weight, 0);
  f(&W::axis_bias, 0), f(&W::axis_impulse, 0);
}

}  // namespace axion::model
