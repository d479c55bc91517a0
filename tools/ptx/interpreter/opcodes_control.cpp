// Branches, calls, barriers and the ends of threads.
#include "tools/ptx/interpreter/block.hpp"
#include "tools/ptx/interpreter/plain.hpp"

namespace axion::ptx {
namespace {

void branch(Warp& w, const Instruction& i) { w.jump(static_cast<U32>(i.value)); }

void call(Warp& w, const Instruction& i) { w.call(w.frame->function->sites[static_cast<std::size_t>(i.value)]); }

void leave(Warp& w, const Instruction&) { w.leave(); }

void end_threads(Warp& w, const Instruction&) { w.end_threads(); }

void trap(Warp& w, const Instruction& i) { w.fail(i, "trap"); }

void run_over(Warp& w, const Instruction& i) { w.fail(i, "the code ends without ret"); }

void warp_barrier(Warp& w, const Instruction& i) {
  const U32* members = w.lanes<U32>(i.a);
  const U32 first = members[std::countr_zero(w.exec)];
  w.each([&](int l) {
    if (members[l] != first) w.fail(i, "threads of a warp wait with different members");
  });
  if (w.shuffling != 0) w.fail(i, "a barrier of the warp while threads of it wait in a shuffle");
  w.wait_warp(first);
}

void block_barrier(Warp& w, const Instruction& i) {
  const U32* number = w.lanes<U32>(i.a);
  w.each([&](int l) {
    if (number[l] != 0) w.fail(i, "a barrier with another number than 0");
  });
  w.wait_block();
}

void nothing(Warp&, const Instruction&) {}

// The parameters are message, file, line, function and the size of a character, at the callee's places.
void failed_assertion(Warp& w, const Instruction& i) {
  const CallSite& site = w.frame->function->sites[static_cast<std::size_t>(i.value)];
  const U64 at = w.local[std::countr_zero(w.exec)] + w.frame->local_offset;
  const auto text = [&](int k) {
    const U64 address = *reinterpret_cast<const U64*>(at + site.arguments[k].offset);
    return std::string(reinterpret_cast<const char*>(address));
  };
  const U32 line = *reinterpret_cast<const U32*>(at + site.arguments[2].offset);
  w.fail(i, "assertion failed: " + text(0) + ", " + text(1) + ":" + std::to_string(line));
}

void active_lanes(Warp& w, const Instruction& i) {
  const U32 lanes = w.exec;
  w.map<U32>(i.d, [=](int) { return lanes; });
}

void exchange(Warp& w, const Instruction& i) {
  const U32 *distance = w.lanes<U32>(i.b), *clamp = w.lanes<U32>(i.c);
  const U32* members = w.lanes<U32>(static_cast<Operand>(i.value));
  const auto p = static_cast<Operand>(static_cast<U64>(i.value) >> 32);
  w.each([&](int l) {
    if (clamp[l] != kLanes - 1 || members[l] != kAllLanes) w.fail(i, "a shuffle of parts of a warp");
  });
  if (p != kNoOperand) w.set_predicate(p, kAllLanes);  // every lane has a source
  w.each([&](int l) {
    w.shuffles[l] = {w.lanes<U32>(i.a)[l], (static_cast<U32>(l) ^ distance[l]) % kLanes, w.lanes<U32>(i.d) + l};
  });
  w.wait_shuffle(i);
}

// Bit l of what every lane gets is the predicate of lane l: a shuffle from all lanes at once.
void ballot(Warp& w, const Instruction& i) {
  const U32 votes = w.predicate(i.a);
  const U32* members = w.lanes<U32>(i.b);
  w.each([&](int l) {
    if (members[l] != kAllLanes) w.fail(i, "a vote of parts of a warp");
    w.shuffles[l] = {votes & (U32(1) << l), kLanes, w.lanes<U32>(i.d) + l};
  });
  w.wait_shuffle(i);
}

}  // namespace

Handler assertion_failed() { return failed_assertion; }
Handler end_of_code() { return run_over; }

void add_control_opcodes(OpcodeTable& t) {
  Opcode o = plain(Class::kBranch, {}, branch);
  o.form = Opcode::Form::kBranch;
  t["bra"] = t["bra.uni"] = o;
  o = plain(Class::kCall, {}, call);
  o.form = Opcode::Form::kCall;
  t["call"] = t["call.uni"] = o;
  t["ret"] = t["ret.uni"] = plain(Class::kCall, {}, leave);
  t["exit"] = plain(Class::kCall, {}, end_threads);
  t["trap"] = plain(Class::kCall, {}, trap);
  // Their one operand is a number: as a source it comes second.
  t["bar.warp.sync"] = plain(Class::kBarrier, {0, 4, 0, 0}, warp_barrier);
  t["bar.sync"] = t["barrier.sync"] = plain(Class::kBarrier, {0, 4, 0, 0}, block_barrier);
  // One warp runs at a time and its accesses take place in the order of the code.
  for (const char* name : {"membar.cta", "membar.gl", "membar.sys", "fence.acq_rel.cta", "fence.acq_rel.gpu",
                           "fence.sc.cta", "fence.sc.gpu"}) {
    t[name] = plain(Class::kBarrier, {}, nothing);
  }
  o = plain(Class::kShuffle, {4, 4, 4, 4}, exchange);
  o.form = Opcode::Form::kShuffle;
  t["shfl.sync.bfly.b32"] = o;
  t["vote.sync.ballot.b32"] = plain(Class::kShuffle, {4, 1, 4, 0}, ballot);
  t["activemask.b32"] = plain(Class::kInteger, {4, 0, 0, 0}, active_lanes);
}

}  // namespace axion::ptx
