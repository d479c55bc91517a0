// What happened in a number of world-steps: counts of outcomes, and histograms binned where the solver runs.
//
// Part of engine/engine.hpp, which includes it. A world counts its own steps; worlds are then added in a fixed order
// (groups of kStatisticsGroup worlds, then the groups), so that the floating point sums do not depend on who ran them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/base/macros.hpp"
#include "engine/model/fields.hpp"

namespace axion {

// Upper bounds of the bins; one more bin counts what lies above.
inline constexpr std::array<double, 9> kNewtonIterationBounds{0, 1, 2, 3, 4, 6, 8, 12, 16};
inline constexpr std::array<double, 8> kLinearIterationBounds{1, 2, 4, 16, 64, 256, 1024, 4096};
inline constexpr std::array<double, 6> kLineSearchBounds{0, 1, 2, 5, 10, 20};
inline constexpr std::array<double, 6> kSweepRoundBounds{0, 1, 2, 4, 8, 16};
inline constexpr std::array<double, 10> kContactSweepBounds{0, 1, 2, 4, 8, 16, 32, 64, 256, 1024};
inline constexpr std::array<double, 8> kResidualBounds{1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000};
inline constexpr std::array<double, 8> kContactBounds{0, 1, 2, 4, 8, 16, 32, 64};

enum class ResidualBlock : std::uint8_t { kDynamics, kJoint, kContact, kFriction, kControl };
inline constexpr int kResidualBlockCount = 5, kJointModeCount = 4;
inline constexpr int kStatisticsGroup = 64;

template <std::size_t BoundCount>
struct BinnedCounts {
  std::array<std::int64_t, BoundCount + 1> counts{};  // counts[b]: bounds[b-1] < value <= bounds[b]
  double sum = 0;

  AXION_HD void count(const std::array<double, BoundCount>& bounds, double value) {
    std::size_t bin = 0;
    while (bin < BoundCount && !(value <= bounds[bin])) ++bin;
    counts[bin] += 1;
    sum += value;
  }
  AXION_HD void add(const BinnedCounts& other) {
    for (std::size_t i = 0; i <= BoundCount; ++i) counts[i] += other.counts[i];
    sum += other.sum;
  }
};

// What happened in the world-steps of one launch, over all requests; summed in a fixed order.
struct StepStatistics {
  std::int64_t world_steps = 0;
  // World-steps by outcome.
  std::int64_t converged = 0, max_iterations = 0, contact_overflow = 0, non_finite = 0, fallback = 0, eased = 0,
               overlap = 0;
  BinnedCounts<kNewtonIterationBounds.size()> newton_iterations;  // linearisations with a Newton step
  BinnedCounts<kLinearIterationBounds.size()> linear_iterations;
  BinnedCounts<kLineSearchBounds.size()> line_search_steps;
  BinnedCounts<kSweepRoundBounds.size()> sweep_rounds;      // linearisations of the joints with sweeps over contacts
  BinnedCounts<kContactSweepBounds.size()> contact_sweeps;  // sweeps of all rounds of a step
  std::array<BinnedCounts<kResidualBounds.size()>, kResidualBlockCount> residual;  // multiples of the tolerance
  BinnedCounts<kContactBounds.size()> contacts;
  std::array<std::int64_t, kJointModeCount> joint_modes{};  // world-steps that ended in each model::JointMode
  double max_penetration = 0;                               // m
  double max_joint_error = 0;                               // m, of joints that do not give way
  double max_equality_error = 0;                            // m (or rad), of equalities in steps that eased them
  double max_overlap = 0;  // m, the penetration in steps in which bodies stayed in each other

  AXION_HD void add(const StepStatistics& other) {
    world_steps += other.world_steps;
    converged += other.converged, max_iterations += other.max_iterations;
    contact_overflow += other.contact_overflow, non_finite += other.non_finite, fallback += other.fallback;
    eased += other.eased, overlap += other.overlap;
    newton_iterations.add(other.newton_iterations);
    linear_iterations.add(other.linear_iterations);
    line_search_steps.add(other.line_search_steps);
    sweep_rounds.add(other.sweep_rounds);
    contact_sweeps.add(other.contact_sweeps);
    for (int block = 0; block < kResidualBlockCount; ++block) residual[block].add(other.residual[block]);
    contacts.add(other.contacts);
    for (int mode = 0; mode < kJointModeCount; ++mode) joint_modes[mode] += other.joint_modes[mode];
    if (other.max_penetration > max_penetration) max_penetration = other.max_penetration;
    if (other.max_joint_error > max_joint_error) max_joint_error = other.max_joint_error;
    if (other.max_equality_error > max_equality_error) max_equality_error = other.max_equality_error;
    if (other.max_overlap > max_overlap) max_overlap = other.max_overlap;
  }

  // Counts one step of one world, which left equalities `equality_error` off. Record is model::StepRecord; a step that
  // ended non-finite has no numbers to bin.
  template <typename Record>
  AXION_HD void count(const Record& record, double equality_error) {
    world_steps += 1;
    converged += (record.outcome & kConverged) != 0, max_iterations += (record.outcome & kMaxIterations) != 0;
    contact_overflow += (record.outcome & kContactOverflow) != 0, fallback += (record.outcome & kFallback) != 0;
    non_finite += (record.outcome & kNonFinite) != 0, eased += (record.outcome & kEased) != 0;
    const bool overlaps = (record.outcome & kOverlap) != 0;
    overlap += overlaps;
    if ((record.outcome & kNonFinite) != 0) return;
    // Copies: device code may not refer to a constant that lives on the host.
    constexpr auto newton_bounds = kNewtonIterationBounds;
    constexpr auto linear_bounds = kLinearIterationBounds;
    constexpr auto line_search_bounds = kLineSearchBounds;
    constexpr auto sweep_round_bounds = kSweepRoundBounds;
    constexpr auto contact_sweep_bounds = kContactSweepBounds;
    constexpr auto residual_bounds = kResidualBounds;
    constexpr auto contact_bounds = kContactBounds;
    newton_iterations.count(newton_bounds, record.newton_iterations);
    linear_iterations.count(linear_bounds, record.linear_iterations);
    line_search_steps.count(line_search_bounds, record.line_search_steps);
    sweep_rounds.count(sweep_round_bounds, record.sweep_rounds);
    contact_sweeps.count(contact_sweep_bounds, record.contact_sweeps);
    for (int block = 0; block < kResidualBlockCount; ++block) {
      residual[block].count(residual_bounds, record.residual_normalised[block]);
    }
    contacts.count(contact_bounds, record.contact_count);
    joint_modes[static_cast<int>(record.joint_mode)] += 1;
    if (record.max_penetration > max_penetration) max_penetration = record.max_penetration;
    if (record.max_joint_error > max_joint_error) max_joint_error = record.max_joint_error;
    if (equality_error > max_equality_error) max_equality_error = equality_error;
    if (overlaps && record.max_penetration > max_overlap) max_overlap = record.max_penetration;
  }
};

}  // namespace axion
