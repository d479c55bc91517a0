// BlockTeam: a team of one CUDA block. Every thread of the block makes the same calls with the same arguments.
//
// Each verb begins with a barrier as well as ending in one, so that what step code reads between two verbs has been read
// by all threads before the next verb writes. Reductions keep the order that team.hpp states for any number of threads.
// Only one BlockTeam may live in a block at a time, and the block must be one-dimensional with a multiple of 32 threads,
// at most kMaxBlockThreads; kernels in engine/backend make it.
#pragma once

#include "engine/team/team.hpp"

namespace axion::team {

inline constexpr int kMaxBlockThreads = 256;

// Shared memory of a BlockTeam.
struct BlockStorage {
  double terms[kMaxBlockThreads];
  double lanes[kSumLanes];
  int warp_counts[kMaxBlockThreads / 32];
};

class BlockTeam {
 public:
  __device__ explicit BlockTeam(BlockStorage& storage) : storage_(storage) {}

  template <typename Body>
  AXION_HD void for_each(int count, Body&& body) const {
#if defined(__CUDA_ARCH__)
    __syncthreads();
    for (int i = thread(); i < count; i += threads()) body(i);
    __syncthreads();
#endif
  }

  // A block's worth of terms at a time: lane l adds the terms l, l + 32, ... in ascending order, as one thread would.
  template <typename Real, typename Term>
  AXION_HD Real sum(int count, Term&& term) const {
    Real total = 0;
#if defined(__CUDA_ARCH__)
    Real* terms = reinterpret_cast<Real*>(storage_.terms);
    Real* lanes = reinterpret_cast<Real*>(storage_.lanes);
    __syncthreads();
    Real lane = 0;
    for (int base = 0; base < count; base += threads()) {
      const int i = base + thread();
      if (i < count) terms[thread()] = term(i);
      __syncthreads();
      if (thread() < kSumLanes) {
        for (int k = thread(); k < threads() && base + k < count; k += kSumLanes) lane += terms[k];
      }
      __syncthreads();
    }
    if (thread() < kSumLanes) lanes[thread()] = lane;
    __syncthreads();
    for (int k = 0; k < kSumLanes && k < count; ++k) total += lanes[k];
#endif
    return total;
  }

  // The greatest value does not depend on the order; a NaN stays once it is met.
  template <typename Real, typename Term>
  AXION_HD Real max(int count, Term&& term) const {
    Real greatest = 0;
#if defined(__CUDA_ARCH__)
    Real* terms = reinterpret_cast<Real*>(storage_.terms);
    __syncthreads();
    for (int i = thread(); i < count; i += threads()) greatest = greater(greatest, term(i));
    terms[thread()] = greatest;
    __syncthreads();
    greatest = 0;
    const int used = count < threads() ? count : threads();
    for (int k = 0; k < used; ++k) greatest = greater(greatest, terms[k]);
#endif
    return greatest;
  }

  template <typename KeepFn, typename EmitFn>
  AXION_HD int filter(int count, KeepFn&& keep, EmitFn&& emit) const {
    int kept = 0;
#if defined(__CUDA_ARCH__)
    __syncthreads();
    const int warp = thread() / 32, bit = thread() % 32;
    for (int base = 0; base < count; base += threads()) {
      const int i = base + thread();
      const bool wanted = i < count && keep(i);
      const unsigned mask = __ballot_sync(0xffffffffu, wanted);
      if (bit == 0) storage_.warp_counts[warp] = __popc(mask);
      __syncthreads();
      int before = kept;
      for (int k = 0; k < threads() / 32; ++k) {
        if (k < warp) before += storage_.warp_counts[k];
        kept += storage_.warp_counts[k];
      }
      if (wanted) emit(i, before + __popc(mask & ((1u << bit) - 1u)));
      __syncthreads();
    }
#endif
    return kept;
  }

 private:
  template <typename Real>
  AXION_HD static Real greater(Real a, Real b) {
    if (a != a) return a;
    return b <= a ? a : b;  // b where it is NaN
  }
#if defined(__CUDA_ARCH__)
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
#endif

  BlockStorage& storage_;
};

static_assert(Team<BlockTeam>);

}  // namespace axion::team
