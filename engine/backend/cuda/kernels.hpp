// The kernels of the CUDA backend as host code sees them. Pointers in a CudaLaunch are device memory.
#pragma once

#include <cuda_runtime_api.h>

#include "engine/step/run_steps.hpp"

namespace axion::backend {

// Rows of all jobs of one precision. A fixed number of blocks is resident; each takes the next row until none is left,
// so that scratch is needed for a block and not for a world.
template <typename Real>
struct CudaLaunch {
  const step::StepJob<Real>* jobs;
  const int* row_start;  // [job_count + 1] first row of each job
  int job_count;
  int row_count;
  int* next_row;               // [1] zero before the launch
  std::byte* scratch;          // [blocks] scratch blocks
  std::size_t scratch_stride;  // bytes
};

// Consecutive rows whose statistics make one sum.
struct StatisticsGroup {
  const StepStatistics* first;
  int count;
};

inline constexpr int kBlockThreads = 64;
// Blocks that a multiprocessor's 65536 registers must suffice for: 168 a thread. The functions that the kernel calls are held to
// as many by --maxrregcount in engine/backend's CMakeLists.txt.
inline constexpr int kResidentBlocks = 6;

// Blocks of the step kernel that one multiprocessor holds at once.
template <typename Real>
cudaError_t resident_blocks(int* blocks_per_multiprocessor);

template <typename Real>
cudaError_t launch_steps(const CudaLaunch<Real>& launch, int blocks, cudaStream_t stream);

// sums[g] = the rows of groups[g], added in their order.
cudaError_t launch_statistics(const StatisticsGroup* groups, StepStatistics* sums, int group_count,
                              cudaStream_t stream);

}  // namespace axion::backend
