// CooperativeTeam: a team of several threads that make the same calls with the same arguments, in step.
//
// Block says which of them a thread is, and has their barrier: `thread()`, `threads()`, `sync()`; where threads come in
// warps of kSumLanes, also `exchange(value, mask)`, which partial results are folded by without memory, and
// `ballot(flag)`, which tells a thread who of its warp keeps what; and kVectorBytes and kSharesByWarp (team.hpp). Each
// verb begins with a barrier as well as ending in one, so that what step code reads between two verbs has been read by
// all threads before the next verb writes. Reductions keep the order that team.hpp states for any number of threads, so
// they give the bits of one thread. What differs between threads must not decide anything: a body writes shared arrays,
// never a local of its caller. Used by kernels with a CUDA block (block_team.cuh), and by tests with threads of the
// host.
#pragma once

#include <cstddef>

#include "engine/team/team.hpp"

namespace axion::team {

// Bytes that the threads of one team share, for their reductions: a double a lane and a thread. Little, as a block of
// one warp has a sixteenth of a multiprocessor's shared memory.
AXION_HD constexpr std::size_t cooperative_bytes(int threads) {
  return (kSumLanes + std::size_t(threads)) * sizeof(double);
}

template <typename Block>
class CooperativeTeam {
 public:
  static constexpr int kVectorBytes = Block::kVectorBytes;
  static constexpr bool kSharesByWarp = Block::kSharesByWarp;

  // `storage`: cooperative_bytes of the block's threads, aligned to a double, the same for all of them. Real is at most
  // a double.
  AXION_HD CooperativeTeam(Block block, std::byte* storage) : block_(block), storage_(storage) {}

  template <typename Body>
  AXION_HD void for_each(int count, Body&& body) const {
    block_.sync();
    for (int i = block_.thread(); i < count; i += block_.threads()) body(i);
    block_.sync();
  }

  // body(thread, meet) by all threads at once; meet() is a barrier, which all of them reach equally often. For code
  // that is written for threads that keep numbers in registers from one barrier to the next; no other team has it.
  template <typename Body>
  AXION_HD void together(Body&& body) const {
    block_.sync();
    body(block_.thread(), [this] { block_.sync(); });
    block_.sync();
  }

  // As many terms at a time as there are threads; then lane l adds those whose index is l modulo the lanes, ascending.
  template <typename Real, typename Term>
  AXION_HD Real sum(int count, Term&& term) const {
    const int thread = block_.thread(), threads = block_.threads();
    const auto add = [](Real a, Real b) { return a + b; };
    if constexpr (kExchanges) {
      if (threads == kSumLanes) {
        Real lane = 0;
        for (int i = thread; i < count; i += threads) lane += term(i);
        return fold_lane(lane, add);
      }
    }
    Real *lanes = numbers<Real>(), *terms = lanes + kSumLanes;
    block_.sync();
    for (int lane = thread; lane < kSumLanes; lane += threads) lanes[lane] = 0;
    for (int base = 0; base < count; base += threads) {
      if (base + thread < count) terms[thread] = term(base + thread);
      block_.sync();
      for (int lane = thread; lane < kSumLanes; lane += threads) {
        Real partial = lanes[lane];
        const int first = (lane - base % kSumLanes + kSumLanes) % kSumLanes;
        for (int k = first; k < threads && base + k < count; k += kSumLanes) partial += terms[k];
        lanes[lane] = partial;
      }
      block_.sync();
    }
    block_.sync();
    return fold(lanes, add);
  }

  // The greatest value does not depend on the order; a NaN stays once it is met. Lane l has the terms of the threads
  // that are l modulo the lanes.
  template <typename Real, typename Term>
  AXION_HD Real max(int count, Term&& term) const {
    const int thread = block_.thread(), threads = block_.threads();
    const auto larger = [](Real a, Real b) { return greater(a, b); };
    Real *lanes = numbers<Real>(), *terms = lanes + kSumLanes;
    Real greatest = 0;
    if constexpr (kExchanges) {
      if (threads == kSumLanes) {
        for (int i = thread; i < count; i += threads) greatest = greater(greatest, term(i));
        return fold_lane(greatest, larger);
      }
    }
    block_.sync();
    for (int i = thread; i < count; i += threads) greatest = greater(greatest, term(i));
    terms[thread] = greatest;
    block_.sync();
    for (int lane = thread; lane < kSumLanes; lane += threads) {
      greatest = 0;
      for (int k = lane; k < threads; k += kSumLanes) greatest = greater(greatest, terms[k]);
      lanes[lane] = greatest;
    }
    block_.sync();
    return fold(lanes, larger);
  }

