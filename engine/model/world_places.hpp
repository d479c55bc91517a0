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

// Calls f(pointer to member, thousandths of a step's accesses) for every field of scratch, the most accessed a byte
// first.
//
// Counted by tests/bench/accesses.py, every load and store of the step booked on its field (float32, preset default,
// robots that have lain down): humanoid.xml thrice, the quadruped and the wheeled robot of this repository twice each,
// ant.xml and half_cheetah.xml once, growth.py's piles of 100 and of 300 spheres with a weight of 0.5 and 0.05. Of 820 kB
// that a step of humanoid.xml moves, state and parameters have 2 %, so they stay where they are. With 15 KiB near, this one
// order covers 28 % of humanoid.xml's accesses, with 35 KiB 51 %, with 52 KiB 64 %, where an order of its own would cover 29,
// 55 and 68 %; piles, whose fields are others, have a third near at most. What the default preset does not use comes last.
template <typename Real, typename F>
void for_each_heat(F&& f) {
  using W = WorldView<Real>;
  f(&W::row_velocity, 48), f(&W::sweep_lane, 4), f(&W::active_change, 28), f(&W::active_multiplier, 23);
  f(&W::node_rhs, 29), f(&W::omega_plus, 7), f(&W::sweep_touched, 3), f(&W::v_plus, 7), f(&W::sweep_velocity, 12);
  f(&W::body_of_rank, 3), f(&W::I_inverse, 13), f(&W::row_force, 22), f(&W::lambda, 29), f(&W::blend, 1);
  f(&W::du_angular, 3), f(&W::contact_start, 1), f(&W::body_rank, 1), f(&W::row_start, 21), f(&W::D, 7);
  f(&W::du_linear, 2), f(&W::node, 198), f(&W::active_row, 5), f(&W::shape_centre, 3), f(&W::active_cut, 4);
  f(&W::x_plus, 2), f(&W::body_residual, 1), f(&W::q_plus, 2), f(&W::body_tolerance, 1), f(&W::delassus_push, 76);
  f(&W::g_linear, 1), f(&W::g_angular, 1), f(&W::joint_upper, 38), f(&W::v_tilde, 1), f(&W::omega_tilde, 1);
  f(&W::shape_range, 1), f(&W::transfer, 67), f(&W::lock_compliance, 1), f(&W::lock_start_error, 1);
  f(&W::response, 4), f(&W::joint_force_step, 0), f(&W::active_kind, 3), f(&W::I_world, 3), f(&W::axis_beta, 0);
  f(&W::shape_reach, 1), f(&W::active_matrix, 70), f(&W::row_last, 2), f(&W::blend_body, 0), f(&W::shape_axes, 3);
  f(&W::axis_alpha, 0), f(&W::row, 56), f(&W::sweep_last, 1), f(&W::row_scale, 6), f(&W::active_count, 0);
  f(&W::joint_lower, 16), f(&W::row_tolerance, 5), f(&W::natural, 4), f(&W::K_geometric, 1), f(&W::active_state, 1);
  f(&W::dlambda, 4), f(&W::delassus_known, 1), f(&W::sweep_unit, 0), f(&W::pcr_az, 6), f(&W::body_force_step, 0);
  f(&W::sweep_moves, 0), f(&W::sweep_list, 1), f(&W::sweep_movers, 0);
  f(&W::best_v, 0), f(&W::best_omega, 0), f(&W::sweep_body, 5), f(&W::pcr_ap, 4), f(&W::residual, 2);
  f(&W::delassus, 77), f(&W::pcr_r, 4), f(&W::force, 0), f(&W::torque, 0), f(&W::contact_offset, 1);
  f(&W::inverse, 13), f(&W::contact_gain, 4), f(&W::pcr_p, 2), f(&W::sweep_lane_count, 0), f(&W::best_lambda, 1);
  f(&W::compliance, 1), f(&W::shape_low, 0), f(&W::shape_high, 0), f(&W::contact_rebound, 0), f(&W::pcr_z, 1);
  f(&W::candidate_use, 1), f(&W::contact_list, 0), f(&W::bucket_shape, 0), f(&W::pair_active, 0);
  f(&W::candidate_start, 0), f(&W::near_start, 0), f(&W::solved, 0), f(&W::bucket_start, 0), f(&W::candidate, 2);
  f(&W::candidate_kept, 0), f(&W::I_hat_inverse, 0), f(&W::pcr_d, 0), f(&W::pair_found, 0), f(&W::effort_alpha, 0);
  f(&W::effort_compliance, 0), f(&W::effort_lower, 0), f(&W::effort_upper, 0), f(&W::kept_v, 0);
  f(&W::kept_omega, 0), f(&W::kept_lambda, 0), f(&W::pcr_q, 0), f(&W::contact_block, 0), f(&W::body_inverse, 0);
  f(&W::tree_parent, 0), f(&W::link_start, 0), f(&W::link_of_contact, 0), f(&W::link_count, 0), f(&W::link_gain, 0);
  f(&W::link_offset, 0), f(&W::link_block, 0), f(&W::pcr_v, 0), f(&W::pcr_w, 0), f(&W::coupling_upper, 0);
  f(&W::coupling_lower, 0), f(&W::coupling_start, 0), f(&W::coupling_node, 0), f(&W::coupling_fill, 0);
  f(&W::order_degree, 0), f(&W::order_list, 0), f(&W::order_children, 0), f(&W::coupling_count, 0);
  f(&W::coupling_index, 0), f(&W::dense, 0), f(&W::dense_rhs, 0), f(&W::dense_pivot, 0);
}

}  // namespace axion::model
