// Moves, packing and addresses.
#include <algorithm>

#include "tools/ptx/interpreter/plain.hpp"

namespace axion::ptx {
namespace {

template <typename T>
constexpr auto kSame = [](T a) { return a; };

void lane_address(Warp& w, const Instruction& i) {
  const U64 offset = w.frame->local_offset + static_cast<U64>(i.value);
  const U64* local = w.local.data();
  w.map<U64>(i.d, [=](int l) { return local[l] + offset; });
}

template <typename D, typename A, int kParts>
void pack(Warp& w, const Instruction& i) {
  const auto& list = w.frame->function->lists[i.list];
  std::array<const A*, kParts> parts;
  for (int k = 0; k < kParts; ++k) parts[k] = w.lanes<A>(list[k]);
  w.map<D>(i.d, [=](int l) {
    D value = 0;
    for (int k = 0; k < kParts; ++k) value = static_cast<D>(value | D(parts[k][l]) << (8 * sizeof(A) * k));
    return value;
  });
}

// The parts may be the source itself: it is read first.
template <typename D, typename A, int kParts>
void unpack(Warp& w, const Instruction& i) {
  const auto& list = w.frame->function->lists[i.list];
  alignas(64) std::array<A, kLanes> source;
  std::copy_n(w.lanes<A>(i.a), kLanes, source.begin());
  for (int k = 0; k < kParts; ++k) {
    if (list[k] == kNoOperand) continue;
    w.map<D>(list[k], [&](int l) { return static_cast<D>(source[l] >> (8 * sizeof(D) * k)); });
  }
}

}  // namespace

Handler move_lane_address() { return lane_address; }

Handler move_pack(int parts, int part_bytes) {
  if (parts == 2 && part_bytes == 4) return pack<U64, U32, 2>;
  if (parts == 2 && part_bytes == 2) return pack<U32, U16, 2>;
  if (parts == 4 && part_bytes == 2) return pack<U64, U16, 4>;
  return nullptr;
}

Handler move_unpack(int parts, int part_bytes) {
  if (parts == 2 && part_bytes == 4) return unpack<U32, U64, 2>;
  if (parts == 2 && part_bytes == 2) return unpack<U16, U32, 2>;
  if (parts == 4 && part_bytes == 2) return unpack<U16, U64, 4>;
  return nullptr;
}

void add_move_opcodes(OpcodeTable& t) {
  for_types<U16, U32, U64>([&]<typename T>() {
    Opcode o = unary_opcode<T, T, kSame<T>>(Class::kMove);
    o.form = Opcode::Form::kMove;
    const std::string digits = std::to_string(8 * sizeof(T));
    for (const char* kind : {"b", "u", "s", "f"}) t["mov." + (kind + digits)] = o;
  });
  // Addresses of all spaces are addresses of the host.
  const Opcode same = unary_opcode<U64, U64, kSame<U64>>(Class::kInteger);
  for (const std::string space : {"global", "shared", "local", "param"}) {
    t["cvta." + space + ".u64"] = same;
    t["cvta.to." + space + ".u64"] = same;
  }
}

}  // namespace axion::ptx
