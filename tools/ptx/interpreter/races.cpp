#include "tools/ptx/interpreter/races.hpp"

namespace axion::ptx {
namespace {

bool ordered(const Races::Access& before, const Races::Access& now) {
  if (before.line == 0 || before.thread == now.thread || before.block_epoch != now.block_epoch) return true;
  return before.thread / kLanes == now.thread / kLanes && before.warp_epoch != now.warp_epoch;
}

}  // namespace

Races::Cell& Races::cell(U64 address) {
  const U64 page = address >> 8;
  if (page_ == nullptr || page_of_ != page) {
    std::unique_ptr<Page>& found = pages_[page];
    if (found == nullptr) found = std::make_unique<Page>();
    page_ = found.get(), page_of_ = page;
  }
  return page_->cells[address & 255];
}

void Races::report(const char* kind, const Access& now, const Access& before, U64 address) {
  if (lines_.emplace(now.line, before.line).second) found_.push_back({kind, now, before, address});
}

void Races::read(U64 address, U32 bytes, const Access& now) {
  for (U32 k = 0; k < bytes; ++k) {
    Cell& c = cell(address + k);
    if (!ordered(c.writer, now)) report("reads what was written", now, c.writer, address + k);
    // The place of a reader that later accesses are ordered after, else of one of the same warp.
    Access* place = &c.readers[0];
    for (Access& r : c.readers) {
      if (r.thread == now.thread || ordered(r, now)) {
        place = &r;
        break;
      }
      if (r.thread / kLanes == now.thread / kLanes) place = &r;
    }
    *place = now;
  }
}

void Races::write(U64 address, U32 bytes, const U8* data, const Access& now) {
  for (U32 k = 0; k < bytes; ++k) {
    Cell& c = cell(address + k);
    const bool changes = *reinterpret_cast<const U8*>(address + k) != data[k];
    if (changes && !ordered(c.writer, now)) report("writes what was written", now, c.writer, address + k);
    for (const Access& r : c.readers) {
      if (changes && !ordered(r, now)) report("writes what was read", now, r, address + k);
    }
    c.writer = now;
  }
}

void Races::read_constant(U64 address, U32 bytes, const Access& now) {
  for (U32 k = 0; k < bytes; ++k) {
    const Cell& c = cell(address + k);
    if (c.writer.line != 0) report("reads as constant what was written", now, c.writer, address + k);
  }
}

}  // namespace axion::ptx
