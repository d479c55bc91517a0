// Integer arithmetic.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "tools/ptx/interpreter/plain.hpp"

namespace axion::ptx {
namespace {

__extension__ using S128 = __int128;
__extension__ using U128 = unsigned __int128;

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
// Wide enough that neither sums nor products of T overflow: arithmetic modulo 2^n without undefined behaviour.
template <typename T>
using Modular = std::conditional_t<sizeof(T) == 8, U64, U32>;

template <typename T>
using Wide = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, S32, U32>,
                                std::conditional_t<std::is_signed_v<T>, S64, U64>>;

template <typename T>
constexpr auto kMulHi = [](T a, T b) -> T {
  if constexpr (sizeof(T) == 8) {
    using Twice = std::conditional_t<std::is_signed_v<T>, S128, U128>;
    return static_cast<T>((Twice(a) * Twice(b)) >> 64);
  } else {
    return static_cast<T>((Wide<T>(a) * Wide<T>(b)) >> (8 * sizeof(T)));
  }
};

// Division by zero is unspecified in PTX; NVIDIA's devices give all ones, as here.
template <typename T>
constexpr auto kDiv = [](T a, T b) -> T {
  if (b == 0) return static_cast<T>(~T(0));
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(Unsigned<T>(0) - Unsigned<T>(a));
  }
  return static_cast<T>(a / b);
};
template <typename T>
constexpr auto kRem = [](T a, T b) -> T {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
};

template <typename T>
void add_arithmetic(OpcodeTable& t) {
  using M = Modular<T>;
  const std::string type = std::string(".") + type_name<T>();
  constexpr auto add = [](T a, T b) { return static_cast<T>(M(a) + M(b)); };
  constexpr auto sub = [](T a, T b) { return static_cast<T>(M(a) - M(b)); };
  constexpr auto mul = [](T a, T b) { return static_cast<T>(M(a) * M(b)); };
  constexpr auto mad = [](T a, T b, T c) { return static_cast<T>(M(a) * M(b) + M(c)); };
  constexpr auto mad_hi = [](T a, T b, T c) { return static_cast<T>(M(kMulHi<T>(a, b)) + M(c)); };
  constexpr auto min = [](T a, T b) { return std::min(a, b); };
  constexpr auto max = [](T a, T b) { return std::max(a, b); };
  t["add" + type] = binary_opcode<T, T, T, add>(Class::kInteger);
  t["sub" + type] = binary_opcode<T, T, T, sub>(Class::kInteger);
  t["mul.lo" + type] = binary_opcode<T, T, T, mul>(Class::kInteger);
  t["mul.hi" + type] = binary_opcode<T, T, T, kMulHi<T>>(Class::kInteger);
  t["mad.lo" + type] = ternary_opcode<T, T, T, mad>(Class::kInteger);
  t["mad.hi" + type] = ternary_opcode<T, T, T, mad_hi>(Class::kInteger);
  t["min" + type] = binary_opcode<T, T, T, min>(Class::kInteger);
  t["max" + type] = binary_opcode<T, T, T, max>(Class::kInteger);
  const std::array<U8, 4> widths{sizeof(T), sizeof(T), sizeof(T), 0};
  t["div" + type] = plain(Class::kInteger, widths, binary_each<T, T, kDiv<T>>);
  t["rem" + type] = plain(Class::kInteger, widths, binary_each<T, T, kRem<T>>);
  if constexpr (std::is_signed_v<T>) {
    constexpr auto neg = [](T a) { return static_cast<T>(M(0) - M(a)); };
    constexpr auto abs = [](T a) { return static_cast<T>(a < 0 ? M(0) - M(a) : M(a)); };
    t["neg" + type] = unary_opcode<T, T, neg>(Class::kInteger);
    t["abs" + type] = unary_opcode<T, T, abs>(Class::kInteger);
  }
}

template <typename T>
void add_wide(OpcodeTable& t) {
  using W = Wide<T>;
  using M = std::make_unsigned_t<W>;
  constexpr auto mul = [](T a, T b) { return static_cast<W>(W(a) * W(b)); };
  constexpr auto mad = [](T a, T b, W c) { return static_cast<W>(M(W(a) * W(b)) + M(c)); };
  t[std::string("mul.wide.") + type_name<T>()] = binary_opcode<W, T, T, mul>(Class::kInteger);
  t[std::string("mad.wide.") + type_name<T>()] = ternary_opcode<W, T, W, mad>(Class::kInteger);
}

// Arithmetic with carry, lane by lane: it is rare. kUses: 1 sets the carry, 2 adds it, 3 both.

template <typename T, int kUses, bool kSub>
void add_carry(Warp& w, const Instruction& i) {
  T* d = w.lanes<T>(i.d);
  const T* a = w.lanes<T>(i.a);
  const T* b = w.lanes<T>(i.b);
  U32 carry = w.carry;
  w.each([&](int l) {
    const T in = (kUses & 2) != 0 ? (carry >> l & 1) : 0;
    const U128 sum = kSub ? U128(a[l]) - b[l] - in : U128(a[l]) + b[l] + in;
    d[l] = static_cast<T>(sum);
    carry = (carry & ~(1u << l)) | static_cast<U32>(sum >> (8 * sizeof(T)) & 1) << l;
  });
  if ((kUses & 1) != 0) w.carry = carry;
}

template <int kUses, bool kHigh>
void mad_carry(Warp& w, const Instruction& i) {
  U32* d = w.lanes<U32>(i.d);
  const U32* a = w.lanes<U32>(i.a);
  const U32* b = w.lanes<U32>(i.b);
  const U32* c = w.lanes<U32>(i.c);
  U32 carry = w.carry;
  w.each([&](int l) {
    const U64 product = U64(a[l]) * b[l];
    const U64 in = (kUses & 2) != 0 ? (carry >> l & 1) : 0;
    const U64 sum = U64(kHigh ? static_cast<U32>(product >> 32) : static_cast<U32>(product)) + c[l] + in;
    d[l] = static_cast<U32>(sum);
    carry = (carry & ~(1u << l)) | static_cast<U32>(sum >> 32 & 1) << l;
  });
  if ((kUses & 1) != 0) w.carry = carry;
}

template <typename T>
void add_carries(OpcodeTable& t) {
  const std::array<U8, 4> widths{sizeof(T), sizeof(T), sizeof(T), 0};
  for (const std::string type : {"u", "s"}) {
    const std::string name = type + std::to_string(8 * sizeof(T));
    t["add.cc." + name] = plain(Class::kInteger, widths, add_carry<T, 1, false>);
    t["addc." + name] = plain(Class::kInteger, widths, add_carry<T, 2, false>);
    t["addc.cc." + name] = plain(Class::kInteger, widths, add_carry<T, 3, false>);
    t["sub.cc." + name] = plain(Class::kInteger, widths, add_carry<T, 1, true>);
    t["subc." + name] = plain(Class::kInteger, widths, add_carry<T, 2, true>);
    t["subc.cc." + name] = plain(Class::kInteger, widths, add_carry<T, 3, true>);
  }
}

}  // namespace

void add_integer_opcodes(OpcodeTable& t) {
  for_types<U16, S16, U32, S32, U64, S64>([&]<typename T>() { add_arithmetic<T>(t); });
  for_types<U16, S16, U32, S32>([&]<typename T>() { add_wide<T>(t); });
  add_carries<U32>(t);
  add_carries<U64>(t);
  const std::array<U8, 4> widths{4, 4, 4, 4};
  t["mad.lo.cc.u32"] = plain(Class::kInteger, widths, mad_carry<1, false>);
  t["madc.lo.u32"] = plain(Class::kInteger, widths, mad_carry<2, false>);
  t["madc.lo.cc.u32"] = plain(Class::kInteger, widths, mad_carry<3, false>);
  t["mad.hi.cc.u32"] = plain(Class::kInteger, widths, mad_carry<1, true>);
  t["madc.hi.u32"] = plain(Class::kInteger, widths, mad_carry<2, true>);
  t["madc.hi.cc.u32"] = plain(Class::kInteger, widths, mad_carry<3, true>);
}

}  // namespace axion::ptx
