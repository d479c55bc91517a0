#include "tools/ptx/interpreter/opcodes.hpp"

namespace axion::ptx {

const OpcodeTable& opcodes() {
  static const OpcodeTable table = [] {
    OpcodeTable t;
    add_integer_opcodes(t);
    add_bit_opcodes(t);
    add_float_opcodes(t);
    add_compare_opcodes(t);
    add_move_opcodes(t);
    add_convert_opcodes(t);
    add_memory_opcodes(t);
    add_control_opcodes(t);
    return t;
  }();
  return table;
}

}  // namespace axion::ptx
