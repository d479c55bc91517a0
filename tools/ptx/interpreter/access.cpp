#include "tools/ptx/interpreter/access.hpp"

#include <algorithm>
#include <cstdio>

namespace axion::ptx {
namespace {

std::string hex(U64 address) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

[[noreturn]] void fail_access(Warp& w, const Instruction& i, int lane, U64 address, U32 bytes, const std::string& why) {
  w.fail(i, "thread " + std::to_string(w.first_thread + lane) + " touches " + std::to_string(bytes) + " bytes at " +
                hex(address) + ", " + why);
}

U64 stack_end(const Warp& w) { return w.frame->local_offset + w.frame->function->local_bytes; }

// Whether all running lanes lie in [begin(l), begin(l) + span]; the sign of `outside` says where one does not.
template <typename Begin>
bool inside(Warp& w, const Addresses& address, U32 bytes, U64 span, Begin&& begin, U64& low_bits) {
  U64 outside = 0, bits = 0;
  const U64 last = span - bytes;
  if (span < bytes) return false;
  if (w.few) {
    w.each([&](int l) {
      const U64 at = address[l] - begin(l);
      outside |= at | (last - at);
      bits |= address[l];
    });
  } else {
    const U64* mask = w.masks64();
    for (int l = 0; l < kLanes; ++l) {
      const U64 at = address[l] - begin(l);
      outside |= (at | (last - at)) & mask[l];
      bits |= address[l] & mask[l];
    }
  }
  low_bits = bits;
  return static_cast<S64>(outside) >= 0;
}

// The slow way: where each lane's address lies. Fails where it may not.
LastPlace find_place(Warp& w, const Instruction& i, int lane, U64 address, U32 bytes) {
  const Memory& memory = w.block.memory;
  const auto fail = [&](const std::string& why) { fail_access(w, i, lane, address, bytes, why); };
  if ((address & (bytes - 1)) != 0) fail("which is not aligned to them");
  const bool any = i.space == Space::kGeneric;
  if (memory.in_local(address)) {
    const U64 at = address - w.local[lane];
    if (at >= Memory::kLocalStride) fail("which is another thread's local memory");
    if (at + bytes > stack_end(w)) fail("which is beyond the end of its stack");
    if (!any && i.space != Space::kLocal && i.space != Space::kParam) fail("which is local memory");
    return {0, 0, Place::kLocal};
  }
  if (memory.in_shared(address)) {
    const bool fixed = address < memory.dynamic_shared();
    const U64 begin = fixed ? memory.shared() : memory.dynamic_shared();
    const U64 end = fixed ? w.block.static_end : w.block.shared_end;
    if (address + bytes > end) fail("which is beyond the end of shared memory");
    if (!any && i.space != Space::kShared) fail("which is shared memory");
    return {begin, end, Place::kShared};
  }
  const Region* region = memory.find(address);
  if (region == nullptr) {
    const Region* before = memory.find(address - 1);
    fail(before == nullptr ? "where nothing is allocated"
                           : "which is behind the end of " + before->name + " [" + hex(before->begin) + ", " +
                                 hex(before->end) + ")");
  }
  if (address + bytes > region->end) fail("which is across the end of " + region->name);
  if (!any && i.space != Space::kGlobal) fail("which is global memory");
  return {region->begin, region->end, Place::kFar};
}

Place find_places(Warp& w, const Instruction& i, const Addresses& address, U32 bytes, LastPlace& last) {
  LastPlace place;
  Place widest = Place::kUnknown;
  w.each([&](int l) {
    place = find_place(w, i, l, address[l], bytes);
    widest = std::max(widest, place.place);
  });
  last = place;
  return widest;
}

}  // namespace

void check_access(Warp& w, const Instruction& i, const Addresses& address, U32 bytes) {
  if (i.addressing == Addressing::kLane) {  // checked when it was decoded
    if (i.space == Space::kParam) return;
  }
  const Function& f = *w.frame->function;
  LastPlace& last = f.last[w.pc];
  U64 low_bits = 0;
  bool fine = false;
  if (last.place == Place::kLocal) {
    fine = inside(
        w, address, bytes, stack_end(w), [&](int l) { return w.local[l]; }, low_bits);
  } else if (last.place != Place::kUnknown) {
    const U64 begin = last.begin;
    fine = inside(
        w, address, bytes, last.end - begin, [begin](int) { return begin; }, low_bits);
  }
  Place place = last.place;
  if (!fine || (low_bits & (bytes - 1)) != 0) place = find_places(w, i, address, bytes, last);
  if (w.block.options.observe) w.block.options.observe({w, i, place, address, bytes});
}

void note_reads(Warp& w, const Instruction& i, const Addresses& address, U32 bytes, bool constant) {
  w.each([&](int l) {
    if (w.block.memory.in_local(address[l])) return;
    const Races::Access now{w.first_thread + l, w.block.epoch, w.warp_epoch, i.line};
    if (constant) w.block.races.read_constant(address[l], bytes, now);
    w.block.races.read(address[l], bytes, now);
  });
}

void note_write(Warp& w, const Instruction& i, int lane, U64 address, U32 bytes, const U8* data) {
  if (w.block.memory.in_local(address)) return;
  w.block.races.write(address, bytes, data, {w.first_thread + lane, w.block.epoch, w.warp_epoch, i.line});
}

}  // namespace axion::ptx
