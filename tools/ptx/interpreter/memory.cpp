#include "tools/ptx/interpreter/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace axion::ptx {
namespace {

constexpr U64 kAlign = 256;
constexpr U64 kGap = 4096;  // between allocations: an index that runs over one's end does not reach the next
constexpr int kFresh = 0xff;
constexpr U64 kFilled = 16 << 20;  // of what is large the most is never touched

U64 map(U64 bytes, int flags) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return reinterpret_cast<U64>(at);
}

}  // namespace

Memory::Memory()
    : arena_(map(kArenaBytes, 0)),
      shared_(map(kStaticShared + kSharedBytes, MAP_32BIT)),
      local_(map(kMaxThreads * kLocalStride, 0)) {}

Memory::~Memory() {
  munmap(reinterpret_cast<void*>(arena_), kArenaBytes);
  munmap(reinterpret_cast<void*>(shared_), kStaticShared + kSharedBytes);
  munmap(reinterpret_cast<void*>(local_), kMaxThreads * kLocalStride);
}

U64 Memory::allocate(U64 bytes, std::string name) {
  const U64 begin = arena_ + (used_ + kAlign - 1) / kAlign * kAlign;
  if (bytes > kArenaBytes / 2 || begin + bytes + kGap > arena_ + kArenaBytes) return 0;
  used_ = begin + bytes + kGap - arena_;
  allocated_ += bytes;
  std::memset(reinterpret_cast<void*>(begin), kFresh, std::min(bytes, kFilled));
  add({begin, begin + bytes, std::move(name)});
  return begin;
}

bool Memory::release(U64 address) {
  const auto region = regions_.find(address);
  if (region == regions_.end() || !in_arena(address)) return false;
  allocated_ -= region->second.end - region->second.begin;
  constexpr U64 kPage = 4096;
  const U64 first = (address + kPage - 1) / kPage * kPage, last = region->second.end / kPage * kPage;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  regions_.erase(region);
  ++version_;
  return true;
}

void Memory::add(Region region) {
  const U64 begin = region.begin;
  regions_[begin] = std::move(region);
  ++version_;
}

void Memory::remove(U64 begin) {
  regions_.erase(begin);
  ++version_;
}

const Region* Memory::find(U64 address) const {
  auto after = regions_.upper_bound(address);
  if (after == regions_.begin()) return nullptr;
  const Region& region = std::prev(after)->second;
  return address < region.end ? &region : nullptr;
}

U64 Memory::last_allocation() const {
  const auto after = regions_.lower_bound(arena_ + kArenaBytes);
  return after != regions_.begin() && in_arena(std::prev(after)->first) ? std::prev(after)->first : 0;
}

bool Memory::holds(U64 address, U64 bytes) const {
  const Region* region = find(address);
  return region != nullptr && bytes <= region->end - address;
}

void Memory::open(bool is_open) {
  mprotect(reinterpret_cast<void*>(arena_), kArenaBytes, is_open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

}  // namespace axion::ptx
