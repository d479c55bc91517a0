#include "tools/ptx/interpreter/parse_body.hpp"

#include <algorithm>

namespace axion::ptx {

void BodyParser::parse_instruction() {
  Instruction i;
  i.line = cursor_.line();
  i.source = source_, i.source_file = source_file_;
  const bool guarded = cursor_.take_if("@");
  if (guarded) {
    i.guard_negated = cursor_.take_if("!");
    const Register p = take_register();
    if (p.width != 1) cursor_.fail("a guard that is no predicate");
    i.guard = p.place;
  }
  const std::string_view text = cursor_.take();
  if (!guarded && cursor_.take_if(":")) {
    labels_[text] = static_cast<U32>(function_.code.size());
    return;
  }
  const auto found = opcodes().find(std::string(text));
  if (found == opcodes().end()) cursor_.fail_at(i.line, "unknown instruction '" + std::string(text) + "'");
  const Opcode& opcode = found->second;
  i.kind = opcode.kind;
  i.run = opcode.run[0];
  i.space = opcode.space;
  if (opcode.inexact) module_.inexact.push_back("line " + std::to_string(i.line) + ": " + std::string(text));
  using Form = Opcode::Form;
  switch (opcode.form) {
    case Form::kPlain:
      parse_plain(opcode, text, i);
      break;
    case Form::kMove:
      parse_move(opcode, i);
      break;
    case Form::kConvert:
      parse_convert(opcode, i);
      break;
    case Form::kLoad:
      parse_load(opcode, i);
      break;
    case Form::kStore:
      parse_store(opcode, i);
      break;
    case Form::kAtomic:
      parse_atomic(opcode, i);
      break;
    case Form::kShuffle:
      parse_shuffle(opcode, i);
      break;
    case Form::kBranch:
      parse_branch(i);
      break;
    case Form::kCall:
      parse_call(i);
      break;
  }
  cursor_.expect(";");
  if (i.run == nullptr) cursor_.fail_at(i.line, "'" + std::string(text) + "' with operands of these widths");
  function_.code.push_back(i);
}

void BodyParser::parse_plain(const Opcode& opcode, std::string_view text, Instruction& i) {
  Operand* const places[] = {&i.d, &i.a, &i.b, &i.c};
  bool first = true;
  for (int k = 0; k < 4; ++k) {
    if (opcode.widths[k] == 0) continue;
    if (!first) cursor_.expect(",");
    first = false;
    *places[k] = k == 0 ? destination(opcode.widths[k]) : source(opcode.widths[k]);
  }
  if (text.starts_with("bfi.")) {
    cursor_.expect(",");
    i.value = source(4);
  }
}

int BodyParser::parse_list(Instruction& i) {
  cursor_.expect("{");
  std::array<Operand, 4> list;
  list.fill(kNoOperand);
  int width = 0, count = 0;
  do {
    if (count == 4) cursor_.fail("a vector of more than 4 registers");
    if (!cursor_.take_if("_")) {
      const Register r = take_register();
      if (width != 0 && width != r.width) cursor_.fail("a vector of registers of several widths");
      width = r.width;
      list[count] = r.place;
    }
    ++count;
  } while (cursor_.take_if(","));
  cursor_.expect("}");
  i.list = static_cast<U16>(function_.lists.size());
  if (function_.lists.size() > 0xffff) cursor_.fail("too many vectors in one function");
  function_.lists.push_back(list);
  return width | count << 8;
}

void BodyParser::parse_move(const Opcode& opcode, Instruction& i) {
  const int width = opcode.widths[0];
  if (cursor_.token() == "{") {
    const int list = parse_list(i);
    cursor_.expect(",");
    i.a = source(width);
    i.run = (list & 0xff) * (list >> 8) == width ? move_unpack(list >> 8, list & 0xff) : nullptr;
    return;
  }
  i.d = destination(width);
  cursor_.expect(",");
  const std::string_view token = cursor_.token();
  if (token == "{") {
    const int list = parse_list(i);
    i.run = (list & 0xff) * (list >> 8) == width ? move_pack(list >> 8, list & 0xff) : nullptr;
  } else if (const Slot* slot = find_slot(token)) {
    cursor_.take();
    i.value = slot->offset + take_offset();
    i.run = width == 8 ? move_lane_address() : nullptr;
  } else if (const std::optional<U64> address = find_variable(token)) {
    cursor_.take();
    i.a = constant(width, *address + static_cast<U64>(take_offset()));
    if (width == 4 && *address >> 32 != 0) cursor_.fail_at(i.line, "an address that 32 bits do not hold");
  } else {
    i.a = source(width);
  }
}

void BodyParser::parse_convert(const Opcode& opcode, Instruction& i) {
  const Register d = take_register();
  cursor_.expect(",");
  int width = std::max<int>(2, opcode.widths[1]);
  const std::optional<Register> a = find_register(cursor_.token());
  if (a) width = a->width;
  i.a = source(width);
  i.d = d.place;
  i.run = width == 1 || d.width == 1 ? nullptr : opcode.run[3 * width_index(width) + width_index(d.width)];
}

void BodyParser::parse_load(const Opcode& opcode, Instruction& i) {
  int width = 0;
  if (opcode.vector == 1) {
    const Register r = take_register();
    i.d = r.place, width = r.width;
  } else {
    const int list = parse_list(i);
    width = list & 0xff;
    if (list >> 8 != opcode.vector) cursor_.fail("a vector of another length");
  }
  cursor_.expect(",");
  parse_address(opcode, i);
  i.run = width < 2 ? nullptr : opcode.run[width_index(width)];
}

void BodyParser::parse_store(const Opcode& opcode, Instruction& i) {
  parse_address(opcode, i);
  cursor_.expect(",");
  int width = std::max<int>(2, opcode.memory_bytes);
  if (opcode.vector > 1) {
    const int list = parse_list(i);
    width = list & 0xff;
    if (list >> 8 != opcode.vector) cursor_.fail("a vector of another length");
    const auto& registers = function_.lists[i.list];
    if (std::count(registers.begin(), registers.begin() + opcode.vector, kNoOperand) > 0) width = 0;
  } else {
    if (const std::optional<Register> r = find_register(cursor_.token())) width = r->width;
    i.b = source(width);
  }
  i.run = width < 2 ? nullptr : opcode.run[width_index(width)];
}

void BodyParser::parse_atomic(const Opcode& opcode, Instruction& i) {
  if (!cursor_.take_if("_")) i.d = destination(opcode.widths[0]);
  cursor_.expect(",");
  parse_address(opcode, i);
  cursor_.expect(",");
  i.b = source(opcode.widths[2]);
  if (opcode.widths[3] == 0) return;
  cursor_.expect(",");
  i.c = source(opcode.widths[3]);
}

// d|p, a, b, c, members: the places of p and the members are the halves of the instruction's value.
void BodyParser::parse_shuffle(const Opcode& opcode, Instruction& i) {
  i.d = destination(opcode.widths[0]);
  const U64 p = cursor_.take_if("|") ? destination(1) : kNoOperand;
  cursor_.expect(",");
  i.a = source(opcode.widths[1]);
  cursor_.expect(",");
  i.b = source(opcode.widths[2]);
  cursor_.expect(",");
  i.c = source(opcode.widths[3]);
  cursor_.expect(",");
  i.value = static_cast<S64>(p << 32 | source(4));
}

void BodyParser::parse_address(const Opcode& opcode, Instruction& i) {
  const U32 bytes = U32(opcode.memory_bytes) * opcode.vector;
  cursor_.expect("[");
  const std::string_view base = cursor_.token();
  if (const std::optional<Register> r = find_register(base)) {
    cursor_.take();
    if (r->width != 4 && r->width != 8) cursor_.fail("an address in a register of another width");
    i.addressing = r->width == 8 ? Addressing::kRegister64 : Addressing::kRegister32;
    i.a = r->place;
    i.value = take_offset();
  } else if (const Slot* slot = find_slot(base)) {
    cursor_.take();
    const S64 offset = take_offset();
    if (offset < 0 || offset + bytes > slot->bytes || (slot->offset + offset) % bytes != 0) {
      cursor_.fail("outside of '" + std::string(base) + "' or not aligned");
    }
    i.addressing = Addressing::kLane;
    i.value = slot->offset + offset;
  } else if (const std::optional<U64> address = find_variable(base)) {
    cursor_.take();
    i.value = static_cast<S64>(*address) + take_offset();
  } else {
    cursor_.fail("unknown address '" + std::string(base) + "'");
  }
  cursor_.expect("]");
}

void BodyParser::parse_branch(Instruction& i) {
  branches_.emplace_back(static_cast<U32>(function_.code.size()), cursor_.take());
  i.value = -1;
}

std::vector<Slot> BodyParser::parse_slots() {
  std::vector<Slot> slots;
  cursor_.expect("(");
  while (!cursor_.take_if(")")) {
    const Slot* slot = find_slot(cursor_.token());
    if (slot == nullptr) cursor_.fail("no parameter '" + std::string(cursor_.token()) + "'");
    slots.push_back(*slot);
    cursor_.take();
    cursor_.take_if(",");
  }
  return slots;
}

void BodyParser::parse_call(Instruction& i) {
  CallSite site;
  site.line = i.line;
  if (cursor_.token() == "(") {
    site.results = parse_slots();
    cursor_.expect(",");
  }
  site.name = cursor_.take();
  if (cursor_.take_if(",")) site.arguments = parse_slots();
  if (site.name == "__assertfail") i.run = assertion_failed();
  i.value = static_cast<S64>(function_.sites.size());
  function_.sites.push_back(std::move(site));
}

}  // namespace axion::ptx