  template <typename KeepFn>
  AXION_HD int first(int from, int count, KeepFn&& keep) const {
    if constexpr (kVotes) return first_by_warps(from, count, keep);
    const int thread = block_.thread(), threads = block_.threads();
    int* flags = numbers<int>();
    block_.sync();
    for (int base = from; base < count; base += threads) {
      flags[thread] = base + thread < count && keep(base + thread) ? 1 : 0;
      block_.sync();
      int k = 0;
      while (k < threads && flags[k] == 0) ++k;
      block_.sync();
      if (k < threads) return base + k;
    }
    return count;
  }

  template <typename KeepFn, typename EmitFn>
  AXION_HD int filter(int count, KeepFn&& keep, EmitFn&& emit) const {
    const int thread = block_.thread(), threads = block_.threads();
    if constexpr (kVotes) return filter_by_warps(count, keep, emit);
    int kept = 0, *flags = numbers<int>();
    block_.sync();
    for (int base = 0; base < count; base += threads) {
      const int i = base + thread;
      flags[thread] = i < count && keep(i) ? 1 : 0;
      block_.sync();
      int before = kept;
      for (int k = 0; k < threads; ++k) {
        if (k < thread) before += flags[k];
        kept += flags[k];
      }
      if (flags[thread] != 0) emit(i, before);
      block_.sync();
    }
    return kept;
  }

 private:
  static constexpr bool kExchanges = requires(const Block& block) { block.exchange(0.0f, 1); };
  static constexpr bool kVotes = requires(const Block& block) { block.bit_count(block.ballot(true)); };

  // first and filter where threads come in warps, which count their own.
  template <typename KeepFn>
  AXION_HD int first_by_warps(int from, int count, KeepFn&& keep) const {
    const int thread = block_.thread(), threads = block_.threads(), warps = threads / kSumLanes;
    block_.sync();
    for (int base = from; base < count; base += threads) {
      const int i = base + thread;
      unsigned votes = block_.ballot(i < count && keep(i));
      int warp = 0;
      if (warps > 1) {
        unsigned* shared = numbers<unsigned>();  // of each warp
        if (thread % kSumLanes == 0) shared[thread / kSumLanes] = votes;
        block_.sync();
        while (warp < warps - 1 && shared[warp] == 0) ++warp;
        votes = shared[warp];
        block_.sync();
      }
      if (votes != 0) return base + warp * kSumLanes + block_.bit_count((votes & (0u - votes)) - 1);
    }
    return count;
  }

  template <typename KeepFn, typename EmitFn>
  AXION_HD int filter_by_warps(int count, KeepFn&& keep, EmitFn&& emit) const {
    const int thread = block_.thread(), threads = block_.threads(), lane = thread % kSumLanes;
    const unsigned below = (1u << lane) - 1;
    int kept = 0;
    block_.sync();
    for (int base = 0; base < count; base += threads) {
      const int i = base + thread;
      const bool keeps = i < count && keep(i);
      const unsigned mine = block_.ballot(keeps);
      int before = kept + block_.bit_count(mine & below);
      if (threads == kSumLanes) {
        kept += block_.bit_count(mine);
      } else {
        int* counts = numbers<int>();  // of each warp
        if (lane == 0) counts[thread / kSumLanes] = block_.bit_count(mine);
        block_.sync();
        for (int k = 0; k < threads / kSumLanes; ++k) {
          if (k < thread / kSumLanes) before += counts[k];
          kept += counts[k];
        }
      }
      if (keeps) emit(i, before);
      block_.sync();
    }
    return kept;
  }

  // The upper half of the lanes to the lower until one is left. Every thread has a lane: as the operations' order of
  // operands changes no bit, each gets the result.
  template <typename Real, typename Op>
  AXION_HD Real fold_lane(Real lane, Op&& op) const {
    for (int width = kSumLanes / 2; width > 0; width /= 2) lane = op(lane, block_.exchange(lane, width));
    return lane;
  }

  // The same of lanes in memory: a thread for itself, with loads of all lanes at once, or the threads of a warp
  // together.
  template <typename Real, typename Op>
  AXION_HD Real fold(const Real* from, Op&& op) const {
    if constexpr (kExchanges) {
      return fold_lane(from[block_.thread() % kSumLanes], op);
    } else {
      Real lanes[kSumLanes];
      for (int lane = 0; lane < kSumLanes; ++lane) lanes[lane] = from[lane];
      for (int width = kSumLanes / 2; width > 0; width /= 2) {
        for (int lane = 0; lane < width; ++lane) lanes[lane] = op(lanes[lane], lanes[lane + width]);
      }
      return lanes[0];
    }
  }

  template <typename Real>
  AXION_HD static Real greater(Real a, Real b) {
    if (a != a) return a;
    return b <= a ? a : b;  // b where it is NaN
  }

  // [kSumLanes] lanes, then [threads] terms; or, in the same bytes, flags.
  template <typename T>
  AXION_HD T* numbers() const {
    return reinterpret_cast<T*>(storage_);
  }

  Block block_;
  std::byte* storage_;
};

}  // namespace axion::team
