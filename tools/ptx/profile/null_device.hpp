// A device that computes nothing: its kernel hands every row over as it is. For what the host does, and what it
// decides.
#pragma once

#include "engine/backend/cuda/resident_block.hpp"
#include "tools/ptx/runtime/runtime.hpp"

namespace axion::ptx {

// Every group of rows is ready; packets and statistics are what they were.
template <typename Real>
void hand_over_all(const backend::ResidentLaunch<Real>& launch) {
  for (int job = 0; job < launch.job_count; ++job) {
    const int rows = launch.row_start[job + 1] - launch.row_start[job];
    const int groups = (rows + kStatisticsGroup - 1) / kStatisticsGroup;
    for (int g = 0; g < groups; ++g) launch.ready[launch.results[job].first_group + g] = launch.number;
  }
}

// Kernels of this precision do nothing from now on, while it lives.
template <typename Real>
class NullDevice {
 public:
  NullDevice() {
    Runtime::get().instead = [](void** arguments) {
      hand_over_all(*static_cast<const backend::ResidentLaunch<Real>*>(arguments[0]));
    };
  }
  ~NullDevice() {
    Runtime::get().instead = nullptr;
    Runtime::get().machine().memory().open(false);
  }
  NullDevice(const NullDevice&) = delete;
  NullDevice& operator=(const NullDevice&) = delete;
};

}  // namespace axion::ptx
