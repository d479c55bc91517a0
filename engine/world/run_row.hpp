// run_row: one row of a job. Its world's view is made of the world's block and of scratch, and pointed at tables of the
// world's own, which are there where worlds differ or bodies are placed by clients; then it takes its steps.
//
// Called by a backend with a team for each row; rows touch nothing of each other. A GPU's backend lays its worlds out
// otherwise and calls the parts. Cost: that of the steps. Cannot fail.
#pragma once

#include <new>

#include "engine/step/run_steps.hpp"
#include "engine/world/mocap_tables.hpp"
#include "engine/world/world_layout.hpp"

namespace axion::world {

// Places the mocap bodies, and what stands on them in the tables of the job, which is the row's own.
template <typename Real, typename Team>
AXION_HD_RARE void take_mocaps(const Team& team, step::StepJob<Real>& job, const model::WorldView<Real>& w, int row) {
  if (job.mocap.data != nullptr) {
    const std::byte* data = job.mocap.data + row * job.mocap.world_stride;
    team.for_each(job.m.mocap_count, [&](int i) {
      for (int k = 0; k < 3; ++k) w.mocap_x[i][k] = step::load<Real>(job.mocap, data, 7 * i + k);
      const auto part = [&](int k) { return step::load<Real>(job.mocap, data, 7 * i + 3 + k); };
      w.mocap_q[i] = math::normalized(math::Quat<Real>{part(0), part(1), part(2), part(3)});
    });
  }
  stand_on_mocaps(team, job.m, w);
}

// Steps row `row` of a job with the scratch of the calling team.
template <typename Real, team::Team Team>
AXION_HD inline void run_row(const Team& team, const step::StepJob<Real>& job, int row, std::byte* scratch) {
  const int world = job.world_indices == nullptr ? row : job.world_indices[row];
  const step::StepJob<Real>* used = &job;
  alignas(step::StepJob<Real>)
      std::byte copy[sizeof(step::StepJob<Real>)];  // only where worlds have numbers of their own
  std::byte* block = job.worlds + world * job.world_stride;
  const auto view =
      job.layout != nullptr ? bind_world<Real>(*job.layout, block, scratch) : bind_world(job.m, block, scratch);
  if (job.own.data != nullptr || job.m.mocap_count > 0) {
    auto* own = new (copy) step::StepJob<Real>(job);
    if (job.own.data != nullptr) model::use_own_tables(job.own, world, own->m, own->user);
    if (job.m.mocap_count > 0) take_mocaps(team, *own, view, row);
    used = own;
  }
  step::run_steps(team, *used, view, row);
}

}  // namespace axion::world
