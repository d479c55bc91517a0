// Races: two threads of a block that touch a byte between two barriers, one of them writing.
//
// Threads of a warp are ordered by bar.warp.sync, threads of a block by bar.sync; lockstep orders nothing, as on
// devices whose threads are scheduled one by one. A write of what the byte holds already is let pass. Of the readers of
// a byte two are kept, of different warps where there are such.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/ptx/interpreter/instruction.hpp"

namespace axion::ptx {

class Races {
 public:
  struct Access {
    U32 thread = 0, block_epoch = 0, warp_epoch = 0;
    U32 line = 0;  // in the PTX; 0: no access
  };
  // A pair of lines that raced, as met first: what the later access did, and who did what before it.
  struct Race {
    std::string kind;
    Access now, before;
    U64 address = 0;
  };

  void read(U64 address, U32 bytes, const Access& now);
  // `data`: what will be written; memory still holds what was there.
  void write(U64 address, U32 bytes, const U8* data, const Access& now);
  // A read through the cache that is not kept coherent (ld.global.nc): nobody may have written there.
  void read_constant(U64 address, U32 bytes, const Access& now);
  // Forgets a block.
  void clear() { pages_.clear(), page_ = nullptr; }
  const std::vector<Race>& found() const { return found_; }

 private:
  struct Cell {
    Access writer, readers[2];
  };
  struct Page {
    Cell cells[256];
  };

  Cell& cell(U64 address);
  void report(const char* kind, const Access& now, const Access& before, U64 address);

  std::unordered_map<U64, std::unique_ptr<Page>> pages_;
  Page* page_ = nullptr;
  U64 page_of_ = 0;
  std::vector<Race> found_;
  std::set<std::pair<U32, U32>> lines_;
};

}  // namespace axion::ptx
