// A PTX module, parsed and decoded: its functions as instructions, its variables as memory.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/ptx/interpreter/aligned.hpp"
#include "tools/ptx/interpreter/instruction.hpp"

namespace axion::ptx {

// PTX that cannot be read; says the line and its text.
struct ParseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Part of a frame's local memory: a parameter, a result, a local array.
struct Slot {
  U32 offset = 0, bytes = 0, align = 1;
  U32 element = 1;  // bytes of its type
};

struct Function;

struct CallSite {
  const Function* callee = nullptr;
  std::string name;
  std::vector<Slot> arguments, results;  // in the caller's frame
  U32 line = 0;
};

// How often one instruction was issued by warps, and run by active threads.
struct Counts {
  U64 issued = 0, lanes = 0;
};

// Where the threads of a memory instruction went last: what is looked at first the next time.
enum class Place : U8 { kUnknown, kLocal, kShared, kFar };
struct LastPlace {
  U64 begin = 0, end = 0;
  Place place = Place::kUnknown;
};

struct Function {
  std::string name;
  bool is_entry = false, is_defined = false;
  std::vector<Slot> parameters, results;
  std::vector<Instruction> code;
  std::vector<CallSite> sites;
  std::vector<std::array<Operand, 4>> lists;
  AlignedBytes constants;
  U32 register_bytes = 0;
  U32 local_bytes = 0;                      // of a frame, for each thread: parameters, local arrays, arguments of calls
  U32 shared_bytes = 0;                     // static, of an entry
  U32 max_threads = 1024;                   // of a block (.maxntid)
  mutable std::vector<Counts> counts;       // one an instruction
  mutable std::vector<LastPlace> last;      // one an instruction
  mutable std::vector<AlignedBytes> spare;  // registers of frames that have ended
  std::map<U32, std::string> labels;        // by instruction, for messages
};

struct Module {
  std::map<std::string, std::unique_ptr<Function>, std::less<>> functions;
  std::map<std::string, U64, std::less<>> variables;   // global: name and address
  std::map<std::string, U64, std::less<>> shared;      // name and address
  std::vector<std::unique_ptr<AlignedBytes>> storage;  // of global variables, with their names beside
  std::vector<std::string> storage_names;
  U32 static_shared = 0;             // of all entries: each variable has a place of its own
  std::map<U32, std::string> files;  // that it was compiled from (.file), by number
  std::vector<std::string> inexact;  // instructions whose bits the PTX ISA leaves open, with their lines

  const Function& entry(std::string_view name) const;
  // "engine/math/vec.hpp:12", without folders above the last `engine`; empty where the PTX does not say it.
  std::string source(const Instruction& i) const;
};

// Reads a module. Static shared variables begin at `static_shared`, dynamic shared memory at `dynamic_shared`, both
// addresses below 4 GiB. Throws ParseError.
Module parse_module(std::string_view text, U64 static_shared, U64 dynamic_shared);

}  // namespace axion::ptx
