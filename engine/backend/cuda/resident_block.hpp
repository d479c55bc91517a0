// What a resident block does: takes the next row, steps its world k steps, and so on until no row is left.
//
// The kernel's whole logic, for any team, so that tests run it with threads of the host (kernels.cu adds the memory and
// the counter). Pointers are memory of the device that runs it.
#pragma once

#include <cstring>

#include "engine/model/world_places.hpp"
#include "engine/step/run_steps.hpp"

namespace axion::backend {

// Rows of some jobs of one precision, for blocks of one shape. A fixed number of blocks is resident; each takes the
// next row until none is left, so that scratch is needed for a block and not for a world.
template <typename Real>
struct ResidentLaunch {
  const step::StepJob<Real>* jobs;
  const model::WorldPlaces* places;  // [job_count]
  const int* row_start;              // [job_count + 1] first row of each job, ascending
  int job_count;
  int first_row, row_count;    // row_start[0], and rows of all jobs
  int* next_row;               // [1] first_row before the launch
  std::byte* scratch;          // [blocks] far memory
  std::size_t scratch_stride;  // bytes
};

// The job and the view of a block's world, where all its threads read them: they are the same for all.
template <typename Real>
struct alignas(16) ResidentState {
  unsigned char job[sizeof(step::StepJob<Real>)];
  unsigned char view[sizeof(model::WorldView<Real>)];
  int row;
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

// `take` gives rows that nobody has taken, and is called by one thread of the team; `near` holds near_bytes of every
// job's places, `far` is this block's own; both aligned to 16 bytes, with any contents. `run` is step::run_steps.
template <typename Real, team::Team Team, typename Take, typename Run>
AXION_HD inline void run_resident(const Team& team, const ResidentLaunch<Real>& launch, ResidentState<Real>& state,
                                  std::byte* near, std::byte* far, Take&& take, Run&& run) {
  using Job = step::StepJob<Real>;
  using Word = unsigned long long;
  static_assert(sizeof(Job) % sizeof(Word) == 0);
  const Job& job = *reinterpret_cast<const Job*>(state.job);
  auto* view = reinterpret_cast<model::WorldView<Real>*>(state.view);
  for (;;) {
    team.for_each(1, [&](int) { state.row = take(); });
    const int launch_row = state.row;
    if (launch_row >= launch.first_row + launch.row_count) return;
    const int index = find_job(launch, launch_row), row = launch_row - launch.row_start[index];
    const auto* source = reinterpret_cast<const unsigned char*>(launch.jobs + index);
    team.for_each(int(sizeof(Job) / sizeof(Word)),
                  [&](int i) { std::memcpy(state.job + i * sizeof(Word), source + i * sizeof(Word), sizeof(Word)); });
    const int world = job.world_indices == nullptr ? row : job.world_indices[row];
    std::byte* block = job.worlds + world * job.world_stride;
    const model::Place* slots = launch.places[index].slots;
    team.for_each(model::kWorldSlots, [&](int i) { model::bind_field(view, i, slots[i], block, near, far); });
    run(team, job, *view, row);
  }
}

}  // namespace axion::backend
