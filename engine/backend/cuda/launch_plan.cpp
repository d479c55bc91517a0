#include "engine/backend/cuda/launch_plan.hpp"

#include <algorithm>
#include <numeric>

namespace axion::backend {
namespace {

constexpr int kWarp = 32;

// Rounds of a verb, ceil(items / threads), on average. Counted by axion-count (tests/bench/count_operations.cpp) with 32,
// 64, 128 and 256 threads: humanoid.xml 1.26, 1.03, 1.01, 1.01 (here 1.27, 1.07, 1.02, 1.00), and since columns of D are made
// for sixteen rows at once, in fewer and wider verbs, 1.39, 1.14, 1.03, 1.01, which this underrates; a heap of 120 boxes 1.69,
// 1.34, 1.16, 1.07 (1.63, 1.31, 1.08, 1.02); robots with fewer joints at most 1.06, 1.03, 1.01, 1.00 (1.12, 1.03, 1.01,
// 1.00). A heap of 30 boxes, 1.42, 1.18, 1.07, 1.03, is underrated (1.08 and less): its contacts are many for its bodies.
template <typename Real>
double rounds_of_verb(const model::ModelView<Real>& m, int threads) {
  const double x = double(m.body_count + m.axis_count + m.limit_count) / threads;
  return 1 + x * std::min(1.0 / 6, x / 11);
}

// Assumed, in clocks, of H100 and its kind: what a round computes, thirty instructions that wait for each other; loads
// in a row that it waits for; latencies of shared memory, of the second cache and of device memory; two barriers a
// verb.
constexpr double kWorkClocks = 150, kLoadsInRow = 3, kNearClocks = 30, kCacheClocks = 250, kDeviceClocks = 600;
constexpr double kWarpBarriers = 20, kBlockBarriers = 40, kBarriersPerWarp = 10;

// Of its scratch, a step of humanoid.xml touches three tenths: the rest is room for contacts that are not there.
constexpr double kTouched = 0.3;

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
      std::size_t near = (most - fixed) / model::kBlockAlignment * model::kBlockAlignment;
      if (wish.near_bytes >= 0) {
        const std::size_t wanted = model::align_up(wish.near_bytes, model::kFieldAlignment);
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
    const model::WorldPlaces places = model::place_fields(m, shape.near_bytes);
    const double touched = kTouched * double(places.far_bytes) * shape.blocks * device.multiprocessors;
    const double cached = touched > double(device.l2_bytes) ? double(device.l2_bytes) / touched : 1;
    const double far = cached * kCacheClocks + (1 - cached) * kDeviceClocks;
    const double share = places.near_share / 1000.0;
    const double rounds = rounds_of_verb(m, shape.threads);
    const double load = share * kNearClocks + (1 - share) * far;
    clocks.push_back(rounds * (kWorkClocks + kLoadsInRow * load) + barrier_clocks(shape.threads));
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
