#include "engine/backend/cuda/launch_plan.hpp"

#include <algorithm>
#include <numeric>

namespace axion::backend {
namespace {

constexpr int kWarp = 32;

// How much longer a step's verbs take than if each had a thread an item. Counted on the emulated GPU as instructions of
// the longest warp between barriers (axion-ptx-profile), with 32, 64, 128 and 256 threads: humanoid.xml 93.4, 91.0,
// 90.1 and 91.0 thousand, the quadruped 93.7, 96.0, 96.3 and 98.0, ant.xml 36.7, 38.1, 38.5 and 39.3: what joints take
// is written for a warp, and more of them only meet more often. Heaps, counted by axion-count in rounds, ceil(items /
// threads): of 120 boxes 1.69, 1.34, 1.16, 1.07 (here 1.63, 1.31, 1.08, 1.02), of 30 boxes 1.42, 1.18, 1.07, 1.03 (1.08
// and less: its contacts are many for its bodies).
template <typename Real>
double rounds_of_verb(const model::ModelView<Real>& m, int threads) {
  const double x = double(m.body_count) / threads;
  return 1 + x * std::min(1.0 / 6, x / 11);
}

// Instructions of a warp in a verb: those of humanoid.xml's step over its verbs, half of its barriers. A multiprocessor
// issues four a clock for all its warps.
constexpr double kInstructions = 205, kIssued = 4;

// Assumed, in clocks, of H100 and its kind: what a verb computes, its instructions waiting for every other; loads in a
// row that it waits for, of 43 counted; latencies of shared memory, of the second cache and of device memory; two
// barriers a verb.
constexpr double kWorkClocks = 450, kLoadsInRow = 10, kNearClocks = 30, kCacheClocks = 250, kDeviceClocks = 600;
constexpr double kWarpBarriers = 20, kBlockBarriers = 40, kBarriersPerWarp = 10;

// Of its scratch, a step of humanoid.xml touches as much, its threads' stacks among it (105 kB of 478, counted there):
// the rest is room for contacts that are not there.
constexpr double kTouched = 0.22;

double barrier_clocks(int threads) {
  return threads <= kWarp ? kWarpBarriers : kBlockBarriers + kBarriersPerWarp * threads / kWarp;
}

}  // namespace

std::vector<BlockShape> block_shapes(const DeviceLimits& device, const KernelUse& use, const ShapeWish& wish) {
  std::vector<BlockShape> shapes;
  for (std::size_t i = 0; i < kBlockThreads.size(); ++i) {
    const int threads = kBlockThreads[i];
    if (wish.threads != 0 && wish.threads != threads) continue;
    const std::size_t fixed = use.static_shared + near_offset(threads);
    for (int blocks = use.most_blocks[i]; blocks > 0; --blocks) {
      std::size_t most = device.shared_per_multiprocessor / blocks;
      most = std::min(most - std::min(most, device.reserved_per_block), device.shared_per_block);
      if (most < fixed) continue;
      std::size_t near = (most - fixed) / world::kBlockAlignment * world::kBlockAlignment;
      if (wish.near_bytes >= 0) {
        const std::size_t wanted = world::align_up(wish.near_bytes, world::kFieldAlignment);
        if (wanted > near) continue;
        near = wanted;
      }
      shapes.push_back({threads, blocks, near});
      if (wish.near_bytes >= 0) break;  // fewer blocks would have no more
    }
  }
  return shapes;
}

template <typename Real>
std::vector<double> verb_clocks(const model::ModelView<Real>& m, const DeviceLimits& device,
                                std::span<const BlockShape> shapes) {
  std::vector<double> clocks;
  for (const BlockShape& shape : shapes) {
    const WorldPlaces places = place_fields(m, shape.near_bytes);
    const double touched = kTouched * double(places.far_bytes) * shape.blocks * device.multiprocessors;
    const double cached = touched > double(device.l2_bytes) ? double(device.l2_bytes) / touched : 1;
    const double far = cached * kCacheClocks + (1 - cached) * kDeviceClocks;
    const double share = places.near_share / 1000.0;
    const double rounds = rounds_of_verb(m, shape.threads);
    const double load = share * kNearClocks + (1 - share) * far;
    const double waited = rounds * (kWorkClocks + kLoadsInRow * load) + barrier_clocks(shape.threads);
    clocks.push_back(std::max(waited, kInstructions * shape.threads / kWarp * shape.blocks / kIssued));
  }
  return clocks;
}

int choose_shape(std::span<const BlockShape> shapes, std::span<const PlannedJob> jobs, int multiprocessors,
                 int threads) {
  double worlds = 0;
  for (const PlannedJob& job : jobs) worlds += job.worlds;
  int best = -1;
  double least = 0;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (threads != 0 && shapes[i].threads != threads) continue;
    double clocks = 0;
    for (const PlannedJob& job : jobs) clocks += job.worlds / worlds * (*job.clocks)[i];
    // Fewer worlds than there are blocks for end together.
    const double time = clocks * std::max(1.0, worlds / (double(multiprocessors) * shapes[i].blocks));
    if (best >= 0 && time >= least) continue;
    best = static_cast<int>(i), least = time;
  }
  return best;
}

JobOrder group_jobs(std::span<const BlockShape> shapes, std::span<const PlannedJob> jobs, int multiprocessors,
                    int worlds) {
  std::vector<int> threads;
  for (const PlannedJob& job : jobs) {
    const PlannedJob whole{job.clocks, worlds};
    threads.push_back(shapes[choose_shape(shapes, {&whole, 1}, multiprocessors, 0)].threads);
  }
  JobOrder result;
  result.order.resize(jobs.size());
  std::iota(result.order.begin(), result.order.end(), 0);
  std::stable_sort(result.order.begin(), result.order.end(), [&](int a, int b) { return threads[a] < threads[b]; });
  std::vector<PlannedJob> together;
  for (std::size_t first = 0; first < jobs.size(); first += together.size()) {
    together.clear();
    const int wanted = threads[result.order[first]];
    for (std::size_t i = first; i < jobs.size() && threads[result.order[i]] == wanted; ++i) {
      together.push_back(jobs[result.order[i]]);
    }
    const int shape = choose_shape(shapes, together, multiprocessors, wanted);
    result.groups.push_back({shapes[shape], static_cast<int>(first), static_cast<int>(together.size())});
  }
  return result;
}

template std::vector<double> verb_clocks(const model::ModelView<float>&, const DeviceLimits&,
                                         std::span<const BlockShape>);
template std::vector<double> verb_clocks(const model::ModelView<double>&, const DeviceLimits&,
                                         std::span<const BlockShape>);

}  // namespace axion::backend
