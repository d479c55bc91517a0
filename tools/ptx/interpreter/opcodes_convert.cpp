// Conversions. A register may be wider than the type: it is then cut, or filled with the sign or zeros.
#include <cmath>
#include <limits>
#include <type_traits>

#include "tools/ptx/interpreter/plain.hpp"

namespace axion::ptx {
namespace {

// Of integers: D(S) with registers of RD and RS.
template <typename D, typename S, typename RD, typename RS>
void convert(Warp& w, const Instruction& i) {
  const RS* a = w.lanes<RS>(i.a);
  w.map<RD>(i.d, [=](int l) { return static_cast<RD>(static_cast<D>(static_cast<S>(a[l]))); });
}

template <typename D, typename S>
void add_integers(OpcodeTable& t) {
  Opcode o;
  o.form = Opcode::Form::kConvert;
  o.kind = Class::kConvert;
  o.widths = {sizeof(D), sizeof(S), 0, 0};
  for_types<U16, U32, U64>([&]<typename RD>() {
    for_types<U16, U32, U64>([&]<typename RS>() {
      if constexpr (sizeof(RD) >= sizeof(D) && sizeof(RS) >= sizeof(S)) {
        o.run[3 * width_index(sizeof(RS)) + width_index(sizeof(RD))] = convert<D, S, RD, RS>;
      }
    });
  });
  t[std::string("cvt.") + type_name<D>() + "." + type_name<S>()] = o;
}

// To an integer: clamped to its range; no number becomes 0, from a float64 the lowest signed or highest unsigned.
template <typename D, typename S, auto Round>
constexpr auto kToInteger = [](S a) -> D {
  if (a != a) {
    if constexpr (sizeof(S) == 4) return 0;
    return std::is_signed_v<D> ? std::numeric_limits<D>::min() : std::numeric_limits<D>::max();
  }
  const S r = Round(a);
  constexpr S kLow = static_cast<S>(std::numeric_limits<D>::min());
  constexpr S kEnd = std::is_signed_v<D> ? -kLow : static_cast<S>(std::numeric_limits<D>::max() / 2 + 1) * 2;
  if (r < kLow) return std::numeric_limits<D>::min();
  if (r >= kEnd) return std::numeric_limits<D>::max();
  return static_cast<D>(r);
};

template <typename S>
constexpr auto kToEven = [](S a) { return std::nearbyint(a); };
template <typename S>
constexpr auto kToZero = [](S a) { return std::trunc(a); };
template <typename S>
constexpr auto kDown = [](S a) { return std::floor(a); };
template <typename S>
constexpr auto kUp = [](S a) { return std::ceil(a); };

template <typename D, typename S, auto F>
void unary_each(Warp& w, const Instruction& i) {
  D* d = w.lanes<D>(i.d);
  const S* a = w.lanes<S>(i.a);
  w.each([=](int l) { d[l] = F(a[l]); });
}

template <typename S>
void add_from_float(OpcodeTable& t) {
  const std::string from = std::string(".") + type_name<S>();
  const auto add = [&]<auto F>(const std::string& mode) {
    for_types<U32, S32, U64, S64>([&]<typename D>() {
      t["cvt." + mode + "." + type_name<D>() + from] =
          plain(Class::kConvert, {sizeof(D), sizeof(S), 0, 0}, unary_each<D, S, kToInteger<D, S, F>>);
    });
    t["cvt." + mode + from + from] = plain(Class::kConvert, {sizeof(S), sizeof(S), 0, 0}, unary_each<S, S, F>);
  };
  add.template operator()<kToEven<S>>("rni");
  add.template operator()<kToZero<S>>("rzi");
  add.template operator()<kDown<S>>("rmi");
  add.template operator()<kUp<S>>("rpi");
}

template <typename D>
void add_to_float(OpcodeTable& t) {
  for_types<U32, S32, U64, S64>([&]<typename S>() {
    constexpr auto convert_one = [](S a) { return static_cast<D>(a); };
    t[std::string("cvt.rn.") + type_name<D>() + "." + type_name<S>()] =
        plain(Class::kConvert, {sizeof(D), sizeof(S), 0, 0}, unary_each<D, S, convert_one>);
  });
}

}  // namespace

void add_convert_opcodes(OpcodeTable& t) {
  for_types<U8, S8, U16, S16, U32, S32, U64, S64>([&]<typename D>() {
    for_types<U8, S8, U16, S16, U32, S32, U64, S64>([&]<typename S>() { add_integers<D, S>(t); });
  });
  add_from_float<float>(t);
  add_from_float<double>(t);
  add_to_float<float>(t);
  add_to_float<double>(t);
  constexpr auto widen = [](float a) { return static_cast<double>(a); };
  constexpr auto narrow = [](double a) { return static_cast<float>(a); };
  t["cvt.f64.f32"] = unary_opcode<double, float, widen>(Class::kConvert);
  t["cvt.rn.f32.f64"] = unary_opcode<float, double, narrow>(Class::kConvert);
}

}  // namespace axion::ptx
