// Loads, stores and atomics; every address is checked before it is touched (access.hpp).
#include <cstring>

#include "tools/ptx/interpreter/access.hpp"
#include "tools/ptx/interpreter/plain.hpp"

namespace axion::ptx {
namespace {

template <typename M, typename R, int kVector, bool kConstant>
void load(Warp& w, const Instruction& i) {
  alignas(64) std::array<U64, kLanes> address;
  find_addresses(w, i, address);
  check_access(w, i, address, sizeof(M) * kVector);
  if (w.block.options.races) note_reads(w, i, address, sizeof(M) * kVector, kConstant);
  for (int k = 0; k < kVector; ++k) {
    const Operand to = kVector == 1 ? i.d : w.frame->function->lists[i.list][k];
    if (to == kNoOperand) continue;
    R* d = w.lanes<R>(to);
    w.each([&](int l) {
      M value;
      std::memcpy(&value, reinterpret_cast<const void*>(address[l] + k * sizeof(M)), sizeof(M));
      d[l] = static_cast<R>(value);
    });
  }
}

template <typename M, typename R, int kVector>
void store(Warp& w, const Instruction& i) {
  alignas(64) std::array<U64, kLanes> address;
  find_addresses(w, i, address);
  check_access(w, i, address, sizeof(M) * kVector);
  const bool races = w.block.options.races;
  for (int k = 0; k < kVector; ++k) {
    const R* from = w.lanes<R>(kVector == 1 ? i.b : w.frame->function->lists[i.list][k]);
    w.each([&](int l) {
      const M value = static_cast<M>(from[l]);
      const U64 to = address[l] + k * sizeof(M);
      if (races) note_write(w, i, l, to, sizeof(M), reinterpret_cast<const U8*>(&value));
      std::memcpy(reinterpret_cast<void*>(to), &value, sizeof(M));
    });
  }
}

enum class Atomic { kAdd, kMin, kMax, kExchange, kAnd, kOr, kXor, kSwap };

template <typename T, Atomic kOperation>
void atomic(Warp& w, const Instruction& i) {
  alignas(64) std::array<U64, kLanes> address;
  find_addresses(w, i, address);
  check_access(w, i, address, sizeof(T));
  T* d = i.d == kNoOperand ? nullptr : w.lanes<T>(i.d);
  const T* b = w.lanes<T>(i.b);
  const T* c = i.c == kNoOperand ? nullptr : w.lanes<T>(i.c);
  w.each([&](int l) {
    T& at = *reinterpret_cast<T*>(address[l]);
    const T old = at;
    if constexpr (kOperation == Atomic::kAdd) at = static_cast<T>(old + b[l]);
    if constexpr (kOperation == Atomic::kMin) at = b[l] < old ? b[l] : old;
    if constexpr (kOperation == Atomic::kMax) at = b[l] > old ? b[l] : old;
    if constexpr (kOperation == Atomic::kExchange) at = b[l];
    if constexpr (kOperation == Atomic::kAnd) at = old & b[l];
    if constexpr (kOperation == Atomic::kOr) at = old | b[l];
    if constexpr (kOperation == Atomic::kXor) at = old ^ b[l];
    if constexpr (kOperation == Atomic::kSwap) at = old == b[l] ? c[l] : old;
    if (d != nullptr) d[l] = old;
  });
}

constexpr std::pair<const char*, Space> kSpaces[] = {{"", Space::kGeneric},
                                                     {".global", Space::kGlobal},
                                                     {".shared", Space::kShared},
                                                     {".local", Space::kLocal},
                                                     {".param", Space::kParam}};

template <typename M, int kVector>
void add_access(OpcodeTable& t, const std::string& type) {
  Opcode in, out, constant;
  for_types<U16, U32, U64>([&]<typename R>() {
    if constexpr (sizeof(R) >= sizeof(M)) {
      in.run[width_index(sizeof(R))] = load<M, R, kVector, false>;
      constant.run[width_index(sizeof(R))] = load<M, R, kVector, true>;
      out.run[width_index(sizeof(R))] = store<M, R, kVector>;
    }
  });
  in.form = constant.form = Opcode::Form::kLoad;
  out.form = Opcode::Form::kStore;
  in.vector = constant.vector = out.vector = kVector;
  in.memory_bytes = constant.memory_bytes = out.memory_bytes = sizeof(M);
  const std::string vector = kVector == 1 ? "" : ".v" + std::to_string(kVector);
  for (const auto& [name, space] : kSpaces) {
    in.space = out.space = space;
    in.kind = space == Space::kParam ? Class::kParameter : Class::kLoad;
    out.kind = space == Space::kParam ? Class::kParameter : Class::kStore;
    for (const char* order : {"", ".volatile"}) {  // accesses take place in the order of the code anyway
      t["ld" + std::string(order) + std::string(name) + vector + "." + type] = in;
      t["st" + std::string(order) + std::string(name) + vector + "." + type] = out;
    }
  }
  constant.space = Space::kGlobal, constant.kind = Class::kLoad;
  t["ld.global.nc" + vector + "." + type] = constant;
}

template <typename M, int kVector>
void add_types(OpcodeTable& t) {
  const std::string digits = std::to_string(8 * sizeof(M));
  for (const char* kind : {"u", "b", "f"}) {
    if (kind[0] == 'f' && sizeof(M) < 4) continue;
    add_access<M, kVector>(t, kind + digits);
  }
  add_access<std::make_signed_t<M>, kVector>(t, "s" + digits);
}

template <typename T, Atomic kOperation>
void add_atomic(OpcodeTable& t, const std::string& operation, const std::string& type) {
  Opcode o = plain(Class::kAtomic, {sizeof(T), 8, sizeof(T), kOperation == Atomic::kSwap ? U8(sizeof(T)) : U8(0)},
                   atomic<T, kOperation>);
  o.form = Opcode::Form::kAtomic;
  o.memory_bytes = sizeof(T);
  for (const auto& [name, space] : kSpaces) {
    if (space == Space::kLocal || space == Space::kParam) continue;
    o.space = space;
    t["atom" + std::string(name) + "." + operation + "." + type] = o;
  }
}

}  // namespace

void add_memory_opcodes(OpcodeTable& t) {
  for_types<U8, U16, U32, U64>([&]<typename M>() {
    add_types<M, 1>(t);
    add_types<M, 2>(t);
    if constexpr (sizeof(M) < 8) add_types<M, 4>(t);
  });
  for_types<U32, S32, U64, S64>([&]<typename T>() {
    const std::string type = type_name<T>();
    if constexpr (!std::is_same_v<T, S64>) add_atomic<T, Atomic::kAdd>(t, "add", type);
    add_atomic<T, Atomic::kMin>(t, "min", type);
    add_atomic<T, Atomic::kMax>(t, "max", type);
  });
  for_types<U32, U64>([&]<typename T>() {
    add_atomic<T, Atomic::kExchange>(t, "exch", bits_name<T>());
    add_atomic<T, Atomic::kSwap>(t, "cas", bits_name<T>());
    add_atomic<T, Atomic::kAnd>(t, "and", bits_name<T>());
    add_atomic<T, Atomic::kOr>(t, "or", bits_name<T>());
    add_atomic<T, Atomic::kXor>(t, "xor", bits_name<T>());
  });
  add_atomic<float, Atomic::kAdd>(t, "add", "f32");
  add_atomic<double, Atomic::kAdd>(t, "add", "f64");
}

}  // namespace axion::ptx
