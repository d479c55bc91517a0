// Comparisons, logic of predicates and selection by them.
#include "tools/ptx/interpreter/plain.hpp"

namespace axion::ptx {
namespace {

template <typename T, auto F>
void compare(Warp& w, const Instruction& i) {
  const T* a = w.lanes<T>(i.a);
  const T* b = w.lanes<T>(i.b);
  if constexpr (sizeof(T) == 8) {
    U64 mask = 0;
    for (int l = 0; l < kLanes; ++l) mask |= F(a[l], b[l]) ? kBits64[l] : 0;
    w.set_predicate(i.d, static_cast<U32>(mask));
  } else {
    U32 mask = 0;
    for (int l = 0; l < kLanes; ++l) mask |= F(a[l], b[l]) ? kBits32[l] : 0;
    w.set_predicate(i.d, mask);
  }
}

template <typename T, auto F>
Opcode compare_opcode() {
  return plain(Class::kPredicate, {1, sizeof(T), sizeof(T), 0}, compare<T, F>);
}

template <typename T>
void add_ordered(OpcodeTable& t, const std::string& type) {
  t["setp.eq." + type] = compare_opcode<T, ([](T a, T b) { return a == b; })>();
  // Of floats "ne" is false where one is no number; "neu" is true.
  t["setp.ne." + type] = compare_opcode<T, ([](T a, T b) { return a < b || a > b; })>();
  t["setp.lt." + type] = compare_opcode<T, ([](T a, T b) { return a < b; })>();
  t["setp.le." + type] = compare_opcode<T, ([](T a, T b) { return a <= b; })>();
  t["setp.gt." + type] = compare_opcode<T, ([](T a, T b) { return a > b; })>();
  t["setp.ge." + type] = compare_opcode<T, ([](T a, T b) { return a >= b; })>();
}

template <typename T>
void add_unordered(OpcodeTable& t, const std::string& type) {
  t["setp.equ." + type] = compare_opcode<T, ([](T a, T b) { return !(a < b || a > b); })>();
  t["setp.neu." + type] = compare_opcode<T, ([](T a, T b) { return !(a == b); })>();
  t["setp.ltu." + type] = compare_opcode<T, ([](T a, T b) { return !(a >= b); })>();
  t["setp.leu." + type] = compare_opcode<T, ([](T a, T b) { return !(a > b); })>();
  t["setp.gtu." + type] = compare_opcode<T, ([](T a, T b) { return !(a <= b); })>();
  t["setp.geu." + type] = compare_opcode<T, ([](T a, T b) { return !(a < b); })>();
  t["setp.num." + type] = compare_opcode<T, ([](T a, T b) { return a == a && b == b; })>();
  t["setp.nan." + type] = compare_opcode<T, ([](T a, T b) { return a != a || b != b; })>();
}

template <typename T>
void select(Warp& w, const Instruction& i) {
  const T* a = w.lanes<T>(i.a);
  const T* b = w.lanes<T>(i.b);
  const U32 p = w.predicate(i.c);
  if constexpr (sizeof(T) == 8) {
    w.map<T>(i.d, [=](int l) { return (p & kBits64[l]) != 0 ? a[l] : b[l]; });
  } else {
    w.map<T>(i.d, [=](int l) { return (p & kBits32[l]) != 0 ? a[l] : b[l]; });
  }
}

template <auto F>
void logic(Warp& w, const Instruction& i) {
  w.set_predicate(i.d, F(w.predicate(i.a), w.predicate(i.b)));
}

void negate(Warp& w, const Instruction& i) { w.set_predicate(i.d, ~w.predicate(i.a)); }
void copy(Warp& w, const Instruction& i) { w.set_predicate(i.d, w.predicate(i.a)); }

}  // namespace

void add_compare_opcodes(OpcodeTable& t) {
  for_types<U16, S16, U32, S32, U64, S64, float, double>([&]<typename T>() { add_ordered<T>(t, type_name<T>()); });
  for_types<float, double>([&]<typename T>() { add_unordered<T>(t, type_name<T>()); });
  for_types<U16, U32, U64>([&]<typename T>() {
    t["setp.eq." + bits_name<T>()] = compare_opcode<T, ([](T a, T b) { return a == b; })>();
    t["setp.ne." + bits_name<T>()] = compare_opcode<T, ([](T a, T b) { return a != b; })>();
    const Opcode selection = plain(Class::kMove, {sizeof(T), sizeof(T), sizeof(T), 1}, select<T>);
    const std::string digits = std::to_string(8 * sizeof(T));
    for (const char* kind : {"b", "u", "s", "f"}) t["selp." + (kind + digits)] = selection;
  });
  const std::array<U8, 4> two{1, 1, 1, 0}, one{1, 1, 0, 0};
  t["and.pred"] = plain(Class::kPredicate, two, logic<[](U32 a, U32 b) { return a & b; }>);
  t["or.pred"] = plain(Class::kPredicate, two, logic<[](U32 a, U32 b) { return a | b; }>);
  t["xor.pred"] = plain(Class::kPredicate, two, logic<[](U32 a, U32 b) { return a ^ b; }>);
  t["not.pred"] = plain(Class::kPredicate, one, negate);
  t["mov.pred"] = plain(Class::kPredicate, one, copy);
}

}  // namespace axion::ptx
