// Rays, distances, Jacobians and mass matrices of one world, from its state as clients read it
// (engine/model/queries.hpp).
//
// Rays and distances are those of the narrow phase, in the precision of the batch. Jacobians and what follows from them
// are worked out in float64: column k is what the bodies' velocities are when only coordinate k moves, at rate one
// (kinematics.hpp), J. With the bodies' masses M_b, world axes:
//
//   M = Jᵀ M_b J + armature
//   bias = Jᵀ (M_b dJ/dt v + (0, ω × I ω) − (m g, 0))
//
// where dJ/dt v is the central difference of J v along the motion with v held, with an error of about 1e-8 of its
// size. Input has been checked. Cost: rays times shapes; pairs; nv times bodies, squared for M.
#pragma once

#include "engine/backend/world_block.hpp"
#include "engine/model/queries.hpp"

namespace axion::backend {

// Row `row` of the query's rays.
template <typename Real>
void cast_rays(const WorldModel<Real>& model, const model::WorldView<Real>& w, const RayQuery& query, int row,
               const RayHits& hits);

template <typename Real>
void measure_distances(const WorldModel<Real>& model, const model::WorldView<Real>& w,
                       std::span<const ShapePairQuery> pairs, double max_distance, int row, const PairDistances& out);

// `position` and `velocity` are those of the fields joint_position and joint_velocity; `mass_scale` of each body,
// internal order.
void work_out_dynamics(const model::CompiledModel& model, const UserArrays<double>& user, const BodyStates& bodies,
                       const std::vector<double>& position, const std::vector<double>& velocity,
                       const std::vector<double>& mass_scale, const DynamicsQuery& query, int row, const Dynamics& out);

}  // namespace axion::backend
