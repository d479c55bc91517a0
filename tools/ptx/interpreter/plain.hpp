// Handlers made of a function of one lane's operands: d = f(a), f(a, b) or f(a, b, c).
#pragma once

#include "tools/ptx/interpreter/opcodes.hpp"
#include "tools/ptx/interpreter/warp.hpp"

namespace axion::ptx {

template <typename D, typename A, auto F>
void unary(Warp& w, const Instruction& i) {
  const A* a = w.lanes<A>(i.a);
  w.map<D>(i.d, [=](int l) { return static_cast<D>(F(a[l])); });
}

template <typename D, typename A, typename B, auto F>
void binary(Warp& w, const Instruction& i) {
  const A* a = w.lanes<A>(i.a);
  const B* b = w.lanes<B>(i.b);
  w.map<D>(i.d, [=](int l) { return static_cast<D>(F(a[l], b[l])); });
}

template <typename D, typename A, typename C, auto F>
void ternary(Warp& w, const Instruction& i) {
  const A* a = w.lanes<A>(i.a);
  const A* b = w.lanes<A>(i.b);
  const C* c = w.lanes<C>(i.c);
  w.map<D>(i.d, [=](int l) { return static_cast<D>(F(a[l], b[l], c[l])); });
}

// One lane after another: for operations that a lane which does not run could not survive.
template <typename D, typename A, auto F>
void binary_each(Warp& w, const Instruction& i) {
  D* d = w.lanes<D>(i.d);
  const A* a = w.lanes<A>(i.a);
  const A* b = w.lanes<A>(i.b);
  w.each([=](int l) { d[l] = static_cast<D>(F(a[l], b[l])); });
}

inline Opcode plain(Class kind, std::array<U8, 4> widths, Handler run) {
  Opcode o;
  o.kind = kind;
  o.widths = widths;
  o.run[0] = run;
  return o;
}

template <typename D, typename A, auto F>
Opcode unary_opcode(Class kind) {
  return plain(kind, {sizeof(D), sizeof(A), 0, 0}, unary<D, A, F>);
}

template <typename D, typename A, typename B, auto F>
Opcode binary_opcode(Class kind) {
  return plain(kind, {sizeof(D), sizeof(A), sizeof(B), 0}, binary<D, A, B, F>);
}

template <typename D, typename A, typename C, auto F>
Opcode ternary_opcode(Class kind) {
  return plain(kind, {sizeof(D), sizeof(A), sizeof(A), sizeof(C)}, ternary<D, A, C, F>);
}

// The PTX name of a type.
template <typename T>
constexpr const char* type_name() {
  if constexpr (std::is_same_v<T, U16>) return "u16";
  if constexpr (std::is_same_v<T, S16>) return "s16";
  if constexpr (std::is_same_v<T, U32>) return "u32";
  if constexpr (std::is_same_v<T, S32>) return "s32";
  if constexpr (std::is_same_v<T, U64>) return "u64";
  if constexpr (std::is_same_v<T, S64>) return "s64";
  if constexpr (std::is_same_v<T, float>) return "f32";
  if constexpr (std::is_same_v<T, double>) return "f64";
  if constexpr (std::is_same_v<T, U8>) return "u8";
  if constexpr (std::is_same_v<T, S8>) return "s8";
}

template <typename T>
std::string bits_name() {
  return "b" + std::to_string(8 * sizeof(T));
}

template <typename... Ts, typename F>
void for_types(F&& f) {
  (f.template operator()<Ts>(), ...);
}

}  // namespace axion::ptx
