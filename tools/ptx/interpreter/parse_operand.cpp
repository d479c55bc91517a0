#include "tools/ptx/interpreter/parse_body.hpp"

#include <cstring>

namespace axion::ptx {
namespace {

// In the order of Warp::bind_specials.
constexpr std::string_view kSpecialNames[] = {"%tid.x",    "%tid.y",    "%tid.z",   "%ntid.x",  "%ntid.y",
                                              "%ntid.z",   "%ctaid.x",  "%ctaid.y", "%ctaid.z", "%nctaid.x",
                                              "%nctaid.y", "%nctaid.z", "%laneid",  "%warpid"};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::optional<BodyParser::Register> BodyParser::find_register(std::string_view name) const {
  std::size_t digits = name.size();
  while (digits > 0 && is_digit(name[digits - 1])) --digits;
  const std::string_view prefix = name.substr(0, digits);
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->registers.find(name); found != scope->registers.end()) return found->second;
    if (digits == name.size()) continue;
    for (const Range& range : scope->ranges) {
      if (range.prefix != prefix) continue;
      const U32 number = static_cast<U32>(number_bits(name.substr(digits), cursor_));
      if (number >= range.count) continue;
      Register r = range.first;
      r.place += number * (r.width == 1 ? sizeof(U32) : static_cast<U32>(r.width) * kLanes);
      return r;
    }
  }
  return std::nullopt;
}

std::optional<Operand> BodyParser::find_special(std::string_view name) const {
  for (U32 k = 0; k < std::size(kSpecialNames); ++k) {
    if (kSpecialNames[k] == name) return operand(kSpecials, k * kLanes * sizeof(U32));
  }
  return std::nullopt;
}

const Slot* BodyParser::find_slot(std::string_view name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->slots.find(name); found != scope->slots.end()) return &found->second;
  }
  return nullptr;
}

std::optional<U64> BodyParser::find_variable(std::string_view name) const {
  if (const auto found = module_.variables.find(name); found != module_.variables.end()) return found->second;
  if (const auto found = module_.shared.find(name); found != module_.shared.end()) return found->second;
  return std::nullopt;
}

BodyParser::Register BodyParser::take_register() {
  const std::string_view name = cursor_.token();
  const std::optional<Register> r = find_register(name);
  if (!r) cursor_.fail("no register '" + std::string(name) + "'");
  cursor_.take();
  return *r;
}

Operand BodyParser::destination(int width) {
  const Register r = take_register();
  if (r.width != width) cursor_.fail("a register of " + std::to_string(8 * r.width) + " bits as the destination");
  return r.place;
}

U64 BodyParser::take_bits() {
  const bool negative = cursor_.take_if("-");
  const U64 bits = number_bits(cursor_.take(), cursor_);
  return negative ? U64(0) - bits : bits;
}

S64 BodyParser::take_offset() { return cursor_.take_if("+") ? static_cast<S64>(take_bits()) : 0; }

Operand BodyParser::source(int width) {
  const std::string_view token = cursor_.token();
  if (token == "-" || is_number(token)) return constant(width, take_bits());
  if (const std::optional<Operand> special = find_special(token)) {
    if (width != 4) cursor_.fail("a special register is read with 32 bits");
    cursor_.take();
    return *special;
  }
  const Register r = take_register();
  if (r.width != width) cursor_.fail("a register of " + std::to_string(8 * r.width) + " bits as a source");
  return r.place;
}

Operand BodyParser::constant(int width, U64 bits) {
  if (width == 1) bits = bits != 0 ? kAllLanes : 0;
  const auto [found, fresh] = constants_.try_emplace({width, bits}, kNoOperand);
  if (!fresh) return found->second;
  AlignedBytes& bytes = function_.constants;
  const U32 at = static_cast<U32>(bytes.size()), step = static_cast<U32>(width == 1 ? 4 : width);
  bytes.resize(at + (step * kLanes + 63) / 64 * 64);
  for (int l = 0; l < kLanes; ++l) std::memcpy(bytes.data() + at + l * step, &bits, step);
  return found->second = operand(kConstants, at);
}

}  // namespace axion::ptx
