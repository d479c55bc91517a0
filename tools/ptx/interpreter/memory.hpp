// The memory that a device program may touch: allocations, shared memory and each thread's local memory.
//
// Every address is one of the host, in whatever space PTX names it. Shared memory lies below 4 GiB, because PTX also
// holds its addresses in 32 bits. An allocation's addresses are never given out again, so that its use after its
// release is found.
#pragma once

#include <map>
#include <string>

#include "tools/ptx/interpreter/instruction.hpp"

namespace axion::ptx {

struct Region {
  U64 begin = 0, end = 0;
  std::string name;
};

class Memory {
 public:
  static constexpr U64 kSharedBytes = 228 << 10;
  static constexpr U64 kStaticShared = 64 << 10;  // room for static variables of all entries
  static constexpr U64 kMaxThreads = 1024;
  static constexpr U64 kLocalBytes = 128 << 10;  // of one thread
  // Lanes lie apart by what does not map them all to the same lines of a cache.
  static constexpr U64 kLocalStride = kLocalBytes + 320;

  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Aligned to 256 bytes. The first 16 MiB are filled with 0xff: a float that nobody wrote is no number there. 0 when
  // there is no room.
  U64 allocate(U64 bytes, std::string name = "allocation");
  // False when no allocation starts there.
  bool release(U64 address);
  // Makes memory of the host known, e.g. a module's variables, or pinned memory.
  void add(Region region);
  void remove(U64 begin);

  // The allocation that an address lies in, or null.
  const Region* find(U64 address) const;
  bool holds(U64 address, U64 bytes) const;
  bool in_arena(U64 address) const { return address >= arena_ && address < arena_ + kArenaBytes; }
  U64 allocated() const { return allocated_; }
  // The youngest that lives; 0: none.
  U64 last_allocation() const;
  // Changes when a region goes or comes.
  U64 version() const { return version_; }

  // Static variables lie at the start of shared memory, dynamic shared memory behind their room.
  U64 shared() const { return shared_; }
  U64 dynamic_shared() const { return shared_ + kStaticShared; }
  U64 local(U32 thread) const { return local_ + thread * kLocalStride; }
  bool in_local(U64 address) const { return address >= local_ && address < local_ + kMaxThreads * kLocalStride; }
  bool in_shared(U64 address) const { return address >= shared_ && address < shared_ + kStaticShared + kSharedBytes; }

  // Whether the host may touch allocations: without it, doing so ends the program.
  void open(bool is_open);

 private:
  static constexpr U64 kArenaBytes = U64(64) << 30;  // of addresses; pages come as they are touched

  U64 arena_ = 0, used_ = 0, allocated_ = 0, version_ = 1;
  U64 shared_ = 0, local_ = 0;
  std::map<U64, Region> regions_;
};

}  // namespace axion::ptx
