// BlockTeam: a team of one CUDA block, made by the kernels in engine/backend alone.
//
// The block is one-dimensional, of one warp or of whole warps up to kMaxCooperativeThreads threads; one BlockTeam lives
// in it at a time.
#pragma once

#include "engine/team/cooperative_team.hpp"

namespace axion::team {

// On the host, where nvcc reads this too, it is a team of one; nothing runs it there.
class CudaBlock {
 public:
  static constexpr int kVectorBytes = 0;
  static constexpr bool kSharesByWarp = true;

  AXION_HD int thread() const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(threadIdx.x);
#else
    return 0;
#endif
  }
  AXION_HD int threads() const {
#if defined(__CUDA_ARCH__)
    return static_cast<int>(blockDim.x);
#else
    return 1;
#endif
  }
  AXION_HD void sync() const {
#if defined(__CUDA_ARCH__)
    // All threads of a warp at once: cheaper than a barrier that counts warps.
    if (blockDim.x <= 32) {
      __syncwarp();
    } else {
      __syncthreads();
    }
#endif
  }
  // The value of the thread of this warp whose number differs in the bits of `mask`. All threads of the warp call it.
  template <typename T>
  AXION_HD T exchange(T value, int mask) const {
#if defined(__CUDA_ARCH__)
    return __shfl_xor_sync(0xffffffffu, value, mask);
#else
    (void)mask;
    return value;
#endif
  }
  // Bit l of the result is the flag of the warp's l-th thread. All threads of the warp call it.
  AXION_HD unsigned ballot(bool flag) const {
#if defined(__CUDA_ARCH__)
    return __ballot_sync(0xffffffffu, flag);
#else
    return flag ? 1u : 0u;
#endif
  }
  AXION_HD static int bit_count(unsigned bits) {
#if defined(__CUDA_ARCH__)
    return __popc(bits);
#else
    return static_cast<int>(bits);
#endif
  }
};

using BlockTeam = CooperativeTeam<CudaBlock>;
static_assert(Team<BlockTeam>);

}  // namespace axion::team
