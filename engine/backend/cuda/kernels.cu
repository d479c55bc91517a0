// The only file that nvcc compiles: the step for a team of one block.
#include "engine/backend/cuda/kernels.hpp"
#include "engine/team/block_team.cuh"

namespace axion::backend {
namespace {

// Threads that a multiprocessor's 65,536 registers suffice for, as many warps on each of its four schedulers; the
// functions that the kernel calls are held to as many registers by --maxrregcount (engine/backend/CMakeLists.txt). No
// block is that large: the bound is there for the registers.
constexpr int kResidentThreads = 65536 / AXION_CUDA_REGISTERS / 128 * 128;

// On the host, where nvcc reads this too, nothing runs it.
struct CudaSignals {
  template <typename Real>
  AXION_HD int take(const ResidentLaunch<Real>& launch) const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(atomicAdd(launch.taken, 1u) - launch.taken_before);
#else
    return launch.row_count;
#endif
  }
  // The fences of both make one thread's enough for its block: barriers order the others' accesses before and behind
  // it.
  AXION_HD int arrive(int* counter) const {
#if defined(__CUDA_ARCH__)
    __threadfence_system();  // the packet too, which the host reads when another block raises the flag
    const int before = atomicAdd(counter, 1);
    __threadfence();
    return before;
#else
    return *counter;
#endif
  }
  AXION_HD void raise(unsigned* flag, unsigned value) const {
#if defined(__CUDA_ARCH__)
    __threadfence_system();
#endif
    *static_cast<volatile unsigned*>(flag) = value;
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
  run_resident(team, launch, state, near, far, CudaSignals{}, RunSteps{});
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
cudaError_t prefer_shared(const BlockShape& shape, const DeviceLimits& device, const KernelUse& use) {
  const std::size_t block = dynamic_shared_bytes(shape) + use.static_shared + device.reserved_per_block;
  const std::size_t percent =
      (100 * shape.blocks * block + device.shared_per_multiprocessor - 1) / device.shared_per_multiprocessor;
  return cudaFuncSetAttribute(step_kernel<Real>, cudaFuncAttributePreferredSharedMemoryCarveout,
                              static_cast<int>(percent < 100 ? percent : 100));
}

template <typename Real>
cudaError_t launch_steps(const ResidentLaunch<Real>& launch, const BlockShape& shape, int blocks, cudaStream_t stream) {
  step_kernel<Real><<<blocks, shape.threads, dynamic_shared_bytes(shape), stream>>>(launch);
  return cudaGetLastError();
}

template cudaError_t prepare_steps<float>(const DeviceLimits&, KernelUse*);
template cudaError_t prepare_steps<double>(const DeviceLimits&, KernelUse*);
template cudaError_t prefer_shared<float>(const BlockShape&, const DeviceLimits&, const KernelUse&);
template cudaError_t prefer_shared<double>(const BlockShape&, const DeviceLimits&, const KernelUse&);
template cudaError_t launch_steps<float>(const ResidentLaunch<float>&, const BlockShape&, int, cudaStream_t);
template cudaError_t launch_steps<double>(const ResidentLaunch<double>&, const BlockShape&, int, cudaStream_t);

}  // namespace axion::backend
