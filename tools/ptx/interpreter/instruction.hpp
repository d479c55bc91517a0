// One PTX instruction as the interpreter runs it: its handler and where its operands lie.
//
// A register is an array of 32 lanes, of 2, 4 or 8 bytes each; a predicate register is a mask of 32 bits. An immediate
// is an array of 32 equal lanes among its function's constants, so that handlers see no difference.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace axion::ptx {

using U8 = std::uint8_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
using S8 = std::int8_t;
using S16 = std::int16_t;
using S32 = std::int32_t;
using S64 = std::int64_t;

inline constexpr int kLanes = 32;
inline constexpr U32 kAllLanes = 0xffffffffu;

// What an instruction counts as.
enum class Class : U8 {
  kFloat32,  // add, sub, mul, fma
  kDivide32,
  kRoot32,
  kReciprocal32,
  kFloat64,
  kDivide64,
  kRoot64,
  kReciprocal64,
  kFloatOther,  // min, max, neg, abs, copysign
  kConvert,
  kInteger,    // arithmetic, addresses, logic, shifts
  kPredicate,  // comparisons and logic of predicates
  kMove,       // mov and selp
  kBranch,
  kCall,  // call, ret, exit
  kBarrier,
  kShuffle,
  kParameter,  // ld.param and st.param
  kLoad,
  kStore,
  kAtomic,
};
inline constexpr int kClasses = 21;
inline constexpr std::array<std::string_view, kClasses> kClassNames{"f32 add, mul, fma",
                                                                    "f32 div",
                                                                    "f32 sqrt",
                                                                    "f32 rcp",
                                                                    "f64 add, mul, fma",
                                                                    "f64 div",
                                                                    "f64 sqrt",
                                                                    "f64 rcp",
                                                                    "f other",
                                                                    "conversion",
                                                                    "integer",
                                                                    "predicate",
                                                                    "move",
                                                                    "branch",
                                                                    "call, return",
                                                                    "barrier",
                                                                    "shuffle",
                                                                    "parameter",
                                                                    "load",
                                                                    "store",
                                                                    "atomic"};

// Where an operand lies: which of a warp's three memories, and how many bytes from its start.
using Operand = U32;
enum Base : U32 { kRegisters = 0, kConstants = 1, kSpecials = 2 };
inline constexpr Operand operand(Base base, U32 offset) { return U32(base) << 30 | offset; }
inline constexpr Operand kNoOperand = 0xffffffffu;

// How a memory instruction finds its address, to which it adds `value`; kLane: in the frame's part of local memory.
enum class Addressing : U8 { kRegister64, kRegister32, kConstant, kLane };

enum class Space : U8 { kGeneric, kGlobal, kShared, kLocal, kParam };

class Warp;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

struct Instruction {
  Handler run = nullptr;
  Operand d = kNoOperand, a = kNoOperand, b = kNoOperand, c = kNoOperand;
  S64 value = 0;               // an address's offset; a branch's target; the index of a call's site
  Operand guard = kNoOperand;  // predicate
  bool guard_negated = false;
  Class kind = Class::kMove;
  Addressing addressing = Addressing::kConstant;
  Space space = Space::kGeneric;
  U16 list = 0;                     // of Function::lists: the registers of a vector
  U32 line = 0;                     // in the PTX
  U32 source = 0, source_file = 0;  // line and file (Module::files) that it was compiled from; 0: not said
};

}  // namespace axion::ptx
