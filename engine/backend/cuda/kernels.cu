// The only file that nvcc compiles: the step for a team of one block, and the sums of its statistics.
#include "engine/backend/cuda/kernels.hpp"
#include "engine/team/block_team.cuh"

namespace axion::backend {
namespace {

// Threads that a multiprocessor's 65,536 registers suffice for, as many warps on each of its four schedulers; the functions
// that the kernel calls are held to as many registers by --maxrregcount (engine/backend/CMakeLists.txt). No block is that
// large: the bound is there for the registers.
constexpr int kResidentThreads = 65536 / AXION_CUDA_REGISTERS / 128 * 128;

struct TakeRow {
  int* next;
  AXION_HD int operator()() const {
#if defined(__CUDA_ARCH__)
    return atomicAdd(next, 1);
#else
    return (*next)++;
#endif
  }
};

struct RunSteps {
  template <typename Team, typename Real>
  AXION_HD void operator()(const Team& team, const step::StepJob<Real>& job, const model::WorldView<Real>& view,
                             int row) const {
    step::run_steps(team, job, view, row);
  }
};

template <typename Real>
__global__ void __launch_bounds__(kResidentThreads, 1) step_kernel(ResidentLaunch<Real> launch) {
  extern __shared__ __align__(128) std::byte shared[];  // the team's storage, then near memory (dynamic_shared_bytes)
  __shared__ ResidentState<Real> state;
  const team::BlockTeam team(team::CudaBlock{}, shared);
  std::byte* near = shared + near_offset(static_cast<int>(blockDim.x));
  std::byte* far = launch.scratch + blockIdx.x * launch.scratch_stride;
  run_resident(team, launch, state, near, far, TakeRow{launch.next_row}, RunSteps{});
}

__global__ void statistics_kernel(const StatisticsGroup* groups, StepStatistics* sums, int group_count) {
  const int g = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (g >= group_count) return;
  StepStatistics sum;
  for (int i = 0; i < groups[g].count; ++i) sum.add(groups[g].first[i]);
  sums[g] = sum;
}

}  // namespace

template <typename Real>
cudaError_t prepare_steps(const DeviceLimits& device, KernelUse* use) {
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaFuncGetAttributes(&attributes, step_kernel<Real>);
  if (error != cudaSuccess) return error;
  use->static_shared = attributes.sharedSizeBytes;
  if (device.shared_per_block < use->static_shared) return cudaErrorInvalidConfiguration;
  const int dynamic = static_cast<int>(device.shared_per_block - use->static_shared);
  error = cudaFuncSetAttribute(step_kernel<Real>, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic);
  for (std::size_t i = 0; i < kBlockThreads.size() && error == cudaSuccess; ++i) {
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&use->most_blocks[i], step_kernel<Real>, kBlockThreads[i],
                                                          near_offset(kBlockThreads[i]));
  }
  return error;
}

template <typename Real>
cudaError_t launch_steps(const ResidentLaunch<Real>& launch, const BlockShape& shape, const DeviceLimits& device,
                         const KernelUse& use, int blocks, cudaStream_t stream) {
  // What is not shared memory is first cache: only as much is asked for as the blocks need.
  const std::size_t dynamic = dynamic_shared_bytes(shape);
  const std::size_t needed = shape.blocks * (dynamic + use.static_shared + device.reserved_per_block);
  const std::size_t percent = (100 * needed + device.shared_per_multiprocessor - 1) / device.shared_per_multiprocessor;
  const cudaError_t error = cudaFuncSetAttribute(step_kernel<Real>, cudaFuncAttributePreferredSharedMemoryCarveout,
                                                 static_cast<int>(percent < 100 ? percent : 100));
  if (error != cudaSuccess) return error;
  step_kernel<Real><<<blocks, shape.threads, dynamic, stream>>>(launch);
  return cudaGetLastError();
}

cudaError_t launch_statistics(const StatisticsGroup* groups, StepStatistics* sums, int group_count,
                              cudaStream_t stream) {
  constexpr int kThreads = 32;
  statistics_kernel<<<(group_count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(groups, sums, group_count);
  return cudaGetLastError();
}

template cudaError_t prepare_steps<float>(const DeviceLimits&, KernelUse*);
template cudaError_t prepare_steps<double>(const DeviceLimits&, KernelUse*);
template cudaError_t launch_steps<float>(const ResidentLaunch<float>&, const BlockShape&, const DeviceLimits&,
                                         const KernelUse&, int, cudaStream_t);
template cudaError_t launch_steps<double>(const ResidentLaunch<double>&, const BlockShape&, const DeviceLimits&,
                                          const KernelUse&, int, cudaStream_t);

}  // namespace axion::backend
