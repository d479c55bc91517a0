// BodyParser: the statements of one function, decoded to instructions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/ptx/interpreter/cursor.hpp"
#include "tools/ptx/interpreter/module.hpp"
#include "tools/ptx/interpreter/opcodes.hpp"

namespace axion::ptx {

// A variable's declaration behind its space: ".align 8 .b8 name[16]".
struct Declaration {
  std::string_view name;
  Slot slot;
  bool is_open = false;  // name[]: as much as there is
};
Declaration parse_declaration(Cursor& cursor);

class BodyParser {
 public:
  // `parameters`: the function's own and its results, by name.
  BodyParser(Cursor& cursor, Module& module, Function& function, std::map<std::string_view, Slot> parameters,
             U64 static_shared);
  // From behind '{' to behind its '}'.
  void parse();

 private:
  struct Register {
    Operand place = kNoOperand;
    int width = 0;  // bytes; 1: a predicate
  };
  struct Range {  // %r<12>
    std::string_view prefix;
    Register first;
    U32 count = 0;
  };
  struct Scope {
    std::unordered_map<std::string_view, Register> registers;
    std::vector<Range> ranges;
    std::map<std::string_view, Slot> slots;
    U32 local_top = 0;
  };

  // Declarations (parse_body.cpp)
  void parse_statement();
  void parse_directive();
  void declare_registers();
  void parse_location();
  Register new_register(int width);
  Slot new_slot(Slot slot);
  void end_function();

  // Instructions (parse_instruction.cpp)
  void parse_instruction();
  void parse_plain(const Opcode& opcode, std::string_view text, Instruction& i);
  void parse_move(const Opcode& opcode, Instruction& i);
  void parse_convert(const Opcode& opcode, Instruction& i);
  void parse_load(const Opcode& opcode, Instruction& i);
  void parse_store(const Opcode& opcode, Instruction& i);
  void parse_atomic(const Opcode& opcode, Instruction& i);
  void parse_branch(Instruction& i);
  void parse_call(Instruction& i);
  void parse_shuffle(const Opcode& opcode, Instruction& i);
  void parse_address(const Opcode& opcode, Instruction& i);
  int parse_list(Instruction& i);  // {a, b}; returns the registers' width
  std::vector<Slot> parse_slots();

  // Operands (parse_operand.cpp)
  Operand destination(int width);
  Operand source(int width);
  std::optional<Register> find_register(std::string_view name) const;
  std::optional<Operand> find_special(std::string_view name) const;
  const Slot* find_slot(std::string_view name) const;
  std::optional<U64> find_variable(std::string_view name) const;
  Register take_register();
  U64 take_bits();  // of a number, with its sign
  S64 take_offset();
  Operand constant(int width, U64 bits);

  Cursor& cursor_;
  Module& module_;
  Function& function_;
  const U64 static_shared_;
  std::vector<Scope> scopes_;
  std::unordered_map<std::string_view, U32> labels_;
  std::vector<std::pair<U32, std::string_view>> branches_;  // instruction and label
  std::map<std::pair<int, U64>, Operand> constants_;
  U32 local_top_ = 0;
  U32 source_ = 0, source_file_ = 0;
  bool done_ = false;
};

}  // namespace axion::ptx
