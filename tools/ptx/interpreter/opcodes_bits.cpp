// Logic, shifts, fields of bits and bytes.
#include <type_traits>

#include "tools/ptx/interpreter/plain.hpp"

namespace axion::ptx {
namespace {

// Shifts by the width or more leave nothing (or the sign), as PTX says: the amount is clamped.
template <typename T>
constexpr auto kShl = [](T a, U32 n) -> T { return n >= 8 * sizeof(T) ? T(0) : static_cast<T>(U64(a) << n); };
template <typename T>
constexpr auto kShr = [](T a, U32 n) -> T {
  if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(a >> (n >= 8 * sizeof(T) ? 8 * sizeof(T) - 1 : n));
  } else {
    return n >= 8 * sizeof(T) ? T(0) : static_cast<T>(a >> n);
  }
};

template <typename T>
void add_logic(OpcodeTable& t) {
  const std::string type = "." + bits_name<T>();
  constexpr auto bit_and = [](T a, T b) { return static_cast<T>(a & b); };
  constexpr auto bit_or = [](T a, T b) { return static_cast<T>(a | b); };
  constexpr auto bit_xor = [](T a, T b) { return static_cast<T>(a ^ b); };
  constexpr auto bit_not = [](T a) { return static_cast<T>(~a); };
  t["and" + type] = binary_opcode<T, T, T, bit_and>(Class::kInteger);
  t["or" + type] = binary_opcode<T, T, T, bit_or>(Class::kInteger);
  t["xor" + type] = binary_opcode<T, T, T, bit_xor>(Class::kInteger);
  t["not" + type] = unary_opcode<T, T, bit_not>(Class::kInteger);
  using S = std::make_signed_t<T>;
  t["shl" + type] = binary_opcode<T, T, U32, kShl<T>>(Class::kInteger);
  t["shr" + type] = binary_opcode<T, T, U32, kShr<T>>(Class::kInteger);
  t["shr." + std::string(type_name<T>())] = binary_opcode<T, T, U32, kShr<T>>(Class::kInteger);
  t["shr." + std::string(type_name<S>())] = binary_opcode<S, S, U32, kShr<S>>(Class::kInteger);
}

// bfi: a's low bits put into b at c, for a length of d's fifth operand; of these position and length are 8 bits each.
template <typename T>
void insert_field(Warp& w, const Instruction& i) {
  const T* a = w.lanes<T>(i.a);
  const T* b = w.lanes<T>(i.b);
  const U32* c = w.lanes<U32>(i.c);
  const U32* n = w.lanes<U32>(static_cast<Operand>(i.value));
  constexpr U32 kBits = 8 * sizeof(T);
  w.map<T>(i.d, [=](int l) {
    const U32 at = c[l] & 0xff, count = n[l] & 0xff;
    const T low = count >= kBits ? static_cast<T>(~T(0)) : static_cast<T>((T(1) << count) - 1);
    const T mask = at >= kBits ? T(0) : static_cast<T>(low << at);
    const T field = at >= kBits ? T(0) : static_cast<T>(a[l] << at);
    return static_cast<T>((b[l] & ~mask) | (field & mask));
  });
}

template <typename T>
constexpr auto kExtract = [](T a, U32 at, U32 count) -> T {
  constexpr U32 kBits = 8 * sizeof(T);
  at &= 0xff, count &= 0xff;
  if (count == 0) return 0;
  const U32 end = at + count - 1 < kBits ? at + count - 1 : kBits - 1;
  const bool sign = std::is_signed_v<T> && (U64(a) >> end & 1) != 0;
  U64 bits = 0;
  for (U32 k = 0; k < kBits; ++k) {
    const bool bit = k < count && at + k < kBits ? (U64(a) >> (at + k) & 1) != 0 : sign;
    bits |= U64(bit) << k;
  }
  return static_cast<T>(bits);
};

template <typename T>
void extract_field(Warp& w, const Instruction& i) {
  T* d = w.lanes<T>(i.d);
  const T* a = w.lanes<T>(i.a);
  const U32* b = w.lanes<U32>(i.b);
  const U32* c = w.lanes<U32>(i.c);
  w.each([=](int l) { d[l] = kExtract<T>(a[l], b[l], c[l]); });
}

// Four bytes chosen among the eight of {b, a}; bit 3 of a selector spreads the byte's sign.
constexpr auto kPermute = [](U32 a, U32 b, U32 selectors) {
  const U64 bytes = U64(b) << 32 | a;
  U32 result = 0;
  for (int k = 0; k < 4; ++k) {
    const U32 s = selectors >> (4 * k) & 0xf;
    U32 byte = static_cast<U32>(bytes >> (8 * (s & 7))) & 0xff;
    if ((s & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << (8 * k);
  }
  return result;
};

template <bool kLeft, bool kClamp>
constexpr auto kFunnel = [](U32 a, U32 b, U32 c) {
  const U32 n = kClamp ? (c < 32 ? c : 32) : c & 31;
  const U64 both = U64(b) << 32 | a;
  return kLeft ? static_cast<U32>((both << n) >> 32) : static_cast<U32>(both >> n);
};

}  // namespace

void add_bit_opcodes(OpcodeTable& t) {
  for_types<U16, U32, U64>([&]<typename T>() { add_logic<T>(t); });
  // bfi has five operands: the length's place is the instruction's value (decoder).
  t["bfi.b32"] = plain(Class::kInteger, {4, 4, 4, 4}, insert_field<U32>);
  t["bfi.b64"] = plain(Class::kInteger, {8, 8, 8, 4}, insert_field<U64>);
  t["bfe.u32"] = plain(Class::kInteger, {4, 4, 4, 4}, extract_field<U32>);
  t["bfe.s32"] = plain(Class::kInteger, {4, 4, 4, 4}, extract_field<S32>);
  t["bfe.u64"] = plain(Class::kInteger, {8, 8, 4, 4}, extract_field<U64>);
  t["bfe.s64"] = plain(Class::kInteger, {8, 8, 4, 4}, extract_field<S64>);
  t["prmt.b32"] = ternary_opcode<U32, U32, U32, kPermute>(Class::kInteger);
  t["shf.l.clamp.b32"] = ternary_opcode<U32, U32, U32, kFunnel<true, true>>(Class::kInteger);
  t["shf.r.clamp.b32"] = ternary_opcode<U32, U32, U32, kFunnel<false, true>>(Class::kInteger);
  t["shf.l.wrap.b32"] = ternary_opcode<U32, U32, U32, kFunnel<true, false>>(Class::kInteger);
  t["shf.r.wrap.b32"] = ternary_opcode<U32, U32, U32, kFunnel<false, false>>(Class::kInteger);
  constexpr auto ones32 = [](U32 a) { return static_cast<U32>(std::popcount(a)); };
  constexpr auto ones64 = [](U64 a) { return static_cast<U32>(std::popcount(a)); };
  constexpr auto zeros32 = [](U32 a) { return static_cast<U32>(std::countl_zero(a)); };
  constexpr auto zeros64 = [](U64 a) { return static_cast<U32>(std::countl_zero(a)); };
  constexpr auto reverse = [](U32 a) {
    U32 r = 0;
    for (int k = 0; k < 32; ++k) r |= (a >> k & 1) << (31 - k);
    return r;
  };
  t["popc.b32"] = unary_opcode<U32, U32, ones32>(Class::kInteger);
  t["popc.b64"] = unary_opcode<U32, U64, ones64>(Class::kInteger);
  t["clz.b32"] = unary_opcode<U32, U32, zeros32>(Class::kInteger);
  t["clz.b64"] = unary_opcode<U32, U64, zeros64>(Class::kInteger);
  t["brev.b32"] = unary_opcode<U32, U32, reverse>(Class::kInteger);
}

}  // namespace axion::ptx
