// The instructions that the machine knows, by their full text ("add.rn.f32"): a modifier that is not here is an error.
#pragma once

#include <array>
#include <string>
#include <unordered_map>

#include "tools/ptx/interpreter/instruction.hpp"

namespace axion::ptx {

struct Opcode {
  enum class Form : U8 { kPlain, kLoad, kStore, kMove, kConvert, kBranch, kCall, kAtomic, kShuffle };
  Form form = Form::kPlain;
  Class kind = Class::kMove;
  // Bytes of the registers d, a, b, c; 1: a predicate; 0: no such operand.
  std::array<U8, 4> widths{};
  // kPlain: [0]. Of loads, stores and conversions the register may be wider than the type: by its bytes, 2, 4 or 8, the
  // destination's and, for conversions, 3 times the source's.
  std::array<Handler, 9> run{};
  Space space = Space::kGeneric;
  U8 vector = 1;         // registers of a load or store
  U8 memory_bytes = 0;   // of one element
  bool inexact = false;  // the PTX ISA leaves the result's bits open
};

using OpcodeTable = std::unordered_map<std::string, Opcode>;
const OpcodeTable& opcodes();

inline constexpr int width_index(int bytes) { return bytes == 2 ? 0 : bytes == 4 ? 1 : 2; }

// Each adds its part.
void add_integer_opcodes(OpcodeTable& table);
void add_bit_opcodes(OpcodeTable& table);
void add_float_opcodes(OpcodeTable& table);
void add_compare_opcodes(OpcodeTable& table);
void add_move_opcodes(OpcodeTable& table);
void add_convert_opcodes(OpcodeTable& table);
void add_memory_opcodes(OpcodeTable& table);
void add_control_opcodes(OpcodeTable& table);

// Handlers that the decoder chooses by operands and not by text.
Handler move_lane_address();                     // d = address of the frame's local memory + value
Handler move_pack(int parts, int part_bytes);    // d = {list}
Handler move_unpack(int parts, int part_bytes);  // {list} = a
Handler assertion_failed();                      // call to __assertfail
Handler end_of_code();

}  // namespace axion::ptx
