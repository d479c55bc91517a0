#include "tools/ptx/interpreter/block.hpp"

#include <algorithm>
#include <cstring>

namespace axion::ptx {

// Shared and local memory start as 0xff, as an earlier block might leave them: a number that nobody wrote is no number.
void Block::fill_memory(U32 count, const AlignedBytes& parameters) {
  std::memset(reinterpret_cast<void*>(memory.shared()), 0xff, static_end - memory.shared());
  std::memset(reinterpret_cast<void*>(memory.dynamic_shared()), 0xff, shared_end - memory.dynamic_shared());
  for (U32 t = 0; t < count; ++t) {
    U8* local = reinterpret_cast<U8*>(memory.local(t));
    if (local_used > 0) std::memset(local, 0xff, local_used);
    std::copy(parameters.begin(), parameters.end(), local);
  }
}

void Block::run(const Function& kernel, Dim grid_size, Dim block_size, Dim block_index, U32 dynamic_shared,
                const AlignedBytes& parameters) {
  grid = grid_size, threads = block_size, index = block_index, entry = &kernel;
  shared_end = memory.dynamic_shared() + dynamic_shared;
  const U32 count = threads.x * threads.y * threads.z, warps = (count + kLanes - 1) / kLanes;
  fill_memory(count, parameters);
  races.clear();
  epoch = 0;
  while (warps_.size() < warps) warps_.push_back(std::make_unique<Warp>(*this));
  for (U32 w = 0; w < warps; ++w) warps_[w]->start(kernel, w * kLanes, std::min<U32>(kLanes, count - w * kLanes));
  for (;;) {
    U32 alive = 0, waiting = 0;
    U64 most = 0;
    for (U32 k = 0; k < warps; ++k) {
      const U32 w = options.order == Order::kBackward ? warps - 1 - k : k;
      const U64 before = warps_[w]->issued;
      warps_[w]->run();
      most = std::max(most, warps_[w]->issued - before);
      alive += std::popcount(warps_[w]->alive);
      waiting += std::popcount(warps_[w]->waiting_block);
    }
    longest += most;
    if (alive == 0) return;
    // A barrier counts all threads of the block: one that has ended never comes.
    if (waiting != count) fail_waiting();
    ++epoch;
    for (U32 w = 0; w < warps; ++w) warps_[w]->release_block();
  }
}

void Block::fail_waiting() const {
  std::string text = "a barrier can never be met:";
  const U32 count = threads.x * threads.y * threads.z;
  std::string last;
  for (U32 t = 0; t < count; ++t) {
    const Warp& w = *warps_[t / kLanes];
    const U32 bit = 1u << (t % kLanes);
    std::string state = (w.alive & bit) == 0           ? "has ended"
                        : (w.waiting_block & bit) != 0 ? "waits at bar.sync in " + w.place(t % kLanes)
                                                       : "waits at bar.warp.sync in " + w.place(t % kLanes);
    if (state != last) text += " thread " + std::to_string(t) + " " + state + ";";
    last = std::move(state);
  }
  throw DeviceError(text);
}

}  // namespace axion::ptx
