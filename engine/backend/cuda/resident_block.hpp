// What a resident block does: takes the next row, steps its world k steps, hands what came of it to the host, and so on
// until no row is left.
//
// The kernel's whole logic, for any team, so that tests run it with threads of the host (kernels.cu adds the memory and
// the signals). Pointers are memory of the device that runs it, or memory of the host that the device reaches.
//
// A row's results go to the host as soon as it is done, and the statistics of a group of rows with the last of them, so
// that the host takes results over while other worlds still step: no copy and no second kernel follow a launch.
#pragma once

#include <type_traits>

#include "engine/backend/cuda/statistics_words.hpp"
#include "engine/backend/world_places.hpp"
#include "engine/world/run_row.hpp"

namespace axion::backend {

// Where the results of one job go. A packet is a row's: its step index, then its outputs.
struct JobResults {
  std::byte* packets;        // [world_count] where a row writes, memory of the device
  std::byte* host_packets;   // [world_count] the same for the host
  std::size_t packet_bytes;  // a multiple of 8
  StepStatistics* sums;      // [groups of kStatisticsGroup rows] of the host
  std::size_t first_group;   // in `arrived` and `ready`
};
static_assert(std::has_unique_object_representations_v<JobResults>);  // tables of equal launches are equal bytes

// Rows of some jobs of one precision, for blocks of one shape. A fixed number of blocks is resident; each takes the
// next row until none is left, so that scratch is needed for a block and not for a world.
template <typename Real>
struct ResidentLaunch {
  const step::StepJob<Real>* jobs;
  const WorldPlaces* places;  // [job_count]
  const JobResults* results;  // [job_count]
  const int* row_start;       // [job_count + 1] first row of each job, ascending
  int job_count;
  int first_row, row_count;    // row_start[0], and rows of all jobs
  unsigned* taken;             // [1] rows that were ever taken by launches with this counter
  unsigned taken_before;       // by those before this one
  int* arrived;                // [groups] rows of each that are done; zero before a launch, and after
  unsigned* ready;             // [groups] of the host: `number` once the host may read the group's results
  unsigned number;             // of the launch, not zero
  std::byte* scratch;          // [blocks] far memory
  std::size_t scratch_stride;  // bytes
};

// The job and the view of a block's world, where all its threads read them: they are the same for all.
template <typename Real>
struct alignas(16) ResidentState {
  unsigned char job[sizeof(step::StepJob<Real>)];
  unsigned char view[sizeof(model::WorldView<Real>)];
  int row;
  bool is_last;  // of its group's rows
};

// The job that a row belongs to.
template <typename Real>
AXION_HD inline int find_job(const ResidentLaunch<Real>& launch, int row) {
  int first = 0, last = launch.job_count - 1;
  while (first < last) {
    const int middle = (first + last + 1) / 2;
    if (launch.row_start[middle] <= row) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  return first;
}

// A row is done: its packet goes to the host; if no other row of its group is open, the group's statistics too.
template <typename Real, team::Team Team, typename Signals>
AXION_HD inline void hand_over(const Team& team, const ResidentLaunch<Real>& launch, ResidentState<Real>& state,
                               const model::WorldView<Real>& view, int index, int row, const Signals& signals) {
  const auto& job = *reinterpret_cast<const step::StepJob<Real>*>(state.job);
  const JobResults& results = launch.results[index];
  const std::size_t start = row * results.packet_bytes;
  const auto* from = reinterpret_cast<const std::int64_t*>(results.packets + start);
  auto* to = reinterpret_cast<std::int64_t*>(results.host_packets + start);
  team.for_each(int(results.packet_bytes / sizeof(*to)),
                [&](int i) { to[i] = i == 0 ? std::int64_t(*view.step_index) : from[i]; });
  const int group = row / kStatisticsGroup, first = group * kStatisticsGroup;
  const int rows = job.world_count - first < kStatisticsGroup ? job.world_count - first : kStatisticsGroup;
  int* arrived = launch.arrived + results.first_group + group;
  team.for_each(1, [&](int) {
    state.is_last = signals.arrive(arrived) + 1 == rows;
    if (state.is_last) *arrived = 0;
  });
  if (!state.is_last) return;
  team.for_each(kStatisticsWords,
                [&](int word) { sum_statistics_word(word, job.statistics + first, rows, results.sums + group); });
  team.for_each(1, [&](int) { signals.raise(launch.ready + results.first_group + group, launch.number); });
}

// `near` holds near_bytes of every job's places, `far` is this block's own; both aligned to 16 bytes, with any
// contents. `run` is step::run_steps. Signals, each called by one thread of a team:
//   take(launch)        the next number, from zero, that no block has taken
//   arrive(counter)     adds one, returns what it was; teams that come later see what was written before it
//   raise(flag, value)  sets a flag of the host, which then sees what was written before
template <typename Real, team::Team Team, typename Signals, typename Run>
AXION_HD inline void run_resident(const Team& team, const ResidentLaunch<Real>& launch, ResidentState<Real>& state,
                                  std::byte* near, std::byte* far, const Signals& signals, Run&& run) {
  using Job = step::StepJob<Real>;
  using Word = unsigned long long;
  static_assert(sizeof(Job) % sizeof(Word) == 0);
  const Job& job = *reinterpret_cast<const Job*>(state.job);
  auto* view = reinterpret_cast<model::WorldView<Real>*>(state.view);
  for (;;) {
    team.for_each(1, [&](int) { state.row = signals.take(launch); });
    const int number = state.row;
    if (number >= launch.row_count) return;
    const int launch_row = launch.first_row + number;
    const int index = find_job(launch, launch_row), row = launch_row - launch.row_start[index];
    const auto* source = reinterpret_cast<const Word*>(launch.jobs + index);
    team.for_each(int(sizeof(Job) / sizeof(Word)), [&](int i) { reinterpret_cast<Word*>(state.job)[i] = source[i]; });
    const int world = job.world_indices == nullptr ? row : job.world_indices[row];
    std::byte* block = job.worlds + world * job.world_stride;
    if (job.own.data != nullptr) {
      team.for_each(1, [&](int) {
        Job& own = *reinterpret_cast<Job*>(state.job);
        model::use_own_tables(own.own, world, own.m, own.user);
      });
    }
    const Place* slots = launch.places[index].slots;
    team.for_each(model::kWorldSlots, [&](int i) { bind_field(view, i, slots[i], block, near, far); });
    if (job.m.mocap_count > 0) world::take_mocaps(team, *reinterpret_cast<Job*>(state.job), *view, row);
    run(team, job, *view, row);
    hand_over(team, launch, state, *view, index, row, signals);
  }
}

}  // namespace axion::backend
