// Lists of arrays: each array of a world is declared once, as a member of the structure of its room,
//
//   Array<Real> contact_gain{"contact_gain", 9 * kBlocks, Heat{171}};  // G of each contact and moment
//
// with its type, its name, its length and its heat; how long it is needed is said of all arrays of a structure at once.
// A structure has two forms. WorldView<Real> has the arrays. WorldView<Real, Declared<Real>> has in each array's place
// what is said of it, and `declarations` is all of that as a table, whose i-th entry is of the i-th array: from it
// follow memory, views, snapshots, places in a GPU's memories and reports of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/array.hpp"
#include "engine/model/model_data.hpp"

namespace axion::model {

// How long what an array holds is needed. Scratch means nothing outside a step, so that a CPU thread lends the same to
// all its worlds. The last three kinds lie in the same bytes: sweeps begin anew after a linear solve, a linear solve
// after a sweep, and the end of the step needs neither.
enum class FieldKind : std::uint8_t {
  kState,
  kParameter,
  kScratch,      // while a step lasts
  kSweeps,       // rounds of sweeps that follow each other
  kLinearSolve,  // one solve of the linear system by a solver of engine/reference
  kEndOfStep,    // after the solve of the step: what it leaves to others
};

AXION_HD constexpr bool is_scratch(FieldKind kind) { return kind >= FieldKind::kScratch; }
AXION_HD constexpr bool shares_bytes(FieldKind kind) { return kind > FieldKind::kScratch; }

// Where an array of scratch stands in the order in which arrays are given a GPU's near memory, of which a world has a
// few kilobytes: first the one that spares most traffic a byte, equal ranks as they are declared. And the thousandths
// of a step's accesses that are to it.
//
// Counted on the emulated GPU (heat.py in tools/ptx: one warp a world, no near memory, float32, preset default, robots
// that have lain down; humanoid.xml thrice, the quadruped and the wheeled robot of this repository and ant.xml once):
// ranks by the sectors that a first cache of 2 KiB, what one of sixteen worlds has beside 12 KB of near memory, lets
// pass; thousandths of the warps' accesses to arrays, of which state and parameters have 4 %. What none of these
// accesses, arrays of piles and of other presets, comes last, in the order of accesses on a CPU.
// Arrays that were one when this was counted (the block of a contact and the gain of Newton's matrix, the numbers of a
// node and of a body at the end of the step, multipliers and steps of active rows) follow each other, with their
// thousandths by estimate.
struct Heat {
  int rank = 1 << 16;  // behind all that have one
  int thousandths = 0;
};

// A length: factor times a count of the model's parts, and `more`. Factors and sums are written as such: 3 * kBlocks.
template <typename Parts>
struct Length {
  Parts parts;
  int factor = 1, more = 0;
};
template <typename Parts>
Length(Parts) -> Length<Parts>;
template <typename Parts>
constexpr Length<Parts> operator*(int factor, Length<Parts> length) {
  return {length.parts, factor * length.factor, factor * length.more};
}
template <typename Parts>
constexpr Length<Parts> operator+(Length<Parts> length, int more) {
  return {length.parts, length.factor, length.more + more};
}

// Lengths that several rooms count in.
inline constexpr Length kOne{[](const auto&) { return 1; }};
inline constexpr Length kBodies{[](const auto& m) { return m.body_count; }};
inline constexpr Length kJoints{[](const auto& m) { return m.joint_count; }};
inline constexpr Length kJointsAndPaths{[](const auto& m) { return m.joint_count + m.spatial_count; }};
inline constexpr Length kAxes{[](const auto& m) { return m.axis_count; }};
inline constexpr Length kLocks{[](const auto& m) { return m.lock_count; }};
inline constexpr Length kLimits{[](const auto& m) { return m.limit_count; }};
inline constexpr Length kContacts{[](const auto& m) { return m.contact_capacity; }};
inline constexpr Length kBlocks{[](const auto& m) { return m.block_capacity(); }};  // contacts and moments
inline constexpr Length kJointRows{
    [](const auto& m) { return m.lock_count + m.axis_count + m.limit_count + m.effort_count; }};
inline constexpr Length kRows{[](const auto& m) {
  return m.lock_count + m.axis_count + m.limit_count + m.effort_count + 3 * m.block_capacity();
}};
// Contacts where any pair has torsional or rolling friction.
inline constexpr Length kMomentContacts{[](const auto& m) { return m.moment_capacity > 0 ? m.contact_capacity : 0; }};

// What tells an element's type from others.
template <typename T>
inline constexpr char kElement = 0;

// What is said of an array.
template <typename Real>
struct ArrayDeclaration {
  const char* name;
  std::size_t (*parts)(const ModelView<Real>& m);
  int factor, more;
  FieldKind kind;
  Heat heat;
  std::size_t element_bytes;
  const void* element;

  std::size_t length(const ModelView<Real>& m) const { return factor * parts(m) + more; }
  std::size_t bytes(const ModelView<Real>& m) const { return length(m) * element_bytes; }
  template <typename T>
  bool holds() const {
    return element == &kElement<T>;
  }
};

// The two forms of a structure of arrays: the arrays, and what is said of them.
struct Placed {
  template <typename T, FieldKind>
  using Array = axion::Array<T>;
};
template <typename Real>
struct Declared {
  template <typename T, FieldKind kind>
  struct Array : ArrayDeclaration<Real> {
    template <typename Parts>
    constexpr Array(const char* name, Length<Parts> length, Heat heat = {})
        : ArrayDeclaration<Real>{name, count<Parts>, length.factor, length.more, kind, heat, sizeof(T), &kElement<T>} {}
    constexpr Array(const char* name, int length, Heat heat = {}) : Array(name, length * kOne, heat) {}

   private:
    template <typename Parts>
    static std::size_t count(const ModelView<Real>& m) {
      return static_cast<std::size_t>(Parts{}(m));
    }
  };
};

// All arrays of a world: its state and what rooms keep within a step. Defined right of these rooms
// (world/world_view.hpp); their functions are templates, which see its members where they are instantiated.
template <typename Real, typename Form = Placed>
struct WorldView;

// A structure of arrays, or of declarations, as a table: it has nothing else.
template <typename Arrays>
std::span<ArraySlot> slots(Arrays& arrays) {
  static_assert(sizeof(Arrays) % sizeof(ArraySlot) == 0);
  return {reinterpret_cast<ArraySlot*>(&arrays), sizeof(Arrays) / sizeof(ArraySlot)};
}
template <template <typename, typename> class Arrays, typename Real>
std::span<const ArrayDeclaration<Real>> declarations() {
  using List = Arrays<Real, Declared<Real>>;
  static constexpr List kList{};
  static_assert(sizeof(List) / sizeof(ArrayDeclaration<Real>) == sizeof(Arrays<Real, Placed>) / sizeof(ArraySlot));
  return {reinterpret_cast<const ArrayDeclaration<Real>*>(&kList), sizeof(List) / sizeof(ArrayDeclaration<Real>)};
}

}  // namespace axion::model
