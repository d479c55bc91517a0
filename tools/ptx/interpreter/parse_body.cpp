#include "tools/ptx/interpreter/parse_body.hpp"

#include <algorithm>
#include <utility>

namespace axion::ptx {
namespace {

constexpr U32 kLineBytes = 64;

U32 align_to(U32 value, U32 align) { return (value + align - 1) / align * align; }

// Bytes of ".b32" and the like; 1 for a predicate; 0 when it is none of a register's types.
int register_width(std::string_view type) {
  if (type == ".pred") return 1;
  if (type.size() < 3 || std::string_view("busf").find(type[1]) == std::string_view::npos) return 0;
  const std::string_view digits = type.substr(2);
  return digits == "16" ? 2 : digits == "32" ? 4 : digits == "64" ? 8 : 0;
}

}  // namespace

Declaration parse_declaration(Cursor& cursor) {
  Declaration d;
  U32 element = 0, align = 0;
  while (!cursor.at_end() && cursor.token()[0] == '.') {
    const std::string_view word = cursor.take();
    if (word == ".align") {
      align = static_cast<U32>(number_bits(cursor.take(), cursor));
    } else if (word == ".ptr" || word == ".global" || word == ".shared" || word == ".local" || word == ".const") {
      continue;  // says what a pointer points to
    } else if (word.size() >= 3 && std::string_view("busf").find(word[1]) != std::string_view::npos) {
      element = static_cast<U32>(number_bits(word.substr(2), cursor)) / 8;
    } else {
      cursor.fail("unknown word '" + std::string(word) + "' in a declaration");
    }
  }
  if (element == 0) cursor.fail("a declaration without a type");
  d.name = cursor.take();
  d.slot = {0, element, element, element};
  if (align != 0) d.slot.align = align;
  if (cursor.take_if("[")) {
    d.is_open = cursor.token() == "]";
    if (!d.is_open) d.slot.bytes *= static_cast<U32>(number_bits(cursor.take(), cursor));
    cursor.expect("]");
  }
  return d;
}

BodyParser::BodyParser(Cursor& cursor, Module& module, Function& function, std::map<std::string_view, Slot> parameters,
                       U64 static_shared)
    : cursor_(cursor), module_(module), function_(function), static_shared_(static_shared) {
  scopes_.emplace_back().slots = std::move(parameters);
  for (const auto& [name, slot] : scopes_[0].slots) local_top_ = std::max(local_top_, slot.offset + slot.bytes);
  function_.lists.emplace_back();  // 0: none
}

void BodyParser::parse() {
  while (!done_) parse_statement();
  end_function();
}

void BodyParser::parse_statement() {
  const std::string_view token = cursor_.token();
  if (token == "{") {
    cursor_.take();
    scopes_.emplace_back().local_top = local_top_;
  } else if (token == "}") {
    cursor_.take();
    if (scopes_.size() > 1) local_top_ = scopes_.back().local_top;
    scopes_.pop_back();
    done_ = scopes_.empty();
  } else if (token == ";") {
    cursor_.take();
  } else if (!token.empty() && token[0] == '.') {
    parse_directive();
  } else {
    parse_instruction();
  }
}

void BodyParser::parse_directive() {
  const std::string_view word = cursor_.take();
  if (word == ".loc") {
    parse_location();
    return;
  }
  if (word == ".reg") {
    declare_registers();
  } else if (word == ".local" || word == ".param") {
    const Declaration d = parse_declaration(cursor_);
    scopes_.back().slots[d.name] = new_slot(d.slot);
  } else if (word == ".shared") {
    const Declaration d = parse_declaration(cursor_);
    const U32 at = align_to(module_.static_shared, d.slot.align);
    module_.shared[std::string(d.name)] = static_shared_ + at;
    module_.static_shared = at + d.slot.bytes;
    function_.shared_bytes = align_to(function_.shared_bytes, d.slot.align) + d.slot.bytes;
  } else if (word == ".pragma") {  // used_bytes_mask, nounroll: nothing that changes what is computed
    cursor_.take();
  } else {
    cursor_.fail("unknown directive '" + std::string(word) + "'");
  }
  cursor_.expect(";");
}

// .loc file line column [, function_name label [+ number], inlined_at file line column], without a semicolon.
void BodyParser::parse_location() {
  const auto number = [&] { return static_cast<U32>(number_bits(cursor_.take(), cursor_)); };
  source_file_ = number(), source_ = number();
  number();
  if (!cursor_.take_if(",")) return;
  cursor_.expect("function_name");
  cursor_.take();
  if (cursor_.take_if("+")) number();
  cursor_.expect(",");
  cursor_.expect("inlined_at");
  for (int k = 0; k < 3; ++k) number();
}

void BodyParser::declare_registers() {
  const std::string_view type = cursor_.take();
  const int width = register_width(type);
  if (width == 0) cursor_.fail("unknown type of registers '" + std::string(type) + "'");
  do {
    const std::string_view name = cursor_.take();
    if (cursor_.take_if("<")) {
      const U32 count = static_cast<U32>(number_bits(cursor_.take(), cursor_));
      cursor_.expect(">");
      Range range{name, new_register(width), count};
      for (U32 k = 1; k < count; ++k) new_register(width);
      scopes_.back().ranges.push_back(range);
    } else {
      scopes_.back().registers[name] = new_register(width);
    }
  } while (cursor_.take_if(","));
}

BodyParser::Register BodyParser::new_register(int width) {
  // A mask takes 4 bytes; arrays of lanes start on lines of a cache.
  const U32 bytes = width == 1 ? sizeof(U32) : static_cast<U32>(width) * kLanes;
  const U32 at = align_to(function_.register_bytes, width == 1 ? sizeof(U32) : kLineBytes);
  function_.register_bytes = at + bytes;
  return {operand(kRegisters, at), width};
}

Slot BodyParser::new_slot(Slot slot) {
  slot.offset = align_to(local_top_, slot.align);
  local_top_ = slot.offset + slot.bytes;
  function_.local_bytes = std::max(function_.local_bytes, local_top_);
  return slot;
}

void BodyParser::end_function() {
  Instruction end;
  end.run = end_of_code();
  end.line = cursor_.line();
  function_.code.push_back(end);
  for (const auto& [at, label] : branches_) {
    const auto target = labels_.find(label);
    if (target == labels_.end()) {
      cursor_.fail_at(function_.code[at].line, "no label '" + std::string(label) + "'");
    }
    function_.code[at].value = target->second;
  }
  constexpr U32 kFrameAlign = 16;
  function_.local_bytes = align_to(std::max(function_.local_bytes, local_top_), kFrameAlign);
  function_.counts.resize(function_.code.size());
  function_.last.resize(function_.code.size());
  function_.is_defined = true;
}

}  // namespace axion::ptx
