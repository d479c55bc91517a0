// Float arithmetic, as IEEE 754 rounds it: the host's own, without contraction. NaN results have the host's bits.
#include <cmath>
#include <limits>

#include "tools/ptx/interpreter/plain.hpp"

namespace axion::ptx {
namespace {

template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == 8, U64, U32>;
template <typename T>
constexpr BitsOf<T> kSign = BitsOf<T>(1) << (8 * sizeof(T) - 1);

template <typename T>
constexpr auto kNegate = [](T a) { return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) ^ kSign<T>); };
template <typename T>
constexpr auto kMagnitude = [](T a) { return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) & ~kSign<T>); };
// copysign d, a, b: b with the sign of a.
template <typename T>
constexpr auto kCopySign = [](T a, T b) {
  return std::bit_cast<T>((std::bit_cast<BitsOf<T>>(b) & ~kSign<T>) | (std::bit_cast<BitsOf<T>>(a) & kSign<T>));
};

template <typename T>
constexpr T kCanonicalNan = std::bit_cast<T>(sizeof(T) == 8 ? BitsOf<T>(0x7ff8000000000000ull) : BitsOf<T>(0x7fffffff));

// The number where one is no number; -0 below +0.
template <typename T>
constexpr auto kMin = [](T a, T b) {
  if (a != a) return b != b ? kCanonicalNan<T> : b;
  if (b != b) return a;
  if (a == b) return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) | std::bit_cast<BitsOf<T>>(b));
  return a < b ? a : b;
};
template <typename T>
constexpr auto kMax = [](T a, T b) {
  if (a != a) return b != b ? kCanonicalNan<T> : b;
  if (b != b) return a;
  if (a == b) return std::bit_cast<T>(std::bit_cast<BitsOf<T>>(a) & std::bit_cast<BitsOf<T>>(b));
  return a < b ? b : a;
};

// a + b rounded to zero: the nearest, stepped back where it lies beyond the exact sum (Knuth's two-sum gives the rest).
template <typename T>
constexpr auto kAddToZero = [](T a, T b) {
  const T sum = a + b;
  if (!std::isfinite(sum)) {
    return std::isfinite(a) && std::isfinite(b) ? std::copysign(std::numeric_limits<T>::max(), sum) : sum;
  }
  const T part = sum - a;
  const T rest = (a - (sum - part)) + (b - part);
  return rest != 0 && (rest < 0) != (sum < 0) ? std::nextafter(sum, T(0)) : sum;
};

template <typename T, auto F>
void binary_float_each(Warp& w, const Instruction& i) {
  binary_each<T, T, F>(w, i);
}

template <typename T>
void fused(Warp& w, const Instruction& i) {
  T* d = w.lanes<T>(i.d);
  const T* a = w.lanes<T>(i.a);
  const T* b = w.lanes<T>(i.b);
  const T* c = w.lanes<T>(i.c);
  w.each([=](int l) { d[l] = std::fma(a[l], b[l], c[l]); });
}

template <typename T>
void add_float(OpcodeTable& t) {
  constexpr bool kWide = sizeof(T) == 8;
  const std::string type = std::string(".") + type_name<T>();
  constexpr Class kind = kWide ? Class::kFloat64 : Class::kFloat32;
  constexpr auto add = [](T a, T b) { return a + b; };
  constexpr auto sub = [](T a, T b) { return a - b; };
  constexpr auto mul = [](T a, T b) { return a * b; };
  constexpr auto div = [](T a, T b) { return a / b; };
  constexpr auto root = [](T a) { return std::sqrt(a); };
  constexpr auto reciprocal = [](T a) { return T(1) / a; };
  const std::array<U8, 4> two{sizeof(T), sizeof(T), sizeof(T), 0}, three{sizeof(T), sizeof(T), sizeof(T), sizeof(T)};
  // Without .rn the assembler may fuse a product and a sum: such text is refused.
  t["add.rn" + type] = binary_opcode<T, T, T, add>(kind);
  t["sub.rn" + type] = binary_opcode<T, T, T, sub>(kind);
  t["mul.rn" + type] = binary_opcode<T, T, T, mul>(kind);
  t["add.rz" + type] = plain(kind, two, binary_float_each<T, kAddToZero<T>>);
  t["fma.rn" + type] = plain(kind, three, fused<T>);
  t["div.rn" + type] = binary_opcode<T, T, T, div>(kWide ? Class::kDivide64 : Class::kDivide32);
  t["sqrt.rn" + type] = unary_opcode<T, T, root>(kWide ? Class::kRoot64 : Class::kRoot32);
  t["rcp.rn" + type] = unary_opcode<T, T, reciprocal>(kWide ? Class::kReciprocal64 : Class::kReciprocal32);
  t["neg" + type] = unary_opcode<T, T, kNegate<T>>(Class::kFloatOther);
  t["abs" + type] = unary_opcode<T, T, kMagnitude<T>>(Class::kFloatOther);
  t["copysign" + type] = binary_opcode<T, T, T, kCopySign<T>>(Class::kFloatOther);
  t["min" + type] = binary_opcode<T, T, T, kMin<T>>(Class::kFloatOther);
  t["max" + type] = binary_opcode<T, T, T, kMax<T>>(Class::kFloatOther);
}

// What the ISA leaves open is given exactly here, in the upper half of a float64: other bits than a device's.
constexpr auto kInverseRoot = [](float a) {
  const float flushed = std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0f, a) : a;
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(flushed)));
};
constexpr auto kInverseRootWide = [](double a) {
  const double flushed = std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0, a) : a;
  return std::bit_cast<double>(std::bit_cast<U64>(1.0 / std::sqrt(flushed)) & 0xffffffff00000000ull);
};

}  // namespace

void add_float_opcodes(OpcodeTable& t) {
  add_float<float>(t);
  add_float<double>(t);
  Opcode narrow = unary_opcode<float, float, kInverseRoot>(Class::kRoot32);
  Opcode wide = unary_opcode<double, double, kInverseRootWide>(Class::kRoot64);
  narrow.inexact = wide.inexact = true;
  t["rsqrt.approx.ftz.f32"] = narrow;
  t["rsqrt.approx.ftz.f64"] = wide;
}

}  // namespace axion::ptx
