// Warp: 32 threads of a block in lockstep.
//
// In each step those threads run that are deepest in calls and, among these, lowest in the code: lanes that parted meet
// again where their paths do. A thread that waits at a barrier does not run.
#pragma once

#include <bit>
#include <memory>
#include <vector>

#include "tools/ptx/interpreter/module.hpp"

namespace axion::ptx {

class Block;

struct Frame {
  const Function* function = nullptr;
  Frame* parent = nullptr;
  const CallSite* site = nullptr;  // that made it
  U32 members = 0;                 // lanes in it or in frames above it
  U32 depth = 0;
  U32 return_pc = 0;
  U32 local_offset = 0;  // of its local memory, for every lane
  AlignedBytes registers;
};

inline constexpr auto kBits32 = [] {
  std::array<U32, kLanes> bits{};
  for (int l = 0; l < kLanes; ++l) bits[l] = 1u << l;
  return bits;
}();
inline constexpr auto kBits64 = [] {
  std::array<U64, kLanes> bits{};
  for (int l = 0; l < kLanes; ++l) bits[l] = 1u << l;
  return bits;
}();

class Warp {
 public:
  explicit Warp(Block& block) : block(block) {}

  // Puts `lanes` threads at the start of an entry; the first is thread `first` of the block.
  void start(const Function& entry, U32 first, U32 lanes);
  // Runs until every thread has ended or waits at a barrier of the block.
  void run();

  // ---- Operands
  template <typename T>
  T* lanes(Operand o) {
    return reinterpret_cast<T*>(bases[o >> 30] + (o & 0x3fffffffu));
  }
  U32& predicate(Operand o) { return *lanes<U32>(o); }

  // d[l] = f(l) in the lanes that run; f is pure and defined for all lanes.
  template <typename T, typename F>
  void map(Operand to, F&& f) {
    T* const d = lanes<T>(to);
    if (exec == kAllLanes) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) d[l] = f(l);
    } else if (few) {
      for (U32 rest = exec; rest != 0; rest &= rest - 1) d[std::countr_zero(rest)] = f(std::countr_zero(rest));
    } else {
      blend<T>(d, f);
    }
  }
  // The same for what costs much or is not defined for all lanes.
  template <typename F>
  void each(F&& f) const {
    if (exec == kAllLanes) {
      for (int l = 0; l < kLanes; ++l) f(l);
    } else {
      for (U32 rest = exec; rest != 0; rest &= rest - 1) f(std::countr_zero(rest));
    }
  }
  // Writes a predicate from the lanes' masks.
  void set_predicate(Operand to, U32 value) {
    U32& d = predicate(to);
    d = (d & ~exec) | (value & exec);
  }

  // ---- Control
  void jump(U32 target);  // lanes of exec go there, the rest on
  void call(const CallSite& site);
  void leave();                             // ret
  void end_threads();                       // exit
  void wait_warp(U32 members);              // bar.warp.sync
  void wait_shuffle(const Instruction& i);  // until all lanes have their Shuffle: then all are made
  void wait_block();                        // bar.sync
  void release_block();                     // by the block, when all of its threads wait
  // Throws DeviceError with the function, the line and what stands there in the source.
  [[noreturn]] void fail(const Instruction& i, const std::string& why) const;
  std::string place(int lane) const;  // function and line of a thread

  Block& block;
  std::array<U8*, 3> bases{};
  U32 exec = 0;      // lanes that run this instruction
  bool few = false;  // few enough that one after another is cheaper
  U32 active = 0;    // lanes of the group that runs
  U32 pc = 0;
  Frame* frame = nullptr;
  U32 carry = 0;                                // CC.CF of each lane
  alignas(64) std::array<U64, kLanes> local{};  // address of each lane's local memory
  alignas(64) std::array<U64, kLanes> mask64{};
  U64 issued = 0;
  U32 alive = 0, waiting_warp = 0, waiting_block = 0, barrier_members = 0;
  // What a lane gives, whose it takes, and where that goes: lanes may be in frames of their own.
  struct Shuffle {
    U32 value, from;
    U32* to;
  };
  std::array<Shuffle, kLanes> shuffles{};
  U32 shuffling = 0;
  U32 first_thread = 0, index = 0;
  U32 warp_epoch = 0;

  const U64* masks64() {
    if (mask_of_ != exec) make_masks();
    return mask64.data();
  }
  Frame* frame_of(int lane) const { return lane_frame_[lane]; }

 private:
  template <typename T, typename F>
  void blend(T* d, F&& f) {
    if (mask_of_ != exec) make_masks();
    if constexpr (sizeof(T) == 8) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) {
        const U64 m = mask64[l];
        d[l] = std::bit_cast<T>((std::bit_cast<U64>(T(f(l))) & m) | (std::bit_cast<U64>(d[l]) & ~m));
      }
    } else if constexpr (sizeof(T) == 4) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) {
        const U32 m = mask32_[l];
        d[l] = std::bit_cast<T>((std::bit_cast<U32>(T(f(l))) & m) | (std::bit_cast<U32>(d[l]) & ~m));
      }
    } else {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) {
        const U16 m = static_cast<U16>(mask32_[l]);
        const U16 fresh = std::bit_cast<U16>(T(f(l))), old = std::bit_cast<U16>(d[l]);
        d[l] = std::bit_cast<T>(static_cast<U16>((fresh & m) | (old & ~m)));
      }
    }
  }
  void make_masks();
  void set_exec(U32 lanes) {
    exec = lanes;
    exec_count_ = std::popcount(lanes);
    few = exec_count_ <= 3;
  }
  void step();
  bool select();
  void enter(Frame* f, U32 lanes, U32 at, U32 stop);
  void park(U32 lanes, U32 at);
  Frame* push(const Function& function, const CallSite* site, Frame* parent, U32 members, U32 return_pc);
  void pop(Frame* f);
  void bind_specials();

  const Instruction* code_ = nullptr;
  Counts* counts_ = nullptr;
  U32 next_ = 0, stop_ = 0, mask_of_ = 0, exec_count_ = 0, active_count_ = 0;
  U64 backward_ = 0;
  alignas(64) std::array<U32, kLanes> mask32_{};
  std::array<U32, kLanes> lane_pc_{};
  std::array<Frame*, kLanes> lane_frame_{};
  std::vector<std::unique_ptr<Frame>> frames_, free_frames_;
  AlignedBytes specials_;
};

}  // namespace axion::ptx
