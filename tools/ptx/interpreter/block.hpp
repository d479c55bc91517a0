// Block: the warps of one block, and what they have in common.
#pragma once

#include <array>
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

using Addresses = std::array<U64, kLanes>;

// One access of a warp, after its checks and before it touches memory, for who watches a program.
struct WarpAccess {
  const Warp& warp;  // its lanes that run (Warp::each), at this instruction
  const Instruction& instruction;
  Place place;               // where its threads go; the widest of their places, where these differ
  const Addresses& address;  // of each lane that runs
  U32 bytes;                 // of each
};

struct Options {
  Order order = Order::kLockstep;
  std::function<void(const WarpAccess&)> observe;  // called with each access, where it is set
  bool races = false;                              // looks for races
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
