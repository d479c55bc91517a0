#include "tools/ptx/interpreter/warp.hpp"

#include <algorithm>
#include <cstring>

#include "tools/ptx/interpreter/block.hpp"

namespace axion::ptx {
namespace {

constexpr U32 kNever = 0xffffffffu;

}  // namespace

void Warp::start(const Function& entry, U32 first, U32 lanes) {
  while (!frames_.empty()) pop(frames_.back().get());
  first_thread = first, index = first / kLanes;
  alive = lanes == kLanes ? kAllLanes : (1u << lanes) - 1;
  waiting_warp = waiting_block = shuffling = 0;
  carry = 0, warp_epoch = 0, backward_ = 0, active = 0, stop_ = 0;
  for (U32 l = 0; l < kLanes; ++l) local[l] = block.memory.local(first + (l < lanes ? l : 0));
  bind_specials();
  Frame* f = push(entry, nullptr, nullptr, alive, 0);
  lane_pc_.fill(0);
  lane_frame_.fill(f);
}

// %tid, %ntid, %ctaid, %nctaid (x, y, z each), %laneid, %warpid: arrays of 32, in the order of the decoder's table.
void Warp::bind_specials() {
  specials_.resize(14 * kLanes * sizeof(U32));
  U32* s = reinterpret_cast<U32*>(specials_.data());
  const Dim size = block.threads;
  for (U32 l = 0; l < kLanes; ++l) {
    const U32 t = first_thread + l;
    const U32 values[] = {
        t % size.x,    t / size.x % size.y, t / size.x / size.y, size.x,       size.y,       size.z, block.index.x,
        block.index.y, block.index.z,       block.grid.x,        block.grid.y, block.grid.z, l,      index};
    for (U32 k = 0; k < 14; ++k) s[k * kLanes + l] = values[k];
  }
  bases[kSpecials] = specials_.data();
}

Frame* Warp::push(const Function& function, const CallSite* site, Frame* parent, U32 members, U32 return_pc) {
  if (free_frames_.empty()) free_frames_.push_back(std::make_unique<Frame>());
  frames_.push_back(std::move(free_frames_.back()));
  free_frames_.pop_back();
  Frame& f = *frames_.back();
  f.function = &function, f.site = site, f.parent = parent, f.members = members, f.return_pc = return_pc;
  f.depth = parent == nullptr ? 0 : parent->depth + 1;
  f.local_offset = parent == nullptr ? 0 : parent->local_offset + parent->function->local_bytes;
  const U32 end = f.local_offset + function.local_bytes;
  if (end > Memory::kLocalBytes) throw DeviceError("the stack of " + function.name + " does not fit");
  block.local_used = std::max(block.local_used, end);
  if (function.spare.empty()) {
    f.registers.assign(function.register_bytes, 0xff);
  } else {
    f.registers = std::move(function.spare.back());
    function.spare.pop_back();
  }
  return &f;
}

void Warp::pop(Frame* f) {
  f->function->spare.push_back(std::move(f->registers));
  for (std::size_t k = frames_.size(); k-- > 0;) {
    if (frames_[k].get() != f) continue;
    free_frames_.push_back(std::move(frames_[k]));
    frames_.erase(frames_.begin() + static_cast<std::ptrdiff_t>(k));
    return;
  }
}

void Warp::enter(Frame* f, U32 lanes, U32 at, U32 stop) {
  frame = f, active = lanes, pc = at, stop_ = stop;
  active_count_ = std::popcount(lanes);
  set_exec(lanes);
  bases[kRegisters] = f->registers.data();
  bases[kConstants] = const_cast<U8*>(f->function->constants.data());
  code_ = f->function->code.data();
  counts_ = f->function->counts.data();
}

void Warp::park(U32 lanes, U32 at) {
  for (; lanes != 0; lanes &= lanes - 1) lane_pc_[std::countr_zero(lanes)] = at;
}

// Chooses the next group: of the deepest frame the lanes lowest in the code. They run until they reach the others.
bool Warp::select() {
  park(active, pc);
  active = 0;
  const U32 ready = alive & ~waiting_warp & ~waiting_block;
  if (ready == 0) return false;
  if (const Order order = block.options.order; order != Order::kLockstep) {
    const int l = order == Order::kForward ? std::countr_zero(ready) : kLanes - 1 - std::countl_zero(ready);
    enter(lane_frame_[l], 1u << l, lane_pc_[l], kNever);
    return true;
  }
  Frame* deepest = nullptr;
  for (U32 rest = ready; rest != 0; rest &= rest - 1) {
    Frame* f = lane_frame_[std::countr_zero(rest)];
    if (deepest == nullptr || f->depth > deepest->depth) deepest = f;
  }
  U32 low = kNever, second = kNever, lanes = 0;
  for (U32 rest = ready; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    if (lane_frame_[l] != deepest) continue;
    if (lane_pc_[l] < low) {
      second = low, low = lane_pc_[l], lanes = 1u << l;
    } else if (lane_pc_[l] == low) {
      lanes |= 1u << l;
    } else {
      second = std::min(second, lane_pc_[l]);
    }
  }
  enter(deepest, lanes, low, second);
  return true;
}

void Warp::run() {
  while (select()) {
    while (pc < stop_) step();
  }
}

inline void Warp::step() {
  const Instruction& i = code_[pc];
  Counts& counts = counts_[pc];
  next_ = pc + 1;
  ++counts.issued, ++issued;
  if (i.guard == kNoOperand) {
    counts.lanes += active_count_;
    i.run(*this, i);
  } else {
    const U32 p = predicate(i.guard);
    const U32 lanes = active & (i.guard_negated ? ~p : p);
    if (lanes != 0) {
      set_exec(lanes);
      counts.lanes += exec_count_;
      i.run(*this, i);
      if (active != 0) set_exec(active);
    }
  }
  pc = next_;
}

void Warp::jump(U32 target) {
  if (target <= pc && ++backward_ > block.options.backward_limit) {
    throw DeviceError("a loop that does not end in " + frame->function->name);
  }
  if (exec == active) {
    next_ = target;
    return;
  }
  park(exec, target);
  park(active & ~exec, pc + 1);
  active = 0, stop_ = 0;
}

void Warp::call(const CallSite& site) {
  if (exec != active) fail(code_[pc], "a call that some of the threads make");
  const Frame* from = frame;
  Frame* f = push(*site.callee, &site, frame, exec, pc + 1);
  for (std::size_t k = 0; k < site.arguments.size(); ++k) {
    const Slot &in = site.arguments[k], &out = site.callee->parameters[k];
    each([&](int l) {
      std::memcpy(reinterpret_cast<void*>(local[l] + f->local_offset + out.offset),
                  reinterpret_cast<void*>(local[l] + from->local_offset + in.offset), in.bytes);
    });
  }
  for (U32 rest = exec; rest != 0; rest &= rest - 1) lane_frame_[std::countr_zero(rest)] = f;
  enter(f, exec, 0, kNever);
  next_ = 0;
}

void Warp::leave() {
  if (frame->parent == nullptr) {
    end_threads();
    return;
  }
  Frame* f = frame;
  const CallSite& site = *f->site;
  for (std::size_t k = 0; k < site.results.size(); ++k) {
    const Slot &to = site.results[k], &from = f->function->results[k];
    each([&](int l) {
      std::memcpy(reinterpret_cast<void*>(local[l] + f->parent->local_offset + to.offset),
                  reinterpret_cast<void*>(local[l] + f->local_offset + from.offset), to.bytes);
    });
  }
  for (U32 rest = exec; rest != 0; rest &= rest - 1) lane_frame_[std::countr_zero(rest)] = f->parent;
  park(exec, f->return_pc);
  park(active & ~exec, pc + 1);
  f->members &= ~exec;
  active = 0, stop_ = 0;
  if (f->members == 0) pop(f);
}

void Warp::end_threads() {
  alive &= ~exec;
  park(active & ~exec, pc + 1);
  active = 0, stop_ = 0;
  if (alive != 0 && waiting_warp != 0 && (waiting_warp & barrier_members) == (alive & barrier_members)) {
    waiting_warp = 0, ++warp_epoch;
  }
}

void Warp::wait_warp(U32 members) {
  if ((exec & ~members) != 0) fail(code_[pc], "a thread waits at a barrier that it is no member of");
  if (waiting_warp != 0 && members != barrier_members) fail(code_[pc], "threads of a warp wait with different members");
  barrier_members = members;
  waiting_warp |= exec;
  const bool met = (waiting_warp & members) == (alive & members);
  if (met) waiting_warp = 0, backward_ = 0, ++warp_epoch;
  if (met && exec == alive) return;  // all at once: they go on
  park(active, pc + 1);
  active = 0, stop_ = 0;
}

void Warp::wait_shuffle(const Instruction& i) {
  if ((waiting_warp & ~shuffling) != 0) fail(i, "a shuffle while threads of the warp wait at a barrier");
  shuffling |= exec;
  if (shuffling == kAllLanes) {
    U32 all = 0;
    for (const Shuffle& s : shuffles) all |= s.value;
    for (const Shuffle& s : shuffles) *s.to = s.from < kLanes ? shuffles[s.from].value : all;
    shuffling = 0;
  }
  wait_warp(kAllLanes);
}

void Warp::wait_block() {
  waiting_block |= exec;
  park(active, pc + 1);
  active = 0, stop_ = 0;
}

void Warp::release_block() { waiting_block = 0, backward_ = 0, ++warp_epoch; }

void Warp::make_masks() {
  mask_of_ = exec;
  const U32 lanes = exec;
  for (int l = 0; l < kLanes; ++l) mask32_[l] = (lanes & kBits32[l]) != 0 ? kAllLanes : 0;
  for (int l = 0; l < kLanes; ++l) mask64[l] = (lanes & kBits64[l]) != 0 ? ~U64(0) : 0;
}

// A parked lane stands behind the instruction that it waits at.
std::string Warp::place(int lane) const {
  const Function& f = *lane_frame_[lane]->function;
  const U32 at = lane_pc_[lane] == 0 ? 0 : lane_pc_[lane] - 1;
  return f.name + ", line " + std::to_string(f.code[at].line) + " " + block.module.source(f.code[at]);
}

void Warp::fail(const Instruction& i, const std::string& why) const {
  throw DeviceError(why + " in " + frame->function->name + ", line " + std::to_string(i.line) + " " +
                    block.module.source(i) + ", block " + std::to_string(block.index.x) + ", threads from " +
                    std::to_string(first_thread));
}

}  // namespace axion::ptx
