// A block of host threads, in step as those of a CUDA block: shows on any machine what a kernel would do.
#pragma once

#include <barrier>
#include <bit>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "engine/team/cooperative_team.hpp"

namespace axion::testing {

class HostBlock {
 public:
  static constexpr int kVectorBytes = axion::kVectorBytes;
  static constexpr bool kSharesByWarp = false;

  HostBlock(std::barrier<>& barrier, int thread, int threads)
      : barrier_(&barrier), thread_(thread), threads_(threads) {}
  int thread() const { return thread_; }
  int threads() const { return threads_; }
  void sync() const { barrier_->arrive_and_wait(); }

 private:
  std::barrier<>* barrier_;
  int thread_, threads_;
};

// The same in warps whose threads vote, as a CUDA block's do.
class VotingBlock : public HostBlock {
 public:
  static constexpr int kVectorBytes = 0;
  static constexpr bool kSharesByWarp = true;

  VotingBlock(const HostBlock& block, std::vector<char>& flags) : HostBlock(block), flags_(&flags) {}
  unsigned ballot(bool flag) const {
    (*flags_)[thread()] = flag ? 1 : 0;
    sync();
    unsigned bits = 0;
    const int first = thread() / team::kSumLanes * team::kSumLanes;
    for (int l = 0; l < team::kSumLanes; ++l) bits |= unsigned((*flags_)[first + l]) << l;
    sync();
    return bits;
  }
  static int bit_count(unsigned bits) { return std::popcount(bits); }

 private:
  std::vector<char>* flags_;
};
using VotingTeam = team::CooperativeTeam<VotingBlock>;

using HostTeam = team::CooperativeTeam<HostBlock>;
static_assert(team::Team<HostTeam>);

// Runs body(team) in every thread of a block.
inline void run_block(int threads, const std::function<void(const HostTeam&)>& body) {
  std::barrier<> barrier(threads);
  std::vector<std::byte> storage(team::cooperative_bytes(threads));
  std::vector<std::jthread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] { body(HostTeam(HostBlock(barrier, thread, threads), storage.data())); });
  }
}

// The same of whole warps that vote.
inline void run_voting_block(int threads, const std::function<void(const VotingTeam&)>& body) {
  std::barrier<> barrier(threads);
  std::vector<std::byte> storage(team::cooperative_bytes(threads));
  std::vector<char> flags(threads);
  std::vector<std::jthread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back(
        [&, thread] { body(VotingTeam(VotingBlock(HostBlock(barrier, thread, threads), flags), storage.data())); });
  }
}

}  // namespace axion::testing
