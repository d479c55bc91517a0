// Block: the warps of one block, and what they have in common.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/ptx/interpreter/memory.hpp"
#include "tools/ptx/interpreter/races.hpp"
#include "tools/ptx/interpreter/warp.hpp"

namespace axion::ptx {

// What a device program did wrong; says the function, the line and the address.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Dim {
  U32 x = 1, y = 1, z = 1;
};

// How the threads of a warp go on between barriers: together, or one after another as far as it gets, the first or the
// last of them first. A program without races gives the same in every order.
enum class Order { kLockstep, kForward, kBackward };

class Block;

// What one access of a warp took, for who asks of what it was.
struct Traffic {
  Place place;
  bool writes;
  U64 address;         // of its first thread
  U32 bytes;           // of all its threads
  U32 units;           // sectors of far or local memory, or wavefronts of shared memory
  const U64* sectors;  // their numbers, of far or local memory; those of local memory are the warp's own
};

struct Options {
  Order order = Order::kLockstep;
  bool traffic = false;                                       // counts sectors and wavefronts
  std::function<void(const Block&, const Traffic&)> observe;  // called with each access, where traffic is counted
  bool races = false;                                         // looks for races
  // Backward branches of a warp between two barriers, after which it is taken to run for ever.
  U64 backward_limit = 50'000'000;
};

class Block {
 public:
  Block(Memory& memory, const Module& module, const Options& options)
      : memory(memory), module(module), options(options) {}

  // static_shared: of the module; before the first run.
  void open(U32 static_shared) { static_end = memory.shared() + static_shared; }
  // Runs a block of an entry; `parameters`: the entry's, laid out as its slots are.
  void run(const Function& entry, Dim grid, Dim threads, Dim index, U32 dynamic_shared, const AlignedBytes& parameters);

  Memory& memory;
  const Module& module;
  const Options& options;
  Races races;
  Dim grid, threads, index;
  U64 static_end = 0, shared_end = 0;  // of static and of dynamic shared memory
  U32 epoch = 0;
  const Function* entry = nullptr;
  U32 local_used = 0;  // the deepest frame's end
  U64 longest = 0;     // instructions, of the warp that has most of them between two barriers of the block

 private:
  void fill_memory(U32 count, const AlignedBytes& parameters);
  [[noreturn]] void fail_waiting() const;

  std::vector<std::unique_ptr<Warp>> warps_;
};

}  // namespace axion::ptx
