// What every memory instruction does before it touches memory: finds its addresses and checks them.
#pragma once

#include "tools/ptx/interpreter/block.hpp"

namespace axion::ptx {

inline void find_addresses(Warp& w, const Instruction& i, Addresses& address) {
  const U64 offset = static_cast<U64>(i.value);
  switch (i.addressing) {
    case Addressing::kRegister64: {
      const U64* a = w.lanes<U64>(i.a);
      for (int l = 0; l < kLanes; ++l) address[l] = a[l] + offset;
      return;
    }
    case Addressing::kRegister32: {
      const U32* a = w.lanes<U32>(i.a);
      for (int l = 0; l < kLanes; ++l) address[l] = a[l] + offset;
      return;
    }
    case Addressing::kConstant:
      address.fill(offset);
      return;
    case Addressing::kLane:
      for (int l = 0; l < kLanes; ++l) address[l] = w.local[l] + w.frame->local_offset + offset;
      return;
  }
}

// `bytes` from each running lane's address: in live memory of the instruction's space, aligned to their number; of
// local memory the thread's own, below the end of its frame. Throws DeviceError: the function, the line, the address.
void check_access(Warp& w, const Instruction& i, const Addresses& address, U32 bytes);

// For Races.
void note_reads(Warp& w, const Instruction& i, const Addresses& address, U32 bytes, bool constant);
void note_write(Warp& w, const Instruction& i, int lane, U64 address, U32 bytes, const U8* data);

}  // namespace axion::ptx
