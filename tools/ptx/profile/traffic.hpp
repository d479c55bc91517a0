// What a program's accesses take, counted from outside: TrafficCounter watches a machine (Options::observe).
//
// Far memory is served in sectors of 32 bytes, and so is local memory, where a word of 32 threads lies in one piece of
// 128 bytes. Shared memory has 32 banks of 4 bytes: different words of one bank take one wavefront each, a word goes to
// all threads that want it at once.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "tools/ptx/interpreter/block.hpp"

namespace axion::ptx {

// What was counted of one instruction.
struct TrafficCounts {
  U64 local = 0, shared = 0, far = 0;  // times that a warp issued it, by where its threads went
  U64 sectors = 0, local_sectors = 0;  // of far and of local memory
  U64 wavefronts = 0;                  // of shared memory
};

// What one access of a warp took.
struct Traffic {
  Place place;
  bool writes;
  U64 address;         // of its first thread
  U32 bytes;           // of all its threads
  U32 units;           // sectors of far or local memory, or wavefronts of shared memory
  const U64* sectors;  // their numbers, of far or local memory; those of local memory are the warp's own
};

class TrafficCounter {
 public:
  // Called with each access besides, where it is set.
  std::function<void(const Block&, const Traffic&)> observe;

  // What Options::observe of the machine calls.
  void add(const WarpAccess& access);
  void clear() { counts_.clear(); }
  // Of the instruction at `pc`; zeros where it was not seen.
  TrafficCounts of(const Function& function, std::size_t pc) const;

 private:
  std::unordered_map<const Function*, std::vector<TrafficCounts>> counts_;  // one an instruction
};

}  // namespace axion::ptx
