// The only file that nvcc compiles: the step for a team of one block, and the sums of its statistics.
#include "engine/backend/cuda/kernels.hpp"
#include "engine/team/block_team.cuh"

namespace axion::backend {
namespace {

// The job that a row belongs to.
template <typename Real>
__device__ int find_job(const CudaLaunch<Real>& launch, int row) {
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

// Views and job lie in shared memory: every thread reads them all the time, and they are the same for all.
template <typename Real>
__global__ void __launch_bounds__(kBlockThreads, kResidentBlocks) step_kernel(CudaLaunch<Real> launch) {
  using Job = step::StepJob<Real>;
  using View = model::WorldView<Real>;
  __shared__ team::CooperativeStorage storage;
  __shared__ alignas(16) unsigned char job_bytes[sizeof(Job)];
  __shared__ alignas(16) unsigned char view_bytes[sizeof(View)];
  __shared__ int shared_row;
  const Job& job = *reinterpret_cast<const Job*>(job_bytes);
  const View& view = *reinterpret_cast<const View*>(view_bytes);
  std::byte* scratch = launch.scratch + blockIdx.x * launch.scratch_stride;
  const team::BlockTeam team(team::CudaBlock{}, storage);
  for (;;) {
    __syncthreads();  // nobody still reads the row, the job or the view of the round before
    if (threadIdx.x == 0) shared_row = atomicAdd(launch.next_row, 1);
    __syncthreads();
    const int launch_row = shared_row;
    if (launch_row >= launch.row_count) return;
    const int index = find_job(launch, launch_row);
    const unsigned char* source = reinterpret_cast<const unsigned char*>(launch.jobs + index);
    for (unsigned i = threadIdx.x; i < sizeof(Job); i += blockDim.x) job_bytes[i] = source[i];
    __syncthreads();
    const int row = launch_row - launch.row_start[index];
    if (threadIdx.x == 0) {
      const int world = job.world_indices == nullptr ? row : job.world_indices[row];
      const View bound = model::bind_world(job.m, job.worlds + world * job.world_stride, scratch);
      memcpy(view_bytes, &bound, sizeof(View));
    }
    __syncthreads();
    step::run_steps(team, job, view, row);
  }
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
cudaError_t resident_blocks(int* blocks_per_multiprocessor) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks_per_multiprocessor, step_kernel<Real>, kBlockThreads, 0);
}

template <typename Real>
cudaError_t launch_steps(const CudaLaunch<Real>& launch, int blocks, cudaStream_t stream) {
  step_kernel<Real><<<blocks, kBlockThreads, 0, stream>>>(launch);
  return cudaGetLastError();
}

cudaError_t launch_statistics(const StatisticsGroup* groups, StepStatistics* sums, int group_count,
                              cudaStream_t stream) {
  constexpr int kThreads = 32;
  statistics_kernel<<<(group_count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(groups, sums, group_count);
  return cudaGetLastError();
}

template cudaError_t resident_blocks<float>(int*);
template cudaError_t resident_blocks<double>(int*);
template cudaError_t launch_steps<float>(const CudaLaunch<float>&, int, cudaStream_t);
template cudaError_t launch_steps<double>(const CudaLaunch<double>&, int, cudaStream_t);

}  // namespace axion::backend
