// How many threads a block has, how many blocks share a multiprocessor, and how much near memory each then has: for
// each model, number of worlds and device. Pure functions of what the host knows, so that they are tested without a
// GPU.
//
// What they choose changes no result (a team of any size gives the same bits, wherever its scratch lies); only time.
// Their constants are counts of what a step does and assumed latencies: they were set without a GPU at hand.
// tests/bench/gpu.py measures every shape; EngineOptions can ask for one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/backend/world_places.hpp"
#include "engine/team/cooperative_team.hpp"

namespace axion::backend {

// Threads of a block: one warp, whose barrier is cheapest, up to what heaps of bodies can use.
inline constexpr std::array<int, 4> kBlockThreads{32, 64, 128, 256};

struct DeviceLimits {
  int multiprocessors;
  std::size_t shared_per_multiprocessor, shared_per_block;  // bytes; the latter the most that a block can ask for
  std::size_t reserved_per_block;  // bytes of shared memory that the system takes of each block
  std::size_t l2_bytes;
};

struct KernelUse {
  std::size_t static_shared;       // bytes a block
  std::array<int, 4> most_blocks;  // a multiprocessor, by kBlockThreads, with no near memory: registers bound them
};

// A way to run worlds.
struct BlockShape {
  int threads;
  int blocks;              // on a multiprocessor at once
  std::size_t near_bytes;  // of each block, a multiple of kFieldAlignment
  bool operator==(const BlockShape&) const = default;
};

// Shared memory that a block asks for when it is launched: its team's storage, then, at near_offset, the near memory.
AXION_HD constexpr std::size_t near_offset(int threads) {
  return world::align_up(team::cooperative_bytes(threads), world::kFieldAlignment);
}
AXION_HD constexpr std::size_t dynamic_shared_bytes(const BlockShape& shape) {
  return near_offset(shape.threads) + shape.near_bytes;
}

// What a caller asks for instead of what is chosen (EngineOptions): threads 0 and near_bytes -1 leave the choice.
struct ShapeWish {
  int threads = 0;
  std::int64_t near_bytes = -1;
};

// Every shape to choose from: for each number of threads, each number of blocks that fits, with all near memory that
// leaves to each. Those alone that the wish allows; none where it cannot be had.
std::vector<BlockShape> block_shapes(const DeviceLimits& device, const KernelUse& use, const ShapeWish& wish);

// Clocks that one of a world's verbs takes on average, in each of the shapes.
template <typename Real>
std::vector<double> verb_clocks(const model::ModelView<Real>& m, const DeviceLimits& device,
                                std::span<const BlockShape> shapes);

struct PlannedJob {
  const std::vector<double>* clocks;  // verb_clocks of its model
  int worlds;
};

// Index of the shape in which jobs that share a launch end first; of those with so many threads (0: of all).
int choose_shape(std::span<const BlockShape> shapes, std::span<const PlannedJob> jobs, int multiprocessors,
                 int threads);

// Jobs whose worlds run in one grid.
struct JobGroup {
  BlockShape shape;
  int first, count;  // in JobOrder::order
};
struct JobOrder {
  std::vector<int> order;  // indices of the jobs, a group's beside each other
  std::vector<JobGroup> groups;
};

// Jobs that want as many threads share a grid, and what near memory is best for them together: a grid for each model
// would wait for the last world of the one before. `worlds` are those of the whole launch, which share the device.
JobOrder group_jobs(std::span<const BlockShape> shapes, std::span<const PlannedJob> jobs, int multiprocessors,
                    int worlds);

}  // namespace axion::backend
